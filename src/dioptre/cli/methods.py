"""`dioptre methods`: the table of methods."""

import json
import sys
from dataclasses import dataclass

from dioptre.cli.console import open_console


@dataclass(frozen=True)
class Methods:
    """List the focusing methods."""

    json: bool = False
    """Print the list as JSON."""


def run_methods(config: Methods) -> int:
    """Prints the table of methods."""
    from dioptre.methods import METHODS  # noqa: PLC0415

    if config.json:
        rows = [
            {
                "key": row.key,
                "title": row.title,
                "problem": row.problem.value,
                "views": row.views,
                "source": row.source,
                "in_paper": row.in_paper,
            }
            for row in METHODS.values()
        ]
        sys.stdout.write(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return 0
    from rich.table import Table  # noqa: PLC0415

    table = Table("key", "problem", "title", "source")
    for row in METHODS.values():
        table.add_row(row.key, row.problem.value, row.title, row.source)
    console = open_console()
    console.print(table)
    console.print("I* a stack of green pictures; D* a stack of left and right dual-pixel views.")
    return 0
