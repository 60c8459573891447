"""One sharp picture from a sweep: slices aligned with each other, and of each place the sharpest.

Places are (x, y) pixels from the centre of the picture. A `Motion` (`dioptre.groundtruth.register`) leads
from the reference to each slice: what the reference shows at u, slice k shows at zoom[k] u + shift[k]. The
reference has the far slice's scale, and the mean of all shifts is 0: the camera's axis is where it is on the
average.

The scale of a slice follows from its focus distance, to a few parts in a hundred thousand. It is not measured
here: off axis blur moves things outwards, and blur that grows from slice to slice would be taken for scale.
It must not be taken for the axis either, which wanders by a fraction of a pixel from slice to slice: if what
is sharp lies on one side of the picture, scale and shift look alike, and small errors add up over a sweep.
So each pair is aligned by least squares on the gradients, gain and offset fitted with it, and with them one
scale for the whole sweep, as a power of what the focus distances say, which is then forgotten. The steps are
added up. What is sharp in both counts most: what is blurred is moved sideways too. A camera that was held by
hand moves farther than least squares reach: then they begin at the steps that `dioptre.motion` finds.
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from jaxtyping import Float, Float32

from dioptre.errors import InputError
from dioptre.groundtruth.register import Motion
from dioptre.motion import STILL_PX, steps_of
from dioptre.stack import Picture

SHARPNESS_PX = 3.0  # sigma of the window in which sharpness is judged
WEIGHT_POWER = 4.0  # of sharpness: how strongly the sharpest slices are preferred

Slices = Float32[np.ndarray, "slice rows cols"]


@dataclass(frozen=True)
class Alignment:
    """How slices are aligned, by least squares.

    Attributes:
        smoothing_px: Sigma that slices are smoothed with before they are compared.
        rounds: Of least squares.
        border: Pixels that are not compared.
        stride: Pixels between those that are.
        step_deviation_px: How far the axis is expected to go from slice to slice.
        farthest_px: That a slice is moved in a round.
        least_gain: Of a slice that shows what the one before shows.
        noise_area: Smoothed pixels that share their noise count as one.
        least_slices: Of a sweep.
        begin_binned: Pixels on a side that become one where it is asked whether the camera moved at all.
    """

    smoothing_px: float = 1.5
    rounds: int = 4
    border: int = 8
    stride: int = 2
    step_deviation_px: float = 0.5
    farthest_px: float = 1.5
    least_gain: float = 0.1
    noise_area: float = 16.0
    least_slices: int = 3
    begin_binned: int = 4


ALIGNMENT: Final = Alignment()


def align(green: Slices, zoom: Float[np.ndarray, " slice"]) -> Motion:
    """Returns the motion of each slice against the reference.

    Args:
        green: The sweep, far to near.
        zoom: Scale of each slice relative to the first, as the focus distances say.
    """
    if len(green) < ALIGNMENT.least_slices or len(green) != len(zoom):
        raise InputError(
            f"a sweep has {ALIGNMENT.least_slices} slices or more and a scale each, not {len(green)}"
        )
    smooth = [cv2.GaussianBlur(one, (0, 0), ALIGNMENT.smoothing_px) for one in green]
    sharp = focus_share(green)
    scales = zoom[1:] / zoom[:-1]
    steps, power = _begin(smooth), 1.0
    for _ in range(ALIGNMENT.rounds):
        pairs = [
            _compare(smooth[k], smooth[k + 1], float(scale), power, step, np.minimum(*sharp[k : k + 2]) ** 2)
            for k, (scale, step) in enumerate(zip(scales, steps, strict=True))
        ]
        more = _common(pairs)
        steps = steps + np.stack([one.shift(more) for one in pairs])
        power += more
    shifts = [np.zeros(2)]
    for scale, step in zip(scales, steps, strict=True):
        shifts.append(scale * shifts[-1] + step)
    shift = np.stack(shifts)
    return Motion(np.asarray(zoom), shift - zoom[:, None] * (shift / zoom[:, None]).mean(axis=0))


def _begin(smooth: list[Picture]) -> Float[np.ndarray, "gap 2"]:
    """Returns roughly by how much each slice is moved against the one before; 0 of a camera that is still."""
    binned = ALIGNMENT.begin_binned
    size = tuple(length // binned for length in smooth[0].shape[::-1])
    return binned * steps_of(
        (cv2.resize(one, size, interpolation=cv2.INTER_AREA) for one in smooth), STILL_PX / binned
    )


def focus_share(green: Slices) -> Slices:
    """Returns the sharpness of each slice at each place, as a share of the sharpest slice there."""
    sharp = np.stack([sharpness(one) for one in green])
    return sharp / np.maximum(sharp.max(axis=0), np.float32(1e-12))


@dataclass(frozen=True, eq=False)
class _Pair:
    """The normal equations that register two slices: shift, gain, offset and a power of the scale.

    Attributes:
        own: (4, 4) of what is the pair's own: shift along x and y, gain, offset.
        wanted: (4,) their right-hand side.
        across: (4,) of these and of the power.
        power: Of the power alone, and its right-hand side.
        noise: Variance of what is left.
    """

    own: Float[np.ndarray, "4 4"]
    wanted: Float[np.ndarray, "4"]
    across: Float[np.ndarray, "4"]
    power: tuple[float, float]
    noise: float

    def shift(self, more: float) -> Float[np.ndarray, "2"]:
        """Returns by how much the second slice is to be moved if the power grows by so much."""
        dx, dy, gain, _offset = np.linalg.solve(self.own, self.wanted - more * self.across)
        if gain <= ALIGNMENT.least_gain:
            return np.zeros(2)  # nothing alike is left
        return np.asarray(np.clip(np.array([dx, dy]) / gain, -ALIGNMENT.farthest_px, ALIGNMENT.farthest_px))


def _compare(
    before: Picture,
    after: Picture,
    scale: float,
    power: float,
    shift: Float[np.ndarray, "2"],
    sharp: Picture,
) -> _Pair:
    """Returns how a slice compares with the one before it."""
    inner, on, back = (
        slice(ALIGNMENT.border + step, -ALIGNMENT.border + step, ALIGNMENT.stride) for step in (0, 1, -1)
    )
    moved = warp(after, scale**power, shift)
    still = before[inner, inner]
    weight = sharp[inner, inner] / (np.float32(0.02) + np.abs(still))  # light is seen in ratios
    gx, gy = (moved[inner, on] - moved[inner, back]) / 2, (moved[on, inner] - moved[back, inner]) / 2
    y, x = (np.arange(length, dtype=np.float32)[inner] - (length - 1) / 2 for length in before.shape)
    grown = np.float32(np.log(scale)) * (gx * x + gy * y[:, None])
    columns = [gx, gy, moved[inner, inner], np.ones_like(gx), grown]
    system = np.stack([(column * weight).ravel() for column in columns]).astype(np.float64)
    seen = (still * weight).ravel().astype(np.float64)
    normal, wanted = system @ system.T, system @ seen
    normal[np.diag_indices(5)] += 1e-9 * np.trace(normal)
    left = seen - np.linalg.solve(normal[:4, :4], wanted[:4]) @ system[:4]
    noise = ALIGNMENT.noise_area * float(left @ left) / left.size + 1e-12
    normal[[0, 1], [0, 1]] += noise / ALIGNMENT.step_deviation_px**2
    return _Pair(normal[:4, :4], wanted[:4], normal[:4, 4], (normal[4, 4], wanted[4]), noise)


def _common(pairs: list[_Pair]) -> float:
    """Returns by how much the power of the scale that all pairs share should grow."""
    sure = right = 0.0
    for one in pairs:
        alike = np.linalg.solve(one.own, np.stack([one.across, one.wanted], axis=1))
        sure += (one.power[0] - float(one.across @ alike[:, 0])) / one.noise
        right += (one.power[1] - float(one.across @ alike[:, 1])) / one.noise
    return right / sure if sure > 0 else 0.0


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
