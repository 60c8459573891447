"""Any two things as one camera: something that takes pictures, and something that moves the lens.

    with PairedCamera(snap, MyLens()) as camera:      # snap() returns a picture, exposed after the call
        dioptre.Autofocus(camera).run()

`pair:CAMERA+LENS` pairs two addresses; each is a device of ours, of which only this half is used, or
`FILE.py:NAME` (`dioptre.cameras.own_file`). A device that cannot be opened by halves takes its pictures with
its own lens in the middle of its way, or moves its lens and drops its own pictures.

Pictures are as `dioptre.cameras.frames` takes them. The grid leads from one of the lens's limits to the other
in 1001 positions, or in as many whole steps if these are fewer; the lens goes between them, too.
"""

import math
import reprlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dioptre.cameras.base import (
    ConnectedCamera,
    Frame,
    Lens,
    as_camera_error,
    connect,
    to_index,
)
from dioptre.cameras.device_base import POSITIONS, Held, Stop
from dioptre.cameras.frames import to_frame
from dioptre.errors import CameraError, InputError
from dioptre.grid import FocusGrid, Numbers

NEEDED: Final = ("move", "limits", "unit")
OFF: Final = 0.5  # of the distance of positions: a lens that says that it stands farther off did not arrive


class PairedCamera(Held):
    """A picture source and a lens as one camera.

    Attributes:
        grid: Positions of the lens, rising.
        step: The smallest move of the lens; 0 if nobody has told.
    """

    continuous = True

    def __init__(
        self,
        camera: Any,
        lens: Any,
        positions: Numbers | None = None,
        *,
        closes: Callable[[], object] = lambda: None,
    ) -> None:
        """Takes a first picture, which says how large pictures are; nothing moves.

        Args:
            camera: A callable that returns a picture; or a camera, whose own lens then stays in the middle.
            lens: Moves the lens (`dioptre.Lens`); or a camera, whose own pictures are then dropped.
            positions: Of the lens, rising or falling; by default 1001 over its limits, or its whole steps.
            closes: What closing does; by default nothing, as both belong to whoever made them.

        Raises:
            InputError: If one of them is not what is needed, or these are no positions.
            CameraError: If there is no picture.
        """
        self._source, self._lens = to_source(camera), _checked(to_lens(lens))
        self._stop, self._closes = Stop(), closes
        self.step = float(getattr(self._lens, "step", 0.0))
        self.grid = grid_of(self._lens, self.step, positions)
        self.where: tuple[float, float] | None = getattr(self._source, "where", None)
        self._wanted: tuple[int, int, int] | None = None
        self._wanted = self._look().shape
        self.views, *shape = self._wanted
        self.shape: tuple[int, int] = (shape[0], shape[1])

    def close(self) -> None:
        """Closes what was opened for this camera."""
        self._closes()

    def abort(self) -> None:
        """Stops both, if they can be: a capture in another thread raises CameraError."""
        self._stop.ask()
        for half in (self._lens, self._source):
            with suppress(Exception):  # it has none, or cannot; the capture ends all the same
                half.abort()

    def capture(self, index: int) -> Frame:
        """Moves the lens, and returns a frame that was exposed after it had arrived."""
        return self.capture_at(float(self.grid.positions[to_index(index, self.grid)]))

    def capture_at(self, position: float | int) -> Frame:
        """Does the same at any position between the ends of the grid."""
        at = self.grid.check(position)
        self._stop.begin()
        with _blaming("the lens"):
            self._lens.move(at)
            self._check_arrival(at)
        self._stop.check()
        frame = self._look()
        self._stop.check()
        return frame

    def _look(self) -> Frame:
        """Returns a picture as a frame of its caller's own."""
        with _blaming("the camera"):
            picture = self._source()
        return np.clip(to_frame(picture, self._wanted), 0.0, 1.0)

    def _check_arrival(self, at: float) -> None:
        if (position := getattr(self._lens, "position", None)) is None:
            return
        there = float(position())
        close = max(self.step, OFF * float(np.abs(np.diff(self.grid.positions)).min(initial=math.inf)))
        if not abs(there - at) <= close:
            raise CameraError(f"the lens was sent to {at:g} and stands at {there:g} {self.grid.unit}")


@dataclass(frozen=True)
class StillCamera:
    """The pictures of a camera whose lens stays in the middle of its way."""

    camera: ConnectedCamera

    def __call__(self) -> Any:
        """Returns a picture."""
        return self.camera.capture(len(self.camera.grid) // 2)

    @property
    def where(self) -> tuple[float, float] | None:
        """The camera's."""
        return self.camera.where

    def abort(self) -> None:
        """Stops an exposure, if the camera can."""
        self.camera.abort()


@dataclass(frozen=True)
class CameraLens:
    """The lens of a camera, whose own pictures are dropped."""

    camera: ConnectedCamera

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of its grid."""
        low, high = sorted(self.camera.grid.positions[[0, -1]].tolist())
        return low, high

    @property
    def unit(self) -> str:
        """The unit of its grid."""
        return self.camera.grid.unit

    @property
    def step(self) -> float:
        """Its smallest move: from one position to the next, unless it goes between them."""
        if self.camera.continuous:
            return self.camera.step
        return float(np.abs(np.diff(self.camera.grid.positions)).min(initial=self.limits[1] - self.limits[0]))

    def move(self, position: float) -> None:
        """Goes to a position."""
        self.camera.capture_at(position)

    def abort(self) -> None:
        """Stops a move, if the camera can."""
        self.camera.abort()


@dataclass(frozen=True)
class FunctionLens:
    """A lens that is a function and what is told of it.

    Attributes:
        move: Moves to a position.
        limits: The lowest and the highest position.
        unit: What they are counted in.
        step: The smallest move; 0 if nobody has told.
        position: Returns where the lens is; None if it cannot be read.
        abort: Stops a move.
    """

    move: Callable[[float], object]
    limits: Any
    unit: Any
    step: float | int = 0.0
    position: Callable[[], float] | None = None
    abort: Callable[[], object] = lambda: None


def to_lens(lens: Any) -> Any:
    """Returns a lens as it is, and a camera as one."""
    return CameraLens(connect(lens)) if not hasattr(lens, "move") and _is_camera(lens) else lens


def to_source(camera: Any) -> Any:
    """Returns a callable that takes pictures.

    Raises:
        InputError: If something takes none.
    """
    if _is_camera(camera):
        return StillCamera(connect(camera))
    if not callable(camera):
        raise InputError(f"what takes pictures is a callable that returns one, or a camera, not {camera!r}")
    return camera


def _is_camera(thing: Any) -> bool:
    return hasattr(thing, "capture") and hasattr(thing, "grid")


def _checked(lens: Any) -> Any:
    """Returns a lens, if it is one."""
    for name in NEEDED:
        if not hasattr(lens, name):
            raise InputError(f"a lens has move(position), limits and unit; {lens!r} has no {name}")
    try:
        low, high = (float(one) for one in lens.limits)
    except (TypeError, ValueError):
        low = high = math.nan
    if not -math.inf < low < high < math.inf:
        raise InputError(
            f"the limits of a lens are its lowest and its highest position, not {reprlib.repr(lens.limits)}"
        )
    if not isinstance(lens.unit, str) or not lens.unit:
        raise InputError(f"the unit of a lens is a word such as steps, not {lens.unit!r}")
    step = getattr(lens, "step", 0.0)
    if isinstance(step, bool) or not isinstance(step, int | float) or not 0 <= step <= high - low:
        raise InputError(f"the step of a lens is its smallest move, in {lens.unit}, not {step!r}")
    return lens


def grid_of(lens: Lens, step: float, positions: Numbers | None) -> FocusGrid:
    """Returns the grid of a lens.

    Args:
        lens: The lens.
        step: Its smallest move; 0 if nobody has told.
        positions: Where it shall go; all of its way by default.

    Raises:
        InputError: If it cannot go there.
    """
    low, high = (float(one) for one in lens.limits)
    if positions is None:
        whole = step or (high - low) / (POSITIONS - 1)
        moves = math.floor((high - low) / whole * (1 + 1e-9))
        at = np.unique(np.rint(np.linspace(0, moves, min(moves + 1, POSITIONS))))
        return FocusGrid(np.minimum(low + whole * at, high), lens.unit)
    grid = FocusGrid(positions, lens.unit)
    first, last = sorted(grid.positions[[0, -1]].tolist())
    if not (low <= first and last <= high):
        raise InputError(f"the lens goes from {low:g} to {high:g} {lens.unit}, not to {first:g} or {last:g}")
    return grid


@contextmanager
def _blaming(who: str) -> Iterator[None]:
    """Turns whatever a person's code raises into a CameraError that says whose it was."""
    try:
        yield
    except CameraError:
        raise
    except Exception as error:
        raise CameraError(f"{who}: {as_camera_error(error)}") from error
