"""Sweeps that a hand held: aligned where the camera moved, and left alone where it stood still."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import dioptre
from dioptre.confidence.statistics import SliceBlocks
from dioptre.errors import InputError
from dioptre.focusing.alignment import aligned, seems_to_move
from dioptre.focusing.slices import to_slices

SLICES, SHARP, SIZE, ROOM = 21, 12, 160, 60
WALK = np.random.default_rng(5).choice([-5, 4, 5], (SLICES, 2)).cumsum(axis=0)
PLACES = np.clip(WALK - (WALK.max(axis=0) + WALK.min(axis=0)) // 2, -ROOM, ROOM)  # (x, y)


def wide_sweep(seed: int = 0) -> np.ndarray:
    """A textured thing before a plain wall with large blots, sharp at SHARP."""
    rng, size = np.random.default_rng(seed), SIZE + 2 * ROOM
    blots = gaussian_filter(rng.random((size, size)), 12)
    scene = 0.4 + 0.1 * (blots - blots.mean()) / blots.std()
    thing = gaussian_filter(rng.random((size, size)), 0.8)
    inside = slice(ROOM + 50, ROOM + 110)
    scene[inside, inside] += 0.08 * ((thing - thing.mean()) / thing.std())[inside, inside]
    sweep = np.stack([gaussian_filter(scene, 0.4 * abs(k - SHARP) + 0.4) for k in range(SLICES)])
    return np.asarray(sweep + 0.003 * rng.standard_normal(sweep.shape), np.float32)


def seen(sweep: np.ndarray, places: np.ndarray) -> np.ndarray:
    """What a camera shows whose picture moves: its scene lies at these places beside where it was."""
    return np.stack([
        one[ROOM - y : ROOM - y + SIZE, ROOM - x : ROOM - x + SIZE]
        for one, (x, y) in zip(sweep, places.tolist(), strict=True)
    ])  # fmt: skip


def test_what_a_hand_moved_is_undone_by_whole_pixels() -> None:
    sweep = wide_sweep()
    still = aligned(to_slices(seen(sweep, PLACES), None, None))
    assert still.field is not None
    right = seen(sweep, np.zeros_like(PLACES))
    found = still.field.cut(still.pixels()[:, 0])
    moves = [(y, x) for y in range(-1, 2) for x in range(-1, 2)]  # which of the places is the middle
    assert any(np.array_equal(found, still.field.cut(np.roll(right, move, axis=(1, 2)))) for move in moves)


def test_a_sweep_held_by_hand_is_answered_as_one_that_stood_still() -> None:
    sweep = wide_sweep()
    moved = dioptre.focus(seen(sweep, PLACES), roi=(50, 50, 60, 60))
    assert abs(moved.index - SHARP) <= 1
    assert moved.state == "focused"
    assert "they are aligned" in moved.notes[-1]


def test_what_stood_still_is_not_touched() -> None:
    slices = to_slices(seen(wide_sweep(), np.zeros_like(PLACES)), None, None)
    assert aligned(slices) is slices
    assert not seems_to_move(SliceBlocks.of(slices.pixels()))
    assert not dioptre.focus(slices.codes).notes


def test_a_pan_that_leaves_the_scene_is_refused() -> None:
    scene = gaussian_filter(np.random.default_rng(1).random((128, 800)), 1.5)
    pan = np.stack([scene[:, 24 * k : 24 * k + 128] for k in range(20)]).astype(np.float32)
    with pytest.raises(InputError, match=r"pans by 456 x 0 pixels .*hold it still"):
        dioptre.focus(pan)


def test_a_region_that_the_camera_left_is_refused_and_pixels_without_value_stay_left_out() -> None:
    stack = seen(wide_sweep(), PLACES)
    with pytest.raises(InputError, match="moved away from the region"):
        dioptre.focus(stack, roi=(0, 0, 20, 20))
    stack[:, 80:84, 80:84] = np.nan
    holes = aligned(to_slices(stack, None, None)).holes
    assert holes is not None
    assert holes.sum() > 16
