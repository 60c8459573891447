"""What people hand over, checked and made into what the methods take: slices, regions, lens positions.

Everything that cannot be used is an InputError in one sentence with the value.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Shaped

from dioptre.dataset.pictures import read_pictures
from dioptre.errors import InputError
from dioptre.loop.result import Roi
from dioptre.loop.steps import StepWindow
from dioptre.methods.measure import MIN_SIZE
from dioptre.optics import FocusGrid
from dioptre.stack import VIEW_CODES, FocalStack, codes_to_pixels

TILES = 4  # a region is cut into at most 4 x 4 tiles to see whether they agree

Pixels = Float32[np.ndarray, "slice view row col"]


# Slices


@dataclass(frozen=True, eq=False)
class Slices:
    """All slices of one scene, not scaled yet, and what is known of them.

    Attributes:
        codes: Values of any real dtype; those that are masked do not count.
        black: Value of black.
        white: Value of white.
        scaled: Whether they are pixels already, 0 black and 1 white.
        grid: The ladder, if the slices came with one.
        where: The centre of the slices in the camera's frame, if that is known.
        view_codes: Codes between black and white of one view, for measures with absolute constants.
    """

    codes: Shaped[np.ndarray, "slice view row col"]
    black: float
    white: float
    scaled: bool = False
    grid: FocusGrid | None = None
    where: tuple[float, float] | None = None
    view_codes: float = VIEW_CODES

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.codes.shape[2], self.codes.shape[3]

    def pixels(self, at: slice = slice(None)) -> Pixels:
        """Returns some slices, 0 black and 1 white; NaN where a pixel is masked or not finite."""
        codes = self.codes[at]
        if self.scaled:
            return codes
        pixels = codes_to_pixels(np.asarray(codes), self.black, self.white)
        mask = np.ma.getmask(codes)
        if mask is not np.ma.nomask:
            pixels[mask] = np.nan
        return pixels


def to_slices(
    stack: Shaped[np.ndarray, "..."] | FocalStack | str | os.PathLike[str],
    black: float | None,
    white: float | None,
) -> Slices:
    """Returns the slices of one scene.

    Args:
        stack: (slice, row, col) or (slice, 2 views, row, col) of any real dtype; a path that
            `dioptre focus` would take; or a FocalStack of one scene.
        black: Value of black; 0 by default.
        white: Value of white; by default what the dtype implies.
    """
    if isinstance(stack, FocalStack):
        if black is not None or white is not None:
            raise InputError("a FocalStack's pixels are scaled already: black and white are for codes")
        where = None if stack.where is None else to_where(stack.where[0])
        return Slices(_one_scene(stack), 0.0, 1.0, True, stack.grid, where, stack.view_codes)
    codes = read_pictures(Path(stack)).codes if isinstance(stack, (str, os.PathLike)) else stack
    return of_codes(codes, black, white)


def of_codes(codes: Shaped[np.ndarray, "..."], black: float | None, white: float | None) -> Slices:
    """Returns slices of one or two views that are an array."""
    codes = np.asanyarray(codes)
    real = np.issubdtype(codes.dtype, np.integer) or np.issubdtype(codes.dtype, np.floating)
    if codes.dtype == bool or not real:
        raise InputError(f"a stack's pixels are real numbers, not {codes.dtype}")
    if codes.ndim == 3:
        codes = codes[:, None]
    if codes.ndim != 4 or codes.shape[1] not in (1, 2) or 0 in codes.shape:
        raise InputError(
            f"a stack is (slice, row, col) or (slice, 2 views, row, col), not an array of shape {codes.shape}"
        )
    values = np.asarray(codes)
    if black is None and np.issubdtype(codes.dtype, np.signedinteger) and values.min() < 0:
        raise InputError(f"say what black is: {codes.dtype} pixels go down to {values.min()} (black=...)")
    return Slices(codes, black or 0.0, _white(values) if white is None else white)


def to_pixels(codes: Shaped[np.ndarray, "..."], black: float | None, white: float | None) -> Pixels:
    """Returns slices of one or two views as pixels, 0 black and 1 white; NaN where they are masked."""
    return of_codes(codes, black, white).pixels()


def _one_scene(stack: FocalStack) -> Pixels:
    if stack.batch != 1 or sorted(stack.indices[0].tolist()) != list(range(len(stack.grid))):
        raise InputError(
            f"all slices of one scene are needed, not {stack.batch} scenes of {stack.indices.shape[1]} of "
            f"{len(stack.grid)} slices; dioptre.scores takes any FocalStack"
        )
    return stack.pixels[0][np.argsort(stack.indices[0])]


def _white(codes: Shaped[np.ndarray, "slice view row col"]) -> float:
    """Returns the white that the dtype implies, unless the pixels show that it cannot be."""
    if np.issubdtype(codes.dtype, np.integer):
        if codes.dtype.itemsize > 2:
            raise InputError(f"say what white is: {codes.dtype} pixels do not tell (white=...)")
        return float(np.iinfo(codes.dtype).max)
    highest = float(np.max(codes, initial=0.0, where=np.isfinite(codes)))
    if highest > 2.0:
        raise InputError(
            f"say what white is: float pixels are taken as 0 to 1, but reach {highest:g} (white=...)"
        )
    return 1.0


# Lens positions


@dataclass(frozen=True)
class Ladder:
    """Where the slices were taken.

    Attributes:
        grid: A ladder that rises.
        falling: Whether the stack runs against it.
        um: Or the micrometres of each slice.
        window: Or, of a camera that the methods do not know, the steps that they are asked about.
        assumed: Whether nobody has said so, and it is taken for the phone's of the published data.
    """

    grid: FocusGrid
    falling: bool = False
    um: Float[np.ndarray, " n"] | None = None
    window: StepWindow | None = None
    assumed: bool = False

    def dioptres_at(self, position: float) -> float | None:
        """Returns the focus at a position, whole or fractional; None if it is not known in dioptres."""
        if self.window is not None:
            return self.own_at(position) if self.window.steps.unit == "dioptres" else None
        return float(self.grid.index_to_dioptres(position)) if self.grid.known else None

    def um_at(self, position: float) -> float | None:
        """Returns the same in micrometres; None if it is not known."""
        if self.window is not None:
            return self.own_at(position) if self.window.steps.unit == "um" else None
        return None if self.um is None else float(np.interp(position, np.arange(len(self.um)), self.um))

    def own_at(self, position: float) -> float | None:
        """Returns the same in the unit of a camera, not beyond its travel; None if none was given."""
        if self.window is None:
            return None
        far, near = self.window.steps.ends
        step = np.clip(position + self.window.reach.start + self.window.origin, far, near)
        return float(self.window.steps.step_to_position(float(step)))


def to_ladder(
    n: int,
    grid: FocusGrid | None,
    dioptres: Sequence[float] | Float[np.ndarray, " n"] | None,
    positions_um: Sequence[float] | Float[np.ndarray, " n"] | None,
) -> Ladder:
    """Returns where n slices were taken, from whichever of the three is given; unknown if none is."""
    given = [one for one in (grid, dioptres, positions_um) if one is not None]
    if len(given) > 1:
        raise InputError("give the positions once: as grid, dioptres or positions_um")
    if not given:
        return Ladder(FocusGrid.unknown(n))
    if len(given[0]) != n:
        raise InputError(f"the stack has {n} slices, but {len(given[0])} positions are given")
    if grid is not None:
        return Ladder(grid)
    values = np.asarray(given[0], dtype=np.float64)
    steps = np.diff(values)
    if not ((steps > 0).all() or (steps < 0).all()):
        raise InputError("positions must rise or fall from slice to slice; sort the slices by position")
    if positions_um is not None:
        return Ladder(FocusGrid.unknown(n), um=values)
    falling = n > 1 and bool(steps[0] < 0)
    return Ladder(FocusGrid(values[::-1] if falling else values), falling)


# Regions


def to_rois(roi: Any, shape: tuple[int, int]) -> list[Roi | None]:
    """Returns the regions of interest: one, several, or None for the whole picture.

    Args:
        roi: (x, y, w, h), a list of such, or None.
        shape: Rows and columns of the picture.
    """
    if roi is None or (isinstance(roi, (list, tuple)) and len(roi) == 0):
        return [None]
    if not isinstance(roi, (list, tuple, np.ndarray)):
        raise InputError(f"a region is x, y, width, height in whole pixels, not {roi!r}")
    many = roi if isinstance(roi[0], (list, tuple, np.ndarray)) else [roi]
    return [_to_roi(one, shape) for one in many]


def _to_roi(roi: Any, shape: tuple[int, int]) -> Roi:
    values = _numbers(roi)
    if values is None or len(values) != 4 or any(value != int(value) for value in values):
        raise InputError(f"a region is x, y, width, height in whole pixels, not {roi!r}")
    region, (rows, cols) = Roi(*(int(value) for value in values)), shape
    inside = region.x >= 0 and region.y >= 0 and region.x + region.w <= cols and region.y + region.h <= rows
    if not inside or min(region.w, region.h) < MIN_SIZE:
        raise InputError(
            f"the region x={region.x} y={region.y} w={region.w} h={region.h} does not lie inside the picture "
            f"of {cols} x {rows} pixels, or is smaller than {MIN_SIZE} x {MIN_SIZE}"
        )
    return region


def to_where(where: Any) -> tuple[float, float] | None:
    """Returns a place in the frame as (x, y), each in [-1, 1]; None if it is not known."""
    if where is None:
        return None
    values = _numbers(where)
    if values is None or len(values) != 2 or any(abs(value) > 1 for value in values):
        raise InputError(f"a place in the frame is (x, y), each in [-1, 1], not {where!r}")
    return values[0], values[1]


def _numbers(values: Any) -> list[float] | None:
    """Returns a row of finite numbers, or None if it is not one."""
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        return None
    return numbers if all(math.isfinite(number) for number in numbers) else None


def cut(pixels: Shaped[np.ndarray, "*axes row col"], roi: Roi | None) -> Shaped[np.ndarray, "*axes h w"]:
    """Returns a region of pictures; all of them for None."""
    return pixels if roi is None else pixels[..., roi.y : roi.y + roi.h, roi.x : roi.x + roi.w]


def centre_of(roi: Roi, shape: tuple[int, int]) -> tuple[float, float]:
    """Returns where in a picture the centre of a region lies, each axis in [-1, 1]."""
    rows, cols = shape
    return (2 * roi.x + roi.w) / cols - 1, (2 * roi.y + roi.h) / rows - 1


def place_of(
    roi: Roi | None, shape: tuple[int, int], where: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Returns the place of a region: as told, or else as it lies in a picture that is the whole frame."""
    return where if where is not None or roi is None else centre_of(roi, shape)


def tile_layout(rows: int, cols: int, most: int = TILES, smallest: int = MIN_SIZE) -> tuple[int, int]:
    """Returns how many tiles of at least so many pixels a region is cut into, down and across."""
    return min(most, rows // smallest), min(most, cols // smallest)


def tiles_of(
    pixels: Pixels, layout: tuple[int, int] | None = None
) -> Float32[np.ndarray, "tile slice view h w"] | None:
    """Returns the region cut into tiles, row by row, or None if it is too small for four of them.

    Args:
        pixels: The region.
        layout: How many tiles down and across, other than TILES.
    """
    n, views, rows, cols = pixels.shape
    down, across = tile_layout(rows, cols) if layout is None else layout
    if down * across < 4:
        return None
    h, w = rows // down, cols // across
    tiles = pixels[:, :, : down * h, : across * w].reshape(n, views, down, h, across, w)
    return np.ascontiguousarray(tiles.transpose(2, 4, 0, 1, 3, 5)).reshape(-1, n, views, h, w)
