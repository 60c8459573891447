"""Fused numba kernels of the classical measures.

Every kernel takes `images`, (image, row, col) float32 pixels, C-contiguous, and runs on one core without
the GIL; the callers share images out over threads. Two kinds:

* **Cell kernels** sum a pixel's response over the cells of a lattice: `rows` and `cols` are the cells'
  edges in response coordinates, `out` is (image, map, cell row, cell col) float64. One patch is a
  lattice of one column; a whole frame cut at the edges of all its patches shares every pixel
  (`dioptre.methods.frame`). A cell is at most `measure.CELL_ROWS` rows high, so that float32 column sums stay
  exact enough and the products of `local_cells` cannot overflow.
* **Patch kernels** return numbers of the whole image, where the measure orders, normalises or
  transforms the patch as a unit: `out` is (image, map) float64.

The inner loops run over one row and write at most two accumulators each: with more, LLVM gives up
proving that they do not overlap and leaves the loop scalar. Scalars are made float32 with `F` because
numba widens an integer times a float32 to float64.

NaN and infinity must not reach this module: callers replace such slices first.
"""

import numpy as np

from dioptre.compiled import kernel

F = np.float32
# Two whole numbers in one float32: a row adds at most 16 to each, so 32 rows stay below PACK, and
# PACK times that below 2^24, where float32 still counts exactly.
PACK = F(4096)


@kernel
def add_to_cells(sums, cols, out):
    """Adds a row of column sums to the cells they belong to."""
    for c in range(cols.size - 1):
        total = 0.0
        for x in range(cols[c], cols[c + 1]):
            total += sums[x]
        out[c] += total


@kernel
def find_sound(images, sound):
    """Clears `sound` for images that hold a NaN or infinite pixel."""
    for i in range(images.shape[0]):
        for y in range(images.shape[1]):
            row = images[i, y]
            total = F(0)
            for x in range(row.size):
                total += row[x] * F(0)  # 0 for finite pixels, NaN for others
            if total != 0:
                sound[i] = False


# Intensity


@kernel
def _moments_row(row, offset, first, second):
    for x in range(row.size):
        v = np.float64(row[x]) - offset
        first[x] += v
        second[x] += v * v


@kernel
def moment_cells(images, offsets, rows, cols, out):
    """Sums of I - offset and of its square. An offset near the mean keeps the variance exact."""
    first, second = np.empty(images.shape[2]), np.empty(images.shape[2])
    for i in range(images.shape[0]):
        for r in range(rows.size - 1):
            first[:] = 0.0
            second[:] = 0.0
            for y in range(rows[r], rows[r + 1]):
                _moments_row(images[i, y], offsets[i], first, second)
            add_to_cells(first, cols, out[i, 0, r])
            add_to_cells(second, cols, out[i, 1, r])


@kernel
def _sum_row(row, offset, total):
    for x in range(row.size):
        total[x] += np.float64(row[x]) - offset


@kernel
def phase_cells(images, offsets, rows, cols, out):
    """Sums of I - offset for each of the 16 places in a 4 x 4 block: map 4 (y mod 4) + x mod 4."""
    sums = np.empty((4, images.shape[2]))
    for i in range(images.shape[0]):
        for r in range(rows.size - 1):
            sums[:] = 0.0
            for y in range(rows[r], rows[r + 1]):
                _sum_row(images[i, y], offsets[i], sums[y % 4])
            for c in range(cols.size - 1):
                for p in range(4):
                    for x in range(cols[c], cols[c + 1]):
                        out[i, 4 * p + x % 4, r, c] += sums[p, x]


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


# Differences


@kernel
def _difference_row(a, b, n, absolute, square):
    for x in range(n):
        d = a[x] - b[x]
        absolute[x] += abs(d)
        square[x] += d * d


@kernel
def difference_cells(images, down, across, rows, cols, out):
    """Sums of |d| and d^2, d being the pixel minus its neighbour `down` rows and `across` columns on."""
    n = images.shape[2] - across
    absolute, square = np.empty(n, np.float32), np.empty(n, np.float32)
    for i in range(images.shape[0]):
        for r in range(rows.size - 1):
            absolute[:] = F(0)
            square[:] = F(0)
            for y in range(rows[r], rows[r + 1]):
                _difference_row(images[i, y], images[i, y + down][across:], n, absolute, square)
            add_to_cells(absolute, cols, out[i, 0, r])
            add_to_cells(square, cols, out[i, 1, r])


@kernel
def _laplacian_row(above, here, below, n, signed, square):
    for x in range(n):
        s = here[x] + here[x + 2] + above[x + 1] + below[x + 1] - F(4) * here[x + 1]
        signed[x] += s
        square[x] += s * s


@kernel
def _modified_laplacian_row(above, here, below, n, straight, rising):
    for x in range(n):
        c = F(2) * here[x + 1]
        straight[x] += abs(here[x] + here[x + 2] - c) + abs(above[x + 1] + below[x + 1] - c)
        rising[x] += abs(above[x + 2] + below[x] - c)


@kernel
def _falling_laplacian_row(above, here, below, n, falling):
    for x in range(n):
        falling[x] += abs(above[x] + below[x + 2] - F(2) * here[x + 1])


@kernel
def laplacian_cells(images, both, rows, cols, out):
    """Sums of the Laplacian, its square, |1D Laplacians| along the axes, rising, and falling if `both`."""
    n = images.shape[2] - 2
    sums = np.empty((5, n), np.float32)
    for i in range(images.shape[0]):
        for r in range(rows.size - 1):
            sums[:] = F(0)
            for y in range(rows[r], rows[r + 1]):
                above, here, below = images[i, y], images[i, y + 1], images[i, y + 2]
                _laplacian_row(above, here, below, n, sums[0], sums[1])
                _modified_laplacian_row(above, here, below, n, sums[2], sums[3])
                if both:
                    _falling_laplacian_row(above, here, below, n, sums[4])
            for m in range(5):
                add_to_cells(sums[m], cols, out[i, m, r])


@kernel
def _sobel_row(above, here, below, n, gx, gy):
    for x in range(n):
        gx[x] = (above[x + 2] - above[x]) + F(2) * (here[x + 2] - here[x]) + (below[x + 2] - below[x])
        gy[x] = (below[x] - above[x]) + F(2) * (below[x + 1] - above[x + 1]) + (below[x + 2] - above[x + 2])


@kernel
def _magnitude_row(gx, gy, magnitude, square):
    for x in range(gx.size):
        s = gx[x] * gx[x] + gy[x] * gy[x]
        square[x] += s
        magnitude[x] += np.sqrt(s)


@kernel
def _count_row(gx, gy, threshold, count):
    for x in range(gx.size):
        count[x] += F(abs(gx[x]) > threshold) + F(abs(gy[x]) > threshold)


@kernel
def sobel_cells(images, thresholds, rows, cols, out):
    """Sums of the gradient's magnitude, of its square, and of the components above each threshold."""
    n = images.shape[2] - 2
    gx, gy = np.empty(n, np.float32), np.empty(n, np.float32)
    sums = np.empty((2 + thresholds.size, n), np.float32)
    for i in range(images.shape[0]):
        for r in range(rows.size - 1):
            sums[:] = F(0)
            for y in range(rows[r], rows[r + 1]):
                _sobel_row(images[i, y], images[i, y + 1], images[i, y + 2], n, gx, gy)
                _magnitude_row(gx, gy, sums[0], sums[1])
                for t in range(thresholds.size):
                    _count_row(gx, gy, thresholds[t], sums[2 + t])
            for m in range(sums.shape[0]):
                add_to_cells(sums[m], cols, out[i, m, r])


# Local contrast against a Gaussian blur


@kernel
def _reflected(i, n):
    """The index that half-sample reflection, as often as needed, gives for i in 0..n-1."""
    i = i % (2 * n)
    return i if i < n else 2 * n - 1 - i


@kernel
def _scale_row(source, tap, out):
    for x in range(out.size):
        out[x] = tap * source[x]


@kernel
def _add_pairs(a, b, c, d, e, f, g, h, taps, out):
    t0, t1, t2, t3 = taps[0], taps[1], taps[2], taps[3]
    for x in range(out.size):
        out[x] += (t0 * (a[x] + b[x]) + t1 * (c[x] + d[x])) + (t2 * (e[x] + f[x]) + t3 * (g[x] + h[x]))


@kernel
def _blur_across(row, taps, padded, out):
    """Blurs one row, reflecting at its ends. `padded` is scratch, wider than the row by two radii."""
    n = row.size
    middle = taps.size - 1
    padded[middle : middle + n] = row
    for k in range(middle):
        padded[middle - 1 - k] = row[_reflected(-1 - k, n)]
        padded[middle + n + k] = row[_reflected(n + k, n)]
    _scale_row(padded[middle:], taps[0], out)
    for k in range(1, taps.size, 4):
        _add_pairs(
            padded[middle - k :], padded[middle + k :],
            padded[middle - k - 1 :], padded[middle + k + 1 :],
            padded[middle - k - 2 :], padded[middle + k + 2 :],
            padded[middle - k - 3 :], padded[middle + k + 3 :],
            taps[k:], out,
        )  # fmt: skip


@kernel
def _blur_down(image, y, taps, out):
    """Blurs along the rows axis, reflecting at the borders, for row y of the result.

    `taps` is the centre and one half of the kernel, a multiple of four taps long.
    """
    n = image.shape[0]
    _scale_row(image[y], taps[0], out)
    for k in range(1, taps.size, 4):
        _add_pairs(
            image[_reflected(y - k, n)], image[_reflected(y + k, n)],
            image[_reflected(y - k - 1, n)], image[_reflected(y + k + 1, n)],
            image[_reflected(y - k - 2, n)], image[_reflected(y + k + 2, n)],
            image[_reflected(y - k - 3, n)], image[_reflected(y + k + 3, n)],
            taps[k:], out,
        )  # fmt: skip


@kernel
def _add_four(a, b, c, d, taps, out):
    t0, t1, t2, t3 = taps[0], taps[1], taps[2], taps[3]
    for x in range(out.size):
        out[x] += (t0 * a[x] + t1 * b[x]) + (t2 * c[x] + t3 * d[x])


@kernel
def _fold_down(image, start, folds, out):
    """Weighted sums of a run of rows: out[p] = sum over q of folds[p, q] image[start + q]."""
    for p in range(folds.shape[0]):
        out[p, :] = F(0)
        for q in range(0, folds.shape[1], 4):
            y = start + q
            _add_four(image[y], image[y + 1], image[y + 2], image[y + 3], folds[p, q:], out[p])


@kernel
def _ratio_row(image, blurred, base, ratio, product):
    for x in range(ratio.size):
        a, b = image[x] + base, blurred[x] + base
        q = max(a, b) / min(a, b)
        ratio[x] += q
        product[x] *= q


@kernel
def _norm_dist_row(image, blurred, offset, one, total):
    for x in range(total.size):
        d = image[x] - blurred[x]
        b = blurred[x] + offset
        total[x] += d * d / (b * b + one)


@kernel
def _clear_local(ratio, product, distance):
    ratio[:] = F(0)
    product[:] = 1.0
    distance[:] = F(0)


@kernel
def _add_local_row(image, blurred, offset, codes, ratios, ratio, product, distance):
    """Adds a row's responses: max(I/B, B/I), to be multiplied for its logarithm, and (I - B)^2 / B^2.

    I is image + offset and B its blur; the "+1" of the formulae is one code.
    """
    if ratios:
        _ratio_row(image, blurred, F(offset + 1.0 / codes), ratio, product)
    _norm_dist_row(image, blurred, F(offset), F(1.0 / (codes * codes)), distance)


@kernel
def _add_local_to_cells(ratio, product, distance, ratios, cols, out):
    """Adds the columns' sums to cells, (map, cell); the logarithm of each product of ratios is taken once."""
    if ratios:
        for x in range(cols[0], cols[-1]):
            product[x] = np.log(product[x])
        add_to_cells(ratio, cols, out[0])
        add_to_cells(product, cols, out[1])
    add_to_cells(distance, cols, out[2])


@kernel
def local_cells(images, offsets, taps, codes, ratios, rows, cols, out):
    """Sums of max(I/B, B/I), of its logarithm and of (I - B)^2 / B^2, B being I blurred.

    The blur reflects at the image's borders. `images` are I - offset: zero for a flat image, and so is its
    blur. With the lowest pixel as offset, dark pixels keep their digits.
    """
    n = images.shape[2]
    down, blurred = np.empty(n, np.float32), np.empty(n, np.float32)
    padded = np.empty(n + 2 * taps.size, np.float32)
    ratio, product, distance = np.empty(n, np.float32), np.empty(n), np.empty(n, np.float32)
    for i in range(images.shape[0]):
        for r in range(rows.size - 1):
            _clear_local(ratio, product, distance)
            for y in range(rows[r], rows[r + 1]):
                _blur_down(images[i], y, taps, down)
                _blur_across(down, taps, padded, blurred)
                _add_local_row(images[i, y], blurred, offsets[i], codes, ratios, ratio, product, distance)
            _add_local_to_cells(ratio, product, distance, ratios, cols, out[i, :, r])


@kernel
def _fold_end(image, first, end, folds, mirrored, out):
    """The blurred band of rows that begins at `first`, at the first (end 0) or the last rows of its patch."""
    if end == 0:
        _fold_down(image, first, folds, out)
    else:
        _fold_down(image, first - folds.shape[0], mirrored, out)


@kernel
def _turn(rows, at, out):
    """Writes rows as columns `at` and on."""
    for x in range(rows.shape[1]):
        for p in range(rows.shape[0]):
            out[x, at + p] = rows[p, x]


@kernel
def turn(image, out):
    """Transposes, a strip of rows at a time, so that each cache line of the result is written at once."""
    for y in range(0, image.shape[0], 16):
        _turn(image[y : y + 16], y, out)


@kernel
def local_bands(image, offset, taps, folds, codes, ratios, starts, size, cols, out):
    """What `local_cells` sums, for the rows within the blur's radius of the first or last row of patches.

    The patches begin at the rows `starts` and are `size` rows high. Down, the blur reflects at a patch's
    border (`folds` holds the reflected taps as weights of the outermost 2 radius rows); across, it goes on.
    out: (map, patch row, cell) over the cells `cols`.
    """
    n, radius = image.shape[1], folds.shape[0]
    folded, padded = np.empty((radius, n), np.float32), np.empty(n + 2 * taps.size, np.float32)
    blurred = np.empty(n, np.float32)
    ratio, product, distance = np.empty(n, np.float32), np.empty(n), np.empty(n, np.float32)
    mirrored = folds[::-1, ::-1].copy()
    for k in range(starts.size):
        for end in range(2):
            first = starts[k] + end * (size - radius)
            _fold_end(image, first, end, folds, mirrored, folded)
            _clear_local(ratio, product, distance)
            for p in range(radius):
                _blur_across(folded[p], taps, padded, blurred)
                _add_local_row(image[first + p], blurred, offset, codes, ratios, ratio, product, distance)
            _add_local_to_cells(ratio, product, distance, ratios, cols, out[:, k])


@kernel
def local_corners(image, offset, folds, codes, ratios, row_starts, col_starts, size, out):
    """What `local_cells` sums, within the blur's radius of the corners of patches, reflecting both ways.

    out: (map, patch row, patch column). A few rows of patches are turned and taken together, so that the
    inner loops are long enough to be worth it.
    """
    n, radius, together = image.shape[1], folds.shape[0], 4
    folded, corner = np.empty((radius, n), np.float32), np.empty((radius, together * 2 * radius), np.float32)
    blurs = np.empty((n, together * 2 * radius), np.float32)
    pixels = np.empty_like(blurs)
    ratio, distance = np.empty(blurs.shape[1], np.float32), np.empty(blurs.shape[1], np.float32)
    product = np.empty(blurs.shape[1])
    mirrored = folds[::-1, ::-1].copy()
    for start in range(0, row_starts.size, together):
        stop = min(start + together, row_starts.size)
        for k in range(start, stop):
            for end in range(2):
                first = row_starts[k] + end * (size - radius)
                at = (2 * (k - start) + end) * radius
                _fold_end(image, first, end, folds, mirrored, folded)
                _turn(folded, at, blurs)
                _turn(image[first : first + radius], at, pixels)
        cols = np.arange(stop - start + 1) * 2 * radius
        for j in range(col_starts.size):
            for side in range(2):
                left = col_starts[j] + side * (size - radius)
                _fold_end(blurs, left, side, folds, mirrored, corner)
                _clear_local(ratio, product, distance)
                for p in range(radius):
                    _add_local_row(
                        pixels[left + p], corner[p], offset, codes, ratios, ratio, product, distance
                    )
                _add_local_to_cells(ratio, product, distance, ratios, cols, out[:, start:stop, j])


# Transforms of the whole patch


@kernel
def _dct_row(row, offset, first, second, sums):
    for x in range(row.size):
        v = np.float64(row[x]) - offset
        sums[0, x] += v
        sums[1, x] += first * v
        sums[2, x] += second * v


@kernel
def dct_numbers(images, cosines_down, cosines_across, out):
    """The orthonormal DCT coefficients (0,0), (0,1), (1,0), (0,2), (1,1), (2,0)."""
    rows, cols = images.shape[1], images.shape[2]
    sums = np.empty((3, cols))
    for i in range(images.shape[0]):
        offset = np.float64(images[i, 0, 0])
        sums[:] = 0.0
        for y in range(rows):
            _dct_row(images[i, y], offset, cosines_down[1, y], cosines_down[2, y], sums)
        dot = np.zeros((3, 3))
        for u in range(3):
            for v in range(3 - u):
                for x in range(cols):
                    dot[u, v] += sums[u, x] * cosines_across[v, x]
        out[i, 0] = (dot[0, 0] + offset * rows * cols) / np.sqrt(rows * cols)
        out[i, 1] = dot[0, 1] * np.sqrt(2.0 / (rows * cols))
        out[i, 2] = dot[1, 0] * np.sqrt(2.0 / (rows * cols))
        out[i, 3] = dot[0, 2] * np.sqrt(2.0 / (rows * cols))
        out[i, 4] = dot[1, 1] * 2.0 / np.sqrt(rows * cols)
        out[i, 5] = dot[2, 0] * np.sqrt(2.0 / (rows * cols))


@kernel
def _mirrored(at, n):
    """The place inside 0 .. n - 1 that a place outside is the mirror image of, the border being repeated."""
    at = at % (2 * n)
    return min(at, 2 * n - 1 - at)


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
            at[j] = _mirrored(2 * o + first + j, rows)
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
            even[x], odd[x] = source[_mirrored(2 * x - 8, cols)], source[_mirrored(2 * x - 7, cols)]
        for x in range(after, half):
            even[x], odd[x] = source[_mirrored(2 * x - 8, cols)], source[_mirrored(2 * x - 7, cols)]
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


# Left against right: pairs are (image, 2, row, col)


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


@kernel
def mean_and_deviation(pairs, view, offsets, means, deviations):
    """Mean and standard deviation of one view of each pair, about an offset near the mean."""
    size = pairs.shape[2] * pairs.shape[3]
    first, second = np.empty(pairs.shape[3]), np.empty(pairs.shape[3])
    for i in range(pairs.shape[0]):
        first[:] = 0.0
        second[:] = 0.0
        for y in range(pairs.shape[2]):
            _moments_row(pairs[i, view, y], offsets[i], first, second)
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
