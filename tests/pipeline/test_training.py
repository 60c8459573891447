"""A tiny catalogue, from nothing to files."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from dioptre.methods.learned import Learned
from dioptre.store.patches import open_patches

torch = pytest.importorskip("torch")

from dioptre.pipeline.recipes import Catalogue, RegisteredStore, ShippedNetwork, TrainingStage
from dioptre.pipeline.settings import Simulation
from dioptre.pipeline.training import train_shipped
from dioptre.posterior import Decision
from dioptre.problem import Problem
from dioptre.resources import THREADS
from dioptre.train.recipe import Recipe, RunSettings
from tests.marks import slow

STORES = {
    "patches": Simulation(2, 1, split="train"),
    "others": Simulation(2, 2, split="validation"),
    "still": RegisteredStore("patches"),
    "still-others": RegisteredStore("others"),
}
STILL = ("still", "still-others")
BOTH = ("patches", "others")
QUICK = RunSettings(validate_every=2, validate_patches=2)
MOVE = Recipe(network="move", width=0.25, steps=2, batch=2)
LOOKS = replace(MOVE, network="looks", frozen=True)
LATER = replace(MOVE, network="one-hot", distillation=0.5, crops=0.5)
STACK = replace(MOVE, network="one-hot", problem=Problem.STACK_GREEN, shared_stem=True, target="optics")
TINY = Catalogue(
    STORES,
    (
        ShippedNetwork(
            (
                TrainingStage("begun", MOVE, BOTH, settings=QUICK),
                TrainingStage("move", replace(MOVE, target="optics"), BOTH, "begun", settings=QUICK),
            )
        ),
        ShippedNetwork((TrainingStage("looks", LOOKS, BOTH, "move", settings=QUICK),), half=False),
        ShippedNetwork((TrainingStage("stack", STACK, STILL, settings=QUICK),), shipped=False),
        ShippedNetwork(
            (TrainingStage("step", LATER, BOTH, "", ("move",), "begun", QUICK),), decision=Decision.MEDIAN
        ),
    ),
)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)  # pytest runs on all cores already
    monkeypatch.setenv(THREADS, "1")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recipes")


def run(name: str, out: Path) -> list[str]:
    """Makes a network and returns what was said."""
    said: list[str] = []
    found = train_shipped(name, out, RunSettings(), say=said.append, catalogue=TINY)
    assert found.path == out / "weights" / f"{name}.onnx"
    return said


@slow
def test_a_network_is_made_from_nothing_and_nothing_is_made_twice(out: Path) -> None:
    assert run("looks", out) == [
        "simulating patches",
        "simulating others",
        "training begun",
        "training move",
        "training looks",
    ]
    card = Learned(out / "weights" / "looks.onnx").card
    stores = [open_patches(out / "stores" / name).manifest["sha256"] for name in BOTH]
    assert card.lineage["data"] == stores
    assert card.lineage["start_from"]["start_from"]["recipe"] == MOVE.to_json()
    assert run("looks", out) == []
    assert run("step", out) == ["training step"]
    step = Learned(out / "weights" / "step.onnx").card
    assert (step.looks, step.decision) == (2, Decision.MEDIAN)
    assert step.lineage["after"] == [card.lineage["start_from"]]
    assert step.lineage["teacher"] == card.lineage["start_from"]["start_from"]


def test_a_network_for_registered_stacks_has_their_size(out: Path) -> None:
    run("move", out)
    assert run("stack", out) == ["registering still", "registering still-others", "training stack"]
    stores = [open_patches(out / "stores" / name) for name in STILL]
    learned = Learned(out / "weights" / "stack.onnx")
    assert {store.format.size for store in stores} == {learned.card.size}
    assert learned.card.lineage["data"] == [store.manifest["sha256"] for store in stores]
    assert learned.posterior(stores[0].stack([0]).green()).logs.shape == (1, 51)


def test_what_a_network_builds_on_can_come_from_a_file(out: Path, tmp_path: Path) -> None:
    run("move", out)
    said: list[str] = []
    (tmp_path / "stores").symlink_to(out / "stores")
    train_shipped("looks", tmp_path, RunSettings(), say=said.append, catalogue=TINY, shipped=out / "weights")
    assert said == ["taking move from its file", "training looks"]
    begun = Learned(tmp_path / "weights" / "looks.onnx").card.lineage["start_from"]
    assert begun["recipe"] == Learned(out / "weights" / "move.onnx").card.recipe
    assert begun["start_from"]["recipe"] == MOVE.to_json()


def test_a_run_of_another_recipe_is_not_taken_for_a_stage(out: Path) -> None:
    run("move", out)
    stages = tuple(replace(stage, recipe=replace(stage.recipe, seed=5)) for stage in TINY.networks[0].stages)
    other = Catalogue(STORES, (ShippedNetwork(stages),))
    with pytest.raises(ValueError, match="another recipe than that of begun"):
        train_shipped("move", out, RunSettings(), catalogue=other)


def test_a_recipe_runs_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="in one process"):
        train_shipped("move", tmp_path, RunSettings(), catalogue=TINY)
