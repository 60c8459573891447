"""Stacks of a plane: a slow convolution agrees, the right slice is sharp, and disparity has its sign."""

import numpy as np
import pytest
from scipy.signal import convolve2d

from dioptre.optics import CameraModel, depth_to_blur
from dioptre.simulate.render import defocus, plane_stack
from dioptre.simulate.sensor import LEVELS
from dioptre.simulate.texture import dead_leaves
from tests.simulate.kernels import dual_pixel_psf

SIZE = 64
CAMERA = CameraModel.pixel3()
GRID = CAMERA.grid


@pytest.fixture(scope="module")
def texture() -> np.ndarray:
    return dead_leaves(130, 140, np.random.default_rng(0))


def middle(picture: np.ndarray, size: int) -> np.ndarray:
    rows, cols = ((length - size) // 2 for length in picture.shape)
    return picture[rows : rows + size, cols : cols + size]


def sharpness(picture: np.ndarray) -> float:
    return float(np.var(np.diff(picture, axis=-1)) + np.var(np.diff(picture, axis=-2)))


def disparity(left: np.ndarray, right: np.ndarray, reach: int = 12) -> int:
    """Returns the argmax over delta of <left[x], right[x + delta]>, by trying them all."""
    left, right = left / left.mean() - 1, right / right.mean() - 1
    width = left.shape[1] - 2 * reach
    shifts = range(-reach, reach + 1)
    here = left[:, reach : reach + width]
    products = [
        np.corrcoef(here.ravel(), right[:, reach + d : reach + d + width].ravel())[0, 1] for d in shifts
    ]
    return shifts[int(np.argmax(products))]


# Blur


@pytest.mark.parametrize("diameter", [0.0, 1.5, -6.0, 13.0])
def test_defocus_is_the_convolution_with_the_kernels(texture: np.ndarray, diameter: float) -> None:
    size = 24
    views = defocus(texture, np.array([diameter]), size)[0]
    for view, kernel in zip(views, dual_pixel_psf(diameter), strict=True):
        expected = middle(convolve2d(texture, kernel, mode="same"), size)
        np.testing.assert_allclose(view, expected, atol=1e-5)


def test_a_point_of_light_shows_the_kernels() -> None:
    star = np.zeros((81, 81))
    star[40, 40] = 1.0
    kernels = dual_pixel_psf(9.0)
    seen = defocus(star, np.array([9.0]), kernels.shape[1])[0]
    np.testing.assert_allclose(seen, kernels, atol=1e-6)


@pytest.mark.parametrize("level", [0.0, 0.37, 1.0])
def test_an_even_wall_stays_even(level: float) -> None:
    views = defocus(np.full((120, 120), level), np.array([-25.0, -3.0, 0.0, 0.7, 12.0, 25.0]), SIZE)
    np.testing.assert_allclose(views.mean(axis=1), level, atol=1e-5)


def test_blur_takes_contrast_away(texture: np.ndarray) -> None:
    slices = defocus(texture, np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0]), SIZE).mean(axis=1)
    sharp = [sharpness(one) for one in slices]
    assert sharp == sorted(sharp, reverse=True)
    assert sharp[-1] < 0.2 * sharp[0]


def test_a_texture_without_margin_is_refused(texture: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"texture of \(130, 140\) leaves 1 pixels of margin, not \d+"):
        defocus(texture, np.array([20.0]), 128)


# Disparity


@pytest.mark.parametrize("diameter", [8.0, 12.0, 16.0, 20.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_disparity_has_the_sign_of_the_blur_and_about_a_quarter_of_its_size(
    texture: np.ndarray, diameter: float, sign: int
) -> None:
    left, right = defocus(texture, np.array([sign * diameter]), SIZE)[0]
    found = disparity(left, right)
    assert 0.15 < found / (sign * diameter) < 0.4  # whole pixels, and a texture of few edges


def test_there_is_no_disparity_in_focus(texture: np.ndarray) -> None:
    left, right = defocus(texture, np.array([0.0]), SIZE)[0]
    assert disparity(left, right) == 0


def test_an_object_behind_the_focus_plane_has_positive_disparity(texture: np.ndarray) -> None:
    """Index 0 is far: past the plane's index the lens is focused nearer, and the plane lies behind."""
    index = 24
    stack = plane_stack(CAMERA, float(GRID.dioptres[index]), texture, np.random.default_rng(0), size=SIZE)
    assert disparity(*stack[index]) == 0
    assert disparity(*stack[index + 20]) > 0
    assert disparity(*stack[index - 20]) < 0


# Stacks of a plane


@pytest.mark.parametrize("index", [1, 9, 24, 38, 47])
def test_the_sharpest_slice_is_that_of_the_plane(texture: np.ndarray, index: int) -> None:
    diameters = np.asarray(depth_to_blur(CAMERA, GRID.dioptres, float(GRID.dioptres[index])))
    assert diameters[index] == 0.0
    slices = defocus(texture, diameters, SIZE).mean(axis=1)
    assert np.argmax([sharpness(one) for one in slices]) == index


@pytest.mark.parametrize("index", [10, 30])
def test_the_sharpest_slice_is_so_in_noise_too(texture: np.ndarray, index: int) -> None:
    stack = plane_stack(CAMERA, float(GRID.dioptres[index]), texture, np.random.default_rng(1), size=SIZE)
    found = np.argmax([sharpness(one) for one in stack.mean(axis=1)])
    assert abs(int(found) - index) <= 1


def test_a_stack_has_a_slice_for_each_position(texture: np.ndarray) -> None:
    stack = plane_stack(CAMERA, 5.0, texture, np.random.default_rng(0), size=32)
    assert stack.shape == (49, 2, 32, 32)
    assert stack.dtype == np.float32
    assert stack.min() >= 0.0
    assert stack.max() <= 1.0


def test_without_noise_a_stack_is_the_defocused_texture(texture: np.ndarray) -> None:
    stack = plane_stack(CAMERA, 5.0, texture, np.random.default_rng(0), size=32, shot=0.0, read=0.0)
    diameters = np.asarray(depth_to_blur(CAMERA, GRID.dioptres, 5.0))
    light = np.clip(defocus(texture, diameters, 32), 0.0, 1.0)
    assert np.abs(stack - light).max() <= 0.5 / LEVELS + 1e-6


def test_the_same_seed_gives_the_same_stack(texture: np.ndarray) -> None:
    first, again, other = (
        plane_stack(CAMERA, 5.0, texture, np.random.default_rng(seed), size=32) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
