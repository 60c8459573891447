"""What can go wrong with a camera and its lens: a run survives it, says so, and leaves the lens somewhere."""

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from dioptre.autofocus.autofocus import Autofocus
from dioptre.autofocus.controller import refuse_busy
from dioptre.autofocus.lens_settings import PATIENCE_S
from dioptre.cameras.base import ConnectedCamera
from dioptre.confidence.reasons import Reason, State
from dioptre.errors import CameraError, InputError
from dioptre.focusing.result import FocusResult
from dioptre.focusing.trace import Act
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS
from dioptre.methods.base import ANY, Method
from dioptre.problem import Problem
from dioptre.stack import FocalStack
from tests.autofocus import lens_world
from tests.autofocus.lens_world import LensCamera
from tests.fakes import FamilyOf, Probable

MEASURE = "laplacian-variance"
START = 10
NEAR = 2  # positions: what is farther from the truth is out of focus


def captures() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "dioptre-capture"]


@pytest.fixture(autouse=True)
def no_thread_is_left_running() -> Iterator[None]:
    yield
    deadline = time.monotonic() + 5
    while captures() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert captures() == []


def run(camera: LensCamera, **settings: object) -> FocusResult:
    given = {"method": MEASURE, "start": START, "risk": 0.05, **settings}
    return Autofocus(camera, **given).run()  # type: ignore[arg-type]


def check_honest(result: FocusResult, camera: LensCamera) -> None:
    """What is called focused is, and the lens is where the result says."""
    assert result.left_at == camera.visited[-1]
    if result.state is State.FOCUSED:
        assert abs(camera.at - camera.truth) <= NEAR
    if result.state is State.FAILED:
        assert result.left_at == START
    else:
        assert result.left_at == result.index


def test_a_sound_lens_is_focused() -> None:
    camera = LensCamera()
    result = run(camera)
    assert result.state is State.FOCUSED
    assert abs(result.index - 31) <= 1
    check_honest(result, camera)


@pytest.mark.parametrize("late", [(2,), (8,), (2, 6, 10), tuple(range(2, 60))])
def test_a_frame_that_comes_late_does_not_mislead(late: tuple[int, ...]) -> None:
    camera = lens_world.Late()
    camera.late = late
    check_honest(run(camera), camera)


def test_a_late_frame_at_the_end_is_taken_again() -> None:
    count = len(run(LensCamera()).trace)
    camera = lens_world.Late()
    camera.late = (count,)
    result = run(camera)
    assert result.state is State.FOCUSED
    check_honest(result, camera)


def test_a_frame_that_comes_twice_is_taken_again() -> None:
    camera = lens_world.Twice()
    result = run(camera)
    assert result.state is State.FOCUSED
    again = [one for one in result.trace if one.act is Act.AGAIN]
    assert len(again) == 1
    assert "very same" in result.trace[result.trace.index(again[0]) - 1].note
    check_honest(result, camera)


def test_frames_that_come_again_and_again_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lens_world.Twice, "twice", staticmethod(lambda count: count > 2))
    camera = lens_world.Twice()
    result = run(camera)
    assert (result.state, result.reasons) == (State.FAILED, (Reason.STALE_FRAME,))
    check_honest(result, camera)


def test_a_camera_that_fails_once_is_asked_again() -> None:
    camera = lens_world.Raising()
    result = run(camera)
    assert result.state is State.FOCUSED
    assert any("the connection is lost" in one.note for one in result.trace)
    check_honest(result, camera)


def test_a_server_that_dies_is_said_and_nobody_knows_where_the_lens_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lens_world.Raising, "fails", staticmethod(lambda count: count > 4))
    result = run(lens_world.Raising())
    assert (result.state, result.reasons, result.left_at) == (State.FAILED, (Reason.CAMERA_FAILED,), None)
    assert "failed twice: the connection is lost" in result.notes[0]
    assert "could not be sent back to 10: the connection is lost" in result.notes[1]


def test_a_camera_that_comes_back_in_time_is_sent_to_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lens_world.Raising, "fails", staticmethod(lambda count: count in (4, 5)))
    result = run(lens_world.Raising())
    assert (result.reasons, result.left_at) == ((Reason.CAMERA_FAILED,), START)
    assert result.trace[-1].act is Act.RETURN


def test_a_camera_that_hangs_is_stopped_when_the_time_is_up() -> None:
    camera = lens_world.Stoppable()
    result = run(camera, timeout=0.3)
    assert (result.state, result.reasons) == (State.FAILED, (Reason.TIMEOUT,))
    assert camera.aborted == 1
    check_honest(result, camera)


def test_a_camera_that_hangs_for_good_is_left_to_itself() -> None:
    camera = lens_world.Hanging()
    began = time.monotonic()
    result = run(camera, timeout=0.2, patience=0.1)
    assert time.monotonic() - began < 0.2 + 0.1 + PATIENCE_S
    assert (result.state, result.reasons, result.left_at) == (State.FAILED, (Reason.TIMEOUT,), None)
    assert "nobody knows where the lens is" in result.notes[-1]
    with pytest.raises(CameraError, match="not come back from a capture of an earlier run"):
        run(camera)
    camera.free.set()
    while captures():
        time.sleep(0.01)
    assert run(camera).state is State.FOCUSED


def test_a_slow_camera_is_stopped_between_two_captures() -> None:
    class Slow(LensCamera):
        def capture(self, index: int) -> np.ndarray:
            time.sleep(0.05)
            return super().capture(index)

    camera = Slow()
    result = run(camera, timeout=0.2)
    assert result.reasons == (Reason.TIMEOUT,)
    check_honest(result, camera)


@pytest.mark.parametrize("kind", ["Stoppable", "Hanging"])
def test_a_run_is_cancelled_during_a_move(kind: str) -> None:
    camera = getattr(lens_world, kind)()
    focuser = Autofocus(camera, method=MEASURE, start=START, patience=0.2)
    threading.Timer(0.15, focuser.cancel).start()
    result = focuser.run()
    assert (result.state, result.reasons) == (State.FAILED, (Reason.CANCELLED,))
    assert result.left_at == (START if kind == "Stoppable" else None)
    camera.free.set()


def test_a_cancel_between_runs_does_nothing() -> None:
    focuser = Autofocus(LensCamera(), method=MEASURE, risk=0.05)
    focuser.cancel()
    assert focuser.run().state is State.FOCUSED


def test_a_lens_that_sticks_is_noticed() -> None:
    camera = lens_world.Sticking()
    result = run(camera)
    assert result.state is State.FAILED
    assert Reason.LENS_STUCK in result.reasons


@pytest.mark.parametrize("kind", ["Overshooting", "Lost"])
def test_a_lens_that_goes_astray_does_not_mislead(kind: str) -> None:
    camera = getattr(lens_world, kind)()
    check_honest(run(camera), camera)


@pytest.mark.parametrize(("kind", "reason"), [("White", Reason.SATURATED), ("Black", Reason.TOO_DARK)])
def test_frames_that_show_nothing_are_said(kind: str, reason: Reason) -> None:
    camera = getattr(lens_world, kind)()
    result = run(camera)
    assert result.state is State.FAILED
    assert reason in result.reasons
    check_honest(result, camera)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (lambda frame: np.full_like(frame, np.nan), "4096 of 4096 pixels are not finite"),
        (lambda frame: frame[:, 1:], "a frame of shape (1, 63, 64), expected (1, 64, 64) (view, row, col)"),
        (lambda frame: frame[0, 0], "a frame of shape (64,), expected (1, 64, 64)"),
        (lambda frame: np.dstack([frame[0]] * 3), "of a colour picture take green: picture[..., 1]"),
        (lambda frame: (255 * frame).astype(np.int64), "a frame of dtype int64, expected uint8, uint16, or"),
        (lambda frame: 255 * frame.astype(np.float64), "expected 0 (black) to 1 (white)"),
        (lambda _frame: None, "no frame: None"),
    ],
    ids=["nan", "size", "row", "colour", "integers", "codes", "none"],
)
def test_what_is_wrong_with_a_frame_is_said(
    monkeypatch: pytest.MonkeyPatch, broken: Callable[[np.ndarray], np.ndarray | None], sentence: str
) -> None:
    # here, since the tests' type checker would stop any other frame than promised on its way
    monkeypatch.setattr(ConnectedCamera, "capture", lambda one, index: broken(one.camera.capture(index)))
    result = run(LensCamera())
    assert result.reasons == (Reason.CAMERA_FAILED,)
    assert sentence in result.notes[0]
    assert ("not finite" in result.notes[0]) is ("not finite" in sentence)


@pytest.mark.parametrize(
    "given",
    [
        lambda frame: frame[0],
        lambda frame: frame.astype(np.float64),
        lambda frame: np.rint(255 * frame).astype(np.uint8),
        lambda frame: np.rint(65535 * frame[0]).astype(np.uint16),
    ],
    ids=["one view", "float64", "8 bits", "16 bits"],
)
def test_pictures_are_taken_as_people_have_them(given: Callable[[np.ndarray], np.ndarray]) -> None:
    class Own(LensCamera):
        def capture(self, index: int) -> np.ndarray:  # type: ignore[override]
            return given(super().capture(index))

    camera = Own()
    result = run(camera)
    assert result.state is State.FOCUSED
    check_honest(result, camera)


@pytest.mark.parametrize(
    "error", [RuntimeError("motor is off"), OSError(5, "no\nport"), KeyError("z"), SystemExit()]
)
def test_whatever_a_camera_raises_is_a_result_with_its_sentence(error: BaseException) -> None:
    class Failing(LensCamera):
        def capture(self, index: int) -> np.ndarray:  # type: ignore[override]
            if len(self.visited) == 3:
                raise error
            return super().capture(index)

    result = run(Failing())
    assert (result.state, result.reasons) == (State.FAILED, (Reason.CAMERA_FAILED,))
    text = " ".join(str(error).split())
    assert f"failed twice: {type(error).__name__}{': ' if text else ''}{text}" in result.notes[0]


def test_an_abort_that_fails_does_not_end_a_run_with_an_exception() -> None:
    class Broken(lens_world.Stoppable):
        def abort(self) -> None:
            super().abort()
            raise RuntimeError("cannot be stopped")

    result = run(Broken(), timeout=0.3)
    assert (result.state, result.reasons) == (State.FAILED, (Reason.TIMEOUT,))


def test_ctrl_c_in_a_capture_is_raised() -> None:
    class Interrupted(LensCamera):
        def capture(self, index: int) -> np.ndarray:  # type: ignore[override]
            frame = super().capture(index)
            if len(self.visited) == 3:
                raise KeyboardInterrupt
            return frame

    with pytest.raises(KeyboardInterrupt):
        run(Interrupted())


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("grid", [0, 1, 2], r"the grid of a camera is a FocusGrid, such as .*, not \[0, 1, 2\]"),
        ("views", 3, r"views of a camera are 1 \(green\) or 2 \(left and right\), not 3"),
        ("shape", (64, 64, 3), r"shape of a camera is \(rows, columns\) of a frame, not \(64, 64, 3\)"),
        ("shape", 64, r"shape of a camera is \(rows, columns\) of a frame, not 64"),
        ("where", ..., "a camera has grid, views, shape, where, capture; LensCamera has no where"),
    ],
)
def test_what_is_no_camera_is_said_before_anything_moves(name: str, value: object, sentence: str) -> None:
    camera = LensCamera()
    if value is ...:
        delattr(camera, name)
    else:
        setattr(camera, name, value)
    with pytest.raises(InputError, match=sentence):
        refuse_busy(camera)
    assert camera.visited == []


def test_what_a_listener_raises_is_raised_with_the_lens_at_its_start() -> None:
    def listen(step: object) -> None:
        if len(camera.visited) == 5:
            raise KeyboardInterrupt

    camera = LensCamera()
    with pytest.raises(KeyboardInterrupt):
        run(camera, on_step=listen)
    assert camera.visited[-1] == START


# A network that is wrong


class Liar(Probable):
    """Is always sure that the focus is at 12."""

    def logits(self, stack: FocalStack) -> np.ndarray:
        away = np.abs(np.arange(len(stack.grid)) - 12)
        return np.repeat(-2.0 * away[None].astype(np.float64), len(stack.indices), axis=0)


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> str:
    row = Method("liar", "Liar", Problem.SINGLE_GREEN, FamilyOf(Liar), "test", looks=ANY)
    monkeypatch.setitem(METHODS, "liar", row)
    return "liar"


def test_a_network_that_is_wrong_is_caught_and_the_lens_is_swept(liar: str) -> None:
    camera = LensCamera(grid=FocusGrid.learnaf())
    result = run(camera, method=liar, start=24, risk=0.01)
    assert abs(camera.at - camera.truth) <= NEAR or result.state is not State.FOCUSED


def test_without_a_sweep_it_is_not_believed(liar: str) -> None:
    camera = LensCamera(grid=FocusGrid.learnaf())
    result = run(camera, method=liar, start=24, risk=0.01, looks=3, fallback="none")
    assert abs(camera.at - camera.truth) <= NEAR or result.state is not State.FOCUSED
