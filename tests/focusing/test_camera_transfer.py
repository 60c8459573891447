"""Looks and stacks of a camera that the networks do not know: positions in and out in its own unit."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dioptre.autofocus import autofocus
from dioptre.autofocus.autofocus import Autofocus
from dioptre.cameras.blur_units import WINDOW, BlurSteps, StepWindow
from dioptre.cameras.camera_files import CameraOptics, describe
from dioptre.cameras.replay import ReplayCamera
from dioptre.confidence.reasons import Reason, State
from dioptre.confidence.verdict import Candidate, Verdict
from dioptre.errors import DioptreError
from dioptre.focusing import focus
from dioptre.focusing.camera_transfer import nearest_slices, on_grid
from dioptre.focusing.focus import focus_from
from dioptre.focusing.result import FocusResult
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS
from dioptre.methods.base import ANY, WHOLE, Method
from dioptre.optics import STEP_PX, CameraModel
from dioptre.problem import Problem
from dioptre.stack import FocalStack
from tests.fakes import Probable

# Two steps a count, and nearer with fewer.
STAGE = CameraOptics(growth_px=-2 * STEP_PX, unit="counts", travel=(400.0, 100.0))
WAY = STAGE.grid()  # every half count
SIZE = 64
RAMP = 1e-4  # by which a frame brightens from column to column: it tells how much it was shrunk


@pytest.fixture(autouse=True)
def at_any_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pictures here are flat; where the lens goes is tested, and not how sure that is."""
    for room in (focus, autofocus):
        monkeypatch.setattr(room, "check_risk", lambda _risk: 1.0)
    monkeypatch.setattr("dioptre.confidence.verdict.nothing_to_answer", lambda *_: ())


class Ruler(Probable):
    """Reads off each look how many steps away the focus is, which the look's brightness says."""

    seen: FocalStack | None = None
    smallest = 32
    is_network = True

    def refusal(self, grid: FocusGrid, shape: tuple[int, int], _views: int) -> str | None:
        if len(grid) != WINDOW:
            return f"knows {WINDOW} positions, not {len(grid)}"
        small = min(shape) < self.smallest
        return f"needs patches of {self.smallest} pixels or more, not {shape}" if small else None

    def logits(self, stack: FocalStack) -> np.ndarray:
        Ruler.seen = stack
        shrunk = float(np.diff(stack.pixels, axis=4).mean()) / RAMP
        light = stack.pixels.mean(axis=(2, 3, 4)) - RAMP * (shrunk * stack.shape[1] - 1) / 2
        answer = (stack.indices + (light - 0.5) * 1000 / shrunk).mean(axis=1)[:, None]
        return -4 * (np.arange(-1, WINDOW + 1) - np.clip(answer, -1, WINDOW)) ** 2


def frame(steps: float) -> np.ndarray:
    """Returns a look at something so many steps nearer."""
    return np.tile(0.5 + steps / 1000 + RAMP * np.arange(SIZE), (SIZE, 1))


def look(at: float, subject: float, grid: FocusGrid = WAY) -> np.ndarray:
    steps = BlurSteps(grid)
    return frame(float(steps.position_to_step(subject)) - float(steps.position_to_step(at)))


def ask(at: float, subject: float, grid: FocusGrid = WAY, **arguments: object) -> FocusResult:
    return focus_from(look(at, subject, grid), at, Ruler(), grid=grid, **arguments)


@pytest.mark.parametrize("subject", [241.0, 250.0, 257.5])
def test_an_answer_is_in_the_camera_s_own_unit(subject: float) -> None:
    found = ask(250.0, subject)
    assert found.position == pytest.approx(subject, abs=0.15)
    assert (found.unit, found.looks, found.state, found.reasons) == ("counts", (250.0,), State.FOCUSED, ())
    assert (found.dioptres, found.grid) == (None, WAY)
    assert found.index == np.abs(WAY.positions - found.position).argmin()
    assert abs(int(found.scores.argmax()) - found.index) <= 1
    assert found.verdict.expected_error is not None
    assert found.expected_error == pytest.approx(found.verdict.expected_error / 2)
    plain = found.to_json(full=True)
    assert (plain["unit"], len(plain["positions"])) == ("counts", len(plain["scores"]))


def test_a_way_that_runs_near_to_far_is_answered_in_its_own_order() -> None:
    found, turned = ask(250.0, 257.5), ask(250.0, 257.5, WAY.turned())
    assert turned.position == pytest.approx(found.position)
    assert (turned.index, turned.looks) == (len(WAY) - 1 - found.index, (250.0,))
    assert turned.grid == WAY.turned()
    np.testing.assert_allclose(turned.scores, found.scores[::-1])
    assert turned.expected_error == pytest.approx(found.expected_error)


def test_a_network_is_told_neither_ladder_nor_place() -> None:
    ask(250.0, 250.0, roi=(0, 0, 40, 40))
    assert Ruler.seen is not None
    assert not Ruler.seen.grid.known
    assert Ruler.seen.where is None
    assert Ruler.seen.indices.tolist() == [[24]]


def test_a_thin_lens_answers_in_dioptres_and_metres() -> None:
    camera = CameraModel.pixel3()
    at = float(camera.grid.dioptres[10])
    found = focus_from(look(at, 4.0, describe(camera).grid()), at, Ruler(), grid=camera)
    assert found.dioptres == found.position == pytest.approx(4.0, abs=0.03)
    assert found.unit == "dioptres"
    assert found.distance_m == pytest.approx(0.25, abs=0.002)


def test_slices_through_a_camera_in_dioptres_are_answered_as_slices() -> None:
    camera = CameraModel.pixel3()
    grid = FocusGrid(range(49), "slice", camera.grid.dioptres, camera=camera)
    found = focus_from(look(20.0, 23.0, grid), 20, Ruler(), grid=grid)
    assert (found.unit, found.index, found.looks) == ("slice", 23, (20,))
    assert found.dioptres == pytest.approx(camera.grid.dioptres[23], abs=0.03)


@pytest.mark.parametrize(("subject", "reason"), [(270.0, Reason.BEYOND_FAR), (230.0, Reason.BEYOND_NEAR)])
def test_what_a_look_cannot_tell_lies_beyond_on_its_side(subject: float, reason: Reason) -> None:
    small = {"roi": (0, 0, 32, 32)}  # too small to be shown smaller
    assert ask(250.0, subject, **small).reasons == (reason,)


def test_a_large_region_is_shown_smaller_to_see_farther() -> None:
    found = ask(250.0, 270.0)
    assert Ruler.seen is not None
    assert Ruler.seen.shape == (32, 32)
    assert (found.state, found.looks) == (State.FOCUSED, (250.0,))
    assert found.position == pytest.approx(270.0, abs=0.6)
    assert ask(250.0, 390.0).reasons == (Reason.BEYOND_FAR,)


def test_an_error_in_steps_of_a_window_is_one_in_the_unit_of_the_grid() -> None:
    window = StepWindow.around(BlurSteps(WAY, coarser=2.0), np.array([250.0]))  # a step is one count
    at = int(np.abs(window.grid.positions - 250.0).argmin())
    verdict = Verdict(State.FOCUSED, 0.9, (), expected_error=0.3, candidates=(Candidate(at, 1.0),))
    scores = -np.abs(window.grid.positions - 250.0)
    found = on_grid(FocusResult(float(at), verdict, scores, window.grid, "any"), WAY)
    assert (found.position, found.index) == (pytest.approx(250.0), WAY.index_of(250.0))
    assert found.expected_error == pytest.approx(0.3)
    assert found.verdict.expected_error == pytest.approx(0.6)
    assert found.verdict.candidates == (Candidate(found.index, 1.0),)
    assert int(found.scores.argmax()) == found.index


class Torn(Ruler):
    """Sees that the focus is beyond a window and not on which side; nearer than that, it knows."""

    def logits(self, stack: FocalStack) -> np.ndarray:
        logits = super().logits(stack)
        return np.logaddexp(logits, logits[:, ::-1]) if logits.argmax() in (0, WINDOW + 1) else logits


def test_a_focus_beyond_either_end_is_sought_in_a_smaller_picture() -> None:
    frame = look(250.0, 270.0)
    found = focus_from(frame, 250.0, Torn(), grid=WAY)
    assert (found.state, found.position) == (State.FOCUSED, pytest.approx(270.0, abs=0.6))
    torn = focus_from(frame, 250.0, Torn(), grid=WAY, roi=(0, 0, 32, 32))
    assert torn.reasons == (Reason.AMBIGUOUS,)
    at = WAY.index_of(250.0)  # candidates are positions of the lens, and not of the window
    assert {one.index for one in torn.verdict.candidates} == {at - WINDOW // 2, at + WINDOW // 2}
    assert {one["position"] for one in torn.to_json()["candidates"]} == {238.0, 262.0}


def test_the_end_of_the_travel_is_the_last_answer() -> None:
    found = ask(250.0, 240.0, replace(STAGE, travel=(252.0, 248.0)).grid())
    assert found.reasons == (Reason.BEYOND_NEAR,)
    assert found.position == pytest.approx(248.0, abs=1e-6)
    assert (found.index, len(found.scores)) == (8, 9)


def test_several_looks_share_a_window() -> None:
    looks = [(look(at, 247.0), at) for at in (255.0, 250.0)]
    found = focus_from(looks, method=Ruler(), grid=WAY)
    assert found.looks == (255.0, 250.0)
    assert found.position == pytest.approx(247.0, abs=0.15)
    assert Ruler.seen is not None
    far, near = Ruler.seen.indices[0]
    assert near - far == 10
    apart = [(look(at, 247.0), at) for at in (300.0, 200.0)]
    with pytest.raises(DioptreError, match="looks lie 200 steps apart, and Ruler sees 49 at a time"):
        focus_from(apart, method=Ruler(), grid=WAY)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"at": 500.0, "grid": WAY}, r"positions go from 400 to 100 \(counts\), not to 500"),
        ({"at": True, "grid": WAY}, r"a position is a number \(counts\), not True"),
        ({"at": 250.0, "grid": "nonesuch.toml"}, r"there is no camera 'nonesuch\.toml'"),
        ({"at": 250.0, "grid": WAY, "roi": (0, 0, 20, 20)}, "patches of 32 pixels or more"),
        ({"at": 250.0, "grid": FocusGrid(WAY.positions, "counts")}, "Ruler is a network and must know where"),
        (
            {"at": 250.0, "grid": replace(STAGE, sharp_px=2.0).grid()},
            r"not \(13, 13\) \(shrunk to 0\.22, as the lens is so soft\)",
        ),
    ],
)
def test_what_cannot_be_used_is_said_in_one_sentence(arguments: dict, sentence: str) -> None:
    with pytest.raises(DioptreError, match=sentence) as caught:
        focus_from(frame(0), method=Ruler(), **arguments)
    assert "\n" not in str(caught.value)


# The camera that is assumed


def test_a_network_without_a_camera_says_that_it_assumed_one() -> None:
    assumed = focus_from(frame(3), 20, Ruler())
    assert (assumed.reasons, assumed.state) == ((Reason.ASSUMED_CAMERA,), State.FOCUSED)
    assert (assumed.unit, assumed.looks) == ("slice", (20,))
    assert focus_from(frame(3), 20, Ruler(), grid=FocusGrid.learnaf()).reasons == ()
    assert focus_from(frame(3), FocusGrid.learnaf().dioptres[20], Ruler(), grid="pixel3").reasons == ()


def test_only_networks_assume_a_camera(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ruler, "is_network", False)
    assert Reason.ASSUMED_CAMERA not in focus_from(frame(3), 20, Ruler()).reasons


# Whole stacks


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    class Family:
        def build(self, _key: str) -> Ruler:
            return Ruler()

        def scores(self, stack: FocalStack, keys: list[str]) -> dict[str, np.ndarray]:
            return {key: Ruler().scores(stack) for key in keys}

    for key, looks, problem in (("any", ANY, Problem.SINGLE_GREEN), ("whole", WHOLE, Problem.STACK_GREEN)):
        monkeypatch.setitem(METHODS, key, Method(key, key, problem, Family(), "test", looks=looks))


def grid_of(positions: np.ndarray) -> FocusGrid:
    return FocusGrid(positions, "counts", camera=STAGE)


def stack_of(positions: np.ndarray, subject: float) -> np.ndarray:
    return np.stack([look(float(at), subject) for at in positions])


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("apart", [0.35, 0.5, 0.9])
def test_a_stack_may_have_slices_anywhere(apart: float, order: int) -> None:
    positions = (262.0 - apart * np.arange(int(23 / apart)))[::order]
    found = focus.focus(stack_of(positions, 251.0), "any", grid=grid_of(positions))
    assert found.position == pytest.approx(251.0, abs=0.3)
    assert found.index == np.abs(positions - found.position).argmin()
    assert np.interp(found.subindex, np.arange(len(positions)), positions) == pytest.approx(found.position)
    np.testing.assert_array_equal(found.grid.positions, positions)
    assert (len(found.scores), found.unit, found.looks) == (len(positions), "counts", ())
    assert abs(int(found.scores.argmax()) - found.index) <= 1


@pytest.mark.usefixtures("rows")
def test_a_long_stack_is_seen_from_coarse_to_fine() -> None:
    positions = 280.0 - 0.5 * np.arange(80)  # 79 steps
    found = focus.focus(stack_of(positions, 265.0), "any", grid=grid_of(positions))
    assert found.position == pytest.approx(265.0, abs=0.3)
    assert Ruler.seen is not None
    assert Ruler.seen.shape == (SIZE, SIZE)
    with pytest.raises(
        DioptreError, match="span 79 steps, and in a region of 40 x 40 pixels any sees too few"
    ):
        focus.focus(stack_of(positions, 265.0), "any", grid=grid_of(positions), roi=(0, 0, 40, 40))


@pytest.mark.usefixtures("rows")
def test_a_long_stack_is_seen_to_the_finest_though_nobody_is_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(focus, "check_risk", lambda _risk: 1e-9)
    positions = 280.0 - 0.5 * np.arange(80)
    found = focus.focus(stack_of(positions, 265.0), "any", grid=grid_of(positions))
    assert (found.state, found.position) == (State.UNCERTAIN, pytest.approx(265.0, abs=0.3))
    assert Ruler.seen is not None
    assert Ruler.seen.shape == (SIZE, SIZE)


@pytest.mark.usefixtures("rows")
def test_a_network_of_whole_stacks_wants_every_step() -> None:
    positions = 262.0 - 0.4 * np.arange(61)
    found = focus.focus(stack_of(positions, 251.0), "whole", grid=grid_of(positions))
    assert found.position == pytest.approx(251.0, abs=0.3)
    assert Ruler.seen is not None
    assert Ruler.seen.indices.tolist() == [list(range(WINDOW))]
    with pytest.raises(DioptreError, match="needs a slice at each of 49 steps, and here there are only"):
        focus.focus(stack_of(positions[:40], 251.0), "whole", grid=grid_of(positions[:40]))


def test_slices_are_shown_where_they_are() -> None:
    window = StepWindow(BlurSteps(WAY), 0.0)
    places = np.array([0.1, 0.4, 2.2, 7.05, 90.0])
    positions = np.asarray(window.steps.step_to_position(places))
    slices, indices = nearest_slices(window, positions, every_step=False)
    assert dict(zip(indices.tolist(), slices.tolist(), strict=True)) == {0: 0, 2: 2, 7: 3}
    slices, indices = nearest_slices(window, positions, every_step=True)
    assert indices.tolist() == [0, 1, 2, 3, 7, 8]


@pytest.mark.parametrize(
    ("positions", "unit", "sentence"),
    [
        (WAY.positions, "counts", "3 slices, but 601 positions"),
        ([101.0, 102.0], "counts", "3 slices, but 2 positions"),
        ([101.0, 103.0, 102.0], "counts", "must rise or fall"),
        ([398.0, 400.0, 402.0], "counts", r"from 400 \(far\) to 100 \(near\) counts, not to 402"),
        ([1.0, 2.0, 3.0], "dioptres", "camera counts in counts: positions in dioptres say nothing of it"),
    ],
)
def test_positions_that_do_not_fit_are_refused(positions: Any, unit: str, sentence: str) -> None:
    with pytest.raises(DioptreError, match=sentence):
        focus.focus(np.zeros((3, SIZE, SIZE)), grid=FocusGrid(positions, unit, camera=STAGE))


def test_a_measure_answers_in_the_camera_s_unit_too() -> None:
    rng = np.random.default_rng(0)
    stack = np.stack([0.5 + height * (rng.random((64, 64)) - 0.5) for height in (0.1, 0.2, 0.8, 0.2, 0.1)])
    found = focus.focus(stack, grid=grid_of(np.array([300.0, 290.0, 280.0, 270.0, 260.0])))
    assert found.position == pytest.approx(280.0, abs=3)
    assert (found.index, found.unit) == (2, "counts")


# A lens


def lens(subject: float, n: int = 161, order: int = 1) -> tuple[ReplayCamera, np.ndarray]:
    """Returns a lens whose driver counts from far to near, or the other way, and its positions."""
    own = (290.0 - 0.5 * np.arange(n))[::order]
    pixels = stack_of(own, subject)[None, :, None].astype(np.float32)
    return ReplayCamera(FocalStack.full(pixels, FocusGrid(own, "counts"))), own


def focuser_of(camera: ReplayCamera, **settings: Any) -> Autofocus:
    return Autofocus(camera, **{"method": "any", "looks": 2, "fallback": "none", "risk": 0.999, **settings})


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("subject", [251.0, 215.0, 288.0])
def test_a_lens_goes_where_a_network_says_by_the_growth_that_its_file_tells(
    subject: float, order: int
) -> None:
    camera, own = lens(subject, order=order)
    found = focuser_of(camera, grid=grid_of(own), looks=4).run()
    assert (found.position, found.unit) == (pytest.approx(subject, abs=1.5), "counts")
    assert own[camera.visited[-1]] == found.left_at
    assert found.looks[0] == own[len(own) // 2]
    assert [own[one.index] for one in found.trace] == [one.position for one in found.trace]


@pytest.mark.usefixtures("rows")
def test_a_camera_file_tells_how_blur_grows_at_the_driver_s_positions(tmp_path: Path) -> None:
    path = tmp_path / "stage.toml"
    path.write_text(f'growth_px = {STAGE.growth_px}\nunit = "counts"\n', encoding="utf-8")
    camera, own = lens(251.0)
    by_file, by_grid = (focuser_of(camera, grid=one).run() for one in (path, grid_of(own)))
    assert by_file.position == by_grid.position == pytest.approx(251.0, abs=1.5)
    other = path.with_name("other.toml")
    other.write_text('growth_px = 1.0\nunit = "um"\n', encoding="utf-8")
    with pytest.raises(DioptreError, match="camera counts in um: positions in counts say nothing of it"):
        focuser_of(camera, grid=other).run()


@pytest.mark.usefixtures("rows")
def test_positions_that_are_not_the_lens_s_are_refused() -> None:
    camera, own = lens(250.0, 9)
    with pytest.raises(DioptreError, match="9 slices, but 8 positions are given"):
        focuser_of(camera, grid=grid_of(own[:8])).run()
    assert camera.visited == []
