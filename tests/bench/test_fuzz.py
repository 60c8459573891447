"""Ten seconds of hostile files, and a few stopped commands: `benchmarks.fuzz`, which runs for longer."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.fuzz import interrupts

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and processes are Linux's")


def run(*arguments: str) -> tuple[dict, str]:
    said = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert said.stdout, said.stderr
    return json.loads(said.stdout.splitlines()[0]), said.stdout + said.stderr


def test_ten_seconds_of_mutants_are_refused_or_read() -> None:
    summary, said = run("benchmarks.fuzz", "--seconds", "10", "--seed", "3")
    assert summary["mutants"] > 100
    assert summary["refused"] > summary["accepted"] > 0
    assert summary["findings"] == 0, said


def test_the_harness_sees_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    from benchmarks.fuzz import __main__ as fuzz  # noqa: PLC0415  # which sets limits of memory when it runs

    tally = fuzz.Tally()

    def fail(_folder: Path) -> object:
        raise ZeroDivisionError

    seed = fuzz.Seed("broken", Path(__file__).parent, (), fail)
    monkeypatch.setattr(type(seed), "contents", {"x.json": b"{}"}, raising=False)
    del capsys
    broken = fuzz.Seed("broken", Path("/nowhere"), ("x.json",), fail)
    monkeypatch.setattr(Path, "write_bytes", lambda _path, _content: 0)
    fuzz._run([broken], 0, 0, tally, verbose=False)
    assert tally.findings.total() == 1
    assert "ZeroDivisionError" in next(iter(tally.findings))


def test_a_stopped_simulation_is_resumed_to_the_same_bytes() -> None:
    assert interrupts.main(["--trials", "1", "--seed", "5", "--commands", "simulate", "--patches", "3"]) == 0
