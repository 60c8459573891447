"""What photographs add to simulated scenes: `dioptre-single-green` trained with and without them, in full.

python -m lab.recipes.photographs OUT [SEED ...]

For each seed (0 and 1 unless said) two trainings by the row of `dioptre-single-green`, from nothing: both
learn from the same drawn scenes, phones, light and processing, one with photographs on a part of the surfaces
of three of its four stores and one without. (The row itself begins with the weights of `dioptre-single-dp`,
which has seen photographs; these do not.) OUT/weights gets a file for each; `python -m
lab.recipes.card_figures` and `python -m lab.realism.published_stacks` say what they are worth. What is
finished is not done again.
"""

import sys
from dataclasses import replace
from pathlib import Path

from dioptre.cli.train import calm_the_allocator
from dioptre.pipeline.recipes import (
    PLAIN_GREEN,
    SHIPPED,
    SKIMAGE,
    TWO_VIEWS,
    Catalogue,
    ShippedNetwork,
    TrainingStage,
)
from dioptre.pipeline.settings import Simulation
from dioptre.pipeline.training import train_shipped
from dioptre.train.fit import Progress
from dioptre.train.recipe import RunSettings

ROW = SHIPPED.find("dioptre-single-green").stages[-1]
PROCESSED = Simulation(896, 203, split="train", device="random", processed=True, textures=SKIMAGE)
GREEN = (*TWO_VIEWS, "processed")


def catalogue(seeds: list[int]) -> Catalogue:
    """Returns the trainings as rows."""
    networks = []
    for seed in seeds:
        recipe = replace(ROW.recipe, seed=seed)
        networks += [
            ShippedNetwork((TrainingStage(f"{how}-{seed}", recipe, names, settings=ROW.settings),))
            for how, names in (("with", GREEN), ("without", PLAIN_GREEN))
        ]
    return Catalogue({**SHIPPED.stores, "processed": PROCESSED}, tuple(networks))


def watch(at: Progress) -> None:
    """Says where a training is whenever it was validated."""
    if at.validation is not None:
        print(f"step {at.step} of {at.steps}: mean error {at.validation.mae:.3f} indices", flush=True)


def main() -> None:
    """Trains all."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    calm_the_allocator()
    rows = catalogue([int(seed) for seed in sys.argv[2:]] or [0, 1])
    for network in rows.networks:
        made = train_shipped(network.name, Path(sys.argv[1]), RunSettings(), watch, say=print, catalogue=rows)
        print(f"wrote {made.path}", flush=True)


if __name__ == "__main__":
    main()
