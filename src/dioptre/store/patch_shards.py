"""Stores of kind "patches", which keep each patch by itself: how they are written and read.

    shards/00000.npy      uint16 (patch, slice, view, native_row, col): codes as the sensor gave them
    shards/00000.sums     checksums of the file of codes: see store/checksums.py
    shards/00000.parquet  the rows of these patches
    patches.parquet, manifest.json, writing.json: see store/manifest.py

A sensor that bins pairs of rows gives half of a patch's rows. They are stored as they are, with one more
above and below, and upsampled on reading: with native rows p, the rows of a patch are
out[2k] = p[k-1]/4 + 3p[k]/4 and out[2k+1] = 3p[k]/4 + p[k+1]/4. Black and white are applied after that.

The bytes of a store depend only on what it holds (and on the version of pyarrow, for the Parquet files).
In the manifest, shards[i] is the SHA-256 of the file shards/i.npy, and sha256 is that of the whole store: the
lines before its rows are the format as JSON, the config as JSON, shards[0], shards[1], ...
"""

import io
import math
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from jaxtyping import Float32, Int, UInt16

from dioptre.errors import FileError, InputError
from dioptre.store.checksums import CheckedPages, no_pages
from dioptre.store.format import StoreFormat
from dioptre.store.manifest import MANIFEST, canonical, described_by, plain_json, plan_of
from dioptre.store.parquet import pa
from dioptre.store.shards import (
    Check,
    ShardWriter,
    check_codes,
    map_codes,
    prefetch,
    verify_codes,
    verify_rows,
)
from dioptre.store.table import Row, rows_to_table

KIND = "patches"
FOLDER = "shards"
ENDING = "npy"

CODE = np.dtype("<u2")
OPEN_SHARDS = 256  # each open shard holds a file descriptor, of which a process often has 1024


# Writing


@dataclass(frozen=True, eq=False)
class StoreWriter:
    """Writes a store shard by shard, in any order, from any number of processes.

        writer = StoreWriter(path, format, config, total=1000)
        for number in writer.missing_shards():
            writer.write_shard(number, *simulate(writer.patches(number)))
        writer.finish()

    Attributes:
        path: The folder; made if it does not exist.
        format: What all patches have in common.
        config: Whatever decides what the patches are, as plain JSON. A store can only be resumed with the
            same.
        total: How many patches the store will have.
        shard_size: Patches in a shard; the last may have fewer.
    """

    path: Path
    format: StoreFormat
    config: Mapping[str, Any]
    total: int
    shard_size: int = 64

    def __post_init__(self) -> None:
        if self.total < 1 or self.shard_size < 1:
            raise InputError(
                "a store has at least one patch in all and in each shard, "
                f"not {self.total} and {self.shard_size}"
            )
        object.__setattr__(self, "config", plain_json("config", self.config))

    @property
    def shards(self) -> int:
        """How many shards the store will have."""
        return -(-self.total // self.shard_size)

    def patches(self, number: int) -> range:
        """Returns which patches of the store a shard holds."""
        if not 0 <= number < self.shards:
            raise InputError(f"the store has shards 0..{self.shards - 1}, not {number}")
        return range(number * self.shard_size, min((number + 1) * self.shard_size, self.total))

    def missing_shards(self) -> list[int]:
        """Returns which shards are not complete on disk; begins the store if the folder is new.

        Raises:
            FileError: If the folder is finished, was begun with something else, or is not a store's.
        """
        writer = self._writer
        writer.begin()
        return [number for number in range(self.shards) if not self._is_complete(writer, number)]

    def write_shard(
        self, number: int, codes: UInt16[np.ndarray, "patch slice view native_row col"], rows: Sequence[Row]
    ) -> None:
        """Writes one shard; different shards may be written by different processes at the same time.

        Args:
            number: Which shard.
            codes: Native codes of the patches that `patches` lists.
            rows: For each patch the columns that `store.table` requires (truth is a position of the grid;
                row and col are its corner in the frame in pixels; where_x and where_y its centre, in [-1, 1])
                and any further ones, text, numbers or bool: the same for all patches of a store.

        Raises:
            InputError: If the codes or the rows are not those of such a shard.
            FileError: As for `missing_shards`.
        """
        expected = (len(self.patches(number)), *self.format.patch_shape)
        if codes.shape != expected or codes.dtype != np.uint16:
            raise InputError(
                f"shard {number} has uint16 codes of shape {expected}, "
                f"not {codes.dtype} of shape {codes.shape}"
            )
        if len(rows) != len(codes):
            raise InputError(f"shard {number} has {len(codes)} patches, but {len(rows)} rows")
        table = rows_to_table(rows, len(self.format.grid))
        writer, name = self._writer, _shard_name(number)
        writer.begin()
        codes = np.ascontiguousarray(codes, dtype=CODE)
        sha256 = writer.write_codes(name, (_npy_header(codes.shape), codes.data.cast("B")))
        writer.write_rows(name, table.replace_schema_metadata({"sha256": sha256}))

    def finish(self) -> None:
        """Writes the rows of all patches, then the manifest.

        Raises:
            FileError: If a shard is missing or damaged, or its columns differ from those of the others.
        """
        missing, writer = self.missing_shards(), self._writer
        if missing:
            raise FileError(
                f"{self.path} cannot be finished: {len(missing)} of {self.shards} shards are missing, "
                f"the first is {missing[0]}"
            )
        names = {str(number): _shard_name(number) for number in range(self.shards)}
        tables = {number: writer.read_rows(name) for number, name in names.items()}
        hashes = [_hash_in(writer, names[number], table) for number, table in tables.items()]
        writer.finish(tables, {"shards": hashes}, _hashed_lines, names.values())

    @property
    def _writer(self) -> ShardWriter:
        plan = plan_of(KIND, self.format, self.config, count=self.total, shard_size=self.shard_size)
        return ShardWriter(self.path, FOLDER, (ENDING,), plan)

    def _is_complete(self, writer: ShardWriter, number: int) -> bool:
        name, shape = _shard_name(number), (len(self.patches(number)), *self.format.patch_shape)
        file, size = writer.codes_file(name), _file_size(len(_npy_header(shape)), shape)
        return writer.has_rows(name) and file.exists() and file.stat().st_size == size


def _hash_in(writer: ShardWriter, name: str, table: pa.Table) -> str:
    """Returns the SHA-256 of a shard's codes, which its rows carry."""
    metadata = table.schema.metadata or {}
    if b"sha256" not in metadata:
        raise FileError(f"the rows of {writer.codes_file(name)} do not tell its SHA-256; delete them")
    return metadata[b"sha256"].decode()


def _hashed_lines(manifest: Mapping[str, Any]) -> list[str]:
    """Returns the lines that the store's hash is made of, as the head of this module describes it."""
    return [canonical(manifest["format"]), canonical(manifest["config"]), *manifest["shards"]]


def _shard_name(number: int) -> str:
    return f"{number:05}"


def _npy_header(shape: tuple[int, ...]) -> bytes:
    """Returns the header of an .npy file of codes."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": CODE.str, "fortran_order": False, "shape": tuple(shape)}
    )
    return file.getvalue()


def _file_size(header: int, shape: tuple[int, ...]) -> int:
    """Returns the bytes of an .npy file of codes, of which so many are its header."""
    return header + math.prod(shape) * CODE.itemsize


# Reading


class ShardReader:
    """Reads the patches of a store that keeps each by itself; see `store.patches.PatchReader`."""

    def __init__(
        self,
        path: Path,
        form: StoreFormat,
        manifest: Mapping[str, Any],
        patches: Int[np.ndarray, " patch"],
    ) -> None:
        with described_by(path):
            self._shard_size, total = int(manifest["shard_size"]), int(manifest["count"])
        self._path = path
        self._format = form
        self._manifest = manifest
        self._patches = patches.astype(np.int64, copy=False)
        files = _ShardFiles(path, form.patch_shape, self._shard_size, total, manifest)
        self._shard = lru_cache(OPEN_SHARDS)(files.open)  # knows nothing of self: files close with it

    def fill(
        self,
        rows: Int[np.ndarray, " batch"],
        indices: Int[np.ndarray, "batch m"],
        corners: Int[np.ndarray, "batch 2"],
        out: Float32[np.ndarray, "batch m view row col"],
    ) -> None:
        """Fills out with pixels, as `PatchReader` says."""
        from dioptre.store.kernels import read_slices  # noqa: PLC0415  # numba takes a while to load

        patches, form = self._patches[rows], self._format
        self._prefetch(patches.tolist(), indices)
        numbers = patches // self._shard_size
        scale = np.float32(1.0 / (form.white - form.black))
        for number in sorted(set(numbers.tolist())):
            shard, at = self._shard(number), np.flatnonzero(numbers == number)
            bad = read_slices(
                shard.codes,
                patches[at] % self._shard_size,
                np.array(indices[at], dtype=np.int64, order="C"),  # one type for the compiler
                np.array(corners[at], dtype=np.int64, order="C"),
                form.rows_per_native,
                np.float32(form.black),
                scale,
                shard.offset,
                no_pages() if shard.pages is None else shard.pages.compiled,
                at,
                out,
            )
            if shard.pages is not None:
                shard.pages.settle(bad)

    def _prefetch(self, patches: Sequence[int], indices: Int[np.ndarray, "batch m"]) -> None:
        """Asks the system to begin reading everything that will be needed."""
        slices = len(self._format.grid)
        whole = indices.shape[1] == slices
        for patch, wanted in zip(patches, indices.tolist(), strict=True):
            shard = self._shard(patch // self._shard_size)
            first = patch % self._shard_size * slices
            if whole:
                shard.prefetch(first, slices)
            else:
                for index in wanted:
                    shard.prefetch(first + index, 1)

    def checks(self, table: pa.Table) -> list[Check]:
        """Returns a check of each file, as `PatchReader` describes it."""
        hashes, count = self._manifest["shards"], -(-int(self._manifest["count"]) // self._shard_size)
        if len(hashes) != count:
            raise FileError(f"{self._path / MANIFEST} has {len(hashes)} shards, not {count}")
        return [
            *(partial(self._verify_shard, number, sha256) for number, sha256 in enumerate(hashes)),
            partial(verify_rows, self._path, self._manifest, table, _hashed_lines),
        ]

    def _verify_shard(self, number: int, sha256: str) -> None:
        verify_codes(_codes_file(self._path, number), sha256, self._manifest)
        self._shard(number)


@dataclass(frozen=True, eq=False)
class _Shard:
    """A shard in memory as far as the system has read it.

    Attributes:
        codes: The codes, read from the disk where they are touched.
        memory: The file's bytes.
        offset: Where in them the codes begin.
        pages: What checks them; None if there are no checksums.
    """

    codes: UInt16[np.ndarray, "patch slice view native_row col"]
    memory: mmap.mmap
    offset: int
    pages: CheckedPages | None

    def prefetch(self, first: int, count: int) -> None:
        """Begins to read some slices, counted through all patches, and nothing beside them."""
        prefetch(self.memory, self.offset + first * self._slice_bytes, count * self._slice_bytes)

    @cached_property
    def _slice_bytes(self) -> int:
        return math.prod(self.codes.shape[2:]) * CODE.itemsize


@dataclass(frozen=True, eq=False)
class _ShardFiles:
    """Where the shards of a store are, and what each must hold."""

    folder: Path
    patch_shape: tuple[int, int, int, int]
    shard_size: int
    total: int
    manifest: Mapping[str, Any] = field(repr=False)

    def open(self, number: int) -> _Shard:
        """Returns one of the shards, if its file has the codes that the manifest promises."""
        count = min(self.shard_size, self.total - number * self.shard_size)
        shape, path = (count, *self.patch_shape), _codes_file(self.folder, number)

        def measure(file: BinaryIO) -> int:
            found = _read_npy_header(file)
            if found != (shape, CODE):
                raise FileError(f"it holds {found[1]} of shape {found[0]}, not {CODE} of shape {shape}")
            return _file_size(file.tell(), shape)

        memory = map_codes(path, "shard", "its header", measure)
        offset = len(memory) - math.prod(shape) * CODE.itemsize
        pages = check_codes(path, memory, self.manifest)
        return _Shard(np.ndarray(shape, CODE, memory, offset), memory, offset, pages)


def _codes_file(folder: Path, number: int) -> Path:
    return folder / FOLDER / f"{_shard_name(number)}.{ENDING}"


def _read_npy_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return shape, dtype
