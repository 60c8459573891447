"""Mutants of every kind of file, read one after the other in this process: see `lab.fuzz`."""

import argparse
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import FrameType

import numpy as np

from dioptre.cli.foreign import keep_out_foreign_lines
from dioptre.errors import DioptreError
from dioptre.resources import set_limit
from lab.fuzz.mutate import mutate
from lab.fuzz.seed import Seed

HANGS_S = 10.0  # one mutant takes milliseconds
LIMIT_GB = 0.25  # what files are allowed to ask for
MOST_MIB = 700  # that this process may grow by while it reads one mutant
MORE_OFTEN = 8  # there is a mutant of other kinds than of slow ones
ADDRESS_SPACE = 8 << 30  # beyond what is used at the beginning: a bomb shall not take the machine along


class HangError(BaseException):
    """A mutant took too long."""


@dataclass
class Tally:
    """What became of the mutants.

    Attributes:
        refused: Clean refusals, by kind of seed.
        accepted: Mutants that were read all the same.
        findings: What must not be, a line each; and how often.
    """

    refused: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    @property
    def mutants(self) -> int:
        """How many there were."""
        return self.refused.total() + self.accepted.total() + self.findings.total()

    def find(self, what: str, where: str) -> None:
        """Takes down a finding, and where it was first seen."""
        self.findings[what] += 1
        self.first.setdefault(what, where)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs mutants for some time and prints what became of them; returns 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m lab.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of processor time, for mutants alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one mutant, to see its traceback")
    parser.add_argument("--kind", default="", help="only seeds whose name holds this")
    given = parser.parse_args(arguments)
    set_limit(LIMIT_GB)
    from lab.fuzz.seeds import make_seeds  # noqa: PLC0415  # imports OpenCV, which learns the limit then

    tally = Tally()
    with tempfile.TemporaryDirectory(dir=_fast_folder()) as folder, keep_out_foreign_lines() as sink:
        seeds = [seed for seed in make_seeds(Path(folder)) if given.kind in seed.name]
        for seed in seeds:
            assert seed.contents  # kept: a lock is deleted by who holds it
            seed.read(seed.folder)  # what is not changed is read
        _limit_memory()
        began, worked = time.monotonic(), time.process_time()
        numbers = [given.only] if given.only is not None else _until(worked + given.seconds)
        with suppress(KeyboardInterrupt):  # what was found by then is told
            for number in numbers:
                run_mutant(seeds, given.seed, number, tally, verbose=given.only is not None)
        seconds = time.process_time() - worked, time.monotonic() - began
        foreign = 0 if sink is None else sink.seek(0, os.SEEK_END)
    _report(tally, seconds, foreign)
    return 1 if tally.findings else 0


def _fast_folder() -> str | None:
    """Returns a folder in memory, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  # holds a folder of ours


def _limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, resource.RLIM_INFINITY))


def _until(end: float) -> Iterator[int]:
    number = 0
    while time.process_time() < end:
        yield number
        number += 1


def run_mutant(seeds: Sequence[Seed], seed: int, number: int, tally: Tally, verbose: bool = False) -> None:
    """Reads one mutant, and puts the good file back."""
    rng = np.random.default_rng([seed, number])
    shares = np.array([1.0 if one.slow else MORE_OFTEN for one in seeds])
    chosen = seeds[int(rng.choice(len(seeds), p=shares / shares.sum()))]
    name = chosen.files[int(rng.integers(len(chosen.files)))]
    path = chosen.folder / name
    good = chosen.contents[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of those who make the mutant
        content, how = mutate(name, good, rng)
    where = f"--seed {seed} --only {number}: {chosen.name}/{name} by {how}"
    warnings.simplefilter("always")
    path.write_bytes(content)
    before, printed = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, StringIO()
    try:
        with _alarm(), redirect_stdout(printed), redirect_stderr(printed):
            chosen.read(chosen.folder)
        tally.accepted[chosen.name] += 1
    except (DioptreError, OSError) as error:
        tally.refused[chosen.name] += 1
        if verbose:
            sys.stderr.write(f"{where}\nrefused: {error}\n")
    except HangError:
        tally.find(f"hang of {chosen.name}", where)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        ours = [one for one in traceback.extract_tb(error.__traceback__) if "/dioptre/" in one.filename]
        at = ours[-1] if ours else last
        tally.find(f"{type(error).__name__} in {Path(at.filename).name}:{at.lineno} ({chosen.name})", where)
        if verbose:
            traceback.print_exc()
    finally:
        path.write_bytes(good)
    if printed.getvalue():
        tally.find(f"{chosen.name} prints {printed.getvalue().splitlines()[0][-100:]!r}", where)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if grown > MOST_MIB:
        tally.find(f"memory of {chosen.name}: {grown:.0f} MiB", where)


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, HANGS_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _report(tally: Tally, seconds: tuple[float, float], foreign: int) -> None:
    summary = {
        "mutants": tally.mutants,
        "kinds": len(tally.refused | tally.accepted),
        "processor seconds": round(seconds[0], 1),
        "seconds": round(seconds[1], 1),
        "refused": tally.refused.total(),
        "accepted": tally.accepted.total(),
        "findings": tally.findings.total(),
        "bytes that libraries printed, kept out": foreign,
    }
    sys.stdout.write(json.dumps(summary) + "\n")
    for what, count in tally.findings.most_common():
        sys.stdout.write(f"{count} x {what}; first {tally.first[what]}\n")


if __name__ == "__main__":
    sys.exit(main())
