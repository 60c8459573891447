"""Contrast of pixels against a Gaussian blur of them: of images, and of all patches of a frame."""

import numpy as np

from dioptre.compiled import kernel
from dioptre.methods.kernels.blur import blur_across, blur_down, fold_end, write_columns
from dioptre.methods.kernels.cells import F, add_to_cells


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
                blur_down(images[i], y, taps, down)
                blur_across(down, taps, padded, blurred)
                _add_local_row(images[i, y], blurred, offsets[i], codes, ratios, ratio, product, distance)
            _add_local_to_cells(ratio, product, distance, ratios, cols, out[i, :, r])


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
            fold_end(image, first, end, folds, mirrored, folded)
            _clear_local(ratio, product, distance)
            for p in range(radius):
                blur_across(folded[p], taps, padded, blurred)
                _add_local_row(image[first + p], blurred, offset, codes, ratios, ratio, product, distance)
            _add_local_to_cells(ratio, product, distance, ratios, cols, out[:, k])


@kernel
def local_corners(image, offset, folds, codes, ratios, row_starts, col_starts, size, out):
    """What `local_cells` sums, within the blur's radius of the corners of patches, reflecting both ways.

    out: (map, patch row, patch column). A few rows of patches are transposed and taken together, so that the
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
                fold_end(image, first, end, folds, mirrored, folded)
                write_columns(folded, at, blurs)
                write_columns(image[first : first + radius], at, pixels)
        cols = np.arange(stop - start + 1) * 2 * radius
        for j in range(col_starts.size):
            for side in range(2):
                left = col_starts[j] + side * (size - radius)
                fold_end(blurs, left, side, folds, mirrored, corner)
                _clear_local(ratio, product, distance)
                for p in range(radius):
                    _add_local_row(
                        pixels[left + p], corner[p], offset, codes, ratios, ratio, product, distance
                    )
                _add_local_to_cells(ratio, product, distance, ratios, cols, out[:, start:stop, j])
