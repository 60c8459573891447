"""`dioptre bench`: the speed tables."""

import sys
from dataclasses import dataclass
from typing import Annotated

import tyro

from dioptre.bench import TABLES, Table, print_table
from dioptre.cli.console import DONE
from dioptre.errors import MissingExtraError


@dataclass(frozen=True)
class Bench:
    """Print speed tables: what is fast, against what, as ratios in one run.

    All of them take some minutes, and the larger ones some gigabytes of memory and disk.

    Attributes:
        tables: Which; all that the installed libraries allow by default.
    """

    tables: Annotated[tuple[Table, ...], tyro.conf.Positional] = ()


def run_bench(config: Bench) -> int:
    """Prints the tables that are asked for."""
    for name in config.tables or TABLES:
        try:
            sys.stdout.write(f"{name}\n")
            print_table(name)
        except MissingExtraError as error:
            if config.tables:
                raise
            sys.stdout.write(f"left out: {error}\n")
        sys.stdout.write("\n")
    return DONE
