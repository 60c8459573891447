"""A stack of a textured plane that faces the camera, at a known depth, in the middle of the field."""

import numpy as np
from jaxtyping import Float, Float32
from scipy import fft

from dioptre.optics import CameraModel, depth_to_blur
from dioptre.simulate.psf import dual_pixel_psf
from dioptre.simulate.sensor import expose


def defocus(
    texture: Float[np.ndarray, "rows cols"], diameters_px: Float[np.ndarray, " slice"], size: int
) -> Float[np.ndarray, "slice 2 size size"]:
    """Returns the middle `size` pixels of the texture in both views, blurred by signed diameters.

    The texture must be wider than `size` by the largest diameter and a few pixels, or its edges show.
    """
    margin = [(length - size) // 2 for length in texture.shape]
    need = int(np.ceil(0.6 * np.abs(diameters_px).max())) + 4
    if min(margin) < need:
        raise ValueError(f"a texture of {texture.shape} leaves {min(margin)} pixels of margin, not {need}")
    middle = (..., slice(margin[0], margin[0] + size), slice(margin[1], margin[1] + size))
    spectrum = fft.rfft2(texture)
    slices = []
    for diameter in diameters_px:
        kernels = dual_pixel_psf(float(diameter))
        padded = np.zeros((2, *texture.shape))
        padded[:, : kernels.shape[1], : kernels.shape[2]] = kernels
        half = kernels.shape[1] // 2
        padded = np.roll(padded, (-half, -half), axis=(1, 2))
        slices.append(fft.irfft2(spectrum * fft.rfft2(padded), texture.shape)[middle])
    return np.stack(slices)


def plane_stack(
    camera: CameraModel,
    depth: float,
    texture: Float[np.ndarray, "rows cols"],
    rng: np.random.Generator,
    size: int = 128,
    shot: float = 0.3,
    read: float = 1.2,
) -> Float32[np.ndarray, "n 2 size size"]:
    """Returns the stack that the camera takes of the plane, one slice at each position of its ladder.

    Args:
        camera: The camera; its lens goes exactly where it is told.
        depth: Depth of the plane in dioptres.
        texture: What is painted on the plane.
        rng: Draws the noise.
        size: Rows and columns of the patch.
        shot: See `sensor.expose`.
        read: See `sensor.expose`.
    """
    diameters = np.asarray(depth_to_blur(camera, camera.grid.dioptres, depth))
    return expose(defocus(texture, diameters, size), shot, read, rng)
