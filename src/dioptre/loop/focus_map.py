"""focus_map: where each patch of a frame is sharp, and how sure that is.

The scores of all patches come from one evaluation of the frame, which computes shared pixels once
(`methods.frame`). Each patch's curve gets the verdict that `focus` gives a region. What it needs beside the
curve is shared as well: the patches' exposure is box sums, and the tiles whose disagreement shows the noise
are those of one lattice over the whole frame, of which each patch takes the ones that lie inside it.
"""

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from dioptre.dataset.stacks import Pictures
from dioptre.errors import InputError, MethodError
from dioptre.loop.curve import FEW_TILES, peak_position
from dioptre.loop.exposure import WHITE, Exposure, SliceExposures
from dioptre.loop.inputs import TILES, to_ladder
from dioptre.loop.request import DEFAULT_METHOD
from dioptre.loop.slices import Slices, to_slices
from dioptre.loop.verdict import Asked, State, judge
from dioptre.methods import find_method
from dioptre.methods.frame import MEASURES, PatchLattice, frame_scores, patch_means
from dioptre.methods.measure import MIN_SIZE, workers
from dioptre.optics import FocusGrid
from dioptre.stack import FocalStack

Curves = Float[np.ndarray, "r c slice"]


@dataclass(frozen=True, eq=False)
class FocusMap:
    """Where each patch of a frame is sharp, and how sure that is.

        index, confidence = dioptre.focus_map(frames)

    Arrays are (row, col) of patches.

    Attributes:
        index: The sharpest slice, counted from 0 in the order of the frames; a best guess where no slice is.
        confidence: The probability that the index is at most one off.
        focused: Whether the patch is clearly in focus somewhere: a blank wall is not.
        dioptres: The focus there, between slices; None if the ladder is not known.
        rows: The row of the patches' centres, in pixels from the top edge of the frame.
        cols: The column of the patches' centres, in pixels from the left edge of the frame.
        method: Key of the method.
    """

    index: Int[np.ndarray, "r c"]
    confidence: Float[np.ndarray, "r c"]
    focused: Bool[np.ndarray, "r c"]
    dioptres: Float[np.ndarray, "r c"] | None
    rows: Float[np.ndarray, " r"]
    cols: Float[np.ndarray, " c"]
    method: str

    def __iter__(self) -> Iterator[Shaped[np.ndarray, "r c"]]:
        return iter((self.index, self.confidence))


def focus_map(
    frames: Shaped[np.ndarray, "..."] | FocalStack | str | os.PathLike[str],
    method: str = DEFAULT_METHOD,
    size: int = 128,
    stride: int = 40,
    *,
    grid: FocusGrid | None = None,
    black: float | None = None,
    white: float | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> FocusMap:
    """Returns the sharpest slice of every patch of a frame, and how sure that is.

    Args:
        frames: (slice, row, col) or (slice, 2 views, row, col) of any real dtype; a path that
            `dioptre focus` would take; or a FocalStack of one scene.
        method: Key of a contrast or dual-pixel measure.
        size: Rows and columns of a patch.
        stride: Pixels between neighbouring patches.
        grid: The ladder that the slices were taken on, index 0 far.
        black: Value of black; 0 by default.
        white: Value of white; by default the largest value of an integer dtype, 1.0 for floats.
        progress: Is told how much is done, and of how much: slices scored and rows of patches judged.

    Raises:
        DioptreError: The frames, the patches or the method cannot be used; the message says why.
    """
    method = _measure_of(method)
    slices = to_slices(frames, black, white)
    ladder = to_ladder(len(slices), slices.grid if grid is None else grid, None, None).grid
    lattice = PatchLattice(*slices.shape, to_count("size", size), to_count("stride", stride))
    refusal = find_method(method).build().refusal(ladder, (size, size), slices.views)
    if refusal is not None:
        raise MethodError(f"{method} {refusal}")
    exposures = _exposures(slices, lattice)
    slices = slices if exposures.finite.all() else _filled(slices)
    done = _Counter(2 * len(slices.codes) + lattice.shape[0], progress)
    curves = _curves(slices, method, lattice, True, done)
    curves[~exposures.finite] = -np.inf
    tiles = _Tiles.of(slices, method, lattice, done)
    return _judged(curves, tiles, exposures, lattice, ladder, method, done)


class _Counter:
    """Tells how much of some work is done, piece by piece."""

    def __init__(self, total: int, tell: Callable[[int, int], None]) -> None:
        self.total, self.tell, self.count = total, tell, 0

    def __call__(self) -> None:
        self.count += 1
        self.tell(self.count, self.total)


def _measure_of(method: Any) -> str:
    """Returns the key of a measure."""
    if not isinstance(method, str):
        raise MethodError(f"focus_map() takes the key of a measure, not {method!r}")
    key = find_method(method).key
    if key not in MEASURES:
        raise MethodError(f"focus_map() takes contrast and dual-pixel measures, not the network {method}")
    return key


def to_count(name: str, value: Any) -> int:
    """Returns the size or the stride of patches as a whole number."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise InputError(f"the {name} of patches is a whole number of pixels, not {value!r}")
    return int(value)


def _filled(slices: Slices) -> Slices:
    """Returns the slices with black where a pixel is masked or not finite."""
    pictures = Pictures.of_array(np.nan_to_num(slices.pixels()))
    return replace(slices, pictures=pictures, black=0.0, white=1.0, scaled=True)


def _curves(
    slices: Slices, method: str, lattice: PatchLattice, reflecting: bool, done: Callable[[], None]
) -> Curves:
    found = frame_scores(
        np.asarray(slices.codes),
        [method],
        lattice.size,
        lattice.stride,
        slices.black,
        slices.white,
        slices.view_codes,
        reflecting,
        done,
    )
    return found[method]


# What a verdict needs beside the curve


def _exposures(slices: Slices, lattice: PatchLattice) -> SliceExposures:
    """Returns how every slice of every patch was exposed: arrays (r, c, slice)."""

    def means(views: Shaped[np.ndarray, "view row col"]) -> Float[np.ndarray, "r c"]:
        return np.mean([patch_means(view.astype(np.float32, copy=False), lattice) for view in views], axis=0)

    def one(at: int) -> list[Float[np.ndarray, "r c"]]:
        (views,) = slices.pixels(slice(at, at + 1))
        white, bad = views >= WHITE, ~np.isfinite(views)
        light = np.where(bad, np.float32(0), views) if bad.any() else views
        return [means(image) if image.any() else np.zeros(lattice.shape) for image in (white, light, bad)]

    with ThreadPoolExecutor(workers()) as pool:
        found = list(pool.map(one, range(len(slices))))
    saturated, mean, bad = (np.stack(maps, axis=-1) for maps in zip(*found, strict=True))
    return SliceExposures(saturated, mean, bad == 0)


@dataclass(frozen=True, eq=False)
class _Tiles:
    """Curves of tiles that lie side by side over the whole frame; a patch takes those wholly inside it.

    Attributes:
        curves: Of each tile, (row, col, slice).
        rows: The first row of tiles of each row of patches.
        cols: The first column of tiles of each column of patches.
        across: How many tiles a patch takes down and across.
        covered: How much of a patch these are.
    """

    curves: Float[np.ndarray, "row col slice"]
    rows: Int[np.ndarray, " r"]
    cols: Int[np.ndarray, " c"]
    across: int
    covered: float

    @classmethod
    def of(
        cls, slices: Slices, method: str, lattice: PatchLattice, done: Callable[[], None]
    ) -> "_Tiles | None":
        """Returns the tiles of a frame; None if too few of them lie inside a patch."""
        size = max(MIN_SIZE, lattice.size // TILES)
        # Patches begin at multiples of the stride, so no farther than this before the next tile.
        before = size - math.gcd(size, lattice.stride)
        across = (lattice.size - before) // size
        if across**2 < FEW_TILES:
            return None
        tiles = PatchLattice(lattice.rows, lattice.cols, size, size)
        rows, cols = -(-lattice.row_starts // size), -(-lattice.col_starts // size)
        curves = _curves(slices, method, tiles, False, done)
        return cls(curves, rows, cols, across, (across * size / lattice.size) ** 2)

    def inside(self, row: int, col: int) -> Float[np.ndarray, "tile slice"]:
        """Returns the curves of the tiles inside a patch."""
        top, left = self.rows[row], self.cols[col]
        block = self.curves[top : top + self.across, left : left + self.across]
        return block.reshape(-1, block.shape[2])


def _judged(
    curves: Curves,
    tiles: _Tiles | None,
    exposures: SliceExposures,
    lattice: PatchLattice,
    grid: FocusGrid,
    method: str,
    done: Callable[[], None],
) -> FocusMap:
    """Returns the verdict on every patch's curve."""
    saturated, mean = np.median(exposures.saturated, axis=2), np.median(exposures.mean, axis=2)
    finite = np.asarray(exposures.finite.all(axis=2))
    confidence, focused = np.empty(lattice.shape), np.empty(lattice.shape, dtype=bool)
    for at in np.ndindex(lattice.shape):
        exposure = Exposure(float(saturated[at]), float(mean[at]), bool(finite[at]))
        parts, covered = (None, 1.0) if tiles is None else (tiles.inside(*at), tiles.covered)
        verdict = judge(curves[at], parts, exposure, covered, Asked(method, risk=1.0))
        confidence[at], focused[at] = verdict.confidence, verdict.state is State.FOCUSED
        if at[1] == lattice.shape[1] - 1:
            done()
    dioptres = None
    if grid.known:
        positions = np.array([peak_position(curve) for curve in curves.reshape(-1, len(grid))])
        dioptres = np.asarray(grid.index_to_dioptres(positions)).reshape(lattice.shape)
    half = lattice.size / 2
    return FocusMap(
        index=np.argmax(curves, axis=2),
        confidence=confidence,
        focused=focused,
        dioptres=dioptres,
        rows=lattice.row_starts + half,
        cols=lattice.col_starts + half,
        method=method,
    )
