"""`dioptre demo`: everything on a small simulated test set."""

import sys
from dataclasses import dataclass
from pathlib import Path

from dioptre.cli.console import DONE, open_console, progress, staged


@dataclass(frozen=True)
class Demo:
    """Run every method on a small simulated test set, print the tables, and write a page of all of it.

    Attributes:
        out: Folder to write index.html, the tables and the figures to; nothing is written elsewhere.
        patches: How many patches to simulate.
        seed: Seed of the simulation; the same seed gives the same tables.
        workers: Processes; 0 for one a core.
    """

    out: Path = Path("demo")
    patches: int = 48
    seed: int = 0
    workers: int = 0


def run_demo(config: Demo) -> int:
    """Runs the demo and prints its tables."""
    from dioptre.cli.focus_result import in_colour  # noqa: PLC0415
    from dioptre.cli.report import print_tables  # noqa: PLC0415
    from dioptre.pipeline.demo import demo  # noqa: PLC0415
    from dioptre.pipeline.executors import local_executor  # noqa: PLC0415
    from dioptre.pipeline.reporting import PAGE  # noqa: PLC0415

    with progress("demo", quiet=False) as moved, local_executor(config.workers) as executor:
        found = demo(config.out, config.patches, config.seed, executor, staged(moved))
    console = open_console()
    for name, result in (("textured plane", found.good), ("blank wall", found.blank)):
        reasons = ", ".join(reason.value for reason in result.reasons) or "no complaints"
        sure = f"confidence {result.confidence:.2f}, {reasons}"
        console.print(f"{name}: {in_colour(result.state)} at slice {result.index}, {sure}")
    console.print(f"(the plane is at slice {found.truth})", markup=False)
    print_tables(found.tables)
    if not found.drawn:
        console.print("no figures: they need 'dioptre[figures]'", markup=False)
    sys.stdout.write(f"{config.out / PAGE}\n")
    return DONE
