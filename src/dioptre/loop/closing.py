"""Closing the loop: when a lens has looked often enough, and whether what it sees is what it was promised.

A look from afar leaves doubts that a look at the answer itself removes. So a run takes an answer once three
things hold together:

* a look was at the answer, or next to it;
* that look is clearly sharper than those that were taken farther away; of three looks or more, none need be;
* the posterior has little mass far from the answer: at most ODDS times the risk that is accepted, for each
  look after the first.

The numbers were chosen on runs of 300 simulated cameras in each light (docs/log.md); `python -m
benchmarks.loop` counts on others how often what passes is a miss.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Float32, Int

from dioptre.loop.confidence import reach_of
from dioptre.loop.measuring import slice_scores
from dioptre.loop.sweeping import Gathered, Measure, Peak
from dioptre.loop.verdict import WARNINGS, Reason, State, Verdict
from dioptre.methods import find_method
from dioptre.methods.base import best_index
from dioptre.posterior import Posterior
from dioptre.stack import VIEW_CODES

SHARPNESS: Final = "local-norm-dist-sq-2"  # tells near looks from far ones best, also in the dark
THERE: Final = 2  # indices between an answer and the nearest look: the answer was seen
ENOUGH: Final = 3  # looks
FARTHER: Final = 3  # indices: a look that is so much farther from the answer must be less sharp
SHARPER: Final = 1.1  # times
ODDS: Final = {2: 4.0, 1: 2.0}  # mass far from the answer for each miss that was counted, by views
CREDIBLE: Final = 0.005  # of a posterior: what is less likely than this together, on each side, is left out
SPARE: Final = 3  # indices that are swept beyond that
APART: Final = 4  # indices: looks that are farther from the answer must be less sharp than it
TOLERANCE: Final = 0.05  # by which they may be sharper, of the sharpest
AGREE: Final = 2.5  # indices between a peak and the answer of looks that say the same
PLAUSIBLE: Final = 0.1  # of the posterior lies around a peak that the looks do not contradict
WORTH: Final = 0.25  # indices of expected error: for less, a lens that is next to the answer is not moved

Pixels = Float32[np.ndarray, "look view row col"]
DOUBTS: Final = WARNINGS | {Reason.UNSURE}


def closed(
    verdict: Verdict,
    posterior: Posterior,
    positions: Int[np.ndarray, " look"],
    frames: Pixels,
    risk: float,
) -> Verdict:
    """Returns the verdict on the answer of looks, of which one may have been at the answer.

    Args:
        verdict: What is thought of it wherever the looks were.
        posterior: After these looks.
        positions: Where they were taken.
        frames: What was seen there.
        risk: How often an answer that is called focused may be a miss.
    """
    answer = int(best_index(posterior.scores())[0])
    far = far_from(posterior, answer) / ODDS[frames.shape[1]] / max(len(positions) - 1, 1)
    looked = np.abs(positions - answer)
    seen = int(looked.min()) <= THERE and is_sharper(frames, looked)
    hard = tuple(one for one in verdict.reasons if one not in DOUBTS)
    good = seen and far <= risk and not hard
    warnings = tuple(one for one in verdict.reasons if one in WARNINGS)
    if good:
        return replace(verdict, state=State.FOCUSED, reasons=warnings, risk=far)
    reasons = (*warnings, *(hard or (Reason.UNSURE,)))
    return replace(verdict, state=State.FAILED, reasons=reasons, risk=max(verdict.risk, far))


def far_from(posterior: Posterior, answer: float) -> float:
    """Returns how much of a posterior is so far from an answer that it would be a miss, or off the ladder."""
    ladder = posterior.ladder[0]
    away = np.abs(np.arange(len(ladder)) - answer)
    return max(1 - float(ladder[away <= reach_of(len(ladder))].sum()), 0.0)


def is_sharper(frames: Pixels, away: Int[np.ndarray, " look"]) -> bool:
    """Returns whether the look nearest to an answer is clearly sharper than those farther away.

    Args:
        frames: The looks.
        away: How far from the answer each was taken.
    """
    nearest = int(len(away) - 1 - np.argmin(away[::-1]))
    farther = away >= away[nearest] + FARTHER
    if not farther.any():
        return len(away) >= ENOUGH
    scores = slice_scores(find_method(SHARPNESS).build(), frames, VIEW_CODES)
    return bool(scores[nearest] >= SHARPER * scores[farther].max())


def stays(posterior: Posterior, at: int, answer: int) -> bool:
    """Returns whether a lens next to its answer may as well stay: moving would gain next to nothing."""
    if abs(at - answer) > 1:
        return False
    chances = posterior.held[0]
    places = np.arange(len(chances))
    here, there = (float(chances @ np.abs(places - one)) for one in (at, answer))
    return here - there < WORTH


def credible(posterior: Posterior, limits: tuple[int, int]) -> tuple[int, int] | None:
    """Returns the first and the last position where the focus may be; None if that is nearly everywhere."""
    mass = np.cumsum(np.exp(posterior.logs[0]))
    inside = np.flatnonzero((mass > CREDIBLE) & (np.concatenate([[0.0], mass[:-1]]) < 1 - CREDIBLE)) - 1
    first, last = max(int(inside[0]) - SPARE, limits[0]), min(int(inside[-1]) + SPARE, limits[1])
    return (first, last) if last - first < (limits[1] - limits[0]) // 2 else None


def agreed(peak: Peak, posterior: Posterior | None, risk: float) -> Peak:
    """Returns a peak that is believed if the looks said the same, and is not if they said it is elsewhere.

    Args:
        peak: What a sweep around the answer found.
        posterior: After the looks; None if there were none.
        risk: How often an answer that is called focused may be a miss.
    """
    verdict = peak.verdict
    if posterior is None or any(one not in DOUBTS for one in verdict.reasons):
        return peak
    answer, far = int(best_index(posterior.scores())[0]), far_from(posterior, peak.position)
    if verdict.state is State.FOCUSED:
        return (
            peak
            if 1 - far >= PLAUSIBLE
            else replace(
                peak, verdict=replace(verdict, state=State.FAILED, reasons=(*verdict.reasons, Reason.UNSURE))
            )
        )
    inside = peak.places[0] < peak.position < peak.places[-1]
    both = far * verdict.risk
    if not inside or abs(peak.position - answer) > AGREE or both > risk:
        return peak
    kept = tuple(one for one in verdict.reasons if one in WARNINGS)
    return replace(peak, verdict=replace(verdict, state=State.FOCUSED, reasons=kept, risk=both))


def is_refuted(measure: Measure, gathered: Gathered, answer: int) -> bool:
    """Returns whether an answer was looked at and is less sharp than what lies away from it."""
    places = gathered.places
    nearest = int(places[np.argmin(np.abs(places - answer))])
    return abs(nearest - answer) <= THERE and not as_sharp(measure, gathered, nearest)


def as_sharp(measure: Measure, gathered: Gathered, target: int) -> bool:
    """Returns whether the frame at the answer is as sharp as all that were taken away from it, at least."""
    places, scores = gathered.places, measure.scores(gathered.pixels)
    there = float(scores[places == target][0])
    away = scores[np.abs(places - target) >= APART]
    return not len(away) or there >= float(away.max()) - TOLERANCE * abs(float(scores.max()))
