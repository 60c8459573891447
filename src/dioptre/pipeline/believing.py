"""The table of confidence: what methods answer to simulated sweeps, clean and faulty, and what that is worth.

Sweeps are drawn from the validation split, each clean and with some faults done to it in turn. Every method
is asked, its observations (`loop.confidence`) are kept with what was right, and a row is fitted for each
method, and for each kind of observation one that holds for any method.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from dioptre.loop.confidence import ANY_METHOD, MISSES, SHARPEST, Observation, Row, believe, reach_of
from dioptre.loop.evidence import DIRECTIONS
from dioptre.loop.inputs import tiles_of
from dioptre.loop.search import askers_of, policy_of, search, see_stack
from dioptre.loop.traces import Traces
from dioptre.loop.verdict import Asked, observe_curve, observe_posterior
from dioptre.methods import METHODS, find_method, scores
from dioptre.methods.base import ANY, WHOLE, Method
from dioptre.methods.frame import MEASURES
from dioptre.optics import FocusGrid
from dioptre.pipeline.processes import run_pieces
from dioptre.pipeline.settings import Simulation
from dioptre.pipeline.simulate import PATCHES_PER_SCENE
from dioptre.pipeline.sweeps import Against, SimulatedSweep, simulated_sweep
from dioptre.posterior import DepthPrior
from dioptre.simulate.faults import FAULTS, Fault
from dioptre.simulate.mishaps import Sweep
from dioptre.stack import FocalStack

RIDGE: Final = 10.0
USUALLY: Final = 0.995  # of clean sweeps have no more of some evidence: more is a sign of something
MOSTLY: Final = 0.5  # how much clean sweeps count
EACH: Final = 3  # faults that are done to each sweep
STRIDES: Final = (2, 3, 5, 8, 16)  # between the slices of shorter sweeps, which measures see too
MOST_LOOKS: Final = 3
EVEN: Final = DepthPrior.even()
CLEAN: Final = "clean"
FOLDS: Final = 4  # parts of the scenes; what is believed of one is fitted to the others
POOLED: Final = 4  # methods whose samples any method's row is fitted to, as many as they have together


@dataclass(frozen=True)
class Trial:
    """What decides a table.

    Attributes:
        stacks: How many sweeps are simulated.
        seed: Of everything; not that of a bench.
        keys: Methods.
        pooled: Whether to fit what holds for any method, to all of these together.
        against: What an error is counted from.
    """

    stacks: int
    seed: int
    keys: tuple[str, ...] = tuple(METHODS)
    pooled: bool = True
    against: Against = "sharp"

    def simulation(self, beyond: float = 0.0) -> Simulation:
        """Returns the simulation of the sweeps, on the ladder or beyond its ends."""
        return Simulation(self.stacks, self.seed, split="validation", beyond=beyond, featureless=0.04)


@dataclass(frozen=True, eq=False)
class Sample:
    """An observation, and what was right.

    Attributes:
        observation: What was seen.
        truth: The right position nearest to the answer; outside of the ladder if it lies beyond its end, None
            if there was nothing to focus on.
        clean: Whether nothing was wrong with the sweep.
        scene: Which scene it is of.
    """

    observation: Observation
    truth: int | None
    clean: bool = True
    scene: int = 0

    @property
    def missed(self) -> bool:
        """Whether the answer is farther off than is near."""
        seen = self.observation
        return self.truth is None or abs(seen.answer - self.truth) > reach_of(len(seen.logits) - 2)


Samples = dict[str, list[Sample]]  # by the names of their rows

# Asking


def scene_samples(trial: Trial, scene: int) -> Samples:
    """Returns what the methods answer to the sweeps of one scene."""
    found: Samples = {}
    indices = range(scene * PATCHES_PER_SCENE, min((scene + 1) * PATCHES_PER_SCENE, trial.stacks))
    drawn = [simulated_sweep(trial.simulation(), index, trial.against) for index in indices]
    faults = [fault for fault in FAULTS.values() if fault.name != CLEAN]
    for at, index in enumerate(indices):
        rng = np.random.default_rng([trial.seed, index])
        turn = [faults[(EACH * index + more) % len(faults)] for more in range(EACH)]
        for fault in (FAULTS[CLEAN], *turn):
            one, other = drawn[at], drawn[(at + 1) % len(drawn)]
            if fault.beyond:
                one = simulated_sweep(trial.simulation(1.0), index, trial.against)
            bad = replace(one, sweep=fault.apply(one.sweep, other.sweep, rng))
            clean = fault.name == CLEAN and bool(bad.sweep.sharp)
            for key, observation, right in _answers(trial, fault, bad, rng):
                sample = Sample(observation, right.nearest(observation.answer), clean, scene)
                found.setdefault(f"{key}/{observation.kind}", []).append(sample)
    return found


Answer = tuple[str, Observation, Sweep]  # key of the method, what is known of its answer, what it saw


def _answers(trial: Trial, fault: Fault, one: SimulatedSweep, rng: np.random.Generator) -> Iterator[Answer]:
    """Yields what all methods answer to one sweep."""
    methods = [find_method(key) for key in trial.keys]
    start = int(rng.integers(one.sweep.slices))
    others = [method for method in methods if method.key not in MEASURES]
    traces = {views: Traces.of(one.seen(views)) for views in {method.views for method in others}}
    if not fault.told:
        measures = [method for method in methods if method.key in MEASURES]
        stride = int(rng.choice(STRIDES))
        yield from _measured(measures, one.sweep, fault.of_scene)
        fewer = one.sweep.every(stride, int(rng.integers(stride)))
        yield from _measured(measures, fewer, fault.of_scene)
    for method in others:
        if method.looks in (WHOLE, ANY) and not fault.told:
            posterior = method.build().posterior(one.stack(method.views))
            assert posterior is not None
            asked = Asked(traces=traces[method.views])
            yield method.key, observe_posterior(posterior, asked), one.sweep
        if method.looks != WHOLE:
            for looks, observation in _looked(method, one, traces[method.views], start):
                if fault.is_decidable(looks):
                    yield method.key, observation, one.sweep


def _measured(methods: Sequence[Method], sweep: Sweep, alone: bool) -> Iterator[Answer]:
    """Yields what measures answer to a sweep, with its pictures, and also alone: without them."""
    for views in {method.views for method in methods}:
        keys = [method.key for method in methods if method.views == views]
        pixels = sweep.pixels if views == 2 else sweep.pixels.mean(axis=1, keepdims=True)
        tiles = tiles_of(pixels)
        assert tiles is not None
        curves = scores(FocalStack.full(pixels[None], FocusGrid.unknown(len(pixels))), keys)
        parts = scores(FocalStack.full(tiles, FocusGrid.unknown(len(pixels))), keys)
        asked = Asked(traces=Traces.of(pixels))
        for key in keys:
            curve = curves[key][0]
            heights = curve[np.isfinite(curve)]
            if len(heights) > 2 and np.ptp(heights) > 1e-6 * np.abs(heights).max():
                yield key, observe_curve(curve, parts[key], asked), sweep
                if alone:
                    yield key, observe_curve(curve, parts[key]), sweep


def _looked(
    method: Method, one: SimulatedSweep, traces: Traces, start: int
) -> Iterator[tuple[int, Observation]]:
    """Yields how many looks a method had, and what is known of its answer then."""
    most = MOST_LOOKS if method.leads_itself else method.looks
    stack = one.stack(method.views)
    trail = search(
        np.array([start]), see_stack(stack, 0), askers_of(method, most, EVEN), policy_of(method, most)
    )
    for looks in range(1, most + 1) if method.leads_itself else (most,):
        seen = trail.positions[0, :looks]
        asked = Asked(traces=traces.at(seen), positions=seen)
        yield looks, observe_posterior(trail.posteriors[looks - 1], asked)


# Fitting


def fit_table(trial: Trial, executor: Executor | None, done: Callable[[int, int], None]) -> dict[str, Row]:
    """Returns the rows of the methods of a trial.

    Args:
        trial: What decides them.
        executor: Who asks the methods; None for this process.
        done: Called with the number of scenes done and of all.
    """
    scenes = -(-trial.stacks // PATCHES_PER_SCENE)
    found: Samples = {}
    pieces = [partial(scene_samples, trial, scene) for scene in range(scenes)]
    for number, some in enumerate(run_pieces(pieces, executor)):
        for name, samples in some.items():
            found.setdefault(name, []).extend(samples)
        done(number + 1, scenes)
    rows = {name: fit_row(some, _identity(name.rpartition("/")[0])) for name, some in found.items()}
    if trial.pooled:
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


def fit_row(samples: Sequence[Sample], identity: str, ridge: float = RIDGE) -> Row:
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
    spread = 1.4826 * np.median(np.abs(values - centre), axis=0)
    scale = np.maximum(np.maximum(spread, values.std(axis=0) / 2), 1e-3)
    most = _rounded(np.quantile(values, USUALLY, axis=0))
    blank = Row(identity, names, _rounded(centre), _rounded(scale), (), (), (), most)
    usual = np.stack([blank.standardised(one.observation.evidence) for one in samples])
    row = _weighed(blank, samples, usual, ridge)
    return replace(row, risks=_risks(blank, samples, usual, ridge))


def _weighed(
    blank: Row, samples: Sequence[Sample], usual: Float[np.ndarray, "sample weights"], ridge: float
) -> Row:
    doubt, sharpness = _weights(samples, usual, blank.names, ridge)
    return replace(blank, doubt=_rounded(doubt), sharpness=_rounded(sharpness))


def _risks(
    blank: Row, samples: Sequence[Sample], usual: Float[np.ndarray, "sample weights"], ridge: float
) -> tuple[float, ...]:
    """Returns the share of misses among the surest answers to clean sweeps, as it was counted.

    How sure an answer is, is said by weights that were fitted to other scenes. Half a miss is added to those
    that were counted (Jeffreys's prior), since few answers without one prove little. Answers are as risky as
    all that are as sure can be made, by taking also less sure ones.
    """
    folds = np.array([one.scene % FOLDS for one in samples])
    counted: list[tuple[float, bool]] = []
    for fold in np.unique(folds):
        rest = np.flatnonzero(folds != fold) if np.ptp(folds) else np.arange(len(samples))
        row = _weighed(blank, [samples[int(at)] for at in rest], usual[rest], ridge)
        held = [samples[int(at)] for at in np.flatnonzero(folds == fold)]
        counted += [(believe(one.observation, row).miss, one.missed) for one in held if one.clean]
    said, missed = (np.array(one) for one in zip(*sorted(counted), strict=True))
    shares = (np.cumsum(missed) + 0.5) / (np.arange(len(missed)) + 2)
    shares = np.minimum.accumulate(shares[::-1])[::-1]
    counts = np.searchsorted(said, MISSES, side="right")
    return _rounded(shares[np.clip(counts, 1, len(shares)) - 1])


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
