"""Sums over the cells of a lattice, and which images can be summed."""

import numpy as np

from dioptre.compiled import kernel

F = np.float32


@kernel
def add_to_cells(sums, cols, out):
    """Adds a row of column sums to the cells they belong to."""
    for c in range(cols.size - 1):
        total = 0.0
        for x in range(cols[c], cols[c + 1]):
            total += sums[x]
        out[c] += total


@kernel
def find_finite(images, finite):
    """Clears `finite` for images that hold a NaN or infinite pixel."""
    for i in range(images.shape[0]):
        for y in range(images.shape[1]):
            row = images[i, y]
            total = F(0)
            for x in range(row.size):
                total += row[x] * F(0)  # 0 for finite pixels, NaN for others
            if total != 0:
                finite[i] = False
