"""A seed: small good files in a folder, and what reads them."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dioptre.stacks.formats import open_stacks

LONG = 64  # slices, or stacks


@dataclass(frozen=True, eq=False)
class Seed:
    """Good files in a folder.

    Attributes:
        name: What they are.
        folder: Where they are.
        files: Those that are changed, one at a time.
        read: Reads them.
        slow: Whether a mutant takes many times as long as one of another kind, so that there are fewer.
    """

    name: str
    folder: Path
    files: tuple[str, ...]
    read: Callable[[Path], object]
    slow: bool = False

    @cached_property
    def contents(self) -> dict[str, bytes]:
        """The good bytes of the files, as they were when this was first asked for."""
        return {file: (self.folder / file).read_bytes() for file in self.files}


def make_seed(
    root: Path, name: str, contents: dict[str, bytes], read: Callable[[Path], object], slow: bool = False
) -> Seed:
    """Writes files into a folder of their own."""
    folder = root / name
    for file, content in contents.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
    return Seed(name, folder, tuple(contents), read, slow)


def codes_of(*shape: int) -> np.ndarray:
    """Returns noise of 16 bits, always the same."""
    return np.random.default_rng(0).integers(0, 60000, shape, dtype=np.uint16)


def bytes_of(write: Callable[[Any], object]) -> bytes:
    """Returns what is written to a file."""
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def read_named(read: Callable[[Path], object], name: str, folder: Path) -> object:
    """Reads one file of a folder."""
    return read(folder / name)


def read_and_sum(path: Path) -> float:
    """Returns the sum of all pixels of the stacks of a path: an .npy is read only where it is touched.

    Of stacks that are said to be long, only the beginning: what has no chunks is quickly said to be.
    """
    total = 0.0
    for one in open_stacks(path)[:LONG]:
        slices = range(min(one.shape[0], LONG))
        codes = one.loaded(None).codes if one.shape[0] <= LONG else np.stack([one.read(at) for at in slices])
        total += float(np.asarray(codes, np.float64).sum())
    return total
