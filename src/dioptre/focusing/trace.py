"""Trace: what a run did with a lens, frame by frame, for whoever wants to know afterwards, or meanwhile."""

from dataclasses import dataclass, replace
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
        index: Where the lens was sent, as the nearest index of its grid.
        position: Where exactly, in `unit`.
        unit: What positions are counted in.
        seconds: When the frame was there, from the start of the run.
        took: How long moving, waiting and exposing took, in seconds.
        score: What the contrast measure says of the frame; higher is sharper. None if nobody asked.
        posterior: How likely each position of the grid is after it, between what lies beyond its first and
            beyond its last; None if the method does not tell.
        answer: Where the lens would go by what is known after it, in `unit`.
        confidence: The probability that this is at most one index off.
        note: What was out of the ordinary, in a sentence.
    """

    act: Act
    index: int
    position: float
    unit: str
    seconds: float
    took: float
    score: float | None = None
    posterior: Float[np.ndarray, " n_and_beyond"] | None = None
    answer: float | None = None
    confidence: float | None = None
    note: str = ""

    def turned(self, n: int) -> "Step":
        """Returns the same step, of n positions in the other order."""
        posterior = None if self.posterior is None else self.posterior[::-1]
        return replace(self, index=n - 1 - self.index, posterior=posterior)

    def to_json(self, full: bool = False) -> dict[str, Any]:
        """Returns the step as finite numbers, strings and lists; what is not finite is None.

        Args:
            full: With the posterior, which is as long as the grid.
        """
        found: dict[str, Any] = {
            "act": self.act,
            "index": self.index,
            "position": self.position,
            "unit": self.unit,
            "seconds": round(self.seconds, 4),
            "took": round(self.took, 4),
            "score": self.score,
            "answer": self.answer,
            "confidence": self.confidence,
            "note": self.note,
        }
        if full and self.posterior is not None:
            found["posterior"] = np.round(self.posterior, 6)
        return to_plain(found)
