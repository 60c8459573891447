"""A webcam, against a fake that queues frames as a driver does and moves its lens late; none is here."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
import pytest

from dioptre.cameras.base import Camera
from dioptre.cameras.opencv import OpenCVCamera, open_device, open_source
from dioptre.cameras.pair import FunctionLens, PairedCamera
from dioptre.errors import CameraError, InputError
from dioptre.grid import FocusGrid
from dioptre.stack import srgb_to_linear
from tests.cameras.contract import CameraContract

PERIOD_S = 0.004
BUFFERS, TRAVEL = 4, 5  # frames that wait at most; frames that a lens takes
SETTLE_S = (TRAVEL + 1) * PERIOD_S


class FakeVideoCapture:
    """A driver: frames are exposed every period and wait, the oldest first; when all buffers are full, new
    ones are lost. A frame's green is where the lens was while it was exposed.
    """

    def __init__(self) -> None:
        self.opened, self.has_motor, self.fault = True, True, ""
        self.autofocus = 1.0
        self.begun_s = time.monotonic()
        self.moves: list[tuple[int, float]] = [(-TRAVEL, 0.0), (-TRAVEL, 0.0)]
        self.waiting: list[int] = []
        self.last, self.shape, self.kind = 0, (6, 8, 3), np.uint8

    def isOpened(self) -> bool:  # noqa: N802  # OpenCV's name
        return self.opened

    def set(self, name: int, value: float) -> bool:
        if name == cv2.CAP_PROP_AUTOFOCUS:
            self.autofocus = value
            return self.has_motor
        assert name == cv2.CAP_PROP_FOCUS
        assert self.autofocus == 0, "the focus is set when autofocus is off"
        if self.fault:
            raise cv2.error(self.fault)
        self.moves.append((self._now(), value))
        return self.has_motor

    def grab(self) -> bool:
        if not self.opened:
            return False
        self._expose()
        while not self.waiting:
            time.sleep(PERIOD_S / 4)
            self._expose()
        self.grabbed = self.waiting.pop(0)
        return True

    def read(self) -> tuple[bool, Any]:
        if not self.grab():
            return False, None
        image = np.full(self.shape, 7, self.kind)
        image[..., 1] = round(self._lens(self.grabbed))
        return True, image

    def release(self) -> None:
        self.opened = False

    def _now(self) -> int:
        return int((time.monotonic() - self.begun_s) / PERIOD_S)

    def _expose(self) -> None:
        for frame in range(self.last, self._now()):
            if len(self.waiting) < BUFFERS:
                self.waiting.append(frame)
        self.last = max(self.last, self._now())

    def _lens(self, frame: int) -> float:
        (_, before), (ordered, to) = [one for one in self.moves if one[0] <= frame][-2:]
        return before + (to - before) * min((frame - ordered) / TRAVEL, 1.0)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeVideoCapture:
    fake = FakeVideoCapture()
    monkeypatch.setattr(cv2, "VideoCapture", lambda _: fake)
    return fake


@pytest.fixture
def camera(fake: FakeVideoCapture) -> Iterator[OpenCVCamera]:
    with OpenCVCamera(positions=np.arange(0.0, 251, 50), settle_s=SETTLE_S) as camera:
        yield camera
    assert not fake.opened


class TestOpenCV(CameraContract):
    @pytest.fixture
    def camera(self, camera: OpenCVCamera) -> OpenCVCamera:  # type: ignore[override]
        return camera

    def position_of(self, camera: Camera) -> object:
        assert isinstance(camera, OpenCVCamera)
        return camera._source._capture.moves[-1]


LIGHT = srgb_to_linear(np.arange(256, dtype=np.float32) / 255)


def lens_in(frame: np.ndarray) -> float:
    """Returns where the fake's lens was."""
    return float(np.argmin(np.abs(LIGHT - frame.mean())))


def test_a_frame_is_of_where_the_lens_is(camera: OpenCVCamera) -> None:
    assert (camera.shape, camera.views) == ((6, 8), 1)
    assert camera.grid == FocusGrid(range(0, 251, 50), "steps")
    assert camera.grid.nearer is None
    for index in (5, 0, 3, 3, 1):
        assert lens_in(camera.capture(index)) == 50 * index


def test_a_frame_that_waited_is_of_before(fake: FakeVideoCapture) -> None:
    with OpenCVCamera(positions=[0.0, 200.0], settle_s=SETTLE_S, queued=0) as hasty:
        time.sleep((BUFFERS + 1) * PERIOD_S)
        assert lens_in(hasty.capture(1)) < 200  # what the fake does to those who drop nothing


def test_linear_frames_stay_as_they_are(fake: FakeVideoCapture) -> None:
    with OpenCVCamera(positions=[0.0, 51.0], settle_s=SETTLE_S, linear=True) as camera:
        assert camera.capture(1).mean() == pytest.approx(0.2)


def test_an_address_says_the_positions(fake: FakeVideoCapture) -> None:
    with open_device("0?low=100&high=0&step=25") as camera:
        assert camera.grid.positions.tolist() == [100, 75, 50, 25, 0]
    fake.opened = True
    with open_device("") as camera:
        assert camera.grid.positions.tolist() == list(range(0, 256, 5))


# Alone


def test_a_webcam_without_a_motor_takes_pictures_for_any_lens(fake: FakeVideoCapture) -> None:
    fake.has_motor = False
    sent: list[float] = []
    lens = FunctionLens(sent.append, (0, 10), "turns")
    with open_source("0") as source:
        camera = PairedCamera(source, lens)
        assert camera.capture_at(2.5).shape == (1, 6, 8)
        assert (sent, len(fake.moves), fake.autofocus) == ([2.5], 2, 1.0)  # its own focus is left alone
        stop = threading.Timer(0.0, source.abort)
        stop.start()
        stop.join()
        assert source().shape == (1, 6, 8)  # nothing ran: nothing happens
        fake.opened = False
        with pytest.raises(CameraError, match="camera 0 sends no frames"):
            camera.capture(3)


# Faults


def test_a_camera_that_is_not_there_is_one_sentence(fake: FakeVideoCapture) -> None:
    fake.opened = False
    with pytest.raises(CameraError, match="OpenCV finds no camera 7"):
        open_device("7")


def test_a_camera_without_a_motor_is_refused_and_released(fake: FakeVideoCapture) -> None:
    fake.has_motor = False
    with pytest.raises(CameraError, match="autofocus of camera 0 cannot be switched off"):
        open_device("0")
    assert not fake.opened


def test_a_camera_that_is_pulled_out_is_one_sentence(fake: FakeVideoCapture, camera: OpenCVCamera) -> None:
    fake.opened = False
    with pytest.raises(CameraError, match="camera 0 sends no frames"):
        camera.capture(1)


def test_what_opencv_raises_is_one_sentence(fake: FakeVideoCapture, camera: OpenCVCamera) -> None:
    fake.fault = "bad\nvalue"
    with pytest.raises(CameraError, match="OpenCV: bad value"):
        camera.capture(1)


def test_another_size_is_found_out(fake: FakeVideoCapture, camera: OpenCVCamera) -> None:
    fake.shape = (3, 4, 3)
    with pytest.raises(CameraError, match=r"a frame of \(3, 4\), and before of \(6, 8\)"):
        camera.capture(1)


def test_frames_of_other_types_are_refused(fake: FakeVideoCapture, camera: OpenCVCamera) -> None:
    fake.kind = np.uint16
    with pytest.raises(CameraError, match="uint16, not of 8 bits"):
        camera.capture(1)


def test_abort_ends_a_running_capture(fake: FakeVideoCapture) -> None:
    with OpenCVCamera(positions=[0.0, 100.0], settle_s=20.0) as camera:
        stop = threading.Timer(0.05, camera.abort)
        stop.start()
        begun = time.monotonic()
        with pytest.raises(CameraError, match="aborted"):
            camera.capture(1)
        stop.join()
        assert time.monotonic() - begun < 5


@pytest.mark.parametrize("address", ["x", "-1", "0?zoom=1", "0?low=x", "?step"])
def test_a_bad_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"opencv:NUMBER\?low=VALUE"):
        open_device(address)


@pytest.mark.parametrize("query", ["step=0", "step=-5", "low=5&high=5", "high=inf", "step=nan", "step=1e-9"])
def test_a_lens_has_positions(query: str) -> None:
    with pytest.raises(InputError, match="a lens has 2 to"):
        open_device(f"0?{query}")
