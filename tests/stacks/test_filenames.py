"""What the names of picture files say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dioptre.stacks.filenames import USUAL, numerals_of, untold_order, view_of, with_view, without_view
from dioptre.stacks.formats import open_pictures
from tests.stacks.picture_files import write_series


@given(st.integers(0, 10**20), st.integers(0, 10**20), st.integers(0, 25), st.integers(0, 25))
def test_whole_numbers_compare_as_numbers(a, b, pad_a, pad_b):
    key_a, key_b = (USUAL.key(f"frame{n:0{pad}}.jpg") for n, pad in ((a, pad_a), (b, pad_b)))
    if a != b:
        assert (key_a < key_b) == (a < b)


@given(
    st.decimals(-(10**6), 10**6, places=4),
    st.decimals(-(10**6), 10**6, places=2),
    st.sampled_from(["_", "z=", ""]),
)
def test_decimals_compare_as_numbers(a, b, before):
    if a != b:
        assert (USUAL.key(f"{before}{a:f}.png") < USUAL.key(f"{before}{b:f}.png")) == (a < b)


@given(st.lists(st.text(alphabet="aA_-. 019²٣", max_size=8), unique=True).flatmap(
    lambda names: st.tuples(st.just(names), st.permutations(names))
))  # fmt: skip
def test_order_does_not_depend_on_where_it_starts(both):
    names, shuffled = both
    assert sorted(names, key=USUAL.key) == sorted(shuffled, key=USUAL.key)


@pytest.mark.parametrize(
    "ordered",
    [
        ["frame2.jpg", "frame10.jpg"],
        ["IMG_00.198.jpg", "IMG_00.204.jpg", "IMG_01.5.jpg"],
        ["img-1.png", "img-2.png", "img-10.png"],  # a separator, not a sign
        ["2024-01-09.png", "2024-01-10.png", "2024-02-01.png"],
        ["z_-10.5.tif", "z_-2.tif", "z_0.tif", "z_3.tif"],
        ["IMG_1.JPG", "img_2.jpg", "IMG_3.JPG"],
        ["9007199254740992.png", "09007199254740993.png"],  # alike as floats
        ["a1_z9.png", "a1_z10.png", "a2_z1.png"],
    ],
)
def test_natural_order_examples(ordered):
    turned = ordered[1:] + ordered[:1]
    assert sorted(turned, key=USUAL.key) == ordered


@pytest.mark.parametrize(
    ("name", "view", "other"),
    [
        ("z2_left.png", "left", "z2_right.png"),
        ("Z2_LEFT.PNG", "left", "Z2_RIGHT.PNG"),
        ("z_Right.tif", "right", "z_Left.tif"),
    ],
)
def test_the_other_view_of_a_slice_has_the_same_name_in_the_same_case(name, view, other):
    assert view_of(name) == view
    assert with_view(name, "left" if view == "right" else "right") == other
    assert with_view(name, view) == name
    assert without_view(name) == without_view(other)
    assert USUAL.series(name) == USUAL.series(other)


@pytest.mark.parametrize("name", ["left.png", "z_left_2.png", "z_left", "z_lefty.png"])
def test_other_names_tell_no_view(name):
    assert view_of(name) is None
    assert with_view(name, "right") == name


# Numbers that are written otherwise

HEX = [f"z{at:x}.png" for at in range(31)]
ORDERED = {
    "hexadecimal": HEX,
    "hexadecimal of two places": [f"z{at:02X}.png" for at in range(31)],
    "with a name before": [f"bead_slice_{at:02x}.png" for at in range(31)],
    "letters": ["a.png", "b.png", "c.png", "d.png", "e.png"],
    "negative": [f"z{at}.png" for at in range(-10, 11)],
    "with signs": [f"z{at:+d}.png" for at in range(-10, 11)],
    "negative decimals": [f"z{at / 10}.png" for at in range(-10, 11)],
    "dots between whole numbers": [f"z0.{at}.png" for at in range(1, 32)],
    "dots, without a tie": [f"z0.{at}.png" for at in range(2, 12)],
    "decimals": [f"z{at / 20}.png" for at in range(31)],
    "decimals with nothing cut off": [f"z{at / 10:.2f}.png" for at in range(31)],
}


@pytest.mark.parametrize("names", ORDERED.values(), ids=ORDERED)
def test_numbers_that_are_written_otherwise_count_as_they_are_meant(names, tmp_path):
    key = numerals_of(names).key
    assert sorted(names[3:] + names[:3], key=key) == names
    assert untold_order(names) == []
    write_series(tmp_path, [*names, "overview.png"])
    pictures = open_pictures(tmp_path)
    assert pictures.names == tuple(names)
    assert pictures.skipped == ("overview.png",)
    files = [tmp_path / name for name in reversed(names)]
    assert open_pictures(files).names == tuple(names)


@pytest.mark.parametrize(
    "names",
    [
        [f"f{at}.png" for at in range(20)],
        [f"img-{at}.png" for at in range(20)],
        [f"2024-01-{at:02}.png" for at in range(1, 32)],
        ["IMG_00.198.jpg", "IMG_00.204.jpg", "IMG_01.5.jpg"],
        ["0.198.jpg", "0.204.jpg", "0.21.jpg", "0.3.jpg"],
        [f"{at / 4}.png" for at in range(9)],
        ["1.png", "2.png"],
    ],
)
def test_numbers_are_written_as_usual_mostly(names):
    assert numerals_of(names) is USUAL


@pytest.mark.parametrize(
    "names",
    [
        ["near.png", "mid.png", "far.png"],
        ["z00.png", "z01.png", "z0a.png", "z13.png", "z1f.png", "z2c.png"],  # perhaps hexadecimal
        ["before_1.png", "before_2.png", "after_1.png", "after_2.png"],
        ["1.5.png", "1.50.png", "2.7.png", "3.png"],
    ],
)
def test_an_order_that_names_do_not_tell_is_said_and_nothing_is_left_out(names, tmp_path):
    write_series(tmp_path, names)
    pictures = open_pictures(tmp_path)
    assert set(pictures.names) == set(names)
    assert pictures.skipped == ()
    (note,) = pictures.notes
    listed = ", ".join(pictures.names[:3])
    assert note.startswith(
        f"the names of the pictures do not tell their order: they are taken as follows: {listed}"
    )
