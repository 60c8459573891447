"""`dioptre simulate`: a store of simulated patches."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dioptre.cli.console import DONE, progress
from dioptre.pipeline.settings import Simulation


@dataclass(frozen=True)
class Simulate:
    """Write a store of labelled patches: simulated dual-pixel focal stacks with known focus.

    A run that was stopped goes on where it was. The same seed gives the same bytes, whatever the workers.

    Attributes:
        out: Folder of the store.
        simulation: What to simulate.
        workers: Processes; 0 for one a core.
    """

    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    simulation: Annotated[Simulation, tyro.conf.OmitArgPrefixes]
    workers: int = 0


def run_simulate(config: Simulate) -> int:
    """Writes a store of simulated patches."""
    from dioptre.pipeline.processes import local_executor  # noqa: PLC0415
    from dioptre.pipeline.simulate import simulate  # noqa: PLC0415

    with progress("simulating", quiet=False) as moved, local_executor(config.workers) as executor:
        simulate(config.out, config.simulation, executor, moved)
    sys.stdout.write(f"wrote {config.simulation.patches} patches to {config.out}\n")
    return DONE
