"""The default measures without compiled kernels: OpenCV filters, NumPy sums.

Compiling takes seconds, and a first answer should not wait for it. On large pictures this is nearly as fast
as the kernels (`distance_cells`, `sobel_cells`), whose answers it gives but for rounding.
"""

from itertools import pairwise

import numpy as np
from jaxtyping import Float, Float32

from dioptre.methods.measure import Edges, Images


def distance_sums(
    images: Images,
    offsets: Float[np.ndarray, " image"],
    taps: Float32[np.ndarray, " tap"],
    codes: float,
    rows: Edges,
    cols: Edges,
) -> Float[np.ndarray, "image r c"]:
    """Returns the sums of (I - B)^2 / B^2 over cells, B being I blurred; see `kernels.distance_cells`."""
    import cv2  # noqa: PLC0415 (start-up time)

    both, one = np.concatenate([taps[:0:-1], taps]), np.float32(1 / codes**2)
    found = np.empty((len(images), len(rows) - 1, len(cols) - 1))
    for image, offset, sums in zip(images, offsets.astype(np.float32), found, strict=True):
        blurred: Float32[np.ndarray, "row col"] = np.asarray(
            cv2.sepFilter2D(image, cv2.CV_32F, both, both, borderType=cv2.BORDER_REFLECT), np.float32
        )
        for r, (first, last) in enumerate(pairwise(rows)):  # as much as a cache holds
            blur = blurred[first:last]
            change = image[first:last] - blur
            change *= change
            blur += offset
            blur *= blur
            blur += one
            change /= blur
            columns = change.sum(axis=0, dtype=np.float64)[cols[0] : cols[-1]]
            sums[r] = np.add.reduceat(columns, cols[:-1] - cols[0])
    return found


def magnitude_sums(images: Images, rows: Edges, cols: Edges) -> Float[np.ndarray, "image 2 r c"]:
    """Returns the sums of the gradient's magnitude and its square over cells; see `kernels.sobel_cells`."""
    import cv2  # noqa: PLC0415 (start-up time)

    found = np.empty((len(images), 2, len(rows) - 1, len(cols) - 1))
    for image, sums in zip(images, found, strict=True):
        across, down = (cv2.Sobel(image, cv2.CV_32F, dx, 1 - dx)[1:-1, 1:-1] for dx in (1, 0))
        for r, (first, last) in enumerate(pairwise(rows)):
            square = across[first:last] ** 2 + down[first:last] ** 2
            for of, response in enumerate((np.sqrt(square), square)):
                columns = response.sum(axis=0, dtype=np.float64)[cols[0] : cols[-1]]
                sums[of, r] = np.add.reduceat(columns, cols[:-1] - cols[0])
    return found
