import cv2
import numpy as np
import pytest

from dioptre.errors import InputError
from dioptre.groundtruth.composite import align, compose, warp
from dioptre.groundtruth.register import Motion


def sweep(seed: int, wander_px: float = 0.3) -> tuple[np.ndarray, Motion, np.ndarray]:
    """Nine slices of two halves that are sharp at different ones, with scale and a wandering axis."""
    rng = np.random.default_rng(seed)
    picture = cv2.GaussianBlur(rng.random((120, 160)).astype(np.float32), (0, 0), 1.0)
    zoom = 1 + 0.004 * np.arange(9)
    shift = rng.normal(0, wander_px, (9, 2)).cumsum(axis=0)
    shift -= zoom[:, None] * (shift / zoom[:, None]).mean(axis=0)
    slices = []
    for k in range(9):
        blurred = [cv2.GaussianBlur(picture, (0, 0), 0.3 + 0.5 * abs(k - best)) for best in (2, 6)]
        both = np.concatenate([blurred[0][:, :80], blurred[1][:, 80:]], axis=1)
        slices.append(warp(both, 1 / float(zoom[k]), -shift[k] / zoom[k]))
    return np.stack(slices), Motion(zoom, shift), picture


def test_the_axis_is_followed_through_the_sweep() -> None:
    slices, motion, _ = sweep(0)
    found = align(slices, motion.zoom)
    assert np.abs(found.shift - motion.shift).max() < 0.2
    assert np.abs(motion.shift).max() > 0.6
    assert np.array_equal(found.zoom, motion.zoom)


def test_a_camera_that_was_held_by_hand_is_followed() -> None:
    slices, motion, _ = sweep(3, 5.0)
    assert np.abs(align(slices, motion.zoom).shift - motion.shift).max() < 0.6


def test_what_grows_on_one_side_is_not_taken_for_the_axis() -> None:
    """All there is to see lies at the right and moves outwards from slice to slice: the axis stays."""
    rng = np.random.default_rng(2)
    picture = np.full((120, 160), 0.5, np.float32)
    picture[:, 90:] = cv2.GaussianBlur(rng.random((120, 70)).astype(np.float32), (0, 0), 1.5)
    zoom = 1 + 0.004 * np.arange(9)
    slices = np.stack([warp(picture, 1 / float(one) ** 1.5, np.zeros(2)) for one in zoom])
    assert np.abs(align(slices, zoom).shift).max() < 0.05


def test_the_composite_is_sharp_on_both_sides() -> None:
    slices, motion, picture = sweep(1)
    made = compose(slices, motion)
    for half in (slice(12, 68), slice(92, 148)):
        sharp, best = picture[12:-12, half], made[12:-12, half]
        middle = slices[4][12:-12, half]
        assert np.corrcoef(sharp.ravel(), best.ravel())[0, 1] > 0.97
        assert best.std() > 1.2 * middle.std()


def test_few_slices_are_refused() -> None:
    with pytest.raises(InputError, match="3 slices or more"):
        align(np.zeros((2, 64, 64), np.float32), np.ones(2))
