"""Where a lens looks next: at its answer, then beside it where nobody looked, and last of all everywhere."""

import numpy as np
import pytest

from dioptre.autofocus.next_look import ROUND, STRIDE, next_place, sweep_places
from dioptre.posterior import JointPosterior

LIMITS = (0.0, 48.0)
PLACES = np.linspace(-12, 60, 289)


def known(*peaks: float, sd: float = 3.0, steps: float = 1.0, scale: float = 1.0) -> JointPosterior:
    """Returns a posterior with equal peaks; a unit adds `steps`, and the way is `scale` times as long."""
    logs = np.logaddexp.reduce([-0.5 * ((PLACES - peak) / sd) ** 2 for peak in peaks])
    limits = LIMITS[0] * scale, LIMITS[1] * scale
    return JointPosterior.of_logs(PLACES * scale, np.array([steps]), logs[None], limits)


def test_the_first_look_after_one_elsewhere_is_at_the_answer() -> None:
    now = known(31.0)
    assert next_place(now, np.array([24.0]), 1.0) == pytest.approx(31, abs=0.1)
    assert next_place(now, np.array([0.0, 24.0, 48.0]), 1.0) == now.quantile(0.5)


@pytest.mark.parametrize(("seen", "expected"), [([31.0, 33.0], -1), ([29.0, 31.0], 1)])
def test_an_answer_that_was_seen_is_left_for_the_side_that_was_not(seen: list[float], expected: int) -> None:
    now = known(31.0)
    found = next_place(now, np.array(seen), 1.0)
    assert np.sign(found - 31) == expected
    assert abs(found - 31) == pytest.approx(3 * 1.175, abs=0.3)  # the 12th part of a hundred of a Gaussian


def test_of_two_sides_the_one_that_is_farther_from_all_looks_is_seen() -> None:
    now = known(20.0, 40.0, sd=1.0)
    median = now.quantile(0.5)
    assert next_place(now, np.array([median, 20.0]), 1.0) == pytest.approx(40, abs=2)
    assert next_place(now, np.array([median, 40.0]), 1.0) == pytest.approx(20, abs=2)


def test_a_look_less_than_a_step_of_blur_away_has_seen_the_answer() -> None:
    seen = np.array([30.2])
    assert next_place(known(31.0, steps=0.5), seen, 0.1) != pytest.approx(31, abs=0.5)
    assert next_place(known(31.0, steps=3.0), seen, 0.1) == pytest.approx(31, abs=0.1)


def test_a_lens_that_cannot_go_nearer_to_the_answer_does_not_try() -> None:
    now = known(31.0, steps=10.0)  # 31.4 is 4 steps from it, and the nearest position to it
    assert abs(next_place(now, np.array([31.4]), 1.0) - 31) > 2
    assert next_place(now, np.array([31.4]), 0.1) == pytest.approx(31, abs=0.1)


@pytest.mark.parametrize("scale", [0.01, 1.0, 2000.0])
def test_the_unit_of_a_lens_does_not_matter(scale: float) -> None:
    one = [next_place(known(31.0), np.array(seen), 1.0) for seen in ([24.0], [24.0, 31.0])]
    other = [
        next_place(known(31.0, steps=1 / scale, scale=scale), scale * np.array(seen), scale)
        for seen in ([24.0], [24.0, 31.0])
    ]
    np.testing.assert_allclose(other, scale * np.array(one))


def test_a_look_is_never_asked_for_beyond_the_limits() -> None:
    for place in (-10.0, 0.0, 47.0, 58.0):
        now = known(place)
        for seen in ([24.0], [0.0], [48.0], [0.0, 24.0, 48.0]):
            assert LIMITS[0] <= next_place(now, np.array(seen), 1.0) <= LIMITS[1]


# A sweep


def sweep_of(steps: float, seen: list[float], scale: float = 1.0) -> np.ndarray:
    return np.array(sweep_places(known(31.0, steps=steps, scale=scale), np.array(seen)))


@pytest.mark.parametrize("steps", [0.05, 0.5, 1.0, 1.5, 20.0])
def test_a_sweep_covers_the_way_evenly_with_its_ends(steps: float) -> None:
    found = sweep_of(steps, [-100.0])  # nothing was seen
    assert (found[0], found[-1]) == LIMITS
    np.testing.assert_allclose(np.diff(found), np.diff(found)[0])
    assert ROUND[0] <= len(found) <= ROUND[1]


@pytest.mark.parametrize("count", [10, 13, 20])
def test_looks_of_a_sweep_are_a_stride_apart_where_that_is_as_many(count: int) -> None:
    found = sweep_of((count - 1) * STRIDE / 48, [-100.0])
    assert len(found) == count


def test_a_sweep_of_a_short_way_takes_the_fewest_looks_and_of_a_long_one_the_most() -> None:
    assert len(sweep_of(0.01, [-100.0])) == ROUND[0]
    assert len(sweep_of(50.0, [-100.0])) == ROUND[1]


def test_a_sweep_leaves_out_what_was_seen_and_leaves_no_gap() -> None:
    seen = [0.0, 12.3, 24.0, 25.0, 47.5]
    found = sweep_of(0.01, seen)  # every 6
    assert found.tolist() == [6.0, 18.0, 30.0, 36.0, 42.0]
    together = np.sort([*seen, *found])
    assert np.diff(together).max() <= 6 * 4 / 3


@pytest.mark.parametrize("scale", [0.01, 2000.0])
def test_a_sweep_in_another_unit_is_the_same(scale: float) -> None:
    one, other = sweep_of(1.0, [24.0]), sweep_of(1 / scale, [24.0 * scale], scale)
    np.testing.assert_allclose(other, scale * one)


def test_after_a_whole_sweep_there_is_nothing_left_to_sweep() -> None:
    assert sweep_of(1.0, np.linspace(*LIMITS, 49).tolist()).size == 0
