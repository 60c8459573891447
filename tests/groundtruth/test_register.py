from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, shift

from dioptre.grid import FocusGrid
from dioptre.groundtruth.register import (
    PHASE,
    SEARCH,
    Motion,
    calibrated_motion,
    common_field,
    hold_inside,
    largest_window,
    place_window,
    resample,
    search_motion,
)
from dioptre.optics import CameraModel
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView, render_stack
from dioptre.simulate.scene import Layer, Scene, fine_size, soften
from dioptre.simulate.sensor import Noise, native_to_pixels, read_native
from dioptre.simulate.texture import dead_leaves

N = 128
SHARP = 12
CAMERA = replace(CameraModel.pixel3(), grid=FocusGrid.of_dioptres(FocusGrid.learnaf().dioptres[12:37]))
PINHOLE = replace(CAMERA, aperture_factor=0.02)  # sharp at every position
EVEN = replace(PhoneOptics.center(), tilt=0.0)  # its blur keeps its centroid, so that only geometry moves


def simulated(
    camera: CameraModel,
    at: tuple[float, float],
    axis: np.ndarray | None = None,
    noise: Noise | None = None,
    device: PhoneOptics = EVEN,
    seed: int = 0,
) -> np.ndarray:
    """Returns (slice, 2, N, N) of a textured plane at position SHARP; `axis` is where the optical axis is."""
    rng = np.random.default_rng(seed)
    view = PatchView(PointSpread(camera, device, at), N + 4)
    n = fine_size(N + 4, view.margin(12.0))
    picture = 0.4 * soften(dead_leaves(n, n, rng, 3.0, 120.0))
    scene = Scene((Layer(picture, float(camera.grid.dioptres[SHARP])),), view.margin(12.0))
    light = render_stack(scene, view, camera.grid.dioptres, axis)
    return native_to_pixels(read_native(light[..., 2:-2], noise or Noise.none(), rng))


def true_motion(camera: CameraModel, at: tuple[float, float], axis: np.ndarray) -> Motion:
    zoom = calibrated_motion(camera, at).zoom
    return Motion(zoom, axis + zoom[:, None] * (np.array(at) - axis[0]) - np.array(at))


def drift(reference: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Returns the (x, y) shift between two pictures by iterated least squares, gain and offset fitted."""
    reference, moved = gaussian_filter(reference, 1.0), gaussian_filter(moved, 1.0)
    inner, total = (slice(8, -8), slice(8, -8)), np.zeros(2)
    for _ in range(4):
        there = shift(moved, -total[::-1], mode="nearest")
        dy, dx = np.gradient(there)
        basis = np.stack([one[inner].ravel() for one in (dx, dy, there, np.ones_like(there))], axis=1)
        x, y, gain, _ = np.linalg.lstsq(basis, reference[inner].ravel(), rcond=None)[0]
        total += np.array([x, y]) / gain
    return total


def registered(pixels: np.ndarray, motion: Motion) -> np.ndarray:
    size = largest_window(motion, N)
    return resample(pixels, motion, place_window(motion, N, size, (0, 0)), size).mean(axis=1)


def strays(found: Motion, true: Motion, within: int = 8) -> float:
    """Returns the root mean square distance of shifts near focus, relative to the sharp slice."""
    off = found.shift - true.shift
    near = off[SHARP - within : SHARP + within + 1] - off[SHARP]
    return float(np.sqrt((near**2).sum(axis=1).mean()))


def test_drift_measures_a_known_shift() -> None:
    rng = np.random.default_rng(0)
    picture = gaussian_filter(rng.random((80, 80)), 2)
    still = Motion(np.ones(2), np.array([[0.0, 0.0], [0.3, -0.2]]))
    pixels = np.stack([picture, picture])[:, None].astype(np.float32)
    one, two = resample(pixels, still, (8, 8), 60)[:, 0]
    np.testing.assert_allclose(drift(two, one), [0.3, -0.2], atol=0.02)


@pytest.mark.parametrize("at", [(0.0, 0.0), (-700.0, 400.0), (944.0, 692.0)])
def test_calibration_leaves_less_than_a_tenth_of_a_pixel(at: tuple[float, float]) -> None:
    pixels = simulated(PINHOLE, at)
    motion = calibrated_motion(PINHOLE, at)
    slices = registered(pixels, motion)
    for k in (6, 12, 18, 24):
        assert np.hypot(*drift(slices[0], slices[k])) < 0.1
    if any(at):
        unregistered = pixels[[0, -1], :, 8:-8, 8:-8].mean(axis=1)
        assert np.hypot(*drift(*unregistered)) > 1


def test_calibration_holds_through_focus() -> None:
    at = 600.0, -500.0
    slices = registered(simulated(CAMERA, at), calibrated_motion(CAMERA, at))
    for k in range(SHARP - 4, SHARP + 5):
        assert np.hypot(*drift(slices[SHARP], slices[k])) < 0.1


def test_one_magnification_for_the_whole_patch() -> None:
    at = 700.0, -300.0
    slices = registered(simulated(PINHOLE, at), calibrated_motion(PINHOLE, at))
    half = slices.shape[-1] // 2
    for rows, cols in ((slice(half), slice(half)), (slice(-half, None), slice(-half, None))):
        assert np.hypot(*drift(slices[0, rows, cols], slices[-1, rows, cols])) < 0.1


@pytest.mark.parametrize(
    ("camera", "principal_point"),
    [
        (CAMERA, (60.0, -60.0)),
        (replace(CAMERA, focal_length_mm=4.44 * 1.1), (0.0, 0.0)),
        (replace(CAMERA, focal_length_mm=4.44 * 0.9), (0.0, 0.0)),
    ],
    ids=["principal point", "too long", "too short"],
)
def test_the_search_recovers_a_wrong_camera(
    camera: CameraModel, principal_point: tuple[float, float]
) -> None:
    at, axis = (700.0, -500.0), np.zeros((25, 2))
    true = true_motion(CAMERA, at, axis)
    guess = calibrated_motion(camera, at, principal_point)
    found = search_motion(simulated(CAMERA, at, noise=Noise()).mean(axis=1), guess)
    assert strays(guess, true) > 0.25
    assert strays(found, true) < 0.1
    assert found.zoom[-1] == pytest.approx(true.zoom[-1], abs=1.5e-3)
    if camera is not CAMERA:
        assert abs(found.zoom[-1] - true.zoom[-1]) < 0.75 * abs(guess.zoom[-1] - true.zoom[-1])


def test_the_search_follows_a_wandering_axis() -> None:
    rng, at = np.random.default_rng(3), (-300.0, 200.0)
    axis = np.stack([np.linspace(0, 3, 25), np.linspace(2, -1, 25)], axis=1) + rng.normal(0, 0.3, (25, 2))
    true = true_motion(CAMERA, at, axis)
    found = search_motion(simulated(CAMERA, at, axis, Noise()).mean(axis=1), calibrated_motion(CAMERA, at))
    assert strays(calibrated_motion(CAMERA, at), true) > 0.7
    assert strays(found, true) < 0.1


def test_changing_light_does_not_disturb_the_search() -> None:
    at = 400.0, 300.0
    green = simulated(CAMERA, at, noise=Noise()).mean(axis=1)
    light = np.random.default_rng(0).uniform(0.6, 1.0, (25, 1, 1)).astype(np.float32)
    guess = calibrated_motion(CAMERA, at)
    one, two = search_motion(green, guess), search_motion(green * light + np.float32(0.02), guess)
    np.testing.assert_allclose(one.shift, two.shift, atol=0.02)


@pytest.mark.parametrize("contrast", [0.0, 0.01])
def test_where_there_is_nothing_to_see_the_guess_stands(contrast: float) -> None:
    noise = contrast * np.random.default_rng(1).standard_normal((25, N, N))
    guess = calibrated_motion(CAMERA, (500.0, 500.0))
    found = search_motion((0.2 + noise).astype(np.float32), guess)
    np.testing.assert_allclose(found.shift, guess.shift, atol=0.05 if contrast == 0 else 1.5)
    np.testing.assert_allclose(found.zoom, guess.zoom, atol=4e-3)


def test_a_search_needs_slices_and_pixels() -> None:
    with pytest.raises(ValueError, match="not 3 of 64"):
        search_motion(np.zeros((3, 64, 64), np.float32), Motion(np.ones(3), np.zeros((3, 2))))
    with pytest.raises(ValueError, match=f"not 9 of {2 * SEARCH.border}"):
        search_motion(
            np.zeros((9, 2 * SEARCH.border, 2 * SEARCH.border), np.float32),
            Motion(np.ones(9), np.zeros((9, 2))),
        )


def cubic(t: float) -> float:
    """Keys' kernel with a = -1/2, as printed."""
    t = abs(t)
    if t < 1:
        return 1.5 * t**3 - 2.5 * t**2 + 1
    return -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2 if t < 2 else 0.0


def test_resample_is_the_plain_sum_over_sixteen_pixels() -> None:
    rng = np.random.default_rng(2)
    pixels = rng.random((3, 2, 24, 24), np.float32)
    motion = Motion(np.array([1.0, 1.01, 1.03]), rng.uniform(-2, 2, (3, 2)) * [[0], [1], [1]])
    first, size = (5, 6), 10
    out = resample(pixels, motion, first, size)
    for k, i, j in ((0, 0, 0), (1, 3, 9), (2, 9, 4)):
        centre = 11.5
        x = motion.zoom[k] * (first[0] + j + PHASE - centre) + motion.shift[k, 0] + centre
        y = motion.zoom[k] * (first[1] + i + PHASE - centre) + motion.shift[k, 1] + centre
        expected = sum(
            cubic(y - r) * cubic(x - c) * pixels[k, 1, r, c].astype(float)
            for r in range(int(y) - 1, int(y) + 3)
            for c in range(int(x) - 1, int(x) + 3)
        )
        assert out[k, 1, i, j] == pytest.approx(expected, abs=1e-5)


def test_the_reference_is_filtered_too() -> None:
    pixels = np.random.default_rng(0).random((2, 1, 40, 40), np.float32)
    still = Motion(np.ones(2), np.zeros((2, 2)))
    out = resample(pixels, still, (4, 4), 30)
    assert out[0].std() < 0.9 * pixels[0].std()
    ramp = np.broadcast_to(np.arange(40, dtype=np.float32), (2, 1, 40, 40)).copy()
    np.testing.assert_allclose(
        resample(ramp, still, (4, 4), 30)[0, 0, 0], np.arange(4, 34) + PHASE, rtol=1e-6
    )


def test_windows_stay_inside_every_slice() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        zoom = np.concatenate([[1.0], rng.uniform(0.97, 1.05, 6)])
        motion = Motion(zoom, np.concatenate([[[0.0, 0.0]], rng.uniform(-12, 12, (6, 2))]))
        size = largest_window(motion, N)
        first = place_window(motion, N, size, (0, 0))
        ends = np.array([first, np.add(first, size - 1)]) + PHASE - (N - 1) / 2
        places = zoom[:, None, None] * ends + motion.shift[:, None] + (N - 1) / 2
        assert places.min() >= 1
        assert places.max() <= N - 2
        resample(np.zeros((7, 1, N, N), np.float32), motion, first, size)
        with pytest.raises(ValueError, match="not inside"):
            resample(np.zeros((7, 1, N, N), np.float32), motion, first, size + 2)


def test_a_window_is_as_near_to_the_wanted_one_as_can_be() -> None:
    motion = calibrated_motion(CameraModel.pixel3(), (944.0, 0.0))
    (left, top), (right, bottom) = common_field(motion, N)
    assert right - left < bottom - top
    assert largest_window(motion, N) == right - left + 1 == 83
    assert place_window(motion, N, 60, (30, 30)) == (min(30, right - 59), 30)
    assert place_window(motion, N, 90, (19, 19))[0] == (left + right - 89) // 2


def test_a_motion_that_leaves_the_patch_is_held_back() -> None:
    shifts = np.zeros((5, 2))
    shifts[3] = 40.0, -3.0
    motion = Motion(np.ones(5), shifts)
    first = place_window(motion, N, 100, (14, 14))
    held = hold_inside(motion, N, first, 100)
    assert 20 < held.shift[3, 0] < 40
    np.testing.assert_array_equal(np.delete(held.shift[:, 1], 3), 0)
    resample(np.zeros((5, 2, N, N), np.float32), held, first, 100)
    with pytest.raises(ValueError, match="no room for a registered window of 127"):
        hold_inside(motion, N, (0, 0), 127)
