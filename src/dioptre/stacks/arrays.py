"""Stacks in NumPy files, .npy and .npz.

An .npy is mapped, not loaded: what is not touched is not read.
"""

import io
import math
import warnings
import zipfile
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import InputError, StackFileError
from dioptre.resources import refuse_larger, regular
from dioptre.stacks.axes import ALL, Volume, Wanted, axes_of_shape, volume_of_array
from dioptre.stacks.decoding import first_line

ARRAY_SUFFIXES = (".npy", ".npz")
MOST_HEADER = 1 << 20  # bytes of the head of an array: far more than any has
STACK_NAMES = ("stack", "pixels")  # what an .npz with several arrays calls its stack


def open_array(path: Path, wanted: Wanted = ALL) -> Volume:
    """Returns the stack of an .npy or .npz file, opened.

    Raises:
        StackFileError: If it holds no stack, or several, or is damaged.
        OSError: If it cannot be read.
    """
    try:
        array = _load_array(path)
    except (StackFileError, OSError):
        raise
    except Exception as error:  # as with a TIFF: BadZipFile, EOFError, TokenError, MemoryError, ...
        raise StackFileError(f"{path} is not a readable array of numbers: {first_line(error)}") from error
    try:
        return volume_of_array(array, wanted.axes or axes_of_shape(array.shape), str(path))
    except InputError as error:
        raise StackFileError(f"{path}: {error}") from None


def _load_array(path: Path) -> Shaped[np.ndarray, "..."]:
    """Returns the stack of an .npz, or that of an .npy without loading it yet."""
    with regular(path).open("rb") as file:
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
            refuse_larger(path, member_bytes(arrays.zip, name), StackFileError)
            return np.asarray(arrays[name])


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


def member_bytes(archive: zipfile.ZipFile, name: str) -> int:
    """Returns the size of an array of an .npz, in bytes.

    Raises:
        KeyError: If it holds no such array.
        ValueError: If the array has another number of bytes than its head tells.
        Exception: As `array_bytes` does.
    """
    member = archive.getinfo(name if name in archive.namelist() else f"{name}.npy")
    with archive.open(member) as file:
        size, head, _ = array_bytes(file.read(MOST_HEADER))
    if head + size != member.file_size:
        raise ValueError(f"the array {name} is damaged: it has {member.file_size} bytes, not {head + size}")
    return size


def array_bytes(begin: bytes) -> tuple[int, int, tuple[int, ...]]:
    """Returns the size of an .npy's array and of its header, in bytes, and the array's shape.

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
