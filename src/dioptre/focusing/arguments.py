"""What a user asks with: a stack, a grid, a method by its key, its file or itself, a prior by its word."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Shaped

from dioptre.cameras.camera_files import CameraOptics
from dioptre.errors import InputError, MethodError
from dioptre.grid import FocusGrid
from dioptre.methods import Method, find_method
from dioptre.methods.base import ANY, WHOLE, Autofocuser
from dioptre.optics import CameraModel
from dioptre.posterior import DepthPrior, Posterior, Scores
from dioptre.problem import Problem
from dioptre.stack import FocalStack
from dioptre.stacks.pictures import Pictures

DEFAULT_METHOD: Final = "dioptre-vote"  # of a whole stack
DEFAULT_MEASURE: Final = "local-norm-dist-sq-4"  # of slices that are scored one by one
ONE_LOOK: Final = {1: "dioptre-single-green", 2: "dioptre-single-dp"}  # by the number of views
SEVERAL_LOOKS: Final = {1: "dioptre-any-green", 2: "dioptre-any-dp"}


@runtime_checkable
class Scorer(Protocol):
    """A person's own method; `to_autofocuser` says what it may have beside."""

    def scores(self, stack: FocalStack) -> Scores:
        """Returns (batch, n): one number for each position of the grid, higher is better focused."""
        ...


AnyMethod = str | os.PathLike[str] | Scorer
AnyStack = Shaped[np.ndarray, "..."] | FocalStack | Pictures | str | os.PathLike[str] | Sequence[Any]
AnyGrid = (
    FocusGrid
    | CameraModel
    | CameraOptics
    | str
    | os.PathLike[str]
    | Sequence[float | int]
    | Float[np.ndarray, " n"]
)


def method_of_stacks(method: AnyMethod) -> Method:
    """Returns the row of a method that sees whole stacks."""
    row = _method(method, Problem.STACK_GREEN, WHOLE)
    if row.looks not in (WHOLE, ANY):
        raise MethodError(
            f"{row.key} takes {_looks_in_words(row.looks)}, not a whole stack: dioptre.focus_from"
        )
    return row


@dataclass(frozen=True, eq=False)
class _Given(Autofocuser):
    """A method that its user has written; what it does not have is as with most methods."""

    given: Any
    told: str
    slices: bool
    refuse: Callable[..., str | None]
    believe: Callable[[FocalStack], Posterior | None]

    @property
    def identity(self) -> str:
        return self.told

    @property
    def by_slice(self) -> bool:
        return self.slices

    def refusal(self, grid: FocusGrid, shape: tuple[int, int], views: int) -> str | None:
        return self.refuse(grid, shape, views)

    def scores(self, stack: FocalStack) -> Scores:
        return self.given.scores(stack)

    def posterior(self, stack: FocalStack) -> Posterior | None:
        return self.believe(stack)


def to_autofocuser(method: Any) -> Autofocuser:
    """Returns a person's own method as one that answers all that a caller may ask; nobody else asks it.

    It has `scores(stack)`, and may have `posterior(stack)`, `refusal(grid, shape, views)`, `identity` and
    `by_slice`.
    """
    if isinstance(method, Autofocuser):
        return method
    if not isinstance(method, Scorer):
        raise MethodError(
            f"a method is a key, the file of a network or an object with scores, not {method!r}"
        )
    return _Given(
        method,
        told=str(getattr(method, "identity", "")),
        slices=bool(getattr(method, "by_slice", False)),
        refuse=getattr(method, "refusal", lambda *_: None),
        believe=getattr(method, "posterior", lambda _: None),
    )


@dataclass(frozen=True, eq=False)
class _FamilyOfOne:
    """A family of one."""

    focuser: Autofocuser

    def build(self, _key: str) -> Autofocuser:
        return self.focuser

    def scores(self, stack: FocalStack, keys: Sequence[str]) -> dict[str, Any]:
        return {key: self.focuser.scores(stack) for key in keys}


def _method(method: AnyMethod, problem: Problem, looks: int) -> Method:
    """Returns the row of a method; an Autofocuser of the user's is taken to solve what is asked."""
    if isinstance(method, (str, os.PathLike)):
        return find_method(os.fspath(method))
    focuser, name = to_autofocuser(method), str(getattr(method, "key", type(method).__name__))
    return Method(name, name, problem, _FamilyOfOne(focuser), "given", in_paper=False, looks=looks)


def method_of_looks(method: AnyMethod | None, looks: int, views: int) -> Method:
    """Returns the row of a method for so many looks; by default ours for as many views."""
    default = (ONE_LOOK if looks == 1 else SEVERAL_LOOKS)[views]
    row = _method(default if method is None else method, Problem.SINGLE_GREEN, ANY)
    if row.looks not in (looks, ANY):
        raise MethodError(f"{row.key} takes {_looks_in_words(row.looks)}, not {_looks_in_words(looks)}")
    return row


def refuse_unknown(grid: FocusGrid, key: str, focuser: Autofocuser) -> None:
    """Raises MethodError for a network that is asked about positions of which it knows nothing."""
    if focuser.is_network and not grid.known and grid.blur_per_unit_px is None:
        raise MethodError(
            f"{key} is a network and must know where the slices were taken, in dioptres, or through which "
            "camera: grid=... (--positions, --camera)"
        )


def to_prior(prior: Any) -> DepthPrior:
    """Returns a prior from its word, or as it is."""
    if isinstance(prior, DepthPrior):
        return prior
    if not isinstance(prior, str):
        raise InputError(f"a prior is a word or a DepthPrior, not {prior!r}")
    return DepthPrior.parse(prior)


def _looks_in_words(looks: int) -> str:
    return {WHOLE: "a whole stack", 1: "one look"}.get(looks, f"{looks} looks")
