"""What the simulated camera must measure like: blur, split, shading, noise, breathing."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import map_coordinates
from scipy.signal import fftconvolve

from dioptre.optics import CameraModel, breathing, depth_to_blur
from dioptre.simulate.device import LEFT_SHARE, SHADING, PhoneOptics
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView, render, render_stack
from dioptre.simulate.scene import FINE, Layer, Scene, fine_size, soften
from dioptre.simulate.sensor import LEVELS, Noise, read_native
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import upsample_rows

CAMERA = CameraModel.pixel3()
FULL_APERTURE = replace(CAMERA, aperture_factor=1.0)


def centroid(image: np.ndarray) -> tuple[float, float]:
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    return float((image * x).sum() / image.sum()), float((image * y).sum() / image.sum())


def diameter(image: np.ndarray) -> float:
    """Returns the diameter of the uniform disc with this image's variance."""
    (cx, cy), (y, x) = centroid(image), np.mgrid[: image.shape[0], : image.shape[1]]
    variance = (image * ((x - cx) ** 2 + (y - cy) ** 2)).sum() / image.sum() / 2
    return float(4 * np.sqrt(variance))


@pytest.mark.parametrize("depth_m", [0.102, 0.2, 0.5, 2.0])
def test_a_point_blurs_to_the_thin_lens_diameter_at_every_position(depth_m: float) -> None:
    spread = PointSpread(FULL_APERTURE, PhoneOptics(), (0.0, 0.0))
    for focus in FULL_APERTURE.grid.dioptres:
        blur = float(depth_to_blur(FULL_APERTURE, float(focus), 1 / depth_m))
        if abs(blur) < 0.5:
            continue
        left, right = spread.kernels(blur).astype(np.float64)
        assert diameter(left + right) == pytest.approx(abs(blur), rel=0.03)
        separation = centroid(right)[0] - centroid(left)[0]
        assert separation / blur == pytest.approx(0.25, abs=0.01)  # and so flips with the sign of the blur


def test_blur_grows_by_059_pixels_an_index() -> None:
    spread = PointSpread(CAMERA, PhoneOptics(), (0.0, 0.0))
    grid = CAMERA.grid.dioptres
    for middle in (8, 24, 40):
        far = min(middle + 20, 48)
        blur = float(depth_to_blur(CAMERA, float(grid[far]), float(grid[middle])))
        assert diameter(spread.kernels(blur).sum(axis=0)) / (far - middle) == pytest.approx(0.59, abs=0.05)


@pytest.mark.parametrize(("row", "col"), [(2, 4), (0, 0), (3, 7)])
def test_a_constant_scene_shows_the_shading_at_any_depth(row: int, col: int) -> None:
    at = -948.0 + col * 237, -696.0 + row * 348
    view = PatchView(PointSpread(CAMERA, PhoneOptics(), at), 24)
    n = fine_size(24, view.margin())
    for depth in (0.3, 5.0, 9.5):
        scene = Scene((Layer(np.ones((n, n), np.float32), depth),), view.margin())
        left, right = render(scene, view, float(CAMERA.grid.dioptres[0]))
        assert (left + right).mean() / 2 == pytest.approx(SHADING[row, col], rel=4e-3)
        assert left.mean() / (left + right).mean() == pytest.approx(LEFT_SHARE[row, col], rel=4e-3)
        assert np.ptp(left) < 1e-3


def test_exposure_falls_by_8_per_cent_over_the_stack() -> None:
    view = PatchView(PointSpread(CAMERA, PhoneOptics(), (0.0, 0.0)), 16)
    n = fine_size(16, view.margin())
    scene = Scene((Layer(np.ones((n, n), np.float32), 5.0),), view.margin())
    mean = render_stack(scene, view, CAMERA.grid.dioptres[[0, 48]]).mean(axis=(1, 2, 3))
    assert 1 - mean[1] / mean[0] == pytest.approx(0.083, abs=0.002)


@pytest.mark.parametrize("at", [(0.0, 0.0), (900.0, 0.0), (-700.0, 600.0)])
def test_breathing_moves_a_point_as_the_magnification_says(at: tuple[float, float]) -> None:
    pinhole = replace(CAMERA, aperture_factor=0.02)  # sharp at every position
    view = PatchView(PointSpread(pinhole, PhoneOptics(), at), 128)
    n = fine_size(128, view.margin())
    y, x = np.mgrid[:n, :n]
    picture = np.exp(-((x - n / 2 + 0.5) ** 2 + (y - n / 2 + 0.5) ** 2) / (2 * (2 * FINE) ** 2)).astype(
        np.float32
    )
    scene = Scene((Layer(picture, 5.0),), view.margin())
    places = [centroid(render(scene, view, float(pinhole.grid.dioptres[k])).sum(axis=0)) for k in (0, 24, 48)]
    for place, scale in zip(places, breathing(pinhole)[[0, 24, 48]], strict=True):
        for got, start in zip(place, at, strict=True):
            assert got - 63.5 == pytest.approx(start * (scale - 1), abs=0.1)


def test_noise_grows_with_the_signal_and_correlates_along_rows() -> None:
    rng, shot, read = np.random.default_rng(0), 0.4, 1.3
    noise = Noise(shot, read, row=0.0, pattern=0.0)
    levels = np.array([0.0, 0.2, 0.5, 0.8])
    native = [read_native(np.full((4, 2, 260, 200), level, np.float32), noise, rng) for level in levels]
    variances = np.array([codes.astype(np.float64).var() for codes in native]) - 1 / 12  # of rounding
    slope, _ = np.polyfit(levels * LEVELS, variances, 1)
    assert slope == pytest.approx(shot, rel=0.05)
    assert variances[0] == pytest.approx(read**2, rel=0.05)
    image = upsample_rows(native[2].astype(np.float32)) - native[2].mean()
    lagged = [
        np.mean(image[..., : -lag or None, :] * image[..., lag:, :]) / np.mean(image**2) for lag in (1, 2, 3)
    ]
    assert lagged[0] == pytest.approx(0.75, abs=0.03)
    assert lagged[1] == pytest.approx(0.30, abs=0.03)
    assert lagged[2] == pytest.approx(0.0, abs=0.06)


def test_upsampled_codes_step_by_quarters() -> None:
    codes = read_native(
        np.random.default_rng(0).random((1, 2, 36, 20), np.float32), Noise(), np.random.default_rng(1)
    )
    quarters = upsample_rows(codes.astype(np.float32)) * 4
    np.testing.assert_array_equal(quarters, np.round(quarters))


def test_pixels_clip_before_they_are_averaged() -> None:
    light = np.zeros((1, 2, 4, 2), np.float32)
    light[:, :, ::2] = 30.0  # a highlight on every other row
    codes = read_native(light, Noise.none(), np.random.default_rng(0))
    np.testing.assert_array_equal(codes, np.full(codes.shape, round(64 + 959 / 2)))


def uniform_disc(diameter: float, size: int = 31, fine: int = 8) -> np.ndarray:
    at = (np.arange(size * fine) + 0.5) / fine - size / 2
    inside = np.hypot(at[:, None], at[None, :]) <= diameter / 2
    kernel = inside.reshape(size, fine, size, fine).mean(axis=(1, 3))
    return kernel / kernel.sum()


def fitted_diameter(sharp: np.ndarray, blurred: np.ndarray, expected: float) -> float:
    """Returns the uniform disc that best blurs one picture to the other, up to gain, offset and shift."""
    inner, errors = (slice(24, -24), slice(24, -24)), []
    diameters = np.arange(0.7 * expected, 1.4 * expected, 0.1)
    for one in diameters:
        tried = fftconvolve(sharp, uniform_disc(one), "same")[inner]
        down, across = np.gradient(tried)
        basis = np.stack([tried.ravel(), np.ones(tried.size), down.ravel(), across.ravel()], axis=1)
        errors.append(np.linalg.lstsq(basis, blurred[inner].ravel(), rcond=None)[1].sum())
    return float(diameters[int(np.argmin(errors))])


def test_blur_of_stacks_over_the_field_grows_as_on_real_ones() -> None:
    rng, size, away = np.random.default_rng(0), 128, 16
    growth = []
    for at in ((0.0, 0.0), (800.0, -500.0), (-600.0, 300.0), (300.0, 600.0)):
        view = PatchView(PointSpread(CAMERA, PhoneOptics(), at), size)
        n = fine_size(size, view.margin())
        picture = soften(dead_leaves(n, n, rng, 3.0, 200.0))
        scene = Scene((Layer(picture, float(CAMERA.grid.dioptres[24])),), view.margin())
        foci = [float(CAMERA.grid.dioptres[k]) for k in (24, 24 + away)]
        sharp, blurred = (render(scene, view, focus).mean(axis=0) for focus in foci)
        scale = view.magnification(foci[1]) / view.magnification(foci[0])
        rows, cols = (
            (place + np.arange(size) - (size - 1) / 2) / scale - place + (size - 1) / 2 for place in at[::-1]
        )
        moved = map_coordinates(sharp, np.meshgrid(rows, cols, indexing="ij"), order=3, mode="nearest")
        growth.append(fitted_diameter(moved, blurred, 0.59 * away) / away)
    assert np.median(growth) == pytest.approx(0.59, abs=0.05)
