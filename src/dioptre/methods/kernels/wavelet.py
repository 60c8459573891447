"""The subbands of a wavelet transform of a whole image, mirrored at its border."""

import numpy as np

from dioptre.compiled import kernel
from dioptre.methods.kernels.blur import reflected


@kernel
def _inner_taps(a, b, c, d, e, half, line):
    """The middle one of nine symmetric taps and two on either side of it; `half` begins with the middle."""
    t0, t1, t2 = half[0], half[1], half[2]
    for x in range(line.size):
        line[x] = t0 * c[x] + t1 * (b[x] + d[x]) + t2 * (a[x] + e[x])


@kernel
def _outer_taps(a, b, c, d, half, line):
    """Adds the two outermost taps on either side."""
    t3, t4 = half[3], half[4]
    for x in range(line.size):
        line[x] += t3 * (b[x] + c[x]) + t4 * (a[x] + d[x])


@kernel
def _taps_across(first, second, half, line):
    """All nine taps along a row whose columns lie by turns in the first and in the second array."""
    t0, t1, t2, t3, t4 = half[0], half[1], half[2], half[3], half[4]
    for x in range(line.size):
        inner = t0 * first[x + 2] + t1 * (second[x + 1] + second[x + 2]) + t2 * (first[x + 1] + first[x + 3])
        line[x] = inner + t3 * (second[x] + second[x + 3]) + t4 * (first[x] + first[x + 4])


@kernel
def _filter_down(image, half, first, out):
    """Filters and halves the rows with nine symmetric taps from row 2 o + first on, mirrored outside."""
    rows = image.shape[0]
    at = np.empty(9, np.int64)
    for o in range(out.shape[0]):
        for j in range(9):
            at[j] = reflected(2 * o + first + j, rows)
        _inner_taps(image[at[2]], image[at[3]], image[at[4]], image[at[5]], image[at[6]], half, out[o])
        _outer_taps(image[at[0]], image[at[1]], image[at[7]], image[at[8]], half, out[o])


@kernel
def _filter_across(image, low, high, out_low, out_high):
    """Filters and halves the columns, mirrored at the border; out_high may be empty: then it is not made."""
    rows, cols = image.shape
    half = out_low.shape[1] + 5
    even, odd = np.empty(half), np.empty(half)  # every other column, from eight before the first on
    inside, after = 4, cols // 2 + 4
    for y in range(rows):
        source = image[y]
        for x in range(inside, after):
            even[x], odd[x] = source[2 * (x - 4)], source[2 * (x - 4) + 1]
        for x in range(inside):
            even[x], odd[x] = source[reflected(2 * x - 8, cols)], source[reflected(2 * x - 7, cols)]
        for x in range(after, half):
            even[x], odd[x] = source[reflected(2 * x - 8, cols)], source[reflected(2 * x - 7, cols)]
        _taps_across(even, odd, low, out_low[y])
        if out_high.size > 0:
            _taps_across(odd, even[1:], high, out_high[y])


@kernel
def _subband_numbers(low, details, one, floor, out):
    """Six sums over one level: |d|, variances, d^2, low^2, log ratio, and the number of places."""
    n = low.size
    logs = 0.0
    energy = np.zeros_like(low)
    for b in range(3):
        band = details[b]
        total, square, absolute = 0.0, 0.0, 0.0
        for y in range(low.shape[0]):
            for x in range(low.shape[1]):
                d = band[y, x]
                total += d
                square += d * d
                absolute += abs(d)
                energy[y, x] += d * d
        out[0] += absolute
        out[1] += square / n - (total / n) * (total / n)
        out[2] += square
    for y in range(low.shape[0]):
        above, below, square = 1.0, 1.0, 0.0
        for x in range(low.shape[1]):
            here = low[y, x] * low[y, x]
            above *= energy[y, x] + floor
            below *= here + one
            square += here
            if x % 8 == 7:  # one logarithm and one division for so many ratios
                logs += np.log(above / below)
                above, below = 1.0, 1.0
        logs += np.log(above / below)
        out[3] += square
    out[4] = logs
    out[5] = n


@kernel
def wavelet_numbers(images, low, high, codes, levels, out):
    """Sums over the details of levels 2 and 3 of the transform, mirrored at the border.

    low, high: Ten taps each, symmetric about the sixth and the fifth. out: (image, level - 2, 6).
    """
    one, floor = 1.0 / (codes * codes), 1e-12 / (codes * codes)
    half_low, half_high = low[5:], high[4:9]
    out[:] = 0.0
    for i in range(images.shape[0]):
        image = images[i].astype(np.float64)
        for level in range(1, levels + 1):
            rows, cols = (image.shape[0] + 9) // 2, (image.shape[1] + 9) // 2
            down_low, across = np.empty((rows, image.shape[1])), np.empty((rows, cols))
            _filter_down(image, half_low, -8, down_low)
            if level == 1:
                _filter_across(down_low, half_low, half_high, across, across[:0])
            else:
                down_high, details = np.empty_like(down_low), np.empty((3, rows, cols))
                _filter_down(image, half_high, -7, down_high)
                _filter_across(down_low, half_low, half_high, across, details[0])
                _filter_across(down_high, half_low, half_high, details[1], details[2])
                _subband_numbers(across, details, one, floor, out[i, level - 2])
            image = across
