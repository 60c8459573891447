"""Fitting what evidence is worth: the gradient, what it finds, and what it may not find."""

import pytest

pytest.importorskip("pyarrow")

import numpy as np
from scipy.optimize import check_grad

from dioptre.confidence.model import SWEEP, Observation, believe
from lab.confidence_samples import Sample
from lab.fit_confidence import _Likelihood, fit_row

N = 49


def drawn(count: int, seed: int = 0, deviation: float = 1.0) -> list[Sample]:
    """Returns answers that are misled the more often, the more there is of `rough`; `light` means nothing."""
    rng = np.random.default_rng(seed)
    samples = []
    for _ in range(count):
        rough, light = rng.standard_normal(2).tolist()
        answer = int(rng.integers(8, N - 8))
        logits = -0.5 * (np.arange(-1, N + 1) - answer) ** 2
        misled = rng.random() < 1 / (1 + np.exp(4 - 2.5 * rough))
        truth = int(rng.integers(N)) if misled else answer + round(deviation * rng.standard_normal())
        observation = Observation(SWEEP, answer, logits, {"rough": rough, "light": light})
        samples.append(Sample(observation, truth, clean=rough < 1, scene=len(samples) // 16))
    return samples


def test_the_gradient_of_the_likelihood_is_its_slope() -> None:
    samples = [*drawn(30), Sample(drawn(1)[0].observation, None, clean=False)]
    usual = np.concatenate([np.ones((31, 1)), np.random.default_rng(1).standard_normal((31, 6))], axis=1)
    likelihood = _Likelihood(samples, usual, 0.1)
    weights = 0.3 * np.random.default_rng(2).standard_normal(7 + 3)
    off = check_grad(lambda x: likelihood(x)[0], lambda x: likelihood(x)[1], weights)
    assert off < 1e-5


def test_what_misleads_is_found_and_belief_is_true() -> None:
    row = fit_row(drawn(3000), "hash").row
    assert row.identity == "hash"
    assert row.doubt[1] > 1  # rough, within what is usual
    assert abs(row.doubt[2]) < 0.5  # light
    fresh = drawn(3000, seed=1)
    beliefs = [believe(one.observation, row) for one in fresh]
    away = np.array([abs(one.observation.answer - (one.truth or 0)) for one in fresh])
    for name, found in (("confidence", np.mean(away <= 1)), ("miss", np.mean(away > 4))):
        assert np.mean([getattr(one, name) for one in beliefs]) == pytest.approx(found, abs=0.05)
    assert np.mean([one.expected_error for one in beliefs]) == pytest.approx(away.mean(), rel=0.2)


def test_the_risk_is_the_share_of_misses_among_clean_answers_that_are_as_sure() -> None:
    row = fit_row(drawn(3000), "").row
    fresh = [one for one in drawn(6000, seed=1) if one.clean]
    risks = np.array([believe(one.observation, row).risk for one in fresh])
    missed = np.array([abs(one.observation.answer - (one.truth or 0)) > 4 for one in fresh])
    for risk in (0.01, 0.02):
        accepted = risks <= risk
        assert 0.2 < accepted.mean() < 1
        assert missed[accepted].mean() == pytest.approx(risk, abs=0.006)


def test_what_is_worse_never_makes_less_doubtful_even_if_samples_say_so() -> None:
    samples = []
    for one in drawn(500):
        evidence = {"rough": -one.observation.evidence["rough"]}
        answer, logits = one.observation.answer, one.observation.logits
        samples.append(Sample(Observation(SWEEP, answer, logits, evidence), one.truth, one.clean))
    row = fit_row(samples, "").row
    assert row.doubt[1] == 0.0


def test_worth_is_counted_on_scenes_that_the_weights_were_not_fitted_to() -> None:
    fitted = fit_row(drawn(3000), "")
    fresh = [one for one in drawn(6000, seed=1) if one.clean]
    accepted = np.array([believe(one.observation, fitted.row).risk <= 0.01 for one in fresh])
    missed = np.array([one.missed for one in fresh])
    assert fitted.worth.clean == sum(one.clean for one in drawn(3000))
    assert fitted.worth.misses == pytest.approx(missed.mean(), abs=0.01)
    assert fitted.worth.focused == pytest.approx(accepted.mean(), abs=0.08)
    assert fitted.worth.false <= 0.01 * fitted.worth.focused
    assert fitted.worth.calibration_error[0] < 0.05
    assert fitted.worth.auroc[1] > fitted.worth.auroc[0] + 0.03  # faults are told from the rest
