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


# Plane sweep


@kernel
def match_plane(reference, other, f, cx, cy, rotation, move, rho, most, out):
    """Fills the cost of a plane that faces the reference camera, rho dioptres away, against another camera.

    reference, other: (3, rows, cols): intensity and its gradients along x and y. Both are pinhole pictures of
    focal length f whose axis is at (cx, cy). rotation, move: from the reference camera to the other, the
    point (u, v, 1) at rho being at rotation (u, v, 1) + rho move. Places that the other camera does not see
    cost `most`, which is where costs are cut off.
    """
    rows, cols = out.shape
    high, wide = other.shape[1] - 1, other.shape[2] - 1
    for i in range(rows):
        v = (i - cy) / f
        x0 = rotation[0, 1] * v + rotation[0, 2] + rho * move[0]
        y0 = rotation[1, 1] * v + rotation[1, 2] + rho * move[1]
        z0 = rotation[2, 1] * v + rotation[2, 2] + rho * move[2]
        for j in range(cols):
            u = (j - cx) / f
            z = z0 + rotation[2, 0] * u
            if z <= 0.01:
                out[i, j] = most
                continue
            x, y = F(f * (x0 + rotation[0, 0] * u) / z + cx), F(f * (y0 + rotation[1, 0] * u) / z + cy)
            if not (x >= 0 and y >= 0 and x < wide and y < high):
                out[i, j] = most
                continue
            c, r = int(x), int(y)
            a, b = x - F(c), y - F(r)
            w11 = a * b
            w10, w01 = b - w11, a - w11
            w00 = F(1) - a - w10
            total = F(0)
            for channel in range(3):
                p, q = other[channel, r], other[channel, r + 1]
                value = w00 * p[c] + w01 * p[c + 1] + w10 * q[c] + w11 * q[c + 1]
                total += abs(value - reference[channel, i, j])
            out[i, j] = min(total, most)


@kernel
def _box_rows(source, radius, out):
    """Sums over 2 radius + 1 rows, fewer at the borders."""
    rows, cols = source.shape
    total = np.zeros(cols, np.float32)
    for i in range(min(radius, rows)):
        line = source[i]
        for j in range(cols):
            total[j] += line[j]
    for i in range(rows):
        if i + radius < rows:
            line = source[i + radius]
            for j in range(cols):
                total[j] += line[j]
        if i - radius - 1 >= 0:
            line = source[i - radius - 1]
            for j in range(cols):
                total[j] -= line[j]
        into = out[i]
        for j in range(cols):
            into[j] = total[j]


@kernel
def box(source, radius, spare, out):
    """Sums over squares of 2 radius + 1 pixels, fewer at the borders; spare: (rows, cols + 2 radius)."""
    rows, cols = source.shape
    middle = spare[:, radius : radius + cols]
    _box_rows(source, radius, middle)
    for i in range(rows):
        line, into = spare[i], out[i]
        for j in range(cols):
            into[j] = line[j]
        for k in range(1, 2 * radius + 1):
            shifted = line[k:]
            for j in range(cols):
                into[j] += shifted[j]


@kernel
def smooth_cost(cost, guide, count, mean, variance, radius, keep, spare, a, b, t):
    """Smooths a cost along the edges of a guide, in place: He's guided filter.

    count: pixels of each square; mean, variance: of the guide in it; keep: variance from which on an edge is
    one. spare, a, b, t: room.
    """
    rows, cols = cost.shape
    for i in range(rows):
        p, g, line = cost[i], guide[i], t[i]
        for j in range(cols):
            line[j] = p[j] * g[j]
    box(t, radius, spare, a)
    box(cost, radius, spare, b)
    for i in range(rows):
        u, v, n, m, s, g = a[i], b[i], count[i], mean[i], variance[i], guide[i]
        for j in range(cols):
            average = v[j] / n[j]
            slope = (u[j] / n[j] - m[j] * average) / (s[j] + keep)
            u[j] = slope
            v[j] = average - slope * m[j]
    box(a, radius, spare, t)
    box(b, radius, spare, a)
    for i in range(rows):
        p, g, u, v, n = cost[i], guide[i], t[i], a[i], count[i]
        for j in range(cols):
            p[j] = (u[j] * g[j] + v[j]) / n[j]


@kernel
def best_half(costs, out):
    """Fills the mean of the lower half of the costs (neighbour, row, col): who is hidden does not vote.

    With one neighbour it is that one's.
    """
    count, rows, cols = costs.shape
    half = max(1, count // 2)
    chosen = np.empty(count, np.float32)
    for i in range(rows):
        for j in range(cols):
            for k in range(count):
                chosen[k] = costs[k, i, j]
            total = F(0)
            for k in range(half):
                low = k
                for other in range(k + 1, count):
                    if chosen[other] < chosen[low]:
                        low = other
                chosen[k], chosen[low] = chosen[low], chosen[k]
                total += chosen[k]
            out[i, j] = total / F(half)


@kernel
def pick_plane(volume, apart, plane, best, second):
    """Fills the plane of least cost of each pixel, between planes by a parabola, and its cost.

    volume: (plane, row, col). second: the least cost of planes more than `apart` away.
    """
    count, rows, cols = volume.shape
    for i in range(rows):
        for j in range(cols):
            low, at = volume[0, i, j], 0
            for k in range(1, count):
                if volume[k, i, j] < low:
                    low, at = volume[k, i, j], k
            best[i, j] = low
            plane[i, j] = F(at)
            if 0 < at < count - 1:
                before, after = volume[at - 1, i, j], volume[at + 1, i, j]
                bend = before - F(2) * low + after
                if bend > F(1e-9):
                    plane[i, j] = F(at) + F(0.5) * (before - after) / bend
            other = F(np.inf)
            for k in range(count):
                if abs(k - at) > apart and volume[k, i, j] < other:
                    other = volume[k, i, j]
            second[i, j] = other


@kernel
def agreement(plane, planes, rotations, moves, f, cx, cy, first, spacing, tolerance, out):
    """Fills how well the depths of other cameras agree with a camera's, (other, row, col) from 0 to 1.

    planes: the others' maps. The dioptres of a plane are first + spacing plane. A point is put into the other
    camera, whose own plane is read where it falls; e planes apart count exp(-(e / tolerance)^2).
    """
    count, rows, cols = out.shape
    for k in range(count):
        rotation, move, other = rotations[k], moves[k], planes[k]
        for i in range(rows):
            v = (i - cy) / f
            for j in range(cols):
                u = (j - cx) / f
                rho = first + spacing * plane[i, j]
                z = rotation[2, 0] * u + rotation[2, 1] * v + rotation[2, 2] + rho * move[2]
                out[k, i, j] = F(0)
                if z <= 0.01:
                    continue
                x = f * (rotation[0, 0] * u + rotation[0, 1] * v + rotation[0, 2] + rho * move[0]) / z + cx
                y = f * (rotation[1, 0] * u + rotation[1, 1] * v + rotation[1, 2] + rho * move[1]) / z + cy
                c, r = int(np.floor(x + 0.5)), int(np.floor(y + 0.5))
                if c < 0 or r < 0 or c >= other.shape[1] or r >= other.shape[0]:
                    continue
                expected = (rho / z - first) / spacing
                e = (other[r, c] - expected) / tolerance
                out[k, i, j] = F(np.exp(-e * e))
