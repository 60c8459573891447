"""The classical measures of every patch of a whole frame, without computing shared pixels twice.

Patches of 128 pixels at a stride of 40 overlap ten times. The kernels therefore sum a response over the
cells of the lattice that all patch borders cut the frame into, once, and a patch is a box of cells. The
answers are those of the patch evaluator. Three kinds of measure:

* responses of small filters: box sums of cells, and nothing else;
* contrast against a Gaussian blur: a patch's blur reflects at the patch's border, so only pixels farther
  than the blur's radius from it are shared by all patches. The bands along the borders are shared
  by the patches of one row or one column, and only the corners are a patch's own;
* measures that order, normalise or transform a patch as a unit: patch by patch.

One slice is held in memory for each core, whatever the number of slices.
"""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from jaxtyping import Float, Float32, Int, Shaped

from dioptre.errors import InputError
from dioptre.methods import contrast, stereo
from dioptre.methods.measure import (
    MIN_SIZE,
    Edges,
    Images,
    Measure,
    Statistic,
    Sums,
    apply_formulae,
    finite_images,
    kernels,
    parts_needed,
    patch_sums,
    sums_across,
    sums_down,
    window_edges,
)
from dioptre.resources import workers
from dioptre.stack import GREEN_VIEWS, VIEW_CODES, codes_to_pixels

MEASURES: Final = {**contrast.MEASURES, **stereo.MEASURES}

Image = Float32[np.ndarray, "row col"]
Starts = Int[np.ndarray, " _"]


@dataclass(frozen=True)
class PatchLattice:
    """Where the square patches of a frame lie: every `stride` pixels, as many as lie wholly inside."""

    rows: int
    cols: int
    size: int = 128
    stride: int = 40

    def __post_init__(self) -> None:
        if self.stride < 1 or not MIN_SIZE <= self.size <= min(self.rows, self.cols):
            raise InputError(
                f"patches of {self.size} pixels at stride {self.stride} do not fit a frame of "
                f"{self.cols} x {self.rows} (at least {MIN_SIZE} pixels a patch)"
            )

    @property
    def row_starts(self) -> Int[np.ndarray, " r"]:
        """The first row of each row of patches."""
        return np.arange(0, self.rows - self.size + 1, self.stride)

    @property
    def col_starts(self) -> Int[np.ndarray, " c"]:
        """The first column of each column of patches."""
        return np.arange(0, self.cols - self.size + 1, self.stride)

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns of patches."""
        return len(self.row_starts), len(self.col_starts)


def _cell_sums(
    images: Images, statistic: Statistic, codes: float, parts: Collection[str], lattice: PatchLattice
) -> Sums:
    assert statistic.cells is not None
    height, width = statistic.extent(lattice.size, lattice.size)
    rows, cols = window_edges(lattice.row_starts, height), window_edges(lattice.col_starts, width)
    cells = statistic.cells(images, codes, parts, rows, cols)[0]
    across = sums_across(cells, cols, lattice.col_starts, width)
    return Sums(sums_down(across, rows, lattice.row_starts, height), height * width)


def _number_sums(
    images: Images, statistic: Statistic, codes: float, parts: Collection[str], lattice: PatchLattice
) -> Sums:
    """Returns a statistic patch by patch, a row of patches at a time."""
    size = lattice.size
    windows = np.lib.stride_tricks.sliding_window_view(images[0], (size, size), axis=(-2, -1))
    maps = []
    for start in lattice.row_starts:
        row = np.moveaxis(windows[..., start, :: lattice.stride, :, :], -3, 0)  # (patch, view, row, col)
        sums = patch_sums(np.ascontiguousarray(row), statistic, codes, parts)
        maps.append(sums.maps)
    return Sums(np.stack(maps, axis=1), sums.count)


@cache
def _reflecting_folds(sigma: int) -> Float32[np.ndarray, "out in"]:
    """Returns the blur of the first `radius` pixels from a border as weights of the first 2 radius pixels."""
    taps = contrast.gaussian_taps(sigma)
    radius = len(taps) - 1
    folds = np.zeros((radius, 2 * radius), dtype=np.float32)
    for p in range(radius):
        for k in range(-radius, radius + 1):
            at = p + k if p + k >= 0 else -1 - p - k
            folds[p, at] += taps[abs(k)]
    return folds


def _local_sums(
    images: Images, statistic: Statistic, codes: float, parts: Collection[str], lattice: PatchLattice
) -> Sums:
    """Returns contrast against the patches' own blur: interior, bands along the borders, corners."""
    sigma, size, ratios = statistic.blur, lattice.size, "ratio" in parts
    taps, folds = contrast.gaussian_taps(sigma), _reflecting_folds(sigma)
    radius = len(folds)
    inner = size - 2 * radius
    row_starts, col_starts = lattice.row_starts, lattice.col_starts
    lowest = images.min(axis=(1, 2))
    image, offset = images - lowest[:, None, None], lowest.astype(np.float64)
    row_edges, col_edges = window_edges(row_starts + radius, inner), window_edges(col_starts + radius, inner)

    cells = np.zeros((1, 3, len(row_edges) - 1, len(col_edges) - 1))
    kernels().local_cells(image, offset, taps, codes, ratios, row_edges, col_edges, cells)
    across = sums_across(cells[0], col_edges, col_starts + radius, inner)
    interior = sums_down(across, row_edges, row_starts + radius, inner)

    def bands(pixels: Image, starts: Starts, along: Starts, edges: Edges) -> Float[np.ndarray, "map k w"]:
        cells = np.zeros((3, len(starts), len(edges) - 1))
        kernels().local_bands(pixels, offset[0], taps, folds, codes, ratios, starts, size, edges, cells)
        return sums_across(cells, edges, along + radius, inner)

    corners = np.zeros((3, *lattice.shape))
    kernels().local_corners(image[0], offset[0], folds, codes, ratios, row_starts, col_starts, size, corners)
    transposed = np.empty(image[0].T.shape, dtype=np.float32)
    kernels().transpose(image[0], transposed)
    sideways = bands(transposed, col_starts, row_starts, row_edges)
    total = corners + bands(image[0], row_starts, col_starts, col_edges)
    total += interior + np.moveaxis(sideways, 1, 2)
    return Sums(total, size * size)


def _frame_sums(
    images: Images,
    statistic: Statistic,
    codes: float,
    parts: Collection[str],
    lattice: PatchLattice,
    reflecting: bool,
) -> Sums:
    blur = statistic.blur if reflecting else 0
    if statistic.cells is None or 2 * contrast.TRUNCATE * blur >= lattice.size:
        return _number_sums(images, statistic, codes, parts, lattice)
    if blur:
        return _local_sums(images, statistic, codes, parts, lattice)
    return _cell_sums(images, statistic, codes, parts, lattice)


def _slice_values(
    image: Float32[np.ndarray, "*view row col"],
    codes: float,
    statistics: dict[str, Statistic],
    measures: dict[str, Measure],
    lattice: PatchLattice,
    reflecting: bool,
) -> dict[str, Float[np.ndarray, "r c"]]:
    pixels, finite = finite_images(image[None])
    if not finite.all():
        return {key: np.full(lattice.shape, -np.inf) for key in measures}
    sums = {
        name: _frame_sums(pixels, statistics[name], codes, parts, lattice, reflecting)
        for name, parts in parts_needed(measures).items()
    }
    return apply_formulae(measures, sums)


def patch_means(image: Image, lattice: PatchLattice) -> Float[np.ndarray, "r c"]:
    """Returns the mean of a picture without NaN over every patch."""
    sums = _cell_sums(image[None], contrast.STATISTICS["moments"], 1.0, (), lattice)
    return sums.mean(0) + sums.mean(2)


@dataclass(frozen=True)
class FrameMeasures:
    """Measures of every patch of a slice, those of green and those of two views."""

    green: dict[str, Measure]
    pair: dict[str, Measure]

    @classmethod
    def of(cls, keys: Sequence[str], views: int) -> "FrameMeasures":
        """Returns the measures of some keys, of slices of so many views.

        Raises:
            InputError: If one of them is no measure, or wants another view.
        """
        for key in keys:
            if key not in MEASURES:
                raise InputError(f"frame_scores() takes contrast and dual-pixel measures, not {key!r}")
        green = {key: MEASURES[key] for key in keys if key in contrast.MEASURES}
        pair = {key: MEASURES[key] for key in keys if key in stereo.MEASURES}
        if pair and views != 2:
            raise InputError(
                f"{next(iter(pair))} compares a left and a right view, but the frames have only one"
            )
        return cls(green, pair)

    def of_slice(
        self,
        views: Float32[np.ndarray, "view row col"],
        lattice: PatchLattice,
        view_codes: float = VIEW_CODES,
        reflecting: bool = True,
    ) -> dict[str, Float[np.ndarray, "r c"]]:
        """Returns the scores of every patch of one slice, as `frame_scores` does."""
        values: dict[str, Float[np.ndarray, "r c"]] = {}
        if self.green:
            mean = views.mean(axis=0, dtype=np.float32) if len(views) == 2 else views[0]
            codes, statistics = GREEN_VIEWS * view_codes, contrast.STATISTICS
            values |= _slice_values(mean, codes, statistics, self.green, lattice, reflecting)
        if self.pair:
            values |= _slice_values(views, view_codes, stereo.STATISTICS, self.pair, lattice, reflecting)
        return values


def frame_scores(
    frames: Shaped[np.ndarray, "slice view row col"],
    keys: Sequence[str],
    size: int = 128,
    stride: int = 40,
    black: float = 0.0,
    white: float = 1.0,
    view_codes: float = VIEW_CODES,
    reflecting: bool = True,
    done: Callable[[], None] = lambda: None,
) -> dict[str, Float[np.ndarray, "r c slice"]]:
    """Returns the scores of every patch at every slice for each contrast or dual-pixel measure.

    The answers are those of `dioptre.scores` on each patch. A slice with a NaN or infinite pixel scores minus
    infinity everywhere.

    Args:
        frames: Slices of one or two views, of any real dtype; a memory map is read slice by slice.
        keys: Keys of contrast and dual-pixel measures.
        size: Rows and columns of a patch.
        stride: Pixels between neighbouring patches.
        black: Value of black in `frames`.
        white: Value of white in `frames`.
        view_codes: Codes between black and white of one view (`FocalStack.view_codes`).
        reflecting: Whether a blur reflects at the patches' borders, as if there were nothing beyond. If it
            does not, it goes on into the frame: cheaper, but not quite what a patch alone scores.
        done: Called after each slice.
    """
    lattice = PatchLattice(frames.shape[2], frames.shape[3], size, stride)
    measures = FrameMeasures.of(keys, frames.shape[1])

    def one(index: int) -> dict[str, Float[np.ndarray, "r c"]]:
        views = codes_to_pixels(frames[index], black, white)
        return measures.of_slice(views, lattice, view_codes, reflecting)

    with ThreadPoolExecutor(workers()) as pool:
        results = []
        for found in pool.map(one, range(len(frames))):
            results.append(found)
            done()
    return {key: np.stack([result[key] for result in results], axis=-1) for key in keys}
