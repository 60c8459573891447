import shutil
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dioptre.errors import DioptreError, FileError
from dioptre.evaluate.examples import read_gallery
from dioptre.evaluate.provenance import Role, origin_from_json
from dioptre.grid import FocusGrid
from dioptre.methods import find_method, learned, scores
from dioptre.methods.learned import WEIGHTS, Learned
from dioptre.pipeline import predicting
from dioptre.pipeline.executors import local_executor
from dioptre.pipeline.predicting import COSTS, EVERYONE, EXAMPLES, PREDICTIONS, predict_store, spread
from dioptre.pipeline.settings import Prediction, Simulation
from dioptre.pipeline.simulate import simulate
from dioptre.store.manifest import read_json, read_manifest
from dioptre.store.parquet import read_parquet
from dioptre.store.patches import StoreFormat, StoreWriter, open_patches

PATCHES = 3
EVERY_KIND = "census-transform,histogram-entropy,l2a-two-step-green,dioptre-any-dp"


class StoppedError(Exception):
    """What a run is stopped by."""


def stop(done: int, _all: int) -> None:
    if done:
        raise StoppedError


def watch(done: int, total: int) -> None:
    assert 0 <= done <= total == PATCHES


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("predicting") / "store"
    simulate(out, Simulation(PATCHES, seed=2, split="test"), None, watch)
    return out


@pytest.fixture(autouse=True)
def one_patch_in_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicting, "PATCHES", 1)


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Returns all files but what things took."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    timed = {folder / COSTS, *(folder / "parts").glob("*.json")}
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path not in timed}


def test_two_processes_write_the_same_bytes_as_one(data: Path, tmp_path: Path) -> None:
    prediction = Prediction(EVERY_KIND, starts=3)
    for workers in (1, 2):
        with local_executor(workers) as executor:
            predict_store(data, tmp_path / str(workers), prediction, executor, watch)
    assert bytes_of(tmp_path / "1") == bytes_of(tmp_path / "2")
    assert len(list((tmp_path / "2" / "parts").glob("*.parquet"))) == PATCHES
    assert {"predictions.parquet", "examples.npz", "manifest.json"} <= bytes_of(tmp_path / "2").keys()
    costs = read_json(tmp_path / "2" / COSTS)
    assert set(costs) == {*EVERY_KIND.split(","), EVERYONE}
    assert all(seconds > 0 for seconds in costs.values())


def test_a_stopped_run_goes_on(data: Path, tmp_path: Path) -> None:
    prediction = Prediction("dioptre-single-dp", starts=2)
    with pytest.raises(StoppedError):
        predict_store(data, tmp_path / "found", prediction, None, stop)
    first = tmp_path / "found" / "parts" / "00000.parquet"
    written = first.stat().st_mtime_ns
    seen: list[int] = []
    found = predict_store(data, tmp_path / "found", prediction, None, lambda done, _: seen.append(done))
    assert found == (PATCHES * (2 + 1), "test")  # the oracle answers too
    assert seen == [1, 2, 3]
    assert first.stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("00000.json", b'{"": "x"}', "00000.json is damaged"),
        ("00000.json", b"[]", "00000.json holds no JSON object"),
        ("00000.parquet", b"PAR1", "00000.parquet cannot be read"),
        ("00000.parquet", None, "00000.parquet has no column method"),
    ],
)
def test_a_damaged_part_of_a_stopped_run_is_named(
    data: Path, tmp_path: Path, file: str, content: bytes | None, told: str
) -> None:
    prediction = Prediction("intensity-variance", starts=1)
    with pytest.raises(StoppedError):
        predict_store(data, tmp_path / "found", prediction, None, stop)
    part = tmp_path / "found" / "parts" / file
    if content is None:
        pq.write_table(pa.table({"x": [1]}), part)
    else:
        part.write_bytes(content)
    with pytest.raises(FileError, match=told):
        predict_store(data, tmp_path / "found", prediction, None, watch)


def test_a_network_that_has_changed_is_another(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "mine.onnx"
    shutil.copy(WEIGHTS / "dioptre-single-dp.onnx", model)
    with pytest.raises(StoppedError):
        predict_store(data, tmp_path / "found", Prediction(str(model), starts=1), None, stop)
    shutil.copy(WEIGHTS / "l2a-single-dp.onnx", model)
    learned._load.cache_clear()  # a network is read once in a process
    with pytest.raises(FileError, match="begun with methods"):
        predict_store(data, tmp_path / "found", Prediction(str(model), starts=1), None, watch)


def test_the_manifest_says_which_methods_and_which_prior(data: Path, tmp_path: Path) -> None:
    keys = "dioptre-single-green,rank-transform,l2a-two-step-green"
    prediction = Prediction(keys, starts=1, prior="far")
    predict_store(data, tmp_path / "found", prediction, None, watch)
    manifest = read_manifest(tmp_path / "found", "predictions")
    network, first, second = (
        find_method(key).build().identity
        for key in ("dioptre-single-green", "l2a-single-green", "l2a-two-step-green")
    )
    assert manifest["methods"] == {
        "dioptre-single-green": [network],
        "rank-transform": [""],
        "l2a-two-step-green": [first, second],
    }
    assert manifest["prior"] == {"name": "far", "table": []}
    table = read_parquet(tmp_path / "found" / PREDICTIONS)
    assert set(table.column("prior").to_pylist()) == {"far"}
    assert set(table.column("identity").to_pylist()) == {network, second, ""}


def test_a_prior_of_another_ladder_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(DioptreError, match="3 weights"):
        predict_store(data, tmp_path / "found", Prediction("dioptre-single-dp", prior="3,2,1"), None, watch)


def test_methods_that_do_not_know_the_ladder_are_left_out(tmp_path: Path) -> None:
    row = {"scene": "s", "capture": "s_0", "split": "test", "row": 0, "truth": 2, "where_x": 0, "where_y": 0}
    form = StoreFormat(FocusGrid.uniform(n=5), 16, 2, 0.0, 1000.0, rows_per_native=1)
    writer = StoreWriter(tmp_path / "store", form, {}, 1)
    writer.missing_shards()
    writer.write_shard(0, np.zeros((1, 5, 2, 16, 16), np.uint16), [row | {"col": 0}])
    writer.finish()
    store = open_patches(tmp_path / "store")
    keys = predicting.methods_for(store, ())
    assert "census-transform" in keys
    assert not [key for key in keys if isinstance(find_method(key).build(), Learned)]
    with pytest.raises(DioptreError, match="grid of 49 positions"):
        predicting.methods_for(store, ("dioptre-any-dp",))


def test_a_store_without_test_patches_is_predicted_whole(tmp_path: Path) -> None:
    simulate(tmp_path / "train", Simulation(2, 1, split="train"), None, lambda *_: None)
    chosen = Prediction("rank-transform")
    found = predict_store(tmp_path / "train", tmp_path / "found", chosen, None, lambda *_: None)
    assert found[1] == "all"
    assert read_manifest(tmp_path / "found", "predictions")["origin"]["split"] == "all"


def test_a_store_that_is_not_finished_or_empty_is_refused(data: Path, tmp_path: Path) -> None:
    partial, out = tmp_path / "partial", tmp_path / "out"
    shutil.copytree(data, partial)
    (partial / "manifest.json").rename(partial / "writing.json")
    with pytest.raises(FileError, match="partial is not finished"):
        predict_store(partial, out, Prediction("rank-transform"), None, watch)
    with pytest.raises(FileError, match="there is no folder"):
        predict_store(tmp_path / "nowhere", out, Prediction("rank-transform"), None, watch)
    with pytest.raises(DioptreError, match="no patches of the split train"):
        predict_store(data, out, Prediction("rank-transform", split="train"), None, watch)
    with pytest.raises(DioptreError, match="no method 'rank'"):
        predict_store(data, out, Prediction("rank"), None, watch)
    assert not out.exists()


def test_all_methods_can_be_asked_with_others(data: Path) -> None:
    store = open_patches(data)
    everything = predicting.methods_for(store, ())
    assert predicting.methods_for(store, ("all",)) == everything
    wanted = predicting.methods_for(store, ("zncc-disparity@left", "all", "census-transform"))
    assert wanted == ("zncc-disparity@left", *everything)


def test_predictions_know_what_they_are_of(data: Path, tmp_path: Path) -> None:
    predict_store(data, tmp_path / "found", Prediction("rank-transform"), None, watch)
    origin = origin_from_json(read_manifest(tmp_path / "found"), "found")
    assert origin == replace(
        origin,
        simulated=True,
        patches=PATCHES,
        positions=49,
        device="center",
        camera="pixel3",
        seed=2,
        scenes=1,
    )
    assert origin.role is Role.CENTRE
    assert "prior" not in origin.describe()
    assert "answers under a far prior" in replace(origin, prior="far").describe()
    assert replace(origin, device="left").role is Role.LEFT
    assert replace(origin, light="pairs", device="left").role is Role.LIGHT_AND_DARK
    assert replace(origin, registration="searched").role is Role.SEARCHED
    with pytest.raises(FileError, match="does not describe predictions"):
        origin_from_json({"origin": {"data": "x"}}, "found")


def test_examples_lie_beside_predictions(data: Path, tmp_path: Path) -> None:
    keys = ",".join(("local-norm-dist-sq-4", "laplacian-variance", "rank-transform"))
    predict_store(data, tmp_path / "found", Prediction(keys), None, watch)
    gallery = read_gallery(tmp_path / "found" / EXAMPLES)
    assert gallery is not None
    store = open_patches(data)
    assert set(gallery.why.tolist()) <= {"spread", "noise", "breathing"}
    assert gallery.truth.tolist() == store.column("truth")[gallery.patch].tolist()
    stack = store.stack(gallery.patch[:1]).green()
    low, high = gallery.ranges[0]
    inside = (stack.pixels[0, :, 0] > low) & (stack.pixels[0, :, 0] < high)
    off = np.abs(gallery.linear(0) - stack.pixels[0, :, 0])[inside]
    assert off.max() < 0.02 * (high - low)  # eight bits
    assert np.argmax(gallery.curves[0, 0]) == np.argmax(
        scores(stack, ["local-norm-dist-sq-4"])["local-norm-dist-sq-4"]
    )


def test_starts_are_spread_evenly() -> None:
    assert spread(49, 7).tolist() == [3, 10, 17, 24, 31, 38, 45]
    assert spread(5, 0).tolist() == [0, 1, 2, 3, 4]
