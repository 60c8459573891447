"""focus_map: where each patch of a frame is sharp, and how sure that is.

The scores of all patches come from one evaluation of the frame, which computes shared pixels once
(`methods.frame`). Each patch's curve gets the verdict that `focus` gives a region. What it needs beside the
curve is shared as well: the patches' exposure is box sums, and the blocks that are looked at are those of one
lattice over the whole frame, of which each patch takes the ones that lie inside it.

Slices are read once, one after the other, and forgotten: memory does not grow with the stack.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped

from dioptre.confidence.curve import peak_position
from dioptre.confidence.exposure import WHITE, Exposure, SliceExposures
from dioptre.confidence.model import RISK, check_risk
from dioptre.confidence.reasons import State
from dioptre.confidence.statistics import BlockLayout, SliceBlocks
from dioptre.confidence.verdict import VerdictContext, judge_curve
from dioptre.errors import InputError, MethodError
from dioptre.focusing.arguments import DEFAULT_MEASURE, AnyGrid, AnyStack
from dioptre.focusing.depths import depth_of, group_peaks
from dioptre.focusing.inputs import to_grid
from dioptre.focusing.result import Depth, Roi
from dioptre.focusing.slices import Reading, Slices, grid_of, stream, to_slices
from dioptre.grid import DIOPTRES, FocusGrid
from dioptre.methods import find_method
from dioptre.methods.frame import MEASURES, FrameMeasures, PatchLattice, patch_means
from dioptre.methods.measure import MIN_SIZE
from dioptre.methods.voting import VOTES_BY
from dioptre.miss import reach_of

ACROSS: Final = 5  # blocks across a patch, about

Curves = Float[np.ndarray, "r c slice"]
Views = Float32[np.ndarray, "view row col"]


@dataclass(frozen=True, eq=False)
class FocusMap:
    """Where each patch of a frame is sharp, and how sure that is.

        index, confidence = dioptre.focus_map(frames)

    Arrays are (row, col) of patches.

    Attributes:
        index: The slice nearest to the position, counted from 0 in the order of the frames; a best guess
            where no slice is sharp.
        confidence: The probability that the patch is sharp there.
        focused: Whether the patch is in focus there at the risk that is accepted.
        answered: Whether there is an answer at all, sure or not: a blank wall has none.
        position: The place there, between slices, in `unit`.
        rows: The row of the patches' centres, in pixels from the top edge of the frame.
        cols: The column of the patches' centres, in pixels from the left edge of the frame.
        method: Key of the method.
        grid: Where the slices were taken.
    """

    index: Int[np.ndarray, "r c"]
    confidence: Float[np.ndarray, "r c"]
    focused: Bool[np.ndarray, "r c"]
    answered: Bool[np.ndarray, "r c"]
    position: Float[np.ndarray, "r c"]
    rows: Float[np.ndarray, " r"]
    cols: Float[np.ndarray, " c"]
    method: str
    grid: FocusGrid

    @property
    def unit(self) -> str:
        """What positions are counted in."""
        return self.grid.unit

    @property
    def depths(self) -> tuple[Depth, ...]:
        """The depths of the patches that are focused, the largest first, grouped as `focus` groups tiles.

        A patch counts with the part of the frame around its centre that is nearest to it.
        """
        (y, h), (x, w) = _cells(self.rows), _cells(self.cols)
        frame = Roi(x, y, w * len(self.cols), h * len(self.rows))
        found = group_peaks(self.index, self.focused, reach_of(len(self.grid)))
        return tuple(depth_of(int(np.median(self.index[mask])), mask, mask, frame) for mask in found)

    @property
    def dioptres(self) -> Float[np.ndarray, "r c"] | None:
        """The focus there, in dioptres; None if that is not known."""
        if self.unit == DIOPTRES:
            return self.position
        places = self.grid.position_to_index(self.position)
        return np.asarray(self.grid.index_to_dioptres(places)) if self.grid.known else None

    def __iter__(self) -> Iterator[Shaped[np.ndarray, "r c"]]:
        return iter((self.index, self.confidence))


def _cells(centres: Float[np.ndarray, " k"]) -> tuple[int, int]:
    """Returns where the first of neighbouring cells around some centres begins, and how long one is."""
    length = int(centres[1] - centres[0]) if len(centres) > 1 else int(2 * centres[0])
    return int(centres[0] - length / 2), length


def focus_map(
    frames: AnyStack,
    method: str = DEFAULT_MEASURE,
    size: int = 128,
    stride: int = 40,
    *,
    grid: AnyGrid | None = None,
    black: float | None = None,
    white: float | None = None,
    risk: float = RISK,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    **reading: Any,
) -> FocusMap:
    """Returns the sharpest slice of every patch of a frame, and how sure that is.

    Args:
        frames: What `focus` takes for a stack.
        method: Key of a contrast or dual-pixel measure.
        size: Rows and columns of a patch.
        stride: Pixels between neighbouring patches.
        grid: Where the slices were taken, as `focus` takes it; by default as the file tells.
        black: Value of black; 0 by default.
        white: Value of white; by default the largest value of an integer dtype, 1.0 for floats.
        risk: How often a patch that is called focused may be a miss.
        progress: Is told how much is done, and of how much: slices scored and rows of patches judged.
        reading: How a stack is read: axes, channel, time, position, views, gamma (`dioptre.focusing.slices`).

    Raises:
        DioptreError: The frames, the patches or the method cannot be used; the message says why.
    """
    method = _measure_of(method)
    slices = to_slices(frames, black, white, Reading.of(reading))
    told = grid_of(slices) if grid is None else to_grid(grid, len(slices), slices.pictures.names)
    lattice = PatchLattice(*slices.shape, to_count("size", size), to_count("stride", stride))
    refusal = find_method(method).build().refusal(told, (size, size), slices.views)
    if refusal is not None:
        raise MethodError(f"{method} {refusal}")
    done = _Counter(len(slices) + lattice.shape[0], progress)
    seen = _seen(slices, method, lattice, done)
    return _judged(seen, lattice, told, method, check_risk(risk), done)


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
    if key in VOTES_BY:
        raise MethodError(f"focus_map() takes measures: {VOTES_BY[key]}, by which the parts of {key} vote")
    if key not in MEASURES:
        raise MethodError(f"focus_map() takes contrast and dual-pixel measures, not the network {method}")
    return key


def to_count(name: str, value: Any) -> int:
    """Returns the size or the stride of patches as a whole number."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise InputError(f"the {name} of patches is a whole number of pixels, not {value!r}")
    return int(value)


# What a verdict needs of every patch


@dataclass(frozen=True, eq=False)
class _PatchStatistics:
    """What is known of every patch of all slices.

    Attributes:
        curves: Of each patch.
        cells: Where the blocks of the whole frame lie, of which a patch takes its own.
        blocks: What is kept of them.
        exposures: Of each patch.
    """

    curves: Curves
    cells: BlockLayout
    blocks: SliceBlocks
    exposures: SliceExposures

    def of_patch(self, lattice: PatchLattice, row: int, col: int) -> SliceBlocks:
        """Returns what is kept of the blocks whose middle is inside a patch."""
        corner = lattice.row_starts[row], lattice.col_starts[col]
        middles = (
            pitch * (np.arange(count) + 0.5)
            for count, pitch in zip(self.cells.counts, self.cells.pitches, strict=True)
        )
        down, across = (
            np.flatnonzero((first <= each) & (each < first + lattice.size))
            for first, each in zip(corner, middles, strict=True)
        )
        return self.blocks.within((down[:, None] * self.cells.counts[1] + across).ravel())


def _seen(slices: Slices, method: str, lattice: PatchLattice, done: Callable[[], None]) -> _PatchStatistics:
    """Returns what is known of every patch, of slices that are read one after the other."""
    measures = FrameMeasures.of([method], slices.views)
    cells = BlockLayout.every(lattice.rows, lattice.cols, max(MIN_SIZE // 2, lattice.size // ACROSS))

    def one(codes: Shaped[np.ndarray, "view row col"]) -> tuple[SliceBlocks, list[Float[np.ndarray, "r c"]]]:
        views = np.ascontiguousarray(slices.to_pixels(codes))
        exposures = _exposures(views, lattice)
        views = np.nan_to_num(views) if exposures[-1].any() else views
        scores = measures.of_slice(views, lattice, slices.view_codes, True)[method]
        return SliceBlocks.of(views[None], cells), [*exposures, scores]

    runs, found = [range(at, at + 1) for at in range(len(slices))], []
    for some in stream(slices, runs, slices.pictures.whole, lambda _, codes: [one(each) for each in codes]):
        found += some
        done()
    maps = (np.stack(each, axis=-1) for each in zip(*(some for _, some in found), strict=True))
    saturated, mean, bad, curves = maps
    curves[bad > 0] = -np.inf
    blocks = SliceBlocks.joined([some for some, _ in found])
    return _PatchStatistics(curves, cells, blocks, SliceExposures(saturated, mean, bad == 0))


def _exposures(views: Views, lattice: PatchLattice) -> list[Float[np.ndarray, "r c"]]:
    """Returns how much of every patch is at white, its mean, and how much of it is not finite."""

    def means(images: Shaped[np.ndarray, "view row col"]) -> Float[np.ndarray, "r c"]:
        each = [patch_means(one.astype(np.float32, copy=False), lattice) for one in images]
        return np.mean(each, axis=0)

    white, bad = views >= WHITE, ~np.isfinite(views)
    light = np.where(bad, np.float32(0), views) if bad.any() else views
    return [means(image) if image.any() else np.zeros(lattice.shape) for image in (white, light, bad)]


def _judged(
    seen: _PatchStatistics,
    lattice: PatchLattice,
    grid: FocusGrid,
    method: str,
    risk: float,
    done: Callable[[], None],
) -> FocusMap:
    """Returns the verdict on every patch's curve."""
    exposures = seen.exposures
    saturated, mean = np.median(exposures.saturated, axis=2), np.median(exposures.mean, axis=2)
    finite = np.asarray(exposures.finite.all(axis=2))
    confidence, states = np.empty(lattice.shape), np.empty(lattice.shape, dtype=object)
    context = VerdictContext(risk)
    for at in np.ndindex(lattice.shape):
        exposure = Exposure(float(saturated[at]), float(mean[at]), bool(finite[at]))
        verdict = judge_curve(seen.curves[at], seen.of_patch(lattice, *at), exposure, context)
        confidence[at], states[at] = verdict.confidence, verdict.state
        if at[1] == lattice.shape[1] - 1:
            done()
    flat = seen.curves.reshape(-1, seen.curves.shape[2])
    peaks = np.array([peak_position(one) for one in flat]).reshape(lattice.shape)
    half = lattice.size / 2
    return FocusMap(
        index=np.clip(np.rint(peaks), 0, len(grid) - 1).astype(np.int64),  # as in a FocusResult
        confidence=confidence,
        focused=states == State.FOCUSED,
        answered=states != State.FAILED,
        position=np.asarray(grid.index_to_position(peaks)),
        rows=lattice.row_starts + half,
        cols=lattice.col_starts + half,
        method=method,
        grid=grid,
    )
