import json
import multiprocessing
import os
import socket
import sys
import time
from multiprocessing.synchronize import Event
from pathlib import Path
from threading import Thread

import pytest

from dioptre.errors import FileError
from dioptre.store import lock
from dioptre.store.lock import LOCK, locked


def hold(folder: Path, began: Event) -> None:
    with locked(folder):
        began.set()
        time.sleep(60)


def test_a_folder_has_one_writer(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    began = context.Event()
    other = context.Process(target=hold, args=(tmp_path / "out", began))
    other.start()
    try:
        assert began.wait(60)
        refused = pytest.raises(FileError, match=rf"being written by process {other.pid} on .*, for \d+ s")
        with refused, locked(tmp_path / "out"):
            pass
    finally:
        other.kill()
        other.join()
    said: list[str] = []
    with locked(tmp_path / "out", said.append):  # a killed owner holds nothing
        assert json.loads((tmp_path / "out" / LOCK).read_text())["process"] == os.getpid()
    assert len(said) == 1
    assert f"process {other.pid}" in said[0]


def test_after_a_writer_there_is_no_lock_nor_a_folder_that_was_empty(tmp_path: Path) -> None:
    said: list[str] = []
    with locked(tmp_path / "new", said.append):
        pass
    assert not (tmp_path / "new").exists()
    with locked(tmp_path / "kept", said.append):
        (tmp_path / "kept" / "file").touch()
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["file"]
    assert not said


@pytest.mark.parametrize(("age", "stale"), [(10.0, False), (1000.0, True)])
def test_a_lock_of_another_host_is_stale_when_it_is_not_renewed(
    tmp_path: Path, age: float, stale: bool
) -> None:
    path = tmp_path / LOCK
    path.write_text(json.dumps({"process": 12, "host": "elsewhere", "since": time.time() - 2 * age}))
    os.utime(path, (time.time() - age, time.time() - age))
    said: list[str] = []
    if not stale:
        refused = pytest.raises(FileError, match="12 on elsewhere, for 20 s, last heard of 10 s ago")
        with refused, locked(tmp_path, said.append):
            pass
        assert path.exists()
        return
    with locked(tmp_path, said.append):
        assert json.loads(path.read_text())["host"] == socket.gethostname()
    assert "took over" in said[0]


def test_a_lock_is_renewed_while_it_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "RENEWED_S", 0.02)
    with locked(tmp_path):
        path = tmp_path / LOCK
        os.utime(path, (0, 0))
        until = time.monotonic() + 20
        while path.stat().st_mtime < 1 and time.monotonic() < until:
            time.sleep(0.01)
        assert path.stat().st_mtime > time.time() - 60


@pytest.mark.skipif(sys.platform == "win32", reason="there is no flock")
@pytest.mark.parametrize(("age", "stale"), [(10.0, False), (1000.0, True)])
def test_without_locks_of_the_system_a_renewed_lock_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: float, stale: bool
) -> None:
    monkeypatch.setattr(lock, "_hold", lambda _handle: None)
    path = tmp_path / LOCK
    path.write_text(json.dumps({"process": 12, "host": socket.gethostname(), "since": 0}))
    os.utime(path, (time.time() - age, time.time() - age))
    if stale:
        with locked(tmp_path, lambda _line: None):
            return
    with pytest.raises(FileError, match="process 12"), locked(tmp_path):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="there is no flock")
@pytest.mark.parametrize("content", ["", "{", '{"process": "x"}'])
def test_a_lock_that_says_nothing_is_taken(tmp_path: Path, content: str) -> None:
    (tmp_path / LOCK).write_text(content)
    with locked(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["process"] == os.getpid()


@pytest.mark.parametrize("content", ["my notes", "[]", "{" + 5000 * "a"])
def test_a_file_of_that_name_that_is_no_lock_is_kept(tmp_path: Path, content: str) -> None:
    (tmp_path / LOCK).write_text(content)
    with pytest.raises(FileError, match="not a lock of dioptre's"), locked(tmp_path):
        pass
    assert (tmp_path / LOCK).read_text() == content


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="is a file"), locked(tmp_path / "file"):
        pass


def test_who_holds_a_lock_may_take_it_again_and_another_thread_may_not(tmp_path: Path) -> None:
    refused: list[str] = []

    def try_it() -> None:
        try:
            with locked(tmp_path / "out"):
                refused.append("nothing")
        except FileError as error:
            refused.append(str(error))

    with locked(tmp_path / "out"):
        with locked(tmp_path / "out"):
            assert (tmp_path / "out" / LOCK).exists()
        assert (tmp_path / "out" / LOCK).exists()
        other = Thread(target=try_it)
        other.start()
        other.join()
    assert "is being written by process" in refused[0]
    assert not (tmp_path / "out").exists()
