"""Films: the frames of a video as the slices of a stack, decoded by OpenCV.

Frames are read in order; going back begins anew. Codes are 8 bits with a display's gamma.
"""

import math
import re
import weakref
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import StackFileError
from dioptre.resources import refuse_larger, regular
from dioptre.stacks.axes import Volume
from dioptre.stacks.colours import GREEN, colour_with_signal, one_colour, red_first, told_of_colour
from dioptre.stacks.decoding import quiet_readers
from dioptre.stacks.pictures import Window

FILM_SUFFIXES = (".mp4", ".mov", ".avi", ".mkv", ".webm", ".m4v", ".mpg", ".gif")
MOST_FRAMES = 100_000  # a sweep has hundreds
FRAME_BYTES = 16  # a pixel, while it is decoded
BEGINS = re.compile(
    rb"....(ftyp|moov|mdat|free|skip|wide|pnot)|RIFF....AVI |\x1aE\xdf\xa3|GIF8|\x00\x00\x01[\xb3\xba]",
    re.DOTALL,
)  # MP4 and MOV, AVI, Matroska and WebM, GIF, MPEG


def open_film(path: Path) -> Volume:
    """Returns the frames of a video.

    Raises:
        StackFileError: If it is damaged, or has no frames.
        OSError: If it cannot be read.
    """
    with regular(path).open("rb") as file:
        if not BEGINS.match(file.read(16)):  # there are lists of films as well, which name other files
            raise StackFileError(f"{path} cannot be read as a film: it is damaged or something else")
    film = _Film(path)
    n = film.count()
    film.colour = colour_with_signal(film.frame(at) for at in range(n))
    picture = film.read(0)
    refuse_larger(path, 4 * picture.size, StackFileError)

    def read(index: tuple[int, ...], window: Window) -> Shaped[np.ndarray, "row col"]:
        return window.cut(film.read(index[0]))

    known: dict[str, Any] = {"display": True, "parallel": False, "notes": told_of_colour(film.colour)}
    return Volume(str(path), "ZYX", (n, *picture.shape), picture.dtype, read, **known)


class _Film:
    """Decodes frames, best in order."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock, self._next = path, Lock(), 0
        self._last: tuple[int, Shaped[np.ndarray, "..."]] | None = None
        self.colour = GREEN
        self._begin()

    def _begin(self) -> None:
        import cv2  # noqa: PLC0415 (start-up time)

        with quiet_readers():
            self._capture = cv2.VideoCapture(str(self._path), cv2.CAP_FFMPEG)
        if not self._capture.isOpened():
            raise StackFileError(f"{self._path} cannot be read as a film: it is damaged or something else")
        sides = (self._capture.get(one) for one in (cv2.CAP_PROP_FRAME_HEIGHT, cv2.CAP_PROP_FRAME_WIDTH))
        refuse_larger(
            self._path, FRAME_BYTES * math.prod(max(0, int(side)) for side in sides), StackFileError
        )
        self._closed = weakref.finalize(self, self._capture.release)
        self._next = 0

    def count(self) -> int:
        """Returns the number of frames, counted: the number in the header is a guess."""
        n = 0
        with quiet_readers():
            while self._capture.grab():
                n += 1
                if n > MOST_FRAMES:
                    raise StackFileError(f"{self._path} has more than {MOST_FRAMES} frames")
        if n == 0:
            raise StackFileError(f"{self._path} cannot be read as a film: it has no frames")
        self._begin()
        return n

    def read(self, at: int) -> Shaped[np.ndarray, "row col"]:
        """Returns one colour of a frame."""
        return one_colour(self.frame(at), self.colour)

    def frame(self, at: int) -> Shaped[np.ndarray, "..."]:
        """Returns a frame, red first."""
        with self._lock, quiet_readers():
            if self._last is not None and self._last[0] == at:
                return self._last[1]
            if at < self._next:
                self._begin()
            while self._next < at and self._capture.grab():
                self._next += 1
            done, frame = self._capture.read() if self._next == at else (False, None)
            if not done or frame is None:
                raise StackFileError(f"{self._path} is damaged: frame {at} cannot be read")
            self._next = at + 1
            self._last = at, red_first(frame)
            return self._last[1]
