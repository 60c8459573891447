"""All in focus: each pixel of a picture from the slice in which it is sharp.

A map of patches (`loop.focus_map`) is spread over the pixels. Patches that are not in focus anywhere have the
slice of the nearest one that is; between neighbours at one depth slices are blended, at a depth edge not.
"""

from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from scipy import ndimage

EDGE: Final = 1.5  # slices between neighbouring patches from which on they are two depths


def filled_index(index: Int[np.ndarray, "r c"], focused: Bool[np.ndarray, "r c"]) -> Int[np.ndarray, "r c"]:
    """Returns the sharpest slice of every patch; where there is none, that of the nearest patch with one."""
    if not focused.any():
        return index
    nearest = ndimage.distance_transform_edt(~focused, return_distances=False, return_indices=True)
    return ndimage.median_filter(index[tuple(nearest)], size=3, mode="nearest")


def pixel_index(
    index: Int[np.ndarray, "r c"],
    rows: Float[np.ndarray, " r"],
    cols: Float[np.ndarray, " c"],
    shape: tuple[int, int],
) -> Float[np.ndarray, "row col"]:
    """Returns the sharpest slice at every pixel, between slices where depth changes slowly.

    Args:
        index: Of each patch.
        rows: The row of the patches' centres, in pixels.
        cols: And the column.
        shape: Rows and columns of the picture.
    """
    places = [
        np.interp(np.arange(length) + 0.5, centres, np.arange(len(centres)))
        for length, centres in zip(shape, (rows, cols), strict=True)
    ]
    grid = np.stack(np.meshgrid(*places, indexing="ij"))
    smooth = ndimage.map_coordinates(index.astype(np.float64), grid, order=1, mode="nearest")
    nearest = ndimage.map_coordinates(index.astype(np.float64), grid, order=0, mode="nearest")
    return np.where(np.abs(smooth - nearest) > EDGE / 2, nearest, smooth)


def all_in_focus(
    frames: Shaped[np.ndarray, "slice row col"], at: Float[np.ndarray, "row col"]
) -> Shaped[np.ndarray, "row col"]:
    """Returns each pixel from the slice `at` it, or between two; in the frames' own dtype."""
    low = np.clip(np.floor(at).astype(np.int64), 0, len(frames) - 1)
    high = np.minimum(low + 1, len(frames) - 1)
    part = at - low
    out = np.zeros(at.shape)
    for index in np.unique(np.concatenate([low.ravel(), high.ravel()])).tolist():
        weight = np.where(low == index, 1 - part, 0.0) + np.where(high == index, part, 0.0)
        weight = np.where((low == index) & (high == index), 1.0, weight)
        out += np.where(weight > 0, weight * frames[index], 0.0)
    if np.issubdtype(frames.dtype, np.integer):
        out = np.rint(out)
    return out.astype(frames.dtype)
