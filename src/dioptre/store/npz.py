"""Arrays by name in one .npz of dioptre's own: sizes are read before memory is taken; no pickle is loaded."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import FileError
from dioptre.resources import refuse_larger, regular
from dioptre.stacks.arrays import member_bytes

Kinds = Mapping[str, tuple[str, int]]
"""The arrays that there must be: of each the letters of NumPy's kinds that it may have, and its axes."""


def read_bundle(path: Path, kinds: Kinds | None = None) -> dict[str, Shaped[np.ndarray, "..."]]:
    """Returns arrays of a file; without kinds all of them, whatever they are.

    Raises:
        FileError: If it cannot be read, one is missing or of another kind, or they take too much memory.
    """
    try:
        with regular(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            names = file.files if kinds is None else kinds
            refuse_larger("it", sum(member_bytes(file.zip, name) for name in names))
            arrays = {name: file[name] for name in names}
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    except Exception as error:  # a damaged zip raises nearly anything: BadZipFile, zlib.error, EOFError, ...
        reason = (str(error) or repr(error)).splitlines()[0]
        raise FileError(f"{path} is damaged, or something else: {reason}") from None
    for name, (letters, axes) in (kinds or {}).items():
        found = arrays[name]
        if found.dtype.kind not in letters or found.ndim != axes:
            raise FileError(f"{path}: its array {name} is {found.dtype} of shape {found.shape}")
    return arrays
