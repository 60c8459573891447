"""All in focus: each pixel from the slice in which it is sharp."""

import numpy as np

from dioptre.focusing.composite import all_in_focus, filled_index, pixel_index


def test_patches_that_are_nowhere_in_focus_take_the_nearest_that_is() -> None:
    index = np.array([[2, 2, 9, 8, 8]] * 3)
    focused = np.array([[True, True, False, True, True]] * 3)
    assert filled_index(index, focused)[1].tolist() in ([2, 2, 2, 8, 8], [2, 2, 8, 8, 8])
    nowhere = np.zeros_like(focused)
    np.testing.assert_array_equal(filled_index(index, nowhere), index)


def test_a_single_stray_patch_is_overruled_by_its_neighbours() -> None:
    index = np.full((5, 5), 4)
    index[2, 2] = 11
    assert (filled_index(index, np.ones((5, 5), bool)) == 4).all()


def test_slices_are_blended_along_a_slope_and_not_across_an_edge() -> None:
    rows, cols = np.array([5.0, 15.0]), np.array([5.0, 15.0, 25.0])
    found = pixel_index(np.array([[3, 4, 12], [3, 4, 12]]), rows, cols, (20, 30))
    assert found.shape == (20, 30)
    assert found[10, 10] == np.clip(found[10, 10], 3.4, 3.7)  # half-way from 3 to 4
    assert not ((found > 5) & (found < 11)).any()
    assert (found[:, 0] == 3).all()


def test_each_pixel_comes_from_its_slice() -> None:
    frames = np.stack([np.full((4, 4), 10 * at, np.uint8) for at in range(3)])
    at = np.array([[0.0, 1.0, 2.0, 0.5]] * 4)
    np.testing.assert_array_equal(all_in_focus(frames, at), [[0, 10, 20, 5]] * 4)
    assert all_in_focus(frames, at).dtype == np.uint8


def test_colours_come_from_their_slices_too() -> None:
    frames = (np.full((4, 4, 3), (10 * at, 0, 5), np.uint8) for at in range(3))
    found = all_in_focus(frames, np.array([[0.0, 1.0, 2.0, 0.5]] * 4))
    np.testing.assert_array_equal(found[..., 0], [[0, 10, 20, 5]] * 4)
    assert (found[..., 2] == 5).all()
