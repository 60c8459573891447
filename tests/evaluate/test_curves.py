import numpy as np
import pytest

from dioptre.evaluate import curves
from dioptre.evaluate.curves import mean_by_place

pytest.importorskip("matplotlib")


def test_a_mean_is_that_of_its_place() -> None:
    places, means = mean_by_place(np.array([2, 0, 0, 7]), np.array([2.0, 1, 3, 0]), np.array([8.0, 1, 7, 0]))
    assert places.tolist() == [0, 2]
    assert means.tolist() == [2.0, 4.0]


def test_the_mirrored_index_is_as_far_on_the_other_side() -> None:
    figure = curves.answers_by_start({"a": np.arange(9)}, 3, 9)
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    for start, mirrored in zip(*lines["mirrored"].get_data(), strict=True):
        assert mirrored - start == start - 3
        assert 0 <= mirrored < 9


def test_errors_are_drawn_by_start_and_by_blur() -> None:
    count = np.full((5, 5), 2.0)
    size = np.arange(5.0)[:, None] * count  # start k is k off, whatever the truth
    drawn = curves.error_by_start({"a": np.stack([count, size])}).axes[0].lines[0]
    assert drawn.get_xdata().tolist() == drawn.get_ydata().tolist() == [0, 1, 2, 3, 4]
    start, truth = np.indices((5, 5))
    away = np.abs(start - truth).astype(np.float64)
    by_blur = curves.error_by_blur({"a": np.stack([np.ones((5, 5)), away])}, 8).axes[0].lines[0]
    assert by_blur.get_xdata().tolist() == [-4, 0, 4]
    assert by_blur.get_ydata()[0] == by_blur.get_ydata()[2] > by_blur.get_ydata()[1]


def test_all_others_can_be_drawn() -> None:
    even = np.full(7, 1 / 7)
    figures = [
        curves.two_posteriors(even, even, 5, 2),
        curves.frames_against_error({"a": [(1, 2.0), (2, 1.8)], "b": [(49, 1.5)]}, 1.3, 49),
    ]
    for figure in figures:
        figure.canvas.draw()
        assert figure.legends or figure.axes[0].get_legend() is not None
