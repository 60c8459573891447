"""Positions: where the lens was at each slice, as people say it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dioptre.errors import StackFileError
from dioptre.stacks.positions import positions_from_names, read_positions
from tests.stacks.picture_files import COLS, ROWS, noise, write


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["IMG_00.198.jpg", "IMG_00.204.jpg", "IMG_01.5.jpg"], [0.198, 0.204, 1.5]),
        (["joe2_frame1.jpg", "joe2_frame10.jpg"], [1, 10]),
        (["z_-3.5um_left.png", "z_2um_left.png"], [-3.5, 2]),
        (["IMG_00.198", "IMG_00.204"], [0.198, 0.204]),
        (["slice 0", "slice 1", "slice 2"], [0, 1, 2]),
        (["near 7.tif"], [7]),
        (["5.png", "3.png"], [5, 3]),
    ],
)
def test_positions_from_names(names, expected):
    np.testing.assert_array_equal(positions_from_names(names), expected)


@given(st.lists(st.decimals(0, 1000, places=3), min_size=2, unique=True))
def test_positions_come_back_from_names(values):
    names = [f"scan7_{value}.tif" for value in values]
    np.testing.assert_array_equal(positions_from_names(names), [float(value) for value in values])


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a1.png", "far.png"], "far.png has no number"),
        (["1_z5.png", "2_z6.png"], "2 numbers vary"),
        (["1.5.png", "2.png", "01.50.png"], "1.5.png and 01.50.png have the same position, 1.5"),
        (["a1.png", "b1.png"], "0 numbers vary"),
        (["a1.png", "a1_2.png"], "1 and 2 numbers"),
        (["1_2.png"], "2 numbers"),
    ],
)
def test_unclear_names_are_refused(names, said):
    with pytest.raises(StackFileError, match=said):
        positions_from_names(names)


NAMES = ("frame1.jpg", "frame2.jpg", "frame10.jpg")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.2,0.4,0.6", [0.2, 0.4, 0.6]),
        (" 3, 2 ,-1e1", [3, 2, -10]),
        ("0:0.5", [0, 0.5, 1]),
        ("10:-2", [10, 8, 6]),
    ],
)
def test_positions_as_text(text, expected):
    found, unit = read_positions(text, NAMES)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert unit is None


@pytest.mark.parametrize(
    ("text", "expected", "unit"),
    [
        ("0:0.5um", [0, 0.5, 1], "um"),
        ("0:5:10um", [0, 5, 10], "um"),
        ("10:-5:0 steps", [10, 5, 0], "steps"),
        ("-1:0.5:0µm", [-1, -0.5, 0], "um"),
        ("1,2,4microns", [1, 2, 4], "um"),
        ("1, 2, 4 metres", [1, 2, 4], "m"),
        ("0.2:0.2D", [0.2, 0.4, 0.6], "dioptres"),
        ("names:um", [1, 2, 10], "um"),
        ("names:diopters", [1, 2, 10], "dioptres"),
    ],
)
def test_positions_in_words_have_a_unit(text, expected, unit):
    found, told = read_positions(text, NAMES)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert told == unit


@pytest.mark.parametrize(
    ("names", "expected", "unit"),
    [
        (["IMG_00.198.jpg", "IMG_01.jpg"], [0.198, 1], None),
        (["z10um.tif", "z12um.tif"], [10, 12], "um"),
        (["z_-3.5µm_left.png", "z_2µm_left.png"], [-3.5, 2], "um"),
        (["5x_0.2dpt.png", "5x_0.4DPT.png"], [0.2, 0.4], "dioptres"),
        (["0.5mmx.png", "0.7mmx.png"], [0.5, 0.7], None),
    ],
)
def test_names_that_tell_positions_by_themselves(names, expected, unit):
    found, told = read_positions("names", names)
    np.testing.assert_array_equal(found, expected)
    assert told == unit
    assert read_positions("names:counts", names)[1] == "counts"


@pytest.mark.parametrize("names", [NAMES, ("img_001.png", "img_002.png"), ("z1um.png", "z2mm.png")])
def test_whole_numbers_in_names_are_positions_only_where_their_unit_is_named(names):
    with pytest.raises(StackFileError, match=r"may only count the pictures: .* such as names:um"):
        read_positions("names", names)
    assert len(read_positions("names:um", names)[0]) == len(names)


def test_a_file_of_positions_may_have_a_unit(tmp_path):
    file = tmp_path / "steps.csv"
    file.write_text("1\n2\n4\n")
    found, unit = read_positions(f"{file}:um", NAMES)
    assert (found.tolist(), unit) == ([1, 2, 4], "um")
    (tmp_path / "at:um").write_text("5\n6\n7\n")  # a name that looks like a unit is a name if it is there
    found, unit = read_positions(str(tmp_path / "at:um"), NAMES)
    assert (found.tolist(), unit) == ([5, 6, 7], None)


def test_the_way_of_a_lens_has_no_names(tmp_path):
    assert read_positions("0:5:245um", ())[0].tolist() == [5.0 * at for at in range(50)]
    assert read_positions("3,1", ())[0].tolist() == [3, 1]
    (tmp_path / "p.csv").write_text("name,position\na.png,3\nb.png,4\n")
    assert read_positions(str(tmp_path / "p.csv"), ())[0].tolist() == [3, 4]
    with pytest.raises(StackFileError, match="0:5um does not say where the lens's way ends"):
        read_positions("0:5um", ())
    with pytest.raises(StackFileError, match="no pictures whose names"):
        read_positions("names", ())


@pytest.mark.parametrize(
    "content",
    [
        "0.2\n0.4\n0.6\n",
        "position\n0.2\n\n0.4\n0.6",
        "\ufeff0.2\r\n# dioptres\r\n0.4\r\n0.6\r\n",
        "name,position\nframe10.jpg,0.6\nframe1.jpg,0.2\nframe2.jpg,0.4\n",
        '"frame10.jpg";"0.6"\n"frame1.jpg";"0.2"\n"frame2.jpg";"0.4"\n',
        "frame2\t0.4\nframe1\t0.2\nframe10\t0.6\nframe11\t0.8\n",
        "frame2.jpg 0.4\nframe1.jpg 0.2\nframe10.jpg 0.6\n",
    ],
)
def test_positions_from_a_file(tmp_path, content):
    file = tmp_path / "positions.csv"
    file.write_text(content, encoding="utf-8")
    np.testing.assert_array_equal(read_positions(str(file), NAMES)[0], [0.2, 0.4, 0.6])


def test_names_with_commas_and_spaces_are_matched(tmp_path):
    (tmp_path / "p.csv").write_text("my frame, far.png, 2\nnear.png,1\n")
    np.testing.assert_array_equal(
        read_positions(str(tmp_path / "p.csv"), ["near.png", "my frame, far.png"])[0], [1, 2]
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("0.2\n0.4\n", "2 positions for 3 slices"),
        ("", "0 positions for 3 slices"),
        ("0.2\nfar\n0.6\n", "line 2 .*'far'"),
        ("0.2\n0.4\nnan\n", "frame10.jpg is nan"),
        ("frame1.jpg,0.2\nframe2.jpg,0.4\n", "2 positions for 3 slices: frame10.jpg is not in it"),
        ("frame1.jpg,0.2\n0.4\nframe10.jpg,0.6\n", "without a name"),
        ("frame1.jpg,1\nframe1.jpg,2\nframe2.jpg,3\nframe10.jpg,4\n", "twice"),
    ],
)
def test_wrong_position_files_are_refused(tmp_path, content, said):
    file = tmp_path / "positions.txt"
    file.write_text(content)
    with pytest.raises(StackFileError, match=said) as caught:
        read_positions(str(file), NAMES)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2", "2 positions for 3 slices"),
        ("1,2,3,4", "4 positions for 3 slices"),
        ("1,2,2", "frame2.jpg and frame10.jpg have the same position, 2"),
        ("1,2,inf", "frame10.jpg is inf"),
        ("0:0", "same position"),
        ("1,x,3", "no file 1,x,3"),
        ("gone.csv", "no file gone.csv.*START:STEP"),
        ("gone.csv:um", "no file gone.csv;"),
        ("1,2,,3um", "not '1,2,,3um'"),
        ("0:5:12um", "from 0 no whole number of steps of 5 leads to 12"),
        ("0:5:-10um", "from 0 no whole number of steps of 5 leads to -10"),
        ("0:0:10um", "steps of 0 leads to 10"),
        ("0:5:20um", "5 positions for 3 slices"),
        ("", "positions are .* not an empty text"),
        (".", "cannot be read as positions: Is a directory$"),
    ],
)
def test_wrong_position_texts_are_refused(text, said):
    with pytest.raises(StackFileError, match=said):
        read_positions(text, NAMES)


def test_picture_as_position_file_is_refused(tmp_path):
    write(tmp_path / "0.png", noise(ROWS, COLS))
    with pytest.raises(StackFileError, match=r"0\.png"):
        read_positions(str(tmp_path / "0.png"), NAMES)


def test_signs_in_names_are_those_of_positions():
    names = [f"z{at}um.tif" for at in range(-2, 3)]
    positions, unit = read_positions("names", names)
    assert positions.tolist() == [-2, -1, 0, 1, 2]
    assert unit == "um"


@pytest.mark.parametrize(
    "names", [[f"z{at:x}.tif" for at in range(20)], [f"z0.{at}.tif" for at in range(1, 20)]]
)
def test_numbers_that_tell_only_the_order_are_no_positions(names):
    with pytest.raises(StackFileError, match="they tell the order, and no positions"):
        read_positions("names:um", names)
