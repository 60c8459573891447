"""The figure of a run: everything along the lens's own positions, whichever way they run."""

from dataclasses import replace

import pytest

pytest.importorskip("matplotlib")

import numpy as np

from dioptre.confidence.reasons import State
from dioptre.confidence.verdict import Verdict
from dioptre.evaluate.run_figure import run_figure
from dioptre.focusing.result import FocusResult
from dioptre.focusing.trace import Act, JointOnLens, Step
from dioptre.grid import FocusGrid
from dioptre.optics import STEP_PX
from dioptre.posterior import JointPosterior

UM = FocusGrid([0.0, 10.0, 20.0, 40.0], "um", nearer=False)


def run_on(grid: FocusGrid) -> FocusResult:
    """Returns a run that looked at 40 um and went to 20 um, of whose two frames one was scored."""
    chances = np.array([0.0, 0.1, 0.2, 0.6, 0.1, 0.0])  # beyond the first position, at 0 um and so on
    posterior = chances if grid == UM else chances[::-1]
    look = Step(Act.LOOK, grid.index_of(40.0), 40.0, "um", 0.1, 0.1, 2.0, posterior)
    sent = Step(Act.VERIFY, grid.index_of(20.0), 20.0, "um", 0.2, 0.1)
    verdict = Verdict(State.FOCUSED, 0.9, ())
    at = float(grid.index_of(20.0))
    return FocusResult(at, verdict, posterior[1:-1], grid, "any", trace=(look, sent), left_at=20.0)


@pytest.mark.parametrize("grid", [UM, UM.turned()])
def test_a_run_is_drawn_along_the_positions_of_the_lens(grid: FocusGrid) -> None:
    figure = run_figure(run_on(grid), "mine")
    way, sharp, sure = figure.axes
    assert way.get_title().startswith("mine: focused, confidence 0.90")
    assert sure.get_xlabel() == "lens position (um)"
    assert way.lines[0].get_xdata().tolist() == [40.0, 20.0]
    assert [one.get_offsets().tolist() for one in sharp.collections] == [[[40.0, 2.0]]]
    drawn = sure.lines[0]
    assert dict(zip(drawn.get_xdata().tolist(), drawn.get_ydata().tolist(), strict=True)) == {
        0.0: 0.1, 10.0: 0.2, 20.0: 0.6, 40.0: 0.1,
    }  # fmt: skip
    assert all(axes.lines[-1].get_xdata()[0] == 20.0 for axes in figure.axes)  # the answer
    low, high = sure.get_xlim()
    assert low < 0.0
    assert high > 40.0


def joint_on(grid: FocusGrid, evens: np.ndarray) -> JointOnLens:
    """Returns a posterior over 5 places and 2 growths to either side, of which all is at one place."""
    places, growths = np.array([-1.0, 0.0, 1.5, 3.0, 4.0]), np.array([-2.0, -1.0, 1.0, 2.0])
    chances = np.zeros((4, 5))
    chances[[0, 3], 2] = 0.25, 0.75  # 2 steps a unit, with either sign
    joint = JointPosterior(places, growths, chances, (0.0, 3.0))
    return JointOnLens.of(joint, evens, grid.positions, "dioptre")


@pytest.mark.parametrize("grid", [UM, UM.turned()])
def test_a_joint_posterior_lies_on_the_positions_of_the_lens(grid: FocusGrid) -> None:
    found = joint_on(grid, np.arange(4.0))
    ends = [-10.0, 60.0] if grid == UM else [60.0, -10.0]  # straight on beyond both
    assert found.positions[[0, -1]].tolist() == ends
    assert found.positions[2] == 15.0
    assert found.limits == (0.0, 40.0)
    assert found.growths_px.tolist() == [STEP_PX, 2 * STEP_PX]
    np.testing.assert_array_equal(found.chances[:, 2], [0, 1])  # both signs together
    assert found.density[1, 2] * np.abs(np.gradient(found.positions))[2] == pytest.approx(1)


@pytest.mark.parametrize("grid", [UM, UM.turned()])
def test_a_joint_posterior_is_drawn_below_with_the_looks(grid: FocusGrid) -> None:
    result = replace(run_on(grid), joint=joint_on(grid, np.arange(4.0)))
    joint = run_figure(result).axes[3]
    assert joint.get_xlabel() == "lens position (um)"
    assert joint.get_ylabel() == "px of blur a dioptre"
    assert joint.get_yscale() == "log"
    assert [line.get_xdata()[0] for line in joint.lines] == [40.0, 20.0, 20.0]  # two looks, the answer
    shades = joint.collections[0].get_array()
    assert np.unravel_index(shades.argmax(), shades.shape) == (1, 2)
    low, high = joint.get_xlim()
    assert -10.0 <= low < 0.0  # what is beyond the ends is not possible
    assert 40.0 < high < 60.0


def test_what_is_beyond_the_lens_is_drawn_where_the_focus_may_be_there() -> None:
    found = joint_on(UM, np.arange(4.0))
    beyond = np.roll(found.chances, 2, axis=1)
    figure = run_figure(replace(run_on(UM), joint=replace(found, chances=beyond)))
    assert figure.axes[3].get_xlim()[1] > 60.0
