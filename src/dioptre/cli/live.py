"""What a run does, on the terminal, a line a step: position, sharpness, answer, and the curve so far."""

import sys
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dioptre.loop.journal import Step

BARS = "▁▂▃▄▅▆▇█"
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
    held: list[list[float]] = [[] for _ in range(columns)]
    for at, score in enumerate(scores):
        if isfinite(score):
            held[at * columns // len(scores)].append(score)
    known = [max(one) for one in held if one]
    low, span = (min(known), (max(known) - min(known)) or 1.0) if known else (0.0, 1.0)
    top = len(BARS) - 1
    text = [BARS[int((max(one) - low) / span * top)] if one else NOTHING for one in held]
    at = here * columns // len(scores)
    return "".join(text[:at]) + f"[{text[at]}]" + "".join(text[at + 1 :])
