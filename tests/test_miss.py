"""What a miss is, on regions whose depths are known beforehand."""

import numpy as np
import pytest

from dioptre.miss import BESIDE_STEPS, COVERED_SHARE, covering_depths, distance_to_nearest


def test_a_flat_region_is_one_depth() -> None:
    assert covering_depths(np.full((8, 8), 17.25)) == ((17.25,), (1.0,))


def test_two_things_are_two_depths_and_what_is_small_is_none() -> None:
    places = np.full((40, 40), 12.0)
    places[:, 30:] = -1.7
    places[0, :10] = 40.0
    at, share = covering_depths(places)
    assert at == pytest.approx((-1.7, 12.0))
    assert share == pytest.approx((0.25, 0.75 - 10 / 1600))


def test_what_is_within_a_step_is_the_same_depth() -> None:
    places = np.repeat([10.0, 11.5], 50)
    assert covering_depths(places) == ((10.75,), (1.0,))
    assert covering_depths(places, steps_per_index=2.0) == ((10.0, 11.5), (0.5, 0.5))


@pytest.mark.parametrize("span", [3.0, 7.0, 12.0, 18.0])
def test_a_tilted_plane_is_a_row_of_depths(span: float) -> None:
    places = 20 + np.linspace(0, span, 128)[None, :] * np.ones((128, 1))
    at, share = covering_depths(places)
    assert sum(share) <= 1 + 1e-9
    assert min(share) >= COVERED_SHARE
    for depth in np.linspace(20, 20 + span, 200):
        if np.mean(np.abs(places - depth) <= BESIDE_STEPS) >= COVERED_SHARE:
            assert distance_to_nearest(np.array([depth]), [at])[0] <= 2


def test_where_nothing_covers_a_tenth_what_covers_most_stands_for_all() -> None:
    places = np.concatenate([np.linspace(0, 300, 970), np.full(30, 120.0)])
    at, share = covering_depths(places)
    assert at == pytest.approx((120.0,), abs=1)
    assert share[0] < COVERED_SHARE


def test_the_distance_is_that_to_the_nearest_depth() -> None:
    found = distance_to_nearest(np.array([10.0, 10.0, 10.0]), [(8.5, 30.0), (), (10.25,)])
    assert found.tolist() == [1.5, np.inf, 0.25]
