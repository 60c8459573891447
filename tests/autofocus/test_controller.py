"""A camera within the settings of a run, and how a lens is left."""

import threading

import numpy as np
import pytest

from dioptre.autofocus.autofocus import Autofocus
from dioptre.autofocus.controller import LensController
from dioptre.autofocus.lens_settings import LensMotion
from dioptre.cameras.base import connect
from dioptre.confidence.reasons import Reason, State
from dioptre.errors import InputError
from dioptre.focusing.trace import Act, Step
from dioptre.grid import FocusGrid
from tests.autofocus import lens_world
from tests.autofocus.lens_world import LensCamera

MEASURE = "laplacian-variance"
STAGE = FocusGrid(100.0 - 2.0 * np.arange(49), "um", nearer=False)  # falls, near to far
FOCUSER = FocusGrid(range(0, 4900, 100), "steps", nearer=False)  # rises, near to far


def driven(camera: LensCamera, places: list[int], **motion: object) -> LensController:
    drive = LensController(connect(camera), LensMotion(**motion), threading.Event())  # type: ignore[arg-type]
    try:
        for at in places:
            drive.capture(at)
    finally:
        drive.close()
    return drive


def test_nothing_is_asked_outside_the_limits() -> None:
    camera = LensCamera()
    with pytest.raises(InputError, match="goes to 10 to 20, not to 21"):
        driven(camera, [21], limits=(10, 20))
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


@pytest.mark.parametrize(
    ("backlash", "visited"), [(250, [700, 1000, 2000]), (-250, [1300, 1000, 2300, 2000])]
)
def test_backlash_is_in_steps_and_the_lens_arrives_by_rising_ones_whichever_way_is_near(
    backlash: int, visited: list[int]
) -> None:
    for nearer, places in ((True, [10, 20]), (False, [38, 28])):  # of 49, from far to near
        camera = LensCamera(grid=FocusGrid(FOCUSER.positions, "steps", nearer=nearer))
        driven(camera, places, backlash=backlash)
        assert [camera.grid.positions[one] for one in camera.visited] == visited


def test_backlash_between_positions_reaches_the_next_one_beyond() -> None:
    camera = LensCamera(grid=STAGE)
    driven(camera, [48 - 10], backlash=2.5)  # rises to 80 um
    assert STAGE.positions[camera.visited].tolist() == [76.0, 80.0]


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
    focuser = Autofocus(
        camera, method=MEASURE, start=3, risk=0.05, on_step=lambda one: told.append(one.index)
    )
    result = focuser.run()
    assert told == camera.visited == [one.index for one in result.trace]
    seconds = [one.seconds for one in result.trace]
    assert seconds == sorted(seconds)
    assert all(one.score is not None for one in result.trace)
    assert result.to_json()["trace"][0]["act"] == "look"


# Between positions


def went(camera: LensCamera, places: list[float], **motion: object) -> LensController:
    drive = LensController(connect(camera), LensMotion(**motion), threading.Event())  # type: ignore[arg-type]
    try:
        for at in places:
            drive.capture_at(at)
    finally:
        drive.close()
    return drive


@pytest.mark.parametrize("grid", [STAGE, STAGE.turned()])
def test_a_lens_goes_between_positions_within_its_smallest_move(grid: FocusGrid) -> None:
    camera = lens_world.Continuous(grid=grid)
    drive = went(camera, [50.0, 53.18, 53.21, 51])
    assert camera.places == pytest.approx([50, 53.2, 53.2, 51])
    assert [one.position for one in drive.steps] == camera.places
    assert [one.index for one in drive.steps] == [connect(camera).index_near(one) for one in camera.places]
    assert drive.position == 51


def test_a_lens_that_does_not_goes_to_the_nearest_position() -> None:
    camera = LensCamera(grid=STAGE)
    drive = went(camera, [53.18, 50])
    assert STAGE.positions[camera.visited].tolist() == [54, 50]
    assert [one.position for one in drive.steps] == [54, 50]


@pytest.mark.parametrize(
    ("motion", "places"),
    [
        ({"backlash": 3.0}, [12.0, 15.3, 15.8, 11.0, 14.9]),
        ({"backlash": -3.0}, [19.0, 15.3, 19.0, 15.8, 14.9]),
        ({"backlash": 30.0, "limits": (14, 40)}, [14.0, 15.3, 15.8, 14.0, 14.9]),
        ({"settle": 0.01}, [15.3, 15.3, 15.8, 15.8, 14.9, 14.9]),
    ],
)
def test_between_positions_it_moves_as_its_settings_say(motion: dict, places: list[float]) -> None:
    camera = lens_world.Continuous()
    went(camera, [15.3, 15.8, 14.9], **motion)
    assert camera.places == pytest.approx(places)


def test_between_positions_it_keeps_to_its_limits() -> None:
    camera = lens_world.Continuous()
    with pytest.raises(InputError, match=r"goes to 10 to 20, not to 20\.3"):
        went(camera, [20.3], limits=(10, 20))
    with pytest.raises(InputError, match="positions go from 0 to 48"):
        went(camera, [48.3])
    assert camera.places == []


def test_moves_too_small_for_the_lens_are_none_and_no_frame_is_stale() -> None:
    class Still(lens_world.Continuous):
        def see(self, at: float) -> np.ndarray:
            self.rng = np.random.default_rng(0)
            return super().see(at)

    drive = went(Still(), [15.31, 15.33, 15.28])
    assert [one.act for one in drive.steps] == [Act.LOOK] * 3


def test_where_a_lens_comes_to_stand_it_is_sent_to_again() -> None:
    told = connect(lens_world.Continuous(grid=STAGE))
    for at in np.random.default_rng(0).uniform(4, 100, 300):
        place = told.place(at)
        assert abs(place - at) <= 0.05 + 1e-9
        assert told.place(place) == place
    assert (told.place(4), told.place(100), told.place(99.99)) == (4, 100, 100)


@pytest.mark.parametrize("grid", [STAGE, FOCUSER, FocusGrid([1.0, 2, 7, 7.5], "um"), FocusGrid([3.0], "um")])
def test_the_nearest_position_is_found_whichever_way_they_go(grid: FocusGrid) -> None:
    told = connect(LensCamera(grid=grid))
    low, high = sorted(grid.positions[[0, -1]].tolist())
    for at in np.random.default_rng(1).uniform(low - 1, high + 1, 200):
        assert told.index_near(at) == np.abs(told.grid.positions - at).argmin()


def test_its_users_own_positions_become_the_drivers_between_them_too() -> None:
    camera = lens_world.Continuous(grid=STAGE)  # falls from 100 um by 2
    told = connect(camera, FocusGrid(range(0, 490, 10), "steps", nearer=False))
    assert (told.near_first, told.step) == (True, pytest.approx(0.5))
    told.capture_at(12.7)
    assert told.place(12.7) == pytest.approx(12.5)
    assert camera.places == pytest.approx([97.5])


def test_a_capture_between_positions_is_tried_once_more() -> None:
    class Failing(lens_world.Continuous):
        def capture_at(self, position: float) -> np.ndarray:
            frame = super().capture_at(position)
            if len(self.places) == 1:
                raise RuntimeError("the bus is busy")
            return frame

    drive = went(Failing(), [15.3])
    assert [(one.act, one.position, one.note) for one in drive.steps] == [
        (Act.AGAIN, 15.3, "failed: RuntimeError: the bus is busy"),
        (Act.LOOK, 15.3, ""),
    ]


def test_a_lens_is_sent_back_from_between_positions() -> None:
    camera = lens_world.Continuous()
    drive = LensController(connect(camera), LensMotion(), threading.Event())
    drive.capture_at(15.3)
    assert (drive.at, drive.retreat(15), drive.position) == (15, "", 15)
    drive.close()
    assert camera.places == pytest.approx([15.3, 15])


# In the driver's own order and unit


@pytest.mark.parametrize("grid", [STAGE, STAGE.turned(), FOCUSER, FOCUSER.turned()])
def test_everything_is_told_in_the_drivers_own_order_and_unit(grid: FocusGrid) -> None:
    told: list[Step] = []
    camera = LensCamera(31, grid=grid)
    start = float(grid.positions[40])
    result = Autofocus(camera, method=MEASURE, start=start, risk=0.05, on_step=told.append).run()
    assert result.state is State.FOCUSED
    assert abs(result.index - 31) <= 1
    assert result.grid == grid
    assert result.unit == grid.unit
    apart = abs(float(grid.positions[1] - grid.positions[0]))
    assert result.position == pytest.approx(grid.positions[31], abs=apart)
    assert result.left_at == grid.positions[camera.visited[-1]] == grid.positions[result.index]
    assert [one.index for one in result.trace] == [one.index for one in told] == camera.visited
    assert [one.position for one in result.trace] == grid.positions[camera.visited].tolist()
    assert {one.unit for one in result.trace} == {grid.unit}
    assert set(result.looks) == {grid.positions[one] for one in camera.visited}
    assert int(np.argmax(result.scores)) in (30, 31, 32)
    assert result.trace[-1].answer == pytest.approx(grid.positions[result.index], abs=apart / 2)


def test_a_lens_that_finds_nothing_goes_back_to_its_start_in_its_unit() -> None:
    camera = LensCamera(400, grid=FOCUSER)  # beyond its far end
    result = Autofocus(camera, method=MEASURE, start=1200, risk=0.05).run()
    assert (result.state, result.left_at, result.trace[-1].act) == (State.FAILED, 1200, Act.RETURN)
    assert camera.visited[-1] == result.trace[-1].index == 12


def test_an_expected_error_is_in_the_drivers_unit() -> None:
    slices = Autofocus(LensCamera(31), method=MEASURE, risk=0.05).run()
    steps = Autofocus(LensCamera(31, grid=FOCUSER.turned()), method=MEASURE, risk=0.05).run()
    assert slices.expected_error is not None
    assert steps.expected_error == pytest.approx(100 * slices.expected_error, rel=0.5)


# Limits


@pytest.mark.parametrize("limits", [(20, 40), (40, 20), (0, 31), (31, 48), (19, 27)])
def test_a_run_keeps_to_its_limits_and_says_when_the_focus_lies_beyond(limits: tuple[int, int]) -> None:
    camera = LensCamera(31)
    beyond = limits == (19, 27)
    result = Autofocus(camera, limits=limits, **({} if beyond else {"risk": 0.05})).run()
    assert min(limits) <= min(camera.visited)
    assert max(camera.visited) <= max(limits)
    assert camera.visited[-1] == result.left_at
    if set(limits) == {20, 40}:
        assert abs(result.index - 31) <= 1
    if beyond:
        assert (result.state, result.left_at) == (State.UNCERTAIN, 27)
        assert Reason.PEAK_AT_EDGE in result.reasons


@pytest.mark.parametrize("limits", [(1950, 4020), (4000, 2000)])
@pytest.mark.parametrize("grid", [FOCUSER, FOCUSER.turned()], ids=["near first", "far first"])
def test_limits_are_in_the_lens_s_unit_in_either_order(grid: FocusGrid, limits: tuple[int, int]) -> None:
    camera = LensCamera(grid.index_of(3100), grid=grid)
    result = Autofocus(camera, method=MEASURE, limits=limits, start=2510, risk=0.05).run()
    places = [one.position for one in result.trace]
    assert 2000 <= min(places) <= max(places) <= 4000
    assert result.position == pytest.approx(3100, abs=100)
    lost = LensCamera(4000, grid=grid)
    failed = Autofocus(lost, method=MEASURE, limits=(0, 2000), start=1490, risk=0.05).run()
    assert (failed.state, failed.left_at) == (State.FAILED, 1500)


def test_limits_in_um_are_those_of_the_grid() -> None:
    assert LensMotion().limits_on(STAGE) == (0, 48)
    assert LensMotion(limits=(50.0, 90.9)).limits_on(STAGE) == (5, 25)
    assert LensMotion(limits=(90.9, 50.0)).limits_on(STAGE) == (5, 25)
    assert LensMotion(limits=(50.0, 90.9)).limits_on(STAGE.turned()) == (23, 43)


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ((0, 90), r"limits of a lens are two of its positions: positions go from 100 to 4 \(um\), not to 0"),
        ((50, "x"), r"limits of a lens are two of its positions: a position is a number \(um\), not 'x'"),
        ((50, np.nan), "limits of a lens are two of its positions: .* not nan"),
        ((50, 60, 70), "limits of a lens are two of its positions"),
        (50, "limits of a lens are two of its positions"),
    ],
)
def test_limits_that_are_no_positions_are_refused(limits: object, sentence: str) -> None:
    motion = LensMotion()
    object.__setattr__(motion, "limits", limits)  # past the types that the tests check
    with pytest.raises(InputError, match=sentence):
        motion.limits_on(STAGE)


# Settings


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"settle": -1.0}, "settle is a number of seconds, 0 or more, not -1.0"),
        ({"settle": True}, "settle is a number of seconds, 0 or more, not True"),
        ({"patience": np.inf}, "patience is a number of seconds, 0 or more, not inf"),
        ({"timeout": 0.0}, "timeout is a number of seconds above 0, not 0.0"),
        ({"timeout": np.nan}, "timeout is a number of seconds above 0, not nan"),
        ({"backlash": np.nan}, "backlash is a number in the unit of the lens, not nan"),
        ({"backlash": True}, "backlash is a number in the unit of the lens, not True"),
    ],
)
def test_motion_that_makes_no_sense_is_refused_when_it_is_made(settings: dict, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        LensMotion(**settings)
    with pytest.raises(InputError, match=sentence):
        Autofocus(LensCamera(), **settings)


def test_a_lens_may_be_told_to_stay() -> None:
    camera = LensCamera(400)
    result = Autofocus(camera, method=MEASURE, limits=(5, 15), risk=0.05, on_failure="stay").run()
    assert result.state is State.FAILED
    assert result.trace[-1].act is not Act.RETURN
