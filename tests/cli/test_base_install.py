"""What works without the extra `data`, and what says that it is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dioptre.cli.console import BAD_INPUT, DONE

# Runs command lines, one of each line of stdin, as if the libraries of `data` were not there.
SCRIPT = """
import importlib.abc, shlex, sys

LIBRARIES, asked = {"pyarrow", "OpenEXR"}, []

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in LIBRARIES:
            asked.append(name)
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from dioptre.cli import main

for line in sys.stdin:
    asked.clear()
    code = main(shlex.split(line))
    sys.stderr.flush()
    print("=>", code, asked)
"""
MEASURE = "--method laplacian-variance --risk 0.2"
SENTENCE = "dioptre: tables of patches and predictions need pyarrow: pip install 'dioptre[data]'"


def run_without_data(folder: Path, *commands: str) -> tuple[list[str], str]:
    """Returns the exit code of each command with what it asked for, and what was said on stderr."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input="\n".join(commands),
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=os.environ,
    )
    return [line[3:] for line in ran.stdout.splitlines() if line.startswith("=> ")], ran.stderr


def test_stacks_and_lenses_are_focused_without_pyarrow(tmp_path: Path) -> None:
    commands = (
        "methods",
        "record --device simulated:1,target,64,exact sweep --every 4",
        f"focus sweep {MEASURE} --csv answer.csv",
        "map sweep map --size 32 --stride 32",
        f"run --device simulated:1,target,64,exact {MEASURE} --trace trace.jsonl",
        f"run --device replay:sweep {MEASURE}",
        "camera --device simulated:1,target,64,exact camera.toml --every 8",
    )
    ran, said = run_without_data(tmp_path, *commands)
    assert ran == [f"{DONE} []"] * len(commands), said


def test_what_needs_tables_says_so(tmp_path: Path) -> None:
    commands = ("simulate out", "demo --out out", "import in out", "predict in out", "report in out")
    ran, said = run_without_data(tmp_path, *commands)
    assert [one.split()[0] for one in ran] == [str(BAD_INPUT)] * len(commands)
    assert said.splitlines() == [SENTENCE] * len(commands)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["open_patches", "PatchStore"])
def test_names_that_need_tables_say_so(name: str) -> None:
    script = f"import sys; sys.modules['pyarrow'] = None; import dioptre; dioptre.{name}"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.stderr.splitlines()[-1].endswith(SENTENCE.removeprefix("dioptre: "))
    assert "MissingExtraError" in ran.stderr
