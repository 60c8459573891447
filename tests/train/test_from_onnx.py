"""A run out of a network's file: it answers as the file does, and can be learned on from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import nn

from dioptre.errors import NetworkError
from dioptre.methods.learned import Learned
from dioptre.problem import Problem
from dioptre.store.patches import PatchStore
from dioptre.train.export import compare, example, export, looks_of, to_tensors
from dioptre.train.fit import train
from dioptre.train.folder import open_run
from dioptre.train.from_onnx import measure_normalisations, recover_network, recover_run
from dioptre.train.recipe import BuildsOn, Recipe, RunSettings
from tests.marks import slow_but

QUICK = RunSettings(validate_every=6, validate_patches=8)
RECIPES = {
    "one-hot": Recipe(network="one-hot", width=0.25, steps=6, batch=8),
    "move": Recipe(network="move", width=0.25, steps=6, batch=8, problem=Problem.SINGLE_GREEN),
    "looks": Recipe(network="looks", width=0.25, steps=6, batch=8),
    "stack": Recipe(network="one-hot", width=0.25, steps=6, batch=8, problem=Problem.STACK_GREEN),
}


@pytest.fixture(scope="module", params=slow_but(["one-hot", "looks"], RECIPES))
def file(request: pytest.FixtureRequest, store: PatchStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    train([store.path], out / "run", RECIPES[request.param], QUICK)
    export(out / "run", out / f"{request.param}.onnx", half=True)
    return out / f"{request.param}.onnx"


def test_the_recovered_run_answers_as_the_file_does(file: Path, store: PatchStore, tmp_path: Path) -> None:
    recover_run(file, store, tmp_path / "run")
    run, learned = open_run(tmp_path / "run"), Learned(file)
    assert compare(learned, run.network(), example(learned.card, 3, seed=5)) < 1e-5
    assert run.recipe == RECIPES[file.stem]
    assert run.entries["recovered"] == learned.identity
    assert run.lineage["data"] == learned.card.lineage["data"]


def test_normalisations_do_the_same_with_the_statistics_of_a_batch(file: Path, store: PatchStore) -> None:
    """What a training sees first: normalised by its own batch, the network says nearly what the file says."""
    network = recover_network(file)
    given = [to_tensors(stack) for stack, _ in looks_of(store, Learned(file).card, "train", 64, batch=64)]
    with torch.no_grad():
        expected = network(*given[0])
        before = _by_the_batch(network, given[0])
        measure_normalisations(network, iter(given))
        after = _by_the_batch(network, given[0])
        network.eval()
        torch.testing.assert_close(network(*given[0]), expected, atol=1e-3, rtol=1e-3)
    assert (after - expected).abs().max() < 0.05 * (before - expected).abs().max() + 0.02


def _by_the_batch(network: nn.Module, given: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """Returns what a network says while it learns, but for dropout."""
    for module in network.train().modules():
        if isinstance(module, nn.Dropout):
            module.eval()
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 0.0
    return network(*given)


def test_a_training_can_begin_with_it(store: PatchStore, tmp_path: Path) -> None:
    recipe = RECIPES["move"]
    train([store.path], tmp_path / "first", recipe, QUICK)
    export(tmp_path / "first", tmp_path / "first.onnx")
    recover_run(tmp_path / "first.onnx", store, tmp_path / "recovered")
    later = replace(recipe, problem=Problem.SINGLE_DUAL_PIXEL)
    train([store.path], tmp_path / "second", later, QUICK, BuildsOn(tmp_path / "recovered"))
    assert open_run(tmp_path / "second").lineage["start_from"] == open_run(tmp_path / "recovered").lineage


def test_a_file_with_a_layer_less_is_refused(store: PatchStore, tmp_path: Path) -> None:
    train([store.path], tmp_path / "run", RECIPES["move"], QUICK)
    export(tmp_path / "run", tmp_path / "move.onnx")
    model = onnx.load(tmp_path / "move.onnx")
    weight = next(one for one in model.graph.initializer if len(one.dims) == 4)
    changed = onnx.numpy_helper.to_array(weight) + np.float32(1)
    weight.CopyFrom(onnx.numpy_helper.from_array(changed, weight.name))
    card = model.metadata_props[0].value.replace('"width": 0.25', '"width": 0.5')
    onnx.helper.set_model_props(model, {"dioptre": card})
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(NetworkError, match="does not hold the weights of its network"):
        recover_network(tmp_path / "other.onnx")
