"""Wide pictures: one look at several surfaces, whose map of depths lies on the picture."""

from dataclasses import replace

import numpy as np
import pytest

from dioptre.optics import CameraModel
from dioptre.simulate.capture import Conditions
from dioptre.simulate.depth_images import SURFACES, draw_wide_picture, draw_wide_scene
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView

CAMERA = CameraModel.pixel3()
SIZE, SCALE = 64, 4


@pytest.fixture(scope="module")
def surfaces() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.uniform(0.5, 1.5, (320, 320)).astype(np.float32) for _ in range(2)]


def test_the_same_generator_gives_the_same_picture(surfaces: list[np.ndarray]) -> None:
    def draw(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
        rng = np.random.default_rng(seed)
        one = draw_wide_picture(CAMERA, PhoneOptics.center(), surfaces, rng, Conditions(), SIZE, SCALE)
        assert one.native.shape == (2, SIZE // 2 + 2, SIZE)
        assert one.depths.shape == (SIZE // SCALE, SIZE // SCALE)
        assert np.isfinite(one.depths).all()
        assert (one.depths >= 0).all()
        return one.native, one.depths, one.focus

    first, again, other = draw(3), draw(3), draw(4)
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0])


def test_scenes_have_one_to_five_surfaces_and_the_nearest_is_in_front(surfaces: list[np.ndarray]) -> None:
    view = PatchView(PointSpread(CAMERA, PhoneOptics.center(), (0.0, 0.0)), SIZE, breathing=0.0)
    flat = replace(Conditions(), layout=replace(Conditions().layout, tilt_indices=0.0))
    counts = set()
    for seed in range(12):
        scene = draw_wide_scene(CAMERA, surfaces, view, np.random.default_rng(seed), flat)
        depths = [float(np.mean(layer.depth)) for layer in scene.layers]
        assert depths == sorted(depths, reverse=True)
        counts.add(len(depths))
    assert min(counts) >= SURFACES[0]
    assert max(counts) <= SURFACES[1]
    assert len(counts) > 2
