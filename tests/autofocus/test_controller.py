"""A camera within the rules of a run, and how a lens is left."""

import threading

import numpy as np
import pytest

from dioptre.autofocus.autofocus import Autofocus
from dioptre.autofocus.controller import LensController, Rules
from dioptre.cameras.base import connect
from dioptre.confidence.reasons import Reason, State
from dioptre.errors import InputError
from dioptre.focusing.trace import Act
from tests.autofocus.lens_world import LensCamera

MEASURE = "laplacian-variance"


def driven(camera: LensCamera, places: list[int], **rules: object) -> LensController:
    drive = LensController(connect(camera), Rules(**{"limits": (0, 48), **rules}), threading.Event())  # type: ignore[arg-type]
    try:
        for at in places:
            drive.capture(at)
    finally:
        drive.close()
    return drive


def test_nothing_is_asked_outside_the_limits() -> None:
    camera = LensCamera()
    drive = LensController(connect(camera), Rules((10, 20)), threading.Event())
    with pytest.raises(InputError, match=r"goes to 10\.\.20, not to 21"):
        drive.capture(21)
    drive.close()
    assert camera.visited == []


@pytest.mark.parametrize(
    ("backlash", "visited"),
    [(0, [20, 30, 25, 25]), (3, [17, 20, 30, 22, 25, 25]), (-3, [23, 20, 33, 30, 25, 25])],
)
def test_the_lens_arrives_from_one_side(backlash: int, visited: list[int]) -> None:
    camera = LensCamera()
    drive = driven(camera, [20, 30, 25, 25], backlash=backlash)
    assert camera.visited == visited
    assert [one.index for one in drive.steps if one.act is Act.LOOK] == [20, 30, 25, 25]


def test_a_way_round_stays_within_the_limits() -> None:
    camera = LensCamera()
    driven(camera, [20, 11, 10], backlash=5, limits=(10, 40))
    assert camera.visited == [15, 20, 10, 11, 10]


def test_a_camera_that_says_too_early_that_it_has_settled_is_asked_again() -> None:
    camera = LensCamera()
    drive = driven(camera, [20, 20, 30], settle=0.01)
    assert camera.visited == [20, 20, 20, 30, 30]
    assert [one.act for one in drive.steps] == [Act.SETTLE, Act.LOOK, Act.LOOK, Act.SETTLE, Act.LOOK]


def test_every_step_is_told_once_and_in_order() -> None:
    told: list[int] = []
    camera = LensCamera()
    result = Autofocus(camera, MEASURE, start=3, risk=0.2, on_step=lambda one: told.append(one.index)).run()
    assert told == camera.visited == [one.index for one in result.trace]
    seconds = [one.seconds for one in result.trace]
    assert seconds == sorted(seconds)
    assert all(one.score is not None for one in result.trace)
    assert result.to_json()["trace"][0]["act"] == "sweep"


def test_the_driver_s_own_numbers_are_told() -> None:
    class Stage(LensCamera):
        positions, unit = 100.0 * np.arange(49), "steps"

    result = Autofocus(Stage(), MEASURE, risk=0.2).run()
    assert result.lens_position == pytest.approx(3100, abs=100)
    assert (result.unit, result.trace[0].position) == ("steps", 100.0 * result.trace[0].index)


@pytest.mark.parametrize("limits", [(20, 40), (0, 31), (31, 48), (19, 27)])
def test_a_run_keeps_to_its_limits_and_says_when_the_focus_lies_beyond(limits: tuple[int, int]) -> None:
    camera = LensCamera(31)
    result = Autofocus(camera, MEASURE, limits=limits, risk=0.2).run()
    assert limits[0] <= min(camera.visited)
    assert max(camera.visited) <= limits[1]
    assert camera.visited[-1] == result.left_at
    if limits == (20, 40):
        assert abs(result.index - 31) <= 1
    if limits == (19, 27):
        assert (result.state, result.left_at) == (State.FAILED, 23)
        assert Reason.PEAK_AT_EDGE in result.reasons


def test_a_lens_may_be_told_to_stay() -> None:
    camera = LensCamera(31)
    result = Autofocus(camera, MEASURE, limits=(5, 15), risk=0.2, on_failure="stay").run()
    assert result.state is State.FAILED
    assert result.trace[-1].act is not Act.RETURN
