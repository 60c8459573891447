"""One writer for each folder: a lock that says who holds it, and that a dead owner does not hold.

The lock is the file `writing.lock` in the folder, there while somebody writes it. It says which process on
which host that is, and since when; its time is renewed as long as that process lives. A lock whose process is
gone (on this host), or that was not renewed for a while (on another one), is stale: it is taken over.

On one host the operating system keeps two processes from holding it at once, and lets go of it when one dies,
however it does (`flock`). Between hosts, and on systems without that, the renewed time is what counts.
"""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread, local
from typing import Any

from dioptre.errors import FileError

if sys.platform != "win32":
    import fcntl

LOCK = "writing.lock"
RENEWED_S = 20.0  # between two renewals
MOST_LOCK = 4096  # bytes: no lock is as long
STALE_S = 120.0  # without renewal, a lock of another host is stale

Say = Callable[[str], None]


def say_on_stderr(line: str) -> None:
    """Says a line on stderr."""
    sys.stderr.write(f"{line}\n")


@contextmanager
def locked(folder: Path, say: Say = say_on_stderr) -> Iterator[None]:
    """Keeps others from writing a folder. A thread that holds a lock may take it again.

    Args:
        folder: Made if it does not exist.
        say: Told in words if a stale lock was taken over.

    Raises:
        FileError: If it is being written already.
    """
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder} is a file, not a folder to write")
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    here, held = folder.resolve(), _held_here()
    if here in held:
        yield
        return
    path = folder / LOCK
    handle = _take(path, say)
    held.add(here)
    ended = Event()
    renewal = Thread(target=_renew, args=(path, ended), daemon=True)
    renewal.start()
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # first: a second Ctrl-C may end this at any line
        held.discard(here)
        ended.set()
        renewal.join()
        os.close(handle)
        if new and not any(folder.iterdir()):
            folder.rmdir()  # what was refused leaves nothing behind


_HELD = local()  # folders that each thread writes


def _held_here() -> set[Path]:
    if not hasattr(_HELD, "folders"):
        _HELD.folders = set()
    found: set[Path] = _HELD.folders
    return found


def _take(path: Path, say: Say) -> int:
    """Returns an open lock file that is ours."""
    while True:
        _refuse_stranger(path)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        held = _hold(handle)
        if held is False:
            owner = _read(path)
            os.close(handle)
            raise FileError(_refusal(path, owner))
        try:
            same = os.fstat(handle).st_ino == path.stat().st_ino
        except FileNotFoundError:
            same = False
        if not same:  # its last owner has just deleted it
            os.close(handle)
            continue
        owner = _read(path)
        if owner is not None and not _is_stale(path, owner, held is True):
            os.close(handle)
            raise FileError(_refusal(path, owner))
        if owner is not None:
            say(f"took over {path.parent}: {_name(path, owner)} is gone")
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(_myself()).encode(), 0)
        return handle


def _refuse_stranger(path: Path) -> None:
    """Raises FileError if there is something of that name that is no lock."""
    try:
        content = _head(path) if path.is_file() else b""
    except OSError:
        return  # its owner has just deleted it
    begins = content.lstrip()[:1]
    if path.is_dir() or begins not in (b"", b"{") or len(content) == MOST_LOCK:
        raise FileError(f"{path} is not a lock of dioptre's: write to another folder, or move it away")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MOST_LOCK)


def _hold(handle: int) -> bool | None:
    """Returns whether the operating system gives us the file alone; None where it cannot tell."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system that does not know locks
        return None
    return True


def _myself() -> dict[str, Any]:
    return {"process": os.getpid(), "host": socket.gethostname(), "since": time.time()}


def _read(path: Path) -> dict[str, Any] | None:
    """Returns the owner that a lock names; None while it names nobody."""
    try:
        owner = json.loads(_head(path))
    except (OSError, RecursionError, ValueError):
        return None
    return owner if isinstance(owner, dict) and isinstance(owner.get("process"), int) else None


def _is_stale(path: Path, owner: dict[str, Any], alone: bool) -> bool:
    """Returns whether the owner of a lock is gone.

    Args:
        path: The lock.
        owner: What it says.
        alone: Whether the operating system knows that nobody on this host holds it.
    """
    if alone and owner.get("host") == socket.gethostname():
        return True
    return time.time() - path.stat().st_mtime > STALE_S


def _refusal(path: Path, owner: dict[str, Any] | None) -> str:
    name = "another process" if owner is None else _name(path, owner)
    return f"{path.parent} is being written by {name}: wait for it, or write to another folder"


def _name(path: Path, owner: dict[str, Any]) -> str:
    """Returns the owner of a lock in words: process, host and age."""
    since = owner.get("since")
    age = f", for {time.time() - since:.0f} s" if isinstance(since, int | float) else ""
    try:
        renewed = f", last heard of {time.time() - path.stat().st_mtime:.0f} s ago"
    except FileNotFoundError:
        renewed = ""
    return f"process {owner['process']} on {owner.get('host', 'an unknown host')}{age}{renewed}"


def _renew(path: Path, ended: Event) -> None:
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is for the main thread
    while not ended.wait(RENEWED_S):
        try:
            os.utime(path)
        except OSError:  # the folder was deleted under us
            return
