import numpy as np
import pytest

from dioptre.errors import InputError
from dioptre.evaluate.intervals import compare, error_columns, sums_to_interval, sums_to_metrics
from dioptre.evaluate.metrics import errors_to_metrics


def errors_to_sums(errors: np.ndarray, scenes: np.ndarray) -> np.ndarray:
    """Returns each scene's sums, scenes in the order of their names."""
    names, which = np.unique(scenes, return_inverse=True)
    columns = error_columns(errors)
    sums = np.zeros((len(names), columns.shape[1]))
    np.add.at(sums, which, columns)
    return sums


def test_an_interval_holds_the_number_and_shrinks_with_scenes() -> None:
    rng = np.random.default_rng(0)
    widths = []
    for count in (40, 640):
        scenes = np.repeat(np.arange(count), 8)
        errors = rng.integers(-4, 5, 8 * count)
        found, metrics = sums_to_interval(errors_to_sums(errors, scenes)), errors_to_metrics(errors)
        for low, value, high in zip(found.low.numbers, metrics.numbers, found.high.numbers, strict=True):
            assert low <= value <= high
        widths.append(found.high.mae - found.low.mae)
    assert widths[1] == pytest.approx(widths[0] / 4, rel=0.3)


def test_answers_of_one_scene_are_not_independent() -> None:
    rng = np.random.default_rng(1)
    each = rng.integers(0, 9, 50)
    errors, scenes = np.repeat(each, 49), np.repeat(np.arange(50), 49)
    together, alone = (
        sums_to_interval(errors_to_sums(errors, scenes)),
        sums_to_interval(errors_to_sums(each, np.arange(50))),
    )
    assert together.low.mae == pytest.approx(alone.low.mae)
    assert together.high.rmse == pytest.approx(alone.high.rmse)


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    true_mae, held = np.abs(rng.poisson(2.0, 10**6)).mean(), 0
    for _ in range(200):
        found = sums_to_interval(errors_to_sums(rng.poisson(2.0, 60), np.arange(60)), 400)
        held += found.low.mae <= true_mae <= found.high.mae
    assert 0.88 <= held / 200 <= 0.99


def test_a_small_difference_on_the_same_scenes_is_seen() -> None:
    rng = np.random.default_rng(3)
    scenes = np.repeat(np.arange(100), 4)
    hard = np.repeat(rng.integers(0, 20, 100), 4)  # scenes differ much more than methods
    better, worse = hard, hard + (rng.random(400) < 0.5)
    found = compare(errors_to_sums(better, scenes), errors_to_sums(worse, scenes))
    assert found.difference == pytest.approx(-0.5, abs=0.1)
    assert found.low < found.difference < found.high < 0
    assert found.p < 0.01
    swapped = compare(errors_to_sums(worse, scenes), errors_to_sums(better, scenes))
    assert (swapped.difference, swapped.p) == (-found.difference, found.p)


def test_no_difference_is_not_one() -> None:
    rng = np.random.default_rng(4)
    scenes = np.arange(80)
    pairs = [[errors_to_sums(one, scenes) for one in rng.integers(-3, 4, (2, 80))] for _ in range(100)]
    small = [compare(one, other, 400).p < 0.05 for one, other in pairs]
    assert np.mean(small) < 0.14
    sums = errors_to_sums(np.arange(5), np.arange(5))
    same = compare(sums, sums)
    assert (same.difference, same.p) == (0.0, 1.0)


def test_nothing_cannot_be_measured() -> None:
    with pytest.raises(InputError, match="no predictions"):
        sums_to_interval(errors_to_sums(np.array([], int), np.array([], int)))


def test_sums_of_scenes_measure_as_the_answers_do() -> None:
    rng = np.random.default_rng(5)
    errors, scenes = rng.integers(-9, 10, 300), rng.integers(0, 7, 300)
    assert sums_to_metrics(errors_to_sums(errors, scenes)) == errors_to_metrics(errors)


def test_methods_that_did_not_answer_the_same_are_not_compared() -> None:
    with pytest.raises(InputError, match="same answers"):
        compare(errors_to_sums(np.arange(4), np.arange(4)), errors_to_sums(np.arange(8), np.arange(8) // 2))
