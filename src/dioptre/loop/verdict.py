"""Is this focus curve a peak? State, confidence and reasons.

A focus curve is a score for each slice, higher is sharper. A measure always has a highest score, also on a
blank wall; so the verdict asks whether the peak stands out of the curve's noise. The noise is read
off in two ways:

* **Disagreement.** Tiles of the region are scored too. Where there is only noise, they disagree on
  which slice is better.
* **Roughness.** Slices are separate exposures: flicker makes neighbouring scores independent, and all tiles
  agree on it, while defocus changes them smoothly. Third differences, in which a smooth curve vanishes,
  show it.

A method that returns a posterior does not score slices; there the verdict asks how much of the posterior is
near the answer, whether the rest is on another side of focus, and how much lies beyond the ends of the ladder
(`judge_posterior`).

The peak must stand out of the slices on *both* sides. If it does so on one side only, the curve is still
rising where the stack ends: the focus lies beyond.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise
from statistics import NormalDist
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from dioptre.posterior import Posterior

Curve = Float[np.ndarray, " n"]
Side = Float[np.ndarray, " _"]  # the part of a curve on one side of its peak, going away from it

FEW_SLICES: Final = 10  # below this, smooth cannot be told from rough
FEW_TILES: Final = 4
FALSE_ALARMS: Final = 1e-4  # how often pure noise may pass for a peak, were the noise known exactly
NOISE_IN_DOUBT: Final = 1.25  # the noise is an estimate and may be this much larger
ROUGH_IN_DOUBT: Final = 1.5  # and roughness of few slices by so much more
STEADY: Final = 4.2  # a peak stands out of flicker by so many times the roughness
UNKNOWN_NOISE: Final = 0.05  # of the curve's range, where nothing tells
SPIKE: Final = 0.1  # neighbours of a lone spike reach less than this part of its height
RIVAL: Final = 0.8  # a second peak this high, with a valley between, makes the answer ambiguous
VALLEY: Final = 0.15  # how deep that valley is at least
NEAR: Final = 1 / 12  # of the ladder: so far from the answer probability counts for it
PROBABLE: Final = 0.5  # how much of a posterior must be near an answer
OTHER_SIDE: Final = 0.1  # how much of it on another side of focus makes an answer ambiguous
NEGLIGIBLE: Final = 0.01  # a side that is less likely is no candidate
DIP: Final = 0.5  # of the lower peak: how deep the valley between two sides is at least
SATURATED: Final = 0.5  # part of the pixels at white
DARK: Final = 0.01  # mean signal of a region that is too dark, if the curve is flat too
WHITE: Final = 0.998
_DRAWS: Final = 400


class State(StrEnum):
    """What became of focusing."""

    FOCUSED = "focused"
    FAILED = "failed"


class Reason(StrEnum):
    """Why focusing failed, or what to beware of."""

    FLAT_CURVE = "flat-curve"
    PEAK_AT_EDGE = "peak-at-edge"
    SPIKE = "spike"
    SATURATED = "saturated"
    TOO_DARK = "too-dark"
    NOT_FINITE = "not-finite"
    TOO_FEW_SLICES = "too-few-slices"
    TOO_SMALL = "too-small"
    TWO_PEAKS = "two-peaks"
    UNSURE = "unsure"
    AMBIGUOUS = "ambiguous"
    BEYOND_FAR = "beyond-the-far-end"
    BEYOND_NEAR = "beyond-the-near-end"
    ASSUMED_CAMERA = "assumed-camera"


WARNINGS: Final = frozenset({Reason.TWO_PEAKS, Reason.ASSUMED_CAMERA})

EXPLANATIONS: Final[dict[Reason, str]] = {
    Reason.FLAT_CURVE: "no slice stands out of the noise: nothing to focus on here, or no slice near focus",
    Reason.PEAK_AT_EDGE: "the score still rises where the stack ends: the best focus lies beyond it",
    Reason.SPIKE: "one slice stands out alone: a flicker or a faulty picture rather than a focus peak",
    Reason.SATURATED: "most of the region is at white: expose less",
    Reason.TOO_DARK: "the region is almost black: expose more, or give the right black and white",
    Reason.NOT_FINITE: "some slices hold NaN or infinite pixels and were left out",
    Reason.TOO_FEW_SLICES: "a peak needs at least three slices",
    Reason.TOO_SMALL: "so few slices of so small a region do not tell focus from noise: take more of either",
    Reason.TWO_PEAKS: "two depths are sharp at different slices: choose a smaller region",
    Reason.UNSURE: "many positions are as likely: nothing to focus on, or a look too few",
    Reason.AMBIGUOUS: "the focus may be on either side of the look: another look at a candidate tells",
    Reason.BEYOND_FAR: "the subject is farther than the lens can focus, or than these looks can tell",
    Reason.BEYOND_NEAR: "the subject is nearer than the lens can focus, or than these looks can tell",
    Reason.ASSUMED_CAMERA: "nobody said whose pictures these are, so they are taken for the published data's "
    "phone's: give a camera, or the positions",
}


@dataclass(frozen=True)
class Candidate:
    """A place where the focus may be: a position of the ladder, and the probability of its side of focus."""

    index: int
    probability: float


@dataclass(frozen=True)
class Verdict:
    """What a focus curve or a posterior is worth.

    Attributes:
        state: FOCUSED if the answer can be trusted.
        confidence: Of a curve, the chance that a second sweep with fresh noise would pick the same slice,
            give or take one (two in long stacks); of a posterior, its part near the answer. At most 0.5 when
            focusing failed.
        reasons: Why it failed; may hold a warning when it did not.
        expected_error: Of a posterior, how many indices off the answer is to be expected.
        candidates: Of a posterior, the sides of focus, the likeliest first.
    """

    state: State
    confidence: float
    reasons: tuple[Reason, ...]
    expected_error: float | None = None
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True)
class Exposure:
    """How a region was exposed, in the middle of the stack.

    Attributes:
        saturated: Part of the pixels at white.
        mean: Mean signal.
        finite: Whether no slice holds a NaN or infinite pixel.
    """

    saturated: float
    mean: float
    finite: bool = True

    @classmethod
    def of(cls, pixels: Float32[np.ndarray, "slice view row col"]) -> "Exposure":
        """Returns the exposure of a region, the median over its slices; NaN pixels count as black."""
        return SliceExposures.of(pixels).median()


@dataclass(frozen=True, eq=False)
class SliceExposures:
    """The same, slice by slice; the slice is the last axis."""

    saturated: Float[np.ndarray, "*region slice"]
    mean: Float[np.ndarray, "*region slice"]
    finite: Bool[np.ndarray, "*region slice"]

    @classmethod
    def of(cls, pixels: Float32[np.ndarray, "slice view row col"]) -> "SliceExposures":
        """Returns the exposure of each slice."""
        return cls(
            np.array([np.mean(one >= WHITE) for one in pixels]),
            np.array([np.sum(one, where=np.isfinite(one)) / one.size for one in pixels]),
            np.array([bool(np.isfinite(one).all()) for one in pixels]),
        )

    def median(self, slices: Int[np.ndarray, " some"] | slice = slice(None)) -> Exposure:
        """Returns the exposure of some slices together."""
        return Exposure(
            float(np.median(self.saturated[slices])),
            float(np.median(self.mean[slices])),
            bool(self.finite[slices].all()),
        )


def judge(
    curve: Curve, tiles: Float[np.ndarray, "tile n"] | None, exposure: Exposure, covered: float = 1.0
) -> Verdict:
    """Returns the verdict on a focus curve.

    Args:
        curve: A score for each slice in order; minus infinity for slices that were left out.
        tiles: Curves of parts of the region; None if it is too small to be cut.
        exposure: How bright the region is.
        covered: How much of the region the tiles cover: the noise of the rest averages out with theirs.
    """
    reasons = []
    if not exposure.finite:
        reasons.append(Reason.NOT_FINITE)
    if exposure.saturated > SATURATED:
        reasons.append(Reason.SATURATED)
    sound = np.isfinite(curve)
    if len(curve) < 3 or (sound.sum() < 3 and not exposure.finite):
        return Verdict(State.FAILED, 0.0, (*reasons, Reason.TOO_FEW_SLICES))
    if sound.sum() < 3:  # nothing to score: to a dual-pixel measure, a view without contrast
        return Verdict(State.FAILED, 0.0, (*reasons, Reason.FLAT_CURVE, *_too_dark(exposure)))
    height = curve[sound]
    scale = height.max() - height.min()
    if scale <= 1e-6 * np.abs(height).max():
        reasons += [Reason.FLAT_CURVE, *_too_dark(exposure)]
        return Verdict(State.FAILED, 0.0, tuple(reasons))
    height = (height - height.min()) / scale
    noise = Noise.of(height, None if tiles is None else tiles[:, sound], covered)
    if noise.unknown:
        reasons.append(Reason.TOO_SMALL)
    shape = shape_reasons(height, noise.needed_rise(len(height)))
    reasons += shape
    if Reason.FLAT_CURVE in shape:
        reasons += _too_dark(exposure)
    failed = any(reason not in WARNINGS for reason in reasons)
    sure = repeatability(height, min(noise.total, 1.0))
    return Verdict(
        State.FAILED if failed else State.FOCUSED, min(sure, 0.5) if failed else sure, tuple(reasons)
    )


def judge_posterior(posterior: Posterior, exposure: Exposure) -> Verdict:
    """Returns the verdict on the posterior of one scene: its confidence is the probability near the answer.

    Args:
        posterior: Of one scene.
        exposure: How bright the region is.
    """
    answer = int(np.argmax(posterior.scores()[0]))
    ladder, reach = posterior.ladder[0], reach_of(posterior.positions)
    sure = float(ladder[max(0, answer - reach) : answer + reach + 1].sum())
    sides = candidates(posterior)
    rivals = [one for one in sides if abs(one.index - answer) > reach and one.probability >= OTHER_SIDE]
    reasons = [Reason.NOT_FINITE] if not exposure.finite else []
    if exposure.saturated > SATURATED:
        reasons.append(Reason.SATURATED)
    if posterior.is_beyond[0]:
        far = posterior.beyond_far[0] >= posterior.beyond_near[0]
        reasons.append(Reason.BEYOND_FAR if far else Reason.BEYOND_NEAR)
    elif rivals:
        reasons.append(Reason.AMBIGUOUS)
    elif sure < PROBABLE:
        reasons += [Reason.UNSURE, *_too_dark(exposure)]
    return Verdict(
        State.FAILED if reasons else State.FOCUSED,
        min(sure, 0.5) if reasons else min(sure, 1.0),
        tuple(reasons),
        float(posterior.expected_error()[0, answer]),
        sides,
    )


def reach_of(positions: int) -> int:
    """Returns how many indices from an answer still count as near it."""
    return max(1, round(NEAR * positions))


def candidates(posterior: Posterior) -> tuple[Candidate, ...]:
    """Returns the sides of focus in the posterior of one scene, the likeliest first.

    Two peaks are two sides if they are not near each other and the valley between them is deep. What lies
    beyond an end belongs to the side at that end.
    """
    chances = posterior.held[0]
    reach = reach_of(len(chances))
    peaks: list[int] = []
    for at in np.argsort(-chances, kind="stable"):
        if all(
            abs(at - peak) > reach and chances[min(at, peak) : max(at, peak)].min() < DIP * chances[at]
            for peak in peaks
        ):
            peaks.append(int(at))
    peaks.sort()
    valleys = [a + int(np.argmin(chances[a:b])) for a, b in pairwise(peaks)]
    sides = np.split(chances, valleys)
    found = [Candidate(peak, float(side.sum())) for peak, side in zip(peaks, sides, strict=True)]
    found.sort(key=lambda one: -one.probability)
    return tuple(one for at, one in enumerate(found) if at == 0 or one.probability >= NEGLIGIBLE)


def _too_dark(exposure: Exposure) -> list[Reason]:
    return [Reason.TOO_DARK] if exposure.mean < DARK else []


@dataclass(frozen=True)
class Noise:
    """The deviation of the noise of a curve scaled to 0..1, by tiles and by slices; None if unknown."""

    disagreement: float | None
    roughness: float | None

    @classmethod
    def of(cls, curve: Curve, tiles: Float[np.ndarray, "tile n"] | None, covered: float = 1.0) -> "Noise":
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


def disagreement(tiles: Float[np.ndarray, "tile n"]) -> float:
    """Returns the noise of the tiles' mean curve, as a part of that curve's range."""
    with np.errstate(invalid="ignore"):  # a tile without contrast may score minus infinity
        steps = np.diff(tiles[np.isfinite(tiles).all(axis=1)], axis=1)
    if len(steps) < 4:
        return np.inf
    spread = 1.4826 * np.median(np.abs(steps - np.median(steps, axis=0)), axis=0)
    mean = np.concatenate([[0.0], np.cumsum(steps.mean(axis=0))])
    span = np.ptp(mean)
    return float(np.median(spread) / np.sqrt(2 * len(steps)) / span) if span > 0 else np.inf


def _robust_deviation(magnitudes: Float[np.ndarray, " n"]) -> float:
    """Returns the standard deviation of zero-mean numbers from their magnitudes, deaf to a few outliers.

    Numbers beyond three robust deviations are left out; the rest give the root mean square.
    """
    limit = 3 * 1.4826 * np.median(magnitudes)
    return float(np.sqrt(np.mean(magnitudes[magnitudes <= limit] ** 2)))


def significance(n: int) -> float:
    """Returns how many deviations the highest of n noisy scores must stand out to be no accident."""
    return NOISE_IN_DOUBT * NormalDist().inv_cdf(1 - FALSE_ALARMS / n)


def shape_reasons(curve: Curve, needed: float) -> list[Reason]:
    """Returns what is wrong with the shape of a curve scaled to 0..1, for a needed rise of its peak."""
    peak, n = int(curve.argmax()), len(curve)
    before, after = curve[:peak][::-1], curve[peak + 1 :]
    clear = [
        _stands_out(curve[peak], side, other, needed) for side, other in ((before, after), (after, before))
    ]
    if not any(clear):
        return [Reason.FLAT_CURVE]
    if not all(clear):
        return [Reason.PEAK_AT_EDGE]
    base = np.median(curve)
    neighbours = curve[max(peak - 1, 0) : peak + 2]
    if n > FEW_SLICES and np.sort(neighbours)[-2] - base < SPIKE * (curve[peak] - base):
        return [Reason.SPIKE]
    return [Reason.TWO_PEAKS] if _has_rival(before, needed) or _has_rival(after, needed) else []


def _stands_out(top: float, side: Side, other: Side, needed: float) -> bool:
    """Returns whether the peak is clearly higher than the mean of the slices on one side of it.

    At the end of a stack that side is empty. Then the parabola through the last three slices tells: a curve
    that clearly bends down, and turns over within half a step of the end, has its peak there.
    """
    if side.size:
        return bool(top - side.mean() > needed)
    slope = (4 * other[0] - 3 * top - other[1]) / 2  # at the end, towards the inside
    bend = top - 2 * other[0] + other[1]
    return bool(-bend > np.sqrt(6) * needed and slope > bend / 2)


def _has_rival(side: Side, needed: float) -> bool:
    """Returns whether a slice on this side of the peak is nearly as sharp, with a clear valley between."""
    if side.size == 0:
        return False
    climb = side - np.minimum.accumulate(side)  # out of the deepest valley on the way
    return bool(np.any((side > RIVAL) & (climb > max(needed, VALLEY))))


def repeatability(curve: Curve, noise: float) -> float:
    """Returns how often the smoothed curve with fresh noise peaks at, or next to, the same slice."""
    padded = np.concatenate([curve[:1], curve, curve[-1:]])
    smooth = (padded[:-2] + 2 * curve + padded[2:]) / 4
    peak = int(curve.argmax())
    smooth[peak] = max(smooth[peak], curve[peak] - noise)  # a narrow true peak is not smoothed away
    draws = smooth + noise * _fresh_noise(len(curve))
    near = max(1, round(len(curve) / 25))
    return float(np.mean(np.abs(draws.argmax(axis=1) - peak) <= near))


@cache
def _fresh_noise(n: int) -> Float[np.ndarray, "draw n"]:
    return np.random.default_rng(0).standard_normal((_DRAWS, n))


def peak_position(curve: Curve) -> float:
    """Returns the peak's place between slices, by the parabola through it and its neighbours."""
    peak = int(np.argmax(curve))
    if not 0 < peak < len(curve) - 1:
        return float(peak)
    before, top, after = curve[peak - 1 : peak + 2]
    bend = before - 2 * top + after
    if not (np.isfinite(bend) and bend < 0):
        return float(peak)
    return peak + float(np.clip((before - after) / (2 * bend), -0.5, 0.5))
