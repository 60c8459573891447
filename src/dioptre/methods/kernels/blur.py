"""A Gaussian blur, row by row, that reflects at the border of an image or of a patch in a frame."""

from dioptre.compiled import kernel
from dioptre.methods.kernels.cells import F


@kernel
def reflected(i, n):
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
def blur_across(row, taps, padded, out):
    """Blurs one row, reflecting at its ends. `padded` is scratch, wider than the row by two radii."""
    n = row.size
    middle = taps.size - 1
    for x in range(n):  # assigning a slice would compile NumPy's messages too
        padded[middle + x] = row[x]
    for k in range(middle):
        padded[middle - 1 - k] = row[reflected(-1 - k, n)]
        padded[middle + n + k] = row[reflected(n + k, n)]
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
def blur_down(image, y, taps, out):
    """Blurs along the rows axis, reflecting at the borders, for row y of the result.

    `taps` is the centre and one half of the kernel, a multiple of four taps long.
    """
    n = image.shape[0]
    _scale_row(image[y], taps[0], out)
    for k in range(1, taps.size, 4):
        _add_pairs(
            image[reflected(y - k, n)], image[reflected(y + k, n)],
            image[reflected(y - k - 1, n)], image[reflected(y + k + 1, n)],
            image[reflected(y - k - 2, n)], image[reflected(y + k + 2, n)],
            image[reflected(y - k - 3, n)], image[reflected(y + k + 3, n)],
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
def fold_end(image, first, end, folds, mirrored, out):
    """The blurred band of rows that begins at `first`, at the first (end 0) or the last rows of its patch."""
    if end == 0:
        _fold_down(image, first, folds, out)
    else:
        _fold_down(image, first - folds.shape[0], mirrored, out)


@kernel
def write_columns(rows, at, out):
    """Writes rows as columns `at` and on."""
    for x in range(rows.shape[1]):
        for p in range(rows.shape[0]):
            out[x, at + p] = rows[p, x]


@kernel
def transpose(image, out):
    """Transposes, a strip of rows at a time, so that each cache line of the result is written at once."""
    for y in range(0, image.shape[0], 16):
        write_columns(image[y : y + 16], y, out)
