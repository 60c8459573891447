"""Recordings: what is written is read, and what cannot be understood is one sentence."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dioptre.errors import FileError
from dioptre.store.recordings import RECORDING, Recording, write_recording

SWEPT = Recording("simulated:1", [0.1, 0.2], "steps", (10.0, 20.0), (0.0, 0.5), (0.1, 0.2))
FRAMES = [np.full((1, 8, 8), level, np.float32) for level in (0.25, 0.5)]


def test_what_is_known_of_a_sweep_comes_back(tmp_path: Path) -> None:
    assert write_recording(tmp_path / "sweep", iter(FRAMES), lambda: SWEPT) == 2
    assert Recording.read(tmp_path / "sweep") == SWEPT
    assert Recording.read(tmp_path) is None


@pytest.mark.parametrize(
    "change",
    [
        {"where": []},
        {"where": [1]},
        {"positions": [10**400, 1]},
        {"positions": [1.0]},
        {"dioptres": "x"},
        {"kind": "other"},
        {"more": 1},
    ],
)
def test_what_does_not_describe_a_recording_is_one_sentence(tmp_path: Path, change: dict[str, Any]) -> None:
    write_recording(tmp_path, iter(FRAMES), lambda: SWEPT)
    entries = json.loads((tmp_path / RECORDING).read_text())
    (tmp_path / RECORDING).write_text(json.dumps({**entries, **change}))
    with pytest.raises(FileError, match="does not describe a recording"):
        Recording.read(tmp_path)


def test_a_folder_of_something_else_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(FileError, match="is not empty"):
        write_recording(tmp_path, iter(FRAMES), lambda: SWEPT)
    assert [one.name for one in tmp_path.iterdir()] == ["thesis.tex"]
