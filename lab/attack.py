"""What becomes of sweeps that are true, and of those that mislead: focused, focused wrongly, refused.

    python -m lab.attack                             sweeps, then forms of files (lab/attack_files.py)
    python -m lab.attack --parts files --sweeps 20
    python -m lab.attack --parts sweeps --stacks 200 --methods dioptre-vote,l2a-stack-green
    python -m lab.attack --parts sweeps --stacks 40 --kinds clean,negative/bracket,frozen/noise --json

Sweeps are those of `lab.true_sweeps` of a seed of its own, a kind after the other until there are so many;
"clean" are all that have nothing wrong and their focus inside. Each is put to `dioptre.focus` as a person
would put it, without positions unless the method is a network.

    focused  share of answers that are called focused
    wrong    share that are focused and more than 4 steps from every depth that covers a tenth
    right    share that are at most so far off, whatever they are called
    refused  share that are right and not focused
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

import dioptre
from dioptre.methods import find_method
from lab.attack_files import attack_files, told_of_files
from lab.true_sweeps import TrueSweep, true_sweeps

MISS = 4.0  # steps
CLEAN = "clean"
SEED = 9000
KINDS = (
    CLEAN, "painted/jpeg", "phone/whole", "phone/beyond", "moving", "replaced", "frozen/all", "frozen/run",
    "frozen/noise", "negative/bracket", "negative/lamp", "negative/stuck", "negative/",
)  # fmt: skip


def sweeps_of(kinds: list[str], stacks: int, seed: int) -> Iterator[tuple[str, TrueSweep]]:
    """Yields so many sweeps of each kind; of kinds that end in a slash, all that begin so are one."""
    left = Counter(dict.fromkeys(kinds, stacks))
    for scene in count():
        for sweep in true_sweeps(seed, scene):
            for kind in kinds:
                fits = sweep.clean if kind == CLEAN else sweep.kind.startswith(kind)
                if fits and left[kind] > 0:
                    left[kind] -= 1
                    yield kind, sweep
        if not +left:
            return


def outcome(sweep: TrueSweep, method: str) -> tuple[bool, bool]:
    """Returns whether a method's answer to a sweep is called focused, and whether it is a miss."""
    row = find_method(method)
    pixels = sweep.pixels if row.views == 2 else sweep.pixels.mean(axis=1)
    grid = "learnaf" if row.build().is_network else None
    result = dioptre.focus(pixels, method, grid=grid)
    return result.state == "focused", sweep.steps_off(result.subindex) > MISS


def takes(sweep: TrueSweep, method: str) -> bool:
    """Returns whether a method knows such sweeps."""
    row = find_method(method)
    return (row.views == 1 or sweep.pixels.shape[1] == 2) and (
        sweep.grid_is_learnaf or not row.build().is_network
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stacks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--methods", default="dioptre-vote")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--parts", default="sweeps,files", help="which of both")
    parser.add_argument("--sweeps", type=int, default=5, help="that are written in every form")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no form is begun")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    parts = chosen.parts.split(",")
    rows = sweep_rows(chosen) if "sweeps" in parts else []
    forms = attack_files(chosen.sweeps, chosen.seed, chosen.seconds) if "files" in parts else []
    if chosen.json:
        told = {"seed": chosen.seed, "simulated": True, "rows": rows, "files": forms}
        sys.stdout.write(json.dumps(told) + "\n")
        return
    if rows:
        print_rows(rows)
    if forms:
        print(told_of_files(forms))


def sweep_rows(chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Returns a row for each kind of sweep and each method."""
    found: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for kind, sweep in sweeps_of(chosen.kinds.split(","), chosen.stacks, chosen.seed):
        for method in chosen.methods.split(","):
            if takes(sweep, method):
                found[kind, method].append(outcome(sweep, method))
    rows: list[dict[str, Any]] = []
    for (kind, method), some in sorted(found.items()):
        focused, missed = np.array(some).T
        shares = {
            "focused": focused.mean(), "wrong": (focused & missed).mean(), "right": (~missed).mean(),
            "refused": (~focused & ~missed).mean(),
        }  # fmt: skip
        rows.append(
            {"kind": kind, "method": method, "stacks": len(some), **{k: float(v) for k, v in shares.items()}}
        )
    return rows


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Prints the table of sweeps."""
    print(f"{'kind':<24}{'method':<22}{'stacks':>7}{'focused':>9}{'wrong':>8}{'right':>8}{'refused':>9}")
    for row in rows:
        print(
            f"{row['kind']:<24}{row['method']:<22}{row['stacks']:>7}{row['focused']:>9.3f}{row['wrong']:>8.3f}"
            f"{row['right']:>8.3f}{row['refused']:>9.3f}"
        )


if __name__ == "__main__":
    main()
