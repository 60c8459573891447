"""The capture store: whole captures, each kept once, and the patches that are cut out of them on reading.

    captures/<name>.codes    packed native frames, in the order in which they came
    captures/<name>.json     where each frame begins in it, its bits and its shift; the file's SHA-256
    captures/<name>.sums     checksums of the packed frames: see store/checksums.py
    captures/<name>.parquet  the rows of its patches
    patches.parquet, manifest.json, writing.json: see store/manifest.py

A frame is one (slice, view) of a capture, uint16 (native_row, col), landscape, packed as store/packing.py
says.

A patch is a window of the frames: `row` and `col` of the table are its top left corner in pixels of the whole
frame, and `file` is the name of its capture. Where the sensor bins pairs of rows, a patch begins on an even
row and is upsampled on reading as in store/patch_shards.py; above the frame's first native row that row is
repeated, and below the last the last.

A frame counts once the .json lists it, which is replaced after the frame's bytes are on the disk. Whatever
follows the last listed frame in .codes was left by a run that was stopped, and is cut off by the next. A
capture's .parquet is written last: a capture that has it is complete.

In the manifest, captures[name] has the SHA-256 of the files name.codes and name.json, and sha256 is that of
the whole store: the lines before its rows are the format, the config, the frame, the captures and the
summary, each as JSON. Only the order of the frames in .codes, and so these hashes, depends on the order in
which they came.
"""

import mmap
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int, UInt16

from dioptre.errors import FileError, InputError
from dioptre.store import kernels
from dioptre.store.checksums import CheckedPages
from dioptre.store.format import StoreFormat, check_corners, check_frame
from dioptre.store.manifest import (
    MANIFEST,
    TABLE,
    canonical,
    described_by,
    hash_file,
    plain_json,
    plan_of,
    write_json,
)
from dioptre.store.packing import (
    WORD,
    PackedFrame,
    frame_positions,
    locate_frames,
    pack_frame,
    read_frames,
)
from dioptre.store.parquet import pa
from dioptre.store.shards import (
    Check,
    ShardWriter,
    check_codes,
    map_codes,
    prefetch,
    verify_codes,
    verify_file,
    verify_rows,
)
from dioptre.store.table import Row, rows_to_table

KIND = "captures"
FOLDER = "captures"
CODES, INDEX = "codes", "json"  # endings of a capture's files
FILE = "file"  # the column that names a patch's capture
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")  # none begins with a dot
LONGEST_NAME = 200  # letters: files have endings, and systems allow 255
HASHED = ("format", "config", "frame", "captures", "summary")  # entries of the manifest
OPEN_CAPTURES = 256  # each open capture holds a file descriptor, of which a process often has 1024
KNOWN_CAPTURES = 4096  # whose lists of frames, a few kilobytes each, are kept: reading one is slow


# Writing


@dataclass(frozen=True, eq=False)
class CaptureWriter:
    """Writes a store capture by capture and frame by frame, in any order.

        writer = CaptureWriter(path, format, frame, config)
        writer.begin()
        for index, view in writer.missing_frames(name):
            writer.write_frame(name, index, view, codes)
        writer.complete(name, rows)
        writer.finish()

    Different captures may be written by different processes at the same time, one capture by one only. A run
    that was stopped at any moment can be resumed.

    Attributes:
        path: The folder; made if it does not exist.
        format: What all patches have in common.
        frame: Rows and columns of a frame, in pixels as those of a patch.
        config: Whatever decides what the store holds, as plain JSON. It can only be resumed with the same.
    """

    path: Path
    format: StoreFormat
    frame: tuple[int, int]
    config: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_frame(self.frame, self.format)
        object.__setattr__(self, "config", plain_json("config", self.config))

    @property
    def frame_shape(self) -> tuple[int, int]:
        """Native rows and columns of a frame."""
        return _native_shape(self.frame, self.format)

    def begin(self) -> None:
        """Makes the folder, or sees that it can be resumed.

        Raises:
            FileError: If the folder is finished, was begun with something else, or is not a store's.
        """
        self._writer.begin()

    def is_complete(self, name: str) -> bool:
        """Returns whether a capture has all its frames and its rows on the disk."""
        _check_name(name)
        return self._writer.has_rows(name) and not self.missing_frames(name)

    def complete_captures(self) -> list[str]:
        """Returns the names of all captures that are complete, in order."""
        return [name for name in self._names() if self.is_complete(name)]

    def has_frame(self, name: str, index: int, view: int) -> bool:
        """Returns whether a frame is on the disk as a whole."""
        self._check_position(index, view)
        return (index, view) not in self.missing_frames(name)

    def missing_frames(self, name: str) -> list[tuple[int, int]]:
        """Returns the slice and view of each frame of a capture that is not yet on the disk."""
        found = {(frame.slice, frame.view) for frame in self._frames(name)}
        return [each for each in frame_positions(self.format) if each not in found]

    def write_frame(
        self, name: str, index: int, view: int, codes: UInt16[np.ndarray, "native_row col"]
    ) -> None:
        """Appends one frame to its capture; it is on the disk when this returns.

        Args:
            name: The capture: letters, digits, "-", "_" and ".".
            index: Position of the grid.
            view: 0, or 1 for the right one of two.
            codes: Native codes, landscape.

        Raises:
            InputError: If the frame has another shape, or is there already.
            OSError: If the disk is full. What was written before is not harmed.
        """
        if codes.shape != self.frame_shape or codes.dtype != np.uint16:
            raise InputError(
                f"a frame has uint16 codes of shape {self.frame_shape}, "
                f"not {codes.dtype} of shape {codes.shape}"
            )
        writer = self._writer
        writer.begin()
        if self.has_frame(name, index, view):
            raise InputError(f"the capture {name} has a frame of slice {index} and view {view} already")
        frames = self._frames(name)
        offset = self._end(frames)
        words, bits, shift = pack_frame(codes)
        writer.append_codes(name, offset, words.tobytes())
        self._write_index(name, [*frames, PackedFrame(index, view, offset, bits, shift)])

    def complete(self, name: str, rows: Sequence[Row]) -> None:
        """Writes the rows of a capture that has all its frames.

        Args:
            name: The capture.
            rows: For each patch the columns that `store.table` requires and any further ones, the same for
                all captures; row and col are its top left corner in pixels of the frame. The column `file` is
                added. A capture may have no patch.

        Raises:
            InputError: If a frame is missing, or a patch does not lie in the frame.
        """
        writer = self._writer
        writer.begin()
        missing = self.missing_frames(name)
        if missing:
            raise InputError(
                f"the capture {name} is not complete: {len(missing)} frames are missing, the first is "
                f"slice {missing[0][0]}, view {missing[0][1]}"
            )
        table = rows_to_table([{FILE: name} | dict(row) for row in rows], len(self.format.grid))
        check_corners(_corners(table), self.frame, self.format)
        if rows and table.column(FILE).unique().to_pylist() != [name]:
            raise InputError(f"the column {FILE} of a patch is the name of its capture, {name}")
        frames = self._frames(name)
        self._write_index(name, frames, sha256=writer.cut_codes(name, self._end(frames)))
        writer.write_rows(name, table)

    def drop(self, name: str) -> None:
        """Forgets a capture altogether."""
        _check_name(name)
        writer = self._writer
        writer.begin()
        writer.drop(name)

    def finish(self, summary: Mapping[str, Any] | None = None) -> None:
        """Drops captures that are not complete, and writes the rows of all others, then the manifest.

        Args:
            summary: Whatever else the manifest should say, as plain JSON.

        Raises:
            FileError: If there is no patch, or the columns of captures differ.
        """
        writer = self._writer
        writer.begin()
        summary = plain_json("summary", summary or {})
        complete = self.complete_captures()
        tables = {name: writer.read_rows(name) for name in complete}
        tables = {name: table for name, table in tables.items() if len(table)}
        if not tables:
            raise FileError(f"{self.path} cannot be finished: no capture that is complete has a patch")
        entries = {"captures": {name: self._hashes(name) for name in complete}, "summary": summary}
        writer.finish(tables, entries, _hashed_lines, complete, set(self._names()) - set(complete))

    @property
    def _writer(self) -> ShardWriter:
        plan = plan_of(KIND, self.format, self.config, frame=list(self.frame))
        return ShardWriter(self.path, FOLDER, (CODES, INDEX), plan)

    def _names(self) -> list[str]:
        """Returns the names of all captures that have a file, in order."""
        return [name for name in self._writer.names() if NAME.fullmatch(name)]

    def _check_position(self, index: int, view: int) -> None:
        if not (0 <= index < len(self.format.grid) and 0 <= view < self.format.views):
            raise InputError(
                f"a frame has a slice in 0..{len(self.format.grid) - 1} and a view in "
                f"0..{self.format.views - 1}, not slice {index} and view {view}"
            )

    def _frames(self, name: str) -> list[PackedFrame]:
        """Returns the frames of a capture that are on the disk, in the order of the file."""
        _check_name(name)
        index_file, codes_file = _file(self.path, name, INDEX), _file(self.path, name, CODES)
        if not (index_file.exists() and codes_file.exists()):
            return []
        size = codes_file.stat().st_size
        listed, _ = read_frames(index_file)
        return list(takewhile(lambda frame: frame.end(self.frame_shape) <= size, listed))

    def _end(self, frames: Sequence[PackedFrame]) -> int:
        return frames[-1].end(self.frame_shape) if frames else 0

    def _write_index(self, name: str, frames: Sequence[PackedFrame], **further: str) -> None:
        entries = {"frames": [vars(frame) for frame in frames], **further}
        write_json(_file(self.path, name, INDEX), entries)

    def _hashes(self, name: str) -> dict[str, str]:
        index_file = _file(self.path, name, INDEX)
        _, entries = read_frames(index_file)
        if "sha256" not in entries:
            raise FileError(f"{index_file} does not tell the SHA-256 of its codes; delete it")
        return {CODES: entries["sha256"], INDEX: hash_file(index_file)}


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise InputError(
            f"a capture's name is at most {LONGEST_NAME} letters, digits, '-', '_' and '.', not {name[:80]!r}"
        )


def _file(path: Path, name: str, ending: str) -> Path:
    return path / FOLDER / f"{name}.{ending}"


def _native_shape(frame: tuple[int, int], form: StoreFormat) -> tuple[int, int]:
    """Returns native rows and columns of a frame."""
    return frame[0] // form.rows_per_native, frame[1]


def _corners(table: pa.Table) -> Int[np.ndarray, "patch 2"]:
    """Returns row and column at which each patch begins in the frame."""
    return np.stack([table.column("row").to_numpy(), table.column("col").to_numpy()], axis=1)


def _hashed_lines(manifest: Mapping[str, Any]) -> list[str]:
    """Returns the lines that the store's hash is made of, as the head of this module describes it."""
    return [canonical(manifest[entry]) for entry in HASHED]


# Reading


class CaptureReader:
    """Reads patches of a store by cutting them out of whole captures; see `store.patches.PatchReader`."""

    def __init__(self, path: Path, form: StoreFormat, manifest: Mapping[str, Any], table: pa.Table) -> None:
        with described_by(path):
            frame = int(manifest["frame"][0]), int(manifest["frame"][1])
            known = set(manifest["captures"])
            check_frame(frame, form)
        self._corner = _corners(table)
        try:
            check_corners(self._corner, frame, form)
            self._names, self._of = np.unique(table.column(FILE).to_pylist(), return_inverse=True)
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(f"{path / TABLE} does not fit its captures: {error}") from None
        strangers = set(self._names.tolist()) - known
        if strangers:
            raise FileError(f"{path / TABLE} has patches of {min(strangers)}, which {MANIFEST} does not list")
        self._path = path
        self._manifest = manifest
        # These know nothing of self: files close with it.
        shape = _native_shape(frame, form)
        locate = lru_cache(KNOWN_CAPTURES)(partial(_locate, path, form, shape))
        self._capture = lru_cache(OPEN_CAPTURES)(partial(_open_capture, path, form, shape, locate, manifest))

    def fill(
        self,
        rows: Int[np.ndarray, " batch"],
        indices: Int[np.ndarray, "batch m"],
        corners: Int[np.ndarray, "batch 2"],
        out: Float32[np.ndarray, "batch m view row col"],
    ) -> None:
        """Fills out with pixels, as `PatchReader` says."""
        indices = np.array(indices, dtype=np.int64, order="C")  # one type for the compiler
        names, patches = self._names[self._of[rows]].tolist(), self._corner[rows]
        needed = [
            self._capture(name).prefetch(wanted, row, col)
            for name, (row, col), wanted in zip(names, patches.tolist(), indices, strict=True)
        ]
        for name, runs, (row, col), wanted, pixels in zip(
            names, needed, (patches + corners).tolist(), indices, out, strict=True
        ):
            capture = self._capture(name)
            capture.read(wanted, row, col, pixels)
            if capture.pages is not None:
                capture.pages.check_runs(runs)  # just after: they are in the processor's cache

    def checks(self, table: pa.Table) -> list[Check]:
        """Returns a check of each file, as `PatchReader` describes it."""
        captures = self._manifest["captures"]
        return [
            *(partial(self._verify_capture, name, hashes) for name, hashes in captures.items()),
            partial(verify_rows, self._path, self._manifest, table, _hashed_lines),
        ]

    def _verify_capture(self, name: str, hashes: Mapping[str, str]) -> None:
        _check_name(name)
        for ending in (CODES, INDEX):
            if ending not in hashes:
                raise FileError(f"{self._path / MANIFEST} has no hash of {name}.{ending}")
        verify_file(_file(self._path, name, INDEX), hashes[INDEX])
        verify_codes(_file(self._path, name, CODES), hashes[CODES], self._manifest)
        self._capture(name)


@dataclass(frozen=True, eq=False)
class _Capture:
    """A capture in memory as far as the system has read it.

    Attributes:
        words: The packed frames, read from the disk where they are touched.
        memory: The same as bytes.
        frames: (slice, view, 3): at which word each frame begins, its bits and its shift.
        shape: Native rows and columns of a frame.
        format: What all patches have in common.
        pages: What checks them; None if there are no checksums.
    """

    words: UInt16[np.ndarray, " word"]
    memory: mmap.mmap
    frames: Int[np.ndarray, "slice view 3"]
    shape: tuple[int, int]
    format: StoreFormat
    pages: CheckedPages | None

    def prefetch(self, indices: Int[np.ndarray, " m"], row: int, col: int) -> Int[np.ndarray, "run 2"]:
        """Begins to read what a patch needs at these positions, and nothing beside it; returns its runs."""
        runs = self.runs(indices, row, col)
        for begin, length in runs.tolist():
            prefetch(self.memory, begin, length)
        return runs

    def runs(self, indices: Int[np.ndarray, " m"], row: int, col: int) -> Int[np.ndarray, "run 2"]:
        """Returns the first byte and the length of each run that a patch needs at these positions."""
        form = self.format
        strips = (col + form.size - 1) // kernels.STRIP - col // kernels.STRIP + 1
        runs = np.empty((len(indices), form.views, strips, 2), np.int64)
        top = row // form.rows_per_native - (form.rows_per_native - 1)
        kernels.runs(self.frames, indices, self.shape, top, col, form.native_rows, runs)
        return runs.reshape(-1, 2)

    def read(
        self,
        indices: Int[np.ndarray, " m"],
        row: int,
        col: int,
        out: Float32[np.ndarray, "m view row col"],
    ) -> None:
        """Fills out with the pixels of a patch at these positions."""
        form = self.format
        black, scale = np.float32(form.black), np.float32(1.0 / (form.white - form.black))
        top, each = row // form.rows_per_native, form.rows_per_native
        kernels.read_patch(self.words, self.frames, indices, self.shape, each, top, col, black, scale, out)
        if hasattr(mmap, "MADV_DONTNEED"):
            # The system keeps the pages; the process, which reads all captures in turn, must not count them.
            self.memory.madvise(mmap.MADV_DONTNEED)


def _locate(
    path: Path, form: StoreFormat, shape: tuple[int, int], name: str
) -> tuple[Int[np.ndarray, "slice view 3"], int]:
    return locate_frames(_file(path, name, INDEX), form, shape)


def _open_capture(
    path: Path,
    form: StoreFormat,
    shape: tuple[int, int],
    locate: Callable[[str], tuple[Int[np.ndarray, "slice view 3"], int]],
    manifest: Mapping[str, Any],
    name: str,
) -> _Capture:
    """Returns the capture of a name, if its file is as long as the listing of its frames says."""
    frames, size = locate(name)
    codes = _file(path, name, CODES)
    memory = map_codes(codes, "capture", "its .json", lambda _: size)
    pages = check_codes(codes, memory, manifest)
    return _Capture(np.frombuffer(memory, WORD), memory, frames, shape, form, pages)
