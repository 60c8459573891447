"""Numba kernels of stored frames: codes to bits and back, and both to the pixels of a patch.

A frame is (native_row, col) uint16. Its codes share `shift` low zero bits and fit in `bits` bits above them.
Packed, it is cut into strips of STRIP columns, one after the other; the last may be narrower. In a strip
every column is a stream of bits down the rows, lowest bit first, in 16-bit words: word w of all the columns
of the strip comes before word w + 1. So a window of a frame is a run of words in each of a few strips, and a
row of it is shifted alike in all columns.
"""

import numpy as np

from dioptre.compiled import kernel

STRIP = 128  # columns
WORD_BITS = 16  # bits

F, U = np.float32, np.uint16


@kernel
def pack(codes, bits, shift, words):
    """Fills `words`, cols x ceil(rows x bits / 16) of them, with a frame."""
    rows, cols = codes.shape
    depth = (rows * bits + WORD_BITS - 1) // WORD_BITS
    words[:] = U(0)
    for begin in range(0, cols, STRIP):
        across = min(STRIP, cols - begin)
        for y in range(rows):
            line = codes[y, begin : begin + across]
            at, low = begin * depth + y * bits // WORD_BITS * across, y * bits % WORD_BITS
            here = words[at : at + across]
            for x in range(across):
                here[x] |= U((line[x] >> shift) << low)
            if low + bits > WORD_BITS:
                there = words[at + across : at + 2 * across]
                for x in range(across):
                    there[x] = U((line[x] >> shift) >> (WORD_BITS - low))


@kernel
def unpack(words, bits, shift, shape, top, left, out):
    """Fills `out` with a window of a packed frame; rows above or below the frame repeat its first or last.

    shape: rows and columns of the frame. top, left: where the window begins.
    """
    rows, cols = shape
    height, width = out.shape
    depth = (rows * bits + WORD_BITS - 1) // WORD_BITS
    mask = (1 << bits) - 1
    for begin in range(left // STRIP * STRIP, left + width, STRIP):
        across = min(STRIP, cols - begin)
        first, last = max(left, begin), min(left + width, begin + across)
        count = last - first
        for k in range(height):
            bit = min(max(top + k, 0), rows - 1) * bits
            at, low = begin * depth + bit // WORD_BITS * across + first - begin, bit % WORD_BITS
            line, here = out[k, first - left : last - left], words[at : at + count]
            if low + bits <= WORD_BITS:
                for x in range(count):
                    line[x] = U(((here[x] >> low) & mask) << shift)
            else:
                there = words[at + across : at + across + count]
                for x in range(count):
                    line[x] = U((((here[x] >> low) | (there[x] << (WORD_BITS - low))) & mask) << shift)


@kernel
def runs(frames, indices, shape, top, left, height, out):
    """Fills `out` (slice, view, strip, 2) with the first byte and the length of what a window needs.

    frames, indices, shape: as for `read_patch`. Of each frame it needs one run in each strip that it touches;
    rows beyond the frame do not count.
    """
    rows, cols = shape
    top, bottom = max(top, 0), min(top + height, rows)
    for at in range(indices.size):
        for view in range(out.shape[1]):
            first, bits, _ = frames[indices[at], view]
            depth = (rows * bits + WORD_BITS - 1) // WORD_BITS
            begin = left // STRIP * STRIP
            for strip in range(out.shape[2]):
                across = min(STRIP, cols - begin)
                start, stop = top * bits // WORD_BITS, (bottom * bits + WORD_BITS - 1) // WORD_BITS
                out[at, view, strip, 0] = 2 * (first + begin * depth + start * across)
                out[at, view, strip, 1] = 2 * (stop - start) * across
                begin += STRIP


@kernel
def _scale(codes, black, scale, out):
    for x in range(out.size):
        out[x] = min(max((F(codes[x]) - black) * scale, F(0)), F(1))


@kernel
def _scale_between(far, near, black, scale, out):
    """Codes a quarter of the way from a row to its neighbour, as pixels.

    Four times the code is whole, and a quarter of that exact: black and scale see the code itself.
    """
    for x in range(out.size):
        code = F(0.25) * F(np.int32(far[x]) + np.int32(3) * np.int32(near[x]))
        out[x] = min(max((code - black) * scale, F(0)), F(1))


@kernel
def _to_pixels(native, rows_per_native, black, scale, out):
    """Fills `out` with native rows as pixels; if they are upsampled, there is one more above and below."""
    if rows_per_native == 1:
        for k in range(out.shape[0]):
            _scale(native[k], black, scale, out[k])
    else:
        for k in range(out.shape[0] // 2):
            _scale_between(native[k], native[k + 1], black, scale, out[2 * k])
            _scale_between(native[k + 2], native[k + 1], black, scale, out[2 * k + 1])


@kernel
def read_patch(words, frames, indices, shape, rows_per_native, top, left, black, scale, out):
    """Fills `out` (slice, view, row, col) with the pixels of a patch at some positions.

    words: The packed frames of a capture. frames: (position, view, 3): at which word each begins, its bits
    and its shift. shape: native rows and columns of a frame. top, left: where the patch begins, in native
    rows and in columns. scale: one over white less black.
    """
    size = out.shape[3]
    margin = rows_per_native - 1  # a row more above and below, if they are upsampled
    native = np.empty((size // rows_per_native + 2 * margin, size), np.uint16)
    for at in range(indices.size):
        for view in range(out.shape[1]):
            first, bits, shift = frames[indices[at], view]
            unpack(words[first:], bits, shift, shape, top - margin, left, native)
            _to_pixels(native, rows_per_native, black, scale, out[at, view])


@kernel
def check_run(words, weights, sums, page, begin, length, seen):
    """Checks pages that a run of bytes touches and marks them in `seen`; returns the first bad one, or -1.

    words: (page, word) of the pages that are whole. One more, which is not, is returned once all others are
    checked, if the run touches it and it has not been seen.
    """
    whole = words.shape[0]
    for number in range(begin // page, (begin + length + page - 1) // page):
        if seen[number]:
            continue
        if number >= whole:
            return whole
        total = np.uint64(0)
        for k in range(weights.size):
            total += words[number, k] * weights[k]
        if total != sums[number]:
            return number
        seen[number] = 1
    return -1


@kernel
def check_runs(words, weights, sums, page, runs, seen):
    """Checks many runs of bytes, (run, 2): first byte and length of each; returns what `check_run` does."""
    last_too = False
    for at in range(runs.shape[0]):
        bad = check_run(words, weights, sums, page, runs[at, 0], runs[at, 1], seen)
        if bad == words.shape[0]:
            last_too = True
        elif bad >= 0:
            return bad
    return words.shape[0] if last_too else -1


@kernel
def read_slices(codes, patches, indices, corners, rows_per_native, black, scale, offset, pages, at, out):
    """Fills some of `out` (batch, slice, view, row, col) with pixels of windows; returns a bad page or -1.

    codes: (patch, slice, view, native_row, col). patches, indices, corners: patch, slices and first row and
    column of each window. at: which of `out` each window is. offset: the byte of the file at which codes
    begin. pages: (words, weights, sums, page, seen) of `check_run`, which sees each slice just after it was
    read: it is in the processor's cache then. No sums: nothing is checked.
    """
    words, weights, sums, page, seen = pages
    slice_bytes = 2 * codes.shape[2] * codes.shape[3] * codes.shape[4]
    height, width = out.shape[3] // rows_per_native, out.shape[4]
    last_too = False
    for k in range(at.size):
        top, left = corners[k, 0] // rows_per_native, corners[k, 1]
        bottom = top + height + 2 * (rows_per_native - 1)
        for j in range(indices.shape[1]):
            for view in range(out.shape[2]):
                native = codes[patches[k], indices[k, j], view, top:bottom, left : left + width]
                _to_pixels(native, rows_per_native, black, scale, out[at[k], j, view])
            if sums.size:
                begin = offset + (patches[k] * codes.shape[1] + indices[k, j]) * slice_bytes
                bad = check_run(words, weights, sums, page, begin, slice_bytes, seen)
                if bad == words.shape[0]:
                    last_too = True
                elif bad >= 0:
                    return bad
    return words.shape[0] if last_too else -1
