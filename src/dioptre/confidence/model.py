"""How likely an answer is a miss: boosted trees on the features of its pictures, read as odds.

The trees say how doubtful an answer is beside others. What that is worth, as the probability of a miss
(`dioptre.miss`) or of a sharp picture, was counted on sweeps that they were not fitted to: `python -m
lab.fit_confidence` writes the numbers. They are the same for every method, sweep and look; what is not known
of one is NaN.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Int

from dioptre.errors import InputError

RISK: Final = 0.01  # the share of misses that a user accepts who says nothing
AT_MOST: Final = 10.0  # times the risk: no single answer is likelier to be a miss

Rows = Float[np.ndarray, "answer feature"]
Nodes = Int[np.ndarray, " node"]


@dataclass(frozen=True)
class Odds:
    """What an answer is worth.

    Attributes:
        miss: The probability that it is a miss.
        risk: The share of misses among all answers that are as sure as it, or surer; a tenth of `miss` if
            that is more.
        confidence: The probability that the picture is sharp there: at most 2 steps from a depth.
    """

    miss: float
    risk: float
    confidence: float

    def at_least(self, other: "Odds") -> "Odds":
        """Returns the worse of two odds, each number for itself."""
        return Odds(
            max(self.miss, other.miss), max(self.risk, other.risk), min(self.confidence, other.confidence)
        )


@dataclass(frozen=True, eq=False)
class OutlierModel:
    """Boosted trees and what their sums are worth.

    Attributes:
        names: Of the features.
        typical: Of each feature, the median of clean sweeps.
        roots: The first node of each tree.
        feature: What each node asks for; -1 for a leaf.
        threshold: A feature up to this goes left, to the next node; of a leaf, what it adds to the sum.
        right: The node that others go to.
        unknown_left: Whether a feature that is NaN goes left.
        sums: Sums of trees, rising.
        miss: The probability of a miss at each.
        risk: The selective risk at each.
        confidence: The probability of a sharp picture at each.
    """

    names: tuple[str, ...]
    typical: Float[np.ndarray, " feature"]
    roots: Int[np.ndarray, " tree"]
    feature: Nodes
    threshold: Float[np.ndarray, " node"]
    right: Nodes
    unknown_left: Nodes
    sums: Float[np.ndarray, " knot"]
    miss: Float[np.ndarray, " knot"]
    risk: Float[np.ndarray, " knot"]
    confidence: Float[np.ndarray, " knot"]

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> "OutlierModel":
        """Returns the model that `lab.fit_confidence` wrote."""
        arrays = {name: np.array(one) for name, one in entries.items() if name not in ("header", "names")}
        return cls(names=tuple(entries["names"]), **arrays)

    def row(self, features: Mapping[str, float]) -> Float[np.ndarray, " feature"]:
        """Returns features in the model's order; NaN for those that are not known."""
        return np.array([features.get(name, np.nan) for name in self.names])

    def doubt(self, rows: Rows) -> Float[np.ndarray, " answer"]:
        """Returns the sum of all trees: the more, the likelier is a miss."""
        node = np.tile(self.roots, (len(rows), 1))
        answers = np.arange(len(rows))[:, None]
        while (asked := self.feature[node]).max() >= 0:
            value = rows[answers, asked]  # that of a leaf is not used
            left = np.where(np.isnan(value), self.unknown_left[node] > 0, value <= self.threshold[node])
            node = np.where(asked < 0, node, np.where(left, node + 1, self.right[node]))
        return self.threshold[node].sum(axis=1)

    def odds(self, features: Mapping[str, float]) -> Odds:
        """Returns what an answer with such features is worth."""
        (doubt,) = self.doubt(self.row(features)[None])
        miss, risk, confidence = (
            float(np.interp(doubt, self.sums, one)) for one in (self.miss, self.risk, self.confidence)
        )
        return Odds(miss, max(risk, miss / AT_MOST), confidence)

    def odds_of(self, miss: float) -> Odds:
        """Returns what an answer is worth that is a miss with some probability, as far as that tells."""
        return Odds(miss, max(float(np.interp(miss, self.miss, self.risk)), miss / AT_MOST), 1 - miss)

    def blame(self, features: Mapping[str, float]) -> dict[str, float]:
        """Returns how much less doubtful the answer were if each feature were as in clean sweeps."""
        row = self.row(features)
        others = np.tile(row, (len(row) + 1, 1))
        known = np.flatnonzero(np.isfinite(row))
        others[known, known] = self.typical[known]
        doubts = self.doubt(others)
        return {name: float(doubts[-1] - doubts[at]) for at, name in enumerate(self.names)}


@cache
def read_model() -> OutlierModel:
    """Returns the model that comes with the package."""
    text = files("dioptre.confidence").joinpath("model.json").read_text(encoding="utf-8")
    return OutlierModel.from_json(json.loads(text))


def check_risk(risk: Any) -> float:
    """Returns how often an answer that is called focused may be a miss."""
    if isinstance(risk, bool) or not isinstance(risk, (int, float)) or not 0 < risk <= 1:
        raise InputError(f"a risk is above 0 and at most 1, not {risk!r}")
    return float(risk)
