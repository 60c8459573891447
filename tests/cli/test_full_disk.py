"""A full disk, as a limit on the size of files: one sentence, and nothing half-written."""

import errno
import io
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

import cv2
import numpy as np
import pytest

from dioptre.cli import main
from dioptre.store.manifest import write_file

pytest.importorskip("resource")
LIMITED = """
import resource, signal, sys
from dioptre import cli
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv = ["dioptre", *sys.argv[2:]]
cli.entry()
"""


def run_limited(size: int, *arguments: str) -> str:
    """Returns what a command says when no file may be larger than so many bytes."""
    said = subprocess.run(
        [sys.executable, "-c", LIMITED, str(size), *arguments], capture_output=True, text=True, check=False
    )
    assert said.returncode == 2, said.stderr
    assert "Traceback" not in said.stderr
    return said.stderr.splitlines()[-1]


def names(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def test_a_store_is_not_finished_and_can_be_resumed(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    out = tmp_path / "out"
    arguments = ("simulate", str(out), "--patches", "2", "--workers", "1")
    assert "File too large" in run_limited(100_000, *arguments)
    assert names(out) == ["writing.json"]
    assert main(list(arguments)) == 0


def test_predictions_are_not_finished(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    store, out = tmp_path / "store", tmp_path / "out"
    assert main(["simulate", str(store), "--patches", "2", "--workers", "1", "--split", "test"]) == 0
    told = run_limited(
        4000, "predict", str(store), str(out), "--methods", "laplacian-variance", "--workers", "1"
    )
    assert "File too large" in told
    assert not {"manifest.json", "predictions.parquet", "parts/00000.parquet"} & set(names(out))


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="figures are an extra")
def test_a_plot_is_whole_or_not_there(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for at in range(4):
        cv2.imwrite(str(tmp_path / f"{at}.png"), rng.integers(0, 255, (64, 64), dtype=np.uint8))
    told = run_limited(2000, "focus", str(tmp_path), "--plot", str(tmp_path / "curve.png"))
    assert "curve.png" in told
    assert "File too large" in told
    assert names(tmp_path) == [f"{at}.png" for at in range(4)]


def test_a_full_disk_names_the_file_and_leaves_nothing(tmp_path: Path) -> None:
    def fill(_file: BinaryIO) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left") as full:
        write_file(tmp_path / "x.json", fill)
    assert full.value.filename == str(tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


def test_weights_that_do_not_fit_on_the_disk_are_no_fault_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from dioptre.train import folder  # noqa: PLC0415

    class Full(io.BytesIO):
        def write(self, _content: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(folder, "write_file", lambda _path, write: write(Full()))
    with pytest.raises(OSError, match="No space left"):
        folder.save_state(tmp_path / "best.pt", {})
