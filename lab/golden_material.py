"""What the golden record is about: stacks, whole frames, recordings and a report, made by commands.

Each command runs in a process of its own, one at a time, while what is there already is read. A stack is the
same however many of its kind are simulated.
"""

import os
import subprocess
import sys
import zlib
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Float32

import dioptre
from lab.drawn_stacks import draw_stack

Pixels = Float32[np.ndarray, "slice view row col"]
Words = Sequence[str | Path]

LOT: Final = 8  # stacks in memory at a time
READS_STACKS: Final = frozenset({"stacks", "scores", "answers", "verdict"})
READS_FRAMES: Final = frozenset({"frames", "verdict"})
READS_TABLES: Final = frozenset({"report", "verdict"})


@dataclass(frozen=True)
class Kind:
    """Some stacks that are simulated alike.

    Attributes:
        name: Begins the names of its stacks.
        count: How many there are.
        flags: Of `dioptre simulate`; "" of stacks that are drawn here.
        make: The camera; "" for the phone that the networks know.
    """

    name: str
    count: int
    flags: str
    make: str = ""


DRAWN: Final = Kind("drawn", 10, "")  # the same on every machine
NORMAL: Final = Kind("normal", 64, "--seed 2026 --split test")
MICROSCOPE: Final = Kind("microscope", 8, "--seed 2031 --split test --camera microscope-4x", "microscope-4x")
MACHINE: Final = Kind(
    "machine", 4, "--seed 2032 --split test --camera machine-vision-16mm", "machine-vision-16mm"
)
KINDS: Final = (
    DRAWN,
    NORMAL,
    Kind("phones", 48, "--seed 2027 --split test --device random --light both --prior far"),
    Kind("hard", 40, "--seed 2028 --split train"),  # beyond the ends, without detail, periodic
    Kind("processed", 16, "--seed 2029 --split test --device left --processed"),
    Kind("exact", 20, "--seed 2030 --split test --exact-lens"),
    MICROSCOPE,
    MACHINE,
)
REPORTED: Final = Kind("report", 8, "--seed 2033 --split test --device random --light both")
CAPTURES: Final = "--captures 2 --frame 384x512 --seed 2034 --split test"
CAPTURE_SIZE: Final = 384  # rows and columns of the middle of a capture
RECORDED: Final = ("simulated:2035", "simulated:2036,green,dark")  # devices whose sweeps are replayed


@dataclass(frozen=True)
class Scope:
    """How many stacks, frames and lenses are asked, the first ones of each; the report only with all.

    Attributes:
        stacks: Of all KINDS, in their order.
        frames: Whole frames; the first is made of nine drawn stacks.
        runs: Lenses; the first two are replays of drawn stacks.
    """

    stacks: int = sum(kind.count for kind in KINDS)
    frames: int = 6
    runs: int = 22

    def count(self, kind: Kind) -> int:
        """Returns how many stacks of a kind are asked."""
        before = sum(one.count for one in KINDS[: KINDS.index(kind)])
        return min(max(self.stacks - before, 0), kind.count)


EVERYTHING: Final = Scope()


def checksum(pixels: Pixels) -> int:
    """Returns what tells other pixels from the same."""
    return zlib.crc32(np.ascontiguousarray(pixels).tobytes())


def run_command(words: Words) -> None:
    """Runs `dioptre WORDS` in a process of its own, with this very dioptre.

    Raises:
        RuntimeError: If it fails, with what it said.
    """
    source = str(Path(dioptre.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": source, "DIOPTRE_THREADS": "1"}
    command = [sys.executable, "-m", "dioptre", *map(str, words)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} failed: {done.stdout}{done.stderr}")


@dataclass(frozen=True, eq=False)
class Material:
    """Folders that commands write while the first of them are read.

    Attributes:
        home: Where they are.
        pool: Who runs the commands.
        made: What becomes of those that write each.
    """

    home: Path
    pool: ThreadPoolExecutor
    made: dict[str, Future[None]] = field(default_factory=dict)

    @classmethod
    def begin(cls, home: Path, pool: ThreadPoolExecutor, parts: Collection[str], scope: Scope) -> "Material":
        """Returns the folders for some parts, begun in the order in which they are read."""
        material = cls(home, pool)
        for kind, count in _counts(parts, scope).items():
            if count and kind is not DRAWN:
                material.make(kind.name, material.simulation(kind, count))
        if "lens" in parts and scope.runs > 2:
            for at, device in enumerate(RECORDED):
                material.make(f"recorded-{at}", ["record", "--device", device, home / f"recorded-{at}"])
        if READS_FRAMES & set(parts) and scope.frames > 1:
            shot, store = home / "shot", home / "captures"
            material.make(
                "captures",
                ["simulate", shot, *CAPTURES.split(), "--workers", "1"],
                ["import", shot, store, "--confidence", "0", "--workers", "1"],
            )
        if READS_TABLES & set(parts) and scope == EVERYTHING:
            material.make(REPORTED.name, material.simulation(REPORTED, REPORTED.count))
            store, predictions = home / REPORTED.name, home / "predictions"
            material.make(
                "tables",
                ["predict", store, predictions, "--starts", "2", "--workers", "1"],
                ["report", predictions, home / "tables"],
            )
        return material

    def make(self, name: str, *commands: Words) -> None:
        """Begins a folder that commands write, one after the other."""

        def run() -> None:
            for words in commands:
                run_command(words)

        self.made[name] = self.pool.submit(run)

    def simulation(self, kind: Kind, count: int) -> Words:
        """Returns the command that simulates the first stacks of a kind."""
        flags = ["--patches", str(count), *kind.flags.split(), "--workers", "1"]
        return ["simulate", self.home / kind.name, *flags]

    def folder(self, name: str) -> Path:
        """Returns a folder, once it is written."""
        self.made[name].result()
        return self.home / name

    def stacks(self, kind: Kind, first: int, count: int) -> dioptre.FocalStack:
        """Returns some stacks of a kind."""
        if kind is DRAWN:
            pixels = np.stack([draw_stack(number) for number in range(first, first + count)])
            grid, middle = dioptre.FocusGrid.learnaf(), np.zeros((count, 2))
            return dioptre.FocalStack.full(pixels, grid, where=middle)
        return dioptre.open_patches(self.folder(kind.name)).stack(list(range(first, first + count)))

    def capture(self, number: int) -> dioptre.FocalStack:
        """Returns the middle of a whole capture, the first or the last one."""
        store = dioptre.open_patches(self.folder("captures"))
        corners = np.tile([[0, 64]], (len(store), 1))
        row = (0, len(store) - 1)[number]
        return store.with_windows(corners, CAPTURE_SIZE).stack([row])


def _counts(parts: Collection[str], scope: Scope) -> dict[Kind, int]:
    """Returns how many stacks of each kind some parts need."""
    counts = {kind: scope.count(kind) if READS_STACKS & set(parts) else 0 for kind in KINDS}
    if "lens" in parts and scope.runs > 2:
        counts[NORMAL] = max(counts[NORMAL], 6)
    if READS_FRAMES & set(parts) and scope.frames > 1:
        counts[NORMAL] = max(counts[NORMAL], 24)
        counts[MICROSCOPE] = max(counts[MICROSCOPE], 4)
    return counts


@dataclass(frozen=True, eq=False)
class Lot:
    """Some stacks that are read together.

    Attributes:
        kind: Of all of them.
        first: The number of the first one.
        stack: Their pixels.
    """

    kind: Kind
    first: int
    stack: dioptre.FocalStack

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [f"{self.kind.name}-{self.first + at:03d}" for at in range(self.stack.batch)]


def lots(material: Material, scope: Scope) -> Iterator[Lot]:
    """Yields all stacks that are asked, some at a time."""
    for kind in KINDS:
        count = scope.count(kind)
        for first in range(0, count, LOT):
            yield Lot(kind, first, material.stacks(kind, first, min(LOT, count - first)))
