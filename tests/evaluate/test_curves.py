import numpy as np
import pytest

from dioptre.evaluate import curves
from dioptre.evaluate.curves import binned_mean

pytest.importorskip("matplotlib")


def test_a_mean_is_that_of_its_bin() -> None:
    centres, means = binned_mean(
        np.array([-9.0, 0.0, 0.4, 2.0, 7.0]),
        np.array([5.0, 1.0, 3.0, 8.0, 9.0]),
        np.array([-0.5, 0.5, 1.5, 2.5]),
    )
    assert centres.tolist() == [0.0, 2.0]
    assert means.tolist() == [2.0, 8.0]


def test_the_mirrored_index_is_as_far_on_the_other_side() -> None:
    figure = curves.answers_by_start({"a": np.arange(9)}, 3, 9)
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    for start, mirrored in zip(*lines["mirrored"].get_data(), strict=True):
        assert mirrored - start == start - 3
        assert 0 <= mirrored < 9


def test_errors_are_drawn_by_start_and_by_blur() -> None:
    starts, errors = np.repeat(np.arange(5), 3), np.tile(np.array([-1.0, 2.0, 3.0]), 5)
    drawn = curves.error_by_start({"a": (starts, errors)}, 5).axes[0].lines[0]
    assert drawn.get_xdata().tolist() == [0, 1, 2, 3, 4]
    assert drawn.get_ydata().tolist() == [2.0] * 5
    by_blur = curves.error_by_blur({"a": (starts - 2.0, errors)}, 8).axes[0].lines[0]
    assert set(by_blur.get_ydata().tolist()) == {2.0}


def test_all_others_can_be_drawn() -> None:
    even = np.full(7, 1 / 7)
    figures = [
        curves.two_posteriors(even, even, 5, 2),
        curves.frames_against_error({"a": (1.0, 2.0), "b": (49.0, 1.5)}, 1.3),
    ]
    for figure in figures:
        figure.canvas.draw()
        assert figure.axes[0].get_legend() is not None
