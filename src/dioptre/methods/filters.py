"""The sums that the default measures need, by OpenCV's filters and NumPy.

They are not compiled: importing numba alone takes longer than most people's stack, so `focus` by a default
measure never does. Cells are at most 32 rows high (`measure.CELL_ROWS`), which float32 sums without harm;
sums of cells are float64.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Float32

from dioptre.methods.measure import CELL_ROWS, Edges, Images

_BAND_PIXELS = 1 << 15  # of a picture that are worked on at a time: what a core's cache holds


def distance_sums(
    images: Images,
    offsets: Float[np.ndarray, " image"],
    taps: Float32[np.ndarray, " tap"],
    codes: float,
    rows: Edges,
    cols: Edges,
) -> Float[np.ndarray, "image r c"]:
    """Returns the sums of (I - B)^2 / (B^2 + 1 code^2) over cells, B being I blurred.

    Args:
        images: I without its offset, from its lowest pixel: dark pixels keep their digits.
        offsets: What was taken off each image.
        taps: The centre and one half of the blur, which reflects at the image's borders.
        codes: Codes between black and white.
        rows: Edges of the cells.
        cols: The same along the columns.
    """
    import cv2  # noqa: PLC0415 (start-up time)

    both, one = np.concatenate([taps[:0:-1], taps]), np.float32(1 / codes**2)
    found = np.empty((len(images), len(rows) - 1, len(cols) - 1))
    for image, offset, sums in zip(images, offsets.astype(np.float32), found, strict=True):
        blurred: Float32[np.ndarray, "row col"] = np.asarray(
            cv2.sepFilter2D(image, cv2.CV_32F, both, both, borderType=cv2.BORDER_REFLECT), np.float32
        )
        for cells, edges in _bands(rows, image.shape[1]):
            blur = blurred[edges[0] : edges[-1]]
            change = image[edges[0] : edges[-1]] - blur
            change *= change
            blur += offset
            blur *= blur
            blur += one
            change /= blur
            sums[cells] = _cell_sums(change, edges, cols)
    return found


def magnitude_sums(images: Images, rows: Edges, cols: Edges) -> Float[np.ndarray, "image 2 r c"]:
    """Returns the sums of the Sobel gradient's magnitude and of its square over cells of its response."""
    import cv2  # noqa: PLC0415 (start-up time)

    found = np.empty((len(images), 2, len(rows) - 1, len(cols) - 1))
    for image, sums in zip(images, found, strict=True):
        for cells, edges in _bands(rows, image.shape[1]):
            band = image[edges[0] : edges[-1] + 2]  # a response lacks the first and the last pixel
            square, down = (cv2.Sobel(band, cv2.CV_32F, dx, 1 - dx)[1:-1] for dx in (1, 0))
            square *= square
            down *= down
            square += down
            sums[1, cells] = _cell_sums(square[:, 1:-1], edges, cols)
            sums[0, cells] = _cell_sums(np.sqrt(square, out=square)[:, 1:-1], edges, cols)
    return found


def _bands(rows: Edges, width: int) -> Iterator[tuple[slice, Edges]]:
    """Yields runs of cells that a cache holds: which cells, and the edges of their rows."""
    many = max(1, _BAND_PIXELS // (CELL_ROWS * width))
    for first in range(0, len(rows) - 1, many):
        edges = rows[first : first + many + 1]
        yield slice(first, first + len(edges) - 1), edges


def _cell_sums(
    response: Float32[np.ndarray, "row col"], rows: Edges, cols: Edges
) -> Float[np.ndarray, "r c"]:
    """Returns the sums over cells of a response whose first row is the first edge's."""
    bands = np.add.reduceat(response, rows[:-1] - rows[0], axis=0)[:, cols[0] : cols[-1]]
    return np.add.reduceat(bands.astype(np.float64), cols[:-1] - cols[0], axis=1)
