"""Any two things as one camera: functions, classes, and halves of devices."""

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from dioptre import Autofocus, Lens, State, open_device
from dioptre.cameras.base import Camera, connect
from dioptre.cameras.pair import FunctionLens, PairedCamera
from dioptre.cameras.simulated import SimulatedCamera, draw_camera
from dioptre.confidence.reasons import Reason
from dioptre.errors import CameraError, InputError
from dioptre.grid import FocusGrid
from tests.autofocus.lens_world import Continuous, LensCamera
from tests.cameras.contract import CameraContract


class Motor:
    """A lens that remembers where it is."""

    limits, unit = (0, 480), "steps"

    def __init__(self) -> None:
        self.at, self.moves = 0.0, list[float]()

    def move(self, position: float) -> None:
        self.moves.append(position)
        self.at = position


class Told(Motor):
    """The same, and it says where it is, in whole steps."""

    step = 10

    def position(self) -> float:
        return self.at


def eye_of(motor: Motor) -> Callable[[], np.ndarray]:
    """Returns what takes pictures through a motor's lens: sharp at 310, noise-free."""
    world = LensCamera(31, noise=0.0)
    return lambda: world.see(motor.at / 10)


class TestFunctions(CameraContract):
    @pytest.fixture
    def camera(self) -> PairedCamera:
        self.motor = Motor()
        return PairedCamera(eye_of(self.motor), self.motor, range(0, 481, 10))

    def position_of(self, _camera: Camera) -> object:
        return self.motor.at

    def lens_at(self, _camera: Camera) -> float | None:
        return self.motor.at


class TestCodesAndSteps(CameraContract):
    @pytest.fixture
    def camera(self) -> PairedCamera:
        self.motor, buffer = Told(), np.zeros((64, 64), np.uint16)
        look = eye_of(self.motor)

        def snap() -> np.ndarray:
            buffer[:] = np.rint(65535 * look()[0])  # a driver's one buffer
            return buffer

        return PairedCamera(snap, self.motor)

    def position_of(self, _camera: Camera) -> object:
        return self.motor.at

    def lens_at(self, _camera: Camera) -> float | None:
        return self.motor.at


# What they are


def test_a_motor_is_a_lens() -> None:
    assert isinstance(Motor(), Lens)
    assert not isinstance(LensCamera(), Lens)


def test_the_grid_is_the_way_of_the_lens() -> None:
    camera = PairedCamera(eye_of(motor := Motor()), motor)
    assert (len(camera.grid), camera.grid.unit, camera.grid.nearer) == (1001, "steps", None)
    assert camera.grid.positions[[0, -1]].tolist() == [0, 480]
    assert motor.moves == []
    told = PairedCamera(eye_of(Motor()), Told())
    assert told.grid == FocusGrid(range(0, 481, 10), "steps")
    assert (told.step, connect(told).place(314.9)) == (10, 310)


def test_whole_steps_stay_within_the_limits() -> None:
    lens = FunctionLens(lambda _: None, (0.5, 10), "um", step=0.3)
    grid = PairedCamera(lambda: np.zeros((8, 8), np.uint8), lens).grid
    assert (grid.positions[0], grid.positions[-1]) == (0.5, pytest.approx(9.8))
    np.testing.assert_allclose(np.diff(grid.positions), 0.3)


def test_a_lens_of_many_steps_has_1001_positions_all_whole_steps() -> None:
    lens = FunctionLens(lambda _: None, (0, 65_535), "counts", step=1)
    positions = PairedCamera(lambda: np.zeros((8, 8), np.uint8), lens).grid.positions
    assert len(positions) == 1001
    assert (positions == np.rint(positions)).all()
    assert positions[-1] == 65_535


def test_two_views_are_left_and_right() -> None:
    camera = PairedCamera(lambda: np.full((2, 8, 6), 0.5, np.float32), Motor())
    assert (camera.views, camera.shape, camera.where) == (2, (8, 6), None)


def test_a_camera_of_ours_takes_pictures_with_its_own_lens_in_the_middle() -> None:
    phone = draw_camera(3, size=32, target=True)
    camera = PairedCamera(phone, motor := Motor())
    camera.capture_at(12.5)
    assert (camera.views, camera.where, motor.moves) == (2, phone.where, [12.5])
    assert set(phone.visited) == {24}


def test_a_camera_of_ours_moves_its_lens_for_another_and_its_pictures_are_dropped() -> None:
    coarse, fine = LensCamera(), Continuous()
    one = PairedCamera(lambda: np.full((8, 8), coarse.at / 48, np.float32), coarse)
    assert one.grid == FocusGrid(range(49))
    assert one.capture_at(17).mean() == pytest.approx(17 / 48)
    other = PairedCamera(lambda: np.full((8, 8), fine.at / 48, np.float32), fine)
    assert (len(other.grid), other.step) == (481, 0.1)
    assert other.capture_at(17.3).mean() == pytest.approx(17.3 / 48)


def test_a_pair_is_focused() -> None:
    camera = PairedCamera(eye_of(motor := Motor()), motor)
    result = Autofocus(camera, risk=0.02).run()
    assert result.state is State.FOCUSED
    assert result.position == pytest.approx(310, abs=5)
    assert motor.at == result.left_at


def test_closing_closes_what_was_opened_for_it_alone() -> None:
    closed: list[str] = []
    with PairedCamera(eye_of(Motor()), Motor()):
        pass
    with PairedCamera(eye_of(Motor()), Motor(), closes=lambda: closed.append("both")):
        assert closed == []
    assert closed == ["both"]


# Faults


class Failing(Motor):
    def move(self, position: float) -> None:
        super().move(position)
        if len(self.moves) > 2:
            raise KeyError("driver")


def test_whatever_a_motor_raises_is_a_result_that_blames_it() -> None:
    camera = PairedCamera(eye_of(motor := Failing()), motor)
    result = Autofocus(camera, method="laplacian-variance").run()
    assert (result.state, result.reasons) == (State.FAILED, (Reason.CAMERA_FAILED,))
    assert "the lens: KeyError: 'driver'" in result.notes[0]


def test_whatever_a_picture_source_raises_blames_the_camera() -> None:
    def snap() -> np.ndarray:
        raise RuntimeError("no\nlight")

    with pytest.raises(CameraError, match="the camera: RuntimeError: no light"):
        PairedCamera(snap, Motor())


def test_a_picture_of_another_size_is_said() -> None:
    shapes = iter([(8, 8), (8, 9)])
    camera = PairedCamera(lambda: np.zeros(next(shapes), np.uint8), Motor())
    with pytest.raises(CameraError, match=r"shape \(8, 9\), expected \(1, 8, 8\)"):
        camera.capture(0)


@pytest.mark.parametrize(
    ("picture", "sentence"),
    [
        (np.zeros((8, 8, 3), np.uint8), r"shape \(8, 8, 3\), expected .* take green: picture\[\.\.\., 1\]"),
        (np.zeros(8, np.uint8), r"shape \(8,\), expected \(row, col\), or \(view, row, col\)"),
        (np.zeros((8, 0), np.uint8), r"shape \(8, 0\), expected \(row, col\)"),
        (np.zeros((8, 8), bool), "dtype bool, expected uint8, uint16, or floats"),
        (None, "no frame: None"),
    ],
)
def test_what_is_no_picture_is_said_at_once(picture: object, sentence: str) -> None:
    with pytest.raises(CameraError, match=sentence):
        PairedCamera(lambda: picture, Motor())


def test_a_lens_that_says_that_it_is_elsewhere_is_believed() -> None:
    class Stuck(Told):
        def position(self) -> float:
            return 200.0

    camera = PairedCamera(eye_of(motor := Stuck()), motor)
    assert camera.capture_at(205).shape == (1, 64, 64)  # within its step
    with pytest.raises(CameraError, match="the lens was sent to 230 and stands at 200 steps"):
        camera.capture_at(230)


def test_abort_stops_the_motor_and_ends_a_running_capture() -> None:
    class Slow(Motor):
        def __init__(self) -> None:
            super().__init__()
            self.free = threading.Event()

        def move(self, position: float) -> None:
            super().move(position)
            self.free.wait(20)

        def abort(self) -> None:
            self.free.set()

    camera = PairedCamera(eye_of(motor := Slow()), motor)
    stop = threading.Timer(0.05, camera.abort)
    stop.start()
    began = time.monotonic()
    with pytest.raises(CameraError, match="aborted"):
        camera.capture(3)
    stop.join()
    assert time.monotonic() - began < 5
    assert camera.capture(4).shape == (1, 64, 64)


def lens_with(**told: object) -> Motor:
    motor = Motor()
    for name, value in told.items():
        setattr(motor, name, value)
    return motor


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"limits": (5, 1)}, r"limits of a lens are its lowest and its highest position, not \(5, 1\)"),
        ({"limits": 480}, "its lowest and its highest position, not 480"),
        ({"limits": (0, float("inf"))}, "its lowest and its highest position, not"),
        ({"unit": None}, "the unit of a lens is a word such as steps, not None"),
        ({"step": -1}, "the step of a lens is its smallest move, in steps, not -1"),
        ({"step": "1"}, "the step of a lens is its smallest move, in steps, not '1'"),
    ],
)
def test_what_a_lens_tells_is_checked(told: dict, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        PairedCamera(eye_of(Motor()), lens_with(**told))


def test_what_is_no_lens_or_takes_no_pictures_is_said() -> None:
    with pytest.raises(InputError, match=r"a lens has move\(position\), limits and unit; .* has no move"):
        PairedCamera(eye_of(Motor()), object())
    with pytest.raises(InputError, match="takes pictures is a callable that returns one, or a camera, not 3"):
        PairedCamera(3, Motor())


def test_positions_lie_within_the_limits() -> None:
    with pytest.raises(InputError, match="the lens goes from 0 to 480 steps, not to 0 or 500"):
        PairedCamera(eye_of(Motor()), Motor(), range(0, 501, 100))


# By address


def test_a_device_with_its_own_lens_is_that_device() -> None:
    with open_device("pair:simulated:2,target,32+simulated:2,target,32") as camera:
        assert isinstance(camera, SimulatedCamera)


@pytest.mark.parametrize("address", ["pair:", "pair:opencv:0", "pair:opencv:0+webcam:1", "pair:a+b"])
def test_what_is_no_pair_is_said(address: str) -> None:
    with pytest.raises(InputError, match=r"a pair is pair:CAMERA\+LENS, such as .*, not"):
        open_device(address)


def test_the_lens_of_a_simulated_phone_moves_for_another_camera() -> None:
    with open_device("simulated:1,target,32", "simulated:2,target,32") as camera:
        assert (camera.grid.unit, camera.grid.positions[-1], camera.views) == ("slice", 48, 2)
        assert camera.capture(7).shape == (2, 32, 32)
