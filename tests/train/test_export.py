import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from dioptre.errors import NetworkError
from dioptre.methods.base import ANY, WHOLE
from dioptre.methods.learned import METADATA, Learned
from dioptre.problem import Problem
from dioptre.stack import FocalStack
from dioptre.store.patches import PatchStore
from dioptre.train import export as exporting
from dioptre.train.export import export, export_int8, torch_posterior, write_figures
from dioptre.train.fit import train
from dioptre.train.folder import BEST, open_run
from dioptre.train.recipe import Recipe, RunSettings
from tests.marks import slow_but

QUICK = RunSettings(validate_every=30, validate_patches=16)
RECIPES = {
    "one-hot": Recipe(network="one-hot", width=0.25, steps=30, batch=8),
    "move": Recipe(network="move", width=0.25, steps=30, batch=8, problem=Problem.SINGLE_GREEN),
    "looks": Recipe(network="looks", width=0.25, steps=30, batch=8),
    "stack": Recipe(network="one-hot", width=0.25, steps=30, batch=8, problem=Problem.STACK_GREEN),
}


@pytest.fixture(scope="module", params=slow_but(["one-hot", "looks"], RECIPES))
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
    learned = Learned(tmp_path / "model.onnx")
    found_posterior = learned.posterior(stack)
    expected = torch_posterior(open_run(run).network(), stack, learned.card)
    tolerance = 0.02 if half else 1e-5
    np.testing.assert_allclose(np.exp(found_posterior.logs), np.exp(expected.logs), atol=tolerance)
    relative = RECIPES[run.name].network != "one-hot"
    assert (found_posterior.beyond_far.max() > 0) == relative
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
    assert card["lineage"]["data"] == [store.manifest["sha256"]]
    assert "linear" in card["pixels"]
    assert card["decision"] == ("mode" if recipe.network == "one-hot" else "median")


def test_figures_stand_in_the_card_and_change_no_answer(run: Path, store: PatchStore, tmp_path: Path) -> None:
    export(run, tmp_path / "model.onnx")
    shutil.copy(tmp_path / "model.onnx", tmp_path / "figured.onnx")
    write_figures(tmp_path / "figured.onnx", {"simulated error": 1.5})
    before, after = Learned(tmp_path / "model.onnx"), Learned(tmp_path / "figured.onnx")
    figured = Learned(shutil.copy(tmp_path / "figured.onnx", tmp_path / "again.onnx"))
    assert before.card.figures == {}
    assert figured.card == replace(before.card, figures={"simulated error": 1.5})
    stack = looks_of(store, run.name)
    np.testing.assert_array_equal(before.posterior(stack).logs, after.posterior(stack).logs)


def test_the_file_decides_as_training_does(run: Path, store: PatchStore, tmp_path: Path) -> None:
    export(run, tmp_path / "model.onnx")
    learned, stack = Learned(tmp_path / "model.onnx"), looks_of(store, run.name)
    expected = torch_posterior(open_run(run).network(), stack, learned.card).scores()
    assert learned.scores(stack).argmax(axis=1).tolist() == expected.argmax(axis=1).tolist()


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


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_network_that_is_not_finite_gets_no_file(
    run: Path, store: PatchStore, tmp_path: Path, value: float
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(run, broken)
    weights = torch.load(broken / BEST, weights_only=True)
    name = next(name for name in weights if name.endswith(("head.weight", "head.1.weight")))
    weights[name][0, 0] = value
    torch.save(weights, broken / BEST)
    with pytest.raises(NetworkError, match=rf"weights {name} are not finite"):
        export(broken, tmp_path / "model.onnx")
    with pytest.raises(NetworkError, match="not finite"):
        export_int8(broken, tmp_path / "model.onnx", store, patches=8)
    assert not (tmp_path / "model.onnx").exists()


def test_a_network_whose_answer_is_not_finite_gets_no_file(run: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(run, broken)
    weights = torch.load(broken / BEST, weights_only=True)
    name = next(name for name in weights if name.endswith(("head.bias", "head.1.bias")))
    weights[name][:] = 3e38  # finite, but not with anything added
    weights[name.replace("bias", "weight")][:] = 3e38
    torch.save(weights, broken / BEST)
    with pytest.raises(NetworkError, match="answer to random looks is not finite"):
        export(broken, tmp_path / "model.onnx")
