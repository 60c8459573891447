"""`dioptre report`: tables of predictions."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from dioptre.cli.console import DONE, open_console
from dioptre.errors import InputError

if TYPE_CHECKING:
    from dioptre.evaluate.tables import PaperTable


@dataclass(frozen=True)
class Report:
    """Measure predictions: the paper's tables and figures, and index.html with all of them.

    Each folder of predictions knows what it is of: the test set (Tables 1 and 2), registered stacks (3), the
    left phone (4), light and dark (5).

    Attributes:
        folders: Folders that `dioptre predict` wrote, and last the folder to write.
        overwrite: Overwrite files of the same name that a report did not write.
        json: Print tables.json.
    """

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PREDICTIONS... OUT")]
    overwrite: bool = False
    json: bool = False


def run_report(config: Report) -> int:
    """Writes and prints tables."""
    from dioptre.pipeline.reporting import JSON, PAGE, report  # noqa: PLC0415

    if len(config.folders) < 2:
        raise InputError(f"report takes PREDICTIONS... OUT, not {len(config.folders)} folders")
    *predictions, out = config.folders
    tables = report(predictions, out, config.overwrite)
    if config.json:
        sys.stdout.write((out / JSON).read_text(encoding="utf-8"))
    else:
        print_tables(tables)
        sys.stdout.write(f"{out / PAGE}\n")
    return DONE


def print_tables(tables: "Sequence[PaperTable]") -> None:
    """Prints tables, the numbers of each problem under their heads."""
    from rich.table import Table  # noqa: PLC0415

    from dioptre.evaluate.metrics import COLUMNS  # noqa: PLC0415

    console = open_console()
    for table in tables:
        console.print(f"Table {table.number}: {table.title}. {table.about}", markup=False)
        for group in table.groups:
            shown = Table(title=group.title, box=None, padding=(0, 1, 0, 0))
            for column in ("method", "looks", *COLUMNS, "paper"):
                shown.add_column(column, no_wrap=True, justify="left" if column == "method" else "right")
            for line in group.lines:
                numbers = [f"{number:.2f}" for number in line.ours.numbers]
                shown.add_row(line.key, line.looks, *numbers, f"{line.paper.mae:.2f}" if line.paper else "")
            console.print(shown)
    console.print("The last column is the MAE that the paper prints, on its own data.")
