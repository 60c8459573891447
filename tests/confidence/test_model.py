"""What is believed of answers: one posterior, from which confidence, risk and expected error are read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dioptre.confidence.features import BETTER, DIRECTIONS, WORSE
from dioptre.confidence.model import (
    ANY_METHOD,
    AT_MOST,
    KINDS,
    LOOKS,
    MISSES,
    SWEEP,
    Observation,
    Row,
    belief_of,
    believe,
    check_risk,
    find_row,
    reach_of,
    read_table,
    write_table,
)
from dioptre.errors import InputError
from dioptre.methods import METHODS, find_method
from dioptre.posterior import Posterior

N = 49
ROW = Row("", ("bad", "good"), (0.0, 0.0), (1.0, 1.0), (-4.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def parabola(peak: float, n: int = N) -> np.ndarray:
    return -0.5 * (np.arange(-1, n + 1) - peak) ** 2


def test_an_answer_without_doubt_is_as_sure_as_its_posterior() -> None:
    belief = belief_of(parabola(20), 20, doubt=0.0, sharpness=100.0)
    assert belief.confidence == pytest.approx(1.0)
    assert belief.miss == pytest.approx(0.0, abs=1e-9)
    assert belief.expected_error == pytest.approx(0.0, abs=1e-9)


def test_an_answer_of_which_all_is_doubtful_may_be_anywhere() -> None:
    belief = belief_of(parabola(24), 24, doubt=1.0, sharpness=1.0)
    assert belief.confidence == pytest.approx(3 / 51)
    assert belief.miss == pytest.approx(1 - 9 / 51)
    assert belief.expected_error == pytest.approx(np.mean(np.abs(np.arange(-1, 50) - 24)))


def test_the_sharpness_of_a_curve_is_one_over_the_variance_of_its_error() -> None:
    deviation = 1.7
    belief = belief_of(parabola(24), 24, doubt=0.0, sharpness=deviation**-2)
    drawn = np.rint(deviation * np.random.default_rng(0).standard_normal(100_000))
    assert belief.confidence == pytest.approx(np.mean(np.abs(drawn) <= 1), abs=0.01)
    assert belief.expected_error == pytest.approx(np.mean(np.abs(drawn)), abs=0.02)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.1, 10))
def test_more_doubt_is_never_surer(one: float, other: float, sharpness: float) -> None:
    less, more = sorted((one, other))
    beliefs = [belief_of(parabola(30), 30, doubt, sharpness) for doubt in (less, more)]
    assert beliefs[0].miss <= beliefs[1].miss + 1e-12


def test_a_posterior_stays_as_it_is_without_doubt_at_sharpness_one() -> None:
    posterior = Posterior.of_logits(np.random.default_rng(0).normal(size=(1, N)), N)
    observation = Observation.of_posterior(LOOKS, posterior, {})
    belief = belief_of(observation.logits, observation.answer, 0.0, 1.0)
    assert belief.expected_error == pytest.approx(posterior.expected_error()[0, observation.answer])


def test_evidence_that_is_not_known_is_as_usual() -> None:
    observation = Observation(SWEEP, 20, parabola(20), {})
    usual = Observation(SWEEP, 20, parabola(20), {"bad": 0.0, "good": 0.0})
    assert believe(observation, ROW) == believe(usual, ROW)
    bad = Observation(SWEEP, 20, parabola(20), {"bad": 5.0})
    assert believe(bad, ROW).risk > believe(usual, ROW).risk


def test_evidence_is_weighed_within_above_and_below() -> None:
    assert ROW.standardised({"bad": 5.0, "good": -3.0}).tolist() == [1, 2, -2, 3, 0, 0, 1]
    assert ROW.standardised({"bad": 50.0}).tolist() == [1, 2, 0, 4, 0, 0, 0]


def test_a_row_that_does_not_know_better_takes_the_probability_of_a_miss_for_the_risk() -> None:
    assert ROW.risk_of(0.3) == 0.3


def test_the_risk_is_that_of_all_answers_that_are_as_sure() -> None:
    row = replace(ROW, risks=tuple(one / 4 for one in MISSES))
    assert row.risk_of(0.01) == pytest.approx(0.0025, rel=0.05)
    assert row.risk_of(1.0) == pytest.approx(0.25)


def test_a_single_answer_is_never_much_riskier_than_its_risk() -> None:
    row = replace(ROW, risks=tuple(0.001 for _ in MISSES))
    assert row.risk_of(0.9) == pytest.approx(0.9 / AT_MOST)


@given(st.floats(0, 1), st.floats(0, 1))
def test_what_is_likelier_to_be_a_miss_has_no_less_risk(one: float, other: float) -> None:
    less, more = sorted((one, other))
    for row in (ROW, *read_table().values()):
        assert row.risk_of(less) <= row.risk_of(more) + 1e-12


@pytest.mark.parametrize("risk", [0, 1, -0.1, 2.0, float("nan"), "0.1", None])
def test_a_risk_is_a_probability(risk: object) -> None:
    with pytest.raises(InputError, match="a risk is a probability between 0 and 1"):
        check_risk(risk)


def test_four_indices_of_the_papers_ladder_are_near() -> None:
    assert [reach_of(n) for n in (3, 7, 21, 49)] == [1, 1, 2, 4]


# The table


def test_every_row_is_of_the_network_that_is_shipped() -> None:
    """A row of another file is not used, and what holds for any method knows less."""
    for name, row in read_table().items():
        key, _, _ = name.rpartition("/")
        if key != ANY_METHOD:
            assert row.identity == find_method(key).build().identity, name


def test_every_row_of_the_table_is_sound() -> None:
    for name, row in read_table().items():
        key, _, kind = name.rpartition("/")
        assert kind in KINDS
        assert key == ANY_METHOD or key in METHODS
        count = len(row.names)
        assert (len(row.centre), len(row.scale), len(row.sharpness)) == (count, count, 1 + count)
        assert len(row.doubt) == 1 + 3 * count
        assert len(row.risks) == len(MISSES)
        assert all(np.diff(row.risks) >= 0)
        assert min(row.scale) > 0


def test_what_is_worse_never_makes_less_doubtful() -> None:
    for row in read_table().values():
        count = len(row.names)
        within, above, below = (row.doubt[1 + at * count : 1 + (at + 1) * count] for at in range(3))
        for name, *weights in zip(row.names, within, above, below, strict=True):
            way = DIRECTIONS.get(name, 0)
            assert way in (WORSE, BETTER, 0)
            assert way * weights[0] >= 0
            assert way * weights[1] >= 0
            assert way * weights[2] <= 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_method_without_a_row_has_that_of_its_kind(kind: str) -> None:
    assert find_row("mine", kind, "") is read_table()[f"{ANY_METHOD}/{kind}"]


def test_a_row_belongs_to_one_network() -> None:
    key = "dioptre-any-dp"
    row = read_table()[f"{key}/{LOOKS}"]
    assert find_row(key, LOOKS, row.identity) is row
    with pytest.warns(UserWarning, match="the confidence of dioptre-any-dp was fitted to another file"):
        other = find_row(key, LOOKS, "another network")
    assert other is read_table()[f"{ANY_METHOD}/{LOOKS}"]


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_table({"mine/sweep": ROW}, tmp_path / "table.json")
    assert read_table(tmp_path / "table.json") == {"mine/sweep": ROW}
