"""Robust statistics: what a few outliers hardly move."""

import numpy as np
from jaxtyping import Float

NORMAL = 1.4826  # standard deviation of normal numbers over their median absolute deviation


def median_deviation(
    values: Float[np.ndarray, "..."], centre: float | None = None, axis: int | None = None
) -> Float[np.ndarray, "..."] | np.floating:
    """Returns the standard deviation that the median absolute deviation tells of normal numbers.

    Args:
        values: The numbers.
        centre: What they deviate from; their median by default.
        axis: Along which; all by default.
    """
    middle = np.median(values, axis=axis, keepdims=True) if centre is None else centre
    return NORMAL * np.float64(np.median(np.abs(values - middle), axis=axis))


def weighted_median(
    values: Float[np.ndarray, "row n"], weights: Float[np.ndarray, "row n"]
) -> Float[np.ndarray, " row"]:
    """Returns the value of each row that half of the weight does not exceed; 0 of a row without weight."""
    order = np.argsort(values, axis=1)
    upto = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    half = np.argmax(upto >= upto[:, -1:] / 2, axis=1)
    found = np.take_along_axis(values, np.take_along_axis(order, half[:, None], axis=1), axis=1)[:, 0]
    return np.where(upto[:, -1] > 0, found, 0.0)
