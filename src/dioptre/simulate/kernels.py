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
def _dots(a, b, c):
    """Two products with the same third."""
    first, second = F(0), F(0)
    for x in range(c.size):
        first += a[x] * c[x]
        second += b[x] * c[x]
    return first, second


@kernel
def find_spans(pairs, spans):
    """Fills the first and last tap, and one after it, that a turned pair of kernels has in each row."""
    count, _, size, _ = pairs.shape
    for k in range(count):
        for dy in range(size):
            left, right = pairs[k, 0, dy], pairs[k, 1, dy]
            first, last = 0, size
            while first < last and left[first] == F(0) and right[first] == F(0):
                first += 1
            while last > first and left[last - 1] == F(0) and right[last - 1] == F(0):
                last -= 1
            spans[k, dy, 0], spans[k, dy, 1] = first, last


@kernel
def blur_partly(image, alpha, pairs, which, state, light, cover):
    """As `blur_each`, of an image and of where it is, for pixels that are or may be in it.

    state: of each pixel, 0 nothing is near (left at 0), 1 an edge is near, 2 it is inside: `cover` is left.
    """
    size = pairs.shape[2]
    turned = pairs[:, :, ::-1, ::-1].copy()
    spans = np.empty((len(pairs), size, 2), np.int64)
    find_spans(turned, spans)
    for y in range(light.shape[1]):
        for x in range(light.shape[2]):
            if state[y, x] == 0:
                continue
            k = which[y, x]
            left, right, left_cover, right_cover = F(0), F(0), F(0), F(0)
            for dy in range(size):
                first, last = spans[k, dy, 0], spans[k, dy, 1]
                if first == last:
                    continue
                a, b = turned[k, 0, dy][first:last], turned[k, 1, dy][first:last]
                u, v = _dots(a, b, image[y + dy][x + first : x + last])
                left += u
                right += v
                if state[y, x] == 1:
                    u, v = _dots(a, b, alpha[y + dy][x + first : x + last])
                    left_cover += u
                    right_cover += v
            light[0, y, x], light[1, y, x] = left, right
            if state[y, x] == 1:
                cover[0, y, x], cover[1, y, x] = left_cover, right_cover


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


@kernel
def _reflected(at, n):
    """The pixel of n that a place beyond them shows, if the picture is mirrored on and on."""
    at = at % (2 * n)
    return 2 * n - 1 - at if at >= n else at


@kernel
def _lookup(picture, row, col):
    """A picture between its pixels by Catmull-Rom cubics, mirrored on beyond its borders."""
    rows, cols = picture.shape
    top, left = int(np.floor(row)), int(np.floor(col))
    a, b = F(row - top), F(col - left)
    a0, a1 = ((F(-0.5) * a + F(1)) * a - F(0.5)) * a, (F(1.5) * a - F(2.5)) * a * a + F(1)
    a2, a3 = ((F(-1.5) * a + F(2)) * a + F(0.5)) * a, (F(0.5) * a - F(0.5)) * a * a
    b0, b1 = ((F(-0.5) * b + F(1)) * b - F(0.5)) * b, (F(1.5) * b - F(2.5)) * b * b + F(1)
    b2, b3 = ((F(-1.5) * b + F(2)) * b + F(0.5)) * b, (F(0.5) * b - F(0.5)) * b * b
    if 1 <= top < rows - 2 and 1 <= left < cols - 2:
        r0, r1, r2, r3 = top - 1, top, top + 1, top + 2
        c0, c1, c2, c3 = left - 1, left, left + 1, left + 2
    else:
        r0, r1 = _reflected(top - 1, rows), _reflected(top, rows)
        r2, r3 = _reflected(top + 1, rows), _reflected(top + 2, rows)
        c0, c1 = _reflected(left - 1, cols), _reflected(left, cols)
        c2, c3 = _reflected(left + 1, cols), _reflected(left + 2, cols)
    p, q, r, s = picture[r0], picture[r1], picture[r2], picture[r3]
    return (
        a0 * (b0 * p[c0] + b1 * p[c1] + b2 * p[c2] + b3 * p[c3])
        + a1 * (b0 * q[c0] + b1 * q[c1] + b2 * q[c2] + b3 * q[c3])
        + a2 * (b0 * r[c0] + b1 * r[c1] + b2 * r[c2] + b3 * r[c3])
        + a3 * (b0 * s[c0] + b1 * s[c1] + b2 * s[c2] + b3 * s[c3])
    )


@kernel
def _inside(mask, u, v):
    """Whether a place, -1 to 1 along either axis, is inside an outline that is drawn on a square mask."""
    n = len(mask)
    row, col = (v + 1.0) * 0.5 * n - 0.5, (u + 1.0) * 0.5 * n - 0.5
    if row < -0.5 or col < -0.5 or row > n - 0.5 or col > n - 0.5:
        return False
    row, col = min(max(row, 0.0), n - 1.001), min(max(col, 0.0), n - 1.001)
    r, c = int(row), int(col)
    a, b = row - r, col - c
    top = mask[r, c] * (1 - b) + mask[r, c + 1] * b
    bottom = mask[r + 1, c] * (1 - b) + mask[r + 1, c + 1] * b
    return top * (1 - a) + bottom * a > 0.5


@kernel
def _hit_board(p, d, half, mask):
    """Along a ray p + t d, the t at which it meets the plane z = 0, and whether that is on the board."""
    if abs(d[2]) < 1e-9:
        return np.inf, False
    t = -p[2] / d[2]
    if half[0] == 0:  # endless
        return t, t > 0
    return t, t > 0 and _inside(mask, (p[0] + t * d[0]) / half[0], (p[1] + t * d[1]) / half[1])


@kernel
def _hit_box(p, d, half):
    """The same for a box; a ray that misses it gets the last t at which it enters one of its slabs."""
    enter, leave = -np.inf, np.inf
    for axis in range(3):
        if abs(d[axis]) < 1e-9:
            if abs(p[axis]) > half[axis]:
                leave = -np.inf
            continue
        a, b = (-half[axis] - p[axis]) / d[axis], (half[axis] - p[axis]) / d[axis]
        enter, leave = max(enter, min(a, b)), min(leave, max(a, b))
    return enter, 0 < enter <= leave


@kernel
def _hit_round(p, d, half, along):
    """The same for a ball, or with `along` 0 for the side of a cylinder whose axis is y.

    A ray that passes by gets the t at which it is nearest.
    """
    a = d[0] * d[0] + d[2] * d[2] + along * d[1] * d[1]
    b = p[0] * d[0] + p[2] * d[2] + along * p[1] * d[1]
    c = p[0] * p[0] + p[2] * p[2] + along * p[1] * p[1] - half[0] * half[0]
    inside = b * b - a * c
    t = (-b - np.sqrt(max(inside, 0.0))) / a
    hit = inside >= 0 and t > 0
    if along == 0.0:
        hit = hit and abs(p[1] + t * d[1]) <= half[1]
    return t, hit


@kernel
def aim(focal, distortion, first, step, rays):
    """Fills the directions (x, y, 1) of the rays that fall on a grid of places: rays (2, rows, cols).

    first: (x, y) of the grid's first place, pixels from the principal point; step: between places. The lens
    distorts: what lies r from the axis, in focal lengths, is seen
    (1 + distortion[0] r^2 + distortion[1] r^4) times as far from it.
    """
    for i in range(rays.shape[1]):
        dy = (first[1] + step * i) / focal
        for j in range(rays.shape[2]):
            dx = (first[0] + step * j) / focal
            seen = dx * dx + dy * dy
            r2, more = seen, 1.0
            for _ in range(4):
                more = 1.0 + (distortion[0] + distortion[1] * r2) * r2
                r2 = seen / (more * more)
            rays[0, i, j], rays[1, i, j] = F(dx / more), F(dy / more)


@kernel
def cast(kind, place, axes, half, mask, rotation, centre, rays, depth, cover):
    """Casts rays onto one surface: dioptres along the camera's axis, and where the surface is.

    kind: 0 a board, 1 a box, 2 a cylinder, 3 a ball. place, axes, half: the surface's middle, its own axes
    (as rows) and half its size along them, metres. rotation, centre: the camera's. Where a ray misses, the
    depth is that of where it nearly hits.
    """
    rows, cols = depth.shape
    p = axes @ (centre - place)
    turned = axes @ rotation.T
    d = np.empty(3)
    for i in range(rows):
        for j in range(cols):
            u, v = rays[0, i, j], rays[1, i, j]
            for axis in range(3):
                d[axis] = turned[axis, 0] * u + turned[axis, 1] * v + turned[axis, 2]
            if kind == 0:
                t, hit = _hit_board(p, d, half, mask)
            elif kind == 1:
                t, hit = _hit_box(p, d, half)
            else:
                t, hit = _hit_round(p, d, half, 0.0 if kind == 2 else 1.0)
            depth[i, j] = F(min(1.0 / t, 20.0)) if t > 0.05 else F(20.0 if t > 0 else 0.0)
            cover[i, j] = F(1.0 if hit else 0.0)


@kernel
def shine(depth, cover, rotation, centre, rays, picture, painted_at, painted_px, radiance):
    """Fills what a surface that was cast looks like: a picture thrown onto it from the middle of the world.

    painted_at: place (row, col) of the picture that lies straight ahead; painted_px: its pixels for a tangent
    of 1. Where nothing of the surface is, the radiance is 0.
    """
    rows, cols = depth.shape
    for i in range(rows):
        for j in range(cols):
            if cover[i, j] <= F(0):
                radiance[i, j] = F(0)
                continue
            u, v = rays[0, i, j], rays[1, i, j]
            t = 1.0 / max(depth[i, j], F(1e-3))
            x = centre[0] + t * (rotation[0, 0] * u + rotation[1, 0] * v + rotation[2, 0])
            y = centre[1] + t * (rotation[0, 1] * u + rotation[1, 1] * v + rotation[2, 1])
            z = max(centre[2] + t * (rotation[0, 2] * u + rotation[1, 2] * v + rotation[2, 2]), 0.02)
            value = _lookup(picture, painted_at[0] + painted_px * y / z, painted_at[1] + painted_px * x / z)
            radiance[i, j] = max(value, F(0))
