"""Features of an answer: what its pictures say for it and against it, as a few named numbers.

The picture at the answer is compared with all others, as it would look in their light: a monotone tone map
turns its small pictures into each slice's brightness, so that exposure, gain and clipping do not count. What
is left is detail that comes and goes, with the lens or with something else. The same numbers are found for
whole sweeps of any length and for a few looks, whatever method answered; what each is worth is fitted
(`confidence.model`).
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Float32, Int

from dioptre.confidence.contrast import PeakPosterior, peak_posterior
from dioptre.confidence.statistics import BINNED, DARKEST, SliceBlocks
from dioptre.posterior import Posterior
from dioptre.robust import median_deviation

PerBlock = Float[np.ndarray, "slice block"]
Curve = Float[np.ndarray, " slice"]
Pairs = Int[np.ndarray, "2 pair"]

NEGLIGIBLE: Final = 1e-6  # probability
FEWEST: Final = 3  # pictures that show a peak
CODE: Final = 1 / 255
FEW: Final = 6  # slices: fewer have a peak in their second differences, not only noise
NOISE_OF_PIXEL: Final = 1.6  # of the logarithm of detail of noise, in a block of one pixel
LEAST_CLEAN: Final = 0.25  # of the power of two slices: where there is less detail, noise is not divided out
CLEAR: Final = 4.0  # deviations: by so much a block's detail changes if it tells anything


@dataclass(frozen=True, eq=False)
class Evidence:
    """What pictures say of an answer.

    Attributes:
        features: By name; NaN where there is nothing to tell it from.
        posterior: Where the contrast of the parts that are sharp at the answer says the focus is; None for
            fewer than three pictures.
        curve: The logarithm of the sharpness of these parts, over that of the answer's picture.
    """

    features: dict[str, float]
    posterior: PeakPosterior | None = None
    curve: Curve | None = None


def find_evidence(
    blocks: SliceBlocks,
    answer: float,
    own: float | None = None,
    positions: Curve | None = None,
    reach: float | None = None,
) -> Evidence:
    """Returns what pictures say of an answer.

    Args:
        blocks: What is kept of the slices of the region, or of looks, in ascending order of positions.
        answer: An index of the grid, which may lie between two.
        own: How likely the method itself holds it that the focus is far from the answer.
        positions: The index of each look; None for a sweep, whose slices are all of the grid.
        reach: How many indices from the answer are near it; by the number of slices, if not given.
    """
    n = blocks.slices
    reach = near_of(n) if reach is None else reach
    at = np.arange(float(n)) if positions is None else positions
    here = int(np.argmin(np.abs(at - answer)))
    detail = _Detail.of(blocks, here)
    found = {
        "own": np.nan if own is None else np.log(own + NEGLIGIBLE),
        "slices": np.log(blocks.slices),
        "seen": np.log(0.1 + abs(at[here] - answer) / reach),
        **_fineness(blocks, here, detail.weights),
        "turned": _turned(blocks) if blocks.views == 2 else np.nan,
    }
    if blocks.slices < FEWEST:
        return Evidence(_plain(found))
    near = np.abs(at[detail.peaks] - answer) <= reach
    deciding = np.where(near, detail.weights, 0.0)
    deciding = deciding if near.any() else detail.weights
    whole, curve = detail.curve(detail.weights), detail.curve(deciding)
    peak = peak_posterior(curve, positions)
    beside = np.unique(np.clip([here - 1, here], 0, blocks.slices - 2))
    around = int(max(2, min(peak.width, n / 8))) + 1
    found |= {
        "distance": np.log(0.05 + peak.expected_distance(answer) / peak.width),
        "sharper": whole.max(),
        "telling": np.log(detail.weights.mean()),
        "light": _light(blocks),
        "change": np.log(1.01 - np.quantile(detail.alike, 0.1)),
        "fall_far": _deeper_fall(curve, here),
        "ends": np.log(peak.at_ends(0.5) + NEGLIGIBLE),
        "shared_clean": float((_shared(blocks, beside) @ deciding).mean() / deciding.sum()),
        "still": _stillness(blocks, _pairs(here, n) if positions is None else _apart(at, here, reach)),
        "repeats": blocks.same_as_next[max(here - around, 0) : here + around].sum(),
    }
    return Evidence(_plain(found), peak, curve)


def sharpness_of(blocks: SliceBlocks) -> Curve:
    """Returns the logarithm of the sharpness of each slice: the root of its detail over brightness.

    Blocks count by how much their detail changes.
    """
    floor = blocks.noise_floor[:, None]
    light = (blocks.green.mean(axis=(1, 2, 3), dtype=np.float64)[:, None] + CODE) ** 2
    detail = np.maximum(blocks.fine, floor) / light
    weights = np.ptp(detail, axis=0) + DARKEST
    return np.log(detail @ weights / weights.sum()) / 2  # a mean square falls with the fourth power of blur


def own_doubt(posterior: Posterior, answer: float, reach: float) -> float:
    """Returns how likely a method's own posterior of one scene holds the focus farther than a reach away."""
    near = np.abs(np.arange(posterior.positions) - answer) <= reach
    return max(1 - float(posterior.ladder[0, near].sum()), 0.0)


def near_of(n: int) -> float:
    """Returns how many of n positions are near an answer, where nobody knows the blur: 2 of 49."""
    return max(1.5, n / 24)


def _plain(features: dict[str, Any]) -> dict[str, float]:
    return {name: float(one) for name, one in features.items()}


@dataclass(frozen=True, eq=False)
class _Detail:
    """How much detail there is in each slice and block, beside what the answer's picture would have there.

    Attributes:
        fine: The logarithm of that ratio.
        weights: How clearly the detail of each block changes along the slices.
        peaks: The slice in which each block has most of it.
        alike: The correlation of each slice with the answer's small picture in its light.
    """

    fine: PerBlock
    weights: Float[np.ndarray, " block"]
    peaks: Int[np.ndarray, " block"]
    alike: Curve

    @classmethod
    def of(cls, blocks: SliceBlocks, here: int) -> "_Detail":
        """Returns the detail of slices beside that of one of them."""
        green = blocks.green
        toned = _toned(green, here)
        expected, floor = _coarse(toned), blocks.noise_floor[:, None]
        small = floor / BINNED**2
        scale = (expected + small) / (expected[here] + small[here])
        there = np.maximum(blocks.fine[here] - floor[here], 0) * scale  # light scales detail, and no noise
        fine = np.log(blocks.fine + floor) - np.log(there + 2 * floor)
        smooth = _smoothed(fine)
        rises = np.ptp(smooth, axis=0)
        clear = np.maximum(rises / (0.03 + _noise(fine, BINNED * math.sqrt(green[0, 0].size))) - CLEAR, 0.0)
        weights = np.log1p(clear) * np.sqrt(-np.expm1(-rises)) + NEGLIGIBLE
        return cls(fine, weights, smooth.argmax(axis=0), _alike(green, toned))

    def curve(self, weights: Float[np.ndarray, " block"]) -> Curve:
        """Returns the weighted mean of the blocks' logarithms."""
        return self.fine @ weights / weights.sum()


def _toned(
    small: Float32[np.ndarray, "slice block r c"], here: int
) -> Float32[np.ndarray, "slice block r c"]:
    """Returns one slice's pictures in the light of each: as bright as what has the same rank there."""
    flat = small.reshape(len(small), -1)
    ranks = np.empty(flat.shape[1], np.intp)
    ranks[np.argsort(flat[here])] = np.arange(flat.shape[1])
    return np.sort(flat, axis=1)[:, ranks].reshape(small.shape)


def _coarse(small: Float32[np.ndarray, "slice block r c"]) -> PerBlock:
    right, down = small[..., 1:] - small[..., :-1], small[..., 1:, :] - small[..., :-1, :]
    parts = [np.einsum("sbrc,sbrc->sb", one, one) / max(one[0, 0].size, 1) for one in (right, down)]
    return (parts[0] + parts[1]).astype(np.float64)


def _pairs(here: int, n: int) -> Pairs:
    """Returns the slices around an answer, each with the next."""
    some = np.arange(max(here - 2, 0), min(here + 3, n))
    return np.stack([some[:-1], some[1:]])


def _apart(at: Curve, here: int, reach: float) -> Pairs:
    """Returns the look at an answer with the nearest two that are not near it."""
    away = np.abs(at - at[here])
    others = np.flatnonzero(away >= reach)
    others = others[np.argsort(away[others])][:2]
    return np.stack([np.full(len(others), here), others])


def _stillness(blocks: SliceBlocks, pairs: Pairs) -> float:
    """Returns how much the small pictures of pairs differ, beside what noise explains; NaN of none."""
    if not pairs.size:
        return np.nan
    green = blocks.green.reshape(blocks.slices, -1)
    even = green / np.maximum(green.mean(axis=1, keepdims=True), 1e-6)
    noise = blocks.noise_floor / (green.mean(axis=1) ** 2 + 1e-9)
    change = np.square(even[pairs[0]] - even[pairs[1]]).mean(axis=1)
    return float(np.log((change + 1e-9) / (noise[pairs].sum(axis=0) / 64 + 1e-9)).min())


def _smoothed(curves: Float[np.ndarray, "slice ..."]) -> Float[np.ndarray, "slice ..."]:
    """Returns curves averaged over three slices, the middle one twice."""
    padded = np.concatenate([curves[:1], curves, curves[-1:]])
    return (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4


def _noise(curves: PerBlock, side: float) -> Float[np.ndarray, " block"]:
    """Returns the deviation of noise between slices, by second differences.

    Of too few slices it is what a block of noise has, by its side in pixels, or 0.1 for what it hides.
    """
    if len(curves) < FEW:
        return np.full(curves.shape[1], max(0.1, NOISE_OF_PIXEL / side))
    bends = curves[2:] - 2 * curves[1:-1] + curves[:-2]
    return median_deviation(bends, centre=0.0, axis=0) / np.sqrt(6)


def _fineness(blocks: SliceBlocks, here: int, weights: Float[np.ndarray, " block"]) -> dict[str, Any]:
    """Returns how fine the detail of the answer's picture is, and how far it stands out of the noise."""
    floor = blocks.noise_floor[here]
    share = weights * blocks.fine[here]
    share = share / max(share.sum(), 1e-12)
    fine, finest = share @ blocks.fine[here], share @ blocks.finest[here]
    coarse = share @ _coarse(blocks.green[here : here + 1])[0]
    least = 0.1 * floor
    return {
        "edge": np.log(max(fine - floor, least) / max(coarse - floor / BINNED**2, least)),
        "finest": np.log(max(finest - floor, least) / max(fine - floor, least)),
        "clear": np.log(max(fine, least) / floor),
    }


def _turned(blocks: SliceBlocks) -> float:
    """Returns how much more the views differ up and down than sideways."""
    right, down = np.abs(blocks.disparity())
    return float(np.log(0.1 + np.quantile(down, 0.8)) - np.log(0.1 + np.quantile(right, 0.8)))


def _light(blocks: SliceBlocks) -> float:
    """Returns the logarithm of the range of the logarithm of the brightness of slices.

    A star field on black is darker than a code of 8 bits on the average; no change of that is one of light.
    """
    bright = np.log(blocks.small.mean(axis=(1, 2, 3, 4)) + CODE)
    return float(np.log(0.01 + np.ptp(bright)))


def _alike(
    pictures: Float32[np.ndarray, "slice block r c"], toned: Float32[np.ndarray, "slice block r c"]
) -> Curve:
    """Returns the correlation of each picture with another one."""
    one, other = (each.reshape(len(each), -1) for each in (pictures, toned))
    one, other = (each - each.mean(axis=1, keepdims=True) for each in (one, other))
    power = np.einsum("si,si->s", one, one) * np.einsum("si,si->s", other, other)
    return np.einsum("si,si->s", one, other) / np.sqrt(np.maximum(power, 1e-20)).astype(np.float64)


def _deeper_fall(curve: Curve, here: int) -> float:
    """Returns how far the detail falls on the deeper side of the answer: the mean of its lowest third."""
    sides = [curve[here] - one for one in (curve[: here + 1], curve[here:]) if len(one) > 1]
    return max(float(np.sort(one)[-max(len(one) // 3, 1) :].mean()) for one in sides)


def _shared(blocks: SliceBlocks, gaps: Int[np.ndarray, " some"]) -> Float[np.ndarray, "some block"]:
    """Returns the correlation of detail between neighbours, in which noise does not count.

    Args:
        blocks: What is kept of the slices.
        gaps: Between which of them: adjacent ones, rising.
    """
    clean = np.maximum(1 - blocks.noise_floor[:, None] / np.maximum(blocks.fine, DARKEST), 0)
    known = np.sqrt(np.maximum(clean[gaps] * clean[gaps + 1], LEAST_CLEAN))
    around = blocks.at(slice(gaps[0], gaps[-1] + 2))
    return np.minimum(around.likeness() / known, 1.2)
