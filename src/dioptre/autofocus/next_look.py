"""Where a lens looks next: at the answer, and once that was seen, at what is still possible beside it.

The answer is the median of the joint posterior. A look there tells most as long as it was not seen. Then the
focus is looked for on that side where the lens was not: at the 12th or the 88th of a hundred parts of the
posterior, whichever is farther from all looks. A lens that has looked in vain is swept: evenly over its way.
"""

from typing import Final

import numpy as np
from jaxtyping import Float

from dioptre.posterior import JointPosterior

SIDES: Final = (0.12, 0.88)
SEEN: Final = 1.0  # steps of blur: a look that is nearer to a place has seen it
ROUND: Final = (9, 21)  # looks of a sweep, at least and at most
STRIDE: Final = 5.0  # steps of blur between looks of a sweep, if that gives as many


def next_place(known: JointPosterior, places: Float[np.ndarray, " look"], closest: float) -> float:
    """Returns where to look next.

    Args:
        known: What is known.
        places: Where looks were taken.
        closest: How far apart two positions of the lens are at least.
    """
    answer = known.quantile(0.5)
    away = float(np.abs(places - answer).min())
    if away >= closest / 2 and known.steps_between(0.0, away) > SEEN:
        return answer
    sides = [known.quantile(share) for share in SIDES]
    return max(sides, key=lambda place: float(np.abs(places - place).min()))


def sweep_places(known: JointPosterior, places: Float[np.ndarray, " look"]) -> list[float]:
    """Returns places evenly over the way of a lens, its ends included, where no look was taken near them."""
    low, high = known.limits
    count = int(np.clip(round(known.steps_between(low, high) / STRIDE) + 1, *ROUND))
    evenly = np.linspace(low, high, count)
    gap = (high - low) / max(count - 1, 1)
    return [float(one) for one in evenly if np.abs(places - one).min() > gap / 3]
