from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre.evaluate import predict as predicting
from dioptre.evaluate.predict import NO_START, ORACLE, oracle_answers, predict
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS
from dioptre.methods.base import ANY, WHOLE, Method
from dioptre.posterior import DepthPrior
from dioptre.problem import Problem
from dioptre.stack import FocalStack
from dioptre.store.patches import PatchStore, StoreFormat, StoreWriter, open_patches
from tests.fakes import FamilyOf, Probable

N, SIZE = 9, 32
GRID = FocusGrid.uniform(n=N)
EVEN = DepthPrior.even()


class Nearer(Probable):
    """Says one position nearer than the last look, however many there were."""

    def logits(self, stack: FocalStack) -> np.ndarray:
        answer = np.minimum(stack.indices[:, -1] + 1, N - 1)
        return -np.abs(np.arange(N) - answer[:, None]).astype(np.float64)


class Brightest(Probable):
    """Says the brightest slice that it sees."""

    def logits(self, stack: FocalStack) -> np.ndarray:
        found = np.full((stack.batch, N), -np.inf)
        np.put_along_axis(found, stack.indices, stack.pixels.mean(axis=(2, 3, 4)).astype(np.float64), axis=1)
        return found


FAKES = {
    "one": Method("one", "One", Problem.SINGLE_DUAL_PIXEL, FamilyOf(Nearer), "test", looks=1),
    "two": Method("two", "Two", Problem.SINGLE_DUAL_PIXEL, FamilyOf(Nearer), "test", looks=2, after="one"),
    "three": Method(
        "three", "Three", Problem.SINGLE_GREEN, FamilyOf(Brightest), "test", looks=3, after="two"
    ),
    "again": Method(
        "again", "Again", Problem.SINGLE_DUAL_PIXEL, FamilyOf(Nearer), "test", looks=1, again=True
    ),
    "any": Method("any", "Any", Problem.SINGLE_DUAL_PIXEL, FamilyOf(Nearer), "test", looks=ANY),
    "whole": Method("whole", "Whole", Problem.STACK_GREEN, FamilyOf(Brightest), "test", looks=WHOLE),
}


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, method in FAKES.items():
        monkeypatch.setitem(METHODS, key, method)


def write_patches(folder: Path, simulated: bool) -> PatchStore:
    rng = np.random.default_rng(1)
    form = StoreFormat(GRID, SIZE, 2, 0.0, 1000.0, rows_per_native=1)
    codes = rng.integers(100, 900, (6, N, 2, SIZE, SIZE)).astype(np.uint16)
    rows = []
    for at in range(6):
        codes[at, at] = np.minimum(codes[at, at] + 300, 1000)  # the brightest slice
        row: dict[str, object] = {
            "scene": f"s{at // 2}",
            "capture": f"s{at // 2}_0",
            "split": "test",
            "row": 0,
            "col": 2 * at,
            "truth": at,
            "where_x": 0.0,
            "where_y": 0.1,
        }
        if simulated:
            row |= {"depth": float(GRID.dioptres[at]), "lens_error": [2.0, -2.0][at % 2], "light": "dark"}
            row |= {
                "sharp_at": [[at - 0.25, at + 4.0], []][at == 5],
                "sharp_share": [[0.6, 0.3], []][at == 5],
            }
        rows.append(row)
    writer = StoreWriter(folder, form, {}, 6, shard_size=6)
    writer.missing_shards()
    writer.write_shard(0, codes, rows)
    writer.finish()
    return open_patches(folder)


@pytest.fixture
def store(tmp_path: Path) -> PatchStore:
    return write_patches(tmp_path / "store", simulated=True)


@pytest.mark.usefixtures("fakes")
def test_there_is_a_row_for_each_answer(store: PatchStore) -> None:
    table = predict(store, np.array([1, 4]), ["one", "whole"], np.array([0, 3, 7]), EVEN)
    rows = [row for row in table.to_pylist() if row["method"] == "one"]
    assert [(row["patch"], row["start"], row["predicted"]) for row in rows] == [
        (patch, start, start + 1) for patch in (1, 4) for start in (0, 3, 7)
    ]
    assert {row["truth"] for row in rows if row["patch"] == 4} == {4}
    whole = [row for row in table.to_pylist() if row["method"] == "whole"]
    assert [(row["patch"], row["start"], row["predicted"]) for row in whole] == [
        (1, NO_START, 1),
        (4, NO_START, 4),
    ]
    assert {(row["problem"], row["steps"], row["scene"]) for row in whole} == {
        ("I*", 0, "s0"),
        ("I*", 0, "s2"),
    }


@pytest.mark.usefixtures("fakes")
def test_later_looks_are_where_the_earlier_ones_led(store: PatchStore) -> None:
    table = predict(store, np.array([0]), ["two", "three"], np.array([0, 5]), EVEN).to_pylist()
    assert [row["predicted"] for row in table if row["method"] == "two"] == [2, 7]
    three = [row["predicted"] for row in table if row["method"] == "three"]
    pixels = store.stack([0]).green().pixels[0].mean(axis=(1, 2, 3))
    assert three == [int(np.argmax(pixels[:3])), 5 + int(np.argmax(pixels[5:8]))]


@pytest.mark.usefixtures("fakes")
def test_a_method_for_any_number_is_asked_with_several(store: PatchStore) -> None:
    table = predict(store, np.array([2]), ["any"], np.array([1]), EVEN).to_pylist()
    found = {(row["problem"], row["steps"]): row["predicted"] for row in table if row["method"] == "any"}
    # it looks at 1; nearest to its answer 2, and four away from 1, at 5; farthest from both, at 8
    assert found == {("D1", 1): 2, ("D1", 2): 6, ("D1", 3): 8, ("D*", 0): N - 1}


def test_the_oracle_errs_by_the_lens_and_nothing_else(store: PatchStore) -> None:
    found = oracle_answers(store, np.arange(2, 6))
    assert found is not None
    # sharp where position + error is the depth
    assert found.tolist() == [0, 5, 2, 7]
    table = predict(store, np.array([2]), [], np.array([0]), EVEN).to_pylist()
    assert [(row["method"], row["predicted"], row["light"]) for row in table] == [(ORACLE, 0, "dark")]


def test_a_store_that_does_not_know_its_lens_has_no_oracle(tmp_path: Path) -> None:
    store = write_patches(tmp_path / "real", simulated=False)
    assert oracle_answers(store, np.arange(3)) is None
    table = predict(store, np.array([2]), ["local-norm-dist-sq-4"], np.array([0]), EVEN).to_pylist()
    assert [row["method"] for row in table] == ["local-norm-dist-sq-4"]
    assert table[0]["in_crop"] is True
    assert set(table[0]) == set(predicting.SCHEMA.names)


@pytest.mark.usefixtures("fakes")
def test_a_method_that_is_asked_again_answers_after_each_look(store: PatchStore) -> None:
    table = predict(store, np.array([0]), ["again"], np.array([2, 8]), EVEN).to_pylist()
    found = [(row["steps"], row["start"], row["predicted"]) for row in table if row["method"] == "again"]
    assert found == [(1, 2, 3), (1, 8, 8), (2, 2, 4), (2, 8, 8), (3, 2, 5), (3, 8, 8)]


def test_a_simulated_store_knows_which_patches_are_in_the_central_crop(tmp_path: Path) -> None:
    form = StoreFormat(GRID, SIZE, 2, 0.0, 1000.0, rows_per_native=1)
    rows = [
        {
            "scene": "s", "capture": "c", "split": "test", "row": row, "col": col, "truth": 0,
            "where_x": 0.0, "where_y": 0.0,
        }
        for row, col in ((0, 0), (84, 184), (50, 184), (49, 184))
    ]  # fmt: skip
    writer = StoreWriter(tmp_path / "s", form, {"camera": {"frame": [300, 400]}}, 4, shard_size=4)
    writer.write_shard(0, np.zeros((4, N, 2, SIZE, SIZE), np.uint16), rows)
    writer.finish()
    table = predict(open_patches(tmp_path / "s"), np.arange(4), ["intensity-variance"], np.array([0]), EVEN)
    assert table["in_crop"].to_pylist() == [False, True, True, False]


@pytest.mark.usefixtures("fakes")
def test_a_distance_is_to_the_nearest_depth_that_counts(store: PatchStore) -> None:
    table = predict(store, np.array([2, 5]), ["one"], np.array([0, 4, 7]), EVEN).to_pylist()
    found = [(row["predicted"], row["sharp_distance"]) for row in table if row["method"] == "one"]
    assert found == [(1, 0.75), (5, 1.0), (8, 2.0), (1, None), (5, None), (8, None)]


@pytest.mark.usefixtures("fakes")
def test_where_depths_are_not_known_the_label_is_the_only_one(tmp_path: Path) -> None:
    store = write_patches(tmp_path / "real", simulated=False)
    table = predict(store, np.array([2]), ["one"], np.array([0, 7]), EVEN).to_pylist()
    assert [row["sharp_distance"] for row in table] == [1.0, 6.0]
