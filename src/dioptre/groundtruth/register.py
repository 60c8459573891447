"""Registration: undoing focal breathing, so that all slices of a patch show the same part of the scene.

The lens magnifies more the nearer it is focused, and its axis wanders. Slice 0, the far end of the grid,
has the widest field: it is the reference, and the others are shrunk onto it (paper, Performance with
Registration).

Places are (x, y) pixels, x along the columns. Inside a patch of n by n pixels they are counted from its
centre, which lies at pixel (n - 1) / 2; the patch's own place and the principal point are counted from the
centre of the frame. A `Motion` leads from slice 0 to the others: what slice 0 shows at u, slice k shows at
zoom[k] u + shift[k].

All slices, the reference too, are sampled between their pixels by one cubic kernel (`resample`), because a
kernel that touches only some slices would change their contrast. Everything here is about one patch.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Float, Float32
from scipy.ndimage import gaussian_filter

from dioptre.errors import InputError
from dioptre.groundtruth import kernels
from dioptre.optics import CameraModel, breathing

PHASE = (
    0.25  # how far past its pixels the reference is sampled: at its pixels it would be copied, not filtered
)
KERNEL_REACH = 2  # pixels that the kernel needs on either side of a place
FACTORS = np.linspace(0.7, 1.3, 7)  # exponents of the guessed zoom that are tried

Place = tuple[float, float]
Pixel = tuple[int, int]
Slices = Float32[np.ndarray, "slice n n"]


@dataclass(frozen=True)
class Search:
    """How the motion from slice to slice is searched.

    Attributes:
        smoothing_px: Sigma that slices are smoothed with before they are compared, against noise and
            aliasing.
        border: Pixels that are not compared: they may leave the patch by moving, breathing or the kernel's
            reach.
        levels: Of each: spacing in pixels, steps either way, every how many pixels.
        step_deviation_px: How far a slice is expected to stray from the guess, against its neighbour.
        noise_area: Smoothed pixels that share their noise count as one.
        apart: Slices apart that are compared for the zoom.
        factor_deviation: How far the exponent of the zoom is expected to stray from 1.
        floor: Least share of a slice that its neighbour is taken not to explain.
    """

    smoothing_px: float = 1.0
    border: int = 8
    levels: tuple[tuple[float, int, int], ...] = (
        (1.0, 2, 2),
        (0.5, 1, 1),
        (0.25, 1, 1),
    )
    step_deviation_px: float = 0.5
    noise_area: float = 16.0
    apart: int = 4
    factor_deviation: float = 0.1
    floor: float = 1e-6


SEARCH: Final = Search()


@dataclass(frozen=True, eq=False)
class Motion:
    """The motion of each slice of a patch against slice 0.

    Attributes:
        zoom: Scale of each slice relative to slice 0.
        shift: (slice, 2): the place in each slice of what is at the centre of slice 0, as (x, y).
    """

    zoom: Float[np.ndarray, " slice"]
    shift: Float[np.ndarray, "slice 2"]


# Calibrated


def calibrated_motion(camera: CameraModel, at: Place, principal_point: Place = (0.0, 0.0)) -> Motion:
    """Returns the motion that the thin lens predicts from the focus distances.

    Args:
        camera: Its focal length and grid give the zoom, v(k) / v(0).
        at: The patch's centre, pixels from the centre of the frame.
        principal_point: What the image is magnified about, pixels from the centre of the frame.
    """
    zoom = breathing(camera)
    return Motion(zoom, np.outer(zoom - 1, np.subtract(at, principal_point)))


# Searched


def search_motion(green: Slices, guess: Motion) -> Motion:
    """Returns the motion that makes slices alike, by grid searches that start from a guess.

    1. For each pair of neighbours the step (dx, dy), coarse to fine, that leaves the least L2 difference once
       gain and offset are fitted. Neighbours differ by a per mille of zoom: the guess will do for that.
    2. One exponent of the guessed zoom for the whole stack, from pairs some slices apart, where it shows.

    Either is weighed against an expectation that it strays little from the guess, so that where blur or noise
    leaves nothing to see, the guess stands.

    Args:
        green: The patch; at least SEARCH.apart + 1 slices.
        guess: Such as `calibrated_motion`, right to some pixels over the stack.
    """
    if len(green) <= SEARCH.apart or green.shape[1] <= 2 * SEARCH.border:
        raise InputError(
            f"a search needs more than {SEARCH.apart} slices of more than {2 * SEARCH.border} pixels a side, "
            f"not {len(green)} of {green.shape[1]}"
        )
    smooth = np.stack([gaussian_filter(one, SEARCH.smoothing_px) for one in green])
    steps = _search_steps(smooth, guess)
    factor = _search_factor(smooth, _compose(guess.zoom, steps))
    return _compose(guess.zoom**factor, steps)


def _compose(zoom: Float[np.ndarray, " slice"], steps: Float[np.ndarray, "pair 2"]) -> Motion:
    """Returns the motion whose steps between neighbouring slices these are."""
    shift = np.zeros((len(zoom), 2))
    for k, step in enumerate(steps):
        shift[k + 1] = zoom[k + 1] / zoom[k] * shift[k] + step
    return Motion(zoom, shift)


def _relative(motion: Motion, apart: int) -> Motion:
    """Returns the motion from each slice to the one so many slices nearer."""
    zoom = motion.zoom[apart:] / motion.zoom[:-apart]
    return Motion(zoom, motion.shift[apart:] - zoom[:, None] * motion.shift[:-apart])


def _search_steps(smooth: Slices, guess: Motion) -> Float[np.ndarray, "pair 2"]:
    """Returns the motion of each slice's centre to the next slice, in pixels."""
    between = _relative(guess, 1)
    strayed = np.zeros_like(between.shift)
    bend = np.zeros((len(strayed), 2, 2))
    for spacing, steps, stride in SEARCH.levels:
        offsets = spacing * np.arange(-steps, steps + 1)
        start = Motion(between.zoom, between.shift + strayed)
        found, bend = _lowest(_differences(smooth, start, 1, offsets, stride), offsets)
        strayed = strayed + found
    precision = bend * _independent_pixels(smooth)
    expected = np.eye(2) / SEARCH.step_deviation_px**2
    weighed = np.linalg.solve(precision + expected, precision @ strayed[:, :, None])
    return between.shift + weighed[:, :, 0]


def _search_factor(smooth: Slices, motion: Motion) -> float:
    """Returns the exponent of the zoom that leaves the least difference over the whole stack."""
    between = _relative(motion, SEARCH.apart)
    tried = [Motion(between.zoom**factor, between.shift) for factor in FACTORS]
    differences = np.array([_differences(smooth, one, SEARCH.apart, np.zeros(1)).sum() for one in tried])
    # Each slice takes part in so many overlapping pairs.
    differences *= _independent_pixels(smooth) / SEARCH.apart
    curve, slope, _ = np.polyfit(FACTORS - 1, differences, 2)
    strayed = -slope / (2 * max(curve, 0.0) + 1 / SEARCH.factor_deviation**2)
    return float(np.clip(1 + strayed, FACTORS[0], FACTORS[-1]))


def _independent_pixels(smooth: Slices) -> float:
    return (smooth.shape[1] - 2 * SEARCH.border) ** 2 / SEARCH.noise_area


def _differences(
    smooth: Slices, between: Motion, apart: int, offsets: Float[np.ndarray, " m"], stride: int = 1
) -> Float[np.ndarray, "pair m m"]:
    """Returns how unlike each slice and the one `apart` nearer are, if that is moved by each (dy, dx) more.

    The number is minus the log-likelihood for each pixel, half the logarithm of the part of the slice's
    variance that the other leaves unexplained: gain and offset do not count.
    """
    n = smooth.shape[1]
    inner = slice(SEARCH.border, n - SEARCH.border, stride)
    still, moving = _standardised(smooth[:-apart, inner, inner]), smooth[apart:]
    places = np.arange(n)[inner] - (n - 1) / 2
    places = between.zoom[:, None, None] * places + offsets[:, None]  # (pair, offset, place)
    rows, cols = (places + between.shift[:, axis, None, None] for axis in (1, 0))
    moved_rows = _sample_rows(moving, rows.reshape(len(still), -1))
    unlike = np.empty((len(still), len(offsets), len(offsets)))
    for at in range(len(offsets)):
        moved = _sample_cols(moved_rows, cols[:, at]).reshape(*rows.shape, -1)
        alike = np.einsum("pij,pdij->pd", still, _standardised(moved))
        unlike[:, :, at] = np.log(np.maximum(1 - alike**2, SEARCH.floor)) / 2
    return unlike


def _standardised(images: Float32[np.ndarray, "*batch row col"]) -> Float32[np.ndarray, "*batch row col"]:
    """Returns images of mean 0 and norm 1; flat ones are 0, whatever rounding has left of them."""
    centred = images - images.mean(axis=(-2, -1), keepdims=True)
    norm = np.linalg.norm(centred, axis=(-2, -1), keepdims=True)
    rounding = np.float32(1e-5) * np.linalg.norm(images, axis=(-2, -1), keepdims=True)
    return np.divide(centred, norm, out=np.zeros_like(centred), where=norm > rounding)


def _lowest(
    values: Float[np.ndarray, "pair m m"], offsets: Float[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, "pair 2"], Float[np.ndarray, "pair 2 2"]]:
    """Returns the (x, y) where each surface is lowest, and its second derivatives there.

    It is the minimum of the quadric fitted to the 3 x 3 values around the lowest; no further from that than a
    spacing. Where the values form no bowl, the place is the lowest value's, and the derivatives are 0.
    """
    m, spacing = len(offsets), offsets[1] - offsets[0]
    row, col = (np.clip(at, 1, m - 2) for at in np.divmod(values.reshape(len(values), -1).argmin(axis=1), m))
    near = np.arange(-1, 2)
    pairs = np.arange(len(values))[:, None, None]
    around = values[pairs, row[:, None, None] + near[:, None], col[:, None, None] + near]
    slopes = np.stack([around.sum(axis=axis) @ near for axis in (1, 2)], axis=1) / (6 * spacing)
    xx, yy = (around.sum(axis=axis) @ np.array([1, -2, 1]) / 3 for axis in (1, 2))
    xy = np.einsum("pij,i,j->p", around, near, near) / 4
    bend = np.stack([xx, xy, xy, yy], axis=1).reshape(-1, 2, 2) / spacing**2
    bowl = (xx > 0) & (yy > 0) & (xx * yy > xy**2)
    bend[~bowl] = 0
    invertible = np.where(bowl[:, None, None], bend, np.eye(2))
    down = -np.linalg.solve(invertible, slopes[:, :, None])[:, :, 0]
    down = np.where(bowl[:, None], np.clip(down, -spacing, spacing), 0.0)
    return np.stack([offsets[col], offsets[row]], axis=1) + down, bend


# The window that all slices share


def common_field(motion: Motion, n: int) -> tuple[Pixel, Pixel]:
    """Returns the first and the last pixel (x, y) of slice 0 that no slice of n x n pixels lacks."""
    reach = (n - 1) / 2 - (KERNEL_REACH - 1)
    low = ((-reach - motion.shift) / motion.zoom[:, None]).max(axis=0)
    high = ((reach - motion.shift) / motion.zoom[:, None]).min(axis=0)
    middle = (n - 1) / 2 - PHASE
    first, last = np.ceil(low + middle).astype(int), np.floor(high + middle).astype(int)
    return (int(first[0]), int(first[1])), (int(last[0]), int(last[1]))


def largest_window(motion: Motion, n: int) -> int:
    """Returns the side of the largest square that no slice lacks; 0 if there is none."""
    first, last = common_field(motion, n)
    return max(0, min(last[0] - first[0], last[1] - first[1]) + 1)


def place_window(motion: Motion, n: int, size: int, wanted: Pixel) -> Pixel:
    """Returns the first pixel (x, y) of the window of slice 0 that is nearest to a wanted one.

    It lies in what no slice lacks, or in the middle of that if that is too small for it.
    """
    first, last = common_field(motion, n)
    x, y = (
        min(max(want, a), b + 1 - size) if b + 1 - a >= size else (a + b + 1 - size) // 2
        for want, a, b in zip(wanted, first, last, strict=True)
    )
    return x, y


def hold_inside(motion: Motion, n: int, first: Pixel, size: int) -> Motion:
    """Returns the motion with shifts held back where a slice would lack a part of the window.

    Raises:
        InputError: If the window is too large for a patch of n x n pixels even so.
    """
    reach = (n - 1) / 2 - (KERNEL_REACH - 1)
    begin = np.array(first) + PHASE - (n - 1) / 2
    least = -reach - motion.zoom[:, None] * begin
    most = reach - motion.zoom[:, None] * (begin + size - 1)
    if (least > most).any():
        raise InputError(f"a patch of {n} pixels has no room for a registered window of {size}")
    return Motion(motion.zoom, np.clip(motion.shift, least, most))


# Resampling


def resample(
    pixels: Float32[np.ndarray, "slice view n n"], motion: Motion, first: Pixel, size: int
) -> Float32[np.ndarray, "slice view size size"]:
    """Returns a window of slice 0, PHASE pixels past its own pixels, as every slice shows it.

    Args:
        pixels: The patch.
        motion: Leads from slice 0 to the others.
        first: The window's first pixel (x, y) in slice 0; inside `common_field`, as its last one.
        size: Rows and columns of the window.
    """
    n = pixels.shape[-1]
    begin, end = common_field(motion, n)
    if min(np.subtract(first, begin)) < 0 or max(np.add(first, size - 1) - end) > 0:
        raise InputError(
            f"a window of {size} pixels from {first} is not inside what all slices show, {begin} to {end}"
        )
    cols, rows = (
        motion.zoom[:, None] * (np.arange(size) + at + PHASE - (n - 1) / 2) + shift[:, None]
        for at, shift in zip(first, motion.shift.T, strict=True)
    )
    views = [_sample_cols(_sample_rows(view, rows), cols) for view in pixels.swapaxes(0, 1)]
    return np.stack(views, axis=1)


def _sample_rows(
    images: Float32[np.ndarray, "batch n col"], places: Float[np.ndarray, "batch place"]
) -> Float32[np.ndarray, "batch place col"]:
    """Returns images at rows counted from their middle, by Catmull-Rom's cubic.

    Not as products with matrices of weights, most of them 0: on busy cores the threads of a BLAS wait for
    each other at each of these many small products, which then take seconds instead of milliseconds.
    """
    out = np.empty((len(images), places.shape[1], images.shape[2]), dtype=np.float32)
    kernels.sample_rows(np.ascontiguousarray(images), places + (images.shape[1] - 1) / 2, out)
    return out


def _sample_cols(
    images: Float32[np.ndarray, "batch row n"], places: Float[np.ndarray, "batch place"]
) -> Float32[np.ndarray, "batch row place"]:
    """Returns images at columns counted from their middle, by Catmull-Rom's cubic."""
    out = np.empty((*images.shape[:2], places.shape[1]), dtype=np.float32)
    kernels.sample_cols(np.ascontiguousarray(images), places + (images.shape[2] - 1) / 2, out)
    return out
