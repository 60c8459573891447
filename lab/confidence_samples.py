"""Samples of confidence: what methods answer to simulated sweeps, clean and faulty, and what was right.

Sweeps are drawn from the validation split, each clean and with some faults done to it in turn. Every method
is asked, and its observations (`confidence.model`) are kept with what was right; `lab.fit_confidence` fits
the table of confidence to them.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from dioptre.autofocus.search import askers_of, policy_of, search, see_stack
from dioptre.confidence.model import Observation, reach_of
from dioptre.confidence.sweep_statistics import Traces
from dioptre.confidence.verdict import Asked, observe_curve, observe_posterior
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS, find_method, scores, tile_curves
from dioptre.methods.base import ANY, WHOLE, Method
from dioptre.methods.tiles import tiles_of
from dioptre.pipeline.executors import run_pieces
from dioptre.pipeline.settings import Simulation
from dioptre.pipeline.simulate import PATCHES_PER_SCENE
from dioptre.posterior import DepthPrior
from dioptre.stack import FocalStack
from lab.degradations import Sweep
from lab.fault_table import FAULTS, Fault
from lab.simulated_sweeps import Against, SimulatedSweep, simulated_sweep

EACH: Final = 3  # faults that are done to each sweep
STRIDES: Final = (2, 3, 5, 8, 16)  # between the slices of shorter sweeps, which measures see too
MOST_LOOKS: Final = 3
EVEN: Final = DepthPrior.even()
CLEAN: Final = "clean"


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
    def right(self) -> bool:
        """Whether the answer is at most one position off."""
        return self.truth is not None and abs(self.observation.answer - self.truth) <= 1

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
                truth = right.nearest(observation.answer)
                sample = Sample(observation, None if truth is None else round(truth), clean, scene)
                found.setdefault(f"{key}/{observation.kind}", []).append(sample)
    return found


Answer = tuple[str, Observation, Sweep]  # key of the method, what is known of its answer, what it saw


def _answers(trial: Trial, fault: Fault, one: SimulatedSweep, rng: np.random.Generator) -> Iterator[Answer]:
    """Yields what all methods answer to one sweep."""
    methods = [find_method(key) for key in trial.keys]
    start = int(rng.integers(one.sweep.slices))
    others = [method for method in methods if not method.build().by_slice]
    traces = {views: Traces.of(one.seen(views)) for views in {method.views for method in others}}
    if not fault.told:
        measures = [method for method in methods if method.build().by_slice]
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
        curves = scores(FocalStack.full(pixels[None], FocusGrid(range(len(pixels)))), keys)
        parts = tile_curves(FocalStack.full(tiles, FocusGrid(range(len(pixels)))), keys)
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


def gather(trial: Trial, executor: Executor | None, done: Callable[[int, int], None]) -> Samples:
    """Returns what the methods of a trial answer to all sweeps.

    Args:
        trial: What is asked.
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
    return found
