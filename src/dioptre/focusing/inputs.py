"""What people hand over, checked and made into what the methods take: lens positions, regions.

Everything that cannot be used is an InputError in one sentence with the value.
"""

import math
import os
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from jaxtyping import Float32, Shaped

from dioptre.cameras.camera_files import CameraOptics, describe
from dioptre.cameras.camera_presets import MAKES
from dioptre.errors import InputError
from dioptre.focusing.result import Roi
from dioptre.grid import DIOPTRES, SLICE, FocusGrid
from dioptre.methods.measure import MIN_SIZE
from dioptre.optics import CameraModel
from dioptre.stacks.pictures import Window
from dioptre.stacks.positions import read_positions

LEARNAF: Final = "learnaf"  # the 49 slices of the published data set

ORDERS: Final = {"far-first": True, "near-first": False}  # whether later slices focus nearer

Pixels = Float32[np.ndarray, "slice view row col"]


# Lens positions


def to_grid(
    given: Any, n: int | None = None, names: Sequence[str] = (), around: Sequence[Any] = ()
) -> FocusGrid:
    """Returns where slices were taken, or where a lens can go, from what its user says.

    Args:
        given: A FocusGrid; a CameraModel, a camera's name or its file; "learnaf"; positions in words, such as
            "0:0.5um" (`stacks.positions`); or numbers, which are dioptres.
        n: How many slices there are; None for a lens.
        names: What they are called.
        around: Where looks were taken, for a camera whose ends nobody has told.

    Raises:
        InputError: If that is no grid, or not of so many slices.
    """
    grid = _to_grid(given, names or tuple(f"slice {at}" for at in range(n or 0)), around)
    if n is not None and len(grid) != n:
        raise InputError(f"the stack has {n} slices, but {len(grid)} positions are given")
    return grid


def is_camera(given: Any) -> bool:
    """Returns whether something is a camera: what is told of one, its name or its file."""
    if isinstance(given, str | os.PathLike):
        return given in MAKES or os.fspath(given).endswith(".toml")
    return isinstance(given, CameraModel | CameraOptics)


def _to_grid(given: Any, names: Sequence[str], around: Sequence[Any]) -> FocusGrid:
    if isinstance(given, FocusGrid):
        return given
    if is_camera(given):
        return describe(given).grid(around)
    if isinstance(given, str | os.PathLike):
        return read_grid(os.fspath(given), names)
    return FocusGrid(given, DIOPTRES)


def read_grid(text: str, names: Sequence[str], camera: Any = None) -> FocusGrid:
    """Returns the grid of positions in words; without a unit they are the camera's, or dioptres.

    Args:
        text: "learnaf", or as `stacks.positions` takes it.
        names: Of the slices.
        camera: Whose pictures these are; None if nobody has told.
    """
    if text == LEARNAF:
        learnaf = FocusGrid.learnaf()
        return (
            learnaf
            if camera is None
            else FocusGrid(learnaf.positions, SLICE, learnaf.dioptres, camera=camera)
        )
    positions, unit = read_positions(text, names)
    if unit is None:
        unit = DIOPTRES if camera is None else describe(camera).unit
    return FocusGrid(positions, unit, camera=camera)


def in_order(grid: FocusGrid, order: str | None) -> FocusGrid:
    """Returns a grid that knows whether its slices run from near to far, as its user says; None for nothing.

    Raises:
        InputError: If it knows better, or that is no order.
    """
    if order is None:
        return grid
    if order not in ORDERS:
        raise InputError(f"the order of slices is {' or '.join(ORDERS)}, not {order!r}")
    if grid.nearer is not None and grid.nearer != ORDERS[order]:
        ends = ("far", "near") if grid.nearer else ("near", "far")
        raise InputError(
            f"the slices are said to run {order}, but their positions go from {' to '.join(ends)}"
        )
    return FocusGrid(
        grid.positions,
        grid.unit,
        grid.dioptres,
        nearer=ORDERS[order],
        blur_per_unit_px=grid.blur_per_unit_px,
        sharp_px=grid.sharp_px,
    )


# Regions


def to_rois(roi: Any, shape: tuple[int, int]) -> list[Roi | None]:
    """Returns the regions of interest: one, several, or None for the whole picture.

    Args:
        roi: (x, y, w, h), a list of such, or None.
        shape: Rows and columns of the picture.
    """
    if roi is None or (isinstance(roi, (list, tuple)) and len(roi) == 0):
        return [None]
    if not _is_row(roi):
        raise InputError(f"a region is x, y, width, height in whole pixels, not {roi!r}")
    return [_to_roi(one, shape) for one in (roi if is_several(roi) else [roi])]


def is_several(roi: Any) -> bool:
    """Returns whether a person gave a list of regions, and wants a list of answers."""
    return isinstance(roi, (list, tuple, np.ndarray)) and len(roi) > 0 and _is_row(roi[0])


def _is_row(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


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


def window_of(roi: Roi | None, shape: tuple[int, int]) -> Window:
    """Returns where a region lies in a picture; all of it for None."""
    return Window.whole(*shape) if roi is None else Window(roi.y, roi.x, roi.y + roi.h, roi.x + roi.w)


def roi_of(window: Window) -> Roi:
    """Returns a window as a region."""
    rows, cols = window.shape
    return Roi(window.left, window.top, cols, rows)
