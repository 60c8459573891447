"""What a run does, on the terminal, a line a frame: when, why and where, and where the focus is by then."""

import sys
import textwrap
from math import floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dioptre.focusing.trace import Step

WIDTH = 80  # columns of a terminal
INDENT = " " * 11


def print_step(step: "Step", gap: float) -> None:
    """Prints a step of a lens whose positions are so far apart."""
    sys.stdout.write(step_line(step, gap) + "\n")
    sys.stdout.flush()


def step_line(step: "Step", gap: float) -> str:
    """Returns a step in a line of at most 80 columns; what was out of the ordinary is on lines below.

    `0.07 s  look      40        focus at 42.9 +- 1.5, confidence 0.91`: a frame was taken at 40, and that is
    what is known after it.
    """
    place = position_in_words(step.position, gap)
    line = f"{step.seconds:7.2f} s  {step.act.value:<8}  {place:<8}{_known(step)}".rstrip()
    below = textwrap.wrap(step.note, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
    return "\n".join([line, *below])


def position_in_words(position: float, gap: float) -> str:
    """Returns a position of a lens, to a hundredth of the gap between two of its grid."""
    return f"{round(position, max(0, 2 - floor(log10(gap)))):.10g}"


def _known(step: "Step") -> str:
    """Returns where the focus is by what is known after a step; nothing if nobody asked."""
    if step.answer is None:
        return ""
    unit = "" if step.unit == "slice" else f" {step.unit}"
    sure = "" if step.confidence is None else f", confidence {step.confidence:.2f}"
    return f"  focus at {_with_spread(step.answer, step.spread)}{unit}{sure}"


def _with_spread(answer: float, spread: float | None) -> str:
    """Returns a place and how far off it may be, with as many decimals as two digits of that need."""
    if not spread:
        return f"{answer:.7g}"
    decimals = max(0, 1 - floor(log10(spread)))
    return f"{answer:.{decimals}f} +- {spread:.{decimals}f}"
