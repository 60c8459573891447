"""Numbers about confidence, against answers that are known beforehand."""

import numpy as np
import pytest

from dioptre.evaluate.calibration_metrics import ConfidenceCounts, auroc, reliability


def test_confidence_that_is_true_has_no_calibration_error() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.random(200_000)
    found = reliability(confidence, rng.random(200_000) < confidence)
    assert found.error < 0.01
    assert found.count.sum() == 200_000


def test_the_calibration_error_is_the_mean_gap() -> None:
    found = reliability(np.array([0.95, 0.95, 0.15, 0.15]), np.array([True, False, False, False]))
    assert found.error == pytest.approx((0.45 + 0.15) / 2)
    assert found.believed.tolist() == pytest.approx([0.15, 0.95])


def test_auroc_counts_pairs() -> None:
    score, right = np.array([0.9, 0.4, 0.5, 0.4]), np.array([True, True, False, False])
    pairs = [(a > b) + 0.5 * (a == b) for a in score[right] for b in score[~right]]
    assert auroc(score, right) == pytest.approx(np.mean(pairs))
    assert np.isnan(auroc(score, np.ones(4, bool)))


def test_taking_more_risk_accepts_more_and_misses_more() -> None:
    risk, away = np.array([0.3, 0.1, 0.2, 0.4]), np.array([9.0, 0.0, 0.0, np.inf])
    coverage, misses = ConfidenceCounts.of(1 - risk, risk, away, risk < 0.2).risk_coverage()
    assert coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert misses.tolist() == pytest.approx([0, 0, 1 / 3, 1 / 2])


def test_answers_that_are_counted_in_parts_are_worth_what_they_are_together() -> None:
    rng = np.random.default_rng(1)
    confidence, risk = rng.random(2000), rng.random(2000)
    away = np.abs(rng.normal(0, 4, 2000))
    focused = risk < 0.2
    whole = ConfidenceCounts.of(confidence, risk, away, focused)
    half = [
        ConfidenceCounts.of(confidence[at], risk[at], away[at], focused[at])
        for at in (slice(700), slice(700, None))
    ]
    for name, value in (half[0] + half[1]).to_json().items():
        assert value == (whole.to_json()[name] if name == "risks" else pytest.approx(whole.to_json()[name]))
    plain = reliability(confidence, away <= 2)
    assert whole.reliability().found == pytest.approx(plain.found)
    assert whole.reliability().error == pytest.approx(plain.error)
    assert whole.auroc() == pytest.approx(auroc(confidence, away <= 2), abs=1e-3)
    coverage, misses = whole.risk_coverage()
    assert (coverage[-1], misses[-1]) == (1.0, pytest.approx(np.mean(away > 4)))


def test_a_risk_has_its_price() -> None:
    risk, away = np.array([0.01, 0.05, 0.2, 0.6]), np.array([0.0, 9.0, 0.0, 9.0])
    found = ConfidenceCounts.of(1 - risk, risk, away, risk <= 0.2)
    assert [found.at_risk(one) for one in (0.01, 0.05, 0.2)] == [(0.25, 0.0), (0.5, 0.5), (0.75, 1 / 3)]
    assert (found.focused, found.false_confident) == (3, 1)
    assert found.to_json()["false_confident"] == 0.25


def test_sharp_is_within_two_steps_and_a_miss_beyond_four() -> None:
    away = np.array([0.0, 2.0, 2.1, 4.0, 4.1, np.inf])
    found = ConfidenceCounts.of(np.full(6, 0.5), np.full(6, 0.5), away, np.ones(6, bool))
    assert (found.right.sum(), found.missed.sum(), found.false_confident) == (2, 2, 2)


def test_a_risk_that_tells_misses_ranks_them_above_the_others() -> None:
    risk, away = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.0, 9.0, 3.0, np.inf])
    found = ConfidenceCounts.of(1 - risk, risk, away, risk < 0.5)
    assert found.miss_auroc() == pytest.approx(3 / 4)
