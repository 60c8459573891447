"""What the golden record asks dioptre: scores, answers, whole frames, lenses, a report.

Every name begins with its subject: a stack (`normal-003`), a frame (`frame-1`), a lens (`run-07`), `report`.
No answer depends on a clock, or on who asked before.

Of dioptre this knows the public names, addresses of cameras, and what `answer_of`, `parts_of`, `ask_map` and
`numbers_of` say of its results.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

import dioptre
from dioptre.cameras.devices import open_device
from lab.golden_material import (
    DRAWN,
    EVERYTHING,
    MACHINE,
    MICROSCOPE,
    NORMAL,
    READS_FRAMES,
    READS_STACKS,
    REPORTED,
    Lot,
    Material,
    Pixels,
    Scope,
    checksum,
    lots,
)

Record = dict[str, Any]  # by name: what was answered
Results = Iterator[tuple[str, dioptre.FocusResult]]  # likewise
Asks = Mapping[str, Mapping[str, Any]]  # by name: the arguments of `focus`

PARTS: Final = ("stacks", "scores", "answers", "frames", "verdict", "lens", "report")
VERDICT: Final = frozenset({"state", "confidence", "risk", "expected_error", "reasons", "focused"})
STARTS: Final = (10, 24, 40)  # where one look is taken
APART: Final = 9  # positions from the first of two looks to the second
DIGITS: Final = 6  # of a number that is kept, after the point

# Methods that are asked by `focus` and `focus_from`, each of the next stack; `scores` asks them all of all.
WHOLE: Final = (
    "local-norm-dist-sq-4", "normalized-sad", "l2a-stack-green", "dioptre-any-green",
    "gradient-magnitude-variance", "census-transform", "l2a-stack-dp", "dioptre-any-dp", "wavelet-sum-2",
    "dioptre-contrast", "histogram-entropy", "normalized-cross-correlation",
)  # fmt: skip
FORMULAE: Final = tuple(key for key in WHOLE if not key.startswith(("l2a-", "dioptre-any-")))
LOOK: Final = (
    "l2a-single-dp", "l2a-single-green", "zncc-disparity", "ssd-disparity", "learned-depth",
    "dioptre-zncc-disparity", "dioptre-ssd-disparity", "dioptre-learned-depth",
)  # fmt: skip
LOOKS: Final = ("dioptre-any-dp", "dioptre-any-green", "l2a-two-step-dp", "l2a-two-step-green")


# The only places that know what a result says


def answer_of(result: dioptre.FocusResult) -> Record:
    """Returns what a result says, as plain JSON."""
    return plain(
        {
            "index": result.index,
            "subindex": result.subindex,
            "own": None if result.unit == "slice" else result.position,
            "state": result.state.value,
            "confidence": result.confidence,
            "risk": result.risk,
            "expected_error": result.verdict.expected_error,
            "reasons": [one.value for one in result.reasons],
        }
    )


def parts_of(result: dioptre.FocusResult) -> Record:
    """Returns what a result says of the depths of a frame, and its answers for regions, by name."""
    depths = {"indices": [one.index for one in result.depths], "rois": [one.roi for one in result.depths]}
    regions = {f"region {at}": answer_of(one.result) for at, one in enumerate(result.depths) if one.result}
    return {"depths": plain(depths), **regions}


def ask_map(frames: Pixels, method: str, size: int, stride: int, **where: Any) -> Record:
    """Returns a map of where the patches of a frame are sharp."""
    found = dioptre.focus_map(frames, method, size, stride, **where)
    return plain(
        {
            "indices": found.index,
            "dioptres": found.dioptres,
            "confidence": found.confidence,
            "focused": found.focused,
        }
    )


def numbers_of(tables: Mapping[str, Any]) -> tuple[Record, Record]:
    """Returns the numbers of a report's tables.json: those of the answers, and those of the verdict."""
    rows = {
        f"report table {table['number']} {group['title']}: {row['method']} {row['steps']}": row["metrics"]
        for table in tables["tables"]
        for group in table["groups"]
        for row in group["rows"]
    }
    trust = {f"report trust: {row['method']} {row['steps']}": row for row in tables["trust"]}
    return plain(rows), plain(trust)


def plain(value: Any) -> Any:
    """Returns a value as JSON has it, floats rounded."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return round(value, DIGITS) if isinstance(value, float) else value


# Scores


def score(lot: Lot) -> Record:
    """Returns the scores of every method that can see such stacks, one curve for each.

    A method with one look has it at one of STARTS, another one for the next stack; one with two looks, or
    with any number, has a second one APART from it.
    """
    phone, rows = not lot.kind.make, dioptre.METHODS.values()
    whole = [row.key for row in rows if row.problem.whole and (phone or not row.key.startswith("l2a-"))]
    found = dioptre.scores(lot.stack, whole)
    if phone:
        numbers = lot.first + np.arange(lot.stack.batch)
        one = np.array(STARTS)[numbers % len(STARTS)][:, None]
        two = np.concatenate([one, np.clip(one + APART, 0, len(lot.stack.grid) - 1)], axis=1)
        single = [row.key for row in rows if not row.problem.whole and row.looks == 1]
        several = [row.key for row in rows if not row.problem.whole and row.looks != 1]
        found |= dioptre.scores(lot.stack.at(one), single) | dioptre.scores(lot.stack.at(two), several)
    return {
        f"{name} {key}": curve.astype(np.float32)
        for key, curves in found.items()
        for name, curve in zip(lot.names, curves, strict=True)
    }


# Answers


def answer(lot: Lot) -> Record:
    """Returns what `focus` and `focus_from` answer for each stack."""
    ask = _ask_make if lot.kind.make else _ask_phone
    grid = lot.stack.grid
    return {
        f"{name} {what}": answer_of(result)
        for at, name in enumerate(lot.names)
        for what, result in ask(lot.stack.pixels[at], grid, lot.first + at, lot.kind.make)
    }


def _ask_phone(pixels: Pixels, grid: dioptre.FocusGrid, number: int, _: str) -> Results:
    green = pixels.mean(axis=1, dtype=np.float32)
    whole, look, looks = (keys[number % len(keys)] for keys in (WHOLE, LOOK, LOOKS))
    prior, start = ("even", "far")[number % 2], STARTS[number % len(STARTS)]
    yield "focus", dioptre.focus(pixels, grid=grid)
    yield f"focus {whole}", dioptre.focus(pixels, whole, grid=grid, prior=prior)
    if number % 8 == 0:
        yield "focus falling", dioptre.focus(green[::-1], grid=grid.turned())
    if number % 8 == 2:
        codes = (green * 4000 + 64).astype(np.uint16)
        yield "focus codes", dioptre.focus(codes, grid=grid, black=64.0, white=4064.0, risk=0.05)
    if number % 8 == 4:
        yield "focus roi", dioptre.focus(pixels, grid=grid, roi=(16, 24, 96, 80))
    if number % 8 == 6:
        yield "focus no grid", dioptre.focus(green[:45])
    for turn, at in enumerate(STARTS):
        two = (number + turn) % 2
        frame = pixels[at] if two else green[at]
        yield f"from {at} {'views' if two else 'green'}", dioptre.focus_from(frame, at=at, grid=grid)
    yield f"from {start} {look}", dioptre.focus_from(pixels[start], start, look, grid=grid, prior=prior)
    pair = [(pixels[at], at) for at in (start, min(start + APART, len(pixels) - 1))]
    yield f"looks {looks}", dioptre.focus_from(pair, method=looks, grid=grid)


def _ask_make(pixels: Pixels, grid: dioptre.FocusGrid, number: int, make: str) -> Results:
    yield "focus", dioptre.focus(pixels, grid=grid)
    key = FORMULAE[number % len(FORMULAE)]
    yield f"focus {key}", dioptre.focus(pixels, key, grid=grid)
    if make == MACHINE.make:  # pictures of the other make are too soft for a network
        for at in (50, 100, 150):
            where = float(grid.dioptres[at])
            yield f"from {at} camera", dioptre.focus_from(pixels[at], at=where, grid=make)


# Whole frames


def mosaic(stack: dioptre.FocalStack, down: int, across: int) -> Pixels:
    """Returns the patches of a batch side by side, row by row."""
    batch, slices, views, rows, cols = stack.pixels.shape
    assert batch == down * across
    parts = stack.pixels.reshape(down, across, slices, views, rows, cols).transpose(2, 3, 0, 4, 1, 5)
    return np.ascontiguousarray(parts.reshape(slices, views, down * rows, across * cols))


def _all_depths(material: Material) -> tuple[Pixels, Record]:
    stack = material.stacks(DRAWN, 0, 9)
    pixels = mosaic(stack.green(), 3, 3)
    found = _focused(pixels, {"focus": {}, "nearest": {"subject": "nearest"}}, grid=stack.grid)
    return pixels, found | {"map": ask_map(pixels, "local-norm-dist-sq-4", 64, 48, grid=stack.grid)}


def _capture(capture: int, material: Material) -> tuple[Pixels, Record]:
    stack = material.capture(capture)
    pixels, key = stack.pixels[0], ("l2a-stack-dp", "dioptre-any-green")[capture]
    asks: Asks = {
        "focus": {},
        "largest": {"subject": "largest"},
        "rois": {"roi": [(0, 0, 128, 160), (200, 100, 150, 150)]},
        key: {"method": key, "roi": (64, 64, 256, 256)},
    }
    measure = ("normalized-sad", "local-norm-dist-sq-4")[capture]
    found = _focused(pixels, asks, grid=stack.grid)
    return pixels, found | {"map": ask_map(pixels, measure, 96, 48, grid=stack.grid)}


def _few_slices(material: Material) -> tuple[Pixels, Record]:
    stack = material.stacks(NORMAL, 0, 24)
    pixels = mosaic(stack.at(list(range(0, 49, 3))).green(), 4, 6)
    codes = (pixels * 255).astype(np.uint8)
    grid = dioptre.FocusGrid.of_dioptres(stack.grid.dioptres[::3])
    asks = {"focus": {}, "measure": {"method": "local-norm-dist-sq-4", "roi": (128, 0, 512, 512)}}
    return pixels, _focused(codes, asks, grid=grid)


def _two_depths(material: Material) -> tuple[Pixels, Record]:
    stack = material.stacks(NORMAL, 0, 24)
    sharp = [0, 16]  # of two scenes
    halves = [np.pad(stack.pixels[at], ((0, 0), (0, 0), (0, 256), (0, 64)), mode="symmetric") for at in sharp]
    pixels = np.concatenate(halves, axis=3)
    asks = {
        "focus": {},
        "most confident": {"subject": "most-confident"},
        "l2a-stack-green": {"method": "l2a-stack-green"},
    }
    return pixels, _focused(pixels, asks, grid=stack.grid)


def _microscope(material: Material) -> tuple[Pixels, Record]:
    stack = material.stacks(MICROSCOPE, 0, 4)
    pixels = mosaic(stack, 2, 2)
    some = slice(25, 75)  # as many as the network's grid is long
    known = dioptre.FocusGrid(stack.grid.dioptres[some], "dioptres", camera=MICROSCOPE.make)
    found = _focused(pixels, {"focus": {}}, grid=stack.grid)
    found |= _focused(pixels[some], {"camera": {"method": "dioptre-any-green"}}, grid=known)
    for at in (30, 70):
        where = float(stack.grid.dioptres[at])
        found[f"from {at}"] = answer_of(dioptre.focus_from(pixels[at], where, grid=MICROSCOPE.make))
    return pixels, found


def _focused(pixels: Any, asks: Asks, **where: Any) -> Record:
    """Returns what `focus` answers for a frame, for its regions and its depths."""
    found: Record = {}
    for what, how in asks.items():
        result = dioptre.focus(pixels, **where, **how)
        if isinstance(result, list):
            found |= {f"{what} region {at}": answer_of(one) for at, one in enumerate(result)}
            continue
        found[what] = answer_of(result)
        found |= {f"{what} {name}": one for name, one in parts_of(result).items()}
    return found


FRAMES: Final[tuple[Callable[[Material], tuple[Pixels, Record]], ...]] = (
    _all_depths,
    partial(_capture, 0),
    partial(_capture, 1),
    _few_slices,
    _two_depths,
    _microscope,
)


# Lenses


@dataclass(frozen=True)
class Run:
    """A lens that is focused.

    Attributes:
        device: Its address; `replay:` of a folder of the material's, or of a file of a stack.
        how: Arguments of Autofocus.
        roi: The region.
    """

    device: str
    how: Mapping[str, Any] = field(default_factory=dict)
    roi: tuple[int, int, int, int] | None = None


RUNS: Final = (
    Run("replay:drawn-1", {"grid": "learnaf"}),
    Run("replay:drawn-3"),
    Run("simulated:2041"),
    Run("replay:stack-0", {"grid": "learnaf"}),
    Run("simulated:2042,green"),
    Run("simulated:2043,dark"),
    Run("simulated:2044,green,dark", {"risk": 0.05}),
    Run("simulated:2045,exact", {"start": 5}),
    Run("simulated:2046,green", {"limits": (10, 40), "backlash": 2, "looks": 2}),
    Run("simulated:2047,256", {}, (64, 32, 160, 128)),
    Run("simulated:2048", {"method": "local-norm-dist-sq-4"}),
    Run("simulated:2049", {"method": "l2a-single-dp", "fallback": "none", "on_failure": "stay"}),
    Run("simulated:2050,green", {"method": "l2a-single-green", "prior": "far"}),
    Run("simulated:2051", {"method": "zncc-disparity", "looks": 2}),
    Run("simulated:2052,target"),
    Run("simulated:2053,microscope-4x,green"),
    Run("simulated:2054,machine-vision-16mm,green,192", {"grid": "machine-vision-16mm"}),
    Run("replay:stack-3", {"start": 2, "grid": "learnaf"}),
    Run("replay:stack-5", {"method": "gradient-magnitude-variance"}),
    Run("replay:recorded-0"),
    Run("replay:recorded-1", {"fallback": "none"}),
    Run("replay:recorded-0", {"looks": 1, "prior": "far", "start": 40}, (0, 0, 128, 128)),
)


def drive(run: Run, material: Material) -> Record:
    """Returns where a lens was sent, and how that ended."""
    scheme, _, rest = run.device.partition(":")
    address = f"replay:{_replayed(rest, material)}" if scheme == "replay" else run.device
    with open_device(address) as camera:
        result = dioptre.Autofocus(camera, **run.how).run(run.roi)
        visited: list[int] = camera.visited  # type: ignore[attr-defined]  # of these two kinds
    return plain(
        {
            "state": result.state.value,
            "index": result.index,
            "left_at": result.left_at,
            "frames": len(visited),
            "visited": visited,
        }
    )


def _replayed(name: str, material: Material) -> Path:
    """Returns the folder of a recording, or a file of one of the first stacks."""
    word, _, number = name.partition("-")
    if word == "recorded":
        return material.folder(name)
    path = material.home / f"{name}.npy"
    kind = DRAWN if word == DRAWN.name else NORMAL
    np.save(path, material.stacks(kind, int(number), 1).pixels[0])
    return path


# All of it


def ask(parts: Collection[str], scope: Scope = EVERYTHING) -> dict[str, Record]:
    """Returns what dioptre answers now, part by part, and the checksums of what it was asked about."""
    with TemporaryDirectory() as home, ThreadPoolExecutor(1) as pool:
        try:
            return _ask(Material.begin(Path(home), pool, parts, scope), set(parts), scope)
        finally:
            pool.shutdown(cancel_futures=True)


def _ask(material: Material, parts: set[str], scope: Scope) -> dict[str, Record]:
    found: dict[str, Record] = {part: {} for part in PARTS}
    answers: Record = {}
    if parts & READS_STACKS:
        for lot in lots(material, scope):
            found["stacks"] |= dict(zip(lot.names, map(checksum, lot.stack.pixels), strict=True))
            found["scores"] |= score(lot) if "scores" in parts else {}
            answers |= answer(lot) if parts & {"answers", "verdict"} else {}
    found["answers"], found["verdict"] = _divided(answers)
    if "lens" in parts:
        for at, run in enumerate(RUNS[: scope.runs]):
            found["lens"][f"run-{at:02d} {run.device}"] = drive(run, material)
    if parts & READS_FRAMES:
        for at, frame in enumerate(FRAMES[: scope.frames]):
            pixels, said = frame(material)
            found["stacks"][f"frame-{at}"] = checksum(pixels)
            places, verdicts = _divided({f"frame-{at} {what}": one for what, one in said.items()})
            found["frames"] |= places
            found["verdict"] |= verdicts
    if "tables" in material.made:
        found["stacks"][REPORTED.name] = checksum(material.stacks(REPORTED, 0, REPORTED.count).pixels)
        tables = json.loads((material.folder("tables") / "tables.json").read_text(encoding="utf-8"))
        found["report"], trust = numbers_of(tables)
        found["verdict"] |= trust
    return {part: record for part, record in found.items() if part in {*parts, "stacks"}}


def _divided(answers: Record) -> tuple[Record, Record]:
    """Returns all of some answers but their verdicts, and these; nothing of those that have none."""
    places, verdicts = (
        {
            name: {key: one for key, one in said.items() if (key in VERDICT) == verdict}
            for name, said in answers.items()
        }
        for verdict in (False, True)
    )
    return places, {name: said for name, said in verdicts.items() if said}
