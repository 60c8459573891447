"""Archives of the published data set, train1.tar.gz and the like, read as streams and never unpacked."""

import gzip
import re
import struct
import tarfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

from dioptre.errors import ArchiveError, CaptureFileError
from dioptre.resources import refuse_larger, regular
from dioptre.store.published.layout import PublishedFile, parse_path

ARCHIVE_SUFFIXES = (".tar.gz", ".tgz", ".tar")

ReadSome = Callable[..., bytes]  # (count) -> so many bytes; () -> all that are left


def is_archive(path: Path) -> bool:
    """True for a file that is called like an archive."""
    return path.is_file() and path.name.lower().endswith(ARCHIVE_SUFFIXES)


def list_archives(source: Path) -> list[Path]:
    """Returns the archives of a folder in order of their names, or the one that the source is."""
    if source.is_dir():
        return sorted(path for path in source.iterdir() if is_archive(path))
    return [source] if is_archive(source) else []


def read_archive(
    path: Path, wanted: Callable[[PublishedFile], bool], moved: Callable[[int], None]
) -> Generator[tuple[PublishedFile, str, ReadSome], None, None]:
    """Yields the wanted files of an archive as they come: what it is, its name, and how to read it, now.

    Nothing is unpacked to disk, and a file of which only the beginning is read is not kept in memory.

    Args:
        path: The archive.
        wanted: Tells which files.
        moved: Called with the bytes of the archive read so far, before each file.

    Raises:
        ArchiveError: If it is cut short or damaged, also by the reading of a file; all that came before is
            good.
    """
    stem = re.sub(r"(?i)\.(tar\.gz|tgz|tar)$", "", path.name)
    with ExitStack() as files:
        raw = files.enter_context(regular(path).open("rb"))
        with _noticing_damage(path):
            # gzip, unlike tarfile's own stream, notices when its data end too early or fail their checksum.
            whole = files.enter_context(gzip.open(raw)) if _is_gzip(raw) else raw
            tar = files.enter_context(tarfile.open(fileobj=whole, mode="r|"))
        for member in _members(path, tar):
            moved(raw.tell())
            item = parse_path(member.name) if member.isfile() else None
            if item and wanted(item):
                content = tar.extractfile(member)
                assert content is not None  # it is a file
                item = replace(item, part=item.part or stem)
                name = f"{path.name}:{member.name}"
                yield item, name, partial(_read_some, path, name, member.size, content.read)
        with _noticing_damage(path):
            while whole.read(1 << 20):  # to the checksum
                pass
        moved(raw.tell())


def _members(path: Path, tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yields the members of an archive, until it ends or is damaged."""
    while True:
        with _noticing_damage(path):
            member = tar.next()
        if member is None:
            return
        yield member


def _read_some(path: Path, name: str, size: int, read: ReadSome, count: int = -1) -> bytes:
    if count < 0:
        refuse_larger(name, size, CaptureFileError)
    with _noticing_damage(path):
        return read(count)


@contextmanager
def _noticing_damage(path: Path) -> Iterator[None]:
    """Lets what damage raises end as an ArchiveError; of headers, nearly anything does."""
    try:
        yield
    except (
        tarfile.TarError,
        EOFError,
        KeyError,
        OverflowError,
        ValueError,
        gzip.BadGzipFile,
        struct.error,
        zlib.error,
    ) as error:
        raise ArchiveError(f"{path} is damaged or cut short: {error}") from None


def _is_gzip(file: IO[bytes]) -> bool:
    begins = file.read(2)
    file.seek(0)
    return begins == b"\x1f\x8b"
