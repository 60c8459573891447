"""How much memory a picture, an array or a map takes once it is decoded, as the head of its file tells.

Only as much is read as it takes to know that. What cannot be told is None: decoding will find out.
"""

import io
import math
import struct
from collections.abc import Callable, Mapping

import numpy as np

JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # markers of frames, which tell the size
JPEG_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})  # markers without a length
PNG_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}
MOST_HEADER = 1 << 20  # bytes of the head of an array: far more than any has


def picture_bytes(data: bytes) -> int | None:
    """Returns how many bytes a PNG, JPEG, BMP, PGM or WebP takes once it is decoded."""
    for begins, read in READERS.items():
        if data.startswith(begins):
            try:
                return read(data)
            except (struct.error, ValueError, IndexError):
                return None
    return None


def _png_bytes(data: bytes) -> int:
    cols, rows, bits, colour = struct.unpack_from(">IIBB", data, 16)
    return rows * cols * max(1, bits // 8) * PNG_CHANNELS.get(colour, 4)


def _bmp_bytes(data: bytes) -> int:
    cols, rows = struct.unpack_from("<ii", data, 18)
    return abs(rows) * abs(cols) * 4


def _jpeg_bytes(data: bytes) -> int | None:
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # fill
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


READERS: Mapping[bytes, Callable[[bytes], int | None]] = {
    b"\x89PNG\r\n\x1a\n": _png_bytes,
    b"\xff\xd8": _jpeg_bytes,
    b"BM": _bmp_bytes,
    **dict.fromkeys((b"P2", b"P3", b"P5", b"P6"), _pnm_bytes),
    b"RIFF": _webp_bytes,
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
    shape, _, dtype = read(head)
    if dtype.hasobject:
        raise ValueError("it holds objects, not numbers")
    if any(length < 0 for length in shape):
        raise ValueError(f"its shape is {shape}")
    return math.prod(shape) * dtype.itemsize, head.tell(), shape
