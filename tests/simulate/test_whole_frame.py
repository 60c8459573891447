from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from dioptre.errors import InputError
from dioptre.optics import CameraModel
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.frame import WorldView, frame_shading, read_frames, render_strips, true_depth
from dioptre.simulate.render import render
from dioptre.simulate.rig import Phone, lone_phone
from dioptre.simulate.scene import Layer, Scene
from dioptre.simulate.sensor import LEVELS, Noise
from dioptre.simulate.tile import render_tile
from dioptre.simulate.world import FULL, Surface, World

CAMERA = CameraModel.pixel3()
FRAME = (96, 128)
RNG = np.random.default_rng(0)
TEXTURE = (0.2 + 0.6 * RNG.random((128, 128))).astype(np.float32)


def board(depth: float, half: float = 0.0, lean: float = 0.0) -> Surface:
    """A board that faces the camera, or leans about y; without end if it has no size."""
    c, s = np.cos(lean), np.sin(lean)
    axes = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    place = np.array([0.0, 0.0, 1 / depth])
    return Surface("board", place, axes, np.array([half, half, 0.0]), TEXTURE, np.zeros(2), FULL)


def seen(*surfaces: Surface, phone: Phone | None = None, frame: tuple[int, int] = FRAME) -> WorldView:
    world = World(surfaces, 2 * CAMERA.focal_length_px)
    return WorldView(world, phone or lone_phone(PhoneOptics.center()), CAMERA, frame)


def light(view: WorldView, focus: float) -> np.ndarray:
    strips = render_strips(view, np.array([focus]), np.zeros((1, 2)), np.ones(1, np.float32))
    return np.concatenate([strip[0] for _, strip in strips], axis=1)


def test_a_board_that_faces_the_camera_is_where_it_was_put() -> None:
    depth = true_depth(seen(board(4.0, half=0.005), board(1.0)))
    rows, cols = FRAME
    assert depth[rows // 2, cols // 2] == pytest.approx(4.0)
    assert depth[0, 0] == pytest.approx(1.0)
    wide = (depth[rows // 2] > 2).sum()  # 1 cm at 25 cm
    assert wide == pytest.approx(0.01 * 4 * seen(board(1.0)).focal_px, abs=2)


def test_a_camera_aside_sees_near_things_displaced_by_their_parallax() -> None:
    aside = replace(lone_phone(PhoneOptics.center()), centre=np.array([0.002, 0.0, 0.0]))
    here, there = (
        true_depth(seen(board(4.0, half=0.003), board(1.0), phone=phone))
        for phone in (lone_phone(PhoneOptics.center()), aside)
    )
    middles = [np.flatnonzero(one[FRAME[0] // 2] > 2).mean() for one in (here, there)]
    assert middles[0] - middles[1] == pytest.approx(0.002 * 4 * seen(board(1.0)).focal_px, abs=1)


def test_a_board_that_leans_has_the_depths_of_a_plane() -> None:
    depth = true_depth(seen(board(3.0, lean=0.5)))
    x = (np.arange(FRAME[1]) - (FRAME[1] - 1) / 2) / seen(board(1.0)).focal_px
    c, s = np.cos(0.5), np.sin(0.5)
    assert np.allclose(depth[10], 3.0 * (c + s * x) / c, atol=1e-4)


def test_where_tiles_lie_makes_less_difference_than_noise() -> None:
    surfaces = board(5.0, half=0.004, lean=0.3), board(2.0)
    view = replace(seen(*surfaces, frame=(160, 200)))
    for focus in (0.5, 5.0):
        one, other = light(replace(view, tile=200), focus), light(replace(view, tile=100), focus)
        noise = np.sqrt(0.3 * LEVELS * 0.3 * one + 1.2**2) / LEVELS / 0.3  # exposed to a third of white
        assert float(np.sqrt(np.mean((one - other) ** 2))) < 0.5 * float(np.mean(noise))
        assert float(np.percentile(np.abs(one - other) / noise, 99)) < 2


def test_a_tile_is_what_the_renderer_of_patches_makes_of_its_scene() -> None:
    n, size, margin = 400, 60, 70
    rng = np.random.default_rng(1)
    picture = rng.random((n, n)).astype(np.float32)
    disc = (np.hypot(*(np.mgrid[:n, :n] - n / 2)) < 50).astype(np.float32)
    slanted = (4 + np.linspace(-1, 1, n, dtype=np.float32)[None, :] * np.ones((n, 1), np.float32)).astype(
        np.float32
    )
    scene = Scene((Layer(picture, slanted, disc), Layer(picture[::-1].copy(), 1.0)), margin)
    view = replace(seen(board(1.0)).view((10, 20)), size=size)
    for focus in (0.5, 4.0, 9.0):
        mine, theirs = (draw(scene, view, focus, (1.0, -2.0)) for draw in (render_tile, render))
        assert np.abs(mine - theirs).max() < 2e-3


def test_a_white_wall_shows_the_shading_of_each_view() -> None:
    white = replace(board(2.0), picture=np.ones((64, 64), np.float32))
    view = seen(white)
    far = float(CAMERA.grid.dioptres[0])  # where the scale is 1
    assert np.allclose(light(view, far), frame_shading(CAMERA, view.phone.device, FRAME), rtol=2e-3)


def test_frames_do_not_depend_on_who_renders_them() -> None:
    view = seen(board(5.0, half=0.004), board(2.0))
    args = view, np.array([2.0, 5.0]), np.zeros((2, 2)), np.full(2, 0.3, np.float32), Noise()
    alone = read_frames(*args, np.random.default_rng(3))
    with ThreadPoolExecutor(2) as threads:
        assert np.array_equal(read_frames(*args, np.random.default_rng(3), threads), alone)
    assert alone.shape == (2, 2, FRAME[0] // 2, FRAME[1])


def test_a_frame_larger_than_the_sensor_is_refused() -> None:
    with pytest.raises(InputError, match="larger than the sensor"):
        seen(board(1.0), frame=(2000, 2016))
