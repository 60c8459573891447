from dataclasses import replace

import cv2
import numpy as np
import pytest

from dioptre.errors import InputError
from dioptre.groundtruth.colmap import colmap_model
from dioptre.groundtruth.composite import sharpness
from dioptre.groundtruth.features import Features, Tracks, join
from dioptre.groundtruth.poses import Nominal, Poses
from dioptre.groundtruth.projection import Bundle, triangulate
from dioptre.groundtruth.reconstruct import _check_sharpness, working_factor
from dioptre.groundtruth.register import Motion
from dioptre.groundtruth.structure_from_motion import (
    _check_features,
    _check_geometry,
    _check_tracks,
    _focus_ratio,
    explained_by,
    refine,
    refuse_exchanged,
)
from tests.groundtruth.test_bundle import CROSS, rig

NAMES = ("center", "left", "right", "top", "bottom")
LADDER = np.linspace(0.25, 9.8, 49)


def nominal(spacing: float = 0.06) -> Nominal:
    return Nominal(NAMES, CROSS, spacing, 1600.0, LADDER)


def begun(seed: int, exchanged: bool = False) -> Bundle:
    """What a rig saw, and the rig as it was meant; left for right if they are exchanged."""
    bundle, meant = rig(seed, noise=0.3)
    if exchanged:
        camera = bundle.camera[bundle.image]
        away = np.select([camera == 1, camera == 2], [3, -3], 0)  # of their three pictures each
        bundle = replace(bundle, image=bundle.image + away)
    bundle = replace(bundle, lenses=meant)
    return replace(bundle, points=triangulate(bundle))


def test_points_are_begun_near_where_they_are() -> None:
    bundle, _ = rig(1)
    assert np.median(np.abs(triangulate(bundle)[:, 2] - bundle.points[:, 2])) < 1.0


def test_a_rig_as_told_is_believed() -> None:
    true, _ = rig(2, noise=0.3)
    found, expected, explained = refine(begun(2), 1)
    _check_geometry(found, nominal(true.spacing_m), explained)
    assert explained > 0.95
    assert expected.pixel == pytest.approx(0.3, rel=0.3)
    assert np.abs(found.lenses.centres - true.lenses.centres).max() < 5e-4


def test_exchanged_cameras_are_named_and_not_believed() -> None:
    exchanged = begun(2, exchanged=True)
    found, _, explained = refine(exchanged, 1)
    with pytest.raises(InputError, match="do they stand so"):
        _check_geometry(found, nominal(), explained)
    with pytest.raises(InputError, match="left and right are exchanged"):
        refuse_exchanged(exchanged, nominal(), 1)


def test_cameras_as_told_explain_more_than_any_two_that_are_exchanged() -> None:
    true = begun(2)
    refuse_exchanged(true, nominal(), 1)
    told = explained_by(true, range(5), 1)
    others = [explained_by(true, order, 1) for order in ([1, 0, 2, 3, 4], [0, 1, 2, 4, 3], [0, 3, 2, 1, 4])]
    assert told > max(others) + 0.2


def test_too_few_features_and_too_few_shared_points_are_said() -> None:
    few = {(camera, 0): Features(np.zeros((3, 2)), np.zeros((3, 128), np.float32)) for camera in range(5)}
    with pytest.raises(InputError, match="center has 3 features"):
        _check_features(few, nominal())
    alone = Tracks(((0, 0), (1, 0)), np.zeros(2, np.int64), np.arange(2), np.zeros((2, 2)))
    with pytest.raises(InputError, match="center shares 1 points"):
        _check_tracks(alone, nominal())


def test_a_track_with_two_features_in_one_picture_is_left_out() -> None:
    images = [(0, 0), (1, 0)]
    features = {image: Features(np.zeros((2, 2)), np.zeros((2, 128), np.float32)) for image in images}
    one = join(images, features, [(images[0], images[1], np.array([[0, 0], [1, 1]]))])
    assert one.points == 2
    both = join(images, features, [(images[0], images[1], np.array([[0, 0], [1, 0]]))])
    assert both.points == 0


def plane_sweep(index: int) -> tuple[np.ndarray, Motion]:
    """A sweep past a plane that is sharp at a position of the grid."""
    texture = np.random.default_rng(0).random((60, 80)).astype(np.float32)
    slices = [cv2.GaussianBlur(texture, (0, 0), 0.3 + 0.3 * abs(k - index)) for k in range(49)]
    return np.stack(slices), Motion(np.ones(49), np.zeros((49, 2)))


@pytest.mark.parametrize(("spacing", "right"), [(0.06, True), (0.12, False)])
def test_a_wrong_spacing_shows_against_the_focus(spacing: float, right: bool) -> None:
    stack, motion = plane_sweep(20)
    bundle, _ = rig(3, points=60, slices=1)
    rho = LADDER[20] * 0.06 / spacing
    inside = np.random.default_rng(1).uniform(-20, 20, (len(bundle.point), 2))
    points = np.concatenate([np.zeros((60, 2)), np.full((60, 1), rho)], axis=1)
    lenses = replace(bundle.lenses, zooms=np.ones(5), shifts=np.zeros((5, 2)))
    bundle = replace(bundle, lenses=lenses, points=points, places=inside)
    if right:
        assert _focus_ratio(bundle, [stack], nominal(spacing), [motion], 1) == pytest.approx(1, abs=0.1)
    else:
        with pytest.raises(InputError, match=r"0\.\d+ times as near by parallax .* 120\.0 mm"):
            _focus_ratio(bundle, [stack], nominal(spacing), [motion], 1)


def test_a_blurred_view_is_named() -> None:
    sharp = np.random.default_rng(0).random((60, 80)).astype(np.float32)
    views = [sharp, sharp, cv2.GaussianBlur(sharp, (0, 0), 4), sharp, sharp]
    with pytest.raises(InputError, match="view of right is blurred"):
        _check_sharpness([sharpness(one) for one in views], nominal())


def test_whole_frames_are_shrunk_and_small_ones_are_not() -> None:
    assert [working_factor((3 * cols // 4, cols)) for cols in (2016, 1008, 504, 256)] == [4, 2, 1, 1]


def test_a_colmap_model_has_each_camera_picture_and_point() -> None:
    seen = np.zeros((2, 5, 2))
    seen[1, 3] = np.nan
    turns = np.broadcast_to(np.eye(3), (5, 3, 3))
    poses = Poses(
        NAMES, turns, CROSS, np.full(5, 1600.0), np.zeros((5, 2)), np.array([0.01, 0.0]), np.ones((5, 49)),
        np.array([(0.0, 0.0, 1.0), (0.1, 0.0, 2.0)]), seen, 0.3, 0.9, 1.0,
    )  # fmt: skip
    model = colmap_model(poses, (1512, 2016), 4)
    assert model["cameras.txt"].splitlines()[0] == "1 RADIAL 504 378 400 252 189 0.01 0"
    images = model["images.txt"].splitlines()
    assert images[2].split()[:8] == ["2", "1", "0", "0", "0", "-0", "-0.06", "-0.0108"]
    assert images[1] == "252.0000 189.0000 1 252.0000 189.0000 2"
    assert images[7] == "252.0000 189.0000 1"
    assert model["points3D.txt"].splitlines()[1].split()[8:] == ["1", "1", "2", "1", "3", "1", "5", "1"]
