"""`dioptre report`: tables of predictions."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from dioptre.cli.console import DONE, open_console

if TYPE_CHECKING:
    from dioptre.evaluate.tables import Line


@dataclass(frozen=True)
class Report:
    """Measure predictions and print the tables; tables.md and tables.json hold them.

    Attributes:
        predictions: Folder that `dioptre predict` wrote.
        out: Folder of the tables.
        json: Print tables.json.
    """

    predictions: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PREDICTIONS")]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    json: bool = False


def run_report(config: Report) -> int:
    """Writes and prints tables."""
    from dioptre.pipeline.reporting import JSON, report  # noqa: PLC0415

    rows = report(config.predictions, config.out)
    if config.json:
        sys.stdout.write((config.out / JSON).read_text(encoding="utf-8"))
    else:
        print_tables(rows)
    return DONE


def print_tables(rows: "Sequence[Line]") -> None:
    """Prints the tables of all problems."""
    from rich.table import Table  # noqa: PLC0415

    from dioptre.evaluate.metrics import COLUMNS, PROBLEM_ORDER  # noqa: PLC0415
    from dioptre.evaluate.tables import TITLES  # noqa: PLC0415

    console = open_console()
    for problem in PROBLEM_ORDER:
        mine = [row for row in rows if row.problem is problem]
        if not mine:
            continue
        table = Table(title=f"{problem}: {TITLES[problem]}", box=None, padding=(0, 1, 0, 0))
        for column in ("method", "looks", *COLUMNS, "paper"):
            table.add_column(column, no_wrap=True, justify="left" if column == "method" else "right")
        for row in mine:
            table.add_row(
                row.method,
                "all" if row.steps == 0 else str(row.steps),
                *(f"{number:.2f}" for number in row.ours.numbers),
                f"{row.paper.mae:.2f}" if row.paper else "",
            )
        console.print(table)
    console.print("The last column is the MAE that the paper prints, on its own data.")
