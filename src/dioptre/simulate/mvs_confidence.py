"""Where a rig could tell depth: the confidence that belongs to true maps.

A rig finds depth by comparing pictures: it cannot where there is nothing to see, or less than the noise, and
not where depth changes within the squares that it compares. `dioptre.groundtruth.mvs` knows that of its own
depth (its confidence is nearly 0 or 1, as the published maps' is), and so must maps that are exact, or
patches would be labelled that no rig would label. Here it is told from the world: contrast of the picture
that is sharp everywhere, along either axis, since what is striped is alike for the cameras along its stripes;
and range of the true depth in squares as wide as costs are smoothed over, twice. The limits were set to the
maps of ten reconstructed captures and checked on ten others (docs/log.md).

A working pixel is a square of pixels of the frame, as large as a rig's depth is found on.
"""

from typing import Final

import cv2
import numpy as np
from jaxtyping import Bool, Float32

from dioptre.simulate import kernels
from dioptre.simulate.frame import Origin, WorldView, aim, cast_surface
from dioptre.simulate.sensor import LEVELS, Noise
from dioptre.stack import Picture

SQUARE: Final = 9  # working pixels along a side of what is compared
REACH: Final = 17  # working pixels along a side of what a depth depends on
LEAST_CONTRAST: Final = 0.012  # change from pixel to pixel over the mean, root mean square
LEAST_SIGNAL: Final = 1.0  # the same over the noise
MOST_RANGE: Final = 0.15  # dioptres within reach


def sharp_picture(seen: WorldView, origin: Origin, shape: tuple[int, int]) -> tuple[Picture, Picture]:
    """Returns the light of a part of the frame without blur, and its depth in dioptres.

    Args:
        seen: What, and from where; at the far end of the grid.
        origin: First row and column of the part; it may reach beyond the frame.
        shape: Rows and columns.
    """
    rows, cols = seen.frame
    first = np.array([origin[1] - (cols - 1) / 2, origin[0] - (rows - 1) / 2])
    rays = aim(seen, first, 1.0, shape)
    light, depth = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    open_to = np.ones(shape, np.float32)
    phone, world = seen.phone, seen.world
    for surface in world.surfaces:
        here, cover = cast_surface(seen, surface, rays)
        cover = open_to if surface is world.surfaces[-1] else cover * open_to
        radiance = np.empty_like(here)
        kernels.shine(
            here, cover, phone.rotation, phone.centre, rays, surface.picture, surface.painted_at,
            world.painted_px, radiance,
        )  # fmt: skip
        light += radiance
        depth += np.where(cover > 0, here, np.float32(0))
        open_to = open_to - cover
        if not open_to.any():
            break
    return light, depth


def contrast(
    light: Picture, exposure: float, noise: Noise, factor: int
) -> tuple[Float32[np.ndarray, "_ _"], Float32[np.ndarray, "_ _"]]:
    """Returns the change from working pixel to working pixel over the mean, and over the noise.

    Both are root mean squares over squares: the first along the axis that has less of it, the second of both.

    Args:
        light: Of both views together, 1 at white for an exposure of 1, without blur.
        exposure: What radiance 1 becomes.
        noise: Of single pixels.
        factor: Pixels of the frame along a side of a working pixel.
    """
    seen = np.clip(np.float32(exposure) * light, 0, 1)
    rows, cols = (length // factor for length in seen.shape)
    mean = seen[: rows * factor, : cols * factor].reshape(rows, factor, cols, factor).mean(axis=(1, 3))
    along = (cv2.Sobel(mean, cv2.CV_32F, *axis, ksize=1, scale=0.5) for axis in ((1, 0), (0, 1)))
    # a running sum leaves a little less than 0 where there is nothing
    across, down = (np.maximum(cv2.blur(one * one, (SQUARE, SQUARE)), 0) for one in along)
    level = cv2.blur(mean, (SQUARE, SQUARE))
    variance = (np.float32(noise.shot / LEVELS) * level + np.float32((noise.read / LEVELS) ** 2)) / factor**2
    least = np.sqrt(np.minimum(across, down)) / np.maximum(level, np.float32(1e-4))
    return least, np.sqrt((across + down) / variance)


def certain(
    light: Picture, depth: Picture, exposure: float, noise: Noise, factor: int
) -> Bool[np.ndarray, "_ _"]:
    """Returns the mask of working pixels at which a rig would be sure of its depth.

    Args:
        light: See `contrast`.
        depth: Dioptres of each pixel.
        exposure: See `contrast`.
        noise: See `contrast`.
        factor: See `contrast`.
    """
    relative, signal = contrast(light, exposure, noise, factor)
    rows, cols = relative.shape
    middle = depth[factor // 2 :: factor, factor // 2 :: factor][:rows, :cols]
    square = np.ones((REACH, REACH), np.uint8)
    spread = cv2.dilate(middle, square) - cv2.erode(middle, square)
    return (relative >= LEAST_CONTRAST) & (signal >= LEAST_SIGNAL) & (spread <= MOST_RANGE)
