"""`dioptre methods`: the table of methods."""

import json
import sys
from dataclasses import dataclass

from dioptre.cli.console import DONE, open_console


@dataclass(frozen=True)
class Methods:
    """List the focusing methods.

    Attributes:
        json: Print the list as JSON.
    """

    json: bool = False


def run_methods(config: Methods) -> int:
    """Prints the table of methods."""
    from dioptre.methods import METHODS  # noqa: PLC0415
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
        sys.stdout.write(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return DONE
    from rich.table import Table  # noqa: PLC0415

    table = Table("key", "problem", "looks", "title", "source")
    for row in METHODS.values():
        table.add_row(row.key, row.problem.value, str(words.get(row.looks, row.looks)), row.title, row.source)
    console = open_console()
    console.print(table)
    console.print(
        "I* a stack of green pictures; D* a stack of left and right dual-pixel views; I1 and D1 a few of its "
        "slices.\n"
        "Where a KEY is asked for, the file of a network of yours (.onnx) will do."
    )
    return DONE
