"""The speed tables: that there is one for each name, and that they compare equal things."""

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre.errors import MissingExtraError
from dioptre.methods import METHODS
from dioptre.stack import FocalStack
from lab import scale, slow_references, speed
from lab.speed import NEEDS, TABLES, first_answer, measures, print_table
from lab.speed.__main__ import main as speed_command
from tests.marks import slow


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "find_spec", lambda _name: True)  # as if PyWavelets were there
    monkeypatch.setattr(measures, "best_ms", lambda work, _repeats: float(work() is not None))
    monkeypatch.setattr(slow_references, "CONTRAST", {"wavelet-sum-2": None, "total-variation-l2": None})
    monkeypatch.setattr(slow_references, "STEREO", {"normalized-sad": None})
    monkeypatch.setattr(slow_references, "scores", lambda _key, pixels: np.zeros(pixels.shape[1]))


def test_every_table_has_a_module_that_prints_it() -> None:
    home = Path(speed.__file__).parent
    for name in TABLES:
        source = (home / f"{name}.py").read_text(encoding="utf-8")
        assert re.search(r"^def main\(_?arguments: Sequence\[str\]\)", source, re.MULTILINE)
    assert set(NEEDS) <= set(TABLES)


@pytest.mark.usefixtures("quick")
def test_the_command_prints_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["lab.speed", "measures"])
    speed_command()
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "measures"
    assert said[1].split()[:2] == ["measure", "reference"]
    assert [line.split()[0] for line in said[2:5]] == ["wavelet-sum-2", "total-variation-l2", "all"]
    assert said[4].startswith("all 2 contrast")


def test_a_first_answer_is_compared_with_a_plain_loop(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(first_answer, "ROWS", 64)
    monkeypatch.setattr(first_answer, "answer", lambda _name, folder: str(sorted(folder.iterdir())))
    monkeypatch.setattr(first_answer, "best_of_each", lambda works, *_: [100.0, 390.0 * bool(works[0]())])
    first_answer.main(())
    said = capsys.readouterr().out.splitlines()
    assert [line.split() for line in said[1:3]] == [
        ["one", "depth,", ending, "100", "390", "3.90", "yes", "ok"] for ending in ("png", "jpg")
    ]


@pytest.mark.usefixtures("quick")
def test_without_pywavelets_the_wavelets_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measures, "find_spec", lambda _name: None)
    print_table("measures")
    said = capsys.readouterr().out
    assert "wavelet-sum-2" not in said
    assert "pip install pywavelets" in said


def test_a_table_that_needs_torch_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(speed, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match="train"):
        print_table("learned")
    monkeypatch.setattr(sys, "argv", ["lab.speed", "learned"])
    speed_command()
    assert "left out: the table of the networks compares with torch" in capsys.readouterr().out


def test_the_reference_scores_every_slice() -> None:
    stack = FocalStack.full(np.random.default_rng(0).random((1, 3, 1, 32, 32)).astype(np.float32))
    assert slow_references.scores("total-variation-l2", stack.pixels).shape[-1] == 3


def test_a_patch_is_extrapolated_to_the_papers_test_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scale.hours(0.9, 2) == pytest.approx(0.9 * 56_800 / 7200)
    costs = {
        "": 0.5,
        "wavelet-sum-2": 0.1,
        "wavelet-sum-3": 0.2,
        "census-transform": 0.3,
        "l2a-single-dp": 0.9,
    }
    monkeypatch.setattr(scale, "measure", lambda _patches: costs)
    scale.main(())
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said[1:-1]] == ["l2a-single-dp", "reading,", "2", "dual-pixel", "all"]
    assert said[3].split()[1:5] == ["contrast", "measures", "together", "0.300"]
    assert said[-2].split()[1:3] == ["2.000", f"{scale.hours(2.0, 1):.2f}"]


@slow
def test_what_a_patch_takes_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    some = {key: METHODS[key] for key in ("census-transform", "zncc-disparity")}
    monkeypatch.setattr(scale, "METHODS", some)
    monkeypatch.setattr(scale, "STARTS", 2)
    found = scale.measure(1)
    assert set(found) == {"", *some}
    assert all(seconds > 0 for seconds in found.values())
