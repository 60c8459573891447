"""The capture store: whole captures, each kept once, and the patches that are cut out of them on reading.

    captures/<name>.codes    packed native frames, in the order in which they came
    captures/<name>.json     where each frame begins in it, its bits and its shift; the file's SHA-256
    captures/<name>.parquet  the rows of its patches
    patches.parquet, manifest.json, writing.json: see dataset/manifest.py

A frame is one (slice, view) of a capture, uint16 (native_row, col), landscape. It is packed without loss, as
dataset/kernels.py says: codes lose the low bits that are zero in all of them (the shift), and take as many
bits as the largest then needs. The published codes, 10 bits shifted by 4, take 10/16 of their native size.

A patch is a window of the frames: `row` and `col` of the table are its top left corner in pixels of the whole
frame, and `file` is the name of its capture. Where the sensor bins pairs of rows, a patch begins on an even
row and is upsampled on reading as in dataset/store.py; above the frame's first native row that row is
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
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float32, Int, UInt16

from dioptre.dataset import kernels
from dioptre.dataset.format import StoreFormat
from dioptre.dataset.manifest import (
    MANIFEST,
    TABLE,
    begin_folder,
    canonical,
    described_by,
    finish_folder,
    hash_file,
    hash_store,
    plain_json,
    plan_of,
    read_json,
    read_parquet,
    write_file,
    write_json,
    write_parquet,
)
from dioptre.dataset.rows import Row, join_tables, rows_to_table
from dioptre.errors import FileError

KIND = "captures"
CAPTURES = "captures"
FILE = "file"  # the column that names a patch's capture
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")  # none begins with a dot
WORD = np.dtype("<u2")
KINDS = ("parquet", "json", "codes")  # of files; in this order they are dropped
OPEN_CAPTURES = 256  # each open capture holds a file descriptor, of which a process often has 1024
KNOWN_CAPTURES = (
    4096  # whose frames are remembered, a few kilobytes each: listing them takes longer than opening
)


# Frames


@dataclass(frozen=True)
class Frame:
    """Where a packed frame is in its file, and how to unpack it.

    Attributes:
        slice: Position of the ladder.
        view: 0, or 1 for the right one of two.
        offset: Byte at which it begins.
        bits: Bits of a code, 1 to 16.
        shift: Zero bits below them.
    """

    slice: int
    view: int
    offset: int
    bits: int
    shift: int

    def __post_init__(self) -> None:
        if not all(isinstance(value, int) and value >= 0 for value in vars(self).values()):
            raise FileError(f"a frame's entries are whole numbers, not {self}")
        if self.bits < 1 or self.bits + self.shift > 16:
            raise FileError(
                f"a frame has 1 to 16 bits with its shift, not {self.bits} shifted by {self.shift}"
            )

    def end(self, shape: tuple[int, int]) -> int:
        """Returns the byte after the last, for a frame of this many native rows and columns."""
        return self.offset + packed_words(shape, self.bits) * WORD.itemsize


def packed_words(shape: tuple[int, int], bits: int) -> int:
    """Returns how many words a packed frame of native rows and columns has."""
    rows, cols = shape
    return cols * -(-rows * bits // kernels.WORD_BITS)


def pack_frame(codes: UInt16[np.ndarray, "row col"]) -> tuple[UInt16[np.ndarray, " word"], int, int]:
    """Returns a frame packed in as few bits as hold it exactly, these bits, and the shift."""
    used = int(np.bitwise_or.reduce(codes, axis=None)) or 1  # a black frame has one bit too
    shift = (used & -used).bit_length() - 1
    bits = used.bit_length() - shift
    words = np.empty(packed_words(codes.shape, bits), WORD)
    kernels.pack(np.array(codes, WORD), bits, shift, words)
    return words, bits, shift


def unpack_frame(
    words: UInt16[np.ndarray, " word"], bits: int, shift: int, shape: tuple[int, int]
) -> UInt16[np.ndarray, "row col"]:
    """Returns the codes of a packed frame: the inverse of `pack_frame`."""
    codes = np.empty(shape, WORD)
    kernels.unpack(words, bits, shift, shape, 0, 0, codes)
    return codes


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
        _check_frame(self.frame, self.format)
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
        begin_folder(self.path, self._plan())
        (self.path / CAPTURES).mkdir(exist_ok=True)

    def is_complete(self, name: str) -> bool:
        """Returns whether a capture has all its frames and its rows on the disk."""
        return self._file(name, "parquet").exists() and not self.missing_frames(name)

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
        return [each for each in _positions(self.format) if each not in found]

    def write_frame(
        self, name: str, index: int, view: int, codes: UInt16[np.ndarray, "native_row col"]
    ) -> None:
        """Appends one frame to its capture; it is on the disk when this returns.

        Args:
            name: The capture: letters, digits, "-", "_" and ".".
            index: Position of the ladder.
            view: 0, or 1 for the right one of two.
            codes: Native codes, landscape.

        Raises:
            FileError: If the frame has another shape, or is there already.
            OSError: If the disk is full. What was written before is not harmed.
        """
        if codes.shape != self.frame_shape or codes.dtype != np.uint16:
            raise FileError(
                f"a frame has uint16 codes of shape {self.frame_shape}, "
                f"not {codes.dtype} of shape {codes.shape}"
            )
        self.begin()
        if self.has_frame(name, index, view):
            raise FileError(f"the capture {name} has a frame of slice {index} and view {view} already")
        frames = self._frames(name)
        offset = self._end(frames)
        words, bits, shift = pack_frame(codes)
        self._file(name, "parquet").unlink(missing_ok=True)  # while it is there, the capture looks complete
        _append(self._file(name, "codes"), offset, words.tobytes())
        self._write_index(name, [*frames, Frame(index, view, offset, bits, shift)])

    def complete(self, name: str, rows: Sequence[Row]) -> None:
        """Writes the rows of a capture that has all its frames.

        Args:
            name: The capture.
            rows: For each patch the columns that `dataset.rows` requires and any further ones, the same for
                all captures; row and col are its top left corner in pixels of the frame. The column `file` is
                added. A capture may have no patch.

        Raises:
            FileError: If a frame is missing, or a patch does not lie in the frame.
        """
        self.begin()
        missing = self.missing_frames(name)
        if missing:
            raise FileError(
                f"the capture {name} is not complete: {len(missing)} frames are missing, the first is "
                f"slice {missing[0][0]}, view {missing[0][1]}"
            )
        table = rows_to_table([{FILE: name} | dict(row) for row in rows], len(self.format.grid))
        _check_patches(table, self.frame, self.format)
        if rows and table.column(FILE).unique().to_pylist() != [name]:
            raise FileError(f"the column {FILE} of a patch is the name of its capture, {name}")
        frames, codes_file = self._frames(name), self._file(name, "codes")
        os.truncate(codes_file, self._end(frames))
        self._write_index(name, frames, sha256=hash_file(codes_file))
        write_file(self._file(name, "parquet"), lambda file: write_parquet(table, file))

    def drop(self, name: str) -> None:
        """Forgets a capture altogether."""
        self.begin()
        for kind in KINDS:
            self._file(name, kind).unlink(missing_ok=True)

    def finish(self, summary: Mapping[str, Any] | None = None) -> None:
        """Drops captures that are not complete, and writes the rows of all others, then the manifest.

        Args:
            summary: Whatever else the manifest should say, as plain JSON.

        Raises:
            FileError: If there is no patch, or the columns of captures differ.
        """
        self.begin()
        summary = plain_json("summary", summary or {})
        complete = self.complete_captures()
        tables = {name: read_parquet(self._file(name, "parquet")) for name in complete}
        tables = {name: table for name, table in tables.items() if len(table)}
        if not tables:
            raise FileError(f"{self.path} cannot be finished: no capture that is complete has a patch")
        table = join_tables("captures", tables)
        for name in set(self._names()) - set(complete):
            self.drop(name)
        manifest = self._plan() | {
            "captures": {name: self._hashes(name) for name in complete},
            "count": len(table),
            "summary": summary,
        }
        manifest["sha256"] = _hash_store(manifest, table)
        finish_folder(self.path, table, manifest)

    def _plan(self) -> dict[str, Any]:
        return plan_of(KIND, self.format, self.config, frame=list(self.frame))

    def _names(self) -> list[str]:
        """Returns the names of all captures that have a file, in order."""
        files = [file for kind in KINDS for file in (self.path / CAPTURES).glob(f"*.{kind}")]
        return sorted({file.stem for file in files if NAME.fullmatch(file.stem)})

    def _file(self, name: str, kind: str) -> Path:
        if not NAME.fullmatch(name):
            raise FileError(f"a capture's name is letters, digits, '-', '_' and '.', not {name!r}")
        return _file(self.path, name, kind)

    def _check_position(self, index: int, view: int) -> None:
        if not (0 <= index < len(self.format.grid) and 0 <= view < self.format.views):
            raise FileError(
                f"a frame has a slice in 0..{len(self.format.grid) - 1} and a view in "
                f"0..{self.format.views - 1}, not slice {index} and view {view}"
            )

    def _frames(self, name: str) -> list[Frame]:
        """Returns the frames of a capture that are on the disk, in the order of the file."""
        index_file, codes_file = self._file(name, "json"), self._file(name, "codes")
        if not (index_file.exists() and codes_file.exists()):
            return []
        size = codes_file.stat().st_size
        return list(takewhile(lambda frame: frame.end(self.frame_shape) <= size, _read_index(index_file)))

    def _end(self, frames: Sequence[Frame]) -> int:
        return frames[-1].end(self.frame_shape) if frames else 0

    def _write_index(self, name: str, frames: Sequence[Frame], **further: str) -> None:
        entries = {"frames": [vars(frame) for frame in frames], **further}
        write_json(self._file(name, "json"), entries)

    def _hashes(self, name: str) -> dict[str, str]:
        index_file = self._file(name, "json")
        return {"codes": read_json(index_file)["sha256"], "json": hash_file(index_file)}


def _append(path: Path, offset: int, content: bytes) -> None:
    """Writes the end of a file, in place of whatever is there from an offset on."""
    path.touch()
    try:
        with path.open("r+b") as file:
            file.truncate(offset)
            file.seek(offset)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.truncate(path, offset)  # on a full disk others may need the room
        raise


def _hash_store(manifest: Mapping[str, Any], table: pa.Table) -> str:
    """Returns the SHA-256 of a whole store, as the head of this module describes it."""
    entries = ("format", "config", "frame", "captures", "summary")
    return hash_store([canonical(manifest[entry]) for entry in entries], table)


# Files


def _file(path: Path, name: str, kind: str) -> Path:
    return path / CAPTURES / f"{name}.{kind}"


def _read_index(path: Path) -> list[Frame]:
    """Returns the frames that a capture's .json lists, in the order of the file."""
    entries = read_json(path)
    try:
        return [Frame(**entry) for entry in entries["frames"]]
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path} does not list the frames of a capture: {error!r}") from None


# What fits together


def _native_shape(frame: tuple[int, int], form: StoreFormat) -> tuple[int, int]:
    """Returns native rows and columns of a frame."""
    return frame[0] // form.rows_per_native, frame[1]


def _positions(form: StoreFormat) -> list[tuple[int, int]]:
    """Returns the slice and view of every frame of a capture."""
    return list(product(range(len(form.grid)), range(form.views)))


def _check_frame(frame: tuple[int, int], form: StoreFormat) -> None:
    if min(frame) < form.size or frame[0] % form.rows_per_native:
        raise FileError(
            f"a frame is at least as large as a patch, {form.size} x {form.size}, with rows divisible by "
            f"{form.rows_per_native}, not {frame[0]} x {frame[1]}"
        )


def _check_patches(table: pa.Table, frame: tuple[int, int], form: StoreFormat) -> None:
    """Raises ValueError for the first patch that cannot be cut out of a frame."""
    row, col = table.column("row").to_numpy(), table.column("col").to_numpy()
    below, right = frame[0] - form.size, frame[1] - form.size
    outside = (row < 0) | (row > below) | (col < 0) | (col > right) | (row % form.rows_per_native != 0)
    if outside.any():
        at = int(np.argmax(outside))
        raise FileError(
            f"a patch has its row in 0..{below}, divisible by {form.rows_per_native}, and its col in "
            f"0..{right}, not row {row[at]} and col {col[at]}"
        )


# Reading


class Captures:
    """The source of a store that cuts its patches out of whole captures; see `dataset.store.PatchSource`."""

    def __init__(self, path: Path, form: StoreFormat, manifest: Mapping[str, Any], table: pa.Table) -> None:
        with described_by(path):
            frame = int(manifest["frame"][0]), int(manifest["frame"][1])
            known = set(manifest["captures"])
            _check_frame(frame, form)
        try:
            _check_patches(table, frame, form)
            self._names, self._of = np.unique(table.column(FILE).to_pylist(), return_inverse=True)
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(f"{path / TABLE} does not fit its captures: {error}") from None
        strangers = set(self._names.tolist()) - known
        if strangers:
            raise FileError(f"{path / TABLE} has patches of {min(strangers)}, which {MANIFEST} does not list")
        self._path = path
        self._manifest = manifest
        self._row = table.column("row").to_numpy()
        self._col = table.column("col").to_numpy()
        # These know nothing of self: files close with it.
        listing = lru_cache(KNOWN_CAPTURES)(partial(_list_frames, path, form, frame))
        self._capture = lru_cache(OPEN_CAPTURES)(partial(_open_capture, path, form, frame, listing))

    def fill(
        self,
        rows: Int[np.ndarray, " batch"],
        indices: Int[np.ndarray, "batch m"],
        corners: Int[np.ndarray, "batch 2"],
        out: Float32[np.ndarray, "batch m view row col"],
    ) -> None:
        """Fills out with pixels, as `PatchSource` says."""
        indices = np.array(indices, dtype=np.int64, order="C")  # one type for the compiler
        places = [self._place(patch) for patch in rows.tolist()]
        for (name, row, col), wanted in zip(places, indices, strict=True):
            self._capture(name).prefetch(wanted, row, col)
        for (name, row, col), (down, right), wanted, pixels in zip(
            places, corners.tolist(), indices, out, strict=True
        ):
            self._capture(name).read(wanted, row + down, col + right, pixels)

    def _place(self, patch: int) -> tuple[str, int, int]:
        """Returns the capture of a patch, and where in the frame it begins."""
        return str(self._names[self._of[patch]]), int(self._row[patch]), int(self._col[patch])

    def verify(self, table: pa.Table) -> None:
        """Raises ValueError if something has changed, as `PatchSource` says."""
        for name, hashes in self._manifest["captures"].items():
            for kind, expected in hashes.items():
                file = _file(self._path, name, kind)
                if not file.is_file():
                    raise FileError(f"{file} is missing")
                if hash_file(file) != expected:
                    raise FileError(f"{file} has changed since it was written")
            self._capture(name)
        if _hash_store(self._manifest, table) != self._manifest["sha256"]:
            raise FileError(f"{self._path / TABLE} or the manifest has changed since it was written")


@dataclass(frozen=True, eq=False)
class _Capture:
    """A capture in memory as far as the system has read it.

    Attributes:
        words: The packed frames, read from the disk where they are touched.
        memory: The same as bytes.
        frames: (slice, view, 3): at which word each frame begins, its bits and its shift.
        shape: Native rows and columns of a frame.
        format: What all patches have in common.
    """

    words: UInt16[np.ndarray, " word"]
    memory: mmap.mmap
    frames: Int[np.ndarray, "slice view 3"]
    shape: tuple[int, int]
    format: StoreFormat

    def prefetch(self, indices: Int[np.ndarray, " m"], row: int, col: int) -> None:
        """Begins to read what a patch needs at these positions, and nothing beside it."""
        if not hasattr(mmap, "MADV_WILLNEED"):
            return
        for begin, length in self.runs(indices, row, col).tolist():
            before = begin % mmap.PAGESIZE
            self.memory.madvise(mmap.MADV_WILLNEED, begin - before, before + length)

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


def _open_capture(
    path: Path,
    form: StoreFormat,
    frame: tuple[int, int],
    listing: Callable[[str], tuple[Int[np.ndarray, "slice view 3"], int]],
    name: str,
) -> _Capture:
    """Returns the capture of a name, if its file is as long as the listing of its frames says."""
    (frames, expected), file = listing(name), _file(path, name, "codes")
    try:
        with file.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            if size != expected:
                raise FileError(f"it has {size} bytes, but its .json promises {expected}")
            memory = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise FileError(f"the capture {file} cannot be read: {error}") from None
    return _Capture(np.frombuffer(memory, WORD), memory, frames, _native_shape(frame, form), form)


def _list_frames(
    path: Path, form: StoreFormat, frame: tuple[int, int], name: str
) -> tuple[Int[np.ndarray, "slice view 3"], int]:
    """Returns at which word each frame of a capture begins, its bits and its shift; and the length in bytes.

    All frames must be listed and follow each other: nothing checks later what is read, and a frame that began
    elsewhere would be read from beyond the file.
    """
    file, shape = _file(path, name, "json"), _native_shape(frame, form)
    listed = _read_index(file)
    if sorted((each.slice, each.view) for each in listed) != _positions(form):
        raise FileError(
            f"{file} lists {len(listed)} frames, not each of {len(form.grid)} x {form.views} once"
        )
    ends = [0, *(each.end(shape) for each in listed)]
    if [each.offset for each in listed] != ends[:-1]:
        raise FileError(f"{file} lists frames that do not follow each other")
    frames = np.empty((len(form.grid), form.views, 3), np.int64)
    for each in listed:
        frames[each.slice, each.view] = each.offset // WORD.itemsize, each.bits, each.shift
    return frames, ends[-1]
