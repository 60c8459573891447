import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("pyarrow")

from dioptre import open_patches
from dioptre.cli import main
from dioptre.cli.console import BAD_INPUT
from tests.store.test_own_captures import write_capture


def write_labelled(home: Path, name: str, text: str = "row,col,index\n0,0,2\n1,3,0\n") -> None:
    file = write_capture(home, name, labels="labels.csv")
    (file.parent / "labels.csv").write_text(text)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    write_labelled(tmp_path / "mine", "desk_0")
    write_labelled(tmp_path / "mine", "desk_1", "row,col,index\n0,0,9\n")
    return tmp_path / "mine"


def arguments(*given: object) -> list[str]:
    return ["import", *map(str, given), "--workers", "1"]


def test_import_says_what_was_kept_and_what_was_left_out(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(mine, tmp_path / "out")) == 0
    said = capsys.readouterr()
    assert "train: 2 of 2 patches kept (100.0%), captures: 1" in said.out
    assert "wrote 2 patches" in said.out
    assert said.err.startswith("left out: desk_1: line 2")
    assert said.err.count("\n") == 1
    assert len(open_patches(tmp_path / "out")) == 2


def test_json_is_the_summary_and_nothing_else(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments(mine, tmp_path / "out"), "--json"]) == 0
    said = capsys.readouterr()
    summary = json.loads(said.out)
    assert summary == open_patches(tmp_path / "out").manifest["summary"]
    assert summary["splits"]["train"]["kept"] == 2
    assert said.err == ""


def test_on_error_stop_is_one_sentence(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments(mine, tmp_path / "out"), "--on-error", "stop"]) == BAD_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("dioptre: desk_1: line 2")
    assert "--on-error skip" in said.err
    assert main(arguments(mine, tmp_path / "out")) == 0  # goes on


def test_bad_arguments_are_one_sentence(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    for given, expected in (
        ([mine], "SRC OUT"),
        ([tmp_path / "nowhere", out], "nowhere"),
        ([mine, out, "--cameras", "middle"], "middle"),
        ([mine, out, "--confidence", "99"], "99"),
        ([mine, out, "--min-depth", "0"], "0 m"),
        ([mine, out, "--workers", "-1"], "-1"),
        ([mine, out, "--validation", "2"], "[0, 1)"),
        ([mine, out, "--check"], "one store"),
    ):
        assert main(["import", *map(str, given)]) == BAD_INPUT
        said = capsys.readouterr()
        assert said.out == ""
        assert expected in said.err
        assert said.err.count("\n") == 1
    assert not out.exists()


def test_check_is_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checking = ModuleType("dioptre.cli.store_sanity")
    checked: list[tuple[Path, bool]] = []

    def run_check(path: Path, as_json: bool) -> int:
        checked.append((path, as_json))
        return 1

    checking.run_check = run_check
    monkeypatch.setitem(sys.modules, "dioptre.cli.store_sanity", checking)
    assert main(["import", "--check", str(tmp_path), "--json"]) == 1
    assert checked == [(tmp_path, True)]
