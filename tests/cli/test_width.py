"""What is printed fits a terminal of 80 columns, and nothing that one would copy from it is cut off."""

import re
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from dioptre.cli import main
from dioptre.cli.console import FOCUSED
from dioptre.cli.focus_result import highest
from dioptre.cli.live import position_in_words, step_line
from dioptre.focusing.trace import Act, Step

STACK = "experiment_of_the_third_week_plate_12_well_B07"
PICTURE = "experiment_of_the_third_week_channel_0_{:02d}.png"


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stack of two depths, whose names are long."""
    home = tmp_path_factory.mktemp("width") / STACK
    home.mkdir()
    rng = np.random.default_rng(0)
    texture = rng.random((120, 160))
    for k in range(21):
        left, right = (gaussian_filter(texture, 0.3 + 0.5 * abs(k - sharp)) for sharp in (4, 15))
        both = np.where(np.arange(160) < 80, left, right)
        noisy = 120 + 300 * (both - 0.5) + rng.normal(0, 1, both.shape)
        cv2.imwrite(str(home / PICTURE.format(k)), noisy.clip(0, 255).astype(np.uint8))
    return home


def cells(text: str) -> list[str]:
    """Returns the columns of all tables, each as one text without spaces."""
    rows = [re.split("[│┃]", line)[1:-1] for line in text.splitlines() if line[:1] in "│┃"]
    widest = max(len(row) for row in rows)
    return ["".join(row[at].strip() for row in rows if len(row) == widest) for at in range(widest)]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == FOCUSED
    text = capsys.readouterr().out
    assert "…" not in text
    assert [line for line in text.splitlines() if len(line) > 80 and not line.startswith("/")] == []
    return text


def test_the_depths_of_a_stack_are_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names, _, regions, *_ = cells(printed(capsys, "focus", str(folder)))
    assert PICTURE.format(4) in names
    assert PICTURE.format(15) in names
    assert "0,0,64,120" in regions


def test_the_regions_of_a_stack_are_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["focus", str(folder), "--roi", "0,0,60,100", "--roi", "90,0,60,100"]
    regions, _, names, *_ = cells(printed(capsys, *arguments))
    assert PICTURE.format(4) in names
    assert "90,0,60,100" in regions


def test_the_answers_about_several_stacks_are_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stacks, _, names, *_, reasons = cells(printed(capsys, "focus", str(folder), str(folder)))
    assert STACK in stacks
    assert PICTURE.format(4) in names
    assert "several-depths" in reasons


def test_the_steps_of_a_run_fit(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "run", "--device", "simulated:1").splitlines()
    steps = [line for line in lines if re.match(r" *\d+\.\d\d s  (look|verify) ", line)]
    assert len(steps) > 1
    for line in steps:
        assert re.search(r"  focus at [\d.]+ \+- [\d.]+, confidence 0\.\d\d$", line)


@pytest.mark.parametrize(
    ("answer", "spread", "unit", "said"),
    [
        (39.9445, 3.14, "slice", "focus at 39.9 +- 3.1, confidence 0.64"),
        (36718.2, 1204.0, "steps", "focus at 36718 +- 1204 steps, confidence 0.64"),
        (12.34567, 0.0123, "um", "focus at 12.346 +- 0.012 um, confidence 0.64"),
        (48.0, 0.0, "slice", "focus at 48, confidence 0.64"),
    ],
)
def test_a_step_says_where_the_focus_is_and_how_far_from_there_it_may_be(
    answer: float, spread: float, unit: str, said: str
) -> None:
    note = "the frame is the very same as the one before, although the lens was moved: " + "more " * 9
    step = Step(
        Act.VERIFY, 100000, 100000.0, unit, 1234.5, 0.1, answer=answer, spread=spread, confidence=0.64
    )
    assert step_line(step, 1.0) == f"1234.50 s  verify    100000    {said}"
    told = step_line(replace(step, note=note), 1.0).splitlines()
    assert len(told) == 3
    assert max(map(len, told)) <= 80
    assert step_line(replace(step, answer=None), 1.0).endswith("verify    100000")


@pytest.mark.parametrize(
    ("position", "gap", "said"),
    [(24.0, 1.0, "24"), (40.42979, 1.0, "40.43"), (36718.0, 367.2, "36718"), (0.012345, 0.001, "0.01235")],
)
def test_a_position_is_told_to_a_hundredth_of_a_gap(position: float, gap: float, said: str) -> None:
    assert position_in_words(position, gap) == said


def test_scores_that_share_a_column_show_the_highest() -> None:
    assert highest([1.0, 5.0, 2.0, 0.0, 3.0, 4.0], 3) == [5.0, 2.0, 4.0]
    assert highest([1.0, 2.0], 3) == [1.0, 2.0]
