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
from jaxtyping import Int, UInt8, UInt64

from dioptre.errors import FileError

ENDING: Final = "sums"
PAGE: Final = 4096  # bytes
WORD: Final = np.dtype("<u8")
WORDS: Final = PAGE // WORD.itemsize  # of a page

Sums = UInt64[np.ndarray, " page"]
KernelPages = tuple[UInt64[np.ndarray, "_ _"], UInt64[np.ndarray, " _"], Sums, int, UInt8[np.ndarray, " _"]]
"""Words of the pages that are whole, their weights, the sums, bytes of a page, and which pages were seen."""


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


def no_pages() -> KernelPages:
    """Returns the empty arguments of kernels for a file without checksums, of the same types."""
    words = np.empty((0, WORDS), np.uint64)
    words.setflags(write=False)
    return words, WEIGHTS, np.empty(0, np.uint64), PAGE, np.empty(0, np.uint8)


class CheckedPages:
    """The pages of a mapped file, each checked when it is first asked for. Threads may share it.

    Args:
        path: The file, for errors.
        memory: Its bytes.
        sums: What the sum of each page must be.
    """

    def __init__(self, path: Path, memory: mmap.mmap, sums: Sums) -> None:
        self._path, self._memory, self._sums = path, memory, sums
        self._whole = len(memory) // PAGE
        self._words = np.frombuffer(memory, WORD, self._whole * WORDS).reshape(self._whole, WORDS)
        self._seen = np.zeros(len(sums), np.uint8)

    def check_runs(self, runs: Int[np.ndarray, "run 2"]) -> None:
        """Checks the pages of many runs of bytes, each its first byte and its length; compiled."""
        from dioptre.store.kernels import check_runs  # noqa: PLC0415  # numba takes a while to load

        words, weights, sums, page, seen = self.compiled
        self.settle(check_runs(words, weights, sums, page, runs, seen))

    @property
    def compiled(self) -> KernelPages:
        """What kernels check pages by, and mark them in."""
        return self._words, WEIGHTS, self._sums, PAGE, self._seen

    def settle(self, bad: int) -> None:
        """Ends a check by a kernel, which found a bad page, or none (-1), or left the last one to be checked.

        Raises:
            FileError: If a page has changed since it was written.
        """
        if bad == self._whole:
            self._check_last()
        elif bad >= 0:
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
