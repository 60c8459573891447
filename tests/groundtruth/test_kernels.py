"""Sampling between pixels: against a plain sum over all pixels, and at the edges."""

import numpy as np
import pytest

from dioptre.groundtruth import kernels


def _catmull_rom(distance: float) -> float:
    d = abs(distance)
    if d < 1:
        return 1.5 * d**3 - 2.5 * d**2 + 1
    return -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2 if d < 2 else 0.0


def _matrix(places: np.ndarray, n: int) -> np.ndarray:
    """Returns what each of n pixels counts at each place, pixels beyond them left out."""
    return np.array([[_catmull_rom(place - pixel) for pixel in range(n)] for place in places])


def _places(rng: np.random.Generator, n: int) -> np.ndarray:
    """Returns places inside, on pixels, on both edges and beyond them, for two images."""
    fixed = [0.0, 3.0, n - 1.0, n - 1.25, -0.5, n + 0.5, n + 7.0]
    return np.array([[*fixed, *rng.uniform(0, n - 1, 9)] for _ in range(2)])


def test_rows_and_columns_equal_the_plain_sums() -> None:
    rng = np.random.default_rng(0)
    images = rng.random((2, 11, 14), dtype=np.float32)
    rows, cols = _places(rng, 11), _places(rng, 14)
    by_rows = np.empty((2, rows.shape[1], 14), np.float32)
    by_cols = np.empty((2, 11, cols.shape[1]), np.float32)
    kernels.sample_rows(images, rows, by_rows)
    kernels.sample_cols(images, cols, by_cols)
    for at in range(2):
        np.testing.assert_allclose(by_rows[at], _matrix(rows[at], 11) @ images[at], atol=2e-6)
        np.testing.assert_allclose(by_cols[at], images[at] @ _matrix(cols[at], 14).T, atol=2e-6)


@pytest.mark.parametrize("place", [1.0, 4.3, 7.75])
def test_a_ramp_stays_a_ramp(place: float) -> None:
    ramp = np.arange(10, dtype=np.float32)[None, :, None]
    out = np.empty((1, 1, 1), np.float32)
    kernels.sample_rows(ramp, np.array([[place]]), out)
    assert out.item() == pytest.approx(place, abs=1e-5)
