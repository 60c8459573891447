"""Stacks in NumPy files, .npy and .npz.

An .npy is mapped, not loaded: what is not touched is not read.
"""

import zipfile
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import InputError, StackFileError
from dioptre.resources import refuse_larger
from dioptre.stacks.axes import ALL, Volume, Wanted, axes_of_shape, volume_of_array
from dioptre.stacks.decoding import first_line
from dioptre.stacks.headers import MOST_HEADER, array_bytes

ARRAY_SUFFIXES = (".npy", ".npz")
STACK_NAMES = ("stack", "pixels")  # what an .npz with several arrays calls its stack


def open_array(path: Path, wanted: Wanted = ALL) -> Volume:
    """Returns what an .npy or .npz file holds.

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
