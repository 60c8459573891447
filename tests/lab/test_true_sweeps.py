"""Sweeps as people have them: repeatable, sharp where they say, and without an answer where there is none."""

import math

import cv2
import numpy as np
import pytest
from jaxtyping import Float, Float32

pytest.importorskip("pyarrow")
pytest.importorskip("skimage")

from lab.true_sweeps import Capture, Plan, Spread, TrueSweep, _frozen, _painted, _sharp_places, true_sweeps
from tests.marks import slow


def detail(pixels: Float32[np.ndarray, "slice view row col"]) -> Float[np.ndarray, " slice"]:
    """Returns each slice's mean squared detail over its squared brightness."""
    pictures = [views.mean(axis=0) for views in pixels]
    fine = [cv2.GaussianBlur(one, (0, 0), 1.0) - cv2.GaussianBlur(one, (0, 0), 2.5) for one in pictures]
    return np.array([(a**2).mean() / (b.mean() ** 2 + 1e-6) for a, b in zip(fine, pictures, strict=True)])


def check(one: TrueSweep) -> None:
    assert one.pixels.dtype == np.float32
    assert np.isfinite(one.pixels).all(), one.kind
    assert 0 <= one.pixels.min() <= one.pixels.max() <= 1, one.kind
    assert one.grid_is_learnaf <= (one.pixels.shape == (49, 2, 128, 128)), one.kind
    assert not one.clean or one.steps_off(one.sharp[0]) < 1, one.kind
    if one.kind.startswith("negative/") or one.kind == "frozen/all":
        assert not one.sharp
        assert one.steps_off(0) == math.inf
        assert not one.clean


@pytest.fixture(scope="module")
def scene() -> list[TrueSweep]:
    return list(true_sweeps(3, 5))


def test_a_scene_is_a_pure_function_of_its_numbers(scene: list[TrueSweep]) -> None:
    for one, again in zip(scene, true_sweeps(3, 5), strict=True):
        np.testing.assert_array_equal(one.pixels, again.pixels)
        assert (one.kind, one.sharp, one.clean) == (again.kind, again.sharp, again.clean)


def test_a_scene_has_pictures_of_all_families_that_say_where_they_are_sharp(scene: list[TrueSweep]) -> None:
    assert 12 <= len(scene) <= 22
    families = {one.kind.partition("/")[0] for one in scene}
    assert families >= {"phone", "fault", "painted", "frozen", "moving", "replaced", "microscope", "negative"}
    for one in scene:
        check(one)


@slow
def test_clean_sweeps_of_many_scenes_peak_where_they_are_sharp() -> None:
    off = []
    for number in range(5):
        for one in true_sweeps(4, number):
            check(one)
            if one.clean:
                off.append(one.steps_off(int(detail(one.pixels).argmax())))
    assert np.mean(np.array(off) <= 4) > 0.95


def painted(seed: int) -> Capture:
    return _painted(np.random.default_rng(seed), Plan(24, 0.9, 96, 128, 9.3))


def test_a_clean_painted_sweep_is_sharpest_where_it_says() -> None:
    captures = [painted(seed) for seed in range(24)]
    alone = [one for one in captures if len(one.sharp) == 1]  # of many depths, the sum may peak between two
    assert len(alone) > 3
    for capture in alone:
        taken = capture.taken(np.random.default_rng(0))
        assert taken.clean
        assert taken.steps_off(int(detail(taken.pixels).argmax())) <= 1.5


def test_what_covers_a_tenth_is_a_depth_and_less_is_none() -> None:
    places = np.repeat([5.0, 20.0, 33.0], [700, 250, 50])
    assert _sharp_places(places, 0.6) == (5.0, 20.0)
    assert _sharp_places(np.linspace(0, 200, 1000), 0.6) == ()  # too steep for any tenth to be sharp
    tilted = _sharp_places(np.linspace(10, 20, 1001), 0.6)
    assert min(tilted) == pytest.approx(11, abs=0.05)
    assert max(tilted) == pytest.approx(19, abs=0.05)


def test_six_tenths_of_a_slice_are_tolerated_where_slices_are_sparse() -> None:
    pixels = np.zeros((4, 1, 2, 2), np.float32)
    sparse = TrueSweep(pixels, (1.5,), 6.0, "", clean=True)
    assert [sparse.steps_off(answer) for answer in (1, 2, 3)] == [0.0, 0.0, 15.0]
    dense = TrueSweep(pixels, (1.5,), 0.3, "", clean=True)
    assert dense.steps_off(1) == pytest.approx(0.25)


def test_frozen_slices_are_as_sharp_as_the_pictures_they_show() -> None:
    for seed in range(8):
        whole, held, noisy = _frozen(painted(seed), np.random.default_rng(seed))
        assert whole.sharp == ()
        assert not np.array_equal(held.pixels, noisy.pixels)
        same = [np.array_equal(a, b) for a, b in zip(held.pixels, held.pixels[1:], strict=False)]
        run = np.flatnonzero(same)
        assert len(run)
        assert len({held.steps_off(at) for at in (*run, run[-1] + 1)}) == 1


def test_blur_is_a_disc_of_the_diameter_that_is_told() -> None:
    radial = np.array([[0.0, 0.001, 0.01]])
    for soft in (False, True):
        transfer = Spread(0.5, soft=soft).transfer(radial, 8.0)
        assert transfer[0, 0] == pytest.approx(1)
        variance = 0.5**2 + 8.0**2 / 16  # of either axis
        assert 1 - transfer[0, 1] == pytest.approx(2 * (np.pi * 0.001) ** 2 * variance, rel=1e-3)
