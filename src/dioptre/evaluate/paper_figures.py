"""The paper's figures 1 to 5, which explain: problems, sensors, blur, noise, breathing; all computed anew.

Everything that is drawn is computed here from the optics (`dioptre.optics`) or handed in as patches; nothing
is copied from the paper's own pictures.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float32
from scipy.ndimage import convolve, gaussian_filter

from dioptre.evaluate.figures import CHOSEN, FAILED, INK, new_figure
from dioptre.stack import Picture

if TYPE_CHECKING:
    from dioptre.evaluate.figures import Axes, Figure

SEEN, LEFT, RIGHT = "#b5172f", "#1b7fa8", "#e07b00"
FINE = 8  # pixels of the drawing for one of the sensor's, where a point is blurred
POINT_LIGHT = 400.0  # of a saturated point, times white


def three_problems(positions: int = 49, truth: int = 17) -> "Figure":
    """Returns figure 1: which slices an algorithm is shown (red), its scores (blue), its choice (orange)."""
    figure = new_figure(9.0, 5.4)
    axes = figure.subplots(4, 1, sharex=True)
    one, two = _scores(positions, truth - 3, 7.0), _scores(positions, truth - 1, 3.5)
    rows = [
        ("single slice: one is seen", _scores(positions, truth, 5.0), [38]),
        ("focal stack: all are seen", _scores(positions, truth, 1.8), range(positions)),
        ("multi-step, first look", one, [38]),
        ("multi-step, second look: where the first one pointed", two, [38, int(np.argmax(one))]),
    ]
    for each, (title, scores, seen) in zip(axes, rows, strict=True):
        _bars(each, scores, list(seen))
        each.set_title(title, fontsize=9, loc="left")
    axes[-1].set_xlabel("focal index (0 far)")
    return figure


def _scores(positions: int, centre: int, width: float) -> Float[np.ndarray, " n"]:
    return np.exp(-0.5 * ((np.arange(positions) - centre) / width) ** 2)


def _bars(axes: "Axes", scores: Float[np.ndarray, " n"], seen: Sequence[int]) -> None:
    places, best = np.arange(len(scores)), int(np.argmax(scores))
    axes.bar(places, scores, 0.8, color=["#6f9fc8" if k != best else CHOSEN for k in places])
    axes.bar(seen, np.full(len(seen), 0.14), 0.8, bottom=-0.2, color=SEEN)
    axes.set(yticks=[], ylim=(-0.25, 1.1))
    axes.spines[["top", "right", "left"]].set_visible(False)


# Rays


def sensors(focal_length: float = 1.0, in_focus: float = 3.0, too_near: float = 2.0) -> "Figure":
    """Returns figure 2: rays of a thing in focus and of one too near, on an ordinary and a dual-pixel sensor.

    Args:
        focal_length: Of the thin lens, in any unit.
        in_focus: Distance of the thing that is in focus.
        too_near: Distance of the other.
    """
    figure = new_figure(9.0, 5.6)
    for at, (title, split) in enumerate((("ordinary sensor", False), ("dual-pixel sensor", True))):
        axes = figure.add_subplot(2, 1, at + 1)
        sensor = image_distance(focal_length, in_focus)
        _draw_lens(axes, sensor, split)
        _draw_rays(axes, in_focus, focal_length, sensor, split, "-")
        _draw_rays(axes, too_near, focal_length, sensor, split, ":")
        axes.set_title(f"{title}: in focus (lines) and too near (dots)", fontsize=9, loc="left")
        axes.set(xlim=(-in_focus - 0.2, sensor + 0.6), ylim=(-0.75, 0.75), xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    return figure


def image_distance(focal_length: float, distance: float) -> float:
    """Returns the image distance of a thin lens, in the unit of both: 1/f = 1/distance + 1/image."""
    return 1 / (1 / focal_length - 1 / distance)


def hit(height: float, distance: float, focal_length: float, sensor: float) -> float:
    """Returns the height on the sensor of a ray from a point on the axis through a height in the lens."""
    return height * (1 - sensor / image_distance(focal_length, distance))


def _draw_lens(axes: "Axes", sensor: float, split: bool) -> None:
    around = np.linspace(0, 2 * np.pi, 73)
    axes.fill(0.06 * np.cos(around), 0.65 * np.sin(around), facecolor="#cfe0ec", edgecolor=INK)
    axes.plot([sensor, sensor], [-0.6, 0.6], color=INK, linewidth=2)
    for row in np.linspace(-0.6, 0.6, 13):
        axes.plot([sensor, sensor + 0.12], [row, row], color=INK, linewidth=0.8)
        if split and row < 0.55:
            for part, colour in ((0.25, LEFT), (0.75, RIGHT)):
                axes.plot(sensor + 0.06, row + 0.1 * part, "s", color=colour, markersize=3)


def _draw_rays(
    axes: "Axes", distance: float, focal_length: float, sensor: float, split: bool, style: str
) -> None:
    axes.plot(-distance, 0, "o", color=INK, markersize=5)
    for height in (-0.5, -0.25, 0.25, 0.5):
        colour = INK if not split else LEFT if height > 0 else RIGHT
        end = hit(height, distance, focal_length, sensor)
        axes.plot([-distance, 0, sensor], [0, height, end], style, color=colour, linewidth=1)


# Blur


def saturated_point(radius_px: float = 8.0, size: int = 41) -> "Figure":
    """Returns figure 3: a saturated point in focus, and out of focus through a Gaussian and through a disc.

    The norm of its gradients falls under a Gaussian and rises under a disc, as a real aperture is: contrast
    measures are then misled.
    """
    pictures = point_pictures(radius_px, size)
    figure = new_figure(8.4, 3.6)
    for at, (name, picture) in enumerate(pictures.items()):
        axes = figure.add_subplot(1, 3, at + 1)
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.set(xticks=[], yticks=[])
        axes.set_title(f"{name}\n‖∇‖ = {gradient_norm(picture):.1f}", fontsize=9)
    return figure


def point_pictures(radius_px: float, size: int) -> dict[str, Picture]:
    """Returns a point of light brighter than white, as the sensor clips it, in focus and out of it."""
    point = np.zeros((size, size))
    point[size // 2, size // 2] = POINT_LIGHT
    sharp = gaussian_filter(point, 0.6)
    y, x = np.mgrid[: size * FINE, : size * FINE] / FINE - (size - 1 / FINE) / 2
    disc = (np.hypot(x, y) <= radius_px).reshape(size, FINE, size, FINE).mean(axis=(1, 3))
    blurred = {
        "in focus": sharp,
        "Gaussian": gaussian_filter(point, radius_px),
        "disc": convolve(sharp, disc / disc.sum(), mode="constant"),
    }
    return {name: np.clip(picture, 0, 1).astype(np.float32) for name, picture in blurred.items()}


def gradient_norm(picture: Picture) -> float:
    """Returns the norm of a picture's gradients, forward differences along both axes."""
    down, across = np.diff(picture, axis=0), np.diff(picture, axis=1)
    return float(np.sqrt((down**2).sum() + (across**2).sum()))


# Patches


def noise_misleads(
    scores: Float[np.ndarray, " n"], slices: Float32[np.ndarray, "n row col"], truth: int, title: str
) -> "Figure":
    """Returns figure 4: a contrast curve in the dark, the slice that it chooses, and the one that is sharp.

    Args:
        scores: A score for each slice.
        slices: The stack, green.
        truth: The slice that is in focus.
        title: What measured the contrast.
    """
    best = int(np.argmax(scores))
    figure = new_figure(9.0, 3.6)
    grid = figure.add_gridspec(1, 3, width_ratios=(1.5, 1, 1))
    axes = figure.add_subplot(grid[0])
    axes.plot(scores, color=INK, linewidth=1.2)
    axes.axvline(best, color=CHOSEN, linewidth=1.4, label=f"chosen: {best}")
    axes.axvline(truth, color=LEFT, linewidth=1.4, linestyle="--", label=f"in focus: {truth}")
    axes.set(title=title, xlabel="focal index", yticks=[])
    axes.legend(fontsize=8)
    for at, (k, name) in enumerate(((best, f"chosen: {best}"), (truth, f"in focus: {truth}"))):
        _show(figure.add_subplot(grid[at + 1]), slices[k], name)
    return figure


def breathing(
    scales: Float[np.ndarray, " n"], slices: Float32[np.ndarray, "n row col"], truth: int, other: int
) -> "Figure":
    """Returns figure 5: how the image grows as the lens focuses nearer, and what that does to a patch.

    Args:
        scales: The image's scale at each slice, relative to the far end.
        slices: The stack of a patch, green.
        truth: The slice that is in focus.
        other: A slice that is not, though it has more contrast or other contents.
    """
    figure = new_figure(9.0, 3.6)
    grid = figure.add_gridspec(1, 3, width_ratios=(1.5, 1, 1))
    axes = figure.add_subplot(grid[0])
    axes.plot(100 * (np.asarray(scales) - 1), color=INK)
    axes.set(title="focal breathing", xlabel="focal index", ylabel="the image grows by, %")
    axes.grid(alpha=0.25)
    for at, (k, name) in enumerate(((truth, "in focus"), (other, "out of focus"))):
        norm = gradient_norm(slices[k] / max(float(slices[k].mean()), 1e-9))
        _show(figure.add_subplot(grid[at + 1]), slices[k], f"{name}: {k}\n‖∇‖ = {norm:.0f}")
    return figure


def _show(axes: "Axes", picture: Picture, title: str) -> None:
    low, high = np.percentile(picture, (0.5, 99.5))
    axes.imshow(picture, cmap="gray", vmin=low, vmax=max(high, low + 1e-9), interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=9)
    for side in axes.spines.values():
        side.set(color=FAILED)
