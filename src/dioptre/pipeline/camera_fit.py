"""What a sweep of a textured target tells of a camera: how fast blur and disparity grow along its lens's way.

**Blur.** Defocus turns the spectrum of a sharp slice into that of a blurred one by the transfer of a disc, so
the square root of the ratio of two power spectra is |2 J1(x) / x|, x = pi times diameter times frequency.
Power spectra do not change when the picture shifts or its scale changes a little, which moving lenses do. The
noise is what all slices have left at the highest frequencies. A line on each side of focus through the
diameters gives the growth and, where they meet, the focus.

**Disparity.** The shift between left and right passes through 0 at focus and changes evenly along the way.

Frequencies are cycles a pixel, diameters and disparities pixels, positions in any unit.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Float, Float32
from scipy.ndimage import gaussian_filter, shift
from scipy.optimize import minimize_scalar
from scipy.special import j1

from dioptre.errors import InputError
from dioptre.robust import median_deviation

TINY: Final = 1e-12

Slices = Float32[np.ndarray, "slice view row col"]
PerSlice = Float[np.ndarray, " slice"]


@dataclass(frozen=True)
class Spectrum:
    """The part of a power spectrum that tells of blur, in cycles a pixel.

    Attributes:
        bins: Of frequency.
        lowest: The lowest frequency.
        highest: The highest frequency.
        top: From here on, what there is of it in the most blurred slices is noise.
    """

    bins: int = 40
    lowest: float = 0.02
    highest: float = 0.35
    top: float = 0.42


SPECTRUM: Final = Spectrum()


@dataclass(frozen=True)
class DiscFit:
    """How the blur of a slice becomes a diameter, in pixels.

    Attributes:
        diameters: Between which a disc is told well.
        widest: The widest disc that is tried.
        few: Slices on a side that tell a line, at least.
    """

    diameters: tuple[float, float] = (2.5, 22.0)
    widest: float = 60.0
    few: int = 3


DISC: Final = DiscFit()


@dataclass(frozen=True)
class ViewShift:
    """How the shift of two views is found.

    Attributes:
        near_px: Blur up to which views are matched.
        smooth_px: Sigma: what is finer is noise.
        shading_px: Sigma: what is larger is shading.
        border: Pixels that are left out.
        rounds: Of refinement.
        largest_px: The largest disparity, in whole pixels.
    """

    near_px: float = 9.0
    smooth_px: float = 1.5
    shading_px: float = 10.0
    border: int = 12
    rounds: int = 5
    largest_px: int = 8


SHIFT: Final = ViewShift()


@dataclass(frozen=True)
class GrowthLine:
    """What grows evenly along the way: how much for a unit, the standard error of that, and where it is 0."""

    slope: float
    error: float
    zero: float


@dataclass(frozen=True, eq=False)
class BlurGrowth:
    """How fast blur grows.

    Attributes:
        growth: Pixels of diameter a unit, the mean of both sides of focus.
        error: Standard error of that.
        near: The same where larger positions are.
        far: And where smaller ones are; NaN of a side that was not seen.
        focus: Where the target is in focus.
        diameters: Of each slice against the sharpest; NaN where it cannot be told.
    """

    growth: float
    error: float
    near: float
    far: float
    focus: float
    diameters: PerSlice


def fit_blur(slices: Slices, positions: PerSlice) -> BlurGrowth:
    """Returns the growth of blur along a sweep, in px per unit of the positions.

    Args:
        slices: Of a textured target that faces the camera.
        positions: Where they were taken, rising.

    Raises:
        InputError: If the slices do not tell.
    """
    frequency, power = power_spectra(slices)
    noise = noise_of(frequency, power)
    clean = np.maximum(power - noise, TINY)
    band = (frequency >= SPECTRUM.lowest) & (frequency <= SPECTRUM.highest)
    sharpest = int(np.argmax(clean[:, (frequency > 0.08) & (frequency < 0.3)].sum(axis=1)))
    strong = band & (clean[sharpest] > 2 * noise)
    if np.count_nonzero(strong) < 6:
        raise InputError("the target has too little texture, or the picture too much noise, to measure blur")
    diameters = np.array(
        [fit_disc(frequency[strong], np.sqrt(one[strong] / clean[sharpest][strong])) for one in clean]
    )
    diameters[sharpest] = np.nan
    return _two_lines(positions, diameters, sharpest)


def noise_of(
    frequency: Float[np.ndarray, " bin"], power: Float[np.ndarray, "slice bin"]
) -> Float[np.ndarray, " bin"]:
    """Returns the power of the noise: what the slice with the least of it has, where that is not signal."""
    least = power.min(axis=0)
    return np.minimum(least, 2 * float(np.median(least[frequency > SPECTRUM.top])))


def power_spectra(slices: Slices) -> tuple[Float[np.ndarray, " bin"], Float[np.ndarray, "slice bin"]]:
    """Returns frequencies, and the mean power of each slice around each of them, of green over its mean.

    It is the power of the differences between neighbouring pixels: that of pictures falls so steeply that
    what a window spreads of the low frequencies would hide the high ones.
    """
    green = slices.mean(axis=1, dtype=np.float64)
    green /= np.maximum(green.mean(axis=(1, 2), keepdims=True), TINY)
    rows, cols = green.shape[1] - 1, green.shape[2] - 1
    window = np.hanning(rows)[:, None] * np.hanning(cols)[None, :]
    steps = green[:, 1:, :-1] - green[:, :-1, :-1], green[:, :-1, 1:] - green[:, :-1, :-1]
    spectrum = np.sum([np.abs(np.fft.rfft2(one * window)) ** 2 for one in steps], axis=0)
    radius = np.hypot(np.fft.fftfreq(rows)[:, None], np.fft.rfftfreq(cols)[None, :])
    which = np.minimum((radius / 0.5 * SPECTRUM.bins).astype(int), SPECTRUM.bins)
    count = np.maximum(np.bincount(which.ravel(), minlength=SPECTRUM.bins + 1)[: SPECTRUM.bins], 1)
    power = np.stack(
        [
            np.bincount(which.ravel(), one.ravel(), SPECTRUM.bins + 1)[: SPECTRUM.bins] / count
            for one in spectrum
        ]
    )
    return (np.arange(SPECTRUM.bins) + 0.5) * 0.5 / SPECTRUM.bins, power


def transfer(diameter: float, frequency: Float[np.ndarray, " bin"]) -> Float[np.ndarray, " bin"]:
    """Returns the modulation transfer of a disc's blur at each frequency, 0 to 1."""
    x = np.maximum(np.pi * diameter * frequency, 1e-6)
    return np.abs(2 * j1(x) / x)


def fit_disc(frequency: Float[np.ndarray, " bin"], ratio: Float[np.ndarray, " bin"]) -> float:
    """Returns the diameter of the disc whose transfer is nearest to a ratio of amplitudes."""

    def left(diameter: float) -> float:
        return float(np.sum((np.minimum(ratio, 1.5) - transfer(diameter, frequency)) ** 2))

    tried = np.geomspace(0.5, DISC.widest, 60)
    best = int(np.argmin([left(one) for one in tried]))
    low, high = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
    return float(minimize_scalar(left, bounds=(low, high), method="bounded").x)


def fit_line(x: PerSlice, y: PerSlice) -> GrowthLine:
    """Returns a line through points, without those that lie far off it."""
    kept = np.ones(len(x), dtype=bool)
    for _ in range(3):
        slope, offset = np.polyfit(x[kept], y[kept], 1)
        left = y - (slope * x + offset)
        spread = float(median_deviation(left[kept], 0.0)) + TINY
        within = np.abs(left) <= 4 * spread
        if np.count_nonzero(within) < DISC.few or (within == kept).all():
            break
        kept = within
    count, width = int(np.count_nonzero(kept)), float(np.sum((x[kept] - x[kept].mean()) ** 2))
    variance = float(np.sum(left[kept] ** 2)) / max(count - 2, 1) / max(width, TINY)
    return GrowthLine(float(slope), math.sqrt(variance), float(-offset / slope) if slope else math.nan)


def _two_lines(positions: PerSlice, diameters: PerSlice, sharpest: int) -> BlurGrowth:
    """Returns the growth on either side of the sharpest slice, and where both meet."""
    told = np.isfinite(diameters) & (diameters > DISC.diameters[0]) & (diameters < DISC.diameters[1])
    lines: dict[int, GrowthLine] = {}
    for side in (1, -1):
        some = np.flatnonzero(told & (side * (positions - positions[sharpest]) > 0))
        away = side * (some - sharpest)
        order = some[np.argsort(away)]
        rising = order[: _rising(diameters[order])]
        if len(rising) >= DISC.few:
            lines[side] = fit_line(positions[rising], diameters[rising])
    if not lines:
        raise InputError(
            f"fewer than {DISC.few} slices on each side of focus are blurred by {DISC.diameters[0]:g} to "
            f"{DISC.diameters[1]:g} pixels: sweep farther, or by smaller steps"
        )
    slopes = {side: side * line.slope for side, line in lines.items()}
    growth = float(np.mean(list(slopes.values())))
    error = math.sqrt(sum(line.error**2 for line in lines.values())) / len(lines)
    zeros = [line.zero for line in lines.values()]
    return BlurGrowth(
        growth, error, slopes.get(1, math.nan), slopes.get(-1, math.nan), float(np.mean(zeros)), diameters
    )


def _rising(diameters: PerSlice) -> int:
    """Returns the number of diameters, going away from focus, before they stop growing."""
    for at in range(1, len(diameters)):
        if diameters[at] < 0.7 * diameters[:at].max():
            return at
    return len(diameters)


def disparity(views: Float32[np.ndarray, "2 row col"]) -> float:
    """Returns by how many pixels the right view lies right of the left one, between whole pixels.

    The shift that brings the views closest together, by their slope along the columns (Lucas and Kanade),
    again and again; without what is larger than the detail, which is shading.
    """
    left, right = (_detail(one.astype(np.float64)) for one in views)
    inner = slice(SHIFT.border, -SHIFT.border), slice(SHIFT.border, -SHIFT.border)
    total = 0.0
    for _ in range(SHIFT.rounds):
        back = shift(right, (0.0, -total), order=3, mode="nearest")
        slope = np.gradient((left + back) / 2, axis=1)[inner]
        step = -float(np.sum(slope * (back - left)[inner])) / max(float(np.sum(slope**2)), TINY)
        total = float(np.clip(total + step, -SHIFT.largest_px, SHIFT.largest_px))
    return total


def _detail(picture: Float[np.ndarray, "row col"]) -> Float[np.ndarray, "row col"]:
    picture = picture / max(float(picture.mean()), TINY)
    return gaussian_filter(picture, SHIFT.smooth_px) - gaussian_filter(picture, SHIFT.shading_px)


def fit_disparity(slices: Slices, positions: PerSlice, blur: BlurGrowth) -> GrowthLine:
    """Returns the growth of disparity near focus, in px per unit of the positions.

    Raises:
        InputError: If too few slices tell.
    """
    away = np.abs(positions - blur.focus) * blur.growth
    some = np.flatnonzero(away <= SHIFT.near_px)
    if len(some) < DISC.few:
        raise InputError(f"fewer than {DISC.few} slices are within {SHIFT.near_px:g} pixels of blur of focus")
    return fit_line(positions[some], np.array([disparity(slices[at]) for at in some]))
