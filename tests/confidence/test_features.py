"""Features: blind to light, and not to what light, noise and frozen frames make of a sweep."""

import numpy as np
import pytest

from dioptre.confidence.features import Evidence, find_evidence, near_of, own_doubt, sharpness_of
from dioptre.confidence.model import read_model
from dioptre.confidence.statistics import SliceBlocks
from dioptre.posterior import Decision, Posterior
from tests.confidence.sweeps import SHARP, N, grained, noise_bump, still, sweep


def evidence_of(pixels: np.ndarray, answer: float = SHARP) -> Evidence:
    return find_evidence(SliceBlocks.of(pixels), float(answer))


def curve_of(pixels: np.ndarray) -> np.ndarray:
    found = evidence_of(pixels).curve
    assert found is not None
    return found


def test_the_curve_peaks_in_focus_whatever_the_answer() -> None:
    for answer in (SHARP, SHARP + 0.4, SHARP - 3, SHARP + 6):
        found = evidence_of(sweep(), answer)
        assert found.curve is not None
        assert found.curve.argmax() == pytest.approx(SHARP, abs=1)
        assert found.posterior is not None
        assert found.posterior.mean == pytest.approx(SHARP, abs=1)


@pytest.mark.parametrize("seed", range(3))
def test_exposure_gain_and_tone_curve_leave_the_curve_alone(seed: int) -> None:
    pixels = sweep(seed=seed)
    plain = curve_of(pixels)
    gains = np.random.default_rng(seed).uniform(0.3, 1.0, (N, 1, 1, 1))
    for changed in (0.3 * pixels, gains * pixels, pixels**0.45, 0.9 * (gains * pixels) ** 0.6):
        away = np.abs(curve_of(changed.astype(np.float32)) - plain).max()
        assert away < 0.06 * np.ptp(plain)


# Sharpness of a few looks

LOOKS = [0, 5, 8, 10, 13, 15, 24]


@pytest.mark.parametrize("looks", [list(range(N)), LOOKS, [10, 24], [SHARP]])
def test_sharpness_is_highest_nearest_to_the_focus(looks: list[int]) -> None:
    found = sharpness_of(SliceBlocks.of(sweep()[looks]))
    assert found.shape == (len(looks),)
    assert np.isfinite(found).all()
    assert looks[int(found.argmax())] == min(looks, key=lambda at: abs(at - SHARP))


def test_sharpness_falls_on_either_side_of_the_focus() -> None:
    found = sharpness_of(SliceBlocks.of(sweep()[5:18]))
    assert (np.diff(found)[: SHARP - 5] > 0).all()
    assert (np.diff(found)[SHARP - 5 :] < 0).all()


def test_sharpness_is_that_of_each_look_in_whatever_order_they_come() -> None:
    pixels = sweep()[LOOKS]
    plain, turned = (sharpness_of(SliceBlocks.of(one)) for one in (pixels, pixels[::-1].copy()))
    np.testing.assert_allclose(turned[::-1], plain, atol=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_the_light_does_not_make_a_look_sharper(seed: int) -> None:
    pixels = sweep(seed=seed)[LOOKS]
    gains = np.random.default_rng(seed).uniform(0.3, 1.0, (len(LOOKS), 1, 1, 1)).astype(np.float32)
    plain, lit = (sharpness_of(SliceBlocks.of(one)) for one in (pixels, gains * pixels))
    away = (lit - lit.mean()) - (plain - plain.mean())  # a constant does not count
    assert np.abs(away).max() < 0.06 * np.ptp(plain)


def test_no_light_and_no_detail_are_no_crash() -> None:
    for pixels in (np.zeros((4, 1, 64, 64), np.float32), np.full((4, 1, 64, 64), 0.5, np.float32)):
        found = sharpness_of(SliceBlocks.of(pixels))
        assert np.isfinite(found).all()
        assert np.ptp(found) < 1e-6


def test_a_sweep_tells_and_still_pictures_do_not() -> None:
    assert evidence_of(sweep()).features["telling"] > 0
    for light in (np.linspace(0.4, 1.0, 15), np.full(15, 0.7), np.random.default_rng(0).uniform(0.5, 1, 15)):
        assert evidence_of(still(light), 4).features["telling"] < -6


def test_a_bracket_of_one_still_picture_has_no_peak() -> None:
    found = evidence_of(still(np.linspace(0.4, 1.0, 15)), 7)
    assert found.curve is not None
    assert np.ptp(found.curve) < 0.1
    assert found.posterior is not None
    assert found.posterior.away_from(7.0, near_of(15)) > 0.5


def test_nobody_hears_noise() -> None:
    wall = grained(np.full((N, 1, 128, 128), 0.4, np.float32), 0.02)
    assert evidence_of(wall).features["telling"] < -6


def test_all_numbers_are_finite_or_not_known() -> None:
    rng = np.random.default_rng(0)
    for pixels in (sweep(), sweep(n=3, sharp=1), sweep(n=1), rng.random((5, 2, 32, 40), np.float32)):
        found = evidence_of(pixels, 0).features
        assert all(isinstance(one, float) and not np.isinf(one) for one in found.values())


def test_features_of_the_model_are_found() -> None:
    two_views = np.repeat(sweep(), 2, axis=1)
    assert set(read_model().names) <= set(evidence_of(two_views).features)
    assert (evidence_of(two_views[:2], 0)).posterior is None


def test_blur_is_a_loss_of_edge() -> None:
    """The same answer in a sweep that ends before the focus: less of its detail is fine."""
    edges = [evidence_of(sweep(sharp=SHARP + past)[: SHARP + 1]).features["edge"] for past in (0, 3, 8)]
    assert edges[0] > edges[1] + 0.3 > edges[2] + 0.5


def test_blur_of_the_answer_is_seen_in_a_sweep_that_has_the_focus() -> None:
    right, wrong = (evidence_of(sweep(), answer).features for answer in (SHARP, SHARP + 6))
    assert wrong["edge"] < right["edge"] - 0.5
    assert wrong["sharper"] > right["sharper"] + 1
    assert wrong["distance"] > right["distance"] + 2


@pytest.mark.parametrize("first", [SHARP - 3, SHARP - 1, SHARP])
def test_frozen_frames_around_the_answer_are_counted(first: int) -> None:
    pixels = sweep()
    assert evidence_of(pixels).features["repeats"] == 0
    pixels[first : first + 4] = pixels[first]
    assert evidence_of(pixels).features["repeats"] >= 2
    far = sweep()
    far[20:24] = far[20]
    assert evidence_of(far).features["repeats"] == 0


def test_light_that_changes_is_told_and_light_that_does_not_is_not() -> None:
    gains = np.random.default_rng(1).uniform(0.4, 1.0, (N, 1, 1, 1)).astype(np.float32)
    assert evidence_of(gains * sweep()).features["light"] > evidence_of(sweep()).features["light"] + 2


def test_a_scene_that_is_replaced_is_a_change() -> None:
    pixels = sweep()
    pixels[:8] = sweep(seed=1)[:8]
    assert evidence_of(pixels).features["change"] > evidence_of(sweep()).features["change"] + 1


def test_noise_is_not_what_neighbours_share() -> None:
    assert evidence_of(noise_bump(0.1, 1.0)).features["shared_clean"] < 0.5
    assert evidence_of(sweep()).features["shared_clean"] > 0.8
    assert evidence_of(sweep(noise=0.03)).features["shared_clean"] > 0.7  # of a noisy sweep it is none


def test_looks_are_told_by_their_positions() -> None:
    at = np.array([2.0, SHARP, 20.0])
    blocks = SliceBlocks.of(sweep()).at(at.astype(int))
    found = find_evidence(blocks, float(SHARP), 0.01, at, near_of(N))
    assert found.posterior is not None
    assert found.posterior.mean == pytest.approx(SHARP, abs=2.5)
    assert found.features["repeats"] == 0
    assert found.features["own"] == pytest.approx(np.log(0.01), abs=1e-3)


def test_own_doubt_is_what_lies_far_from_the_answer() -> None:
    logits = np.zeros((1, 51))
    sure = Posterior.of_logits(np.where(np.arange(51) == 21, 20.0, logits), 49, Decision.MODE)
    even = Posterior.of_logits(logits, 49, Decision.MODE)
    assert own_doubt(sure, 20.0, 2.0) < 1e-6
    assert own_doubt(sure, 30.0, 2.0) > 0.99
    assert own_doubt(even, 24.0, 2.0) == pytest.approx(1 - 5 / 51, abs=0.02)


def test_two_of_49_positions_are_near() -> None:
    assert near_of(49) == pytest.approx(2, abs=0.1)
    assert near_of(5) >= 1
