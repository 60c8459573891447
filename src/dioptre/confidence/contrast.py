"""The posterior of contrast: where sharpness, measured at some positions, says that the focus is.

Blur grows with the distance from the focus, so the sharpness of a picture is a peak over the lens's
positions: a Lorentzian on a floor, to a good approximation, whose place, width, floor and height nobody
knows. All that are possible are weighed by how well they explain what was measured, with heavy-tailed
noise, for a slice or two may be bad. Nothing here is fitted: it holds for a whole sweep and for a few looks.

Positions are in slices, or in any other unit of the lens.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from jaxtyping import Float, Float32

Curve = Float[np.ndarray, " slice"]
Places = Float[np.ndarray, " place"]

WIDTHS: Final = 8  # half widths that a peak may have, log-even from half a gap to all of the travel
FLOORS: Final = (0.005, 0.03, 0.2)  # of its height
PLACES: Final = 80  # at most, within the travel; and a quarter of it beyond each end
BEYOND: Final = 0.25
NOISE: Final = 0.2  # of a logarithm of sharpness
FREEDOM: Final = 4.0  # of Student's t
SCALE: Final = np.float32(FREEDOM * NOISE**2)
EXPONENT: Final = -(FREEDOM + 1) / 2
CHUNK: Final = 48  # factors that are multiplied before their logarithm is taken


@dataclass(frozen=True, eq=False)
class PeakPosterior:
    """How likely the focus is at each of some places.

    Attributes:
        places: In ascending order; some lie beyond the first and the last position.
        chances: They sum to 1.
        first: The lowest position.
        last: The highest position.
        width: The expected half width of the peak at half its height.
        misfit: The root of the mean squared residual of the best peak, in logarithms.
    """

    places: Places
    chances: Places
    first: float
    last: float
    width: float
    misfit: float

    @property
    def mean(self) -> float:
        """The expected place."""
        return float(self.chances @ self.places)

    def away_from(self, place: float, reach: float) -> float:
        """Returns the probability that the focus is farther than `reach` from a place."""
        return float(self.chances[np.abs(self.places - place) > reach].sum())

    def at_ends(self, reach: float) -> float:
        """Returns the probability that the focus lies beyond an end, or less than `reach` before it."""
        inside = (self.places >= self.first + reach) & (self.places <= self.last - reach)
        return float(self.chances[~inside].sum())

    def expected_distance(self, place: float) -> float:
        """Returns how far the focus is to be expected from a place."""
        return float(self.chances @ np.abs(self.places - place))


def peak_posterior(
    log_sharpness: Curve, positions: Curve | None = None, places: Places | None = None
) -> PeakPosterior:
    """Returns where the focus is by the sharpness at some positions, every place as likely before.

    Args:
        log_sharpness: The natural logarithm of sharpness at each position, finite, up to a constant.
        positions: Where, strictly ascending; 0, 1, 2, ... if not given.
        places: Where the focus may be, ascending; by default evenly over the way, and beyond its ends.
    """
    n = len(log_sharpness)
    shapes = _even_shapes(n) if positions is None else _shapes(np.asarray(positions, float), places)
    residual = log_sharpness.astype(np.float32) - shapes.heights
    residual -= residual.mean(axis=1, keepdims=True)
    weights = 1 / (SCALE + residual * residual)  # the height of each peak: a mean that outliers hardly move
    residual -= (np.einsum("hs,hs->h", weights, residual) / weights.sum(axis=1))[:, None]
    terms = 1 + residual * residual / SCALE
    chunks = (terms[:, at : at + CHUNK] for at in range(0, n, CHUNK))
    logs = sum(np.log(np.multiply.reduce(one, axis=1, dtype=np.float64)) for one in chunks) * EXPONENT
    chances = np.exp(logs - logs.max()).reshape(len(shapes.places), -1)
    chances /= chances.sum()
    best = residual[int(np.argmax(chances))]
    return PeakPosterior(
        shapes.places,
        chances.sum(axis=1),
        shapes.first,
        shapes.last,
        float(np.exp(chances.ravel() @ shapes.log_widths)),
        float(np.sqrt(np.mean(best * best))),
    )


@dataclass(frozen=True, eq=False)
class _Shapes:
    """All peaks that are possible: the place is the slowest, then the width, then the floor.

    Attributes:
        places: Where peaks may be.
        heights: The logarithm of each peak at each position.
        log_widths: Of each peak.
        first: The lowest position.
        last: The highest one.
    """

    places: Places
    heights: Float32[np.ndarray, "peak slice"]
    log_widths: Float[np.ndarray, " peak"]
    first: float
    last: float


@lru_cache(maxsize=16)
def _even_shapes(n: int) -> _Shapes:
    return _shapes(np.arange(float(n)))


def _shapes(positions: Curve, places: Places | None = None) -> _Shapes:
    """Returns the peaks that are possible over some positions."""
    first, last = positions[0], positions[-1]
    travel = max(last - first, 1e-9)
    gap = travel / max(len(positions) - 1, 1)
    if places is None:
        step = max(travel / PLACES, gap / 3)
        places = np.arange(first - BEYOND * travel - gap, last + BEYOND * travel + gap + step / 2, step)
        widths = np.geomspace(gap / 2, travel, WIDTHS)
    else:
        closest, widest = float(np.diff(positions).min(initial=travel)) / 2, float(np.ptp(places))
        widths = np.geomspace(closest, widest, max(WIDTHS, 1 + math.ceil(math.log2(widest / closest))))
    away = ((positions - places[:, None, None]) / widths[:, None]) ** 2  # place, width, slice
    floors = np.array(FLOORS)[:, None]
    heights = np.log(floors + (1 - floors) / (1 + away[:, :, None, :]))
    log_widths = np.tile(np.repeat(np.log(widths), len(FLOORS)), len(places))
    heights = heights.reshape(-1, len(positions)).astype(np.float32)
    return _Shapes(places, heights, log_widths, float(first), float(last))
