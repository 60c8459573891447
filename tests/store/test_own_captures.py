import pickle
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import cv2
import numpy as np
import tifffile

from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.store.own_captures import OwnCapture, capture_format, list_folders, own_labels, read_codes

FRAME = (130, 170)
GRID = FocusGrid.uniform(2.0, 0.4, 3)
CODES = np.random.default_rng(0).integers(0, 256, (3, 2, *FRAME)).astype(np.uint8)
BASE = {"camera": "../camera.toml", "scene": "desk", "split": "train"}


def write_capture(home: Path, name: str = "desk_0", **entries: object) -> Path:
    """Writes a capture without its truth; returns its capture.toml."""
    folder = home / name
    (folder / "slices").mkdir(parents=True)
    CameraModel(20.0, 1.4, 4.0, FRAME, GRID, name="bench").to_toml(home / "camera.toml")
    for index, views in enumerate(CODES):
        for side, codes in zip(("left", "right"), views, strict=True):
            cv2.imwrite(str(folder / f"slices/z{index + 8}_{side}.png"), codes)  # z8, z9, z10
    lines = [f"{key} = {value!r}".replace("'", '"') for key, value in {**BASE, **entries}.items()]
    (folder / "capture.toml").write_text("\n".join(lines) + "\n")
    return folder / "capture.toml"


def write_labels(file: Path, text: str) -> OwnCapture:
    (file.parent / "labels.csv").write_text(text)
    return OwnCapture.from_toml(file)


def refused(file: Path) -> str:
    with pytest.raises(ValueError, match=str(file)) as error:
        OwnCapture.from_toml(file)
    assert "\n" not in str(error.value)
    return str(error.value)


# capture.toml


def test_a_capture_says_what_it_is(tmp_path: Path) -> None:
    capture = OwnCapture.from_toml(write_capture(tmp_path, labels="labels.csv", black=4, white=250.5))
    assert (capture.name, capture.scene, capture.split) == ("desk_0", "desk", "train")
    assert capture.camera.name == "bench"
    assert capture.grid == GRID
    assert (capture.black, capture.white) == (4.0, 250.5)
    assert (capture.order, capture.depth_unit, capture.light) == ("far-to-near", "m", "normal")


def test_a_capture_may_have_a_ladder_of_its_own(tmp_path: Path) -> None:
    capture = OwnCapture.from_toml(write_capture(tmp_path, labels="l.csv", dioptres=[0.0, 1.0, 2.5]))
    assert capture.grid.dioptres.tolist() == [0.0, 1.0, 2.5]


def test_a_capture_can_be_sent_to_another_process(tmp_path: Path) -> None:
    capture = OwnCapture.from_toml(write_capture(tmp_path, labels="l.csv"))
    assert pickle.loads(pickle.dumps(capture)) == capture


def test_a_capture_needs_labels(tmp_path: Path) -> None:
    said = refused(write_capture(tmp_path))
    assert "labels are missing" in said
    assert "depth" in said
    assert "row,col,index" in said


def test_wrong_entries_are_named(tmp_path: Path) -> None:
    for at, (entries, expected) in enumerate(
        [
            ({"labels": "l.csv", "depth": "d.npy"}, "both"),
            ({"labels": "l.csv", "confidence": "c.npy"}, "no depth"),
            ({"labels": "l.csv", "colour": "red"}, "'colour'"),
            ({"labels": "l.csv", "split": "exam"}, "'exam'"),
            ({"labels": "l.csv", "order": "up"}, "'up'"),
            ({"labels": "l.csv", "black": "dark"}, "'dark'"),
            ({"labels": 3}, "labels is 3"),
            ({"depth": "d.npy", "depth_unit": "cm"}, "'cm'"),
            ({"labels": "l.csv", "camera": "nowhere.toml"}, "nowhere.toml"),
            ({"labels": "l.csv", "dioptres": [2.0, 1.0]}, "dioptres rise"),
            ({"labels": "l.csv", "dioptres": [1.0, 10**400]}, "too large"),
            ({"labels": "l.csv", "white": 10**400}, "too large"),
        ]
    ):
        assert expected in refused(write_capture(tmp_path, f"c{at}", **entries))


def test_missing_entries_and_broken_files_are_named(tmp_path: Path) -> None:
    file = write_capture(tmp_path, labels="l.csv")
    text = file.read_text()
    file.write_text(text.replace('scene = "desk"\n', ""))
    assert "lacks the entry 'scene'" in refused(file)
    file.write_text("scene =")
    assert "not a TOML" in refused(file)
    assert "more than letters" in refused(write_capture(tmp_path, "a b", labels="l.csv"))


def test_captures_are_found_by_their_files(tmp_path: Path) -> None:
    first, second = write_capture(tmp_path, "b"), write_capture(tmp_path, "a")
    assert list_folders(tmp_path) == [second, first]
    assert list_folders(first.parent) == [first]
    assert list_folders(tmp_path / "nowhere") == []


# Pictures


def test_codes_come_in_numeric_order_with_both_views(tmp_path: Path) -> None:
    capture = OwnCapture.from_toml(write_capture(tmp_path, labels="l.csv"))
    codes, white = read_codes(capture)
    assert codes.dtype == np.uint16
    np.testing.assert_array_equal(codes, CODES)
    assert white == 255.0
    form = capture_format(capture, codes, white, 128)
    assert (form.views, form.rows_per_native, form.white, len(form.grid)) == (2, 1, 255.0, 3)


def test_near_to_far_is_turned_round(tmp_path: Path) -> None:
    capture = OwnCapture.from_toml(write_capture(tmp_path, labels="l.csv", order="near-to-far"))
    np.testing.assert_array_equal(read_codes(capture)[0], CODES[::-1])


def test_the_right_view_may_be_apart(tmp_path: Path) -> None:
    file = write_capture(tmp_path, labels="l.csv", slices="left.npy", right="right.npy", white=1023)
    codes = CODES.astype(np.uint16) << 2
    np.save(file.parent / "left.npy", codes[:, 0])
    np.save(file.parent / "right.npy", codes[:, 1])
    found, white = read_codes(OwnCapture.from_toml(file))
    np.testing.assert_array_equal(found, codes)
    assert white == 1023.0
    np.save(file.parent / "right.npy", codes[:2, 1])
    with pytest.raises(ValueError, match="two views of the same slices"):
        read_codes(OwnCapture.from_toml(file))


def test_both_views_may_be_pages_of_one_file_if_its_axes_are_told(tmp_path: Path) -> None:
    file = write_capture(tmp_path, labels="l.csv", slices="both.tif", axes="ZVYX")
    tifffile.imwrite(file.parent / "both.tif", CODES, photometric="minisblack")
    np.testing.assert_array_equal(read_codes(OwnCapture.from_toml(file))[0], CODES)
    file = write_capture(tmp_path / "other", labels="l.csv", axes="ZQYX")
    assert "not 'ZQYX'" in refused(file)


def test_one_view_is_enough(tmp_path: Path) -> None:
    file = write_capture(tmp_path, labels="l.csv", slices="stack.npy")
    np.save(file.parent / "stack.npy", CODES[:, 0])
    assert read_codes(OwnCapture.from_toml(file))[0].shape == (3, 1, *FRAME)


def test_pictures_that_do_not_fit_are_named(tmp_path: Path) -> None:
    file = write_capture(tmp_path, labels="l.csv", slices="stack.npy")
    for wrong, expected in (
        (CODES[:2, 0], "2 slices, but the grid has 3"),
        (CODES[:, 0, :-1], "170 x 129 pixels, but the camera's frame is 170 x 130"),
        (CODES[:, 0] / 255.0, "float64"),
    ):
        np.save(file.parent / "stack.npy", wrong)
        with pytest.raises(ValueError, match=expected):
            read_codes(OwnCapture.from_toml(file))


# Labels


def test_a_table_of_indices(tmp_path: Path) -> None:
    capture = write_labels(write_capture(tmp_path, labels="labels.csv"), "row,col,index\n0,0,2\n\n2,42,0\n")
    labels = own_labels(capture, FRAME, 128, 40)
    assert labels.corners.tolist() == [[0, 0], [2, 42]]
    assert labels.truth.tolist() == [2, 0]
    np.testing.assert_allclose(labels.depth, GRID.dioptres[[2, 0]])
    assert len(labels.trusted(0.99)) == 2


def test_a_table_of_dioptres(tmp_path: Path) -> None:
    capture = write_labels(
        write_capture(tmp_path, labels="labels.csv"), "Row, Col, Dioptres\n1,1,2.4\n1,2,0\n"
    )
    labels = own_labels(capture, FRAME, 128, 40)
    assert labels.truth.tolist() == [2, 0]
    assert labels.depth.tolist() == [2.4, 0.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "begins with ''"),
        ("a,b\n1,2\n", "begins with 'a,b'"),
        ("row,col,index\n", "no line"),
        ("row,col,index\n0,0,1\n0,x,1\n", "line 3 .*'0,x,1'"),
        ("row,col,index\n0,0\n", "line 2"),
        ("row,col,index\n3,0,1\n", "line 2 .*row 3, column 0 is not inside"),
        ("row,col,index\n0,-1,1\n", "line 2 .*column -1"),
        ("row,col,index\n0,0,3\n", "line 2 .*0..2, not 3"),
        ("row,col,dioptres\n0,0,-1\n", "line 2 .*-1"),
        ("row,col,dioptres\n0,0,nan\n", "line 2 .*nan"),
    ],
)
def test_wrong_tables_are_named(tmp_path: Path, text: str, expected: str) -> None:
    capture = write_labels(write_capture(tmp_path, labels="labels.csv"), text)
    with pytest.raises(ValueError, match=expected) as error:
        own_labels(capture, FRAME, 128, 40)
    assert "labels.csv" in str(error.value)


def test_depth_in_metres_and_in_millimetres_is_the_same(tmp_path: Path) -> None:
    metres = np.full((65, 85), 0.5)  # half the frame
    metres[:5] = 0.0  # not known
    metres[5:10] = np.nan
    for name, entries in (("m", {"depth": "d.npy"}), ("mm", {"depth": "d.png", "depth_unit": "mm"})):
        file = write_capture(tmp_path, name, **entries)
        if name == "m":
            np.save(file.parent / "d.npy", metres)
        else:
            cv2.imwrite(str(file.parent / "d.png"), (np.nan_to_num(metres) * 1000).astype(np.uint16))
        labels = own_labels(OwnCapture.from_toml(file), FRAME, 128, 40)
        assert len(labels) == 2
        np.testing.assert_allclose(labels.depth, 2.0)
        assert labels.truth.tolist() == [int(GRID.nearest_index(2.0))] * 2
        assert labels.confidence.tolist() == [1.0, 1.0]


def test_infinity_is_zero_dioptres(tmp_path: Path) -> None:
    file = write_capture(tmp_path, depth="d.npy")
    np.save(file.parent / "d.npy", np.full(FRAME, np.inf))
    labels = own_labels(OwnCapture.from_toml(file), FRAME, 128, 40)
    assert labels.depth.tolist() == [0.0, 0.0]
    assert labels.truth.tolist() == [0, 0]


def test_confidence_takes_part(tmp_path: Path) -> None:
    file = write_capture(tmp_path, depth="d.npy", confidence="c.npy")
    np.save(file.parent / "d.npy", np.full(FRAME, 0.5))
    np.save(file.parent / "c.npy", np.full(FRAME, 0.8))
    labels = own_labels(OwnCapture.from_toml(file), FRAME, 128, 40)
    assert labels.confidence.tolist() == [0.8, 0.8]
    for wrong, expected in ((np.ones((65, 85)), r"\(65, 85\)"), (np.ones(FRAME, np.uint8), "uint8")):
        np.save(file.parent / "c.npy", wrong)
        with pytest.raises(ValueError, match=rf"c\.npy.*{expected}"):
            own_labels(OwnCapture.from_toml(file), FRAME, 128, 40)


def test_depth_that_does_not_fit_is_named(tmp_path: Path) -> None:
    file = write_capture(tmp_path, depth="d.npy")
    for wrong, expected in (
        (np.ones((60, 85)), "60 x 85"),
        (np.ones(FRAME, np.uint16), 'depth_unit = "mm"'),
    ):
        np.save(file.parent / "d.npy", wrong)
        with pytest.raises(ValueError, match=rf"d\.npy.*{expected}"):
            own_labels(OwnCapture.from_toml(file), FRAME, 128, 40)
