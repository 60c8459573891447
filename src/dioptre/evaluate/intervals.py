"""How sure numbers of a table are: bootstrap over scenes.

Patches of one scene share its surfaces, its light and often its depth, and answers from 49 starts share a
patch: neither are independent. So scenes are drawn anew, with all that belongs to them, and a number is as
sure as it is the same over such draws. All metrics are means over answers of functions of the error, so a
draw needs no more than each scene's sums.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Integer, Shaped

from dioptre.errors import InputError
from dioptre.evaluate.metrics import Metrics

DRAWS = 2000
LEVEL = 0.95
WITHIN = (0, 1, 2, 4)  # indices, of the four shares


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


def metric_intervals(
    errors: Integer[np.ndarray, " answer"], scenes: Shaped[np.ndarray, " answer"], draws: int = DRAWS
) -> Interval:
    """Returns the intervals of all six numbers of a row.

    Args:
        errors: Predicted less true index.
        scenes: Which scene each answer belongs to.
        draws: How many times scenes are drawn anew.
    """
    size = np.abs(errors.astype(np.int64))
    columns = [*(size <= most for most in WITHIN), size, size**2, np.ones_like(size)]
    sums = _sums_of_scenes(np.stack(columns, axis=1), scenes)
    drawn = _draw(len(sums), draws) @ sums
    means = drawn[:, :-1] / drawn[:, -1:]
    means[:, -1] = np.sqrt(means[:, -1])
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return Interval(_metrics(low, len(errors)), _metrics(high, len(errors)))


def _metrics(numbers: Float[np.ndarray, " 6"], count: int) -> Metrics:
    exact, within_1, within_2, within_4, mae, rmse = numbers.tolist()
    return Metrics(exact, within_1, within_2, within_4, mae, rmse, count)


def compare(
    one: Integer[np.ndarray, " answer"],
    other: Integer[np.ndarray, " answer"],
    scenes: Shaped[np.ndarray, " answer"],
    draws: int = DRAWS,
) -> Comparison:
    """Returns whether one method errs less than another that answered the same patches from the same starts.

    Args:
        one: Its errors, predicted less true index.
        other: The other's, answer by answer.
        scenes: Which scene each answer belongs to.
        draws: How many times scenes are drawn anew.
    """
    less = np.abs(one.astype(np.int64)) - np.abs(other.astype(np.int64))
    sums = _sums_of_scenes(np.stack([less, np.ones_like(less)], axis=1), scenes)
    drawn = _draw(len(sums), draws) @ sums
    means = drawn[:, 0] / drawn[:, 1]
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    tail = min(int((means >= 0).sum()), int((means <= 0).sum()))
    return Comparison(float(less.mean()), float(low), float(high), min(1.0, 2 * (tail + 1) / (draws + 1)))


def _sums_of_scenes(
    values: Float[np.ndarray, "answer column"] | Int[np.ndarray, "answer column"],
    scenes: Shaped[np.ndarray, " answer"],
) -> Float[np.ndarray, "scene column"]:
    if len(values) == 0:
        raise InputError("there is nothing to measure: no predictions")
    names, which = np.unique(scenes, return_inverse=True)
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, which, values)
    return sums


def _draw(scenes: int, draws: int) -> Float[np.ndarray, "draw scene"]:
    """Returns how often each scene is drawn, for each draw; the same for the same number of scenes."""
    rng = np.random.default_rng(scenes)
    return rng.multinomial(scenes, np.full(scenes, 1 / scenes), size=draws).astype(np.float64)
