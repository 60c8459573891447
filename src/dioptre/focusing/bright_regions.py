"""Where the signal is: the few bright places of a picture that is mostly black, such as a star field.

A measure of a whole star field sums the noise of a million black pixels and the light of a few hundred. So
where the whole picture does not tell, its brightest places are looked at alone, side by side as one picture.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import numpy as np
from jaxtyping import Float, Float32, Int

from dioptre.focusing.regions import Region
from dioptre.focusing.slices import Slices, stream
from dioptre.robust import median_deviation
from dioptre.stacks.pictures import Pictures, Views

Found = TypeVar("Found")

WINDOW: Final = 32  # rows and columns around a bright place: sixteen of them are as large as a patch
BLOCK: Final = 2  # pixels that are averaged to find it
LAYOUTS: Final = ((4, 4), (3, 4), (3, 3), (2, 3), (2, 2))  # windows down and across
CLEAR: Final = 8.0  # deviations of the noise that a place is above the black around it
LIT: Final = 0.35  # of white: a picture whose mean is above this is not mostly black
SPARSE: Final = 0.1  # of a picture is bright at most, or it is not mostly black


def bright_slices(slices: Slices, region: Region) -> Slices | None:
    """Returns the brightest places of a region side by side, as slices of their own; None if there are none.

    Args:
        slices: All of them.
        region: The part that is asked about; light moves little from slice to slice.
    """
    places = bright_places(mean_light(slices, region))
    if places is None:
        return None

    def work(_: range, codes: Sequence[Views]) -> list[Float32[np.ndarray, "view down across"]]:
        return [side_by_side(region.pixels(slices, one), places) for one in codes]

    pixels = np.stack([one for some in _streamed(slices, region, work) for one in some])
    return replace(slices, pictures=Pictures.of_array(pixels), scaled=True, holes=None, field=None)


def mean_light(slices: Slices, region: Region) -> Float[np.ndarray, "row col"]:
    """Returns the mean of all views and slices of a region."""

    def work(_: range, codes: Sequence[Views]) -> Float[np.ndarray, "row col"]:
        total = np.zeros(region.window.shape)
        for one in codes:
            total += region.pixels(slices, one).mean(axis=0)
        return total

    total = np.zeros(region.window.shape)
    for some in _streamed(slices, region, work):
        total += some
    return total / len(slices)


def _streamed(
    slices: Slices, region: Region, work: Callable[[range, Sequence[Views]], Found]
) -> Iterator[Found]:
    runs = slices.blocks(slices.views * math.prod(region.window.shape))
    return stream(slices, runs, region.window, work)


def bright_places(light: Float[np.ndarray, "row col"]) -> Int[np.ndarray, "place 2"] | None:
    """Returns the first row and column of windows around the brightest places, or None.

    None means that the picture is not mostly black, or that too few places stand out of it.

    Args:
        light: The mean of all slices.
    """
    rows, cols = (length // BLOCK for length in light.shape)
    if min(rows, cols) * BLOCK < 2 * WINDOW or not np.isfinite(light).all():
        return None
    cut = light[: rows * BLOCK, : cols * BLOCK]
    blocks = cut.reshape(rows, BLOCK, cols, BLOCK).mean(axis=(1, 3))
    black = float(np.median(blocks))
    noise = float(median_deviation(blocks, black))
    excess = blocks - black - CLEAR * max(noise, 1e-9)
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


def side_by_side(
    picture: Float32[np.ndarray, "view row col"], places: Int[np.ndarray, "place 2"]
) -> Float32[np.ndarray, "view down across"]:
    """Returns the windows at some places as one picture, row by row; as many as a layout has."""
    down, across = next(one for one in LAYOUTS if math.prod(one) == len(places))
    windows = [picture[:, y : y + WINDOW, x : x + WINDOW] for y, x in places.tolist()]
    lines = [np.concatenate(windows[at : at + across], axis=2) for at in range(0, down * across, across)]
    return np.ascontiguousarray(np.concatenate(lines, axis=1))
