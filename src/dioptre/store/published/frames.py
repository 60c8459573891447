"""Frames of the published data set as files, PNG of 16 bits: native codes (native_row, col) come out.

**Which way up.** The files are portrait, and disparity runs along their rows; here frames are landscape, and
disparity runs along the columns. `rotate` says which way they are turned: "ccw" makes the top of a file the
left of a frame, "cw" the right. What the sensor bins are the file's columns, a frame's rows.

A file is native ("raw"), or upsampled along its columns ("up").
"""

import struct
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Shaped, UInt8, UInt16

from dioptre.errors import CaptureFileError, StackFileError
from dioptre.stacks.decoding import decode_picture
from dioptre.store.labels import Corners, FrameSize

Sampling = Literal["raw", "up"]
Rotation = Literal["ccw", "cw"]

PNG_HEADER = struct.Struct(">8sI4sIIBB")  # signature, length, IHDR, columns, rows, bits, colour
HEADER_BYTES = PNG_HEADER.size

NativeFrame = UInt16[np.ndarray, "native_row col"]


@dataclass(frozen=True)
class FrameHeader:
    """What the first bytes of a frame's file tell.

    Attributes:
        frame: Rows and columns of the whole frame, landscape and upsampled.
        bits: Of a code: 16, or 8 if somebody has converted the file.
    """

    frame: FrameSize
    bits: int


def read_header(data: bytes, name: str, sampling: Sampling) -> FrameHeader:
    """Returns the size and the depth of a frame, from the first HEADER_BYTES of its file."""
    if len(data) < HEADER_BYTES:
        raise CaptureFileError(f"{name} is a damaged PNG, or cut short")
    signature, _, kind, cols, rows, bits, colour = PNG_HEADER.unpack_from(data)
    if signature != b"\x89PNG\r\n\x1a\n" or kind != b"IHDR":
        raise CaptureFileError(f"{name} is not a PNG")
    if bits not in (8, 16):
        raise CaptureFileError(f"{name} has {bits} bits, not 16 (nor 8)")
    if bits == 16 and colour != 0:
        raise CaptureFileError(f"{name} is not grey: its PNG colour type is {colour}, not 0")
    if sampling == "up" and cols % 2:
        raise CaptureFileError(f"{name} has {cols} columns; an upsampled frame has an even number")
    return FrameHeader((cols if sampling == "up" else 2 * cols, rows), bits)


def decode_frame(data: bytes, name: str, sampling: Sampling, rotate: Rotation) -> NativeFrame:
    """Returns the native codes of a frame, landscape.

    Codes of an 8-bit file become the high bytes of 16-bit ones, which they have been once.

    Args:
        data: The whole file.
        name: What to call it in an error.
        sampling: Native or upsampled.
        rotate: Which way to turn it.

    Raises:
        CaptureFileError: If it is damaged, or called upsampled and not exactly what upsampling gives.
    """
    try:
        picture = decode_picture(data, name)
    except StackFileError as error:
        raise CaptureFileError(str(error)) from None
    if picture.dtype == np.uint8:
        codes = (halve_columns(picture) if sampling == "up" else picture).astype(np.uint16) << 8
    elif sampling == "up":
        codes = _exact_native(picture, name)
    else:
        codes = picture
    return rotate_frame(codes, rotate)


def _exact_native(picture: UInt16[np.ndarray, "row col"], name: str) -> UInt16[np.ndarray, "row native_col"]:
    native = upsampled_to_native(picture)
    if native is None or not np.array_equal(native_to_upsampled(native), picture):
        raise CaptureFileError(
            f"{name} is not a native frame upsampled along its columns with weights 1/4 and 3/4"
        )
    return native


def native_to_upsampled(
    native: UInt16[np.ndarray, "row native_col"],
) -> UInt16[np.ndarray, "row col"]:
    """Returns a file's codes with twice as many columns, as raw_up_* has them.

    Column 2k is a quarter of column k - 1 and three quarters of column k, column 2k + 1 three quarters of
    column k and a quarter of column k + 1, held at the edges. Exact for codes divisible by 4.
    """
    codes = np.pad(native.astype(np.uint32), ((0, 0), (1, 1)), mode="edge")
    three = 3 * codes[:, 1:-1] + 2  # 2 rounds
    out = np.empty((len(native), 2 * native.shape[1]), dtype=np.uint16)
    out[:, ::2] = (codes[:, :-2] + three) >> 2
    out[:, 1::2] = (three + codes[:, 2:]) >> 2
    return out


def upsampled_to_native(
    upsampled: UInt16[np.ndarray, "row col"],
) -> UInt16[np.ndarray, "row native_col"] | None:
    """Returns the native codes that give an upsampled frame; None if it is plain that none do.

    Inside, 3 out[2k+1] - out[2k+2] = 2 native[k]; the edges are held, so the last column is the last native
    one. `native_to_upsampled` of the result tells whether it is right.
    """
    if upsampled.shape[1] % 2:
        return None
    out = upsampled.astype(np.int32)
    native = np.empty((len(out), out.shape[1] // 2), dtype=np.int32)
    native[:, :-1] = (3 * out[:, 1:-1:2] - out[:, 2::2]) >> 1
    native[:, -1] = out[:, -1]
    if native.size and (native.min() < 0 or native.max() > 0xFFFF):
        return None
    return native.astype(np.uint16)


def halve_columns(picture: UInt8[np.ndarray, "row col"]) -> UInt8[np.ndarray, "row native_col"]:
    """Returns the means of pairs of columns: 8 bits of an upsampled frame do not tell its native codes."""
    codes = picture.astype(np.uint16)
    return ((codes[:, ::2] + codes[:, 1::2] + 1) >> 1).astype(np.uint8)


# Orientation


def rotate_frame(picture: Shaped[np.ndarray, "row col"], rotate: Rotation) -> Shaped[np.ndarray, "col row"]:
    """Returns a file's picture as landscape."""
    return np.ascontiguousarray(np.rot90(picture, 1 if rotate == "ccw" else -1))


def unrotate_frame(picture: Shaped[np.ndarray, "col row"], rotate: Rotation) -> Shaped[np.ndarray, "row col"]:
    """Returns a landscape picture as the file has it: the inverse of `rotate_frame`."""
    return np.ascontiguousarray(np.rot90(picture, -1 if rotate == "ccw" else 1))


def rotate_corners(corners: Corners, frame: FrameSize, size: int, rotate: Rotation) -> Corners:
    """Returns the corners of a file's patches once it is landscape.

    Args:
        corners: Top left pixels in the file.
        frame: Rows and columns of the landscape frame.
        size: Rows and columns of a patch.
        rotate: Which way the file is turned.
    """
    row, col = corners.T
    turned = (frame[0] - size - col, row) if rotate == "ccw" else (col, frame[1] - size - row)
    return np.stack(turned, axis=1)
