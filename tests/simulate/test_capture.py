from dataclasses import replace

import numpy as np
import pytest

from dioptre.grid import FocusGrid
from dioptre.methods import best_index, scores
from dioptre.optics import CameraModel
from dioptre.simulate import capture
from dioptre.simulate.capture import Conditions, draw_patch, draw_scene, draw_surfaces
from dioptre.simulate.depth_photograph import DepthPhotograph
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.layout import KINDS, Layout
from dioptre.simulate.lens import Actuator
from dioptre.simulate.light import Lighting
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView
from dioptre.simulate.scene import Scene
from dioptre.simulate.sensor import native_to_pixels
from dioptre.simulate.surface_texture import Clutter
from dioptre.stack import FocalStack

CAMERA = CameraModel.pixel3()
EASY = replace(
    Conditions.exact(),
    lighting=Lighting(dark=0.0, brightness=(0.3, 0.4), shot=(0.1, 0.2), steps=0.0),
    layout=Layout(tilt_indices=0.5),
)


@pytest.fixture(scope="module")
def surfaces() -> list[np.ndarray]:
    return draw_surfaces(
        np.random.default_rng(0), Clutter(size_px=(10.0, 20.0), one_way=0.0), count=2, size=500
    )


def draw(surfaces: list[np.ndarray], seed: int, conditions: Conditions = EASY, **rest: object):
    return draw_patch(
        CAMERA, PhoneOptics.center(), surfaces, np.random.default_rng(seed), conditions, 64, **rest
    )


def test_a_patch_is_the_same_whoever_draws_it(surfaces: list[np.ndarray]) -> None:
    one, two = draw(surfaces, 3), draw(surfaces, 3)
    np.testing.assert_array_equal(one.native, two.native)
    assert one.truth == two.truth
    assert not np.array_equal(one.native, draw(surfaces, 4).native)


def test_a_patch_is_49_slices_of_both_views_with_its_native_rows(surfaces: list[np.ndarray]) -> None:
    patch = draw(surfaces, 0)
    assert patch.native.shape == (49, 2, 34, 64)
    assert patch.native.dtype == np.uint16
    assert patch.native.max() <= 1023
    assert native_to_pixels(patch.native).shape == (49, 2, 64, 64)


def test_easy_patches_are_sharpest_at_their_label(surfaces: list[np.ndarray]) -> None:
    errors = []
    for seed in range(12):
        patch = draw(surfaces, seed)
        if patch.kind in ("two", "three"):
            continue
        stack = FocalStack.full(native_to_pixels(patch.native)[None], CAMERA.grid)
        found = best_index(scores(stack, ["local-norm-dist-sq-4"])["local-norm-dist-sq-4"])
        errors.append(int(found[0]) - patch.truth)
    assert len(errors) > 4
    assert np.mean(np.abs(errors)) < 1.0


def test_the_label_is_nearest_to_the_median_depth(surfaces: list[np.ndarray]) -> None:
    for seed in range(4):
        patch = draw(surfaces, seed)
        assert patch.truth == np.argmin(np.abs(CAMERA.grid.dioptres - patch.depth))
        assert patch.lens_error == pytest.approx(0.0, abs=1e-9)


def test_light_and_dark_are_of_the_same_scene(surfaces: list[np.ndarray]) -> None:
    normal, dark = draw(surfaces, 5, light="normal"), draw(surfaces, 5, light="dark")
    assert (normal.truth, normal.depth, normal.at) == (dark.truth, dark.depth, dark.at)
    assert (normal.native.mean() - 64) > 4 * (dark.native.mean() - 64)


def test_scenes_of_every_kind_spread_over_the_ladder(surfaces: list[np.ndarray]) -> None:
    rng, view = np.random.default_rng(1), PatchView(PointSpread(CAMERA, PhoneOptics.center(), (0.0, 0.0)), 32)
    for kind in KINDS:
        scenes = [draw_scene(kind, CAMERA, surfaces, view, rng, Conditions()) for _ in range(30)]
        depths = np.array([np.median(scene.depth_map(32)) for scene in scenes])
        assert len(scenes[0].layers) == {"two": 2, "three": 3}.get(kind, 1)
        assert depths.min() < 3
        assert depths.max() > 7


def test_the_left_phone_sees_the_same_scene_nearer(surfaces: list[np.ndarray]) -> None:
    closer = replace(PhoneOptics.center(), closer_m=0.011)
    for seed in range(3):
        rest = (surfaces, np.random.default_rng(seed), EASY, 32)
        near = draw_patch(CAMERA, closer, *rest)
        far = draw_patch(CAMERA, PhoneOptics.center(), surfaces, np.random.default_rng(seed), EASY, 32)
        assert near.depth > far.depth
        if far.kind == "plane":
            assert 1 / far.depth - 1 / near.depth == pytest.approx(0.011, rel=1e-4)


@pytest.mark.parametrize(
    "camera",
    [
        CameraModel(50.0, 2.8, 6.0, (1000, 1500), FocusGrid.uniform(10.0, 0.7, 24), name="slr"),
        CameraModel(
            20.0,
            1.0,
            3.45,
            (400, 600),
            FocusGrid.of_dioptres(np.linspace(9.95, 10.05, 15)),
            name="microscope",
        ),
    ],
    ids=lambda camera: camera.name,
)
def test_other_cameras_just_work(camera: CameraModel, surfaces: list[np.ndarray]) -> None:
    patch = draw_patch(camera, PhoneOptics.center(), surfaces, np.random.default_rng(2), EASY, 64)
    assert patch.native.shape == (len(camera.grid), 2, 34, 64)
    assert 0 <= patch.truth < len(camera.grid)


@pytest.mark.parametrize(("conditions", "wanders"), [(Conditions.exact(), False), (Conditions(), True)])
def test_the_axis_of_an_exact_lens_stays_where_it_is(
    surfaces: list[np.ndarray], monkeypatch: pytest.MonkeyPatch, conditions: Conditions, wanders: bool
) -> None:
    axes = []

    def spy(scene: Scene, view: PatchView, focus: np.ndarray, axis: np.ndarray) -> np.ndarray:
        axes.append(axis)
        return np.zeros((len(focus), 2, view.size, view.size), dtype=np.float32)

    monkeypatch.setattr(capture, "render_stack", spy)
    draw(surfaces, 0, conditions)
    assert (np.ptp(axes[0], axis=0) > 0.1).all() == wanders
    assert (axes[0] != 0).any() == wanders


def test_patches_beyond_the_ladder_are_labelled_with_their_distance(surfaces: list[np.ndarray]) -> None:
    conditions = replace(EASY, layout=Layout(beyond=1.0))
    for seed in range(6):
        patch = draw(surfaces, seed, conditions)
        assert patch.beyond != 0
        assert patch.truth == (48 if patch.beyond > 0 else 0)
        assert (patch.depth > CAMERA.grid.dioptres[-1]) == (patch.beyond > 0)
    assert draw(surfaces, 0).beyond == 0


def test_patches_with_nothing_to_focus_on_are_labelled_so(surfaces: list[np.ndarray]) -> None:
    blank = [draw(surfaces, seed, replace(EASY, featureless=1.0)) for seed in range(4)]
    assert [patch.kind for patch in blank] == ["plain"] * 4
    assert not any(patch.focusable for patch in blank)
    assert all(draw(surfaces, seed).focusable for seed in range(4))


def test_processed_pictures_are_brighter_in_the_shadows_and_have_fewer_levels(
    surfaces: list[np.ndarray],
) -> None:
    raw, processed = draw(surfaces, 1), draw(surfaces, 1, replace(EASY, processed=True))
    assert np.median(processed.native) > np.median(raw.native)
    assert len(np.unique(processed.native)) <= 256
    assert processed.truth == raw.truth


def test_surfaces_of_a_scene_differ_in_brightness_and_have_mean_1_together() -> None:
    pictures = draw_surfaces(np.random.default_rng(4), Clutter(), count=3, size=300)
    means = [picture.mean() for picture in pictures]
    assert np.mean(means) == pytest.approx(1.0, rel=1e-3)
    assert max(means) > 1.1 * min(means)


def test_breathing_can_be_switched_off(surfaces: list[np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def spy(scene: Scene, view: PatchView, focus: np.ndarray, axis: np.ndarray) -> np.ndarray:
        seen.append(view.magnification(float(focus[-1])))
        return np.zeros((len(focus), 2, view.size, view.size), dtype=np.float32)

    monkeypatch.setattr(capture, "render_stack", spy)
    draw(surfaces, 0)
    draw(surfaces, 0, replace(EASY, breathing=0.0))
    assert seen[0] == pytest.approx(1.0443, abs=1e-3)
    assert seen[1] == 1.0


def test_photographs_with_depth_are_scenes_too(surfaces: list[np.ndarray]) -> None:
    rng = np.random.default_rng(6)
    slope = np.linspace(0, 1, 400, dtype=np.float32)[None, :] * np.ones((400, 1), np.float32)
    source = DepthPhotograph.of(rng.random((400, 400), np.float32), slope)
    drawn = [draw(surfaces, seed, depth_photographs=[source]) for seed in range(8)]
    found = [patch for patch in drawn if patch.kind == "photograph"]
    assert found
    assert all(patch.depth_spread > 0 and patch.focusable for patch in found)


# Where a patch is sharp

CLEAN = replace(  # a real lens that misses its positions, but a picture that neither breathes nor wanders
    EASY,
    actuator=Actuator(),
    breathing=0.0,
    side_motion=0.0,
    lighting=replace(EASY.lighting, shot=(0.01, 0.02)),
)


def index_of_sharpest_slice(patch: capture.Patch) -> int:
    stack = FocalStack.full(native_to_pixels(patch.native)[None], CAMERA.grid)
    return int(best_index(scores(stack, ["local-norm-dist-sq-4"])["local-norm-dist-sq-4"])[0])


def test_the_sharpest_slice_of_a_plane_is_where_it_says(surfaces: list[np.ndarray]) -> None:
    planes = [one for one in (draw(surfaces, seed, CLEAN) for seed in range(30)) if one.kind == "plane"]
    assert len(planes) > 5
    assert max(abs(one.lens_error) for one in planes) > 1.5
    for patch in planes:
        (at,), (share,) = patch.sharp_at, patch.sharp_share
        assert share == 1
        label = float(CAMERA.grid.dioptres_to_index(patch.depth))
        assert at == pytest.approx(label - patch.lens_error, abs=1e-3)
        assert abs(index_of_sharpest_slice(patch) - at) <= 1


def test_the_sharpest_slice_of_any_patch_is_near_one_of_its_depths(surfaces: list[np.ndarray]) -> None:
    off = []
    for seed in range(24):
        patch = draw(surfaces, seed, replace(CLEAN, layout=Layout()))
        assert 0.1 <= sum(patch.sharp_share) <= 1 + 1e-9
        assert list(patch.sharp_at) == sorted(patch.sharp_at)
        off.append(min(abs(index_of_sharpest_slice(patch) - at) for at in patch.sharp_at))
    assert np.mean(np.array(off) <= 1) > 0.7
    assert max(off) <= 2


def test_a_patch_of_two_things_has_two_depths(surfaces: list[np.ndarray]) -> None:
    drawn = [draw(surfaces, seed) for seed in range(60)]
    two = [patch for patch in drawn if patch.kind == "two"]
    assert max(len(patch.sharp_at) for patch in two) == 2
    apart = [patch for patch in two if len(patch.sharp_at) == 2]
    assert len(apart) >= 2
    assert all(sum(patch.sharp_share) > 0.9 for patch in apart)


def test_where_nothing_can_be_focused_nothing_is_sharp(surfaces: list[np.ndarray]) -> None:
    patch = draw(surfaces, 1, replace(EASY, featureless=1.0))
    assert not patch.focusable
    assert (patch.sharp_at, patch.sharp_share) == ((), ())


def test_a_thing_beyond_the_end_is_sharp_beyond_the_end(surfaces: list[np.ndarray]) -> None:
    beyond = replace(EASY, layout=Layout(beyond=1.0, tilt_indices=0.5))
    for patch in (draw(surfaces, seed, beyond) for seed in range(6)):
        if patch.kind == "plane" and abs(patch.beyond) > 1:
            (at,) = patch.sharp_at
            assert at == pytest.approx(patch.beyond + (48 if patch.beyond > 0 else 0), abs=0.1)
