"""The 8 dual-pixel measures of the paper's appendix: how alike the left and the right view are.

A score is minus the paper's mismatch, so that higher is better focused. Views are normalised by mean and
standard deviation where the paper says so (it prints the variance, but only the standard deviation
makes its remark on cross-correlation true). A view without contrast cannot be normalised: such a
slice scores minus infinity. The ternary census compares codes, unnormalised.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from jaxtyping import Float

from dioptre.errors import MethodError
from dioptre.grid import FocusGrid
from dioptre.methods.base import Autofocuser
from dioptre.methods.measure import (
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
from dioptre.posterior import Scores
from dioptre.stack import LEFT, RIGHT, FocalStack

EPSILONS: Final = (10.0, 30.0)  # codes
NEEDS_VIEWS: Final = "compares a left and a right view, but the stack has only one view"


def _correlation(
    pairs: Images, _codes: float, _parts: Collection[str], rows: Edges, cols: Edges
) -> Float[np.ndarray, "image map r c"]:
    """Sums of l, r, l^2, r^2 and l r about a value near each view's mean."""
    out = empty_cells(pairs, 5, rows, cols)
    kernels().correlation_cells(pairs, offsets(pairs[:, LEFT]), offsets(pairs[:, RIGHT]), rows, cols, out)
    return out


def _census(
    pairs: Images, _codes: float, _parts: Collection[str], rows: Edges, cols: Edges
) -> Float[np.ndarray, "image map r c"]:
    """Sums of the Hamming distance of the census and of the L1 distance of the rank transforms."""
    out = empty_cells(pairs, 2, rows, cols)
    kernels().census_cells(pairs, rows, cols, out)
    return out


def _ternary(
    pairs: Images, codes: float, _parts: Collection[str], rows: Edges, cols: Edges
) -> Float[np.ndarray, "image map r c"]:
    """Sums of the L1 distance of the ternary census transforms, one map for each epsilon."""
    out = empty_cells(pairs, 2, rows, cols)
    small, large = (np.float32(epsilon / codes) for epsilon in EPSILONS)
    kernels().ternary_cells(pairs, small, large, rows, cols, out)
    return out


def _normalised(pairs: Images, _codes: float, parts: Collection[str]) -> Float[np.ndarray, "image map"]:
    """Normalised SAD, envelope L1 and envelope L2 mismatch; infinite where a view has no contrast."""
    means, deviations = np.empty((2, len(pairs), 2))
    for view in (LEFT, RIGHT):
        start = offsets(pairs[:, view])
        kernels().mean_and_deviation(pairs, view, start, means[:, view], deviations[:, view])
    gains = np.divide(1.0, deviations, out=np.zeros_like(means), where=deviations > 0)
    out = np.empty((len(means), 3))
    kernels().normalised_numbers(pairs, means, gains, "envelope" in parts, out)
    out[(deviations == 0).any(axis=1)] = np.inf
    return out


STATISTICS: Final[dict[str, Statistic]] = {
    "correlation": Statistic(cells=_correlation),
    "census": Statistic(cells=_census, margin=(2, 2)),
    "ternary": Statistic(cells=_ternary, margin=(2, 2)),
    "normalised": Statistic(numbers=_normalised),
}


def _cross_correlation(s: Sums) -> Any:
    """Returns <l, r> of the normalised views: n times the correlation coefficient."""
    n = s.count
    variances = s.variance(0, 2) * s.variance(1, 3)
    covariance = s.mean(4) - s.mean(0) * s.mean(1)
    rho = np.divide(
        covariance, np.sqrt(variances), out=np.full_like(covariance, -np.inf), where=variances > 0
    )
    return n * rho


MEASURES: Final[dict[str, Measure]] = {
    "normalized-sad": Measure((("normalised", ""),), lambda s: -s[0]),
    "ternary-census-30": Measure((("ternary", ""),), lambda s: -s[1]),
    "normalized-cross-correlation": Measure((("correlation", ""),), _cross_correlation),
    "rank-transform": Measure((("census", ""),), lambda s: -s[1]),
    "census-transform": Measure((("census", ""),), lambda s: -s[0]),
    "ternary-census-10": Measure((("ternary", ""),), lambda s: -s[0]),
    "normalized-envelope-l2": Measure((("normalised", "envelope"),), lambda s: -s[2]),
    "normalized-envelope-l1": Measure((("normalised", "envelope"),), lambda s: -s[1]),
}


def stereo_scores(stack: FocalStack, keys: Sequence[str]) -> dict[str, Scores]:
    """Returns the scores of several dual-pixel measures, with the work that they share done once."""
    if stack.views != 2:
        raise MethodError(f"{keys[0]} {NEEDS_VIEWS}")
    measures = {key: MEASURES[key] for key in keys}
    return stack_scores(stack, stack.pixels, stack.view_codes, STATISTICS, measures)


@dataclass(frozen=True)
class Stereo(Autofocuser):
    """One dual-pixel measure as an Autofocuser."""

    key: str
    by_slice: ClassVar[bool] = True

    def refusal(self, _grid: FocusGrid, shape: tuple[int, int], views: int) -> str | None:
        """Returns why it cannot see such patches, if it cannot."""
        return NEEDS_VIEWS if views != 2 else size_refusal(shape)

    def scores(self, stack: FocalStack) -> Scores:
        """Returns the similarity of the two views of each slice, (batch, n)."""
        return stereo_scores(stack, [self.key])[self.key]


@dataclass(frozen=True)
class StereoFamily:
    """The dual-pixel measures: those that ask for the same statistic share its work."""

    def build(self, key: str) -> Stereo:
        """Returns one measure."""
        return Stereo(key)

    def scores(self, stack: FocalStack, keys: Sequence[str]) -> dict[str, Scores]:
        """Returns the scores of several measures."""
        return stereo_scores(stack, keys)
