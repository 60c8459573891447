"""`dioptre register`: a store of patches with focal breathing undone."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dioptre.cli.console import DONE, progress
from dioptre.pipeline.settings import Registration, Workers


@dataclass(frozen=True)
class Register:
    """Register the stacks of a store: all slices of a patch then show the same part of the scene.

    Registered patches of a simulated store are smaller, because breathing carries a patch's border out of it.
    Those of an imported one keep their size. A run that was stopped goes on where it was.

    Attributes:
        store: Folder of the store.
        out: Folder of the registered store.
        registration: How to register.
        workers: Who does it.
    """

    store: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="STORE")]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    registration: Annotated[Registration, tyro.conf.OmitArgPrefixes]
    workers: Annotated[Workers, tyro.conf.OmitArgPrefixes]


def run_register(config: Register) -> int:
    """Writes a registered store."""
    from dioptre.pipeline.cluster import open_executor, shared_path  # noqa: PLC0415
    from dioptre.pipeline.registering import register  # noqa: PLC0415

    store, out = (shared_path(path, config.workers) for path in (config.store, config.out))
    with progress("registering", quiet=False) as moved, open_executor(config.workers) as executor:
        found = register(store, out, config.registration, executor, moved)
    sys.stdout.write(
        f"wrote {found.kept} registered patches of {found.size} x {found.size} pixels to {config.out}; "
        f"{found.dropped} could not fill that\n"
    )
    return DONE
