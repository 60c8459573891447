import numpy as np
import pytest

from dioptre.simulate.depth_photograph import DepthPhotograph, photograph_scene
from dioptre.simulate.scene import FINE


@pytest.fixture(scope="module")
def steps() -> DepthPhotograph:
    rng = np.random.default_rng(0)
    photograph = rng.random((80, 90), np.float32)
    disparity = np.where(np.arange(90) < 45, 10.0, 50.0).astype(np.float32) * np.ones((80, 1), np.float32)
    disparity += np.linspace(0, 1, 80, dtype=np.float32)[:, None]
    disparity[10:20, 10:20] = np.inf
    return DepthPhotograph.of(photograph, disparity)


def test_nearness_runs_from_far_to_near_and_unknown_places_are_filled(steps: DepthPhotograph) -> None:
    assert np.isfinite(steps.nearness).all()
    assert (steps.nearness.min(), steps.nearness.max()) == (0.0, 1.0)
    assert steps.nearness[40, 80] > steps.nearness[40, 5]
    assert steps.nearness[15, 15] < 0.1  # as its surroundings


def test_photographs_are_made_linear(steps: DepthPhotograph) -> None:
    photograph = np.random.default_rng(0).random((80, 90), np.float32)
    np.testing.assert_allclose(steps.radiance, photograph**2.2, rtol=1e-5)


def test_two_depths_become_front_and_back(steps: DepthPhotograph) -> None:
    n, margin = FINE * 60, 10
    scene = photograph_scene(steps, n, margin, depth=5.0, span=4.0, rng=np.random.default_rng(1))
    assert len(scene.layers) == 2
    front, back = scene.layers
    assert np.median(front.depth) > np.median(back.depth) + 2
    depth = scene.depth_map(40)
    assert np.median(depth[:, -4:]) > np.median(depth[:, :4]) + 2
    assert front.radiance.mean() == pytest.approx(1.0, abs=0.1)


def test_one_depth_stays_one_surface() -> None:
    rng = np.random.default_rng(2)
    smooth = np.linspace(0, 1, 100, dtype=np.float32)[None, :] * np.ones((100, 1), np.float32)
    source = DepthPhotograph.of(rng.random((100, 100), np.float32), smooth)
    scene = photograph_scene(source, FINE * 60, 10, depth=3.0, span=2.0, rng=rng)
    assert len(scene.layers) == 1
    depth = scene.depth_map(40)
    assert np.median(depth) == pytest.approx(3.0, abs=0.1)
    assert (np.diff(depth, axis=1) > 0).all()


def test_a_small_photograph_is_mirrored_on(steps: DepthPhotograph) -> None:
    scene = photograph_scene(steps, FINE * 150, 20, depth=5.0, span=4.0, rng=np.random.default_rng(3))
    assert scene.layers[0].radiance.shape == (FINE * 150, FINE * 150)
