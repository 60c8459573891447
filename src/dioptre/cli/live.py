"""What a run does, on the terminal, a line a step: position, sharpness, answer, and the curve so far."""

import sys
from typing import TYPE_CHECKING

from dioptre.cli.focus_result import sparkline

if TYPE_CHECKING:
    from dioptre.focusing.trace import Step

MOST = 64  # columns of a curve
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
    """Returns a step as one line: when, why, where, what it says, and the curve so far."""
    own = "" if step.position is None else f" ({step.position:g} {step.unit})"
    parts = [f"{step.seconds:7.2f} s", f"{step.act.value:<8}", f"{f'{step.index}{own}':<5}"]
    parts.append(curve(scores, step.index))
    if step.answer is not None:
        sure = "" if step.confidence is None else f", confidence {step.confidence:.2f}"
        parts.append(f"go to {step.answer}{sure}")
    if step.note:
        parts.append(step.note)
    return "  ".join(parts)


def curve(scores: list[float], here: int) -> str:
    """Returns the scores of a ladder as one line of block characters, at most MOST of them.

    The lens is in brackets. Where several positions share a column, the highest score counts; there is a dot
    where there is none.
    """
    columns = min(len(scores), MOST)
    highest = [float("-inf")] * columns
    for at, score in enumerate(scores):
        column = at * columns // len(scores)
        highest[column] = max(highest[column], score)
    text, at = sparkline(highest, NOTHING), here * columns // len(scores)
    return f"{text[:at]}[{text[at]}]{text[at + 1 :]}"
