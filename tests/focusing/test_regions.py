"""Regions without the pixels that do not count: what is cropped, what is filled, what is said."""

import numpy as np
import pytest

from dioptre.errors import InputError
from dioptre.focusing.regions import Filling, to_region
from dioptre.focusing.slices import to_slices
from dioptre.stacks.pictures import Window

WHOLE = Window(0, 0, 60, 80)


def stack_with(bad: np.ndarray) -> np.ndarray:
    """Returns a stack in one slice of which some pixels are NaN."""
    stack = np.random.default_rng(0).random((4, 60, 80))
    stack[2][bad] = np.nan
    return stack


def test_all_pixels_count_if_all_are_finite() -> None:
    slices = to_slices(stack_with(np.zeros((60, 80), bool)), None, None)
    region = to_region(slices, WHOLE)
    assert (region.window, region.filling, region.notes) == (WHOLE, None, ())


def test_a_straight_border_is_cropped_and_nothing_is_filled() -> None:
    bad = np.zeros((60, 80), bool)
    bad[:5] = bad[:, -9:] = True
    region = to_region(to_slices(stack_with(bad), None, None), WHOLE)
    assert region.window == Window(5, 0, 60, 71)
    assert region.filling is None
    assert "cropped to x=0 y=5 w=71 h=55" in region.notes[0]


def test_a_slanted_border_is_cropped_until_little_is_left_of_it() -> None:
    rows, cols = np.mgrid[:60, :80]
    bad = rows < 8 - cols / 10  # as a rotation leaves it
    region = to_region(to_slices(stack_with(bad), None, None), WHOLE)
    kept = region.window.cut(bad)
    assert region.window.top in range(5, 9)
    assert kept.mean() < 0.01


def test_a_hole_is_filled_with_what_is_around_it_in_every_slice() -> None:
    bad = np.zeros((60, 80), bool)
    bad[20:30, 40:52] = True
    slices = to_slices(stack_with(bad), None, None)
    region = to_region(slices, WHOLE)
    assert region.window == WHOLE
    for at in range(4):
        codes = slices.pictures.read(at)
        filled = region.pixels(slices, codes)[0]
        assert np.isfinite(filled).all()
        np.testing.assert_array_equal(filled[~bad], codes[0][~bad].astype(np.float32))
        inner = filled[22:28, 42:50]
        assert np.abs(np.diff(inner)).mean() < 0.3 * np.abs(np.diff(codes[0][:20])).mean()  # little detail


def test_a_hole_in_a_plane_continues_it() -> None:
    holes = np.zeros((20, 30), bool)
    holes[4:9, 10:16] = holes[0, 0] = holes[19, 29] = True
    plane = np.full((2, 20, 30), 0.25, np.float32)
    broken = plane.copy()
    broken[:, holes] = np.nan
    np.testing.assert_allclose(Filling.of(holes).fill(broken), plane, rtol=1e-6)


def test_a_region_that_hardly_counts_is_refused() -> None:
    bad = np.zeros((60, 80), bool)
    bad[:30, :30] = True
    slices = to_slices(stack_with(bad), None, None)
    with pytest.raises(InputError, match=r"100% are NaN, infinite or masked"):
        to_region(slices, Window(0, 0, 28, 28))
    assert to_region(slices, Window(30, 30, 60, 60)).notes == ()
