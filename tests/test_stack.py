"""FocalStack: what it refuses, what it selects, and how codes become pixels."""

import jaxtyping
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dioptre.grid import FocusGrid
from dioptre.stack import (
    VIEW_CODES,
    FocalStack,
    codes_to_pixels,
    linear_to_srgb,
    pixels_to_codes,
    srgb_to_linear,
)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a test see what users see: while the tests run, annotations would refuse bad shapes first."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def numbered_pixels(batch: int = 3, slices: int = 5, views: int = 2) -> np.ndarray:
    """Returns pixels that tell where they come from: 0.bsv for batch b, slice s, view v."""
    b, s, v = np.mgrid[:batch, :slices, :views]
    value = (0.1 * b + 0.01 * s + 0.001 * v).astype(np.float32)
    return np.broadcast_to(value[..., None, None], (batch, slices, views, 4, 6)).copy()


def a_stack(batch: int = 3, slices: int = 5, views: int = 2) -> FocalStack:
    return FocalStack.full(numbered_pixels(batch, slices, views))


def test_full_numbers_the_slices_of_an_unknown_ladder() -> None:
    stack = a_stack()
    assert stack.indices.tolist() == [[0, 1, 2, 3, 4]] * 3
    assert stack.grid == FocusGrid(range(5))
    assert (stack.batch, stack.views, stack.shape) == (3, 2, (4, 6))
    assert stack.where is None


def test_full_keeps_what_it_is_given() -> None:
    grid = FocusGrid.uniform(n=5)
    where = np.zeros((3, 2))
    stack = FocalStack.full(numbered_pixels(), grid, where, view_codes=959.0)
    assert stack.grid is grid
    assert stack.where is where
    assert stack.green_codes == 1918.0


def test_full_needs_a_ladder_of_its_length() -> None:
    with pytest.raises(ValueError, match="5 slices, but its focus grid has 49 positions"):
        FocalStack.full(numbered_pixels(), FocusGrid.learnaf())


@pytest.mark.usefixtures("unchecked")
def test_full_refuses_pixels_without_a_batch_axis() -> None:
    with pytest.raises(ValueError, match="not 4-dimensional"):
        FocalStack.full(numbered_pixels()[0])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("pixels", "message"),
    [
        (np.zeros((5, 2, 4, 6), np.float32), r"not float32 of shape \(5, 2, 4, 6\)"),
        (np.zeros((1, 5, 2, 4, 6), np.float64), r"not float64 of shape \(1, 5, 2, 4, 6\)"),
        (np.zeros((1, 5, 2, 4, 6), np.uint16), "not uint16"),
        (np.zeros((1, 5, 3, 4, 6), np.float32), "one view or two, not 3"),
        (np.zeros((1, 5, 2, 0, 6), np.float32), r"at least one slice and one pixel.*\(1, 5, 2, 0, 6\)"),
        (np.zeros((0, 5, 2, 4, 6), np.float32), r"\(0, 5, 2, 4, 6\)"),
    ],
)
def test_bad_pixels_are_named(pixels: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FocalStack(pixels=pixels, indices=np.arange(5)[None], grid=FocusGrid(range(5)))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("indices", "message"),
    [
        (np.arange(5), r"\(batch, slice\) = \(1, 5\), not \(5,\)"),
        (np.arange(4)[None], r"\(1, 5\), not \(1, 4\)"),
        (np.arange(1, 6)[None], r"lie in 0\.\.4, not 1\.\.5"),
        (np.arange(-1, 4)[None], r"lie in 0\.\.4, not -1\.\.3"),
    ],
)
def test_bad_indices_are_named(indices: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FocalStack(pixels=numbered_pixels(batch=1), indices=indices, grid=FocusGrid(range(5)))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("shape", [(3,), (2, 2), (3, 3)])
def test_a_bad_where_is_named(shape: tuple[int, ...]) -> None:
    indices = np.tile(np.arange(5), (3, 1))
    with pytest.raises(ValueError, match=r"where is \(batch, 2\), not \(\d"):
        FocalStack(numbered_pixels(), indices, FocusGrid(range(5)), where=np.zeros(shape))


def test_at_one_list_for_all_scenes() -> None:
    chosen = a_stack().at([4, 1])
    assert chosen.indices.tolist() == [[4, 1]] * 3
    np.testing.assert_allclose(chosen.pixels[:, :, 0, 0, 0], [[0.04, 0.01], [0.14, 0.11], [0.24, 0.21]])
    assert chosen.pixels.shape == (3, 2, 2, 4, 6)
    assert chosen.pixels.dtype == np.float32


def test_at_a_row_for_each_scene() -> None:
    chosen = a_stack().at(np.array([[0], [2], [4]]))
    assert chosen.indices.tolist() == [[0], [2], [4]]
    np.testing.assert_allclose(chosen.pixels[:, 0, 1, 3, 5], [0.001, 0.121, 0.241], rtol=1e-6)


def test_at_follows_positions_not_places() -> None:
    """A stack whose scenes hold different slices, not in order, is asked for positions of the grid."""
    indices = np.array([[7, 3], [3, 9], [2, 3]])
    stack = FocalStack(numbered_pixels(slices=2), indices, FocusGrid(range(10)))
    np.testing.assert_allclose(stack.at([3]).pixels[:, 0, 0, 0, 0], [0.01, 0.1, 0.21], rtol=1e-6)


def test_at_of_at_and_a_position_asked_for_twice() -> None:
    once = a_stack().at([1, 3]).at([3, 3])
    assert once.indices.tolist() == [[3, 3]] * 3
    np.testing.assert_allclose(once.pixels[1, :, 0, 0, 0], [0.13, 0.13], rtol=1e-6)


def test_at_keeps_ladder_and_place() -> None:
    where = np.array([[0.5, -0.5], [0.0, 0.0], [1.0, -1.0]])
    stack = FocalStack.full(numbered_pixels(), FocusGrid.uniform(n=5), where, view_codes=959.0)
    chosen = stack.at([2])
    assert chosen.grid == stack.grid
    assert chosen.where is where
    assert chosen.view_codes == 959.0


def test_at_names_the_missing_slice() -> None:
    with pytest.raises(ValueError, match="no slice at position 5"):
        a_stack().at([1, 5])
    with pytest.raises(ValueError, match="no slice at position 4"):
        a_stack().at([1, 2]).at([4])


def test_at_names_a_slice_that_only_one_scene_lacks() -> None:
    stack = FocalStack(numbered_pixels(2, 1), np.array([[3], [4]]), FocusGrid(range(5)))
    with pytest.raises(ValueError, match="no slice at position 4"):
        stack.at([4])
    assert stack.at(np.array([[3], [4]])).indices.tolist() == [[3], [4]]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("indices", [[], [1.5], ["2"]])
def test_at_refuses_what_is_not_a_list_of_positions(indices: list[int]) -> None:
    with pytest.raises(ValueError, match="list of whole positions"):
        a_stack().at(indices)


@pytest.mark.usefixtures("unchecked")
def test_at_refuses_rows_for_another_number_of_scenes() -> None:
    with pytest.raises(ValueError, match=r"\(2, ?1\)"):
        a_stack().at(np.array([[0], [1]]))


def test_green_is_the_mean_of_the_views() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.random((2, 3, 2, 5, 7), dtype=np.float32)
    green = FocalStack.full(pixels).green()
    assert green.pixels.shape == (2, 3, 1, 5, 7)
    assert green.pixels.dtype == np.float32
    np.testing.assert_allclose(green.pixels[:, :, 0], (pixels[:, :, 0] + pixels[:, :, 1]) / 2, rtol=1e-6)


def test_green_of_green_is_itself() -> None:
    green = a_stack().green()
    assert green.green() is green


def test_green_in_codes_is_the_sum_of_the_views_in_codes() -> None:
    stack = a_stack()
    views = pixels_to_codes(stack.pixels, 0.0, stack.view_codes)
    green = pixels_to_codes(stack.green().pixels, 0.0, stack.green_codes)
    np.testing.assert_allclose(green[:, :, 0], views.sum(axis=2), rtol=1e-6)
    assert (VIEW_CODES, stack.green_codes) == (15344.0, 30688.0)


@pytest.mark.parametrize(
    ("codes", "black", "white"),
    [
        (np.arange(256, dtype=np.uint8), 0.0, 255.0),
        (np.arange(16, 236, dtype=np.uint8), 16.0, 235.0),
        (np.arange(65536, dtype=np.uint16), 0.0, 65535.0),
        (np.arange(1024, 16369, dtype=np.uint16), 1024.0, 16368.0),
    ],
)
def test_whole_codes_come_back_exactly(codes: np.ndarray, black: float, white: float) -> None:
    pixels = codes_to_pixels(codes, black, white)
    assert pixels.dtype == np.float32
    assert pixels[0] == 0.0
    assert pixels[-1] == pytest.approx(1.0, abs=1e-7)
    assert (np.diff(pixels) > 0).all()
    np.testing.assert_array_equal(np.rint(pixels_to_codes(pixels, black, white)), codes)


@settings(deadline=None)
@given(
    st.floats(0, 1),
    st.floats(-100, 100),
    st.floats(0.1, 1e5),
    st.sampled_from([np.float32, np.float64]),
)
def test_float_codes_come_back(share: float, black: float, span: float, dtype: type) -> None:
    codes: np.ndarray = np.array([black + share * span], dtype=dtype)
    back = pixels_to_codes(codes_to_pixels(codes, black, black + span), black, black + span)
    assert back[0] == pytest.approx(codes[0], abs=1e-6 * (abs(black) + span))


def test_codes_outside_the_range_are_clipped_and_not_a_number_stays() -> None:
    codes = np.array([0.0, 1024.0, 16368.0, 20000.0, np.nan])
    np.testing.assert_array_equal(codes_to_pixels(codes, 1024.0, 16368.0), [0.0, 0.0, 1.0, 1.0, np.nan])


def test_codes_below_black_do_not_wrap_around() -> None:
    assert codes_to_pixels(np.array([3], dtype=np.uint8), 16.0, 235.0)[0] == 0.0


def test_codes_are_not_changed_in_place() -> None:
    codes = np.array([0.5, 2.0], dtype=np.float32)
    codes_to_pixels(codes, 0.0, 1.0)
    assert codes.tolist() == [0.5, 2.0]


@pytest.mark.parametrize("white", [1024.0, 64.0, float("nan")])
def test_white_lies_above_black(white: float) -> None:
    with pytest.raises(ValueError, match="white must lie above black, not black 1024 and white"):
        codes_to_pixels(np.zeros(1), 1024.0, white)


def test_the_gamma_of_a_display_is_undone_and_done_again() -> None:
    pixels = np.linspace(0, 1, 256, dtype=np.float32)
    light = srgb_to_linear(pixels)
    assert light[0] == 0
    assert light[-1] == pytest.approx(1.0)
    assert light[128] == pytest.approx(0.2158605, abs=1e-5)  # IEC 61966-2-1
    assert (np.diff(light) > 0).all()
    np.testing.assert_allclose(linear_to_srgb(light), pixels, atol=1e-5)
