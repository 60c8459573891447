"""Is confidence true? Numbers about what was believed of answers, and what became of them.

An answer is **right** if it is at most one index off, and a **miss** if it is more than four off; confidence
is the believed probability of the first, risk that of the second. This module knows nothing of methods, files
or pictures.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float
from scipy.stats import rankdata

RIGHT: Final = 1  # indices
MISS: Final = 4
BINS: Final = 10

Numbers = Float[np.ndarray, " answer"]
Flags = Bool[np.ndarray, " answer"]


@dataclass(frozen=True, eq=False)
class Reliability:
    """How often answers were right, by how sure they were; bins without an answer are left out.

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
        """The expected calibration error: how far both are apart, the mean over answers."""
        return float(np.abs(self.believed - self.found) @ self.count / self.count.sum())


def reliability(confidence: Numbers, right: Flags, bins: int = BINS) -> Reliability:
    """Returns how often answers were right in evenly wide bins of confidence."""
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    count, believed, found = (
        np.bincount(place, weights, bins) for weights in (None, confidence, right.astype(np.float64))
    )
    some = count > 0
    return Reliability(
        believed[some] / count[some], found[some] / count[some], count[some].astype(np.float64)
    )


def auroc(score: Numbers, right: Flags) -> float:
    """Returns how often a right answer scores higher than a wrong one; NaN if all are right, or none is."""
    positive = int(right.sum())
    negative = len(right) - positive
    if positive == 0 or negative == 0:
        return float("nan")
    ranks = rankdata(score)[right].sum()
    return float((ranks - positive * (positive + 1) / 2) / (positive * negative))


def risk_coverage(
    risk: Numbers, missed: Flags
) -> tuple[Float[np.ndarray, " answer"], Float[np.ndarray, " answer"]]:
    """Returns the share of answers that are accepted as more risk is taken, and the misses among them."""
    order = np.argsort(risk, kind="stable")
    accepted = np.arange(1, len(risk) + 1)
    return accepted / len(risk), np.cumsum(missed[order]) / accepted


@dataclass(frozen=True, eq=False)
class Trusted:
    """What was believed of the answers of one method, and what became of them.

    Attributes:
        method: Its key.
        steps: How many looks it had; 0 for the whole stack.
        confidence: Of each answer.
        risk: Likewise.
        errors: How many indices it was off where the picture was sharp, or the label where that is not known.
        focused: Whether it was called focused.
    """

    method: str
    steps: int
    confidence: Numbers
    risk: Numbers
    errors: Numbers
    focused: Flags

    @property
    def right(self) -> Flags:
        """Which answers are right."""
        return np.abs(self.errors) <= RIGHT

    @property
    def missed(self) -> Flags:
        """Which are misses."""
        return np.abs(self.errors) > MISS

    def to_json(self) -> dict[str, object]:
        """Returns its numbers as plain JSON."""
        ranks = auroc(self.confidence, self.right)
        return {
            "method": self.method,
            "steps": self.steps,
            "count": len(self.errors),
            "focused": float(self.focused.mean()),
            "false_confident": float((self.focused & self.missed).mean()),
            "calibration_error": reliability(self.confidence, self.right).error,
            "auroc": None if np.isnan(ranks) else ranks,
        }


def trusted(predictions: pa.Table) -> list[Trusted]:
    """Returns the judged answers of each method and number of looks in a table of predictions."""
    judged = predictions.filter(pc.is_valid(predictions["confidence"]))
    kinds = judged.select(["method", "steps"]).group_by(["method", "steps"]).aggregate([]).to_pylist()
    found = []
    for kind in sorted(kinds, key=lambda one: (one["method"], one["steps"])):
        mine = judged.filter(
            pc.and_(pc.equal(judged["method"], kind["method"]), pc.equal(judged["steps"], kind["steps"]))
        )
        right = pc.coalesce(mine["sharp"], mine["truth"]).to_numpy().astype(np.float64)
        found.append(
            Trusted(
                kind["method"],
                kind["steps"],
                mine["confidence"].to_numpy().astype(np.float64),
                mine["risk"].to_numpy().astype(np.float64),
                mine["predicted"].to_numpy() - right,
                np.asarray(mine["state"].to_numpy(zero_copy_only=False) == "focused"),
            )
        )
    return found
