"""Makes the table of confidence: `src/dioptre/confidence/model.json`.

    python -m lab.confidence_table                                  all methods, and what holds for any
    python -m lab.confidence_table dioptre-any-dp l2a-stack-green   the rows of these alone
    python -m lab.confidence_table --stacks 100 --out trial.json      a trial

Each simulated stack of the validation split is shown to the methods clean and with three faults in turn.
What each row is worth is printed, of each scene by weights that were fitted to other scenes: the share of
misses among clean stacks; FOCUSED and false among them at the default risk; the calibration error and the
AUROC of confidence, on clean stacks and on all. --samples keeps what was answered, to fit it once more.
Rows of methods that are not asked stay as they are; what holds for any method is fitted to those that are
asked if they are all, or with --any.
"""

import argparse
import pickle
import sys
from pathlib import Path

from dioptre.confidence.model import TABLE, read_table, write_table
from dioptre.methods import METHODS, find_method
from dioptre.pipeline.executors import local_executor
from lab.confidence_samples import Trial, gather
from lab.fit_confidence import FittedRow, fit_rows

HEADS = ("clean", "misses", "FOCUSED", "false", "ECE", "with faults", "AUROC", "with faults")


def line(name: str, fitted: FittedRow) -> str:
    """Returns what a row is worth, as a line of a table."""
    found = fitted.worth
    shares = (found.misses, found.focused, found.false, *found.calibration_error, *found.auroc)
    return f"{name:<40}{found.clean:>12}" + "".join(f"{one:>12.3f}" for one in shares)


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
    parser.add_argument("--samples", type=Path, help="a file of ours: written, or read if it is there")
    chosen = parser.parse_args()
    keys = tuple(find_method(key).key for key in chosen.methods)
    pooled = chosen.any or set(keys) == set(METHODS)
    trial = Trial(chosen.stacks, chosen.seed, keys, pooled, chosen.against)
    if chosen.samples and chosen.samples.exists():
        found = pickle.loads(chosen.samples.read_bytes())  # noqa: S301  # what this script wrote
    else:
        with local_executor(chosen.workers) as executor:
            found = gather(trial, executor, lambda at, of: print(f"scene {at} of {of}", file=sys.stderr))
        if chosen.samples:
            chosen.samples.write_bytes(pickle.dumps(found))
    fitted = fit_rows(found, pooled)
    print(f"{'':<40}" + "".join(f"{head:>12}" for head in HEADS))
    for name, one in sorted(fitted.items()):
        print(line(name, one))
    before = dict(read_table(chosen.out)) if chosen.out.exists() else {}
    write_table({**before, **{name: one.row for name, one in fitted.items()}}, chosen.out)
    print(f"wrote {len(fitted)} rows to {chosen.out}")


if __name__ == "__main__":
    main()
