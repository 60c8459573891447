"""The depth network from nothing, in small."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from dioptre.errors import FileError, InputError
from dioptre.methods.depth_network import DepthNetwork
from dioptre.methods.disparity import DEPTH
from dioptre.pipeline import depth_images
from dioptre.pipeline.depth_images import WideSimulation
from dioptre.pipeline.depth_training import RECIPE as RECIPE_SHIPPED
from dioptre.pipeline.depth_training import train_learned_depth
from dioptre.resources import THREADS
from dioptre.store.manifest import plain_json
from dioptre.train.depth_recipe import DepthRecipe
from dioptre.train.fit import Progress

PICTURES = WideSimulation(scenes=2, seed=1, size=64)
RECIPE = DepthRecipe(width=0.25, steps=2, batch=1, sizes=(32, 64), validate_every=1)


def test_a_network_is_made_from_nothing_and_nothing_is_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(1)
    monkeypatch.setenv(THREADS, "1")
    monkeypatch.setattr(depth_images, "PER_SCENE", 1)
    monkeypatch.setattr(depth_images, "SURFACES", 1)
    said: list[str] = []
    steps: list[int] = []

    def watch(at: Progress) -> None:
        steps.append(at.step)

    def make(recipe: DepthRecipe = RECIPE) -> Path:
        made = train_learned_depth(tmp_path, "cpu", watch, lambda *_: None, said.append, PICTURES, recipe)
        return made.path

    path = make()
    assert path == tmp_path / "weights" / "learned-depth.onnx"
    assert len(DepthNetwork(path).identity) == 64
    assert said == ["simulating wide", "training learned-depth"]
    assert steps == [1, 2]
    make()
    assert said == ["simulating wide", "training learned-depth"]
    with pytest.raises(FileError, match="another recipe"):
        make(replace(RECIPE, seed=1))


def test_the_shipped_network_is_what_the_recipe_makes() -> None:
    card = DEPTH.card
    assert card["recipe"] == plain_json("recipe", asdict(RECIPE_SHIPPED))
    assert card["validation"]["step"] <= RECIPE_SHIPPED.steps


def test_impossible_pictures_are_refused() -> None:
    with pytest.raises(InputError, match="two scenes"):
        WideSimulation(scenes=1).check()
    with pytest.raises(InputError, match="multiple of 16, not 100"):
        WideSimulation(size=100).check()
