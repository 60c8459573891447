"""Features of an answer: what its pictures say for it and against it, as a few named numbers.

The picture at the answer is compared with all others, as it would look in their light: a monotone tone map
turns its small pictures into each slice's brightness, so that exposure, gain and clipping do not count. What
is left is detail that comes and goes, with the lens or with something else. The same numbers are found for
whole sweeps of any length and for a few looks, whatever method answered; what each is worth is fitted
(`confidence.model`).
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Float32

from dioptre.confidence.contrast import PeakPosterior, peak_posterior
from dioptre.confidence.statistics import SliceBlocks
from dioptre.posterior import Posterior

PerBlock = Float[np.ndarray, "slice block"]
Curve = Float[np.ndarray, " slice"]

NEGLIGIBLE: Final = 1e-6  # probability
DARKEST: Final = 1e-7  # mean square of differences: what rounding to 8 bits leaves
CLEAR: Final = 4.0  # deviations: by so much a block's detail changes if it tells anything


@dataclass(frozen=True, eq=False)
class Evidence:
    """What pictures say of an answer.

    Attributes:
        features: By name; NaN where there is nothing to tell it from.
        posterior: Where the contrast of the parts that are sharp at the answer says the focus is; None for
            fewer than three pictures.
        everywhere: The same of all parts.
        curve: The logarithm of the sharpness of the former, over that of the answer's picture.
    """

    features: dict[str, float]
    posterior: PeakPosterior | None = None
    everywhere: PeakPosterior | None = None
    curve: Curve | None = None


def find_evidence(
    blocks: SliceBlocks,
    answer: float,
    own: float | None = None,
    positions: Curve | None = None,
    grid: int | None = None,
    closed: tuple[bool, bool] = (False, False),
) -> Evidence:
    """Returns what pictures say of an answer.

    Args:
        blocks: What is kept of the slices of the region, or of looks, in ascending order of positions.
        answer: An index of the grid, which may lie between two.
        own: How likely the method itself holds it that the focus is farther than a reach from the answer.
        positions: The index of each slice; all of the grid, if not given.
        grid: Positions of the grid; as many as slices, if not given.
        closed: Of the first and the last end of a sweep: whether nothing can be sharp beyond it.
    """
    n = grid or blocks.slices
    at = np.arange(float(n)) if positions is None else positions
    here, reach = int(np.argmin(np.abs(at - answer))), near_of(n)
    detail = _Detail.of(blocks, here)
    found = {
        "own": np.nan if own is None else np.log(own + NEGLIGIBLE),
        "slices": np.log(blocks.slices),
        "away": np.log(0.5 + abs(at[here] - answer)),
        **_fineness(blocks, here, detail.weights),
        "turned": _turned(blocks) if blocks.views == 2 else np.nan,
    }
    if blocks.slices < 3:
        return Evidence(_plain(found))
    everywhere = peak_posterior(detail.curve(detail.weights), positions)
    away = np.abs(at[detail.peaks] - answer)
    deciding = np.where(away <= reach, detail.weights, 0.0)
    share = deciding.sum() / detail.weights.sum()
    deciding = deciding if share > 0 else detail.weights
    curve = detail.curve(deciding)
    peak = peak_posterior(curve, positions)
    found |= {
        "spread": np.log(peak.away_from(answer, reach) + NEGLIGIBLE),
        "spread_all": np.log(everywhere.away_from(answer, reach) + NEGLIGIBLE),
        "distance": np.log(0.05 + peak.expected_distance(answer) / peak.width),
        "distance_all": np.log(0.05 + everywhere.expected_distance(answer) / everywhere.width),
        "sharper": detail.curve(detail.weights).max(),
        "share": share,
        "share_near": detail.weights[away <= 2 * reach].sum() / detail.weights.sum(),
        "closed": float(closed[int(2 * answer > n - 1)]),
        "telling": np.log(detail.weights.mean()),
        "width": np.log(peak.width),
        "misfit": np.log(peak.misfit + 0.02),
        "scales": np.log(
            0.1 + abs(at[int(np.argmax(detail.coarse_curve(deciding)))] - answer) / max(peak.width, 1)
        ),
        **_light(blocks, here, detail),
        **_falls(curve, here),
    }
    if positions is None:
        beside = np.unique(np.clip([here - 1, here], 0, blocks.slices - 2))
        shared = blocks.likeness()[beside]
        clean = 1 - noise_floor(blocks)[:, None] / blocks.fine
        known = np.sqrt(np.maximum(clean[beside] * clean[beside + 1], 0.05))
        same, around = blocks.same_as_next, int(max(2, min(peak.width, n / 8))) + 1
        found |= {
            "ends": np.log(peak.at_ends(0.5) + NEGLIGIBLE),
            "shared": float((shared @ deciding).mean() / deciding.sum()),
            "shared_clean": float((np.minimum(shared / known, 1.2) @ deciding).mean() / deciding.sum()),
            "still": _stillness(blocks, here),
            "repeats": float(min(same[max(here - around, 0) : here + around].sum(), 4)),
        }
    return Evidence(_plain(found), peak, everywhere, curve)


def own_doubt(posterior: Posterior, answer: float) -> float:
    """Returns how likely a method's own posterior of one scene holds the focus far from an answer."""
    n = posterior.positions
    near = np.abs(np.arange(n) - answer) <= near_of(n)
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
        coarse: The same in the small pictures.
        weights: How clearly the detail of each block changes along the slices.
        peaks: The slice in which each block has most of it.
        toned: The answer's small picture in the light of each slice.
    """

    fine: PerBlock
    coarse: PerBlock
    weights: Float[np.ndarray, " block"]
    peaks: "np.ndarray"
    toned: Float32[np.ndarray, "slice block r c"]

    @classmethod
    def of(cls, blocks: SliceBlocks, here: int) -> "_Detail":
        """Returns the detail of slices beside that of one of them."""
        green = blocks.green
        toned = _toned(green, here)
        coarse, expected = _coarse(green), _coarse(toned)
        floor = noise_floor(blocks)[:, None]
        small = floor / 16
        scale = (expected + small) / (expected[here] + small[here])
        fine = np.log(blocks.fine + floor) - np.log(blocks.fine[here] * scale + floor)
        smooth = _smoothed(fine)
        clear = (np.ptp(smooth, axis=0)) / (0.03 + _noise(fine))
        weights = np.log1p(np.maximum(clear - CLEAR, 0.0)) * np.sqrt(-np.expm1(-np.ptp(smooth, axis=0)))
        return cls(
            fine,
            np.log(coarse + small) - np.log(expected + small),
            weights + 1e-6,
            smooth.argmax(axis=0),
            toned,
        )

    def curve(self, weights: Float[np.ndarray, " block"]) -> Curve:
        """Returns the weighted mean of the blocks' logarithms."""
        return self.fine @ weights / weights.sum()

    def coarse_curve(self, weights: Float[np.ndarray, " block"]) -> Curve:
        """Returns the same of the small pictures, smoothed."""
        return _smoothed(self.coarse @ weights / weights.sum())


def noise_floor(blocks: SliceBlocks) -> Curve:
    """Returns how much detail noise is in each slice: what the calmest quarter of the blocks has at most."""
    return np.quantile(blocks.noise, 0.25, axis=1) + DARKEST


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


def _stillness(blocks: SliceBlocks, here: int) -> float:
    """Returns how much the small pictures change around the answer, beside what noise explains."""
    some = slice(max(here - 2, 0), here + 3)
    green, floor = blocks.green[some].reshape(-1, blocks.green[0].size), noise_floor(blocks)[some]
    even = green / np.maximum(green.mean(axis=1, keepdims=True), 1e-6)
    light = green.mean(axis=1) ** 2 + 1e-9
    noise = (floor / light)[:-1] + (floor / light)[1:]
    change = np.square(np.diff(even, axis=0)).mean(axis=1)
    return float(np.log((change + 1e-9) / (noise / 64 + 1e-9)).min())


def _smoothed(curves: Float[np.ndarray, "slice ..."]) -> Float[np.ndarray, "slice ..."]:
    """Returns curves averaged over three slices, the middle one twice."""
    padded = np.concatenate([curves[:1], curves, curves[-1:]])
    return (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4


def _noise(curves: PerBlock) -> Float[np.ndarray, " block"]:
    """Returns the deviation of noise between slices, by second differences; 0.1 for too few slices."""
    if len(curves) < 5:
        return np.full(curves.shape[1], 0.1)
    bends = np.abs(curves[2:] - 2 * curves[1:-1] + curves[:-2])
    return np.median(bends, axis=0) / (0.6745 * np.sqrt(6))


def _fineness(blocks: SliceBlocks, here: int, weights: Float[np.ndarray, " block"]) -> dict[str, Any]:
    """Returns how fine the detail of the answer's picture is, beside its noise and its light."""
    floor = noise_floor(blocks)[here]
    share = weights * blocks.fine[here]
    share = share / max(share.sum(), 1e-12)
    fine, finest = share @ blocks.fine[here], share @ blocks.finest[here]
    coarse = share @ _coarse(blocks.green[here : here + 1])[0]
    least = 0.1 * floor
    return {
        "edge": np.log(max(fine - floor, least) / max(coarse - floor / 16, least)),
        "finest": np.log(max(finest - floor, least) / max(fine - floor, least)),
        "clear": np.log(fine / floor),
        "dark": np.log(blocks.green[here].mean(axis=(1, 2)).max() + 1e-4),
    }


def _turned(blocks: SliceBlocks) -> float:
    """Returns how much more the views differ up and down than sideways."""
    right, down = np.abs(blocks.disparity())
    return float(np.log(0.1 + np.quantile(down, 0.8)) - np.log(0.1 + np.quantile(right, 0.8)))


def _light(blocks: SliceBlocks, here: int, detail: _Detail) -> dict[str, Any]:
    """Returns how light and scene change along the slices, and how much noisier the answer's picture is."""
    green = blocks.green.reshape(blocks.slices, -1)
    bright = np.log(np.maximum(green.mean(axis=1), 1e-4))
    toned = detail.toned.reshape(green.shape)
    one, other = green - green.mean(axis=1, keepdims=True), toned - toned.mean(axis=1, keepdims=True)
    power = np.einsum("si,si->s", one, one) * np.einsum("si,si->s", other, other)
    alike = np.einsum("si,si->s", one, other) / np.sqrt(np.maximum(power, 1e-20))
    floor = noise_floor(blocks)
    beside = alike[max(here - 1, 0) : here + 2]
    return {
        "light": np.log(0.01 + np.ptp(bright)),
        "change": np.log(1.01 - np.quantile(alike, 0.1)),
        "change_here": np.log(1.01 - beside.min()),
        "noisier": np.log(floor[here] / np.median(floor)),
    }


def _falls(curve: Curve, here: int) -> dict[str, Any]:
    """Returns how far detail falls on the weaker and on the deeper side of the answer, if it has two."""
    sides = [curve[here] - one for one in (curve[: here + 1], curve[here:])]
    falls = [float(np.sort(one)[-max(len(one) // 3, 1) :].mean()) for one in sides if len(one) > 1]
    return {"fall": min(falls), "fall_far": max(falls)}
