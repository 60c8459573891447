"""The golden record: what dioptre answered before it was rebuilt, and whether it still does.

    python -m lab.golden                          compare all of it, in two and a half minutes on two cores
    python -m lab.golden --parts scores,answers   some parts
    python -m lab.golden --stacks 10 --frames 1 --runs 2   what every machine can compare
    python -m lab.golden --accept verdict,lens    record parts anew that were changed on purpose
    python -m lab.golden --record                 record all of it anew

    stacks    checksums of what is asked about: another simulator is told from another method by them, and
              what is asked about other pixels is not compared
    scores    every method of METHODS on 10 drawn and 200 simulated stacks: whole ones, or one or two looks
    answers   `focus`, `focus_from` from three starts and from two looks: index and subindex
    frames    the same of whole frames, of their regions and depths, and `focus_map`
    verdict   of all these answers: state, confidence, risk, expected error, reasons; and the report's trust
    lens      22 runs of Autofocus on simulated and replayed cameras: how they end, and where the lens goes
    report    the numbers of `dioptre predict` and `dioptre report`

Exit code 0: all the same; 1: something differs. States and indices are equal, scores are so to a relative
1e-5, what comes from networks and all other numbers to 1e-4 (of numbers below 1, absolutely). A subindex may
move by .02, and is told then: docs/log.md lists such moves. What is recorded lies in lab/golden and was
recorded at d3edfbc, from a clone beside this one:

    PYTHONPATH=CLONE/src python -m dioptre warm --all
    PYTHONPATH=CLONE/src:. python -m lab.golden --record

**Compilers.** The process that compiles a kernel rounds otherwise than those that find it on disk (by 3e-7):
hence `warm`, and worst differences that are not 0 after kernels have changed.

**Machines.** Kernels that are compiled for another processor, and NumPy's own, round otherwise in the last
bit, so some simulated stacks (39 of 207 between two servers) differ by one in a few codes, and are passed
over. The first ten stacks, the first frame and the first two lenses are drawn in whole numbers
(`lab.drawn_stacks`) and the same everywhere: what they are answered is compared on every machine. `machine`
in stacks.json says what the record was made with; on another machine scores may be off by 1e-3, as two
calibrated disparities are.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

import dioptre
from lab.golden_cases import PARTS, Record, ask
from lab.golden_material import EVERYTHING, Scope

HOME: Final = Path(__file__).with_suffix("")
SCORES: Final = "scores"
MACHINE: Final = "machine"
LIBRARIES: Final = ("numpy", "scipy", "numba", "opencv-python-headless", "onnxruntime")
FORMULA, NUMBER = 1e-5, 1e-4  # how far scores of formulae may be off, relatively, and other numbers
ELSEWHERE_SCORE: Final = 1e-3  # how far all scores may be off on another machine than the record's
MAY_MOVE: Final = {"subindex": 0.02, "dioptres": 0.005}  # formulae that become one; dioptres of focus_map
NETWORKS: Final = ("l2a-", "dioptre-single-", "dioptre-any-", "learned-depth", "dioptre-learned-depth")
SHOWN: Final = 20  # differences
ELSEWHERE: Final = "Recorded on another machine, which may be why pixels differ:"


# Files


def read_record(part: str, home: Path) -> Record:
    """Returns a part as it was recorded; nothing if it was not."""
    path = _path(part, home)
    if not path.exists():
        return {}
    if part != SCORES:
        record: Record = json.loads(path.read_text(encoding="utf-8"))
        return record
    with np.load(path) as file:
        groups = {name: file[name] for name in file.files}
    return {
        f"{kind}-{at:03d} {key}": curve
        for name, curves in groups.items()
        for kind, key in (name.split(" "),)
        for at, curve in enumerate(curves)
    }


def write_record(part: str, record: Record, home: Path) -> None:
    """Writes a part: curves by kind of stack and method, all else a line for each name."""
    home.mkdir(exist_ok=True)
    if part == SCORES:
        groups: dict[str, list[Any]] = {}
        for name, curve in record.items():
            subject, key = name.split(" ")
            groups.setdefault(f"{subject.rpartition('-')[0]} {key}", []).append(curve)
        arrays: Record = {name: np.stack(one) for name, one in groups.items()}
        np.savez_compressed(_path(part, home), **arrays)
        return
    lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in record.items())
    _path(part, home).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _path(part: str, home: Path) -> Path:
    return home / f"{part}.{'npz' if part == SCORES else 'json'}"


def describe_machine() -> Record:
    """Returns what simulated pixels depend on beside the simulator, to the last code."""
    simd: Any = np.show_config(mode="dicts")
    return {
        **{name: version(name) for name in LIBRARIES},
        "simd": simd["SIMD Extensions"]["found"],
    }


# Comparing


@dataclass(frozen=True)
class Difference:
    """Something that is not as it was.

    Attributes:
        name: What was asked.
        words: How it differs.
    """

    name: str
    words: str


@dataclass
class Finding:
    """What comparing a part came to.

    Attributes:
        part: Which.
        compared: How many numbers and words were compared.
        worst: The largest difference of a number that was, relative to numbers above 1.
        differences: What differs by more than it may.
        moved: How far subindices moved that may.
        passed_over: What was not compared, as it is about other pixels.
    """

    part: str
    compared: int = 0
    worst: float = 0.0
    differences: list[Difference] = field(default_factory=list)
    moved: list[float] = field(default_factory=list)
    passed_over: int = 0


@dataclass(frozen=True)
class Pair:
    """A number, a word or a curve now, and as it was recorded.

    Attributes:
        place: Where in an answer.
        now: What it is.
        was: What it was.
        count: How many numbers that is.
        off: By how much they differ, at most; infinite if they cannot be compared.
    """

    place: str
    now: Any
    was: Any
    count: int
    off: float


def pairs(now: Any, was: Any, place: str = "") -> Iterator[Pair]:
    """Yields all numbers, words and curves of two answers."""
    if isinstance(now, Mapping) and isinstance(was, Mapping):
        for key in [*was, *(key for key in now if key not in was)]:
            yield from pairs(now.get(key), was.get(key), f"{place} {key}".strip())
    elif isinstance(now, list) and isinstance(was, list) and len(now) == len(was):
        for at, (one, other) in enumerate(zip(now, was, strict=True)):
            yield from pairs(one, other, f"{place}[{at}]")
    elif isinstance(now, np.ndarray) and isinstance(was, np.ndarray) and now.shape == was.shape:
        yield _worst_of(now, was)
    else:
        yield Pair(place, now, was, 1, _off(now, was))


def _off(now: Any, was: Any) -> float:
    if now == was:
        return 0.0
    if isinstance(now, float) and isinstance(was, int | float):
        return abs(now - was) / max(1.0, abs(was))
    return math.inf


def _worst_of(now: np.ndarray, was: np.ndarray) -> Pair:
    """Returns two curves where they differ most, relatively; their infinities must be the same."""
    same = (now == was) | (np.isnan(now) & np.isnan(was))
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.where(same, 0.0, np.abs(now - was) / np.abs(was))
    off = np.nan_to_num(off, nan=math.inf, posinf=math.inf)
    at = int(np.argmax(off))
    return Pair(f"slice {at}", float(now[at]), float(was[at]), now.size, float(off[at]))


def allowed(name: str, place: str, curve: bool, elsewhere: bool = False) -> float:
    """Returns by how much a number may be off."""
    if curve and elsewhere:
        return ELSEWHERE_SCORE
    if curve:
        return NUMBER if name.split(" ")[1].startswith(NETWORKS) else FORMULA
    return MAY_MOVE.get(place.rpartition(" ")[2].partition("[")[0], NUMBER)


def compare(
    part: str, now: Record, was: Record, others: frozenset[str] = frozenset(), elsewhere: bool = False
) -> Finding:
    """Returns how a part differs from what was recorded.

    Args:
        part: Which.
        now: What was answered; of all that was recorded, or of some subjects.
        was: What was recorded.
        others: Subjects whose pixels are not those of the record: they are not compared.
        elsewhere: Whether it was recorded on another machine.
    """
    finding = Finding(part)
    asked = {_subject(name) for name in now}
    for name in [name for name in was if _subject(name) in asked and name not in now]:
        finding.differences.append(Difference(name, "is gone"))
    for name, answer in now.items():
        if _subject(name) in others and part != "stacks":
            finding.passed_over += 1
        elif name not in was:
            finding.differences.append(Difference(name, "is not in the record"))
        else:
            _compare_answer(finding, name, answer, was[name], elsewhere)
    return finding


def _compare_answer(finding: Finding, name: str, now: Any, was: Any, elsewhere: bool) -> None:
    for pair in pairs(now, was):
        finding.compared += pair.count
        finding.worst = max(finding.worst, pair.off if math.isfinite(pair.off) else 0.0)
        limit = allowed(name, pair.place, isinstance(now, np.ndarray), elsewhere)
        if pair.off > limit:
            words = f"{pair.place} is {_shown(pair.now)}, was {_shown(pair.was)}".strip()
            finding.differences.append(Difference(name, words))
        elif pair.off > NUMBER:
            finding.moved.append(pair.off)


def _subject(name: str) -> str:
    return name.partition(" ")[0]


def _shown(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else json.dumps(value)


def compare_all(now: Mapping[str, Record], home: Path) -> list[Finding]:
    """Returns how all parts that were asked differ from what was recorded."""
    was = {part: read_record(part, home) for part in now}
    sums = was["stacks"]
    others = frozenset(name for name, one in now["stacks"].items() if sums.get(name) != one)
    elsewhere = sums.get(MACHINE, describe_machine()) != describe_machine()
    return [compare(part, record, was[part], others, elsewhere) for part, record in now.items()]


# The command


def main(argv: Sequence[str] | None = None, home: Path = HOME) -> int:
    """Compares, or records, and returns the exit code."""
    how = _arguments(argv)
    scope = Scope(how.stacks, how.frames, how.runs)
    accepted = PARTS if how.record else how.accept
    if accepted and scope != EVERYTHING:
        raise SystemExit("a part is recorded whole: leave out --stacks, --frames and --runs")
    parts = PARTS if "stacks" in accepted else accepted or how.parts  # all parts tell what they are about
    print(f"dioptre {dioptre.__version__} of {Path(dioptre.__file__).parent}")
    now = ask(parts, scope)
    findings = compare_all(now, home)
    for one in findings:
        _print_finding(one)
    differences = [(one.part, difference) for one in findings for difference in one.differences]
    _print_differences(differences, home)
    if not accepted:
        return 1 if differences else 0
    if "stacks" not in accepted and any(part == "stacks" for part, _ in differences):
        raise SystemExit("these are answers about other pixels than the record's: accept stacks, too")
    _accept(now, accepted, home)
    return 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m lab.golden", description=summary)
    parser.add_argument("--parts", type=_parts, default=PARTS, metavar="PART,...", help="only these")
    parser.add_argument("--stacks", type=int, default=EVERYTHING.stacks, help="only the first ones")
    parser.add_argument("--frames", type=int, default=EVERYTHING.frames, help="likewise")
    parser.add_argument("--runs", type=int, default=EVERYTHING.runs, help="likewise")
    parser.add_argument("--accept", type=_parts, default=(), metavar="PART,...", help="record these anew")
    parser.add_argument("--record", action="store_true", help="record all of it anew")
    return parser.parse_args(argv)


def _parts(text: str) -> tuple[str, ...]:
    parts = tuple(text.split(","))
    for part in parts:
        if part not in PARTS:
            raise argparse.ArgumentTypeError(f"a part is one of {', '.join(PARTS)}, not {part!r}")
    return parts


def _accept(now: Mapping[str, Record], parts: Sequence[str], home: Path) -> None:
    """Records parts anew."""
    for part in parts:
        machine = {MACHINE: describe_machine()} if part == "stacks" else {}
        write_record(part, {**machine, **now[part]}, home)
        size = _path(part, home).stat().st_size
        print(f"recorded {part}: {len(now[part])} answers, {size / 1e3:.0f} kB")
    print("A part that is recorded anew needs a line in CHANGELOG.md: what answers otherwise, and why.")


def _print_finding(one: Finding) -> None:
    line = f"{one.part:8} {one.compared:9,} compared, worst {one.worst:.2g}, {len(one.differences)} differ"
    if one.passed_over:
        line += f"; {one.passed_over} are about other pixels and were not compared"
    if one.moved:
        line += f"; {len(one.moved)} moved by {max(one.moved):.2g} at most: list them in docs/log.md"
    print(line)


def _print_differences(differences: Sequence[tuple[str, Difference]], home: Path) -> None:
    for part, one in differences[:SHOWN]:
        print(f"  {part}: {one.name}: {one.words}")
    if len(differences) > SHOWN:
        print(f"  and {len(differences) - SHOWN} more")
    before = read_record("stacks", home).get(MACHINE, describe_machine())
    if any(part == "stacks" for part, _ in differences) and before != describe_machine():
        print(f"{ELSEWHERE} {json.dumps(before)}")


if __name__ == "__main__":
    sys.exit(main())
