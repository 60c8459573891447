"""`dioptre demo`: everything on a small simulated test set."""

from dataclasses import dataclass
from pathlib import Path

from dioptre.cli.console import open_console, progress


@dataclass(frozen=True)
class Demo:
    """Run every method on a small simulated test set, print the table, and draw a focus curve."""

    out: Path = Path("demo")
    """Folder to write table.md and focus_curve.png to."""

    stacks: int = 24
    """How many stacks to simulate."""

    seed: int = 0
    """Seed of the simulation; the same seed gives the same table."""


def run_demo(config: Demo) -> int:
    """Runs the demo and prints its table."""
    from rich.table import Table  # noqa: PLC0415

    from dioptre.evaluate.metrics import COLUMNS  # noqa: PLC0415
    from dioptre.methods import METHODS  # noqa: PLC0415
    from dioptre.pipeline.demo import demo  # noqa: PLC0415

    if config.stacks < 1:
        raise ValueError(f"--stacks takes a positive number, not {config.stacks}")
    with progress("simulating", quiet=False) as moved:
        found = demo(config.out, config.stacks, config.seed, lambda done: moved(done, config.stacks))
    console = open_console()
    for problem in sorted({METHODS[key].problem for key, _, _ in found.rows}):
        rows = [row for row in found.rows if METHODS[row[0]].problem is problem]
        table = Table(
            title=f"{problem.value}: {config.stacks} simulated stacks", box=None, padding=(0, 1, 0, 0)
        )
        for column in ("method", *COLUMNS, "paper"):
            table.add_column(column, no_wrap=True, justify="left" if column == "method" else "right")
        for key, ours, theirs in sorted(rows, key=lambda row: -row[1].mae):
            numbers = [f"{number:.2f}" for number in ours.numbers]
            table.add_row(key, *numbers, f"{theirs.mae:.2f}" if theirs else "")
        console.print(table)
    console.print("The last column is the MAE that the paper prints, on its own data, which is far harder.")
    for name, result in (("textured plane", found.good), ("blank wall", found.blank)):
        reasons = ", ".join(reason.value for reason in result.reasons) or "no complaints"
        sure = f"confidence {result.confidence:.2f}, {reasons}"
        console.print(f"{name}: {result.state.value} at slice {result.index}, {sure}")
    files = "table.md and focus_curve.png" if found.drawn else "table.md (a picture needs 'dioptre[figures]')"
    console.print(f"(the plane is at slice {found.truth}; wrote {files} to {config.out}/)", markup=False)
    return 0
