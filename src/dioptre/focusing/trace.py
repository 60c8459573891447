"""Trace: what a run did with a lens, frame by frame, for whoever wants to know afterwards, or meanwhile.

And what all frames told together in the end (`JointOnLens`).
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float

from dioptre.focusing.plain import to_plain
from dioptre.optics import STEP_PX
from dioptre.posterior import JointPosterior


class Act(StrEnum):
    """Why a frame was taken."""

    LOOK = "look"  # because it tells most of where the focus is
    SWEEP = "sweep"  # because it is one of several evenly over the way, where looks were not enough
    VERIFY = "verify"  # because it is the answer, which was sure before
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
        spread: How far from there the focus may be: half of the way that holds the middle 80 % of the
            posterior, in `unit`.
        confidence: The probability that the picture would be sharp there.
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
    spread: float | None = None
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
            "spread": self.spread,
            "confidence": self.confidence,
            "note": self.note,
        }
        if full and self.posterior is not None:
            found["posterior"] = np.round(self.posterior, 6)
        return to_plain(found)


@dataclass(frozen=True, eq=False)
class JointOnLens:
    """How likely the focus is at each position of a lens, if a unit adds so much blur, for every growth.

    Attributes:
        positions: Where the focus may be, rising or falling; some lie beyond the limits.
        growths_px: Pixels of blur that a unit adds, rising, to whichever side later positions focus.
        per: The unit that adds them: that of the positions, a dioptre, or a step of blur.
        chances: (growth, position); they sum to 1.
        limits: The lowest and the highest position that the lens may go to.
    """

    positions: Float[np.ndarray, " place"]
    growths_px: Float[np.ndarray, " growth"]
    per: str
    chances: Float[np.ndarray, "growth place"]
    limits: tuple[float, float]

    @classmethod
    def of(
        cls,
        joint: JointPosterior,
        evens: Float[np.ndarray, " n"],
        positions: Float[np.ndarray, " n"],
        per: str,
    ) -> "JointOnLens":
        """Returns a posterior on a lens's own positions.

        Args:
            joint: The posterior, over places in a measure in which blur grows evenly.
            evens: The positions of the lens in that measure, rising.
            positions: The positions themselves.
            per: What the measure is counted in.
        """
        growths, at = np.unique(np.abs(joint.growths), return_inverse=True)
        chances = np.zeros((len(growths), len(joint.places)))
        np.add.at(chances, at, joint.chances)  # both sides together
        low, high = sorted(extended(np.array(joint.limits), evens, positions).tolist())
        places = extended(joint.places, evens, positions)
        return cls(places, growths * STEP_PX, per, chances, (low, high))

    @property
    def density(self) -> Float[np.ndarray, "growth place"]:
        """The probability of each growth and position, over the way that the position stands for."""
        widths = np.abs(np.gradient(self.positions)) if len(self.positions) > 1 else np.ones(1)
        return self.chances / widths


def extended(
    at: Float[np.ndarray, " k"], xs: Float[np.ndarray, " n"], ys: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " k"]:
    """Returns the line through points at some places, straight on beyond its ends; xs rise."""
    if len(xs) < 2:
        return ys[0] + (at - xs[0])
    slopes = np.diff(ys)[[0, -1]] / np.diff(xs)[[0, -1]]
    return (
        np.interp(at, xs, ys) + np.minimum(at - xs[0], 0) * slopes[0] + np.maximum(at - xs[-1], 0) * slopes[1]
    )
