"""Pieces: their order and their faults, whoever runs them; and that no process outlives its parent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from dioptre.errors import InputError
from dioptre.pipeline.executors import local_executor, run_pieces
from dioptre.resources import THREADS, workers

ENDLESS = """
import os, sys, time
from functools import partial
from pathlib import Path
from dioptre.pipeline.executors import local_executor, run_pieces

def work(name):
    Path(name).write_text(str(os.getpid()))
    time.sleep(600)

if __name__ == "__main__":
    with local_executor(2) as executor:
        list(run_pieces([partial(work, name) for name in sys.argv[1:]], executor))
"""


def is_alive(pid: int) -> bool:
    """Returns whether a process runs; one that has ended and waits for its parent to notice does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(holds, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


def sleep_and_say(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


@pytest.fixture(params=["this process", "threads", "processes"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor | None]:
    if request.param == "threads":  # any executor will do
        with ThreadPoolExecutor(2) as pool:
            yield pool
    else:
        with local_executor(1 if request.param == "this process" else 2) as found:
            assert (found is None) == (request.param == "this process")
            yield found


def test_results_come_in_the_order_of_the_pieces(executor: Executor | None) -> None:
    pieces = [partial(sleep_and_say, seconds) for seconds in (0.3, 0.0, 0.1)]
    assert list(run_pieces(pieces, executor)) == [0.3, 0.0, 0.1]


def test_a_fault_reaches_the_caller(executor: Executor | None) -> None:
    results = run_pieces([partial(int, text) for text in ("1", "x", "3")], executor)
    assert next(results) == 1
    with pytest.raises(ValueError, match="'x'"):
        next(results)


def test_what_has_not_begun_is_dropped(tmp_path: Path) -> None:
    files = [tmp_path / str(number) for number in range(20)]
    with ThreadPoolExecutor(1) as executor:
        results = run_pieces([partial(_touch, file) for file in files], executor)
        next(results)
        results.close()
    assert files[0].exists()
    assert not files[-1].exists()


def _touch(file: Path) -> None:
    time.sleep(0.02)
    file.touch()


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, "6")
    with local_executor(2) as executor:
        assert list(run_pieces([workers] * 2, executor)) == [3, 3]
    with local_executor(1) as executor:
        assert list(run_pieces([workers], executor)) == [6]
    monkeypatch.setenv(THREADS, "none")
    with pytest.raises(InputError, match="'none'"):
        workers()


def test_a_number_of_workers_is_not_negative() -> None:
    with pytest.raises(InputError, match="not -2"), local_executor(-2):
        pass


def test_a_process_that_is_ended_from_outside_is_named() -> None:
    with local_executor(2) as executor, pytest.raises(ChildProcessError, match="want of memory"):
        list(run_pieces([partial(os._exit, 9)], executor))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="tells by /proc whether a process runs")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_a_parent_that_is_ended(tmp_path: Path, how: signal.Signals) -> None:
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    notes = [tmp_path / "one", tmp_path / "two"]
    parent = subprocess.Popen(
        [sys.executable, str(script), *map(str, notes)],
        start_new_session=True,
        stderr=subprocess.PIPE,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  # also in a job
    )
    running: list[int] = []
    try:
        assert wait_until(lambda: all(note.exists() and note.read_text() for note in notes))
        running = [int(note.read_text()) for note in notes]
        assert all(map(is_alive, running))
        if how is signal.SIGINT:
            os.killpg(parent.pid, how)  # as a terminal does
        else:
            parent.kill()
        parent.communicate(timeout=60)
        assert wait_until(lambda: not any(map(is_alive, running)), 20.0)
    finally:
        parent.kill()
        parent.wait()
        for pid in filter(is_alive, running):
            os.kill(pid, signal.SIGKILL)
