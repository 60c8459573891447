"""Fused numba kernels of stereo matching between the left and the right view.

Every kernel takes `left` and `right`, (image, row, col) float32, C-contiguous, and runs on one core without
the GIL; the caller shares images out over threads. A shift d compares left[y, x] with right[y, x + d]. The
curves are (image, ..., 2 reach + 1), the shift -reach first.

Sums over a row stay in float32 and are added up in float64: views come in with their mean taken off, so that
no digits are lost. NaN and infinity must not reach this module.
"""

import numpy as np

from dioptre.compiled import kernel

F = np.float32
FLAT = 1e-9  # of the mean square: below this a view has no variance but rounding
TINY = 1e-12
FLOOR = 0.02  # pixels squared: what the parabola itself gets wrong
NEIGHBOURS = 3  # tiles on each side that smoothing hears
WIDTH = 2.0  # tiles: so far away a tile's say has fallen to a quarter
STRAY = 1.0  # pixels: a shift so far from those around it counts half


@kernel
def _dot(a, b):
    total = F(0)
    for x in range(a.size):
        total += a[x] * b[x]
    return total


@kernel
def _add_columns(view, mean, centred, first, second):
    """Writes the view less its mean, and its columns' sums of values and of squares as cumulative sums."""
    first[:] = 0
    second[:] = 0
    for y in range(view.shape[0]):
        for x in range(view.shape[1]):
            value = view[y, x] - mean
            centred[y, x] = value
            first[x + 1] += value
        for x in range(view.shape[1]):
            second[x + 1] += np.float64(centred[y, x]) * centred[y, x]
    for x in range(view.shape[1]):
        first[x + 1] += first[x]
        second[x + 1] += second[x]


@kernel
def zncc_curves(left, right, reach, out):
    """Fills out with the zero-normalised cross-correlation over the overlap at each shift; 0 if flat."""
    n, rows, cols = left.shape
    a, b = np.empty((rows, cols), F), np.empty((rows, cols), F)
    sums = np.empty((4, cols + 1))
    for i in range(n):
        mean_a, mean_b = F(left[i].mean()), F(right[i].mean())
        _add_columns(left[i], mean_a, a, sums[0], sums[1])
        _add_columns(right[i], mean_b, b, sums[2], sums[3])
        least_a = FLAT * (sums[1, cols] / (rows * cols) + np.float64(mean_a) ** 2)
        least_b = FLAT * (sums[3, cols] / (rows * cols) + np.float64(mean_b) ** 2)
        for k in range(2 * reach + 1):
            shift = k - reach
            begin, end = max(0, -shift), min(cols, cols - shift)
            cross = 0.0
            for y in range(rows):
                cross += np.float64(_dot(a[y, begin:end], b[y, begin + shift : end + shift]))
            count = rows * (end - begin)
            of_a = (sums[0, end] - sums[0, begin]) / count
            of_b = (sums[2, end + shift] - sums[2, begin + shift]) / count
            var_a = (sums[1, end] - sums[1, begin]) / count - of_a**2
            var_b = (sums[3, end + shift] - sums[3, begin + shift]) / count - of_b**2
            if var_a <= least_a or var_b <= least_b:
                out[i, k] = 0.0
            else:
                out[i, k] = (cross / count - of_a * of_b) / np.sqrt(var_a * var_b)


@kernel
def halve(view, out):
    """Fills out with the means of 2 x 2 pixels."""
    n, rows, cols = out.shape
    for i in range(n):
        for y in range(rows):
            upper, lower = view[i, 2 * y], view[i, 2 * y + 1]
            for x in range(cols):
                out[i, y, x] = F(0.25) * (
                    (upper[2 * x] + lower[2 * x + 1]) + (lower[2 * x] + upper[2 * x + 1])
                )


@kernel
def divide_by_local_mean(view, radius, out):
    """Fills out with each view over its own mean in a window around each pixel, less 1; 0 where it is black.

    The window ends where the picture does.
    """
    n, rows, cols = view.shape
    column, upto = np.empty(cols, np.float64), np.empty(cols + 1, np.float64)
    upto[0] = 0.0
    for i in range(n):
        column[:] = 0.0
        high = 0
        for y in range(rows):
            while high < min(rows, y + radius + 1):
                for x in range(cols):
                    column[x] += view[i, high, x]
                high += 1
            if y - radius - 1 >= 0:
                for x in range(cols):
                    column[x] -= view[i, y - radius - 1, x]
            low = max(0, y - radius)
            total = 0.0
            for x in range(cols):
                total += column[x]
                upto[x + 1] = total
            for x in range(cols):
                begin, end = max(0, x - radius), min(cols, x + radius + 1)
                mean = (upto[end] - upto[begin]) / ((end - begin) * (high - low))
                out[i, y, x] = F(view[i, y, x] / mean - 1.0) if mean > TINY else F(0)


@kernel
def ssd_curves(left, right, reach, tile, out):
    """Fills out, (image, tile row, tile col, shift), with the sum of squared differences of each tile.

    The first tile begins at column `reach`, so that every tile is searched to the full. Columns are summed
    before tiles: the inner loop runs over a whole row.
    """
    n, _, cols = left.shape
    _, down, across, shifts = out.shape
    columns = np.empty(cols, F)
    width = across * tile
    for i in range(n):
        for r in range(down):
            for k in range(shifts):
                sums = columns[:width]
                sums[:] = 0
                for y in range(r * tile, (r + 1) * tile):
                    one, other = left[i, y, reach : reach + width], right[i, y, k : k + width]
                    for x in range(width):
                        step = one[x] - other[x]
                        sums[x] += step * step
                for c in range(across):
                    total = F(0)
                    for x in range(c * tile, (c + 1) * tile):
                        total += sums[x]
                    out[i, r, c, k] = total


@kernel
def _parabola(before, least, after):
    """Returns a parabola's minimum, from the middle of three values: its place, value and curvature."""
    bend = before - 2 * least + after
    if bend <= TINY:
        return 0.0, least, 0.0
    return (before - after) / (2 * bend), least - (before - after) ** 2 / (8 * bend), bend


@kernel
def tile_minima(curves, samples, held, shifts, weights):
    """Fills shifts and weights, (image, tile row, tile col), from each tile's curve of differences.

    The shift is that of the parabola through the least difference and its neighbours. Its weight is one over
    its variance in pixels squared, which is that of least squares: twice the noise of one of `samples`
    independent pixels, which the least difference shows, over the curve's bend; to that comes FLOOR. The
    weight falls to 0 where another shift is all but as good. At the end of the search there is no parabola:
    the weight is 0 or, if tiles are `held` there, that of a curve which rises as steeply beyond the end.
    """
    n, down, across, count = curves.shape
    reach = count // 2
    for i in range(n):
        for r in range(down):
            for c in range(across):
                curve = curves[i, r, c]
                at = 0
                for k in range(1, count):
                    if curve[k] < curve[at]:
                        at = k
                shifts[i, r, c] = at - reach
                weights[i, r, c] = 0.0
                if at in (0, count - 1) and not held:
                    continue
                least = np.float64(curve[at])
                before, after = (
                    np.float64(curve[abs(at - 1)]),
                    np.float64(curve[min(at + 1, 2 * count - 3 - at)]),
                )
                aside, lowest, bend = _parabola(before, least, after)
                if bend <= 0.0:
                    continue
                rival = np.inf
                for k in range(count):
                    if abs(k - at) > 1:
                        rival = min(rival, np.float64(curve[k]))
                noise = max(lowest, 0.0) / samples + TINY  # of what counts as one pixel, squared
                certain = 1.0 - np.exp(-0.5 * (rival - least) / noise)
                shifts[i, r, c] = at - reach + aside
                weights[i, r, c] = certain / (2.0 * noise / bend + FLOOR)


@kernel
def smooth_tiles(shifts, weights, guide, contrast, about, out, heard):
    """Fills out with each tile's shift, smoothed over the tiles around it that look alike.

    A joint bilateral filter whose samples carry weights and are deaf to outliers: a tile's say falls with its
    distance, with how much brighter or darker it is, and with how far its shift is from `about`, the patch's
    shift or the tile's own of the pass before. `heard` gets the weight that a tile hears.
    """
    n, down, across = shifts.shape
    for i in range(n):
        for r in range(down):
            for c in range(across):
                total, mass = 0.0, 0.0
                for y in range(max(0, r - NEIGHBOURS), min(down, r + NEIGHBOURS + 1)):
                    for x in range(max(0, c - NEIGHBOURS), min(across, c + NEIGHBOURS + 1)):
                        away = 1.0 + ((y - r) ** 2 + (x - c) ** 2) / WIDTH**2
                        unlike = (guide[i, y, x] - guide[i, r, c]) / contrast
                        astray = (shifts[i, y, x] - about[i, y, x]) / STRAY
                        apart = away * away * (1.0 + unlike * unlike) * (1.0 + astray * astray)
                        total += weights[i, y, x] / apart * shifts[i, y, x]
                        mass += weights[i, y, x] / apart
                out[i, r, c] = total / mass if mass > 0.0 else about[i, r, c]
                heard[i, r, c] = mass


@kernel
def _median(values, weights):
    """Returns the value that half of the weight does not exceed; 0 without weight."""
    order = np.argsort(values)
    total = weights.sum()
    upto = 0.0
    for at in order:
        upto += weights[at]
        if upto >= total / 2 and total > 0.0:
            return values[at]
    return 0.0


@kernel
def match_tiles(left, right, held, local, tile, samples, contrast, passes, shifts, weights, likeness):
    """Fills in the smoothed shifts of tiles and their weights, (image, down, across), and the likeness.

    One patch after the other, so that it stays in the cache.
    """
    n, down, across = shifts.shape
    reach = likeness.shape[1] // 2
    size = (1, left.shape[1], left.shape[2])
    one, other = np.empty(size, F), np.empty(size, F)
    curves = np.empty((1, down, across, 2 * reach + 1), F)
    raw, worth, guide = np.empty((1, down, across)), np.empty((1, down, across)), np.empty((1, down, across))
    about = np.empty((1, down, across))
    for i in range(n):
        divide_by_local_mean(left[i : i + 1], local, one)
        divide_by_local_mean(right[i : i + 1], local, other)
        ssd_curves(one, other, reach, tile, curves)
        tile_minima(curves, samples, held, raw, worth)
        energy = 0.0
        for r in range(down):
            for c in range(across):
                y, x = r * tile, reach + c * tile
                seen, beside = one[0, y : y + tile, x : x + tile], other[0, y : y + tile, x : x + tile]
                guide[0, r, c] = seen.mean()
                for row in range(tile):
                    energy += _dot(seen[row], seen[row]) + _dot(beside[row], beside[row])
        about[:] = _median(raw.ravel(), worth.ravel())
        for _ in range(passes):
            smooth_tiles(raw, worth, guide, contrast, about, shifts[i : i + 1], weights[i : i + 1])
            about[:] = shifts[i : i + 1]
        for k in range(2 * reach + 1):
            total = 0.0
            for r in range(down):
                for c in range(across):
                    total += curves[0, r, c, k]
            likeness[i, k] = 1.0 - total / energy if energy > 0.0 else 0.0
