"""One picture: a file's bytes in, its codes (row, col) out, at the full bit depth and unrotated.

Of a picture in colour the green channel comes back. Nothing is scaled.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from logging import getLogger
from typing import Any

import numpy as np
from jaxtyping import Shaped

from dioptre.dataset.headers import picture_bytes
from dioptre.dataset.limits import refuse_larger
from dioptre.errors import StackFileError

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".pgm", ".webp")

Picture = Shaped[np.ndarray, "row col"]


def decode_picture(data: bytes, name: str) -> Picture:
    """Returns the picture that a file's bytes hold, at its full bit depth; of colours the green channel.

    Args:
        data: The whole file.
        name: What to call it in an error.

    Raises:
        StackFileError: If it is damaged, cut short or no picture.
    """
    import cv2  # noqa: PLC0415 (start-up time)

    if not data:
        raise StackFileError(f"{name} is an empty file")
    if _is_broken_png(data):
        raise StackFileError(f"{name} is a damaged PNG, or cut short")
    refuse_larger(name, picture_bytes(data) or 0, StackFileError)
    try:
        picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error as error:
        raise StackFileError(f"{name} cannot be read as a picture: {first_line(error)}") from error
    if picture is None or picture.size == 0:
        raise StackFileError(
            f"{name} cannot be read as a picture: it is damaged, cut short or something else"
        )
    return green(picture)


def green(picture: Shaped[np.ndarray, "..."]) -> Shaped[np.ndarray, "..."]:
    """Returns the green of (row, col, 3 or 4), the grey of (row, col, 2), and (row, col) as it is."""
    if picture.ndim == 2:
        return picture
    return np.ascontiguousarray(picture[..., green_channel(picture.shape[-1])])


def green_channel(channels: int) -> int:
    """Returns where green is: second of three or four colours in either order; grey comes before alpha."""
    return 1 if channels in (3, 4) else 0


def white_of(dtype: np.dtype[Any]) -> float:
    """Returns the code of white if nothing else is told: the largest of an integer type, 1.0 for floats."""
    return float(np.iinfo(dtype).max) if np.issubdtype(dtype, np.integer) else 1.0


def _is_broken_png(data: bytes) -> bool:
    """True for a PNG whose chunks do not end in IEND or fail their checksum.

    libpng would find out too, but it prints its own line to the terminal.
    """
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        return False
    at = 8
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 8 + length
        if end + 4 > len(data):
            return True
        critical = kind[:1].isupper()
        if critical and zlib.crc32(data[at + 4 : end]) != int.from_bytes(data[end : end + 4], "big"):
            return True
        if kind == b"IEND":
            return False
        at = end + 4
    return True


def first_line(error: Exception) -> str:
    """Returns the first line of what a library says is wrong."""
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextmanager
def quiet_readers() -> Iterator[None]:
    """Keeps OpenCV and tifffile from printing about broken files: the error says it in our words."""
    from cv2.utils import logging as cv2_logging  # noqa: PLC0415 (start-up time)

    logger = getLogger("tifffile")
    level, disabled = cv2_logging.getLogLevel(), logger.disabled
    cv2_logging.setLogLevel(cv2_logging.LOG_LEVEL_SILENT)
    logger.disabled = True
    try:
        yield
    finally:
        cv2_logging.setLogLevel(level)
        logger.disabled = disabled
