"""Stereo matching: by how many columns the right view lies to the right of the left one, and how surely.

A **shift** d compares left[y, x] with right[y, x + d]; it is a disparity once it is known to be the right
one, and positive for a thing behind the focus plane (`dioptre.optics`). Shifts are searched as whole pixels
from -reach to reach, and refined by a parabola. Views are (image, row, col). This module knows no
lens positions and no dioptres.

* `zncc` compares whole patches: zero-normalised cross-correlation over the overlap, whose mean and
  deviation are found anew for each shift. Nothing that a view's gain or offset does changes it.
* `ssd` compares tiles of 8 x 8 pixels (Wadhwa 2018), each view divided by its local mean before, so that
  shading does not count, and smooths the result over tiles that look alike. It works at half size: every
  second row of a dual-pixel picture is interpolated, and where blur is wide, single pixels hold but noise.

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

from dioptre.methods.measure import kernels, threads, workers

HALF: Final = 2  # pixels and rows that become one for `ssd`
TILE: Final = 8  # pixels, of half size
LOCAL: Final = 12  # pixels of half size on each side that a local mean is taken over
INDEPENDENT: Final = 8  # pixels of a tile that count as independent, for blur is smooth
CONTRAST: Final = 0.2  # of the local mean: tiles whose brightness differs by this are hardly alike
PASSES: Final = 2  # of smoothing
FEW_TILES: Final = 3  # in each direction
_INLINE: Final = 4  # images that are not worth a thread

View = Float32[np.ndarray, "image row col"]
Curves = Float[np.ndarray, "image shift"]


@dataclass(frozen=True, eq=False)
class Tiles:
    """What tiles of a patch say of its shift.

    Attributes:
        shifts: Smoothed, in pixels.
        weights: What each is worth: one over the variance of what it hears, pixels to the power of -2.
        likeness: How alike the views are in all tiles together at each whole shift of half size: 1 less half
            the sum of squared differences over their mean energy, which is a correlation where both have as
            much of it.
    """

    shifts: Float[np.ndarray, "image down across"]
    weights: Float[np.ndarray, "image down across"]
    likeness: Curves

    def medians(self) -> Float[np.ndarray, " image"]:
        """Returns the weighted median of each patch's shifts; 0 where no tile is worth anything."""
        return weighted_median(_flat(self.shifts), _flat(self.weights))


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


def ssd(left: View, right: View, reach: int) -> Tiles:
    """Returns the shifts of 8 x 8 tiles of half size, searched from -reach to reach and smoothed.

    Tiles cover the columns that are at least `reach` from the sides, so that each is searched to the full.
    """
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    n, rows, cols = left.shape
    down, across = tiles_of(rows, cols, reach)
    shifts, weights = np.empty((n, down, across)), np.empty((n, down, across))
    likeness = np.empty((n, 2 * _halved(reach) + 1))

    def work(some: slice) -> None:
        found = shifts[some], weights[some], likeness[some]
        kernels().match_tiles(left[some], right[some], LOCAL, TILE, INDEPENDENT, CONTRAST, PASSES, *found)

    _share(work, n)
    return Tiles(HALF * shifts, weights / HALF**2, likeness)


def tiles_of(rows: int, cols: int, reach: int) -> tuple[int, int]:
    """Returns how many tiles a patch has down and across."""
    return rows // HALF // TILE, max(0, cols // HALF - 2 * _halved(reach)) // TILE


def smallest_patch(reach: int) -> tuple[int, int]:
    """Returns the rows and columns of a patch with FEW_TILES in each direction."""
    least = FEW_TILES * TILE
    return HALF * least, HALF * (least + 2 * _halved(reach))


def _halved(reach: int) -> int:
    return -(-reach // HALF)


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
    """Returns how sharply each curve bends down at a place, per pixel squared; 0 at the ends."""
    reach = curves.shape[1] // 2
    at = np.clip(np.round(places).astype(np.int64) + reach, 1, 2 * reach - 1)
    image = np.arange(len(curves))
    return np.maximum(0.0, 2 * curves[image, at] - curves[image, at - 1] - curves[image, at + 1])


def weighted_median(
    values: Float[np.ndarray, "image n"], weights: Float[np.ndarray, "image n"]
) -> Float[np.ndarray, " image"]:
    """Returns the value of each row that half of the weight does not exceed; 0 of a row without weight."""
    order = np.argsort(values, axis=1)
    upto = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    half = np.argmax(upto >= upto[:, -1:] / 2, axis=1)
    found = np.take_along_axis(values, np.take_along_axis(order, half[:, None], axis=1), axis=1)[:, 0]
    return np.where(upto[:, -1] > 0, found, 0.0)


def _flat(tiles: Float[np.ndarray, "image down across"]) -> Float[np.ndarray, "image n"]:
    return tiles.reshape(len(tiles), -1)


# Threads


def _share(work: Callable[[slice], None], images: int) -> None:
    """Does work on all images, shared out over the cores."""
    parts = 1 if images < _INLINE else min(workers(), images)
    edges = np.linspace(0, images, parts + 1).astype(int).tolist()
    if parts == 1:
        work(slice(0, images))
        return
    list(threads(parts).map(work, [slice(a, b) for a, b in pairwise(edges)]))
