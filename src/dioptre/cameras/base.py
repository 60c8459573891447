"""Camera and Lens: what a lens loop needs of a camera with a motorised lens.

The contract, which tests/cameras/contract.py checks for every adapter:

* **Who moves, who waits.** `capture(index)` moves the lens there and returns only when it has settled and a
  frame exposed *after* that has arrived. A loop never sleeps and never drops frames: the adapter knows its
  hardware. It may be called for any index of the grid, in any order, also for the same one twice.
* **Units.** An index is one of `grid`, whose positions are in the driver's own order and unit (motor steps,
  micrometres, dioptres); `grid.nearer` says whether later ones focus nearer, where that is known. A frame is
  float32 (view, row, col), linear, 0 black and 1 white: one view is green (of two, their mean), two are left
  and right. All frames have `views` and `shape`. Whoever loops also takes what `dioptre.cameras.frames` makes
  frames of: codes of 8 or 16 bits, and (row, col) for one view.
* **Failure.** An index off the grid is an InputError, before anything moves. Hardware that fails raises
  CameraError, one that does not answer in time CameraTimeoutError; an adapter of ours raises nothing else for
  it. A run takes whatever a capture raises as a failure. After one the lens may be anywhere, and the next
  capture may be tried.
* **Threads.** One thread uses a camera at a time.
* **Closing.** A camera is a context manager if it holds hardware; loops do not close what they did not open.

What a camera may have beside that:

* **Between positions.** With `continuous = True`, `capture_at(position)` does what `capture` does, at any
  position between the ends of the grid, in its unit; `capture(index)` is `capture_at(grid.positions[index])`.
  What is no such position is an InputError, before anything moves. The lens goes there within the driver's
  smallest move, `step` if it is known.
* **Own time.** `seconds` counts from any moment on; of a camera that takes no time, what it would have taken.
* **Stopping.** `abort()` may be called from another thread while a capture runs: it stops the move or the
  exposure as soon as the hardware can, and the running capture raises CameraError soon. Without one running
  it does nothing. After it, the next capture may be tried.

**Camera and lens are two devices** where any two are paired (`dioptre.cameras.pair`). A `Lens` has `limits`,
its lowest and highest position, `unit`, and `move(position)`, which returns when the lens stands still there.
What it may have beside that: `position()`, where it is, which is then checked after every move; `step`, its
smallest move; and `abort()`, as above. The pictures come from any callable that returns one that was exposed
after the call. A module of Python is a lens, too, if it has these names.

`connect` asks a camera once which of these it has; who uses a camera uses what `connect` returns.

An adapter is a module `dioptre.cameras.<scheme>` with `open_device(address) -> Device`, where the address is
what follows `<scheme>:` on the command line and may be empty. What it returns is a camera and a context
manager. Where one half of it can be used alone, it has `open_source(address)`, which returns a callable, or
`open_lens(address) -> Lens`, both context managers. `dioptre.cameras.devices` holds the table of schemes.
"""

import reprlib
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Shaped

from dioptre.errors import CameraError, InputError
from dioptre.grid import FocusGrid

Frame = Float32[np.ndarray, "view row col"]
Picture = Shaped[np.ndarray, "*view row col"]

NEEDED: Final = ("grid", "views", "shape", "where", "capture")


@runtime_checkable
class Camera(Protocol):
    """A camera whose lens can be sent to the positions of a grid; the module says what it promises."""

    @property
    def grid(self) -> FocusGrid:
        """Where the lens can go, in the driver's own order and unit."""
        ...

    @property
    def views(self) -> int:
        """1 for green, 2 for left and right."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a frame."""
        ...

    @property
    def where(self) -> tuple[float, float] | None:
        """The centre of its frames in the whole field, (x, y) in [-1, 1]; None if they are all of it."""
        ...

    def capture(self, index: int) -> Picture:
        """Moves the lens to a position, waits until it has settled, and returns one frame."""
        ...


@runtime_checkable
class Lens(Protocol):
    """Something that moves a lens, whoever takes the pictures; the module says what it may have beside."""

    @property
    def limits(self) -> tuple[float | int, float | int]:
        """The lowest and the highest position, in its unit."""
        ...

    @property
    def unit(self) -> str:
        """What positions are counted in: steps, um, or any word."""
        ...

    def move(self, position: float) -> None:
        """Moves to a position, and returns when the lens stands still there."""
        ...


@dataclass(frozen=True, eq=False)
class ConnectedCamera:
    """A camera that answers every call: with defaults for what it does not have itself.

    Its indices run from far to near, whichever way the driver's run. What does not change was read once.

    Attributes:
        camera: The camera.
        grid: Where the lens can go, far to near.
        views: 1 for green, 2 for left and right.
        shape: Rows and columns of a frame.
        where: The centre of its frames in the whole field; None if they are all of it.
        continuous: Whether the lens also goes between the positions of the grid.
        step: The smallest move between them, in the unit of the grid; 0 if any is possible.
        near_first: Whether the driver's own order is the other one.
        renamed: Whether its user has said other positions than it has itself.
        abort: Stops a move or an exposure: a running capture raises CameraError soon. By default nothing.
        clock: Returns seconds from any moment on.
    """

    camera: Camera
    grid: FocusGrid
    views: int
    shape: tuple[int, int]
    where: tuple[float, float] | None
    continuous: bool
    step: float
    near_first: bool
    renamed: bool
    abort: Callable[[], None]
    clock: Callable[[], float]

    def capture(self, index: int) -> Any:
        """Moves the lens to a position, waits until it has settled, and returns what the camera gives."""
        return self.camera.capture(len(self.grid) - 1 - index if self.near_first else index)

    def capture_at(self, position: float | int) -> Any:
        """Does the same at a position in the unit of the grid, or at the nearest that there is."""
        if not self.continuous:
            return self.capture(self.index_near(position))
        own: Any = self.camera
        return own.capture_at(self._own(self.place(position)))

    def index_near(self, position: float | int) -> int:
        """Returns the index of the position of the grid that is nearest to one."""
        places = self.grid.positions
        rises = bool(places[-1] >= places[0])
        ordered = places if rises else places[::-1]
        above = int(np.searchsorted(ordered, position))
        first = max(above - 1, 0)
        near = first + int(np.abs(ordered[first : above + 1] - position).argmin())
        return near if rises else len(places) - 1 - near

    def place(self, position: float | int) -> float:
        """Returns where the lens comes to stand when it is sent to a position: whole moves from the grid's.

        Raises:
            InputError: If it is no number, or beyond the ends of the grid.
        """
        wanted = self.grid.check(position)
        near = float(self.grid.positions[self.index_near(wanted)])
        if not self.continuous:
            return near
        if not self.step:
            return wanted
        low, high = sorted(self.grid.positions[[0, -1]].tolist())
        return min(max(near + round((wanted - near) / self.step) * self.step, low), high)

    def _own(self, position: float) -> float:
        """Returns a position as the camera counts it, where its user has said other ones."""
        if not self.renamed:
            return position
        own, index = self.camera.grid, float(self.grid.position_to_index(position))
        return float(own.index_to_position(len(own) - 1 - index if self.near_first else index))


def connect(camera: Any, grid: FocusGrid | None = None) -> ConnectedCamera:
    """Returns a camera with all that a caller may ask; the only place that finds out what it has.

    Args:
        camera: The camera.
        grid: Its grid with what else is known of it, in the driver's order; as it says itself by default.

    Raises:
        InputError: If it is no camera; the sentence says what is missing, or what is wrong.
    """
    if isinstance(camera, ConnectedCamera):
        return camera
    _check(camera)
    told = camera.grid if grid is None else grid
    own_clock = hasattr(camera, "seconds")
    return ConnectedCamera(
        camera,
        told if told.far_to_near else told.turned(),
        int(camera.views),
        (int(camera.shape[0]), int(camera.shape[1])),
        camera.where,
        bool(getattr(camera, "continuous", False)),
        float(getattr(camera, "step", 0.0)) * (_length(told) / _length(camera.grid)),
        not told.far_to_near,
        not np.array_equal(told.positions, camera.grid.positions),
        getattr(camera, "abort", lambda: None),
        (lambda: float(camera.seconds)) if own_clock else time.monotonic,
    )


def _check(camera: Any) -> None:
    """Raises InputError if something is no camera."""
    for name in NEEDED:
        if not hasattr(camera, name):
            raise InputError(f"a camera has {', '.join(NEEDED)}; {type(camera).__name__} has no {name}")
    if getattr(camera, "continuous", False) and not hasattr(camera, "capture_at"):
        raise InputError(f"a continuous camera has capture_at(position); {type(camera).__name__} has not")
    if not isinstance(camera.grid, FocusGrid):
        raise InputError(
            f"the grid of a camera is a FocusGrid, such as FocusGrid(range(0, 1001, 10), 'steps'), not "
            f"{reprlib.repr(camera.grid)}"
        )
    if camera.views not in (1, 2):
        raise InputError(f"the views of a camera are 1 (green) or 2 (left and right), not {camera.views!r}")
    shape = camera.shape
    if not (isinstance(shape, tuple | list) and len(shape) == 2 and all(_is_length(one) for one in shape)):
        raise InputError(f"the shape of a camera is (rows, columns) of a frame, not {shape!r}")


def _length(grid: FocusGrid) -> float:
    return float(abs(grid.positions[-1] - grid.positions[0])) or 1.0


def _is_length(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and bool(value >= 1)


def as_camera_error(error: BaseException) -> CameraError:
    """Returns what a person's class raised as a CameraError, its class and its text in a sentence."""
    if isinstance(error, CameraError):
        return error
    text = " ".join(str(error).split())
    return CameraError(f"{type(error).__name__}: {text}" if text else type(error).__name__)


class OpenedCamera(Camera, AbstractContextManager["OpenedCamera"], Protocol):
    """What `open_device` returns: a camera that is closed by leaving its context."""


def to_index(at: Any, grid: FocusGrid) -> int:
    """Returns an index of a grid as a whole number; every adapter asks this before it moves.

    Raises:
        InputError: If the grid has no such index.
    """
    whole = isinstance(at, (int, np.integer)) and not isinstance(at, bool)
    if not whole or not 0 <= at < len(grid):
        raise InputError(f"the lens has positions 0 to {len(grid) - 1}, counted from 0, not {at!r}")
    return int(at)
