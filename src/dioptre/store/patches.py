"""The patch store: labelled patches of focal stacks in a folder, whoever made them.

`open_patches` reads every kind of store, and `PatchStore` is the same for all; what differs is who reads the
pixels. A store of kind "patches" keeps each patch by itself: see store/patch_shards.py. One of kind
"captures" cuts its patches out of whole captures: see store/captures.py.

A store gives views of itself, which read the same files: some of its patches (`select`), other windows of its
captures (`with_windows`), codes instead of pixels (`as_codes`).
"""

import math
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Int, Shaped

from dioptre.errors import FileError, InputError
from dioptre.resources import refuse_larger
from dioptre.stack import FocalStack
from dioptre.store.format import StoreFormat, check_corners, check_frame
from dioptre.store.labels import patch_where
from dioptre.store.manifest import LAYOUT, MANIFEST, TABLE, described_by, read_manifest
from dioptre.store.parquet import pa, read_parquet
from dioptre.store.patch_shards import KIND, ShardReader, StoreWriter
from dioptre.store.schema import STORES
from dioptre.store.shards import Check
from dioptre.store.table import Row, check_columns, check_values

__all__ = ["PatchReader", "PatchStore", "Row", "StoreFormat", "StoreWriter", "open_patches"]

LARGEST_CODE = 65535.0  # of any store


@runtime_checkable
class PatchReader(Protocol):
    """Reads the pixels of a store's patches. Threads share a reader."""

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
            indices: Positions of the grid.
            corners: Row and column at which the window begins in each patch; rows are whole native rows.
            out: As large as the windows.

        Raises:
            FileError: If a file is damaged.
        """

    def checks(self, table: pa.Table) -> list[Check]:
        """Returns a check of each file: it raises FileError if the bytes are not those that were written.

        Raises:
            FileError: If the manifest does not tell which files there are.
        """


def open_patches(path: str | Path) -> "PatchStore":
    """Returns the finished store in a folder, of whichever kind.

    Raises:
        FileError: If there is none, or it is not finished, or this version cannot read it.
    """
    path = Path(path)
    manifest = read_manifest(path)
    if str(manifest.get("kind")) not in READERS:
        raise FileError(f"{path} holds {manifest.get('kind', 'something else')}, not {KIND}")
    if manifest.get("layout") != LAYOUT:
        raise FileError(
            f"{path} has layout {manifest.get('layout')}, but this version of dioptre reads layout {LAYOUT}"
        )
    STORES[str(manifest["kind"])].check(path / MANIFEST, manifest)
    with described_by(path):
        form, count = StoreFormat.from_json(manifest["format"]), int(manifest["count"])
    table = read_parquet(path / TABLE)
    if len(table) != count:
        raise FileError(f"{path / TABLE} has {len(table)} rows, but the manifest says {count}")
    check_columns(path / TABLE, table)
    check_values(path / TABLE, table, len(form.grid))
    return PatchStore(path, form, manifest, table)


class PatchStore:
    """The patches of a finished store, or of a view of it; made by `open_patches`.

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
        patches: Int[np.ndarray, " patch"] | None = None,
    ) -> None:
        self.path = path
        self.format = form
        self.manifest = manifest
        self.table = table
        self._patches = patches  # of a view: which patch of the store each row is
        self._where = np.stack([self.column("where_x"), self.column("where_y")], axis=1)
        self._reader = READERS[str(manifest["kind"])](path, form, manifest, table, self._numbers)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"PatchStore({str(self.path)!r}, {len(self)} patches)"

    def __reduce__(self) -> tuple[Callable[..., "PatchStore"], tuple[Any, ...]]:
        path = self.path.absolute()
        if self._patches is None:
            return open_patches, (path,)
        return _open_view, (path, self.format, self.table, self._patches)

    @property
    def frame(self) -> tuple[int, int] | None:
        """Rows and columns of the whole frames that the store holds; None if it holds single patches."""
        if "frame" not in self.manifest:
            return None
        with described_by(self.path):
            return int(self.manifest["frame"][0]), int(self.manifest["frame"][1])

    def column(self, name: str) -> Shaped[np.ndarray, " n"]:
        """Returns one column of the table; text as a NumPy array of text."""
        if name not in self.table.column_names:
            raise FileError(f"{self.path} has no column {name}; it has {', '.join(self.table.column_names)}")
        column = self.table.column(name)
        if pa.types.is_string(column.type):
            return np.array(column.to_pylist(), dtype=np.str_)
        return column.to_numpy()

    def rows_of(self, split: str) -> Int[np.ndarray, " n"]:
        """Returns the rows of the patches of a split; of all for "all".

        Raises:
            InputError: If there are none.
        """
        splits = self.column("split")
        rows = np.arange(len(self)) if split == "all" else np.flatnonzero(splits == split)
        if rows.size == 0:
            there = ", ".join(sorted(set(splits.tolist())))
            raise InputError(f"{self.path} has no patches of the split {split}; it has {there}")
        return rows

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
            indices: Positions of the grid: one list for all patches, or one row for each; None for all.
            corners: Row and column at which a window begins in each patch; None for the first ones. Rows
                begin where a native row does.
            size: Rows and columns of the windows; None for whole patches.

        Raises:
            InputError: If there is no such patch, position or window.
            FileError: If a file is damaged.
        """
        rows = _whole_numbers("patches", rows, len(self))
        indices = self._slices(len(rows), indices)
        size = self.format.size if size is None else size
        corners = self._corners(len(rows), corners, size)
        shape = (*indices.shape, self.format.views, size, size)
        refuse_larger(self.path, math.prod(shape) * 4)
        pixels = np.empty(shape, dtype=np.float32)
        self._reader.fill(rows, indices, corners, pixels)
        return FocalStack(
            pixels=pixels,
            indices=indices,
            grid=self.format.grid,
            where=self._where[rows],
            view_codes=self.format.view_codes,
        )

    def verify(self) -> None:
        """Raises FileError if the bytes of a file, or the rows, are not those that were written."""
        for check in self.checks():
            check()

    def checks(self) -> list[Check]:
        """Returns a check of each file of the store: it raises FileError as `verify` does."""
        if self._patches is None:
            return self._reader.checks(self.table)
        return open_patches(self.path).checks()

    def select(self, rows: Sequence[int] | Int[np.ndarray, " patch"]) -> "PatchStore":
        """Returns a view of some patches of the store: rows of the table, in any order."""
        chosen = _whole_numbers("patches", rows, len(self))
        return self._view(self.format, self.table.take(chosen), self._numbers[chosen])

    def with_windows(self, corners: Int[np.ndarray, "patch 2"], size: int) -> "PatchStore":
        """Returns a view of the store that has other windows of its captures in place of its patches.

        Rows keep everything but where the patch is: row, col, where_x and where_y.

        Args:
            corners: Row and column of the frame at which the window of each patch begins.
            size: Rows and columns of the windows.

        Raises:
            InputError: If the store does not hold whole captures, or a window does not lie in the frame.
        """
        form, frame = replace(self.format, size=size), self.frame
        if frame is None:
            raise InputError(f"{self.path} keeps each patch by itself: there is nothing around it to be read")
        if corners.shape != (len(self), 2):
            raise InputError(f"windows are {len(self)} rows and columns, not an array of {corners.shape}")
        check_frame(frame, form)
        check_corners(corners, frame, form)
        (rows, cols), (x, y) = corners.T.astype(np.int64), patch_where(corners, frame, size).T
        table = self.table
        for name, values in {"row": rows, "col": cols, "where_x": x, "where_y": y}.items():
            table = table.set_column(table.column_names.index(name), name, [values])
        return self._view(form, table, self._numbers)

    def as_codes(self) -> "PatchStore":
        """Returns a view of the store whose pixels are codes / LARGEST_CODE, whatever its black and white."""
        return self._view(replace(self.format, black=0.0, white=LARGEST_CODE), self.table, self._numbers)

    @property
    def _numbers(self) -> Int[np.ndarray, " patch"]:
        """Which patch of the store each row is."""
        return np.arange(len(self)) if self._patches is None else self._patches

    def _view(self, form: StoreFormat, table: pa.Table, patches: Int[np.ndarray, " patch"]) -> "PatchStore":
        return PatchStore(self.path, form, self.manifest, table, patches)

    def _corners(
        self, batch: int, corners: Int[np.ndarray, "batch 2"] | None, size: int
    ) -> Int[np.ndarray, "batch 2"]:
        form = self.format
        if corners is None:
            corners = np.zeros((batch, 2), np.int64)
        inside = size > 0 and corners.shape == (batch, 2) and (corners >= 0).all()
        if not (inside and (corners + size <= form.size).all()):
            raise InputError(f"a window of {size} pixels does not lie in a patch of {form.size} everywhere")
        if size % form.rows_per_native or (corners[:, 0] % form.rows_per_native).any():
            raise InputError(
                f"a window begins and ends with a native row, which has {form.rows_per_native} rows"
            )
        return corners

    def _slices(self, batch: int, indices: Any) -> Int[np.ndarray, "batch m"]:
        positions = len(self.format.grid)
        if indices is None:
            return np.broadcast_to(np.arange(positions), (batch, positions))
        wanted = _whole_numbers("positions", indices, positions, axes=(1, 2))
        if wanted.ndim == 2 and len(wanted) != batch:
            raise InputError(
                f"stack() takes one list of positions, or one row for each of {batch} patches, "
                f"not {wanted.shape}"
            )
        return np.broadcast_to(wanted, (batch, wanted.shape[-1]))


def _whole_numbers(name: str, values: Any, limit: int, axes: Iterable[int] = (1,)) -> Int[np.ndarray, "..."]:
    """Returns a non-empty array of numbers in 0..limit - 1, with one of these numbers of axes."""
    array = np.asarray(values)
    if array.ndim not in axes or array.size == 0 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"a store takes a list of {name} as whole numbers, not {reprlib.repr(values)}")
    outside = (array < 0) | (array >= limit)
    if outside.any():
        raise InputError(f"the store has {name} 0..{limit - 1}, not {array[outside][0]}")
    return array


def _open_view(
    path: Path, form: StoreFormat, table: pa.Table, patches: Int[np.ndarray, " patch"]
) -> PatchStore:
    return PatchStore(path, form, read_manifest(path), table, patches)


# Kinds


def _read_shards(
    path: Path,
    form: StoreFormat,
    manifest: Mapping[str, Any],
    _: pa.Table,
    patches: Int[np.ndarray, " patch"],
) -> PatchReader:
    return ShardReader(path, form, manifest, patches)


def _read_captures(
    path: Path,
    form: StoreFormat,
    manifest: Mapping[str, Any],
    table: pa.Table,
    _: Int[np.ndarray, " patch"],
) -> PatchReader:
    from dioptre.store.captures import CaptureReader  # noqa: PLC0415  # numba takes a while to load

    return CaptureReader(path, form, manifest, table)


READERS: dict[str, Callable[..., PatchReader]] = {KIND: _read_shards, "captures": _read_captures}
"""What opens the reader of each kind of store."""
