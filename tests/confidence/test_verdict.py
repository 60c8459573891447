"""Verdicts: noise must not pass for a peak, a peak must pass, and a failure must say why.

Rates are counted over fixed seeds, so a test that passes once always passes.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dioptre.confidence.curve import (
    FEW_SLICES,
    NOISE_IN_DOUBT,
    UNKNOWN_NOISE,
    CurveNoise,
    disagreement,
    peak_position,
    roughness,
    significance,
)
from dioptre.confidence.exposure import Exposure
from dioptre.confidence.model import Row
from dioptre.confidence.reasons import EXPLANATIONS, WARNINGS, Reason, State
from dioptre.confidence.sweep_statistics import Traces
from dioptre.confidence.verdict import (
    CLEARLY,
    SIGNS,
    Asked,
    Verdict,
    judge,
    judge_posterior,
    shape_reasons,
    signs_in,
)
from dioptre.focusing.focus import focus
from dioptre.focusing.result import FocusResult
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.posterior import Posterior
from dioptre.simulate.render import plane_stack
from dioptre.simulate.sensor import expose
from dioptre.simulate.texture import dead_leaves
from tests.marks import slow_but

LENGTHS = (49, 21, 12, 7, 5, 3)
LIT = Exposure(saturated=0.0, mean=0.3)
BROKEN = Exposure(saturated=0.0, mean=0.3, finite=False)
SIZE = 64  # pixels: the smallest region with 4 x 4 tiles


# Curves


def bell(n: int, peak: float, width: float) -> np.ndarray:
    return np.exp(-0.5 * ((np.arange(n) - peak) / width) ** 2)


def width_for(n: int) -> float:
    return max(1.0, n / 8)


def with_tiles(curve: np.ndarray, noise: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Returns the mean curve of 16 tiles with independent noise, and their curves; `noise` is the mean's."""
    rng = np.random.default_rng(seed)
    tiles = curve + 4 * noise * rng.standard_normal((16, len(curve)))
    return tiles.mean(axis=0), tiles


def judged(curve: np.ndarray, noise: float = 1e-3, exposure: Exposure = LIT, seed: int = 0) -> Verdict:
    return judge(*with_tiles(curve, noise, seed), exposure)


def false_alarms(verdicts: list[Verdict]) -> float:
    return float(np.mean([verdict.state is State.FOCUSED for verdict in verdicts]))


@pytest.mark.parametrize("n", LENGTHS)
def test_a_clear_peak_is_focused(n: int) -> None:
    verdict = judged(bell(n, n // 2, width_for(n)))
    assert verdict.state is State.FOCUSED
    assert verdict.confidence > (0.9 if n > 7 else 0.85)
    assert verdict.reasons == ()


@pytest.mark.parametrize("n", [49, 21, 12])
def test_a_long_curve_needs_no_tiles(n: int) -> None:
    rng = np.random.default_rng(n)
    curve = bell(n, n // 2, width_for(n)) + 0.01 * rng.standard_normal(n)
    assert judge(curve, None, LIT).state is State.FOCUSED


@pytest.mark.parametrize("n", LENGTHS)
def test_noise_of_which_tiles_disagree_is_flat(n: int) -> None:
    verdicts = [judged(np.zeros(n), noise=1.0, seed=seed) for seed in range(200)]
    assert false_alarms(verdicts) <= 0.01
    flat = [Reason.FLAT_CURVE in verdict.reasons for verdict in verdicts]
    assert np.mean(flat) > 0.95


@pytest.mark.parametrize(("n", "at_most"), [(49, 0.005), (25, 0.02)])
def test_noise_in_a_long_curve_is_flat_without_tiles(n: int, at_most: float) -> None:
    rng = np.random.default_rng(n)
    assert false_alarms([judge(rng.standard_normal(n), None, LIT) for _ in range(400)]) <= at_most


@pytest.mark.parametrize("n", [49, 21, 12])
def test_flicker_on_which_all_tiles_agree_is_not_focused(n: int) -> None:
    rng = np.random.default_rng(n)
    verdicts = [judged(rng.standard_normal(n), noise=1e-3, seed=seed) for seed in range(200)]
    assert false_alarms(verdicts) <= 0.1


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("level", [0.0, 0.37, -5.0, 1e9])
def test_a_constant_curve_is_flat(n: int, level: float) -> None:
    verdict = judge(np.full(n, level), np.full((16, n), level), LIT)
    assert verdict == Verdict(State.FAILED, 0.0, (Reason.FLAT_CURVE,))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("direction", [1, -1])
def test_a_curve_that_still_rises_at_an_end_peaks_beyond(n: int, direction: int) -> None:
    verdict = judged(np.exp(np.arange(n) / width_for(n))[::direction] / np.exp(n / width_for(n)))
    assert verdict.state is State.FAILED
    assert verdict.reasons == (Reason.PEAK_AT_EDGE,)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("direction", [1, -1])
def test_a_curve_that_rises_to_its_last_slice_may_peak_beyond(n: int, direction: int) -> None:
    verdict = judged(bell(n, n - 1, max(2.0, n / 8))[::direction], noise=1e-4)
    assert verdict.state is State.FAILED
    assert verdict.reasons == (Reason.PEAK_AT_EDGE,)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("direction", [1, -1])
def test_a_parabola_whose_vertex_lies_outside_peaks_beyond(n: int, direction: int) -> None:
    curve = -(((np.arange(n) + 3.0) / n) ** 2)[::direction]
    assert judged(curve, noise=1e-5).reasons == (Reason.PEAK_AT_EDGE,)


@pytest.mark.parametrize("n", [49, 21, 12])
@pytest.mark.parametrize("place", [0.2, 0.5, 0.8])
def test_one_lone_slice_is_a_spike(n: int, place: float) -> None:
    curve = 0.01 * np.random.default_rng(0).standard_normal(n)
    curve[int(place * n)] = 1.0
    verdict = judged(curve)
    assert verdict.state is State.FAILED
    assert verdict.reasons == (Reason.SPIKE,)


@pytest.mark.parametrize("n", [49, 21])
def test_a_narrow_peak_with_shoulders_is_no_spike(n: int) -> None:
    curve = np.zeros(n)
    curve[n // 2 - 1 : n // 2 + 2] = 0.3, 1.0, 0.3
    assert judged(curve).reasons == ()


@pytest.mark.parametrize(("first", "second"), [(1.0, 0.92), (0.92, 1.0)])
def test_two_clear_peaks_are_focused_with_a_warning(first: float, second: float) -> None:
    verdict = judged(first * bell(49, 12, 3.0) + second * bell(49, 36, 3.0))
    assert verdict.state is State.FOCUSED
    assert verdict.reasons == (Reason.TWO_PEAKS,)


def test_two_broad_peaks_are_focused_with_a_warning() -> None:
    verdict = judged(bell(49, 12, 6.0) + 0.9 * bell(49, 38, 6.0))
    assert verdict.state is State.FOCUSED
    assert verdict.reasons == (Reason.TWO_PEAKS,)


def test_a_second_peak_half_as_high_is_no_rival() -> None:
    assert judged(bell(49, 12, 3.0) + 0.5 * bell(49, 36, 3.0)).reasons == ()


def test_a_shoulder_without_a_valley_is_no_rival() -> None:
    assert judged(bell(49, 20, 4.0) + 0.9 * bell(49, 26, 4.0)).reasons == ()


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_slices_are_too_few(n: int) -> None:
    verdict = judged(np.arange(n, dtype=np.float64))
    assert verdict == Verdict(State.FAILED, 0.0, (Reason.TOO_FEW_SLICES,))


def without_slice(missing: int) -> tuple[np.ndarray, np.ndarray]:
    curve, tiles = with_tiles(bell(49, 20, 4.0), noise=1e-3)
    curve[missing], tiles[:, missing] = -np.inf, -np.inf
    return curve, tiles


@pytest.mark.parametrize("missing", [0, 10, 20, 40])
def test_a_slice_with_bad_pixels_fails_with_its_reason(missing: int) -> None:
    verdict = judge(*without_slice(missing), BROKEN)
    assert verdict.state is State.FAILED
    assert verdict.reasons == (Reason.NOT_FINITE,)
    assert 0 < verdict.confidence <= 1


@pytest.mark.parametrize("missing", [0, 10, 40])
def test_a_slice_without_a_score_is_left_out_of_the_curve(missing: int) -> None:
    verdict = judge(*without_slice(missing), LIT)
    assert verdict.state is State.FOCUSED
    assert verdict.reasons == ()


def test_slices_that_are_left_out_may_leave_too_few() -> None:
    curve = np.array([-np.inf, 1.0, -np.inf, 0.0, -np.inf])
    tiles = np.tile(curve, (16, 1))
    too_few = (Reason.NOT_FINITE, Reason.TOO_FEW_SLICES)
    assert judge(curve, tiles, BROKEN) == Verdict(State.FAILED, 0.0, too_few)
    assert judge(curve, tiles, LIT) == Verdict(State.FAILED, 0.0, (Reason.FLAT_CURVE,))


def test_a_good_curve_of_a_saturated_region_fails() -> None:
    verdict = judged(bell(49, 20, 4.0), exposure=Exposure(saturated=0.6, mean=0.9))
    assert verdict.state is State.FAILED
    assert verdict.reasons == (Reason.SATURATED,)


def test_a_good_answer_to_two_subjects_one_after_the_other_fails() -> None:
    rng = np.random.default_rng(4)
    scenes = [np.repeat(rng.random((1, 1, SIZE, SIZE), np.float32), count, axis=0) for count in (20, 29)]
    traces = Traces.of(np.concatenate(scenes) + 0.01 * rng.standard_normal((49, 1, SIZE, SIZE), np.float32))
    asked = Asked(traces=traces, risk=1.0)
    verdict = judge(*with_tiles(bell(49, 30, 4.0), 1e-3), LIT, asked=asked)
    assert verdict.state is State.FAILED
    assert verdict.reasons[0] is Reason.BROKEN_SWEEP
    posterior = Posterior.of_logits(np.log(bell(49, 30, 2.0))[None], 49)
    assert Reason.BROKEN_SWEEP in judge_posterior(posterior, LIT, asked).reasons


def test_darkness_matters_only_where_the_curve_is_flat() -> None:
    dark = Exposure(saturated=0.0, mean=0.001)
    assert judged(bell(49, 20, 4.0), exposure=dark).state is State.FOCUSED
    assert judge(np.zeros(49), None, dark).reasons == (Reason.FLAT_CURVE, Reason.TOO_DARK)
    assert Reason.TOO_DARK in judged(np.zeros(49), noise=1.0, exposure=dark).reasons


def test_more_noise_never_makes_surer() -> None:
    curve = bell(21, 10, 2.0)
    sure = [judged(curve, noise).confidence for noise in (0.001, 0.03, 0.1, 0.3, 1.0)]
    assert all(more <= less + 0.02 for less, more in pairwise(sure))
    assert sure[0] > 0.9
    assert sure[-1] < 0.6


@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e6, 1e6)), st.booleans(), st.floats(0, 1))
def test_state_confidence_and_reasons_always_agree(curve: np.ndarray, cut: bool, white: float) -> None:
    tiles = np.tile(curve, (16, 1)) if cut else None
    verdict = judge(curve, tiles, Exposure(white, 0.3))
    assert 0.0 <= verdict.confidence <= 1.0
    assert 0.0 <= verdict.risk <= 1.0
    assert (verdict.state is State.FAILED) == bool(set(verdict.reasons) - WARNINGS)
    assert len(set(verdict.reasons)) == len(verdict.reasons)


@given(st.integers(0, 10_000), st.sampled_from(LENGTHS), st.integers(-20, 20))
def test_the_unit_of_a_score_does_not_matter(seed: int, n: int, power: int) -> None:
    curve, tiles = with_tiles(bell(n, n // 3, width_for(n)), noise=0.1, seed=seed)
    assert judge(curve * 2.0**power, tiles * 2.0**power, LIT) == judge(curve, tiles, LIT)


@given(st.integers(0, 10_000), st.sampled_from(LENGTHS))
def test_the_direction_of_a_sweep_does_not_matter(seed: int, n: int) -> None:
    curve, tiles = with_tiles(bell(n, n // 3, width_for(n)), noise=0.1, seed=seed)
    there, back = judge(curve, tiles, LIT), judge(curve[::-1], tiles[:, ::-1], LIT)
    assert (there.state, there.reasons) == (back.state, back.reasons)


# What a curve's noise is


@pytest.mark.parametrize("deviation", [0.01, 0.3, 4.0])
def test_roughness_is_the_deviation_of_white_noise(deviation: float) -> None:
    curve = deviation * np.random.default_rng(1).standard_normal(4000)
    assert roughness(curve) == pytest.approx(deviation, rel=0.06)


def test_a_smooth_curve_is_not_rough() -> None:
    assert roughness(bell(49, 20, 6.0)) < 1e-3
    assert roughness(-((np.arange(49) - 20.3) ** 2) / 900) < 1e-12


def test_a_few_jumps_are_not_roughness() -> None:
    curve = bell(49, 20, 6.0) + 0.01 * np.random.default_rng(0).standard_normal(49)
    jumped = curve.copy()
    jumped[40] += 0.5
    assert roughness(jumped) == pytest.approx(roughness(curve), rel=0.5)


@pytest.mark.parametrize("noise", [0.003, 0.05])
def test_disagreement_is_the_noise_of_the_mean_curve(noise: float) -> None:
    curve, tiles = with_tiles(bell(400, 150, 50.0), noise)
    assert disagreement(tiles) == pytest.approx(noise / np.ptp(curve), rel=0.15)


def test_tiles_that_agree_have_no_noise() -> None:
    assert disagreement(np.tile(bell(21, 10, 3.0), (16, 1))) == 0.0


def test_tiles_without_a_curve_say_nothing() -> None:
    assert disagreement(np.ones((16, 21))) == np.inf
    blank = np.full((16, 21), -np.inf)
    blank[:3] = bell(21, 10, 3.0)
    assert disagreement(blank) == np.inf


def test_a_blank_tile_is_left_out() -> None:
    _, tiles = with_tiles(bell(21, 10, 3.0), noise=0.05)
    with_blank = np.concatenate([tiles, np.full((1, 21), -np.inf)])
    assert disagreement(with_blank) == disagreement(tiles)


def test_noise_that_nothing_tells_is_assumed() -> None:
    short = bell(FEW_SLICES - 1, 4, 1.0)
    assert CurveNoise.of(short, None) == CurveNoise(None, None)
    assert CurveNoise.of(short, None).total == UNKNOWN_NOISE
    assert CurveNoise.of(short, np.tile(short, (3, 1))).total == UNKNOWN_NOISE


def test_the_larger_noise_counts() -> None:
    curve, tiles = with_tiles(bell(21, 10, 3.0), noise=0.02)
    noise = CurveNoise.of(curve, tiles)
    assert noise.disagreement == disagreement(tiles)
    assert noise.roughness == roughness(curve)
    assert noise.total == max(disagreement(tiles), roughness(curve))
    assert noise.needed_rise(21) >= significance(21) * disagreement(tiles)


def test_a_peak_among_more_slices_must_stand_out_more() -> None:
    needed = [significance(n) for n in (3, 7, 21, 49, 500)]
    assert needed == sorted(needed)
    assert needed[0] > 3.9 * NOISE_IN_DOUBT


def test_the_needed_rise_decides() -> None:
    curve = bell(21, 10, 2.0)
    needed = significance(21)
    assert shape_reasons(curve, CurveNoise(0.5 / needed, 1e-4)) == []
    assert shape_reasons(curve, CurveNoise(0.99 / needed, 1e-4)) == [Reason.FLAT_CURVE]


# The peak between slices


@given(st.integers(3, 60), st.floats(0, 1), st.floats(1e-3, 1e3))
def test_the_vertex_of_a_parabola_is_found_exactly(n: int, place: float, bend: float) -> None:
    vertex = 0.5 + place * (n - 2)  # so that its highest slice has two neighbours
    found = peak_position(-bend * (np.arange(n) - vertex) ** 2)
    if 0 < round(found) < n - 1:
        assert found == pytest.approx(vertex, abs=1e-6)


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e3, 1e3)))
def test_the_peak_lies_within_a_step_of_the_highest_slice(curve: np.ndarray) -> None:
    found = peak_position(curve)
    assert abs(found - curve.argmax()) <= 1
    assert 0 <= found <= len(curve) - 1


@pytest.mark.parametrize(
    ("curve", "peak"),
    [
        ([3.0, 2.9, 1.0], 0.0),  # the ends are not extrapolated
        ([1.0, 2.9, 3.0], 2.0),
        ([0.0, 1.0, 1.0, 0.0], 1.5),
        ([0.0, 1.0, 0.5, 0.0], 1 + 1 / 6),
        ([2.0, 2.0, 2.0], 0.0),
        ([-np.inf, 2.0, 1.0], 1.0),
        ([7.0], 0.0),
    ],
)
def test_peaks_known_beforehand(curve: list[float], peak: float) -> None:
    assert peak_position(np.array(curve)) == pytest.approx(peak)


def test_noise_on_a_wide_top_hardly_moves_the_peak() -> None:
    rng = np.random.default_rng(3)
    places = rng.uniform(12, 18, 200)
    found = [peak_position(bell(31, one, 6.0) + 0.01 * rng.standard_normal(31)) for one in places]
    assert np.abs(found - places).mean() < 0.2


# Reasons and exposure


def test_every_reason_has_an_explanation() -> None:
    assert set(EXPLANATIONS) == set(Reason)
    assert all(len(text) > 20 for text in EXPLANATIONS.values())
    assert set(Reason) > WARNINGS


def clean_row(most: float) -> Row:
    """Returns a row for which clean sweeps have at most so much of every evidence that is a sign."""
    names = tuple(dict.fromkeys(name for _, name, _ in SIGNS))
    same, ones = tuple(most for _ in names), tuple(1.0 for _ in names)
    return Row("", names, same, ones, (0.0,), (0.0,), (), same)


def test_a_sign_is_seen_clearly_above_what_clean_sweeps_have() -> None:
    for reason, name, least in SIGNS:
        row = clean_row(least + 1)
        assert signs_in({name: least + 1 + 1.1 * CLEARLY}, row) == [reason]
        assert signs_in({name: least + 1 + 0.9 * CLEARLY}, row) == []
    several = {"noise-range": 9.0, "noise-jump": 9.0, "blocks": 9.0}
    assert signs_in(several, clean_row(1.0)) == [Reason.UNEVEN_NOISE, Reason.COMPRESSED]


def test_a_little_of_what_clean_sweeps_do_not_have_is_no_sign() -> None:
    for _, name, least in SIGNS:
        assert signs_in({name: least}, clean_row(least - 5)) == []


def test_a_row_that_does_not_know_clean_sweeps_sees_no_sign() -> None:
    assert signs_in({"blocks": 9.0}, replace(clean_row(0.0), most=())) == []


def test_exposure_is_that_of_the_middle_slice() -> None:
    pixels = np.full((5, 1, 4, 4), 0.25, np.float32)
    pixels[0], pixels[1, :, :2] = 1.0, 1.0
    assert Exposure.of(pixels) == Exposure(saturated=0.0, mean=0.25, brightest=1.0)
    pixels[2:4, :, :3] = 1.0
    assert Exposure.of(pixels).saturated == 0.75


def test_pixels_that_are_not_numbers_count_as_black() -> None:
    pixels = np.full((3, 1, 4, 4), 0.5, np.float32)
    pixels[:, :, :2] = np.nan
    assert Exposure.of(pixels) == Exposure(saturated=0.0, mean=0.25, finite=False, brightest=0.25)


def test_a_region_is_dark_only_if_it_is_so_where_there_is_most_signal() -> None:
    pixels = np.full((3, 1, 16, 16), 0.001, np.float32)
    assert Exposure.of(pixels).is_dark
    pixels[1, 0, 3, 5] = 0.9  # a hot pixel
    assert Exposure.of(pixels).is_dark
    pixels[1, 0, 3, 6] = 0.5  # a star
    assert not Exposure.of(pixels).is_dark
    assert Exposure.of(pixels).brightest == 0.5
    assert Exposure(saturated=0.0, mean=0.001).is_dark


# Stacks without anything to focus on


def wall(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.full((n, SIZE, SIZE), 0.3)


def dimming_wall(n: int, rng: np.random.Generator) -> np.ndarray:
    """The exposure falls by 8 % along the stack."""
    return wall(n, rng) * np.linspace(1.0, 0.92, n)[:, None, None]


def wall_with_rows(n: int, rng: np.random.Generator, deviation: float = 0.002) -> np.ndarray:
    """Each row has an offset of its own, fresh at each exposure."""
    return wall(n, rng) + deviation * rng.standard_normal((n, SIZE, 1))


def flickering_wall(n: int, rng: np.random.Generator) -> np.ndarray:
    return wall(n, rng) * (1 + 0.02 * rng.standard_normal((n, 1, 1)))


def stuck_lens(n: int, rng: np.random.Generator) -> np.ndarray:
    """A texture that is the same in all slices, in flickering light."""
    coarse = rng.uniform(0.2, 0.5, (SIZE // 4, SIZE // 4))
    return np.kron(coarse, np.ones((4, 4))) * (1 + 0.02 * rng.standard_normal((n, 1, 1)))


Light = Callable[[int, np.random.Generator], np.ndarray]


def focus_on(light: Light, n: int, seed: int) -> FocusResult:
    rng = np.random.default_rng([seed, n])
    return focus(expose(light(n, rng), shot=0.3, read=1.2, rng=rng))


def assert_hardly_ever_focused(light: Light, n: int) -> None:
    seeds = 50
    results = [focus_on(light, n, seed) for seed in range(seeds)]
    assert sum(result.state is State.FOCUSED for result in results) <= 0.02 * seeds


@pytest.mark.parametrize("n", slow_but([12, 5], LENGTHS))
@pytest.mark.parametrize("light", [wall, dimming_wall, wall_with_rows, flickering_wall, stuck_lens])
def test_noise_is_hardly_ever_focused(light: Light, n: int) -> None:
    assert_hardly_ever_focused(light, n)


@pytest.mark.parametrize("n", slow_but([7], [7, 5]))
def test_strong_row_noise_is_hardly_ever_focused(n: int) -> None:
    assert_hardly_ever_focused(lambda n, rng: wall_with_rows(n, rng, deviation=0.02), n)


@pytest.mark.parametrize("n", [7, 3])
def test_noise_in_a_small_region_is_hardly_ever_focused(n: int) -> None:
    assert_hardly_ever_focused(lambda n, rng: wall(n, rng)[:, :24, :24], n)


def test_too_little_to_tell_focus_from_noise_is_said() -> None:
    assert judge(bell(7, 3, 1.0), None, LIT).reasons == (Reason.TOO_SMALL,)
    assert judge(bell(7, 3, 1.0), None, LIT).state is State.FAILED


def reasons_of(pixels: np.ndarray) -> tuple[Reason, ...]:
    result = focus(pixels)
    assert result.state is State.FAILED
    return result.reasons


@pytest.mark.parametrize("n", LENGTHS)
def test_a_white_stack_is_saturated(n: int) -> None:
    assert Reason.SATURATED in reasons_of(np.full((n, 32, 32), 255, np.uint8))


@pytest.mark.parametrize("n", LENGTHS)
def test_a_black_stack_is_too_dark(n: int) -> None:
    assert reasons_of(np.zeros((n, 32, 32), np.uint8)) == (Reason.FLAT_CURVE, Reason.TOO_DARK)


@pytest.mark.parametrize("n", LENGTHS)
def test_a_grey_stack_is_flat(n: int) -> None:
    assert reasons_of(np.full((n, 32, 32), 80, np.uint8)) == (Reason.FLAT_CURVE,)


@pytest.mark.parametrize("n", [1, 2])
def test_a_stack_of_one_or_two_slices_is_too_short(n: int) -> None:
    noise = np.random.default_rng(0).random((n, 32, 32))
    assert reasons_of(noise) == (Reason.TOO_FEW_SLICES,)


# Stacks of a textured plane


@pytest.fixture(scope="module")
def textures() -> list[np.ndarray]:
    return [dead_leaves(120, 120, np.random.default_rng(seed)) for seed in range(2)]


def camera_with(n: int) -> CameraModel:
    """Returns the phone with n positions of its ladder."""
    chosen = np.linspace(0, 48, n).round().astype(int)
    return replace(CameraModel.pixel3(), grid=FocusGrid.of_dioptres(FocusGrid.learnaf().dioptres[chosen]))


def plane(texture: np.ndarray, n: int, index: float, seed: int = 0) -> np.ndarray:
    """Returns the simulated stack of a plane that is sharp at this index."""
    camera = camera_with(n)
    depth = float(camera.grid.index_to_dioptres(index))
    return plane_stack(camera, depth, texture, np.random.default_rng(seed), size=SIZE)


def inner_indices(n: int) -> list[int]:
    """Returns some indices away from the ends."""
    return sorted({int(i) for i in np.linspace(min(2, n // 2), n - 1 - min(2, n // 2), 5)})


@pytest.mark.parametrize("n", LENGTHS[:-1])
@pytest.mark.parametrize("contrast", [1.0, 0.2])
def test_a_textured_plane_is_focused(textures: list[np.ndarray], n: int, contrast: float) -> None:
    for seed, texture in enumerate(textures):
        for index in inner_indices(n):
            result = focus(plane(0.4 + contrast * (texture - 0.4), n, index, seed))
            assert result.state is State.FOCUSED, (index, result.reasons)
            assert abs(result.index - index) <= 1
            assert result.confidence > 0.9


@pytest.mark.parametrize("n", [49, 21])
def test_a_plane_between_slices_is_found_between_slices(textures: list[np.ndarray], n: int) -> None:
    for index in (n // 3 + 0.5, n // 2 + 0.3):
        assert focus(plane(textures[0], n, index)).position == pytest.approx(index, abs=0.35)


@pytest.mark.parametrize("n", LENGTHS)
def test_low_contrast_is_focused_rightly_or_not_at_all(textures: list[np.ndarray], n: int) -> None:
    index = n // 2
    focused = []
    for contrast in (0.1, 0.01, 0.003):
        stacks = [plane(0.4 + contrast * (textures[0] - 0.4), n, index, seed) for seed in range(2)]
        results = [focus(stack, risk=0.05) for stack in stacks]
        found = [result.index for result in results if result.state is State.FOCUSED]
        assert all(abs(one - index) <= 1 for one in found)
        focused.append(len(found))
    assert focused[0] == 2
    assert focused[-1] == 0


def test_overexposed_texture_is_saturated(textures: list[np.ndarray]) -> None:
    assert reasons_of(plane(8 * textures[0], 21, 10)) == (Reason.SATURATED,)


def test_texture_lost_in_the_dark_is_too_dark(textures: list[np.ndarray]) -> None:
    assert reasons_of(plane(1e-3 * textures[0], 21, 10))[:2] == (Reason.FLAT_CURVE, Reason.TOO_DARK)


@pytest.mark.parametrize("beyond", [2, 6, 10])
def test_a_stack_that_ends_before_the_focus_says_so(textures: list[np.ndarray], beyond: int) -> None:
    for index in (20, 28):
        stack = plane(textures[1], 49, index)
        assert reasons_of(stack[index + beyond :]) == (Reason.PEAK_AT_EDGE,)
        assert reasons_of(stack[: index - beyond + 1]) == (Reason.PEAK_AT_EDGE,)


@pytest.mark.parametrize("n", [12, 7, 5, 3])
def test_a_short_stack_that_ends_before_the_focus_says_so(textures: list[np.ndarray], n: int) -> None:
    stack = plane(textures[0], 49, 24)
    assert reasons_of(stack[30 : 30 + n]) == (Reason.PEAK_AT_EDGE,)
    assert reasons_of(stack[19 - n : 19]) == (Reason.PEAK_AT_EDGE,)


def test_two_planes_of_one_texture_are_focused_with_a_warning(textures: list[np.ndarray]) -> None:
    both = np.concatenate([plane(textures[0], 49, 10, seed=0), plane(textures[0], 49, 36, seed=1)], axis=3)
    result = focus(both, risk=0.05)
    assert result.state is State.FOCUSED
    assert result.reasons == (Reason.SEVERAL_DEPTHS,)
    assert min(abs(result.index - 10), abs(result.index - 36)) <= 1


@pytest.mark.parametrize("n", [7, 25, 49])
def test_tiles_that_cover_a_part_tell_the_noise_of_the_whole(n: int) -> None:
    """Nine of sixteen tiles, and the noise of all sixteen."""
    curve, noise = bell(n, n // 2, width_for(n)), 0.01
    found = []
    for seed in range(40):
        whole, tiles = with_tiles(curve, noise, seed)
        found.append(CurveNoise.of(whole, tiles[:9], covered=9 / 16).disagreement)
    assert np.median(found) == pytest.approx(noise, rel=0.25)


def test_a_part_covered_changes_nothing_but_the_noise() -> None:
    curve, tiles = with_tiles(bell(25, 12, 3), 0.01)
    assert judge(curve, tiles, LIT, covered=1.0) == judge(curve, tiles, LIT)
    assert judge(curve, None, LIT, covered=0.25) == judge(curve, None, LIT)
    assert judge(curve, tiles, LIT, covered=0.25).confidence > judge(curve, tiles, LIT).confidence - 0.02
