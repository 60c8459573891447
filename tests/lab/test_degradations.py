"""Every fault does what it says, and says where an answer is right."""

import numpy as np
import pytest

from lab.degradations import Sweep
from lab.fault_table import FAULTS, NEVER

N, SIZE = 49, 32


def sweep(sharp: int, seed: int) -> Sweep:
    rng = np.random.default_rng(seed)
    base = rng.random((1, 2, SIZE, SIZE)) * np.exp(-(((np.arange(N) - sharp) / 9) ** 2))[:, None, None, None]
    return Sweep((0.3 + 0.3 * base).astype(np.float32), (sharp,))


ONE, OTHER = sweep(20, 0), sweep(35, 1)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_a_pure_function_of_its_seed(name: str) -> None:
    before = ONE.pixels.copy()
    first, again = (FAULTS[name].apply(ONE, OTHER, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(ONE.pixels, before)
    np.testing.assert_array_equal(first.pixels, again.pixels)
    assert first.sharp == again.sharp
    assert first.pixels.shape == ONE.pixels.shape
    assert first.pixels.dtype == np.float32
    assert 0 <= first.pixels.min() <= first.pixels.max() <= 1


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if name not in ("clean", "beyond")])
def test_a_fault_changes_the_sweep(name: str) -> None:
    bad = FAULTS[name].apply(ONE, OTHER, np.random.default_rng(3))
    assert np.abs(bad.pixels - ONE.pixels).max() > 1e-3


def done(name: str, seed: int = 0) -> Sweep:
    return FAULTS[name].apply(ONE, OTHER, np.random.default_rng(seed))


@pytest.mark.parametrize("name", ["blank-wall", "noisy-wall", "smooth-gradient"])
def test_where_there_is_nothing_no_answer_is_right(name: str) -> None:
    assert done(name).sharp == ()
    assert done(name).error(20) is None


def test_the_sharp_slice_of_a_shuffled_sweep_is_where_it_went() -> None:
    bad = done("shuffled", seed=2)
    np.testing.assert_array_equal(bad.pixels[int(bad.sharp[0])], ONE.pixels[20])


def test_either_of_two_depths_is_right() -> None:
    bad = done("two-depths")
    assert [bad.error(answer) for answer in (21, 34, 27)] == [1, -1, 7]


def test_a_subject_that_was_never_sharp_is_no_answer() -> None:
    sharp = {done("replaced-subject", seed).sharp for seed in range(40)}
    assert () in {one if one else () for one in sharp} or (20, 35) in sharp
    assert all(set(one) <= {20, 35} for one in sharp)


def test_views_that_are_exchanged_twice_are_as_before() -> None:
    twice = FAULTS["views-exchanged"].apply(done("views-exchanged"), OTHER, np.random.default_rng(0))
    np.testing.assert_array_equal(twice.pixels, ONE.pixels)


def test_a_lens_that_is_told_wrong_shows_another_slice() -> None:
    bad = done("told-wrong")
    assert any(np.array_equal(bad.pixels[20], ONE.pixels[20 + off]) for off in (-12, 12))
    assert bad.sharp == ONE.sharp


def test_what_cannot_be_decided_is_named() -> None:
    assert not FAULTS["views-exchanged"].is_decidable(1)
    assert FAULTS["views-exchanged"].is_decidable(2)
    assert not FAULTS["shuffled"].is_decidable(3)
    assert FAULTS["shuffled"].is_decidable(0)
    assert FAULTS["told-wrong"].decided_from == NEVER
    assert not any(FAULTS["told-wrong"].is_decidable(looks) for looks in (0, 1, 3, 49))


def test_every_so_many_slices_are_counted_anew() -> None:
    some = ONE.every(4, 2)
    np.testing.assert_array_equal(some.pixels[4], ONE.pixels[18])
    assert some.sharp == (4.5,)  # 20 lies between two of them
