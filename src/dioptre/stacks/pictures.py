"""Pictures: the slices of one stack, read one by one, and windows: which part of a picture is wanted.

A stack is opened, not loaded: its size, its type and its names are known, and a slice is decoded when it is
asked for, of which only a window is kept. So memory does not grow with a stack, whatever it is stored in.
Codes come back as the file has them, axes (view, row, col): nothing is scaled here.

Whoever opens files (stacks/formats.py and what it calls) makes these; this module knows no file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import InputError, StackFileError
from dioptre.grid import FocusGrid
from dioptre.resources import refuse_larger
from dioptre.stacks.decoding import white_of

PIXEL_BYTES = 4  # of what codes become

Codes = Shaped[np.ndarray, "slice view row col"]
Views = Shaped[np.ndarray, "view row col"]
Colours = Shaped[np.ndarray, "row col 3"]
Progress = Callable[[int, int], None]


class Window(NamedTuple):
    """A part of a picture: from the first row and column up to the last, which do not belong to it."""

    top: int
    left: int
    bottom: int
    right: int

    @classmethod
    def whole(cls, rows: int, cols: int) -> "Window":
        """Returns the window that is the whole picture."""
        return cls(0, 0, rows, cols)

    @property
    def slices(self) -> tuple[slice, slice]:
        """Its rows and its columns."""
        return slice(self.top, self.bottom), slice(self.left, self.right)

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns."""
        return self.bottom - self.top, self.right - self.left

    def cut(self, picture: Shaped[np.ndarray, "*any row col"]) -> Shaped[np.ndarray, "*any h w"]:
        """Returns this part of a picture."""
        return picture[(..., *self.slices)]

    def inside(self, other: "Window") -> "Window":
        """Returns this window in the coordinates of another one that holds it."""
        top, left = self.top - other.top, self.left - other.left
        return Window(top, left, top + self.shape[0], left + self.shape[1])

    def common(self, other: "Window") -> "Window":
        """Returns the part that is in both; of no rows or columns if there is none."""
        top, left = max(self.top, other.top), max(self.left, other.left)
        bottom, right = min(self.bottom, other.bottom), min(self.right, other.right)
        return Window(top, left, max(top, bottom), max(left, right))

    def joined(self, other: "Window") -> "Window":
        """Returns the smallest window that holds both."""
        return Window(
            min(self.top, other.top),
            min(self.left, other.left),
            max(self.bottom, other.bottom),
            max(self.right, other.right),
        )


ReadSlice = Callable[[int, Window], Views]


@dataclass(frozen=True, eq=False)
class Pictures:
    """The pictures of one stack, as they are in the file, read when they are asked for.

    Attributes:
        source: What they are called in an error: the file or the folder.
        shape: (slice, view, row, col). One view (green or grey) or left and right.
        dtype: Of the codes.
        names: One for each slice: the file name (of the left picture, if there are two), "page 1"
            onwards as viewers count the pages of a TIFF, "slice 0" onwards as arrays count.
        reader: Returns the codes of a slice in a window, (view, row, col).
        skipped: Pictures of the folder that were left out, because they do not belong to its series.
        member: Which of several stacks of a file it is: its channel, time or position of the stage, whichever
            these stacks differ in; empty if it is the only one.
        grid: Where the slices were taken, if the file tells; of a microscope's, micrometres from the first.
        notes: What its user should know about how it was read.
        display: Whether codes are those of a display, with the gamma of sRGB, as far as the format tells.
        parallel: Whether several threads may read slices, in any order.
        array: All codes, if they are in memory or mapped anyway.
        painter: Returns the colours of a slice, red first, for showing; None if there are none, or nobody can
            tell.
    """

    source: str
    shape: tuple[int, int, int, int]
    dtype: np.dtype[Any]
    names: tuple[str, ...]
    reader: ReadSlice
    skipped: tuple[str, ...] = ()
    member: Mapping[str, str] = field(default_factory=dict)
    grid: FocusGrid | None = None
    notes: tuple[str, ...] = ()
    display: bool = False
    parallel: bool = True
    array: Codes | None = None
    painter: Callable[[int], Colours | None] | None = None

    def __post_init__(self) -> None:
        if len(self.shape) != 4 or self.shape[1] not in (1, 2) or 0 in self.shape:
            raise InputError(
                f"pictures are (slice, 1 or 2 views, row, col), not an array of shape {self.shape}"
            )
        if len(self.names) != len(self):
            raise InputError(f"{len(self)} slices have {len(self.names)} names")
        if not (np.issubdtype(self.dtype, np.integer) or np.issubdtype(self.dtype, np.floating)):
            raise StackFileError(
                f"{self.source} holds values of type {self.dtype}; pictures are integers or floats"
            )

    @classmethod
    def of_array(cls, codes: Codes, source: str = "the array", **known: Any) -> "Pictures":
        """Returns the pictures of an array (slice, view, row, col) that is in memory, or mapped."""
        names = known.pop("names", None) or tuple(f"slice {at}" for at in range(len(codes)))

        def read(at: int, window: Window) -> Views:
            return window.cut(codes[at])

        return cls(source, codes.shape, codes.dtype, names, read, array=codes, **known)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def label(self) -> str:
        """Which of several stacks of a file it is, such as "channel DAPI"; "" if it is the only one."""
        return ", ".join(f"{name} {value}" for name, value in self.member.items())

    @property
    def title(self) -> str:
        """What to call it: the file, and which of its stacks."""
        return f"{self.source} ({self.label})" if self.label else self.source

    @property
    def white(self) -> float:
        """The largest value of an integer dtype; 1.0 for floats."""
        return white_of(self.dtype)

    @property
    def whole(self) -> Window:
        """The window that is the whole picture."""
        return Window.whole(*self.shape[2:])

    def read(self, at: int, window: Window | None = None) -> Views:
        """Returns the codes of a slice, or of a part of it, in this machine's byte order.

        Raises:
            StackFileError: If it cannot be read, or is not like the others.
        """
        views = self.reader(at, self.whole if window is None else window)
        if self.array is None and window is not None and window != self.whole:
            views = views.copy()  # a view of it would keep the whole picture
        return views.astype(views.dtype.newbyteorder("="), copy=False)

    def colours(self, at: int) -> Colours | None:
        """Returns the colours of a slice as its file has them, red first; None if it has none."""
        found = None if self.painter is None else self.painter(at)
        return found if found is not None and found.shape[:2] == self.shape[2:] else None

    @cached_property
    def codes(self) -> Codes:
        """The codes of all slices; what is mapped stays so."""
        return self.load()

    def load(self, progress: Progress | None = None) -> Codes:
        """Returns the codes of all slices; `progress` is told (read, in all) after each.

        Raises:
            StackFileError: If they take more memory than they may, or cannot be read.
        """
        n, views, rows, cols = self.shape
        if self.array is not None:
            if progress:
                progress(n, n)
            return self.array.astype(self.array.dtype.newbyteorder("="), copy=False)
        refuse_larger(self.source, n * views * rows * cols * PIXEL_BYTES, StackFileError)
        codes = np.empty(self.shape, self.dtype.newbyteorder("="))
        for at in range(n):
            codes[at] = self.read(at)
            if progress:
                progress(at + 1, n)
        return codes

    def loaded(self, progress: Progress | None = None) -> "Pictures":
        """Returns the same pictures with all codes in memory."""
        codes = self.load(progress)
        return Pictures.of_array(codes, **self._known)

    def named(self, **known: Any) -> "Pictures":
        """Returns the same pictures of which something else is known too."""
        return replace(self, **known)

    @property
    def _known(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "names": self.names,
            "skipped": self.skipped,
            "member": self.member,
            "grid": self.grid,
            "notes": self.notes,
            "display": self.display,
            "painter": self.painter,
        }
