"""Ten seconds of hostile files, and a few stopped commands: `lab.fuzz`, which runs for longer."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from lab.fuzz.__main__ import Tally, run_mutant
from lab.fuzz.seed import Seed
from tests.marks import slow

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and processes are Linux's")


def run(*arguments: str) -> tuple[dict, str]:
    said = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert said.stdout, said.stderr
    return json.loads(said.stdout.splitlines()[0]), said.stdout + said.stderr


@slow
def test_ten_seconds_of_mutants_are_refused_or_read() -> None:
    summary, said = run("lab.fuzz", "--seconds", "10", "--seed", "3")
    assert summary["mutants"] > 100
    assert summary["refused"] > summary["accepted"] > 0
    assert summary["findings"] == 0, said


def test_the_harness_sees_a_traceback_and_what_is_printed(tmp_path: Path) -> None:
    def fail(_folder: Path) -> object:
        print("hello")  # noqa: T201
        raise ZeroDivisionError

    (tmp_path / "x.json").write_bytes(b"{}")
    tally = Tally()
    run_mutant([Seed("broken", tmp_path, ("x.json",), fail)], 0, 0, tally)
    failed, printed = sorted(tally.findings)
    assert failed.startswith("ZeroDivisionError in test_fuzz.py:")
    assert printed == "broken prints 'hello'"
    assert (tmp_path / "x.json").read_bytes() == b"{}"


@slow
def test_stopped_commands_are_resumed_to_the_same_bytes() -> None:
    wanted = ["--trials", "2", "--seed", "5", "--commands", "simulate,import-own"]
    summary, said = run("lab.fuzz.interrupts", *wanted)
    assert summary["trials"] == {"simulate": 2, "import-own": 2}
    assert summary["faults"] == 0, said
