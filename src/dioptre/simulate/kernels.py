"""Fused numba kernels of the renderer. They run on one core without the GIL.

Images are (row, col) float32. A pair of blur kernels is (2, size, size) float32, left and right, size odd,
and is applied as optics does: light from a scene point lands at the kernel's offsets, so an image is the
convolution of scene and kernel.
"""

import numpy as np

from dioptre.compiled import kernel

F = np.float32


@kernel
def _cubic(t, weights):
    """Catmull-Rom weights of the four samples around a place `t` after the second."""
    weights[0] = F(((-0.5 * t + 1.0) * t - 0.5) * t)
    weights[1] = F((1.5 * t - 2.5) * t * t + 1.0)
    weights[2] = F(((-1.5 * t + 2.0) * t + 0.5) * t)
    weights[3] = F((0.5 * t - 0.5) * t * t)


@kernel
def splat(pupil, places, scale, out):
    """Adds each pupil sample's light to the pixels around the place where it lands.

    Cubic weights keep the light's first and second moments, so that a kernel changes smoothly through focus
    and is not widened by the pixels it is written on.

    pupil: (2, n, n), light for the left and the right view. places: (n,) pupil coordinates along either axis.
    scale: pixels for a unit of pupil; negative reflects the pupil through its centre.
    """
    n, middle = places.size, out.shape[1] // 2
    weights, first = np.empty((n, 4), np.float32), np.empty(n, np.int64)
    for i in range(n):
        place = places[i] * scale + middle
        first[i] = int(np.floor(place)) - 1
        _cubic(place - np.floor(place), weights[i])
    for i in range(n):
        for j in range(n):
            left, right = pupil[0, i, j], pupil[1, i, j]
            if left + right == F(0):
                continue
            for a in range(4):
                for b in range(4):
                    weight = weights[i, a] * weights[j, b]
                    out[0, first[i] + a, first[j] + b] += weight * left
                    out[1, first[i] + a, first[j] + b] += weight * right


@kernel
def _add_three_to_both(a, b, c, left, right, out_left, out_right):
    l0, l1, l2 = left[0], left[1], left[2]
    r0, r1, r2 = right[0], right[1], right[2]
    for x in range(out_left.size):
        u, v, w = a[x], b[x], c[x]
        out_left[x] += (l0 * u + l1 * v) + l2 * w
        out_right[x] += (r0 * u + r1 * v) + r2 * w


@kernel
def _add_four(a, b, c, d, ka, kb, kc, kd, out):
    for x in range(out.size):
        out[x] += (ka * a[x] + kb * b[x]) + (kc * c[x] + kd * d[x])


@kernel
def blur_pair(image, pair, out):
    """Both views of an image blurred by one pair of kernels: out (2, rows, cols) = image * pair.

    The image is larger than `out` by the kernels' size less one, with `out` in its middle.
    """
    size = pair.shape[1]
    turned = np.zeros((2, size, size + 2), np.float32)  # two empty taps, so that they can be taken by threes
    turned[:, :, :size] = pair[:, ::-1, ::-1]  # light at a kernel's offset comes from the opposite side
    for y in range(out.shape[1]):
        left, right = out[0, y], out[1, y]
        left[:] = F(0)
        right[:] = F(0)
        for dy in range(size):
            left_taps, right_taps, source = turned[0, dy], turned[1, dy], image[y + dy]
            first, last = 0, size - 1
            while first <= last and left_taps[first] == F(0) and right_taps[first] == F(0):
                first += 1
            while last >= first and left_taps[last] == F(0) and right_taps[last] == F(0):
                last -= 1
            for dx in range(first, last + 1, 3):
                b, c = min(dx + 1, size - 1), min(dx + 2, size - 1)
                _add_three_to_both(
                    source[dx:], source[b:], source[c:], left_taps[dx:], right_taps[dx:], left, right
                )


@kernel
def _dot(a, b):
    total = F(0)
    for x in range(a.size):
        total += a[x] * b[x]
    return total


@kernel
def blur_each(image, pairs, which, out):
    """Both views of an image in which each pixel gathers with its own pair of kernels, pairs[which[y, x]].

    pairs: (k, 2, size, size). Right where neighbouring pixels have nearly the same kernel: smooth surfaces.
    """
    size = pairs.shape[2]
    turned = pairs[:, :, ::-1, ::-1].copy()
    for y in range(out.shape[1]):
        for x in range(out.shape[2]):
            taps = turned[which[y, x]]
            left, right = F(0), F(0)
            for dy in range(size):
                source = image[y + dy][x : x + size]
                left += _dot(taps[0, dy], source)
                right += _dot(taps[1, dy], source)
            out[0, y, x] = left
            out[1, y, x] = right


@kernel
def resample(image, first_row, first_col, step, out):
    """Samples an image at rows first_row + step i and columns first_col + step j, by Catmull-Rom cubics."""
    rows, cols = out.shape
    narrow = np.empty((4, cols), np.float32)
    weights = np.empty(4, np.float32)
    at = np.empty(cols, np.int64)
    across = np.empty((4, cols), np.float32)
    for j in range(cols):
        place = first_col + step * j
        at[j] = int(np.floor(place)) - 1
        _cubic(place - np.floor(place), weights)
        for k in range(4):
            across[k, j] = weights[k]
    held = np.full(4, -1)  # which image row each row of `narrow` holds
    for i in range(rows):
        place = first_row + step * i
        top = int(np.floor(place)) - 1
        for y in range(top, top + 4):
            slot = y % 4
            if held[slot] != y:
                source, line = image[y], narrow[slot]
                for j in range(cols):
                    x = at[j]
                    line[j] = (across[0, j] * source[x] + across[1, j] * source[x + 1]) + (
                        across[2, j] * source[x + 2] + across[3, j] * source[x + 3]
                    )
                held[slot] = y
        _cubic(place - np.floor(place), weights)
        line = out[i]
        line[:] = F(0)
        _add_four(
            narrow[top % 4], narrow[(top + 1) % 4], narrow[(top + 2) % 4], narrow[(top + 3) % 4],
            weights[0], weights[1], weights[2], weights[3], line,
        )  # fmt: skip


@kernel
def drop_discs(centres, radii, greys, image):
    """Paints discs front to back on what is still free (NaN), until all discs are dropped or nothing is free.

    Returns how many pixels are still free.
    """
    rows, cols = image.shape
    free = 0
    for y in range(rows):
        for x in range(cols):
            if np.isnan(image[y, x]):
                free += 1
    for d in range(radii.size):
        cy, cx, r = centres[d, 0], centres[d, 1], radii[d]
        for y in range(max(0, int(np.ceil(cy - r))), min(rows, int(np.floor(cy + r)) + 1)):
            half = np.sqrt(r * r - (y - cy) * (y - cy))
            for x in range(max(0, int(np.ceil(cx - half))), min(cols, int(np.floor(cx + half)) + 1)):
                if np.isnan(image[y, x]):
                    image[y, x] = greys[d]
                    free -= 1
        if free == 0:
            break
    return free
