"""Plateaus: slices that are equally sharp, and curves that still rise where their stack ends."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dioptre.confidence.curve import CurveNoise
from dioptre.confidence.exposure import Exposure
from dioptre.confidence.plateau import (
    FARTHEST,
    UNSEEN,
    Plateau,
    beyond_end,
    find_plateau,
    rises_at_end,
    tolerance,
)
from dioptre.confidence.reasons import Reason, State
from dioptre.confidence.verdict import Asked, Verdict, judge
from dioptre.focusing.focus import focus
from dioptre.focusing.result import FocusResult
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves

LIT = Exposure(saturated=0.0, mean=0.3)
QUIET = CurveNoise(1e-3, 1e-3)
SIZE = 64


# Curves


def shoulder(n: int, first: int, width: float) -> np.ndarray:
    """Returns a curve that rises as a bell does, and is flat from a slice on."""
    away = np.maximum(first - np.arange(n), 0) / width
    return np.exp(-0.5 * away**2)


def bell(n: int, peak: float, width: float) -> np.ndarray:
    return np.exp(-0.5 * ((np.arange(n) - peak) / width) ** 2)


def judged(curve: np.ndarray, noise: float = 1e-3, seed: int = 0) -> Verdict:
    """Returns the verdict on the mean of 16 tiles with noise of their own; `noise` is the mean's."""
    tiles = curve + 4 * noise * np.random.default_rng(seed).standard_normal((16, len(curve)))
    return judge(tiles.mean(axis=0), tiles, LIT)


@pytest.mark.parametrize("n", [12, 25, 49])
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("noise", [1e-4, 3e-3])
def test_a_curve_that_is_flat_to_its_end_has_a_plateau(n: int, direction: int, noise: float) -> None:
    first, flat = n - n // 3, 0
    for seed in range(40):
        verdict = judged(shoulder(n, first, n / 8)[::direction], noise, seed)
        if verdict.plateau is None:  # noise may make the last slice the highest
            continue
        flat += 1
        assert verdict.reasons == (Reason.PLATEAU,)
        assert verdict.state is State.FOCUSED
        low, high = verdict.plateau if direction == 1 else (n - 1 - one for one in verdict.plateau[::-1])
        assert high == n - 1
        assert first - n / 8 <= low <= first
    assert flat >= 38


@pytest.mark.parametrize("beyond", [0.0, 0.5, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("width", [2.0, 4.0, 10.0])
def test_a_curve_that_still_rises_always_peaks_at_the_edge(beyond: float, width: float) -> None:
    for n in (12, 25, 49):
        for direction in (1, -1):
            curve = bell(n, n - 1 + beyond, width)[::direction]
            verdict = judged(curve / curve.max(), noise=1e-4)
            assert verdict.reasons == (Reason.PEAK_AT_EDGE,), (n, direction)
            assert verdict.state is State.FAILED
            assert verdict.plateau is None


def test_an_end_where_the_score_still_rises_is_not_believed() -> None:
    verdict = judged(bell(25, 28.0, 4.0))
    assert verdict.reasons == (Reason.PEAK_AT_EDGE,)
    assert verdict.confidence < 0.55
    assert verdict.risk > 0.1
    assert verdict.expected_error > 2


def test_noise_does_not_hide_that_a_curve_rises_to_its_end() -> None:
    """Also where the highest slice is not quite the last one."""
    focused = [judged(np.linspace(0, 1, 25) ** 2, 0.01, seed).state is State.FOCUSED for seed in range(100)]
    assert sum(focused) == 0


@pytest.mark.parametrize(("n", "peak"), [(25, 12), (25, 22), (49, 5), (12, 6)])
def test_a_round_peak_is_no_plateau(n: int, peak: int) -> None:
    verdict = judged(bell(n, peak, n / 10))
    assert verdict.reasons == ()
    assert verdict.plateau is None


def test_a_flat_top_inside_the_stack_is_a_plateau_too() -> None:
    curve = np.interp(np.arange(30), [0, 8, 10, 20, 22, 29], [0.0, 0.1, 1.0, 1.0, 0.1, 0.0])
    verdict = judged(curve)
    assert verdict.state is State.FOCUSED
    assert verdict.reasons == (Reason.PLATEAU,)
    assert verdict.plateau == (10, 20)


def test_a_plateau_is_counted_in_the_slices_of_the_stack_also_where_some_have_no_score() -> None:
    curve = shoulder(25, 16, 3.0)
    curve[[3, 20]] = -np.inf
    verdict = judge(curve, None, LIT)
    assert verdict.reasons == (Reason.PLATEAU,)
    assert verdict.plateau == (16, 24)


def test_a_curve_too_noisy_for_a_plateau_is_unsure() -> None:
    rng = np.random.default_rng(0)
    curve = shoulder(49, 30, 6.0) + 0.15 * rng.standard_normal(49)
    verdict = judge(curve, None, LIT)
    assert verdict.state is State.FAILED
    assert Reason.PLATEAU not in verdict.reasons


# What is tied, and what rises


def test_slices_are_tied_within_the_noise_or_what_nobody_sees() -> None:
    curve = np.array([0.0, 0.5, 0.97, 0.99, 1.0, 0.985, 0.9])
    assert find_plateau(curve, CurveNoise(None, 1e-6)) == Plateau(3, 5)
    assert find_plateau(curve, CurveNoise(None, 0.02)) == Plateau(2, 5)
    assert find_plateau(curve, CurveNoise(None, 0.03)) == Plateau(2, 6)
    assert len(Plateau(3, 5)) == 3


def test_what_parts_disagree_by_counts_only_where_slices_are_few() -> None:
    assert tolerance(CurveNoise(0.1, 1e-3)) == UNSEEN
    assert tolerance(CurveNoise(0.1, None)) == pytest.approx(0.4)


def test_a_run_that_does_not_reach_the_end_does_not_rise_there() -> None:
    assert not rises_at_end(bell(25, 12, 3.0), QUIET)
    assert rises_at_end(bell(25, 26, 3.0), QUIET)
    assert not rises_at_end(bell(25, 26, 3.0)[::-1], QUIET)


def test_how_finely_a_sweep_is_cut_does_not_matter() -> None:
    for fine in (1, 2, 5):
        assert rises_at_end(bell(25 * fine, 26 * fine, 4.0 * fine), QUIET)
        assert not rises_at_end(shoulder(25 * fine, 18 * fine, 4.0 * fine), QUIET)


def test_a_collapsed_plateau_is_one_slice() -> None:
    curve = np.array([0.0, 0.5, 1.0, 0.99, 1.0, 0.4])
    np.testing.assert_array_equal(Plateau(2, 4).collapse(curve), [0.0, 0.5, curve[2:5].max(), 0.4])
    assert Plateau(2, 4).collapse(np.tile(curve, (16, 1))).shape == (16, 4)


# Simulated sweeps


@pytest.fixture(scope="module")
def texture() -> np.ndarray:
    return dead_leaves(120, 120, np.random.default_rng(3))


def swept(texture: np.ndarray, dioptres: np.ndarray, depth: float, seed: int = 0) -> FocusResult:
    """Returns what `focus` says of a plane at a depth in a sweep of the phone's lens."""
    camera = replace(CameraModel.pixel3(), grid=FocusGrid.of_dioptres(dioptres))
    stack = plane_stack(camera, depth, texture, np.random.default_rng(seed), size=SIZE)
    return focus(stack, grid=dioptres)


METRES = np.sort(1 / np.linspace(0.3, 10.0, 25))  # evenly spaced in metres: far slices are all but the same
EVEN = np.linspace(0.1, 3.3, 25)  # in dioptres
DENSE = np.linspace(0.0, 1.5, 40)


@pytest.mark.parametrize("depth_m", [5.0, 6.0, 8.0])
def test_a_far_subject_is_sharp_over_many_slices_of_a_sweep_in_metres(
    texture: np.ndarray, depth_m: float
) -> None:
    result = swept(texture, METRES, 1 / depth_m)
    assert result.state is State.FOCUSED, result.reasons
    assert result.reasons == (Reason.PLATEAU,)
    assert result.verdict.plateau is not None
    first, last = result.verdict.plateau
    assert first <= np.interp(1 / depth_m, METRES, np.arange(25)) <= last
    assert first <= result.index <= last
    assert result.to_json()["plateau"] == [first, last]


def test_a_sweep_from_near_to_far_has_its_plateau_at_its_end(texture: np.ndarray) -> None:
    rising = swept(texture, METRES, 1 / 6)
    camera = replace(CameraModel.pixel3(), grid=FocusGrid.of_dioptres(METRES))
    stack = plane_stack(camera, 1 / 6, texture, np.random.default_rng(0), size=SIZE)
    falling = focus(stack[::-1], grid=METRES[::-1])
    assert rising.verdict.plateau is not None
    first, last = rising.verdict.plateau
    assert falling.verdict.plateau == (24 - last, 24 - first)
    assert falling.reasons == (Reason.PLATEAU,)


@pytest.mark.parametrize("steps", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("dioptres", [EVEN, DENSE[8:]], ids=["even", "dense"])
def test_a_subject_beyond_an_end_is_never_focused(
    texture: np.ndarray, dioptres: np.ndarray, steps: float
) -> None:
    step = max(float(dioptres[1] - dioptres[0]), 0.1)
    for depth in (dioptres[-1] + steps * step, max(dioptres[0] - steps * step, 0.0)):
        result = swept(texture, dioptres, float(depth))
        if depth > 0 or dioptres[0] > 0.2:
            assert result.reasons == (Reason.PEAK_AT_EDGE,), depth
            assert result.state is State.FAILED


@pytest.mark.parametrize("place", [3.0, 12.0, 20.5])
def test_a_subject_inside_a_sweep_in_dioptres_has_no_plateau(texture: np.ndarray, place: float) -> None:
    result = swept(texture, EVEN, float(np.interp(place, np.arange(25), EVEN)))
    assert result.state is State.FOCUSED
    assert result.reasons == ()
    assert abs(result.subindex - place) < 0.6


# Beyond the end


def contrast(n: int, peak: float, width: float) -> np.ndarray:
    """Returns contrast as blur leaves it: it falls as one over the square of the distance from focus."""
    curve = 1 / (1 + ((np.arange(n) - peak) / width) ** 2)
    return curve / curve.max()


@pytest.mark.parametrize("width", [4.0, 6.0, 12.0])
@pytest.mark.parametrize("fall", [contrast, bell])
def test_the_shape_tells_how_far_beyond_the_peak_is(width: float, fall: Callable[..., np.ndarray]) -> None:
    told = [
        beyond_end(fall(30, 29 + beyond, width) / fall(30, 29 + beyond, width).max()) for beyond in range(5)
    ]
    assert told[0] == pytest.approx(0, abs=0.8)
    assert all(later > sooner for sooner, later in itertools.pairwise(told[:4]))
    assert told[3] > 1.5


def test_a_line_has_its_peak_anywhere() -> None:
    assert beyond_end(1 / np.linspace(4, 1, 20)) == FARTHEST
    assert beyond_end(np.array([0.0, 1.0])) == FARTHEST


def at_far_end(beyond: float, to_infinity: float, noise: float = 1e-3) -> Verdict:
    """Returns the verdict on a curve whose peak lies so far beyond its first slice."""
    curve = contrast(49, -beyond, 5.0)
    tiles = curve + 4 * noise * np.random.default_rng(0).standard_normal((16, len(curve)))
    return judge(tiles.mean(axis=0), tiles, LIT, asked=Asked(to_infinity=to_infinity, risk=0.02))


def test_nothing_lies_beyond_infinity() -> None:
    for beyond in (0.0, 1.0):
        assert Reason.PEAK_AT_EDGE in at_far_end(beyond, np.inf).reasons
        assert Reason.PEAK_AT_EDGE in at_far_end(beyond, 10.0).reasons
        closed = at_far_end(beyond, 1.3)
        assert closed.state is State.FOCUSED, closed
        assert closed.confidence > at_far_end(beyond, np.inf).confidence


def test_a_curve_that_peaks_beyond_infinity_does_not_fit_its_positions() -> None:
    assert at_far_end(5.0, 1.3).reasons == (Reason.PEAK_AT_EDGE,)


def test_the_near_end_is_never_closed() -> None:
    curve = contrast(49, 48, 5.0)
    assert judge(curve, None, LIT, asked=Asked(to_infinity=0.0)).state is State.FAILED


def test_less_is_believed_the_farther_beyond_the_peak_seems() -> None:
    said = [at_far_end(beyond, np.inf) for beyond in (0.0, 1.0, 2.0, 3.0, 5.0)]
    assert all(one.confidence > other.confidence for one, other in itertools.pairwise(said))
    assert all(one.risk < other.risk for one, other in itertools.pairwise(said))
    assert said[0].expected_error < said[2].expected_error
    assert all(one.state is State.FAILED for one in said)


# Parts


def test_a_tilted_thing_is_no_plateau() -> None:
    """Its parts are sharp one after the other, and their mean has a flat top."""
    parts = np.stack([bell(31, peak, 1.5) for peak in np.linspace(5, 25, 16)])
    noisy = parts + 1e-3 * np.random.default_rng(0).standard_normal(parts.shape)
    verdict = judge(noisy.mean(axis=0), noisy, LIT)
    assert verdict.plateau is None
    assert Reason.SEVERAL_DEPTHS in verdict.reasons
    assert Reason.PLATEAU not in verdict.reasons
    same = np.tile(parts.mean(axis=0), (16, 1)) + 1e-3 * np.random.default_rng(1).standard_normal(parts.shape)
    assert Reason.PLATEAU in judge(same.mean(axis=0), same, LIT).reasons


def test_parts_that_tell_nothing_have_no_say_about_a_plateau() -> None:
    flat = Plateau(3, 5)
    curve = np.array([0.0, 0.2, 0.8, 1.0, 1.0, 1.0, 0.7, 0.1])
    noise = 0.05 * np.random.default_rng(0).random((5, 8))
    assert flat.is_shared(np.concatenate([[curve, curve, curve], noise]))
    assert flat.is_shared(np.zeros((4, 8)))
