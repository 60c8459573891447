"""Sweeps held by hand: the same window of the same sweep, still or moving."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("skimage")

from lab.handheld import SMALLEST, held_by_hand, walk
from lab.true_sweeps import TrueSweep


def test_a_walk_has_steps_of_one_pixel_around_its_middle() -> None:
    places = walk(40, np.random.default_rng(0))
    assert np.allclose(np.hypot(*np.diff(places, axis=0).T), 1)
    assert np.allclose(places.max(axis=0), -places.min(axis=0))


def test_a_window_that_does_not_move_shows_the_sweep_itself() -> None:
    pixels = np.random.default_rng(1).random((5, 1, SMALLEST + 8, SMALLEST + 10)).astype(np.float32)
    sweep, room = TrueSweep(pixels, (2.0,), 1.0, "painted/raw", True), np.array([4, 5])
    still = held_by_hand(sweep, np.zeros((5, 2), int), room)
    assert np.array_equal(still, pixels[:, :, 4:-4, 5:-5])
    moved = held_by_hand(sweep, np.array([[0, 0], [1, 0], [0, 2], [-4, 5], [4, -5]]), room)
    assert np.array_equal(moved[2], pixels[2, :, 4:-4, 7:-3])
