"""From a camera to a camera file: what a sweep of a textured target there and back tells of it.

The lens goes from far to near and back, a frame at each position. Blur and disparity along the way give their
growth (`dioptre.pipeline.camera_fit`); that the focus is found elsewhere on the way back is the backlash.
Then the lens is sent far away and to a place where blur changes fast, and frames show when it stands still.

The file is what `grid=` and `--camera` read: `growth_px`, `unit`, `far`, `near`, and under `[measured]`
what else was found, and how sure it is.
"""

import json
import math
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Float32

from dioptre.autofocus.controller import Halt, LensController
from dioptre.cameras.base import Camera, Frame, connect
from dioptre.errors import CameraError, InputError
from dioptre.focusing.arguments import DEFAULT_MEASURE
from dioptre.focusing.inputs import cut
from dioptre.focusing.result import Roi
from dioptre.focusing.score_slices import slice_scores
from dioptre.focusing.trace import Act
from dioptre.grid import DIOPTRES, SLICE, FocusGrid
from dioptre.methods import find_method
from dioptre.pipeline.camera_fit import BlurGrowth, GrowthLine, fit_blur, fit_disparity
from dioptre.pipeline.recording import places_of
from dioptre.pipeline.settings import Sweep
from dioptre.stack import VIEW_CODES
from dioptre.store.manifest import write_file

STEEP_PX: Final = 4.0  # of blur: there sharpness changes fast with the position
WATCHED: Final = 12  # frames after a move
QUIET: Final = 3.0  # deviations of the last frames: what is farther off is not settled
LEAST_QUIET: Final = 0.01  # relative

Positions = Float[np.ndarray, " n"]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class MeasuredCamera:
    """What was found of a camera; positions and lengths along the way are in `unit`.

    Attributes:
        name: What to call it.
        unit: What its positions are counted in.
        growth_px: Pixels of blur diameter that a move by one unit adds; negative if larger positions focus
            farther.
        growth_error_px: Standard error of that.
        growth_near_px: Where the lens is focused nearer than the target, without a sign.
        growth_far_px: Where it is focused farther.
        far: Position of the far end of the sweep.
        near: Of its near end.
        focus: Where the target was in focus, on the way to near.
        backlash: How much farther the lens is sent towards near for the same focus than on the way back.
        backlash_positions: The same in positions of the grid.
        settle_s: Seconds after a frame's arrival until a move has died down; 0 if the first frame is still.
        disparity_px: Pixels by which the views move against each other, for one unit; None for one view.
        disparity_error_px: Standard error of that.
        split: Disparity over blur diameter.
    """

    name: str
    unit: str
    growth_px: float
    growth_error_px: float
    growth_near_px: float
    growth_far_px: float
    far: float
    near: float
    focus: float
    backlash: float
    backlash_positions: float
    settle_s: float
    disparity_px: float | None = None
    disparity_error_px: float | None = None
    split: float | None = None

    @property
    def sure(self) -> float:
        """By how much the growth may be off, relative.

        That is twice its standard error, and half of what its two sides differ by.
        """
        sides = abs(self.growth_near_px - self.growth_far_px) / 2
        sides = 0.0 if math.isnan(sides) else sides
        return math.hypot(2 * self.growth_error_px, sides) / abs(self.growth_px)

    def to_toml(self) -> str:
        """Returns the camera file."""
        named = {"name", "unit", "growth_px", "far", "near"}
        lines = [f"name = {json.dumps(self.name, ensure_ascii=False)}", f"unit = {json.dumps(self.unit)}"]
        lines += [f"growth_px = {self.growth_px!r}  # blur that a move by one unit adds, +- {self.sure:.0%}"]
        lines += [f"far = {self.far!r}", f"near = {self.near!r}", "", "[measured]"]
        rest = {key: value for key, value in asdict(self).items() if key not in named and value is not None}
        return "\n".join([*lines, *(f"{key} = {_toml(value)}" for key, value in rest.items()), ""])


def _toml(value: float) -> str:
    return "nan" if math.isnan(value) else repr(float(value))


def scale_of(grid: FocusGrid) -> tuple[Positions, str]:
    """Returns the positions that a camera file is written in, and their unit; of slices their dioptres."""
    if grid.unit == SLICE and grid.known:
        return grid.dioptres, DIOPTRES
    return grid.positions, grid.unit


def measure_camera(
    camera: Camera, name: str, how: Sweep, roi: Roi | None = None, progress: Progress | None = None
) -> MeasuredCamera:
    """Returns a camera's optics and timing, measured on a sweep of a textured target that faces it.

    Args:
        camera: The camera.
        name: What to call it.
        how: Which positions.
        roi: The region that the target fills; the whole frame by default.
        progress: Told how many frames there are, and of about how many.

    Raises:
        InputError: If the frames do not tell.
        CameraError: If the camera fails.
    """
    connected = connect(camera)
    places = places_of(connected.grid, how)
    drive = LensController(connected, replace(how, backlash=0), threading.Event())
    drive.act = Act.SWEEP
    many = 2 * len(places) + WATCHED

    def take(some: list[int]) -> Float32[np.ndarray, "slice view row col"]:
        frames: list[Frame] = []
        for at in some:
            frames.append(np.ascontiguousarray(cut(drive.capture(at), roi)))
            if progress is not None:
                progress(min(len(drive.steps), many), many)
        return np.stack(frames)

    try:
        there, back = take(places), take(places[::-1])[::-1]
        scale, unit = scale_of(connected.grid)
        found = _fitted(there, back, scale[places], camera.views)
        settle = _settling(drive, places, found, roi)
    except Halt as halt:
        raise CameraError(f"{name}: {halt.sentence}") from None
    finally:
        drive.close()
    return _measured(found, scale[places], np.diff(places).mean(), unit, name, settle)


@dataclass(frozen=True, eq=False)
class _Fits:
    """What was fitted to the way there and the way back; positions rise with the index."""

    blur: BlurGrowth
    backlash: float
    disparity: GrowthLine | None


def _fitted(there: Any, back: Any, positions: Positions, views: int) -> _Fits:
    sign = 1.0 if positions[-1] > positions[0] else -1.0
    along = sign * positions  # rises towards near
    first, second = fit_blur(there, along), fit_blur(back, along)
    growth = (first.growth + second.growth) / 2
    error = math.hypot(first.error, second.error) / 2
    both = BlurGrowth(
        growth,
        error,
        (first.near + second.near) / 2,
        (first.far + second.far) / 2,
        first.focus,
        first.diameters,
    )
    if views == 1:
        return _Fits(both, first.focus - second.focus, None)
    lines = fit_disparity(there, along, first), fit_disparity(back, along, second)
    slope = (lines[0].slope + lines[1].slope) / 2
    line = GrowthLine(slope, math.hypot(lines[0].error, lines[1].error) / 2, lines[0].zero)
    return _Fits(both, lines[0].zero - lines[1].zero, line)


def _settling(drive: LensController, places: list[int], found: _Fits, roi: Roi | None) -> float:
    """Returns the settling time after the first frame of a long move, in seconds."""
    diameters = found.blur.diameters
    told = np.flatnonzero(np.isfinite(diameters))
    if not len(told):
        raise InputError("no slice shows how blurred it is")
    at = places[int(told[np.argmin(np.abs(diameters[told] - STEEP_PX))])]
    away = places[0] if at - places[0] > places[-1] - at else places[-1]
    measure = find_method(DEFAULT_MEASURE).build()
    drive.capture(away)
    scores: list[float] = []
    when: list[float] = []
    for _ in range(WATCHED):
        frame = drive.capture(at) if not scores else drive.again()
        when.append(drive.camera.clock())
        scores.append(
            float(slice_scores(measure, np.ascontiguousarray(cut(frame, roi))[None], VIEW_CODES)[0])
        )
    last = np.array(scores[WATCHED // 2 :])
    quiet = max(QUIET * float(last.std()), LEAST_QUIET * abs(float(last.mean())))
    loud = np.flatnonzero(np.abs(np.array(scores) - last.mean()) > quiet)
    early = loud[loud < WATCHED // 2]
    return float(when[int(early[-1]) + 1] - when[0]) if len(early) else 0.0


def _measured(
    found: _Fits, positions: Positions, apart: float, unit: str, name: str, settle: float
) -> MeasuredCamera:
    sign = 1.0 if positions[-1] > positions[0] else -1.0
    blur, line = found.blur, found.disparity
    step = float(np.mean(np.abs(np.diff(positions)))) / apart
    return MeasuredCamera(
        name=name,
        unit=unit,
        growth_px=sign * blur.growth,
        growth_error_px=blur.error,
        growth_near_px=blur.near,
        growth_far_px=blur.far,
        far=float(positions[0]),
        near=float(positions[-1]),
        focus=sign * blur.focus,
        backlash=found.backlash,
        backlash_positions=found.backlash / step,
        settle_s=settle,
        disparity_px=None if line is None else line.slope,
        disparity_error_px=None if line is None else line.error,
        split=None if line is None else abs(line.slope) / blur.growth,
    )


def write_camera(found: MeasuredCamera, path: Path) -> None:
    """Writes a camera file, which appears under its name only once it is whole."""
    write_file(path, lambda file: file.write(found.to_toml().encode()))
