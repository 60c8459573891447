import tarfile
from pathlib import Path

import cv2
import numpy as np
import pytest
from tests.dataset.published_tree import FRAME, confidence, depth_codes, write_archive, write_capture

from dioptre.dataset.labels import SIZE, patch_places
from dioptre.dataset.published import (
    CAMERAS,
    HEADER_BYTES,
    TEST_SCENES,
    Validation,
    capture_scene,
    decode_frame,
    is_tree,
    list_archives,
    list_captures,
    native_to_upsampled,
    parse_path,
    published_labels,
    read_archive,
    read_header,
    rotate_frame,
    rotate_places,
    scene_split,
    unrotate_frame,
    upsampled_to_native,
)
from dioptre.errors import ArchiveError, CaptureFileError
from dioptre.optics import FocusGrid
from dioptre.stack import LEFT, RIGHT

RNG = np.random.default_rng(0)
NATIVE = (RNG.integers(0, 1024, (40, 30)) << 4).astype(np.uint16)  # as in a file


def png(codes: np.ndarray) -> bytes:
    return cv2.imencode(".png", codes)[1].tobytes()


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
    assert (item.part, item.capture, item.camera, item.index, item.view, item.form) == expected
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


# Frames


def test_upsampling_is_the_formula_of_the_published_files() -> None:
    out = native_to_upsampled(NATIVE)
    codes = NATIVE.astype(float)
    assert out.shape == (40, 60)
    for k in range(30):
        before, after = codes[:, max(k - 1, 0)], codes[:, min(k + 1, 29)]
        np.testing.assert_array_equal(out[:, 2 * k], 0.25 * before + 0.75 * codes[:, k])
        np.testing.assert_array_equal(out[:, 2 * k + 1], 0.75 * codes[:, k] + 0.25 * after)


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (40, 30)])
def test_upsampled_frames_give_back_their_native_codes(shape: tuple[int, int]) -> None:
    native = (RNG.integers(0, 1024, shape) << 4).astype(np.uint16)
    native.flat[0] = 16368
    np.testing.assert_array_equal(upsampled_to_native(native_to_upsampled(native)), native)


@pytest.mark.parametrize("rotate", ["ccw", "cw"])
def test_both_forms_of_a_frame_are_the_same(rotate: str) -> None:
    raw = decode_frame(png(NATIVE), "a.png", "raw", rotate)
    up = decode_frame(png(native_to_upsampled(NATIVE)), "a.png", "up", rotate)
    assert raw.shape == (30, 40)
    np.testing.assert_array_equal(raw, up)
    np.testing.assert_array_equal(unrotate_frame(raw, rotate), NATIVE)


def test_all_16_bits_are_read() -> None:
    assert decode_frame(png(NATIVE), "a.png", "raw", "ccw").max() > 16000


def test_what_was_not_upsampled_is_refused_as_such() -> None:
    for codes in (NATIVE, cv2.resize(native_to_upsampled(NATIVE), (50, 40)), NATIVE[:, :29]):
        with pytest.raises(CaptureFileError, match=r"odd\.png is not a native frame"):
            decode_frame(png(np.ascontiguousarray(codes)), "odd.png", "up", "ccw")


def test_8_bit_files_are_the_high_bytes() -> None:
    low = (NATIVE >> 8).astype(np.uint8)
    found = decode_frame(png(low), "a.png", "raw", "ccw")
    np.testing.assert_array_equal(found, rotate_frame(low.astype(np.uint16) << 8, "ccw"))
    up = decode_frame(png((native_to_upsampled(NATIVE) >> 8).astype(np.uint8)), "a.png", "up", "ccw")
    assert up.shape == found.shape
    assert np.corrcoef(up.ravel(), found.ravel())[0, 1] > 0.9


def test_damaged_frames_are_named() -> None:
    data = png(NATIVE)
    broken = bytearray(data)
    broken[len(data) // 2] ^= 1
    for bad in (data[:-10], bytes(broken), b"", b"nonsense"):
        with pytest.raises(CaptureFileError, match=r"7/left\.png"):
            decode_frame(bad, "7/left.png", "raw", "ccw")


def test_the_header_tells_the_frame_and_the_bits() -> None:
    portrait = np.zeros((2016, 756), np.uint16)
    header = read_header(png(portrait)[:HEADER_BYTES], "a.png", "raw")
    assert (header.frame, header.bits) == ((1512, 2016), 16)
    header = read_header(png(np.zeros((2016, 1512), np.uint8))[:HEADER_BYTES], "a.png", "up")
    assert (header.frame, header.bits) == ((1512, 2016), 8)


def test_wrong_headers_are_named() -> None:
    colour = cv2.imencode(".png", np.zeros((4, 4, 3), np.uint16))[1].tobytes()
    odd = png(np.zeros((4, 5), np.uint16))
    for data, form, said in (
        (b"", "raw", "cut short"),
        (b"x" * 100, "raw", "not a PNG"),
        (colour, "raw", "not grey"),
        (odd, "up", "5 columns"),
    ):
        with pytest.raises(CaptureFileError, match=f"a.png.*{said}"):
            read_header(data[:HEADER_BYTES], "a.png", form)


# Orientation


def test_ccw_puts_the_top_of_a_file_to_the_left() -> None:
    portrait = np.arange(12).reshape(4, 3)
    landscape = rotate_frame(portrait, "ccw")
    for row in range(4):
        for col in range(3):
            assert landscape[2 - col, row] == portrait[row, col]


@pytest.mark.parametrize("rotate", ["ccw", "cw"])
def test_patches_keep_their_pixels_when_they_are_turned(rotate: str) -> None:
    portrait = RNG.integers(0, 9999, (50, 40))
    places = patch_places((50, 40), 16, 7)
    landscape = rotate_frame(portrait, rotate)
    for (row, col), (to_row, to_col) in zip(places, rotate_places(places, (40, 50), 16, rotate), strict=True):
        patch = landscape[to_row : to_row + 16, to_col : to_col + 16]
        np.testing.assert_array_equal(patch, rotate_frame(portrait[row : row + 16, col : col + 16], rotate))


# Labels


def test_the_labels_of_a_patch_are_those_of_its_own_depth_pixels() -> None:
    depth, grid = depth_codes("apt1_0"), FocusGrid.learnaf()
    depth = np.clip(depth + RNG.integers(-9, 9, depth.shape), 0, 255).astype(np.uint8)
    labels = published_labels(depth, confidence(), FRAME, grid, 0.1, 100.0, "ccw", SIZE, 40)
    landscape = rotate_frame(depth, "ccw")
    for (row, col), found in zip(labels.places // 4, labels.depth, strict=True):
        code = np.median(landscape[row : row + 32, col : col + 32])
        assert found == pytest.approx(10 - code / 255 * 9.99)
    np.testing.assert_array_equal(labels.truth, grid.nearest_index(labels.depth))


def test_rows_of_patches_are_even_as_binned_rows_need() -> None:
    labels = published_labels(
        depth_codes("apt1_0"), confidence(), FRAME, FocusGrid.learnaf(), 0.1, 100.0, "ccw", SIZE, 40
    )
    assert (labels.places[:, 0] % 2 == 0).all()
    assert sorted(set(labels.places[:, 0].tolist())) == [24, 64]  # counted from the file's left edge


@pytest.mark.parametrize("what", ["depth", "confidence"])
def test_a_map_of_another_size_is_named(what: str) -> None:
    maps = {"depth": depth_codes("apt1_0"), "confidence": confidence()}
    maps[what] = np.ascontiguousarray(maps[what][:-1])
    with pytest.raises(CaptureFileError, match=f"{what} map is 48 x 63.*need 48 x 64"):
        published_labels(**maps, frame=FRAME, grid=FocusGrid.learnaf(), nearest_m=0.1, farthest_m=100.0,
                         rotate="ccw", size=SIZE, stride=40)  # fmt: skip


# Trees and archives


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
        assert {form for _, _, _, form in capture.frames} == {"raw"}
        assert {folder for folder, _ in capture.maps} == {"merged_depth", "merged_conf"}


def test_captures_may_be_links_to_other_disks(part: Path, tmp_path: Path) -> None:
    for folder in part.iterdir():
        (tmp_path / "train1" / folder.name).mkdir(parents=True)
        (tmp_path / "train1" / folder.name / "apt1_0").symlink_to(folder / "apt1_0")
    (capture,) = list_captures(tmp_path, ["center"], ["raw"])
    assert len(capture.frames) == 6


def test_forms_and_cameras_are_chosen(part: Path) -> None:
    up, left = list_captures(part, CAMERAS, ["up"])
    assert {path.parts[-4] for _, _, path, _ in up.frames} == {"raw_up_left_pd", "raw_up_right_pd"}
    assert left.camera == "left"
    assert len(left.frames) == 2
    assert list_captures(part, ["top"], ["up"]) == []


def test_other_folders_are_no_tree(tmp_path: Path) -> None:
    assert not is_tree(tmp_path)
    assert not is_tree(tmp_path / "nowhere")


def test_an_archive_holds_what_the_tree_holds(part: Path, tmp_path: Path) -> None:
    archive = write_archive(part, tmp_path / "train1.tar.gz")
    assert list_archives(tmp_path) == list_archives(archive) == [archive]
    positions: list[int] = []
    found = {
        name.partition(":")[2]: read()
        for item, name, read in read_archive(archive, lambda item: item.camera == "center", positions.append)
    }
    expected = {
        str(path.relative_to(part.parent)): path.read_bytes()
        for path in part.rglob("*_center.*")
        if path.suffix != ".jpg"
    }
    assert found == expected
    assert positions == sorted(positions)
    assert positions[-1] == archive.stat().st_size


def test_the_part_of_an_archive_without_folders_is_its_name(part: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "train5.tar", "w") as tar:
        tar.add(part / "merged_depth", arcname="merged_depth")
    items = [item for item, _, _ in read_archive(tmp_path / "train5.tar", lambda _: True, lambda _: None)]
    assert {item.part for item in items} == {"train5"}


@pytest.mark.parametrize("left", [0.02, 0.5, 0.999])
def test_a_truncated_archive_is_named(part: Path, tmp_path: Path, left: float) -> None:
    archive = write_archive(part, tmp_path / "train1.tar.gz")
    data = archive.read_bytes()
    archive.write_bytes(data[: int(left * len(data))])
    with pytest.raises(ArchiveError, match=r"train1\.tar\.gz is damaged or cut short"):
        [read() for _, _, read in read_archive(archive, lambda _: True, lambda _: None)]


def test_a_damaged_archive_is_named(part: Path, tmp_path: Path) -> None:
    archive = write_archive(part, tmp_path / "train1.tar.gz")
    data = bytearray(archive.read_bytes())
    data[-6] ^= 1  # in the checksum
    archive.write_bytes(bytes(data))
    with pytest.raises(ArchiveError, match="damaged"):
        [read() for _, _, read in read_archive(archive, lambda _: True, lambda _: None)]
    archive.write_bytes(b"nonsense" * 200)
    with pytest.raises(ArchiveError, match="damaged"):
        [read() for _, _, read in read_archive(archive, lambda _: True, lambda _: None)]
