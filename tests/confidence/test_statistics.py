"""What is kept of slices: detail, noise, shifts and repeats, slice by slice and block by block."""

import numpy as np
import pytest

from dioptre.confidence.statistics import FIELDS, BlockLayout, SliceBlocks
from tests.confidence.sweeps import SHARP, N, blurred, grained, sweep, texture


def assert_alike(one: SliceBlocks, other: SliceBlocks) -> None:
    for name in FIELDS:
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=1e-4, atol=1e-7, err_msg=name
        )


def white_noise(deviation: float, shape: tuple[int, ...] = (4, 1, 256, 256)) -> np.ndarray:
    drawn = np.random.default_rng(5).standard_normal(shape, dtype=np.float32)
    return (0.5 + np.float32(deviation) * drawn).astype(np.float32)


def moved(picture: np.ndarray, right: int, down: int = 0) -> np.ndarray:
    """Returns a picture whose things lie farther right and farther down."""
    return np.roll(picture, (down, right), axis=(-2, -1))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_pixels_that_are_not_finite_count_as_black_or_white(bad: float) -> None:
    pixels, same = sweep(n=3), sweep(n=3)
    pixels[1, 0, 20:30, 40:60] = bad
    same[1, 0, 20:30, 40:60] = 1.0 if bad == np.inf else 0.0
    assert_alike(SliceBlocks.of(pixels), SliceBlocks.of(same))


@pytest.mark.parametrize("views", [1, 2])
def test_slices_one_by_one_are_all_of_them_at_once(views: int) -> None:
    pixels = np.repeat(sweep(n=7), views, axis=1)
    whole = SliceBlocks.of(pixels)
    assert_alike(SliceBlocks.joined([SliceBlocks.of(one[None]) for one in pixels]), whole)
    assert_alike(SliceBlocks.joined([whole.at(slice(0, 3)), whole.at([3, 4, 5, 6])]), whole)
    assert whole.at([6, 2]).slices == 2
    np.testing.assert_array_equal(whole.at([6, 2]).fine, whole.fine[[6, 2]])
    assert (whole.slices, whole.views) == (7, views)


def test_two_equal_views_are_one() -> None:
    one = sweep(n=4)
    assert_alike(SliceBlocks.of(np.repeat(one, 2, axis=1)).one_view(), SliceBlocks.of(one))


@pytest.mark.parametrize("shape", [(16, 16), (17, 40), (64, 300)])
def test_pictures_of_all_sizes_have_statistics(shape: tuple[int, int]) -> None:
    blocks = SliceBlocks.of(np.random.default_rng(0).random((3, 1, *shape), np.float32))
    assert np.isfinite(blocks.fine).all()
    assert np.isfinite(blocks.likeness()).all()


def test_of_a_large_picture_little_is_kept() -> None:
    layout = BlockLayout.of(3000, 4000)
    assert np.prod(layout.counts) <= 64
    assert max(layout.sides) <= 96
    kept = SliceBlocks.of(np.zeros((1, 1, 3000, 4000), np.float32))
    assert sum(getattr(kept, name).nbytes for name in FIELDS) < 1e6


@pytest.mark.parametrize("deviation", [0.001, 0.02, 0.1])
def test_noise_of_white_noise_is_all_of_its_detail(deviation: float) -> None:
    blocks = SliceBlocks.of(white_noise(deviation))
    assert blocks.fine.mean() == pytest.approx(4 * deviation**2, rel=0.03)
    assert blocks.noise.mean() == pytest.approx(blocks.fine.mean(), rel=0.03)
    assert blocks.finest.mean() == pytest.approx(blocks.fine.mean(), rel=0.03)


def test_detail_is_most_in_focus_and_noise_far_below_it() -> None:
    blocks = SliceBlocks.of(sweep())
    detail = blocks.fine.mean(axis=1)
    assert detail.argmax() == SHARP
    assert blocks.noise[SHARP].mean() < 0.5 * detail[SHARP]
    assert (np.diff(detail[: SHARP + 1]) > 0).all()
    assert (np.diff(detail[SHARP:]) < 0).all()


def test_a_slope_of_brightness_is_no_noise() -> None:
    ramp = np.broadcast_to(np.linspace(0, 1, 128, dtype=np.float32), (1, 1, 128, 128))
    assert SliceBlocks.of(np.ascontiguousarray(ramp)).noise.max() < 1e-10


def test_small_pictures_are_four_times_smaller() -> None:
    pixels = np.kron(np.arange(64.0).reshape(1, 1, 8, 8) / 64, np.ones((1, 1, 4, 4))).astype(np.float32)
    small = SliceBlocks.of(pixels).small
    np.testing.assert_allclose(
        small[0, 0, 0], [[0, 1 / 64, 2 / 64, 3 / 64]] + np.arange(4)[:, None] / 8, atol=1e-6
    )


def test_neighbours_that_are_shifted_are_aligned() -> None:
    picture = blurred(texture(), 3.0)
    for right, down in ((0, 0), (2, 0), (0, -3), (3, 2)):
        pair = np.stack([picture, moved(picture, right, down)])[:, None]
        assert np.median(SliceBlocks.of(pair).likeness()) > 0.9, (right, down)


@pytest.mark.parametrize(("right", "down"), [(2, 0), (0, -3), (3, 2)])
def test_neighbours_in_focus_that_are_shifted_are_aligned(right: int, down: int) -> None:
    pair = np.stack([blurred(texture(), 0.7), moved(blurred(texture(), 0.7), right, down)])[:, None]
    assert np.median(SliceBlocks.of(pair).likeness()) > 0.9


def test_noise_is_not_what_neighbours_share() -> None:
    assert np.abs(SliceBlocks.of(white_noise(0.02)).likeness()).max() < 0.5
    assert np.median(np.abs(SliceBlocks.of(white_noise(0.02)).likeness())) < 0.1
    sharp = SliceBlocks.of(sweep(noise=0.003)).likeness().mean(axis=1)
    assert sharp[SHARP] > 0.8


def test_only_the_very_same_picture_is_the_same_as_the_next() -> None:
    pixels = sweep()
    pixels[5] = pixels[4]
    pixels[20] = pixels[18]  # not its neighbour
    same = SliceBlocks.of(pixels).same_as_next
    assert len(same) == N - 1
    assert np.flatnonzero(same).tolist() == [4]
    pixels[5, 0, 70, 70] += 0.01
    assert not SliceBlocks.of(pixels).same_as_next.any()


@pytest.mark.parametrize(("right", "down"), [(0, 0), (1, 0), (-2, 0), (0, 1), (2, -1)])
def test_the_disparity_of_views_is_their_shift(right: int, down: int) -> None:
    picture = blurred(texture(), 3.0)
    pair = np.stack([picture, moved(picture, right, down)])[None]
    found = SliceBlocks.of(np.repeat(pair, 2, axis=0)).disparity()
    assert found.shape == (2, 2)
    np.testing.assert_allclose(found[:, 0], [right, down], atol=0.5)


def test_blocks_of_a_frame_are_those_of_its_patches() -> None:
    frame = sweep(n=3)
    every = SliceBlocks.of(frame, BlockLayout.every(128, 128, 16))
    assert every.fine.shape == (3, 64)
    inside = [8 * row + col for row in (2, 3) for col in (4, 5)]
    patch = SliceBlocks.of(frame[:, :, 32:64, 64:96], BlockLayout.every(32, 32, 16))
    assert_alike(every.within(inside), patch)


def test_what_lies_beyond_the_last_whole_block_is_left_out() -> None:
    frame = grained(sweep(n=2)[:, :, :100, :120])
    layout = BlockLayout.every(100, 120, 32)
    assert layout.counts == (3, 3)
    assert_alike(SliceBlocks.of(frame, layout), SliceBlocks.of(frame[:, :, :96, :96], layout))
