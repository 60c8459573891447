"""What a classical measure is made of, and the evaluator of patches.

A **statistic** is what one kernel finds out about an image: sums of responses over its pixels (the sum of
squared Laplacians), or numbers of the patch as a whole (its entropy). A **measure** is a formula over
statistics. Measures that ask for the same statistic share its work. `evaluate_patches` takes the sums over
whole images; `dioptre.methods.frame` takes them over every patch of a frame at once, with the same formulae.

A formula gets one `Sums` for each statistic it names, and returns one number for each image or patch.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from dioptre.errors import MethodError
from dioptre.posterior import Scores
from dioptre.resources import threads, workers
from dioptre.stack import FocalStack

MIN_SIZE: Final = 16  # pixels on a side: fewer would leave a measure nothing but borders
CELL_ROWS: Final = 32  # the highest cell that the kernels allow
ROUNDING: Final = 1e-12  # relative: differences of float64 sums below this are rounding errors
_INLINE_PIXELS: Final = 60_000  # less work than this is not worth a thread

Images = Float32[np.ndarray, "image *view row col"]  # green: no view axis; left and right: two views
Edges = Int[np.ndarray, " _"]


@dataclass(frozen=True)
class Sums:
    """A statistic's values: `maps` is (map, ...) float64, `count` the pixels that were summed."""

    maps: Float[np.ndarray, "map ..."]
    count: int

    def __getitem__(self, index: int) -> Any:
        return self.maps[index]

    def mean(self, index: int) -> Any:
        """Returns the mean response of one map."""
        return self.maps[index] / self.count

    def variance(self, first: int, second: int) -> Any:
        """Returns the population variance from the maps of the response and of its square.

        What rounding leaves of a constant response's variance is 0.
        """
        square = self.mean(second)
        variance = square - self.mean(first) ** 2
        return np.where(variance > ROUNDING * square, variance, 0.0)


@dataclass(frozen=True)
class Statistic:
    """A statistic of images, which one kernel computes.

    Exactly one of `cells` and `numbers` is given. `parts` names what the asked measures need, so that a
    kernel can leave out the rest.

    Attributes:
        cells: (images, codes, parts, row edges, column edges) -> (image, map, cell row, cell column).
        numbers: (images, codes, parts) -> (image, map).
        margin: How many rows and columns fewer the response has than the image.
        block: The response covers whole blocks of this many rows and columns only.
        blur: Sigma of a Gaussian that reflects at the patch's border, for which a frame has to treat the
            borders of its patches apart; 0 for none.
    """

    cells: (
        Callable[[Images, float, Collection[str], Edges, Edges], Float[np.ndarray, "image map r c"]] | None
    ) = None
    numbers: Callable[[Images, float, Collection[str]], Float[np.ndarray, "image map"]] | None = None
    margin: tuple[int, int] = (0, 0)
    block: int = 1
    blur: int = 0

    def extent(self, rows: int, cols: int) -> tuple[int, int]:
        """Returns the rows and columns of the response to an image of this size."""
        rows, cols = rows - self.margin[0], cols - self.margin[1]
        return rows - rows % self.block, cols - cols % self.block


@dataclass(frozen=True)
class Measure:
    """A formula over statistics: `uses` holds (statistic, part) for each Sums that the formula takes."""

    uses: tuple[tuple[str, str], ...]
    formula: Callable[..., Float[np.ndarray, "..."]]


def parts_needed(measures: Mapping[str, Measure]) -> dict[str, set[str]]:
    """Returns which parts of which statistics these measures need."""
    parts: dict[str, set[str]] = {}
    for measure in measures.values():
        for statistic, part in measure.uses:
            parts.setdefault(statistic, set()).add(part)
    return parts


def apply_formulae(
    measures: Mapping[str, Measure], sums: Mapping[str, Sums]
) -> dict[str, Float[np.ndarray, "..."]]:
    """Returns each measure's formula applied to its statistics."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            key: measure.formula(*(sums[statistic] for statistic, _ in measure.uses))
            for key, measure in measures.items()
        }


def kernels() -> Any:
    """Returns the module of kernels, imported on first use because numba is slow to import."""
    from dioptre.methods import kernels as module  # noqa: PLC0415

    return module


def empty_cells(images: Images, maps: int, rows: Edges, cols: Edges) -> Float[np.ndarray, "image map r c"]:
    """Returns zeros for a cell kernel to add to."""
    return np.zeros((len(images), maps, len(rows) - 1, len(cols) - 1))


def offsets(view: Float32[np.ndarray, "image row col"]) -> Float[np.ndarray, " image"]:
    """Returns a value near each image's mean, and exactly the grey of a flat image."""
    sample = view[:, :: max(1, view.shape[1] // 8), :: max(1, view.shape[2] // 8)]
    return np.median(sample.reshape(len(view), -1), axis=1).astype(np.float64)


def cell_edges(length: int) -> Edges:
    """Returns edges that cut `length` rows into cells no higher than the kernels allow."""
    return np.append(np.arange(0, length, CELL_ROWS), length)


def window_edges(starts: Edges, extent: int, length: int | None = None) -> Edges:
    """Returns the edges of the cells that windows cut, none wider than the kernels allow.

    Args:
        starts: Where the windows begin.
        extent: How long they are.
        length: How far cells must reach from 0; by default from the first window to the last.
    """
    ends = [] if length is None else [0, length]
    cuts = np.unique(np.concatenate([starts, starts + extent, ends]).astype(np.int64))
    split = [np.arange(a, b, CELL_ROWS) for a, b in pairwise(cuts)]
    return np.concatenate([*split, cuts[-1:]])


def sums_across(
    cells: Float[np.ndarray, "... cell"], edges: Edges, starts: Edges, extent: int
) -> Float[np.ndarray, "... k"]:
    """Returns the sums over windows along the last axis."""
    first, last = np.searchsorted(edges, starts), np.searchsorted(edges, starts + extent)
    # Not differences of a running sum: its rounding would leave a flat patch some contrast.
    return np.stack([cells[..., a:b].sum(axis=-1) for a, b in zip(first, last, strict=True)], axis=-1)


def sums_down(
    cells: Float[np.ndarray, "... cell w"], edges: Edges, starts: Edges, extent: int
) -> Float[np.ndarray, "... k w"]:
    """Returns the sums over windows along the last axis but one."""
    return np.swapaxes(sums_across(np.swapaxes(cells, -1, -2), edges, starts, extent), -1, -2)


def patch_sums(images: Images, statistic: Statistic, codes: float, parts: Collection[str]) -> Sums:
    """Returns a statistic of each image as a whole, maps (map, image)."""
    shape = images.shape[-2], images.shape[-1]
    if statistic.numbers is not None:
        return Sums(statistic.numbers(images, codes, parts).T, shape[0] * shape[1])
    assert statistic.cells is not None
    rows, cols = statistic.extent(*shape)
    cells = statistic.cells(images, codes, parts, cell_edges(rows), np.array([0, cols]))
    return Sums(cells.sum(axis=(2, 3)).T, rows * cols)


def _chunks(images: int, pixels: int) -> Iterator[slice]:
    """Yields one run of images for each worker, or a single one when there is little work."""
    parts = 1 if images * pixels < _INLINE_PIXELS else min(workers(), images)
    edges = np.linspace(0, images, parts + 1).astype(int)
    yield from (slice(int(a), int(b)) for a, b in pairwise(edges))


def evaluate_patches(
    images: Images,
    codes: float,
    statistics: Mapping[str, Statistic],
    measures: Mapping[str, Measure],
) -> dict[str, Float[np.ndarray, " image"]]:
    """Returns each measure of each image; minus infinity for an image with a NaN or infinite pixel.

    Args:
        images: Pixels, contiguous.
        codes: Codes between black and white of one view.
        statistics: The table that the measures' statistics are looked up in.
        measures: What to compute, by key.
    """
    needed = parts_needed(measures)

    def chunk(run: slice) -> dict[str, Float[np.ndarray, " image"]]:
        pixels, finite = finite_images(images[run])
        sums = {name: patch_sums(pixels, statistics[name], codes, parts) for name, parts in needed.items()}
        values = apply_formulae(measures, sums)
        return values if finite.all() else {key: np.where(finite, v, -np.inf) for key, v in values.items()}

    runs = list(_chunks(len(images), images[0].size))
    if len(runs) == 1:
        return chunk(runs[0])
    results = list(threads(len(runs)).map(chunk, runs))
    return {key: np.concatenate([result[key] for result in results]) for key in measures}


def finite_images(images: Images) -> tuple[Images, Bool[np.ndarray, " image"]]:
    """Returns the images, those with a NaN or infinite pixel replaced by zeros, and which are finite."""
    flat = images.reshape(len(images), -1)
    finite = np.isfinite(flat.min(axis=1)) & np.isfinite(flat.max(axis=1))  # NaN if there is any
    if not finite.all():
        images = np.where(finite.reshape(-1, *[1] * (images.ndim - 1)), images, np.float32(0))
    return images, finite


def size_refusal(shape: tuple[int, int]) -> str | None:
    """Returns why a measure cannot see patches of so many rows and columns, if it cannot."""
    rows, cols = shape
    if min(rows, cols) >= MIN_SIZE:
        return None
    return f"needs at least {MIN_SIZE} x {MIN_SIZE} pixels, not {cols} x {rows}"


def stack_scores(
    stack: FocalStack,
    images: Float32[np.ndarray, "batch slice *view row col"],
    codes: float,
    statistics: Mapping[str, Statistic],
    measures: Mapping[str, Measure],
) -> dict[str, Scores]:
    """Returns (batch, n) scores for each measure; positions without a finite slice are minus infinity."""
    refusal = size_refusal(stack.shape)
    if refusal is not None:
        raise MethodError(f"a focus measure {refusal}")
    flat = np.ascontiguousarray(images.reshape(-1, *images.shape[2:]))
    values = evaluate_patches(flat, codes, statistics, measures)
    scenes = np.arange(stack.batch)[:, None]
    result = {}
    for key, value in values.items():
        scores = np.full((stack.batch, len(stack.grid)), -np.inf)
        scores[scenes, stack.indices] = value.reshape(stack.indices.shape)
        result[key] = scores
    return result
