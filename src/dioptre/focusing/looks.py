"""Looks: a few frames, each with where the lens was, as people hand them over."""

from typing import Any

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import InputError
from dioptre.focusing.inputs import Pixels
from dioptre.focusing.slices import Reading, of_pictures
from dioptre.stacks.pictures import Pictures

Look = tuple[Shaped[np.ndarray, "..."], int | float]  # a frame, and where the lens was


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


def look_pixels(
    looks: list[Look], black: float | None, white: float | None, gamma: str | None
) -> tuple[Pixels, tuple[str, ...]]:
    """Returns looks as pixels, 0 black and 1 white, NaN where they are masked; and how they were read.

    Raises:
        InputError: If they are not alike, or no pictures.
    """
    codes = _stacked([frame for frame, _ in looks])
    codes = codes[:, None] if codes.ndim == 3 else codes
    real = np.issubdtype(codes.dtype, np.integer) or np.issubdtype(codes.dtype, np.floating)
    if not real:
        raise InputError(f"a look's pixels are real numbers, not {codes.dtype}")
    how = Reading.of({"gamma": gamma})
    pictures = Pictures.of_array(codes)
    slices = of_pictures(pictures, black, white, how.undoes_gamma(pictures, learned=False))
    return slices.pixels(), slices.notes


def _stacked(frames: list[Shaped[np.ndarray, "..."]]) -> Shaped[np.ndarray, "look ..."]:
    for one in frames:
        if one.ndim not in (2, 3):
            raise InputError(f"a look is (row, col) or (2, row, col), not an array of shape {one.shape}")
        if one.shape != frames[0].shape or one.dtype != frames[0].dtype:
            raise InputError(
                f"looks have one shape and dtype, not {frames[0].dtype} {frames[0].shape} and "
                f"{one.dtype} {one.shape}"
            )
    return np.ma.stack(frames) if any(np.ma.isMA(one) for one in frames) else np.stack(frames)
