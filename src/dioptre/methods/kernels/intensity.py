"""Pixels as they are: moments, and sums by the place in a 4 x 4 block."""

import numpy as np

from dioptre.compiled import kernel
from dioptre.methods.kernels.cells import add_to_cells


@kernel
def moments_row(row, offset, first, second):
    for x in range(row.size):
        v = np.float64(row[x]) - offset
        first[x] += v
        second[x] += v * v


@kernel
def moment_cells(images, offsets, rows, cols, out):
    """Sums of I - offset and of its square. An offset near the mean keeps the variance exact."""
    first, second = np.empty(images.shape[2]), np.empty(images.shape[2])
    for i in range(images.shape[0]):
        for r in range(rows.size - 1):
            first[:] = 0.0
            second[:] = 0.0
            for y in range(rows[r], rows[r + 1]):
                moments_row(images[i, y], offsets[i], first, second)
            add_to_cells(first, cols, out[i, 0, r])
            add_to_cells(second, cols, out[i, 1, r])


@kernel
def _sum_row(row, offset, total):
    for x in range(row.size):
        total[x] += np.float64(row[x]) - offset


@kernel
def phase_cells(images, offsets, rows, cols, out):
    """Sums of I - offset for each of the 16 places in a 4 x 4 block: map 4 (y mod 4) + x mod 4."""
    sums = np.empty((4, images.shape[2]))
    for i in range(images.shape[0]):
        for r in range(rows.size - 1):
            sums[:] = 0.0
            for y in range(rows[r], rows[r + 1]):
                _sum_row(images[i, y], offsets[i], sums[y % 4])
            for c in range(cols.size - 1):
                for p in range(4):
                    for x in range(cols[c], cols[c + 1]):
                        out[i, 4 * p + x % 4, r, c] += sums[p, x]
