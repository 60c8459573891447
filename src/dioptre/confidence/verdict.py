"""Can an answer be trusted? State, confidence and reasons.

A measure always has a highest score, also on a blank wall; so the verdict asks whether the peak stands out of
the curve's noise (`confidence.curve`), on *both* sides: if it does so on one side only, the curve is still
rising where the stack ends, and the focus lies beyond. Of a posterior it asks whether it lies beyond an end
of the ladder.

What passes is weighed by all the evidence there is, in the curve or the posterior and in the pictures
themselves (`confidence.model`). FOCUSED means that misses among such answers are rarer than the risk that the
user takes; else the verdict says what was seen (SIGNS).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
from jaxtyping import Int

from dioptre.confidence.curve import FEW_SLICES, Curve, CurveNoise, Tiles, find_rivals, stands_out
from dioptre.confidence.exposure import Exposure
from dioptre.confidence.features import (
    MIDDLE,
    Evidence,
    curve_evidence,
    look_evidence,
    posterior_evidence,
    sweep_evidence,
)
from dioptre.confidence.model import (
    CURVE,
    LONG,
    LOOKS,
    POSTERIOR,
    RISK,
    SHORT,
    SWEEP,
    Observation,
    Row,
    believe,
    find_row,
    reach_of,
)
from dioptre.confidence.plateau import Plateau, beyond_end, find_plateau, rises_at_end
from dioptre.confidence.reasons import WARNINGS, Reason, State
from dioptre.confidence.sweep_statistics import Traces
from dioptre.posterior import Posterior

SPIKE: Final = 0.1  # neighbours of a lone spike reach less than this part of its height
OTHER_SIDE: Final = 0.1  # how much of a posterior on another side of focus makes an answer ambiguous
NOISIEST: Final = 0.05  # of a curve's range: above this much noise between slices, a plateau is a guess
NOTHING: Final = 1e4  # minus the logarithm of no probability
NEGLIGIBLE: Final = 0.01  # a side that is less likely is no candidate
ASTRAY: Final = 1.5  # slices that the shape of a curve may be wrong by about what lies beyond its end
DIP: Final = 0.5  # of the lower peak: how deep the valley between two sides is at least

# What evidence is a sign of, if there is more of it than in clean sweeps, and more than so much: a little
# unevenness is unusual in simulated sweeps and harms nothing.
SIGNS: Final = (
    (Reason.NOISE_PEAK, "noise-here", 2.0),
    (Reason.UNEVEN_NOISE, "noise-range", 1.5),
    (Reason.UNEVEN_NOISE, "noise-jump", 1.0),
    (Reason.BROKEN_SWEEP, "repeated", 0.0),
    (Reason.BROKEN_SWEEP, "darkest", 1.5),
    (Reason.BROKEN_SWEEP, "unlike", 0.8),
    (Reason.FLICKER, "flicker", -3.0),
    (Reason.FLICKER, "light-jump", -1.5),
    (Reason.COMPRESSED, "blocks", 0.3),
    (Reason.VIEWS_TURNED, "view-turned", 0.7),
    (Reason.VIEWS_TURNED, "look-turned", 2.0),
    (Reason.VIEWS_EXCHANGED, "view-exchanged", 0.3),
)
CLEARLY: Final = 0.5  # deviations beyond what clean sweeps have
# "parts-detail" of parts whose detail stands out of the noise by as much as it
DETAIL: Final = float(np.log(2))
# "parts-apart" of parts that are sharp an eighth of the sweep apart
APART: Final = float(np.log(1 / 8 + 0.01))


@dataclass(frozen=True)
class Candidate:
    """A place where the focus may be: an index of the grid, and the probability of its side of focus."""

    index: int
    probability: float

    def to_json(self) -> dict[str, Any]:
        """Returns both as plain numbers."""
        return {"index": self.index, "probability": self.probability}


@dataclass(frozen=True)
class Verdict:
    """What an answer is worth.

    Attributes:
        state: FOCUSED if it can be trusted.
        confidence: The probability that it is at most one index off.
        reasons: Why it cannot be trusted; may hold a warning when it can.
        expected_error: How many indices off it is to be expected; None if nothing tells.
        risk: How often answers that are as sure are misses: off by more than 4 indices of 49.
        candidates: Of a posterior, the sides of focus, the likeliest first.
        plateau: The first and the last of the slices that are equally sharp, if there is such a plateau.
        rivals: Slices that are nearly as sharp, with a valley between.
    """

    state: State
    confidence: float
    reasons: tuple[Reason, ...]
    expected_error: float | None = None
    risk: float = 1.0
    candidates: tuple[Candidate, ...] = ()
    plateau: tuple[int, int] | None = None
    rivals: tuple[int, ...] = ()

    def turned(self, n: int) -> "Verdict":
        """Returns the same verdict, of n slices in the other order."""
        last, flat = n - 1, self.plateau
        return replace(
            self,
            candidates=tuple(replace(one, index=last - one.index) for one in self.candidates),
            plateau=None if flat is None else (last - flat[1], last - flat[0]),
            rivals=tuple(last - one for one in self.rivals[::-1]),
        )


@dataclass(frozen=True, eq=False)
class Asked:
    """Who gave an answer, to what, and how sure it has to be.

    Attributes:
        method: Key of the method; "" if it has none.
        identity: Of the method.
        traces: What the pictures show of themselves; None if nobody looked.
        positions: Where a few looks were taken; None for a whole stack.
        risk: How often an answer that is called focused may be a miss; 1 to let the shape of a curve decide.
        to_infinity: How many slices a stack could have beyond its first one, the farthest: to where infinity
            is sharp.
    """

    method: str = ""
    identity: str = ""
    traces: Traces | None = None
    positions: Int[np.ndarray, " look"] | None = None
    risk: float = RISK
    to_infinity: float = math.inf

    def begins_at_infinity(self, n: int) -> bool:
        """Returns whether infinity lies within a miss of the far end of n slices."""
        return self.to_infinity <= reach_of(n)

    def is_closed(self, height: Curve) -> bool:
        """Returns whether a curve scaled to 0..1 may end at its peak, at the far end: infinity is next to it.

        Nor must its shape contradict that, as it does where the positions that were told are not true.
        """
        if height.argmax() > 0 or not self.begins_at_infinity(len(height)):
            return False
        return beyond_end(height[::-1]) <= self.to_infinity + ASTRAY

    def pictures(self, answer: int, n: int, flat: tuple[int, int] | None = None) -> Evidence:
        """Returns what the pictures say of an answer on a ladder of n positions, or on a plateau of them."""
        if self.traces is None:
            return {}
        if self.positions is None:
            return sweep_evidence(self.traces, answer, flat)
        return look_evidence(self.traces, self.positions, answer, n)


NOBODY: Final = Asked()
SHAPE_ALONE: Final = Asked(risk=1.0)


def judge(
    curve: Curve, tiles: Tiles | None, exposure: Exposure, covered: float = 1.0, asked: Asked = SHAPE_ALONE
) -> Verdict:
    """Returns the verdict on a focus curve.

    Args:
        curve: A score for each slice in order; minus infinity for slices that were left out.
        tiles: Curves of parts of the region; None if it is too small to be cut.
        exposure: How bright the region is.
        covered: How much of the region the tiles cover: the noise of the rest averages out with theirs.
        asked: Who scored, and how sure it has to be.
    """
    reasons = _picture_reasons(exposure, asked)
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
    noise = CurveNoise.of(height, None if tiles is None else tiles[:, sound], covered)
    if noise.unknown:
        reasons.append(Reason.TOO_SMALL)
    flickers = asked.traces is not None and asked.traces.is_only_light
    shape = [Reason.FLAT_CURVE] if flickers else shape_reasons(height, noise, asked.is_closed(height))
    flat = find_plateau(height, noise)
    if Reason.PLATEAU in shape and tiles is not None and not flat.is_shared(tiles[:, sound]):
        shape[shape.index(Reason.PLATEAU)] = Reason.SEVERAL_DEPTHS
    reasons += [*shape, *(_too_dark(exposure) if Reason.FLAT_CURVE in shape else ())]
    places = np.flatnonzero(sound)
    rivals = find_rivals(height, noise.needed_rise(len(height))) if Reason.TWO_PEAKS in shape else ()
    if Reason.PLATEAU in shape:
        observation, plateau = observe_plateau(curve, tiles, asked, covered, flat), (flat.first, flat.last)
    else:
        observation, plateau = observe_curve(curve, tiles, asked, covered), None
    beyond = None
    if Reason.PEAK_AT_EDGE in shape:
        beyond = beyond_end(height if 2 * height.argmax() >= len(height) else height[::-1])
    verdict = _verdict(observation, asked, reasons, (Reason.UNSURE,), beyond)
    return replace(
        verdict,
        plateau=None if plateau is None else (int(places[plateau[0]]), int(places[plateau[1]])),
        rivals=tuple(int(places[one]) for one in rivals),
    )


def observe_curve(
    curve: Curve, tiles: Tiles | None, asked: Asked = SHAPE_ALONE, covered: float = 1.0
) -> Observation:
    """Returns what is known of the answer of a curve that is not flat; see `judge`."""
    sound = np.isfinite(curve)
    height = (curve[sound] - curve[sound].min()) / np.ptp(curve[sound])
    parts = None if tiles is None else tiles[:, sound]
    evidence = _shape_evidence(height, parts, CurveNoise.of(height, parts, covered), asked.is_closed(height))
    pictures = asked.pictures(int(curve.argmax()), len(curve))
    found = Observation.of_curve(_kind_of(curve, asked), curve, {**evidence, **pictures})
    if asked.is_closed(height):
        found.logits[0] = -NOTHING
    return found


def _shape_evidence(height: Curve, tiles: Tiles | None, noise: CurveNoise, closed: bool) -> Evidence:
    """Returns what the shape of a curve says; of a peak at a closed end, as if it fell beyond it too."""
    if closed:
        tiles = None if tiles is None else np.concatenate([tiles[:, :0:-1], tiles], axis=1)
        height = np.concatenate([height[:0:-1], height])
    return curve_evidence(height, tiles, noise)


def observe_plateau(
    curve: Curve, tiles: Tiles | None, asked: Asked, covered: float, flat: Plateau
) -> Observation:
    """Returns what is known of the answer of a curve with a plateau, all of which is in focus.

    One slice stands for all of the plateau: what is known is that of the curve without the others, and an
    error is counted from the plateau's end. At the end of a stack nothing lies beyond a plateau.

    Args:
        curve: See `judge`.
        tiles: See `judge`.
        asked: See `judge`.
        covered: See `judge`.
        flat: The plateau among the slices that have a score.
    """
    sound = np.isfinite(curve)
    height = (curve[sound] - curve[sound].min()) / np.ptp(curve[sound])
    parts = None if tiles is None else tiles[:, sound]
    fewer = flat.collapse(height)
    some = None if parts is None else flat.collapse(parts)
    evidence = _shape_evidence(fewer, some, CurveNoise.of(height, parts, covered), asked.is_closed(fewer))
    places = np.flatnonzero(sound)
    if asked.traces is not None:
        sharpest = int(asked.traces.subject(MIDDLE).argmax())
        ends = int(places[flat.first]), int(places[flat.last])
        evidence = {**evidence, **asked.pictures(int(np.clip(sharpest, *ends)), len(curve), ends)}
    logits = -0.5 * (np.arange(-1.0, len(fewer) + 1) - flat.first) ** 2
    logits[0] = -NOTHING if flat.first == 0 else logits[0]
    logits[-1] = -NOTHING if flat.last == len(height) - 1 else logits[-1]
    return Observation(_kind_of(curve, asked), flat.first, logits, evidence)


def _kind_of(curve: Curve, asked: Asked) -> str:
    return CURVE if asked.traces is None else SWEEP if len(curve) >= LONG else SHORT


def judge_posterior(posterior: Posterior, exposure: Exposure, asked: Asked = NOBODY) -> Verdict:
    """Returns the verdict on the posterior of one scene.

    Args:
        posterior: Of one scene.
        exposure: How bright the region is.
        asked: Whose it is, and how sure it has to be.
    """
    answer = int(np.argmax(posterior.scores()[0]))
    reach = reach_of(posterior.positions)
    sides = candidates(posterior)
    reasons = _picture_reasons(exposure, asked)
    if posterior.is_beyond[0]:
        far = posterior.beyond_far[0] >= posterior.beyond_near[0]
        reasons.append(Reason.BEYOND_FAR if far else Reason.BEYOND_NEAR)
    rivals = [one for one in sides if abs(one.index - answer) > reach and one.probability >= OTHER_SIDE]
    if rivals and not posterior.is_beyond[0]:
        reasons.append(Reason.AMBIGUOUS)
    unsure = () if rivals else (Reason.UNSURE, *_too_dark(exposure))
    verdict = _verdict(observe_posterior(posterior, asked), asked, reasons, unsure)
    return replace(verdict, candidates=sides)


def observe_posterior(posterior: Posterior, asked: Asked = NOBODY) -> Observation:
    """Returns what is known of the answer of the posterior of one scene; see `judge_posterior`."""
    answer, n = int(np.argmax(posterior.scores()[0])), posterior.positions
    whole = asked.traces is not None and asked.positions is None
    evidence = {**posterior_evidence(posterior, answer, reach_of(n)), **asked.pictures(answer, n)}
    return Observation.of_posterior(POSTERIOR if whole else LOOKS, posterior, evidence)


def _verdict(
    observation: Observation,
    asked: Asked,
    reasons: Sequence[Reason],
    unsure: tuple[Reason, ...],
    beyond: float | None = None,
) -> Verdict:
    """Returns the verdict on an answer.

    Args:
        observation: What is known of it.
        asked: Who gave it, and how sure it has to be.
        reasons: What is wrong already.
        unsure: What to say if it is not sure enough, beside what there are signs of.
        beyond: If it is an end of a stack at which the score still rises, how far beyond the peak seems.
    """
    found = list(reasons)
    row = find_row(asked.method, observation.kind, asked.identity)
    belief = believe(observation, row)
    if beyond is not None:
        belief = belief.at_rising_end(beyond, asked.begins_at_infinity(len(observation.logits) - 2))
    if belief.risk > asked.risk:
        found += [one for one in signs_in(observation.evidence, row) if one not in found]
        if all(reason in WARNINGS for reason in found):
            seen = observation.evidence
            apart = seen.get("parts-apart", APART) > APART and seen.get("parts-detail", 0.0) > DETAIL
            found += (Reason.SEVERAL_DEPTHS, Reason.UNSURE) if apart else unsure
    return Verdict(
        State.FOCUSED if all(reason in WARNINGS for reason in found) else State.FAILED,
        belief.confidence,
        tuple(found),
        belief.expected_error,
        belief.risk,
    )


def signs_in(evidence: Evidence, row: Row) -> list[Reason]:
    """Returns what the evidence is a sign of, each once: of what there is more than in clean sweeps."""
    seen = [
        reason
        for reason, name, least in SIGNS
        if evidence.get(name, least) > least and row.excess(name, evidence) > CLEARLY
    ]
    return list(dict.fromkeys(seen))


def _picture_reasons(exposure: Exposure, asked: Asked) -> list[Reason]:
    """Returns what is wrong with the pictures, whatever a method makes of them."""
    is_cut = asked.traces is not None and asked.traces.is_cut
    found = {
        Reason.NOT_FINITE: not exposure.finite,
        Reason.SATURATED: exposure.is_saturated,
        Reason.BROKEN_SWEEP: is_cut,
    }
    return [reason for reason, seen in found.items() if seen]


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
    return [Reason.TOO_DARK] if exposure.is_dark else []


def shape_reasons(curve: Curve, noise: CurveNoise, closed: bool = False) -> list[Reason]:
    """Returns what is wrong with the shape of a curve scaled to 0..1, or to beware of.

    Args:
        curve: The curve, its far end first.
        noise: Of it.
        closed: Whether next to nothing can lie beyond its far end, so that it may rise there.
    """
    peak, n, needed = int(curve.argmax()), len(curve), noise.needed_rise(len(curve))
    before, after = curve[:peak][::-1], curve[peak + 1 :]
    clear = [stands_out(curve[peak], side, needed) for side in (before, after)]
    if not any(clear):
        return [Reason.FLAT_CURVE]
    if rises_at_end(curve, noise) or (not closed and rises_at_end(curve[::-1], noise)):
        return [Reason.PEAK_AT_EDGE]
    found = [Reason.TWO_PEAKS] if find_rivals(curve, needed) else []
    run = find_plateau(curve, noise)
    if (not all(clear) and len(run) > 1) or run.is_flat(curve):
        return [Reason.PLATEAU if noise.between_slices <= NOISIEST else Reason.UNSURE, *found]
    base = np.median(curve)
    neighbours = curve[max(peak - 1, 0) : peak + 2]
    if n > FEW_SLICES and np.sort(neighbours)[-2] - base < SPIKE * (curve[peak] - base):
        return [Reason.SPIKE]
    return found
