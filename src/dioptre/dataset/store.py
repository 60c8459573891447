"""The patch store: labelled patches of focal stacks in a folder, whoever made them.

    shards/00000.npy      uint16 (patch, slice, view, native_row, col): codes as the sensor gave them
    shards/00000.parquet  the rows of these patches
    patches.parquet       the rows of all patches, in order
    manifest.json         written last: its presence means that the store is complete

While a store is being written, writing.json holds what is being written; it becomes the manifest. Files
are written under a temporary name (*.partial) and renamed, and a shard's .parquet comes after its .npy:
a shard that has both is complete, and a run that was stopped can be resumed.

A sensor that bins pairs of rows gives half of a patch's rows. They are stored as they are, with one more
above and below, and upsampled on reading: with native rows p, the rows of a patch are
out[2k] = p[k-1]/4 + 3p[k]/4 and out[2k+1] = 3p[k]/4 + p[k+1]/4. Black and white are applied after that.

The bytes of a store depend only on what it holds (and on the version of pyarrow, for the Parquet files).
In the manifest, shards[i] is the SHA-256 of the file shards/i.npy, and sha256 is the SHA-256 of these
lines, each UTF-8 with a newline: the format as JSON, the config as JSON, shards[0], shards[1], ..., then
each row of patches.parquet as a JSON object. JSON has sorted keys and no spaces, so that this hash does not
depend on pyarrow.
"""

import hashlib
import io
import json
import math
import mmap
import os
import reprlib
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float32, Int, Shaped, UInt16

from dioptre import __version__
from dioptre.optics import FocusGrid
from dioptre.stack import VIEW_CODES, FocalStack

KIND = "patches"
LAYOUT = 1  # of the files in the folder; a reader knows one
MANIFEST = "manifest.json"
WRITING = "writing.json"
TABLE = "patches.parquet"
SHARDS = "shards"
PARTIAL = ".partial"

SPLITS = ("train", "validation", "test")
REQUIRED: dict[str, type] = {
    "scene": str,
    "capture": str,
    "split": str,
    "row": int,
    "col": int,
    "truth": int,
    "where_x": float,
    "where_y": float,
}
ARROW_TYPES = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}

CODE = np.dtype("<u2")
OPEN_SHARDS = 256  # each open shard holds a file descriptor, of which a process often has 1024

Row = Mapping[str, object]
Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class StoreFormat:
    """What all patches of a store have in common.

    Attributes:
        grid: The ladder; a patch has one slice for each of its positions.
        size: Rows and columns of a patch.
        views: 1 for green, 2 for left and right.
        black: Code of black.
        white: Code of white.
        rows_per_native: 2 if the sensor bins pairs of rows, which are upsampled on reading; 1 if not.
        view_codes: Codes between black and white of one view, for measures with absolute constants.
    """

    grid: FocusGrid
    size: int
    views: int
    black: float
    white: float
    rows_per_native: int = 2
    view_codes: float = VIEW_CODES

    def __post_init__(self) -> None:
        if self.rows_per_native not in (1, 2):
            raise ValueError(f"a store has 1 or 2 rows for each native row, not {self.rows_per_native}")
        if self.size < 1 or self.size % self.rows_per_native:
            raise ValueError(
                f"a patch's size is positive and divisible by {self.rows_per_native}, not {self.size}"
            )
        if self.views not in (1, 2):
            raise ValueError(f"a patch has one view or two, not {self.views}")
        if not -math.inf < self.black < self.white < math.inf:
            raise ValueError(f"white must lie above black, not black {self.black:g} and white {self.white:g}")

    @property
    def native_rows(self) -> int:
        """Stored rows of a patch: if they are upsampled, with one more above and below."""
        return self.size if self.rows_per_native == 1 else self.size // 2 + 2

    @property
    def patch_shape(self) -> tuple[int, int, int, int]:
        """Slices, views, native rows and columns of a stored patch."""
        return len(self.grid), self.views, self.native_rows, self.size

    def to_json(self) -> dict[str, Any]:
        """Returns the format as plain JSON; the dioptres of an unknown ladder are null."""
        dioptres = self.grid.dioptres.tolist()
        return {
            "dioptres": dioptres if self.grid.known else [None] * len(dioptres),
            "size": self.size,
            "views": self.views,
            "black": self.black,
            "white": self.white,
            "rows_per_native": self.rows_per_native,
            "view_codes": self.view_codes,
        }

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> "StoreFormat":
        """Returns the format that `to_json` wrote."""
        dioptres = [math.nan if value is None else float(value) for value in entries["dioptres"]]
        return cls(
            grid=FocusGrid(np.array(dioptres)),
            size=int(entries["size"]),
            views=int(entries["views"]),
            black=float(entries["black"]),
            white=float(entries["white"]),
            rows_per_native=int(entries["rows_per_native"]),
            view_codes=float(entries["view_codes"]),
        )


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
            raise ValueError(
                "a store has at least one patch in all and in each shard, "
                f"not {self.total} and {self.shard_size}"
            )
        try:
            config = json.loads(_canonical(dict(self.config)))
        except (TypeError, ValueError) as error:
            raise ValueError(f"a store's config is plain JSON: {error}") from None
        object.__setattr__(self, "config", config)

    @property
    def shards(self) -> int:
        """How many shards the store will have."""
        return -(-self.total // self.shard_size)

    def patches(self, number: int) -> range:
        """Returns which patches of the store a shard holds."""
        if not 0 <= number < self.shards:
            raise ValueError(f"the store has shards 0..{self.shards - 1}, not {number}")
        return range(number * self.shard_size, min((number + 1) * self.shard_size, self.total))

    def missing_shards(self) -> list[int]:
        """Returns which shards are not complete on disk; begins the store if the folder is new.

        Raises:
            ValueError: If the folder is finished, was begun with something else, or is not a store's.
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
            rows: For each patch the columns of REQUIRED (truth is a position of the ladder; row and col
                are its place in the frame in pixels; where_x and where_y its centre, in [-1, 1]) and any
                further ones, text, numbers or bool: the same for all patches of a store.
        """
        expected = (len(self.patches(number)), *self.format.patch_shape)
        if codes.shape != expected or codes.dtype != np.uint16:
            raise ValueError(
                f"shard {number} has uint16 codes of shape {expected}, "
                f"not {codes.dtype} of shape {codes.shape}"
            )
        if len(rows) != len(codes):
            raise ValueError(f"shard {number} has {len(codes)} patches, but {len(rows)} rows")
        table = _rows_to_table(rows, len(self.format.grid))
        self._begin()
        codes_file, rows_file = _shard_files(self.path, number)
        rows_file.unlink(missing_ok=True)  # while it is there, the shard looks complete
        codes = np.ascontiguousarray(codes, dtype=CODE)
        header = _npy_header(codes.shape)
        _write_file(codes_file, lambda file: file.writelines((header, codes.data.cast("B"))))
        digest = hashlib.sha256(header)
        digest.update(codes.data.cast("B"))
        table = table.replace_schema_metadata({"sha256": digest.hexdigest()})
        _write_file(rows_file, lambda file: _write_parquet(table, file))

    def finish(self) -> None:
        """Writes the rows of all patches, then the manifest.

        Raises:
            ValueError: If a shard is missing, or its columns differ from those of the others.
        """
        missing = self.missing_shards()
        if missing:
            raise ValueError(
                f"{self.path} cannot be finished: {len(missing)} of {self.shards} shards are missing, "
                f"the first is {missing[0]}"
            )
        tables = [_read_parquet(_shard_files(self.path, number)[1]) for number in range(self.shards)]
        hashes = [table.schema.metadata[b"sha256"].decode() for table in tables]
        table = _join_tables(tables)
        manifest = self._plan() | {
            "shards": hashes,
            "sha256": _hash_store(self.format, self.config, hashes, table),
        }
        for leftover in (*self.path.glob(f"*{PARTIAL}"), *self.path.glob(f"{SHARDS}/*{PARTIAL}")):
            leftover.unlink()
        _write_file(self.path / TABLE, lambda file: _write_parquet(table, file))
        # The manifest contains the plan: a run stopped between these two lines can still be resumed.
        _write_json(self.path / WRITING, manifest)
        (self.path / WRITING).replace(self.path / MANIFEST)

    def _plan(self) -> dict[str, Any]:
        """Returns what must be the same when the writing is resumed."""
        return {
            "kind": KIND,
            "layout": LAYOUT,
            "dioptre": __version__,
            "config": self.config,
            "format": self.format.to_json(),
            "count": self.total,
            "shard_size": self.shard_size,
        }

    def _begin(self) -> None:
        """Records the plan in a new folder, or checks it against that of a folder already begun."""
        folder = self.path
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{folder} is a file, not a folder for a patch store")
        if (folder / MANIFEST).exists():
            raise ValueError(f"{folder} is finished already; write to another folder, or delete it")
        folder.mkdir(parents=True, exist_ok=True)
        # Listed before looking for the plan: another process may be beginning the same store.
        strangers = sorted(file.name for file in folder.iterdir() if file.suffix != PARTIAL)
        if (folder / WRITING).exists():
            self._check_plan(_read_json(folder / WRITING))
        elif strangers:
            raise ValueError(f"{folder} is not an empty folder nor a patch store: it has {strangers[0]}")
        else:
            _write_json(folder / WRITING, self._plan())
        (folder / SHARDS).mkdir(exist_ok=True)

    def _check_plan(self, begun: Mapping[str, Any]) -> None:
        plan = self._plan()
        difference = _first_difference({key: begun.get(key) for key in plan}, plan)
        if difference:
            raise ValueError(
                f"{self.path} cannot be resumed: it was begun with {difference}; write to another folder"
            )

    def _is_complete(self, number: int) -> bool:
        codes_file, rows_file = _shard_files(self.path, number)
        shape = (len(self.patches(number)), *self.format.patch_shape)
        size = len(_npy_header(shape)) + math.prod(shape) * CODE.itemsize
        return rows_file.exists() and codes_file.exists() and codes_file.stat().st_size == size


def _hash_store(form: StoreFormat, config: object, hashes: Sequence[str], table: pa.Table) -> str:
    """Returns the SHA-256 of a whole store, as the head of this module describes it."""
    digest = hashlib.sha256()
    for line in (_canonical(form.to_json()), _canonical(config), *hashes):
        digest.update(f"{line}\n".encode())
    for row in table.to_pylist():
        digest.update(f"{_canonical(row, allow_nan=True)}\n".encode())
    return digest.hexdigest()


def _first_difference(begun: object, wanted: object, name: str = "") -> str | None:
    """Returns the first entry in which two JSON values differ, in words."""
    if isinstance(begun, list) and isinstance(wanted, list) and len(begun) == len(wanted):
        begun, wanted = dict(enumerate(begun)), dict(enumerate(wanted))
    if isinstance(begun, dict) and isinstance(wanted, dict):
        for key in sorted(begun.keys() | wanted.keys()):
            found = _first_difference(begun.get(key), wanted.get(key), f"{name} {key}".strip())
            if found:
                return found
        return None
    return None if begun == wanted else f"{name} {reprlib.repr(begun)}, not {reprlib.repr(wanted)}"


# Rows


def _rows_to_table(rows: Sequence[Row], positions: int) -> pa.Table:
    """Returns the checked rows as a table: the required columns first, then the others as they come."""
    columns = _rows_to_columns(rows)
    arrays = {name: pa.array(values, _arrow_type(name, values)) for name, values in columns.items()}
    for name, kind in REQUIRED.items():
        if arrays[name].type != ARROW_TYPES[kind]:
            raise ValueError(f"the column {name} holds {kind.__name__}, not {arrays[name].type}")
    _check_each(columns, "split", lambda value: value in SPLITS, f"one of {', '.join(SPLITS)}")
    _check_each(columns, "truth", lambda value: 0 <= value < positions, f"in 0..{positions - 1}")
    for name in ("where_x", "where_y"):
        _check_each(columns, name, lambda value: -1 <= value <= 1, "in [-1, 1]")
    return pa.table(arrays)


def _rows_to_columns(rows: Sequence[Row]) -> Columns:
    names = dict.fromkeys([*REQUIRED, *rows[0]])  # in this order
    for row in rows:
        odd = names.keys() ^ row.keys()
        if odd:
            name = sorted(odd)[0]
            raise ValueError(f"all rows of a store have the same columns, but {name} is not in all of them")
    return {name: [_plain(row[name]) for row in rows] for name in names}


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _arrow_type(name: str, values: list[Any]) -> pa.DataType:
    """Returns the type of a column; whole numbers among others become floats."""
    kinds = {type(value) for value in values}
    if kinds == {int, float} or (kinds == {int} and REQUIRED.get(name) is float):
        return ARROW_TYPES[float]
    if len(kinds) != 1 or not kinds <= ARROW_TYPES.keys():
        found = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"the column {name} holds text, whole numbers, numbers or bool, not {found}")
    return ARROW_TYPES[kinds.pop()]


def _check_each(columns: Columns, name: str, holds: Callable[[Any], bool], expected: str) -> None:
    for value in columns[name]:
        if not holds(value):
            raise ValueError(f"the {name} of a patch is {expected}, not {value!r}")


def _join_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Returns the rows of all shards; a column that is whole numbers in some and not in others is float."""
    names = tables[0].column_names
    for number, table in enumerate(tables):
        odd = set(names) ^ set(table.column_names)
        if odd:
            raise ValueError(f"shards 0 and {number} have different columns: {sorted(odd)[0]} is in one only")
    plain = [table.select(names).replace_schema_metadata(None) for table in tables]
    try:
        return pa.concat_tables(plain, promote_options="permissive").combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"the shards' columns do not fit together: {str(error).splitlines()[0]}") from None


# Files


def _shard_files(folder: Path, number: int) -> tuple[Path, Path]:
    """Returns the files of a shard's codes and of its rows."""
    return folder / SHARDS / f"{number:05}.npy", folder / SHARDS / f"{number:05}.parquet"


def _write_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Writes a file that appears under its name only once it is whole and on the disk."""
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}{PARTIAL}")
    try:
        with partial.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _write_parquet(table: pa.Table, file: BinaryIO) -> None:
    """Writes a table with settings that are all fixed, so that the same rows give the same bytes."""
    pq.write_table(
        table,
        file,
        version="2.6",
        compression="zstd",
        compression_level=3,
        use_dictionary=True,
        row_group_size=1 << 16,
        data_page_version="1.0",
    )


def _read_parquet(path: Path) -> pa.Table:
    """Returns a table without starting pyarrow's threads, which a later fork would lose."""
    try:
        with pq.ParquetFile(path) as file:
            return file.read(use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None


def _write_json(path: Path, entries: Mapping[str, Any]) -> None:
    text = json.dumps(entries, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    _write_file(path, lambda file: file.write(f"{text}\n".encode()))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    if not isinstance(entries, dict):
        raise ValueError(f"{path} holds no JSON object")
    return entries


def _canonical(entries: object, allow_nan: bool = False) -> str:
    """Returns JSON of which there is one for the same entries."""
    return json.dumps(entries, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=allow_nan)


def _npy_header(shape: tuple[int, ...]) -> bytes:
    """Returns what an .npy file of codes begins with."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": CODE.str, "fortran_order": False, "shape": tuple(shape)}
    )
    return file.getvalue()


# Reading


def open_patches(path: str | Path) -> "PatchStore":
    """Returns the finished store in a folder.

    Raises:
        ValueError: If there is none, or it is not finished, or this version cannot read it.
    """
    path = Path(path)
    if not (path / MANIFEST).is_file():
        raise ValueError(_why_no_manifest(path))
    manifest = _read_json(path / MANIFEST)
    if manifest.get("kind") != KIND:
        raise ValueError(f"{path} holds {manifest.get('kind', 'something else')}, not {KIND}")
    if manifest.get("layout") != LAYOUT:
        raise ValueError(
            f"{path} has layout {manifest.get('layout')}, but this version of dioptre reads layout {LAYOUT}"
        )
    try:
        form = StoreFormat.from_json(manifest["format"])
        count, shard_size = int(manifest["count"]), int(manifest["shard_size"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path / MANIFEST} does not describe a patch store: {error!r}") from None
    table = _read_parquet(path / TABLE)
    if len(table) != count:
        raise ValueError(f"{path / TABLE} has {len(table)} rows, but the manifest says {count}")
    return PatchStore(path, form, shard_size, manifest, table)


def _why_no_manifest(path: Path) -> str:
    if not path.is_dir():
        return f"there is no folder {path}"
    if (path / WRITING).exists():
        return f"{path} is not finished: run what was writing it again, and it will go on where it stopped"
    return f"{path} is not a patch store: it has no {MANIFEST}"


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
        self, path: Path, form: StoreFormat, shard_size: int, manifest: Mapping[str, Any], table: pa.Table
    ) -> None:
        self.path = path
        self.format = form
        self.manifest = manifest
        self.table = table
        self._shard_size = shard_size
        self._where = np.stack([self.column("where_x"), self.column("where_y")], axis=1)
        shards = _ShardFiles(path, form.patch_shape, shard_size, len(table))
        self._shard = lru_cache(OPEN_SHARDS)(shards.open)  # knows nothing of self: files close with it

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"PatchStore({str(self.path)!r}, {len(self)} patches)"

    def __reduce__(self) -> tuple[Callable[[Path], "PatchStore"], tuple[Path]]:
        return open_patches, (self.path.absolute(),)

    def column(self, name: str) -> Shaped[np.ndarray, " n"]:
        """Returns one column of the table; text as a NumPy array of text."""
        if name not in self.table.column_names:
            raise ValueError(f"{self.path} has no column {name}; it has {', '.join(self.table.column_names)}")
        column = self.table.column(name)
        if pa.types.is_string(column.type):
            return np.array(column.to_pylist(), dtype=np.str_)
        return column.to_numpy()

    def stack(
        self,
        rows: Sequence[int] | Int[np.ndarray, " batch"],
        indices: Sequence[int] | Int[np.ndarray, " m"] | Int[np.ndarray, "batch m"] | None = None,
    ) -> FocalStack:
        """Returns these patches, all their slices or only some; only these slices are read.

        Args:
            rows: Which patches: rows of the table, in any order.
            indices: Positions of the ladder: one list for all patches, or one row for each; None for all.

        Raises:
            ValueError: If there is no such patch or position, or a file is damaged.
        """
        rows = _whole_numbers("patches", rows, len(self))
        indices = self._slices(len(rows), indices)
        self._prefetch(rows, indices)
        _, views, _, size = self.format.patch_shape
        pixels = np.empty((*indices.shape, views, size, size), dtype=np.float32)
        for patch, wanted, out in zip(rows.tolist(), indices.tolist(), pixels, strict=True):
            codes = self._shard(patch // self._shard_size).codes[patch % self._shard_size]
            for at, index in enumerate(wanted):  # one slice at a time stays in the processor's cache
                _codes_to_patch(codes[index], self.format, out[at])
        return FocalStack(
            pixels=pixels,
            indices=indices,
            grid=self.format.grid,
            where=self._where[rows],
            view_codes=self.format.view_codes,
        )

    def verify(self) -> None:
        """Raises ValueError if the bytes of a shard, or the rows, are not those that were written."""
        for number, expected in enumerate(self.manifest["shards"]):
            file, _ = _shard_files(self.path, number)
            if hashlib.sha256(self._shard(number).memory).hexdigest() != expected:
                raise ValueError(f"{file} has changed since it was written")
        whole = _hash_store(self.format, self.manifest["config"], self.manifest["shards"], self.table)
        if whole != self.manifest["sha256"]:
            raise ValueError(f"{self.path / TABLE} or the manifest has changed since it was written")

    def _slices(self, batch: int, indices: Any) -> Int[np.ndarray, "batch m"]:
        positions = len(self.format.grid)
        if indices is None:
            return np.broadcast_to(np.arange(positions), (batch, positions))
        wanted = _whole_numbers("positions", indices, positions, axes=(1, 2))
        if wanted.ndim == 2 and len(wanted) != batch:
            raise ValueError(
                f"stack() takes one list of positions, or one row for each of {batch} patches, "
                f"not {wanted.shape}"
            )
        return np.broadcast_to(wanted, (batch, wanted.shape[-1]))

    def _prefetch(self, rows: Int[np.ndarray, " batch"], indices: Int[np.ndarray, "batch m"]) -> None:
        """Asks the system to begin reading everything that will be needed."""
        slices = len(self.format.grid)
        whole = indices.shape[1] == slices
        for patch, wanted in zip(rows.tolist(), indices.tolist(), strict=True):
            shard = self._shard(patch // self._shard_size)
            first = patch % self._shard_size * slices
            if whole:
                shard.prefetch(first, slices)
            else:
                for index in wanted:
                    shard.prefetch(first + index, 1)


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
                raise ValueError(f"it holds {found[1]} of shape {found[0]}, not {CODE} of shape {shape}")
            if size != expected:
                raise ValueError(f"it has {size} bytes, but its header promises {expected}")
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ValueError(f"the shard {path} cannot be read: {error}") from None
    return _Shard(np.ndarray(shape, CODE, memory, offset), memory, offset)


def _read_npy_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return shape, dtype


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
        pairs = out.reshape(len(out), form.size // 2, 2, form.size)  # a view of out
        np.add(quarter[:, :-2], inner, out=pairs[:, :, 0])
        np.add(inner, quarter[:, 2:], out=pairs[:, :, 1])
    out *= np.float32(1.0 / (form.white - form.black))
    np.clip(out, 0.0, 1.0, out=out)


def _whole_numbers(name: str, values: Any, limit: int, axes: Iterable[int] = (1,)) -> Int[np.ndarray, "..."]:
    """Returns a non-empty array of numbers in 0..limit - 1, with one of these numbers of axes."""
    array = np.asarray(values)
    if array.ndim not in axes or array.size == 0 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"stack() takes a list of {name} as whole numbers, not {reprlib.repr(values)}")
    outside = (array < 0) | (array >= limit)
    if outside.any():
        raise ValueError(f"the store has {name} 0..{limit - 1}, not {array[outside][0]}")
    return array
