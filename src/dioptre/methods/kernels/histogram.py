"""Pixels in order: entropy and percentiles of a whole image."""

import numpy as np

from dioptre.compiled import kernel
from dioptre.methods.kernels.cells import F


@kernel
def _count_levels(image, counts):
    last = counts.size - 1
    scale = F(counts.size)
    for y in range(image.shape[0]):
        row = image[y]
        for x in range(row.size):
            counts[min(max(int(row[x] * scale), 0), last)] += 1


@kernel
def _order_statistics(image, counts, ranks, kept, places, out):
    """Fills `out` with the values of these ranks (0 is the smallest; ascending).

    Only the values of the levels that hold a wanted rank are gathered and sorted. `places` is scratch for
    one flag a level.
    """
    last = counts.size - 1
    places[:] = 0
    level, below, gathered_below = 0, 0, 0
    for k in range(ranks.size):
        while below + counts[level] <= ranks[k]:
            below += counts[level]
            if places[level]:
                gathered_below += counts[level]
            level += 1
        places[level] = 1
        out[k] = gathered_below + (ranks[k] - below)  # for now, the place among the gathered values
    scale = F(counts.size)
    n = 0
    for y in range(image.shape[0]):
        row = image[y]
        for x in range(row.size):
            if places[min(max(int(row[x] * scale), 0), last)]:
                kept[n] = row[x]
                n += 1
    gathered = np.sort(kept[:n])
    for k in range(ranks.size):
        out[k] = gathered[int(out[k])]


@kernel
def histogram_numbers(images, percents, out):
    """Entropy of 256 levels over [0, 1], then the percentile range 100 - p to p for each falling p."""
    size = images.shape[1] * images.shape[2]
    counts, places = np.empty(4096, np.int64), np.empty(4096, np.int8)
    kept = np.empty(size, np.float32)
    fractions = percents[::-1] / 100 * (size - 1)  # ascending, from either end
    wholes = fractions.astype(np.int64)
    p = percents.size
    ranks, values = np.empty(4 * p, np.int64), np.empty(4 * p)
    for k in range(p):
        ranks[2 * k], ranks[2 * k + 1] = wholes[k], min(wholes[k] + 1, size - 1)
    for k in range(2 * p):
        ranks[4 * p - 1 - k] = size - 1 - ranks[k]
    for i in range(images.shape[0]):
        counts[:] = 0
        _count_levels(images[i], counts)
        entropy = 0.0
        for level in range(0, counts.size, 16):
            share = counts[level : level + 16].sum() / size
            if share > 0:
                entropy -= share * np.log(share)
        out[i, 0] = entropy
        if p == 0:
            continue
        _order_statistics(images[i], counts, ranks, kept, places, values)
        for k in range(p):
            part = fractions[k] - wholes[k]
            bottom = values[2 * k] + part * (values[2 * k + 1] - values[2 * k])
            top = values[4 * p - 1 - 2 * k]
            top += part * (values[4 * p - 2 - 2 * k] - top)
            out[i, p - k] = top - bottom
