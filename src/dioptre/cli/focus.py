"""`dioptre focus`: which picture of a stack is sharp, or where the lens must go from one look."""

import json
import sys
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from dioptre.cli.console import FOCUSED, NOT_FOCUSED, open_console, progress
from dioptre.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from dioptre.dataset.pictures import Pictures
    from dioptre.loop.result import FocusResult

Unit = Literal["dioptres", "metres", "um"]
UNIT_LABELS = {"dioptres": "focus (dioptres)", "metres": "focus distance (m)", "um": "position (µm)"}
BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Focus:
    """Say which picture of a stack is sharp, how sure that is, and why not when it is not.

    With --at, say from one picture where the lens must go: a network tells it from one look.

    Exit code 0: focused. 1: not focused (reason on stderr). 2: bad input.
    """

    stack: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="STACK")]
    """A folder of pictures (PNG, JPEG, TIFF, 8 or 16 bit; *_left and *_right for two views) in the numeric
    order of their names, a multi-page TIFF, a .npy or a .npz. With --at also a single picture."""

    at: Annotated[int | None, tyro.conf.arg(metavar="INDEX")] = None
    """Position of the lens, counted from 0 (far): tell from this one look where it must go. Of a whole stack,
    this slice is looked at. The positions are those of the published data set, unless given."""

    method: Annotated[str | None, tyro.conf.arg(metavar="KEY")] = None
    """How to score sharpness; `dioptre methods` lists all. By default local-norm-dist-sq-4; with --at
    dioptre-single-green, or dioptre-single-dp for two views."""

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


def run_focus(config: Focus) -> int:
    """Focuses a stack and prints the answer."""
    from dioptre.dataset.pictures import read_look, read_pictures  # noqa: PLC0415
    from dioptre.loop.focus import DEFAULT_METHOD, focus  # noqa: PLC0415
    from dioptre.methods import find_method  # noqa: PLC0415

    if config.method is not None:
        find_method(config.method)  # before reading a large stack in vain
    regions = [parse_roi(text) for text in config.roi]
    with progress("reading pictures", config.json) as moved:
        pictures = (read_pictures if config.at is None else read_look)(config.stack, moved)
    values = None if config.positions is None else _read_positions(config, pictures)
    if config.at is not None:
        return _run_look(config, config.at, pictures, regions, values)
    with progress("focusing (the first run compiles the measure, which takes some seconds)", config.json):
        result = focus(
            pictures.codes,
            config.method or DEFAULT_METHOD,
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
    return _exit_code(result)


def _run_look(
    config: Focus,
    at: int,
    pictures: "Pictures",
    regions: list[tuple[int, int, int, int]],
    values: "np.ndarray[Any, Any] | None",
) -> int:
    """Prints where the lens must go from one look."""
    from dioptre.loop.focus import focus_from  # noqa: PLC0415
    from dioptre.optics import FocusGrid  # noqa: PLC0415

    if len(regions) > 1 or config.plot is not None or config.unit == "um":
        raise InputError("--at takes one --roi, positions in dioptres or metres, and no --plot")
    grid = FocusGrid.learnaf() if values is None else FocusGrid(values)
    if not 0 <= at < len(grid):
        raise InputError(f"--at is a position of the ladder, 0..{len(grid) - 1}, not {at}")
    many = len(pictures.codes) > 1
    if many and len(pictures.codes) != len(grid):
        raise InputError(f"{config.stack} has {len(pictures.codes)} pictures, but the ladder {len(grid)}")
    look = at if many else 0
    result = focus_from(
        pictures.codes[look],
        at,
        config.method,
        grid=grid,
        roi=regions[0] if regions else None,
        black=config.black,
        white=config.white,
    )
    if config.json:
        record = {"stack": str(config.stack), "name": pictures.names[look], "at": at, **result.to_json()}
        sys.stdout.write(json.dumps(record, allow_nan=False) + "\n")
    else:
        _print_look(config, at, pictures, result)
    return _exit_code(result)


def _exit_code(result: "FocusResult") -> int:
    """Returns 0 for focused, or says on stderr why not and returns 1."""
    from dioptre.loop.verdict import EXPLANATIONS, State  # noqa: PLC0415

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
        raise InputError(
            f"--roi takes x,y,w,h in whole pixels, such as 100,80,128,128, not {text!r}"
        ) from None
    return x, y, w, h


def _read_positions(config: Focus, pictures: "Pictures") -> "np.ndarray[Any, Any]":
    from dioptre.dataset.positions import read_positions  # noqa: PLC0415
    from dioptre.optics import FocusGrid, metres_to_dioptres  # noqa: PLC0415

    assert config.positions is not None
    if config.positions == "learnaf":
        if config.unit != "dioptres":
            raise InputError(f"the positions learnaf are in dioptres, not {config.unit}: leave out --unit")
        return FocusGrid.learnaf().dioptres
    values = read_positions(config.positions, pictures.names)
    return metres_to_dioptres(values) if config.unit == "metres" else values  # type: ignore[return-value]


def _position_arguments(values: "np.ndarray[Any, Any] | None", unit: Unit) -> dict[str, Any]:
    if values is None:
        return {}
    return {"positions_um": values} if unit == "um" else {"dioptres": values}


def _print_result(config: Focus, pictures: "Pictures", result: "FocusResult") -> None:
    from rich.markup import escape  # noqa: PLC0415

    console = open_console()
    n, _, rows, cols = pictures.codes.shape
    console.print(f"{config.stack}: {n} pictures of {cols} x {rows}", markup=False, soft_wrap=True)
    name, of = pictures.names[result.index], f"slice {result.index} of 0..{n - 1}"
    sharpest = of if name.startswith("slice") else f"[bold]{escape(name)}[/] ({of})"
    console.print(_result_table(result, ("sharpest", sharpest)))
    if result.regions:
        _print_regions(console, pictures, result)
    if pictures.skipped:
        sys.stderr.write(f"left out, not of the series: {', '.join(pictures.skipped)}\n")


def _print_look(config: Focus, at: int, pictures: "Pictures", result: "FocusResult") -> None:
    _, _, rows, cols = pictures.codes.shape
    console = open_console()
    console.print(
        f"{config.stack}: a picture of {cols} x {rows}, the lens at {at}", markup=False, soft_wrap=True
    )
    move = result.index - at
    towards = "stay" if move == 0 else f"{abs(move)} {'nearer' if move > 0 else 'farther'}"
    console.print(_result_table(result, ("go to", f"[bold]{result.index}[/] ({towards})")))


def _result_table(result: "FocusResult", answer: tuple[str, str]) -> "Table":
    """Returns a result as a table, its answer in words that suit what was asked."""
    from rich.table import Table  # noqa: PLC0415

    from dioptre.loop.verdict import State  # noqa: PLC0415

    good = result.state is State.FOCUSED
    table = Table(show_header=False)
    table.add_row("state", f"[bold {'green' if good else 'red'}]{result.state.value}")
    table.add_row(*answer)
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
    return table


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
