"""StoreFormat: what all patches of a store have in common, whatever its files look like.

Frames are (rows, cols) in pixels; the corner of a patch is (row, col) of its top left pixel in the frame.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from dioptre.errors import InputError
from dioptre.grid import FocusGrid
from dioptre.stack import VIEW_CODES

LARGEST = 65536  # rows and columns of a patch


@dataclass(frozen=True)
class StoreFormat:
    """What all patches of a store have in common.

    Attributes:
        grid: The grid; a patch has one slice for each of its positions.
        size: Rows and columns of a patch.
        views: 1 for green, 2 for left and right.
        black: Code of black.
        white: Code of white.
        rows_per_native: 2 if the sensor bins pairs of rows, which are upsampled on reading; 1 if not.
        view_codes: Codes between black and white of one view, for measures with absolute constants.
    """

    grid: FocusGrid
    size: int
    views: int
    black: float
    white: float
    rows_per_native: int = 2
    view_codes: float = VIEW_CODES

    def __post_init__(self) -> None:
        if self.rows_per_native not in (1, 2):
            raise InputError(f"a store has 1 or 2 rows for each native row, not {self.rows_per_native}")
        if self.size < 1 or self.size % self.rows_per_native:
            raise InputError(
                f"a patch's size is positive and divisible by {self.rows_per_native}, not {self.size}"
            )
        if self.size > LARGEST:
            raise InputError(f"a patch has at most {LARGEST} rows and columns, not {self.size}")
        if self.views not in (1, 2):
            raise InputError(f"a patch has one view or two, not {self.views}")
        if not -math.inf < self.black < self.white < math.inf:
            raise InputError(f"white must lie above black, not black {self.black:g} and white {self.white:g}")

    @property
    def native_rows(self) -> int:
        """Stored rows of a patch: if they are upsampled, with one more above and below."""
        return self.size if self.rows_per_native == 1 else self.size // 2 + 2

    @property
    def patch_shape(self) -> tuple[int, int, int, int]:
        """Slices, views, native rows and columns of a stored patch."""
        return len(self.grid), self.views, self.native_rows, self.size

    def to_json(self) -> dict[str, Any]:
        """Returns the format as plain JSON; the dioptres of an unknown grid are null."""
        return {
            "dioptres": self.grid.to_json(),
            "size": self.size,
            "views": self.views,
            "black": self.black,
            "white": self.white,
            "rows_per_native": self.rows_per_native,
            "view_codes": self.view_codes,
        }

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> "StoreFormat":
        """Returns the format that `to_json` wrote.

        Raises:
            InputError: If an entry is impossible.
            KeyError: If one is missing.
        """
        return cls(
            grid=FocusGrid.from_json(entries["dioptres"]).need_far_to_near(),
            size=int(entries["size"]),
            views=int(entries["views"]),
            black=float(entries["black"]),
            white=float(entries["white"]),
            rows_per_native=int(entries["rows_per_native"]),
            view_codes=float(entries["view_codes"]),
        )


def check_frame(frame: tuple[int, int], form: StoreFormat) -> None:
    """Raises InputError if patches cannot be cut out of frames of this size."""
    if min(frame) < form.size or frame[0] % form.rows_per_native:
        raise InputError(
            f"a frame is at least as large as a patch, {form.size} x {form.size}, with rows divisible by "
            f"{form.rows_per_native}, not {frame[0]} x {frame[1]}"
        )


def check_corners(corners: Int[np.ndarray, "patch 2"], frame: tuple[int, int], form: StoreFormat) -> None:
    """Raises InputError for the first patch that cannot be cut out of a frame."""
    last = np.array(frame) - form.size
    outside = ((corners < 0) | (corners > last)).any(axis=1) | (corners[:, 0] % form.rows_per_native != 0)
    if outside.any():
        row, col = corners[np.argmax(outside)]
        raise InputError(
            f"a patch has its row in 0..{last[0]}, divisible by {form.rows_per_native}, and its col in "
            f"0..{last[1]}, not row {row} and col {col}"
        )
