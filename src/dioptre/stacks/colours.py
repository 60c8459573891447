"""Colours of pictures: which one of them is read.

A picture in colour is (row, col, colour), red first, perhaps with alpha; (row, col, 2) is grey and alpha, and
(row, col) grey. Green is read, which cameras see best. Where green has hardly any signal, as in fluorescence
that was saved through a blue look-up table, another colour is: the same one of a whole stack.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
from jaxtyping import Float64, Shaped

RED, GREEN, BLUE = range(3)
COLOURS: Final = ("red", "green", "blue")
HARDLY: Final = 0.1  # of the signal of the strongest colour
SEEN: Final = 512  # rows and columns at least that are looked at, of larger pictures

AnyPicture = Shaped[np.ndarray, "..."]


def one_colour(picture: AnyPicture, colour: int = GREEN) -> AnyPicture:
    """Returns a colour of (row, col, 3 or 4), the grey of (row, col, 1 or 2), and (row, col) as it is."""
    return picture if picture.ndim == 2 else np.ascontiguousarray(picture[..., _place(picture, colour)])


def _place(picture: AnyPicture, colour: int) -> int:
    return colour if picture.shape[-1] in (3, 4) else 0


def red_first(picture: AnyPicture) -> AnyPicture:
    """Returns a picture of OpenCV, which has blue first, with red first, without alpha, not copied."""
    return picture[..., 2::-1] if picture.ndim == 3 and picture.shape[-1] in (3, 4) else picture


def red_green_blue(picture: AnyPicture) -> Shaped[np.ndarray, "row col 3"] | None:
    """Returns the three colours of a picture, not copied; None if it has none."""
    return picture[..., :3] if picture.ndim == 3 and picture.shape[-1] in (3, 4) else None


def colour_with_signal(pictures: Iterable[AnyPicture | None]) -> int:
    """Returns which colour of a stack is read, by the first of its pictures that has any contrast.

    Args:
        pictures: (row, col, colour), or anything that has no colours.
    """
    for picture in pictures:
        found = None if picture is None else red_green_blue(_thinned(picture))
        if found is None:
            return GREEN
        signal = _signal(found)
        strongest = int(signal.argmax())
        if signal[strongest] > 0:
            return GREEN if signal[GREEN] >= HARDLY * signal[strongest] else strongest
    return GREEN


def _signal(colours: Shaped[np.ndarray, "row col 3"]) -> Float64[np.ndarray, "3"]:
    """Returns brightness times contrast of each colour: a JPEG leaves a little of both in colours beside."""
    codes = np.nan_to_num(colours.astype(np.float64), posinf=0.0, neginf=0.0)
    brightness = np.sqrt(np.mean(codes**2, axis=(0, 1)))
    return brightness * codes.std(axis=(0, 1))


def _thinned(picture: AnyPicture) -> AnyPicture:
    steps = [max(1, length // SEEN) for length in picture.shape[:2]]
    return picture[:: steps[0], :: steps[1]]


def told_of_colour(colour: int) -> tuple[str, ...]:
    """Returns a note if another colour than green is read."""
    if colour == GREEN:
        return ()
    return (f"green has hardly any signal: the pictures are read by their {COLOURS[colour]}",)
