"""Left against right as they are, and normalised by mean and standard deviation."""

import numpy as np

from dioptre.compiled import kernel
from dioptre.methods.kernels.cells import F, add_to_cells
from dioptre.methods.kernels.intensity import moments_row


@kernel
def _correlation_row(left, right, left_offset, right_offset, sums):
    for x in range(left.size):
        a, b = np.float64(left[x]) - left_offset, np.float64(right[x]) - right_offset
        sums[0, x] += a
        sums[1, x] += b
    for x in range(left.size):
        a, b = np.float64(left[x]) - left_offset, np.float64(right[x]) - right_offset
        sums[2, x] += a * a
        sums[3, x] += b * b
    for x in range(left.size):
        a, b = np.float64(left[x]) - left_offset, np.float64(right[x]) - right_offset
        sums[4, x] += a * b


@kernel
def correlation_cells(pairs, left_offsets, right_offsets, rows, cols, out):
    """Sums of l, r, l^2, r^2 and l r, with l = L - offset and r = R - offset."""
    sums = np.empty((5, pairs.shape[3]))
    for i in range(pairs.shape[0]):
        left, right = pairs[i, 0], pairs[i, 1]
        for k in range(rows.size - 1):
            sums[:] = 0.0
            for y in range(rows[k], rows[k + 1]):
                _correlation_row(left[y], right[y], left_offsets[i], right_offsets[i], sums)
            for m in range(5):
                add_to_cells(sums[m], cols, out[i, m, k])


@kernel
def mean_and_deviation(pairs, view, offsets, means, deviations):
    """Mean and standard deviation of one view of each pair, about an offset near the mean."""
    size = pairs.shape[2] * pairs.shape[3]
    first, second = np.empty(pairs.shape[3]), np.empty(pairs.shape[3])
    for i in range(pairs.shape[0]):
        first[:] = 0.0
        second[:] = 0.0
        for y in range(pairs.shape[2]):
            moments_row(pairs[i, view, y], offsets[i], first, second)
        mean = first.sum() / size
        means[i] = offsets[i] + mean
        deviations[i] = np.sqrt(max(second.sum() / size - mean * mean, 0.0))


@kernel
def _normalise_row(row, mean, gain, rest, out):
    for x in range(out.size):
        out[x] = (row[x] - mean) * gain + rest


@kernel
def _absolute_difference(left, right):
    total = F(0)
    for x in range(left.size):
        total += abs(left[x] - right[x])
    return total


@kernel
def _box_row(above, below, out):
    for x in range(out.size):
        out[x] = F(0.25) * ((above[x] + above[x + 1]) + (below[x] + below[x + 1]))


@kernel
def _envelope_gap(a0, a1, b0, b1):
    """Sums of the gap between the extents of two pairs of box-filtered rows, and of its square."""
    total, square = F(0), F(0)
    for x in range(a0.size - 1):
        a_low = min(min(a0[x], a0[x + 1]), min(a1[x], a1[x + 1]))
        a_high = max(max(a0[x], a0[x + 1]), max(a1[x], a1[x + 1]))
        b_low = min(min(b0[x], b0[x + 1]), min(b1[x], b1[x + 1]))
        b_high = max(max(b0[x], b0[x + 1]), max(b1[x], b1[x + 1]))
        gap = max(F(0), a_low - b_high) + max(F(0), b_low - a_high)  # one of the two is always zero
        total += gap
        square += gap * gap
    return total, square


@kernel
def normalised_numbers(pairs, means, gains, envelope, out):
    """Sum of |l - r|, then the envelopes' L1 and L2 distance, with l = (L - mean) gain.

    `means` and `gains` are (image, view) float64. What rounding the mean to float32 leaves over is
    added back, so that low contrast on a bright ground keeps its digits.
    """
    rows, cols = pairs.shape[2], pairs.shape[3]
    views = np.empty((2, 2, cols), np.float32)  # view, row mod 2
    boxes = np.empty((2, 2, cols - 1), np.float32)
    for i in range(pairs.shape[0]):
        means32 = (F(means[i, 0]), F(means[i, 1]))
        gains32 = (F(gains[i, 0]), F(gains[i, 1]))
        rests = (F((means32[0] - means[i, 0]) * gains[i, 0]), F((means32[1] - means[i, 1]) * gains[i, 1]))
        out[i] = 0.0
        for y in range(rows):
            _normalise_row(pairs[i, 0, y], means32[0], gains32[0], rests[0], views[0, y % 2])
            _normalise_row(pairs[i, 1, y], means32[1], gains32[1], rests[1], views[1, y % 2])
            out[i, 0] += _absolute_difference(views[0, y % 2], views[1, y % 2])
            if not envelope or y == 0:
                continue
            _box_row(views[0, 0], views[0, 1], boxes[0, y % 2])
            _box_row(views[1, 0], views[1, 1], boxes[1, y % 2])
            if y > 1:
                total, square = _envelope_gap(boxes[0, 0], boxes[0, 1], boxes[1, 0], boxes[1, 1])
                out[i, 1] += total
                out[i, 2] += square
