"""What a result shows of itself: a line, HTML, a figure, plain numbers."""

import json
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from dioptre.confidence.reasons import Reason
from dioptre.focusing.focus import focus
from dioptre.focusing.preview import CROP, LARGEST, preview_of
from dioptre.focusing.result import Depth, FocusResult, Roi
from dioptre.focusing.slices import to_slices

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
    return focus(stack, "gradient-magnitude-variance", dioptres=np.linspace(0.5, 3.0, 11))


def test_a_result_is_one_short_line(result: FocusResult) -> None:
    line = repr(result)
    assert line.startswith("FocusResult(focused")
    assert "index 4 of 11" in line
    assert "dioptres" in line
    assert len(line) < 200
    assert "\n" not in line


def test_a_dictionary_is_plain(result: FocusResult) -> None:
    plain = result.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["index"] == 4
    assert plain == result.to_json()


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
    first = preview_of(to_slices(stack, None, None), replace(result, index=0))
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
    marked = replace(result, plateau=(3, 6), rivals=(9,), preview=None, reasons=(Reason.PLATEAU,))
    html = marked._repr_html_()
    assert "<rect" in html
    assert html.count("<circle") == 2
    assert "<img" not in html
    assert "plateau" in html


@needs_matplotlib
def test_a_plot_has_the_curve_the_frame_and_three_pieces(result: FocusResult) -> None:
    figure = result.plot("mine")
    assert len(figure.axes) == 5
    assert figure.axes[0].get_title() == "mine"
    assert [axes.get_title() for axes in figure.axes[2:]] == ["slice 3", "slice 4 (chosen)", "slice 5"]


@needs_matplotlib
def test_a_plot_marks_plateau_rivals_and_all_regions(result: FocusResult) -> None:
    other = replace(result, roi=Roi(0, 0, 50, 50), index=9)
    mine = replace(result, roi=Roi(60, 60, 50, 50))
    depths = tuple(Depth(one.index, 0.5, 0.5, one.roi) for one in (mine, other) if one.roi)
    figure = replace(mine, plateau=(3, 5), rivals=(9,), regions=(mine, other), depths=depths).plot()
    curve, frame = figure.axes[:2]
    _, labels = curve.get_legend_handles_labels()
    assert labels == ["sharp from slice 3 to 5", "slice 9, 50%", "slice 4, 50% (chosen)"]
    assert [text.get_text() for text in curve.texts] == ["nearly as sharp"]
    boxes = 4  # both regions, the one that decided once more, and the pieces' place
    assert len(frame.lines) == 2 * boxes  # each on a pale line that shows on any picture


@needs_matplotlib
def test_a_result_without_pictures_is_its_curve(result: FocusResult) -> None:
    assert len(replace(result, preview=None).plot().axes) == 1
