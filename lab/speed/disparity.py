"""Speed of stereo matching against a plain loop over shifts, as a ratio in one run.

    python -m lab.speed disparity

128 patches of 128 x 128 pixels, both views, searched as the calibration of the simulated phone says. The
plain versions take one patch after the other, and one shift after the other, with NumPy and SciPy. A ratio of
20 is promised, and one look of a whole method in less than 2 ms. The shifts are compared too.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from jaxtyping import Float, Float32
from scipy.ndimage import uniform_filter

from dioptre.methods import METHODS
from dioptre.methods.calibration import find_calibration
from dioptre.methods.kernels.matching import FLOOR, NEIGHBOURS, STRAY, WIDTH
from dioptre.methods.matching import (
    CONTRAST,
    FULL,
    INDEPENDENT,
    LOCAL,
    PASSES,
    TILE,
    View,
    local_peaks,
    ssd,
    zncc,
)
from dioptre.optics import CameraModel
from dioptre.robust import weighted_median
from dioptre.simulate.render import defocus
from dioptre.simulate.sensor import expose
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import FocalStack, Picture
from lab.speed.timing import best_ms, write_line

PATCHES, SIZE = 128, 128
RATIO, LOOK_MS = 20.0, 2.0

Shifts = Float[np.ndarray, " patch"]


def main(_arguments: Sequence[str]) -> None:
    """Prints the table."""
    left, right = _patches(np.random.default_rng(0))
    reach = find_calibration("center").reach
    write_line(f"{PATCHES} patches of {SIZE} x {SIZE} pixels, {reach} pixels of shift to each side")
    write_line(f"{'':<8}{'plain ms':>10}{'dioptre ms':>12}{'ratio':>8}{'apart px':>10}")
    pairs: dict[str, tuple[Callable[..., Shifts], Callable[..., Shifts]]] = {
        "zncc": (fast_zncc, plain_zncc),
        "ssd": (fast_ssd, plain_ssd),
    }
    for name, (fast, plain) in pairs.items():
        ours, slow = partial(fast, left, right, reach), partial(plain, left, right, reach)
        slow_ms, our_ms = best_ms(slow, 2), best_ms(ours, 15)
        apart, ratio = float(np.median(np.abs(ours() - slow()))), slow_ms / our_ms
        verdict = "ok" if ratio >= RATIO else f"below the promised {RATIO:.0f}"
        write_line(f"{name:<8}{slow_ms:>10.0f}{our_ms:>12.2f}{ratio:>8.0f}{apart:>10.4f}  {verdict}")
    pixels = np.stack([left[:1], right[:1]], axis=1)[:, None]
    look = FocalStack(pixels, np.array([[20]]), CameraModel.pixel3().grid)
    for key in ("zncc-disparity", "ssd-disparity", "dioptre-zncc-disparity", "dioptre-ssd-disparity"):
        one_ms = best_ms(partial(METHODS[key].build().posterior, look), 50)
        verdict = "ok" if one_ms < LOOK_MS else f"above the promised {LOOK_MS:g} ms"
        write_line(f"one look of {key}: {one_ms:.2f} ms  {verdict}")


def _patches(rng: np.random.Generator) -> tuple[View, View]:
    """Returns both views of defocused textures, with noise."""
    diameters = np.linspace(-20, 20, PATCHES // 4)
    texture = [dead_leaves(SIZE + 48, SIZE + 48, rng) for _ in range(4)]
    light = np.concatenate([defocus(one, diameters, SIZE) for one in texture])
    pixels = expose(light, 0.2, 1.0, rng)
    return np.ascontiguousarray(pixels[:, 0]), np.ascontiguousarray(pixels[:, 1])


# Ours


def fast_zncc(left: View, right: View, reach: int) -> Shifts:
    """Returns the shift of each patch at the peak of its correlation."""
    places, heights = local_peaks(zncc(left, right, reach))
    return np.take_along_axis(places, heights.argmax(axis=1)[:, None], axis=1)[:, 0]


def fast_ssd(left: View, right: View, reach: int) -> Shifts:
    """Returns the median shift of each patch's tiles."""
    return ssd(left, right, reach, FULL).medians()


# Plain


def plain_zncc(left: View, right: View, reach: int) -> Shifts:
    """Returns the same, one shift after the other."""
    found = []
    for one, other in zip(left, right, strict=True):
        curve = np.array([_correlation(one, other, shift) for shift in range(-reach, reach + 1)])
        at = int(np.clip(curve.argmax(), 1, 2 * reach - 1))
        before, here, after = curve[at - 1 : at + 2]
        found.append(at - reach + (before - after) / (2 * (before - 2 * here + after)))
    return np.array(found)


def _correlation(left: Picture, right: Picture, shift: int) -> float:
    cols = left.shape[1]
    a = left[:, max(0, -shift) : min(cols, cols - shift)]
    b = right[:, max(0, shift) : min(cols, cols + shift)]
    a, b = a - a.mean(), b - b.mean()
    return float((a * b).mean() / np.sqrt((a * a).mean() * (b * b).mean()))


def plain_ssd(left: View, right: View, reach: int) -> Shifts:
    """Returns the same, one shift after the other, and smoothing by one neighbour after the other."""
    found = []
    for pair in zip(left, right, strict=True):
        one, other = (_flat_field(view) for view in pair)
        across = (one.shape[1] - 2 * reach) // TILE
        width, down = across * TILE, one.shape[0] // TILE
        part = one[:, reach : reach + width]
        curves = np.stack(
            [
                ((part - other[:, k : k + width]) ** 2).reshape(down, TILE, across, TILE).sum(axis=(1, 3))
                for k in range(2 * reach + 1)
            ],
            axis=-1,
        )
        guide = part.reshape(down, TILE, across, TILE).mean(axis=(1, 3))
        found.append(_smoothed_median(*_minima(curves, reach), guide))
    return np.array(found)


def _flat_field(view: Picture) -> Picture:
    side = 2 * LOCAL + 1
    inside = uniform_filter(np.ones_like(view), side, mode="constant")
    return view * inside / uniform_filter(view, side, mode="constant") - 1


def _minima(
    curves: Float32[np.ndarray, "down across shift"], steps: int
) -> tuple[Float[np.ndarray, "down across"], Float[np.ndarray, "down across"]]:
    """Returns the shifts of tiles by parabolas, and what each is worth."""
    at = curves.argmin(axis=2)
    inner = np.clip(at, 1, 2 * steps - 1)[:, :, None]
    before, least, after = (
        np.take_along_axis(curves, inner + side, axis=2)[:, :, 0].astype(np.float64) for side in (-1, 0, 1)
    )
    bend = np.maximum(before - 2 * least + after, 1e-12)
    lowest = np.maximum(least - (before - after) ** 2 / (8 * bend), 0)
    away = np.abs(np.arange(2 * steps + 1) - at[:, :, None]) > 1
    rival = np.where(away, curves, np.inf).min(axis=2)
    noise = lowest / INDEPENDENT + 1e-12
    certain = 1 - np.exp(-0.5 * (rival - least) / noise)
    worth = np.where(at == inner[:, :, 0], certain / (2 * noise / bend + FLOOR), 0.0)
    return inner[:, :, 0] - steps + (before - after) / (2 * bend), worth


def _smoothed_median(
    shifts: Float[np.ndarray, "down across"],
    worth: Float[np.ndarray, "down across"],
    guide: Float32[np.ndarray, "down across"],
) -> float:
    """Returns the weighted median of smoothed shifts."""
    about = np.full(shifts.shape, weighted_median(shifts.reshape(1, -1), worth.reshape(1, -1))[0])
    out, heard = about, worth
    for _ in range(PASSES):
        total, heard = np.zeros(shifts.shape), np.zeros(shifts.shape)
        says = worth / (1 + ((shifts - about) / STRAY) ** 2)
        for dy in range(-NEIGHBOURS, NEIGHBOURS + 1):
            for dx in range(-NEIGHBOURS, NEIGHBOURS + 1):
                here = tuple(
                    slice(max(0, -d), min(n, n - d)) for d, n in zip((dy, dx), shifts.shape, strict=True)
                )
                there = tuple(
                    slice(max(0, d), min(n, n + d)) for d, n in zip((dy, dx), shifts.shape, strict=True)
                )
                unlike = (guide[there] - guide[here]) / CONTRAST
                weight = says[there] / ((1 + (dy * dy + dx * dx) / WIDTH**2) ** 2 * (1 + unlike**2))
                total[here] += weight * shifts[there]
                heard[here] += weight
        out = np.where(heard > 0, total / np.maximum(heard, 1e-300), about)
        about = out
    return float(weighted_median(out.reshape(1, -1), heard.reshape(1, -1))[0])


if __name__ == "__main__":
    main(sys.argv[1:])
