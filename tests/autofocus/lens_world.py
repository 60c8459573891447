"""A small world before a lens, for tests of the loop: quick to see, and with faults to order."""

import threading
from collections.abc import Callable

import cv2
import numpy as np

from dioptre.cameras.base import Frame, to_index
from dioptre.errors import CameraError
from dioptre.grid import FocusGrid

N, SIZE = 49, 64


class LensCamera:
    """A camera before a textured plane, whose blur grows by half a pixel (sigma) a position.

    Attributes:
        grid: Where it can go; by default slices of which nothing is known.
        truth: The index at which it is in focus; may be moved.
        at: Where the lens really is.
        visited: Where it was sent.
    """

    def __init__(
        self,
        truth: float = 31,
        n: int = N,
        noise: float = 0.003,
        growth: float = 0.5,
        grid: FocusGrid | None = None,
    ) -> None:
        rng = np.random.default_rng(4)
        self.grid = FocusGrid(range(n)) if grid is None else grid
        self.views, self.shape, self.where = 1, (SIZE, SIZE), None
        self.texture = cv2.GaussianBlur(rng.random((2 * SIZE, 2 * SIZE)).astype(np.float32), (0, 0), 1.0)
        self.truth, self.at, self.noise, self.growth = truth, 0.0, noise, growth
        self.visited: list[int] = []
        self.rng = rng

    def capture(self, index: int) -> Frame:
        self.visited.append(to_index(index, self.grid))
        self.at = self.go(index)
        return self.see(self.at)

    def go(self, index: int) -> float:
        return float(index)

    def see(self, at: float) -> Frame:
        sigma = 0.3 + self.growth * abs(at - self.truth)
        seen = cv2.GaussianBlur(self.texture, (0, 0), sigma)[SIZE // 2 : -SIZE // 2, SIZE // 2 : -SIZE // 2]
        seen = seen + self.noise * self.rng.standard_normal(seen.shape).astype(np.float32)
        return np.clip(seen, 0, 1).astype(np.float32)[None]


class Continuous(LensCamera):
    """Goes between positions, too, by moves of a tenth; `places` is where."""

    continuous, step = True, 0.1

    def __init__(self, *args: object, **settings: object) -> None:
        super().__init__(*args, **settings)  # type: ignore[arg-type]
        self.places: list[float] = []

    def capture(self, index: int) -> Frame:
        return self.capture_at(float(self.grid.positions[to_index(index, self.grid)]))

    def capture_at(self, position: float) -> Frame:
        self.places.append(self.grid.check(position))
        self.at = float(self.grid.position_to_index(position))
        return self.see(self.at)


class Late(LensCamera):
    """Gives the frame of the position before, at some captures."""

    late: tuple[int, ...] = (2,)

    def capture(self, index: int) -> Frame:
        before = self.at
        frame = super().capture(index)
        return self.see(before) if len(self.visited) in self.late else frame


class Twice(LensCamera):
    """Gives the very frame of the capture before, at some captures."""

    twice: Callable[[int], bool] = staticmethod(lambda count: count == 3)
    last: Frame | None = None

    def capture(self, index: int) -> Frame:
        frame = super().capture(index)
        if self.last is not None and type(self).twice(len(self.visited)):
            return self.last.copy()
        self.last = frame
        return frame


class Raising(LensCamera):
    """Fails at some captures."""

    fails: Callable[[int], bool] = staticmethod(lambda count: count == 2)

    def capture(self, index: int) -> Frame:
        frame = super().capture(index)
        if type(self).fails(len(self.visited)):
            raise CameraError("the connection is lost")
        return frame


class Hanging(LensCamera):
    """Does not come back from its third capture until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.free = threading.Event()

    def capture(self, index: int) -> Frame:
        frame = super().capture(index)
        if len(self.visited) == 3:
            self.free.wait(20)
        return frame


class Stoppable(Hanging):
    """The same, but it can be aborted."""

    def __init__(self) -> None:
        super().__init__()
        self.aborted = 0

    def abort(self) -> None:
        self.aborted += 1
        self.free.set()

    def capture(self, index: int) -> Frame:
        before = self.aborted
        frame = super().capture(index)
        if self.aborted > before:
            raise CameraError("the move was stopped")
        return frame


class Sticking(LensCamera):
    """Has a lens that does not move."""

    def go(self, _index: int) -> float:
        return 24.0


class Overshooting(LensCamera):
    """Has a lens that goes a tenth too far at each move, and comes to rest there."""

    def go(self, index: int) -> float:
        return index + 0.1 * (index - self.at)


class Lost(LensCamera):
    """Has a lens that is somewhere else than it says."""

    def go(self, index: int) -> float:
        return index + float(self.rng.choice([-9, 9, -14, 14]))


class White(LensCamera):
    """Is overexposed."""

    def see(self, at: float) -> Frame:
        return np.clip(super().see(at) + 0.9, 0, 1).astype(np.float32)


class Black(LensCamera):
    """Has its cap on."""

    def see(self, _at: float) -> Frame:
        noise = 0.001 * self.rng.random((1, SIZE, SIZE))
        return noise.astype(np.float32)
