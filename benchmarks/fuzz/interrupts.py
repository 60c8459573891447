"""Long commands stopped by SIGINT or SIGKILL at random moments, resumed, and compared byte by byte.

    python -m benchmarks.fuzz.interrupts [--trials N] [--seed S]

A stopped command leaves nothing that looks finished. SIGINT ends it with exit code 130 and one line, and no
process of it is left; whatever stopped it, the same command then goes on, and in the end there are the bytes
of a run that nobody stopped.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

STOPPED = 130
RESUMES = 3  # stops before a command is let run to its end
MOVING = ("events.out",)  # names of files that differ from run to run: TensorBoard's hold times


def commands(root: Path, patches: int) -> dict[str, list[str]]:
    """Returns long commands, each without the folder that it writes; what they read lies below a root."""
    store = root / "store"
    methods = "local-norm-dist-sq-4,zncc-disparity,dioptre-single-dp"
    found = {
        "simulate": ["simulate", "OUT", "--patches", str(patches), "--seed", "7"],
        "predict": ["predict", str(store), "OUT", "--methods", methods, "--split", "all", "--starts", "5"],
        "register": ["register", str(store), "OUT"],
    }
    try:
        import torch  # noqa: F401, PLC0415
    except ImportError:
        return found
    small = ["--network", "move", "--width", "0.25", "--steps", "30", "--batch", "8", "--validate-every", "5"]
    return {**found, "train": ["train", str(store), "OUT", *small, "--validate-patches", "8"]}


def run(arguments: Sequence[str], check: bool = False) -> "subprocess.CompletedProcess[str]":
    """Runs a command to its end."""
    return subprocess.run(  # noqa: S603  # ours
        [sys.executable, "-m", "dioptre", *arguments], capture_output=True, text=True, check=check
    )


def stop(arguments: Sequence[str], after_s: float, how: signal.Signals) -> tuple[int, str]:
    """Starts a command, stops it after some time if it has not ended, and returns its exit code and stderr.

    SIGINT goes to all processes of the command, as Ctrl-C does; SIGKILL to the first one.
    """
    process = subprocess.Popen(  # noqa: S603  # ours
        [sys.executable, "-m", "dioptre", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, said = process.communicate(timeout=after_s)
    except subprocess.TimeoutExpired:
        if how is signal.SIGINT:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.kill()
        _, said = process.communicate(timeout=60)
    return process.returncode, said


def contents(folder: Path) -> dict[str, bytes]:
    """Returns the bytes of all files of a folder that do not differ from run to run."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.startswith(MOVING)
    }


def processes_of(folder: Path) -> list[int]:
    """Returns the processes that name a folder in their arguments."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@dataclass(frozen=True)
class Good:
    """A run that nobody stopped: what it wrote, and how long it took."""

    written: Mapping[str, bytes]
    seconds: float


def trial(name: str, arguments: Sequence[str], out: Path, good: Good, rng: np.random.Generator) -> list[str]:
    """Stops a command a few times, lets it end, and returns what was wrong."""
    faults = []
    filled = [str(out) if word == "OUT" else word for word in arguments]
    for _ in range(RESUMES):
        how = signal.SIGINT if rng.random() < 0.5 else signal.SIGKILL
        code, said = stop(filled, float(rng.uniform(0.05, good.seconds)), how)
        if code == 0:
            break
        early = code == -signal.SIGINT  # Python ends so before a line of ours has run
        if how is signal.SIGINT and not early and (code != STOPPED or "dioptre: stopped" not in said):
            faults.append(f"{name}: SIGINT gave exit code {code}: {said[-300:]!r}")
        if (out / "manifest.json").exists() and contents(out) != good.written:
            faults.append(f"{name}: a stopped command looks finished and is not")
        time.sleep(0.2)
    left = processes_of(out)
    if left:
        faults.append(f"{name}: processes {left} are left")
    if not (out / "manifest.json").exists():
        ended = run(filled)
        if ended.returncode:
            faults.append(f"{name}: cannot be resumed: {ended.stderr[-300:]!r}")
    if contents(out) != good.written:
        odd = {
            key for key in {*contents(out), *good.written} if contents(out).get(key) != good.written.get(key)
        }
        faults.append(f"{name}: other bytes in {sorted(odd)[:3]}")
    return faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs trials and prints what was wrong; returns 1 if anything was."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz.interrupts", description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--patches", type=int, default=160, help="of a simulated store; 64 are a shard")
    parser.add_argument("--commands", default="", help="some of them, separated by commas")
    given = parser.parse_args(arguments)
    rng = np.random.default_rng(given.seed)
    done: Counter[str] = Counter()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        wanted = [name for name in given.commands.split(",") if name]
        chosen = {
            name: one for name, one in commands(root, given.patches).items() if not wanted or name in wanted
        }
        if any(str(root / "store") in words for words in chosen.values()):
            run(["simulate", str(root / "store"), "--patches", "96", "--seed", "5"], check=True)
        good: dict[str, Good] = {}
        for name, words in chosen.items():
            out, began = root / f"good-{name}", time.monotonic()
            run([str(out) if word == "OUT" else word for word in words], check=True)
            good[name] = Good(contents(out), time.monotonic() - began)
        for number in range(given.trials):
            name = list(chosen)[number % len(chosen)]
            faults += trial(name, chosen[name], root / f"out-{number}", good[name], rng)
            done[name] += 1
    sys.stdout.write(json.dumps({"trials": dict(done), "faults": len(faults)}) + "\n")
    for fault in faults:
        sys.stdout.write(f"{fault}\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
