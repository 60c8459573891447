"""Where scenes lie in depth: on the grid as the prior says, or beyond its ends by as much as is said."""

import numpy as np
import pytest

from dioptre.grid import FocusGrid
from dioptre.posterior import DepthPrior
from dioptre.simulate.layout import (
    FARTHEST_BEYOND,
    KINDS,
    Layout,
    beyond,
    depth_to_index,
    draw_depth,
    draw_depths,
    lay_out,
    mean_step,
)

GRID = FocusGrid.learnaf()


def depths(layout: Layout, count: int = 400, grid: FocusGrid = GRID) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.array([draw_depth(grid, layout, rng) for _ in range(count)])


def test_depths_are_even_over_the_ladder() -> None:
    found = depths(Layout())
    quarters = np.histogram(GRID.dioptres_to_index(found), np.linspace(0, 48, 5))[0] / len(found)
    np.testing.assert_allclose(quarters, 0.25, atol=0.08)
    assert all(beyond(GRID, depth) == 0 for depth in found)


def test_far_depths_become_ever_fewer_towards_the_near_end() -> None:
    along = GRID.dioptres_to_index(depths(Layout(prior=DepthPrior.far()))) / 48
    quarters = np.histogram(along, [-1, 0.25, 0.5, 0.75, 2])[0] / len(along)
    np.testing.assert_allclose(quarters, [7 / 16, 5 / 16, 3 / 16, 1 / 16], atol=0.08)


def test_a_table_draws_where_its_weights_are() -> None:
    weights = np.zeros(49)
    weights[30] = 1.0
    assert set(GRID.nearest_index(depths(Layout(prior=DepthPrior.of_table(weights)), 30))) <= {29, 30, 31}


def test_the_stated_share_lies_beyond_either_end() -> None:
    found = depths(Layout(beyond=0.5), 800)
    signed = np.array([beyond(GRID, depth) for depth in found])
    assert np.mean(signed != 0) == pytest.approx(0.5, abs=0.06)
    assert np.mean(signed < 0) == pytest.approx(0.25, abs=0.06)
    assert np.abs(signed).max() <= FARTHEST_BEYOND + 1e-9
    for side in (signed[signed < 0], signed[signed > 0]):
        assert np.median(np.abs(side)) == pytest.approx(FARTHEST_BEYOND / 2, abs=1.5)


def test_beyond_is_the_signed_distance_in_indices() -> None:
    step = mean_step(GRID)
    near, far = float(GRID.dioptres[-1]), float(GRID.dioptres[0])
    assert beyond(GRID, near + 3 * step) == pytest.approx(3)
    assert beyond(GRID, near + 0.4 * step) == 0
    assert beyond(GRID, far - step) == pytest.approx(-1)
    assert beyond(GRID, 5.0) == 0


def test_also_a_ladder_that_reaches_infinity_has_something_beyond_its_far_end() -> None:
    grid = FocusGrid.of_dioptres(np.linspace(0.0, 5.0, 26))
    signed = [beyond(grid, depth) for depth in depths(Layout(beyond=1.0), 60, grid)]
    assert -14 <= min(signed) < -8
    assert 8 < max(signed) <= 14


def test_layers_stand_from_near_to_far() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        found = draw_depths(GRID, Layout(), 3, rng)
        assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_layers(kind: str) -> None:
    found = [6.0, 4.0, 3.0][: {"two": 2, "three": 3}.get(kind, 1)]
    picture = np.ones((120, 120), np.float32)
    layers = lay_out(kind, found, lambda: picture, 40, 0.4, np.random.default_rng(2))
    assert len(layers) == len(found)
    assert layers[-1].alpha is None
    assert all(layer.alpha is not None and 0 <= layer.alpha.min() <= 1 for layer in layers[:-1])
    bent = not isinstance(layers[-1].depth, float)
    assert bent == (kind in ("slant", "curve"))
    if bent:
        assert np.ptp(layers[-1].depth) > 0


def test_the_index_of_a_depth_goes_on_beyond_the_ends() -> None:
    grid = GRID
    step = mean_step(grid)
    inside = np.array([0.0, 7.25, 48.0])
    np.testing.assert_allclose(depth_to_index(grid, np.asarray(grid.index_to_dioptres(inside))), inside)
    outside = np.array([grid.dioptres[0] - 1.7 * step, grid.dioptres[-1] + 0.3 * step])
    np.testing.assert_allclose(depth_to_index(grid, outside), [-1.7, 48.3])
