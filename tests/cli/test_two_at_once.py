"""Two commands that write one folder at the same time, in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

pytest.importorskip("pyarrow")

CAMERA = """
focal_length_mm = 4.4
f_number = 1.8
pixel_pitch_um = 2.8
frame = [160, 160]
[grid]
far_m = 4.0
near_m = 0.1
n = 5
"""
CAPTURE = 'camera = "../camera.toml"\nscene = "{name}"\nsplit = "train"\ndepth = "depth.npy"\n'


def write_captures(source: Path, count: int) -> None:
    rng = np.random.default_rng(0)
    for number in range(count):
        folder = source / f"desk_{number}"
        (folder / "slices").mkdir(parents=True)
        (folder / "capture.toml").write_text(CAPTURE.format(name=folder.name))
        np.save(folder / "depth.npy", np.ones((160, 160), np.float32))
        for at in range(5):
            codes = rng.integers(0, 65535, (160, 160), dtype=np.uint16)
            cv2.imwrite(str(folder / "slices" / f"{at}.png"), codes)
    (source / "camera.toml").write_text(CAMERA)


def test_two_imports_into_one_folder_give_one_whole_store(tmp_path: Path) -> None:
    write_captures(tmp_path / "source", count=12)
    words = [sys.executable, "-m", "dioptre", "import", str(tmp_path / "source"), str(tmp_path / "out")]
    both = [subprocess.Popen([*words, "--workers", "1"], stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], said
    refused = next(text for process, text in zip(both, said, strict=True) if process.returncode)
    assert "is being written by " in refused or "is finished already" in refused
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert len(manifest["captures"]) == 12
    assert manifest["summary"]["skipped"] == []


def test_one_bad_file_leaves_out_its_capture_only(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write_captures(source, count=6)
    good = (source / "desk_0" / "depth.npy").read_bytes()
    shape = b"'shape': (160, 160), }"
    for number, content in enumerate(
        (b"PK\x03\x04 not a zip", good[:40], good.replace(shape, b"'shape': (1600000000,)}"), b"")
    ):
        (source / f"desk_{number}" / "depth.npy").write_bytes(content)
    (source / "desk_4").rename(source / ("d" * 250))
    words = ["import", str(source), str(tmp_path / "out"), "--workers", "1", "--json"]
    said = subprocess.run(
        [sys.executable, "-m", "dioptre", *words], capture_output=True, text=True, check=True
    )
    found = json.loads(said.stdout)
    assert found["splits"]["train"]["captures"] == 1
    assert len(found["skipped"]) == 5
    assert all("\n" not in one["reason"] for one in found["skipped"])
