"""`dioptre simulate`: a store of simulated patches."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from dioptre.cli.console import progress
from dioptre.errors import InputError


@dataclass(frozen=True)
class Simulate:
    """Write a store of labelled patches: simulated dual-pixel focal stacks with known focus.

    A run that was stopped goes on where it was. The same seed gives the same bytes, whatever the workers.
    """

    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    """Folder of the store."""

    patches: int = 2000
    """How many patches."""

    seed: int = 0
    """Seed of everything."""

    camera: Annotated[str, tyro.conf.arg(metavar="CAMERA")] = "pixel3"
    """pixel3, or a TOML file that describes a camera (docs/data.md)."""

    device: Literal["center", "left", "random"] = "center"
    """Which phone of the rig, or another one in every scene."""

    light: Literal["mixed", "normal", "dark", "both"] = "mixed"
    """Normal or low light; both for every scene in both, one after the other."""

    split: Literal["mixed", "train", "validation", "test"] = "mixed"
    """The split that the scenes belong to; no texture is in two splits."""

    prior: Annotated[str, tyro.conf.arg(metavar="PRIOR")] = "even"
    """Depths over the ladder: even; far, ever fewer towards its near end, as in the published data; weights
    such as 3,2,1, far to near; or a file of them."""

    beyond: float | None = None
    """Share of patches farther or nearer than the ladder reaches; by default a few for training."""

    featureless: float | None = None
    """Share of patches with nothing to focus on, likewise."""

    textures: Annotated[str, tyro.conf.arg(metavar="DIR")] = ""
    """Folder of photographs to paint surfaces with, beside leaves and print; skimage for scikit-image's."""

    exact_lens: bool = False
    """Let the lens go exactly where it is told, its axis stay where it is, and blur grow as a thin lens's."""

    processed: bool = False
    """Put pictures through a tone curve and JPEG, for networks that will see such pictures."""

    workers: int = 0
    """Processes; 0 for one a core."""


def run_simulate(config: Simulate) -> int:
    """Writes a store of simulated patches."""
    from dioptre.methods.measure import workers  # noqa: PLC0415
    from dioptre.pipeline.simulate import Simulation, simulate  # noqa: PLC0415

    if config.patches < 1 or config.workers < 0:
        raise InputError(f"--patches and --workers are positive, not {config.patches} and {config.workers}")
    settings = {name: getattr(config, name) for name in Simulation.__dataclass_fields__}
    with progress("simulating", quiet=False) as moved:
        simulate(config.out, Simulation(**settings), config.workers or workers(), moved)
    sys.stdout.write(f"wrote {config.patches} patches to {config.out}\n")
    return 0
