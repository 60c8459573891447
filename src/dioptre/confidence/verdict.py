"""Can an answer be trusted? State, confidence, risk and reasons.

Whoever answers, from a whole sweep or from a few looks, the same is asked: what do the pictures say of the
answer (`confidence.features`), and how often are such answers misses (`confidence.model`)? An answer is
FOCUSED if its risk is at most what was accepted, and UNCERTAIN if there is a best answer with more risk.
FAILED is what has nothing to answer: no light, only light, nothing but noise, pictures that do not differ.

Reasons decide nothing. They say what made the risk as large as it is, and what to do about it.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Int

from dioptre.confidence.curve import FEW_SLICES, Curve, peak_position
from dioptre.confidence.exposure import Exposure
from dioptre.confidence.features import FEWEST, Evidence, find_evidence, near_of, own_doubt, sharpness_of
from dioptre.confidence.model import RISK, Odds, read_model
from dioptre.confidence.reasons import Reason, State
from dioptre.confidence.statistics import SliceBlocks
from dioptre.miss import MISS_STEPS, SHARP_STEPS, reach_of
from dioptre.posterior import Posterior, sides_of

OTHER_SIDE: Final = 0.1  # of a posterior on another side of focus: the answer is ambiguous
RIVAL: Final = 0.5  # of the sharpness of the answer: what is less sharp is no rival
NEGLIGIBLE: Final = 0.01  # a side that is less likely is no candidate
UNSEEN: Final = 0.05  # of a logarithm of sharpness: a loss that nobody sees
LAST_SLICE: Final = 0.5  # indices from an end: an answer there has nothing beyond it
MOSTLY: Final = 0.5
BLAMED: Final = 0.5  # of the largest blame: what has as much of it is a reason too
FLAT: Final = 1e-6  # of a curve's height: what changes by less does not change
NOTHING_TELLS: Final = -6.0  # logarithm of how clearly blocks change, on the average
FALLS: Final = 0.3  # of a logarithm of sharpness: noise alone hardly makes so much
NO_DETAIL: Final = -1.0  # logarithm of the detail of looks over their noise: less is a plain picture
LIGHT_CHANGES: Final = -1.0  # logarithm of the range of a logarithm of brightness
NOBODY_KNOWS: Final = Odds(0.5, 0.5, 0.5)  # at best, where the same picture came again and again

# What is to blame if a feature makes an answer doubtful; UNSURE for all others.
BLAME: Final = {
    "light": Reason.FLICKER,
    "change": Reason.BROKEN_SWEEP,
    "shared_clean": Reason.NOISE_PEAK,
    "clear": Reason.NOISE_PEAK,
    "edge": Reason.NOWHERE_SHARP,
    "finest": Reason.NOWHERE_SHARP,
    "turned": Reason.VIEWS_TURNED,
}


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
        state: FOCUSED if its risk is accepted, UNCERTAIN if it is not, FAILED if there is nothing to answer.
        confidence: The probability that the picture is sharp there: within 2 steps of blur of a depth.
        reasons: What to beware of, and what made the risk too large.
        expected_error: How many indices off it is to be expected; None if nothing tells.
        risk: The share of misses among answers that are as sure as this one, or surer.
        candidates: The sides of focus that are possible, the likeliest first.
        plateau: The first and the last of the slices that are equally sharp, if there are three or more.
    """

    state: State
    confidence: float
    reasons: tuple[Reason, ...]
    expected_error: float | None = None
    risk: float = 1.0
    candidates: tuple[Candidate, ...] = ()
    plateau: tuple[int, int] | None = None

    @property
    def rivals(self) -> tuple[int, ...]:
        """Where else the focus may be."""
        return tuple(one.index for one in self.candidates[1:])

    def turned(self, n: int) -> "Verdict":
        """Returns the same verdict, of n slices in the other order."""
        last, flat = n - 1, self.plateau
        return replace(
            self,
            candidates=tuple(replace(one, index=last - one.index) for one in self.candidates),
            plateau=None if flat is None else (last - flat[1], last - flat[0]),
        )

    def placed(self, places: Int[np.ndarray, " slice"]) -> "Verdict":
        """Returns the same verdict over a grid, where its slices were taken at some rising places of it."""
        flat, off = self.plateau, self.expected_error
        gap = (places[-1] - places[0]) / max(len(places) - 1, 1)
        return replace(
            self,
            candidates=tuple(replace(one, index=int(places[one.index])) for one in self.candidates),
            plateau=None if flat is None else (int(places[flat[0]]), int(places[flat[1]])),
            expected_error=None if off is None else off * float(gap),
        )


@dataclass(frozen=True, eq=False)
class VerdictContext:
    """What is known beside an answer and its pictures.

    Attributes:
        risk: How often an answer that is called focused may be a miss.
        looks: The indices at which a few looks were taken, rising; None for a whole sweep.
        grid: Positions of the grid that looks were taken on.
        in_steps: Whether these are steps of blur, as far as anybody knows.
    """

    risk: float = RISK
    looks: Float[np.ndarray, " look"] | None = None
    grid: int | None = None
    in_steps: bool = False

    def near(self, slices: int) -> float:
        """Returns how many indices from an answer are near it: two steps, or what is likely to be that."""
        return SHARP_STEPS if self.in_steps else near_of(self.grid or slices)

    def reach(self, slices: int) -> float:
        """Returns how many indices from an answer are no miss."""
        return MISS_STEPS if self.in_steps else float(reach_of(self.grid or slices))


NOTHING_KNOWN: Final = VerdictContext()


def judge_curve(
    curve: Curve, blocks: SliceBlocks, exposure: Exposure, context: VerdictContext = NOTHING_KNOWN
) -> Verdict:
    """Returns the verdict on the peak of a focus curve.

    Args:
        curve: A score for each slice; minus infinity for slices that were left out.
        blocks: What is kept of the slices.
        exposure: How bright the region is.
        context: What else is known.
    """
    scored = np.flatnonzero(np.isfinite(curve))
    heights = curve[scored]
    if len(scored) < FEWEST or np.ptp(heights) <= FLAT * np.abs(heights).max():
        few = 0 < len(scored) < FEWEST or len(curve) < FEWEST  # no score at all is a view without contrast
        found = [Reason.TOO_FEW_SLICES if few else Reason.FLAT_CURVE]
        found += [Reason.SATURATED] if exposure.is_saturated else []
        found += [Reason.TOO_DARK] if exposure.is_dark else []
        return Verdict(State.FAILED, 0.0, tuple(found))
    if len(scored) == len(curve):
        return judge(peak_position(curve), blocks, exposure, context=context)
    return judge(peak_position(heights), blocks.at(scored), exposure, context=context).placed(scored)


def judge(
    answer: float,
    blocks: SliceBlocks,
    exposure: Exposure,
    own: Posterior | None = None,
    context: VerdictContext = NOTHING_KNOWN,
) -> Verdict:
    """Returns the verdict on an answer.

    Args:
        answer: The index, between two as it may be.
        blocks: What is kept of the slices, or of the looks.
        exposure: How bright the region is.
        own: What the method itself knows of one scene; None of a method that only scores slices.
        context: What else is known.
    """
    n = context.grid or blocks.slices
    near = context.near(n)
    doubt = None if own is None else own_doubt(own, answer, near)
    evidence = find_evidence(blocks, answer, doubt, context.looks, near)
    odds = read_model().odds(evidence.features)
    sides = candidates_of(blocks, own, answer)
    if own is not None and context.looks is not None:  # few looks tell no more than their method
        far = own_doubt(own, answer, context.reach(n))
        odds = odds.at_least(read_model().odds_of(far))
    nothing = nothing_to_answer(exposure, evidence)
    told = [Reason.NOT_FINITE] if not exposure.finite else []
    told += beyond_ends(own)
    if not nothing and evidence.features.get("repeats", 0) > 0:  # nobody knows where the lens was
        odds = odds.at_least(NOBODY_KNOWS)
        told.append(Reason.FROZEN_FRAMES)
    if not nothing and len(sides) > 1 and sides[1].probability >= OTHER_SIDE:
        told.append(Reason.AMBIGUOUS if own is not None else Reason.SEVERAL_DEPTHS)
    flat = plateau_of(evidence, answer) if context.looks is None else None
    if not nothing and flat is not None and flat[1] - flat[0] > 2 * near:
        told.append(Reason.PLATEAU)
    state = State.FAILED if nothing else State.FOCUSED if odds.risk <= context.risk else State.UNCERTAIN
    if state is State.UNCERTAIN:
        told += [Reason.PEAK_AT_EDGE] if is_at_an_end(evidence, answer, n) else []
        told += blamed(evidence)
    return Verdict(
        state,
        0.0 if nothing else odds.confidence,
        tuple(dict.fromkeys((*nothing, *told))),
        expected_error_of(answer, evidence, own, odds, n, near),
        1.0 if nothing else odds.risk,
        sides,
        flat,
    )


def nothing_to_answer(exposure: Exposure, evidence: Evidence) -> tuple[Reason, ...]:
    """Returns why there is nothing to answer; nothing if there is something."""
    found = [Reason.SATURATED] if exposure.is_saturated else []
    if evidence.posterior is not None and tells_nothing(evidence):
        found.append(Reason.ONLY_LIGHT if evidence.features["light"] > LIGHT_CHANGES else Reason.FLAT_CURVE)
        found += [Reason.TOO_DARK] if exposure.is_dark else []
    elif evidence.posterior is None and evidence.features["clear"] < NO_DETAIL:
        found += [Reason.TOO_DARK] if exposure.is_dark else []
        found = found or [Reason.FLAT_CURVE]
    return tuple(found)


def tells_nothing(evidence: Evidence) -> bool:
    """Returns whether no block of a sweep changes clearly.

    Of few slices the bend of a peak cannot be told from noise: there it is asked how far the detail falls.
    """
    few = evidence.features["slices"] < np.log(FEW_SLICES)
    falls = few and evidence.features["fall_far"] > FALLS
    return bool(evidence.features["telling"] < NOTHING_TELLS and not falls)


def is_at_an_end(evidence: Evidence, answer: float, n: int) -> bool:
    """Returns whether an answer is an end of the grid, and contrast says: there or beyond."""
    at_end = min(answer, n - 1 - answer) <= LAST_SLICE
    return at_end and evidence.posterior is not None and evidence.posterior.at_ends(LAST_SLICE) > MOSTLY


def beyond_ends(own: Posterior | None) -> list[Reason]:
    """Returns whether a method's posterior lies beyond an end of the grid, and which."""
    if own is None or not own.is_beyond[0]:
        return []
    return [Reason.BEYOND_FAR if own.beyond_far[0] >= own.beyond_near[0] else Reason.BEYOND_NEAR]


def blamed(evidence: Evidence) -> list[Reason]:
    """Returns what makes an answer more doubtful than those of clean sweeps, the worst first."""
    blame = sorted(read_model().blame(evidence.features).items(), key=lambda one: -one[1])
    worst = blame[0][1]
    found = [BLAME.get(name, Reason.UNSURE) for name, much in blame if much > max(BLAMED * worst, 0.0)]
    return found or [Reason.UNSURE]


def expected_error_of(
    answer: float, evidence: Evidence, own: Posterior | None, odds: Odds, n: int, reach: float
) -> float | None:
    """Returns how many indices off an answer is to be expected.

    Where it is no miss, by what is known of the place; where it is one, the focus may be anywhere.
    """
    anywhere = float(np.abs(np.arange(n) - answer).mean())
    if own is not None:
        chances, places = own.reachable[0], np.arange(float(n))
    elif evidence.posterior is not None:
        chances, places = evidence.posterior.chances, evidence.posterior.places
    else:
        return None
    away = np.abs(places - answer)
    near = away <= 2 * reach
    close = float(chances[near] @ away[near] / max(chances[near].sum(), 1e-9))
    return (1 - odds.miss) * close + odds.miss * anywhere


def plateau_of(evidence: Evidence, answer: float) -> tuple[int, int] | None:
    """Returns the first and the last of the slices that are as sharp as the answer; None if it is a peak."""
    if evidence.curve is None:
        return None
    low = evidence.curve < evidence.curve.max() - UNSEEN
    here = int(np.clip(round(answer), 0, len(low) - 1))
    before, after = np.flatnonzero(low[: here + 1]), np.flatnonzero(low[here:])
    first = int(before[-1]) + 1 if before.size else 0
    last = here + int(after[0]) - 1 if after.size else len(low) - 1
    return (first, last) if last - first >= FEWEST - 1 else None


def candidates_of(blocks: SliceBlocks, own: Posterior | None, answer: float) -> tuple[Candidate, ...]:
    """Returns the sides of focus that are possible, by the method's posterior.

    Of a method without one these are the peaks of the sharpness of all parts, that of the answer first, and
    how much of it each has.
    """
    if own is not None:
        return candidates(own.reachable[0])
    if blocks.slices < FEWEST:
        return ()
    sharpness = np.exp(sharpness_of(blocks))
    sharpness -= sharpness.min()
    found = candidates(sharpness / max(float(sharpness.sum()), NEGLIGIBLE))
    rivals = [one for one in found if sharpness[one.index] >= RIVAL * sharpness.max()]
    return tuple(sorted(rivals, key=lambda one: abs(one.index - answer) > near_of(len(sharpness))))


def candidates(chances: Float[np.ndarray, " n"]) -> tuple[Candidate, ...]:
    """Returns the sides of focus in the probabilities of all positions, the likeliest first."""
    found = [
        Candidate(first + int(chances[first:end].argmax()), min(float(chances[first:end].sum()), 1.0))
        for first, end in sides_of(chances)
    ]
    found.sort(key=lambda one: -one.probability)
    return tuple(one for at, one in enumerate(found) if at == 0 or one.probability >= NEGLIGIBLE)
