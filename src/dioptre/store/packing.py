"""Packed frames: native codes without loss in as few bits as hold them, and where each is in its file.

A frame is one (slice, view) of a capture, uint16 (native_row, col). Codes lose the low bits that are zero in
all of them (the shift), and take as many bits as the largest then needs; store/kernels.py says in which
order. The published codes, 10 bits shifted by 4, take 10/16 of their native size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int, UInt16

from dioptre.errors import FileError, InputError
from dioptre.store import kernels
from dioptre.store.format import StoreFormat
from dioptre.store.manifest import read_json

WORD = np.dtype("<u2")


@dataclass(frozen=True)
class PackedFrame:
    """Where a packed frame is in its file, and how to unpack it.

    Attributes:
        slice: Position of the grid.
        view: 0, or 1 for the right one of two.
        offset: Byte at which it begins.
        bits: Bits of a code, 1 to 16.
        shift: Zero bits below them.
    """

    slice: int
    view: int
    offset: int
    bits: int
    shift: int

    def __post_init__(self) -> None:
        if not all(isinstance(value, int) and value >= 0 for value in vars(self).values()):
            raise InputError(f"a frame's entries are whole numbers, not {self}")
        if self.bits < 1 or self.bits + self.shift > 16:
            raise InputError(
                f"a frame has 1 to 16 bits with its shift, not {self.bits} shifted by {self.shift}"
            )

    def end(self, shape: tuple[int, int]) -> int:
        """Returns the byte after the last, for a frame of this many native rows and columns."""
        return self.offset + packed_words(shape, self.bits) * WORD.itemsize


def packed_words(shape: tuple[int, int], bits: int) -> int:
    """Returns the number of words in a packed frame of native rows and columns."""
    rows, cols = shape
    return cols * -(-rows * bits // kernels.WORD_BITS)


def pack_frame(codes: UInt16[np.ndarray, "row col"]) -> tuple[UInt16[np.ndarray, " word"], int, int]:
    """Returns a frame packed in as few bits as hold it exactly, these bits, and the shift."""
    used = int(np.bitwise_or.reduce(codes, axis=None)) or 1  # a black frame has one bit too
    shift = (used & -used).bit_length() - 1
    bits = used.bit_length() - shift
    words = np.empty(packed_words(codes.shape, bits), WORD)
    kernels.pack(np.array(codes, WORD), bits, shift, words)
    return words, bits, shift


def unpack_frame(
    words: UInt16[np.ndarray, " word"], bits: int, shift: int, shape: tuple[int, int]
) -> UInt16[np.ndarray, "row col"]:
    """Returns the codes of a packed frame: the inverse of `pack_frame`."""
    codes = np.empty(shape, WORD)
    kernels.unpack(words, bits, shift, shape, 0, 0, codes)
    return codes


# The frames of a file


def frame_positions(form: StoreFormat) -> list[tuple[int, int]]:
    """Returns the slice and view of every frame of a capture."""
    return list(product(range(len(form.grid)), range(form.views)))


def read_frames(path: Path) -> tuple[list[PackedFrame], Mapping[str, Any]]:
    """Returns the frames that a capture's .json lists, in the order of its codes, and all that it says.

    Raises:
        FileError: If it cannot be read, or lists something else.
    """
    entries = read_json(path)
    try:
        return [PackedFrame(**entry) for entry in entries["frames"]], entries
    except (KeyError, TypeError, InputError) as error:
        told = str(error) if isinstance(error, InputError) else repr(error)
        raise FileError(f"{path} does not list the frames of a capture: {told}") from None


def locate_frames(
    path: Path, form: StoreFormat, shape: tuple[int, int]
) -> tuple[Int[np.ndarray, "slice view 3"], int]:
    """Returns at which word each frame of a capture begins, its bits and its shift; and the length in bytes.

    All frames must be listed and follow each other: nothing checks later what is read, and a frame that began
    elsewhere would be read from beyond the file.

    Args:
        path: The .json that lists the frames.
        form: Format of the store.
        shape: Native rows and columns of a frame.

    Raises:
        FileError: If they are not all listed, or overlap.
    """
    listed, _ = read_frames(path)
    if sorted((each.slice, each.view) for each in listed) != frame_positions(form):
        raise FileError(
            f"{path} lists {len(listed)} frames, not each of {len(form.grid)} x {form.views} once"
        )
    ends = [0, *(each.end(shape) for each in listed)]
    if [each.offset for each in listed] != ends[:-1]:
        raise FileError(f"{path} lists frames that do not follow each other")
    frames = np.empty((len(form.grid), form.views, 3), np.int64)
    for each in listed:
        frames[each.slice, each.view] = each.offset // WORD.itemsize, each.bits, each.shift
    return frames, ends[-1]
