"""Makes the table of confidence: `src/dioptre/loop/confidence.json`.

    python runs/confidence.py                                  all methods, and what holds for any
    python runs/confidence.py dioptre-any-dp l2a-stack-green   the rows of these alone, say after a training
    python runs/confidence.py --stacks 100 --out trial.json      a trial

Each simulated stack of the validation split is shown to the methods clean and with three faults in turn.
Rows of methods that are not asked stay as they are; what holds for any method is fitted to those that are
asked if they are all, or with --any.
"""

import argparse
import sys
from pathlib import Path

from dioptre.loop.confidence import TABLE, read_table, write_table
from dioptre.methods import METHODS, find_method
from dioptre.pipeline.believing import Trial, fit_table
from dioptre.pipeline.processes import local_executor


def main() -> None:
    """Fits and writes the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("methods", nargs="*", default=list(METHODS))
    parser.add_argument("--stacks", type=int, default=1600)
    parser.add_argument("--seed", type=int, default=700)
    parser.add_argument("--against", choices=("sharp", "label"), default="sharp")
    parser.add_argument("--any", action="store_true")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--out", type=Path, default=TABLE)
    chosen = parser.parse_args()
    keys = tuple(find_method(key).key for key in chosen.methods)
    pooled = chosen.any or set(keys) == set(METHODS)
    trial = Trial(chosen.stacks, chosen.seed, keys, pooled, chosen.against)
    with local_executor(chosen.workers) as executor:
        rows = fit_table(trial, executor, lambda at, of: print(f"scene {at} of {of}", file=sys.stderr))
    before = dict(read_table(chosen.out)) if chosen.out.exists() else {}
    write_table({**before, **rows}, chosen.out)
    print(f"wrote {len(rows)} rows to {chosen.out}")


if __name__ == "__main__":
    main()
