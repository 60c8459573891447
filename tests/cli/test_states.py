"""What commands say of an answer: its state in colour, the same numbers everywhere, and what to do."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy.ndimage import gaussian_filter

from dioptre import FocusGrid, FocusResult, Reason, State
from dioptre.cli import main
from dioptre.cli.console import FOCUSED, NOT_FOCUSED
from dioptre.cli.focus_result import print_state, result_table, risk_in_words
from dioptre.confidence.verdict import Verdict
from tests.cli.command_line import run_json
from tests.cli.test_stacks import sweep

CURVE = np.exp(-((np.arange(49) - 27.0) ** 2))


def result_of(
    state: State, *reasons: Reason, confidence: float = 0.8, risk: float = 0.018, unit: str = "slice"
) -> FocusResult:
    grid = FocusGrid(0.5 * np.arange(49), unit)
    return FocusResult(27.0, Verdict(state, confidence, reasons, 1.0, risk), CURVE, grid, "census-transform")


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (
            result_of(State.UNCERTAIN),
            "slice 27 is probably right (risk 0.018, you accept 0.01): --risk 0.018 takes it",
        ),
        (
            result_of(State.UNCERTAIN, confidence=0.3, risk=0.0201),
            "slice 27 is the best guess (risk 0.021, you accept 0.01): --risk 0.021 takes it",
        ),
        (
            result_of(State.UNCERTAIN, unit="um"),
            "13.5 um is probably right (risk 0.018, you accept 0.01): --risk 0.018 takes it",
        ),
        (
            result_of(State.UNCERTAIN, confidence=0.1, risk=1.0),
            "slice 27 is the best guess (risk 1, you accept 0.01)",
        ),
    ],
)
def test_an_uncertain_answer_is_told_with_its_numbers_and_the_flag_that_takes_it(
    result: FocusResult, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert print_state(result, 0.01) == NOT_FOCUSED
    assert capsys.readouterr() == ("", f"uncertain: {sentence}\n")


def test_reasons_say_what_to_do_and_warnings_come_last(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        print_state(result_of(State.UNCERTAIN, Reason.PLATEAU, Reason.NOISE_PEAK), 0.01, "a.npy")
        == NOT_FOCUSED
    )
    heads = [line.split(": ")[:3] for line in capsys.readouterr().err.splitlines()]
    assert [one[0] for one in heads] == ["a.npy"] * 3
    assert [one[1:] for one in heads[1:]] == [["because", "noise-peak"], ["beware", "plateau"]]


def test_of_a_failed_one_no_flag_takes_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        print_state(result_of(State.FAILED, Reason.TOO_DARK, risk=1.0, confidence=0.0), 0.01) == NOT_FOCUSED
    )
    assert capsys.readouterr().err.startswith("failed: too-dark: the region is almost black: expose more")
    assert print_state(result_of(State.FAILED, risk=1.0), 0.01) == NOT_FOCUSED
    assert capsys.readouterr().err == "failed: nothing tells where the focus is\n"


def test_a_focused_one_has_nothing_to_excuse(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_state(result_of(State.FOCUSED, Reason.SEVERAL_DEPTHS, risk=0.002), 0.01) == FOCUSED
    assert capsys.readouterr().err == ""
    assert print_state(result_of(State.FOCUSED, Reason.BEYOND_FAR, risk=0.002), 0.01) == FOCUSED
    assert capsys.readouterr().err.startswith("beware: beyond-the-far-end: ")


@pytest.mark.parametrize(
    "risk", [1e-9, 0.0099, 0.01, 0.010001, 0.0181, 0.02, 0.07, 0.0995, 0.29, 0.5, 0.996, 1.0]
)
def test_who_accepts_the_risk_that_is_told_takes_the_answer(risk: float) -> None:
    told = float(risk_in_words(risk))
    assert risk <= told <= max(1.1 * risk, 0.0001)


@pytest.mark.parametrize(("state", "code"), [(State.FOCUSED, 32), (State.UNCERTAIN, 33), (State.FAILED, 31)])
def test_a_state_is_green_yellow_or_red(state: State, code: int) -> None:
    shown = io.StringIO()
    Console(file=shown, force_terminal=True, color_system="standard").print(
        result_table(result_of(state), ("sharpest", "slice 27"))
    )
    assert f"\x1b[1;{code}m{state.value}" in shown.getvalue()


def test_the_flag_that_is_told_takes_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep that ends before the focus: its best slice is uncertain."""
    stack, words = tmp_path / "near.npy", ["focus", str(tmp_path / "near.npy")]
    np.save(stack, gaussian_filter(sweep(10).astype(np.float32), (0, 3, 3))[:8].round().astype(np.uint8))
    found = run_json(capsys, *words)
    assert found["state"] == "uncertain"
    assert main(words) == NOT_FOCUSED
    said = capsys.readouterr()
    risk = risk_in_words(found["risk"])
    assert f"--risk {risk} takes it" in said.err
    assert f" {risk} " in said.out
    assert main([*words, "--risk", risk]) == FOCUSED


def test_numbers_are_the_same_above_in_the_table_of_depths_in_json_and_in_csv(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    halves = [np.tile(sweep(2), (1, 3, 2)), np.tile(sweep(8, 1), (1, 3, 2))]
    np.save(tmp_path / "two.npy", np.concatenate(halves, axis=2))
    files = {flag: tmp_path / f"{flag[2:]}.csv" for flag in ("--csv", "--depths-csv")}
    words = ["focus", str(tmp_path / "two.npy"), *(str(word) for pair in files.items() for word in pair)]
    found = run_json(capsys, *words)
    assert main([*words, "--overwrite"]) == FOCUSED
    said = capsys.readouterr().out
    answer, depths = (list(csv.DictReader(path.read_text().splitlines())) for path in files.values())
    (chosen,) = (one for one in found["depths"] if one["chosen"])
    assert {
        name: found[name] for name in ("state", "confidence", "risk", "position")
    }.items() <= chosen.items()
    (written,) = (one for one in depths if one["chosen"] == "1")
    numbers = ("confidence", "risk", "expected_error", "position", "subindex")
    for name in numbers:
        assert float(answer[0][name]) == float(written[name]) == found[name], name
    assert answer[0]["state"] == written["state"] == found["state"] == "focused"
    row = next(line for line in said.splitlines() if "(chosen)" in line)
    assert f" {found['confidence']:.2f} " in row
    assert f" {found['confidence']:.2f} " in next(
        line for line in said.splitlines() if "confidence  " in line
    )
