"""The files that a command wrote into a folder that its user may use too, and how they are written again.

manifest.json lists them with their hashes. A file that is there and is not on the list, or is no longer what
was written, is somebody else's: it is not overwritten, unless that is asked for.
"""

import glob
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dioptre.errors import FileError
from dioptre.store.lock import locked
from dioptre.store.manifest import (
    MANIFEST,
    PARTIAL,
    WRITING,
    hash_file,
    read_json,
    write_file,
    write_json,
    write_manifest,
)
from dioptre.store.schema import LEDGER


def write_all(
    out: Path, kind: str, files: Mapping[str, bytes], about: Mapping[str, Any], overwrite: bool
) -> None:
    """Writes files into a folder, or none of them; deletes what was written before and is not any more.

    Args:
        out: The folder; made if it does not exist.
        kind: Of what is in the folder.
        files: By their names in the folder.
        about: Further entries of the manifest, as plain JSON.
        overwrite: Whether to overwrite whatever has the same name.

    Raises:
        FileError: If the folder holds something else, or a file that was not written here.
    """
    if out.exists() and not out.is_dir():
        raise FileError(f"{out} is a file, not a folder for a {kind}")
    out.mkdir(parents=True, exist_ok=True)
    with locked(out):
        before = _written_before(out, kind)
        foreign = (
            [] if overwrite else [name for name in files if _is_foreign(out / name, before.get(name, []))]
        )
        if foreign:
            raise FileError(
                f"{out / foreign[0]} was not written by dioptre, or was changed since: move it away, write "
                "to another folder, or say --overwrite"
            )
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        both = {name: [*before.get(name, []), *hashes.get(name, "").split()] for name in {**before, **hashes}}
        write_json(out / WRITING, {"kind": kind, "files": both})
        for name, content in files.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            write_file(out / name, lambda file, content=content: file.write(content))  # type: ignore[misc]
        for name in before.keys() - files.keys():
            if (out / name).is_file() and not _is_foreign(out / name, before[name]):
                (out / name).unlink()
        for name in {**before, **files}:
            for leftover in (out / name).parent.glob(f"{glob.escape(Path(name).name)}.*{PARTIAL}"):
                leftover.unlink()  # of a run that was killed; other partial files are somebody else's
        write_manifest(out, {"kind": kind, "files": {name: [one] for name, one in hashes.items()}, **about})


def _written_before(out: Path, kind: str) -> dict[str, list[str]]:
    """Returns the files that were written into a folder earlier, and the hashes that they may have."""
    found: dict[str, list[str]] = {}
    for name in (MANIFEST, WRITING):
        if not (out / name).exists():
            continue
        entries = read_json(out / name)
        if entries.get("kind") != kind:
            raise FileError(f"{out} holds {entries.get('kind', 'something else')}, not a {kind}")
        LEDGER.check(out / name, entries)
        for file, hashes in entries["files"].items():
            found.setdefault(file, []).extend(hashes)
    return found


def _is_foreign(file: Path, hashes: list[str]) -> bool:
    return file.exists() and not (file.is_file() and hash_file(file) in hashes)
