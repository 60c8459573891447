"""A lens controller: a camera as one run uses it, within limits, in time, from one side, every frame traced.

**What is promised about time.** Captures run in one thread of the controller's own, one after the other.
Whoever waits for one is let go when it is cancelled or when the time is up: a camera that can be stopped
is, and any camera has `patience` seconds to come to an end. One that has not by then is left to
itself: its thread ends as soon as the camera returns, and until then that camera is refused to further runs.
So a run ends at most `patience` seconds after its timeout, and after going back to its start, for which the
lens has `patience` seconds too, or twice as long as its slowest capture so far, if that is more.

**What is promised about frames.** A capture that fails is tried once more, whatever it raises but Ctrl-C. A
frame that is the very same as the one before, although the lens was moved, is taken again. Whether a frame is
as sharp as it should be is for others to say.
"""

import math
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from dioptre.autofocus.lens_settings import LensMotion
from dioptre.cameras.base import ConnectedCamera, Frame, as_camera_error, connect, to_index
from dioptre.cameras.frames import to_frame
from dioptre.confidence.reasons import Reason
from dioptre.errors import CameraError, CameraTimeoutError, InputError
from dioptre.focusing.trace import Act, Step
from dioptre.grid import FocusGrid

POLL_S: Final = 0.01  # how soon a cancel is noticed
TRIES: Final = 2  # of a capture that fails, or of a frame that is the one before

OnStep = Callable[[Step], None]


class Halt(Exception):  # noqa: N818  # no error: it is how a run is left early
    """Ends a run: for which reason, and what happened in a sentence."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason, self.sentence = reason, sentence


class Worker:
    """The thread in which a camera captures."""

    def __init__(self, camera: ConnectedCamera) -> None:
        self.camera = camera
        self.asked: queue.SimpleQueue[float | None] = queue.SimpleQueue()
        self.answer: tuple[Any, BaseException | None] | None = None
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._work, name="dioptre-capture", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while (position := self.asked.get()) is not None:
            try:
                self.answer = self.camera.capture_at(position), None
            except BaseException as error:  # whatever it is, whoever waits is told
                self.answer = None, error
            self.done.set()
        self.done.set()

    def ask(self, position: float) -> None:
        """Begins a capture."""
        self.answer = None
        self.done.clear()
        self.asked.put(position)

    def close(self) -> None:
        """Ends the thread, as soon as no capture runs."""
        self.asked.put(None)


_left: list[Worker] = []  # whose cameras have not come to an end


def refuse_busy(camera: Any) -> None:
    """Raises CameraError if a capture of an earlier run is still under way, InputError if it is no camera."""
    own = connect(camera).camera
    _left[:] = [one for one in _left if one.thread.is_alive()]
    if any(one.camera.camera is own for one in _left):
        raise CameraError("the camera has not come back from a capture of an earlier run")


@dataclass(eq=False)
class LensController:
    """A camera that moves as its settings say; itself a camera, used by one thread, and closed at its end.

    Attributes:
        camera: The camera, whose indices run from far to near.
        motion: How the lens moves.
        cancelled: Set by anyone to end the run.
        on_step: Told every step, as soon as all of it is known.
        on_frame: Shown every frame that counts, and the index where it was taken.
        steps: What was done.
        position: Where the lens was sent last and has arrived; None if nobody knows.
        hung: Whether the camera was left to itself.
        act: Why frames are taken.
    """

    camera: ConnectedCamera
    motion: LensMotion
    cancelled: threading.Event
    on_step: OnStep | None = None
    steps: list[Step] = field(default_factory=list)
    position: float | None = None
    hung: bool = False
    act: Act = Act.LOOK
    on_frame: Callable[[int, Frame], None] | None = None
    _last: Frame | None = None
    _told: int = 0

    def __post_init__(self) -> None:
        refuse_busy(self.camera)
        self.limits = self.motion.limits_on(self.camera.grid)
        self.began = time.monotonic()
        timeout = self.motion.timeout
        self.deadline = None if timeout is None else self.began + timeout
        self._worker = Worker(self.camera)

    @property
    def grid(self) -> FocusGrid:
        """Where the lens can go; not all of it may lie within the limits."""
        return self.camera.grid

    @property
    def views(self) -> int:
        """The camera's."""
        return self.camera.views

    @property
    def shape(self) -> tuple[int, int]:
        """The camera's."""
        return self.camera.shape

    @property
    def where(self) -> tuple[float, float] | None:
        """The camera's."""
        return self.camera.where

    @property
    def at(self) -> int | None:
        """The index of the position of the grid at which the lens is, or nearest to it."""
        return None if self.position is None else self.camera.index_near(self.position)

    @at.setter
    def at(self, index: int | None) -> None:
        self.position = None if index is None else float(self.grid.positions[index])

    def capture(self, index: int) -> Frame:
        """Returns a frame at an index within the limits; raises what `capture_at` does."""
        return self.capture_at(float(self.grid.positions[to_index(index, self.grid)]))

    def capture_at(self, position: float | int) -> Frame:
        """Returns a frame at a position within the limits, or the nearest that there is, as the settings say.

        Raises:
            InputError: If the position is outside the limits; nothing has moved.
            Halt: If the run is cancelled, its time is up, or the camera fails.
        """
        at, (first, last) = self.camera.place(position), self.grid.positions[list(self.limits)].tolist()
        if not min(first, last) <= at <= max(first, last):
            raise InputError(f"the lens goes to {first:g} to {last:g}, not to {at:g}")
        moved, before, before_at = at != self.position, self._last, self.position
        aside = self._aside(at)
        if aside is not None:
            self._take(aside, Act.APPROACH)
            before = self._last
        frame = self._take(at, self.act)
        if self.motion.settle > 0 and moved:
            self.amend(act=Act.SETTLE)
            self._pause(self.motion.settle)
            frame = self._take(at, self.act)
        if moved and self._shows_other(before_at, at) and before is not None and _same(frame, before):
            self.amend(note="the frame is the very same as the one before, although the lens was moved")
            frame = self._take(at, Act.AGAIN)
            if _same(frame, before):
                raise Halt(
                    Reason.STALE_FRAME, f"at {at:g} the camera gave the frame of another position twice"
                )
        return self._shown(at, frame)

    def _shows_other(self, before: float | None, at: float) -> bool:
        """Returns whether a frame must differ from one before: a gap of the grid away."""
        grid = self.grid
        apart = grid.units_per_index(float(grid.position_to_index(at)))
        return before is None or abs(at - before) >= apart

    def _shown(self, at: float, frame: Frame) -> Frame:
        if self.on_frame is not None:
            self.on_frame(self.camera.index_near(at), frame)
        return frame

    @property
    def approach(self) -> int:
        """The way in which the lens arrives: 1 by rising indices, -1 by falling ones, 0 either way."""
        rising = len(self.grid) < 2 or self.grid.positions[-1] > self.grid.positions[0]
        return int(np.sign(self.motion.backlash)) * (1 if rising else -1)

    def _aside(self, at: float) -> float | None:
        """Returns where the lens goes first, so that it arrives from the right side; None if it does."""
        slack, (first, last) = self.motion.backlash, self.limits
        if slack == 0 or self.position == at:
            return None
        if self.position is not None and (at - self.position) * slack > 0:
            return None
        places = self.grid.positions[first : last + 1]
        before = (at - places) * math.copysign(1.0, slack)
        enough = before >= abs(slack) * (1 - 1e-9)
        best = np.argmin(np.where(enough, before, np.inf)) if enough.any() else before.argmax()
        aside = float(places[best])
        return None if before[best] <= 0 or aside == self.position else aside

    def again(self) -> Frame:
        """Returns another frame where the lens is."""
        assert self.position is not None
        return self._shown(self.position, self._take(self.position, Act.AGAIN))

    def _take(self, at: float, act: Act) -> Frame:
        for attempt in range(TRIES):
            self._check_time()
            began = time.monotonic()
            try:
                frame = self._wait(at)
            except CameraError as error:
                self.position = None
                if attempt == TRIES - 1:
                    raise Halt(Reason.CAMERA_FAILED, f"at {at:g} the camera failed twice: {error}") from error
                self._record(at, Act.AGAIN, began, f"failed: {error}")
                continue
            self._record(at, act, began)
            self.position, self._last = at, frame
            return frame
        raise AssertionError("unreachable")

    def _record(self, at: float, act: Act, began: float, note: str = "") -> None:
        now, index = time.monotonic(), self.camera.index_near(at)
        self.tell()
        self.steps.append(Step(act, index, at, self.grid.unit, now - self.began, now - began, note=note))

    def amend(self, **known: Any) -> None:
        """Adds to the last step what has become known of it."""
        self.steps[-1] = replace(self.steps[-1], **known)

    def tell(self) -> None:
        """Tells all steps that were not told yet: nothing more will be known of them."""
        while self._told < len(self.steps):
            self._told += 1
            if self.on_step is not None:
                step = self.steps[self._told - 1]
                self.on_step(step.turned(len(self.grid)) if self.camera.near_first else step)

    def _wait(self, at: float) -> Frame:
        """Returns what a capture gives, if it ends before the run does."""
        worker = self._worker
        worker.ask(at)
        try:
            while not worker.done.wait(POLL_S):
                self._check_time()
        except BaseException:  # also Ctrl-C
            self.position = None
            self._stop(self.motion.patience)
            raise
        return _checked(worker, self.camera)

    def _stop(self, patience: float) -> None:
        """Lets a running capture come to an end, or leaves the camera to itself."""
        with suppress(Exception):  # whatever it is, the capture may end all the same
            self.camera.abort()
        if not self._worker.done.wait(patience):
            self.hung = True

    def _check_time(self) -> None:
        if self.cancelled.is_set():
            raise Halt(Reason.CANCELLED, "the run was cancelled")
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise Halt(Reason.TIMEOUT, f"the run was not done after {self.motion.timeout:g} s")

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._check_time()
            time.sleep(min(left, POLL_S))

    def retreat(self, index: int) -> str:
        """Sends the lens to a position after a run has ended, come what may; returns what went wrong."""
        if self.hung:
            return "the camera has not come back: nobody knows where the lens is"
        position = float(self.grid.positions[index])
        if self.position == position:
            return ""
        slowest = max((one.took for one in self.steps), default=0.0)
        patience = max(self.motion.patience, 2 * slowest)
        began = time.monotonic()
        try:
            self._worker.ask(position)
            if not self._worker.done.wait(patience):
                self._stop(self.motion.patience)
                raise CameraTimeoutError(f"no answer after {patience:.1f} s")
            _checked(self._worker, self.camera)
        except CameraError as error:
            self.position = None
            return f"the lens could not be sent back to {position:g}: {error}"
        self._record(position, Act.RETURN, began)
        self.position = position
        return ""

    def close(self) -> None:
        """Ends the thread; one whose camera has not come back ends as soon as it does."""
        self.tell()
        self._worker.close()
        if self.hung:
            _left.append(self._worker)
        else:
            self._worker.thread.join()


def _checked(worker: Worker, camera: ConnectedCamera) -> Frame:
    """Returns the frame that a worker has.

    Raises:
        CameraError: If it has none, or not what the camera promises; also for whatever the capture raised.
    """
    assert worker.answer is not None
    picture, error = worker.answer
    if isinstance(error, KeyboardInterrupt):
        raise error
    if error is not None:
        raise as_camera_error(error) from error
    return to_frame(picture, (camera.views, *camera.shape))


def _same(one: Frame, other: Frame) -> bool:
    """Returns whether two frames are one: to the bit, though there is something in them."""
    return one is other or (bool(np.array_equal(one, other)) and float(one.max()) > float(one.min()))
