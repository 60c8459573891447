"""From a store to a network, predictions and tables, by the command line."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from dioptre.cli import main
from dioptre.cli.console import BAD_INPUT
from dioptre.methods.learned import WEIGHTS, Learned
from dioptre.store.patches import PatchStore
from dioptre.train.recipe import BuildsOn, Recipe, RunSettings

pytest.importorskip("torch")
pytest.importorskip("onnx")
from tests.train.conftest import write_store

TINY = ["--network", "move", "--width", "0.25", "--steps", "4", "--batch", "8"]
QUICK = ["--validate-every", "2", "--validate-patches", "16"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> PatchStore:
    return write_store(tmp_path_factory.mktemp("cli") / "store", 24, seed=2)


def test_the_flags_are_the_recipes_fields(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--help"]) == 0
    said = capsys.readouterr().out
    for one in (*fields(Recipe), *fields(BuildsOn), *fields(RunSettings)):
        assert f"--{one.name.replace('_', '-')}" in said
    assert "exponential moving average" in said  # help texts are the fields' own


def test_an_impossible_recipe_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data", "out", "--network", "move", "--problem", "I*"]) == BAD_INPUT
    assert "one look" in capsys.readouterr().err


def test_a_shipped_network_is_trained_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    asked: list[tuple[str, Path, RunSettings, Path | None]] = []

    def train_shipped(
        name: str, out: Path, settings: RunSettings, *_: object, shipped: Path | None
    ) -> object:
        from dioptre.train.export import Exported  # noqa: PLC0415

        asked.append((name, out, settings, shipped))
        return Exported(out / "weights" / f"{name}.onnx", 1_500_000, 0.0)

    monkeypatch.setattr("dioptre.pipeline.training.train_shipped", train_shipped)
    assert main(["train", "--recipe", "dioptre-any-dp", str(tmp_path), "--device", "cuda"]) == 0
    assert asked.pop() == ("dioptre-any-dp", tmp_path, RunSettings(device="cuda"), None)
    assert "dioptre-any-dp.onnx: 1.50 MB" in capsys.readouterr().out
    assert main(["train", "--recipe", "dioptre-any-dp", str(tmp_path), "--shipped"]) == 0
    assert asked == [("dioptre-any-dp", tmp_path, RunSettings(), WEIGHTS)]
    assert main(["train", str(tmp_path), str(tmp_path / "run"), "--shipped"]) == 2
    assert "--shipped goes with --recipe" in capsys.readouterr().err


def test_train_and_export(store: PatchStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    assert main(["train", str(store.path), str(tmp_path / "run"), *TINY, *QUICK]) == 0
    said = capsys.readouterr().out
    assert "step 2: validation loss" in said
    assert "best at step" in said
    model = tmp_path / "model.onnx"
    assert main(["export", str(tmp_path / "run"), str(model), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["difference"] < 1e-4
    assert Learned(model).card.recipe["network"] == "move"
    integers = ["export", str(tmp_path / "run"), str(tmp_path / "int8.onnx"), "--int8"]
    assert main([*integers, "--data", str(store.path)]) == 0
    assert "indices in integers" in capsys.readouterr().out
    assert main(integers) == BAD_INPUT
    assert "--overwrite replaces it" in capsys.readouterr().err
    assert main([*integers, "--overwrite"]) == BAD_INPUT
    assert "--data" in capsys.readouterr().err
    assert main([*integers, "--overwrite", "--data", str(store.path), "--decision", "mode"]) == BAD_INPUT
    assert "--decision" in capsys.readouterr().err
    likeliest = tmp_path / "likeliest.onnx"
    assert main(["export", str(tmp_path / "run"), str(likeliest), "--decision", "mode"]) == 0
    assert (Learned(likeliest).card.decision, Learned(model).card.decision) == ("mode", "median")


def test_predict_and_report(store: PatchStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    methods = "local-norm-dist-sq-1,census-transform"
    command = ["predict", str(store.path), str(tmp_path / "found"), "--methods", methods]
    assert main([*command, "--split", "validation", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predictions"] == 12
    assert main(["report", str(tmp_path / "found"), str(tmp_path / "tables"), "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    rows = [row for group in table["groups"] for row in group["rows"]]
    assert [row["method"] for row in rows] == methods.split(",")
    assert rows[0]["paper"]["mae"] == 2.526
    assert main(["report", str(tmp_path / "found"), str(tmp_path / "tables")]) == 0
    assert "census-transform" in capsys.readouterr().out
    text = (tmp_path / "tables" / "tables.md").read_text(encoding="utf-8")
    assert "6 imported patches" in text


def test_bad_input_is_a_sentence(
    store: PatchStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")

    def refused(*arguments: str) -> str:
        assert main(list(arguments)) == BAD_INPUT
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said

    path, out = str(store.path), str(tmp_path / "out")
    assert "no folder" in refused("train", str(tmp_path / "nowhere"), out)
    assert "DATA OUT, not 1 folders" in refused("train", path)
    assert "only the folder to write" in refused("train", "--recipe", "dioptre-any-dp", path, out)
    assert "only --device and --precision" in refused("train", "--recipe", "x", out, "--steps", "5")
    assert "there is no recipe 'x'" in refused("train", "--recipe", "x", out)
    assert "holds patches, not a training" in refused("export", path, str(tmp_path / "x.onnx"))
    assert "did you mean census-transform" in refused("predict", path, out, "--methods", "census-transfrom")
    assert "split test" in refused("predict", path, out, "--split", "test")
    assert "0 to 7 starts" in refused("predict", path, out, "--split", "train", "--starts", "9")
    assert "not a folder of predictions" in refused("report", str(tmp_path), out)
    assert "PREDICTIONS... OUT, not 1 folders" in refused("report", out)
    assert not (tmp_path / "out").exists()
