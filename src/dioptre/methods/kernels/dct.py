"""The lowest coefficients of the cosine transform of a whole image."""

import numpy as np

from dioptre.compiled import kernel


@kernel
def _dct_row(row, offset, first, second, sums):
    for x in range(row.size):
        v = np.float64(row[x]) - offset
        sums[0, x] += v
        sums[1, x] += first * v
        sums[2, x] += second * v


@kernel
def dct_numbers(images, cosines_down, cosines_across, out):
    """The orthonormal DCT coefficients (0,0), (0,1), (1,0), (0,2), (1,1), (2,0)."""
    rows, cols = images.shape[1], images.shape[2]
    sums = np.empty((3, cols))
    for i in range(images.shape[0]):
        offset = np.float64(images[i, 0, 0])
        sums[:] = 0.0
        for y in range(rows):
            _dct_row(images[i, y], offset, cosines_down[1, y], cosines_down[2, y], sums)
        dot = np.zeros((3, 3))
        for u in range(3):
            for v in range(3 - u):
                for x in range(cols):
                    dot[u, v] += sums[u, x] * cosines_across[v, x]
        out[i, 0] = (dot[0, 0] + offset * rows * cols) / np.sqrt(rows * cols)
        out[i, 1] = dot[0, 1] * np.sqrt(2.0 / (rows * cols))
        out[i, 2] = dot[1, 0] * np.sqrt(2.0 / (rows * cols))
        out[i, 3] = dot[0, 2] * np.sqrt(2.0 / (rows * cols))
        out[i, 4] = dot[1, 1] * 2.0 / np.sqrt(rows * cols)
        out[i, 5] = dot[2, 0] * np.sqrt(2.0 / (rows * cols))
