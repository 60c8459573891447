"""Sums over the cells of a lattice."""

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
