"""Closing the loop: what looks and their contrast say together, and when a lens has looked often enough.

A network tells from each look how far away the focus is. Of two looks the sharper one is the nearer, which is
other evidence: most parts of the picture are asked, with the same weight each, so that a part with much
contrast does not outvote the others. Both together are one posterior (`combined`), by which a lens goes on
looking: at the answer, or beside it.

An answer is as sure as its expected error is small: that tells misses better than the mass far from the
answer does. How many misses there are among answers with at most some expected error was counted on simulated
cameras (`python -m lab.recipes.stopping_risks`) and is close to a power of it (`risk_of`).

Looks that are not sure after all know about as much as a sweep of some ten frames or more would find. So the
lens is swept only if contrast contradicts their answer (`is_refuted`), or they are lost although there is
something to see (`are_lost`).
"""

from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Float, Float32, Int

from dioptre.autofocus.sweep import FrameScorer, Gathered, Peak
from dioptre.confidence.reasons import WARNINGS, Reason, State
from dioptre.confidence.statistics import SliceBlocks
from dioptre.confidence.verdict import Verdict
from dioptre.focusing.score_slices import slice_scores, tile_scores
from dioptre.methods import find_method
from dioptre.methods.measure import MIN_SIZE
from dioptre.miss import reach_of
from dioptre.posterior import Posterior
from dioptre.stack import VIEW_CODES, FocalStack

SHARPNESS: Final = "local-norm-dist-sq-2"  # tells near looks from far ones best, also in the dark
WEIGHT: Final = 8.0  # of a difference in sharpness, as a logarithm
MOST: Final = 0.7  # of such a difference: what is more counts as this
LEAST: Final = 1e-12  # of a score
# The share of misses among answers whose expected error is at most one position, and the power of that error
# with which it grows: python -m lab.recipes.stopping_risks
RISK_AT_ONE: Final = {2: 0.005, 1: 0.0065}  # by views
GROWTH: Final = 1.7
EARLY: Final = 2.0  # positions of expected error: looks that are less sure go on, whatever risk is accepted
THERE: Final = 2  # indices between an answer and the nearest look: the answer was seen
LOST: Final = 5.0  # indices of expected error: such looks know next to nothing
SEEN: Final = 1.3  # times as sharp as another look: there is something to see
CREDIBLE: Final = 0.005  # of a posterior: what is less likely than this together, on each side, is left out
SPARE: Final = 3  # indices that are swept beyond that
APART: Final = 4  # indices: looks that are farther from the answer must be less sharp than it
TOLERANCE: Final = 0.15  # by which they may be sharper, as a logarithm
PLAUSIBLE: Final = 0.1  # of the posterior lies around a peak that the looks do not contradict
TURNED: Final = 1.3  # times as far down as to the right is one view from the other if they are on their side
DOWN: Final = 0.8  # pixels that one is below the other then, at least
WORTH: Final = 0.35  # indices of expected error: for less, a lens is not moved to its answer

Pixels = Float32[np.ndarray, "look view row col"]
# What looks suffer from that a network does not know of
HARD: Final = frozenset({Reason.VIEWS_TURNED, Reason.BEYOND_FAR, Reason.BEYOND_NEAR})
DOUBTS: Final = WARNINGS | {Reason.UNSURE}
# Of looks that are not sure: what a sweep would not help against
SETTLED: Final = DOUBTS | {Reason.AMBIGUOUS, Reason.TOO_DARK, Reason.BEYOND_FAR, Reason.BEYOND_NEAR}


# What looks say together


def combined(posterior: Posterior, looks: FocalStack) -> Posterior:
    """Returns what is known after some looks at one scene, from a network and from their contrast.

    Args:
        posterior: The network's.
        looks: What it saw, of one scene.
    """
    positions, frames = looks.indices[0], looks.pixels[0]
    if len(positions) < 2 or min(frames.shape[2:]) < MIN_SIZE:  # which no measure measures
        return posterior
    logs = contrast_logs(sharpness(frames), positions, posterior.positions)
    return Posterior.of_logits(
        posterior.logs + np.pad(logs, 1, mode="edge"), posterior.positions, posterior.decision
    )


def sharpness(frames: Pixels) -> Float[np.ndarray, "part look"]:
    """Returns how sharp parts of some looks are, as a logarithm; a small region is one part."""
    focuser = find_method(SHARPNESS).build()
    parts = tile_scores(focuser, frames, VIEW_CODES)
    scores = slice_scores(focuser, frames, VIEW_CODES)[None] if parts is None else parts
    return np.log(np.maximum(scores, LEAST))


def contrast_logs(
    sharp: Float[np.ndarray, "part look"], positions: Int[np.ndarray, " look"], n: int
) -> Float[np.ndarray, " n"]:
    """Returns how likely each of n positions makes what looks differ by, as a logarithm.

    Of two looks, positions nearer to the sharper one are likelier, by as much as it is sharper. Each look is
    compared with all others, and counts once.

    Args:
        sharp: How sharp parts of the looks are, as a logarithm.
        positions: Where they were taken.
        n: Positions of the ladder.
    """
    away = np.abs(np.arange(n) - positions[:, None])
    logs = np.zeros(n)
    for one in range(len(positions)):
        for other in range(one):
            sharper = float(np.median(np.clip(sharp[:, one] - sharp[:, other], -MOST, MOST)))
            nearer = np.tanh((away[other] - away[one]) / reach_of(n))
            logs -= np.logaddexp(0.0, -WEIGHT * sharper * nearer)
    return logs / max(len(positions) - 1, 1)


# When they are enough


def closed(verdict: Verdict, posterior: Posterior, risk: float, views: int) -> Verdict:
    """Returns the verdict on the answer of several looks.

    Args:
        verdict: What is thought of looks that were taken anywhere.
        posterior: After these looks, with their contrast.
        risk: How often an answer that is called focused may be a miss.
        views: How many there are.
    """
    found = risk_of(float(posterior.expected_error().min()), views)
    told = tuple(one for one in verdict.reasons if one in HARD | WARNINGS)
    if verdict.state is State.FAILED:
        return verdict
    if found <= risk and not HARD.intersection(told):
        return replace(verdict, state=State.FOCUSED, reasons=told, risk=found)
    reasons = verdict.reasons if HARD.intersection(told) else (*told, Reason.UNSURE)
    return replace(verdict, state=State.UNCERTAIN, reasons=reasons, risk=max(found, verdict.risk))


def risk_of(expected: float, views: int) -> float:
    """Returns how often answers with at most some expected error, in positions, are misses."""
    return min(RISK_AT_ONE[views] * expected**GROWTH, 1.0)


def is_early(posterior: Posterior) -> bool:
    """Returns whether an answer that can be taken is good enough to take no further look."""
    return bool(posterior.expected_error().min() <= EARLY)


def stays(posterior: Posterior, at: int, answer: int) -> bool:
    """Returns whether a lens may as well stay where it is: going to its answer would gain next to nothing."""
    expected = posterior.expected_error()[0]
    return bool(expected[at] - expected[answer] < WORTH)


# When a sweep would help


def are_turned(blocks: SliceBlocks) -> bool:
    """Returns whether the views of some looks lie apart along the columns, as those of a turned camera do.

    The look with the most disparity tells; one that is in focus has none.
    """
    right, down = np.abs(blocks.disparity()).max(axis=1)
    return bool(down > max(TURNED * right, DOWN))


def is_refuted(gathered: Gathered, answer: int) -> bool:
    """Returns whether an answer was looked at and is clearly less sharp than what lies away from it."""
    places = gathered.places
    nearest = int(places[np.argmin(np.abs(places - answer))])
    return abs(nearest - answer) <= THERE and not as_sharp(gathered, nearest)


def are_lost(measure: FrameScorer, gathered: Gathered, posterior: Posterior) -> bool:
    """Returns whether looks know next to nothing, although one of them is clearly sharper than another."""
    scores = measure.scores(gathered.pixels)
    return bool(posterior.expected_error().min() > LOST and scores.max() > SEEN * scores.min())


def as_sharp(gathered: Gathered, target: int) -> bool:
    """Returns whether the frame at the answer is about as sharp as all that were taken away from it, or more.

    Most parts decide: a region of several depths has the most contrast in another part than its middle one.
    """
    places, sharp = gathered.places, sharpness(gathered.pixels)
    away = np.abs(places - target) >= APART
    lacks = np.median(sharp[:, away] - sharp[:, places == target], axis=0)
    return bool(lacks.max(initial=0.0) <= TOLERANCE)


def credible(posterior: Posterior, limits: tuple[int, int]) -> tuple[int, int] | None:
    """Returns the first and the last position where the focus may be; None if that is nearly everywhere."""
    mass = np.cumsum(np.exp(posterior.logs[0]))
    inside = np.flatnonzero((mass > CREDIBLE) & (np.concatenate([[0.0], mass[:-1]]) < 1 - CREDIBLE)) - 1
    first, last = max(int(inside[0]) - SPARE, limits[0]), min(int(inside[-1]) + SPARE, limits[1])
    return (first, last) if last - first < (limits[1] - limits[0]) // 2 else None


def far_from(posterior: Posterior, answer: int | float) -> float:
    """Returns how much of a posterior is so far from an answer that it would be a miss, or off the ladder."""
    ladder = posterior.ladder[0]
    away = np.abs(np.arange(len(ladder)) - answer)
    return max(1 - float(ladder[away <= reach_of(len(ladder))].sum()), 0.0)


def agreed(peak: Peak, posterior: Posterior | None) -> Peak:
    """Returns a peak that is uncertain if the looks said that the focus is elsewhere.

    Args:
        peak: What a sweep around the answer found.
        posterior: After the looks; None if there were none.
    """
    verdict = peak.verdict
    if posterior is None or verdict.state is not State.FOCUSED:
        return peak
    far = far_from(posterior, peak.position)
    if 1 - far >= PLAUSIBLE:
        return peak
    reasons = tuple(dict.fromkeys((*verdict.reasons, Reason.AMBIGUOUS)))
    doubtful = replace(
        verdict, state=State.UNCERTAIN, reasons=reasons, risk=max(verdict.risk, far), confidence=1 - far
    )
    return replace(peak, verdict=doubtful)
