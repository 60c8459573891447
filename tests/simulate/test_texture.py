"""Textures: their range, and that they look like nature to a spectrum."""

from itertools import pairwise

import numpy as np
import pytest

from dioptre.simulate.texture import crumpled, dead_leaves, glyphs, photograph, repeated, roughness

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


# Print and photographs


@pytest.mark.parametrize("height", [16.0, 60.0])
def test_print_is_ink_on_a_plain_ground(height: float) -> None:
    page = glyphs(256, np.random.default_rng(1), height, grain=0.0)
    levels, counts = np.unique(page.round(3), return_counts=True)
    ground = levels[counts.argmax()]
    assert counts.max() > 0.5 * page.size
    assert 0.02 < np.mean(np.abs(page - ground) > 0.5) < 0.5  # there is ink, and not too much


def test_larger_letters_have_fewer_edges() -> None:
    edges = [
        np.abs(np.diff(glyphs(256, np.random.default_rng(2), height, grain=0.0))).sum()
        for height in (16.0, 64.0)
    ]
    assert edges[0] > 2 * edges[1]


def test_a_photograph_is_made_linear_and_mirrored_on() -> None:
    picture = np.linspace(0, 1, 40 * 30, dtype=np.float32).reshape(40, 30)
    part = photograph(picture, 64, np.random.default_rng(0))
    assert part.shape == (64, 64)
    np.testing.assert_allclose(part[:, 30:60], part[:, 29::-1])
    assert part.max() == pytest.approx(1.0)
    assert part[20, 10] == pytest.approx(float(picture[20, 10]) ** 2.2)


def test_a_large_photograph_gives_different_parts() -> None:
    picture = np.random.default_rng(0).random((200, 300), np.float32)
    one, two = (photograph(picture, 64, np.random.default_rng(seed)) for seed in (1, 2))
    assert one.shape == two.shape == (64, 64)
    assert not np.array_equal(one, two)


def test_roughness_has_median_1_and_the_deviation_that_was_asked_for() -> None:
    for roughest in (0.3, 1.0):
        stone = roughness(200, np.random.default_rng(0), 50.0, roughest)
        assert np.median(stone) == pytest.approx(1.0, rel=0.01)
        assert np.log(stone).std() == pytest.approx(roughest, rel=0.02)
        assert stone.min() > 0


def test_stretched_roughness_runs_along_the_rows() -> None:
    wood = roughness(200, np.random.default_rng(1), 20.0, 0.5, 8.0)
    assert np.abs(np.diff(wood, axis=0)).sum() > 2 * np.abs(np.diff(wood, axis=1)).sum()


def test_crumpling_moves_places_and_keeps_greys() -> None:
    flat = np.tile(np.linspace(0, 1, 120, dtype=np.float32), (120, 1))
    moved = crumpled(flat, np.random.default_rng(2), 6.0)
    assert moved.min() >= 0
    assert moved.max() <= 1
    assert 0.01 < np.abs(moved - flat).mean() < 0.2
    np.testing.assert_array_equal(crumpled(np.ones_like(flat), np.random.default_rng(3), 6.0), 1.0)


def _one_way(picture: np.ndarray) -> float:
    """Returns how far the gradients of a picture run one way: 1 for stripes, 0 for no way."""
    down, across = np.gradient(picture)
    tensor = np.array(
        [[(across**2).mean(), (across * down).mean()], [(across * down).mean(), (down**2).mean()]]
    )
    low, high = np.linalg.eigvalsh(tensor)
    return float((high - low) / (high + low))


@pytest.mark.parametrize("seed", range(4))
def test_what_repeats_is_stripes_or_cells_as_asked_or_as_drawn(seed: int) -> None:
    stripes, cells, drawn = (
        repeated(192, np.random.default_rng(seed), 24.0, one) for one in (True, False, None)
    )
    assert _one_way(stripes) > 0.95
    assert _one_way(cells) < 0.9
    assert np.array_equal(drawn, stripes) or np.array_equal(drawn, cells)
