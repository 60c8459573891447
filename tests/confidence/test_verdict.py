"""Verdicts: a clean sweep is focused, what has no answer fails and says why, and risk decides between."""

from dataclasses import replace

import numpy as np
import pytest

from dioptre.confidence.curve import peak_position
from dioptre.confidence.exposure import Exposure
from dioptre.confidence.features import find_evidence, near_of
from dioptre.confidence.reasons import EXPLANATIONS, Reason, State
from dioptre.confidence.statistics import SliceBlocks
from dioptre.confidence.verdict import (
    Candidate,
    Verdict,
    VerdictContext,
    candidates,
    is_at_an_end,
    judge,
    judge_curve,
)
from dioptre.miss import MISS_STEPS, SHARP_STEPS, reach_of
from dioptre.posterior import Decision, Posterior
from tests.confidence.sweeps import SHARP, N, answer_of, grained, judged, noise_bump, still, sweep, texture
from tests.marks import slow_but

CLEAN = [(25, 11.0, 0.35), (25, 11.4, 0.35), (49, 20.0, 0.3), (12, 5.0, 0.6), (7, 3.0, 1.0)]
BRACKETS = [(-3.0, 2.0), (-3.0, -0.5), (-1.0, 0.0), (0.0, 3.0)]  # stops


@pytest.mark.parametrize("n_sharp_growth", CLEAN)
@pytest.mark.parametrize("seed", slow_but([0], range(4)))
def test_a_clean_sweep_is_focused(n_sharp_growth: tuple[int, float, float], seed: int) -> None:
    n, sharp, growth = n_sharp_growth
    pixels = sweep(n, sharp, growth, seed=seed)
    found = judged(pixels)
    assert found.state is State.FOCUSED
    assert found.reasons == ()
    assert found.risk <= 0.01
    assert found.confidence > 0.9
    assert abs(answer_of(pixels) - sharp) < 0.5
    assert found.expected_error is not None
    assert found.expected_error < 0.5
    assert found.plateau is None


@pytest.mark.parametrize("change", [lambda one: one**0.45, lambda one: 0.3 * one, lambda one: one[::-1]])
def test_tone_curve_gain_and_direction_do_not_matter(change: object) -> None:
    assert callable(change)
    assert judged(np.ascontiguousarray(change(sweep()), np.float32)).state is State.FOCUSED


def failed_with(pixels: np.ndarray) -> tuple[Reason, ...]:
    found = judged(pixels)
    assert found.state is State.FAILED
    assert found.confidence == 0
    assert found.risk == 1
    return found.reasons


@pytest.mark.parametrize("n", [49, 12, 5, 3])
def test_a_wall_is_flat(n: int) -> None:
    for seed in range(3):
        wall = grained(np.full((n, 1, 128, 128), 0.6, np.float32), seed=seed)
        assert Reason.FLAT_CURVE in failed_with(wall)
    assert failed_with(np.full((n, 1, 32, 32), 0.3, np.float32)) == (Reason.FLAT_CURVE,)


@pytest.mark.parametrize(("n", "noise"), [(5, 0.02), (7, 0.05)])
def test_a_clear_peak_of_few_slices_is_not_flat(n: int, noise: float) -> None:
    assert judged(sweep(n, n // 2, 7 / n, noise)).state is not State.FAILED


@pytest.mark.parametrize("n", [49, 12, 5])
def test_a_bracket_of_one_picture_is_only_light(n: int) -> None:
    assert failed_with(still(np.linspace(0.4, 1.0, n)))[0] is Reason.ONLY_LIGHT


@pytest.mark.parametrize(("stops", "noise", "sigma"), [((-3.0, -0.5), 0.01, 0.0), ((-1.0, 0.0), 0.01, 3.0)])
def test_a_noisy_bracket_that_nothing_clips_is_only_light_too(
    stops: tuple[float, float], noise: float, sigma: float
) -> None:
    assert failed_with(still(2.0 ** np.linspace(*stops, 9), noise, sigma))[0] is Reason.ONLY_LIGHT


def test_a_lamp_that_comes_and_goes_is_only_light() -> None:
    lamp = 0.3 + 0.7 * np.exp(-(((np.arange(N) - 9) / 4) ** 2))
    assert failed_with(still(lamp))[0] is Reason.ONLY_LIGHT


CLIPPED_LAST = pytest.param(
    (0.0, 3.0),
    marks=pytest.mark.xfail(
        reason="a sharp picture of which light takes ever more is one, at risk 0.009", strict=False
    ),
)


@pytest.mark.parametrize("stops", [*BRACKETS[:-1], CLIPPED_LAST])
@pytest.mark.parametrize("sigma", [0.0, 1.0, 3.0])
def test_no_bracket_is_focused_however_much_of_it_is_clipped(
    stops: tuple[float, float], sigma: float
) -> None:
    for n in (5, 9, 15):
        for noise in (0.001, 0.01):
            assert judged(still(2.0 ** np.linspace(*stops, n), noise, sigma)).state is not State.FOCUSED


def test_white_is_saturated_and_black_is_too_dark() -> None:
    assert Reason.SATURATED in failed_with(np.ones((9, 1, 64, 64), np.float32))
    assert Reason.SATURATED in failed_with(np.clip(20 * sweep(), 0, 1))
    assert Reason.TOO_DARK in failed_with(np.zeros((9, 1, 64, 64), np.float32))
    assert judged(grained(1e-4 * sweep(noise=0), 0.001)).state is not State.FOCUSED


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_slices_are_too_few(n: int) -> None:
    assert failed_with(sweep(n=n)) == (Reason.TOO_FEW_SLICES,)


def test_slices_without_a_score_are_left_out() -> None:
    pixels = sweep()
    curve = judged_curve(pixels)
    curve[[0, 4]] = -np.inf
    found = judge_curve(curve, SliceBlocks.of(pixels), Exposure.of(pixels))
    assert found.state is State.FOCUSED
    assert found.candidates[0].index == SHARP
    curve[2:] = -np.inf
    found = judge_curve(curve, SliceBlocks.of(pixels), Exposure.of(pixels))
    assert (found.state, found.reasons) == (State.FAILED, (Reason.TOO_FEW_SLICES,))


def judged_curve(pixels: np.ndarray) -> np.ndarray:
    return SliceBlocks.of(pixels).fine.mean(axis=1).astype(float)


def test_a_lens_that_is_stuck_has_nothing_to_answer() -> None:
    assert Reason.FLAT_CURVE in failed_with(np.repeat(sweep()[SHARP : SHARP + 1], N, axis=0))
    assert Reason.FLAT_CURVE in failed_with(still(np.full(N, 0.8)))


@pytest.mark.parametrize("first", [SHARP - 3, SHARP - 1, SHARP])
def test_frozen_frames_around_the_peak_are_at_most_uncertain(first: int) -> None:
    pixels = sweep()
    pixels[first : first + 4] = pixels[first]
    found = judged(pixels, VerdictContext(risk=0.4))
    assert found.state is State.UNCERTAIN
    assert Reason.FROZEN_FRAMES in found.reasons


@pytest.mark.parametrize("past", [4, 8])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_sweep_that_ends_before_the_focus_is_not_focused(past: int, mirrored: bool) -> None:
    pixels = sweep(sharp=N - 1 + past)
    found = judged(np.ascontiguousarray(pixels[::-1]) if mirrored else pixels)
    assert found.state is State.UNCERTAIN
    assert {Reason.PEAK_AT_EDGE, Reason.NOWHERE_SHARP} & set(found.reasons)
    assert found.expected_error is not None
    assert found.expected_error > 2


@pytest.mark.parametrize("deviation", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("width", [1.0, 3.0])
def test_a_bump_of_noise_is_not_focused(deviation: float, width: float) -> None:
    pixels = noise_bump(deviation, width)
    found = judge(float(SHARP), SliceBlocks.of(pixels), Exposure.of(pixels))
    assert found.state is not State.FOCUSED
    assert found.reasons


def doubtful() -> np.ndarray:
    """Returns a sweep whose best answer nobody can be sure of."""
    return sweep(sharp=N - 1 + 4)


def test_risk_alone_moves_an_answer_between_focused_and_uncertain() -> None:
    for pixels in (sweep(), doubtful()):
        found = judged(pixels)
        refused = judged(pixels, VerdictContext(risk=found.risk * 0.9))
        taken = judged(pixels, VerdictContext(risk=min(found.risk * 1.01, 1.0)))
        assert (refused.state, taken.state) == (State.UNCERTAIN, State.FOCUSED)
        assert refused.reasons
        for one in (refused, taken):
            assert replace(one, state=found.state, reasons=found.reasons) == found


def test_no_risk_makes_an_answer_of_what_has_none() -> None:
    assert judged(still(np.linspace(0.4, 1, 9)), VerdictContext(risk=1.0)).state is State.FAILED


def test_state_risk_confidence_and_expected_error_agree() -> None:
    rng = np.random.default_rng(0)
    for sharp in (-4, 0, 1, 6, 11, 18, 23, 24, 28):
        pixels = sweep(sharp=sharp, noise=float(rng.choice([0.002, 0.03])), seed=int(sharp) % 3)
        found = judged(pixels)
        assert (found.state is State.FOCUSED) == (found.risk <= 0.01)
        assert 0 <= found.confidence <= 1 - found.risk / 10 + 1e-3
        assert all(EXPLANATIONS[one] for one in found.reasons)
        assert found.expected_error is not None
        if found.confidence > 0.95:  # it is sharp there, so it cannot be far
            assert found.expected_error < 2 * near_of(N)
        if found.confidence < 0.3:
            assert found.expected_error > 1


def test_more_noise_is_more_risk() -> None:
    risks = [judged(sweep(noise=noise)).risk for noise in (0.003, 0.1, 0.4)]
    assert risks[0] < risks[1] < risks[2]


def test_equally_sharp_slices_are_a_plateau() -> None:
    found = judged(sweep(sharp=11, growth_px=0.0, noise=0.0)[:1].repeat(3, axis=0))
    assert found.state is State.FAILED  # all of them, to the bit
    light = np.concatenate([sweep(n=11, sharp=10), np.repeat(sweep(n=11, sharp=10)[-1:], 5, axis=0)])
    light = np.concatenate([light, sweep(n=11, sharp=0)[1:]])
    found = judged(grained(light, 0.0005))
    assert found.plateau is not None
    assert found.plateau[0] <= 11
    assert found.plateau[1] >= 14


def test_a_picture_of_two_depths_is_focused_on_one_and_says_so() -> None:
    near, far = sweep(n=41, sharp=8), sweep(n=41, sharp=32, seed=1)
    both = np.concatenate([near[..., :64], far[..., 64:]], axis=-1)
    found = judged(both)
    assert found.state is State.FOCUSED
    assert found.reasons in ((), (Reason.SEVERAL_DEPTHS,))
    assert min(abs(answer_of(both) - at) for at in (8, 32)) <= 1


# What a method's own posterior knows


def posterior(logits: np.ndarray) -> Posterior:
    return Posterior.of_logits(np.asarray(logits, float)[None], len(logits) - 2, Decision.MODE)


def peak_at(*places: float, n: int = N) -> np.ndarray:
    """Returns logits with beyond-far before the grid and beyond-near after it."""
    at = np.arange(-1, n + 1)
    return np.logaddexp.reduce([-0.5 * ((at - place) / 0.7) ** 2 for place in places])


def judged_looks(
    logits: np.ndarray, pixels: np.ndarray | None = None, looks: tuple[int, ...] = (4, SHARP)
) -> Verdict:
    pixels = sweep() if pixels is None else pixels
    own, at = posterior(logits), np.array(looks)
    return judge(
        peak_position(own.scores()[0]),
        SliceBlocks.of(pixels[at]),
        Exposure.of(pixels[at]),
        own,
        VerdictContext(looks=at.astype(float), grid=N),
    )


def test_two_sides_of_focus_are_ambiguous_and_the_likeliest_comes_first() -> None:
    found = judged_looks(np.logaddexp(peak_at(SHARP), peak_at(20) - 0.5))
    assert Reason.AMBIGUOUS in found.reasons
    assert [one.index for one in found.candidates] == [SHARP, 20]
    assert found.rivals == (20,)
    assert found.candidates[0].probability > found.candidates[1].probability


def test_one_side_of_focus_is_not_ambiguous() -> None:
    found = judged_looks(peak_at(SHARP))
    assert Reason.AMBIGUOUS not in found.reasons
    assert len(found.candidates) == 1


@pytest.mark.parametrize(("end", "reason"), [(0, Reason.BEYOND_FAR), (-1, Reason.BEYOND_NEAR)])
def test_what_lies_beyond_an_end_is_told(end: int, reason: Reason) -> None:
    logits = np.zeros(N + 2)
    logits[end] = 12
    assert reason in judged_looks(logits).reasons


def test_a_posterior_that_is_sure_has_less_risk() -> None:
    sure, even = judged_looks(peak_at(SHARP)), judged_looks(np.zeros(N + 2))
    assert sure.risk < even.risk
    assert sure.confidence > even.confidence
    assert sure.expected_error is not None
    assert even.expected_error is not None
    assert sure.expected_error < even.expected_error


def test_one_look_has_a_verdict_too() -> None:
    found = judged_looks(peak_at(SHARP), looks=(SHARP,))
    assert found.state in (State.FOCUSED, State.UNCERTAIN)
    dark = judged_looks(peak_at(SHARP), np.zeros((N, 1, 64, 64), np.float32), looks=(SHARP,))
    assert dark.state is State.FAILED
    assert Reason.TOO_DARK in dark.reasons


# What is near


@pytest.mark.parametrize("slices", [3, 49, 400])
def test_steps_of_blur_have_a_reach_of_their_own_and_positions_one_by_their_number(slices: int) -> None:
    steps, positions = VerdictContext(in_steps=True), VerdictContext()
    assert (steps.near(slices), steps.reach(slices)) == (SHARP_STEPS, MISS_STEPS)
    assert (positions.near(slices), positions.reach(slices)) == (near_of(slices), reach_of(slices))
    assert (SHARP_STEPS, MISS_STEPS) == (2, 4)


def test_the_grid_that_looks_were_taken_on_says_what_is_near_them() -> None:
    few = VerdictContext(looks=np.array([3.0, 9.0]), grid=490)
    assert (few.near(2), few.reach(2)) == (near_of(490), 40)
    assert replace(few, in_steps=True).near(2) == 2


def test_the_same_doubt_is_worse_where_a_step_is_a_step() -> None:
    """Of 400 positions of an unknown lens 16 are near each other, of 400 steps of blur two are."""
    at = np.arange(-1, 401)
    own, looks = posterior(-0.5 * ((at - 200) / 4.0) ** 2), np.array([180.0, 190.0, 200.0, 210.0])
    blocks, exposure = (kind.of(sweep()[[7, 9, SHARP, 13]]) for kind in (SliceBlocks, Exposure))
    wide = VerdictContext(looks=looks, grid=400)
    one, two = (judge(200.0, blocks, exposure, own, each) for each in (wide, replace(wide, in_steps=True)))
    assert two.risk > one.risk
    assert two.confidence < one.confidence
    assert two.confidence < 0.8  # a third of the posterior is a deviation away or more


@pytest.mark.parametrize(("past", "answer", "at_end"), [(6, 24.0, True), (6, 23.0, False), (-6, 24.0, False)])
@pytest.mark.parametrize("mirrored", [False, True])
def test_an_answer_at_an_end_that_contrast_sees_beyond_is_at_an_end(
    past: int, answer: float, at_end: bool, mirrored: bool
) -> None:
    pixels = sweep(sharp=N - 1 + past)
    pixels = np.ascontiguousarray(pixels[::-1]) if mirrored else pixels
    answer = N - 1 - answer if mirrored else answer
    assert is_at_an_end(find_evidence(SliceBlocks.of(pixels), answer), answer, N) is at_end


def test_two_looks_do_not_tell_an_end() -> None:
    evidence = find_evidence(SliceBlocks.of(sweep()[:2]), 0.0, positions=np.array([0.0, 1.0]))
    assert evidence.posterior is None
    assert not is_at_an_end(evidence, 0.0, N)


# Candidates and places


def test_candidates_are_sides_with_a_valley_between() -> None:
    chances = np.full(N, 1e-4)
    chances[[4, 5, 6]] = [0.2, 0.3, 0.1]
    chances[18] = 0.35
    found = candidates(chances / chances.sum())
    assert [one.index for one in found] == [5, 18]
    assert found[0].probability == pytest.approx(0.62, abs=0.05)


def test_a_verdict_is_turned_with_its_slices_and_back() -> None:
    found = Verdict(State.FOCUSED, 0.9, (), 0.4, 0.01, (Candidate(3, 0.8), Candidate(9, 0.2)), (2, 4))
    turned = found.turned(12)
    assert turned.plateau == (7, 9)
    assert [one.index for one in turned.candidates] == [8, 2]
    assert turned.turned(12) == found
    assert Verdict(State.FAILED, 0.0, ()).turned(12) == Verdict(State.FAILED, 0.0, ())


def test_a_verdict_is_placed_on_the_grid_that_its_slices_are_of() -> None:
    found = Verdict(State.FOCUSED, 0.9, (), 0.4, 0.01, (Candidate(1, 0.8), Candidate(3, 0.2)), (1, 2))
    placed = found.placed(np.array([4, 8, 12, 16]))
    assert placed.plateau == (8, 12)
    assert [one.index for one in placed.candidates] == [8, 16]
    assert placed.expected_error == pytest.approx(1.6)
    assert found.placed(np.arange(4)) == found


def test_candidates_are_plain_numbers_in_json() -> None:
    assert Candidate(3, 0.8).to_json() == {"index": 3, "probability": 0.8}


# Reasons and exposure


def test_every_reason_has_a_sentence_of_its_own() -> None:
    assert set(EXPLANATIONS) == set(Reason)
    assert len(set(EXPLANATIONS.values())) == len(Reason)
    for sentence in EXPLANATIONS.values():
        assert sentence[0].islower()
        assert not sentence.endswith(".")


def test_pixels_that_are_not_numbers_count_as_black() -> None:
    pixels = np.full((3, 1, 16, 16), 0.5, np.float32)
    pixels[0, 0, :8] = np.nan
    found = Exposure.of(pixels)
    assert not found.finite
    assert found.mean == pytest.approx(0.5)
    assert not found.is_saturated


def test_a_region_is_dark_only_if_it_is_so_where_there_is_most_signal() -> None:
    pixels = np.full((3, 1, 16, 16), 0.001, np.float32)
    assert Exposure.of(pixels).is_dark
    pixels[1, 0, 3, 5] = 0.9  # a hot pixel
    assert Exposure.of(pixels).is_dark
    pixels[1, 0, 3, 6] = 0.5  # a star
    assert not Exposure.of(pixels).is_dark
    assert Exposure.of(pixels).brightest == 0.5
    assert Exposure(saturated=0.0, mean=0.001).is_dark


def test_textures_of_these_tests_are_well_exposed() -> None:
    assert 0.1 < texture().mean() < 0.8
    assert not Exposure.of(sweep()).is_dark
