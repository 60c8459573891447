"""What a point of light becomes in the left and the right view of a dual-pixel sensor.

Each half of a pixel sees mostly one half of the lens. The split is soft: across the pupil the left view's
share falls as 1/2 - A tanh(u / s), u being the pupil coordinate along the columns in radii. A = 0.48 and
s = 0.83 were measured on a phone; they put the views' centroids a quarter of the blur diameter apart.
"""

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter
from scipy.special import expit

SPLIT_DEPTH = 0.48  # A
SPLIT_WIDTH = 0.83  # s, pupil radii
EDGE_WIDTH = 0.04  # of the disc's edge, pupil radii
LENS_BLUR_PX = 0.4  # sigma of diffraction and residual aberrations, in focus too
SAMPLES_PER_RADIUS = 8


def dual_pixel_psf(diameter_px: float) -> Float[np.ndarray, "2 n n"]:
    """Returns the left and right kernels of a signed blur diameter; their mean sums to one.

    The pupil is scaled to the blur diameter (and so point-reflected when that is negative), blurred by the
    lens's residual blur, and integrated over pixels.

    Args:
        diameter_px: Blur diameter in pixels, positive for a point behind the focus plane, whose left view
            then lies to the left.
    """
    radius = max(abs(diameter_px) / 2, 0.15)  # a smaller disc is a point beside the lens's own blur
    half = int(np.ceil(1.2 * radius + 4 * LENS_BLUR_PX)) + 1
    fine = 2 * int(np.ceil(max(3, SAMPLES_PER_RADIUS / radius) / 2)) + 1  # samples a pixel, odd
    size = 2 * half + 1
    at = (np.arange(size * fine) - (size * fine - 1) / 2) / fine
    y, x = at[:, None] / radius, at[None, :] / radius
    disc = expit((1 - np.hypot(x, y)) / EDGE_WIDTH)
    left = 0.5 - np.copysign(SPLIT_DEPTH, diameter_px) * np.tanh(x / SPLIT_WIDTH)
    views = np.stack([disc * left, disc * (1 - left)])
    views = gaussian_filter(views, (0, LENS_BLUR_PX * fine, LENS_BLUR_PX * fine), mode="constant")
    kernels = views.reshape(2, size, fine, size, fine).sum(axis=(2, 4))
    return 2 * kernels / kernels.sum()
