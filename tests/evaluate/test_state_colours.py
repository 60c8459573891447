"""Figures tell focused, uncertain and failed answers apart, and so does the map."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb

from dioptre import FocusGrid, FocusResult, State
from dioptre.confidence.verdict import Candidate, Verdict
from dioptre.evaluate.depth_map import UNKNOWN, depth_map
from dioptre.evaluate.figures import colour_of, focus_curve
from dioptre.evaluate.focus_figure import focus_figure
from dioptre.evaluate.run_figure import run_figure

CURVE = np.exp(-((np.arange(20) - 7.0) ** 2))
CANDIDATES = (Candidate(7, 0.6), Candidate(12, 0.35), Candidate(2, 0.05))


def result_of(state: State) -> FocusResult:
    verdict = Verdict(state, 0.6, (), risk=0.02, candidates=CANDIDATES, plateau=(6, 8))
    return FocusResult(7.0, verdict, CURVE, FocusGrid(np.arange(20.0), "slice"), "census-transform")


def test_each_state_has_its_colour_and_uncertain_is_amber() -> None:
    red, green, blue = to_rgb(colour_of(State.UNCERTAIN))
    assert red > green > 0.7
    assert blue < 0.2
    assert len({colour_of(one) for one in State}) == 3


@pytest.mark.parametrize("state", list(State))
def test_the_answer_is_drawn_in_the_colour_of_its_state(state: State) -> None:
    result = result_of(state)
    pictures = np.zeros((20, 8, 8))
    curve = focus_curve(CURVE, 7, 7.0, state, pictures, [str(k) for k in range(20)], "title")
    for figure in (focus_figure(result), run_figure(result), curve):
        upright = [line for line in figure.axes[0].lines if list(line.get_xdata()) == [7.0, 7.0]]
        assert [to_hex(line.get_color()) for line in upright] == [colour_of(state)]
    assert state.value in focus_figure(result).axes[0].get_title()


@pytest.mark.parametrize("state", list(State))
def test_other_places_are_marked_with_their_chances_where_there_is_an_answer(state: State) -> None:
    axes = focus_figure(result_of(state)).axes[0]
    told = [one.get_text() for one in axes.texts]
    assert told == ([] if state is State.FAILED else ["or here (35%)"])
    assert len(axes.patches) == (0 if state is State.FAILED else 1)  # the plateau


@pytest.mark.parametrize(
    ("state", "word"), [(State.UNCERTAIN, "the best answer there is"), (State.FAILED, "nothing to answer")]
)
def test_html_says_what_a_state_is_worth(state: State, word: str) -> None:
    html = result_of(state)._repr_html_()
    assert f"<b>{state.value}</b> ({word})" in html
    assert colour_of(state) in html
    assert ("<rect" in html) is (state is not State.FAILED)


def test_a_map_is_paler_where_it_is_uncertain_and_grey_where_there_is_no_answer() -> None:
    values = np.array([[3.0, 3.0, 3.0, 9.0]])
    sure, known = np.array([[True, False, False, True]]), np.array([[True, True, False, True]])
    figure = depth_map(values, sure, known, (0.0, 400.0, 100.0, 0.0), "title", "slice")
    axes = figure.axes[0]
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = np.asarray(canvas.buffer_rgba())[..., :3] / 255
    height = len(drawn)

    def colour_at(x: float) -> np.ndarray:
        across, up = axes.transData.transform((x, 50.0))
        return drawn[height - 1 - round(up), round(across)]

    focused, uncertain, unknown = (colour_at(x) for x in (50.0, 150.0, 250.0))
    np.testing.assert_allclose(unknown, to_rgb(UNKNOWN), atol=0.01)
    share = (uncertain - focused) / (1 - focused)  # of white over the same colour
    np.testing.assert_allclose(share, share[0], atol=0.02)
    assert 0.4 < share[0] < 0.8
