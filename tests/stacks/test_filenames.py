"""What the names of picture files say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dioptre.stacks.filenames import natural_key, series_pattern, view_of, with_view, without_view


@given(st.integers(0, 10**20), st.integers(0, 10**20), st.integers(0, 25), st.integers(0, 25))
def test_whole_numbers_compare_as_numbers(a, b, pad_a, pad_b):
    key_a, key_b = (natural_key(f"frame{n:0{pad}}.jpg") for n, pad in ((a, pad_a), (b, pad_b)))
    if a != b:
        assert (key_a < key_b) == (a < b)


@given(
    st.decimals(-(10**6), 10**6, places=4),
    st.decimals(-(10**6), 10**6, places=2),
    st.sampled_from(["_", "z=", ""]),
)
def test_decimals_compare_as_numbers(a, b, before):
    if a != b:
        assert (natural_key(f"{before}{a:f}.png") < natural_key(f"{before}{b:f}.png")) == (a < b)


@given(st.lists(st.text(alphabet="aA_-. 019²٣", max_size=8), unique=True).flatmap(
    lambda names: st.tuples(st.just(names), st.permutations(names))
))  # fmt: skip
def test_order_does_not_depend_on_where_it_starts(both):
    names, shuffled = both
    assert sorted(names, key=natural_key) == sorted(shuffled, key=natural_key)


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
    assert sorted(turned, key=natural_key) == ordered


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
    assert series_pattern(name) == series_pattern(other)


@pytest.mark.parametrize("name", ["left.png", "z_left_2.png", "z_left", "z_lefty.png"])
def test_other_names_tell_no_view(name):
    assert view_of(name) is None
    assert with_view(name, "right") == name
