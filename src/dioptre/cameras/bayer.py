"""Green of a Bayer mosaic: the mean of the two green pixels of every four, at half the rows and columns."""

from typing import Final

import numpy as np
from jaxtyping import Real

GREENS: Final = {"RGGB": (0, 1), "BGGR": (0, 1), "GRBG": (0, 0), "GBRG": (0, 0)}  # (row, col) of the first


def mean_green(mosaic: Real[np.ndarray, "row col"], pattern: str) -> Real[np.ndarray, "half_row half_col"]:
    """Returns green in single precision; a row or column too many is left out.

    Args:
        mosaic: What the sensor's pixels counted.
        pattern: Colours of the first four pixels, row by row, such as RGGB.
    """
    row, col = GREENS[pattern]
    rows, cols = (length // 2 * 2 for length in mosaic.shape)
    one = mosaic[row:rows:2, col:cols:2].astype(np.float32)
    return (one + mosaic[1 - row : rows : 2, 1 - col : cols : 2]) / np.float32(2)
