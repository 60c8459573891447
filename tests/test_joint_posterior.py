"""The joint posterior of where a lens is in focus and how fast blur grows: its sums against slow loops."""

from statistics import NormalDist

import numpy as np
import pytest

from dioptre.posterior import Growth, JointPosterior

PLACES = np.linspace(-20, 120, 281)
UNEVEN = np.unique(np.concatenate([np.linspace(-20, 120, 113), np.linspace(37, 43, 61)]))
LIMITS = (0.0, 100.0)
GROWTHS = np.geomspace(0.01, 10, 121)


def gaussian(
    mean: float = 40.0, sd: float = 3.0, places: np.ndarray = PLACES, limits: tuple[float, float] = LIMITS
) -> JointPosterior:
    """Returns a Gaussian over places, whatever the growth is, of which there are three."""
    logs = np.tile(-0.5 * ((places - mean) / sd) ** 2, (3, 1))
    return JointPosterior.of_logs(places, np.array([0.1, 0.2, 0.4]), logs, limits)


def log_normal(steps: float, deviation: float, sign: float = 1.0) -> JointPosterior:
    """Returns a log-normal over growths, wherever the focus is."""
    logs = -0.5 * (np.log(GROWTHS / steps) / deviation) ** 2
    table = np.tile(logs[:, None], len(PLACES))
    return JointPosterior.of_logs(PLACES, sign * GROWTHS, table, LIMITS)


def scattered(seed: int = 0) -> JointPosterior:
    """Returns a posterior without any order, over few uneven places and growths of both signs."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.uniform(-10, 60, 12))
    growths = np.array([-0.8, -0.2, 0.2, 0.8])
    return JointPosterior.of_logs(places, growths, rng.normal(0, 1, (4, 12)), (0.0, 50.0))


def test_chances_sum_to_1_whatever_the_logarithms_are() -> None:
    for shift in (0.0, 2000.0, -2000.0):
        logs = shift + np.random.default_rng(1).normal(0, 30, (3, len(UNEVEN)))
        found = JointPosterior.of_logs(UNEVEN, np.array([0.1, 1.0, 3.0]), logs, LIMITS)
        assert found.chances.sum() == pytest.approx(1)
        assert found.of_places.sum() == pytest.approx(1)


def test_logarithms_are_densities_so_that_denser_places_are_not_likelier() -> None:
    found = JointPosterior.of_logs(UNEVEN, np.array([1.0]), np.zeros((1, len(UNEVEN))), LIMITS)
    dense = (UNEVEN > 37) & (UNEVEN < 43)
    assert found.of_places[dense].sum() == pytest.approx(6 / 140, abs=0.01)
    assert found.quantile(0.5) == pytest.approx(50, abs=1)


@pytest.mark.parametrize("places", [PLACES, UNEVEN], ids=["even", "uneven"])
@pytest.mark.parametrize(("share", "deviations"), [(0.5, 0.0), (0.1587, -1.0), (0.8413, 1.0), (0.9772, 2.0)])
def test_quantiles_of_a_gaussian_are_its_own(places: np.ndarray, share: float, deviations: float) -> None:
    found = gaussian(40.0, 3.0, places)
    assert found.quantile(share) == pytest.approx(40 + 3 * deviations, abs=0.2)


@pytest.mark.parametrize("mean", [0.5, 2.0, 98.0])
def test_quantiles_are_of_what_the_lens_can_reach(mean: float) -> None:
    found, whole = gaussian(mean, 4.0), NormalDist(mean, 4.0)
    low, high = whole.cdf(0), whole.cdf(100)
    for share in (0.1, 0.5, 0.9):
        want = whole.inv_cdf(low + share * (high - low))
        assert found.quantile(share) == pytest.approx(want, abs=0.3)


@pytest.mark.parametrize(("mean", "end"), [(-8.0, 0.0), (111.0, 100.0)])
def test_where_most_lies_beyond_an_end_the_answer_is_that_end(mean: float, end: float) -> None:
    found = gaussian(mean, 3.0)
    for share in (0.25, 0.5, 0.75):
        assert found.quantile(share) == end


def test_what_lies_beyond_the_limits_is_told_of_either_side() -> None:
    below, above = gaussian(-3.0, 3.0).beyond
    assert below == pytest.approx(0.8413, abs=0.03)
    assert above == pytest.approx(0, abs=1e-9)
    found = scattered()
    want = [0.0, 0.0]
    for row in found.chances:
        for chance, place in zip(row, found.places, strict=True):
            want[0] += chance * (place < 0)
            want[1] += chance * (place > 50)
    assert found.beyond == pytest.approx(tuple(want))
    assert want[0] > 0 < want[1]
    assert found.is_within.tolist() == [0 <= place <= 50 for place in found.places]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("steps", "deviation"), [(0.3, 0.1), (0.3, 0.5), (1.7, 0.08)])
def test_the_growth_of_a_log_normal_is_its_own(steps: float, deviation: float, sign: float) -> None:
    found = log_normal(steps, deviation, sign).growth
    assert isinstance(found, Growth)
    assert found.steps == pytest.approx(sign * steps, rel=0.01)
    assert found.deviation == pytest.approx(deviation, rel=0.02)


def test_the_sign_of_a_growth_is_the_likelier_one_and_its_size_that_of_both() -> None:
    for share, sign in ((0.7, 1.0), (0.3, -1.0)):
        chances = np.zeros((2, len(PLACES)))
        chances[:, 100] = 1 - share, share
        found = JointPosterior(PLACES, np.array([-0.5, 0.5]), chances, LIMITS).growth
        assert found.steps == pytest.approx(sign * 0.5)
        assert found.deviation == pytest.approx(0, abs=1e-9)


def test_a_growth_that_is_certain_has_no_deviation() -> None:
    chances = np.full((1, len(PLACES)), 1 / len(PLACES))
    found = JointPosterior(PLACES, np.array([0.37]), chances, LIMITS).growth
    assert (found.steps, found.deviation) == (pytest.approx(0.37), pytest.approx(0, abs=1e-7))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("place", [-4.0, 13.7, 50.0])
def test_distances_are_those_of_a_loop_over_the_table(seed: int, place: float) -> None:
    found = scattered(seed)
    away = distance = between = 0.0
    for growth, row in zip(found.growths, found.chances, strict=True):
        for one, chance in zip(found.places, row, strict=True):
            away += chance * (abs(growth * (one - place)) > 4)
            distance += chance * abs(one - place)
            between += chance * abs(growth) * abs(20 - place)
    assert 0 < away < 1
    assert found.away_from(place, 4.0) == pytest.approx(away)
    assert found.expected_distance(place) == pytest.approx(distance)
    assert found.steps_between(place, 20.0) == pytest.approx(between)
    assert found.steps_between(20.0, place) == pytest.approx(between)


# Over the positions of a lens


def positions_of(n: int) -> np.ndarray:
    return np.linspace(*LIMITS, n)


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("n", [5, 49, 101, 100_000])
def test_over_positions_it_sums_to_1_and_has_its_mass_where_it_was(n: int, falling: bool) -> None:
    found = gaussian(62.0, 5.0)
    positions = positions_of(n)[:: -1 if falling else 1]
    posterior = found.at(positions)
    assert posterior.positions == n
    assert np.exp(posterior.logs).sum() == pytest.approx(1)
    chances = posterior.ladder[0][:: -1 if falling else 1]
    edges = (positions_of(n)[1:] + positions_of(n)[:-1]) / 2
    whole = NormalDist(62.0, 5.0)
    want = np.array([whole.cdf(edge) for edge in edges[:: max(n // 500, 1)].tolist()])
    upto = np.cumsum(chances)[:-1][:: max(n // 500, 1)]
    np.testing.assert_allclose(upto, want, atol=0.005)


@pytest.mark.parametrize("n", [5, 49, 101])
def test_each_position_has_what_is_nearer_to_it_than_to_others(n: int) -> None:
    found = gaussian(62.0, 9.0, np.linspace(-20, 120, 14_001))
    positions = positions_of(n)
    want = np.zeros(n)
    for place, chance in zip(found.places, found.of_places, strict=True):
        if 0 <= place <= 100:
            want[np.argmin(np.abs(positions - place))] += chance
    np.testing.assert_allclose(found.at(positions).ladder[0], want, atol=2e-3)


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("mean", [-6.0, 108.0])
def test_what_lies_beyond_the_limits_lies_beyond_the_ends_in_their_order(mean: float, falling: bool) -> None:
    found = gaussian(mean, 4.0)
    posterior = found.at(positions_of(49)[:: -1 if falling else 1])
    first, last = found.beyond[:: -1 if falling else 1]
    assert posterior.beyond_far[0] == pytest.approx(first, abs=0.03)
    assert posterior.beyond_near[0] == pytest.approx(last, abs=0.03)
    assert max(first, last) > 0.9
    assert posterior.is_beyond[0]


def test_falling_positions_are_the_mirror_of_rising_ones() -> None:
    found, positions = scattered(), np.array([0.0, 3.0, 11.0, 30.0, 50.0])
    np.testing.assert_allclose(found.at(positions[::-1]).logs, found.at(positions).logs[:, ::-1])


def test_a_finer_grid_has_in_a_part_what_a_coarse_one_has() -> None:
    found = gaussian(62.0, 5.0)
    fine, coarse = found.at(positions_of(1001)).ladder[0], found.at(positions_of(11)).ladder[0]
    part = fine[551:650].sum() + (fine[550] + fine[650]) / 2  # the cell of position 60
    assert part == pytest.approx(coarse[6], abs=1e-3)


@pytest.mark.parametrize("falling", [False, True])
def test_a_grid_longer_than_the_limits_has_nothing_outside_of_them(falling: bool) -> None:
    found = gaussian(28.0, 9.0, limits=(10.0, 30.0))
    positions = np.arange(49.0)[:: -1 if falling else 1]
    posterior = found.at(positions)
    first, last = found.beyond[:: -1 if falling else 1]
    assert posterior.beyond_far[0] == pytest.approx(first, abs=0.02)
    assert posterior.beyond_near[0] == pytest.approx(last, abs=0.02)
    outside = (positions < 9.5) | (positions > 30.5)
    assert posterior.ladder[0, outside].sum() < 1e-9
