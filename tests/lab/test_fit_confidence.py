"""The fit of the model of doubt: trees become flat lists, scenes stay apart, and what is worse adds doubt."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")
pytest.importorskip("skimage")

from sklearn.ensemble import HistGradientBoostingClassifier

from dioptre.confidence.model import OutlierModel, read_model
from dioptre.focusing.arguments import DEFAULT_METHOD
from dioptre.miss import MISS_STEPS
from lab import fit_confidence
from lab.fit_confidence import CLEAN_SHARE, DIRECTIONS, FIT, Table, fit, flat_trees, rounded

NOTHING = {name: [0.0, 1.0] for name in ("sums", "miss", "risk", "confidence")}


def samples(count: int = 2000, seed: int = 0) -> Table:
    """Returns answers of which those with a high first feature are misses, mostly; others say nothing."""
    rng = np.random.default_rng(seed)
    names = list(DIRECTIONS)[:3]
    features = rng.normal(0, 1, (count, 3))
    missed = rng.random(count) < 1 / (1 + np.exp(-3 * features[:, 0] + 2))
    features[rng.random(features.shape) < 0.1] = np.nan
    return Table(
        names,
        features,
        method=rng.choice([DEFAULT_METHOD, "total-variation-l2", "dioptre-any-dp@2"], count),
        kind=np.where(missed, "negative/wall", "phone/whole"),
        clean=~missed | (rng.random(count) < 0.2),
        off=np.where(missed, 9.0, rng.uniform(0, 3, count)),
        slices=np.full(count, 25),
        scene=rng.integers(0, 100, count),
    )


@pytest.fixture(autouse=True, scope="module")
def few_trees() -> Iterator[None]:
    one_thread = pytest.importorskip("threadpoolctl").threadpool_limits(1)
    with pytest.MonkeyPatch.context() as patch, one_thread:
        patch.setitem(fit_confidence.TREES, "max_iter", 12)
        yield


@pytest.fixture(scope="module")
def fitted() -> tuple[OutlierModel, dict[str, Any]]:
    return fit(samples(), 0)


def features_at(model: OutlierModel, first: float) -> dict[str, float]:
    return dict(zip(model.names, [first, 0.0, 0.0], strict=True))


@pytest.mark.parametrize("depth", [2, 5])
def test_flat_trees_sum_to_what_the_library_says_also_of_what_is_not_known(
    depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit_confidence, "rounded", float)  # else rows beside a threshold may change sides
    rng = np.random.default_rng(depth)
    rows = rng.normal(0, 1, (800, 4))
    rows[rng.random(rows.shape) < 0.15] = np.nan
    labels = np.nan_to_num(rows[:, 0]) * np.nan_to_num(rows[:, 1], nan=1.0) + rng.normal(0, 0.5, 800) > 0
    trees = HistGradientBoostingClassifier(max_iter=20, max_depth=depth, random_state=0).fit(rows, labels)
    entries = {"names": list("abcd"), "typical": [0.0] * 4, **flat_trees(trees), **NOTHING}
    model = OutlierModel.from_json(json.loads(json.dumps(entries)))
    np.testing.assert_allclose(model.doubt(rows), trees.decision_function(rows), atol=1e-9)
    assert len(model.roots) == 21


def test_a_fit_finds_what_makes_misses(fitted: tuple[OutlierModel, dict[str, Any]]) -> None:
    model, entries = fitted
    shown = entries["header"]["figures"]["all"]
    assert shown["auroc"] > 0.8
    assert shown["ece"] < 0.1
    good, bad = (features_at(model, at) for at in (-2.0, 2.0))
    assert model.odds(good).miss < 0.1
    assert model.odds(bad).miss > 0.8
    blame = model.blame(bad)
    assert max(blame, key=lambda name: blame[name]) == model.names[0]


def test_a_fit_can_be_repeated(fitted: tuple[OutlierModel, dict[str, Any]]) -> None:
    assert json.dumps(fit(samples(), 0)[1]) == json.dumps(fitted[1])


def test_what_was_counted_rises_with_doubt(fitted: tuple[OutlierModel, dict[str, Any]]) -> None:
    model, _ = fitted
    assert (np.diff(model.sums) > 0).all()
    for rising in (model.miss, model.risk, -model.confidence):
        assert (np.diff(rising) >= 0).all()


def test_what_is_worse_never_makes_less_doubtful_even_if_samples_say_so() -> None:
    table = samples()
    turned = Table(**{**vars(table), "features": -table.features})
    model, _ = fit(turned, 0)
    way = DIRECTIONS[model.names[0]]
    rows = np.zeros((50, 3))
    rows[:, 0] = way * np.linspace(-3, 3, 50)
    assert way != 0
    assert (np.diff(model.doubt(rows)) >= -1e-9).all()


def test_the_shipped_model_asks_for_features_of_known_directions_and_is_monotone_in_them() -> None:
    model = read_model()
    assert set(model.names) <= set(DIRECTIONS)
    for at, name in enumerate(model.names):
        if DIRECTIONS[name]:
            rows = np.tile(model.typical, (80, 1))
            rows[:, at] += DIRECTIONS[name] * np.linspace(-8, 8, 80)
            assert (np.diff(model.doubt(rows)) >= -1e-3).all(), name  # leaves are rounded to four digits


def test_scenes_for_counting_are_not_those_of_the_trees(
    fitted: tuple[OutlierModel, dict[str, Any]],
) -> None:
    table = samples()
    others = ~np.isin(table.scene % 10, FIT)
    spoilt = Table(**{**vars(table), "off": np.where(others, 9.0, table.off)})
    one, other = fitted[0], fit(spoilt, 0)[0]
    np.testing.assert_array_equal(one.threshold, other.threshold)
    assert other.miss.min() > 0.9 > one.miss.min()


def test_each_group_of_answers_counts_as_often_as_people_meet_it() -> None:
    table = samples()
    weights = table.weights / table.weights.sum()
    assert weights[table.clean].sum() == pytest.approx(CLEAN_SHARE)
    assert weights[table.method == DEFAULT_METHOD].sum() == pytest.approx(0.5)
    assert (table.missed == (table.off > MISS_STEPS)).all()


def test_samples_of_several_files_are_one_table(tmp_path: Path) -> None:
    table = samples(40)
    for number, names in enumerate((["own", "slices"], ["slices", "light"])):
        rest = {name: getattr(table, name) for name in ("method", "kind", "clean", "off", "slices", "scene")}
        np.savez(
            tmp_path / f"{number:06d}.npz", names=np.array(names), features=table.features[:, :2], **rest
        )
    (tmp_path / "000002.partial.npz").write_bytes(b"half")
    read = Table.read(tmp_path)
    assert read.names == ["own", "slices", "light"]
    np.testing.assert_array_equal(read.features[:40, 0], table.features[:, 0])
    np.testing.assert_array_equal(read.features[40:, 1], table.features[:, 0])
    assert np.isnan(read.features[:40, 2]).all()
    assert read.of_features(["light", "own"]).names == ["light", "own"]
    assert len(read.some(read.scene < 50).off) == 2 * int((table.scene < 50).sum())


def test_numbers_are_written_with_four_digits() -> None:
    assert rounded(0.0123456) == 0.01235
    assert rounded(-12345.6) == -12350.0
    assert rounded(0.0) == 0.0
