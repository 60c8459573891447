"""What a result shows of itself: a line, HTML, a figure, plain numbers."""

import json
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from dioptre.confidence.reasons import Reason
from dioptre.confidence.verdict import Candidate
from dioptre.focusing.focus import focus
from dioptre.focusing.preview import CROP, LARGEST, preview_of
from dioptre.focusing.result import Depth, FocusResult, Roi
from dioptre.focusing.slices import to_slices
from dioptre.focusing.trace import Act, Step
from dioptre.grid import FocusGrid

needs_matplotlib = pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs the extra figures")


@pytest.fixture(scope="module")
def stack() -> np.ndarray:
    """Texture that is sharp at slice 4 of 11, with its finest detail at the lower right."""
    rng = np.random.default_rng(0)
    sharp = 0.4 + 0.1 * rng.random((200, 360))
    sharp[100:, 260:] = rng.random((100, 100))
    slices = []
    for at in range(11):
        picture = sharp.copy()
        for _ in range(2 * abs(at - 4)):
            picture = (
                picture + np.roll(picture, 1, 0) + np.roll(picture, 1, 1) + np.roll(picture, -1, 1)
            ) / 4
        slices.append(picture + 0.002 * rng.standard_normal(sharp.shape))
    return np.clip(slices, 0, 1).astype(np.float32)


@pytest.fixture(scope="module")
def result(stack: np.ndarray) -> FocusResult:
    return focus(stack, "gradient-magnitude-variance", grid=np.linspace(0.5, 3.0, 11))


def test_a_result_is_one_short_line(result: FocusResult) -> None:
    line = repr(result)
    assert line.startswith("FocusResult(focused")
    assert "index 4 of 11" in line
    assert "dioptres" in line
    assert len(line) < 200
    assert "\n" not in line


FLAT = {
    "index", "subindex", "position", "unit", "dioptres", "distance_m", "state", "confidence", "risk",
    "expected_error", "reasons", "method", "roi", "depths", "candidates", "plateau", "rivals", "looks",
    "left_at", "trace", "notes",
}  # fmt: skip


def test_json_is_flat_and_short_and_long_lists_are_asked_for(result: FocusResult) -> None:
    posterior = np.full(13, 1 / 13)
    step = Step(Act.LOOK, 4, 1.5, "dioptres", 0.5, 0.25, posterior=posterior)
    result = replace(result, trace=(step,))
    plain, full = result.to_json(), result.to_json(full=True)
    for one in (plain, full):
        assert json.loads(json.dumps(one, allow_nan=False)) == one
    assert set(plain) == FLAT
    assert set(full) == FLAT | {"scores", "positions"}
    assert (plain["index"], plain["position"], plain["unit"]) == (4, result.position, "dioptres")
    assert full["positions"] == result.grid.positions.tolist()
    assert full["scores"] == result.scores.tolist()
    assert "posterior" not in plain["trace"][0]
    assert full["trace"][0]["posterior"] == pytest.approx(posterior, abs=1e-6)


# Its own unit and order


def test_the_index_is_the_one_nearest_to_the_position(result: FocusResult) -> None:
    for subindex, index in ((3.4, 3), (3.6, 4), (-0.3, 0), (10.4, 10)):
        moved = replace(result, subindex=subindex)
        assert moved.index == index
        assert moved.position == result.grid.index_to_position(subindex)


def test_an_error_is_told_in_the_unit_as_it_is_around_the_answer(result: FocusResult) -> None:
    grid = FocusGrid([0.0, 1.0, 2.0, 12.0], "um")
    verdict = replace(result.verdict, expected_error=0.5)
    near = replace(result, grid=grid, verdict=verdict, subindex=2.6)
    assert near.expected_error == pytest.approx(5.0)
    assert replace(near, subindex=0.5).expected_error == pytest.approx(0.5)
    assert replace(near, verdict=replace(verdict, expected_error=None)).expected_error is None


def test_dioptres_and_metres_are_told_where_they_are_known(result: FocusResult) -> None:
    assert result.dioptres == result.position
    assert result.distance_m == pytest.approx(1 / result.position)
    slices = replace(result, grid=FocusGrid.of_dioptres(np.linspace(0.5, 3.0, 11)))
    assert (slices.unit, slices.position) == ("slice", slices.subindex)
    assert slices.dioptres == pytest.approx(result.dioptres)
    unknown = replace(result, grid=FocusGrid(range(11), "um"))
    assert (unknown.dioptres, unknown.distance_m, unknown.position) == (None, None, unknown.subindex)


def test_a_turned_result_is_the_same_of_slices_in_the_other_order(result: FocusResult) -> None:
    result = replace(result, subindex=3.75)  # which adds up without rounding
    inner = replace(result, roi=Roi(0, 0, 50, 50))
    depth = Depth(4, 0.5, 0.5, Roi(0, 0, 50, 50), inner)
    step = Step(Act.LOOK, 2, 1.0, "dioptres", 0.1, 0.1, posterior=np.arange(13.0))
    sides = (Candidate(4, 0.6), Candidate(9, 0.3), Candidate(1, 0.1))
    verdict = replace(result.verdict, plateau=(3, 5), candidates=sides)
    result = replace(result, verdict=verdict, depths=(depth,), trace=(step,), looks=(1.0,), left_at=1.5)
    turned = result.turned()
    assert (turned.index, turned.subindex) == (6, 10 - result.subindex)
    assert turned.position == pytest.approx(result.position)
    assert turned.dioptres == pytest.approx(result.dioptres)
    np.testing.assert_array_equal(turned.scores, result.scores[::-1])
    assert turned.grid == result.grid.turned()
    assert (turned.verdict.plateau, turned.verdict.rivals) == ((5, 7), (1, 9))
    assert [(one.index, one.probability) for one in turned.verdict.candidates] == [
        (6, 0.6),
        (1, 0.3),
        (9, 0.1),
    ]
    (found,) = turned.depths
    assert found.result is not None
    assert (found.index, found.result.index, found.roi) == (6, 6, depth.roi)
    assert (turned.trace[0].index, turned.trace[0].position) == (8, 1.0)
    assert turned.trace[0].posterior is not None
    assert turned.trace[0].posterior.tolist() == list(range(12, -1, -1))
    assert (turned.looks, turned.left_at) == ((1.0,), 1.5)  # which are in the unit
    assert turned.expected_error == pytest.approx(result.expected_error)
    assert turned.turned().to_json(full=True) == result.to_json(full=True)


def test_a_preview_is_small_and_its_pieces_are_not(stack: np.ndarray, result: FocusResult) -> None:
    shown = result.preview
    assert shown is not None
    assert max(shown.frame.shape) <= LARGEST
    assert shown.step == 2
    assert shown.crops.shape == (3, CROP, CROP)
    assert shown.slices == (3, 4, 5)
    x, y, w, h = shown.place
    assert x + w > 260  # where the detail is
    assert y + h > 100
    np.testing.assert_allclose(
        np.corrcoef(shown.crops[1].ravel(), stack[4, y : y + h, x : x + w].ravel())[0, 1], 1.0, atol=0.02
    )


def test_the_first_slice_has_one_neighbour(stack: np.ndarray, result: FocusResult) -> None:
    first = preview_of(to_slices(stack, None, None), replace(result, subindex=0.2))
    assert first.slices == (0, 1)
    assert len(first.crops) == 2


def test_a_preview_stays_inside_the_region(stack: np.ndarray) -> None:
    shown = focus(stack, roi=(10, 20, 64, 50)).preview
    assert shown is not None
    assert shown.place == Roi(10, 20, 64, 50)


def test_html_shows_the_verdict_the_curve_and_the_picture(result: FocusResult) -> None:
    html = result._repr_html_()
    assert "<b>focused</b>" in html
    assert "slice 4" in html
    assert html.count("<polyline") == 1
    assert "data:image/png;base64,iVBOR" in html
    verdict = replace(
        result.verdict,
        plateau=(3, 6),
        candidates=(Candidate(4, 0.7), Candidate(9, 0.3)),
        reasons=(Reason.PLATEAU,),
    )
    marked = replace(result, verdict=verdict, preview=None)
    html = marked._repr_html_()
    assert "<rect" in html
    assert html.count("<circle") == 2
    assert "<img" not in html
    assert "plateau" in html
    assert " um" not in html
    assert (
        ", 40 um" in replace(marked, subindex=4.0, grid=FocusGrid(np.arange(0, 110, 10), "um"))._repr_html_()
    )


@needs_matplotlib
def test_a_plot_has_the_curve_the_frame_and_three_pieces(result: FocusResult) -> None:
    figure = result.plot("mine")
    assert len(figure.axes) == 5
    assert figure.axes[0].get_title() == "mine"
    assert [axes.get_title() for axes in figure.axes[2:]] == ["slice 3", "slice 4 (chosen)", "slice 5"]


@needs_matplotlib
def test_a_plot_marks_plateau_rivals_and_all_depths(result: FocusResult) -> None:
    other = replace(result, roi=Roi(0, 0, 50, 50), subindex=9.0)
    mine = replace(result, roi=Roi(60, 60, 50, 50))
    depths = tuple(Depth(one.index, 0.5, 0.5, one.roi, one) for one in (mine, other) if one.roi)
    verdict = replace(result.verdict, plateau=(3, 5), candidates=(Candidate(4, 0.7), Candidate(9, 0.3)))
    figure = replace(mine, verdict=verdict, depths=depths).plot()
    curve, frame = figure.axes[:2]
    _, labels = curve.get_legend_handles_labels()
    assert labels == ["sharp from slice 3 to 5", "slice 9, 50%", "slice 4, 50% (chosen)"]
    assert [text.get_text() for text in curve.texts] == ["or here (30%)"]
    boxes = 4  # both regions, the one that decided once more, and the pieces' place
    assert len(frame.lines) == 2 * boxes  # each on a pale line that shows on any picture


@needs_matplotlib
def test_a_result_without_pictures_is_its_curve(result: FocusResult) -> None:
    assert len(replace(result, preview=None).plot().axes) == 1
