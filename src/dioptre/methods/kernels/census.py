"""Left against right by the order of neighbouring pixels: census, rank and ternary census transforms."""

import numpy as np

from dioptre.compiled import kernel
from dioptre.methods.kernels.cells import F

# Two whole numbers in one float32: a row adds at most 16 to each, so 32 rows stay below PACK, and
# PACK times that below 2^24, where float32 still counts exactly.
PACK = F(4096)


@kernel
def _census_bit(neighbour, centre, other_neighbour, other_centre):
    """0 where both views agree whether the neighbour is greater, 1 or -1 where only one says so."""
    return F(neighbour > centre) - F(other_neighbour > other_centre)


@kernel
def _census_row(l0, l1, l2, r0, r1, r2, n, packed):
    """Adds the Hamming distance + PACK x the rank distance of the two census transforms."""
    for x in range(n):
        c, d = l1[x + 1], r1[x + 1]
        b0 = _census_bit(l0[x], c, r0[x], d)
        b1 = _census_bit(l0[x + 1], c, r0[x + 1], d)
        b2 = _census_bit(l0[x + 2], c, r0[x + 2], d)
        b3 = _census_bit(l1[x], c, r1[x], d)
        b4 = _census_bit(l1[x + 2], c, r1[x + 2], d)
        b5 = _census_bit(l2[x], c, r2[x], d)
        b6 = _census_bit(l2[x + 1], c, r2[x + 1], d)
        b7 = _census_bit(l2[x + 2], c, r2[x + 2], d)
        hamming = (abs(b0) + abs(b1)) + (abs(b2) + abs(b3)) + (abs(b4) + abs(b5)) + (abs(b6) + abs(b7))
        rank = (b0 + b1) + (b2 + b3) + (b4 + b5) + (b6 + b7)
        packed[x] += hamming + PACK * abs(rank)


@kernel
def _ternary_links(left_from, left_to, right_from, right_to, small, large, out):
    """The ternary distance of each pair of neighbours at the small epsilon + PACK x that at the large one.

    A pair counts the same seen from either end, so that half of the eight neighbours give all of them.
    """
    for x in range(out.size):
        a, b = left_to[x] - left_from[x], right_to[x] - right_from[x]
        near = (F(a > small) - F(a < -small)) - (F(b > small) - F(b < -small))
        far = (F(a > large) - F(a < -large)) - (F(b > large) - F(b < -large))
        out[x] = abs(near) + PACK * abs(far)


@kernel
def _ternary_down(left, right, y, small, large, links):
    """The distances between row y and the next: straight down, right down, and left down (x + 1 to x)."""
    l0, l1, r0, r1 = left[y], left[y + 1], right[y], right[y + 1]
    n = l0.size
    _ternary_links(l0, l1, r0, r1, small, large, links[0])
    _ternary_links(l0, l1[1:], r0, r1[1:], small, large, links[1, : n - 1])
    _ternary_links(l0[1:], l1, r0[1:], r1, small, large, links[2, : n - 1])


@kernel
def _add_links(a, b, c, d, out):
    for x in range(out.size):
        out[x] += (a[x] + b[x]) + (c[x] + d[x])


@kernel
def _unpack_to_cells(packed, cols, low, high):
    for c in range(cols.size - 1):
        a, b = 0, 0
        for x in range(cols[c], cols[c + 1]):
            value = int(packed[x])
            a += value % 4096
            b += value // 4096
        low[c] += a
        high[c] += b


@kernel
def census_cells(pairs, rows, cols, out):
    """Sums of the Hamming distance of the census transforms and of the distance of the rank transforms."""
    n = pairs.shape[3] - 2
    packed = np.empty(n, np.float32)
    for i in range(pairs.shape[0]):
        left, right = pairs[i, 0], pairs[i, 1]
        for k in range(rows.size - 1):
            packed[:] = F(0)
            for y in range(rows[k], rows[k + 1]):
                _census_row(
                    left[y], left[y + 1], left[y + 2],
                    right[y], right[y + 1], right[y + 2], n, packed,
                )  # fmt: skip
            _unpack_to_cells(packed, cols, out[i, 0, k], out[i, 1, k])


@kernel
def ternary_cells(pairs, small, large, rows, cols, out):
    """Sums of the distance of the ternary census transforms, for a small and a large epsilon."""
    width = pairs.shape[3]
    packed = np.empty(width - 2, np.float32)
    across = np.empty(width - 1, np.float32)
    down = np.zeros((2, 3, width), np.float32)  # from the row above, and from the row itself
    for i in range(pairs.shape[0]):
        left, right = pairs[i, 0], pairs[i, 1]
        for k in range(rows.size - 1):
            packed[:] = F(0)
            _ternary_down(left, right, rows[k], small, large, down[rows[k] % 2])
            for y in range(rows[k] + 1, rows[k + 1] + 1):
                above, here = down[(y - 1) % 2], down[y % 2]
                _ternary_down(left, right, y, small, large, here)
                _ternary_links(left[y], left[y][1:], right[y], right[y][1:], small, large, across)
                _add_links(across, across[1:], above[0, 1:], here[0, 1:], packed)
                _add_links(above[1], here[1, 1:], above[2, 1:], here[2], packed)
            _unpack_to_cells(packed, cols, out[i, 0, k], out[i, 1, k])
