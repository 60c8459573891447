"""A window of a frame: one patch of what a phone sees of a world, without the rest of the frame.

It is what the frame (`dioptre.simulate.frame`) has there, but for noise and for kernels, which are those of
the window's middle and not of a tile's.
"""

import numpy as np
from jaxtyping import Float, Float32, UInt16

from dioptre.errors import InputError
from dioptre.simulate.capture import RIM
from dioptre.simulate.frame import Origin, WorldView, tile_scene
from dioptre.simulate.sensor import Noise, read_native
from dioptre.simulate.tile import render_tile


def render_window(
    seen: WorldView,
    origin: Origin,
    size: int,
    focus: Float[np.ndarray, " slice"],
    axis: Float[np.ndarray, "slice 2"],
    gain: Float32[np.ndarray, " slice"],
) -> Float32[np.ndarray, "slice 2 {size} {size}"]:
    """Returns the light of a sweep on a square of the frame.

    Args:
        seen: What, and from where.
        origin: The first row and column of the square; they may lie outside the frame.
        size: Its rows and columns.
        focus: Where the lens is truly focused at each slice, dioptres.
        axis: Where the optical axis meets the frame, (x, y) pixels from its centre.
        gain: Exposure of each slice.
    """
    view = seen.view(origin, size)
    scene = tile_scene(seen, origin, view)
    light = np.stack(
        [
            render_tile(scene, view, float(one), (float(x), float(y)))
            for one, (x, y) in zip(focus, axis, strict=True)
        ]
    )
    rows, cols = (
        np.clip(np.arange(at, at + size), 0, length - 1)
        for at, length in zip(origin, seen.frame, strict=True)
    )
    shading = seen.shading[:, rows][:, :, cols] / view.spread.sums[:, None, None]
    return light * (shading * gain[:, None, None, None])


def read_window(
    seen: WorldView,
    origin: Origin,
    size: int,
    focus: Float[np.ndarray, " slice"],
    axis: Float[np.ndarray, "slice 2"],
    gain: Float32[np.ndarray, " slice"],
    noise: Noise,
    rng: np.random.Generator,
) -> UInt16[np.ndarray, "slice 2 native {size}"]:
    """Returns the codes of one patch of a sweep, with a native row more above and below than it has.

    Args:
        seen: See `render_window`.
        origin: The first row, even, and the first column of the patch.
        size: Its rows, an even number, and columns.
        focus: See `render_window`.
        axis: See `render_window`.
        gain: See `render_window`.
        noise: The sensor's.
        rng: Draws it.
    """
    if origin[0] % 2 or size % 2:
        raise InputError(f"a patch begins at an even row and has an even size, not {origin[0]} and {size}")
    around = origin[0] - RIM, origin[1] - RIM
    light = render_window(seen, around, size + 2 * RIM, focus, axis, gain)
    return read_native(light[..., RIM:-RIM], noise, rng)
