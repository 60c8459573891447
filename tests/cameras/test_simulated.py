"""A simulated phone as a camera: the contract, and a lens that strays as voice coils do."""

from dataclasses import replace

import numpy as np
import pytest

from dioptre.cameras.base import Camera
from dioptre.cameras.simulated import FRAME_S, SETTLE_S, SimulatedCamera, draw_camera, open_device
from dioptre.errors import InputError
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.simulate.capture import Conditions
from dioptre.simulate.lens import Actuator, VoiceCoil
from tests.cameras.contract import CameraContract

PIXEL3 = CameraModel.pixel3()


@pytest.fixture(scope="module")
def drawn() -> SimulatedCamera:
    return draw_camera(3, size=32, target=True)


class TestSimulated(CameraContract):
    repeats = False

    @pytest.fixture(params=[2, 1], ids=["two views", "green"])
    def camera(self, request: pytest.FixtureRequest, drawn: SimulatedCamera) -> SimulatedCamera:
        drawn.views = request.param
        return drawn

    def position_of(self, camera: Camera) -> object:
        assert isinstance(camera, SimulatedCamera)
        return list(camera.visited)

    def lens_at(self, camera: Camera) -> float | None:
        assert isinstance(camera, SimulatedCamera)
        return float(camera.visited[-1])


def test_between_positions_it_is_focused_between_them() -> None:
    camera = draw_camera(5, conditions=Conditions.exact(), size=32, target=True)
    focus = []
    for at in (20, 20.5, 21):
        camera.capture_at(at)
        focus.append(camera.focus)
    assert focus[1] == pytest.approx((focus[0] + focus[2]) / 2, abs=0.01)
    assert camera.visited == [20, 20.5, 21]


def test_the_same_seed_is_the_same_camera() -> None:
    one, other = (draw_camera(5, size=32, target=True) for _ in range(2))
    np.testing.assert_array_equal(one.capture(20), other.capture(20))


def test_time_is_counted_and_nobody_waits(drawn: SimulatedCamera) -> None:
    drawn.capture(10)
    drawn.seconds = 0.0
    drawn.capture(12)
    assert drawn.seconds == pytest.approx(FRAME_S + SETTLE_S)
    drawn.capture(12)
    assert drawn.seconds == pytest.approx(2 * FRAME_S + SETTLE_S)


def test_it_is_sharpest_where_it_says() -> None:
    camera = draw_camera(1, conditions=Conditions.exact(), target=True, size=64)
    detail = [float(np.abs(np.diff(camera.capture(at).mean(axis=0))).mean()) for at in range(49)]
    assert abs(int(np.argmax(detail)) - camera.truth) <= 1.5


def test_another_stage_may_be_put_before_it(drawn: SimulatedCamera) -> None:
    before = drawn.stage
    drawn.stage = draw_camera(8, size=32, target=True).stage
    there = drawn.capture(24)
    drawn.stage = before
    assert abs(float(drawn.capture(24).mean()) - float(there.mean())) > 1e-4


@pytest.mark.parametrize("address", ["x", "1,blue", "1,33", "1,64,64", "-1", "1,9999999", "1.5"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="a simulated camera is a seed"):
        open_device(address)


def test_an_address_says_what_it_is() -> None:
    with open_device("7,dark,green,exact,target,32") as camera:
        assert (camera.views, camera.shape) == (1, (32, 32))
        assert camera.lens.actuator == Actuator.exact()


# The lens


def test_a_lens_that_is_exact_goes_where_it_is_told() -> None:
    lens = VoiceCoil(PIXEL3, Actuator.exact(), 0.0, np.random.default_rng(0))
    for at in (0, 30, 10, 48):
        assert lens.move(at, 1.0) == pytest.approx(float(PIXEL3.grid.dioptres[at]))


def test_it_lags_by_its_play_on_either_way() -> None:
    lens = VoiceCoil(PIXEL3, replace(Actuator.exact(), play_um=1.5), 0.0, np.random.default_rng(0))
    lens.move(0, 1.0)
    up = lens.move(24, 1.0)
    lens.move(48, 1.0)
    down = lens.move(24, 1.0)
    assert up < lens.rest(24) < down
    assert (down - up) / float(np.diff(PIXEL3.grid.dioptres).mean()) == pytest.approx(3.0 / 4.1, rel=0.1)


def test_a_move_rings_and_dies_down() -> None:
    still = Actuator.exact()
    errors = []
    for wait in (0.0, 0.0125, 0.025, 0.05, 0.1):
        lens = VoiceCoil(PIXEL3, still, 0.0, np.random.default_rng(0))
        lens.move(0, 1.0)
        errors.append(abs(lens.move(40, wait) - lens.rest(40)))
    assert errors[0] == pytest.approx(float(np.ptp(PIXEL3.grid.dioptres[[0, 40]])))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.01 * errors[0]
    again = [abs(lens.move(40, 0.1) - lens.rest(40)) for _ in range(2)]
    assert again[1] < again[0] < errors[-1]


def test_gravity_and_bias_stay_for_all_moves() -> None:
    lens = VoiceCoil(
        PIXEL3, Actuator(jitter_um=0.0, play_um=0.0, settling_s=0.0), 1.0, np.random.default_rng(1)
    )
    moves = [lens.move(at, 0.0) - lens.rest(at) for at in (3, 40, 3)]
    assert moves == pytest.approx([0.0] * 3, abs=1e-12)
    assert lens.offset_um != 0.0


def test_another_make_has_its_own_grid() -> None:
    make = CameraModel(16.0, 4.0, 3.45, (256, 256), FocusGrid.uniform(1.0, 0.4, 9), name="mine")
    camera = draw_camera(0, make=make, size=32, target=True)
    assert len(camera.grid) == 9
    assert camera.where is None
