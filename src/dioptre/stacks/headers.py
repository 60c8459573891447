"""How much memory a picture, an array or a map takes once it is decoded, as the head of its file tells.

Only as much is read as it takes to know that. What cannot be told is None: decoding will find out.
"""

import io
import math
import struct
import warnings
from collections.abc import Callable, Mapping

import numpy as np

JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # markers of frames, which tell the size
JPEG_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})  # markers without a length
PNG_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}
TIFF_TYPES = {1: "B", 3: "H", 4: "I", 16: "Q"}  # of whole numbers
TIFF_COLS, TIFF_ROWS, TIFF_BITS, TIFF_SAMPLES = 256, 257, 258, 277  # tags
AVIF_BYTES = 16  # a pixel, while it is decoded: 15 were measured
MOST_HEADER = 1 << 20  # bytes of the head of an array: far more than any has


def picture_bytes(data: bytes) -> int | None:
    """Returns how many bytes a PNG, JPEG, TIFF, BMP, PGM, WebP, AVIF or GIF takes once it is decoded.

    Raises:
        ValueError: If the bytes are of none of these kinds: OpenCV knows more, whose sizes nobody checks.
    """
    for begins, read in READERS.items():
        if data.startswith(begins, 4 if begins == b"ftyp" else 0):
            try:
                return read(data)
            except (struct.error, ValueError, IndexError):
                return None
    raise ValueError("it is damaged, cut short or something else")


def _png_bytes(data: bytes) -> int:
    cols, rows, bits, colour = struct.unpack_from(">IIBB", data, 16)
    return rows * cols * max(1, bits // 8) * PNG_CHANNELS.get(colour, 4)


def _bmp_bytes(data: bytes) -> int:
    old = struct.unpack_from("<I", data, 14)[0] == 12
    cols, rows = struct.unpack_from("<HH" if old else "<ii", data, 18)
    return abs(rows) * abs(cols) * 4


def _jpeg_bytes(data: bytes) -> int | None:
    at = 2
    while at + 4 <= len(data):
        marker = data[at + 1]
        if data[at] != 0xFF or marker in (0x00, 0xFF):  # what libjpeg skips
            at += 1
        elif marker in JPEG_ALONE:
            at += 2
        elif marker in JPEG_SIZES:
            rows, cols, channels = struct.unpack_from(">HHB", data, at + 5)
            return rows * cols * max(channels, 3)
        else:
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None


def _pnm_bytes(data: bytes) -> int:
    words = [word for line in data[2:512].split(b"\n") for word in line.split(b"#")[0].split()]
    cols, rows, white = (int(word) for word in words[:3])
    return rows * cols * (2 if white > 255 else 1) * (3 if data[1:2] in b"36" else 1)


def _webp_bytes(data: bytes) -> int | None:
    kind = data[12:16]
    if kind == b"VP8X":
        cols, rows = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
    elif kind == b"VP8L":
        bits = struct.unpack_from("<I", data, 21)[0]
        cols, rows = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif kind == b"VP8 ":
        cols, rows = (size & 0x3FFF for size in struct.unpack_from("<HH", data, 26))
    else:
        return None
    return rows * cols * 4


def _tiff_bytes(data: bytes) -> int:
    """Returns the size of the first page."""
    order, large = ("<" if data[:1] == b"I" else ">"), data[2:4] in (b"+\0", b"\0+")
    at = struct.unpack_from(f"{order}Q" if large else f"{order}I", data, 8 if large else 4)[0]
    count = struct.unpack_from(f"{order}Q" if large else f"{order}H", data, at)[0]
    first, step, place = (at + 8, 20, 12) if large else (at + 2, 12, 8)
    tags = {TIFF_COLS: 1, TIFF_ROWS: 1, TIFF_BITS: 8, TIFF_SAMPLES: 1}
    for entry in range(first, first + step * min(count, len(data) // step), step):
        tag, kind = struct.unpack_from(f"{order}HH", data, entry)
        if tag in tags and kind in TIFF_TYPES:
            found = struct.unpack_from(f"{order}{TIFF_TYPES[kind]}", data, entry + place)[0]
            tags[tag] = 16 if tag == TIFF_BITS and found > 64 else found  # where several stand elsewhere
    pixels = tags[TIFF_COLS] * tags[TIFF_ROWS] * tags[TIFF_SAMPLES]
    return pixels * max(1, tags[TIFF_BITS] // 8)


def _gif_bytes(data: bytes) -> int:
    cols, rows = struct.unpack_from("<HH", data, 6)
    return rows * cols * 4


def _avif_bytes(data: bytes) -> int:
    """Returns the size of the largest picture that an AVIF tells of: they are in boxes called ispe."""
    sizes, at = [0], data.find(b"ispe")
    while at >= 0:
        cols, rows = struct.unpack_from(">II", data, at + 8)
        sizes.append(rows * cols)
        at = data.find(b"ispe", at + 4)
    return max(sizes) * AVIF_BYTES


READERS: Mapping[bytes, Callable[[bytes], int | None]] = {
    b"\x89PNG\r\n\x1a\n": _png_bytes,
    b"\xff\xd8": _jpeg_bytes,
    b"BM": _bmp_bytes,
    **dict.fromkeys((b"P2", b"P3", b"P5", b"P6"), _pnm_bytes),
    b"RIFF": _webp_bytes,
    **dict.fromkeys((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), _tiff_bytes),
    b"GIF8": _gif_bytes,
    b"ftyp": _avif_bytes,
}
"""What a file begins with, and who knows its size."""


def array_bytes(begin: bytes) -> tuple[int, int, tuple[int, ...]]:
    """Returns how many bytes the array of an .npy takes, how many its head does, and its shape.

    Args:
        begin: The first MOST_HEADER bytes of the file, or all of it.

    Raises:
        ValueError: If it is no .npy, or holds objects.
        Exception: Whatever NumPy raises for a damaged head.
    """
    head = io.BytesIO(begin)
    version = np.lib.format.read_magic(head)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a damaged head Python says what it thinks of its letters
        shape, _, dtype = read(head)
    if dtype.hasobject:
        raise ValueError("it holds objects, not numbers")
    if any(length < 0 for length in shape):
        raise ValueError(f"its shape is {shape}")
    return math.prod(shape) * dtype.itemsize, head.tell(), shape
