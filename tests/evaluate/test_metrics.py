"""The six numbers, by hand and by law."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dioptre.evaluate import Metrics, errors_to_metrics, format_rows, measure, table_row
from dioptre.problem import Problem

POSITIONS = 49

index_pairs = st.lists(st.tuples(st.integers(0, 48), st.integers(0, 48)), min_size=1, max_size=60)


def metrics_with_rmse(rmse: float) -> Metrics:
    return Metrics(0.1, 0.2, 0.3, 0.4, rmse / 2, rmse)


def test_errors_counted_by_hand() -> None:
    metrics = errors_to_metrics(np.array([0, -1, 2, -3, 4, 5, 0, -20]))
    assert metrics == Metrics(
        exact=2 / 8,
        within_1=3 / 8,
        within_2=4 / 8,
        within_4=6 / 8,
        mae=35 / 8,
        rmse=math.sqrt(455 / 8),
        count=8,
    )


def test_perfect_predictions() -> None:
    truth = np.arange(POSITIONS)
    assert measure(truth, truth) == Metrics(1.0, 1.0, 1.0, 1.0, 0.0, 0.0, POSITIONS)


def test_any_shape_counts_every_element() -> None:
    predicted = np.array([[10, 20, 30], [40, 5, 6]])
    truth = np.array([[10, 21, 28], [36, 10, 6]])
    metrics = measure(predicted, truth)
    assert metrics.count == 6
    assert metrics.mae == 12 / 6
    assert metrics == measure(predicted.ravel(), truth.ravel())


def test_unsigned_indices_do_not_wrap_around() -> None:
    predicted, truth = np.array([3, 0], dtype=np.uint8), np.array([5, 48], dtype=np.uint8)
    assert measure(predicted, truth).mae == 25.0


def test_narrow_indices_do_not_overflow_when_squared() -> None:
    assert errors_to_metrics(np.array([48, -48], dtype=np.int8)).rmse == 48.0


def test_nothing_to_measure_is_an_error() -> None:
    empty = np.array([], dtype=np.int64)
    with pytest.raises(ValueError, match="no predictions"):
        measure(empty, empty)
    with pytest.raises(ValueError, match="no predictions"):
        errors_to_metrics(empty.reshape(0, 3))


def test_shapes_that_would_broadcast_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"\(3, 1\) for the predictions and \(3,\) for the truth"):
        measure(np.zeros((3, 1), dtype=np.int64), np.zeros(3, dtype=np.int64))


@settings(deadline=None)
@given(index_pairs)
def test_laws_of_the_six_numbers(pairs: list[tuple[int, int]]) -> None:
    predicted, truth = np.array(pairs).T
    metrics = measure(predicted, truth)
    shares = metrics.numbers[:4]
    assert 0 <= shares[0] <= shares[1] <= shares[2] <= shares[3] <= 1
    assert metrics.mae <= metrics.rmse * (1 + 1e-12)
    assert metrics.rmse <= math.sqrt(48 * metrics.mae) * (1 + 1e-12)
    assert metrics == measure(truth, predicted)


def test_chance_of_a_random_guess() -> None:
    """Both uniform over 49 positions: MAE (n^2 - 1) / 3n, RMSE sqrt((n^2 - 1) / 6)."""
    predicted, truth = np.mgrid[:POSITIONS, :POSITIONS]
    metrics = measure(predicted, truth)
    assert metrics.mae == pytest.approx((POSITIONS**2 - 1) / (3 * POSITIONS))
    assert metrics.rmse == pytest.approx(20.0)
    assert round(metrics.mae, 1) == 16.3
    assert metrics.exact == pytest.approx(1 / POSITIONS)


def test_chance_of_always_saying_the_middle() -> None:
    truth = np.arange(POSITIONS)
    metrics = measure(np.full_like(truth, 24), truth)
    assert round(metrics.mae, 1) == 12.2
    assert round(metrics.rmse, 1) == 14.1
    assert metrics.within_4 == 9 / POSITIONS


def test_a_row_has_three_decimals() -> None:
    row = table_row("Our Model", Metrics(0.2334, 0.6, 0.7976, 1.0, 1.6, 12.4456, 10), problem="I*")
    assert row == "| I* | Our Model | 0.233 | 0.600 | 0.798 | 1.000 | 1.600 | 12.446 |"


def test_a_table_is_grouped_by_problem_and_sorted_worst_first() -> None:
    rows = [
        (Problem.SINGLE_GREEN, "i1", metrics_with_rmse(6.0)),
        (Problem.SINGLE_DUAL_PIXEL, "d1 good", metrics_with_rmse(3.0)),
        (Problem.STACK_DUAL_PIXEL, "d*", metrics_with_rmse(2.0)),
        (Problem.SINGLE_DUAL_PIXEL, "d1 bad", metrics_with_rmse(12.0)),
        (Problem.STACK_GREEN, "i* first of two", metrics_with_rmse(4.0)),
        (Problem.STACK_GREEN, "i* second of two", metrics_with_rmse(4.0)),
        (Problem.STACK_GREEN, "i* worst", metrics_with_rmse(22.0)),
    ]
    header, rule, *body = format_rows(rows).splitlines()
    assert header == "| Problem | Algorithm | = 0 | ≤ 1 | ≤ 2 | ≤ 4 | MAE | RMSE |"
    assert rule == "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    assert [line.split(" | ")[1] for line in body] == [
        "i* worst",
        "i* first of two",
        "i* second of two",
        "d*",
        "d1 bad",
        "d1 good",
        "i1",
    ]
    assert body[0] == "| I* | i* worst | 0.100 | 0.200 | 0.300 | 0.400 | 11.000 | 22.000 |"
    assert {line.count("|") for line in (header, rule, *body)} == {9}
