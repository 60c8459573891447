"""The dual-pixel measures against the slow reference, their invariances, and what they say of bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from dioptre.methods.stereo import MEASURES, Stereo, stereo_scores
from dioptre.stack import VIEW_CODES, FocalStack
from lab import slow_references

KEYS = list(MEASURES)
NORMALISED = [key for key in KEYS if key.startswith("normalized-")]
CENSUS = [key for key in KEYS if key not in NORMALISED]
ORDERED = ["census-transform", "rank-transform"]
TERNARY = ["ternary-census-10", "ternary-census-30"]
SHAPES = [(128, 128), (16, 16), (17, 23), (50, 97)]


def coded_pixels(
    rng: np.random.Generator, batch: int, slices: int, rows: int, cols: int, level: float = 0.8
) -> np.ndarray:
    """Returns views whose blur and disparity grow away from the middle slice, in multiples of 4 codes.

    No difference of such codes lies near an epsilon (10 and 30), so that the census must be equal, not close.
    """
    pixels = np.empty((batch, slices, 2, rows, cols))
    for scene in pixels:
        texture = 0.2 + 0.8 * rng.random((rows, cols + slices)) ** 2
        for k, (left, right) in enumerate(scene):
            away = k - slices // 2
            blurred = level * ndimage.gaussian_filter(texture, 0.5 + 0.3 * abs(away))
            left[:] = blurred[:, slices // 2 : slices // 2 + cols]
            right[:] = blurred[:, slices // 2 - away : slices // 2 - away + cols]
    pixels += rng.normal(0.0, 0.01 * level, pixels.shape)
    codes = np.clip(4 * np.round(pixels * VIEW_CODES / 4), 0, VIEW_CODES)
    return (codes / VIEW_CODES).astype(np.float32)


def stereo(pixels: np.ndarray, key: str) -> np.ndarray:
    return stereo_scores(FocalStack.full(pixels.astype(np.float32)), [key])[key]


@pytest.fixture(scope="module")
def some_views() -> np.ndarray:
    return coded_pixels(np.random.default_rng(1), 1, 5, 32, 40)


# Against the slow reference


@pytest.fixture(scope="module", params=SHAPES, ids=str)
def textured(request: pytest.FixtureRequest) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Noisy textured stacks of one shape, and what all measures make of them."""
    rows, cols = request.param
    pixels = coded_pixels(np.random.default_rng(rows), 2, 5, rows, cols)
    return pixels, stereo_scores(FocalStack.full(pixels), KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_equals_the_slow_reference(textured: tuple[np.ndarray, dict[str, np.ndarray]], key: str) -> None:
    pixels, found = textured
    expected = slow_references.scores(key, pixels)
    np.testing.assert_allclose(found[key], expected, rtol=1e-4 if key in NORMALISED else 0)
    assert found[key].argmax(axis=1).tolist() == expected.argmax(axis=1).tolist()


@pytest.mark.parametrize("key", ["census-transform", "normalized-cross-correlation", "normalized-sad"])
def test_the_slice_without_disparity_wins(
    textured: tuple[np.ndarray, dict[str, np.ndarray]], key: str
) -> None:
    assert textured[1][key].argmax(axis=1).tolist() == [2, 2]


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(16, 48),
    cols=st.integers(16, 48),
    level=st.sampled_from([0.02, 0.2, 0.9]),
)
def test_equals_the_slow_reference_at_any_size_and_light(
    seed: int, rows: int, cols: int, level: float
) -> None:
    pixels = coded_pixels(np.random.default_rng(seed), 1, 3, rows, cols, level)
    found = stereo_scores(FocalStack.full(pixels), KEYS)
    for key in CENSUS:
        np.testing.assert_array_equal(found[key], slow_references.scores(key, pixels), err_msg=key)
    for key in NORMALISED:
        expected = slow_references.scores(key, pixels)
        np.testing.assert_allclose(found[key], expected, rtol=1e-4, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("key", TERNARY)
def test_epsilon_is_in_the_codes_of_the_stack(key: str, some_views: np.ndarray) -> None:
    found = stereo_scores(FocalStack.full(some_views, view_codes=1500.0), [key])[key]
    expected = [slow_references.stereo(key, left, right, codes=1500.0) for left, right in some_views[0]]
    assert found[0].tolist() == expected
    assert (found != stereo(some_views, key)).all()


def test_one_by_one_equals_all_together(textured: tuple[np.ndarray, dict[str, np.ndarray]]) -> None:
    pixels, together = textured
    stack = FocalStack.full(pixels)
    for key in KEYS:
        np.testing.assert_array_equal(Stereo(key).scores(stack), together[key], err_msg=key)


# What a measure does not see


@pytest.mark.parametrize("key", KEYS)
def test_left_and_right_may_be_swapped(key: str, some_views: np.ndarray) -> None:
    swapped = np.ascontiguousarray(some_views[:, :, ::-1])
    np.testing.assert_allclose(stereo(swapped, key), stereo(some_views, key), rtol=1e-12)


@pytest.mark.parametrize("key", ORDERED)
def test_monotone_curves_leave_the_order_of_pixels(key: str, some_views: np.ndarray) -> None:
    curved = some_views.astype(np.float64)
    curved[:, :, 0] **= 2
    curved[:, :, 1] = np.sqrt(curved[:, :, 1])
    np.testing.assert_array_equal(stereo(curved, key), stereo(some_views, key))


@pytest.mark.parametrize("key", TERNARY)
def test_a_gain_matters_to_the_ternary_census(key: str, some_views: np.ndarray) -> None:
    assert (stereo(some_views, key) < -500).all()
    assert (stereo(some_views / 2048, key) == 0).all()  # all within epsilon


@pytest.mark.parametrize("key", NORMALISED + ORDERED)
def test_gain_and_offset_of_a_view_do_not_matter(key: str, some_views: np.ndarray) -> None:
    dyadic = np.round(4096 * some_views) / 4096  # so that the offset does not round
    changed = dyadic * np.array([0.5, 0.25])[:, None, None] + np.array([0.125, 0.5])[:, None, None]
    np.testing.assert_allclose(stereo(changed, key), stereo(dyadic, key), rtol=1e-5)


@pytest.mark.parametrize("key", NORMALISED)
@pytest.mark.parametrize("gain", [0.03, 0.61])
def test_brightness_does_not_matter_to_the_normalised(key: str, gain: float, some_views: np.ndarray) -> None:
    np.testing.assert_allclose(stereo(gain * some_views, key), stereo(some_views, key), rtol=2e-5)


# Known values


@pytest.mark.parametrize("key", KEYS)
def test_equal_views_agree_perfectly(key: str, some_views: np.ndarray) -> None:
    left = some_views[:, :, :1]
    best = 32 * 40 if key == "normalized-cross-correlation" else 0
    np.testing.assert_allclose(stereo(np.concatenate([left, left], axis=2), key), best, rtol=1e-12)


def test_cross_correlation_is_the_ssd_of_normalised_views(some_views: np.ndarray) -> None:
    expected = []
    for left, right in some_views[0].astype(np.float64):
        ssd = ((slow_references.normalise(left) - slow_references.normalise(right)) ** 2).sum()
        expected.append(left.size - ssd / 2)
    np.testing.assert_allclose(stereo(some_views, "normalized-cross-correlation")[0], expected, rtol=1e-9)


def test_cross_correlation_of_a_negative_is_minus_the_number_of_pixels(some_views: np.ndarray) -> None:
    left = some_views[:, :, :1]
    pair = np.concatenate([left, 1 - left], axis=2)
    np.testing.assert_allclose(stereo(pair, "normalized-cross-correlation"), -32 * 40, rtol=1e-6)


def test_a_point_in_one_view_is_counted_by_its_neighbours() -> None:
    pixels = np.full((1, 1, 2, 16, 16), 0.5, np.float32)
    pixels[0, 0, 0, 8, 8] += np.float32(20 / VIEW_CODES)  # between the epsilons, 10 and 30
    counts = {key: stereo(pixels, key)[0, 0] for key in CENSUS}
    # The point is greater than the centre for 8 neighbours; seen from the point, 8 neighbours are less.
    assert counts == {
        "census-transform": -8,
        "rank-transform": -8,
        "ternary-census-10": -16,
        "ternary-census-30": 0,
    }


def test_the_envelope_forgives_more_than_the_sum_of_differences(some_views: np.ndarray) -> None:
    difference, envelope = stereo(some_views, "normalized-sad"), stereo(some_views, "normalized-envelope-l1")
    assert (envelope > 0.5 * difference).all()
    assert (envelope[0, [0, 4]] < -1).all()  # but disparity remains


# Hard for float32


@pytest.mark.parametrize("key", NORMALISED)
@pytest.mark.parametrize("size", [16, 128])
def test_low_contrast_on_a_bright_ground_keeps_its_digits(key: str, size: int) -> None:
    rng = np.random.default_rng(size)
    scene = rng.standard_normal((1, 3, 1, size, size))
    noise = np.array([0.7, 0.2, 0.5])[:, None, None, None] * rng.standard_normal((1, 3, 2, size, size))
    pixels = (0.9 + 1e-4 * (scene + noise)).astype(np.float32)
    found, expected = stereo(pixels, key), slow_references.scores(key, pixels)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert found.argmax() == expected.argmax() == 1


# Edges


@pytest.mark.parametrize("grey", [0.0, 0.3, 1.0])
def test_flat_views_have_no_normal_form(grey: float) -> None:
    found = stereo_scores(FocalStack.full(np.full((1, 2, 2, 20, 32), grey, np.float32)), KEYS)
    for key in KEYS:
        assert found[key].tolist() == [[-np.inf if key in NORMALISED else 0.0] * 2], key


@pytest.mark.parametrize("key", NORMALISED)
@pytest.mark.parametrize("view", [0, 1])
def test_one_flat_view_loses_only_its_slice(key: str, view: int, some_views: np.ndarray) -> None:
    pixels = some_views.copy()
    pixels[0, 2, view] = 0.77
    expected = stereo(some_views, key)
    expected[0, 2] = -np.inf
    np.testing.assert_array_equal(stereo(pixels, key), expected)


@pytest.mark.parametrize("key", KEYS)
def test_one_slice_scores_as_in_its_stack(key: str, some_views: np.ndarray) -> None:
    alone = stereo(some_views[:, 1:2], key)
    assert alone.shape == (1, 1)
    assert alone[0, 0] == stereo(some_views, key)[0, 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("view", [0, 1])
def test_a_bad_pixel_loses_only_its_slice(bad: float, view: int, some_views: np.ndarray) -> None:
    pixels = some_views.copy()
    pixels[0, 3, view, 31, 0] = bad
    spoilt = stereo_scores(FocalStack.full(pixels), KEYS)
    for key, expected in stereo_scores(FocalStack.full(some_views), KEYS).items():
        expected[0, 3] = -np.inf
        np.testing.assert_array_equal(spoilt[key], expected, err_msg=key)


@pytest.mark.parametrize("key", KEYS)
def test_one_view_is_refused(key: str, some_views: np.ndarray) -> None:
    with pytest.raises(ValueError, match=f"{key} compares a left and a right view.* only one view"):
        Stereo(key).scores(FocalStack.full(some_views).green())


@pytest.mark.parametrize(("rows", "cols"), [(15, 40), (40, 15)])
def test_patches_below_16_pixels_are_refused(rows: int, cols: int) -> None:
    with pytest.raises(ValueError, match=f"at least 16 x 16 pixels, not {cols} x {rows}"):
        stereo(np.zeros((1, 1, 2, rows, cols)), "census-transform")
