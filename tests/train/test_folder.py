import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from dioptre.errors import FileError
from dioptre.grid import FocusGrid
from dioptre.methods.learned import Learned
from dioptre.store.manifest import hash_file, write_json
from dioptre.store.patches import PatchStore, StoreFormat
from dioptre.train.export import export
from dioptre.train.fit import train
from dioptre.train.folder import BEST, ValidationResult, open_run, restoring, save_state
from dioptre.train.networks import NETWORKS
from dioptre.train.recipe import BuildsOn, Recipe, RunSettings

TINY = Recipe(network="move", width=0.25, steps=2, batch=8)
QUICK = RunSettings(validate_every=2, validate_patches=8)


def test_the_lineage_of_a_network_reaches_to_the_first_run(store: PatchStore, tmp_path: Path) -> None:
    train([store.path], tmp_path / "first", TINY, QUICK)
    train([store.path], tmp_path / "second", replace(TINY, seed=1), QUICK, BuildsOn(tmp_path / "first"))
    third = replace(TINY, seed=2, distillation=0.5)
    runs = BuildsOn(start_from=tmp_path / "second", teacher=tmp_path / "first")
    train([store.path], tmp_path / "third", third, QUICK, runs)
    export(tmp_path / "third", tmp_path / "third.onnx")
    card = Learned(tmp_path / "third.onnx").card
    lineage = card.lineage
    hashes = {name: hash_file(tmp_path / name / BEST) for name in ("first", "second", "third")}
    assert lineage["weights"] == hashes["third"]
    assert lineage["data"] == [store.manifest["sha256"]]
    assert lineage["recipe"] == card.recipe == third.to_json()
    assert lineage["start_from"]["weights"] == hashes["second"]
    assert lineage["start_from"]["start_from"]["weights"] == lineage["teacher"]["weights"] == hashes["first"]
    assert lineage["start_from"]["start_from"]["start_from"] is None
    assert lineage["after"] == []
    assert json.loads(card.to_json())["lineage"] == lineage


def test_a_run_is_not_resumed_on_other_weights_of_the_same_recipe(store: PatchStore, tmp_path: Path) -> None:
    train([store.path], tmp_path / "first", TINY, QUICK)

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    on = BuildsOn(tmp_path / "first")
    with pytest.raises(KeyboardInterrupt):
        train([store.path], tmp_path / "second", TINY, QUICK, on, watch=stop)
    manifest = tmp_path / "first" / "manifest.json"
    entries = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**entries, "weights": "0" * 64}))
    with pytest.raises(ValueError, match="start_from weights"):
        train([store.path], tmp_path / "second", TINY, QUICK, on)


def test_a_folder_of_something_else_is_no_run(store: PatchStore, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds patches, not a training"):
        open_run(store.path)
    train([store.path], tmp_path / "old", TINY, QUICK)
    manifest = tmp_path / "old" / "manifest.json"
    entries = json.loads(manifest.read_text())
    del entries["weights"]
    manifest.write_text(json.dumps(entries))
    with pytest.raises(ValueError, match="no lineage"):
        open_run(tmp_path / "old")


def test_the_network_of_a_run_has_its_best_weights(store: PatchStore, tmp_path: Path) -> None:
    train([store.path], tmp_path / "run", TINY, QUICK)
    run = open_run(tmp_path / "run")
    network = run.network()
    assert not network.training
    for name, one in run.weights().items():
        assert torch.equal(network.state_dict()[name], one)
    assert (run.looks, run.positions, run.recipe) == (1, 7, TINY)


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    recipe, folder = Recipe(network="move", width=0.25), tmp_path / "run"
    folder.mkdir()
    form = StoreFormat(FocusGrid.uniform(10.0, 0.1, 5), 16, 2, 0.0, 1.0)
    save_state(folder / "best.pt", NETWORKS["move"].build(5, 2, 0.25).state_dict())
    entries = {
        "kind": "training",
        "recipe": recipe.to_json(),
        "data": ["0" * 64],
        "format": form.to_json(),
        "start_from": None,
        "after": [],
        "teacher": None,
        "weights": hash_file(folder / "best.pt"),
        "validation": asdict(ValidationResult(1, 0.5, 1.5)),
    }
    write_json(folder / "manifest.json", entries)
    return folder


@pytest.mark.parametrize("content", [b"", b"hello\n", "cut", {}, {"step": 1}, [1], {"a": torch.zeros(2)}])
def test_weights_that_are_none_are_refused_with_their_file(finished: Path, content: object) -> None:
    path = finished / "best.pt"
    assert open_run(finished).network()
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "cut":
        path.write_bytes(path.read_bytes()[:2000])
    else:
        torch.save(content, path)
    with pytest.raises(FileError, match=r"best\.pt"):
        open_run(finished).network()


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("recipe", None),
        ("recipe", {"problem": "X9"}),
        ("recipe", {"problem": "D1", "width": 2**31}),
        ("format", {}),
        ("format", None),
        ("data", 3),
        ("after", None),
        ("validation", []),
        ("validation", {"step": 1, "loss": "much", "mae": 1.0}),
        ("weights", "abc"),
    ],
)
def test_a_run_that_cannot_be_is_refused_with_its_file(finished: Path, entry: str, value: object) -> None:
    path = finished / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, entry: value}))
    with pytest.raises(FileError, match=r"manifest\.json does not describe a training's folder"):
        open_run(finished)
    del manifest[entry]
    path.write_text(json.dumps(manifest))
    with pytest.raises(FileError, match="run"):
        open_run(finished)


def test_a_checkpoint_that_does_not_fit_is_refused_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    with pytest.raises(FileError, match=r"checkpoint\.pt does not fit the network"), restoring(path):
        NETWORKS["move"].build(5, 2, 0.25).load_state_dict({"x": torch.zeros(3)})
    with pytest.raises(FileError, match="does not fit"), restoring(path):
        _ = {}["step"]
