"""What a lens that is focused makes of faults: how often it is called focused, and how often wrongly.

    python -m lab.lens_faults --runs 200                 a grid of 101 positions
    python -m lab.lens_faults --runs 20 --positions 5,49,1001,100000

Lenses are those of `lab.true_lenses`, with two views and with one in turn, normal and low light. An answer is
wrong if it is called focused and the lens is left more than 4 steps of blur from everything that is sharp.
"""

import argparse
from functools import partial

import numpy as np

from dioptre.autofocus.autofocus import Autofocus
from dioptre.confidence.reasons import State
from dioptre.miss import MISS_STEPS
from dioptre.pipeline.executors import local_executor, run_pieces
from lab.true_lenses import FAULTS, true_lens

SEED = 90_000

Outcome = tuple[str, bool, bool, bool, int]  # fault, focused, wrong, crashed, frames


def outcome(fault: str, seed: int, positions: int) -> Outcome:
    """Returns what became of one lens."""
    light, views = ("normal", "dark")[seed // 2 % 2], 1 + seed % 2
    lens = true_lens(seed, light, views, fault=fault, positions=positions)
    try:
        result = Autofocus(lens.camera, start=float(lens.start), on_failure="stay").run()
    except Exception as error:  # whatever it is, it is counted
        print(f"{fault} {seed} {positions}: {error!r}")
        return fault, False, False, True, len(lens.camera.visited)
    focused = result.state is State.FOCUSED
    wrong = focused and lens.steps_off(float(lens.camera.visited[-1])) > MISS_STEPS
    return fault, focused, wrong, False, len(lens.camera.visited)


def main() -> None:
    """Prints a table for each number of positions."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--positions", default="101")
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args()
    for positions in (int(one) for one in chosen.positions.split(",")):
        asked = [(fault, SEED + at) for fault in ("", *FAULTS) for at in range(chosen.runs)]
        pieces = [partial(outcome, fault, seed, positions) for fault, seed in asked]
        with local_executor(chosen.workers) as executor:
            found = list(run_pieces(pieces, executor))
        print(f"\n{positions} positions, {chosen.runs} runs each")
        print(f"{'':<14}{'focused':>9}{'wrong':>9}{'crashed':>9}{'frames':>9}")
        for fault in ("", *FAULTS):
            mine = np.array([one[1:] for one in found if one[0] == fault], dtype=float)
            focused, wrong, crashed, frames = mine.mean(axis=0)
            print(f"{fault or 'none':<14}{focused:9.1%}{wrong:9.2%}{crashed:9.1%}{frames:9.1f}")


if __name__ == "__main__":
    main()
