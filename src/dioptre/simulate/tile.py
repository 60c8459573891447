"""One tile of a frame: what both views see of a scene, as `dioptre.simulate.render` has it for a patch.

Tiles are large, and most of their layers are either not there or opaque over most of a tile. So on a surface
of varying depth each pixel is asked first whether any of the layer is near enough to blur into it, and
whether an edge is: what hides what is computed near edges only. Kernels are cut to the taps that have light.
"""

import cv2
import numpy as np
from jaxtyping import Float32, Int, UInt8

from dioptre.optics import depth_to_blur
from dioptre.simulate import kernels
from dioptre.simulate.render import (
    SPARE,
    PatchView,
    Views,
    blur_flat_layer,
    doubled,
    kernel_levels,
    pooled,
    sample,
)
from dioptre.simulate.scene import Layer, Scene
from dioptre.stack import AnyPicture

NOTHING, EDGE, INSIDE = 0, 1, 2  # what a pixel sees of a layer
PRESENT = 1e-4  # of alpha: less is nothing, and as much less than 1 is whole


def render_tile(scene: Scene, view: PatchView, focus: float, principal_point: tuple[float, float]) -> Views:
    """Returns the radiance that the left and the right view see of a scene, (2, size, size).

    Args:
        scene: Its layers reach far enough (`PatchView.margin`).
        view: Camera, device and place.
        focus: Where the lens is truly focused, in dioptres.
        principal_point: Where the optical axis meets the frame, (x, y) pixels from its centre.
    """
    scale = view.magnification(focus)
    total = np.zeros((2, view.size, view.size), dtype=np.float32)
    clear: Views | None = None  # how much of the pupil still sees what is behind; None for all of it
    for layer in scene.layers:
        light, cover = _blurred(layer, scene, view, focus, scale, principal_point)
        total += light if clear is None else clear * light
        if cover is not None:
            seen = np.clip(cover / view.spread.sums[:, None, None], 0.0, 1.0)
            clear = 1 - seen if clear is None else clear * (1 - seen)
    return total / np.float32(scale * scale)


def _blurred(
    layer: Layer,
    scene: Scene,
    view: PatchView,
    focus: float,
    scale: float,
    principal_point: tuple[float, float],
) -> tuple[Views, Views | None]:
    """Returns a layer's light and cover in both views."""

    def sampled(picture: AnyPicture, border: int) -> AnyPicture:
        return sample(picture, scene.margin, view, scale, principal_point, border)

    if isinstance(layer.depth, float):
        return blur_flat_layer(layer, layer.depth, view, focus, sampled)
    diameters = np.asarray(depth_to_blur(view.camera, focus, sampled(layer.depth, 0).astype(np.float64)))
    steps, pairs, half, halved = kernel_levels(view, diameters)
    border = 2 * (half + SPARE) if halved else half
    alpha = None if layer.alpha is None else sampled(layer.alpha, border)
    image = sampled(layer.radiance, border)
    if alpha is not None:
        image *= alpha
    if halved:
        image, alpha = pooled(image), None if alpha is None else pooled(alpha)
    light, cover = _gather(image, alpha, pairs, steps, half, view.spread.sums)
    if halved:
        return doubled(light, view.size), None if cover is None else doubled(cover, view.size)
    return light, cover


def _gather(
    image: AnyPicture,
    alpha: AnyPicture | None,
    pairs: Float32[np.ndarray, "level 2 n n"],
    which: Int[np.ndarray, "rows cols"],
    half: int,
    sums: Float32[np.ndarray, "2"],
) -> tuple[Views, Views | None]:
    """Returns the light and, of a layer that is not everywhere, the cover that each pixel gathers."""
    light = np.zeros((2, *which.shape), np.float32)
    if alpha is None:
        state = np.full(which.shape, INSIDE, np.uint8)
        kernels.blur_partly(image, image, pairs, which, state, light, light)
        return light, None
    state = _state(alpha, half)
    cover = np.where(state == INSIDE, sums[:, None, None], np.float32(0))
    kernels.blur_partly(image, alpha, pairs, which, state, light, cover)
    return light, cover


def _state(alpha: AnyPicture, half: int) -> UInt8[np.ndarray, "_ _"]:
    """Returns, for each pixel, how it sees a layer if light comes from at most `half` pixels away."""
    reach = np.ones((2 * half + 1, 2 * half + 1), np.uint8)
    inner = slice(half, -half)
    near = cv2.dilate((alpha > PRESENT).astype(np.uint8), reach)[inner, inner]
    whole = cv2.erode((alpha > 1 - PRESENT).astype(np.uint8), reach)[inner, inner]
    return np.where(whole > 0, INSIDE, np.where(near > 0, EDGE, NOTHING)).astype(np.uint8)
