"""`dioptre register`: a store of patches with focal breathing undone."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dioptre.cli.console import DONE, progress
from dioptre.pipeline.settings import Registration


@dataclass(frozen=True)
class Register:
    """Register the stacks of a store: all slices of a patch then show the same part of the scene.

    Registered patches of a simulated store are smaller, because breathing carries a patch's border out of it.
    Those of an imported one keep their size. A run that was stopped goes on where it was.

    Attributes:
        store: Folder of the store.
        out: Folder of the registered store.
        registration: How to register.
        workers: Processes; 0 for one a core.
    """

    store: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="STORE")]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    registration: Annotated[Registration, tyro.conf.OmitArgPrefixes]
    workers: int = 0


def run_register(config: Register) -> int:
    """Writes a registered store."""
    from dioptre.pipeline.processes import local_executor  # noqa: PLC0415
    from dioptre.pipeline.registering import register  # noqa: PLC0415

    with progress("registering", quiet=False) as moved, local_executor(config.workers) as executor:
        found = register(config.store, config.out, config.registration, executor, moved)
    sys.stdout.write(
        f"wrote {found.kept} registered patches of {found.size} x {found.size} pixels to {config.out}; "
        f"{found.dropped} could not fill that\n"
    )
    return DONE
