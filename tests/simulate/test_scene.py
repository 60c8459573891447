import numpy as np
import pytest

from dioptre.simulate.scene import FINE, Layer, Scene, fine_size, soften


def flat(depth: float, alpha: np.ndarray | None = None, n: int = 40) -> Layer:
    return Layer(np.ones((n, n), np.float32), depth, alpha)


def test_a_layer_is_finer_than_the_patch_and_wider() -> None:
    assert fine_size(16, 2) == FINE * 20


def test_the_depth_map_is_of_what_is_in_front() -> None:
    alpha = np.zeros((40, 40), np.float32)
    alpha[:, :20] = 1
    scene = Scene((flat(7.0, alpha), flat(3.0)), margin=2)
    depth = scene.depth_map(16)
    assert depth.shape == (16, 16)
    assert (depth[:, :8] == 7).all()
    assert (depth[:, 8:] == 3).all()


def test_the_depth_map_follows_a_surface() -> None:
    slope = np.tile(np.arange(40, dtype=np.float32), (40, 1))
    depth = Scene((Layer(np.ones((40, 40), np.float32), slope),), margin=2).depth_map(16)
    np.testing.assert_allclose(np.diff(depth, axis=1), FINE)


def test_something_must_be_behind_everything() -> None:
    with pytest.raises(ValueError, match="last layer is everywhere"):
        Scene((flat(3.0, np.ones((40, 40), np.float32)),), margin=2)


def test_layers_have_one_size() -> None:
    with pytest.raises(ValueError, match="one size"):
        Scene((flat(7.0, np.ones((40, 40), np.float32)), flat(3.0, n=42)), margin=2)


def test_softening_keeps_the_light() -> None:
    point = np.zeros((41, 41))
    point[20, 20] = 5.0
    soft = soften(point)
    assert soft.sum() == pytest.approx(5.0, rel=1e-3)
    assert soft.max() < 2.0
