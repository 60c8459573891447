"""Numba kernels of registration: images sampled between their pixels along one axis.

Catmull-Rom's cubic reaches two pixels either way. Pixels beyond an image count as 0.
"""

import numpy as np

from dioptre.compiled import kernel

TAPS = 4

F = np.float32


@kernel
def _weights(place, weights):
    """Fills the weights of the TAPS pixels around a place; returns the first of them."""
    first = int(np.floor(place)) - 1
    for tap in range(TAPS):
        d = abs(F(place - (first + tap)))
        if d < 1:
            weights[tap] = (F(1.5) * d - F(2.5)) * d * d + F(1)
        elif d < 2:
            weights[tap] = ((F(-0.5) * d + F(2.5)) * d - F(4)) * d + F(2)
        else:
            weights[tap] = F(0)
    return first


@kernel
def sample_rows(images, places, out):
    """Fills out (batch, place, col) with the images (batch, row, col) at rows (batch, place)."""
    weights = np.empty(TAPS, np.float32)
    for batch in range(len(images)):
        image, wanted, sampled = images[batch], places[batch], out[batch]
        for at in range(wanted.size):
            first, line = _weights(wanted[at], weights), sampled[at]
            line[:] = F(0)
            for tap in range(TAPS):
                if 0 <= first + tap < len(image):
                    pixels, weight = image[first + tap], weights[tap]
                    for x in range(line.size):
                        line[x] += weight * pixels[x]


@kernel
def sample_cols(images, places, out):
    """Fills out (batch, row, place) with the images (batch, row, col) at columns (batch, place)."""
    count, n = places.shape[1], images.shape[2]
    pixels, weights = np.empty((count, TAPS), np.int64), np.empty((count, TAPS), np.float32)
    for batch in range(len(images)):
        image, wanted, sampled = images[batch], places[batch], out[batch]
        for at in range(count):
            first = _weights(wanted[at], weights[at])
            for tap in range(TAPS):
                inside = 0 <= first + tap < n
                pixels[at, tap] = first + tap if inside else 0
                weights[at, tap] = weights[at, tap] if inside else F(0)
        for y in range(len(image)):
            line, values = image[y], sampled[y]
            for at in range(count):
                total = F(0)
                for tap in range(TAPS):
                    total += weights[at, tap] * line[pixels[at, tap]]
                values[at] = total
