"""Sweeps that end too soon: how often an answer at their end is right, and what is said of it.

    python -m lab.realism.sweep_ends [--stacks 120] [--windows 6]

Clean simulated sweeps of 49 slices are cut to windows that begin anywhere and have 9 slices or more, so that
the focus lies inside, at an end or beyond it. Of the answers with the reason `peak-at-edge` it is counted how
many are at most one slice off, how many are misses (farther off than a twelfth of the window), and how far
off they are; beside what was said.
"""

import argparse
from collections.abc import Iterator

import numpy as np

from dioptre.confidence.reasons import Reason
from dioptre.focusing.focus import focus
from dioptre.focusing.result import FocusResult
from dioptre.miss import reach_of
from dioptre.pipeline.settings import Simulation
from lab.simulated_sweeps import simulated_sweep

SHORTEST = 9  # slices
METHODS = ("dioptre-vote", "local-norm-dist-sq-4", "gradient-magnitude-variance", "wavelet-sum-2")
SEED = 4242


def answers(stacks: int, windows: int) -> Iterator[tuple[str, int, FocusResult]]:
    """Yields the method, where the window is sharp, and the answer to each window of each sweep."""
    rng = np.random.default_rng(SEED)
    simulation = Simulation(stacks, SEED, split="validation", featureless=0.0)
    for index in range(stacks):
        sweep = simulated_sweep(simulation, index, "sharp").sweep
        green = sweep.pixels.mean(axis=1)
        for _ in range(windows):
            length = int(rng.integers(SHORTEST, len(green) + 1))
            begin = int(rng.integers(0, len(green) - length + 1))
            for key in METHODS:
                yield key, round(sweep.sharp[0]) - begin, focus(green[begin : begin + length], key)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stacks", type=int, default=120)
    parser.add_argument("--windows", type=int, default=6)
    asked = parser.parse_args()
    rows: dict[tuple[str, bool], list[tuple[float, ...]]] = {}
    for key, truth, found in answers(asked.stacks, asked.windows):
        off, n = abs(found.index - truth), len(found.scores)
        edge = Reason.PEAK_AT_EDGE in found.reasons
        said = np.nan if found.expected_error is None else found.expected_error
        rows.setdefault((key, edge), []).append(
            (off <= 1, off > reach_of(n), off, found.confidence, found.risk, said)
        )
    print(f"{'':<30}{'':<8}{'n':>6}{'right':>8}{'said':>8}{'missed':>8}{'risk':>8}{'off by':>8}{'said':>8}")
    for (key, edge), some in sorted(rows.items()):
        right, missed, off, confidence, risk, expected = np.array(some, dtype=np.float64).T
        numbers = right.mean(), confidence.mean(), missed.mean(), risk.mean(), off.mean()
        told = np.nanmean(expected) if np.isfinite(expected).any() else np.nan
        shown = "".join(f"{one:>8.3f}" for one in (*numbers, told))
        print(f"{key:<30}{'at edge' if edge else 'other':<8}{len(some):>6}{shown}")


if __name__ == "__main__":
    main()
