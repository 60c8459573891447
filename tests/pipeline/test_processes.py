"""Work in several processes: its order, its faults, and that nothing outlives its parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dioptre.pipeline.processes import map_in_order

ENDLESS = """
import os, sys, time
from pathlib import Path
from dioptre.pipeline.processes import map_in_order

def work(name):
    Path(name).write_text(str(os.getpid()))
    time.sleep(600)

if __name__ == "__main__":
    list(map_in_order(work, sys.argv[1:], 2))
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


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order(workers: int) -> None:
    assert list(map_in_order(abs, [-3, 1, -2], workers)) == [3, 1, 2]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_fault_reaches_the_caller(workers: int) -> None:
    results = map_in_order(int, ["1", "x", "3"], workers)
    assert next(results) == 1
    with pytest.raises(ValueError, match="'x'"):
        next(results)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="tells by /proc whether a process runs")
def test_nothing_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    notes = [tmp_path / "one", tmp_path / "two"]
    parent = subprocess.Popen([sys.executable, str(script), *map(str, notes)])
    workers: list[int] = []
    try:
        assert wait_until(lambda: all(note.exists() and note.read_text() for note in notes))
        workers = [int(note.read_text()) for note in notes]
        assert all(map(is_alive, workers))
        parent.kill()
        parent.wait()
        assert wait_until(lambda: not any(map(is_alive, workers)), 20.0)
    finally:
        parent.kill()
        parent.wait()
        for pid in filter(is_alive, workers):
            os.kill(pid, signal.SIGKILL)
