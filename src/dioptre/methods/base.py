"""What a focusing method is: an Autofocuser that scores positions, the family that builds it, its row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from dioptre.errors import MethodError
from dioptre.grid import FocusGrid
from dioptre.posterior import Posterior, Scores
from dioptre.problem import Problem
from dioptre.stack import FocalStack


@runtime_checkable
class Autofocuser(Protocol):
    """A focusing method: it scores how sharp each position of the grid is.

    Everything that a caller may ask stands here, with what most methods answer. Methods of the package
    inherit from it; a person's own object is made into one by `focusing.arguments.to_autofocuser`.
    """

    @property
    def by_slice(self) -> bool:
        """Whether it scores each slice by itself, and so can be shown one after the other."""
        return False

    @property
    def is_network(self) -> bool:
        """Whether it was trained on pictures of one camera, and knows whole pictures in steps of its blur."""
        return False

    @property
    def identity(self) -> str:
        """The hash of its network or calibration table; "" for a formula."""
        return ""

    @property
    def tile_measure(self) -> "Autofocuser":
        """What scores slices and tiles for it: itself, but where tiles vote by another measure."""
        return self

    def refusal(self, _grid: FocusGrid, _shape: tuple[int, int], _views: int) -> str | None:
        """Returns why it cannot see patches of this grid, rows, columns and views; None if it can.

        The reason goes on after the method's name: "needs the left and the right view, ...".
        """
        return None

    def scores(self, stack: FocalStack) -> Scores:
        """Returns (batch, n): one number for each position of the grid, higher is better focused.

        A position that a full-stack method was not shown, or whose slice holds a NaN or infinite pixel,
        scores minus infinity.

        Raises:
            MethodError: If it cannot see the stack.
        """
        ...

    def posterior(self, _stack: FocalStack) -> Posterior | None:
        """Returns the posterior over positions under an even prior; None if it only scores slices."""
        return None

    def tiled_scores(
        self, _stack: FocalStack, _layout: tuple[int, int]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "tile n"]] | None:
        """Returns the scores of one scene and those of its tiles; None where tiles want a pass of their own.

        Tiles lie in so many rows and columns, and are counted row by row.
        """
        return None

    def joined(
        self, curve: Float[np.ndarray, " n"], tiles: Float[np.ndarray, "tile n"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "tile n"]]:
        """Returns a region's curve and those of its tiles that it is judged by, from `tile_measure`'s."""
        return curve, tiles


@runtime_checkable
class Family(Protocol):
    """Methods that are built alike and share work."""

    def build(self, key: str) -> Autofocuser:
        """Returns one of its methods, ready to score."""
        ...

    def scores(self, stack: FocalStack, keys: Sequence[str]) -> dict[str, Scores]:
        """Returns the scores of several of its methods; work that they share is done once."""
        ...


WHOLE, ANY = 0, -1  # looks of a method that needs the whole stack, and of one that takes what it gets


@dataclass(frozen=True)
class Method:
    """One row of METHODS.

    Attributes:
        key: Its name on the command line and in tables.
        title: As the paper prints it; our own words for methods that are not the paper's.
        problem: The paper's problem it solves.
        family: Builds the Autofocuser, and scores it together with its like.
        source: Where it comes from, author and year; "paper" for the paper's own baselines.
        in_paper: True if it is a row of the paper's tables.
        looks: How many slices it is shown: WHOLE for the whole stack, ANY for as many as there are.
        after: Of several looks, the method that chooses the last one, seeing those before it; "" if nobody
            does, so that the looks have to be given.
        again: Of one look, whether a search may ask it again where it answered; it then hears of that look
            alone (the paper's "Multi-step").
    """

    key: str
    title: str
    problem: Problem
    family: Family
    source: str
    in_paper: bool = True
    looks: int = WHOLE
    after: str = ""
    again: bool = False

    def __post_init__(self) -> None:
        if self.problem.whole != (self.looks == WHOLE) or self.looks < ANY:
            raise MethodError(
                f"{self.key} cannot solve {self.problem.value} with {self.looks} looks: a whole stack is "
                f"{WHOLE}, as many looks as there are {ANY}, and a number of looks is for I1 and D1"
            )
        if self.after and self.looks < 2:
            raise MethodError(f"{self.key} has no second look for {self.after} to choose")
        if self.again and self.looks != 1:
            raise MethodError(f"{self.key} can only be asked again of one look, not of {self.looks}")

    @property
    def views(self) -> int:
        """How many views it needs."""
        return self.problem.views

    @property
    def leads_itself(self) -> bool:
        """Whether a search with it may take any number of looks: of all together, or of the last alone."""
        return self.looks == ANY or self.again

    def build(self) -> Autofocuser:
        """Returns the method, ready to score."""
        return self.family.build(self.key)


def best_index(scores: Scores) -> Int[np.ndarray, " batch"]:
    """Returns the position of the highest score, the first one on a tie."""
    return np.argmax(scores, axis=1)
