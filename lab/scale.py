"""What the paper's evaluation takes: every method on its test set, extrapolated from a few patches.

    python -m lab.scale [patches]

The test set has 56,800 patches. A method with the whole stack answers once for each; one with a look from
each of 49 starts, 2.8 million times. What is measured is processor time, all threads together, verdicts
included; hours are that time over the cores, for patches are independent of each other. Reading is from a
warm cache.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from dioptre.evaluate.predict import Costs, predict
from dioptre.methods import METHODS
from dioptre.methods.base import WHOLE
from dioptre.posterior import DepthPrior
from dioptre.resources import workers
from lab.speed.store import build
from lab.speed.timing import write_line

TEST_PATCHES: Final = 56_800
STARTS: Final = 49
WORKERS: Final = (16, 64, 256)  # cores elsewhere


def measure(patches: int) -> dict[str, float]:
    """Returns the seconds of processor time that each method takes for a patch, from every start."""
    with tempfile.TemporaryDirectory() as folder:
        store = build(Path(folder) / "store", patches, np.random.default_rng(0))
        prior, costs = DepthPrior.even(), Costs()
        predict(store, np.array([0]), list(METHODS), np.array([0]), prior)  # compiles, and loads networks
        predict(store, np.arange(patches), list(METHODS), np.arange(STARTS), prior, costs)
    return {key: seconds / patches for key, seconds in costs.seconds.items()}


def together(seconds: Mapping[str, float]) -> dict[str, tuple[int, float]]:
    """Returns rows of a table: methods that share their work as one, with how many they are; others alone."""
    rows: dict[str, tuple[int, float]] = {}
    for key, each in seconds.items():
        method = METHODS.get(key)
        name = key if method is not None else "reading, and what verdicts look at"
        if method is not None and method.looks == WHOLE and method.build().identity == "":
            name = f"{'dual-pixel' if method.views == 2 else 'contrast'} measures together"
        count, total = rows.get(name, (0, 0.0))
        rows[name] = count + 1, total + each
    return rows


def hours(seconds: float, cores: int) -> float:
    """Returns how long the test set takes, of what a patch takes."""
    return seconds * TEST_PATCHES / 3600 / cores


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    here = workers()
    found = measure(int(arguments[0]) if arguments else 4)
    cores = (1, here, *WORKERS)
    heads = "".join(f"{f'{count} cores' if count > 1 else '1 core':>11}" for count in cores)
    write_line(f"{'hours for 56,800 patches':<44}{'s / patch':>10}{heads}")
    rows = together(found)
    for name, (count, seconds) in sorted(rows.items(), key=lambda row: -row[1][1]):
        title = name if count == 1 else f"{count} {name}"
        write_line(_row(title, seconds, cores))
    write_line(_row("all", sum(found.values()), cores))
    write_line(f"({here} cores are this machine's; more are extrapolated)")


def _row(title: str, seconds: float, cores: Sequence[int]) -> str:
    return f"{title:<44}{seconds:>10.3f}" + "".join(f"{hours(seconds, count):>11.2f}" for count in cores)


if __name__ == "__main__":
    main(sys.argv[1:])
