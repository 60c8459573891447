"""The fast renderer against the pupil point by point (two planes, slants, the edge of the field)."""

import numpy as np
import pytest

from dioptre.optics import CameraModel
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView, render
from dioptre.simulate.scene import Layer, Scene, fine_size, soften
from dioptre.simulate.texture import dead_leaves
from lab.slow_renderer import render_by_aperture
from tests.marks import slow

CAMERA = CameraModel.pixel3()
SIZE = 48
FOCI = [0.5, 4.9, 9.3]


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    return float(10 * np.log10(1 / np.mean((a - b) ** 2)))


def view_at(x: float, y: float) -> PatchView:
    return PatchView(PointSpread(CAMERA, PhoneOptics.center(), (x, y)), SIZE)


def texture(view: PatchView, seed: int) -> np.ndarray:
    n = fine_size(SIZE, view.margin())
    return soften(dead_leaves(n, n, np.random.default_rng(seed), 3.0, 100.0))


@pytest.fixture(scope="module", params=[(0.0, 0.0), (800.0, -500.0)], ids=["centre", "corner"])
def view(request: pytest.FixtureRequest) -> PatchView:
    return view_at(*request.param)


@pytest.mark.parametrize("focus", FOCI)
def test_a_plane(view: PatchView, focus: float) -> None:
    scene = Scene((Layer(texture(view, 0), 5.0),), view.margin())
    assert psnr(render(scene, view, focus), render_by_aperture(scene, view, focus)) > 45


@pytest.mark.parametrize("focus", FOCI)
@slow
def test_a_slanted_surface(view: PatchView, focus: float) -> None:
    picture = texture(view, 1)
    depth = np.linspace(4.0, 6.0, len(picture), dtype=np.float32)[None, :] * np.ones(
        (len(picture), 1), np.float32
    )
    scene = Scene((Layer(picture, depth),), view.margin())
    assert psnr(render(scene, view, focus), render_by_aperture(scene, view, focus)) > 45


@pytest.mark.parametrize("focus", FOCI)
@slow
def test_two_planes_near_their_edge_and_away_from_it(view: PatchView, focus: float) -> None:
    front, back = texture(view, 2), texture(view, 3)
    x = np.arange(len(front))[None, :] * np.ones((len(front), 1))
    alpha = soften((x < len(front) / 2).astype(np.float64))
    scene = Scene((Layer(front, 7.0, alpha), Layer(back, 3.0)), view.margin())
    fast, slow = render(scene, view, focus), render_by_aperture(scene, view, focus)
    near = slice(SIZE // 2 - 8, SIZE // 2 + 8)
    assert psnr(fast[..., near], slow[..., near]) > 32
    assert psnr(fast[..., :6], slow[..., :6]) > 40
    assert psnr(fast[..., -6:], slow[..., -6:]) > 40


def test_an_occluder_hides_what_is_behind_it(view: PatchView) -> None:
    bright, dark = np.ones_like(texture(view, 4)), np.zeros_like(texture(view, 4))
    covered = Scene((Layer(dark, 7.0, np.ones_like(dark)), Layer(bright, 3.0)), view.margin())
    for picture in (render(covered, view, 3.0), render_by_aperture(covered, view, 3.0, samples=8)):
        assert np.abs(picture).max() < 1e-3
