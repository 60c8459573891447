"""Confidence: how likely an answer is right, by a small model that was fitted to simulated sweeps.

Whatever a method returns, what is believed is one **posterior** over the ladder: that of the method made
sharper or broader, mixed with an even one for the case that the method was misled.

    p = (1 - doubt) softmax(sharpness * logits) + doubt * even
    doubt = sigmoid(doubt weights . evidence),  sharpness = exp(sharpness weights . evidence)

The logits of a method that knows probabilities are its own. A curve's are a parabola around its peak, so that
the sharpness is one over the variance of its error. Each number of the evidence (`confidence.features`) is
counted in deviations from what is usual in clean sweeps. Doubt weighs it three times: within what is usual,
above it, and below it; sharpness only within. Confidence, expected error and the probability of a miss are
all read off this posterior; the answer itself stays the method's.

The **risk** of an answer is that of taking it and every answer that is as sure: the share of misses among
them (the selective risk of Geifman and El-Yaniv 2017), in sweeps with nothing wrong. Who accepts a risk of
0.01 is misled once in a hundred answers that are called focused, and no single one of them is more likely to
be a miss than AT_MOST times that.

The weights of each method are a row of a table (`lab/confidence_table.py` makes it) which names the identity
of the network that it was fitted to. A method without a row of its own has that of its kind.
"""

import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from dioptre.confidence.curve import Curve, peak_position
from dioptre.confidence.features import Evidence
from dioptre.errors import InputError
from dioptre.posterior import Posterior

TABLE: Final = Path(__file__).with_name("model.json")
NEAR: Final = (
    1 / 12
)  # of the ladder: so far from the answer an error is no miss; 4 of the paper's 49 positions
RISK: Final = 0.01  # how often an answer that is called focused may be a miss
AT_MOST: Final = 10.0  # times the accepted risk: how likely a single answer may be a miss
MISSES: Final = tuple(np.geomspace(1e-4, 1.0, 25).tolist())  # probabilities at which a row knows the risk
# Where the score still rises at the end of a stack: log odds of that end and of a miss, and those for each
# slice that the peak seems to lie beyond it (windows of validation sweeps, log.md; lab.realism.sweep_ends).
# The weights know sweeps that hold their subject much better.
RIGHT_AT_END: Final = (1.8, -1.05)
MISS_AT_END: Final = (-3.5, 0.93)
OFF_AT_END: Final = (1.0, 1.3)  # slices
# Of a ladder that begins at infinity, a lens's whole travel: most of what is taken is within its reach.
WITHIN_TRAVEL: Final = 1.2  # log odds
USUAL: Final = 2.0  # deviations: what is farther off is unusual
FARTHEST: Final = 6.0  # and is not weighed further than this
SHARPEST: Final = 9.0  # as a logarithm

ANY_METHOD: Final = "any"  # in the table: what holds for a method that has no row of its own
# Kinds of observations: scores; scores and pictures, of many slices or few; a posterior, of a stack or looks.
CURVE, SWEEP, SHORT, POSTERIOR, LOOKS = KINDS = ("curve", "sweep", "short", "posterior", "looks")
LONG: Final = 30  # slices; of fewer, neighbours differ more, and a sweep is called short


def reach_of(positions: int) -> int:
    """Returns how many indices from an answer still count as near it."""
    return max(1, round(NEAR * positions))


def check_risk(risk: Any) -> float:
    """Returns a risk, or says that it is none."""
    if not (isinstance(risk, (int, float)) and 0 < risk < 1):
        raise InputError(f"a risk is a probability between 0 and 1, not {risk!r}")
    return float(risk)


@dataclass(frozen=True, eq=False)
class Observation:
    """What is known of one answer before it is believed.

    Attributes:
        kind: One of KINDS.
        answer: The position.
        logits: (n + 2) of the method's belief, as in a posterior.
        evidence: What speaks for the answer and against it.
    """

    kind: str
    answer: int
    logits: Float[np.ndarray, " n_and_beyond"]
    evidence: Evidence

    @classmethod
    def of_curve(cls, kind: str, curve: Curve, evidence: Evidence) -> "Observation":
        """Returns the observation of a curve: a parabola around its peak."""
        away = np.arange(-1, len(curve) + 1) - peak_position(curve)
        return cls(kind, int(np.argmax(curve)), -0.5 * away**2, evidence)

    @classmethod
    def of_posterior(cls, kind: str, posterior: Posterior, evidence: Evidence) -> "Observation":
        """Returns the observation of the posterior of one scene."""
        return cls(kind, int(np.argmax(posterior.scores()[0])), posterior.logs[0], evidence)


@dataclass(frozen=True)
class Row:
    """The weights of one method.

    Attributes:
        identity: Of the method that they were fitted to.
        names: Of the evidence.
        centre: Its median in clean sweeps.
        scale: Its deviation there.
        doubt: A constant, and three weights for each: within what is usual, above and below.
        sharpness: A constant, and a weight for each: within what is usual.
        risks: The share of misses that was counted among answers to clean sweeps that are at most as likely
            to be a miss as each of MISSES; none if that is not known.
        most: Of each evidence, what all but one of two hundred clean sweeps have less of; none if not known.
    """

    identity: str
    names: tuple[str, ...]
    centre: tuple[float, ...]
    scale: tuple[float, ...]
    doubt: tuple[float, ...]
    sharpness: tuple[float, ...]
    risks: tuple[float, ...] = ()
    most: tuple[float, ...] = ()

    @classmethod
    def from_json(cls, entries: Mapping[str, object]) -> "Row":
        """Returns the row that `to_json` wrote."""
        return cls(**{name: tuple(one) if isinstance(one, list) else one for name, one in entries.items()})  # type: ignore[arg-type]

    def to_json(self) -> dict[str, object]:
        """Returns the row as plain JSON."""
        return {name: list(one) if isinstance(one, tuple) else one for name, one in asdict(self).items()}

    def standardised(self, evidence: Evidence) -> Float[np.ndarray, " weights"]:
        """Returns a 1, and the evidence as the weights take it; what is not known is as usual."""
        values = np.array(
            [evidence.get(name, centre) for name, centre in zip(self.names, self.centre, strict=True)]
        )
        away = np.clip((values - np.array(self.centre)) / np.array(self.scale), -FARTHEST, FARTHEST)
        within = np.clip(away, -USUAL, USUAL)
        above, below = np.maximum(away - USUAL, 0.0), np.maximum(-USUAL - away, 0.0)
        return np.concatenate([[1.0], within, above, below])

    def excess(self, name: str, evidence: Evidence) -> float:
        """Returns by how many deviations there is more of some evidence than in clean sweeps, 0 if less."""
        if name not in evidence or name not in self.names or not self.most:
            return 0.0
        at = self.names.index(name)
        return max((evidence[name] - self.most[at]) / self.scale[at], 0.0)

    def risk_of(self, miss: float) -> float:
        """Returns the risk of an answer that is a miss with some probability."""
        if not self.risks:
            return miss
        share = float(np.interp(math.log(max(miss, MISSES[0])), np.log(MISSES), self.risks))
        return max(share, miss / AT_MOST)


@dataclass(frozen=True)
class Belief:
    """What is believed of an answer.

    Attributes:
        confidence: The probability that it is at most one index off.
        miss: The probability that it is off by more than is near (`reach_of`).
        expected_error: How many indices off it is to be expected; None if nothing tells.
        risk: The share of misses among answers of its method that are as sure as it, or surer.
    """

    confidence: float
    miss: float
    expected_error: float | None
    risk: float

    def at_rising_end(self, beyond: float, whole: bool) -> "Belief":
        """Returns what is believed of the same answer if it is an end at which the score still rises.

        Args:
            beyond: By how many slices beyond it the peak seems to lie (`plateau.beyond_end`).
            whole: Whether the stack is of all positions of a lens, and not any window of them.
        """
        within = WITHIN_TRAVEL if whole else 0.0
        right = 1 / (1 + math.exp(-(RIGHT_AT_END[0] + RIGHT_AT_END[1] * beyond + within)))
        miss = 1 / (1 + math.exp(-(MISS_AT_END[0] + MISS_AT_END[1] * beyond - within)))
        off = OFF_AT_END[0] + OFF_AT_END[1] * max(beyond, 0.0)
        return Belief(min(self.confidence, right), max(self.miss, miss), off, max(self.risk, miss))


def believe(observation: Observation, row: Row) -> Belief:
    """Returns what is believed of an answer."""
    usual = row.standardised(observation.evidence)
    doubt = 1 / (1 + math.exp(-float(np.clip(usual @ np.array(row.doubt), -30, 30))))
    within = usual[: len(row.sharpness)]
    sharpness = math.exp(float(np.clip(within @ np.array(row.sharpness), -SHARPEST, SHARPEST)))
    belief = belief_of(observation.logits, observation.answer, doubt, sharpness)
    return replace(belief, risk=row.risk_of(belief.miss))


def belief_of(
    logits: Float[np.ndarray, " n_and_beyond"], answer: int, doubt: float, sharpness: float
) -> Belief:
    """Returns what is believed under a doubt and a sharpness, of one answer for itself."""
    raised = sharpness * (logits - logits.max())
    chances = np.exp(raised)
    chances = (1 - doubt) * chances / chances.sum() + doubt / len(chances)
    away = np.abs(np.arange(-1, len(chances) - 1) - answer)
    near = float(chances[1:-1][away[1:-1] <= reach_of(len(chances) - 2)].sum())
    beside = float(chances[1:-1][away[1:-1] <= 1].sum())
    miss = max(1 - near, 0.0)
    return Belief(min(beside, 1.0), miss, float(chances @ away), miss)


# The table


def find_row(key: str, kind: str, identity: str) -> Row:
    """Returns the row of a method; that of its kind if it has none.

    A row that was fitted to another file of the same name is not used, and a warning says so.

    Args:
        key: Of the method.
        kind: One of KINDS.
        identity: Of the method: the hash of its network; "" for a formula.
    """
    row = read_table().get(f"{key}/{kind}")
    if row is not None and row.identity == identity:
        return row
    if row is not None and key != ANY_METHOD:
        warnings.warn(
            f"the confidence of {key} was fitted to another file of that name; it is now that of any method",
            stacklevel=2,
        )
    return read_table()[f"{ANY_METHOD}/{kind}"]


@cache
def read_table(path: Path = TABLE) -> Mapping[str, Row]:
    """Returns all rows by method and kind."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    return {name: Row.from_json(one) for name, one in entries.items()}


def write_table(rows: Mapping[str, Row], path: Path = TABLE) -> None:
    """Writes all rows, a line each."""
    lines = [f"{json.dumps(name)}: {json.dumps(rows[name].to_json())}" for name in sorted(rows)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
