"""The command line. A frozen dataclass is a command's configuration, its help text and its flags.

Exit codes: 0 done (for `focus`: focused), 1 not focused (the reason is on stderr), 2 bad input, said in one
sentence on stderr. With `--json`, stdout holds JSON and nothing else.

Everything heavy is imported inside the command that needs it, so that `dioptre --help` is immediate.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from dioptre import __version__

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from dioptre.dataset.images import Pictures
    from dioptre.loop.focus import FocusResult

FOCUSED, NOT_FOCUSED, BAD_INPUT = 0, 1, 2
Unit = Literal["dioptres", "metres", "um"]
UNIT_LABELS = {"dioptres": "focus (dioptres)", "metres": "focus distance (m)", "um": "position (µm)"}
BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Focus:
    """Say which picture of a stack is sharp, how sure that is, and why not when it is not.

    Exit code 0: focused. 1: not focused (reason on stderr). 2: bad input.
    """

    stack: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="STACK")]
    """A folder of pictures (PNG, JPEG, TIFF, 8 or 16 bit; *_left and *_right for two views) in the numeric
    order of their names, a multi-page TIFF, a .npy or a .npz."""

    method: Annotated[str, tyro.conf.arg(metavar="KEY")] = "local-norm-dist-sq-4"
    """How to score sharpness; `dioptre methods` lists all."""

    roi: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="X,Y,W,H")] = ()
    """Look only at this region, in pixels from the top left; may be given several times."""

    policy: Literal["most-confident", "nearest"] = "most-confident"
    """Which of several regions decides: the most confident, or the nearest to the camera of those in focus
    somewhere (the last slice counts as nearest when the positions are not known)."""

    positions: Annotated[str | None, tyro.conf.arg(metavar="POSITIONS")] = None
    """Where each picture was focused: `names` (the number in the file names, as in IMG_00.198.jpg), a list
    0.2,0.4,0.6, START:STEP, a file with a number a line, or `learnaf` (the 49 positions of the published data
    set)."""

    unit: Unit = "dioptres"
    """What the positions are."""

    black: Annotated[float | None, tyro.conf.arg(metavar="VALUE")] = None
    """Value of black in the files; 0 by default."""

    white: Annotated[float | None, tyro.conf.arg(metavar="VALUE")] = None
    """Value of white in the files; by default the largest that the files can hold, 1 for floats."""

    json: bool = False
    """Print the result as JSON."""

    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Draw the focus curve, with the chosen picture and its neighbours, into this file (.png, .pdf, .svg)."""


@dataclass(frozen=True)
class Methods:
    """List the focusing methods."""

    json: bool = False
    """Print the list as JSON."""


@dataclass(frozen=True)
class Demo:
    """Run every method on a small simulated test set, print the table, and draw a focus curve."""

    out: Path = Path("demo")
    """Folder to write table.md and focus_curve.png to."""

    stacks: int = 24
    """How many stacks to simulate."""

    seed: int = 0
    """Seed of the simulation; the same seed gives the same table."""


@dataclass(frozen=True)
class Simulate:
    """Write a store of labelled patches: simulated dual-pixel focal stacks with known focus.

    A run that was stopped goes on where it was. The same seed gives the same bytes, whatever the workers.
    """

    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    """Folder of the store."""

    patches: int = 2000
    """How many patches."""

    seed: int = 0
    """Seed of everything."""

    camera: Annotated[str, tyro.conf.arg(metavar="CAMERA")] = "pixel3"
    """pixel3, or a TOML file that describes a camera (docs/data.md)."""

    device: Literal["center", "left", "random"] = "center"
    """Which phone of the rig, or another one in every scene."""

    light: Literal["mixed", "normal", "dark", "both"] = "mixed"
    """Normal or low light; both for every scene in both, one after the other."""

    split: Literal["mixed", "train", "validation", "test"] = "mixed"
    """The split that the scenes belong to; no texture is in two splits."""

    textures: Annotated[str, tyro.conf.arg(metavar="DIR")] = ""
    """Folder of photographs to paint surfaces with, beside leaves and print; skimage for scikit-image's."""

    exact_lens: bool = False
    """Let the lens go exactly where it is told."""

    workers: int = 0
    """Processes; 0 for one a core."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv == ["--version"]:
        sys.stdout.write(f"dioptre {__version__}\n")
        return 0
    commands: dict[type, Callable[[Any], int]] = {
        Focus: run_focus,
        Methods: run_methods,
        Simulate: run_simulate,
        Demo: run_demo,
    }
    config = tyro.cli(
        Annotated[Focus, tyro.conf.subcommand("focus")]
        | Annotated[Methods, tyro.conf.subcommand("methods")]
        | Annotated[Simulate, tyro.conf.subcommand("simulate")]
        | Annotated[Demo, tyro.conf.subcommand("demo")],
        prog="dioptre",
        description="Learned autofocus: from what a camera sees, where the lens must go.",
        args=argv,
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    try:
        return commands[type(config)](config)
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        sys.stderr.write(f"dioptre: {said}\n")
        return BAD_INPUT
    except (ValueError, ImportError) as error:
        sys.stderr.write(f"dioptre: {error}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("dioptre: stopped\n")
        return 130


def entry() -> None:
    """Leaves Python with the exit code of `main`."""
    sys.exit(main())


def _console() -> "Console":
    from rich.console import Console  # noqa: PLC0415

    return Console(highlight=False)


@contextmanager
def _progress(what: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yields a function (done, total) that moves a bar on stderr; nothing is shown off a terminal."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(
        console=Console(stderr=True), transient=True, disable=quiet or not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


# focus


def run_focus(config: Focus) -> int:
    """Focuses a stack and prints the answer."""
    from dioptre.dataset.images import read_pictures  # noqa: PLC0415
    from dioptre.loop.focus import focus  # noqa: PLC0415
    from dioptre.loop.verdict import EXPLANATIONS, State  # noqa: PLC0415
    from dioptre.methods import find_method  # noqa: PLC0415

    find_method(config.method)  # before reading a large stack in vain
    regions = [parse_roi(text) for text in config.roi]
    with _progress("reading pictures", config.json) as moved:
        pictures = read_pictures(config.stack, moved)
    values = None if config.positions is None else _read_positions(config, pictures)
    with _progress("focusing (the first run compiles the measure, which takes some seconds)", config.json):
        result = focus(
            pictures.codes,
            config.method,
            **_position_arguments(values, config.unit),
            roi=regions or None,
            policy=config.policy,
            black=config.black,
            white=config.white,
        )
    if config.plot is not None:
        _plot(config, pictures, result, values)
    if config.json:
        record = {"stack": str(config.stack), "name": pictures.names[result.index], **result.to_json()}
        sys.stdout.write(json.dumps({**record, "skipped": list(pictures.skipped)}, allow_nan=False) + "\n")
    else:
        _print_result(config, pictures, result)
    if result.state is State.FOCUSED:
        return FOCUSED
    for reason in result.reasons:
        sys.stderr.write(f"not focused: {reason.value}: {EXPLANATIONS[reason]}\n")
    return NOT_FOCUSED


def parse_roi(text: str) -> tuple[int, int, int, int]:
    """Returns the four whole numbers of `x,y,w,h`."""
    try:
        x, y, w, h = (int(part) for part in text.split(","))
    except ValueError:
        raise ValueError(
            f"--roi takes x,y,w,h in whole pixels, such as 100,80,128,128, not {text!r}"
        ) from None
    return x, y, w, h


def _read_positions(config: Focus, pictures: "Pictures") -> "np.ndarray[Any, Any]":
    from dioptre.dataset.images import read_positions  # noqa: PLC0415
    from dioptre.optics import FocusGrid, metres_to_dioptres  # noqa: PLC0415

    assert config.positions is not None
    if config.positions == "learnaf":
        if config.unit != "dioptres":
            raise ValueError(f"the positions learnaf are in dioptres, not {config.unit}: leave out --unit")
        return FocusGrid.learnaf().dioptres
    values = read_positions(config.positions, pictures.names)
    return metres_to_dioptres(values) if config.unit == "metres" else values  # type: ignore[return-value]


def _position_arguments(values: "np.ndarray[Any, Any] | None", unit: Unit) -> dict[str, Any]:
    if values is None:
        return {}
    return {"positions_um": values} if unit == "um" else {"dioptres": values}


def _print_result(config: Focus, pictures: "Pictures", result: "FocusResult") -> None:
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from dioptre.loop.verdict import State  # noqa: PLC0415

    console = _console()
    good = result.state is State.FOCUSED
    n, _, rows, cols = pictures.codes.shape
    console.print(f"{config.stack}: {n} pictures of {cols} x {rows}", markup=False, soft_wrap=True)
    table = Table(show_header=False)
    table.add_row("state", f"[bold {'green' if good else 'red'}]{result.state.value}")
    name, of = pictures.names[result.index], f"slice {result.index} of 0..{n - 1}"
    table.add_row("sharpest", of if name.startswith("slice") else f"[bold]{escape(name)}[/] ({of})")
    table.add_row("position", f"{result.position:.2f}")
    if result.dioptres is not None:
        table.add_row("focus", f"{result.dioptres:.3f} dioptres, {result.distance_m:.4g} m")
    if result.position_um is not None:
        table.add_row("position", f"{result.position_um:.6g} µm")
    table.add_row("confidence", f"{result.confidence:.2f}")
    if result.reasons:
        table.add_row("beware" if good else "because", ", ".join(reason.value for reason in result.reasons))
    table.add_row("method", result.method)
    if result.roi is not None:
        table.add_row("region", ",".join(str(v) for v in result.roi))
    table.add_row("curve", sparkline(result.scores))
    console.print(table)
    if result.regions:
        _print_regions(console, pictures, result)
    if pictures.skipped:
        sys.stderr.write(f"left out, not of the series: {', '.join(pictures.skipped)}\n")


def _print_regions(console: "Console", pictures: "Pictures", result: "FocusResult") -> None:
    from rich.table import Table  # noqa: PLC0415

    table = Table("region", "state", "sharpest", "position", "confidence", "reasons")
    for region in result.regions:
        table.add_row(
            ",".join(str(v) for v in region.roi or ()),
            region.state.value,
            pictures.names[region.index],
            f"{region.position:.2f}",
            f"{region.confidence:.2f}",
            ", ".join(reason.value for reason in region.reasons),
        )
    console.print(table)


def sparkline(scores: "np.ndarray[Any, Any]") -> str:
    """Returns a focus curve as one line of block characters; a blank for a slice without a score."""
    finite = [float(score) for score in scores if isfinite(score)]
    low, span = (min(finite), (max(finite) - min(finite)) or 1.0) if finite else (0.0, 1.0)
    top = len(BARS) - 1
    return "".join(BARS[int((score - low) / span * top)] if isfinite(score) else " " for score in scores)


def _plot(config: Focus, pictures: "Pictures", result: "FocusResult", values: Any) -> None:
    from dioptre.evaluate import figures  # noqa: PLC0415
    from dioptre.loop.verdict import State  # noqa: PLC0415

    assert config.plot is not None
    shown = pictures.codes.mean(axis=1) if pictures.codes.shape[1] == 2 else pictures.codes[:, 0]
    if result.roi is not None:
        x, y, w, h = result.roi
        shown = shown[:, y : y + h, x : x + w]
    unit = "dioptres" if config.unit == "metres" else config.unit
    figure = figures.focus_curve(
        result.scores,
        result.index,
        result.position,
        result.state is State.FOCUSED,
        shown,
        pictures.names,
        f"{config.stack.name}: {result.state.value}, confidence {result.confidence:.2f}"
        + "".join(f", {reason.value}" for reason in result.reasons),
        values,
        "slice" if values is None else UNIT_LABELS[unit],
    )
    figures.save(figure, config.plot)


# methods


def run_methods(config: Methods) -> int:
    """Prints the table of methods."""
    from dioptre.methods import METHODS  # noqa: PLC0415

    if config.json:
        rows = [
            {
                "key": row.key,
                "title": row.title,
                "problem": row.problem.value,
                "views": row.views,
                "source": row.source,
                "in_paper": row.in_paper,
            }
            for row in METHODS.values()
        ]
        sys.stdout.write(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return 0
    from rich.table import Table  # noqa: PLC0415

    table = Table("key", "problem", "title", "source")
    for row in METHODS.values():
        table.add_row(row.key, row.problem.value, row.title, row.source)
    console = _console()
    console.print(table)
    console.print("I* a stack of green pictures; D* a stack of left and right dual-pixel views.")
    return 0


# simulate


def run_simulate(config: Simulate) -> int:
    """Writes a store of simulated patches."""
    from dioptre.methods.measure import workers  # noqa: PLC0415
    from dioptre.pipeline import Simulation, simulate  # noqa: PLC0415

    if config.patches < 1 or config.workers < 0:
        raise ValueError(f"--patches and --workers are positive, not {config.patches} and {config.workers}")
    settings = {name: getattr(config, name) for name in Simulation.__dataclass_fields__}
    with _progress("simulating", quiet=False) as moved:
        simulate(config.out, Simulation(**settings), config.workers or workers(), moved)
    sys.stdout.write(f"wrote {config.patches} patches to {config.out}\n")
    return 0


# demo


def run_demo(config: Demo) -> int:
    """Runs the demo and prints its table."""
    from rich.table import Table  # noqa: PLC0415

    from dioptre.evaluate.metrics import COLUMNS  # noqa: PLC0415
    from dioptre.methods import METHODS  # noqa: PLC0415
    from dioptre.pipeline import demo  # noqa: PLC0415

    if config.stacks < 1:
        raise ValueError(f"--stacks takes a positive number, not {config.stacks}")
    with _progress("simulating", quiet=False) as moved:
        found = demo(config.out, config.stacks, config.seed, lambda done: moved(done, config.stacks))
    console = _console()
    for problem in sorted({METHODS[key].problem for key, _, _ in found.rows}):
        rows = [row for row in found.rows if METHODS[row[0]].problem is problem]
        table = Table(
            title=f"{problem.value}: {config.stacks} simulated stacks", box=None, padding=(0, 1, 0, 0)
        )
        for column in ("method", *COLUMNS, "paper"):
            table.add_column(column, no_wrap=True, justify="left" if column == "method" else "right")
        for key, ours, theirs in sorted(rows, key=lambda row: -row[1].mae):
            numbers = [f"{number:.2f}" for number in ours.numbers]
            table.add_row(key, *numbers, f"{theirs.mae:.2f}" if theirs else "")
        console.print(table)
    console.print("The last column is the MAE that the paper prints, on its own data, which is far harder.")
    for name, result in (("textured plane", found.good), ("blank wall", found.blank)):
        reasons = ", ".join(reason.value for reason in result.reasons) or "no complaints"
        sure = f"confidence {result.confidence:.2f}, {reasons}"
        console.print(f"{name}: {result.state.value} at slice {result.index}, {sure}")
    files = "table.md and focus_curve.png" if found.drawn else "table.md (a picture needs 'dioptre[figures]')"
    console.print(f"(the plane is at slice {found.truth}; wrote {files} to {config.out}/)", markup=False)
    return 0
