"""A FocusResult on the terminal."""

import sys
from math import isfinite
from typing import TYPE_CHECKING, Any

from dioptre.cli.console import open_console

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from dioptre.dataset.pictures import Pictures
    from dioptre.loop.result import FocusResult

BARS = "▁▂▃▄▅▆▇█"


def print_stack_result(stack: str, pictures: "Pictures", result: "FocusResult") -> None:
    """Prints which picture of a stack is sharp."""
    from rich.markup import escape  # noqa: PLC0415

    console = open_console()
    n, _, rows, cols = pictures.codes.shape
    console.print(f"{stack}: {n} pictures of {cols} x {rows}", markup=False, soft_wrap=True)
    name, of = pictures.names[result.index], f"slice {result.index} of 0..{n - 1}"
    sharpest = of if name.startswith("slice") else f"[bold]{escape(name)}[/] ({of})"
    console.print(_result_table(result, ("sharpest", sharpest)))
    if result.regions:
        _print_regions(console, pictures, result)
    if pictures.skipped:
        sys.stderr.write(f"left out, not of the series: {', '.join(pictures.skipped)}\n")


def print_look_result(stack: str, pictures: "Pictures", result: "FocusResult") -> None:
    """Prints where the lens must go from the last of a few looks."""
    _, _, rows, cols = pictures.codes.shape
    console = open_console()
    seen, at = len(result.looks), " and ".join(str(position) for position in result.looks)
    what = f"a picture of {cols} x {rows}" if seen == 1 else f"{seen} pictures of {cols} x {rows}"
    console.print(f"{stack}: {what}, the lens at {at}", markup=False, soft_wrap=True)
    move = result.index - result.looks[-1]
    towards = "stay" if move == 0 else f"{abs(move)} {'nearer' if move > 0 else 'farther'}"
    console.print(_result_table(result, ("go to", f"[bold]{result.index}[/] ({towards})")))


def _result_table(result: "FocusResult", answer: tuple[str, str]) -> "Table":
    """Returns a result as a table, its answer in words that suit what was asked."""
    from rich.table import Table  # noqa: PLC0415

    from dioptre.loop.verdict import Reason, State  # noqa: PLC0415

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
    if result.expected_error is not None:
        table.add_row("expected error", f"{result.expected_error:.1f} positions")
    table.add_row("risk of a miss", f"{result.risk:.3f}")
    if Reason.AMBIGUOUS in result.reasons:
        chances = (f"{one.index} (probability {one.probability:.2f})" for one in result.candidates)
        table.add_row("candidates", ", ".join(chances))
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
