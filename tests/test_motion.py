"""Shifts of whole pictures: known ones are found, still pictures stay."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from dioptre.motion import is_moving, step_between, steps_of


def scene(seed: int, size: int = 220) -> np.ndarray:
    rng = np.random.default_rng(seed)
    layers = [gaussian_filter(rng.random((size, size)), sigma) for sigma in (1.0, 3.0, 8.0)]
    return np.asarray(sum((one - one.mean()) / one.std() for one in layers), np.float32)


def seen(whole: np.ndarray, x: int, y: int, size: int = 128, blur: float = 0.5) -> np.ndarray:
    """What a camera shows that has moved: the scene is shifted by (-x, -y)."""
    return gaussian_filter(whole, blur)[40 + y : 40 + y + size, 40 + x : 40 + x + size].astype(np.float32)


@pytest.mark.parametrize("shift", [(0, 0), (3, -2), (-6, 5), (17, 21)])
def test_a_shift_is_found_though_the_second_picture_is_blurred_brighter_and_noisy(
    shift: tuple[int, int],
) -> None:
    whole, rng = scene(0), np.random.default_rng(1)
    first, second = seen(whole, 0, 0), seen(whole, -shift[0], -shift[1], blur=2.0)
    noisy = (1.3 * second + 0.2 + 0.1 * rng.standard_normal(second.shape)).astype(np.float32)
    assert np.abs(step_between(first, noisy) - shift).max() < 0.3


def test_pictures_of_different_things_do_not_move() -> None:
    assert not step_between(seen(scene(2), 0, 0), seen(scene(3), 0, 0)).any()
    assert not step_between(np.zeros((64, 64), np.float32), np.ones((64, 64), np.float32)).any()


def test_a_sweep_moves_if_most_of_its_steps_are_longer_than_a_pixel() -> None:
    whole = scene(4)
    places = [(0, 0), (3, 1), (1, -3), (4, -3)]
    moved = steps_of(seen(whole, x, y) for x, y in places)
    assert np.abs(moved + np.diff(places, axis=0)).max() < 0.3
    bumped = steps_of(seen(whole, x, 0) for x in (0, 0, 0, 9, 9))
    assert not bumped.any()
    assert not is_moving(np.zeros((0, 2)))
