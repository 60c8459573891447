"""Closing the loop: when a lens has looked often enough, and whether what it sees is what it was promised."""

from typing import Final

import numpy as np
from jaxtyping import Int

from dioptre.loop.sweeping import Gathered, Measure
from dioptre.loop.verdict import State, Verdict
from dioptre.methods.base import best_index
from dioptre.posterior import Posterior

THERE: Final = 1  # indices between an answer and the last look: the answer was seen
CREDIBLE: Final = 0.005  # of a posterior: what is less likely than this together, on each side, is left out
SPARE: Final = 3  # indices that are swept beyond that
APART: Final = 4  # indices: looks that are farther from the answer must be less sharp than it
TOLERANCE: Final = 0.05  # by which they may be sharper, of the sharpest


def settled(verdict: Verdict, posterior: Posterior, positions: Int[np.ndarray, " look"]) -> bool:
    """Returns whether no further look is needed: the answer was looked at, and is sure."""
    answer = int(best_index(posterior.scores())[0])
    return verdict.state is State.FOCUSED and abs(answer - int(positions[-1])) <= THERE


def is_closed(verdict: Verdict, posterior: Posterior, positions: Int[np.ndarray, " look"]) -> Verdict:
    """Returns the verdict on the answer of a search that has looked at its own answer."""
    return verdict


def credible(posterior: Posterior, limits: tuple[int, int]) -> tuple[int, int] | None:
    """Returns the first and the last position where the focus may be; None if that is nearly everywhere."""
    mass = np.cumsum(np.exp(posterior.logs[0]))
    inside = np.flatnonzero((mass > CREDIBLE) & (np.concatenate([[0.0], mass[:-1]]) < 1 - CREDIBLE)) - 1
    first, last = max(int(inside[0]) - SPARE, limits[0]), min(int(inside[-1]) + SPARE, limits[1])
    return (first, last) if last - first < (limits[1] - limits[0]) // 2 else None


def as_sharp(measure: Measure, gathered: Gathered, target: int) -> bool:
    """Returns whether the frame at the answer is as sharp as all that were taken away from it, at least."""
    places, scores = gathered.places, measure.scores(gathered.pixels)
    there = float(scores[places == target][0])
    away = scores[np.abs(places - target) >= APART]
    return not len(away) or there >= float(away.max()) - TOLERANCE * abs(float(scores.max()))
