"""What a run does, on the terminal, a line a step: position, sharpness, answer, and the curve so far."""

import sys
import textwrap
from typing import TYPE_CHECKING

from dioptre.cli.focus_result import highest, sparkline

if TYPE_CHECKING:
    from dioptre.focusing.trace import Step

WIDTH = 80  # columns of a terminal
INDENT = " " * 11
NOTHING = "·"


def print_step(step: "Step", scores: list[float]) -> None:
    """Prints a step, and remembers how sharp the picture was there.

    Args:
        step: The step.
        scores: The score of each position so far, minus infinity where there is none.
    """
    if step.score is not None:
        scores[step.index] = step.score
    sys.stdout.write(step_line(step, scores) + "\n")
    sys.stdout.flush()


def step_line(step: "Step", scores: list[float]) -> str:
    """Returns a step in a line: when, why, where, and the curve so far; what it says is on a line below."""
    head = f"{step.seconds:7.2f} s  {step.act.value:<8}  {step.position:<6.7g}  "
    said = []
    if step.answer is not None:
        sure = "" if step.confidence is None else f", confidence {step.confidence:.2f}"
        said.append(f"go to {step.answer:g}{sure}")
    if step.note:
        said.append(step.note)
    line = head + curve(scores, step.index, WIDTH - len(head))
    below = textwrap.wrap("; ".join(said), WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
    return "\n".join([line, *below])


def curve(scores: list[float], here: int, width: int) -> str:
    """Returns the scores of a grid as one line of block characters.

    The lens is in brackets. Where several positions share a column, the highest score counts; there is a dot
    where there is none.
    """
    text = sparkline(highest(scores, width - 2), NOTHING)
    at = here * len(text) // len(scores)
    return f"{text[:at]}[{text[at]}]{text[at + 1 :]}"
