"""Cameras by their address."""

import sys
import time
from types import ModuleType

import numpy as np
import pytest

from dioptre.cameras import simulated
from dioptre.cameras.base import Camera, connect
from dioptre.cameras.devices import SCHEMES, open_device
from dioptre.errors import InputError
from dioptre.grid import FocusGrid


def test_an_unknown_scheme_is_a_sentence_that_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"one of replay:STACK, simulated:SEED, .* not 'webcam:0'"):
        open_device("webcam:0")


def test_all_that_the_issue_names_can_be_asked_for() -> None:
    assert list(SCHEMES) == ["replay", "simulated", "indi", "micromanager", "picamera2", "opencv", "pair"]


def test_what_follows_the_first_colon_is_the_adapters_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("dioptre.cameras.indi")
    asked: list[str] = []

    def opened(address: str) -> object:
        asked.append(address)
        return simulated.open_device("2,target,32")

    module.open_device = opened  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dioptre.cameras.indi", module)
    open_device("indi:localhost:7624/CCD Simulator/Focuser")
    open_device("indi")
    assert asked == ["localhost:7624/CCD Simulator/Focuser", ""]


def test_a_simulated_one_is_opened_and_closed() -> None:
    with open_device("simulated:2,target,32") as camera:
        assert isinstance(camera, Camera)
        told = connect(camera)
        assert told.clock() == 0.0
        camera.capture(3)
        assert told.clock() == camera.seconds > 0
        assert (told.grid, told.near_first) == (camera.grid, False)
        told.abort()  # which nobody waits for


def test_what_a_camera_may_have_is_told_by_its_attributes() -> None:
    class Focuser:
        grid, views, shape, where = FocusGrid([0.0, 100.0], "steps"), 1, (8, 8), None
        aborted = False

        def capture(self, _index: int) -> np.ndarray:
            return np.zeros((1, 8, 8), np.float32)

        def abort(self) -> None:
            self.aborted = True

    focuser = Focuser()
    told = connect(focuser)
    assert told.grid is focuser.grid
    assert told.clock() == pytest.approx(time.monotonic(), abs=60)
    told.abort()
    assert focuser.aborted
    assert connect(told) is told


@pytest.mark.parametrize("nearer", [True, False, None])
def test_who_connects_a_camera_counts_from_far_to_near_whichever_way_its_driver_does(
    nearer: bool | None,
) -> None:
    class Stage:
        grid, views, shape, where = FocusGrid([3.0, 5.0, 9.0], "um", nearer=nearer), 1, (8, 8), None

        def capture(self, index: int) -> np.ndarray:
            return np.full((1, 8, 8), self.grid.positions[index] / 10, np.float32)

    told = connect(Stage())
    assert told.near_first is (nearer is False)
    assert told.grid.positions.tolist() == ([9.0, 5.0, 3.0] if nearer is False else [3.0, 5.0, 9.0])
    assert told.grid.far_to_near
    for index, position in enumerate(told.grid.positions):
        np.testing.assert_allclose(told.capture(index), position / 10, rtol=1e-6)


def test_what_its_user_knows_of_a_camera_s_grid_counts_more() -> None:
    with open_device("simulated:2,target,32") as camera:
        told = connect(camera, FocusGrid(range(49), "steps", nearer=False))
        assert (told.grid.unit, told.near_first, told.grid.positions[0]) == ("steps", True, 48)
        told.capture(0)
        assert camera.visited == [48]
