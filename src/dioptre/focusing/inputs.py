"""What people hand over, checked and made into what the methods take: regions, lens positions.

Everything that cannot be used is an InputError in one sentence with the value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Shaped

from dioptre.cameras.blur_units import StepWindow
from dioptre.errors import InputError
from dioptre.focusing.result import Roi
from dioptre.grid import FocusGrid
from dioptre.methods.measure import MIN_SIZE
from dioptre.stacks.pictures import Window

Pixels = Float32[np.ndarray, "slice view row col"]


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


def window_of(roi: Roi | None, shape: tuple[int, int]) -> Window:
    """Returns where a region lies in a picture; all of it for None."""
    return Window.whole(*shape) if roi is None else Window(roi.y, roi.x, roi.y + roi.h, roi.x + roi.w)


def roi_of(window: Window) -> Roi:
    """Returns a window as a region."""
    rows, cols = window.shape
    return Roi(window.left, window.top, cols, rows)
