"""The slow reference renderer: the pupil point by point.

Through one point of the pupil the world looks as through a pinhole: every layer sharp, shifted by its blur
radius times the point's place, and what is in front hides what is behind, entirely. The picture is the sum
over pupil points, weighted with the light that passes there into the left or the right view. Nothing is
approximated but the number of points, so that partly hidden backgrounds come out right. The tests hold the
fast renderer against it.
"""

import numpy as np
from jaxtyping import Float, Float32
from scipy.ndimage import map_coordinates, spline_filter

from dioptre.optics import depth_to_blur
from dioptre.simulate.psf import REACH, pupil_light
from dioptre.simulate.render import PatchView
from dioptre.simulate.scene import FINE, Layer, Scene


def render_by_aperture(
    scene: Scene,
    view: PatchView,
    focus: float,
    principal_point: tuple[float, float] = (0.0, 0.0),
    samples: int = 24,
) -> Float32[np.ndarray, "2 size size"]:
    """Returns what `render.render` returns, from `samples` x `samples` points over the pupil's square."""
    scale, size = view.magnification(focus), view.size
    places = (np.arange(samples) + 0.5) / samples * 2 * REACH - REACH
    light = pupil_light(view.camera, view.spread.device, view.spread.at, places[None, :], places[:, None])
    light *= (view.spread.sums / light.sum(axis=(1, 2)))[:, None, None]
    filtered = [_filtered(layer) for layer in scene.layers]
    total = np.zeros((2, size, size))
    for i, uy in enumerate(places):
        for j, ux in enumerate(places):
            if light[:, i, j].sum() < 1e-6:
                continue
            seen = _pinhole(scene, filtered, view, focus, scale, principal_point, (ux, uy))
            total += light[:, i, j][:, None, None] * seen
    return (total / scale**2).astype(np.float32)


def _filtered(layer: Layer) -> tuple[Float[np.ndarray, "r c"], Float[np.ndarray, "r c"] | None]:
    alpha = None if layer.alpha is None else spline_filter(layer.alpha.astype(np.float64))
    return spline_filter(layer.radiance.astype(np.float64)), alpha


def _pinhole(
    scene: Scene,
    filtered: list[tuple[Float[np.ndarray, "r c"], Float[np.ndarray, "r c"] | None]],
    view: PatchView,
    focus: float,
    scale: float,
    principal_point: tuple[float, float],
    u: tuple[float, float],
) -> Float[np.ndarray, "size size"]:
    """Returns the patch as seen through one point of the pupil."""
    pixels = np.arange(view.size) - (view.size - 1) / 2
    seen, clear = np.zeros((view.size, view.size)), np.ones((view.size, view.size))
    for layer, (radiance, alpha) in zip(scene.layers, filtered, strict=True):
        shift = _shift(layer, scene, view, focus, scale, principal_point, u, pixels)
        at = _places(scene, view, scale, principal_point, pixels, shift)
        cover = 1.0 if alpha is None else np.clip(map_coordinates(alpha, at, prefilter=False), 0, 1)
        seen += clear * cover * map_coordinates(radiance, at, prefilter=False)
        clear = clear * (1 - cover)
    return seen


def _shift(
    layer: Layer,
    scene: Scene,
    view: PatchView,
    focus: float,
    scale: float,
    principal_point: tuple[float, float],
    u: tuple[float, float],
    pixels: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "2 n n"]:
    """Returns how far (rows, columns) the light that reaches each pixel has been displaced, in pixels."""
    device = view.spread.device
    flat = np.zeros((2, len(pixels), len(pixels)))
    if isinstance(layer.depth, float):
        one = float(depth_to_blur(view.camera, focus, layer.depth))
        return flat + device.blur_gain(one) * one / 2 * np.array(u[::-1])[:, None, None]
    shift = flat
    for _ in range(4):  # the depth is that of the place the light comes from
        at = _places(scene, view, scale, principal_point, pixels, shift)
        depth = map_coordinates(layer.depth.astype(np.float64), at, order=1)
        blur = np.asarray(depth_to_blur(view.camera, focus, depth))
        gain = np.where(blur < 0, device.blur_gain(-1.0), device.blur_gain(1.0))
        shift = gain * blur / 2 * np.array(u[::-1])[:, None, None]
    return shift


def _places(
    scene: Scene,
    view: PatchView,
    scale: float,
    principal_point: tuple[float, float],
    pixels: Float[np.ndarray, " n"],
    shift: Float[np.ndarray, "2 n n"],
) -> Float[np.ndarray, "2 n n"]:
    """Returns where on the layers' grid (row, column) the light of each pixel comes from."""
    (px, py), (ax, ay) = principal_point, view.spread.at
    middle = FINE * (scene.margin + view.size / 2) - 0.5
    rows = ((ay + pixels[:, None] - shift[0] - py) / scale - ay) * FINE + middle
    cols = ((ax + pixels[None, :] - shift[1] - px) / scale - ax) * FINE + middle
    return np.stack([rows, cols])
