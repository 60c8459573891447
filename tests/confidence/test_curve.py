"""Focus curves: their noise, and their peak between slices."""

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
    fitted_peak,
    peak_position,
    roughness,
    significance,
    stands_out,
)


def bell(n: int, peak: float, width: float) -> np.ndarray:
    return np.exp(-0.5 * ((np.arange(n) - peak) / width) ** 2)


def with_tiles(curve: np.ndarray, noise: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Returns the mean curve of 16 tiles with independent noise, and their curves; `noise` is the mean's."""
    rng = np.random.default_rng(seed)
    tiles = curve + 4 * noise * rng.standard_normal((16, len(curve)))
    return tiles.mean(axis=0), tiles


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


@pytest.mark.parametrize("n", [7, 25, 49])
def test_tiles_that_cover_a_part_tell_the_noise_of_the_whole(n: int) -> None:
    """Nine of sixteen tiles, and the noise of all sixteen."""
    curve, noise = bell(n, n // 2, max(1.0, n / 8)), 0.01
    found = list[float]()
    for seed in range(40):
        whole, tiles = with_tiles(curve, noise, seed)
        told = CurveNoise.of(whole, tiles[:9], covered=9 / 16).disagreement
        assert told is not None
        found.append(told)
    assert np.median(found) == pytest.approx(noise, rel=0.25)


def test_a_peak_stands_out_of_the_mean_of_a_side() -> None:
    side = np.array([0.2, 0.4])
    assert stands_out(1.0, side, 0.69)
    assert not stands_out(1.0, side, 0.71)
    assert not stands_out(1.0, side[:0], 0.0)


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


# The peak among places at any distance

UNEVEN = np.array([0.0, 3.0, 6.0, 7.0, 7.5, 8.0, 8.5, 9.0, 10.5, 14.0, 20.0])


def bell_at(places: np.ndarray, peak: float, width: float) -> np.ndarray:
    return np.exp(-0.5 * ((places - peak) / width) ** 2)


@pytest.mark.parametrize("peak", [6.4, 7.6, 8.2, 9.3])
@pytest.mark.parametrize("places", [UNEVEN, np.arange(21.0)], ids=["uneven", "even"])
def test_a_bell_is_found_among_places_at_any_distance(places: np.ndarray, peak: float) -> None:
    assert fitted_peak(places, bell_at(places, peak, 3.0)) == pytest.approx(peak, abs=0.02)
    lorentzian = 1 / (1 + ((places - peak) / 2) ** 2)
    assert fitted_peak(places, lorentzian) == pytest.approx(peak, abs=0.25)


def test_the_side_with_more_looks_does_not_draw_the_peak() -> None:
    crowded = np.array([2.0, 6.0, 8.0, 10.0, 10.5, 11.0, 11.5, 12.0, 14.0, 20.0])
    assert fitted_peak(crowded, bell_at(crowded, 9.0, 3.0)) == pytest.approx(9, abs=0.05)
    mirrored = 18 - crowded[::-1]
    assert fitted_peak(mirrored, bell_at(mirrored, 9.0, 3.0)) == pytest.approx(9, abs=0.05)


@pytest.mark.parametrize(("scale", "shift"), [(0.001, 0.0), (2000.0, 7e4), (1.0, -50.0)])
def test_the_unit_of_places_does_not_matter_to_the_peak(scale: float, shift: float) -> None:
    curve = bell_at(UNEVEN, 8.2, 3.0)
    found = fitted_peak(scale * UNEVEN + shift, 5 * curve - 3)
    assert found == pytest.approx(scale * fitted_peak(UNEVEN, curve) + shift, abs=1e-6 * scale)


@given(arrays(np.float64, 11, elements=st.floats(-1e3, 1e3)))
def test_the_fitted_peak_lies_between_the_neighbours_of_the_highest_look(curve: np.ndarray) -> None:
    top = int(np.argmax(curve))
    low, high = UNEVEN[max(top - 1, 0)], UNEVEN[min(top + 1, 10)]
    assert low <= fitted_peak(UNEVEN, curve) <= high


@pytest.mark.parametrize("curve", [[3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [2.0, 2.0, 2.0], [7.0]])
def test_an_end_is_not_extrapolated(curve: list[float]) -> None:
    places = np.array([2.0, 5.0, 11.0])[: len(curve)]
    assert fitted_peak(places, np.array(curve)) == places[int(np.argmax(curve))]
