"""What can be chosen, and what can go wrong, with trees and archives: on a short grid, to be quick."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import cv2
import numpy as np

from dioptre import open_patches
from dioptre.grid import FocusGrid
from dioptre.pipeline.importing import import_captures, published
from dioptre.pipeline.settings import Import
from dioptre.store.captures import CaptureWriter
from tests.pipeline.test_importing import CAPTURES, assert_same, one_sentence, run
from tests.store.published_tree import FRAME, KEPT, write_archive, write_capture, write_exr, write_tree

SLICES = range(4)
FRAMES = 2 * len(SLICES)


@pytest.fixture(scope="module", autouse=True)
def short_ladder() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published, "GRID", FocusGrid.of_dioptres(FocusGrid.learnaf().dioptres[::15]))
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tree(tmp_path_factory.mktemp("set") / "root", slices=SLICES)


@pytest.fixture(scope="module")
def store(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("imported") / "store"
    run(tree, out)
    return out


@pytest.fixture
def copy(tree: Path, tmp_path: Path) -> Path:
    """A tree with one capture in each of train1 and test, to be damaged."""
    for part in ("train1", "test"):
        shutil.copytree(tree / part, tmp_path / "tree" / part)
    return tmp_path / "tree"


@pytest.fixture(scope="module")
def archives(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archives")
    for part in tree.iterdir():
        write_archive(part, folder / f"{part.name}.tar.gz")
    return folder


# What can be chosen


def test_one_part_is_a_source_too(tree: Path, tmp_path: Path) -> None:
    summary = run(tree / "test", tmp_path / "out")
    assert list(summary["splits"]) == ["test"]


def test_min_depth_changes_the_labels(tree: Path, store: Path, tmp_path: Path) -> None:
    run(tree / "train1", tmp_path / "out", min_depth=0.2)
    found = open_patches(tmp_path / "out").column("depth")
    here = open_patches(store)
    expected = here.column("depth")[here.column("capture") == CAPTURES[0]]
    np.testing.assert_allclose((5 - found) / (5 - 0.01), (10 - expected) / (10 - 0.01))


def test_rotation_turns_everything_alike(tree: Path, store: Path, tmp_path: Path) -> None:
    run(tree / "train1", tmp_path / "out", rotate="cw")
    turned, here = open_patches(tmp_path / "out"), open_patches(store)
    rows = np.flatnonzero(here.column("capture") == CAPTURES[0])
    assert turned.column("truth").tolist() == here.column("truth")[rows].tolist()
    half_turn = here.stack(rows, [2]).pixels[..., ::-1, ::-1]
    np.testing.assert_array_equal(turned.stack(range(len(turned)), [2]).pixels, half_turn)


def test_scenes_for_validation(tree: Path, tmp_path: Path) -> None:
    summary = run(tree, tmp_path / "out", validation="apt1,attic")
    assert list(summary["splits"]) == ["validation", "test"]
    assert summary["splits"]["validation"]["captures"] == 2  # of one scene, from two parts
    assert summary["warnings"] == ["there is no scene attic to keep for validation"]


def test_several_cameras(tree: Path, tmp_path: Path) -> None:
    root = tmp_path / "tree" / "train1"
    write_capture(root, "apt1_0", ("raw",), slices=SLICES)
    write_capture(root, "apt1_0", ("up",), camera="left", slices=SLICES)
    run(tmp_path / "tree", tmp_path / "out", cameras="center,left")
    patches = open_patches(tmp_path / "out")
    assert set(zip(patches.column("capture"), patches.column("camera"), strict=True)) == {
        ("apt1_0-center", "center"),
        ("apt1_0-left", "left"),
    }
    assert "camera top" in one_sentence(tree, tmp_path / "none", cameras="top")


def test_8_bit_files_are_imported_with_a_warning(tmp_path: Path) -> None:
    write_capture(tmp_path / "train1", "apt1_0", ("up",), slices=SLICES, shift=8)
    summary = run(tmp_path / "train1", tmp_path / "out")
    assert summary["eight_bit_files"] == FRAMES
    (warning,) = summary["warnings"]
    assert f"{FRAMES} frames have 8 bits" in warning


def test_nothing_trusted_is_nothing_imported(tree: Path, tmp_path: Path) -> None:
    for part in ("train1", "train2"):
        shutil.copytree(tree / part, tmp_path / "tree" / part)
    for name in ("train1/merged_conf/apt1_0", "train2/merged_conf/apt1_2"):
        file = tmp_path / "tree" / name / "result_merged_conf_center.exr"
        _write_confidence(file, 0.5)
    assert "no patch has a median confidence" in one_sentence(tmp_path / "tree", tmp_path / "out")
    _write_confidence(tmp_path / "tree/train1/merged_conf/apt1_0/result_merged_conf_center.exr", 1.0)
    summary = run(tmp_path / "tree", tmp_path / "out")
    assert summary["without_patches"] == ["apt1_2-center"]
    assert summary["splits"]["train"]["fraction"] == 0.5


def _write_confidence(file: Path, value: float) -> None:
    write_exr(file, np.full((FRAME[1] // 4, FRAME[0] // 4), value))


# Faults


def _remove_slice(tree: Path) -> None:
    shutil.rmtree(tree / "train1/raw_right_pd/apt1_0/3")


def _cut_frame(tree: Path) -> None:
    file = tree / "train1/raw_left_pd/apt1_0/2/result_pd_left_center.png"
    file.write_bytes(file.read_bytes()[:-50])


def _shrink_depth(tree: Path) -> None:
    file = tree / "train1/merged_depth/apt1_0/result_merged_depth_center.png"
    cv2.imwrite(str(file), np.zeros((10, 10), np.uint8))


def _cut_confidence(tree: Path) -> None:
    file = tree / "train1/merged_conf/apt1_0/result_merged_conf_center.exr"
    file.write_bytes(file.read_bytes()[:400])


def _remove_depth(tree: Path) -> None:
    shutil.rmtree(tree / "train1/merged_depth")


def _resize_frame(tree: Path) -> None:
    file = tree / "train1/raw_left_pd/apt1_0/1/result_pd_left_center.png"
    cv2.imwrite(str(file), np.zeros((256, 100), np.uint16))


def _add_slice(tree: Path) -> None:
    for side in ("left", "right"):
        folder = tree / f"train1/raw_{side}_pd/apt1_0"
        shutil.copytree(folder / "3", folder / "4")


FAULTS = [
    (_remove_slice, "lacks 1 of its 8 frames, the first is slice 3 of the right view"),
    (_cut_frame, "2/result_pd_left_center.png is a damaged PNG, or cut short"),
    (_shrink_depth, "depth map is 10 x 10, but frames of 192 x 256 pixels need 48 x 64"),
    (_cut_confidence, "result_merged_conf_center.exr is a damaged OpenEXR file"),
    (_remove_depth, "no file in merged_depth"),
    (_resize_frame, "a frame of 200 x 256 pixels"),
    (_add_slice, "a slice 4"),
]


@pytest.mark.parametrize(("damage", "expected"), FAULTS)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_damaged_capture_is_named_and_left_out(
    copy: Path, tmp_path: Path, damage: Callable[[Path], None], expected: str, streamed: bool
) -> None:
    damage(copy)
    source = copy
    if streamed:
        source = tmp_path / "archives"
        source.mkdir()
        for part in ("train1", "test"):
            write_archive(copy / part, source / f"{part}.tar.gz")
    said = one_sentence(source, tmp_path / "out", on_error="stop")
    assert "apt1_0-center" in said
    assert expected in said
    summary = run(source, tmp_path / "out")  # goes on where it stopped
    (skipped,) = summary["skipped"]
    assert skipped["name"] == "apt1_0-center"
    assert expected in skipped["reason"]
    assert set(open_patches(tmp_path / "out").column("capture")) == {"home1_3-center"}
    assert not list((tmp_path / "out" / "captures").glob("apt1*"))


@pytest.mark.parametrize("streamed", [False, True])
def test_a_stopped_import_goes_on_after_a_repair(
    tree: Path, store: Path, archives: Path, tmp_path: Path, streamed: bool
) -> None:
    shutil.copytree(tree, tmp_path / "tree")
    _cut_frame(tmp_path / "tree")
    source = tmp_path / "tree"
    if streamed:
        source = tmp_path / "archives"
        shutil.copytree(archives, source)
        write_archive(tmp_path / "tree" / "train1", source / "train1.tar.gz")
    one_sentence(source, tmp_path / "out", on_error="stop")
    frames = {file: file.stat().st_size for file in (tmp_path / "out").rglob("*.codes")}
    run(archives if streamed else tree, tmp_path / "out")
    assert_same(tmp_path / "out", store)
    assert frames
    assert all(file.stat().st_size >= size for file, size in frames.items())


@pytest.mark.parametrize("source", ["tree", "archives"])
def test_frames_that_are_there_are_not_decoded_again(
    request: pytest.FixtureRequest, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    written: list[tuple[str, int, int]] = []
    write = CaptureWriter.write_frame

    def failing(self: CaptureWriter, name: str, index: int, view: int, codes: np.ndarray) -> None:
        if len(written) == 11:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, name, index, view, codes)
        written.append((name, index, view))

    monkeypatch.setattr(CaptureWriter, "write_frame", failing)
    with pytest.raises(OSError, match="No space left") as error:  # whatever --on-error says
        run(request.getfixturevalue(source), tmp_path / "out")
    assert error.value.filename == str(tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()
    with pytest.raises(ValueError, match="not finished"):
        open_patches(tmp_path / "out")
    monkeypatch.setattr(CaptureWriter, "write_frame", write)
    again: list[tuple[str, int, int]] = []

    def noting(self: CaptureWriter, name: str, index: int, view: int, codes: np.ndarray) -> None:
        again.append((name, index, view))
        write(self, name, index, view, codes)

    monkeypatch.setattr(CaptureWriter, "write_frame", noting)
    run(request.getfixturevalue(source), tmp_path / "out")
    assert len(again) == 3 * FRAMES - 11
    assert not set(again) & set(written)
    assert_same(tmp_path / "out", store)


def test_interrupted_in_between_it_goes_on(tree: Path, store: Path, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_captures(tree, tmp_path / "out", Import(), None, stop)
    run(tree, tmp_path / "out")
    assert_same(tmp_path / "out", store)


def test_a_store_is_resumed_with_the_same_settings_only(tree: Path, copy: Path, tmp_path: Path) -> None:
    _cut_frame(copy)
    one_sentence(copy, tmp_path / "out", on_error="stop")
    assert "begun with" in one_sentence(copy, tmp_path / "out", min_depth=0.2)
    run(copy, tmp_path / "out", pd="raw")


def test_a_capture_in_two_parts_is_named(copy: Path, tmp_path: Path) -> None:
    shutil.copytree(copy / "train1", copy / "train5")
    expected = "apt1_0-center is in train1 and in train5"
    assert expected in one_sentence(copy, tmp_path / "out", on_error="stop")
    (skipped,) = run(copy, tmp_path / "out")["skipped"]
    assert expected in skipped["reason"]
    assert len(open_patches(tmp_path / "out")) == 2 * KEPT


def test_a_scene_in_two_splits_is_named(copy: Path, tmp_path: Path) -> None:
    write_capture(copy / "test", "apt1_4", ("raw",), slices=SLICES)
    (skipped,) = run(copy, tmp_path / "out")["skipped"]
    assert "apt1_0-center in train1 is for train, but its scene apt1 in test is for test" in skipped["reason"]
    assert set(open_patches(tmp_path / "out").column("split")) == {"test"}


# Archives


def test_archives_give_what_the_tree_gives(archives: Path, store: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    import_captures(archives, tmp_path / "out", Import(), None, lambda *both: seen.append(both), 2)
    assert_same(tmp_path / "out", store)
    total = sum(file.stat().st_size for file in archives.iterdir())
    assert seen == sorted(seen)
    assert seen[-1] == (total, total)


def test_one_archive_is_a_source_too(archives: Path, tmp_path: Path) -> None:
    summary = run(archives / "test.tar.gz", tmp_path / "out")
    assert list(summary["splits"]) == ["test"]


def test_of_both_forms_in_an_archive_each_frame_is_taken_once(store: Path, tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", forms=("raw", "up"), slices=SLICES)
    (tmp_path / "archives").mkdir()
    for part in (tmp_path / "tree").iterdir():
        write_archive(part, tmp_path / "archives" / f"{part.name}.tgz")
    for pd in ("auto", "up"):
        run(tmp_path / "archives", tmp_path / pd, pd=pd)
        assert_same(tmp_path / pd, store)


def test_a_truncated_archive_is_named_and_its_whole_captures_are_kept(archives: Path, tmp_path: Path) -> None:
    shutil.copytree(archives, tmp_path / "cut")
    data = (archives / "test.tar.gz").read_bytes()
    (tmp_path / "cut" / "test.tar.gz").write_bytes(data[: len(data) // 2])
    expected = "test.tar.gz is damaged or cut short"
    assert expected in one_sentence(tmp_path / "cut", tmp_path / "out", on_error="stop")
    archive, capture = run(tmp_path / "cut", tmp_path / "out")["skipped"]
    assert archive["name"] == "test.tar.gz"
    assert expected in archive["reason"]
    assert capture["name"] == "home1_3-center"
    assert len(open_patches(tmp_path / "out")) == 2 * KEPT


def test_what_an_archive_gave_before_it_was_deleted_is_named(archives: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "some", tmp_path / "out"
    source.mkdir()
    shutil.copy(archives / "test.tar.gz", source)
    (source / "train1.tar.gz").write_bytes((archives / "train1.tar.gz").read_bytes()[:-100])
    one_sentence(source, out, on_error="stop")
    (source / "test.tar.gz").unlink()
    shutil.copy(archives / "train1.tar.gz", source)
    summary = run(source, out)
    assert summary["earlier"] == ["home1_3-center"]
    assert any("home1_3-center" in warning for warning in summary["warnings"])
    assert list(summary["splits"]) == ["train"]
    assert set(open_patches(out).column("capture")) == {"apt1_0-center", "home1_3-center"}


def test_a_capture_in_two_archives_is_named(archives: Path, tmp_path: Path) -> None:
    shutil.copytree(archives, tmp_path / "twice")
    shutil.copy(archives / "train1.tar.gz", tmp_path / "twice" / "train6.tar.gz")
    (skipped,) = run(tmp_path / "twice", tmp_path / "out")["skipped"]
    assert "apt1_0-center is in train1.tar.gz and in train6.tar.gz" in skipped["reason"]
    assert len(open_patches(tmp_path / "out")) == 3 * KEPT


# Other sources


def test_what_is_no_source_is_named(tmp_path: Path) -> None:
    assert "nowhere" in one_sentence(tmp_path / "nowhere", tmp_path / "out")
    (tmp_path / "empty").mkdir()
    said = one_sentence(tmp_path / "empty", tmp_path / "out")
    assert "capture.toml" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cameras": "center,middle"}, "middle"),
        ({"cameras": ""}, "none"),
        ({"min_depth": 0.0}, "0 m"),
        ({"confidence": 99.0}, "99"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Import(**settings).check()
