"""Where the signal is: the few bright places of a picture that is mostly black, such as a star field.

A measure of a whole star field sums the noise of a million black pixels and the light of a few hundred. So
where the whole picture does not tell, its brightest places are looked at alone, side by side as one picture.
"""

import math
from typing import Final

import numpy as np
from jaxtyping import Float, Float32, Int

from dioptre.loop.inputs import Pixels

WINDOW: Final = 32  # rows and columns around a bright place: sixteen of them are as large as a patch
BLOCK: Final = 2  # pixels that are averaged to find it
LAYOUTS: Final = ((4, 4), (3, 4), (3, 3), (2, 3), (2, 2))  # windows down and across
CLEAR: Final = 8.0  # deviations of the noise that a place is above the black around it
SPARSE: Final = 0.1  # of a picture is bright at most, or it is not mostly black


def bright_places(region: Pixels) -> Int[np.ndarray, "place 2"] | None:
    """Returns the first row and column of windows around the brightest places, or None.

    None means that the picture is not mostly black, or that too few places stand out of it.

    Args:
        region: Slices of a picture; light moves little from slice to slice.
    """
    rows, cols = (length // BLOCK for length in region.shape[2:])
    if min(rows, cols) * BLOCK < 2 * WINDOW or not np.isfinite(region).all():
        return None
    light = _blocks(region, rows, cols)
    black = float(np.median(light))
    noise = 1.4826 * float(np.median(np.abs(light - black)))
    excess = light - black - CLEAR * max(noise, 1e-9)
    if not 0 < float(np.mean(excess > 0)) <= SPARSE:
        return None
    half, places = WINDOW // BLOCK // 2, list[tuple[int, int]]()
    while len(places) < math.prod(LAYOUTS[0]) and excess.max() > 0:
        row, col = (int(one) for one in np.unravel_index(int(excess.argmax()), excess.shape))
        top, left = (
            min(max(at - half, 0), n - 2 * half) for at, n in zip((row, col), (rows, cols), strict=True)
        )
        places.append((top * BLOCK, left * BLOCK))
        excess[top : top + 2 * half, left : left + 2 * half] = -1.0
    count = next((math.prod(one) for one in LAYOUTS if math.prod(one) <= len(places)), 0)
    return np.array(places[:count]) if count else None


def _blocks(region: Pixels, rows: int, cols: int) -> Float[np.ndarray, "r c"]:
    """Returns the mean of all slices, in blocks of BLOCK x BLOCK pixels."""
    total = np.zeros((rows * BLOCK, cols * BLOCK))
    for one in region:
        total += one[:, : rows * BLOCK, : cols * BLOCK].mean(axis=0)
    return total.reshape(rows, BLOCK, cols, BLOCK).mean(axis=(1, 3)) / len(region)


def side_by_side(
    region: Pixels, places: Int[np.ndarray, "place 2"]
) -> Float32[np.ndarray, "slice view down across"]:
    """Returns the windows at some places as one picture, row by row; as many as a layout has."""
    down, across = next(one for one in LAYOUTS if math.prod(one) == len(places))
    windows = [region[:, :, y : y + WINDOW, x : x + WINDOW] for y, x in places.tolist()]
    lines = [np.concatenate(windows[at : at + across], axis=3) for at in range(0, down * across, across)]
    return np.ascontiguousarray(np.concatenate(lines, axis=2))
