"""The model of doubt: trees in a file, and the odds that are read off their sum."""

from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from dioptre.confidence.model import AT_MOST, Odds, OutlierModel, check_risk, read_model
from dioptre.errors import InputError

MOST_FEATURES = 15
MOST_BYTES = 100_000
STUMPS: dict[str, Any] = {  # a constant; `noise` above 1, or unknown, adds 2; `shared` above 0.5 takes 1 away
    "names": ["noise", "shared"],
    "typical": [0.0, 0.9],
    "roots": [0, 1, 4],
    "feature": [-1, 0, -1, -1, 1, -1, -1],
    "threshold": [-1.0, 1.0, 0.0, 2.0, 0.5, 0.0, -1.0],
    "right": [0, 3, 0, 0, 6, 0, 0],
    "unknown_left": [0, 0, 0, 0, 1, 0, 0],
    "sums": [-2.0, 0.0, 1.0],
    "miss": [0.0, 0.4, 1.0],
    "risk": [0.001, 0.01, 0.02],
    "confidence": [1.0, 0.6, 0.0],
}
CALM, NOISY = {"noise": 0.0, "shared": 0.9}, {"noise": 3.0, "shared": 0.9}


@pytest.fixture
def stumps() -> OutlierModel:
    return OutlierModel.from_json({"header": {"seed": 0}, **STUMPS})


def test_the_sum_is_that_of_the_leaves(stumps: OutlierModel) -> None:
    rows = np.array([[0.0, 0.9], [3.0, 0.9], [0.0, 0.2], [3.0, 0.2], [1.0, 0.5]])
    np.testing.assert_allclose(stumps.doubt(rows), [-2, 0, -1, 1, -1])


def test_what_is_not_known_goes_its_own_way(stumps: OutlierModel) -> None:
    np.testing.assert_allclose(stumps.doubt(np.array([[np.nan, 0.9], [0.0, np.nan]])), [0, -1])
    assert stumps.odds({"shared": 0.9}) == stumps.odds(NOISY)


def test_features_are_found_by_name(stumps: OutlierModel) -> None:
    mixed = {"shared": 0.9, "another": 7.0, "noise": 3.0}
    np.testing.assert_array_equal(stumps.row(mixed), [3.0, 0.9])


def test_odds_are_read_between_knots_and_no_single_answer_is_much_riskier_than_its_risk(
    stumps: OutlierModel,
) -> None:
    assert stumps.odds(CALM).risk == 0.001
    assert stumps.odds(CALM).confidence == 1.0
    between = stumps.odds({"noise": 0.0, "shared": 0.2})
    assert between.miss == pytest.approx(0.2)
    assert between.confidence == pytest.approx(0.8)
    assert between.risk == pytest.approx(0.2 / AT_MOST)  # and not 0.0055
    assert stumps.odds({"noise": 3.0, "shared": 0.2}).risk == pytest.approx(1 / AT_MOST)


def test_odds_of_a_miss_are_no_better_than_what_is_known_of_such_misses(stumps: OutlierModel) -> None:
    found = stumps.odds_of(0.2)
    assert (found.miss, found.confidence) == pytest.approx((0.2, 0.8))
    assert found.risk == pytest.approx(0.2 / AT_MOST)  # and not 0.0055
    assert stumps.odds_of(0.0) == Odds(0.0, 0.001, 1.0)
    assert stumps.odds_of(1.0) == Odds(1.0, 1 / AT_MOST, 0.0)
    assert stumps.odds_of(0.004).risk == pytest.approx(0.00109)  # a hundredth of the way to the next knot


def test_the_likelier_a_miss_the_larger_is_its_risk(stumps: OutlierModel) -> None:
    for model in (stumps, read_model()):
        odds = [model.odds_of(miss) for miss in np.linspace(0, 1, 21).tolist()]
        assert (np.diff([one.risk for one in odds]) >= 0).all()
        assert (np.diff([one.confidence for one in odds]) < 0).all()


def test_of_two_odds_the_worse_of_each_number_counts() -> None:
    found = Odds(0.1, 0.02, 0.6).at_least(Odds(0.05, 0.03, 0.9))
    assert found == Odds(0.1, 0.03, 0.6)
    assert Odds(0.05, 0.03, 0.9).at_least(Odds(0.1, 0.02, 0.6)) == found


def test_the_feature_that_is_off_is_to_blame(stumps: OutlierModel) -> None:
    assert stumps.blame(NOISY) == {"noise": 2.0, "shared": 0.0}
    assert stumps.blame({"noise": 0.0, "shared": 0.1}) == {"noise": 0.0, "shared": 1.0}
    assert stumps.blame(CALM) == {"noise": 0.0, "shared": 0.0}
    assert stumps.blame({"shared": 0.9})["noise"] == 0.0  # nobody knows


# The model that is shipped


def some_rows(model: OutlierModel, count: int = 200) -> np.ndarray:
    """Returns typical rows with a few features far off and a few unknown."""
    rng = np.random.default_rng(3)
    rows = model.typical + rng.normal(0, 1, (count, len(model.names))) * rng.integers(0, 2, (count, 1))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows


def odds_of(model: OutlierModel, rows: np.ndarray) -> np.ndarray:
    found = [model.odds(dict(zip(model.names, row, strict=True))) for row in rows]
    return np.array([[one.miss, one.risk, one.confidence] for one in found])


def test_the_file_is_small_and_asks_for_few_features() -> None:
    file = files("dioptre.confidence").joinpath("model.json")
    assert len(file.read_bytes()) < MOST_BYTES
    assert len(read_model().names) <= MOST_FEATURES
    assert len(set(read_model().names)) == len(read_model().names)


def test_its_trees_are_trees() -> None:
    model = read_model()
    nodes = np.arange(len(model.feature))
    asks = model.feature >= 0
    assert (model.feature < len(model.names)).all()
    assert (model.right[asks] > nodes[asks] + 1).all()
    assert np.isfinite(model.threshold).all()
    reached = np.zeros(len(nodes), int)
    np.add.at(reached, np.concatenate([model.roots, nodes[asks] + 1, model.right[asks]]), 1)
    assert (reached == 1).all()


def test_more_doubt_is_never_surer() -> None:
    model = read_model()
    assert (np.diff(model.sums) > 0).all()
    for rising in (model.miss, model.risk, -model.confidence):
        assert (np.diff(rising) >= 0).all()
    for share in (model.miss, model.risk, model.confidence):
        assert (share >= 0).all()
        assert (share <= 1).all()
    rows = some_rows(model)
    odds = odds_of(model, rows)[np.argsort(model.doubt(rows), kind="stable")]
    assert (np.diff(odds[:, :2], axis=0) >= -1e-12).all()
    assert (np.diff(odds[:, 2]) <= 1e-12).all()


def test_the_risk_is_at_least_a_tenth_of_the_chance_of_a_miss() -> None:
    odds = odds_of(read_model(), some_rows(read_model()))
    assert (odds[:, 1] >= odds[:, 0] / AT_MOST - 1e-12).all()


def test_typical_features_are_those_of_an_answer_that_is_taken() -> None:
    model = read_model()
    typical = dict(zip(model.names, model.typical.tolist(), strict=True))
    assert model.odds(typical).risk <= 0.01
    assert set(model.blame(typical).values()) == {0.0}


def test_rows_together_are_rows_one_by_one() -> None:
    model = read_model()
    rows = some_rows(model, 20)
    np.testing.assert_array_equal(model.doubt(rows), [model.doubt(row[None])[0] for row in rows])


@pytest.mark.parametrize("risk", [0, 1.5, -0.1, float("nan"), "0.1", None, True])
def test_a_risk_is_a_share(risk: object) -> None:
    with pytest.raises(InputError):
        check_risk(risk)


def test_a_risk_may_be_all() -> None:
    assert check_risk(1) == 1.0
    assert check_risk(0.02) == 0.02
