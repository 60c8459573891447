"""Textures: their range, and that they look like nature to a spectrum."""

from itertools import pairwise

import numpy as np
import pytest

from dioptre.simulate.scene import dead_leaves

ROWS, COLS = 160, 200


def leaves(seed: int = 0, **options: float) -> np.ndarray:
    return dead_leaves(ROWS, COLS, np.random.default_rng(seed), **options)


@pytest.fixture(scope="module")
def smooth() -> np.ndarray:
    return leaves(grain=0.0)


@pytest.fixture(scope="module")
def grainy() -> np.ndarray:
    return leaves(grain=0.1)


def test_a_texture_has_the_size_that_was_asked_for(smooth: np.ndarray) -> None:
    assert smooth.shape == (ROWS, COLS)


def test_every_pixel_is_covered_by_a_leaf(smooth: np.ndarray) -> None:
    assert smooth.min() >= 0.05
    assert smooth.max() <= 0.95


def test_grain_stays_between_black_and_white() -> None:
    coarse = leaves(grain=1.0)
    assert coarse.min() == 0.0
    assert coarse.max() == 1.0


def test_leaves_are_even_without_grain(smooth: np.ndarray, grainy: np.ndarray) -> None:
    assert len(np.unique(smooth)) < smooth.size / 10
    assert len(np.unique(grainy)) > grainy.size / 2


def test_grain_is_a_part_of_the_grey(smooth: np.ndarray, grainy: np.ndarray) -> None:
    darker = smooth < 0.6  # brighter grain may be clipped
    relative = grainy[darker] / smooth[darker] - 1
    assert relative.mean() == pytest.approx(0.0, abs=0.01)
    assert relative.std() == pytest.approx(0.1, rel=0.05)


def test_the_same_seed_gives_the_same_texture(grainy: np.ndarray) -> None:
    np.testing.assert_array_equal(leaves(grain=0.1), grainy)
    assert not np.array_equal(leaves(seed=1, grain=0.1), grainy)


def test_larger_leaves_are_fewer(smooth: np.ndarray) -> None:
    assert len(np.unique(leaves(grain=0.0, smallest_px=8.0))) < len(np.unique(smooth)) / 4


def spectral_slope(image: np.ndarray) -> float:
    """Returns the exponent of the power spectrum's fall, between 1/40 and 1/5 cycles a pixel."""
    window = np.outer(np.hanning(image.shape[0]), np.hanning(image.shape[1]))
    power = np.abs(np.fft.fft2((image - image.mean()) * window)) ** 2
    f = np.hypot(np.fft.fftfreq(image.shape[0])[:, None], np.fft.fftfreq(image.shape[1])[None, :])
    edges = np.geomspace(1 / 40, 1 / 5, 9)
    mean = [power[(f >= low) & (f < high)].mean() for low, high in pairwise(edges)]
    return float(np.polyfit(np.log(np.sqrt(edges[:-1] * edges[1:])), np.log(mean), 1)[0])


def test_power_falls_with_frequency_as_in_natural_images() -> None:
    slopes = [spectral_slope(leaves(seed, grain=0.0)) for seed in range(3)]
    assert -3.0 < np.mean(slopes) < -1.7
