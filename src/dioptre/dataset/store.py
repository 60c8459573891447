"""The patch store: labelled patches of focal stacks in a folder, whoever made them.

`open_patches` reads every kind of store, and `PatchStore` is the same for all; what differs is the source of
the pixels. A store of kind "captures" cuts its patches out of whole captures: see dataset/captures.py. One of
kind "patches", which `StoreWriter` writes, keeps each patch by itself:

    shards/00000.npy      uint16 (patch, slice, view, native_row, col): codes as the sensor gave them
    shards/00000.parquet  the rows of these patches
    patches.parquet, manifest.json, writing.json: see dataset/manifest.py

A shard's .parquet comes after its .npy: a shard that has both is complete, and a run that was stopped can be
resumed.

A sensor that bins pairs of rows gives half of a patch's rows. They are stored as they are, with one more
above and below, and upsampled on reading: with native rows p, the rows of a patch are
out[2k] = p[k-1]/4 + 3p[k]/4 and out[2k+1] = 3p[k]/4 + p[k+1]/4. Black and white are applied after that.

The bytes of a store depend only on what it holds (and on the version of pyarrow, for the Parquet files).
In the manifest, shards[i] is the SHA-256 of the file shards/i.npy, and sha256 is that of the whole store: the
lines before its rows are the format as JSON, the config as JSON, shards[0], shards[1], ...
"""

import hashlib
import io
import math
import mmap
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Float32, Int, Shaped, UInt16

from dioptre.dataset.format import StoreFormat
from dioptre.dataset.manifest import (
    LAYOUT,
    TABLE,
    begin_folder,
    canonical,
    described_by,
    finish_folder,
    hash_store,
    plain_json,
    plan_of,
    read_manifest,
    read_parquet,
    write_file,
    write_parquet,
)
from dioptre.dataset.rows import Row, join_tables, rows_to_table
from dioptre.errors import FileError
from dioptre.stack import FocalStack

__all__ = ["PatchSource", "PatchStore", "Row", "StoreFormat", "StoreWriter", "open_patches"]

KIND = "patches"
SHARDS = "shards"

CODE = np.dtype("<u2")
MANY = 1024  # slices, from which on it pays to load the compiler
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
            raise FileError(
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
            raise FileError(f"the store has shards 0..{self.shards - 1}, not {number}")
        return range(number * self.shard_size, min((number + 1) * self.shard_size, self.total))

    def missing_shards(self) -> list[int]:
        """Returns which shards are not complete on disk; begins the store if the folder is new.

        Raises:
            FileError: If the folder is finished, was begun with something else, or is not a store's.
        """
        self._begin()
        return [number for number in range(self.shards) if not self._is_complete(number)]

    def write_shard(
        self, number: int, codes: UInt16[np.ndarray, "patch slice view native_row col"], rows: Sequence[Row]
    ) -> None:
        """Writes one shard; different shards may be written by different processes at the same time.

        Args:
            number: Which shard.
            codes: Native codes of the patches that `patches` lists.
            rows: For each patch the columns that `dataset.rows` requires (truth is a position of the ladder;
                row and col are its place in the frame in pixels; where_x and where_y its centre, in [-1, 1])
                and any further ones, text, numbers or bool: the same for all patches of a store.
        """
        expected = (len(self.patches(number)), *self.format.patch_shape)
        if codes.shape != expected or codes.dtype != np.uint16:
            raise FileError(
                f"shard {number} has uint16 codes of shape {expected}, "
                f"not {codes.dtype} of shape {codes.shape}"
            )
        if len(rows) != len(codes):
            raise FileError(f"shard {number} has {len(codes)} patches, but {len(rows)} rows")
        table = rows_to_table(rows, len(self.format.grid))
        self._begin()
        codes_file, rows_file = _shard_files(self.path, number)
        rows_file.unlink(missing_ok=True)  # while it is there, the shard looks complete
        codes = np.ascontiguousarray(codes, dtype=CODE)
        header = _npy_header(codes.shape)
        write_file(codes_file, lambda file: file.writelines((header, codes.data.cast("B"))))
        digest = hashlib.sha256(header)
        digest.update(codes.data.cast("B"))
        table = table.replace_schema_metadata({"sha256": digest.hexdigest()})
        write_file(rows_file, lambda file: write_parquet(table, file))

    def finish(self) -> None:
        """Writes the rows of all patches, then the manifest.

        Raises:
            FileError: If a shard is missing, or its columns differ from those of the others.
        """
        missing = self.missing_shards()
        if missing:
            raise FileError(
                f"{self.path} cannot be finished: {len(missing)} of {self.shards} shards are missing, "
                f"the first is {missing[0]}"
            )
        files = [_shard_files(self.path, number)[1] for number in range(self.shards)]
        tables = [read_parquet(file) for file in files]
        hashes = [table.schema.metadata[b"sha256"].decode() for table in tables]
        table = join_tables("shards", {str(number): table for number, table in enumerate(tables)})
        sha256 = _hash_store(self.format, self.config, hashes, table)
        finish_folder(self.path, table, self._plan() | {"shards": hashes, "sha256": sha256})

    def _begin(self) -> None:
        begin_folder(self.path, self._plan())
        (self.path / SHARDS).mkdir(exist_ok=True)

    def _plan(self) -> dict[str, Any]:
        return plan_of(KIND, self.format, self.config, count=self.total, shard_size=self.shard_size)

    def _is_complete(self, number: int) -> bool:
        codes_file, rows_file = _shard_files(self.path, number)
        shape = (len(self.patches(number)), *self.format.patch_shape)
        size = len(_npy_header(shape)) + math.prod(shape) * CODE.itemsize
        return rows_file.exists() and codes_file.exists() and codes_file.stat().st_size == size


def _hash_store(form: StoreFormat, config: object, hashes: Sequence[str], table: pa.Table) -> str:
    """Returns the SHA-256 of a whole store, as the head of this module describes it."""
    lines = (canonical(form.to_json()), canonical(config), *hashes)
    return hash_store(lines, table)


def _shard_files(folder: Path, number: int) -> tuple[Path, Path]:
    """Returns the files of a shard's codes and of its rows."""
    return folder / SHARDS / f"{number:05}.npy", folder / SHARDS / f"{number:05}.parquet"


def _npy_header(shape: tuple[int, ...]) -> bytes:
    """Returns what an .npy file of codes begins with."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": CODE.str, "fortran_order": False, "shape": tuple(shape)}
    )
    return file.getvalue()


# Reading


@runtime_checkable
class PatchSource(Protocol):
    """Where the pixels of a store's patches come from. Threads share a source."""

    def fill(
        self,
        rows: Int[np.ndarray, " batch"],
        indices: Int[np.ndarray, "batch m"],
        corners: Int[np.ndarray, "batch 2"],
        out: Float32[np.ndarray, "batch m view row col"],
    ) -> None:
        """Fills out (contiguous) with the pixels of a window of these patches, at positions of each.

        Args:
            rows: Which patches.
            indices: Positions of the ladder.
            corners: Row and column at which the window begins in each patch; rows are whole native rows.
            out: As large as the windows.

        Raises:
            FileError: If a file is damaged.
        """

    def verify(self, table: pa.Table) -> None:
        """Raises ValueError if the bytes of a file, or the rows, are not those that were written."""


def open_patches(path: str | Path) -> "PatchStore":
    """Returns the finished store in a folder, of whichever kind.

    Raises:
        FileError: If there is none, or it is not finished, or this version cannot read it.
    """
    path = Path(path)
    manifest = read_manifest(path)
    open_source = SOURCES.get(str(manifest.get("kind")))
    if open_source is None:
        raise FileError(f"{path} holds {manifest.get('kind', 'something else')}, not {KIND}")
    if manifest.get("layout") != LAYOUT:
        raise FileError(
            f"{path} has layout {manifest.get('layout')}, but this version of dioptre reads layout {LAYOUT}"
        )
    with described_by(path):
        form, count = StoreFormat.from_json(manifest["format"]), int(manifest["count"])
    table = read_parquet(path / TABLE)
    if len(table) != count:
        raise FileError(f"{path / TABLE} has {len(table)} rows, but the manifest says {count}")
    return PatchStore(path, form, manifest, table, open_source(path, form, manifest, table))


class PatchStore:
    """The patches of a finished store; made by `open_patches`.

    Files are opened when they are first needed. Threads may share a store; one that is pickled, for another
    process, is opened again there.

    Attributes:
        path: The folder.
        format: What all patches have in common.
        manifest: What manifest.json holds.
        table: One row for each patch, in order.
    """

    def __init__(
        self,
        path: Path,
        form: StoreFormat,
        manifest: Mapping[str, Any],
        table: pa.Table,
        source: PatchSource,
    ) -> None:
        self.path = path
        self.format = form
        self.manifest = manifest
        self.table = table
        self._source = source
        self._where = np.stack([self.column("where_x"), self.column("where_y")], axis=1)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"PatchStore({str(self.path)!r}, {len(self)} patches)"

    def __reduce__(self) -> tuple[Callable[[Path], "PatchStore"], tuple[Path]]:
        return open_patches, (self.path.absolute(),)

    def column(self, name: str) -> Shaped[np.ndarray, " n"]:
        """Returns one column of the table; text as a NumPy array of text."""
        if name not in self.table.column_names:
            raise FileError(f"{self.path} has no column {name}; it has {', '.join(self.table.column_names)}")
        column = self.table.column(name)
        if pa.types.is_string(column.type):
            return np.array(column.to_pylist(), dtype=np.str_)
        return column.to_numpy()

    def stack(
        self,
        rows: Sequence[int] | Int[np.ndarray, " batch"],
        indices: Sequence[int] | Int[np.ndarray, " m"] | Int[np.ndarray, "batch m"] | None = None,
        corners: Int[np.ndarray, "batch 2"] | None = None,
        size: int | None = None,
    ) -> FocalStack:
        """Returns these patches, all their slices or only some, or windows of them; no other slice is read.

        Args:
            rows: Which patches: rows of the table, in any order.
            indices: Positions of the ladder: one list for all patches, or one row for each; None for all.
            corners: Row and column at which a window begins in each patch; None for the first ones. Rows
                begin where a native row does.
            size: Rows and columns of the windows; None for whole patches.

        Raises:
            FileError: If there is no such patch, position or window, or a file is damaged.
        """
        rows = _whole_numbers("patches", rows, len(self))
        indices = self._slices(len(rows), indices)
        size = self.format.size if size is None else size
        corners = self._corners(len(rows), corners, size)
        pixels = np.empty((*indices.shape, self.format.views, size, size), dtype=np.float32)
        self._source.fill(rows, indices, corners, pixels)
        return FocalStack(
            pixels=pixels,
            indices=indices,
            grid=self.format.grid,
            where=self._where[rows],
            view_codes=self.format.view_codes,
        )

    def verify(self) -> None:
        """Raises ValueError if the bytes of a file, or the rows, are not those that were written."""
        self._source.verify(self.table)

    def _corners(
        self, batch: int, corners: Int[np.ndarray, "batch 2"] | None, size: int
    ) -> Int[np.ndarray, "batch 2"]:
        form = self.format
        if corners is None:
            corners = np.zeros((batch, 2), np.int64)
        inside = size > 0 and corners.shape == (batch, 2) and (corners >= 0).all()
        if not (inside and (corners + size <= form.size).all()):
            raise FileError(f"a window of {size} pixels does not lie in a patch of {form.size} everywhere")
        if size % form.rows_per_native or (corners[:, 0] % form.rows_per_native).any():
            raise FileError(
                f"a window begins and ends with a native row, which has {form.rows_per_native} rows"
            )
        return corners

    def _slices(self, batch: int, indices: Any) -> Int[np.ndarray, "batch m"]:
        positions = len(self.format.grid)
        if indices is None:
            return np.broadcast_to(np.arange(positions), (batch, positions))
        wanted = _whole_numbers("positions", indices, positions, axes=(1, 2))
        if wanted.ndim == 2 and len(wanted) != batch:
            raise FileError(
                f"stack() takes one list of positions, or one row for each of {batch} patches, "
                f"not {wanted.shape}"
            )
        return np.broadcast_to(wanted, (batch, wanted.shape[-1]))


def _whole_numbers(name: str, values: Any, limit: int, axes: Iterable[int] = (1,)) -> Int[np.ndarray, "..."]:
    """Returns a non-empty array of numbers in 0..limit - 1, with one of these numbers of axes."""
    array = np.asarray(values)
    if array.ndim not in axes or array.size == 0 or not np.issubdtype(array.dtype, np.integer):
        raise FileError(f"stack() takes a list of {name} as whole numbers, not {reprlib.repr(values)}")
    outside = (array < 0) | (array >= limit)
    if outside.any():
        raise FileError(f"the store has {name} 0..{limit - 1}, not {array[outside][0]}")
    return array


# Shards


class _Shards:
    """The source of a store that keeps each patch by itself."""

    def __init__(self, path: Path, form: StoreFormat, manifest: Mapping[str, Any], table: pa.Table) -> None:
        with described_by(path):
            self._shard_size = int(manifest["shard_size"])
        self._path = path
        self._format = form
        self._manifest = manifest
        files = _ShardFiles(path, form.patch_shape, self._shard_size, len(table))
        self._shard = lru_cache(OPEN_SHARDS)(files.open)  # knows nothing of self: files close with it

    def fill(
        self,
        rows: Int[np.ndarray, " batch"],
        indices: Int[np.ndarray, "batch m"],
        corners: Int[np.ndarray, "batch 2"],
        out: Float32[np.ndarray, "batch m view row col"],
    ) -> None:
        """Fills out with pixels, as `PatchSource` says."""
        self._prefetch(rows, indices)
        to_pixels = _scale_many if indices.size >= MANY else _scale_few
        each, (height, width) = self._format.rows_per_native, out.shape[3:]
        for patch, wanted, (row, col), pixels in zip(
            rows.tolist(), indices, corners.tolist(), out, strict=True
        ):
            native = slice(row // each, (row + height) // each + 2 * (each - 1))
            codes = self._shard(patch // self._shard_size).codes[patch % self._shard_size]
            to_pixels(codes[:, :, native, col : col + width], wanted, self._format, pixels)

    def _prefetch(self, rows: Int[np.ndarray, " batch"], indices: Int[np.ndarray, "batch m"]) -> None:
        """Asks the system to begin reading everything that will be needed."""
        slices = len(self._format.grid)
        whole = indices.shape[1] == slices
        for patch, wanted in zip(rows.tolist(), indices.tolist(), strict=True):
            shard = self._shard(patch // self._shard_size)
            first = patch % self._shard_size * slices
            if whole:
                shard.prefetch(first, slices)
            else:
                for index in wanted:
                    shard.prefetch(first + index, 1)

    def verify(self, table: pa.Table) -> None:
        """Raises ValueError if something has changed, as `PatchSource` says."""
        hashes = self._manifest["shards"]
        for number, expected in enumerate(hashes):
            file, _ = _shard_files(self._path, number)
            if hashlib.sha256(self._shard(number).memory).hexdigest() != expected:
                raise FileError(f"{file} has changed since it was written")
        if _hash_store(self._format, self._manifest["config"], hashes, table) != self._manifest["sha256"]:
            raise FileError(f"{self._path / TABLE} or the manifest has changed since it was written")


@dataclass(frozen=True, eq=False)
class _Shard:
    """A shard in memory as far as the system has read it.

    Attributes:
        codes: The codes, read from the disk where they are touched.
        memory: The file's bytes.
        offset: Where in them the codes begin.
    """

    codes: UInt16[np.ndarray, "patch slice view native_row col"]
    memory: mmap.mmap
    offset: int

    def prefetch(self, first: int, count: int) -> None:
        """Begins to read some slices, counted through all patches, and nothing beside them.

        Without it the system reads far more around each slice, or one page after another.
        """
        if not hasattr(mmap, "MADV_WILLNEED"):
            return
        length = math.prod(self.codes.shape[2:]) * CODE.itemsize
        begin = self.offset + first * length
        page = begin // mmap.PAGESIZE * mmap.PAGESIZE
        self.memory.madvise(mmap.MADV_WILLNEED, page, begin - page + count * length)


@dataclass(frozen=True)
class _ShardFiles:
    """Where the shards of a store are, and what each must hold."""

    folder: Path
    patch_shape: tuple[int, int, int, int]
    shard_size: int
    total: int

    def open(self, number: int) -> _Shard:
        """Returns one of the shards."""
        count = min(self.shard_size, self.total - number * self.shard_size)
        return _open_shard(_shard_files(self.folder, number)[0], (count, *self.patch_shape))


def _open_shard(path: Path, shape: tuple[int, ...]) -> _Shard:
    """Returns the shard in a file, if that has the codes that the manifest promises."""
    try:
        with path.open("rb") as file:
            found = _read_npy_header(file)
            offset, size = file.tell(), os.fstat(file.fileno()).st_size
            expected = offset + math.prod(shape) * CODE.itemsize
            if found != (shape, CODE):
                raise FileError(f"it holds {found[1]} of shape {found[0]}, not {CODE} of shape {shape}")
            if size != expected:
                raise FileError(f"it has {size} bytes, but its header promises {expected}")
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise FileError(f"the shard {path} cannot be read: {error}") from None
    return _Shard(np.ndarray(shape, CODE, memory, offset), memory, offset)


def _read_npy_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return shape, dtype


def _scale_few(
    codes: UInt16[np.ndarray, "position view native_row col"],
    wanted: Int[np.ndarray, " slice"],
    form: StoreFormat,
    out: Float32[np.ndarray, "slice view row col"],
) -> None:
    """Fills out with pixels of some slices: without the compiler, which takes a second to load."""
    for at, index in enumerate(wanted.tolist()):  # one slice at a time stays in the processor's cache
        _codes_to_patch(codes[index], form, out[at])


def _scale_many(
    codes: UInt16[np.ndarray, "position view native_row col"],
    wanted: Int[np.ndarray, " slice"],
    form: StoreFormat,
    out: Float32[np.ndarray, "slice view row col"],
) -> None:
    """Fills out with the same, in less than half of the time."""
    from dioptre.dataset.kernels import scale_patch  # noqa: PLC0415  # numba takes a while to load

    scale = np.float32(1.0 / (form.white - form.black))
    scale_patch(codes, wanted, form.rows_per_native, np.float32(form.black), scale, out)


def _codes_to_patch(
    native: UInt16[np.ndarray, "view native_row col"],
    form: StoreFormat,
    out: Float32[np.ndarray, "view row col"],
) -> None:
    """Fills out (contiguous) with pixels: upsampled if need be, then scaled and clipped.

    Quarters of 16-bit codes are exact in float32, so the result is `codes_to_pixels` of the upsampled codes.
    """
    codes = np.subtract(native, np.float32(form.black), dtype=np.float32)
    if form.rows_per_native == 1:
        out[...] = codes
    else:
        quarter = codes * np.float32(0.25)
        codes -= quarter
        inner = codes[:, 1:-1]
        pairs = out.reshape(len(out), out.shape[1] // 2, 2, out.shape[2])  # a view of out
        np.add(quarter[:, :-2], inner, out=pairs[:, :, 0])
        np.add(inner, quarter[:, 2:], out=pairs[:, :, 1])
    out *= np.float32(1.0 / (form.white - form.black))
    np.clip(out, 0.0, 1.0, out=out)


def _captures(path: Path, form: StoreFormat, manifest: Mapping[str, Any], table: pa.Table) -> PatchSource:
    """Returns the source of a store of whole captures."""
    from dioptre.dataset.captures import Captures  # noqa: PLC0415  # numba takes a while to load

    return Captures(path, form, manifest, table)


SOURCES: dict[str, Callable[[Path, StoreFormat, Mapping[str, Any], pa.Table], PatchSource]] = {
    KIND: _Shards,
    "captures": _captures,
}
"""What opens the source of each kind of store."""
