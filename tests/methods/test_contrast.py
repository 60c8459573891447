"""The contrast measures against the slow reference, their invariances, and what they say of bad input."""

import numpy as np
import pytest
import pywt
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import fft, ndimage

from dioptre.methods.contrast import CDF97_HIGH, CDF97_LOW, MEASURES, Contrast, contrast_scores
from dioptre.stack import VIEW_CODES, FocalStack
from lab import slow_references

PAPER = list(slow_references.CONTRAST)
LOCAL = [key for key in PAPER if key.startswith("local-")]
SHAPES = [(128, 128), (16, 16), (17, 23), (50, 97)]

# The power of the gain with which each measure grows; the others hold an absolute constant or a histogram.
DEGREES = {
    "dct-reduced-energy-ratio": 0,
    "total-variation-l1": 1,
    "modified-dct": 1,
    "dct-energy-ratio": 0,
    "eigenvalue-trace": 2,
    "intensity-variance": 2,
    "intensity-coefficient-of-variation": 0,
    "percentile-range-3": 1,
    "percentile-range-1": 1,
    "percentile-range-0.3": 1,
    "total-variation-l2": 2,
    "modified-laplacian": 1,
    "diagonal-laplacian": 1,
    "laplacian-energy": 2,
    "laplacian-variance": 2,
    "wavelet-sum-2": 1,
    "wavelet-sum-3": 1,
    "gradient-magnitude-mean": 1,
    "wavelet-variance-2": 2,
    "wavelet-variance-3": 2,
    "gradient-magnitude-variance": 2,
    "wavelet-ratio-2": 0,
    "wavelet-ratio-3": 0,
    "dioptre-modified-dct": 1,
    "dioptre-diagonal-laplacian": 1,
    "dioptre-block-dct-energy-ratio": 0,
}
# Blind to a constant that is added to all pixels.
DIFFERENTIAL = [key for key, degree in DEGREES.items() if degree] + ["gradient-count-3", "gradient-count-10"]


def coded_pixels(
    rng: np.random.Generator, batch: int, slices: int, views: int, rows: int, cols: int, level: float = 0.8
) -> np.ndarray:
    """Returns a texture, sharpest in the middle slice, with noise, in codes that are multiples of 4.

    No sum of such codes lies near a threshold (3 and 10), so that counts must be equal, not close.
    One view is the mean of two: a multiple of 4 of twice as many codes.
    """
    pixels = np.empty((batch, slices, 2, rows, cols))
    for scene in pixels:
        texture = 0.2 + 0.8 * rng.random((rows, cols)) ** 2
        for k, both in enumerate(scene):
            both[:] = level * ndimage.gaussian_filter(texture, 0.4 + 0.3 * abs(k - slices // 2))
    pixels += rng.normal(0.0, 0.01 * level, pixels.shape)
    codes = np.clip(4 * np.round(pixels * VIEW_CODES / 4), 0, VIEW_CODES)
    pixels = (codes / VIEW_CODES).astype(np.float32)
    return pixels if views == 2 else pixels.mean(axis=2, keepdims=True, dtype=np.float32)


def dyadic_pixels(rows: int = 40, cols: int = 36, slices: int = 3) -> np.ndarray:
    """Returns green texture in multiples of 1/4096 up to 1/2, to which 1/4 can be added without rounding."""
    pixels = coded_pixels(np.random.default_rng(3), 1, slices, 1, rows, cols, level=0.5)
    return np.round(4096 * pixels) / np.float32(4096)


def contrast(pixels: np.ndarray, key: str) -> np.ndarray:
    return contrast_scores(FocalStack.full(pixels.astype(np.float32)), [key])[key]


def patch(image: np.ndarray) -> np.ndarray:
    return image[None, None, None].astype(np.float32)


def one(image: np.ndarray, key: str) -> float:
    return float(contrast(patch(image), key)[0, 0])


def noise(rows: int = 32, cols: int = 32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.2, 0.8, (rows, cols)).astype(np.float32)


# Against the slow reference


@pytest.fixture(scope="module", params=[(shape, views) for shape in SHAPES for views in (1, 2)], ids=str)
def textured(request: pytest.FixtureRequest) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Noisy textured stacks of one shape, and what all measures make of them."""
    (rows, cols), views = request.param
    slices = 3 if rows == 128 else 5
    pixels = coded_pixels(np.random.default_rng(rows + views), 2, slices, views, rows, cols)
    return pixels, contrast_scores(FocalStack.full(pixels), list(MEASURES))


@pytest.mark.parametrize("key", PAPER)
def test_equals_the_slow_reference(textured: tuple[np.ndarray, dict[str, np.ndarray]], key: str) -> None:
    pixels, found = textured
    expected = slow_references.scores(key, pixels)
    np.testing.assert_allclose(found[key], expected, rtol=1e-4, atol=1e-9)
    assert found[key].argmax(axis=1).tolist() == expected.argmax(axis=1).tolist()


@pytest.mark.parametrize("key", ["gradient-count-3", "gradient-count-10"])
def test_counts_equal_the_reference_exactly(
    textured: tuple[np.ndarray, dict[str, np.ndarray]], key: str
) -> None:
    pixels, found = textured
    interior = (pixels.shape[3] - 2) * (pixels.shape[4] - 2)
    expected = np.round(slow_references.scores(key, pixels) * interior)
    np.testing.assert_array_equal(np.round(found[key] * interior), expected)


def absolute_checkerboard(image: np.ndarray) -> float:
    return float(np.abs(slow_references.convolve(image, slow_references.CHECKERBOARD)).sum())


def both_diagonals(image: np.ndarray) -> float:
    rising = slow_references.LAPLACE_XY
    kernels = (slow_references.LAPLACE_X, slow_references.LAPLACE_X.T, rising, rising[:, ::-1])
    return float(sum(np.abs(slow_references.convolve(image, kernel)).sum() for kernel in kernels))


def block_dct_energy_ratio(image: np.ndarray) -> float:
    ratios = []
    for y in range(0, image.shape[0] - 7, 8):
        for x in range(0, image.shape[1] - 7, 8):
            energy = fft.dctn(image[y : y + 8, x : x + 8], norm="ortho") ** 2
            ratios.append((energy.sum() - energy[0, 0]) / energy[0, 0])
    return float(np.mean(ratios))


OURS = {
    "dioptre-modified-dct": absolute_checkerboard,
    "dioptre-diagonal-laplacian": both_diagonals,
    "dioptre-block-dct-energy-ratio": block_dct_energy_ratio,
}


@pytest.mark.parametrize("key", OURS)
def test_our_repairs_equal_their_formulae(
    textured: tuple[np.ndarray, dict[str, np.ndarray]], key: str
) -> None:
    pixels, found = textured
    green = pixels.mean(axis=2, dtype=np.float32).astype(np.float64)
    expected = np.array([[OURS[key](image) for image in scene] for scene in green])
    np.testing.assert_allclose(found[key], expected, rtol=1e-4)
    assert found[key].argmax(axis=1).tolist() == expected.argmax(axis=1).tolist()


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
    pixels = coded_pixels(np.random.default_rng(seed), 1, 2, 1, rows, cols, level)
    found = contrast_scores(FocalStack.full(pixels), PAPER)
    for key in PAPER:
        expected = slow_references.scores(key, pixels)
        np.testing.assert_allclose(found[key], expected, rtol=1e-4, atol=1e-9, err_msg=key)


@pytest.mark.parametrize("key", ["gradient-count-10", "local-ratio-2", "wavelet-log-ratio-2"])
def test_absolute_constants_are_in_the_codes_of_the_stack(key: str) -> None:
    pixels = coded_pixels(np.random.default_rng(5), 1, 2, 1, 32, 32, level=0.05)
    found = contrast_scores(FocalStack.full(pixels, view_codes=100.0), [key])[key]
    expected = [slow_references.contrast(key, image, codes=200.0) for image in pixels[0, :, 0]]
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)
    assert np.abs(found / contrast(pixels, key) - 1).min() > 3e-4


def test_one_by_one_equals_all_together(textured: tuple[np.ndarray, dict[str, np.ndarray]]) -> None:
    pixels, together = textured
    stack = FocalStack.full(pixels)
    for key in MEASURES:
        np.testing.assert_array_equal(Contrast(key).scores(stack), together[key], err_msg=key)


# What a measure does not see


@pytest.mark.parametrize("gain", [0.5, 0.37])
@pytest.mark.parametrize("key", DEGREES)
def test_brightness_scales_a_measure_by_its_degree(key: str, gain: float) -> None:
    pixels = dyadic_pixels()
    expected = contrast(pixels, key) * gain ** DEGREES[key]
    np.testing.assert_allclose(contrast(pixels * gain, key), expected, rtol=2e-5)


@pytest.mark.parametrize("key", DIFFERENTIAL)
def test_an_offset_changes_no_differential_measure(key: str) -> None:
    pixels = dyadic_pixels()
    np.testing.assert_allclose(contrast(pixels + 0.25, key), contrast(pixels, key), rtol=1e-6)


@pytest.mark.parametrize(
    "key", ["intensity-coefficient-of-variation", "dct-energy-ratio", "wavelet-ratio-2", "local-ratio-4"]
)
def test_an_offset_lowers_a_ratio(key: str) -> None:
    pixels = dyadic_pixels()
    floor = 1.0 if key == "local-ratio-4" else 0.0  # of a flat image
    assert ((contrast(pixels + 0.25, key) - floor) < 0.8 * (contrast(pixels, key) - floor)).all()


@pytest.mark.parametrize("key", LOCAL)
def test_the_plus_one_quenches_local_contrast_in_the_dark(key: str) -> None:
    pixels = dyadic_pixels()
    floor = 0.0 if "norm-dist" in key else 1.0  # of a flat image
    bright, dark = contrast(pixels, key) - floor, contrast(pixels / 8192, key) - floor  # below two codes
    assert (dark < 0.7 * bright).all()
    np.testing.assert_allclose(contrast(pixels / 2, key) - floor, bright, rtol=1e-3)


@pytest.mark.parametrize("key", [key for key in MEASURES if key != "dct-reduced-energy-ratio"])
def test_transposing_changes_nothing(key: str) -> None:
    image = noise(32, 40)
    assert one(image.T, key) == pytest.approx(one(image, key), rel=1e-5)


def test_only_our_diagonal_laplacian_sees_both_diagonals() -> None:
    y, x = np.mgrid[:32, :32]
    stripes = 0.5 + 0.3 * np.sin(1.5 * (x + y))  # constant along the rising diagonal
    assert one(stripes, "diagonal-laplacian") < 0.75 * one(stripes[:, ::-1], "diagonal-laplacian")
    ours = one(stripes, "dioptre-diagonal-laplacian")
    assert one(stripes[:, ::-1], "dioptre-diagonal-laplacian") == pytest.approx(ours, rel=1e-5)


# Known values


def test_a_bright_point_has_the_responses_of_the_filters() -> None:
    image = np.zeros((16, 20))
    image[8, 9] = 0.5
    interior = 14 * 18
    expected = {
        "total-variation-l1": 4 * 0.5,
        "total-variation-l2": 4 * 0.25,
        "laplacian-energy": (16 + 4) * 0.25,
        "laplacian-variance": 20 * 0.25 / interior,
        "modified-laplacian": 2 * (2 + 1 + 1) * 0.5,
        "diagonal-laplacian": (8 + 2 * 4 / np.sqrt(2)) * 0.5,
        "gradient-magnitude-mean": (4 * 2 + 4 * np.sqrt(2)) * 0.5 / interior,
        "gradient-count-3": (6 + 6) / interior,
        "intensity-variance": 0.25 * (1 / 320 - 1 / 320**2),
        "dioptre-modified-dct": 16 * 0.5,
    }
    assert {key: one(image, key) for key in expected} == pytest.approx(expected, rel=1e-6)


def test_dct_energy_ratio_is_the_squared_coefficient_of_variation() -> None:
    pixels = coded_pixels(np.random.default_rng(0), 1, 3, 2, 32, 40)
    variation = contrast(pixels, "intensity-coefficient-of-variation")
    np.testing.assert_allclose(contrast(pixels, "dct-energy-ratio"), variation**2, rtol=1e-12)


def test_eigenvalue_trace_is_16_variances() -> None:
    image = noise(128, 128)
    trace, variance = one(image, "eigenvalue-trace"), one(image, "intensity-variance")
    assert trace == pytest.approx(16 * variance, rel=3e-3)
    # What is missing is the variance between the 16 places of a block, and one degree of freedom.
    means = image.astype(np.float64).reshape(32, 4, 32, 4).mean(axis=(0, 2))
    assert trace * 1023 / 1024 + 16 * means.var() == pytest.approx(16 * variance, rel=1e-12)


def test_laplacian_energy_is_variance_plus_squared_mean() -> None:
    y, x = np.mgrid[:32, :40]
    image = 0.2 + (0.02 * y) ** 2 + (0.01 * x) ** 2 + 0.1 * noise(32, 40)  # a bowl: its Laplacian has a mean
    mean = slow_references.convolve(
        image.astype(np.float32).astype(np.float64), slow_references.LAPLACE
    ).mean()
    energy = 30 * 38 * (one(image, "laplacian-variance") + mean**2)
    assert one(image, "laplacian-energy") == pytest.approx(energy, rel=1e-6)


def test_modified_dct_sees_only_the_corners() -> None:
    image = noise()
    changed = image.copy()
    changed[3:-3, 3:-3] = 0.0
    changed[10, 0] = changed[0, 20] = 1.0
    assert one(changed, "modified-dct") == one(image, "modified-dct")
    corner = image.copy()
    corner[1, 1] += np.float32(0.125)  # weighs 2 x 2
    assert one(corner, "modified-dct") == pytest.approx(one(image, "modified-dct") + 0.5, abs=1e-6)
    assert one(changed, "dioptre-modified-dct") != pytest.approx(one(image, "dioptre-modified-dct"), rel=0.1)


def test_entropy_of_equally_many_pixels_in_four_levels() -> None:
    image = np.repeat([0.1, 0.3, 0.5, 1.0], 64).reshape(16, 16)
    assert one(image, "histogram-entropy") == pytest.approx(np.log(4), rel=1e-12)


@pytest.mark.parametrize("percent", [3.0, 1.0, 0.3])
def test_percentile_range_of_a_ramp(percent: float) -> None:
    image = np.random.default_rng(0).permutation(1024).reshape(32, 32) / 1024
    expected = (1 - 2 * percent / 100) * 1023 / 1024
    assert one(image, f"percentile-range-{percent:g}") == pytest.approx(expected, rel=1e-6)


def test_percentile_ranges_grow_as_the_tails_are_let_in() -> None:
    image = noise(50, 97)
    ranges = [one(image, f"percentile-range-{p}") for p in ("3", "1", "0.3")]
    assert 0.5 < ranges[0] < ranges[1] < ranges[2] < 0.6


def test_the_wavelet_is_cdf_9_7() -> None:
    wavelet = pywt.Wavelet("bior4.4")
    np.testing.assert_allclose(CDF97_LOW, wavelet.dec_lo, atol=1e-11)
    np.testing.assert_allclose(CDF97_HIGH, wavelet.dec_hi, atol=1e-11)
    assert CDF97_LOW.sum() == pytest.approx(np.sqrt(2), abs=1e-12)
    assert CDF97_HIGH.sum() == pytest.approx(0, abs=1e-12)


# Hard for float32


@pytest.mark.parametrize(
    "key", ["local-norm-dist-sq-4", "local-norm-dist-sq-1", "local-ratio-4", "intensity-variance"]
)
@pytest.mark.parametrize("size", [16, 128])
def test_low_contrast_on_a_bright_ground_keeps_its_digits(key: str, size: int) -> None:
    deviations = np.array([0.5e-4, 1e-4, 0.8e-4])[None, :, None, None, None]
    drawn = np.random.default_rng(size).standard_normal((1, 3, 1, size, size))
    pixels = (0.9 + deviations * drawn).astype(np.float32)
    found, expected = contrast(pixels, key), slow_references.scores(key, pixels)
    floor = 1.0 if key == "local-ratio-4" else 0.0  # of a flat image
    np.testing.assert_allclose(found - floor, expected - floor, rtol=1e-4 if floor == 0 else 1e-3)
    assert found.argmax() == expected.argmax() == 1


@pytest.mark.parametrize("key", LOCAL)
def test_dark_ground_beside_a_bright_first_pixel_keeps_its_digits(key: str) -> None:
    rng = np.random.default_rng(8)
    pixels = (2.0 * rng.poisson(1.0, (1, 2, 1, 32, 32)) / VIEW_CODES).astype(np.float32)
    pixels[..., :2, :2] = 0.9
    np.testing.assert_allclose(contrast(pixels, key), slow_references.scores(key, pixels), rtol=1e-5)


# Edges


FLAT = dict.fromkeys(MEASURES, 0.0) | {key: 1.0 for key in LOCAL if "norm-dist" not in key}


@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize("grey", [0.0, 0.3, 0.77, 1.0])
def test_flat_patches_have_no_contrast(grey: float, views: int) -> None:
    found = contrast_scores(FocalStack.full(np.full((1, 2, views, 32, 20), grey, np.float32)), list(MEASURES))
    for key, expected in FLAT.items():
        if "wavelet-log-ratio" not in key:
            np.testing.assert_allclose(found[key], expected, atol=1e-9, err_msg=key)


@pytest.mark.parametrize("level", [2, 3])
def test_the_wavelet_log_ratio_of_flat_patches_is_its_floor(level: int) -> None:
    key = f"wavelet-log-ratio-{level}"
    assert one(np.zeros((32, 32)), key) == pytest.approx(np.log(1e-12))
    low = 0.5 * 30688 * 2**level  # the low-pass doubles a flat image at each level
    assert one(np.full((32, 32), 0.5), key) == pytest.approx(np.log(1e-12 / (low**2 + 1)), rel=1e-3)


@pytest.mark.parametrize("key", MEASURES)
def test_one_slice_scores_as_in_its_stack(key: str) -> None:
    pixels = coded_pixels(np.random.default_rng(2), 1, 3, 2, 24, 24)
    alone = contrast(pixels[:, 1:2], key)
    assert alone.shape == (1, 1)
    assert alone[0, 0] == contrast(pixels, key)[0, 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("views", [1, 2])
def test_a_bad_pixel_loses_only_its_slice(bad: float, views: int) -> None:
    pixels = coded_pixels(np.random.default_rng(2), 2, 4, views, 32, 32)
    clean = contrast_scores(FocalStack.full(pixels), list(MEASURES))
    pixels[1, 2, views - 1, 7, 31] = bad
    spoilt = contrast_scores(FocalStack.full(pixels), list(MEASURES))
    for key, expected in clean.items():
        expected[1, 2] = -np.inf
        np.testing.assert_array_equal(spoilt[key], expected, err_msg=key)


def test_many_large_images_are_shared_out_in_order() -> None:
    pixels = coded_pixels(np.random.default_rng(4), 3, 3, 1, 120, 120)  # enough for a thread on each core
    key = "local-norm-dist-sq-4"
    alone = [[one(image, key) for image in scene[:, 0]] for scene in pixels]
    np.testing.assert_array_equal(contrast(pixels, key), alone)


@pytest.mark.parametrize(("rows", "cols"), [(15, 40), (40, 15)])
def test_patches_below_16_pixels_are_refused(rows: int, cols: int) -> None:
    with pytest.raises(ValueError, match=f"at least 16 x 16 pixels, not {cols} x {rows}"):
        contrast(np.zeros((1, 1, 1, rows, cols)), "total-variation-l1")
