from dataclasses import replace

import numpy as np
import pytest

from dioptre.optics import CameraModel
from dioptre.simulate import world as worlds
from dioptre.simulate.capture import Conditions
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.frame import WorldView, true_depth
from dioptre.simulate.layout import mean_step
from dioptre.simulate.rig import lone_phone
from dioptre.simulate.world import World, draw_places, draw_room, draw_world
from lab.rigs.frame_crop import render_window

CAMERA = CameraModel.pixel3()
SIDE = 4
BINNED = replace(CAMERA, pixel_pitch_um=SIDE * CAMERA.pixel_pitch_um, frame=(376, 504))
CONDITIONS = Conditions()
STEP = mean_step(CAMERA.grid)


def places(seed: int) -> World:
    return World(tuple(draw_places(CAMERA, CONDITIONS, np.random.default_rng(seed))), 1.0)


def depths(world: World, frame: tuple[int, int]) -> np.ndarray:
    seen = WorldView(world, lone_phone(PhoneOptics.center()), CAMERA, frame)
    return (true_depth(seen, 8) - CAMERA.grid.dioptres[0]) / STEP


def test_a_part_of_a_frame_sees_a_part_of_the_same_things(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "LARGEST_PICTURE", 64)
    whole, part = (
        draw_world(CAMERA, frame, np.random.default_rng(3), CONDITIONS)
        for frame in ((1512, 2016), (256, 320))
    )
    middle = depths(whole, (1512, 2016))[:-1][78:110, 106:146]  # 1512 / 8 = 189 is odd
    assert depths(part, (256, 320)).shape == middle.shape
    assert np.median(np.abs(depths(part, (256, 320)) - middle)) < 0.05


def test_patches_of_frames_have_the_depths_of_patches() -> None:
    """Of the patch simulator's, 60 % have all within two positions, and 19 % less than three quarters."""
    rng, shares = np.random.default_rng(0), []
    for seed in range(24):
        index = depths(places(seed), (1512, 2016))
        for _ in range(12):
            row, col = (int(rng.integers(0, length - 16)) for length in index.shape)
            one = index[row : row + 16, col : col + 16]
            shares.append(np.mean(np.abs(one - np.median(one)) <= 2))
    assert 0.45 < np.mean(np.array(shares) > 0.98) < 0.75
    assert 0.1 < np.mean(np.array(shares) < 0.75) < 0.32


def test_no_thing_reaches_through_the_wall() -> None:
    for seed in range(20):
        *things, wall = draw_places(CAMERA, CONDITIONS, np.random.default_rng(seed))
        for one in things:
            if one.kind != "board":
                assert one.place[2] <= wall.place[2] * (1 + 1e-9)


def test_a_room_has_a_far_wall_and_things_at_all_distances() -> None:
    far, nearest = CAMERA.grid.dioptres[0], []
    for seed in range(20):
        *things, wall = draw_room(CAMERA, CONDITIONS, np.random.default_rng(seed))
        assert far < 1 / wall.place[2] < far + 13 * STEP
        nearest.append(max(1 / one.place[2] for one in things))
    assert np.median(nearest) > far + 25 * STEP


def test_binned_pixels_are_means_of_the_finer_ones_of_the_same_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "LARGEST_PICTURE", 512)
    fine, coarse = (
        WorldView(
            draw_world(camera, frame, np.random.default_rng(5), CONDITIONS, binned=side),
            replace(lone_phone(PhoneOptics.center()), distortion=(-0.02, 0.03)),
            camera,
            frame,
        )
        for camera, frame, side in ((CAMERA, (1504, 2016), 1), (BINNED, (376, 504), SIDE))
    )
    row, col, size = 200, 300, 32
    depth = float(np.median(true_depth(coarse)[row : row + size, col : col + size]))
    how = np.array([depth]), np.zeros((1, 2)), np.ones(1, np.float32)
    small = render_window(coarse, (row, col), size, *how)[0]
    large = render_window(fine, (SIDE * row, SIDE * col), SIDE * size, *how)[0]
    mean = large.reshape(2, size, SIDE, size, SIDE).mean(axis=(2, 4))
    assert np.corrcoef(small.ravel(), mean.ravel())[0, 1] > 0.97
    moved = np.roll(mean, 1, axis=2)
    assert np.corrcoef(small.ravel(), moved.ravel())[0, 1] < np.corrcoef(small.ravel(), mean.ravel())[0, 1]
    assert float(small.mean()) == pytest.approx(float(mean.mean()), rel=0.03)
