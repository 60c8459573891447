import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from dioptre.dataset.store import PatchStore
from dioptre.methods.base import ANY, WHOLE, Problem
from dioptre.methods.learned import METADATA, Learned
from dioptre.stack import FocalStack
from dioptre.train import export as exporting
from dioptre.train.export import export, export_int8, torch_belief
from dioptre.train.fit import load_network, train
from dioptre.train.network import answers
from dioptre.train.recipe import Practice, Recipe

QUICK = Practice(validate_every=30, validate_patches=16)
RECIPES = {
    "one-hot": Recipe(network="one-hot", width=0.25, steps=30, batch=8),
    "move": Recipe(network="move", width=0.25, steps=30, batch=8, problem=Problem.SINGLE_GREEN),
    "looks": Recipe(network="looks", width=0.25, steps=30, batch=8),
    "stack": Recipe(network="one-hot", width=0.25, steps=30, batch=8, problem=Problem.STACK_GREEN),
}


@pytest.fixture(scope="module", params=list(RECIPES))
def run(request: pytest.FixtureRequest, store: PatchStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / request.param
    train([store.path], out, RECIPES[request.param], QUICK)
    return out


def looks_of(store: PatchStore, name: str) -> FocalStack:
    rows = [1, 2, 3, 5]
    indices = {"one-hot": [[3], [0], [6], [2]], "move": [[3], [0], [6], [2]], "looks": [3, 1, 5]}.get(name)
    stack = store.stack(rows, None if indices is None else np.array(indices))
    return stack.green() if RECIPES[name].views == 1 else stack


@pytest.mark.parametrize("half", [False, True])
def test_the_file_answers_as_torch_does(run: Path, store: PatchStore, tmp_path: Path, half: bool) -> None:
    found = export(run, tmp_path / "model.onnx", half)
    stack = looks_of(store, run.name)
    found_belief = Learned(tmp_path / "model.onnx").belief(stack)
    expected = torch_belief(load_network(run), stack)
    np.testing.assert_allclose(np.exp(found_belief), np.exp(expected), atol=0.02 if half else 1e-5)
    assert found.bytes == (tmp_path / "model.onnx").stat().st_size
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


def test_half_precision_halves_the_file(run: Path, tmp_path: Path) -> None:
    full, half = (export(run, tmp_path / f"{half}.onnx", half).bytes for half in (False, True))
    assert half < 0.62 * full


def test_the_file_explains_itself(run: Path, store: PatchStore, tmp_path: Path) -> None:
    export(run, tmp_path / "model.onnx")
    properties = {one.key: one.value for one in onnx.load(tmp_path / "model.onnx").metadata_props}
    card = json.loads(properties[METADATA])
    recipe = RECIPES[run.name]
    assert card["dioptres"] == store.format.grid.dioptres.tolist()
    assert card["problem"] == str(recipe.problem)
    assert card["views"] == recipe.views
    assert card["looks"] == {"looks": ANY, "stack": WHOLE}.get(run.name, 1)
    assert card["data"] == [store.manifest["sha256"]]
    assert "linear" in card["pixels"]
    assert card["decide"] == ("mode" if recipe.network == "one-hot" else "median")


def test_the_file_decides_as_training_does(run: Path, store: PatchStore, tmp_path: Path) -> None:
    export(run, tmp_path / "model.onnx")
    network, stack = load_network(run), looks_of(store, run.name)
    belief = torch.from_numpy(torch_belief(network, stack))
    found = Learned(tmp_path / "model.onnx").scores(stack)
    assert found.argmax(axis=1).tolist() == answers(network, belief).tolist()


def test_a_file_that_answers_otherwise_gets_no_name(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "compare", lambda *_: 0.5)
    with pytest.raises(ValueError, match=r"differ from torch's by 0\.5"):
        export(run, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_integers_are_near_enough(run: Path, store: PatchStore, tmp_path: Path) -> None:
    found = export_int8(run, tmp_path / "int8.onnx", store, patches=16)
    assert found.mae is not None
    assert found.torch_mae is not None
    assert abs(found.mae - found.torch_mae) < 1.0
    assert found.bytes < 0.8 * export(run, tmp_path / "full.onnx").bytes
    assert replace(found).path.exists()
