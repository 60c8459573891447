"""Small filters: differences, Laplacians, and Sobel gradients."""

import numpy as np

from dioptre.compiled import kernel
from dioptre.methods.kernels.cells import F, add_to_cells


@kernel
def _difference_row(a, b, n, absolute, square):
    for x in range(n):
        d = a[x] - b[x]
        absolute[x] += abs(d)
        square[x] += d * d


@kernel
def difference_cells(images, down, across, rows, cols, out):
    """Sums of |d| and d^2, d being the pixel minus its neighbour `down` rows and `across` columns on."""
    n = images.shape[2] - across
    absolute, square = np.empty(n, np.float32), np.empty(n, np.float32)
    for i in range(images.shape[0]):
        for r in range(rows.size - 1):
            absolute[:] = F(0)
            square[:] = F(0)
            for y in range(rows[r], rows[r + 1]):
                _difference_row(images[i, y], images[i, y + down][across:], n, absolute, square)
            add_to_cells(absolute, cols, out[i, 0, r])
            add_to_cells(square, cols, out[i, 1, r])


@kernel
def _laplacian_row(above, here, below, n, signed, square):
    for x in range(n):
        s = here[x] + here[x + 2] + above[x + 1] + below[x + 1] - F(4) * here[x + 1]
        signed[x] += s
        square[x] += s * s


@kernel
def _modified_laplacian_row(above, here, below, n, straight, rising):
    for x in range(n):
        c = F(2) * here[x + 1]
        straight[x] += abs(here[x] + here[x + 2] - c) + abs(above[x + 1] + below[x + 1] - c)
        rising[x] += abs(above[x + 2] + below[x] - c)


@kernel
def _falling_laplacian_row(above, here, below, n, falling):
    for x in range(n):
        falling[x] += abs(above[x] + below[x + 2] - F(2) * here[x + 1])


@kernel
def laplacian_cells(images, both, rows, cols, out):
    """Sums of the Laplacian, its square, |1D Laplacians| along the axes, rising, and falling if `both`."""
    n = images.shape[2] - 2
    sums = np.empty((5, n), np.float32)
    for i in range(images.shape[0]):
        for r in range(rows.size - 1):
            sums[:] = F(0)
            for y in range(rows[r], rows[r + 1]):
                above, here, below = images[i, y], images[i, y + 1], images[i, y + 2]
                _laplacian_row(above, here, below, n, sums[0], sums[1])
                _modified_laplacian_row(above, here, below, n, sums[2], sums[3])
                if both:
                    _falling_laplacian_row(above, here, below, n, sums[4])
            for m in range(5):
                add_to_cells(sums[m], cols, out[i, m, r])


@kernel
def _sobel_row(above, here, below, n, gx, gy):
    for x in range(n):
        gx[x] = (above[x + 2] - above[x]) + F(2) * (here[x + 2] - here[x]) + (below[x + 2] - below[x])
        gy[x] = (below[x] - above[x]) + F(2) * (below[x + 1] - above[x + 1]) + (below[x + 2] - above[x + 2])


@kernel
def _magnitude_row(gx, gy, magnitude, square):
    for x in range(gx.size):
        s = gx[x] * gx[x] + gy[x] * gy[x]
        square[x] += s
        magnitude[x] += np.sqrt(s)


@kernel
def _count_row(gx, gy, threshold, count):
    for x in range(gx.size):
        count[x] += F(abs(gx[x]) > threshold) + F(abs(gy[x]) > threshold)


@kernel
def sobel_cells(images, thresholds, rows, cols, out):
    """Sums of the gradient's magnitude, of its square, and of the components above each threshold."""
    n = images.shape[2] - 2
    gx, gy = np.empty(n, np.float32), np.empty(n, np.float32)
    sums = np.empty((2 + thresholds.size, n), np.float32)
    for i in range(images.shape[0]):
        for r in range(rows.size - 1):
            sums[:] = F(0)
            for y in range(rows[r], rows[r + 1]):
                _sobel_row(images[i, y], images[i, y + 1], images[i, y + 2], n, gx, gy)
                _magnitude_row(gx, gy, sums[0], sums[1])
                for t in range(thresholds.size):
                    _count_row(gx, gy, thresholds[t], sums[2 + t])
            for m in range(sums.shape[0]):
                add_to_cells(sums[m], cols, out[i, m, r])
