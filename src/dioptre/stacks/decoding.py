"""One picture: a file's bytes in, its codes (row, col) out, at the full bit depth and unrotated.

Of a picture in colour one comes back, green unless another is asked for (stacks/colours.py); in the place of
green, of a JPEG its luma, which is stored apart and at full resolution, so that the colours, which mostly are
not, need not be decoded. Nothing is scaled.
"""

import io
import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from logging import getLogger
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Shaped, UInt16

from dioptre.errors import MissingExtraError, StackFileError
from dioptre.resources import refuse_larger, regular, why_opencv_refused
from dioptre.stacks.bayer import mean_green
from dioptre.stacks.colours import GREEN, one_colour, red_first, red_green_blue

RAW_SUFFIXES = (".dng", ".cr2", ".cr3", ".nef", ".arw", ".raf", ".orf", ".rw2", ".pef", ".srw")
HEIF_SUFFIXES = (".heic", ".heif")
PLAIN_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".pgm", ".webp", ".avif")
PICTURE_SUFFIXES = (*PLAIN_SUFFIXES, *HEIF_SUFFIXES, *RAW_SUFFIXES)
DISPLAY_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".avif", *HEIF_SUFFIXES)  # with a gamma, if of 8 bits
JPEG = b"\xff\xd8\xff"  # how such a file begins
TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
KINDS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"BM", b"P2", b"P3", b"P5", b"P6", b"RIFF", b"GIF8", *TIFF)

CodedPicture = Shaped[np.ndarray, "row col"]


def decode_file(file: Path, colour: int = GREEN) -> CodedPicture:
    """Returns the picture of a file, as `decode_picture` does; also of camera raw files and HEIF.

    Raises:
        StackFileError: If it is damaged, cut short or no picture.
        MissingExtraError: If the library that reads it is not there.
        OSError: If it cannot be read.
    """
    suffix = file.suffix.lower()
    if suffix in RAW_SUFFIXES:
        return _decode_raw(file)
    if suffix in HEIF_SUFFIXES:
        return one_colour(_decode_heif(file), colour)
    data = regular(file).read_bytes()  # OpenCV opens only some paths by itself
    return decode_picture(data, str(file), colour)


def decode_picture(data: bytes, name: str, colour: int = GREEN) -> CodedPicture:
    """Returns the picture that a file's bytes hold, at its full bit depth.

    Args:
        data: The whole file.
        name: What to call it in an error.
        colour: Which, of a picture in colour.

    Raises:
        StackFileError: If it is damaged, cut short or no picture.
    """
    import cv2  # noqa: PLC0415 (start-up time)

    if not data:
        raise StackFileError(f"{name} is an empty file")
    if _is_broken_png(data):
        raise StackFileError(f"{name} is a damaged PNG, or cut short")
    luma = cv2.IMREAD_GRAYSCALE | cv2.IMREAD_IGNORE_ORIENTATION
    by_luma = data.startswith(JPEG) and colour == GREEN
    picture = _decode(data, name, luma if by_luma else cv2.IMREAD_UNCHANGED)
    if picture is None or picture.size == 0:
        raise StackFileError(
            f"{name} cannot be read as a picture: it is damaged, cut short or something else"
        )
    return one_colour(red_first(picture), colour)


def _decode(data: bytes, name: str, how: int) -> Shaped[np.ndarray, "..."] | None:
    """Returns a picture decoded by OpenCV, if it is of a kind that it may read; None if it cannot.

    Raises:
        StackFileError: If it would take too much memory.
    """
    import cv2  # noqa: PLC0415 (start-up time)

    if not data.startswith(KINDS) and data[4:8] != b"ftyp":  # AVIF
        return None
    if data.startswith(TIFF):
        refuse_larger(name, _tiff_bytes(data), StackFileError)
    try:
        return cv2.imdecode(np.frombuffer(data, np.uint8), how)
    except cv2.error as error:
        if (why := why_opencv_refused(name, error)) is not None:
            raise StackFileError(why) from None
        return None


def _tiff_bytes(data: bytes) -> int:
    """Returns the size of the first page of a TIFF, or of one of its tiles, in bytes; 0 if unknown.

    OpenCV counts pixels alone, which may be of 32 bytes, and not those of a tile, which may be larger than
    the picture.
    """
    import tifffile  # noqa: PLC0415 (start-up time)

    try:
        with quiet_readers(), tifffile.TiffFile(io.BytesIO(data)) as tiff:
            page: Any = tiff.pages.first
            return max(page.nbytes, math.prod(page.chunks) * page.dtype.itemsize)
    except Exception:  # a damaged TIFF raises nearly anything; decoding it will tell
        return 0


def decode_colours(file: Path) -> Shaped[np.ndarray, "row col 3"] | None:
    """Returns the colours of a picture, red first; None if it has none, or it cannot be told.

    Raises:
        StackFileError: If it would take too much memory.
        OSError: If it cannot be read.
    """
    import cv2  # noqa: PLC0415 (start-up time)

    if file.suffix.lower() in HEIF_SUFFIXES:
        return red_green_blue(_decode_heif(file))
    data = regular(file).read_bytes()
    if file.suffix.lower() not in PLAIN_SUFFIXES or not data or _is_broken_png(data):
        return None
    picture = _decode(data, str(file), cv2.IMREAD_UNCHANGED)
    return None if picture is None else red_green_blue(red_first(picture))


def _decode_raw(file: Path) -> CodedPicture:
    """Returns the green of a camera raw file, black subtracted: the mean of the two greens of a Bayer cell.

    So a picture has half the rows and columns of the sensor. It is linear.
    """
    try:
        import rawpy  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError(f"{file} is a camera raw file: pip install 'dioptre[raw]' reads it") from None
    data = io.BytesIO(regular(file).read_bytes())
    try:
        with rawpy.imread(data) as raw:
            refuse_larger(file, 2 * raw.sizes.raw_height * raw.sizes.raw_width, StackFileError)
            codes, colours = raw.raw_image_visible, raw.raw_colors_visible
            names, black = raw.color_desc, raw.black_level_per_channel
            return green_of_raw(codes, colours[:2, :2], names, black)
    except StackFileError:
        raise
    except Exception as error:  # a damaged file raises nearly anything
        raise StackFileError(f"{file} cannot be read as a camera raw file: {first_line(error)}") from error


def green_of_raw(
    codes: Shaped[np.ndarray, "row col"],
    cell: Shaped[np.ndarray, "2 2"],
    names: bytes,
    black: Sequence[int],
) -> UInt16[np.ndarray, "half_row half_col"]:
    """Returns the mean of the two greens of each Bayer cell, black subtracted, as whole codes.

    Args:
        codes: The mosaic.
        cell: Which colour each pixel of a cell of 2 x 2 has.
        names: A letter for each colour.
        black: Value of black of each colour.

    Raises:
        StackFileError: If there are not two green pixels in a cell.
    """
    greens = [place for place in np.ndindex(2, 2) if names[int(cell[place])] == ord("G")]
    if len(greens) != 2:
        raise StackFileError(f"a mosaic of {names.decode(errors='replace')} is no Bayer mosaic")
    one, other = greens
    mean = mean_green(codes, (one, other), (float(black[int(cell[one])]), float(black[int(cell[other])])))
    return np.clip(np.floor(mean + np.float32(0.5)), 0, 65535).astype(np.uint16)


def _decode_heif(file: Path) -> Shaped[np.ndarray, "..."]:
    """Returns an HEIF picture, red first."""
    try:
        import pillow_heif  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError(f"{file} is an HEIF picture: pip install 'dioptre[heif]' reads it") from None
    try:
        found = pillow_heif.open_heif(io.BytesIO(regular(file).read_bytes()), convert_hdr_to_8bit=False)
        refuse_larger(file, 8 * found.size[0] * found.size[1], StackFileError)
        return np.asarray(found)
    except (StackFileError, OSError):
        raise
    except Exception as error:  # a damaged file raises nearly anything
        raise StackFileError(f"{file} cannot be read as an HEIF picture: {first_line(error)}") from error


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


class _Silence:
    """Who keeps OpenCV and tifffile quiet: the first of several threads begins, the last one ends it."""

    def __init__(self) -> None:
        self._lock, self._count = Lock(), 0
        self._before: tuple[int, bool] = (0, False)

    def begin(self) -> None:
        from cv2.utils import logging as cv2_logging  # noqa: PLC0415 (start-up time)

        with self._lock:
            self._count += 1
            if self._count == 1:
                self._before = cv2_logging.getLogLevel(), getLogger("tifffile").disabled
                cv2_logging.setLogLevel(cv2_logging.LOG_LEVEL_SILENT)
                getLogger("tifffile").disabled = True

    def end(self) -> None:
        from cv2.utils import logging as cv2_logging  # noqa: PLC0415 (start-up time)

        with self._lock:
            self._count -= 1
            if self._count == 0:
                level, disabled = self._before
                cv2_logging.setLogLevel(level)
                getLogger("tifffile").disabled = disabled


_SILENCE = _Silence()


@contextmanager
def quiet_readers() -> Iterator[None]:
    """Keeps OpenCV and tifffile from printing about broken files: the error says it in our words."""
    _SILENCE.begin()
    try:
        yield
    finally:
        _SILENCE.end()
