from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dioptre.groundtruth.bundle import Expected, _moved, adjust
from dioptre.groundtruth.projection import Bundle, Lenses, derive, project, see

ARM = 0.06
CROSS = ARM * np.array(
    [(0.0, 0.0, 0.0), (0.0, 1.0, 0.18), (0.0, -1.0, 0.0), (-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)]
)
OUTWARDS = np.array([2e-4, -5e-5])  # for a dioptre out of focus, and of a lens that is off its told focus


def rig(seed: int, points: int = 300, slices: int = 3, noise: float = 0.0) -> tuple[Bundle, Lenses]:
    """What a rig with mounting errors sees of random points, and the lenses that it was meant to have."""
    rng = np.random.default_rng(seed)
    cameras, images = len(CROSS), len(CROSS) * slices
    rotations = 0.02 * rng.standard_normal((cameras, 3))
    rotations[0] = 0
    centres = CROSS + 0.002 * rng.standard_normal((cameras, 3))
    centres -= centres[0]
    zooms = np.tile(1 + 0.02 * np.arange(slices), cameras)
    true = Lenses(
        rotations, centres, 1600 * (1 + 0.002 * rng.standard_normal(cameras)), zooms,
        rng.normal(0, 0.2, (images, 2)), OUTWARDS * np.ones((cameras, 1)), np.array([-0.02, 0.03]),
    )  # fmt: skip
    rays = rng.uniform((-0.6, -0.45), (0.6, 0.45), (points, 2))
    where = np.concatenate([rays, rng.uniform(0.3, 8, (points, 1))], axis=1)
    camera = np.repeat(np.arange(cameras), slices)
    point, image = (one.ravel() for one in np.meshgrid(np.arange(points), np.arange(images), indexing="ij"))
    spacing = float(np.mean(np.linalg.norm(centres[1:], axis=1)))
    focus = np.tile(np.linspace(0.5, 6.5, slices), cameras)
    bundle = Bundle(true, where, camera, focus, point, image, np.zeros((len(point), 2)), spacing)
    places = project(bundle) + noise * rng.standard_normal((len(point), 2))
    meant = Lenses(
        np.zeros((cameras, 3)), CROSS, np.full(cameras, 1600.0), zooms, np.zeros((images, 2)),
        np.zeros((cameras, 2)), np.zeros(2),
    )  # fmt: skip
    return replace(bundle, places=places), meant


def test_derivatives_are_those_of_small_steps() -> None:
    bundle, _ = rig(0, points=4, slices=2)
    by_camera, columns, by_point = derive(bundle, see(bundle))
    unknowns = int(columns.max()) + 1
    rng = np.random.default_rng(1)
    for _ in range(3):
        cameras, points = 1e-6 * rng.standard_normal(unknowns), 1e-6 * rng.standard_normal((4, 3))
        moved = project(_moved(bundle, cameras, points)) - project(_moved(bundle, -cameras, -points))
        told = np.einsum("oij,oj->oi", by_camera, cameras[columns])
        told += np.einsum("oij,oj->oi", by_point, points[bundle.point])
        assert np.allclose(moved / 2, told, atol=1e-3 * np.abs(told).max())


@pytest.mark.parametrize("seed", [1, 2])
def test_a_rig_is_found_from_how_it_was_meant_with_focal_lengths_off_by_three_per_cent(seed: int) -> None:
    bundle, meant = rig(seed, noise=0.3)
    meant = replace(meant, focals=1.03 * meant.focals)
    rng = np.random.default_rng(seed)
    start = replace(bundle, lenses=meant, points=bundle.points * rng.uniform(0.8, 1.2, bundle.points.shape))
    found = adjust(start, meant, Expected(focal=0.05, pixel=0.3))
    true = bundle.lenses
    for mine, right in zip(found.lenses.rotations, true.rotations, strict=True):
        rotation = Rotation.from_rotvec(mine) * Rotation.from_rotvec(right).inv()
        assert np.degrees(rotation.magnitude()) < 0.02
    assert np.abs(found.lenses.centres - true.centres).max() < 3e-4
    assert abs(np.median(found.points[:, 2] - bundle.points[:, 2])) < 0.01


def test_outliers_are_weighed_down() -> None:
    bundle, meant = rig(3, noise=0.3)
    rng = np.random.default_rng(0)
    wrong = rng.random(len(bundle.point)) < 0.1
    places = bundle.places + wrong[:, None] * rng.normal(0, 60, bundle.places.shape)
    found = adjust(replace(bundle, lenses=meant, places=places), meant, Expected(pixel=0.3))
    assert abs(np.median(found.points[:, 2] - bundle.points[:, 2])) < 0.01
    assert np.abs(found.lenses.centres - bundle.lenses.centres).max() < 5e-4


def test_the_spacing_gives_metres() -> None:
    bundle, meant = rig(4)
    twice = adjust(
        replace(bundle, lenses=meant, spacing_m=2 * bundle.spacing_m),
        replace(meant, centres=2 * meant.centres),
        Expected(pixel=0.3),
    )
    assert np.median(twice.points[:, 2] / bundle.points[:, 2]) == pytest.approx(0.5, rel=0.01)


def test_blur_that_moves_things_outwards_is_not_taken_for_a_turn() -> None:
    bundle, meant = rig(7, noise=0.05)
    near = np.abs(bundle.focus[bundle.image] - bundle.points[bundle.point, 2]) < 2
    start = replace(bundle, lenses=meant).keep(np.flatnonzero(near))
    off = {}
    for outwards in (0.0, 3e-4):
        found = adjust(start, meant, Expected(pixel=0.1, outwards=outwards)).lenses
        off[outwards] = float(np.degrees(np.abs(found.rotations - bundle.lenses.rotations).max()))
    assert off[3e-4] < 0.01 < off[0.0]
    assert np.abs(found.outwards[:, 0] - OUTWARDS[0]).max() < 0.3 * OUTWARDS[0]
