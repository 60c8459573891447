"""Ten stacks of the golden record: dioptre answers as it did; and what differs is found."""

import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

import dioptre
from lab import golden
from lab.golden import (
    HOME,
    Difference,
    compare,
    compare_all,
    main,
    read_record,
    write_record,
)
from lab.golden_cases import PARTS, Record
from lab.golden_material import KINDS

ROOT = Path(__file__).parents[2]
ANSWER = {"index": 7, "subindex": 6.8, "own": None}
VERDICT = {"state": "focused", "confidence": 0.9, "risk": 0.01, "expected_error": None, "reasons": []}
CURVE = np.array([1, 2, 3, -np.inf], np.float32)
SMALL: dict[str, Record] = {
    "stacks": {"normal-000": 1, "normal-001": 2},
    "scores": {
        f"normal-00{at} {key}": CURVE for at in (0, 1) for key in ("wavelet-sum-2", "l2a-stack-green")
    },
    "answers": {"normal-000 focus": ANSWER, "normal-001 focus": {**ANSWER}},
    "verdict": {"normal-000 focus": VERDICT, "normal-001 focus": {**VERDICT}},
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for part, record in SMALL.items():
        write_record(part, record, tmp_path)
    return tmp_path


def differences(now: dict[str, Record], home: Path) -> list[tuple[str, Difference]]:
    return [(one.part, difference) for one in compare_all(now, home) for difference in one.differences]


def test_ten_stacks_a_frame_and_two_lenses_answer_as_recorded() -> None:
    command = [sys.executable, "-m", "lab.golden", "--stacks", "10", "--frames", "1", "--runs", "2"]
    env = {**os.environ, "PYTHONPATH": str(Path(dioptre.__file__).parents[1])}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not compared" not in done.stdout
    compared = dict(line.split()[:2] for line in done.stdout.splitlines()[1:])
    assert compared.pop("report") == "0"  # which takes half a minute
    assert set(compared) == set(PARTS) - {"report"}
    assert all(int(count.replace(",", "")) > 10 for count in compared.values())


def test_the_record_holds_everything_in_five_megabytes() -> None:
    assert sum(path.stat().st_size for path in HOME.iterdir()) < 5e6
    stacks = read_record("stacks", HOME)
    assert sum(kind.count for kind in KINDS) == 210
    assert {f"{kind.name}-{at:03d}" for kind in KINDS for at in range(kind.count)} < set(stacks)
    assert all(read_record(part, HOME) for part in PARTS)


def test_what_is_written_is_read_again(home: Path) -> None:
    assert differences(SMALL, home) == []
    again = read_record("scores", home)
    np.testing.assert_array_equal(again["normal-001 wavelet-sum-2"], CURVE)
    assert read_record("answers", home) == SMALL["answers"]


def test_a_changed_answer_is_found(home: Path) -> None:
    now = deepcopy(SMALL)
    now["answers"]["normal-001 focus"]["index"] = 8
    now["verdict"]["normal-000 focus"] |= {"state": "failed", "confidence": 0.9002}
    assert differences(now, home) == [
        ("answers", Difference("normal-001 focus", "index is 8, was 7")),
        ("verdict", Difference("normal-000 focus", 'state is "failed", was "focused"')),
        ("verdict", Difference("normal-000 focus", "confidence is 0.9002, was 0.9")),
    ]


@pytest.mark.parametrize(
    ("off", "found"), [(5e-6, []), (5e-5, ["wavelet-sum-2"]), (5e-3, ["wavelet", "l2a-"])]
)
def test_scores_of_networks_may_be_off_by_more_than_those_of_formulae(
    home: Path, off: float, found: list[str]
) -> None:
    now = deepcopy(SMALL)
    now["scores"] = {name: curve * np.float32(1 + off) for name, curve in now["scores"].items()}
    named = [one.name for _, one in differences(now, home) if one.name.startswith("normal-000")]
    assert len(named) == len(found)
    assert all(f" {key}" in name for key, name in zip(found, named, strict=True))


def test_scores_of_another_machine_may_be_off_by_more(home: Path) -> None:
    now = deepcopy(SMALL)
    now["scores"] = {name: curve * np.float32(1 + 5e-4) for name, curve in now["scores"].items()}
    assert len(differences(now, home)) == len(now["scores"])
    write_record("stacks", {"machine": {"numpy": "another"}, **SMALL["stacks"]}, home)
    assert differences(now, home) == []


def test_a_score_that_is_no_longer_infinite_is_found(home: Path) -> None:
    now = deepcopy(SMALL)
    now["scores"]["normal-000 wavelet-sum-2"] = np.array([1, 2, 3, 0], np.float32)
    ((part, one),) = differences(now, home)
    assert (part, one.words) == ("scores", "slice 3 is 0, was -inf")


def test_a_subindex_may_move_a_little_and_is_told() -> None:
    was = {"normal-000 focus": ANSWER}
    moved = compare("answers", {"normal-000 focus": ANSWER | {"subindex": 6.812}}, was)
    assert (moved.differences, len(moved.moved)) == ([], 1)
    assert compare("answers", {"normal-000 focus": ANSWER | {"subindex": 6.94}}, was).differences


def test_what_is_asked_about_other_pixels_is_not_compared(home: Path) -> None:
    now = deepcopy(SMALL)
    now["stacks"]["normal-001"] = 3
    now["answers"]["normal-001 focus"]["index"] = 8
    assert differences(now, home) == [("stacks", Difference("normal-001", "is 3, was 2"))]


def test_answers_that_are_gone_or_new_are_found_but_not_those_that_nobody_asked(home: Path) -> None:
    now = {
        "stacks": {"normal-000": 1},
        "answers": {"normal-000 focus": ANSWER, "normal-000 focus harder": ANSWER},
        "scores": {"normal-000 wavelet-sum-2": CURVE},
    }
    assert differences(now, home) == [
        ("answers", Difference("normal-000 focus harder", "is not in the record")),
        ("scores", Difference("normal-000 l2a-stack-green", "is gone")),
    ]


def test_a_part_is_accepted_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = deepcopy(SMALL)
    now["answers"]["normal-000 focus"]["index"] = 8
    now["verdict"]["normal-000 focus"]["state"] = "uncertain"
    monkeypatch.setattr(golden, "ask", lambda *_: now)
    assert main(["--accept", "verdict"], home) == 0
    assert "CHANGELOG" in capsys.readouterr().out
    assert read_record("verdict", home) == now["verdict"]
    assert json.loads((home / "answers.json").read_text()) == SMALL["answers"]
    assert main([], home) == 1
    assert "index is 8, was 7" in capsys.readouterr().out


def test_only_whole_parts_are_accepted() -> None:
    with pytest.raises(SystemExit, match="whole"):
        main(["--accept", "lens", "--runs", "2"])
