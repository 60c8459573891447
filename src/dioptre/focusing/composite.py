"""All in focus: each pixel of a picture from the slice in which it is sharp.

A map of patches (`focusing.focus_map`) is spread over the pixels. Patches that are not in focus anywhere have
the slice of the nearest one that is; between neighbours at one depth slices are blended, at a depth edge not.
"""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped
from scipy import ndimage

EDGE: Final = 1.5  # slices between neighbouring patches from which on they are two depths
BAND: Final = 256  # rows of a picture that are worked on at a time


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
) -> Float32[np.ndarray, "row col"]:
    """Returns the sharpest slice at every pixel, between slices where depth changes slowly.

    Args:
        index: Of each patch.
        rows: The row of the patches' centres, in pixels.
        cols: And the column.
        shape: Rows and columns of the picture.
    """
    down, across = (
        np.interp(np.arange(length) + 0.5, centres, np.arange(len(centres)))
        for length, centres in zip(shape, (rows, cols), strict=True)
    )
    found, values = np.empty(shape, np.float32), index.astype(np.float32)
    for top in range(0, shape[0], BAND):  # of a large picture, little is held at a time
        grid = np.stack(np.meshgrid(down[top : top + BAND], across, indexing="ij"))
        smooth, nearest = (ndimage.map_coordinates(values, grid, order=way, mode="nearest") for way in (1, 0))
        found[top : top + BAND] = np.where(np.abs(smooth - nearest) > EDGE / 2, nearest, smooth)
    return found


def all_in_focus(
    frames: Iterable[Shaped[np.ndarray, "row col *rgb"]], at: Float[np.ndarray, "row col"]
) -> Shaped[np.ndarray, "row col *rgb"]:
    """Returns each pixel from the slice `at` it, or between two; in the frames' own dtype.

    Args:
        frames: All slices in order, which are taken one after the other.
        at: Where each pixel is sharp.
    """
    out: Shaped[np.ndarray, "row col *rgb"] | None = None
    dtype: np.dtype[Any] = np.dtype(np.uint8)
    for index, frame in enumerate(frames):
        if out is None:
            out, dtype = np.zeros(frame.shape, np.float32), frame.dtype
        for top in range(0, len(at), BAND):
            band = slice(top, top + BAND)
            weight = np.maximum(1 - np.abs(at[band] - np.float32(index)), 0)
            here = weight > 0
            share = weight[here]
            out[band][here] += (share if frame.ndim == 2 else share[:, None]) * frame[band][here]
    assert out is not None
    return (np.rint(out, out=out) if np.issubdtype(dtype, np.integer) else out).astype(dtype)
