"""The manifest and the folder that it completes: how writing begins, is resumed and ends, and whole files.

    patches.parquet   the rows of all patches, in order
    manifest.json     written last: its presence means that the store is complete

Where the codes are is the business of each kind of store. While one is being written, writing.json holds what
is being written; it becomes the manifest. Files are written under a temporary name (*.dioptre-partial) and
renamed. One process writes a folder at a time (`dioptre.store.lock`).
"""

import hashlib
import json
import os
import reprlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dioptre import __version__
from dioptre.errors import DioptreError, FileError, InputError
from dioptre.resources import refuse_larger, regular
from dioptre.store.format import StoreFormat
from dioptre.store.lock import LOCK

JSON_GROWS = 10  # bytes of memory for one of a file, at most
LAYOUT = 1  # of the files in the folder; a reader knows one
MANIFEST = "manifest.json"
WRITING = "writing.json"
TABLE = "patches.parquet"
PARTIAL = ".dioptre-partial"


# Writing


def plain_json(name: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    """Returns entries of a manifest as they will be read back from the disk.

    Raises:
        InputError: If they are not plain JSON.
    """
    try:
        return json.loads(canonical(dict(entries)))
    except (TypeError, ValueError) as error:
        raise InputError(f"a store's {name} is plain JSON: {error}") from None


def plan_of(kind: str, form: StoreFormat, config: Mapping[str, Any], **further: object) -> dict[str, Any]:
    """Returns the settings that must be the same when the writing of a store is resumed."""
    return {
        "kind": kind,
        "layout": LAYOUT,
        "dioptre": __version__,
        "config": config,
        "format": form.to_json(),
        **further,
    }


def begin_folder(folder: Path, plan: Mapping[str, Any], what: str = "a patch store") -> None:
    """Records the plan in a new folder, or checks it against that of a folder already begun.

    Args:
        folder: Made if it does not exist.
        plan: What must be the same when the writing is resumed, as plain JSON.
        what: What will be in the folder, in words.

    Raises:
        FileError: If the folder is finished, was begun with something else, or holds something else.
    """
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder} is a file, not a folder for {what}")
    if (folder / MANIFEST).exists():
        raise FileError(f"{folder} is finished already; write to another folder, or delete it")
    folder.mkdir(parents=True, exist_ok=True)
    # Listed before looking for the plan: another process may be beginning the same store.
    strangers = sorted(
        file.name for file in folder.iterdir() if file.name != LOCK and not file.name.endswith(PARTIAL)
    )
    if (folder / WRITING).exists():
        _check_plan(folder, plan)
    elif strangers:
        raise FileError(f"{folder} is not an empty folder nor {what}: it has {strangers[0]}")
    else:
        write_json(folder / WRITING, plan)


def _check_plan(folder: Path, plan: Mapping[str, Any]) -> None:
    begun = read_json(folder / WRITING)
    difference = _first_difference({key: begun.get(key) for key in plan}, dict(plan))
    if difference:
        raise FileError(
            f"{folder} cannot be resumed: it was begun with {difference}; write to another folder"
        )


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


def clear_leftovers(folder: Path) -> None:
    """Deletes files that a stopped run has half written."""
    for leftover in folder.rglob(f"*{PARTIAL}"):
        leftover.unlink()


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Makes a folder complete. The manifest contains the plan: stopped half-way, it can still be resumed."""
    write_json(folder / WRITING, manifest)
    (folder / WRITING).replace(folder / MANIFEST)


def hash_file(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    with regular(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_folder(folder: Path, below: Iterable[str]) -> dict[str, list[str]]:
    """Returns the hash of each file below some names within a folder, as a list of one, by its path."""
    found: dict[str, list[str]] = {}
    for name in below:
        first = folder / name
        files = sorted(one for one in first.rglob("*") if one.is_file()) if first.is_dir() else [first]
        found |= {one.relative_to(folder).as_posix(): [hash_file(one)] for one in files if one.is_file()}
    return found


# Reading


def read_manifest(folder: Path, what: str = "a patch store") -> dict[str, Any]:
    """Returns the manifest of a finished folder.

    Raises:
        FileError: If there is none, or it cannot be read.
    """
    if not (folder / MANIFEST).is_file():
        raise FileError(_why_no_manifest(folder, what))
    return read_json(folder / MANIFEST)


def _why_no_manifest(folder: Path, what: str) -> str:
    if not folder.is_dir():
        return f"there is no folder {folder}"
    if (folder / WRITING).exists():
        return f"{folder} is not finished: run what was writing it again, and it will go on where it stopped"
    return f"{folder} is not {what}: it has no {MANIFEST}"


@contextmanager
def described_by(folder: Path, what: str = "a patch store") -> Iterator[None]:
    """Lets entries be taken from a manifest; one that is missing or impossible is a FileError."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        told = str(error) if isinstance(error, DioptreError) else repr(error)
        raise FileError(f"{folder / MANIFEST} does not describe {what}: {told}") from None


# Files


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Writes a file that appears under its name only once it is whole and on the disk."""
    with unnamed(path) as partial, partial.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def unnamed(path: Path) -> Iterator[Path]:
    """Yields a file to write, which gets its name if nothing goes wrong, and is deleted otherwise.

    Until then it is called what nobody else calls a file.
    """
    partial = path.with_name(f"{path.name[-100:]}.{uuid.uuid4().hex}{PARTIAL}")
    try:
        yield partial
        partial.replace(path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(partial)):
            error.filename = str(path)  # that of a full disk names none, and nobody knows the other
        raise


def write_json(path: Path, entries: Mapping[str, Any]) -> None:
    """Writes a JSON object, one of which there is for the same entries."""
    text = json.dumps(entries, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    # Names of files may be no UTF-8: the letters that Python has for these are escaped, as JSON has it.
    write_file(path, lambda file: file.write(f"{text}\n".encode("utf-8", "backslashreplace")))


def read_json(path: Path) -> dict[str, Any]:
    """Returns the JSON object in a file."""
    try:
        refuse_larger(path, JSON_GROWS * path.stat().st_size)
        entries = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except FileError:
        raise
    except (OSError, RecursionError, ValueError) as error:
        raise FileError(f"{path} cannot be read: {error}") from None
    if not isinstance(entries, dict):
        raise FileError(f"{path} holds no JSON object")
    return entries


def _refuse_constant(name: str) -> None:
    """Raises for NaN and infinities, which Python reads and JSON has not."""
    raise ValueError(f"{name} is no number of JSON's")


def canonical(entries: object, allow_nan: bool = False) -> str:
    """Returns JSON of which there is one for the same entries."""
    return json.dumps(entries, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=allow_nan)
