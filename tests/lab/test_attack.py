"""Ten seconds of what `python -m lab.attack` makes of files, names, axes and terminals."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lab.attack_files import FORMS, OUTCOMES, attack_files, draw_sweep, outcome, told_of_files
from tests.marks import slow

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and alarms are POSIX's")

ROOT = Path(__file__).parents[2]


@slow
def test_ten_seconds_of_forms_are_right_or_refused_in_a_sentence() -> None:
    words = ["--parts", "files", "--seconds", "10", "--json", "--seed", "4"]
    said = subprocess.run(
        [sys.executable, "-m", "lab.attack", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    rows = json.loads(said.stdout)["files"]
    tried = sum(row["tried"] for row in rows)
    assert tried > 5
    assert sum(row["wrong"] + row["crashed"] for row in rows) == 0, rows
    assert sum(row["refused"] for row in rows) <= 0.05 * tried + 1, rows


def test_an_attack_tells_right_from_wrong() -> None:
    sweep, sharp = draw_sweep(np.random.default_rng(0))
    (numbers,) = [form for form in FORMS if form.name == "numbers"]
    (unlike,) = [form for form in FORMS if form.name == "of arrays that are not alike"]
    assert outcome(numbers, sweep, sharp) == "right"
    assert outcome(numbers, sweep, sharp + 9) == "wrong"
    assert outcome(numbers, np.full_like(sweep, 9), sharp) == "refused"
    assert outcome(unlike, sweep, sharp) == "right"


def test_forms_are_counted_by_kind() -> None:
    rows = attack_files(1, 0, seconds=0.0)
    assert rows == []
    row = {
        "kind": "names",
        "tried": 3,
        "right": 2,
        "wrong": 1,
        "refused": 0,
        "crashed": 0,
        "which": ["x: wrong"],
    }
    head, *_, last = told_of_files([row]).splitlines()
    assert head.split() == ["form", "tried", *OUTCOMES]
    assert last == "names: x: wrong"
