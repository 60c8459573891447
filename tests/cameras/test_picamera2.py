"""A Raspberry Pi camera, against a fake that keeps Picamera2's call order and delays: there is none here."""

import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from dioptre.cameras.base import Camera
from dioptre.cameras.pair import FunctionLens, PairedCamera
from dioptre.cameras.picamera2 import PiCamera, open_device, open_source
from dioptre.errors import CameraError, CameraTimeoutError, InputError, MissingExtraError
from dioptre.grid import FocusGrid
from tests.cameras.contract import CameraContract
from tests.cameras.fake_picamera2 import (
    COLS,
    LATE,
    NEAREST,
    PERIOD_S,
    ROWS,
    TRAVEL,
    FakePicamera2,
    controls,
    lens_to_pixel,
)

SETTLE_S = (LATE + TRAVEL + 1) * PERIOD_S


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakePicamera2]:
    fake = FakePicamera2()

    def opened(number: int) -> FakePicamera2:
        if number > 0:
            raise IndexError("list index out of range")
        return fake

    monkeypatch.setitem(sys.modules, "picamera2", SimpleNamespace(Picamera2=opened))
    monkeypatch.setitem(sys.modules, "libcamera", SimpleNamespace(controls=controls))
    yield fake
    assert fake.out == 0, "every request is released"


@pytest.fixture
def camera(fake: FakePicamera2) -> Iterator[PiCamera]:
    with PiCamera(step_dioptres=1.0, settle_s=SETTLE_S, timeout_s=0.3) as camera:
        yield camera
    assert fake.state == "closed"


class TestPiCamera(CameraContract):
    @pytest.fixture
    def camera(self, fake: FakePicamera2) -> Iterator[PiCamera]:
        assert fake.state == "open"
        with PiCamera(step_dioptres=3.0, settle_s=SETTLE_S, timeout_s=0.3) as camera:
            yield camera

    def position_of(self, camera: Camera) -> object:
        assert isinstance(camera, PiCamera)
        return camera._source._camera.moves[-1]

    def lens_at(self, camera: Camera) -> float | None:
        assert isinstance(camera, PiCamera)
        return camera._source._camera.moves[-1][1]


def test_positions_are_dioptres_from_infinity_to_near(camera: PiCamera) -> None:
    assert camera.grid == FocusGrid(range(16), "dioptres")
    assert camera.grid.dioptres.tolist() == list(range(16))
    assert camera.grid.nearer is True
    assert (camera.shape, camera.views) == ((ROWS // 2, COLS // 2), 1)


def test_a_frame_is_green_less_black_of_where_the_lens_truly_is(camera: PiCamera) -> None:
    for index in (15, 0, 7):
        frame = camera.capture(index)
        assert frame == pytest.approx(lens_to_pixel(float(index)), abs=1e-3)


def test_a_lens_that_is_given_no_time_is_seen_on_its_way(fake: FakePicamera2) -> None:
    fake.travel = 10_000
    with PiCamera(step_dioptres=1.0, settle_s=0.0, timeout_s=5.0) as hasty:
        frame = hasty.capture(0)
        assert hasty.metadata["LensPosition"] == pytest.approx(0.0, abs=0.05)  # the control did apply
        assert frame.mean() > lens_to_pixel(0.0) + 0.01  # but the fake's lens had not arrived


def test_exposure_is_held_once_it_has_settled(fake: FakePicamera2, camera: PiCamera) -> None:
    assert fake.held == {"AeEnable": False, "ExposureTime": 3000, "AnalogueGain": 2.0}


def test_the_mode_that_sees_all_with_the_fewest_pixels_is_used(fake: FakePicamera2, camera: PiCamera) -> None:
    assert fake.config["raw"]["size"] == (COLS, ROWS)


# Faults


def test_a_camera_without_a_motor_takes_pictures_for_any_lens(fake: FakePicamera2) -> None:
    fake.has_motor = False
    sent: list[float] = []
    with open_source("0") as source:
        camera = PairedCamera(source, FunctionLens(sent.append, (0, 10), "turns"))
        assert camera.capture_at(2.5) == pytest.approx(lens_to_pixel(1.0), abs=1e-3)
        assert (sent, len(fake.moves)) == ([2.5], 1)
        fake.fault = ""
        source.abort()  # nothing runs: nothing happens
        assert source().shape == (1, ROWS // 2, COLS // 2)
    assert fake.state == "closed"


def test_its_lens_moves_for_any_camera(fake: FakePicamera2, camera: PiCamera) -> None:
    paired = PairedCamera(lambda: np.full((8, 8), fake.moves[-1][1] / NEAREST, np.float32), camera)
    assert (paired.grid.unit, paired.grid.positions[-1]) == ("dioptres", NEAREST)
    assert paired.capture_at(3.3).mean() == pytest.approx(3.3 / NEAREST)


def test_a_lens_that_sticks_is_a_timeout_and_may_be_tried_again(
    fake: FakePicamera2, camera: PiCamera
) -> None:
    fake.stuck = True
    with pytest.raises(CameraTimeoutError, match=r"sent to 9 dioptres and stands at 1\.01"):
        camera.capture(9)
    fake.stuck = False
    assert camera.capture(9) == pytest.approx(lens_to_pixel(9.0), abs=1e-3)


def test_a_camera_that_sends_nothing_is_a_timeout(fake: FakePicamera2, camera: PiCamera) -> None:
    fake.stalled = True
    with pytest.raises(CameraTimeoutError, match=r"no frame in 0\.3 s"):
        camera.capture(3)
    fake.stalled = False
    assert camera.capture(3).shape == (1, ROWS // 2, COLS // 2)


def test_abort_ends_a_running_capture(fake: FakePicamera2) -> None:
    with PiCamera(settle_s=0.0, timeout_s=20.0) as camera:
        fake.stalled = True
        stop = threading.Timer(0.05, camera.abort)
        stop.start()
        begun = time.monotonic()
        with pytest.raises(CameraError, match="aborted"):
            camera.capture(0)
        stop.join()
        assert time.monotonic() - begun < 5
        fake.stalled = False
        camera.abort()  # nothing runs: nothing happens
        camera.capture(0)


def test_what_the_driver_raises_is_one_sentence(fake: FakePicamera2, camera: PiCamera) -> None:
    fake.fault = "the cable\n has come off"
    with pytest.raises(CameraError, match="Picamera2: the cable has come off"):
        camera.capture(0)


def test_a_camera_without_a_motor_is_refused_and_closed(fake: FakePicamera2) -> None:
    fake.has_motor = False
    with pytest.raises(CameraError, match="cannot be moved"):
        open_device("")
    assert fake.state == "closed"


def test_packed_frames_are_refused(fake: FakePicamera2) -> None:
    fake.raw_format = "BGGR16_PISP_COMP1"
    with pytest.raises(CameraError, match="only as BGGR16_PISP_COMP1"):
        open_device("0")


def test_a_camera_that_is_not_there_is_one_sentence(fake: FakePicamera2) -> None:
    with pytest.raises(CameraError, match="no Raspberry Pi camera 3"):
        open_device("3")


@pytest.mark.parametrize("address", ["x", "-1", "0?zoom=1", "0?step=x"])
def test_a_bad_address_is_refused(fake: FakePicamera2, address: str) -> None:
    with pytest.raises(InputError, match=r"picamera2:NUMBER\?step=DIOPTRES"):
        open_device(address)


@pytest.mark.parametrize("step", ["0", "-1", "nan", "1e-9", str(3 * NEAREST)])
def test_a_lens_has_steps(fake: FakePicamera2, step: str) -> None:
    with pytest.raises(InputError, match="a lens that goes from 0 to 15 dioptres has no steps of"):
        open_device(f"?step={step}")


def test_without_picamera2_it_is_said_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "picamera2", None)
    with pytest.raises(MissingExtraError, match=r"dioptre\[picamera2\]"):
        open_device("")
