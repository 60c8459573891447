"""`dioptre register`: a store of patches with focal breathing undone."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from dioptre.cli.console import progress
from dioptre.errors import InputError


@dataclass(frozen=True)
class Register:
    """Register the stacks of a store: all slices of a patch then show the same part of the scene.

    Registered patches of a simulated store are smaller, because breathing carries a patch's border out of it.
    Those of an imported one keep their size. A run that was stopped goes on where it was.
    """

    store: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="STORE")]
    """Folder of the store."""

    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    """Folder of the registered store."""

    how: Literal["calibrated", "searched"] = "calibrated"
    """By the focus distances, or by a search from there for what makes neighbouring slices alike."""

    camera: Annotated[str, tyro.conf.arg(metavar="CAMERA")] = "pixel3"
    """pixel3, or a TOML file that describes a camera (docs/data.md)."""

    principal_point: Annotated[str, tyro.conf.arg(metavar="X,Y")] = "0,0"
    """What the image is magnified about, in pixels right of and below the centre of the frame."""

    size: int = 0
    """Rows and columns of a registered patch; 0 for as many as imported patches have, or for the largest
    multiple of 8 that every simulated one can fill."""

    workers: int = 0
    """Processes; 0 for one a core."""


def run_register(config: Register) -> int:
    """Writes a registered store."""
    from dioptre.methods.measure import workers  # noqa: PLC0415
    from dioptre.pipeline.registering import Registration, register  # noqa: PLC0415

    if config.size < 0 or config.workers < 0:
        raise InputError(f"--size and --workers are positive, not {config.size} and {config.workers}")
    point = parse_point(config.principal_point)
    registration = Registration(config.how, config.camera, point, config.size)
    with progress("registering", quiet=False) as moved:
        found = register(config.store, config.out, registration, config.workers or workers(), moved)
    sys.stdout.write(
        f"wrote {found.kept} registered patches of {found.size} x {found.size} pixels to {config.out}; "
        f"{found.dropped} could not fill that\n"
    )
    return 0


def parse_point(text: str) -> tuple[float, float]:
    """Returns "x,y" as two numbers."""
    try:
        x, y = (float(item) for item in text.split(","))
    except ValueError:
        raise InputError(f"--principal-point takes x,y in pixels, not {text!r}") from None
    return x, y
