"""Scenes: textured surfaces at known depth, and what is painted on them.

A scene is what one patch of the frame can see: layers from front to back, each a picture with a depth.
Pictures are linear radiance, 1 at white, more for highlights. They are FINE times finer than the sensor's
pixels, blurred by what lens and pixels leave even in focus, and reach `margin` pixels beyond the patch on
every side, because blur and breathing bring in light from there.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32
from scipy.ndimage import gaussian_filter

from dioptre.simulate import kernels

FINE = 2
# Sigma of what blurs even in focus: diffraction (0.17), residual aberrations (0.4) and the pixel's own width
# (1 / sqrt 12), which for all but binned rows is one pixel.
LENS_BLUR_PX = 0.52

Picture = Float32[np.ndarray, "rows cols"]


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
            raise ValueError("a scene's last layer is everywhere: it has no alpha")
        shapes = {layer.radiance.shape for layer in self.layers}
        if len(shapes) != 1:
            raise ValueError(f"a scene's layers have one size, not {sorted(shapes)}")

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
    return gaussian_filter(picture, LENS_BLUR_PX * FINE).astype(np.float32)


def dead_leaves(
    rows: int,
    cols: int,
    rng: np.random.Generator,
    smallest_px: float = 1.5,
    largest_px: float = 60.0,
    grain: float = 0.1,
) -> Float[np.ndarray, "{rows} {cols}"]:
    """Returns overlapping discs of random grey whose radii follow r^-3: the statistics of natural images.

    Discs fall from front to back until every pixel is covered by one. `grain` is the deviation of a fine
    texture on them, as a part of their grey: no real surface is quite smooth. Radii are in the result's
    pixels.
    """
    image = np.full((rows, cols), np.nan)
    low, high = smallest_px**-2, largest_px**-2
    free, many = rows * cols, 4096
    while free:
        # Once little is free, the last specks need not wait for a small disc to hit them.
        radii = (low + rng.random(many) * (high - low)) ** -0.5
        radii = radii if free > 0.02 * rows * cols else np.full(many, largest_px)
        centres = rng.uniform(-largest_px, np.array([rows, cols]) + largest_px, (many, 2))
        free = kernels.drop_discs(centres, radii, rng.uniform(0.05, 0.95, many), image)
    return np.clip(image * (1 + grain * rng.standard_normal(image.shape)), 0.0, 1.0)
