"""The figure of a run: everything along the lens's own positions, whichever way they run."""

import pytest

pytest.importorskip("matplotlib")

import numpy as np

from dioptre.confidence.reasons import State
from dioptre.confidence.verdict import Verdict
from dioptre.evaluate.run_figure import run_figure
from dioptre.focusing.result import FocusResult
from dioptre.focusing.trace import Act, Step
from dioptre.grid import FocusGrid

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
