"""How sure numbers of a table are: bootstrap over scenes.

Patches of one scene share its surfaces, its light and often its depth, and answers from 49 starts share a
patch: neither are independent. So scenes are drawn anew, with all that belongs to them, and a number is as
sure as it is the same over such draws. All metrics are means over answers of functions of the error, so a
draw needs no more than each scene's sums.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Integer

from dioptre.errors import InputError
from dioptre.evaluate.metrics import Metrics

DRAWS = 2000
LEVEL = 0.95
WITHIN = (0, 1, 2, 4)  # indices, of the four shares
MAE = len(WITHIN)  # the column of the sum of absolute errors


@dataclass(frozen=True)
class Interval:
    """The metrics of a row over draws of scenes: their lower and their upper ends.

    Attributes:
        low: The lower end of each number.
        high: The upper end of each.
    """

    low: Metrics
    high: Metrics


@dataclass(frozen=True)
class Comparison:
    """Whether one method errs less than another, on the same scenes.

    Attributes:
        difference: Mean absolute error of the one less that of the other, in indices; negative is better.
        low: Lower end of its interval.
        high: Upper end of it.
        p: How likely so large a difference, either way, is if there were none.
    """

    difference: float
    low: float
    high: float
    p: float


# What is summed over the answers of a scene: the four shares, size and square of the error, and the answers.
Sums = Float[np.ndarray, "scene 7"]


def sums_to_metrics(sums: Sums) -> Metrics:
    """Returns the metrics of all answers of some scenes."""
    total = sums.sum(axis=0)
    if not total[-1]:
        raise InputError("there is nothing to measure: no predictions")
    return _metrics(_numbers(total[None])[0], int(total[-1]))


def sums_to_interval(sums: Sums, draws: int = DRAWS) -> Interval:
    """Returns the intervals of all six numbers of a row, of which each scene's sums are given."""
    if not len(sums):
        raise InputError("there is nothing to measure: no predictions")
    numbers = _numbers(_draw(len(sums), draws) @ sums)
    low, high = np.quantile(numbers, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    count = int(sums[:, -1].sum())
    return Interval(_metrics(low, count), _metrics(high, count))


def error_columns(errors: Integer[np.ndarray, " answer"]) -> Int[np.ndarray, "answer 7"]:
    """Returns the columns that are summed over answers: within each of WITHIN, |error|, its square, 1."""
    size = np.abs(errors.astype(np.int64))
    return np.stack([*(size <= most for most in WITHIN), size, size**2, np.ones_like(size)], axis=1)


def _numbers(sums: Float[np.ndarray, "draw 7"]) -> Float[np.ndarray, "draw 6"]:
    means = sums[:, :-1] / sums[:, -1:]
    means[:, -1] = np.sqrt(means[:, -1])
    return means


def _metrics(numbers: Float[np.ndarray, " 6"], count: int) -> Metrics:
    exact, within_1, within_2, within_4, mae, rmse = numbers.tolist()
    return Metrics(exact, within_1, within_2, within_4, mae, rmse, count)


def compare(one: Sums, other: Sums, draws: int = DRAWS) -> Comparison:
    """Returns whether one method errs less than another that answered the same patches from the same starts.

    What each scene adds to the difference is the difference of its sums, whichever answer is whose.

    Args:
        one: Its sums, scene by scene.
        other: The other's, in the same order of scenes.
        draws: How many times scenes are drawn anew.

    Raises:
        InputError: If they did not answer as often in every scene.
    """
    if not np.array_equal(one[:, -1:], other[:, -1:]):
        raise InputError("two methods are compared on the same answers, and these are not as many")
    less, count = one[:, MAE] - other[:, MAE], one[:, -1]
    drawn = _draw(len(one), draws)
    means = (drawn @ less) / (drawn @ count)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    tail = min(int((means >= 0).sum()), int((means <= 0).sum()))
    p = min(1.0, 2 * (tail + 1) / (draws + 1))
    return Comparison(float(less.sum() / count.sum()), float(low), float(high), p)


def _draw(scenes: int, draws: int) -> Float[np.ndarray, "draw scene"]:
    """Returns the count of each scene in each bootstrap draw; the same for the same number of scenes."""
    rng = np.random.default_rng(scenes)
    return rng.multinomial(scenes, np.full(scenes, 1 / scenes), size=draws).astype(np.float64)
