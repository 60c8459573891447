from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import cv2
import numpy as np
import pytest

from dioptre.errors import InputError
from dioptre.groundtruth.mvs import (
    SWEEP,
    RectifiedView,
    channels,
    confidence,
    dioptres_to_plane,
    plane_to_dioptres,
    rectify,
    residual,
    sweep_planes,
    sweep_range,
    to_frame,
)

FOCAL, ARM = 60.0, 0.06
ROWS, COLS = 60, 80
SIDES = [(0.0, 0.0), (0.0, 1.0), (0.0, -1.0), (-1.0, 0.0), (1.0, 0.0)]


def texture(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    fine = cv2.GaussianBlur(rng.random((512, 512)).astype(np.float32), (0, 0), 1.2)
    return np.clip(0.5 + 4 * (fine - 0.5), 0.05, 1).astype(np.float32)


def looked_at(depth: float, seed: int = 0, plain: bool = False) -> list[RectifiedView]:
    """Five pinhole pictures of a wall that faces them, so many dioptres away."""
    wall = np.full((512, 512), 0.4, np.float32) if plain else texture(seed)
    rng = np.random.default_rng(seed)
    views = []
    for x, y in SIDES:
        centre = ARM * np.array([x, y, 0.0])
        at = np.mgrid[:ROWS, :COLS].astype(np.float32)
        across = (at[1] - (COLS - 1) / 2) + FOCAL * depth * centre[0] + 256
        down = (at[0] - (ROWS - 1) / 2) + FOCAL * depth * centre[1] + 256
        picture = cv2.remap(wall, across.astype(np.float32), down.astype(np.float32), cv2.INTER_LINEAR)
        noisy = picture + 0.01 * rng.standard_normal(picture.shape)
        views.append(RectifiedView(noisy.astype(np.float32), FOCAL, np.eye(3), centre))
    return views


def test_planes_are_even_in_inverse_depth() -> None:
    limits = sweep_range()
    planes = np.array([[0, SWEEP.planes - 1]], np.float32)
    assert plane_to_dioptres(planes, limits).tolist() == [[pytest.approx(0.01), pytest.approx(10.0)]]
    assert np.allclose(dioptres_to_plane(plane_to_dioptres(planes, limits), limits), planes, atol=1e-3)
    with pytest.raises(InputError, match="nearest < farthest"):
        sweep_range(2.0, 1.0)


@pytest.mark.parametrize("depth", [1.0, 3.3])
def test_a_wall_is_found_where_it_is_and_believed(depth: float) -> None:
    views = looked_at(depth)
    depths = [sweep_planes(views, at) for at in range(len(views))]
    inner = (slice(16, -16), slice(16, -16))
    error = depths[0].dioptres[inner] - depth
    assert abs(float(np.median(error))) < 0.03
    assert float(np.mean(np.abs(error) < 0.1)) > 0.95
    sure = confidence(views, depths, 0)
    assert float(np.median(sure[inner])) > 0.9
    assert float(residual(views, depths, 0)[inner].mean()) < 0.1


def test_a_plain_wall_is_not_believed() -> None:
    views = looked_at(2.0, plain=True)
    depths = [sweep_planes(views, at) for at in range(len(views))]
    assert float(np.mean(confidence(views, depths, 0) > 0.5)) < 0.02


def test_a_picture_of_something_else_is_outvoted() -> None:
    views = looked_at(2.0)
    views[1] = replace(views[1], picture=looked_at(2.0, seed=9)[1].picture)
    found = sweep_planes(views, 0).dioptres[16:-16, 16:-16]
    assert float(np.mean(np.abs(found - 2.0) < 0.1)) > 0.9


def test_threads_find_the_same() -> None:
    views = looked_at(2.0)
    with ThreadPoolExecutor(2) as pool:
        both = sweep_planes(views, 0, executor=pool, threads=2)
    assert np.array_equal(both.plane, sweep_planes(views, 0).plane)


def test_gain_does_not_matter() -> None:
    picture = texture(1)[:ROWS, :COLS]
    assert np.allclose(channels(picture), channels(3 * picture), atol=1e-4)


def test_rectifying_and_back_is_the_same_map() -> None:
    picture = cv2.GaussianBlur(texture(2)[:ROWS, :COLS], (0, 0), 3)
    lens = 58.0, np.array([0.7, -0.4]), np.array([-0.03, 0.02])
    flat = rectify(picture, *lens, FOCAL)
    back = to_frame(flat, *lens, FOCAL, (ROWS, COLS), 1.0)
    assert np.abs(back - picture)[8:-8, 8:-8].max() < 0.05


def test_one_picture_is_no_stereo() -> None:
    with pytest.raises(InputError, match="two pictures or more"):
        sweep_planes(looked_at(1.0)[:1], 0)
