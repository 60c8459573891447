"""The sensor: noise as photons make it, ten bits, and nothing outside black and white."""

import numpy as np
import pytest

from dioptre.simulate.sensor import BLACK, LEVELS, WHITE, Noise, expose, process, read_native


def codes(light: float, shot: float, read: float, count: int = 200_000, seed: int = 0) -> np.ndarray:
    """Returns many readings of one brightness, in codes above black."""
    rng = np.random.default_rng(seed)
    return LEVELS * expose(np.full(count, light), shot, read, rng).astype(np.float64)


@pytest.mark.parametrize("shot", [0.1, 0.3, 0.8])
@pytest.mark.parametrize("read", [0.5, 2.0])
def test_variance_rises_with_the_mean_by_the_shot_noise(shot: float, read: float) -> None:
    readings = [codes(light, shot, read, seed=seed) for seed, light in enumerate(np.linspace(0.1, 0.8, 8))]
    means, variances = (np.array([f(one) for one in readings]) for f in (np.mean, np.var))
    slope, _ = np.polyfit(means, variances, 1)
    assert slope == pytest.approx(shot, rel=0.05)


@pytest.mark.parametrize("read", [1.0, 3.0])
def test_without_shot_noise_read_noise_is_left(read: float) -> None:
    expected = read**2 + 1 / 12  # rounding adds its own
    assert codes(0.5, 0.0, read).var() == pytest.approx(expected, rel=0.03)


def test_noise_does_not_change_the_mean() -> None:
    assert codes(0.4, 0.5, 2.0).mean() == pytest.approx(0.4 * LEVELS, abs=0.2)


def test_pixels_lie_on_the_lattice_of_ten_bits() -> None:
    light = np.random.default_rng(0).random((40, 50))
    pixels = expose(light, 0.3, 1.2, np.random.default_rng(1)).astype(np.float64) * LEVELS
    np.testing.assert_allclose(pixels, np.round(pixels), atol=1e-3)
    assert LEVELS == 1023 - 64


def test_without_noise_only_rounding_is_left() -> None:
    light = np.random.default_rng(0).random((3, 2, 20, 20))
    pixels = expose(light, 0.0, 0.0, np.random.default_rng(1))
    assert pixels.dtype == np.float32
    assert pixels.shape == light.shape
    assert np.abs(pixels - light).max() <= 0.5 / LEVELS + 1e-6


@pytest.mark.parametrize(("light", "pixel"), [(1.0, 1.0), (7.5, 1.0), (0.0, 0.0), (-0.5, 0.0)])
def test_light_is_clipped_at_black_and_white(light: float, pixel: float) -> None:
    assert (expose(np.full(10, light), 0.0, 0.0, np.random.default_rng(0)) == pixel).all()


@pytest.mark.parametrize("light", [0.0, 0.003, 0.999, 1.0])
def test_noise_stays_between_black_and_white(light: float) -> None:
    pixels = expose(np.full(10_000, light), 0.8, 4.0, np.random.default_rng(0))
    assert pixels.min() >= 0.0
    assert pixels.max() <= 1.0
    assert pixels.std() > 0.0


def test_the_same_seed_gives_the_same_noise() -> None:
    light = np.full((8, 8), 0.5)
    first, again, other = (expose(light, 0.3, 1.2, np.random.default_rng(seed)) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_neighbouring_pixels_have_noise_of_their_own() -> None:
    noise = expose(np.full((300, 300), 0.5), 0.3, 1.2, np.random.default_rng(0)) - 0.5
    for a, b in ((noise[1:], noise[:-1]), (noise[:, 1:], noise[:, :-1])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.02


def test_processed_codes_keep_black_and_white_and_lift_the_shadows() -> None:
    for level, expected in ((BLACK, BLACK), (WHITE, WHITE), (BLACK + 0.1 * LEVELS, BLACK + 0.351 * LEVELS)):
        native = np.full((2, 2, 10, 16), round(level), np.uint16)
        found = process(native, 95)
        assert found.dtype == np.uint16
        assert np.abs(found - expected).max() < 0.01 * LEVELS


def test_low_quality_loses_more() -> None:
    native = np.random.default_rng(0).integers(64, 1023, (1, 2, 16, 16)).astype(np.uint16)
    best, worst = (process(native, quality).astype(float) for quality in (100, 20))
    shown = BLACK + LEVELS * ((native - BLACK) / LEVELS) ** (1 / 2.2)
    assert np.abs(best - shown).mean() < np.abs(worst - shown).mean()


def test_means_over_pixels_have_their_noise() -> None:
    side, noise = 4, Noise(0.5, 2.0, 3.0, 0.0, 0.0)
    light = np.full((1, 2, 512, 512), 0.3, np.float32)
    read = read_native(light, noise, np.random.default_rng(0))[0, 0].astype(np.float64)
    means = read.reshape(64, side, 128, side).mean(axis=(1, 3))
    expected = noise.averaged(side)
    pixels = np.sqrt(expected.shot * 0.3 * LEVELS + expected.read**2)
    assert (means - means.mean(axis=1, keepdims=True)).std() == pytest.approx(pixels, rel=0.05)
    assert means.mean(axis=1).std() == pytest.approx(expected.row, rel=0.3)
    assert noise.averaged(1) == noise
