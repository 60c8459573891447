"""Misses: when an answer is sharp and when it is a miss, defined once for the whole package.

A region may hold things at several depths, and an answer is good if one of them is sharp there.

* A **step** is a move of the lens that changes the diameter of blur by 0.6 px (`optics.STEP_PX`); one index
  of the published grid is one step.
* A depth **covers** the part of a region that lies within BESIDE_STEPS of it. It counts if that is
  COVERED_SHARE of the region.
* An answer is **sharp**, or right, within SHARP_STEPS of a depth that counts.
* An answer is a **miss** if it is more than MISS_STEPS from every depth that counts.

This module knows nothing of pictures: whether there is detail at a depth is not asked.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float

BESIDE_STEPS: Final = 1.0
COVERED_SHARE: Final = 0.1  # of a region
SHARP_STEPS: Final = 2.0
MISS_STEPS: Final = 4.0
PUBLISHED: Final = 49  # positions of the published grid, a step each


def covering_depths(
    places: Float[np.ndarray, "..."], steps_per_index: float = 1.0
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Returns where the depths that cover a tenth of a region are sharp, and their shares of it.

    The interval of two steps that holds most of the region is one depth: the mean of what lies in it. Its
    part of the region is set aside, and the rest is searched again, as long as an interval holds a tenth.
    No part counts twice, so that the shares add up to 1 at most. A flat thing is one depth. A tilted one
    becomes a row of depths about two steps apart; what covers a tenth of the region is never more than two
    steps from one of them. Where everything is spread so widely that nothing covers a tenth, the depth that
    covers most stands for all.

    Args:
        places: The fractional index at which each pixel of the region is sharpest.
        steps_per_index: How many steps of blur an index is.

    Returns:
        Fractional indices in rising order, and the share of the region that each covers.
    """
    rest, found = np.sort(places, axis=None).astype(np.float64), list[tuple[float, float]]()
    width = 2 * BESIDE_STEPS / steps_per_index
    while rest.size:
        ends = np.searchsorted(rest, rest + width, side="right")
        first = int(np.argmax(ends - np.arange(rest.size)))
        inside = slice(first, int(ends[first]))
        share = (inside.stop - inside.start) / places.size
        if found and share < COVERED_SHARE:
            break
        found.append((float(rest[inside].mean()), share))
        rest = np.delete(rest, inside)
    found.sort()
    return tuple(at for at, _ in found), tuple(share for _, share in found)


def distance_to_nearest(
    answers: Float[np.ndarray, " answer"], sharp_at: Sequence[Sequence[float]]
) -> Float[np.ndarray, " answer"]:
    """Returns how far each answer is from the nearest place where something is sharp, infinite without any.

    Args:
        answers: Indices.
        sharp_at: For each answer, where the depths that count are sharp, in the same indices.
    """
    return np.array(
        [
            min((abs(float(answer) - at) for at in places), default=np.inf)
            for answer, places in zip(answers, sharp_at, strict=True)
        ],
        dtype=np.float64,
    )


def reach_of(positions: int) -> int:
    """Returns how many of some positions MISS_STEPS are, where nobody knows the blur: 4 of 49."""
    return max(1, round(MISS_STEPS * positions / PUBLISHED))
