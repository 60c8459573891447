"""What is wrong is said with the flag that says it."""

import re
from pathlib import Path
from threading import Thread

import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre.cli import main
from dioptre.cli.console import BAD_INPUT
from dioptre.errors import FileError
from dioptre.pipeline.demo import demo
from dioptre.store.lock import locked


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    np.save(tmp_path / "s.npy", np.random.default_rng(0).integers(0, 255, (5, 32, 32), dtype=np.uint8))
    return tmp_path / "s.npy"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--white", "nan"], r"s\.npy: white must lie above black, .* \(--black, --white\)"),
        (["--positions", "1,nan,2,3,4"], r"is nan, not a finite number \(--positions\)"),
        (["--plot", "nosuch/x.png"], r"nosuch/x\.png cannot be written: there is no folder nosuch"),
    ],
)
def test_a_flag_of_focus_is_named(
    stack: Path, flags: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["focus", str(stack), *flags]) == BAD_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert re.search(told, said.err)


@pytest.mark.parametrize("flags", [["--seed", "-1"], ["--patches", str(2**70)], ["--beyond", "nan"]])
def test_a_flag_of_simulate_is_named_and_nothing_is_written(
    tmp_path: Path, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(tmp_path / "out"), *flags]) == BAD_INPUT
    assert f"({flags[0]})" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_demo_has_its_folder_alone(tmp_path: Path) -> None:
    refused: list[str] = []

    def run() -> None:
        try:
            demo(tmp_path / "out", 1, 0, None, lambda _stage, _done, _total: None)
        except FileError as error:
            refused.append(str(error))

    with locked(tmp_path / "out"):
        other = Thread(target=run)
        other.start()
        other.join()
    assert "is being written by process" in refused[0]
