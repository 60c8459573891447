"""FocusGrid: positions, their dioptres and their order."""

import json
import math
from typing import Any

import jaxtyping
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dioptre.errors import InputError
from dioptre.grid import FocusGrid, dioptres_to_metres, metres_to_dioptres

LEARNAF = FocusGrid.learnaf()
FOCI = LEARNAF.dioptres
index_floats = st.floats(0.0, 48.0)


@settings(deadline=None)
@given(st.floats(1e-3, 1e6))
def test_metres_and_dioptres(distance_m: float) -> None:
    assert dioptres_to_metres(metres_to_dioptres(distance_m)) == pytest.approx(distance_m, rel=1e-12)


def test_infinity_is_zero_dioptres() -> None:
    assert metres_to_dioptres(math.inf) == 0.0
    assert dioptres_to_metres(0.0) == math.inf
    np.testing.assert_array_equal(metres_to_dioptres(np.array([0.5, math.inf])), [2.0, 0.0])


@settings(deadline=None)
@given(index_floats)
def test_fractional_index_and_dioptres(index: float) -> None:
    assert LEARNAF.dioptres_to_index(LEARNAF.index_to_dioptres(index)) == pytest.approx(index, abs=1e-9)
    assert LEARNAF.metres_to_index(LEARNAF.index_to_metres(index)) == pytest.approx(index, abs=1e-9)


def test_uniform_is_even_in_dioptres() -> None:
    grid = FocusGrid.uniform()
    np.testing.assert_allclose(grid.dioptres, np.linspace(1 / 3.91, 1 / 0.102, 49), rtol=1e-15)
    assert np.abs(grid.dioptres - FOCI).max() < 0.12 * np.diff(FOCI).mean()


def test_uniform_may_begin_at_infinity() -> None:
    assert FocusGrid.uniform(far_m=math.inf, near_m=0.5, n=3).dioptres.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("far_m", "near_m", "n"), [(0.1, 4.0, 49), (4.0, 0.0, 49), (4.0, 4.0, 2), (4.0, 0.1, 1)]
)
def test_uniform_needs_two_ends(far_m: float, near_m: float, n: int) -> None:
    with pytest.raises(ValueError, match=f"not n={n}, near {near_m} m, far {far_m} m"):
        FocusGrid.uniform(far_m, near_m, n)


@pytest.mark.parametrize("grid", [LEARNAF, FocusGrid.uniform()])
def test_nearest_index_changes_at_the_midpoints(grid: FocusGrid) -> None:
    midpoints = (grid.dioptres[1:] + grid.dioptres[:-1]) / 2
    np.testing.assert_array_equal(grid.midpoints, midpoints)
    np.testing.assert_array_equal(grid.nearest_index(midpoints - 1e-9), np.arange(48))
    np.testing.assert_array_equal(grid.nearest_index(midpoints), np.arange(48))
    np.testing.assert_array_equal(grid.nearest_index(midpoints + 1e-9), np.arange(1, 49))


def test_nearest_index_of_the_positions_and_beyond_the_ends() -> None:
    np.testing.assert_array_equal(LEARNAF.nearest_index(FOCI), np.arange(49))
    assert LEARNAF.nearest_index(0.0) == 0
    assert LEARNAF.nearest_index(100.0) == 48


@settings(deadline=None)
@given(st.floats(0.0, 12.0))
def test_nearest_index_is_nearest_in_inverse_depth(dioptres: float) -> None:
    index = int(LEARNAF.nearest_index(dioptres))
    assert abs(FOCI[index] - dioptres) == pytest.approx(np.abs(FOCI - dioptres).min(), abs=1e-12)


def test_fractional_index() -> None:
    halfway = (FOCI[10] + FOCI[11]) / 2
    assert LEARNAF.dioptres_to_index(halfway) == pytest.approx(10.5)
    assert LEARNAF.index_to_dioptres(10.5) == pytest.approx(halfway)
    np.testing.assert_array_equal(LEARNAF.index_to_dioptres(np.arange(49)), FOCI)


def test_a_fractional_index_is_held_at_the_ends() -> None:
    assert LEARNAF.dioptres_to_index(0.0) == 0.0
    assert LEARNAF.dioptres_to_index(20.0) == 48.0
    assert LEARNAF.index_to_dioptres(-3) == FOCI[0]
    assert LEARNAF.index_to_dioptres(60.5) == FOCI[48]
    assert LEARNAF.metres_to_index(math.inf) == 0.0


def test_infinity_is_some_steps_beyond_the_far_end() -> None:
    assert FocusGrid(np.array([0.4, 0.6, 0.8, 1.0])).steps_to_infinity == pytest.approx(2.0)
    assert FocusGrid.uniform(math.inf, 0.1, 9).steps_to_infinity == 0
    assert FocusGrid.learnaf().steps_to_infinity == pytest.approx(1.3, abs=0.2)  # the hyperfocal distance
    assert FocusGrid.unknown(9).steps_to_infinity == math.inf
    assert FocusGrid(np.array([0.5])).steps_to_infinity == math.inf


def test_an_unknown_ladder_only_counts() -> None:
    grid = FocusGrid.unknown(7)
    assert len(grid) == 7
    assert not grid.known
    assert grid == FocusGrid.unknown(7)
    assert grid != FocusGrid.unknown(8)
    assert repr(grid) == "FocusGrid.unknown(7)"
    for convert in (
        grid.nearest_index,
        grid.index_to_dioptres,
        grid.dioptres_to_index,
        grid.index_to_metres,
        grid.metres_to_index,
    ):
        with pytest.raises(InputError, match="dioptres are not known"):
            convert(1.0)


@pytest.mark.parametrize("grid", [LEARNAF, FocusGrid.uniform(math.inf, 0.2, 5), FocusGrid.unknown(3)])
def test_a_ladder_survives_json(grid: FocusGrid) -> None:
    assert FocusGrid.from_json(json.loads(json.dumps(grid.to_json(), allow_nan=False))) == grid


def test_unknown_dioptres_are_null_in_json() -> None:
    assert FocusGrid.unknown(2).to_json() == [None, None]
    assert FocusGrid(np.array([0.0, 0.5])).to_json() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"dioptres": [1.0]}, r"list of dioptres, or of nulls, not \{'dioptres'"),
        ([1.0, "2.0"], "or of nulls, not .*'2.0'"),
        ([1.0, True], "or of nulls, not"),
        ([1.0, 10**400], "too large"),
        ([1.0, None], "finite"),
        ([2.0, 1.0], "index 0 has 2 and index 1 has 1"),
        ([], "not an array of shape"),
    ],
)
def test_json_that_is_no_ladder_is_refused(entries: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        FocusGrid.from_json(entries)


def test_a_ladder_is_a_value() -> None:
    assert FocusGrid.learnaf() == LEARNAF
    assert hash(FocusGrid.learnaf()) == hash(LEARNAF)
    assert FocusGrid.uniform() != LEARNAF
    assert LEARNAF != "learnaf"
    assert LEARNAF.known
    assert repr(LEARNAF) == "FocusGrid(49 positions, 0.256 to 9.803 dioptres)"


def test_a_ladder_cannot_be_changed_from_outside() -> None:
    dioptres = np.array([1.0, 2.0])
    grid = FocusGrid(dioptres)
    dioptres[0] = 5.0
    assert grid.dioptres.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        grid.dioptres[0] = 5.0


@pytest.mark.parametrize(
    ("dioptres", "message"),
    [
        ([1.0, 3.0, 2.0], "index 1 has 3 and index 2 has 2"),
        ([1.0, 1.0], "index 0 has 1 and index 1 has 1"),
        ([0.0, math.inf], "finite"),
        ([1.0, math.nan], "finite"),
        ([], r"not an array of shape \(0,\)"),
    ],
)
def test_bad_ladders_are_named(dioptres: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FocusGrid(np.array(dioptres))


def test_a_ladder_is_one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    # While the tests run the annotation would refuse it first.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match=r"not an array of shape \(2, 2\)"):
        FocusGrid(np.ones((2, 2)))
