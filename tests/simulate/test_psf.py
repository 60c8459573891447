"""The dual-pixel kernels as optics: where their light lands, how far it spreads, and which way it moves."""

import numpy as np
import pytest

from tests.simulate.kernels import dual_pixel_psf

DIAMETERS = (2.0, 3.0, 5.0, 7.3, 12.0, 20.0, 30.0)


def offsets(kernel: np.ndarray) -> np.ndarray:
    """Returns each column's (or row's) distance from the middle, in pixels."""
    return np.arange(len(kernel)) - len(kernel) // 2


def centroid(kernel: np.ndarray) -> tuple[float, float]:
    """Returns where a kernel's light lands on average, (x, y)."""
    kernel = kernel.astype(np.float64) / kernel.sum(dtype=np.float64)
    at = offsets(kernel)
    return float(kernel.sum(axis=0) @ at), float(kernel.sum(axis=1) @ at)


def variances(kernel: np.ndarray) -> np.ndarray:
    """Returns the second moments along x and y about the middle."""
    kernel = kernel.astype(np.float64) / kernel.sum(dtype=np.float64)
    at = offsets(kernel)
    return np.array([kernel.sum(axis=0) @ at**2, kernel.sum(axis=1) @ at**2])


@pytest.mark.parametrize("diameter", [0.0, 0.2, -1.0, *DIAMETERS])
def test_kernels_have_a_middle(diameter: float) -> None:
    views, rows, cols = dual_pixel_psf(diameter).shape
    assert views == 2
    assert rows == cols
    assert rows % 2 == 1
    assert rows > abs(diameter)


@pytest.mark.parametrize("diameter", [0.0, 0.2, -1.0, *DIAMETERS])
def test_no_light_is_lost_or_made(diameter: float) -> None:
    assert dual_pixel_psf(diameter).mean(axis=0).sum() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("diameter", DIAMETERS)
def test_the_views_centroids_lie_a_quarter_diameter_apart(diameter: float, sign: int) -> None:
    left, right = (centroid(view)[0] for view in dual_pixel_psf(sign * diameter))
    assert (right - left) / (sign * diameter) == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("diameter", DIAMETERS)
def test_behind_focus_the_left_view_lies_to_the_left(diameter: float) -> None:
    left, right = dual_pixel_psf(diameter)
    assert centroid(left)[0] < 0 < centroid(right)[0]


@pytest.mark.parametrize("diameter", DIAMETERS)
def test_in_front_of_focus_the_kernels_are_point_reflected(diameter: float) -> None:
    behind, in_front = dual_pixel_psf(diameter), dual_pixel_psf(-diameter)
    np.testing.assert_allclose(in_front, behind[:, ::-1, ::-1], atol=1e-5 * behind.max())


@pytest.mark.parametrize("diameter", DIAMETERS)
def test_there_is_no_disparity_along_the_rows(diameter: float) -> None:
    for view in dual_pixel_psf(diameter):
        assert centroid(view)[1] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("diameter", [4.0, 7.3, 10.0, 15.0])
def test_the_second_moment_grows_as_that_of_a_uniform_disc(diameter: float) -> None:
    """It is c^2 / 16 along either axis; what the lens blurs in focus drops out of the difference."""
    once, twice = (variances(dual_pixel_psf(c).mean(axis=0)) for c in (diameter, 2 * diameter))
    np.testing.assert_allclose(twice - once, 3 * diameter**2 / 16, rtol=0.04)


def test_both_views_together_are_an_even_disc() -> None:
    diameter = 30.0
    kernel = dual_pixel_psf(diameter).mean(axis=0)
    at = offsets(kernel)
    radius = np.hypot(at[:, None], at[None, :]) / (diameter / 2)
    inside = kernel[radius < 0.8]
    assert inside.mean() == pytest.approx(1 / (np.pi * diameter**2 / 4), rel=0.03)
    assert inside.std() < 0.05 * inside.mean()
    assert np.abs(kernel[radius > 1.3]).sum() < 0.01


def test_in_focus_a_point_stays_a_point() -> None:
    for view in dual_pixel_psf(0.0):
        middle = len(view) // 2
        near = view[middle - 1 : middle + 2, middle - 1 : middle + 2]
        assert near.sum() > 0.98 * view.sum()
        assert np.unravel_index(view.argmax(), view.shape) == (middle, middle)


def test_the_split_is_soft_and_falls_across_the_pupil() -> None:
    diameter = 30.0
    columns = dual_pixel_psf(diameter).sum(axis=1)
    left, right = columns[:, np.abs(offsets(columns[0])) < 0.4 * diameter]
    share = left / (left + right)
    assert (np.diff(share) < 0).all()
    assert 0.6 < share[0] < 0.98
    assert 0.02 < share[-1] < 0.4
