"""Is confidence true? Numbers about what was believed of answers, and what became of them.

What is counted is defined in `dioptre.miss`: an answer is **right** if it is sharp, within two steps of a
depth that covers a tenth of its region, and a **miss** if it is more than four steps from all of these.
Confidence is the believed probability of the first, risk the share of the second among answers that are as
sure. This module knows nothing of methods, files or pictures.
"""

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int

from dioptre.miss import MISS_STEPS, SHARP_STEPS

BINS: Final = 10

Numbers = Float[np.ndarray, " answer"]
Flags = Bool[np.ndarray, " answer"]


@dataclass(frozen=True, eq=False)
class Reliability:
    """The share of right answers by confidence; bins without an answer are left out.

    Attributes:
        believed: Mean confidence in each bin.
        found: Share of right answers there.
        count: How many answers there are.
    """

    believed: Float[np.ndarray, " bin"]
    found: Float[np.ndarray, " bin"]
    count: Float[np.ndarray, " bin"]

    @property
    def error(self) -> float:
        """The expected calibration error: the mean of |confidence - share of right answers|, over answers."""
        return float(np.abs(self.believed - self.found) @ self.count / self.count.sum())


def reliability(confidence: Numbers, right: Flags, bins: int = BINS) -> Reliability:
    """Returns the share of right answers in each of some equally wide bins of confidence."""
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    count, believed, found = (
        np.bincount(place, weights, bins) for weights in (None, confidence, right.astype(np.float64))
    )
    return _reliability(count.astype(np.float64), believed, found)


def _reliability(
    count: Float[np.ndarray, " bin"], believed: Float[np.ndarray, " bin"], right: Float[np.ndarray, " bin"]
) -> Reliability:
    """Returns the same from sums over the answers of each bin."""
    some = count > 0
    return Reliability(believed[some] / count[some], right[some] / count[some], count[some])


def auroc(score: Numbers, right: Flags) -> float:
    """Returns the area under the ROC curve of scores of right and wrong answers; NaN without both."""
    _, place = np.unique(score, return_inverse=True)
    return _auroc(np.bincount(place, right), np.bincount(place, ~right))


def _auroc(right: Float[np.ndarray, " score"], wrong: Float[np.ndarray, " score"]) -> float:
    """Returns the same from how many right and wrong answers have each score; a tie counts as half."""
    pairs = right.sum() * wrong.sum()
    if pairs == 0:
        return float("nan")
    below = np.cumsum(wrong) - wrong
    return float(right @ (below + wrong / 2) / pairs)


# Many answers, counted


FINE: Final = 1000  # bins in which the confidence and the risk of many answers are counted
Counts = Float[np.ndarray, f" {FINE}"]
RISKS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # that a user may accept, in a table


@dataclass(frozen=True, eq=False)
class ConfidenceCounts:
    """The answers of one method, counted by confidence and risk in fine bins, with those that were right.

    However many answers there are, it takes the same room.

    Attributes:
        count: Answers by confidence.
        believed: Their confidence, summed.
        right: Those that were right.
        risked: Answers by risk.
        missed: Misses by risk.
        focused: How many answers were called focused.
        false_confident: How many of those were misses.
    """

    count: Counts
    believed: Counts
    right: Counts
    risked: Counts
    missed: Counts
    focused: int
    false_confident: int

    @classmethod
    def of(cls, confidence: Numbers, risk: Numbers, away: Numbers, focused: Flags) -> "ConfidenceCounts":
        """Returns the counts of some answers by their confidence and risk.

        Args:
            confidence: Of each answer.
            risk: Likewise.
            away: How many steps it was from the nearest depth that counts; infinite without any.
            focused: Whether it was called focused.
        """
        right, missed = away <= SHARP_STEPS, away > MISS_STEPS
        sure, risky = _fine(confidence), _fine(risk)
        return cls(
            _counted(sure),
            _counted(sure, confidence),
            _counted(sure, right),
            _counted(risky),
            _counted(risky, missed),
            int(focused.sum()),
            int((focused & missed).sum()),
        )

    def __add__(self, other: "ConfidenceCounts") -> "ConfidenceCounts":
        mine, theirs = ([getattr(one, field.name) for field in fields(self)] for one in (self, other))
        return ConfidenceCounts(*(a + b for a, b in zip(mine, theirs, strict=True)))

    @property
    def answers(self) -> int:
        """How many answers there are."""
        return int(self.count.sum())

    def reliability(self, bins: int = BINS) -> Reliability:
        """Returns the share of right answers in each of some equally wide bins of confidence."""
        count, believed, right = (
            one.reshape(bins, -1).sum(axis=1) for one in (self.count, self.believed, self.right)
        )
        return _reliability(count, believed, right)

    def auroc(self) -> float:
        """Returns the area under the ROC curve of confidence; answers of one bin are equally sure."""
        return _auroc(self.right, self.count - self.right)

    def miss_auroc(self) -> float:
        """Returns how often a miss was riskier than another answer; those of a bin are as risky."""
        return _auroc(self.missed, self.risked - self.missed)

    def risk_coverage(self) -> tuple[Float[np.ndarray, " bin"], Float[np.ndarray, " bin"]]:
        """Returns the share of answers that are accepted as more risk is taken, and the misses among them."""
        some = self.risked > 0
        accepted, missed = np.cumsum(self.risked)[some], np.cumsum(self.missed)[some]
        return accepted / self.answers, missed / accepted

    def at_risk(self, risk: float) -> tuple[float, float]:
        """Returns the share of answers whose risk is at most this, and the share of misses among them."""
        upto = max(1, round(risk * FINE))
        accepted, missed = self.risked[:upto].sum(), self.missed[:upto].sum()
        return float(accepted / self.answers), float(missed / accepted) if accepted else 0.0

    def to_json(self) -> dict[str, object]:
        """Returns its numbers as plain JSON."""
        ranks = self.auroc()
        return {
            "count": self.answers,
            "focused": self.focused / self.answers,
            "false_confident": self.false_confident / self.answers,
            "calibration_error": self.reliability().error,
            "auroc": None if np.isnan(ranks) else ranks,
            "misses": float(self.missed.sum() / self.answers),
            "risks": [
                {"risk": risk, "focused": accepted, "missed": missed}
                for risk in RISKS
                for accepted, missed in (self.at_risk(risk),)
            ],
        }


def _fine(values: Numbers) -> Int[np.ndarray, " answer"]:
    """Returns the bin of each value: bin k holds what is above k / FINE and at most (k + 1) / FINE."""
    return np.clip(np.ceil(values * FINE - 1e-6).astype(np.int64) - 1, 0, FINE - 1)


def _counted(places: Int[np.ndarray, " answer"], weights: Numbers | Flags | None = None) -> Counts:
    weights = None if weights is None else weights.astype(np.float64)
    return np.bincount(places, weights, FINE).astype(np.float64)
