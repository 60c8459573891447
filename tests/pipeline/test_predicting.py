from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.methods.test_learned import CARD, GRID, SIZE, N, write_model

from dioptre.dataset.store import StoreFormat, StoreWriter
from dioptre.methods.learned import Learned
from dioptre.pipeline import predicting
from dioptre.pipeline.predicting import Prediction, predict_store, spread

PATCHES = 3


class StoppedError(Exception):
    """What a run is stopped by."""


def stop(done: int, _all: int) -> None:
    if done:
        raise StoppedError


def watch(_done: int, _all: int) -> None:
    """Watches nothing."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    codes = np.random.default_rng(0).integers(0, 900, (PATCHES, N, 2, SIZE, SIZE)).astype(np.uint16)
    row = {"scene": "s", "capture": "s_0", "split": "test", "row": 0, "truth": 2, "where_x": 0, "where_y": 0}
    form = StoreFormat(GRID, SIZE, 2, 0.0, 1000.0, rows_per_native=1)
    writer = StoreWriter(tmp_path / "store", form, {}, PATCHES, shard_size=PATCHES)
    writer.missing_shards()
    writer.write_shard(0, codes, [row | {"col": at} for at in range(PATCHES)])
    writer.finish()
    return tmp_path / "store"


def test_a_stopped_run_goes_on(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicting, "PATCHES", 1)
    prediction = Prediction((str(write_model(tmp_path / "mine.onnx", CARD)),))
    with pytest.raises(StoppedError):
        predict_store(data, tmp_path / "found", prediction, stop)
    first = tmp_path / "found" / "parts" / "00000.parquet"
    written = first.stat().st_mtime_ns
    assert predict_store(data, tmp_path / "found", prediction, watch) == PATCHES * N
    assert first.stat().st_mtime_ns == written


def test_a_network_that_has_changed_is_another(data: Path, tmp_path: Path) -> None:
    model = write_model(tmp_path / "mine.onnx", CARD)
    with pytest.raises(StoppedError):
        predict_store(data, tmp_path / "found", Prediction((str(model),)), stop)
    write_model(model, replace(CARD, version="1"))
    with pytest.raises(ValueError, match="networks"):
        predict_store(data, tmp_path / "found", Prediction((str(model),)), watch)


def test_methods_that_do_not_know_the_ladder_are_left_out(data: Path, tmp_path: Path) -> None:
    store = predicting.open_patches(data)
    keys = predicting.methods_for(store, ())
    assert "census-transform" in keys
    assert not [key for key in keys if isinstance(predicting.find_method(key).build(), Learned)]
    model = str(write_model(tmp_path / "mine.onnx", CARD))
    assert predicting.methods_for(store, (model,)) == (model,)


def test_starts_are_spread_evenly() -> None:
    assert spread(49, 7).tolist() == [3, 10, 17, 24, 31, 38, 45]
    assert spread(5, 0).tolist() == [0, 1, 2, 3, 4]
