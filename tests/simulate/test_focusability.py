"""Is there anything to focus on? Detail above the noise counts; smooth light and dark noise do not."""

import numpy as np

from dioptre.optics import CameraModel
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.focusability import LEAST, focus_contrast
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView
from dioptre.simulate.scene import Layer, Scene, fine_size, soften
from dioptre.simulate.sensor import Noise
from dioptre.simulate.texture import dead_leaves

CAMERA = CameraModel.pixel3()
VIEW = PatchView(PointSpread(CAMERA, PhoneOptics(), (0.0, 0.0)), 32, breathing=0.0)
N = fine_size(32, VIEW.margin())
LEAVES = soften(dead_leaves(N, N, np.random.default_rng(0), 3.0, 60.0)) * 2


def contrast(picture: np.ndarray, gain: float = 0.3, depth: float = 5.0, **noise: float) -> float:
    scene = Scene((Layer(picture, min(depth, 10.5)),), VIEW.margin())
    return focus_contrast(scene, VIEW, CAMERA.grid, depth, gain, Noise(**noise))


def test_texture_in_good_light_can_be_focused() -> None:
    assert contrast(LEAVES) > 5 * LEAST


def test_a_blank_or_smoothly_lit_surface_cannot() -> None:
    blank = np.ones((N, N), np.float32)
    slope = np.linspace(0.7, 1.3, N, dtype=np.float32)[None, :] * blank
    assert contrast(blank) < LEAST / 2
    assert contrast(slope) < LEAST


def test_the_dark_hides_what_the_light_shows() -> None:
    found = [contrast(LEAVES, gain, shot=2.0, read=4.0) for gain in (0.3, 0.03, 0.003)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < LEAST


def test_exposure_alone_is_not_contrast() -> None:
    """The light falls by 8 per cent over the sweep: a blank sheet must not pass for it."""
    blank = np.ones((N, N), np.float32)
    assert contrast(blank, 0.9, shot=0.01, read=0.1) < LEAST


def test_depths_beyond_the_ladder_are_looked_at_from_its_end() -> None:
    at_end = contrast(LEAVES, depth=float(CAMERA.grid.dioptres[-1]))
    assert contrast(LEAVES, depth=10.4) != at_end  # what is there is blurred already
    assert contrast(LEAVES, depth=10.4) > LEAST
