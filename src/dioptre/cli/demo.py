"""`dioptre demo`: everything on a small simulated test set."""

from dataclasses import dataclass
from pathlib import Path

from dioptre.cli.console import DONE, open_console, progress


@dataclass(frozen=True)
class Demo:
    """Run every method on a small simulated test set, print the tables, and draw a focus curve.

    Attributes:
        out: Folder to write tables.md, tables.json and focus_curve.png to.
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
    from dioptre.cli.report import print_tables  # noqa: PLC0415
    from dioptre.pipeline.demo import demo  # noqa: PLC0415
    from dioptre.pipeline.processes import local_executor  # noqa: PLC0415

    with (
        progress("simulating and predicting", quiet=False) as moved,
        local_executor(config.workers) as executor,
    ):
        found = demo(config.out, config.patches, config.seed, executor, lambda _, n, of: moved(n, of))
    console = open_console()
    console.print(f"{config.patches} simulated patches (seed {config.seed}), not real captures", markup=False)
    print_tables(found.rows)
    for name, result in (("textured plane", found.good), ("blank wall", found.blank)):
        reasons = ", ".join(reason.value for reason in result.reasons) or "no complaints"
        sure = f"confidence {result.confidence:.2f}, {reasons}"
        console.print(f"{name}: {result.state.value} at slice {result.index}, {sure}")
    files = "tables.md, tables.json"
    files += " and focus_curve.png" if found.drawn else " (a picture needs 'dioptre[figures]')"
    console.print(f"(the plane is at slice {found.truth}; wrote {files} to {config.out}/)", markup=False)
    return DONE
