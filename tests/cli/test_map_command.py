"""`dioptre map`, as its user runs it."""

import json
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile
from scipy import ndimage

from dioptre.cli import main
from dioptre.cli.console import DONE
from tests.cli.command_line import refused, run_json

SLICES, FAR, NEAR = 12, 3, 8
SMALL = ("--size", "32", "--stride", "32")


@pytest.fixture(scope="module")
def sharp() -> np.ndarray:
    return np.random.default_rng(0).integers(40, 200, (96, 128)).astype(np.float64)


@pytest.fixture
def stack(tmp_path: Path, sharp: np.ndarray) -> Path:
    """Texture far on the left, near on the right."""
    rng, folder = np.random.default_rng(1), tmp_path / "stack"
    folder.mkdir()
    for at in range(SLICES):
        left = ndimage.gaussian_filter(sharp, 0.01 + 0.5 * abs(at - FAR))
        right = ndimage.gaussian_filter(sharp, 0.01 + 0.5 * abs(at - NEAR))
        frame = np.where(np.arange(128) < 64, left, right) + rng.normal(0, 0.5, sharp.shape)
        cv2.imwrite(str(folder / f"frame{at}.png"), np.clip(np.rint(frame), 0, 255).astype(np.uint8))
    return folder


def test_a_map_has_every_patch_and_the_picture_in_focus(
    stack: Path, sharp: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "map"
    found = run_json(capsys, "map", str(stack), str(out), *SMALL, "--positions", "0.5:0.25")
    assert found["patches"] == [3, 4]
    assert found["slices"] == [FAR, NEAR]
    index, dioptres = np.load(out / "index.npy"), np.load(out / "dioptres.npy")
    assert (index == [[FAR, FAR, NEAR, NEAR]] * 3).all()
    np.testing.assert_allclose(dioptres, 0.5 + 0.25 * index, atol=0.13)
    assert np.load(out / "confidence.npy").shape == np.load(out / "focused.npy").shape == (3, 4)
    whole = cv2.imread(str(out / "all-in-focus.png"), cv2.IMREAD_UNCHANGED)
    assert whole.dtype == np.uint8
    assert np.abs(whole - sharp).mean() < 2
    assert json.loads((out / "manifest.json").read_text())["kind"] == "focus map"


def test_a_map_tells_focused_uncertain_and_unanswered_patches_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the left one sharp slice, in the middle a focus beyond the last slice, on the right nothing."""
    rng = np.random.default_rng(0)
    texture = rng.random((96, 192))
    stack = np.empty((SLICES, 96, 192), np.float32)
    for at in range(SLICES):
        stack[at] = ndimage.gaussian_filter(texture, 0.3 + 0.7 * abs(at - 5))
        stack[at, :, 64:128] = ndimage.gaussian_filter(texture, 4 + 0.7 * (SLICES - at))[:, 64:128]
        stack[at, :, 128:] = 0.5
    np.save(tmp_path / "stack.npy", 0.1 + 0.8 * stack)
    out, words = tmp_path / "map", ["map", str(tmp_path / "stack.npy"), str(tmp_path / "map")]
    found = run_json(capsys, *words, "--size", "64", "--stride", "64")
    focused, answered = np.load(out / "focused.npy"), np.load(out / "answered.npy")
    assert focused.tolist() == [[True, False, False]]
    assert answered.tolist() == [[True, True, False]]
    assert (found["focused"], found["answered"]) == pytest.approx((1 / 3, 2 / 3))
    assert found["slices"] == [5, 5]
    assert main([*words, "--size", "64", "--stride", "64"]) == DONE
    assert "33% of them focused, at slice 5; 33% uncertain\n" in capsys.readouterr().out


def test_a_map_is_drawn_in_colour(stack: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert main(["map", str(stack), str(tmp_path / "map"), *SMALL]) == DONE
    assert (tmp_path / "map" / "map.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_everything_else_is_written_and_that_is_said(
    stack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # as if it were not installed
    assert main(["map", str(stack), str(tmp_path / "map"), *SMALL, "--json"]) == DONE
    said = capsys.readouterr()
    assert said.err.endswith("map.png was not drawn: pip install 'dioptre[figures]'\n")
    arrays = [
        "answered.npy",
        "cols.npy",
        "confidence.npy",
        "focused.npy",
        "index.npy",
        "position.npy",
        "rows.npy",
    ]
    assert json.loads(said.out)["files"] == ["all-in-focus.png", *arrays]


def test_slices_from_near_to_far_keep_their_numbers(
    stack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "map"
    found = run_json(capsys, "map", str(stack), str(out), *SMALL, "--positions", "3.3:-0.3")
    assert found["slices"] == [FAR, NEAR]
    index = np.load(out / "index.npy")
    np.testing.assert_allclose(np.load(out / "dioptres.npy"), 3.3 - 0.3 * index, atol=0.16)


def test_files_of_others_are_not_overwritten(
    stack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "map"
    out.mkdir()
    (out / "index.npy").write_text("mine")
    assert "--overwrite" in refused_after_progress(capsys, "map", str(stack), str(out), *SMALL)
    assert (out / "index.npy").read_text() == "mine"
    assert main(["map", str(stack), str(out), *SMALL, "--overwrite"]) == DONE
    assert main(["map", str(stack), str(out), *SMALL]) == DONE  # what it wrote itself it may write again


def refused_after_progress(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    return refused(capsys, *arguments, "--json")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--size", "400"), "400 pixels at stride 16 do not fit a frame of 128 x 96"),
        (("--stride", "0"), "stride 0"),
        (("--method", "dioptre-single-dp"), "not the network"),
        (("--method", "nonsense"), "nonsense"),
        (("--positions", "1,2"), "2 positions for 12 slices"),
        (("--positions", "0.5:-0.25"), r"0 (infinity) or more, not -0.25"),
    ],
)
def test_what_cannot_be_mapped_is_said_in_a_sentence(
    stack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], said: str
) -> None:
    assert said in refused(capsys, "map", str(stack), str(tmp_path / "map"), *flags, "--json")
    assert not (tmp_path / "map").exists()


def test_a_file_is_no_folder_for_a_map(
    stack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "map").write_text("")
    assert "is a file" in refused(capsys, "map", str(stack), str(tmp_path / "map"), "--json")


def test_a_map_does_not_lie_among_the_pictures(stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(stack.iterdir())
    assert "holds the pictures" in refused(capsys, "map", str(stack), str(stack / ".." / stack.name))
    assert sorted(stack.iterdir()) == before


def test_colours_of_files_are_those_of_the_picture_in_focus(stack: Path, tmp_path: Path) -> None:
    for file in stack.iterdir():
        grey = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
        cv2.imwrite(str(file), np.stack([grey // 2, grey, grey // 4], axis=-1))  # blue, green, red
    assert main(["map", str(stack), str(tmp_path / "map"), *SMALL]) == DONE
    whole = cv2.imread(str(tmp_path / "map" / "all-in-focus.png"), cv2.IMREAD_UNCHANGED)
    assert whole.shape == (96, 128, 3)
    blue, green, red = whole.reshape(-1, 3).mean(axis=0)
    assert green > 1.8 * blue > 3 * red


def test_a_channel_and_the_z_step_of_a_file(
    stack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = np.stack(
        [cv2.imread(str(stack / f"frame{at}.png"), cv2.IMREAD_UNCHANGED) for at in range(SLICES)]
    )
    file, out = tmp_path / "cells.ome.tif", tmp_path / "map"
    about = {"axes": "CZYX", "PhysicalSizeZ": 0.5, "PhysicalSizeZUnit": "µm", "Channel": {"Name": ["A", "B"]}}
    tifffile.imwrite(file, np.stack([codes[::-1], codes]), metadata=about)
    assert "--channel" in refused_after_progress(capsys, "map", str(file), str(out), *SMALL)
    found = run_json(capsys, "map", str(file), str(out), *SMALL, "--channel", "B")
    assert found["slices"] == [FAR, NEAR]
    np.testing.assert_allclose(np.load(out / "position.npy"), 0.5 * np.load(out / "index.npy"), atol=0.25)


def test_axes_that_look_turned_name_their_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "turned.npy", np.zeros((96, 128, 12), np.uint8))
    told = refused_after_progress(capsys, "map", str(tmp_path / "turned.npy"), str(tmp_path / "map"))
    assert "--axes" in told
