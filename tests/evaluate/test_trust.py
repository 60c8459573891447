"""Numbers about confidence, against answers that are known beforehand."""

import numpy as np
import pyarrow as pa
import pytest

from dioptre.evaluate.predict import SCHEMA
from dioptre.evaluate.trust import auroc, reliability, risk_coverage, trusted


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
    coverage, misses = risk_coverage(np.array([0.3, 0.1, 0.2, 0.4]), np.array([True, False, False, True]))
    assert coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert misses.tolist() == pytest.approx([0, 0, 1 / 3, 1 / 2])


def row(predicted: int, truth: int, sharp: int | None, confidence: float | None) -> dict[str, object]:
    plain: dict[str, object] = dict.fromkeys(SCHEMA.names, None)
    judged = None if confidence is None else 1 - confidence
    return plain | {
        "method": "mine", "steps": 0, "predicted": predicted, "truth": truth, "sharp": sharp,
        "state": "focused", "confidence": confidence, "risk": judged,
    }  # fmt: skip


def test_errors_are_counted_from_where_the_picture_was_sharp_if_that_is_known() -> None:
    rows = [row(10, 10, 16, 0.9), row(10, 11, None, 0.8), row(10, 40, 10, None)]
    (found,) = trusted(pa.Table.from_pylist(rows, schema=SCHEMA))
    assert found.errors.tolist() == [-6, -1]  # an answer that nobody judged is left out
    assert found.missed.tolist() == [True, False]
    assert found.to_json()["false_confident"] == 0.5
