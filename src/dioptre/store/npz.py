"""Arrays by name in one .npz of dioptre's own: sizes are read before memory is taken; no pickle is loaded."""

from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import FileError
from dioptre.resources import refuse_larger
from dioptre.stacks.headers import MOST_HEADER, array_bytes

Kinds = Mapping[str, tuple[str, int]]
"""The arrays that there must be: of each the letters of NumPy's kinds that it may have, and its axes."""


def read_bundle(path: Path, kinds: Kinds) -> dict[str, Shaped[np.ndarray, "..."]]:
    """Returns the arrays of a file.

    Raises:
        FileError: If it cannot be read, one is missing or of another kind, or they take too much memory.
    """
    try:
        with ZipFile(path) as archive:
            members = {name: archive.getinfo(f"{name}.npy") for name in kinds}
            refuse_larger("it", sum(_measure(archive, member) for member in members.values()))
            arrays = {name: _read(archive, member) for name, member in members.items()}
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    except Exception as error:  # a damaged zip raises nearly anything: BadZipFile, zlib.error, EOFError, ...
        reason = (str(error) or repr(error)).splitlines()[0]
        raise FileError(f"{path} is damaged, or something else: {reason}") from None
    for name, (letters, axes) in kinds.items():
        found = arrays[name]
        if found.dtype.kind not in letters or found.ndim != axes:
            raise FileError(f"{path}: its array {name} is {found.dtype} of shape {found.shape}")
    return arrays


def _measure(archive: ZipFile, member: ZipInfo) -> int:
    """Returns how many bytes an array takes."""
    with archive.open(member) as file:
        size, head, _ = array_bytes(file.read(MOST_HEADER))
    if head + size != member.file_size:
        raise FileError(f"its {member.filename} has {member.file_size} bytes, not {head + size}")
    return size


def _read(archive: ZipFile, member: ZipInfo) -> Shaped[np.ndarray, "..."]:
    with archive.open(member) as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
