"""Stereo matching: shifts that are known, slow references, and what has nothing to match."""

import numpy as np
import pytest
from scipy.ndimage import convolve, fourier_shift, gaussian_filter, uniform_filter

from dioptre.methods.matching import (
    FULL,
    HALF,
    INDEPENDENT,
    LOCAL,
    TILE,
    local_peaks,
    match_softened,
    match_ssd,
    match_zncc,
    shift_by_gradient,
    soften,
    ssd,
    tiles_of,
    zncc,
)
from dioptre.methods.measure import kernels

REACH = 9


def texture(rng: np.random.Generator, size: int = 192, smooth: float = 1.5) -> np.ndarray:
    """A smooth texture without brightness 0, so that it can be shifted by parts of a pixel."""
    noise = gaussian_filter(rng.standard_normal((size, size)), smooth, mode="wrap")
    return 0.4 + 0.1 * noise / noise.std()


def shifted_pair(
    shift: float, rng: np.random.Generator, smooth: float = 1.5
) -> tuple[np.ndarray, np.ndarray]:
    """Views of one texture whose right one lies so many pixels to the right, 128 x 128."""
    left = texture(rng, smooth=smooth)
    right = np.fft.ifft2(fourier_shift(np.fft.fft2(left), (0.0, shift))).real
    middle = (slice(None), slice(32, 160), slice(32, 160))
    return left[None].astype(np.float32)[middle], right[None].astype(np.float32)[middle]


def best(curves: np.ndarray) -> np.ndarray:
    places, heights = local_peaks(curves)
    return places[np.arange(len(places)), heights.argmax(axis=1)]


def slow_zncc(left: np.ndarray, right: np.ndarray, reach: int) -> np.ndarray:
    """Each shift by itself: means and deviations of the overlap, in float64."""
    found = []
    cols = left.shape[1]
    for shift in range(-reach, reach + 1):
        a = left[:, max(0, -shift) : min(cols, cols - shift)].astype(np.float64)
        b = right[:, max(0, shift) : min(cols, cols + shift)].astype(np.float64)
        a, b = a - a.mean(), b - b.mean()
        found.append((a * b).mean() / np.sqrt((a * a).mean() * (b * b).mean()))
    return np.array(found)


def slow_ssd(left: np.ndarray, right: np.ndarray, reach: int, tile: int) -> np.ndarray:
    """Each tile and shift by itself."""
    down, across = left.shape[0] // tile, (left.shape[1] - 2 * reach) // tile
    found = np.empty((down, across, 2 * reach + 1))
    for r in range(down):
        for c in range(across):
            y, x = r * tile, reach + c * tile
            one = left[y : y + tile, x : x + tile].astype(np.float64)
            for shift in range(-reach, reach + 1):
                other = right[y : y + tile, x + shift : x + shift + tile]
                found[r, c, shift + reach] = np.sum((one - other) ** 2)
    return found


# Known shifts


@pytest.mark.parametrize("shift", [-6.3, -2.0, -0.75, -0.2, 0.0, 0.4, 1.5, 3.1, 7.6])
def test_whole_patches_find_a_shift_to_a_twentieth_of_a_pixel(shift: float) -> None:
    left, right = shifted_pair(shift, np.random.default_rng(1))
    assert best(zncc(left, right, REACH))[0] == pytest.approx(shift, abs=0.05)


@pytest.mark.parametrize("shift", [-6.3, -2.0, -0.75, -0.2, 0.0, 0.4, 1.5, 3.1, 7.6])
def test_tiles_find_a_shift_to_a_twentieth_of_a_pixel(shift: float) -> None:
    left, right = shifted_pair(shift, np.random.default_rng(2), smooth=3.0)
    assert ssd(left, right, REACH).medians()[0] == pytest.approx(shift, abs=0.05)


def test_a_right_view_that_lies_to_the_right_has_a_positive_shift() -> None:
    picture = texture(np.random.default_rng(3)).astype(np.float32)
    left, right = picture[None, :128, 20:148].copy(), picture[None, :128, 16:144].copy()
    np.testing.assert_array_equal(left[0, :, :-4], right[0, :, 4:])
    assert best(zncc(left, right, REACH))[0] == pytest.approx(4.0, abs=0.05)
    assert ssd(left, right, REACH).medians()[0] == pytest.approx(4.0, abs=0.05)


def test_exchanged_views_have_the_opposite_shift() -> None:
    left, right = shifted_pair(2.4, np.random.default_rng(4), smooth=3.0)
    np.testing.assert_allclose(zncc(right, left, REACH), zncc(left, right, REACH)[:, ::-1], atol=1e-9)
    assert ssd(right, left, REACH).medians()[0] == pytest.approx(-2.4, abs=0.05)


def test_gain_and_offset_of_a_view_do_not_change_the_correlation() -> None:
    left, right = shifted_pair(-3.2, np.random.default_rng(5))
    changed = (0.3 * right + 0.2).astype(np.float32)
    np.testing.assert_allclose(zncc(left, changed, REACH), zncc(left, right, REACH), atol=2e-5)


def test_shading_and_gain_of_a_view_hardly_move_tiles() -> None:
    left, right = shifted_pair(-3.2, np.random.default_rng(6), smooth=3.0)
    shading = np.linspace(0.8, 1.3, 128, dtype=np.float32)
    assert ssd(left, 0.6 * right * shading, REACH).medians()[0] == pytest.approx(-3.2, abs=0.1)


# Slow references


def test_the_correlation_is_that_of_the_slow_reference() -> None:
    rng = np.random.default_rng(7)
    left, right = rng.random((2, 3, 40, 52), dtype=np.float32)
    expected = np.stack([slow_zncc(a, b, 5) for a, b in zip(left, right, strict=True)])
    np.testing.assert_allclose(zncc(left, right, 5), expected, atol=1e-5)


def test_tiles_are_compared_as_by_the_slow_reference() -> None:
    rng = np.random.default_rng(8)
    left, right = rng.random((2, 1, 36, 64), dtype=np.float32)
    found = np.empty((1, 4, 6, 15), np.float32)
    kernels().ssd_curves(left, right, 7, 8, found)
    np.testing.assert_allclose(found[0], slow_ssd(left[0], right[0], 7, 8)[:, :6], rtol=1e-5)


def test_the_local_mean_is_that_of_a_box_inside_the_picture() -> None:
    view = np.random.default_rng(9).random((1, 70, 60), dtype=np.float32) + 0.1
    found = np.empty_like(view)
    kernels().divide_by_local_mean(view, LOCAL, found)
    side = 2 * LOCAL + 1
    inside = uniform_filter(np.ones(view.shape[1:]), side, mode="constant")
    mean = uniform_filter(view[0].astype(np.float64), side, mode="constant") / inside
    np.testing.assert_allclose(found[0], view[0] / mean - 1, atol=1e-5)


def test_halving_takes_the_mean_of_four() -> None:
    view = np.random.default_rng(10).random((2, 6, 8), dtype=np.float32)
    found = np.empty((2, 3, 4), np.float32)
    kernels().halve(view, found)
    np.testing.assert_allclose(found, view.reshape(2, 3, 2, 4, 2).mean(axis=(2, 4)), rtol=1e-6)


def test_several_patches_give_what_each_gives_alone() -> None:
    pairs = [shifted_pair(shift, np.random.default_rng(11)) for shift in (-4.0, -1.0, 0.0, 0.5, 2.0, 5.0)]
    left, right = (np.concatenate([pair[view] for pair in pairs]) for view in (0, 1))
    together = ssd(left, right, REACH)
    for at, pair in enumerate(pairs):
        alone = ssd(*pair, REACH)
        np.testing.assert_array_equal(alone.shifts[0], together.shifts[at])
        np.testing.assert_array_equal(zncc(*pair, REACH)[0], zncc(left, right, REACH)[at])


# Confidence of tiles


def test_a_noisy_tile_weighs_less_and_one_without_texture_nothing() -> None:
    left, right = shifted_pair(0.0, np.random.default_rng(12), smooth=3.0)
    curves = np.stack([slow_ssd(left[0], right[0] + off, 4, 8) for off in (0.0, 0.02)])
    shifts, weights = np.empty(curves.shape[:3]), np.empty(curves.shape[:3])
    kernels().tile_minima(curves.astype(np.float32), INDEPENDENT, False, shifts, weights)
    assert np.median(weights[1]) < np.median(weights[0])
    flat = np.full((1, 2, 2, 9), 0.3, np.float32)
    shifts, weights = np.empty((1, 2, 2)), np.empty((1, 2, 2))
    kernels().tile_minima(flat, INDEPENDENT, False, shifts, weights)
    assert (weights == 0).all()


def test_a_minimum_at_the_end_of_the_search_weighs_nothing_unless_it_is_held() -> None:
    falling = np.linspace(1.0, 0.1, 9, dtype=np.float32)[None, None, None]
    shifts, weights = np.empty((1, 1, 1)), np.empty((1, 1, 1))
    kernels().tile_minima(falling, INDEPENDENT, False, shifts, weights)
    assert shifts.item() == 4
    assert weights.item() == 0
    kernels().tile_minima(falling, INDEPENDENT, True, shifts, weights)
    assert shifts.item() == 4
    assert weights.item() > 0


def test_smoothing_is_deaf_to_an_outlier_and_keeps_an_edge() -> None:
    shifts = np.where(np.arange(8) < 4, 0.0, 3.0) * np.ones((1, 8, 8))
    guide = np.where(np.arange(8) < 4, -0.5, 0.5) * np.ones((1, 8, 8))
    shifts[0, 2, 1] = 8.0
    out, heard = np.empty_like(shifts), np.empty_like(shifts)
    about = shifts
    for _ in range(4):
        kernels().smooth_tiles(shifts, np.ones_like(shifts), guide, 0.05, about, out, heard)
        about = out.copy()
    assert np.abs(out[0, 5:, :3]).max() < 0.1
    assert np.abs(out[0, :, 5:] - 3).max() < 0.1


def test_tiles_of_full_size_find_a_part_of_a_pixel_and_stay_at_the_end_of_a_small_search() -> None:
    near, far = (shifted_pair(shift, np.random.default_rng(14)) for shift in (1.4, 5.0))
    assert match_ssd(*near, 3, FULL).shifts[0] == pytest.approx(1.4, abs=0.05)
    assert match_ssd(*far, 3, FULL, held=True).shifts[0] <= 3.0


@pytest.mark.parametrize("shift", [-6.3, 0.4, 2.0])
def test_softened_views_are_matched_in_pixels_of_full_size(shift: float) -> None:
    pair = shifted_pair(shift, np.random.default_rng(15), smooth=3.0)
    whole, soft = match_zncc(*pair, REACH), match_softened(*pair, REACH)
    assert soft.shifts[0] == pytest.approx(shift, abs=0.1)
    assert whole.shifts[0] == pytest.approx(shift, abs=0.05)
    assert (soft.step, soft.pixels) == (HALF, 120 * 120)


def test_softening_is_a_binomial_of_the_halved_view() -> None:
    view = np.random.default_rng(16).random((2, 16, 18), dtype=np.float32)
    small = view.reshape(2, 8, 2, 9, 2).mean(axis=(2, 4))
    weights = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 256
    expected = np.stack([convolve(one, weights) for one in small])[:, 2:-2, 2:-2]
    np.testing.assert_allclose(soften(view), np.sqrt(expected), rtol=1e-5)


# Small parts


def test_flat_views_correlate_by_nothing_and_have_no_peak() -> None:
    flat = np.full((1, 32, 48), 0.4, np.float32)
    curves = zncc(flat, flat, 5)
    assert (curves == 0).all()
    assert np.isneginf(local_peaks(curves)[1]).all()
    assert (
        ssd(np.full((1, 128, 128), 0.4, np.float32), np.full((1, 128, 128), 0.4, np.float32), 9).medians()
        == 0
    )


def test_a_parabola_is_found_exactly() -> None:
    at = np.arange(-5, 6)
    places, heights = local_peaks((0.9 - 0.01 * (at - 1.3) ** 2)[None])
    assert places[0, heights[0].argmax()] == pytest.approx(1.3)
    assert heights.max() == pytest.approx(0.9)


def test_a_curve_that_rises_to_the_end_has_its_peak_there() -> None:
    places, heights = local_peaks(np.linspace(0.1, 0.8, 11)[None])
    assert places[0, heights[0].argmax()] == 5
    assert heights.max() == pytest.approx(0.8)


def test_the_gradient_tells_a_small_shift_along_both_axes_and_of_a_plain_picture_none() -> None:
    y, x = np.mgrid[:64, :64] / 6.0
    moved = [np.sin(x + dx / 6) * np.cos(0.7 * (y + dy / 6)) for dx, dy in ((0, 0), (-0.2, 0.1), (0.3, 0.0))]
    pictures = np.stack([*moved, np.zeros((64, 64))])
    middle = (pictures + pictures[0]) / 2
    down, across = np.gradient(middle, axis=1), np.gradient(middle, axis=2)
    change = pictures - pictures[0]
    change[3] = 0
    down[3] = across[3] = 0
    found = shift_by_gradient(across, down, change)
    np.testing.assert_allclose(found, [[0, 0.2, -0.3, 0], [0, -0.1, 0, 0]], atol=0.01)


def test_tiles_leave_room_for_the_search() -> None:
    assert tiles_of(128, 128, 9) == (7, 6)
    assert tiles_of(28, 10, 9) == (1, 0)
    assert ssd(*shifted_pair(0.0, np.random.default_rng(0)), 9).shifts.shape == (1, 7, 6)
    assert TILE * HALF == 16
    assert tiles_of(128, 128, 3, FULL) == (16, 15)
    assert ssd(*shifted_pair(0.0, np.random.default_rng(0)), 3, FULL).shifts.shape == (1, 16, 15)
