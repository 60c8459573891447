import numpy as np
import pytest

from dioptre.evaluate import paper_figures
from dioptre.evaluate.paper_figures import gradient_norm, hit, image_distance, point_pictures

pytest.importorskip("matplotlib")


def test_a_saturated_point_has_more_gradients_under_a_disc_and_fewer_under_a_gaussian() -> None:
    norms = {name: gradient_norm(picture) for name, picture in point_pictures(8.0, 41).items()}
    assert norms["Gaussian"] < 0.7 * norms["in focus"]
    assert norms["disc"] > 1.2 * norms["in focus"]


def test_all_light_of_a_thing_in_focus_meets_in_one_place() -> None:
    sensor = image_distance(1.0, 3.0)
    assert sensor == pytest.approx(1.5)
    for height in (-0.5, 0.2, 0.5):
        assert hit(height, 3.0, 1.0, sensor) == pytest.approx(0.0)
    assert hit(0.5, 2.0, 1.0, sensor) > 0  # too near: what comes through the upper half arrives above
    assert hit(0.5, 9.0, 1.0, sensor) < 0  # too far: the other way round


def test_every_figure_can_be_drawn() -> None:
    slices = np.random.default_rng(0).random((7, 16, 16)).astype(np.float32)
    curve = np.array([0.0, 1, 2, 3, 2, 1, 0])
    figures = [
        paper_figures.three_problems(),
        paper_figures.sensors(),
        paper_figures.saturated_point(),
        paper_figures.noise_misleads(curve, slices, 2, "variance"),
        paper_figures.breathing(np.linspace(1, 1.04, 7), slices, 2, 5),
    ]
    for figure in figures:
        figure.canvas.draw()
    titles = [axes.get_title() for axes in figures[3].axes]
    assert titles == ["variance", "chosen: 3", "in focus: 2"]
