"""Depth and confidence maps as files: PNG, TIFF, OpenEXR or .npy in, an array (row, col) out.

Values come back as they are in the file, of its own type: what they mean, their reader knows.
"""

import io
import struct
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from dioptre.errors import MapFileError, MissingExtraError, StackFileError
from dioptre.resources import refuse_larger, regular
from dioptre.stacks.arrays import MOST_HEADER, array_bytes
from dioptre.stacks.decoding import PICTURE_SUFFIXES, decode_picture, first_line, quiet_readers

EXR_MAGIC = b"\x76\x2f\x31\x01"
EXR_PLAIN = 2  # version 2, and none of the flags for tiles, long names, deep data or several parts
EXR_LINES = {0: 1, 1: 1, 2: 1, 3: 16, 4: 32, 5: 16, 6: 32, 7: 32, 8: 32, 9: 256}  # of a chunk, by compression
MAP_SUFFIXES = (".npy", ".exr", *PICTURE_SUFFIXES)

Map = Shaped[np.ndarray, "map_row map_col"]


def read_map(path: Path) -> Map:
    """Returns the map in a file.

    Raises:
        MapFileError: If there is none, or it cannot be read.
    """
    try:
        return decode_map(regular(path).read_bytes(), str(path))
    except OSError as error:
        raise MapFileError(f"{path} cannot be read: {error.strerror or error}") from None


def decode_map(data: bytes, name: str) -> Map:
    """Returns the map that a file's bytes hold.

    Args:
        data: The whole file.
        name: Its name, whose ending says what it is.

    Raises:
        MapFileError: If it is damaged, cut short or not a map.
    """
    ending = Path(name).suffix.lower()
    if ending == ".exr":
        found: Shaped[np.ndarray, "..."] = decode_exr(data, name)
    elif ending == ".npy":
        found = _decode_npy(data, name)
    elif ending in PICTURE_SUFFIXES:
        with quiet_readers():
            try:
                found = decode_picture(data, name)
            except StackFileError as error:
                raise MapFileError(str(error)) from None
    else:
        raise MapFileError(f"{name} is not a map: maps end in {' '.join(MAP_SUFFIXES)}")
    if found.ndim != 2 or found.size == 0:
        raise MapFileError(f"{name} has shape {found.shape}; a map is (row, col)")
    return found


def _decode_npy(data: bytes, name: str) -> Shaped[np.ndarray, "..."]:
    try:
        size, head, _ = array_bytes(data[:MOST_HEADER])
        if head + size > len(data):
            raise MapFileError(f"it has {len(data)} bytes, not {head + size}")
        found = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # BadZipFile, EOFError, TokenError, MemoryError, ...
        raise MapFileError(f"{name} is not a readable array: {first_line(error)}") from None
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "uif":
        raise MapFileError(f"{name} does not hold an array of numbers")
    return found


def decode_exr(data: bytes, name: str) -> Float[np.ndarray, "map_row map_col"]:
    """Returns the only channel of an OpenEXR file, or the one called R.

    Raises:
        MapFileError: If it is damaged, cut short or has no such channel.
        MissingExtraError: If OpenEXR is not there.
    """
    library = openexr()
    if not data.startswith(EXR_MAGIC):
        raise MapFileError(f"{name} is not an OpenEXR file")
    if _is_cut_exr(data):
        raise MapFileError(f"{name} is a damaged OpenEXR file, or cut short")
    refuse_larger(name, _exr_bytes(data), MapFileError)
    try:
        with redirect_stdout(None):  # where it prints what it finds wrong
            channels = library.File(io.BytesIO(data), separate_channels=True).channels()
    except Exception as error:  # RuntimeError, TypeError, MemoryError, ...
        raise MapFileError(f"{name} is not a readable OpenEXR file: {first_line(error)}") from None
    chosen = next(iter(channels)) if len(channels) == 1 else "R"
    if chosen not in channels:
        raise MapFileError(f"{name} has the channels {', '.join(channels)}; a map has one, or one called R")
    return np.asarray(channels[chosen].pixels, dtype=np.float32)


def openexr() -> Any:
    """Returns the library OpenEXR, imported on first use; a missing one is named with its remedy."""
    try:
        import OpenEXR  # noqa: PLC0415 (an extra)
    except ImportError:
        raise MissingExtraError("maps in .exr files need OpenEXR: pip install 'dioptre[data]'") from None
    return OpenEXR


def _is_cut_exr(data: bytes) -> bool:
    """True for a plain scanline file whose chunks do not all lie inside it.

    OpenEXR would find out too, but it prints lines of its own, some of them to stdout.
    """
    try:
        if struct.unpack_from("<I", data, 4)[0] != EXR_PLAIN:
            return False
        entries, at = _exr_header(data)
        _, top, _, bottom = struct.unpack("<4i", entries["dataWindow"])
        lines = EXR_LINES.get(entries["compression"][0])
        if lines is None:  # a compression of later years
            return False
        chunks = -(-(bottom - top + 1) // lines)
        if not 0 < 8 * chunks <= len(data):
            return True
        offsets = struct.unpack_from(f"<{chunks}Q", data, at)
        ends = [offset + 8 + struct.unpack_from("<I", data, offset + 4)[0] for offset in offsets]
    except (struct.error, KeyError, ValueError, IndexError, OverflowError):
        return True
    return not ends or min(offsets) < at or max(ends) > len(data)


def _exr_bytes(data: bytes) -> int:
    """Returns the most bytes that a file's channels can take; `sys.maxsize` for a damaged header."""
    try:
        entries, _ = _exr_header(data)
        left, top, right, bottom = struct.unpack("<4i", entries["dataWindow"])
    except (struct.error, KeyError, ValueError, IndexError, OverflowError):
        return sys.maxsize
    channels = max(1, entries.get("channels", b"").count(b"\0") // 8)  # each has its name, and zeros after it
    return abs(bottom - top + 1) * abs(right - left + 1) * 4 * channels


def _exr_header(data: bytes) -> tuple[dict[str, bytes], int]:
    """Returns the attributes of an OpenEXR file, and where they end."""
    entries: dict[str, bytes] = {}
    at = 8
    while data[at] != 0:
        name_end = data.index(0, at)
        kind_end = data.index(0, name_end + 1)
        (length,) = struct.unpack_from("<I", data, kind_end + 1)
        begin = kind_end + 5
        entries[data[at:name_end].decode("latin-1")] = data[begin : begin + length]
        at = begin + length
    return entries, at + 1
