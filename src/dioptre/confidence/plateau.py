"""Plateaus: slices that are equally sharp, and whether a curve still rises where its stack ends.

Far things are sharp over many slices of a sweep, and so is everything in a sweep whose steps are finer than
the depth of field. Slices are **tied** if none is lower than the best by more than noise explains, or than
anybody would see. A tied run that reaches an end of the stack is a plateau, unless the score **still rises**
there: then the focus lies beyond. That is told from the latter half of the run, towards that end, by the
slope of a line through it, so that it does not depend on how finely a sweep is cut.

Of a curve that still rises, its shape tells how far beyond (`beyond_end`).

Curves are scaled to 0..1.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Float

from dioptre.confidence.curve import Curve, CurveNoise, Tiles
from dioptre.confidence.model import reach_of

TIED: Final = 4.0  # deviations of the noise between the best of some equal scores and the worst
UNSEEN: Final = 0.02  # of the range of a curve: a loss of sharpness that nobody sees
# Of the height of a run, what its latter half rises by at least if the curve still does: a line by a half, a
# parabola whose top is the last slice by a quarter, a plateau behind its shoulder not at all.
STILL: Final = 1 / 8
LIKELY: Final = 1.0  # deviations of such a rise, if the last slice is the highest
SURELY: Final = 3.0  # and if it is not, which speaks against a rise
FEWEST: Final = 3  # slices whose slope is told
NEAR_END: Final = 0.4  # of the height: the slices before an end that are as high tell what lies beyond
LEAST, MOST = 4, 10  # how many these are
BENT: Final = 1e-4  # of the inverse of a curve, for a slice squared: what bends less has its peak anywhere
NEAREST, FARTHEST = 0.5, 4.0  # slices before and beyond an end between which it can be told
MOST_UNEVEN: Final = 1 / 3  # of its height: what a part's curve changes by on a plateau that is its own too
TELLING: Final = 0.2  # of the range of the part that changes most: what changes less tells nothing
FLAT_TOP: Final = 0.6  # of the width at half height: so wide is the top of a plateau, and of no round peak


@dataclass(frozen=True)
class Plateau:
    """A run of slices that are equally sharp: the first and the last of them."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1

    def is_flat(self, curve: Curve) -> bool:
        """Returns whether this is a plateau of a curve that falls on both sides of it, and no round peak."""
        n, peak = len(curve), int(curve.argmax())
        low = np.flatnonzero(curve < 0.5)
        before, after = low[low < peak], low[low > peak]
        first = int(before[-1]) + 1 if before.size else 0
        width = (int(after[0]) if after.size else n) - first
        return len(self) > FEWEST and (len(self) > FLAT_TOP * width or len(self) > 2 * reach_of(n) + 1)

    def is_shared(self, tiles: Tiles) -> bool:
        """Returns whether parts are as flat on it as the whole, and not sharp one after the other.

        A tilted thing is a plateau to the mean of its parts, and to none of them.
        """
        span = np.ptp(tiles, axis=1)
        telling = span > TELLING * span.max()
        part = tiles[telling, self.first : self.last + 1]
        return bool(np.median(np.ptp(part, axis=1) / span[telling]) <= MOST_UNEVEN) if telling.any() else True

    def collapse(self, curve: Float[np.ndarray, "*tile n"]) -> Float[np.ndarray, "*tile fewer"]:
        """Returns curves in which one slice, each one's best, stands for all of the plateau."""
        first, last = self.first, self.last + 1
        best = curve[..., first:last].max(axis=-1, keepdims=True)
        return np.concatenate([curve[..., :first], best, curve[..., last:]], axis=-1)


def tolerance(noise: CurveNoise) -> float:
    """Returns by how much tied scores differ at most."""
    return max(UNSEEN, TIED * noise.between_slices)


def find_plateau(curve: Curve, noise: CurveNoise) -> Plateau:
    """Returns the slices around the best one that are tied with it; perhaps it is alone."""
    peak, lower = int(curve.argmax()), curve < curve.max() - tolerance(noise)
    before, after = np.flatnonzero(lower[:peak]), np.flatnonzero(lower[peak:])
    first = int(before[-1]) + 1 if before.size else 0
    return Plateau(first, peak + int(after[0]) - 1 if after.size else len(curve) - 1)


def rises_at_end(curve: Curve, noise: CurveNoise) -> bool:
    """Returns whether the score still rises where the stack ends, at its last slice.

    If the highest slice lies before the end, only noise can have put it there: the rise must be seen.
    """
    run, last = find_plateau(curve, noise), len(curve) - 1
    if run.last < last:
        return False
    highest = int(curve.argmax()) == last
    if len(run) < FEWEST:
        return highest
    half = curve[-((len(run) + 1) // 2) :]
    m = len(half)
    along = np.arange(m) - (m - 1) / 2
    rise = float(along @ half / (along @ along)) * (m - 1)
    deviation = noise.between_slices * math.sqrt(12 * (m - 1) / (m * (m + 1)))
    if highest:
        return bool(rise > max(STILL * tolerance(noise), LIKELY * deviation))
    return bool(rise > max(UNSEEN, SURELY * deviation))


def beyond_end(curve: Curve) -> float:
    """Returns by how many slices the peak of a curve that rises to its last slice lies beyond it, about.

    Blur grows as the distance from focus, and contrast falls as one over its square, to which the finest
    blur is added: one over the curve is a parabola with its vertex in focus. Of a curve that falls as a bell
    does, minus its logarithm is. Real ones lie between, and so does what is returned.
    """
    n = len(curve)
    low = np.flatnonzero(curve < NEAR_END)
    first = int(np.clip(low[-1] + 1 if low.size else 0, max(n - MOST, 0), max(n - LEAST, 0)))
    along, height = np.arange(first, n) - (n - 1.0), np.maximum(curve[first:], BENT)
    if len(along) < FEWEST:
        return FARTHEST
    return (_vertex(along, 1 / height, height) + _vertex(along, -np.log(height), height)) / 2


def _vertex(along: Curve, bowl: Curve, weights: Curve) -> float:
    """Returns where a parabola through a bowl is lowest, within what can be told."""
    bend, slope, _ = np.polyfit(along, bowl, 2, w=weights)
    return float(np.clip(-slope / (2 * bend), -NEAREST, FARTHEST)) if bend > BENT else FARTHEST
