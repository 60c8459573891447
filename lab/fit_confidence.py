"""The table of confidence, fitted to samples (`lab.confidence_samples`): what evidence is worth.

A row is fitted for each method, and for each kind of observation one that holds for any method. What a row is
worth is told by **held-out** beliefs: of each sample by weights that were fitted to other scenes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import minimize

from dioptre.confidence.features import DIRECTIONS
from dioptre.confidence.model import ANY_METHOD, MISSES, RISK, SHARPEST, Belief, Row, believe
from dioptre.evaluate.calibration_metrics import auroc, reliability
from dioptre.methods import find_method
from dioptre.robust import median_deviation
from lab.confidence_samples import Sample

RIDGE: Final = 10.0
USUALLY: Final = 0.995  # of clean sweeps have no more of some evidence: more is a sign of something
MOSTLY: Final = 0.5  # how much clean sweeps count
FOLDS: Final = 4  # parts of the scenes; what is believed of one is fitted to the others
POOLED: Final = 4  # methods whose samples any method's row is fitted to, as many as they have together

Usual = Float[np.ndarray, "sample weights"]  # a 1, and the evidence as the weights take it


@dataclass(frozen=True)
class Worth:
    """What a row is worth, by held-out beliefs.

    Attributes:
        clean: How many samples are of sweeps with nothing wrong.
        misses: The share of misses among these.
        focused: The share of these that are accepted at the default risk.
        false: The share of these that are accepted and are misses.
        calibration_error: Of confidence, on clean samples and on all.
        auroc: Of confidence, on clean samples and on all.
    """

    clean: int
    misses: float
    focused: float
    false: float
    calibration_error: tuple[float, float]
    auroc: tuple[float, float]


@dataclass(frozen=True)
class FittedRow:
    """A row, and what it is worth."""

    row: Row
    worth: Worth


def fit_rows(found: Mapping[str, Sequence[Sample]], pooled: bool) -> dict[str, FittedRow]:
    """Returns the rows of the methods that samples are of.

    Args:
        found: Samples by the names of their rows.
        pooled: Whether to fit what holds for any method, to all of these together.
    """
    rows = {name: fit_row(some, _identity(name.rpartition("/")[0])) for name, some in found.items()}
    if pooled:
        rows |= {f"{ANY_METHOD}/{kind}": fit_row(some, "") for kind, some in _pooled(found).items()}
    return rows


def _identity(key: str) -> str:
    return find_method(key).build().identity


def _pooled(found: Mapping[str, Sequence[Sample]]) -> dict[str, list[Sample]]:
    """Returns the samples of all methods by kind, of each method as many as keep the whole small."""
    pools: dict[str, list[Sample]] = {}
    for name in sorted(found):
        kind = name.rpartition("/")[2]
        methods = sum(other.endswith(f"/{kind}") for other in found)
        pools.setdefault(kind, []).extend(found[name][:: max(1, methods // POOLED)])
    return pools


def fit_row(samples: Sequence[Sample], identity: str, ridge: float = RIDGE) -> FittedRow:
    """Returns the weights under which what was right is likeliest; sweeps count as they are expected.

    Args:
        samples: Of one method, of ladders of any length.
        identity: Of the method.
        ridge: Penalty on squared weights, beside the log-likelihood of all samples.
    """
    names = tuple(
        name
        for name in samples[0].observation.evidence
        if all(name in one.observation.evidence for one in samples)
    )
    values = np.array([[one.observation.evidence[name] for name in names] for one in samples if one.clean])
    centre = np.median(values, axis=0)
    spread = median_deviation(values, axis=0)
    scale = np.maximum(np.maximum(spread, values.std(axis=0) / 2), 1e-3)
    most = _rounded(np.quantile(values, USUALLY, axis=0))
    blank = Row(identity, names, _rounded(centre), _rounded(scale), (), (), (), most)
    usual = np.stack([blank.standardised(one.observation.evidence) for one in samples])
    beliefs = _held_out(blank, samples, usual, ridge)
    row = replace(_weighed(blank, samples, usual, ridge), risks=_risks(samples, beliefs))
    return FittedRow(row, _worth(row, samples, beliefs))


def _weighed(blank: Row, samples: Sequence[Sample], usual: Usual, ridge: float) -> Row:
    doubt, sharpness = _weights(samples, usual, blank.names, ridge)
    return replace(blank, doubt=_rounded(doubt), sharpness=_rounded(sharpness))


def _held_out(blank: Row, samples: Sequence[Sample], usual: Usual, ridge: float) -> list[Belief]:
    """Returns what is believed of each sample by weights that were fitted to other scenes."""
    folds = np.array([one.scene % FOLDS for one in samples])
    rows = {}
    for fold in np.unique(folds).tolist():
        rest = np.flatnonzero(folds != fold) if np.ptp(folds) else np.arange(len(samples))
        rows[fold] = _weighed(blank, [samples[int(at)] for at in rest], usual[rest], ridge)
    return [believe(one.observation, rows[one.scene % FOLDS]) for one in samples]


def _risks(samples: Sequence[Sample], beliefs: Sequence[Belief]) -> tuple[float, ...]:
    """Returns the share of misses among the surest answers to clean sweeps, as it was counted.

    Half a miss is added to those that were counted (Jeffreys's prior), since few answers without one prove
    little. Answers are as risky as all that are as sure can be made, by taking also less sure ones.
    """
    both = zip(samples, beliefs, strict=True)
    counted = sorted((belief.miss, one.missed) for one, belief in both if one.clean)
    said, missed = (np.array(one) for one in zip(*counted, strict=True))
    shares = (np.cumsum(missed) + 0.5) / (np.arange(len(missed)) + 2)
    shares = np.minimum.accumulate(shares[::-1])[::-1]
    counts = np.searchsorted(said, MISSES, side="right")
    return _rounded(shares[np.clip(counts, 1, len(shares)) - 1])


def _worth(row: Row, samples: Sequence[Sample], beliefs: Sequence[Belief]) -> Worth:
    """Returns what held-out beliefs are worth, at the risks of the row."""
    confidence = np.array([one.confidence for one in beliefs])
    right, clean = (np.array([getattr(one, name) for one in samples]) for name in ("right", "clean"))
    missed = np.array([one.missed for one in samples])[clean]
    focused = np.array([row.risk_of(one.miss) <= RISK for one in beliefs])[clean]
    parts: tuple[Bool[np.ndarray, " sample"], ...] = (clean, np.ones(len(samples), bool))
    on_clean, on_all = (
        (reliability(confidence[part], right[part]).error, auroc(confidence[part], right[part]))
        for part in parts
    )
    return Worth(
        int(clean.sum()),
        float(missed.mean()),
        float(focused.mean()),
        float((focused & missed).mean()),
        (on_clean[0], on_all[0]),
        (on_clean[1], on_all[1]),
    )


def _rounded(numbers: Float[np.ndarray, " _"]) -> tuple[float, ...]:
    return tuple(np.round(numbers, 5).tolist())


def _weights_of(samples: Sequence[Sample]) -> Float[np.ndarray, " sample"]:
    """Returns how much samples count: as much as such sweeps are expected."""
    clean = np.array([one.clean for one in samples])
    return np.where(clean, MOSTLY / max(clean.sum(), 1), (1 - MOSTLY) / max((~clean).sum(), 1))


def _weights(
    samples: Sequence[Sample], usual: Float[np.ndarray, "sample weights"], names: Sequence[str], ridge: float
) -> tuple[Float[np.ndarray, " doubt"], Float[np.ndarray, " sharpness"]]:
    """Returns the weights of doubt and of sharpness that make the truth of samples likeliest."""
    likelihood = _Likelihood(samples, usual, ridge / len(samples))
    start = np.zeros(usual.shape[1] + 1 + len(names))
    start[0] = -2.0
    found = minimize(
        likelihood, start, jac=True, method="L-BFGS-B", bounds=_bounds(names), options={"maxiter": 400}
    ).x
    return found[: usual.shape[1]], found[usual.shape[1] :]


def _bounds(names: Sequence[str]) -> list[tuple[float | None, float | None]]:
    """Returns between what the weights may lie: more of what is worse never makes less doubtful."""
    ways = [DIRECTIONS.get(name, 0) for name in names]
    rising: dict[int, tuple[float | None, float | None]] = {0: (None, None), 1: (0.0, None), -1: (None, 0.0)}
    doubts = [rising[way] for way in ways] * 2 + [rising[-way] for way in ways]
    return [(None, None), *doubts, *[(None, None)] * (1 + len(names))]


class _Likelihood:
    """Minus the mean log-likelihood of samples, and its gradient; ladders are padded to one length."""

    def __init__(
        self, samples: Sequence[Sample], usual: Float[np.ndarray, "sample weights"], ridge: float
    ) -> None:
        longest = max(len(one.observation.logits) for one in samples)
        self.logits = np.full((len(samples), longest), -np.inf)
        self.place = np.zeros(len(samples), np.int64)
        self.known = np.array([one.truth is not None for one in samples])
        for at, one in enumerate(samples):
            logits = one.observation.logits
            self.logits[at, : len(logits)] = np.maximum(logits - logits.max(), -1e4)
            if one.truth is not None:
                self.place[at] = np.clip(one.truth + 1, 0, len(logits) - 1)
        self.even = np.array([1 / len(one.observation.logits) for one in samples])
        self.weights = _weights_of(samples)
        self.usual, self.ridge = usual, ridge

    def __call__(self, weights: Float[np.ndarray, " both"]) -> tuple[float, Float[np.ndarray, " both"]]:
        doubts, sharpnesses = np.split(weights, [self.usual.shape[1]])
        within = self.usual[:, : len(sharpnesses)]
        doubt = 1 / (1 + np.exp(-np.clip(self.usual @ doubts, -30, 30)))
        sharpness = np.exp(np.clip(within @ sharpnesses, -SHARPEST, SHARPEST))
        chances = np.exp(sharpness[:, None] * self.logits)
        chances /= chances.sum(axis=1, keepdims=True)
        finite = np.where(np.isfinite(self.logits), self.logits, 0.0)
        rows = np.arange(len(doubt))
        right = np.where(self.known, chances[rows, self.place], 0.0)
        total = (1 - doubt) * right + doubt * self.even
        misled = doubt * self.even / total
        pull = sharpness * (finite[rows, self.place] - np.sum(chances * finite, axis=1))
        slope_doubt = self.usual.T @ (self.weights * (doubt - misled))
        slope_sharp = -(within.T @ (self.weights * (1 - misled) * pull))
        penalty = self.ridge * weights
        penalty[[0, len(doubts)]] = 0.0
        loss = -float(self.weights @ np.log(total)) + float(penalty @ weights) / 2
        return loss, np.concatenate([slope_doubt, slope_sharp]) + penalty
