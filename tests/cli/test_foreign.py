"""What libraries print by themselves reaches neither stdout nor stderr."""

import json
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from dioptre.cli import main
from dioptre.cli.foreign import keep_out_foreign_lines, last_lines

PRINTING = """
import os, sys
from dioptre import cli
from dioptre.cli.console import FAULT

def noisy(arguments=None):
    os.write(1, b"libfoo says hello on stdout\\n")
    os.write(2, b"libfoo says hello on stderr\\n")
    sys.stdout.write("ours\\n")
    sys.stderr.write("also ours\\n")
    return int(os.environ["CODE"])

cli.main = noisy
cli.entry()
"""


@pytest.mark.parametrize("code", [0, 2, 70])
def test_only_what_python_prints_comes_out(code: int) -> None:
    said = subprocess.run(
        [sys.executable, "-c", PRINTING],
        env=os.environ | {"CODE": str(code)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == code
    assert said.stdout == "ours\n"
    foreign = "libfoo says hello on stdout\nlibfoo says hello on stderr\n"
    assert said.stderr == "also ours\n" + (foreign if code == 70 else "")


def test_streams_are_as_before_afterwards(capfd: pytest.CaptureFixture[str]) -> None:
    with capfd.disabled(), keep_out_foreign_lines() as sink:
        if sink is not None:
            os.write(2, b"foreign\n")
            assert last_lines(sink) == "foreign\n"
    os.write(1, b"before and after\n")
    assert capfd.readouterr().out == "before and after\n"


def test_json_is_alone_with_a_damaged_picture(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (64, 64), dtype=np.uint8)
    for at in range(3):
        content = cv2.imencode(".jpg", pixels)[1].tobytes()
        (tmp_path / f"{at}.jpg").write_bytes(content[:-200] if at else content)  # libjpeg has lines for that
    said = subprocess.run(
        [sys.executable, "-m", "dioptre", "focus", str(tmp_path), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode in (0, 1, 2)
    if said.returncode != 2:
        assert json.loads(said.stdout)["stack"] == str(tmp_path)
    else:
        assert said.stdout == ""
    assert "JPEG" not in said.stderr


def test_an_argument_with_newlines_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["focus", "no\nsuch\x1b[31m\nfolder"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no\\nsuch\\x1b[31m\\nfolder" in said


def test_white_of_float_pixels_is_their_own_range_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "s.npy", np.full((5, 64, 64), 900.0, np.float32))
    assert main(["focus", str(tmp_path / "s.npy")]) == 1
    assert "scaled by their own range: black 0, white 900" in capsys.readouterr().err


def test_a_picture_of_the_stack_is_not_overwritten_by_a_plot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for at in range(3):
        cv2.imwrite(str(tmp_path / f"f{at}.png"), np.full((64, 64), at, np.uint8))
    before = (tmp_path / "f1.png").read_bytes()
    assert main(["focus", str(tmp_path), "--plot", str(tmp_path / "f1.png")]) == 2
    assert "f1.png is there already: --overwrite replaces it" in capsys.readouterr().err
    assert (tmp_path / "f1.png").read_bytes() == before


@pytest.mark.parametrize("command", [["simulate", "OUT"], ["demo", "--out", "OUT"]])
def test_a_negative_seed_is_refused(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    words = [str(tmp_path / "OUT") if word == "OUT" else word for word in command]
    assert main([*words, "--seed", "-1"]) == 2
    assert "a seed is 0 or more, not -1" in capsys.readouterr().err
    assert not (tmp_path / "OUT").exists()


def test_a_folder_with_only_a_thesis_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "thesis.partial").write_text("years of work")
    assert main(["simulate", str(tmp_path), "--patches", "1"]) == 2
    assert "thesis.partial" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.partial"]
