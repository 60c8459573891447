"""A store of wide pictures: single looks of two views with a map of depths, for networks that tell depth.

    pictures/00000.npz   `codes` (picture, 2, native row, col), `depths` (picture, map row, map col) in
                         dioptres, `focus` (picture) in dioptres: where the lens really was
    manifest.json        written last: its presence means that the store is complete

A picture belongs to a split by its shard: all pictures of a shard are of one split, and share their surfaces
with no other one. The reader keeps a split in memory.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64, Shaped, UInt16

from dioptre import __version__
from dioptre.errors import FileError, InputError
from dioptre.stack import codes_to_pixels, upsample_rows
from dioptre.store.format import StoreFormat
from dioptre.store.manifest import (
    MANIFEST,
    begin_folder,
    described_by,
    hash_file,
    read_manifest,
    write_file,
    write_manifest,
)
from dioptre.store.npz import read_bundle
from dioptre.store.schema import WIDE_PICTURES

KIND, WHAT = "wide-pictures", "a store of wide pictures"
FOLDER = "pictures"
KINDS = {"codes": ("u", 4), "depths": ("f", 3), "focus": ("f", 1)}  # of the arrays of a shard


@dataclass(frozen=True, eq=False)
class DepthImageWriter:
    """Writes shards of wide pictures, in any order, from any number of processes.

    Attributes:
        path: The folder; made if it does not exist.
        form: Grid, size, black and white of the pictures.
        config: What decides them, as plain JSON.
        splits: The split of each shard.
    """

    path: Path
    form: StoreFormat
    config: Mapping[str, Any]
    splits: tuple[str, ...]

    def begin(self) -> list[int]:
        """Makes the folder, or sees that it can be resumed, and returns the shards that are missing."""
        begin_folder(self.path, self._plan, WHAT)
        (self.path / FOLDER).mkdir(exist_ok=True)
        return [number for number in range(len(self.splits)) if not shard_file(self.path, number).exists()]

    def write_shard(
        self,
        number: int,
        codes: UInt16[np.ndarray, "picture 2 native col"],
        depths: Float32[np.ndarray, "picture map_row map_col"],
        focus: Float64[np.ndarray, " picture"],
    ) -> None:
        """Writes the pictures of a shard."""
        path = shard_file(self.path, number)
        write_file(path, lambda file: np.savez(file, codes=codes, depths=depths, focus=focus))

    def finish(self) -> None:
        """Writes the manifest, with the hash of all shards."""
        hashes = [hash_file(shard_file(self.path, number)) for number in range(len(self.splits))]
        digest = hashlib.sha256("\n".join(hashes).encode()).hexdigest()
        write_manifest(self.path, {**self._plan, "shards": hashes, "sha256": digest})

    @property
    def _plan(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "dioptre": __version__,
            "config": dict(self.config),
            "format": self.form.to_json(),
            "splits": list(self.splits),
        }


@dataclass(frozen=True, eq=False)
class DepthImages:
    """The pictures of one split of a finished store.

    Attributes:
        path: The folder.
        split: Which.
    """

    path: Path
    split: str

    def __post_init__(self) -> None:
        if self.manifest.get("kind") != KIND:
            raise FileError(f"{self.path} holds {self.manifest.get('kind', 'something else')}, not {KIND}")
        WIDE_PICTURES.check(self.path / MANIFEST, self.manifest)
        if self.split not in self.manifest["splits"]:
            raise InputError(f"{self.path} has no pictures of the split {self.split}")

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What manifest.json holds."""
        return read_manifest(self.path, WHAT)

    @cached_property
    def form(self) -> StoreFormat:
        """Grid, size, black and white."""
        with described_by(self.path, WHAT):
            return StoreFormat.from_json(self.manifest["format"])

    def __len__(self) -> int:
        return len(self._arrays[0])

    @property
    def scale(self) -> int:
        """Pixels of a picture for one of its map."""
        return self.form.size // self._arrays[1].shape[1]

    @cached_property
    def _arrays(
        self,
    ) -> tuple[UInt16[np.ndarray, "picture 2 native col"], Float32[np.ndarray, "picture map_row map_col"]]:
        """The codes and the defocus of all pictures."""
        codes, defocus = [], []
        for number, split in enumerate(self.manifest["splits"]):
            if split == self.split:
                shard = read_bundle(shard_file(self.path, number), KINDS)
                self._check(shard_file(self.path, number), shard)
                codes.append(shard["codes"])
                with np.errstate(over="ignore"):  # what is too large for it becomes infinite, and is refused
                    away = (shard["focus"][:, None, None] - shard["depths"]).astype(np.float32)
                if not np.isfinite(away).all():
                    raise FileError(f"{shard_file(self.path, number)} holds a depth that is no number")
                defocus.append(away)
        return np.concatenate(codes), np.concatenate(defocus)

    def _check(self, path: Path, shard: Mapping[str, Shaped[np.ndarray, "..."]]) -> None:
        """Raises FileError if pictures, maps and focus of a shard do not fit the store or each other."""
        (count, views, native, cols), maps = shard["codes"].shape, shard["depths"].shape
        size = self.form.size
        halved = (self.form.rows_per_native, views, native, cols) == (2, 2, size // 2 + 2, size)
        if not halved or shard["codes"].dtype != np.uint16:
            raise FileError(f"{path} has codes of shape {shard['codes'].shape}, not those of {size} pixels")
        fits = maps[0] == count and maps[1] == maps[2] > 0 and size % maps[1] == 0
        if not fits or shard["focus"].shape != (count,):
            raise FileError(
                f"{path} has maps of shape {maps}, not those of {count} pictures of {size} pixels"
            )

    def crop(
        self, picture: int, row: int, col: int, size: int
    ) -> tuple[Float32[np.ndarray, "2 row col"], Float32[np.ndarray, "map_row map_col"]]:
        """Returns a part of a picture, as pixels in [0, 1], and its defocus.

        That is 1/z - 1/z* in dioptres, where z is where the lens was focused: positive behind the focus.

        Args:
            picture: Which.
            row: The first; a multiple of the scale of the map, as are the others.
            col: The first.
            size: Rows and columns.
        """
        codes, defocus = self._arrays
        native = codes[picture][:, row // 2 : (row + size) // 2 + 2, col : col + size]
        pixels = codes_to_pixels(upsample_rows(native.astype(np.float32)), self.form.black, self.form.white)
        at, length = (row // self.scale, col // self.scale), size // self.scale
        return pixels, defocus[picture, at[0] : at[0] + length, at[1] : at[1] + length]


def shard_file(folder: Path, number: int) -> Path:
    """Returns the file of a shard."""
    return folder / FOLDER / f"{number:05d}.npz"
