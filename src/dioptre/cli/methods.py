"""`dioptre methods`: the table of methods."""

import sys
import textwrap
from dataclasses import dataclass

from dioptre.cli.console import DONE, print_json

LONGEST = 35  # letters of a title
NOTES = """
    I* a stack of green pictures; D* of left and right dual-pixel views; I1 and D1 a
    few slices of one. Where a KEY is asked for, the file of a network of yours will
    do (.onnx). --json has the sources; docs/algorithms.md says which method when.
    """


@dataclass(frozen=True)
class Methods:
    """List the focusing methods.

    Attributes:
        json: Print the list as JSON.
    """

    json: bool = False


def run_methods(config: Methods) -> int:
    """Prints the table of methods."""
    from dioptre.methods import ALIASES, METHODS  # noqa: PLC0415
    from dioptre.methods.base import ANY, WHOLE  # noqa: PLC0415

    words = {WHOLE: "all", ANY: "any"}

    if config.json:
        rows = [
            {
                "key": row.key,
                "title": row.title,
                "problem": row.problem.value,
                "views": row.views,
                "looks": words.get(row.looks, row.looks),
                "source": row.source,
                "in_paper": row.in_paper,
            }
            for row in METHODS.values()
        ]
        print_json(rows, indent=1)
        return DONE
    lines = [f"{'key':<35}{'for':<4}{'looks':<6}title"]
    for row in METHODS.values():
        looks = str(words.get(row.looks, row.looks))
        lines.append(f"{row.key:<35}{row.problem.value:<4}{looks:<6}{_short(row.title)}")
    sys.stdout.write("\n".join(lines) + "\n" + textwrap.dedent(NOTES))
    names = ", ".join(f"{name} ({key})" for name, key in ALIASES.items())
    sys.stdout.write(textwrap.fill(f"Other names: {names}.", 80, break_on_hyphens=False) + "\n")
    return DONE


def _short(title: str) -> str:
    """Returns a title that leaves a line within 80 columns."""
    return title if len(title) <= LONGEST else title[: LONGEST - 1].rstrip() + "…"
