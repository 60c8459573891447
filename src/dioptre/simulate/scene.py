"""Scenes: textured surfaces at known depth.

A scene is what one patch of the frame can see: layers from front to back, each a picture with a depth.
Pictures are linear radiance, 1 at white, more for highlights. They are FINE times finer than the sensor's
pixels, blurred by what lens and pixels leave even in focus, and reach `margin` pixels beyond the patch on
every side, because blur and breathing bring in light from there.
"""

import math
from dataclasses import dataclass, replace

import cv2
import numpy as np
from jaxtyping import Float, Float32

from dioptre.errors import InputError
from dioptre.optics import CameraModel, blur_in_focus
from dioptre.stack import Picture

FINE = 2
# Sigma of what blurs even in focus: diffraction (0.17), residual aberrations (0.4) and the pixel's own width
# (1 / sqrt 12), which for all but binned rows is one pixel.
LENS_BLUR_PX = 0.52
NO_SOFTER = 0.01  # px^2: what adds less to that is left out


@dataclass(frozen=True, eq=False)
class Layer:
    """One surface.

    Attributes:
        radiance: (rows, cols) on the fine grid.
        depth: Dioptres; a number for a plane that faces the camera, or a picture for a surface.
        alpha: Where the surface is, 0 to 1; None for everywhere.
    """

    radiance: Picture
    depth: float | Picture
    alpha: Picture | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """What one patch can see: layers from front to back, the last one everywhere.

    Attributes:
        layers: The surfaces.
        margin: Pixels (not fine ones) that the layers reach beyond the patch on every side.
    """

    layers: tuple[Layer, ...]
    margin: int

    def __post_init__(self) -> None:
        if not self.layers or self.layers[-1].alpha is not None:
            raise InputError("a scene's last layer is everywhere: it has no alpha")
        shapes = {layer.radiance.shape for layer in self.layers}
        if len(shapes) != 1:
            raise InputError(f"a scene's layers have one size, not {sorted(shapes)}")

    def depth_map(self, size: int) -> Float32[np.ndarray, "size size"]:
        """Returns the dioptres of what is seen in front at each pixel of the patch."""
        seen = np.full((size, size), np.nan, dtype=np.float32)
        start = FINE * self.margin
        middle = slice(start, start + FINE * size, FINE)
        for layer in self.layers:
            here = np.ones(seen.shape, bool) if layer.alpha is None else layer.alpha[middle, middle] > 0.5
            depth = np.broadcast_to(np.float32(layer.depth), layer.radiance.shape)[middle, middle]
            seen = np.where(np.isnan(seen) & here, depth, seen)
        return seen


def fine_size(size: int, margin: int) -> int:
    """Returns the rows and columns that a layer needs for a patch of so many pixels."""
    return FINE * (size + 2 * margin)


def soften(picture: Float[np.ndarray, "rows cols"]) -> Picture:
    """Returns a picture on the fine grid with the blur that is there even in focus."""
    sigma = LENS_BLUR_PX * FINE
    return cv2.GaussianBlur(picture, (9, 9), sigma, borderType=cv2.BORDER_REFLECT).astype(np.float32)


def diffract(scene: Scene, camera: CameraModel) -> Scene:
    """Returns a scene as soft as a camera leaves it in focus, if diffraction blurs more than on the phone."""
    more = blur_in_focus(camera) ** 2 - blur_in_focus(CameraModel.pixel3()) ** 2
    if more <= NO_SOFTER:
        return scene
    sigma = FINE * math.sqrt(more)

    def blurred(picture: Picture) -> Picture:
        return cv2.GaussianBlur(picture, (0, 0), sigma, borderType=cv2.BORDER_REFLECT)

    layers = (
        replace(one, radiance=blurred(one.radiance), alpha=None if one.alpha is None else blurred(one.alpha))
        for one in scene.layers
    )
    return replace(scene, layers=tuple(layers))
