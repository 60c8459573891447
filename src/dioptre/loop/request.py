"""What a user asks with: a method by its key, its file or itself, a prior by its word, looks as a list."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import InputError, MethodError
from dioptre.methods import Method, find_method
from dioptre.methods.base import ANY, WHOLE, Autofocuser
from dioptre.posterior import DepthPrior
from dioptre.problem import Problem
from dioptre.stack import FocalStack

DEFAULT_METHOD: Final = "local-norm-dist-sq-4"
ONE_LOOK: Final = {1: "dioptre-single-green", 2: "dioptre-single-dp"}  # by the number of views
SEVERAL_LOOKS: Final = {1: "dioptre-any-green", 2: "dioptre-any-dp"}

Look = tuple[Shaped[np.ndarray, "..."], int | float]  # a frame, and where the lens was
AnyMethod = str | os.PathLike[str] | Autofocuser


def method_of_stacks(method: AnyMethod) -> Method:
    """Returns the row of a method that sees whole stacks."""
    row = _method(method, Problem.STACK_GREEN, WHOLE)
    if row.looks not in (WHOLE, ANY):
        raise MethodError(
            f"{row.key} takes {_looks_in_words(row.looks)}, not a whole stack: dioptre.focus_from"
        )
    return row


@dataclass(frozen=True, eq=False)
class _Given:
    """A family of one: a method that its user has written."""

    focuser: Autofocuser

    def build(self, key: str) -> Autofocuser:
        del key
        return self.focuser

    def scores(self, stack: FocalStack, keys: Sequence[str]) -> dict[str, Any]:
        return {key: self.focuser.scores(stack) for key in keys}


def _method(method: AnyMethod, problem: Problem, looks: int) -> Method:
    """Returns the row of a method; an Autofocuser of the user's is taken to solve what is asked."""
    if isinstance(method, (str, os.PathLike)):
        return find_method(os.fspath(method))
    if not isinstance(method, Autofocuser):
        raise MethodError(f"a method is a key, the file of a network or an Autofocuser, not {method!r}")
    name = str(getattr(method, "key", type(method).__name__))
    return Method(name, name, problem, _Given(method), "given", in_paper=False, looks=looks)


def method_of_looks(method: AnyMethod | None, looks: int, views: int) -> Method:
    """Returns the row of a method for so many looks; by default ours for as many views."""
    default = (ONE_LOOK if looks == 1 else SEVERAL_LOOKS)[views]
    row = _method(default if method is None else method, Problem.SINGLE_GREEN, ANY)
    if row.looks not in (looks, ANY):
        raise MethodError(f"{row.key} takes {_looks_in_words(row.looks)}, not {_looks_in_words(looks)}")
    return row


def to_prior(prior: Any) -> DepthPrior:
    """Returns a prior from its word, or as it is."""
    if isinstance(prior, DepthPrior):
        return prior
    if not isinstance(prior, str):
        raise InputError(f"a prior is a word or a DepthPrior, not {prior!r}")
    return DepthPrior.parse(prior)


def to_looks(frame: Any, at: int | float | None) -> list[Look]:
    """Returns a list of looks, from one or from several."""
    several = isinstance(frame, (list, tuple)) and len(frame) > 0 and isinstance(frame[0], (list, tuple))
    if several and at is not None:
        raise InputError("of several looks, each has its own position: [(frame, at), ...] without at=")
    if several:
        if any(not isinstance(one, (list, tuple)) or len(one) != 2 for one in frame):
            raise InputError("several looks are a list of (frame, at)")
        return [(np.asanyarray(one), position) for one, position in frame]
    if at is None:
        raise InputError("say where the lens was at this look (at=...)")
    return [(np.asanyarray(frame), at)]


def _looks_in_words(looks: int) -> str:
    return {WHOLE: "a whole stack", 1: "one look"}.get(looks, f"{looks} looks")


def stack_looks(frames: list[Shaped[np.ndarray, "..."]]) -> Shaped[np.ndarray, "look ..."]:
    """Returns the frames of looks as one array."""
    for one in frames:
        if one.ndim not in (2, 3):
            raise InputError(f"a look is (row, col) or (2, row, col), not an array of shape {one.shape}")
        if one.shape != frames[0].shape or one.dtype != frames[0].dtype:
            raise InputError(
                f"looks have one shape and dtype, not {frames[0].dtype} {frames[0].shape} and "
                f"{one.dtype} {one.shape}"
            )
    return np.ma.stack(frames) if any(np.ma.isMA(one) for one in frames) else np.stack(frames)
