"""What an import writes: the published set with its whole grid, and people's own captures."""

import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import cv2
import numpy as np

from dioptre import open_patches, scores
from dioptre.errors import InputError
from dioptre.grid import FocusGrid
from dioptre.pipeline.executors import local_executor
from dioptre.pipeline.importing import import_captures
from dioptre.pipeline.settings import Import
from dioptre.stack import codes_to_pixels
from dioptre.store.published.frames import native_to_upsampled
from tests.store.published_tree import FAR, FRAME, KEPT, NEAR, PATCHES, native, write_tree
from tests.store.test_own_captures import FRAME as OWN_FRAME
from tests.store.test_own_captures import write_capture as write_own

CAPTURES = ("apt1_0-center", "apt1_2-center", "home1_3-center")


def ignore(done: int, total: int) -> None:
    assert 0 <= done <= total


def run(source: Path, out: Path, workers: int = 1, **settings: object) -> dict:
    with local_executor(workers) as executor:
        return import_captures(source, out, Import(**settings), executor, ignore, workers)


def one_sentence(source: Path, out: Path, **settings: object) -> str:
    with pytest.raises(ValueError) as error:  # noqa: PT011 (the caller looks at what it says)
        run(source, out, **settings)
    assert "\n" not in str(error.value)
    assert not (out / "manifest.json").exists()
    return str(error.value)


def patches_of(out: Path) -> tuple[list[dict], np.ndarray]:
    store = open_patches(out)
    store.verify()
    return store.table.to_pylist(), store.stack(range(len(store)), [0, 2]).pixels


def assert_same(out: Path, other: Path) -> None:
    (rows, pixels), (other_rows, other_pixels) = patches_of(out), patches_of(other)
    assert rows == other_rows
    np.testing.assert_array_equal(pixels, other_pixels)
    assert open_patches(out).manifest["summary"] == open_patches(other).manifest["summary"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tree(tmp_path_factory.mktemp("set") / "root")


@pytest.fixture(scope="module")
def store(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("imported") / "store"
    run(tree, out)
    return out


# What comes out


def test_a_tree_becomes_a_store(store: Path) -> None:
    patches = open_patches(store)
    assert len(patches) == 3 * KEPT
    assert patches.format.grid == FocusGrid.learnaf()
    assert (patches.format.black, patches.format.white) == (1024.0, 16368.0)
    assert tuple(patches.manifest["frame"]) == FRAME
    assert sorted(set(patches.column("capture"))) == list(CAPTURES)
    assert set(zip(patches.column("scene"), patches.column("split"), strict=True)) == {
        ("apt1", "train"),
        ("home1", "test"),
    }
    assert set(patches.column("truth")) == {FAR, NEAR}
    assert set(patches.column("camera")) == set(patches.column("device")) == {"center"}
    assert set(patches.column("light")) == {"normal"}
    assert patches.column("in_crop").dtype == bool


def test_the_summary_compares_with_the_paper(store: Path) -> None:
    summary = open_patches(store).manifest["summary"]
    assert summary["splits"] == {
        "train": {
            "captures": 2,
            "patches": 2 * PATCHES,
            "kept": 2 * KEPT,
            "fraction": 0.75,
            "paper": pytest.approx(0.50, abs=0.005),
        },
        "test": {
            "captures": 1,
            "patches": PATCHES,
            "kept": KEPT,
            "fraction": 0.75,
            "paper": pytest.approx(0.68, abs=0.005),
        },
    }
    assert (summary["black"], summary["white"], summary["min_depth_m"]) == (1024.0, 16368.0, 0.1)
    assert summary["skipped"] == summary["warnings"] == []
    assert summary["eight_bit_files"] == 0


def test_pixels_are_those_of_the_upsampled_frame(store: Path) -> None:
    patches = open_patches(store)
    codes = native("apt1_0")
    row = next(at for at, name in enumerate(patches.column("capture")) if name == CAPTURES[0])
    top, left = patches.column("row")[row], patches.column("col")[row]
    found = patches.stack([row], [0, 9, 10, 48]).pixels[0]
    for index, views in zip((0, 9, 10, 48), found, strict=True):
        for view, pixels in enumerate(views):
            whole = native_to_upsampled(np.ascontiguousarray(codes[index, view].T)).T  # upsampled rows
            expected = codes_to_pixels(whole, 1024.0, 16368.0)[top : top + 128, left : left + 128]
            np.testing.assert_array_equal(pixels, expected)


def test_contrast_peaks_where_the_labels_say(store: Path) -> None:
    patches = open_patches(store)
    # The halves of a frame are planes of their own: only patches at its ends lie in one of them.
    rows = np.flatnonzero(patches.column("col") >= 120)
    method = "local-norm-dist-sq-4"
    found = scores(patches.stack(rows), [method])[method].argmax(axis=1)
    assert np.abs(found - patches.column("truth")[rows]).max() <= 1


def test_both_forms_and_both_workers_give_the_same(store: Path, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", forms=("up",))
    run(root, tmp_path / "up", workers=2)
    assert_same(tmp_path / "up", store)
    assert "no readable raw frame" in one_sentence(root, tmp_path / "raw", pd="raw")


def test_the_manifest_is_plain_json_without_paths_of_the_source(store: Path, tree: Path) -> None:
    text = (store / "manifest.json").read_text()
    assert str(tree) not in text
    assert json.loads(text)["config"]["source"] == "published"


# Own captures


def write_own_depth(home: Path, name: str, metres: float, **entries: object) -> Path:
    file = write_own(home, name, depth="depth.npy", **entries)
    np.save(file.parent / "depth.npy", np.full(OWN_FRAME, metres))
    return file


def test_own_captures_become_the_same_kind_of_store(tmp_path: Path) -> None:
    write_own_depth(tmp_path / "mine", "desk_0", 0.4)
    labelled = write_own(tmp_path / "mine", "shelf_0", labels="labels.csv", scene="shelf", split="test")
    (labelled.parent / "labels.csv").write_text("row,col,index\n1,3,0\n")
    summary = run(tmp_path / "mine", tmp_path / "out")
    assert summary["splits"]["train"]["kept"] == 2
    assert summary["splits"]["test"]["kept"] == 1
    patches = open_patches(tmp_path / "out")
    patches.verify()
    assert patches.column("truth").tolist() == [2, 2, 0]
    assert patches.column("camera").tolist() == ["bench"] * 3
    codes = cv2.imread(str(labelled.parent / "slices/z10_right.png"), cv2.IMREAD_UNCHANGED)
    expected = codes_to_pixels(codes, 0.0, 255.0)[1:129, 3:131]
    np.testing.assert_array_equal(patches.stack([2], [2]).pixels[0, 0, 1], expected)


def test_own_captures_without_labels_say_what_to_add(tmp_path: Path) -> None:
    write_own(tmp_path / "mine")
    said = one_sentence(tmp_path / "mine", tmp_path / "out")
    assert "labels are missing" in said
    assert "desk_0" in said


def test_own_captures_that_differ_from_the_first_are_left_out(tmp_path: Path) -> None:
    write_own_depth(tmp_path / "mine", "a", 0.5)
    write_own_depth(tmp_path / "mine", "b", 0.5, white=200)
    write_own_depth(tmp_path / "mine", "c", 0.5, dioptres=[1.0, 2.0])
    b, c = run(tmp_path / "mine", tmp_path / "out")["skipped"]
    assert "b: its white is not that of the store's first capture: 200.0, not 255.0" in b["reason"]
    assert "3 slices, but the grid has 2" in c["reason"]


def test_own_scenes_are_in_one_split(tmp_path: Path) -> None:
    write_own_depth(tmp_path / "mine", "a", 0.5)
    write_own_depth(tmp_path / "mine", "b", 0.5, split="test")
    assert "desk is in train (a) and in test (b)" in one_sentence(tmp_path / "mine", tmp_path / "out")


def test_own_captures_are_resumed(tmp_path: Path) -> None:
    write_own_depth(tmp_path / "mine", "a", 0.5)
    broken = write_own_depth(tmp_path / "mine", "b", 0.5)
    np.save(broken.parent / "depth.npy", np.ones((7, 7)))
    assert "7 x 7" in one_sentence(tmp_path / "mine", tmp_path / "out", on_error="stop")
    np.save(broken.parent / "depth.npy", np.full(OWN_FRAME, 1.0))
    run(tmp_path / "mine", tmp_path / "out")
    assert set(open_patches(tmp_path / "out").column("capture")) == {"a", "b"}


def test_maps_of_a_reconstruction_go_with_a_tree_only(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--maps is for captures in the published layout"):
        import_captures(tmp_path, tmp_path / "out", Import(maps=str(tmp_path)), None, lambda _at, _of: None)
