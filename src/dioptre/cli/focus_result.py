"""A FocusResult on the terminal."""

import sys
from collections.abc import Iterable, Sequence
from math import floor, isfinite, log10
from typing import TYPE_CHECKING

from dioptre.cli.console import FOCUSED, NOT_FOCUSED, open_console
from dioptre.cli.streams import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dioptre.confidence.reasons import Reason, State
    from dioptre.focusing.result import FocusResult, Roi
    from dioptre.stacks.pictures import Pictures

BARS = "▁▂▃▄▅▆▇█"
CURVE_COLUMNS = 58  # of a curve beside its name, within 80
COLOURS = {"focused": "green", "uncertain": "yellow", "failed": "red"}  # of states
PROBABLE = 0.5  # confidence above which an answer that is uncertain is called probably right
IN_TABLE = {"several-depths", "plateau", "pixels-left-out"}  # of what is focused, there is no more to say
LEAST_RISK = 0.0001  # that is told


def print_stack_result(stack: str, pictures: "Pictures", result: "FocusResult") -> None:
    """Prints which picture of a stack is sharp."""
    from rich.markup import escape  # noqa: PLC0415

    console = open_console()
    n, _, rows, cols = pictures.shape
    console.print(f"{stack}: {n} pictures of {cols} x {rows}", markup=False, soft_wrap=True)
    name, of = pictures.names[result.index], f"slice {result.index} of 0..{n - 1}"
    sharpest = of if name == f"slice {result.index}" else f"[bold]{escape(name)}[/] ({of})"
    console.print(result_table(result, ("sharpest", sharpest)))
    if result.depths:
        _print_depths(console, pictures, result)
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
    at += "" if result.unit == "slice" else f" {result.unit}"
    what = f"a picture of {cols} x {rows}" if seen == 1 else f"{seen} pictures of {cols} x {rows}"
    console.print(f"{stack}: {what}, the lens at {at}", markup=False, soft_wrap=True)
    console.print(result_table(result, ("go to", _going(result)), told=True))
    print_notes(result)


def place(result: "FocusResult") -> str:
    """Returns the answer as text in the user's unit, with its significant digits: `17.4 um`."""
    number = _rounded(result.position, result)
    return f"slice {number}" if result.unit == "slice" else f"{number} {result.unit}"


def _length(length: float, result: "FocusResult") -> str:
    """Returns a distance between positions as text in the user's unit."""
    return f"{_rounded(length, result)} {'slices' if result.unit == 'slice' else result.unit}"


def _rounded(number: float, result: "FocusResult") -> str:
    """Returns a number in the unit to a hundredth of a slice, or a tenth of the error, whichever is more."""
    apart = result.grid.units_per_index(result.subindex)
    digits = max(0, round(-log10(max(apart / 100, (result.expected_error or 0.0) / 10))))
    return f"{round(number, digits) + 0.0:.{digits}f}"  # + 0.0: there is no -0


def _going(result: "FocusResult") -> str:
    """Returns the answer as text, with the move from the last look: `slice 17.0 (7.0 farther)`."""
    move = result.position - result.looks[-1]
    if abs(move) < 0.005 * result.grid.units_per_index(result.subindex):
        return f"[bold]{place(result)}[/] (stay)"
    grid = result.grid
    rising = len(grid) < 2 or grid.positions[-1] > grid.positions[0]
    known = {True: "nearer", False: "farther"}
    way = (
        known[(move > 0) == (rising == grid.nearer)]
        if grid.nearer is not None
        else "on"
        if move > 0
        else "back"
    )
    return f"[bold]{place(result)}[/] ({_rounded(abs(move), result)} {way})"


def result_table(result: "FocusResult", answer: tuple[str, str], told: bool = False) -> "Table":
    """Returns a result as a table.

    Args:
        result: The result.
        answer: Its answer in words that suit what was asked.
        told: Whether that tells the position.
    """
    from rich.table import Table  # noqa: PLC0415

    from dioptre.confidence.reasons import Reason, State  # noqa: PLC0415

    table = Table(show_header=False)
    table.add_row("state", f"[bold]{in_colour(result.state)}")
    table.add_row(*answer)
    if not told:
        table.add_row("position", place(result))
    if (focus := _focus(result)) is not None:
        table.add_row("focus", focus)
    verdict = result.verdict
    if verdict.plateau is not None and result.state is not State.FAILED:
        table.add_row("plateau", "sharp from slice {} to {}".format(*verdict.plateau))
    table.add_row("confidence", f"{result.confidence:.2f}")
    if result.expected_error is not None:
        table.add_row("expected error", _length(result.expected_error, result))
    table.add_row("risk of a miss", risk_in_words(result.risk))
    if Reason.AMBIGUOUS in result.reasons:
        chances = (
            f"{result.grid.positions[one.index]:.6g} (probability {one.probability:.2f})"
            for one in verdict.candidates
        )
        table.add_row("candidates", ", ".join(chances))
    for name in ("because", "beware"):
        beware = name == "beware"
        reasons = [one.value for one in result.reasons if (_head(one, result) == "beware") is beware]
        if reasons:
            table.add_row(name, ", ".join(reasons))
    table.add_row("method", result.method)
    if result.roi is not None:
        table.add_row("region", in_words(result.roi))
    table.add_row("curve", sparkline(highest(result.scores, CURVE_COLUMNS)))
    return table


def _focus(result: "FocusResult") -> str | None:
    """Returns a focus in dioptres and metres, as far as the position does not say it; None if not known."""
    if result.dioptres is None or result.distance_m is None:
        return None
    far = abs(result.dioptres) < 0.0005  # rounds to 0
    said = {
        "dioptres": "0 dioptres" if far else f"{_three(result.dioptres)} dioptres",
        "m": "infinity" if far else f"{_three(result.distance_m)} m",
    }
    return ", ".join(text for unit, text in said.items() if unit != result.unit)


def _three(number: float) -> str:
    """Returns a number with three digits that count: 3.00, 0.0909, 110."""
    return f"{number:#.3g}".removesuffix(".") if abs(number) < 999.5 else f"{number:.0f}"


def in_words(roi: "Roi") -> str:
    """Returns a region as --roi takes it."""
    return ",".join(str(value) for value in roi)


def _print_depths(console: "Console", pictures: "Pictures", result: "FocusResult") -> None:
    """Prints the depths of a picture, and which of them was chosen."""
    from rich.markup import escape  # noqa: PLC0415

    table = table_of(
        "depth", "share", "region", "state", "confidence", "reasons", folded=("depth", "reasons")
    )
    for depth in result.depths:
        assert depth.result is not None
        table.add_row(
            escape(pictures.names[depth.index]) + (" (chosen)" if depth.chosen else ""),
            f"{depth.share:.0%}",
            in_words(depth.roi),
            in_colour(depth.result.state),
            f"{depth.result.confidence:.2f}",
            "\n".join(reason.value for reason in depth.result.reasons),
            style="bold" if depth.chosen else None,
        )
    console.print(table)


def table_of(*columns: str, folded: Sequence[str]) -> "Table":
    """Returns an empty table in which nothing is cut off: some columns go on below, the others stay whole."""
    from rich.table import Column, Table  # noqa: PLC0415

    return Table(*(Column(one, overflow="fold", no_wrap=one not in folded) for one in columns))


def in_colour(state: "State") -> str:
    """Returns a state as markup: green, yellow or red."""
    return f"[{COLOURS[state]}]{state.value}[/]"


def risk_in_words(risk: float) -> str:
    """Returns a risk with two digits that count, rounded up: who accepts what is said takes the answer."""
    risk = max(risk, LEAST_RISK)
    digits = 1 - floor(log10(risk))
    told = round(risk, digits)
    return f"{told if told >= risk else told + 10**-digits:.{digits}f}".rstrip("0").rstrip(".")


def print_state(result: "FocusResult", accepted: float, stack: str = "") -> int:
    """Says on stderr why an answer is not focused, what to do and what to beware of; returns the exit code.

    Args:
        result: The answer.
        accepted: The risk that is accepted.
        stack: What was focused, if there are several.
    """
    from dioptre.confidence.reasons import EXPLANATIONS, State  # noqa: PLC0415

    focused = result.state is State.FOCUSED
    told = [(_head(one, result), one) for one in result.reasons if not (focused and one in IN_TABLE)]
    told.sort(key=lambda one: one[0] == "beware")
    lines = [f"{head}: {reason.value}: {EXPLANATIONS[reason]}" for head, reason in told]
    if result.state is State.UNCERTAIN:
        lines.insert(0, f"uncertain: {_doubt(result, accepted)}")
    elif result.state is State.FAILED and "failed" not in dict(told):
        lines.insert(0, "failed: nothing tells where the focus is")
    for line in lines:
        sys.stderr.write(f"{one_line(stack)}: {line}\n" if stack else f"{line}\n")
    return FOCUSED if focused else NOT_FOCUSED


def _head(reason: "Reason", result: "FocusResult") -> str:
    """Returns what a reason is to a result: why it failed, why it is uncertain, or what to beware of."""
    from dioptre.confidence.reasons import WARNINGS, State  # noqa: PLC0415

    if reason in WARNINGS or result.state is State.FOCUSED:
        return "beware"
    return "failed" if result.state is State.FAILED else "because"


def _doubt(result: "FocusResult", accepted: float) -> str:
    """Returns how sure an answer is that is uncertain, and which --risk takes it."""
    answer = f"slice {result.index}" if result.unit == "slice" else place(result)
    likely = "is probably right" if result.confidence > PROBABLE else "is the best guess"
    risk = risk_in_words(result.risk)
    takes = f": --risk {risk} takes it" if accepted < result.risk < 1 else ""
    return f"{answer} {likely} (risk {risk}, you accept {accepted:g}){takes}"


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
