import numpy as np
import pytest

from dioptre.robust import median_deviation, weighted_median


def test_a_deviation_by_the_median_is_the_standard_deviation_of_normal_numbers() -> None:
    values = np.random.default_rng(0).normal(3.0, 2.0, (4, 20_000))
    assert median_deviation(values) == pytest.approx(2.0, rel=0.02)
    assert median_deviation(values, axis=1) == pytest.approx(np.full(4, 2.0), rel=0.05)
    assert median_deviation(values - 3.0, 0.0) == pytest.approx(2.0, rel=0.02)


def test_outliers_hardly_move_a_deviation_by_the_median() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert median_deviation(values) == median_deviation(np.array([1.0, 2.0, 3.0, 4.0, 500.0])) == 1.4826


def test_the_weighted_median_is_the_value_that_half_the_weight_does_not_exceed() -> None:
    values, weights = np.array([[3.0, 1.0, 2.0], [5.0, 6.0, 7.0]]), np.array([[1.0, 1.0, 5.0], [0, 0, 0]])
    assert weighted_median(values, weights).tolist() == [2.0, 0.0]
