"""The shipped depth network from nothing: its wide pictures simulated, its training, its file.

    OUT/stores/wide                wide pictures
    OUT/runs/learned-depth         the training
    OUT/weights/learned-depth.onnx the network

What is finished is not done again; what was stopped goes on.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

from dioptre.errors import FileError
from dioptre.methods.depth_network import KIND
from dioptre.pipeline.depth_images import WideSimulation, simulate_wide
from dioptre.pipeline.executors import local_executor
from dioptre.store.manifest import MANIFEST, plain_json
from dioptre.train.depth import load_depth, train_depth
from dioptre.train.depth_export import export_depth
from dioptre.train.depth_recipe import DepthRecipe
from dioptre.train.export import Exported
from dioptre.train.fit import Progress, Watch
from dioptre.train.folder import ValidationResult

NAME: Final = KIND
PICTURES: Final = WideSimulation(130, 110, textures="skimage")
RECIPE: Final = DepthRecipe()


def train_learned_depth(
    out: Path,
    device: str,
    watch: Watch | None,
    done: Callable[[int, int], None],
    say: Callable[[str], None],
    pictures: WideSimulation = PICTURES,
    recipe: DepthRecipe = RECIPE,
) -> Exported:
    """Makes the depth network and returns what its export found.

    Args:
        out: The folder.
        device: Where it is trained.
        watch: Told now and then where the training is.
        done: Told how far the simulation is.
        say: Told in words what begins.
        pictures: What it learns from.
        recipe: How.
    """
    store, run = out / "stores" / "wide", out / "runs" / NAME
    if not (store / MANIFEST).exists():
        say("simulating wide")
        with local_executor() as executor:
            simulate_wide(store, pictures, executor, done)
    if not (run / MANIFEST).exists():
        say(f"training {NAME}")
        train_depth(store, run, recipe, device, _told(watch))
    elif load_depth(run)[1]["recipe"] != plain_json("recipe", asdict(recipe)):
        raise FileError(f"{run} was trained with another recipe; delete it first")
    return export_depth(run, out / "weights" / f"{NAME}.onnx")


def _told(watch: Watch | None) -> Callable[[int, int, float, ValidationResult | None], None]:
    def told(step: int, steps: int, loss: float, validation: ValidationResult | None) -> None:
        if watch is not None:
            watch(Progress(step, steps, loss, validation))

    return told
