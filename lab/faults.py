"""What confidence is worth when things go wrong: simulated stacks, and what the world does to them.

    python -m lab.faults                                    every fault, every default method
    python -m lab.faults --stacks 50 --faults clean,jpeg --methods dioptre-any-dp@2
    python -m lab.faults --json > faults.json

A method is a key, with the number of looks after an @: 0 for the whole stack. Few looks begin at a position
drawn for each stack, and are taken as by a lens (`Autofocus`). An error is counted from the nearest depth
that covers a tenth of the picture (`dioptre.miss`), where the simulated lens with its own error has it sharp;
`--against sharp` counts from the median depth, `--against label` from the label.

    focused  share of answers that are called FOCUSED
    misses   share that are more than 4 indices off, or where there is nothing to focus on
    false    share that are FOCUSED and misses
    right    share that are sharp: at most 2 indices off
    ECE      expected calibration error of confidence, the probability that an answer is sharp
    AUROC    how often a right answer's confidence is higher than a wrong one's
    A.miss   how often a miss has a higher risk than another answer

Rows that so few looks cannot decide are named, and do not count among those that can be. The stacks are of
the test split; the model of doubt is fitted to others (`lab.fit_confidence`).
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import get_args

import numpy as np

from dioptre.autofocus.autofocus import Autofocus
from dioptre.cameras.replay import ReplayCamera
from dioptre.confidence.model import RISK
from dioptre.confidence.reasons import State
from dioptre.evaluate.calibration_metrics import auroc, reliability
from dioptre.focusing.arguments import DEFAULT_MEASURE
from dioptre.focusing.focus import DEFAULT_METHOD, focus
from dioptre.methods import find_method
from dioptre.methods.base import ANY, WHOLE
from dioptre.miss import MISS_STEPS, SHARP_STEPS
from dioptre.pipeline.executors import local_executor, run_pieces
from dioptre.pipeline.settings import Simulation, split_list
from dioptre.pipeline.simulate import PATCHES_PER_SCENE
from lab.fault_table import FAULTS, Fault
from lab.simulated_sweeps import Against, SimulatedSweep, simulated_sweep

METHODS = (
    f"{DEFAULT_METHOD}@0", f"{DEFAULT_MEASURE}@0", "normalized-envelope-l1@0",
    "l2a-stack-green@0", "l2a-stack-dp@0",
    "dioptre-any-green@3", "dioptre-any-dp@3", "dioptre-single-green@1", "dioptre-single-dp@1",
    "zncc-disparity@1",
)  # fmt: skip
CLEAN, BEYOND = "clean", "beyond"
ALL, DECIDABLE = "all", "all decidable"


@dataclass(frozen=True)
class Ask:
    """A method and how many looks it gets; 0 for the whole stack."""

    key: str
    looks: int

    @classmethod
    def parse(cls, text: str) -> "Ask":
        """Returns the method and the looks of `key@looks`; as many looks as it takes without."""
        key, _, looks = text.rpartition("@")
        if looks.isdecimal():
            return cls(key, int(looks))
        method = find_method(text)
        return cls(text, {WHOLE: 0, ANY: 3}.get(method.looks, method.looks))

    def __str__(self) -> str:
        return f"{self.key}@{self.looks}"


@dataclass(frozen=True)
class Outcome:
    """What became of one answer; `error` is None where no answer is right."""

    fault: str
    method: str
    error: float | None
    focused: bool
    confidence: float
    risk: float
    expected_error: float
    reasons: tuple[str, ...]
    decidable: bool

    @property
    def right(self) -> bool:
        """Whether something is sharp there."""
        return self.error is not None and abs(self.error) <= SHARP_STEPS

    @property
    def missed(self) -> bool:
        """Whether nothing is sharp anywhere near it."""
        return self.error is None or abs(self.error) > MISS_STEPS

    @property
    def false(self) -> bool:
        """Whether it is trusted, and should not be."""
        return self.focused and self.missed


def outcome(fault: Fault, one: SimulatedSweep, ask: Ask, start: int, risk: float) -> Outcome:
    """Returns what a method makes of a sweep to which a fault was done."""
    stack = one.stack(find_method(ask.key).views)
    if ask.looks == 0:
        result = focus(stack, ask.key, risk=risk)
    else:
        search = Autofocus(
            ReplayCamera(stack),
            method=ask.key,
            looks=ask.looks,
            fallback="none",
            start=start,
            risk=risk,
        )
        result = search.run()
    return Outcome(
        fault.name,
        str(ask),
        one.sweep.error(result.index),
        result.state is State.FOCUSED,
        result.confidence,
        result.risk,
        result.expected_error or 0.0,
        tuple(result.reasons),
        fault.is_decidable(ask.looks),
    )


@dataclass(frozen=True)
class Job:
    """What decides a run."""

    stacks: int
    faults: tuple[str, ...]
    asks: tuple[Ask, ...]
    seed: int
    risk: float
    against: Against

    def simulation(self, beyond: float) -> Simulation:
        """Returns the simulation of the stacks, on the ladder or beyond its ends."""
        return Simulation(self.stacks, self.seed, split="test", beyond=beyond, featureless=0.0)


def scene_outcomes(job: Job, scene: int) -> list[Outcome]:
    """Returns what becomes of the stacks of one scene under all faults and methods."""
    indices = range(scene * PATCHES_PER_SCENE, min((scene + 1) * PATCHES_PER_SCENE, job.stacks))
    on_ladder = [simulated_sweep(job.simulation(0.0), index, job.against) for index in indices]
    found = []
    for name in job.faults:
        fault = FAULTS[name]
        sweeps = on_ladder
        if fault.beyond:
            sweeps = [simulated_sweep(job.simulation(1.0), index, job.against) for index in indices]
        for at, one in enumerate(sweeps):
            rng = np.random.default_rng([job.seed, indices[at], list(FAULTS).index(name)])
            other = sweeps[(at + 1) % len(sweeps)].sweep
            bad = replace(one, sweep=fault.apply(one.sweep, other, rng))
            start = int(rng.integers(one.sweep.slices))
            asks = [ask for ask in job.asks if ask.looks > 0 or not fault.told]
            found += [outcome(fault, bad, ask, start, job.risk) for ask in asks]
    return found


def run(job: Job, workers: int, done: Callable[[int, int], None]) -> list[Outcome]:
    """Returns all outcomes."""
    scenes = -(-job.stacks // PATCHES_PER_SCENE)
    found: list[Outcome] = []
    with local_executor(workers) as executor:
        pieces = [partial(scene_outcomes, job, scene) for scene in range(scenes)]
        for number, some in enumerate(run_pieces(pieces, executor)):
            found += some
            done(number + 1, scenes)
    return found


@dataclass(frozen=True)
class FaultLine:
    """One row of the table: a method under a fault, or under several together."""

    method: str
    fault: str
    decidable: bool
    count: int
    focused: float
    misses: float
    false: float
    confidence: float
    right: float
    calibration_error: float
    auroc: float | None
    miss_auroc: float | None

    @classmethod
    def of(cls, method: str, fault: str, some: Sequence[Outcome]) -> "FaultLine":
        """Returns the row of some outcomes."""
        confidence = np.array([one.confidence for one in some])
        right = np.array([one.right for one in some])
        missed = np.array([one.missed for one in some])
        ranks, miss_ranks = auroc(confidence, right), auroc(np.array([one.risk for one in some]), missed)
        return cls(
            method,
            fault,
            all(one.decidable for one in some),
            len(some),
            float(np.mean([one.focused for one in some])),
            float(missed.mean()),
            float(np.mean([one.false for one in some])),
            float(confidence.mean()),
            float(right.mean()),
            reliability(confidence, right).error,
            None if np.isnan(ranks) else ranks,
            None if np.isnan(miss_ranks) else miss_ranks,
        )


def table(outcomes: Sequence[Outcome]) -> Iterator[FaultLine]:
    """Yields the rows of each method: fault by fault, then those that can be decided, then all together."""
    for method in dict.fromkeys(one.method for one in outcomes):
        mine = [one for one in outcomes if one.method == method]
        for fault in dict.fromkeys(one.fault for one in mine):
            yield FaultLine.of(method, fault, [one for one in mine if one.fault == fault])
        if any(one.decidable for one in mine):
            yield FaultLine.of(method, DECIDABLE, [one for one in mine if one.decidable])
        yield FaultLine.of(method, ALL, mine)


def print_table(lines: Sequence[FaultLine]) -> None:
    """Prints the rows, a table for each method."""
    for method in dict.fromkeys(line.method for line in lines):
        heads = ("stacks", "focused", "misses", "false", "conf", "right", "ECE", "AUROC", "A.miss")
        print(f"\n{method:<28}" + "".join(f"{head:>9}" for head in heads))
        for line in lines:
            if line.method == method:
                rates = (line.focused, line.misses, line.false)
                shares = (*rates, line.confidence, line.right, line.calibration_error)
                ranks = ["" if one is None else f"{one:.2f}" for one in (line.auroc, line.miss_auroc)]
                note = "" if line.decidable or line.fault == ALL else "  undecidable"
                print(
                    f"{line.fault:<28}{line.count:>9}" + "".join(f"{one:>9.3f}" for one in shares)
                    + "".join(f"{one:>9}" for one in ranks) + note
                )  # fmt: skip


def main() -> None:
    """Runs the bench and prints its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stacks", type=int, default=200)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--seed", type=int, default=4000)
    parser.add_argument("--risk", type=float, default=RISK)
    parser.add_argument("--against", choices=get_args(Against), default="any")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    unknown = [name for name in split_list(chosen.faults) if name not in FAULTS]
    if unknown:
        raise SystemExit(f"there is no fault {', '.join(unknown)}; there are {', '.join(FAULTS)}")
    asks = tuple(Ask.parse(text) for text in split_list(chosen.methods))
    job = Job(chosen.stacks, split_list(chosen.faults), asks, chosen.seed, chosen.risk, chosen.against)
    outcomes = run(job, chosen.workers, lambda at, of: print(f"scene {at} of {of}", file=sys.stderr))
    lines = list(table(outcomes))
    if chosen.json:
        rows, settings = [asdict(line) for line in lines], {**asdict(job), "simulated": True}
        print(json.dumps({"settings": settings, "rows": rows}))
    else:
        print_table(lines)


if __name__ == "__main__":
    main()
