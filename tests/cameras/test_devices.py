"""Cameras by their address."""

import sys
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
    assert list(SCHEMES) == ["replay", "simulated", "indi", "micromanager", "picamera2", "opencv"]


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
        assert told.positions is None
        assert told.unit is None
        told.abort()  # which nobody waits for


def test_what_a_camera_may_have_is_told_by_its_attributes() -> None:
    class Focuser:
        grid, views, shape, where = FocusGrid.unknown(2), 1, (8, 8), None
        positions, unit = np.array([0.0, 100.0]), "steps"
        aborted = False

        def capture(self, _index: int) -> np.ndarray:
            return np.zeros((1, 8, 8), np.float32)

        def abort(self) -> None:
            self.aborted = True

    focuser = Focuser()
    told = connect(focuser)
    assert told.positions is not None
    assert told.positions.tolist() == [0.0, 100.0]
    assert told.unit == "steps"
    told.abort()
    assert focuser.aborted
    assert connect(told) is told
