"""Shards: the parts of a store that are written, resumed and read one by one.

    <folder>/<name>.<...>       the codes of some patches, and what else it takes to read them
    <folder>/<name>.sums        checksums of the codes (store/checksums.py); none in stores of dioptre 0.1
    <folder>/<name>.parquet     the rows of these patches

The rows come last: a shard that has them, and whose codes are whole, is complete, and a run that was stopped
can be resumed. What the codes look like is the business of each kind of store: store/patch_shards.py keeps
some patches in a shard, store/captures.py one capture.
"""

import hashlib
import mmap
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from dioptre.errors import FileError
from dioptre.store.checksums import ENDING as SUMS
from dioptre.store.checksums import PAGE, CheckedPages, Sums, page_sums, read_sums, sums_of_file
from dioptre.store.manifest import TABLE, begin_folder, described_by, hash_file, write_file
from dioptre.store.parquet import finish_folder, hash_store, pa, read_parquet, write_parquet
from dioptre.store.table import join_tables

ROWS = "parquet"
CHECKSUMS = "checksums"  # entry of the manifest of a store whose shards have them

HashedLines = Callable[[Mapping[str, Any]], Iterable[str]]
"""What of a manifest goes into the hash of the whole store, before its rows: see store/manifest.py."""


# Writing


@dataclass(frozen=True, eq=False)
class ShardWriter:
    """Writes the shards of a store, in any order, from any number of processes: one shard by one only.

    Attributes:
        path: The folder of the store; made if it does not exist.
        folder: The folder in it that holds the shards.
        endings: Of a shard's files beside its rows; the first is that of its codes.
        plan: What must be the same when the writing is resumed, as plain JSON: see `manifest.plan_of`.
    """

    path: Path
    folder: str
    endings: tuple[str, ...]
    plan: Mapping[str, Any]

    def begin(self) -> None:
        """Makes the folder, or sees that it can be resumed.

        Raises:
            FileError: If the folder is finished, was begun with something else, or is not a store's.
        """
        begin_folder(self.path, self.plan)
        (self.path / self.folder).mkdir(exist_ok=True)

    def file(self, name: str, ending: str) -> Path:
        """Returns the path of one of a shard's files."""
        return self.path / self.folder / f"{name}.{ending}"

    def codes_file(self, name: str) -> Path:
        """Returns the path of a shard's codes."""
        return self.file(name, self.endings[0])

    def names(self) -> list[str]:
        """Returns the names of all shards of which there is a file, in order."""
        files = (self.path / self.folder).glob("*.*")
        return sorted({file.stem for file in files if file.suffix[1:] in (ROWS, *self.endings)})

    def has_rows(self, name: str) -> bool:
        """Returns whether a shard has its rows: if its codes are whole too, it is complete."""
        return self.file(name, ROWS).exists()

    def write_codes(self, name: str, content: Sequence[bytes | memoryview]) -> str:
        """Writes the codes of a shard, which has no rows from now on, and returns their SHA-256."""
        self._forget_rows(name)
        write_file(self.codes_file(name), lambda file: file.writelines(content))
        self._write_sums(name, page_sums(b"".join(content)))
        digest = hashlib.sha256()
        for part in content:
            digest.update(part)
        return digest.hexdigest()

    def append_codes(self, name: str, offset: int, content: bytes) -> None:
        """Writes the end of a shard's codes, in place of whatever is there from an offset on.

        The shard has no rows from now on. If that fails, what was there before the offset is not harmed.
        """
        self._forget_rows(name)
        path = self.codes_file(name)
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

    def cut_codes(self, name: str, size: int) -> str:
        """Cuts off what a stopped run left after the codes of a shard, and returns their SHA-256."""
        os.truncate(self.codes_file(name), size)
        self._write_sums(name, sums_of_file(self.codes_file(name)))
        return hash_file(self.codes_file(name))

    def write_rows(self, name: str, table: pa.Table) -> None:
        """Writes the rows of a shard whose codes are whole: it is complete."""
        write_file(self.file(name, ROWS), lambda file: write_parquet(table, file))

    def read_rows(self, name: str) -> pa.Table:
        """Returns the rows of a shard."""
        return read_parquet(self.file(name, ROWS))

    def drop(self, name: str) -> None:
        """Deletes all files of a shard, its rows first."""
        self._forget_rows(name)
        for ending in reversed((*self.endings, SUMS)):
            self.file(name, ending).unlink(missing_ok=True)

    def finish(
        self,
        tables: Mapping[str, pa.Table],
        entries: Mapping[str, Any],
        hashed: HashedLines,
        complete: Iterable[str],
        dropped: Iterable[str] = (),
    ) -> None:
        """Writes the rows of all shards, then the manifest.

        Args:
            tables: The rows of each shard, in the order of the store.
            entries: What the manifest says beside the plan.
            hashed: What of it goes into the hash of the store.
            complete: The shards of the store.
            dropped: Shards that do not get into the store, and are deleted.

        Raises:
            FileError: If the shards' columns differ.
        """
        table = join_tables(self.folder, tables)
        for name in dropped:
            self.drop(name)
        for name in complete:
            if not self.file(name, SUMS).exists():  # begun by an earlier version
                self._write_sums(name, sums_of_file(self.codes_file(name)))
        manifest = {**self.plan, **entries, "count": len(table), CHECKSUMS: {"page": PAGE}}
        manifest["sha256"] = hash_store(hashed(manifest), table)
        finish_folder(self.path, table, manifest)

    def _write_sums(self, name: str, sums: Sums) -> None:
        write_file(self.file(name, SUMS), lambda file: file.write(sums.astype("<u8").tobytes()))

    def _forget_rows(self, name: str) -> None:
        """Deletes the rows of a shard that is about to change: while they are there, it looks complete."""
        self.file(name, ROWS).unlink(missing_ok=True)


# Reading


def map_codes(path: Path, what: str, promised_by: str, measure: Callable[[BinaryIO], int]) -> mmap.mmap:
    """Returns the bytes of a file of codes, read from the disk where they are touched.

    Args:
        path: The file.
        what: What it holds, for errors: "shard".
        promised_by: What tells its size, for errors: "its header".
        measure: Returns that size, of the opened file.

    Raises:
        FileError: If it cannot be read, or has another size.
    """
    try:
        with path.open("rb") as file:
            expected, size = measure(file), os.fstat(file.fileno()).st_size
            if size != expected:
                raise FileError(f"it has {size} bytes, but {promised_by} promises {expected}")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except Exception as error:  # a damaged header raises nearly anything: ValueError, TokenError, ...
        raise FileError(f"the {what} {path} cannot be read: {error}") from None


def check_codes(path: Path, memory: mmap.mmap, manifest: Mapping[str, Any]) -> CheckedPages | None:
    """Returns the pages of a file of codes, to be checked as they are read; None without checksums.

    Raises:
        FileError: If the checksums cannot be read, or are of a kind that this version does not know.
    """
    kind = manifest.get(CHECKSUMS)
    if kind is None:
        return None
    if kind != {"page": PAGE}:
        raise FileError(f"the checksums of {path} are of the kind {kind!r}, not of pages of {PAGE} bytes")
    return CheckedPages(path, memory, read_sums(path.with_suffix(f".{SUMS}"), len(memory)))


def prefetch(memory: mmap.mmap, begin: int, length: int) -> None:
    """Begins to read some bytes of a file and nothing beside them, where the system can be asked.

    Without it the system reads far more around each part that is touched, or one page after another.
    """
    if hasattr(mmap, "MADV_WILLNEED"):
        before = begin % mmap.PAGESIZE
        memory.madvise(mmap.MADV_WILLNEED, begin - before, before + length)


Check = Callable[[], None]
"""Raises FileError if something of a store is not what was written."""


def verify_codes(path: Path, sha256: str, manifest: Mapping[str, Any]) -> None:
    """Raises FileError if a file of codes, or its checksums, are not those that were written."""
    verify_file(path, sha256)
    if CHECKSUMS in manifest:
        sums = path.with_suffix(f".{SUMS}")
        if (read_sums(sums, path.stat().st_size) != sums_of_file(path)).any():
            raise FileError(f"{sums} has changed since it was written")


def verify_file(path: Path, sha256: str) -> None:
    """Raises FileError if a file is not the one that was written."""
    if not path.is_file():
        raise FileError(f"{path} is missing")
    if hash_file(path) != sha256:
        raise FileError(f"{path} has changed since it was written")


def verify_rows(path: Path, manifest: Mapping[str, Any], table: pa.Table, hashed: HashedLines) -> None:
    """Raises FileError if the rows of a store, or its manifest, are not those that were written."""
    with described_by(path):
        same = hash_store(hashed(manifest), table) == manifest["sha256"]
    if not same:
        raise FileError(f"{path / TABLE} or the manifest has changed since it was written")
