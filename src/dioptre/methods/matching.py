"""Stereo matching: by how many columns the right view lies to the right of the left one, and how surely.

A **shift** d compares left[y, x] with right[y, x + d]; it is a disparity once it is known to be the right
one, and positive for a thing behind the focus plane (`dioptre.optics`). Shifts are searched as whole pixels
from -reach to reach, and refined by a parabola. Views are (image, row, col). This module knows no
lens positions and no dioptres.

* `zncc` compares whole patches: zero-normalised cross-correlation over the overlap, whose mean and
  deviation are found anew for each shift. Nothing that a view's gain or offset does changes it.
* `ssd` compares tiles of 8 x 8 pixels (Wadhwa 2018), each view divided by its local mean before, so that
  shading does not count, and smooths the result over tiles that look alike.
* `shift_by_gradient` tells small shifts of whole pictures, along rows too, that blur exceeds.

The first two may see softened views (`soften`): at half size, since every second row of a dual-pixel picture
is interpolated, and smoothed, since where blur is wide, single pixels hold but noise. Shifts are in pixels of
full size all the same.

Smoothing is a joint bilateral filter of 49 tiles in a few lines of our own. The guided filters and the
bilateral solver of opencv-contrib want that package in place of the OpenCV that reads our pictures (both are
`cv2`, and one environment holds one of them), and are made for pictures of megapixels, where here are some
40 tiles.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from jaxtyping import Float, Float32

from dioptre.methods.measure import kernels
from dioptre.resources import threads, workers
from dioptre.robust import NORMAL, weighted_median

FULL, HALF = 1, 2  # pixels and rows that become one before views are compared; half size is softened
BINOMIAL, RIM = (1, 4, 6, 4, 1), 2  # what softens, in sixteenths, and pixels of half size that it costs
TILE: Final = 8  # pixels, of that size
LOCAL: Final = 12  # such pixels on each side that a local mean is taken over
INDEPENDENT: Final = 8  # pixels of a tile that count as independent, for blur is smooth
CONTRAST: Final = 0.2  # of the local mean: tiles whose brightness differs by this are hardly alike
PASSES: Final = 2  # of smoothing
FEW_TILES: Final = 3  # in each direction
MOST_ALIKE: Final = 0.998  # of two views: between more likeness than that, chance decides
_INLINE: Final = 4  # images that are not worth a thread

View = Float32[np.ndarray, "image row col"]
Curves = Float[np.ndarray, "image shift"]


@dataclass(frozen=True, eq=False)
class Tiles:
    """The shifts of a patch's tiles, in pixels, and their weights.

    Attributes:
        shifts: Smoothed, in pixels.
        weights: What each is worth: one over the variance of what it hears, pixels to the power of -2.
        likeness: How alike the views are in all tiles together at each whole shift of half size: 1 less half
            the sum of squared differences over their mean energy, which is a correlation where both have as
            much of it.
        size: FULL or HALF.
    """

    shifts: Float[np.ndarray, "image down across"]
    weights: Float[np.ndarray, "image down across"]
    likeness: Curves
    size: int = HALF

    def medians(self) -> Float[np.ndarray, " image"]:
        """Returns the weighted median of each patch's shifts; 0 where no tile is worth anything."""
        return weighted_median(_flat(self.shifts), _flat(self.weights))


@dataclass(frozen=True, eq=False)
class Match:
    """The matched disparity of some looks, in pixels, with its noise.

    Attributes:
        shifts: The disparity, in pixels.
        noise: Its variance by noise, in pixels squared, were each pixel independent of the others.
        disagreement: How far parts of the patch disagree on it, as a deviation in pixels.
        curves: How alike the views are at each shift that was searched, 0 in the middle; at most 1.
        pixels: How many were compared.
        step: Pixels from shift to shift.
    """

    shifts: Float[np.ndarray, " look"]
    noise: Float[np.ndarray, " look"]
    disagreement: Float[np.ndarray, " look"]
    curves: Curves
    pixels: int
    step: int = 1


def zncc(left: View, right: View, reach: int) -> Curves:
    """Returns the zero-normalised cross-correlation of views at each shift from -reach to reach.

    Views without variance correlate by 0.
    """
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    curves = np.empty((len(left), 2 * reach + 1))

    def work(some: slice) -> None:
        kernels().zncc_curves(left[some], right[some], reach, curves[some])

    _share(work, len(left))
    return np.clip(curves, -1.0, 1.0, out=curves)


def soften(view: View) -> Float32[np.ndarray, "image half_row half_col"]:
    """Returns a view at half size and smoothed, its square root taken, so that noise is even and low.

    A rim of RIM pixels of that size is left out, since what is beyond it is not known: smoothed with a guess,
    it would be alike in both views whatever their shift.
    """
    view = np.ascontiguousarray(view)
    n, rows, cols = view.shape
    small = np.empty((n, rows // HALF, cols // HALF), np.float32)
    kernels().halve(view, small)
    for axis in (1, 2):
        count = max(0, small.shape[axis] - 2 * RIM)
        parts = (np.take(small, np.arange(k, k + count), axis=axis) for k in range(len(BINOMIAL)))
        weighted = [np.float32(weight / 16) * part for weight, part in zip(BINOMIAL, parts, strict=True)]
        small = np.asarray(np.sum(weighted, axis=0, dtype=np.float32))
    return np.sqrt(np.maximum(small, 0.0), dtype=np.float32)


def ssd(left: View, right: View, reach: int, size: int = HALF, held: bool = False) -> Tiles:
    """Returns the shifts of tiles of 8 x 8 pixels, searched from -reach to reach and smoothed.

    Tiles cover the columns that are at least `reach` from the sides, so that each is searched to the full.

    Args:
        left: The left views.
        right: The right views.
        reach: In pixels of full size.
        size: FULL for views as they are, HALF for softened ones.
        held: Whether a tile that fits best at the end of the search has a say.
    """
    n, rows, cols = left.shape
    down, across = tiles_of(rows, cols, reach, size)
    small = [soften(view) if size == HALF else np.ascontiguousarray(view) for view in (left, right)]
    shifts, weights = np.empty((n, down, across)), np.empty((n, down, across))
    likeness = np.empty((n, 2 * _steps(reach, size) + 1))

    def work(some: slice) -> None:
        found = shifts[some], weights[some], likeness[some]
        how = held, LOCAL, TILE, INDEPENDENT, CONTRAST, PASSES
        kernels().match_tiles(small[0][some], small[1][some], *how, *found)

    _share(work, n)
    return Tiles(size * shifts, weights / size**2, likeness, size)


def tiles_of(rows: int, cols: int, reach: int, size: int = HALF) -> tuple[int, int]:
    """Returns the numbers of tiles of a patch, down and across."""
    rim = 2 * rim_of(size)
    across = cols // size - rim - 2 * _steps(reach, size)
    return max(0, rows // size - rim) // TILE, max(0, across) // TILE


def smallest_patch(reach: int, size: int = HALF) -> tuple[int, int]:
    """Returns the rows and columns of a patch with FEW_TILES in each direction."""
    least = FEW_TILES * TILE + 2 * rim_of(size)
    return size * least, size * (least + 2 * _steps(reach, size))


def rim_of(size: int) -> int:
    """Returns the width of the border that is left out, in pixels of this size."""
    return RIM if size == HALF else 0


def _steps(reach: int, size: int) -> int:
    return -(-reach // size)


# Curves


def local_peaks(curves: Curves) -> tuple[Curves, Curves]:
    """Returns each peak's place between the shifts, and its height; minus infinity where there is none.

    A peak is higher than both its neighbours, or than its only one at the end of the search. Its place and
    height are those of the parabola through the three; at an end, those of the end.
    """
    reach = curves.shape[1] // 2
    padded = np.pad(curves, ((0, 0), (1, 1)), constant_values=-np.inf)
    before, here, after = padded[:, :-2], padded[:, 1:-1], padded[:, 2:]
    is_peak = (here > before) & (here >= after)
    is_peak[np.ptp(curves, axis=1) <= 0] = False
    with np.errstate(invalid="ignore", divide="ignore"):
        bend = 2 * here - before - after
        aside = np.where(np.isfinite(bend) & (bend > 0), (after - before) / (2 * bend), 0.0)
        height = here + np.where(aside != 0, (after - before) * aside / 4, 0.0)
    places = np.arange(-reach, reach + 1) + aside
    return places, np.where(is_peak, height, -np.inf)


def bend_at(curves: Curves, places: Float[np.ndarray, " image"]) -> Float[np.ndarray, " image"]:
    """Returns the curvature of each curve at a place, downwards, per pixel squared; 0 at the ends."""
    reach = curves.shape[1] // 2
    at = np.clip(np.round(places).astype(np.int64) + reach, 1, 2 * reach - 1)
    image = np.arange(len(curves))
    return np.maximum(0.0, 2 * curves[image, at] - curves[image, at - 1] - curves[image, at + 1])


def _flat(tiles: Float[np.ndarray, "image down across"]) -> Float[np.ndarray, "image n"]:
    return tiles.reshape(len(tiles), -1)


# Matches


def match_zncc(left: View, right: View, reach: int, step: int = 1) -> Match:
    """Returns the shift at which whole patches correlate best, by the parabola at the peak.

    Args:
        left: The left views.
        right: The right views.
        reach: How far to search to each side, in pixels of these views.
        step: Pixels of full size that one of these views' is.
    """
    curves = zncc(left, right, reach)
    places, heights = local_peaks(curves)
    best = np.argmax(heights, axis=1)[:, None]
    shifts = np.take_along_axis(places, best, axis=1)[:, 0]
    alike = np.clip(np.take_along_axis(heights, best, axis=1)[:, 0], 0.0, MOST_ALIKE)
    pixels = left.shape[1] * left.shape[2] * step**2
    with np.errstate(divide="ignore"):  # the bend of the log-likelihood at the peak is one over the variance
        noise = step**2 * (1 - alike**2) / (pixels * alike * bend_at(curves, shifts))
    nothing = ~np.isfinite(heights).any(axis=1)
    return Match(np.where(nothing, 0.0, step * shifts), noise, np.zeros(len(left)), curves, pixels, step)


def match_softened(left: View, right: View, reach: int) -> Match:
    """Returns the same of views at half size, smoothed."""
    return match_zncc(soften(left), soften(right), _steps(reach, HALF), HALF)


def match_ssd(left: View, right: View, reach: int, size: int = HALF, held: bool = False) -> Match:
    """Returns the median shift of tiles; see `ssd`."""
    tiles = ssd(left, right, reach, size, held)
    shifts, weights = _flat(tiles.shifts), _flat(tiles.weights)
    middle = tiles.medians()
    astray = NORMAL * weighted_median(np.abs(shifts - middle[:, None]), weights)
    return Match(middle, np.zeros(len(left)), astray / 2, tiles.likeness, shifts.shape[1] * TILE**2, size)


# Gradients


def shift_by_gradient(
    across: Float[np.ndarray, "image row col"],
    down: Float[np.ndarray, "image row col"],
    change: Float[np.ndarray, "image row col"],
    least: float = float(np.finfo(float).tiny),
) -> Float[np.ndarray, "2 image"]:
    """Returns by how many pixels pictures moved along columns and rows: one step of Lucas and Kanade (1981).

    The change of a picture is minus the shift times its gradient, by least squares.

    Args:
        across: Of the gradient of each picture, what is along its columns.
        down: And along its rows.
        change: By how much it changed.
        least: Determinant of the mean products of these two, below which the shift tends to 0.
    """
    pairs = (across, across), (down, down), (across, down), (across, change), (down, change)
    size = change.shape[1] * change.shape[2]
    xx, yy, xy, xt, yt = (np.einsum("iyx,iyx->i", *pair, dtype=np.float64) / size for pair in pairs)
    return -np.stack([yy * xt - xy * yt, xx * yt - xy * xt]) / np.maximum(xx * yy - xy**2, least)


# Threads


def _share(work: Callable[[slice], None], images: int) -> None:
    """Does work on all images, shared out over the cores."""
    parts = 1 if images < _INLINE else min(workers(), images)
    edges = np.linspace(0, images, parts + 1).astype(int).tolist()
    if parts == 1:
        work(slice(0, images))
        return
    list(threads(parts).map(work, [slice(a, b) for a, b in pairwise(edges)]))
