"""The published data set on disk: names, splits, labels and trees."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre.errors import CaptureFileError
from dioptre.grid import FocusGrid
from dioptre.stack import LEFT, RIGHT
from dioptre.store.labels import SIZE, metres_to_code
from dioptre.store.published.frames import rotate_frame, unrotate_frame
from dioptre.store.published.layout import (
    CAMERAS,
    TEST_SCENES,
    Validation,
    capture_scene,
    is_tree,
    labels_of_depth,
    list_captures,
    parse_path,
    published_labels,
    scene_split,
)
from tests.store.published_tree import FRAME, confidence, depth_codes, write_capture

# Names


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "train3/raw_left_pd/apt1_0/7/result_pd_left_center.png",
            ("train3", "apt1_0", "center", 7, LEFT, "raw"),
        ),
        (
            "./test/raw_right_pd/a_b_2/48/result_pd_right_left.png",
            ("test", "a_b_2", "left", 48, RIGHT, "raw"),
        ),
        ("./raw_left_pd/a_0/0/result_pd_left_left.png", ("", "a_0", "left", 0, LEFT, "raw")),
        ("raw_up_left_pd/apt1_0/10/result_up_pd_left_top.png", ("", "apt1_0", "top", 10, LEFT, "up")),
        ("x/raw_up_right_pd/a_0/slice_03/result_up_pd_right_left.png", ("x", "a_0", "left", 3, RIGHT, "up")),
        ("y/raw_left_pd/a_0/3/result_up_pd_left_right.png", ("y", "a_0", "right", 3, LEFT, "raw")),
    ],
)
def test_a_path_tells_its_frame(path: str, expected: tuple[object, ...]) -> None:
    item = parse_path(path)
    assert item is not None
    assert (item.part, item.capture, item.camera, item.index, item.view, item.sampling) == expected
    assert item.name == f"{item.capture}-{item.camera}"


def test_a_path_tells_its_map() -> None:
    item = parse_path("train1/merged_conf/apt1_0/result_merged_conf_bottom.exr")
    assert item is not None
    assert (item.folder, item.index, item.camera) == ("merged_conf", None, "bottom")


@pytest.mark.parametrize(
    "path",
    [
        "train1/scaled_images/apt1_0/7/result_scaled_image_center.jpg",
        "train1/raw_left_pd/apt1_0/7/result_pd_left_behind.png",
        "train1/raw_left_pd/apt1_0/result_pd_left_center.png",
        "train1/merged_depth/apt1_0/7/result_merged_depth_center.png",
        "train1/raw_left_pd/apt1_0/7/._result_pd_left_center.png",
        "train1/raw_left_pd/../7/result_pd_left_center.png",
    ],
)
def test_other_paths_are_not_read(path: str) -> None:
    assert parse_path(path) is None


def test_a_scene_is_the_name_without_its_number() -> None:
    assert [capture_scene(name) for name in ("apt1_0", "home1_6", "a_b_10", "odd")] == [
        "apt1",
        "home1",
        "a_b",
        "odd",
    ]


# Splits


def test_official_test_scenes_are_for_testing_wherever_they_lie() -> None:
    everything = Validation(fraction=0.999)
    assert {scene_split(scene, "train1", everything) for scene in TEST_SCENES} == {"test"}
    assert scene_split("attic", "test", Validation()) == "test"
    assert scene_split("attic", "train7", Validation()) == "train"


def test_validation_is_a_fraction_of_the_scenes_that_depends_on_names_alone() -> None:
    scenes = [f"scene{number}" for number in range(400)]
    some, more = Validation.parse("0.1"), Validation.parse("0.3")
    chosen = {scene for scene in scenes if some.holds(scene)}
    assert 20 < len(chosen) < 60
    assert chosen < {scene for scene in reversed(scenes) if more.holds(scene)}


def test_validation_by_name() -> None:
    validation = Validation.parse("apt1, apt2")
    assert validation.scenes == ("apt1", "apt2")
    assert [scene_split(scene, "train1", validation) for scene in ("apt1", "apt3")] == ["validation", "train"]
    assert not Validation.parse("").holds("apt1")


@pytest.mark.parametrize("text", ["1.5", "-0.1", "1", "home1"])
def test_wrong_validation_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"fraction|test scene"):
        Validation.parse(text)


# Labels


def test_the_labels_of_a_patch_are_those_of_its_own_depth_pixels() -> None:
    depth, grid = depth_codes("apt1_0"), FocusGrid.learnaf()
    rng = np.random.default_rng(0)
    depth = np.clip(depth + rng.integers(-9, 9, depth.shape), 0, 255).astype(np.uint8)
    labels = published_labels(depth, confidence(), FRAME, grid, 0.1, 100.0, "ccw", SIZE, 40)
    landscape = rotate_frame(depth, "ccw")
    for (row, col), found in zip(labels.corners // 4, labels.depth, strict=True):
        code = np.median(landscape[row : row + 32, col : col + 32])
        assert found == pytest.approx(10 - code / 255 * 9.99)
    np.testing.assert_array_equal(labels.truth, grid.nearest_index(labels.depth))


def test_rows_of_patches_are_even_as_binned_rows_need() -> None:
    labels = published_labels(
        depth_codes("apt1_0"), confidence(), FRAME, FocusGrid.learnaf(), 0.1, 100.0, "ccw", SIZE, 40
    )
    assert (labels.corners[:, 0] % 2 == 0).all()
    assert sorted(set(labels.corners[:, 0].tolist())) == [24, 64]  # counted from the file's left edge


@pytest.mark.parametrize("what", ["depth", "confidence"])
def test_a_map_of_another_size_is_named(what: str) -> None:
    maps = {"depth": depth_codes("apt1_0"), "confidence": confidence()}
    maps[what] = np.ascontiguousarray(maps[what][:-1])
    with pytest.raises(CaptureFileError, match=f"{what} map is 48 x 63.*need 48 x 64"):
        published_labels(**maps, frame=FRAME, grid=FocusGrid.learnaf(), nearest_m=0.1, farthest_m=100.0,
                         rotate="ccw", size=SIZE, stride=40)  # fmt: skip


# Trees


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    part = tmp_path_factory.mktemp("set") / "train1"
    write_capture(part, "apt1_0", ("raw", "up"), slices=(0, 2, 10))
    write_capture(part, "apt1_0", ("up",), camera="left", slices=(1,))
    return part


def test_frames_of_a_tree_are_in_numeric_order(part: Path) -> None:
    for root in (part, part.parent):
        assert is_tree(root)
        (capture,) = list_captures(root, ["center"], ["raw", "up"])
        assert (capture.part, capture.name) == ("train1", "apt1_0-center")
        assert [(index, view) for index, view, _, _ in capture.frames] == [
            (index, view) for index in (0, 2, 10) for view in (LEFT, RIGHT)
        ]
        assert {sampling for _, _, _, sampling in capture.frames} == {"raw"}
        assert {folder for folder, _ in capture.maps} == {"merged_depth", "merged_conf"}


def test_captures_may_be_links_to_other_disks(part: Path, tmp_path: Path) -> None:
    for folder in part.iterdir():
        (tmp_path / "train1" / folder.name).mkdir(parents=True)
        (tmp_path / "train1" / folder.name / "apt1_0").symlink_to(folder / "apt1_0")
    (capture,) = list_captures(tmp_path, ["center"], ["raw"])
    assert len(capture.frames) == 6


def test_samplings_and_cameras_are_chosen(part: Path) -> None:
    up, left = list_captures(part, CAMERAS, ["up"])
    assert {path.parts[-4] for _, _, path, _ in up.frames} == {"raw_up_left_pd", "raw_up_right_pd"}
    assert left.camera == "left"
    assert len(left.frames) == 2
    assert list_captures(part, ["top"], ["up"]) == []


def test_other_folders_are_no_tree(tmp_path: Path) -> None:
    assert not is_tree(tmp_path)
    assert not is_tree(tmp_path / "nowhere")


def test_labels_of_known_depth_are_those_of_the_patches_an_import_cuts() -> None:
    grid, frame = FocusGrid.learnaf(), (256, 384)
    depth = np.linspace(1.0, 9.0, frame[1])[None] + np.linspace(0.0, 0.5, frame[0])[:, None]
    labels = labels_of_depth(depth, grid)
    codes = np.asarray(metres_to_code(1 / unrotate_frame(depth, "ccw")[2::4, 2::4], 0.1, 100.0))
    same = published_labels(
        np.rint(codes).astype(np.uint8), np.ones(codes.shape), frame, grid, 0.1, 100.0, "ccw", 128, 40
    )
    np.testing.assert_array_equal(labels.corners, same.corners)
    assert np.abs(labels.truth - same.truth).max() <= 1  # a code is 0.04 dioptres, a pixel of a map four
    row, col = labels.corners[3]
    assert labels.depth[3] == pytest.approx(np.median(depth[row : row + 128, col : col + 128]))
