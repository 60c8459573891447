"""Wide pictures: one look at several surfaces at once, with the depth of each pixel.

What a network for depth learns from. A patch shows one or two surfaces; a wide picture shows several, each
at its own depth, facing the camera, slanted or curved, one before the other. There is no breathing and the
axis stays where it is, so that the map of depths lies on the picture.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Float32, UInt16

from dioptre.optics import CameraModel
from dioptre.simulate.capture import RIM, Conditions, crop_surface, draw_place
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.layout import bend, draw_depths, mean_step
from dioptre.simulate.lens import sweep
from dioptre.simulate.light import Square, draw_exposure, draw_slope
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView, render
from dioptre.simulate.scene import FINE, Layer, Scene, fine_size, soften
from dioptre.simulate.sensor import read_native
from dioptre.simulate.surface_texture import silhouette

SURFACES: Final = (1, 5)  # from, to
BENT: Final = 0.4  # how often a surface is slanted or curved
FLATTER: Final = 0.5  # than the surface of a patch: a wide one would leave the grid
SMALLEST: Final = 0.3  # of the picture: what stands in front belongs to a part of it


@dataclass(frozen=True, eq=False)
class WidePicture:
    """One look with its depths.

    Attributes:
        native: (2, native row, col) codes, one native row more above and below than the picture has.
        depths: Dioptres of what is seen in front, the mean of each `scale` x `scale` pixels.
        index: The position that the lens was told.
        focus: Where it really was focused, in dioptres.
        at: The picture's centre, (x, y) pixels from the centre of the frame.
    """

    native: UInt16[np.ndarray, "2 native col"]
    depths: Float32[np.ndarray, "map_row map_col"]
    index: int
    focus: float
    at: tuple[float, float]


def draw_wide_picture(
    camera: CameraModel,
    device: PhoneOptics,
    surfaces: Sequence[Square],
    rng: np.random.Generator,
    conditions: Conditions,
    size: int,
    scale: int,
) -> WidePicture:
    """Returns one look at several surfaces, from a random position of the lens.

    Args:
        camera: The camera.
        device: The phone.
        surfaces: What the surfaces of the scene look like.
        rng: Draws everything.
        conditions: How hard it is.
        size: Rows and columns; a multiple of `scale`, and even.
        scale: Pixels for one of the map of depths.
    """
    at = draw_place(camera, size, rng)
    view = PatchView(PointSpread(camera, device, at), size + 2 * RIM, breathing=0.0)
    index = int(rng.integers(len(camera.grid)))
    focus = float(sweep(camera, conditions.actuator, device.lens_bias, rng)[index])
    light = "dark" if rng.random() < conditions.lighting.dark else "normal"
    gain, noise = draw_exposure(light, conditions.lighting, rng)
    scene = draw_wide_scene(camera, surfaces, view, rng, conditions)
    radiance = render(scene, view, focus) * np.float32(gain)
    radiance *= device.shading_within(camera, at, view.size)
    depths = scene.depth_map(view.size)[RIM:-RIM, RIM:-RIM]
    pooled = depths.reshape(size // scale, scale, size // scale, scale).mean(axis=(1, 3))
    native = read_native(radiance[None, ..., RIM:-RIM], noise, rng)[0]
    return WidePicture(native, pooled, index, focus, at)


def draw_wide_scene(
    camera: CameraModel,
    surfaces: Sequence[Square],
    view: PatchView,
    rng: np.random.Generator,
    conditions: Conditions,
) -> Scene:
    """Returns several surfaces at random depths, from front to back."""
    margin = view.margin()
    n, layout, lighting = fine_size(view.size, margin), conditions.layout, conditions.lighting
    tilt = FLATTER * layout.tilt_indices * mean_step(camera.grid)
    depths = draw_depths(camera.grid, layout, int(rng.integers(SURFACES[0], SURFACES[1] + 1)), rng)
    slope = draw_slope(n, lighting, rng)
    layers: list[Layer] = []
    for depth in depths:
        picture = crop_surface(surfaces[int(rng.integers(len(surfaces)))], n, rng)
        kind = str(rng.choice(["slant", "curve"]))
        bent = rng.random() < BENT
        surface = bend(kind, depth, n, tilt, rng) if bent else depth
        alpha = None if len(layers) == len(depths) - 1 else _draw_shape(n, view.size, rng)
        layers.append(Layer(picture * slope + np.float32(lighting.glare), surface, alpha))
    return Scene(tuple(layers), margin)


def _draw_shape(n: int, size: int, rng: np.random.Generator) -> Square:
    """Returns the cover of a surface, 0 to 1, at a random place in the picture."""
    part = round(FINE * size * float(rng.uniform(SMALLEST, 1.0)))
    aside = n // 5
    y, x = rng.integers(0, 2 * aside + 1, 2)
    shape = silhouette(n + 2 * aside, part, rng)[y : y + n, x : x + n]
    return soften(shape.astype(np.float32))
