"""FocusGrid: positions in their user's own order and unit, and what is known beside them."""

import json
import math
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dioptre.cameras.camera_files import CameraOptics
from dioptre.errors import FileError, InputError
from dioptre.grid import MOST_POSITIONS, FocusGrid, dioptres_to_metres, metres_to_dioptres
from dioptre.optics import CameraModel

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


def test_an_unknown_ladder_only_counts() -> None:
    grid = FocusGrid(range(7))
    assert len(grid) == 7
    assert not grid.known
    assert grid == FocusGrid(range(7))
    assert grid != FocusGrid(range(8))
    assert repr(grid) == "FocusGrid(7 positions, 0 to 6 slice)"
    for convert in (
        grid.nearest_index,
        grid.index_to_dioptres,
        grid.dioptres_to_index,
        grid.index_to_metres,
        grid.metres_to_index,
    ):
        with pytest.raises(InputError, match="dioptres are not known"):
            convert(1.0)


@pytest.mark.parametrize("grid", [LEARNAF, FocusGrid.uniform(math.inf, 0.2, 5), FocusGrid(range(3))])
def test_a_ladder_survives_json(grid: FocusGrid) -> None:
    assert FocusGrid.from_json(json.loads(json.dumps(grid.to_json(), allow_nan=False))) == grid


def test_unknown_dioptres_are_null_in_json() -> None:
    assert FocusGrid(range(2)).to_json() == [None, None]
    assert FocusGrid.of_dioptres(np.array([0.0, 0.5])).to_json() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"dioptres": [1.0]}, r"list of dioptres, or of nulls, not \{'dioptres'"),
        ([1.0, "2.0"], "or of nulls, not .*'2.0'"),
        ([1.0, True], "or of nulls, not"),
        ([1.0, 10**400], "too large"),
        ([1.0, None], "finite"),
        ([2.0, 1.0, 1.5], "dioptres must rise or fall.*index 1 has 1 and index 2 has 1.5"),
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
    assert repr(LEARNAF) == "FocusGrid(49 positions, 0 to 48 slice, 0.256 to 9.803 dioptres)"
    assert repr(LEARNAF.part(0, 9)) == "FocusGrid(10 positions, 0 to 9 slice, 0.256 to 2.054 dioptres)"
    assert repr(FocusGrid([4.0, 2.5], "dioptres")) == "FocusGrid(2 positions, 4 to 2.5 dioptres)"


def test_a_ladder_cannot_be_changed_from_outside() -> None:
    positions, dioptres = np.array([10.0, 20.0]), np.array([1.0, 2.0])
    grid = FocusGrid(positions, "um", dioptres, blur_per_unit_px=0.1)
    positions[0] = dioptres[0] = 5.0
    assert (grid.positions.tolist(), grid.dioptres.tolist()) == ([10.0, 20.0], [1.0, 2.0])
    for array in (grid.positions, grid.dioptres, grid.blur_per_unit_px):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0


@pytest.mark.parametrize(
    ("dioptres", "message"),
    [
        ([1.0, 3.0, 2.0], "index 1 has 3 and index 2 has 2"),
        ([1.0, 1.0], "index 0 has 1 and index 1 has 1"),
        ([3.0, 2.0, 2.5], "index 1 has 2 and index 2 has 2.5"),
        ([-0.1, 0.5], "0 \\(infinity\\) or more, not -0.1"),
        ([0.0, math.inf], "finite"),
        ([1.0, math.nan], "finite"),
        ([], r"not an array of shape \(0,\)"),
    ],
)
def test_bad_ladders_are_named(dioptres: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FocusGrid.of_dioptres(np.array(dioptres))


def test_a_ladder_is_one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    # While the tests run the annotation would refuse it first.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match=r"not an array of shape \(2, 2\)"):
        FocusGrid(np.ones((2, 2)))


# The user's own order and unit


def um(positions: Any, **known: Any) -> FocusGrid:
    return FocusGrid(positions, "um", **known)


RISING = um([0.0, 0.5, 2.0, 3.0], nearer=True)
FALLING = um([3.0, 2.0, 0.5, 0.0], nearer=False)
NEAR_FIRST = FocusGrid([1.0, 2.0, 4.0, 5.0], "steps", [8.0, 3.0, 1.0, 0.5])


@pytest.mark.parametrize("grid", [RISING, FALLING, NEAR_FIRST])
def test_positions_stay_in_their_own_order(grid: FocusGrid) -> None:
    assert [grid.index_of(one) for one in grid.positions] == [0, 1, 2, 3]
    assert [float(grid.index_to_position(at)) for at in range(4)] == grid.positions.tolist()


@pytest.mark.parametrize(
    "grid", [RISING, FALLING, NEAR_FIRST, NEAR_FIRST.turned(), LEARNAF, LEARNAF.turned()]
)
@settings(deadline=None, max_examples=30)
@given(part=st.floats(0.0, 1.0))
def test_an_index_and_its_position_are_each_other_s_inverse(grid: FocusGrid, part: float) -> None:
    index = part * (len(grid) - 1)
    assert grid.position_to_index(grid.index_to_position(index)) == pytest.approx(index, abs=1e-9)
    if grid.known:
        assert grid.dioptres_to_index(grid.index_to_dioptres(index)) == pytest.approx(index, abs=1e-9)
        assert grid.metres_to_index(grid.index_to_metres(index)) == pytest.approx(index, abs=1e-9)


def test_a_position_beyond_the_ends_is_held_there_in_either_order() -> None:
    assert (RISING.position_to_index(-1.0), RISING.position_to_index(9.0)) == (0.0, 3.0)
    assert (FALLING.position_to_index(-1.0), FALLING.position_to_index(9.0)) == (3.0, 0.0)


def test_which_end_is_far_is_asked_of_the_grid() -> None:
    assert RISING.far_to_near
    assert not FALLING.far_to_near
    assert (NEAR_FIRST.nearer, NEAR_FIRST.far_to_near) == (False, False)  # as its dioptres tell
    unknown = um([0.0, 1.0])
    assert (unknown.nearer, unknown.far_to_near) == (None, True)


def test_dioptres_and_metres_tell_themselves_what_is_near() -> None:
    assert FocusGrid([0.5, 2.0], "dioptres").nearer is True
    metres = FocusGrid([0.25, 0.5, 1.0], "m")
    assert metres.nearer is False
    assert metres.dioptres.tolist() == pytest.approx([4.0, 2.0, 1.0])
    assert LEARNAF.nearer is True


def test_the_nearest_index_of_falling_dioptres() -> None:
    falling = LEARNAF.turned()
    np.testing.assert_array_equal(falling.nearest_index(falling.dioptres), np.arange(49))
    midpoints = LEARNAF.midpoints
    np.testing.assert_array_equal(falling.nearest_index(midpoints), 48 - LEARNAF.nearest_index(midpoints))


def test_a_turned_grid_is_the_same_positions_in_the_other_order() -> None:
    grid = um([0.0, 1.0, 3.0], nearer=True, blur_per_unit_px=[0.1, 0.2, 0.3], sharp_px=0.8)
    turned = grid.turned()
    assert turned.positions.tolist() == [3.0, 1.0, 0.0]
    assert (turned.nearer, turned.unit, turned.sharp_px) == (False, "um", 0.8)
    assert turned.blur_per_unit_px is not None
    assert turned.blur_per_unit_px.tolist() == [0.3, 0.2, 0.1]
    assert turned.turned() == grid != turned
    assert um([0.0, 1.0]).turned().nearer is None
    assert NEAR_FIRST.turned().dioptres.tolist() == [0.5, 1.0, 3.0, 8.0]


def test_a_part_of_a_grid_keeps_what_is_known() -> None:
    part = um([0.0, 1.0, 3.0, 4.0], nearer=False, blur_per_unit_px=[1.0, 2.0, 3.0, 4.0], sharp_px=0.9).part(
        1, 2
    )
    assert part == um([1.0, 3.0], nearer=False, blur_per_unit_px=[2.0, 3.0], sharp_px=0.9)
    assert LEARNAF.part(10, 12).dioptres.tolist() == FOCI[10:13].tolist()


def test_grids_of_another_unit_or_direction_differ() -> None:
    assert um([0.0, 1.0]) != FocusGrid([0.0, 1.0], "steps")
    assert um([0.0, 1.0], nearer=True) != um([0.0, 1.0], nearer=False)
    assert um([0.0, 1.0], blur_per_unit_px=0.5) != um([0.0, 1.0])
    assert um([0.0, 1.0], sharp_px=0.8) != um([0.0, 1.0])
    assert um([0.0, 1.0], dioptres=[2.0, 3.0]) != um([0.0, 1.0], nearer=True)


def test_how_far_apart_neighbours_lie_around_an_index() -> None:
    assert [RISING.units_per_index(at) for at in (0, 0.3, 1, 1.2, 3)] == [0.5, 0.5, 0.5, 1.5, 1.0]
    assert [FALLING.units_per_index(at) for at in (0, 1.5, 3)] == [1.0, 1.5, 0.5]
    assert um([7.0]).units_per_index(0) == 1.0
    assert LEARNAF.units_per_index(20.5) == 1.0


def test_a_focuser_of_many_counts_is_a_range() -> None:
    grid = FocusGrid(range(100_001), "steps")
    assert grid.index_near(36_720.4) == 36_720
    assert repr(grid) == "FocusGrid(100001 positions, 0 to 100000 steps)"
    with pytest.raises(InputError, match=f"at most {MOST_POSITIONS} positions, not {MOST_POSITIONS + 1}"):
        FocusGrid(range(MOST_POSITIONS + 1), "steps")


def test_a_lens_goes_to_the_nearest_position_and_a_slice_was_taken_at_one() -> None:
    assert [RISING.index_near(one) for one in (0.6, 1.3, 2.4)] == [1, 2, 2]
    assert FALLING.index_near(0.4) == 2
    with pytest.raises(InputError, match=r"no position 0\.6 \(um\): the nearest is 0\.5"):
        RISING.index_of(0.6)
    with pytest.raises(InputError, match=r"no position 17\.5 \(slice\)"):
        LEARNAF.index_near(17.5)
    assert LEARNAF.index_near(17) == LEARNAF.index_of(17.0) == 17


@pytest.mark.parametrize(("position", "index"), [(3.3 - 33 * 0.1, 0), (0.1 + 0.2, 3), (0.8 + 1e-12, 8)])
def test_rounding_is_no_other_position(position: float, index: int) -> None:
    assert um(np.arange(9) / 10).index_of(position) == index


@pytest.mark.parametrize("convert", ["check", "index_of", "index_near"])
def test_a_position_that_the_lens_cannot_be_at_is_refused(convert: str) -> None:
    for one in (-0.5, 3.5):
        with pytest.raises(InputError, match=rf"positions go from 3 to 0 \(um\), not to {one:g}"):
            getattr(FALLING, convert)(one)
    for none in (True, math.nan, "2"):
        with pytest.raises(InputError, match=r"a position is a number \(um\), not"):
            getattr(FALLING, convert)(none)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"positions": [1.0, 3.0, 2.0]},
            "positions must rise or fall.*index 1 has 3 and index 2 has 2; sort",
        ),
        ({"positions": [3.0, 2.0, 2.0]}, "index 1 has 2 and index 2 has 2"),
        ({"positions": [1.0, math.inf]}, "positions are finite, not inf"),
        ({"positions": ["a", "b"]}, "positions are numbers, not"),
        ({"positions": [1.0, 2.0], "dioptres": [1.0]}, "2 positions have as many dioptres, not 1"),
        ({"positions": [1.0, 2.0], "dioptres": [1.0, 2.0], "nearer": False}, "nearer=False.*from 1 to 2"),
        ({"positions": [1.0, 2.0], "unit": "dioptres", "nearer": False}, "nearer=False.*from 1 to 2"),
        ({"positions": [1.0, 2.0], "blur_per_unit_px": [0.1]}, "as many blur_per_unit_px, or one, not 1"),
        ({"positions": [1.0, 2.0], "blur_per_unit_px": 0.0}, "above 0, not 0.0"),
        ({"positions": [1.0, 2.0], "blur_per_unit_px": [0.1, math.nan]}, "above 0, not"),
    ],
)
def test_what_is_no_grid_is_said(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(InputError, match=message):
        FocusGrid(**arguments)


# What a camera knows


STAGE = CameraOptics(growth_px=-0.2, unit="um", sharp_px=1.1)


def test_a_camera_fills_in_what_is_not_given() -> None:
    grid = FocusGrid([0.0, 1.0, 2.0], "um", camera=STAGE)
    assert grid.nearer is False  # larger positions focus farther
    assert grid.blur_per_unit_px is not None
    assert grid.blur_per_unit_px.tolist() == pytest.approx([0.2, 0.2, 0.2])
    assert grid.sharp_px == 1.1
    assert FocusGrid([2.0, 1.0, 0.0], "um", camera=STAGE) == grid.turned()
    assert FocusGrid([0.0, 1.0], "um", sharp_px=0.7, blur_per_unit_px=0.3, camera=STAGE) == um(
        [0.0, 1.0], nearer=False, sharp_px=0.7, blur_per_unit_px=0.3
    )


def test_a_camera_s_unit_is_that_of_positions_without_one() -> None:
    assert FocusGrid([0.0, 1.0], camera=STAGE).unit == "um"
    assert FocusGrid([1.0, 2.0], camera="pixel3").dioptres.tolist() == [1.0, 2.0]


def test_a_camera_in_dioptres_tells_the_blur_of_any_unit_whose_dioptres_are_known() -> None:
    phone = CameraModel.pixel3()
    own = FocusGrid([1.0, 2.0, 3.0], "dioptres", camera=phone)
    steps = FocusGrid([10, 20, 30], "steps", [1.0, 2.0, 3.0], camera=phone)
    assert steps.blur_per_unit_px is not None
    assert own.blur_per_unit_px is not None
    np.testing.assert_allclose(10 * steps.blur_per_unit_px, own.blur_per_unit_px)
    assert steps.sharp_px == own.sharp_px


def test_a_camera_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "stage.toml").write_text('growth_px = 0.2\nunit = "um"\n', encoding="utf-8")
    grid = FocusGrid([0.0, 1.0], camera=tmp_path / "stage.toml")
    assert (grid.unit, grid.nearer, grid.known) == ("um", True, False)
    with pytest.raises(FileError, match="no camera 'nonesuch'"):
        FocusGrid([0.0, 1.0], camera="nonesuch")


def test_positions_that_say_nothing_of_a_camera_are_refused() -> None:
    with pytest.raises(InputError, match="camera counts in um: positions in steps say nothing of it"):
        FocusGrid([0.0, 1.0], "steps", camera=STAGE)
    with pytest.raises(InputError, match="counts in dioptres: positions in um"):
        FocusGrid([0.0, 1.0], "um", camera="pixel3")
