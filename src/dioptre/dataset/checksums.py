"""Checksums of files of codes, a page each, checked when a page is first read.

    <folder>/<name>.sums    uint64, one for each PAGE bytes of the file of codes; the last page ends in zeros

A patch is a few runs of bytes in a large file. A checksum of the whole file would read all of it for one
patch; that of a page is checked with what the system reads from the disk anyway, once for each opened file.

The sum of a page is the sum of w[k] x[k] modulo 2^64 over its words x of 64 bits, with fixed odd weights w:
no change of a single word goes unnoticed, and any other with a chance of about 2^-64. It finds damage, not
forgery: for that, and for the checksums themselves, the manifest has the SHA-256 of the codes
(`dioptre verify`).
"""

import mmap
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Int, UInt64

from dioptre.errors import FileError

ENDING: Final = "sums"
PAGE: Final = 4096  # bytes
WORD: Final = np.dtype("<u8")
WORDS: Final = PAGE // WORD.itemsize  # of a page
MANY: Final = 64  # pages, from which on it pays to load the compiler

Sums = UInt64[np.ndarray, " page"]


def _weights() -> UInt64[np.ndarray, " word"]:
    """Returns the odd numbers that the words of a page are multiplied by: SplitMix64 of 1, 2, 3, ..."""
    with np.errstate(over="ignore"):
        x = np.arange(1, WORDS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))) | np.uint64(1)


WEIGHTS: Final = _weights()


def page_sums(data: bytes | memoryview | mmap.mmap) -> Sums:
    """Returns the sum of each page of some bytes."""
    view = memoryview(data)
    whole = len(view) // PAGE
    sums = np.empty(-(-len(view) // PAGE), np.uint64)
    if whole:
        np.matmul(np.frombuffer(view, WORD, whole * WORDS).reshape(whole, WORDS), WEIGHTS, out=sums[:whole])
    if len(sums) > whole:
        last = bytes(view[whole * PAGE :]).ljust(PAGE, b"\0")
        sums[whole] = np.frombuffer(last, WORD) @ WEIGHTS
    return sums


def sums_of_file(path: Path) -> Sums:
    """Returns the sum of each page of a file, a part of which is in memory at a time."""
    parts = [np.empty(0, np.uint64)]
    with path.open("rb") as file:
        while part := file.read(PAGE << 10):
            parts.append(page_sums(part))
    return np.concatenate(parts)


def read_sums(path: Path, size: int) -> Sums:
    """Returns the sums that a file holds.

    Args:
        path: The file.
        size: Of the file of codes, in bytes.

    Raises:
        FileError: If it is missing, or has sums of another file.
    """
    try:
        sums = np.fromfile(path, WORD)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(sums) != -(-size // PAGE):
        raise FileError(f"{path} has {len(sums)} checksums, but the codes have {-(-size // PAGE)} pages")
    return sums.astype(np.uint64, copy=False)


class CheckedPages:
    """The pages of a mapped file, each checked when it is first asked for. Threads may share it.

    Args:
        path: The file, for errors.
        memory: Its bytes.
        sums: What the sum of each page must be.
    """

    def __init__(self, path: Path, memory: mmap.mmap, sums: Sums) -> None:
        self._path, self._memory, self._sums, self._expected = path, memory, sums, sums.tobytes()
        self._whole = len(memory) // PAGE
        self._words = np.frombuffer(memory, WORD, self._whole * WORDS).reshape(self._whole, WORDS)
        self._seen = bytearray(len(sums))
        self._flags = np.frombuffer(self._seen, np.uint8)  # the same

    def check(self, begin: int, length: int) -> None:
        """Checks the pages of a run of bytes.

        Raises:
            FileError: If one has changed since it was written.
        """
        last = -(-(begin + length) // PAGE)
        first = self._seen.find(0, begin // PAGE, last)
        if first < 0:
            return
        if last > self._whole:
            self._check_last()
            last, first = self._whole, min(first, self._whole)
        if last - first < MANY:
            found = self._words[first:last] @ WEIGHTS
            if found.tobytes() != self._expected[first * WORD.itemsize : last * WORD.itemsize]:
                self._refuse(first + int(np.argmax(found != self._sums[first:last])))
            self._seen[first:last] = b"\1" * (last - first)
        else:
            self.check_runs(np.array([[first * PAGE, (last - first) * PAGE]]))

    def check_runs(self, runs: Int[np.ndarray, "run 2"]) -> None:
        """Checks the pages of many runs of bytes, each its first byte and its length; compiled."""
        from dioptre.dataset.kernels import check_pages  # noqa: PLC0415  # numba takes a while to load

        bad = check_pages(self._words, WEIGHTS, self._sums, PAGE, runs, self._flags)
        if bad == self._whole:
            self._check_last()
            bad = -1
        if bad >= 0:
            self._refuse(bad)

    def _check_last(self) -> None:
        """Checks the page that the file does not fill."""
        begin = self._whole * PAGE
        if not self._seen[-1] and page_sums(self._memory[begin:])[0] != self._sums[-1]:
            self._refuse(self._whole)
        self._seen[-1] = 1

    def _refuse(self, page: int) -> None:
        raise FileError(
            f"{self._path} has changed since it was written: the checksum of bytes {page * PAGE} to "
            f"{min((page + 1) * PAGE, len(self._memory)) - 1} is another"
        )
