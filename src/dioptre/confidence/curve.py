"""The shape of a focus curve: its noise, what stands out of it, and the peak between slices.

A focus curve is a score for each slice, higher is sharper. The noise is read off in two ways:

* **Disagreement.** Tiles of the region are scored too. Where there is only noise, they disagree on
  which slice is better.
* **Roughness.** Slices are separate exposures: flicker makes neighbouring scores independent, and all tiles
  agree on it, while defocus changes them smoothly. Third differences, in which a smooth curve vanishes,
  show it.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from jaxtyping import Float

from dioptre.robust import median_deviation

Curve = Float[np.ndarray, " n"]
Tiles = Float[np.ndarray, "tile n"]
Side = Float[np.ndarray, " _"]  # the part of a curve on one side of its peak, going away from it

FEW_SLICES: Final = 10  # below this, smooth cannot be told from rough
FEW_TILES: Final = 4
FALSE_ALARMS: Final = 1e-4  # how often pure noise may pass for a peak, were the noise known exactly
NOISE_IN_DOUBT: Final = 1.25  # the noise is an estimate and may be this much larger
ROUGH_IN_DOUBT: Final = 1.5  # and roughness of few slices by so much more
STEADY: Final = 4.2  # a peak stands out of flicker by so many times the roughness
UNKNOWN_NOISE: Final = 0.05  # of the curve's range, where nothing tells
HIGH: Final = 0.5  # of a curve's height: what a bell is laid through
LEAST: Final = 0.05  # and what is lower counts as this high
TOP: Final = 0.85  # of a curve's height: the slices around its peak that are as high tell its place


@dataclass(frozen=True)
class CurveNoise:
    """The deviation of the noise of a curve scaled to 0..1, by tiles and by slices; None if unknown."""

    disagreement: float | None
    roughness: float | None

    @classmethod
    def of(cls, curve: Curve, tiles: Tiles | None, covered: float = 1.0) -> "CurveNoise":
        """Returns the noise of a curve, as far as there are tiles and slices enough to tell."""
        return cls(
            None if tiles is None or len(tiles) < FEW_TILES else math.sqrt(covered) * disagreement(tiles),
            None if len(curve) < FEW_SLICES else roughness(curve),
        )

    @property
    def unknown(self) -> bool:
        """Whether neither is known: too few slices and no tiles."""
        return self.disagreement is None and self.roughness is None

    @property
    def total(self) -> float:
        """The larger of the two."""
        return max((v for v in (self.disagreement, self.roughness) if v is not None), default=UNKNOWN_NOISE)

    def needed_rise(self, n: int) -> float:
        """Returns how far the highest of n scores must stand above its surroundings to be no accident."""
        if self.disagreement is None:
            return significance(n) * self.total * (ROUGH_IN_DOUBT if n < 2 * FEW_SLICES else 1.0)
        return max(significance(n) * self.disagreement, STEADY * (self.roughness or 0.0))


def roughness(curve: Curve) -> float:
    """Returns the noise that third differences show (white noise makes their variance 20 times its own).

    Those around the peak are left out, where even a smooth curve bends sharply.
    """
    thirds = np.abs(np.diff(curve, 3))
    far = np.abs(np.arange(len(thirds)) + 1.5 - curve.argmax()) > max(2.5, len(curve) / 12)
    return _robust_deviation(thirds[far]) / np.sqrt(20)


def disagreement(tiles: Tiles) -> float:
    """Returns the noise of the tiles' mean curve, as a part of that curve's range."""
    with np.errstate(invalid="ignore"):  # a tile without contrast may score minus infinity
        steps = np.diff(tiles[np.isfinite(tiles).all(axis=1)], axis=1)
    if len(steps) < 4:
        return np.inf
    spread = median_deviation(steps, axis=0)
    mean = np.concatenate([[0.0], np.cumsum(steps.mean(axis=0))])
    span = np.ptp(mean)
    return float(np.median(spread) / np.sqrt(2 * len(steps)) / span) if span > 0 else np.inf


def _robust_deviation(magnitudes: Float[np.ndarray, " n"]) -> float:
    """Returns the standard deviation of zero-mean numbers from their magnitudes, deaf to a few outliers.

    Numbers beyond three robust deviations are left out; the rest give the root mean square.
    """
    limit = 3 * median_deviation(magnitudes, 0.0)
    return float(np.sqrt(np.mean(magnitudes[magnitudes <= limit] ** 2)))


def significance(n: int) -> float:
    """Returns how many deviations the highest of n noisy scores must stand out to be no accident."""
    return NOISE_IN_DOUBT * NormalDist().inv_cdf(1 - FALSE_ALARMS / n)


def stands_out(top: float, side: Side, needed: float) -> bool:
    """Returns whether the peak is clearly higher than the mean of the slices on one side of it, if any."""
    return bool(side.size and top - side.mean() > needed)


def peak_position(curve: Curve) -> float:
    """Returns the peak's place between slices, at most one from the highest, by the parabola through its top.

    The top is the highest slice, its neighbours, and what beside them is nearly as high: of a peak over many
    slices, three would tell the noise rather than the place.
    """
    peak, last = int(np.argmax(curve)), len(curve) - 1
    if not (0 < peak < last and np.isfinite(curve[peak - 1 : peak + 2]).all()):
        return float(peak)
    lowest = np.min(curve, where=np.isfinite(curve), initial=np.inf)
    enough = lowest + TOP * (curve[peak] - lowest)
    left, right = peak - 1, peak + 1
    while left > 0 and curve[left] >= enough and curve[left - 1] >= enough:
        left -= 1
    while right < last and curve[right] >= enough and curve[right + 1] >= enough:
        right += 1
    away = np.arange(left - peak, right - peak + 1)
    slope, bend = np.linalg.lstsq(np.stack([away**0, away, away**2], axis=1), curve[left : right + 1])[0][1:]
    return peak + float(np.clip(-slope / (2 * bend), -1, 1)) if bend < 0 else float(peak)


def fitted_peak(places: Float[np.ndarray, " some"], curve: Float[np.ndarray, " some"]) -> float:
    """Returns where the peak is among places at any distance, by a bell through what is high around it.

    A bell is a parabola in the logarithm. A parabola through the scores themselves is drawn to the side that
    has more frames, as a peak's flanks bend outwards. What is higher counts more (Guo 2011).
    """
    top = int(np.argmax(curve))
    if not 0 < top < len(curve) - 1:
        return float(places[top])
    height = (curve - curve.min()) / max(float(np.ptp(curve)), 1e-30)
    left = right = top
    while left > 0 and (height[left - 1] >= HIGH or top - left < 1):
        left -= 1
    while right < len(curve) - 1 and (height[right + 1] >= HIGH or right - top < 1):
        right += 1
    some = slice(left, right + 1)
    away = (places[some] - places[top]).astype(np.float64)
    scale = float(np.ptp(away))
    high = np.maximum(height[some], LEAST)
    bend, slope, _ = np.polyfit(away / scale, np.log(high), 2, w=high)
    if not bend < 0:
        return float(places[top])
    before, after = places[top - 1] - places[top], places[top + 1] - places[top]
    return float(places[top]) + float(np.clip(-scale * slope / (2 * bend), before, after))
