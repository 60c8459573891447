"""What a focusing method is: an Autofocuser that scores positions, and the row that names it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from dioptre.stack import FocalStack

Scores = Float[np.ndarray, "batch n"]


@runtime_checkable
class Autofocuser(Protocol):
    """Says how well focused each position of the ladder is."""

    def scores(self, stack: FocalStack) -> Scores:
        """Returns (batch, n): one number for each position of the grid, higher is better focused.

        A position that a full-stack method was not shown, or whose slice holds a NaN or infinite pixel,
        scores minus infinity.
        """
        ...


@runtime_checkable
class Believer(Autofocuser, Protocol):
    """An Autofocuser that knows how likely each position is, and so how far off it may be."""

    def belief(self, stack: FocalStack) -> Scores:
        """Returns (batch, n): the logarithm of the probability that each position is the best focused."""
        ...

    def decide(self, belief: Scores) -> Scores:
        """Returns the scores that follow from what is believed."""
        ...


class Problem(StrEnum):
    """Which of the paper's problems a method solves: its views and how many slices it is shown."""

    STACK_GREEN = "I*"
    STACK_DUAL_PIXEL = "D*"
    SINGLE_GREEN = "I1"
    SINGLE_DUAL_PIXEL = "D1"

    @property
    def views(self) -> int:
        """How many views are needed: 1 green (made from two if given two), 2 left and right."""
        return 2 if self in (Problem.STACK_DUAL_PIXEL, Problem.SINGLE_DUAL_PIXEL) else 1

    @property
    def whole(self) -> bool:
        """Whether the whole stack is seen."""
        return self in (Problem.STACK_GREEN, Problem.STACK_DUAL_PIXEL)


WHOLE, ANY = 0, -1  # looks of a method that needs the whole stack, and of one that takes what it gets
APART = 4  # indices between the looks of a search: a look beside another shows almost the same again


@dataclass(frozen=True)
class Method:
    """One row of METHODS.

    Attributes:
        key: Its name on the command line and in tables.
        title: As the paper prints it; our own words for methods that are not the paper's.
        problem: The paper's problem it solves.
        build: Makes the Autofocuser.
        source: Where it comes from, author and year; "paper" for the paper's own baselines.
        in_paper: True if it is a row of the paper's tables.
        looks: How many slices it is shown: WHOLE for the whole stack, ANY for as many as there are.
        after: Of several looks, the method that chooses the last one, seeing those before it.
    """

    key: str
    title: str
    problem: Problem
    build: Callable[[], Autofocuser]
    source: str
    in_paper: bool = True
    looks: int = WHOLE
    after: str = ""

    @property
    def views(self) -> int:
        """How many views it needs."""
        return self.problem.views


def best_index(scores: Scores) -> Int[np.ndarray, " batch"]:
    """Returns the position of the highest score, the first one on a tie."""
    return np.argmax(scores, axis=1)


def next_look(scores: Scores, seen: Int[np.ndarray, "batch look"]) -> Int[np.ndarray, " batch"]:
    """Returns where a search looks next: the best position that is APART or more from all looks so far.

    Where no position is, as far from them as there is one.
    """
    away = np.abs(np.arange(scores.shape[1])[:, None] - seen[:, None, :]).min(axis=2)
    enough = away >= np.minimum(APART, away.max(axis=1, keepdims=True))
    return best_index(np.where(enough, scores, -np.inf))


def expected_error(belief: Scores) -> Scores:
    """Returns for each position how many indices off it is to be expected, from logarithms of probabilities.

    It is least at the median of what is believed.
    """
    places = np.arange(belief.shape[1])
    return np.exp(belief) @ np.abs(places[:, None] - places)
