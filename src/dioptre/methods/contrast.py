"""The 37 contrast measures of the paper's appendix, and our repairs of three of them.

They look at green, one view. Formulae follow the paper's appendix ("Contrast-Based Baseline
Algorithms") with the readings that docs/algorithms.md gives for ambiguous or misprinted ones: filters
use only the pixels whose whole support lies in the patch; a Gaussian blur is cut at four sigma and
reflects at the patch's border. Measures are in pixels, but absolute constants (+1, t) are in codes.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Final

import numpy as np
from jaxtyping import Float

from dioptre.grid import FocusGrid
from dioptre.methods.base import Autofocuser
from dioptre.methods.filters import distance_sums, magnitude_sums
from dioptre.methods.measure import (
    ROUNDING,
    Edges,
    Images,
    Measure,
    Statistic,
    Sums,
    empty_cells,
    kernels,
    offsets,
    size_refusal,
    stack_scores,
)
from dioptre.methods.tiles import tiled_scores
from dioptre.posterior import Scores
from dioptre.stack import FocalStack

GRADIENT_THRESHOLDS: Final = (3.0, 10.0)  # codes
PERCENTS: Final = (3.0, 1.0, 0.3)
SIGMAS: Final = (1, 2, 4)
TRUNCATE: Final = 4  # sigmas
DCT_BLOCK: Final = 8  # pixels
DISTANCE: Final = "distance"  # the part of the local statistics that needs no ratios
MAGNITUDE: Final = "magnitude"  # the part of the gradients that counts none

# Analysis filters of the CDF 9/7 wavelet (Cohen, Daubechies and Feauveau 1992), low-pass sum sqrt 2.
_LOW_HALF = (0.852698679009404, 0.377402855612654, -0.110624404418423, -0.023849465019380, 0.037828455506995)
_HIGH_HALF = (-0.788485616405665, 0.418092273222212, 0.040689417609558, -0.064538882628938)
CDF97_LOW: Final = np.array([0.0, *_LOW_HALF[:0:-1], *_LOW_HALF])
CDF97_HIGH: Final = np.array([0.0, *_HIGH_HALF[:0:-1], *_HIGH_HALF, 0.0, 0.0])


def _moments(
    images: Images, _codes: float, _parts: Collection[str], rows: Edges, cols: Edges
) -> Float[np.ndarray, "image map r c"]:
    """Sums of I - offset, of its square, and of the offset."""
    out, start = empty_cells(images, 3, rows, cols), offsets(images)
    kernels().moment_cells(images, start, rows, cols, out[:, :2])
    out[:, 2] = start[:, None, None] * np.outer(np.diff(rows), np.diff(cols))
    return out


def _phases(
    images: Images, _codes: float, _parts: Collection[str], rows: Edges, cols: Edges
) -> Float[np.ndarray, "image map r c"]:
    """Sums of I - offset at each place of a 4 x 4 block, then the sum of its square."""
    out, start = empty_cells(images, 17, rows, cols), offsets(images)
    squares = empty_cells(images, 2, rows, cols)
    kernels().phase_cells(images, start, rows, cols, out)
    kernels().moment_cells(images, start, rows, cols, squares)
    out[:, 16] = squares[:, 1]
    return out


def _differences(down: int, across: int) -> Statistic:
    def cells(
        images: Images, _codes: float, _parts: Collection[str], rows: Edges, cols: Edges
    ) -> Float[np.ndarray, "image map r c"]:
        out = empty_cells(images, 2, rows, cols)
        kernels().difference_cells(images, down, across, rows, cols, out)
        return out

    return Statistic(cells=cells, margin=(down, across))


def _laplacian(
    images: Images, _codes: float, parts: Collection[str], rows: Edges, cols: Edges
) -> Float[np.ndarray, "image map r c"]:
    out = empty_cells(images, 5, rows, cols)
    kernels().laplacian_cells(images, "both" in parts, rows, cols, out)
    return out


def _sobel(
    images: Images, codes: float, parts: Collection[str], rows: Edges, cols: Edges
) -> Float[np.ndarray, "image map r c"]:
    """Sums of the gradient's magnitude and of its square; counts above thresholds if asked for."""
    if "count" not in parts:
        return magnitude_sums(images, rows, cols)
    thresholds = np.array(GRADIENT_THRESHOLDS, dtype=np.float32) / np.float32(codes)
    out = empty_cells(images, 2 + len(GRADIENT_THRESHOLDS), rows, cols)
    kernels().sobel_cells(images, thresholds, rows, cols, out)
    if MAGNITUDE in parts:  # the same number whatever else is asked
        out[:, :2] = magnitude_sums(images, rows, cols)
    return out


@cache
def gaussian_taps(sigma: int) -> Float[np.ndarray, " tap"]:
    """Returns the centre and one half of a Gaussian cut at four sigma, of unit sum, as float32."""
    taps = np.exp(-0.5 * (np.arange(TRUNCATE * sigma + 1) / sigma) ** 2)
    return (taps / (taps[0] + 2 * taps[1:].sum())).astype(np.float32)


def _local(sigma: int) -> Statistic:
    def cells(
        images: Images, codes: float, parts: Collection[str], rows: Edges, cols: Edges
    ) -> Float[np.ndarray, "image map r c"]:
        out = empty_cells(images, 3, rows, cols)
        lowest = images.min(axis=(1, 2))
        above = images - lowest[:, None, None] if lowest.any() else images
        offset, taps = lowest.astype(np.float64), gaussian_taps(sigma)
        if "ratio" in parts:
            kernels().local_cells(above, offset, taps, codes, True, rows, cols, out)
        if DISTANCE in parts:  # the same number whatever else is asked
            out[:, 2] = distance_sums(above, offset, taps, codes, rows, cols)
        return out

    return Statistic(cells=cells, blur=sigma)


def _histogram(images: Images, _codes: float, parts: Collection[str]) -> Float[np.ndarray, "image map"]:
    out = np.zeros((len(images), 1 + len(PERCENTS)))
    percents = np.array(PERCENTS if "percentiles" in parts else (), dtype=np.float64)
    kernels().histogram_numbers(images, percents, out)
    return out


@cache
def _cosines(length: int) -> Float[np.ndarray, "3 n"]:
    return np.cos(np.pi * np.outer(np.arange(3), 2 * np.arange(length) + 1) / (2 * length))


def _dct(images: Images, _codes: float, _parts: Collection[str]) -> Float[np.ndarray, "image map"]:
    out = np.zeros((len(images), 6))
    kernels().dct_numbers(images, _cosines(images.shape[1]), _cosines(images.shape[2]), out)
    return out


def _wavelet(images: Images, codes: float, parts: Collection[str]) -> Float[np.ndarray, "image map"]:
    """Six numbers of level 2, then six of level 3 where it is asked for."""
    out = np.zeros((len(images), 2, 6))
    kernels().wavelet_numbers(images, CDF97_LOW, CDF97_HIGH, codes, 3 if "3" in parts else 2, out)
    return out.reshape(-1, 12)


def _corners(images: Images, _codes: float, _parts: Collection[str]) -> Float[np.ndarray, "image map"]:
    """The signed sum of the checkerboard's response, to which only the six outermost rows and columns add.

    The kernel is the outer product of a = [1, 1, -1, -1], and the sum of all valid shifts of a is zero but at
    the ends: 1, 2, 1, 0 ... 0, -1, -2, -1.
    """
    weights = np.array([1.0, 2.0, 1.0, -1.0, -2.0, -1.0])
    ends = np.array([0, 1, 2, -3, -2, -1])
    pixels = images[:, ends[:, None], ends[None, :]].astype(np.float64)
    return np.einsum("irc,r,c->i", pixels, weights, weights)[:, None]


def _checkerboard(images: Images, _codes: float, _parts: Collection[str]) -> Float[np.ndarray, "image map"]:
    """The sum of the absolute response to the checkerboard, by two differences of 2 x 2 box sums."""
    out = np.empty((len(images), 1))
    for i, image in enumerate(images):
        pairs = image[:-1].astype(np.float64) + image[1:]
        boxes = pairs[:, :-1] + pairs[:, 1:]
        down = boxes[:-2] - boxes[2:]
        out[i] = np.abs(down[:, :-2] - down[:, 2:]).sum()
    return out


def _blocks(images: Images, _codes: float, _parts: Collection[str]) -> Float[np.ndarray, "image map"]:
    """The mean over 8 x 8 blocks of their DCT energy ratio: variance over squared mean (Parseval)."""
    out = np.empty((len(images), 1))
    rows, cols = (size - size % DCT_BLOCK for size in images.shape[1:])
    for i, image in enumerate(images):
        blocks = image[:rows, :cols].reshape(rows // DCT_BLOCK, DCT_BLOCK, cols // DCT_BLOCK, DCT_BLOCK)
        variance = blocks.var(axis=(1, 3), dtype=np.float64)
        out[i] = _ratio(variance, blocks.mean(axis=(1, 3), dtype=np.float64) ** 2).mean()
    return out


STATISTICS: Final[dict[str, Statistic]] = {
    "moments": Statistic(cells=_moments),
    "phases": Statistic(cells=_phases, block=4),
    "differences-across": _differences(0, 1),
    "differences-down": _differences(1, 0),
    "laplacian": Statistic(cells=_laplacian, margin=(2, 2)),
    "sobel": Statistic(cells=_sobel, margin=(2, 2)),
    **{f"local-{sigma}": _local(sigma) for sigma in SIGMAS},
    "histogram": Statistic(numbers=_histogram),
    "dct": Statistic(numbers=_dct),
    "wavelet": Statistic(numbers=_wavelet),
    "corners": Statistic(numbers=_corners),
    "checkerboard": Statistic(numbers=_checkerboard),
    "blocks": Statistic(numbers=_blocks),
}


def _ratio(numerator: Any, denominator: Any) -> Any:
    """Returns the ratio, and 0 where the denominator is 0: a black patch has no contrast."""
    return np.divide(numerator, denominator, out=np.zeros_like(denominator), where=denominator != 0)


def _mean(s: Sums) -> Any:
    """Returns the mean pixel; what rounding leaves of a black patch's is 0."""
    mean = s.mean(0) + s.mean(2)
    return np.where(np.abs(mean) > ROUNDING * np.abs(s.mean(2)), mean, 0.0)


def _coefficient_of_variation(s: Sums) -> Any:
    return _ratio(np.sqrt(s.variance(0, 1)), _mean(s))


def _dct_energy_ratio(s: Sums) -> Any:
    # Parseval: with an orthonormal DCT the energy but for the mean is n times the variance.
    return _ratio(s.variance(0, 1), _mean(s) ** 2)


def _dct_reduced_energy_ratio(s: Sums) -> Any:
    return _ratio((s.maps[1:6] ** 2).sum(axis=0), s[0] ** 2)


def _eigenvalue_trace(s: Sums) -> Any:
    # The trace of the covariance is the sum of the variances of the 16 places in a block.
    blocks = s.count // 16
    return np.maximum(s[16] - (s.maps[:16] ** 2).sum(axis=0) / blocks, 0.0) / (blocks - 1)


def _wavelet_measure(level: int, kind: str) -> Measure:
    at = 6 * (level - 2)
    formulae: dict[str, Callable[[Sums], Any]] = {
        "sum": lambda s: s[at],
        "variance": lambda s: np.maximum(s[at + 1], 0.0),
        "ratio": lambda s: _ratio(s[at + 2], s[at + 3]),
        "log-ratio": lambda s: s[at + 4] / s[at + 5],
    }
    return Measure((("wavelet", str(level)),), formulae[kind])


def _percentile_measure(percent: float) -> Measure:
    at = 1 + PERCENTS.index(percent)
    return Measure((("histogram", "percentiles"),), lambda s: s[at])


def _local_measure(sigma: int, kind: str) -> Measure:
    formulae: dict[str, Callable[[Sums], Any]] = {
        "ratio": lambda s: s.mean(0),
        "log-ratio": lambda s: np.exp(s.mean(1)),
        "norm-dist-sq": lambda s: s.mean(2),
    }
    return Measure(((f"local-{sigma}", DISTANCE if kind == "norm-dist-sq" else "ratio"),), formulae[kind])


def _count_measure(threshold: float) -> Measure:
    at = 2 + GRADIENT_THRESHOLDS.index(threshold)
    return Measure((("sobel", "count"),), lambda s: s.mean(at))


_DIFFERENCES = (("differences-across", ""), ("differences-down", ""))

MEASURES: Final[dict[str, Measure]] = {
    "dct-reduced-energy-ratio": Measure((("dct", ""),), _dct_reduced_energy_ratio),
    "total-variation-l1": Measure(_DIFFERENCES, lambda across, down: across[0] + down[0]),
    "histogram-entropy": Measure((("histogram", "entropy"),), lambda s: s[0]),
    "modified-dct": Measure((("corners", ""),), lambda s: s[0]),
    "gradient-count-3": _count_measure(3.0),
    "gradient-count-10": _count_measure(10.0),
    "dct-energy-ratio": Measure((("moments", ""),), _dct_energy_ratio),
    "eigenvalue-trace": Measure((("phases", ""),), _eigenvalue_trace),
    "intensity-variance": Measure((("moments", ""),), lambda s: s.variance(0, 1)),
    "intensity-coefficient-of-variation": Measure((("moments", ""),), _coefficient_of_variation),
    "percentile-range-3": _percentile_measure(3.0),
    "percentile-range-1": _percentile_measure(1.0),
    "percentile-range-0.3": _percentile_measure(0.3),
    "total-variation-l2": Measure(_DIFFERENCES, lambda across, down: across[1] + down[1]),
    "modified-laplacian": Measure((("laplacian", ""),), lambda s: s[2]),
    # As printed: L_yx, the transpose of the symmetric L_xy, is L_xy again.
    "diagonal-laplacian": Measure((("laplacian", ""),), lambda s: s[2] + math.sqrt(2) * s[3]),
    "laplacian-energy": Measure((("laplacian", ""),), lambda s: s[1]),
    "laplacian-variance": Measure((("laplacian", ""),), lambda s: s.variance(0, 1)),
    "local-log-ratio-1": _local_measure(1, "log-ratio"),
    "local-ratio-1": _local_measure(1, "ratio"),
    "local-norm-dist-sq-1": _local_measure(1, "norm-dist-sq"),
    "wavelet-sum-2": _wavelet_measure(2, "sum"),
    "gradient-magnitude-mean": Measure((("sobel", MAGNITUDE),), lambda s: s.mean(0)),
    "wavelet-variance-2": _wavelet_measure(2, "variance"),
    "gradient-magnitude-variance": Measure((("sobel", MAGNITUDE),), lambda s: s.variance(0, 1)),
    "wavelet-variance-3": _wavelet_measure(3, "variance"),
    "wavelet-ratio-3": _wavelet_measure(3, "ratio"),
    "wavelet-log-ratio-2": _wavelet_measure(2, "log-ratio"),
    "local-ratio-2": _local_measure(2, "ratio"),
    "wavelet-ratio-2": _wavelet_measure(2, "ratio"),
    "local-log-ratio-2": _local_measure(2, "log-ratio"),
    "wavelet-sum-3": _wavelet_measure(3, "sum"),
    "local-norm-dist-sq-2": _local_measure(2, "norm-dist-sq"),
    "local-ratio-4": _local_measure(4, "ratio"),
    "local-log-ratio-4": _local_measure(4, "log-ratio"),
    "wavelet-log-ratio-3": _wavelet_measure(3, "log-ratio"),
    "local-norm-dist-sq-4": _local_measure(4, "norm-dist-sq"),
    # Ours: what the formula was meant to say, where the printed one says something else.
    "dioptre-modified-dct": Measure((("checkerboard", ""),), lambda s: s[0]),
    "dioptre-diagonal-laplacian": Measure(
        (("laplacian", "both"),), lambda s: s[2] + (s[3] + s[4]) / math.sqrt(2)
    ),
    "dioptre-block-dct-energy-ratio": Measure((("blocks", ""),), lambda s: s[0]),
    # Ours: a weighted geometric mean of two that fail in other scenes. Gradients are few and strong, so that
    # noise hardly counts; local contrast does not heed exposure, nor how bright a thing is that comes in.
    "dioptre-contrast": Measure(
        (("sobel", MAGNITUDE), ("local-2", DISTANCE)),
        lambda sobel, local: sobel.variance(0, 1) ** 0.25 * local.mean(2) ** 0.75,
    ),
}


def contrast_scores(stack: FocalStack, keys: Sequence[str]) -> dict[str, Scores]:
    """Returns the scores of several contrast measures, with the work that they share done once."""
    measures = {key: MEASURES[key] for key in keys}
    green = stack.green().pixels[:, :, 0]
    return stack_scores(stack, green, stack.green_codes, STATISTICS, measures)


@dataclass(frozen=True)
class Contrast(Autofocuser):
    """One contrast measure as an Autofocuser."""

    key: str
    by_slice: ClassVar[bool] = True

    def refusal(self, _grid: FocusGrid, shape: tuple[int, int], _views: int) -> str | None:
        """Returns why it cannot see such patches, if it cannot."""
        return size_refusal(shape)

    def scores(self, stack: FocalStack) -> Scores:
        """Returns the measure of each slice, (batch, n)."""
        return contrast_scores(stack, [self.key])[self.key]

    def tiled_scores(
        self, stack: FocalStack, layout: tuple[int, int]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "tile n"]] | None:
        """Returns the scores of one scene, and those of its tiles; None where tiles want their own pass."""
        images = np.ascontiguousarray(stack.green().pixels[0, :, 0])
        return tiled_scores(images, stack.green_codes, STATISTICS, MEASURES[self.key], layout)


@dataclass(frozen=True)
class ContrastFamily:
    """The contrast measures: those that ask for the same statistic share its work."""

    def build(self, key: str) -> Contrast:
        """Returns one measure."""
        return Contrast(key)

    def scores(self, stack: FocalStack, keys: Sequence[str]) -> dict[str, Scores]:
        """Returns the scores of several measures."""
        return contrast_scores(stack, keys)
