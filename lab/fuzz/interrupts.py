"""Long commands stopped by SIGINT or SIGKILL at random moments, resumed, and compared byte by byte.

    python -m lab.fuzz.interrupts [--trials N] [--seed S] [--commands simulate,train]

A stopped command leaves nothing that looks finished. SIGINT ends it with exit code 130 and one line, and no
process of it is left; whatever stopped it, the same command then goes on, and in the end there are the bytes
of a run that nobody stopped. `commands` has the commands, and how they start within milliseconds.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lab.fuzz.commands import EARLY, Job, make_jobs, start, wait, warm_up

STOPPED = 130
STOPS = 3  # before a command is let run to its end
LONGEST_S = 300.0  # that a command may take on a busy machine
GONE_S = 10.0  # after which no process of a stopped command may be there
SLOW = 4  # a slow command has a trial where others have so many
MOVING = ("events.out", "costs.json", "writing.lock")  # files that hold times, or who was killed last
MOVING_PARTS = "parts/*.json"  # likewise
STOPPED_LINE = "dioptre: stopped\n"


def contents(out: Path) -> dict[str, bytes]:
    """Returns the bytes of a file, or of all files of a folder, that do not differ from run to run."""
    if out.is_file():
        return {"": out.read_bytes()}
    return {
        str(file.relative_to(out)): file.read_bytes()
        for file in sorted(out.rglob("*"))
        if file.is_file() and not file.name.startswith(MOVING) and not file.match(MOVING_PARTS)
    }


def finished(out: Path) -> bool:
    """Returns whether what a command writes looks finished."""
    return out.is_file() or (out / "manifest.json").exists()


def processes_of(session: int) -> list[int]:
    """Returns the processes of a session that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            told = (entry / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(told[3]) == session and told[0] != "Z":
            found.append(int(entry.name))
    return found


@dataclass(frozen=True)
class Good:
    """A run that nobody stopped: what it wrote, and how long it took."""

    written: Mapping[str, bytes]
    seconds: float


@dataclass
class Tally:
    """What became of all trials: trials by command, stops by how they ended, and what was wrong."""

    trials: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def run(job: Job, out: Path) -> tuple[int, str]:
    """Runs a command to its end and returns its exit code and stderr."""
    said = out.with_name(f"{out.name}.said")
    process = start(job, out, said)
    code = wait(process, LONGEST_S)
    if code is None:
        os.killpg(process, signal.SIGKILL)
        return -signal.SIGKILL, f"no end after {LONGEST_S:g} s"
    return code, said.read_text(encoding="utf-8", errors="replace")


def stop(job: Job, out: Path, after_s: float, how: signal.Signals) -> tuple[int, str, list[int]]:
    """Starts a command, stops it after some time, and returns exit code, stderr, and processes that are left.

    SIGINT goes to all processes of the command, as Ctrl-C does; SIGKILL to the first one.
    """
    said = out.with_name(f"{out.name}.said")
    process = start(job, out, said)
    code = wait(process, after_s)
    if code is None:
        (os.killpg if how is signal.SIGINT else os.kill)(process, how)
        code = wait(process, LONGEST_S)
    end = time.monotonic() + GONE_S
    while (left := processes_of(process)) and time.monotonic() < end:
        time.sleep(0.02)
    if left:
        os.killpg(process, signal.SIGKILL)
    if code is None:
        code = wait(process, GONE_S) or -signal.SIGKILL
        return code, "it did not end", left
    return code, said.read_text(encoding="utf-8", errors="replace"), left


def trial(name: str, job: Job, out: Path, good: Good, rng: np.random.Generator, tally: Tally) -> None:
    """Stops a command a few times, lets it end, and takes down what was wrong."""
    moments = []
    for _ in range(STOPS):
        how = signal.SIGINT if rng.random() < 0.5 else signal.SIGKILL
        after = float(rng.uniform(0.0, good.seconds))
        code, said, left = stop(job, out, after, how)
        moments.append(f"{how.name} after {after:.3f} s")
        where = f"{name} ({', '.join(moments)})"
        ended = "ended" if code == 0 else "early" if code in (EARLY, -signal.SIGINT) else how.name
        tally.stops[ended] += 1
        if left:
            tally.faults.append(f"{where}: processes {left} are left")
        if how.name == ended == "SIGINT" and (code != STOPPED or not said.endswith(STOPPED_LINE)):
            tally.faults.append(f"{where}: SIGINT gave exit code {code}: {said[-300:]!r}")
        if "Traceback" in said and ended != "early":
            tally.faults.append(f"{where}: a traceback: {said[-300:]!r}")
        if finished(out) and contents(out) != good.written:
            tally.faults.append(f"{where}: looks finished and is not")
        if finished(out):
            break
    if not finished(out):
        code, said = run(job, out)
        if code:
            tally.faults.append(f"{where}: cannot be resumed: {code} {said[-300:]!r}")
    found = contents(out)
    odd = sorted(key for key in {*found, *good.written} if found.get(key) != good.written.get(key))
    if odd:
        tally.faults.append(f"{where}: other bytes in {odd[:3]}")
    tally.trials[name] += 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs trials and prints what was wrong; returns 1 if anything was."""
    parser = argparse.ArgumentParser(prog="python -m lab.fuzz.interrupts", description=__doc__)
    parser.add_argument("--trials", type=int, default=100, help="of each command; a quarter of slow ones")
    parser.add_argument("--seconds", type=float, default=1e9, help="after which no further trial begins")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", default="", help="some of them, separated by commas")
    given = parser.parse_args(arguments)
    rng, tally = np.random.default_rng(given.seed), Tally()
    wanted = [name for name in given.commands.split(",") if name]
    end = time.monotonic() + given.seconds
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  # holds a folder of ours
    with tempfile.TemporaryDirectory(dir=fast) as folder:
        root = Path(folder)
        jobs = make_jobs(root / "inputs")
        warm_up(jobs, root)
        chosen = {name: job for name, job in jobs.items() if not wanted or name in wanted}
        good: dict[str, Good] = {}
        for number in range(given.trials):
            for name, job in chosen.items():
                if time.monotonic() > end or (job.slow and number % SLOW != SLOW - 1):
                    continue
                if name not in good:
                    good[name] = _good(name, job, root)
                out = root / "trial" / f"out{job.ending}"
                out.parent.mkdir(exist_ok=True)
                trial(name, job, out, good[name], rng, tally)
                shutil.rmtree(out.parent)
    sys.stdout.write(
        json.dumps({"trials": tally.trials, "stops": tally.stops, "faults": len(tally.faults)}) + "\n"
    )
    for fault in tally.faults:
        sys.stdout.write(f"{fault}\n")
    return 1 if tally.faults else 0


def _good(name: str, job: Job, root: Path) -> Good:
    """Returns what a command writes that nobody stops, and how long it takes once all is warm.

    Its folder is called as those of trials are: reports and calibrations know their names.
    """
    out = root / f"good-{name}" / f"out{job.ending}"
    out.parent.mkdir()
    began = time.monotonic()
    code, said = run(job, out)
    if code:
        raise RuntimeError(f"{name} ended with exit code {code}: {said}")
    return Good(contents(out), time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
