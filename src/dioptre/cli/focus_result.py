"""A FocusResult on the terminal."""

import sys
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from dioptre.cli.console import one_line, open_console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dioptre.confidence.reasons import Reason
    from dioptre.focusing.result import FocusResult
    from dioptre.stacks.pictures import Pictures

BARS = "▁▂▃▄▅▆▇█"
CURVE_COLUMNS = 58  # of a curve beside its name, within 80


def print_stack_result(stack: str, pictures: "Pictures", result: "FocusResult") -> None:
    """Prints which picture of a stack is sharp."""
    from rich.markup import escape  # noqa: PLC0415

    console = open_console()
    n, _, rows, cols = pictures.shape
    console.print(f"{stack}: {n} pictures of {cols} x {rows}", markup=False, soft_wrap=True)
    name, of = pictures.names[result.index], f"slice {result.index} of 0..{n - 1}"
    sharpest = of if name.startswith("slice") else f"[bold]{escape(name)}[/] ({of})"
    console.print(result_table(result, ("sharpest", sharpest)))
    if result.depths:
        _print_depths(console, pictures, result)
    elif result.regions:
        _print_regions(console, pictures, result)
    if pictures.skipped:
        sys.stderr.write(f"left out, not of the series: {one_line(', '.join(pictures.skipped))}\n")
    print_notes(result)


def print_notes(result: "FocusResult", stack: str = "") -> None:
    """Says on stderr how a stack was read, where that is not plain."""
    for note in result.notes:
        sys.stderr.write(one_line(f"note: {f'{stack}: ' if stack else ''}{note}") + "\n")


def print_look_result(stack: str, pictures: "Pictures", result: "FocusResult") -> None:
    """Prints where the lens must go from the last of a few looks."""
    _, _, rows, cols = pictures.shape
    console = open_console()
    seen, at = len(result.looks), " and ".join(f"{position:g}" for position in result.looks)
    what = f"a picture of {cols} x {rows}" if seen == 1 else f"{seen} pictures of {cols} x {rows}"
    console.print(f"{stack}: {what}, the lens at {at}", markup=False, soft_wrap=True)
    console.print(result_table(result, ("go to", _going(result))))
    print_notes(result)


def _going(result: "FocusResult") -> str:
    """Returns where the lens must go, and which way that is from the last look."""
    if result.lens_position is None or result.positions is None:
        move, goal, length = result.index - result.looks[-1], str(result.index), ""
    else:  # positions run from far to near, whether they rise or fall
        move = result.lens_position - result.looks[-1]
        goal, length = f"{result.lens_position:.6g} {result.unit}", f"{abs(move):.3g}"
        move = move if result.positions[-1] > result.positions[0] else -move
    towards = "nearer" if move > 0 else "farther"
    way = "stay" if move == 0 else f"{length or f'{abs(move):g}'} {towards}"
    return f"[bold]{goal}[/] ({way})"


def result_table(result: "FocusResult", answer: tuple[str, str]) -> "Table":
    """Returns a result as a table, its answer in words that suit what was asked."""
    from rich.table import Table  # noqa: PLC0415

    from dioptre.confidence.reasons import WARNINGS, Reason, State  # noqa: PLC0415

    good = result.state is State.FOCUSED
    table = Table(show_header=False)
    table.add_row("state", f"[bold {'green' if good else 'red'}]{result.state.value}")
    table.add_row(*answer)
    if result.lens_position is not None:
        table.add_row("lens", f"{result.lens_position:.6g} {result.unit}")
    else:
        table.add_row("position", f"{result.position:.2f}")
    if result.dioptres is not None:
        table.add_row("focus", _focus(result.dioptres))
    if result.position_um is not None:
        table.add_row("height", f"{result.position_um:.2f} µm")
    if result.plateau is not None:
        table.add_row("plateau", "sharp from slice {} to {}".format(*result.plateau))
    if result.rivals:
        table.add_row("nearly as sharp", ", ".join(f"slice {one}" for one in result.rivals))
    table.add_row("confidence", f"{result.confidence:.2f}")
    if result.expected_error is not None:
        table.add_row("expected error", _expected_error(result))
    table.add_row("risk of a miss", f"{result.risk:.3f}")
    if Reason.AMBIGUOUS in result.reasons:
        places = {
            one: str(one.index) if result.positions is None else f"{result.positions[one.index]:.6g}"
            for one in result.candidates
        }
        chances = (f"{place} (probability {one.probability:.2f})" for one, place in places.items())
        table.add_row("candidates", ", ".join(chances))
    for name, warnings in (("because", False), ("beware", True)):
        reasons = [reason.value for reason in result.reasons if (reason in WARNINGS) is warnings]
        if reasons:
            table.add_row(name, ", ".join(reasons))
    table.add_row("method", result.method)
    if result.roi is not None:
        table.add_row("region", ",".join(str(v) for v in result.roi))
    table.add_row("curve", sparkline(highest(result.scores, CURVE_COLUMNS)))
    return table


def _focus(dioptres: float) -> str:
    """Returns a focus in dioptres and metres; what rounds to 0 dioptres is infinity."""
    far = abs(dioptres) < 0.0005
    return "0 dioptres, infinity" if far else f"{dioptres:.3g} dioptres, {1 / dioptres:.3g} m"


def _expected_error(result: "FocusResult") -> str:
    if result.lens_error is None:
        return f"{result.expected_error:.1f} positions"
    what = "steps" if result.looks else "positions"
    return f"{result.expected_error:.1f} {what}, {result.lens_error:.2g} {result.unit}"


def _print_depths(console: "Console", pictures: "Pictures", result: "FocusResult") -> None:
    """Prints the depths of a picture, with the one that decided in bold."""
    table = table_of(
        "depth", "share", "region", "state", "confidence", "reasons", folded=("depth", "reasons")
    )
    for depth, region in zip(result.depths, result.regions, strict=True):
        table.add_row(
            pictures.names[depth.index],
            f"{depth.share:.0%}",
            ",".join(str(v) for v in depth.roi),
            region.state.value,
            f"{region.confidence:.2f}",
            "\n".join(reason.value for reason in region.reasons),
            style="bold" if depth.roi == result.roi else None,
        )
    console.print(table)


def _print_regions(console: "Console", pictures: "Pictures", result: "FocusResult") -> None:
    columns = ("region", "state", "sharpest", "position", "confidence", "reasons")
    table = table_of(*columns, folded=("sharpest",))
    for region in result.regions:
        table.add_row(
            ",".join(str(v) for v in region.roi or ()),
            region.state.value,
            pictures.names[region.index],
            f"{region.position:.2f}",
            f"{region.confidence:.2f}",
            "\n".join(reason.value for reason in region.reasons),
        )
    console.print(table)


def table_of(*columns: str, folded: Sequence[str]) -> "Table":
    """Returns an empty table in which nothing is cut off: some columns go on below, the others stay whole."""
    from rich.table import Column, Table  # noqa: PLC0415

    return Table(*(Column(one, overflow="fold", no_wrap=one not in folded) for one in columns))


def print_reason(reason: "Reason", where: str = "") -> None:
    """Says on stderr why something is not focused, or what to beware of."""
    from dioptre.confidence.reasons import EXPLANATIONS, WARNINGS  # noqa: PLC0415

    head = "beware" if reason in WARNINGS else "not focused"
    sys.stderr.write(f"{one_line(where)}{head}: {reason.value}: {EXPLANATIONS[reason]}\n")


def highest(scores: Iterable[float], columns: int) -> list[float]:
    """Returns scores in at most so many columns: of those that share one, the highest."""
    every = [float(score) for score in scores]
    columns = min(len(every), columns)
    tops = [float("-inf")] * columns
    for at, score in enumerate(every):
        column = at * columns // len(every)
        tops[column] = max(tops[column], score)
    return tops


def sparkline(scores: Iterable[float], blank: str = " ") -> str:
    """Returns a focus curve as one line of block characters, and a blank for a slice without a score."""
    heights = [float(score) for score in scores]
    finite = [height for height in heights if isfinite(height)]
    low, span = (min(finite), (max(finite) - min(finite)) or 1.0) if finite else (0.0, 1.0)
    top = len(BARS) - 1
    return "".join(
        BARS[int((height - low) / span * top)] if isfinite(height) else blank for height in heights
    )
