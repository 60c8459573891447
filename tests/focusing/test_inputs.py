"""What people hand over: numbers of every kind, checked once."""

import numpy as np
import pytest

from dioptre.errors import DioptreError, InputError, MethodError
from dioptre.focusing.arguments import _method
from dioptre.focusing.inputs import centre_of, cut, to_ladder, to_rois, to_where
from dioptre.focusing.result import Roi
from dioptre.focusing.slices import to_slices
from dioptre.grid import FocusGrid
from dioptre.methods.base import WHOLE
from dioptre.problem import Problem

GRID = FocusGrid.learnaf()


@pytest.mark.parametrize(
    "where", [3, (0.1,), (0.1, None), "xy", (np.inf, 0), (np.nan, 0), (1.5, 0), (0, 0, 0)]
)
def test_a_place_is_two_numbers_in_the_frame(where: object) -> None:
    with pytest.raises(InputError, match=r"\(x, y\), each in \[-1, 1\]"):
        to_where(where)


def test_a_place_may_be_unknown() -> None:
    assert to_where(None) is None
    assert to_where(np.array([0.5, -1.0])) == (0.5, -1.0)


@pytest.mark.parametrize(
    "roi",
    [5, "0,0,32,32", (0, 0, 32), (0, 0, np.nan, 32), (0, 0, np.inf, 32), (0, 0, None, 32), (0, 0, 20.5, 32)],
)
def test_a_region_is_four_whole_numbers(roi: object) -> None:
    with pytest.raises(DioptreError, match="x, y, width, height in whole pixels"):
        to_rois(roi, (100, 200))


def test_regions_may_be_one_or_many_or_all() -> None:
    assert to_rois(None, (100, 200)) == to_rois([], (100, 200)) == [None]
    assert to_rois((1, 2, 30, 40), (100, 200)) == [Roi(1, 2, 30, 40)]
    assert to_rois([(1, 2, 30, 40), [0, 0, 16, 16]], (100, 200)) == [Roi(1, 2, 30, 40), Roi(0, 0, 16, 16)]
    assert to_rois(np.array([1, 2, 30, 40]), (100, 200)) == [Roi(1, 2, 30, 40)]


def test_a_region_is_cut_out_and_knows_its_centre() -> None:
    frame = np.arange(200 * 100).reshape(100, 200)
    assert cut(frame, Roi(10, 20, 30, 40)).shape == (40, 30)
    assert cut(frame, Roi(10, 20, 30, 40))[0, 0] == frame[20, 10]
    assert centre_of(Roi(0, 0, 200, 100), (100, 200)) == (0.0, 0.0)
    assert centre_of(Roi(100, 0, 100, 100), (100, 200)) == (0.5, 0.0)


def test_a_mask_becomes_nan_whatever_the_dtype() -> None:
    for dtype in (np.uint8, np.float32):
        codes = np.ma.masked_array(np.ones((3, 16, 16), dtype), mask=False)
        codes[1, 2, 3] = np.ma.masked
        pixels = to_slices(codes, None, None).pixels()
        assert np.isnan(pixels[1, 0, 2, 3])
        assert np.isfinite(pixels).sum() == pixels.size - 1


def test_signed_integers_without_negative_values_are_fine() -> None:
    assert to_slices(np.full((3, 16, 16), 100, np.int16), None, None).pixels().max() == pytest.approx(
        100 / 32767
    )


def test_positions_are_given_once() -> None:
    with pytest.raises(InputError, match="give the positions once"):
        to_ladder(49, GRID, GRID.dioptres, None)
    assert to_ladder(3, None, [3.0, 2.0, 1.0], None).falling
    assert not to_ladder(3, None, None, None).grid.known


@pytest.mark.parametrize("method", [7, None, object()])
def test_a_method_is_a_key_a_file_or_an_autofocuser(method: object) -> None:
    unchecked = getattr(_method, "__wrapped__", _method)
    with pytest.raises(
        MethodError, match="a method is a key, the file of a network or an object with scores"
    ):
        unchecked(method, Problem.STACK_GREEN, WHOLE)
