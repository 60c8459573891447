"""How fast does blur grow on either side of focus? A disc fit, on simulated planes and real stacks.

    python -m lab.realism.blur_growth                  simulated: thin lens, unequal sides, drawn phones
    python -m lab.realism.blur_growth --real DIR       and the published stacks (.npy) in DIR

The estimator (a uniform disc that turns the sharpest slice into one 8 to 20 positions away): scale the sharp
slice by the breathing between the two, shift it to where the other one is, and take the disc that leaves the
least, up to gain, offset and a rest of the shift. Near side: the lens is focused nearer than the thing.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import Float
from scipy.ndimage import map_coordinates
from scipy.signal import fftconvolve

from dioptre.optics import CameraModel, breathing
from dioptre.pipeline.executors import local_executor, run_pieces
from dioptre.simulate.capture import draw_surfaces
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView, render_stack
from dioptre.simulate.scene import Layer, Scene, fine_size
from dioptre.simulate.sensor import Noise, native_to_pixels, read_native
from dioptre.simulate.surface_texture import Clutter
from lab.realism.pictures import read_published, sharpest

CAMERA = CameraModel.pixel3()
AWAY = (8, 12, 16, 20)
USUAL = 0.63  # px an index
TRIED = np.arange(0.55, 1.65, 0.05)  # of the usual growth
BORDER = 24
WORST = 0.15  # share of the other slice's variance that a disc may leave

Image = Float[np.ndarray, "rows cols"]
Growth = list[tuple[int, float]]  # side (1 near, -1 far) and px an index, a fit each


def disc(diameter: float, size: int = 41, fine: int = 6) -> Image:
    """Returns a uniform disc on pixels, of sum 1."""
    at = (np.arange(size * fine) + 0.5) / fine - size / 2
    inside = np.hypot(at[:, None], at[None, :]) <= diameter / 2
    kernel = inside.reshape(size, fine, size, fine).mean(axis=(1, 3))
    return np.asarray(kernel / kernel.sum())


def scaled(image: Image, scale: float, shift: tuple[float, float] = (0.0, 0.0)) -> Image:
    """Returns a picture scaled about its middle, then shifted by (x, y)."""
    middle = (len(image) - 1) / 2
    rows, cols = ((np.arange(len(image)) - middle - by) / scale + middle for by in (shift[1], shift[0]))
    return np.asarray(map_coordinates(image, np.meshgrid(rows, cols, indexing="ij"), order=3, mode="nearest"))


def fit(sharp: Image, blurred: Image, scale: float, expected: float) -> float | None:
    """Returns the diameter of the disc that blurs one slice to the other; None if no disc does."""
    like = fftconvolve(scaled(sharp, scale), disc(expected), "same")
    window = cv2.createHanningWindow(like.shape[::-1], cv2.CV_64F)
    shift, _ = cv2.phaseCorrelate(like - like.mean(), blurred - blurred.mean(), window)
    moved = scaled(sharp, scale, (shift[0], shift[1]))
    inner = (slice(BORDER, -BORDER), slice(BORDER, -BORDER))
    target, errors = blurred[inner].ravel(), []
    for part in TRIED:
        tried = fftconvolve(moved, disc(part * expected), "same")[inner]
        down, across = np.gradient(tried)
        basis = np.stack([tried.ravel(), np.ones(tried.size), down.ravel(), across.ravel()], axis=1)
        left = target - basis @ np.linalg.lstsq(basis, target, rcond=None)[0]
        errors.append(float(left @ left))
    best = int(np.argmin(errors))
    if best in (0, len(TRIED) - 1) or errors[best] > WORST * len(target) * target.var():
        return None
    before, here, after = errors[best - 1 : best + 2]
    part = TRIED[best] + (TRIED[1] - TRIED[0]) * (before - after) / (2 * (before - 2 * here + after))
    return float(part * expected)


def growth(stack: Float[np.ndarray, "slice rows cols"]) -> Growth:
    """Returns what the fits of one green stack give."""
    scale, at, found = breathing(CAMERA), sharpest(stack), []
    for side in (1, -1):
        for away in AWAY:
            other = at + side * away
            if 0 <= other < len(stack):
                sharp, blurred = stack[at].astype(np.float64), stack[other].astype(np.float64)
                diameter = fit(sharp, blurred, float(scale[other] / scale[at]), USUAL * away)
                if diameter is not None:
                    found.append((side, diameter / away))
    return found


def plane_growth(device: PhoneOptics, number: int) -> Growth:
    """Returns the same of one simulated plane at a random place of a phone's field."""
    rng = np.random.default_rng([7, number])
    at = float(rng.uniform(-900, 900)), float(rng.uniform(-650, 650))
    view = PatchView(PointSpread(CAMERA, device, at), 132)
    n = fine_size(132, view.margin())
    picture = draw_surfaces(rng, Clutter(one_way=0.3), count=1)[0][:n, :n]
    scene = Scene((Layer(np.ascontiguousarray(picture), float(rng.uniform(2, 8))),), view.margin())
    light = np.float32(0.2) * render_stack(scene, view, CAMERA.grid.dioptres)
    return growth(native_to_pixels(read_native(light[..., 2:-2], Noise(), rng)).mean(axis=1))


def drawn_growth(number: int) -> Growth:
    """Returns the same of one plane of a drawn phone."""
    return plane_growth(PhoneOptics.draw(np.random.default_rng([8, number])), number)


def line(name: str, found: list[Growth]) -> str:
    """Returns the medians and quartiles of both sides, and of their ratio within stacks."""
    text, ratios = f"{name:<42}", []
    for side in (1, -1):
        values = [value for one in found for which, value in one if which == side]
        low, middle, high = np.percentile(values, [25, 50, 75]) if values else (np.nan,) * 3
        text += f"{middle:>7.3f} ({low:.2f}, {high:.2f}), {len(values):>3}"
    for one in found:
        near, far = ([value for which, value in one if which == side] for side in (1, -1))
        if near and far:
            ratios.append(np.median(far) / np.median(near))
    return text + (f"{np.median(ratios):>9.2f} ({len(ratios)} stacks)" if ratios else "")


def each(task: Callable[[int], Growth], count: int) -> list[Growth]:
    """Returns what a task makes of each of so many seeds, on all cores."""
    with local_executor() as executor:
        return list(run_pieces([partial(task, seed) for seed in range(count)], executor))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--planes", type=int, default=24, help="simulated ones of each kind")
    parser.add_argument("--real", type=Path, help="folder of published stacks, .npy")
    chosen = parser.parse_args()
    print(f"{'px an index: median (quartiles), fits':<42}{'near side':>23}{'far side':>23}{'far / near':>11}")
    thin = PhoneOptics()
    for name, device in (
        ("thin lens", thin),
        ("far side 1.2 times", replace(thin, far_side=1.2)),
        ("the middle phone", PhoneOptics.center()),
    ):
        print(line(name, each(partial(plane_growth, device), chosen.planes)), flush=True)
    print(line("drawn phones", each(drawn_growth, chosen.planes)), flush=True)
    if chosen.real:
        files = sorted(chosen.real.glob("*.npy"))
        stacks = [growth(read_published(path)) for path in files]
        for path, one in zip(files, stacks, strict=True):
            print(line(path.stem, [one]))
        print(line("real, published", stacks))


if __name__ == "__main__":
    main()
