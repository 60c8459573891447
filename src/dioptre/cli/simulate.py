"""`dioptre simulate`: a store of simulated patches, or whole captures of a simulated rig."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dioptre.cli.console import DONE, progress
from dioptre.errors import InputError
from dioptre.pipeline.settings import Captures, Simulation, Workers


@dataclass(frozen=True)
class Simulate:
    """Write a store of labelled patches: simulated dual-pixel focal stacks with known focus.

    A run that was stopped goes on where it was. The same seed gives the same bytes, whatever the workers.

    With --captures, write whole captures instead, in the layout of the published data set, with the depth of
    every pixel: of one phone, or with --rig of five in a cross, for `dioptre reconstruct`.

    Attributes:
        out: Folder of the store, or of the captures.
        simulation: What to simulate.
        captures: Whole captures instead of patches.
        workers: Who does it.
    """

    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    simulation: Annotated[Simulation, tyro.conf.OmitArgPrefixes]
    captures: Annotated[Captures, tyro.conf.OmitArgPrefixes]
    workers: Annotated[Workers, tyro.conf.OmitArgPrefixes]


def run_simulate(config: Simulate) -> int:
    """Writes a store of simulated patches, or whole captures."""
    from dioptre.pipeline.cluster import open_executor, shared_path, shared_simulation  # noqa: PLC0415
    from dioptre.pipeline.simulate import simulate  # noqa: PLC0415
    from dioptre.pipeline.simulate_captures import simulate_captures  # noqa: PLC0415

    out, simulation = (
        shared_path(config.out, config.workers),
        shared_simulation(config.simulation, config.workers),
    )
    captures = config.captures
    if not captures.captures and captures != Captures():
        raise InputError(
            "--rig, --frame, --spacing-mm and --binned are about whole captures: say how many, --captures N"
        )
    with progress("simulating", quiet=False) as moved, open_executor(config.workers) as executor:
        if captures.captures:
            simulate_captures(out, simulation, captures, executor, moved)
            sys.stdout.write(f"wrote {captures.captures} captures to {config.out}\n")
            return DONE
        simulate(out, simulation, executor, moved)
    sys.stdout.write(f"wrote {config.simulation.patches} patches to {config.out}\n")
    return DONE
