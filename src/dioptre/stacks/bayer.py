"""Green of a Bayer mosaic: the mean of the two green pixels of every four, at half the rows and columns."""

from collections.abc import Mapping
from typing import Final

import numpy as np
from jaxtyping import Float32, Real

Greens = tuple[tuple[int, int], tuple[int, int]]

GREENS: Final[Mapping[str, Greens]] = {
    "RGGB": ((0, 1), (1, 0)),
    "BGGR": ((0, 1), (1, 0)),
    "GRBG": ((0, 0), (1, 1)),
    "GBRG": ((0, 0), (1, 1)),
}
"""(row, col) of the two green pixels of a cell, by the colours of its four, row by row."""


def mean_green(
    mosaic: Real[np.ndarray, "row col"], greens: Greens, black: tuple[float, float] = (0.0, 0.0)
) -> Float32[np.ndarray, "half_row half_col"]:
    """Returns green in single precision; a row or column too many is left out.

    Args:
        mosaic: What the sensor's pixels counted.
        greens: (row, col) of the green pixels in each cell of 2 x 2.
        black: What each of them counts in the dark, which is subtracted.
    """
    rows, cols = (length // 2 * 2 for length in mosaic.shape)
    one, other = (mosaic[row:rows:2, col:cols:2].astype(np.float32) for row, col in greens)
    return (one + other - np.float32(sum(black))) / np.float32(2)
