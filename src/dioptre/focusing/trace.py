"""Journal: what a run did with a lens, step by step, for whoever wants to know afterwards, or meanwhile."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float

from dioptre.focusing.plain import to_plain


class Act(StrEnum):
    """Why a frame was taken."""

    LOOK = "look"  # to be shown to the method
    SWEEP = "sweep"  # to be measured
    VERIFY = "verify"  # to see whether it is as sharp as promised
    APPROACH = "approach"  # only to come from the right side
    SETTLE = "settle"  # before the lens had settled; not used
    AGAIN = "again"  # because the one before could not be used
    RETURN = "return"  # after the run, to leave the lens where it was
    WATCH = "watch"  # to see whether anything has changed


@dataclass(frozen=True, eq=False)
class Step:
    """One frame of a run.

    Attributes:
        act: Why it was taken.
        index: Where the lens was sent.
        seconds: When the frame was there, from the start of the run.
        took: How long moving, waiting and exposing took, in seconds.
        position: The driver's number for that place, if the camera tells it.
        unit: What that counts.
        score: What the contrast measure says of the frame; higher is sharper. None if nobody asked.
        posterior: How likely each position is after it, beyond the far end first and beyond the near end
            last; None if the method does not tell.
        answer: Where the lens would go by what is known after it.
        confidence: The probability that this is at most one index off.
        note: What was out of the ordinary, in a sentence.
    """

    act: Act
    index: int
    seconds: float
    took: float
    position: float | None = None
    unit: str | None = None
    score: float | None = None
    posterior: Float[np.ndarray, " n_and_beyond"] | None = None
    answer: int | None = None
    confidence: float | None = None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Returns the step as finite numbers, strings and lists; what is not finite is None."""
        posterior = None if self.posterior is None else [round(float(one), 6) for one in self.posterior]
        found = {
            "act": self.act,
            "index": self.index,
            "seconds": round(self.seconds, 4),
            "took": round(self.took, 4),
            "position": self.position,
            "unit": self.unit,
            "score": self.score,
            "posterior": posterior,
            "answer": self.answer,
            "confidence": self.confidence,
            "note": self.note,
        }
        return to_plain(found)
