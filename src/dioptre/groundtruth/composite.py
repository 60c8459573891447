"""One sharp picture from a sweep: slices aligned with each other, and of each place the sharpest.

Places are (x, y) pixels from the centre of the picture. A `Motion` (`dioptre.groundtruth.register`) leads
from the reference to each slice: what the reference shows at u, slice k shows at zoom[k] u + shift[k]. The
reference has the far slice's scale, and the mean of all shifts is 0: the camera's axis is where it is on the
average.

The scale of a slice follows from its focus distance, to a few parts in a hundred thousand. It is not measured
here: blur that grows from slice to slice looks like scale, and would be taken for it. The axis wanders by a
fraction of a pixel from slice to slice, so that each pair is aligned by least squares on the gradients, gain
and offset fitted with it; the steps are then added up. Only what is sharp in both counts: the halves of the
pupil are not equally bright, so that blur moves things sideways.
"""

import cv2
import numpy as np
from jaxtyping import Float, Float32

from dioptre.errors import InputError
from dioptre.groundtruth.register import Motion

SMOOTHING_PX = 1.5  # sigma that slices are smoothed with before they are compared
ROUNDS = 2  # of least squares
SHARPNESS_PX = 3.0  # sigma of the window in which sharpness is judged
WEIGHT_POWER = 4.0  # of sharpness: how strongly the sharpest slices are preferred
BORDER = 8  # pixels that are not compared
STRIDE = 2  # pixels between those that are
STEP_DEVIATION_PX = 0.5  # how far the axis is expected to go from slice to slice
NOISE_AREA = 16.0  # smoothed pixels that share their noise count as one
LEAST_SLICES = 3

Slices = Float32[np.ndarray, "slice rows cols"]
Picture = Float32[np.ndarray, "rows cols"]


def align(green: Slices, zoom: Float[np.ndarray, " slice"]) -> Motion:
    """Returns where each slice shows what the reference shows.

    Args:
        green: The sweep, far to near.
        zoom: Scale of each slice relative to the first, as the focus distances say.
    """
    if len(green) < LEAST_SLICES or len(green) != len(zoom):
        raise InputError(f"a sweep has {LEAST_SLICES} slices or more and a scale each, not {len(green)}")
    smooth = [cv2.GaussianBlur(one, (0, 0), SMOOTHING_PX) for one in green]
    sharp = focus_share(green)
    shifts = [np.zeros(2)]
    for k in range(1, len(green)):
        scale = float(zoom[k] / zoom[k - 1])
        both = np.minimum(sharp[k - 1], sharp[k]) ** 2
        shifts.append(scale * shifts[-1] + _step(smooth[k - 1], smooth[k], scale, both))
    shift = np.stack(shifts)
    return Motion(np.asarray(zoom), shift - zoom[:, None] * (shift / zoom[:, None]).mean(axis=0))


def focus_share(green: Slices) -> Slices:
    """Returns how sharp each slice is at each place, as a share of the sharpest slice there."""
    sharp = np.stack([sharpness(one) for one in green])
    return sharp / np.maximum(sharp.max(axis=0), np.float32(1e-12))


def _step(before: Picture, after: Picture, zoom: float, sharp: Picture) -> Float[np.ndarray, "2"]:
    """Returns the shift from one slice to the next, by least squares on its gradients."""
    inner, on, back = (slice(BORDER + step, -BORDER + step, STRIDE) for step in (0, 1, -1))
    still = before[inner, inner]
    weight = sharp[inner, inner] / (np.float32(0.02) + np.abs(still))  # light is seen in ratios
    shift = np.zeros(2)
    for _ in range(ROUNDS):
        moved = warp(after, zoom, shift)
        gx, gy = (moved[inner, on] - moved[inner, back]) / 2, (moved[on, inner] - moved[back, inner]) / 2
        columns = [gx, gy, moved[inner, inner], np.ones_like(gx)]
        system = np.stack([(column * weight).ravel() for column in columns]).astype(np.float64)
        seen = (still * weight).ravel().astype(np.float64)
        normal, wanted = system @ system.T, system @ seen
        normal[np.diag_indices(4)] += 1e-9 * np.trace(normal)
        fit = np.linalg.solve(normal, wanted)
        left = seen - fit @ system
        normal[0, 0] += (expected := NOISE_AREA * float(left @ left) / left.size / STEP_DEVIATION_PX**2)
        normal[1, 1] += expected
        dx, dy, gain, _offset = np.linalg.solve(normal, wanted)
        if gain <= 0.1:
            return np.zeros(2)  # nothing alike is left
        shift = shift + np.clip(np.array([dx, dy]) / gain, -1.5, 1.5)
    return shift


def warp(picture: Picture, zoom: float, shift: Float[np.ndarray, "2"]) -> Picture:
    """Returns a picture at zoom u + shift for each place u, by cubics; beyond its border it is held."""
    rows, cols = picture.shape
    middle = np.array([(cols - 1) / 2, (rows - 1) / 2])
    first = shift + middle - zoom * middle
    matrix = np.array([[zoom, 0.0, first[0]], [0.0, zoom, first[1]]])
    return cv2.warpAffine(
        picture,
        matrix,
        (cols, rows),
        flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )


def sharpness(picture: Picture) -> Picture:
    """Returns the local energy of the gradients, relative to the brightness."""
    dx = cv2.Sobel(picture, cv2.CV_32F, 1, 0, ksize=3)
    dy = cv2.Sobel(picture, cv2.CV_32F, 0, 1, ksize=3)
    energy = cv2.GaussianBlur(dx * dx + dy * dy, (0, 0), SHARPNESS_PX)
    level = cv2.GaussianBlur(picture, (0, 0), SHARPNESS_PX)
    return energy / (level * level + np.float32(1e-4))


def compose(green: Slices, motion: Motion) -> Picture:
    """Returns the all-in-focus picture of a sweep in the reference's geometry.

    Each place is the mean of its slices, weighed by a high power of their sharpness there: where nothing is
    sharp, noise is averaged away.
    """
    weights = np.zeros(green.shape[1:], np.float32)
    total = np.zeros_like(weights)
    aligned = [warp(one, float(z), s) for one, z, s in zip(green, motion.zoom, motion.shift, strict=True)]
    exposure = [float(np.median(one)) for one in aligned]
    sharp = [sharpness(one) for one in aligned]
    most = np.maximum(np.max(sharp, axis=0), np.float32(1e-12))
    for one, light, clear in zip(aligned, exposure, sharp, strict=True):
        weight = (clear / most) ** np.float32(WEIGHT_POWER)
        total += weight * one * np.float32(np.median(exposure) / max(light, 1e-6))
        weights += weight
    return total / weights
