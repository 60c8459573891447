"""Own positions: where slices were taken in the unit of a camera that was given, and answers in that unit."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from dioptre.cameras.blur_units import FocusSteps, to_steps
from dioptre.errors import InputError
from dioptre.focusing.result import FocusResult
from dioptre.grid import FocusGrid, dioptres_to_metres
from dioptre.optics import CameraModel

AnyCamera = CameraModel | FocusSteps | str | os.PathLike[str]


def own_positions(
    n: int, camera: AnyCamera | None, positions: Any, grid: FocusGrid | None, dioptres: Any, positions_um: Any
) -> tuple[FocusSteps | None, Any]:
    """Returns the steps of a camera, if there is one, and where n slices were taken, in its unit."""
    if camera is None:
        if positions is not None:
            raise InputError("positions= is for a camera, and none is given: dioptres= or positions_um=")
        return None, None
    steps = to_steps(camera)
    given = [
        (positions, steps.unit),
        (None if grid is None else grid.dioptres, "dioptres"),
        (dioptres, "dioptres"),
        (positions_um, "um"),
    ]
    told = [(values, unit) for values, unit in given if values is not None]
    if not told and isinstance(camera, CameraModel) and len(camera.grid) == n:
        told = [(camera.grid.dioptres, "dioptres")]
    if len(told) != 1 or told[0][1] != steps.unit:
        raise InputError(
            f"say once where the slices were taken, as {steps.name} counts: positions=[...] in {steps.unit}"
        )
    own = np.array([steps.check(one) for one in told[0][0]])
    if len(own) != n:
        raise InputError(f"the stack has {n} slices, but {len(own)} positions are given")
    moves = np.diff(own)
    if not ((moves > 0).all() or (moves < 0).all()):
        raise InputError("positions must rise or fall from slice to slice; sort the slices by position")
    return steps, own


def in_unit(result: FocusResult, unit: str, positions: Float[np.ndarray, " n"]) -> FocusResult:
    """Returns a result that also says its answer in a unit, in which the positions are given."""
    place = float(np.interp(result.position, np.arange(len(positions)), positions))
    return replace(result, unit=unit, lens_position=place, positions=positions)


def with_own(result: FocusResult, steps: FocusSteps | None, positions: Any) -> FocusResult:
    """Returns the result of a method that needs no camera, with its answer in the camera's unit, if any."""
    if steps is None:
        return result
    result = in_unit(result, steps.unit, positions)
    place = result.lens_position
    dioptres = place if steps.unit == "dioptres" else result.dioptres
    return replace(
        result,
        dioptres=dioptres,
        distance_m=None if dioptres is None else float(dioptres_to_metres(dioptres)),
        position_um=place if steps.unit == "um" else result.position_um,
    )
