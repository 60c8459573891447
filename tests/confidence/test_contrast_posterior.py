"""The posterior of contrast: it knows where a peak is, how sure that is, and when there is none."""

import numpy as np
import pytest

from dioptre.confidence.contrast import PeakPosterior, peak_posterior


def lorentzian(at: np.ndarray, place: float, width: float, floor: float = 0.02) -> np.ndarray:
    """Returns the logarithm of a peak's height at some positions."""
    return np.log(floor + (1 - floor) / (1 + ((at - place) / width) ** 2))


def of_slices(n: int, place: float, width: float) -> PeakPosterior:
    return peak_posterior(lorentzian(np.arange(float(n)), place, width))


@pytest.mark.parametrize(("n", "width"), [(7, 1.0), (21, 2.0), (49, 4.0), (120, 10.0)])
@pytest.mark.parametrize("part", [0.3, 0.5, 0.63])
def test_a_peak_is_found_between_slices_with_its_width(n: int, width: float, part: float) -> None:
    place = part * (n - 1)
    found = of_slices(n, place, width)
    assert found.mean == pytest.approx(place, abs=0.25 * max(width, 1))
    assert found.width == pytest.approx(width, rel=0.3)
    assert found.away_from(place, 2 * width) < 1e-3
    assert found.at_ends(0.5) < 0.02
    assert found.misfit < 0.15


@pytest.mark.parametrize("n", [3, 5, 17, 49, 300])
def test_chances_are_a_probability_over_rising_places_that_reach_beyond_the_ends(n: int) -> None:
    for curve in (
        np.zeros(n),
        np.random.default_rng(n).normal(0, 3, n),
        lorentzian(np.arange(n), n / 3, 1.0),
    ):
        found = peak_posterior(curve)
        assert found.chances.sum() == pytest.approx(1)
        assert (found.chances >= 0).all()
        assert (np.diff(found.places) > 0).all()
        assert found.places[0] < found.first == 0
        assert found.places[-1] > found.last == n - 1


@pytest.mark.parametrize("n", [5, 25, 49])
def test_noise_says_nothing(n: int) -> None:
    curves = [0.05 * np.random.default_rng(seed).standard_normal(n) for seed in range(10)]
    found = [peak_posterior(curve) for curve in curves]
    away = [one.away_from(one.mean, max(1.5, n / 24)) for one in found]
    assert min(away) > 0.1
    assert np.median(away) > 0.4
    assert min(one.at_ends(0.5) for one in found) > 0.1


def test_a_constant_says_nothing_at_all() -> None:
    found = peak_posterior(np.full(25, -3.0))
    assert found.mean == pytest.approx(12, abs=0.5)
    assert found.away_from(12.0, 3.0) > 0.6


@pytest.mark.parametrize("past", [1.5, 3.0, 5.0])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_curve_that_rises_to_its_end_peaks_beyond(past: float, mirrored: bool) -> None:
    curve = lorentzian(np.arange(25.0), 24 + past, 2.0)
    found = peak_posterior(curve[::-1] if mirrored else curve)
    assert found.at_ends(0.5) > 0.9
    assert (found.mean < 0.5) if mirrored else (found.mean > 23.5)


def test_a_mirrored_curve_has_the_mirrored_posterior() -> None:
    curve = lorentzian(np.arange(25.0), 8.3, 2.0)
    one, other = peak_posterior(curve), peak_posterior(curve[::-1])
    assert one.mean == pytest.approx(24 - other.mean, abs=0.05)
    assert one.width == pytest.approx(other.width, rel=0.05)


def test_a_few_uneven_positions_will_do() -> None:
    at = np.array([0.0, 4, 7, 9, 20, 48])
    found = peak_posterior(lorentzian(at, 8.2, 3.0), at)
    assert found.mean == pytest.approx(8.2, abs=1)
    assert found.away_from(8.2, 3.0) < 0.1
    two = peak_posterior(lorentzian(at[:2], 8.2, 3.0), at[:2])
    assert two.at_ends(0.0) > 0.5  # it may be far away


@pytest.mark.parametrize(
    "places",
    [
        np.linspace(-12, 60, 289),
        np.linspace(6.3, 9.7, 41),
        np.unique(np.concatenate([np.linspace(-12, 60, 73), np.linspace(7, 10, 100)])),
    ],
    ids=["even", "near", "uneven"],
)
def test_places_may_be_given(places: np.ndarray) -> None:
    at = np.array([0.0, 4, 7, 9, 12, 20, 48])
    found = peak_posterior(lorentzian(at, 8.2, 3.0), at, places)
    assert found.places is places
    assert found.chances.sum() == pytest.approx(1)
    assert places[np.argmax(found.chances)] == pytest.approx(8.2, abs=0.3)
    assert found.width == pytest.approx(3, rel=0.3)
    assert (found.first, found.last) == (0, 48)


def test_denser_places_do_not_change_how_likely_each_is_beside_another() -> None:
    at, coarse = np.array([0.0, 4, 7, 9, 12, 20, 48]), np.linspace(-12, 60, 73)
    dense = np.unique(np.concatenate([coarse, np.linspace(20, 30, 101)]))
    curve = lorentzian(at, 8.2, 3.0)
    one, other = (peak_posterior(curve, at, places) for places in (coarse, dense))
    there = other.chances[np.isin(dense, coarse)]
    np.testing.assert_allclose(there / there.sum(), one.chances, rtol=1e-4, atol=1e-9)


def test_looks_that_are_very_near_each_other_allow_a_narrow_peak() -> None:
    at = np.array([0.0, 1e4, 5e4, 50_010, 50_020, 50_030, 9e4])
    places = np.unique(np.concatenate([np.linspace(-2e4, 1.2e5, 100), np.linspace(49_900, 50_100, 101)]))
    found = peak_posterior(lorentzian(at, 50_018.0, 8.0), at, places)
    assert places[np.argmax(found.chances)] == pytest.approx(50_018, abs=4)
    assert 4 < found.width < 16  # of widths that double


def test_the_unit_of_positions_does_not_matter() -> None:
    at = np.arange(15.0)
    curve = lorentzian(at, 5.4, 2.0)
    plain, scaled = peak_posterior(curve), peak_posterior(curve, 100 + 0.5 * at)
    assert scaled.mean == pytest.approx(100 + 0.5 * plain.mean, abs=1e-6)
    assert scaled.width == pytest.approx(0.5 * plain.width, rel=1e-6)


def test_the_unit_of_sharpness_does_not_matter() -> None:
    curve = lorentzian(np.arange(25.0), 8.3, 2.0)
    np.testing.assert_allclose(peak_posterior(curve + 7).chances, peak_posterior(curve).chances, atol=1e-4)


@pytest.mark.parametrize("at", [0, 8, 15, 24])
@pytest.mark.parametrize("jump", [-4.0, 2.0])
def test_one_bad_slice_hardly_moves_the_peak(at: int, jump: float) -> None:
    curve = lorentzian(np.arange(25.0), 11.3, 3.0)
    curve[at] += jump
    found = peak_posterior(curve)
    assert found.expected_distance(11.3) < 1.0
    assert found.misfit > of_slices(25, 11.3, 3.0).misfit


def test_a_flatter_peak_is_less_sure() -> None:
    sharp, flat = of_slices(49, 20, 3.0), of_slices(49, 20, 15.0)
    assert sharp.expected_distance(20.0) < flat.expected_distance(20.0)
    shallow = peak_posterior(0.1 * lorentzian(np.arange(49.0), 20, 3.0))
    assert sharp.away_from(20.0, 4.0) < shallow.away_from(20.0, 4.0)
