"""Stacks in NumPy files, .npy and .npz, as (slice, view, row, col).

An .npy is mapped, not loaded: what is not touched is not read.
"""

import zipfile
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

from dioptre.dataset.decoding import first_line, green_channel
from dioptre.dataset.headers import MOST_HEADER, array_bytes
from dioptre.dataset.limits import refuse_larger
from dioptre.errors import StackFileError

ARRAY_SUFFIXES = (".npy", ".npz")
STACK_NAMES = ("stack", "pixels")  # what an .npz with several arrays calls its stack
ARRAY_SHAPES = "(slice, row, col), (slice, 1 or 2 views, row, col) or (slice, row, col, 3 colours)"
MIN_SIDE = 4  # an array axis shorter than this holds views or colours, not rows or columns

Codes = Shaped[np.ndarray, "slice view row col"]


def read_array(path: Path) -> Codes:
    """Returns the stack in an .npy or .npz file.

    Raises:
        StackFileError: If it holds none, or several, or is damaged.
        OSError: If it cannot be read.
    """
    try:
        array = _load_array(path)
    except (StackFileError, OSError):
        raise
    except Exception as error:  # as with a TIFF: BadZipFile, EOFError, TokenError, MemoryError, ...
        raise StackFileError(f"{path} is not a readable array of numbers: {first_line(error)}") from error
    return _array_codes(path, array)


def _load_array(path: Path) -> Shaped[np.ndarray, "..."]:
    """Returns the stack of an .npz, or that of an .npy without loading it yet."""
    with path.open("rb") as file:
        if file.read(2) != b"PK":  # not a zip, as which an .npz begins
            file.seek(0)
            size, head, shape = array_bytes(file.read(MOST_HEADER))
            if size == 0:
                raise StackFileError(f"{path} holds an array without pixels, of shape {shape}")
            if head + size > path.stat().st_size:
                raise StackFileError(f"{path} is cut short: it has less than {head + size} bytes")
            return np.lib.format.open_memmap(path, mode="r")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            name = _stack_name(path, arrays.files)
            _refuse_bomb(path, arrays.zip, name)
            return np.asarray(arrays[name])


def _refuse_bomb(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    """Raises if an array of an .npz takes too much memory, or more than its file holds."""
    member = archive.getinfo(name if name in archive.namelist() else f"{name}.npy")
    with archive.open(member) as file:
        size, head, _ = array_bytes(file.read(MOST_HEADER))
    refuse_larger(path, size, StackFileError)
    if head + size != member.file_size:
        raise StackFileError(
            f"{path}: the array {name} is damaged: it has {member.file_size} bytes, not {head + size}"
        )


def _stack_name(path: Path, names: list[str]) -> str:
    """Returns the name of the only array of an .npz, or of the one that is called a stack."""
    if len(names) == 1:
        return names[0]
    for name in STACK_NAMES:
        if name in names:
            return name
    raise StackFileError(
        f"{path} holds the arrays {', '.join(names) or '(none)'}; "
        f"the stack is the only one, or called {' or '.join(STACK_NAMES)}"
    )


def _array_codes(path: Path, array: Shaped[np.ndarray, "..."]) -> Codes:
    """Returns an array of any of ARRAY_SHAPES as (slice, view, row, col)."""
    match array.shape:
        case (slices, rows, cols) if _is_stack(slices, rows, cols):
            return np.asarray(array[:, None])
        case (slices, 1 | 2, rows, cols) if _is_stack(slices, rows, cols):
            return np.asarray(array)
        case (slices, rows, cols, 3) if _is_stack(slices, rows, cols):
            return np.asarray(array[:, None, ..., green_channel(3)])
    raise StackFileError(
        f"{path} holds an array of shape {array.shape}; "
        f"a stack is {ARRAY_SHAPES}, at least {MIN_SIDE} x {MIN_SIDE} pixels"
    )


def _is_stack(slices: int, rows: int, cols: int) -> bool:
    return slices > 0 and min(rows, cols) >= MIN_SIDE
