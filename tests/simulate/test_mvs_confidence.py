from dataclasses import replace

import numpy as np
import pytest

from dioptre.optics import CameraModel
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.frame import WorldView, true_depth
from dioptre.simulate.mvs_confidence import REACH, certain, contrast, sharp_picture
from dioptre.simulate.rig import lone_phone
from dioptre.simulate.sensor import Noise
from dioptre.simulate.world import FULL, Surface, World

CAMERA = CameraModel.pixel3()
TEXTURE = (0.2 + 0.6 * np.random.default_rng(0).random((128, 128))).astype(np.float32)
FRAME = (160, 200)
FACTOR = 4


def board(depth: float, half: float = 0.0, picture: np.ndarray = TEXTURE) -> Surface:
    place = np.array([0.0, 0.0, 1 / depth])
    return Surface("board", place, np.eye(3), np.array([half, half, 0.0]), picture, np.zeros(2), FULL)


def seen(*surfaces: Surface) -> WorldView:
    world = World(surfaces, 0.25 * CAMERA.focal_length_px)  # coarse: working pixels can see it
    return WorldView(world, lone_phone(PhoneOptics.center()), CAMERA, FRAME)


def sure(view: WorldView, noise: Noise | None = None) -> np.ndarray:
    light, depth = sharp_picture(view, (0, 0), FRAME)
    return certain(light, depth, 0.3, noise or Noise(), FACTOR)


def test_the_sharp_picture_has_the_true_depth() -> None:
    view = seen(board(5.0, 0.004), board(2.0))
    light, depth = sharp_picture(view, (0, 0), FRAME)
    assert np.array_equal(depth, true_depth(view))
    part, _ = sharp_picture(view, (20, 30), (40, 50))
    assert np.allclose(part, light[20:60, 30:80], atol=1e-4)


def test_texture_is_sure_and_what_is_plain_is_not() -> None:
    plain = np.full((8, 8), 0.5, np.float32)
    assert sure(seen(board(2.0))).mean() > 0.95
    assert sure(seen(board(2.0, picture=plain))).mean() == 0


@pytest.mark.parametrize("axis", [0, 1])
def test_stripes_are_not_sure_whichever_way_they_run(axis: int) -> None:
    striped = np.broadcast_to(TEXTURE.take([0], axis=axis), TEXTURE.shape).copy()
    light, depth = sharp_picture(seen(board(2.0, picture=striped)), (0, 0), FRAME)
    assert contrast(light, 0.3, Noise(), FACTOR)[1].mean() > 10
    assert not certain(light, depth, 0.3, Noise(), FACTOR).any()


def test_nothing_at_all_has_no_contrast_and_no_warning() -> None:
    bright = np.zeros(FRAME, np.float32)
    bright[:, :40] = 3.0
    relative, signal = contrast(bright, 0.3, Noise(), FACTOR)
    assert relative.min() >= 0
    assert np.isfinite(signal).all()


def test_texture_below_the_noise_is_not_sure() -> None:
    faint = 0.5 + 0.1 * (TEXTURE - 0.5)
    loud = replace(Noise(), read=400.0)
    assert sure(seen(board(2.0, picture=faint)), loud).mean() == 0


def test_the_surroundings_of_an_edge_of_depth_are_not_sure() -> None:
    view = seen(board(5.0, 0.004), board(2.0))
    where = sure(view)
    depth = true_depth(view)[FACTOR // 2 :: FACTOR, FACTOR // 2 :: FACTOR]
    row = len(depth) // 2
    edges = np.flatnonzero(np.abs(np.diff(depth[row])) > 1)
    assert len(edges) == 2
    for edge in edges:
        assert not where[row, edge - REACH // 2 + 1 : edge + REACH // 2].any()
    assert where[row, : edges[0] - REACH // 2].all()


def test_signal_over_noise_falls_with_the_noise_and_contrast_does_not() -> None:
    light, _ = sharp_picture(seen(board(2.0)), (0, 0), FRAME)
    quiet, loud = (contrast(light, 0.3, one, FACTOR) for one in (Noise(0.0, 1.0), Noise(0.0, 10.0)))
    assert np.array_equal(quiet[0], loud[0])
    assert np.median(quiet[1] / loud[1]) == pytest.approx(10.0, rel=1e-3)
