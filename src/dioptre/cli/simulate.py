"""`dioptre simulate`: a store of simulated patches."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dioptre.cli.console import DONE, progress
from dioptre.pipeline.settings import Simulation, Workers


@dataclass(frozen=True)
class Simulate:
    """Write a store of labelled patches: simulated dual-pixel focal stacks with known focus.

    A run that was stopped goes on where it was. The same seed gives the same bytes, whatever the workers.

    Attributes:
        out: Folder of the store.
        simulation: What to simulate.
        workers: Who does it.
    """

    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    simulation: Annotated[Simulation, tyro.conf.OmitArgPrefixes]
    workers: Annotated[Workers, tyro.conf.OmitArgPrefixes]


def run_simulate(config: Simulate) -> int:
    """Writes a store of simulated patches."""
    from dioptre.pipeline.cluster import open_executor, shared_path, shared_simulation  # noqa: PLC0415
    from dioptre.pipeline.simulate import simulate  # noqa: PLC0415

    out, simulation = (
        shared_path(config.out, config.workers),
        shared_simulation(config.simulation, config.workers),
    )
    with progress("simulating", quiet=False) as moved, open_executor(config.workers) as executor:
        simulate(out, simulation, executor, moved)
    sys.stdout.write(f"wrote {config.simulation.patches} patches to {config.out}\n")
    return DONE
