"""The subbands of a wavelet transform of a whole image."""

import numpy as np

from dioptre.compiled import kernel


@kernel
def _filter_down(image, taps, shift, out):
    """Filters and halves the rows, periodically; an odd last row is doubled."""
    rows, cols = image.shape
    period = rows + rows % 2
    for o in range(out.shape[0]):
        line = out[o]
        line[:] = 0.0
        for j in range(taps.size):
            tap = taps[j]
            if tap == 0.0:
                continue
            source = image[min((2 * o + shift - j) % period, rows - 1)]
            for x in range(cols):
                line[x] += tap * source[x]


@kernel
def _filter_across(image, taps, shift, out):
    """Filters and halves the columns, periodically; an odd last column is doubled."""
    rows, cols = image.shape
    period = cols + cols % 2
    half = out.shape[1]
    phases = np.empty((2, half + taps.size))
    margin = taps.size // 2
    source_at = np.empty((2, half + taps.size), np.int64)
    for p in range(2):
        for x in range(half + taps.size):
            source_at[p, x] = min((2 * (x - margin) + p) % period, cols - 1)
    for y in range(rows):
        for p in range(2):
            for x in range(half + taps.size):
                phases[p, x] = image[y, source_at[p, x]]
        line = out[y]
        line[:] = 0.0
        for j in range(taps.size):
            tap = taps[j]
            if tap == 0.0:
                continue
            at = shift - j
            source = phases[at % 2][margin + at // 2 :]
            for x in range(half):
                line[x] += tap * source[x]


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
        product = 1.0
        for x in range(low.shape[1]):
            product *= (energy[y, x] + floor) / (low[y, x] * low[y, x] + one)
            if x % 8 == 7:
                logs += np.log(product)
                product = 1.0
            out[3] += low[y, x] * low[y, x]
        logs += np.log(product)
    out[4] = logs
    out[5] = n


@kernel
def wavelet_numbers(images, low, high, codes, levels, out):
    """Sums over the details of levels 2 and 3 of the periodic transform: out is (image, level - 2, 6)."""
    one, floor = 1.0 / (codes * codes), 1e-12 / (codes * codes)
    shift = low.size // 2
    out[:] = 0.0
    for i in range(images.shape[0]):
        rows, cols = images.shape[1], images.shape[2]
        image = images[i].astype(np.float64)
        for level in range(1, levels + 1):
            down_low = np.empty(((rows + 1) // 2, cols))
            across = np.empty(((rows + 1) // 2, (cols + 1) // 2))
            _filter_down(image, low, shift, down_low)
            _filter_across(down_low, low, shift, across)
            if level >= 2:
                down_high = np.empty_like(down_low)
                details = np.empty((3, across.shape[0], across.shape[1]))
                _filter_down(image, high, shift, down_high)
                _filter_across(down_low, high, shift, details[0])
                _filter_across(down_high, low, shift, details[1])
                _filter_across(down_high, high, shift, details[2])
                _subband_numbers(across, details, one, floor, out[i, level - 2])
            image = across
            rows, cols = image.shape
