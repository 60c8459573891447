"""What people hand over: lens positions, regions and numbers of every kind, checked once."""

from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest

from dioptre.cameras.camera_files import CameraOptics
from dioptre.errors import DioptreError, FileError, InputError, MethodError
from dioptre.focusing.arguments import _method
from dioptre.focusing.inputs import (
    centre_of,
    cut,
    is_camera,
    is_several,
    read_grid,
    to_grid,
    to_rois,
    to_where,
)
from dioptre.focusing.result import Roi
from dioptre.focusing.slices import to_slices
from dioptre.grid import FocusGrid
from dioptre.methods.base import WHOLE
from dioptre.problem import Problem

GRID = FocusGrid.learnaf()


@pytest.mark.parametrize(
    "where", [3, (0.1,), (0.1, None), "xy", (np.inf, 0), (np.nan, 0), (1.5, 0), (0, 0, 0)]
)
def test_a_place_is_two_numbers_in_the_frame(where: object) -> None:
    with pytest.raises(InputError, match=r"\(x, y\), each in \[-1, 1\]"):
        to_where(where)


def test_a_place_may_be_unknown() -> None:
    assert to_where(None) is None
    assert to_where(np.array([0.5, -1.0])) == (0.5, -1.0)


@pytest.mark.parametrize(
    "roi",
    [5, "0,0,32,32", (0, 0, 32), (0, 0, np.nan, 32), (0, 0, np.inf, 32), (0, 0, None, 32), (0, 0, 20.5, 32)],
)
def test_a_region_is_four_whole_numbers(roi: object) -> None:
    with pytest.raises(DioptreError, match="x, y, width, height in whole pixels"):
        to_rois(roi, (100, 200))


def test_regions_may_be_one_or_many_or_all() -> None:
    assert to_rois(None, (100, 200)) == to_rois([], (100, 200)) == [None]
    assert to_rois((1, 2, 30, 40), (100, 200)) == [Roi(1, 2, 30, 40)]
    assert to_rois([(1, 2, 30, 40), [0, 0, 16, 16]], (100, 200)) == [Roi(1, 2, 30, 40), Roi(0, 0, 16, 16)]
    assert to_rois(np.array([1, 2, 30, 40]), (100, 200)) == [Roi(1, 2, 30, 40)]


def test_a_region_is_cut_out_and_knows_its_centre() -> None:
    frame = np.arange(200 * 100).reshape(100, 200)
    assert cut(frame, Roi(10, 20, 30, 40)).shape == (40, 30)
    assert cut(frame, Roi(10, 20, 30, 40))[0, 0] == frame[20, 10]
    assert centre_of(Roi(0, 0, 200, 100), (100, 200)) == (0.0, 0.0)
    assert centre_of(Roi(100, 0, 100, 100), (100, 200)) == (0.5, 0.0)


def test_a_mask_becomes_nan_whatever_the_dtype() -> None:
    for dtype in (np.uint8, np.float32):
        codes = np.ma.masked_array(np.ones((3, 16, 16), dtype), mask=False)
        codes[1, 2, 3] = np.ma.masked
        pixels = to_slices(codes, None, None).pixels()
        assert np.isnan(pixels[1, 0, 2, 3])
        assert np.isfinite(pixels).sum() == pixels.size - 1


def test_signed_integers_without_negative_values_are_fine() -> None:
    assert to_slices(np.full((3, 16, 16), 100, np.int16), None, None).pixels().max() == pytest.approx(
        100 / 32767
    )


def test_several_regions_are_a_list_of_them() -> None:
    assert is_several([(1, 2, 30, 40)])
    assert is_several(np.array([[1, 2, 30, 40]]))
    for one in (None, [], (1, 2, 30, 40), np.array([1, 2, 30, 40])):
        assert not is_several(one)


# Lens positions


STAGE_FILE = 'name = "stage"\ngrowth_px = -0.2\nunit = "um"\nfar = 30.0\nnear = 0.0\n'


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    path = tmp_path / "stage.toml"
    path.write_text(STAGE_FILE, encoding="utf-8")
    return path


def test_a_grid_is_taken_as_it_is() -> None:
    assert to_grid(GRID) is GRID
    assert to_grid(GRID, 49) is GRID


@pytest.mark.parametrize("given", [[3.0, 2.0, 0.5], (3, 2, 0.5), np.array([3.0, 2.0, 0.5])])
def test_numbers_are_dioptres_in_their_own_order(given: Any) -> None:
    grid = to_grid(given, 3)
    assert grid == FocusGrid([3.0, 2.0, 0.5], "dioptres")
    assert grid.nearer is False


@pytest.mark.parametrize(
    ("text", "positions", "unit"),
    [
        ("0:0.5um", [0.0, 0.5, 1.0], "um"),
        ("0:0.5:1um", [0.0, 0.5, 1.0], "um"),
        ("4:-1.5mm", [4.0, 2.5, 1.0], "mm"),
        ("30,20,10steps", [30.0, 20.0, 10.0], "steps"),
        ("1,2,3 µm", [1.0, 2.0, 3.0], "um"),
        ("0.2,0.4,0.6", [0.2, 0.4, 0.6], "dioptres"),
        ("0:1", [0.0, 1.0, 2.0], "dioptres"),
        ("names:um", [5.0, 10.0, 15.0], "um"),
        ("names:dioptres", [5.0, 10.0, 15.0], "dioptres"),
    ],
)
def test_text_says_positions_and_their_unit(text: str, positions: list[float], unit: str) -> None:
    grid = to_grid(text, 3, ("z5.png", "z10.png", "z15.png"))
    assert (grid.positions.tolist(), grid.unit) == (positions, unit)
    assert grid.known == (unit == "dioptres")


def test_a_file_says_positions(tmp_path: Path) -> None:
    (tmp_path / "steps.csv").write_text("name,position\nb,200\na,100\n", encoding="utf-8")
    grid = to_grid(f"{tmp_path / 'steps.csv'}:steps", 2, ("a.png", "b.png"))
    assert grid == FocusGrid([100.0, 200.0], "steps")
    assert to_grid(tmp_path / "steps.csv", 2, ("b.png", "a.png")).positions.tolist() == [200.0, 100.0]


def test_the_published_grid_has_a_name() -> None:
    assert to_grid("learnaf", 49) == GRID
    through = read_grid("learnaf", (), "pixel3")
    assert (through.unit, through.dioptres.tolist()) == ("slice", GRID.dioptres.tolist())
    assert through.blur_per_unit_px is not None


def test_a_camera_s_name_or_file_is_its_own_way(stage: Path) -> None:
    phone = to_grid("pixel3", 49)
    assert (phone.unit, phone.positions.tolist()) == ("dioptres", GRID.dioptres.tolist())
    assert phone.blur_per_unit_px is not None
    for given in (stage, str(stage)):
        grid = to_grid(given)
        assert (grid.unit, grid.nearer, grid.positions[0], grid.positions[-1]) == ("um", True, 30.0, 0.0)


def test_a_camera_whose_ends_nobody_told_goes_around_the_looks(tmp_path: Path) -> None:
    path = tmp_path / "endless.toml"
    path.write_text('growth_px = 0.2\nunit = "um"\n', encoding="utf-8")
    grid = to_grid(path, around=[100.0, 110.0])
    assert grid.positions[len(grid) // 2] == pytest.approx(105.0)
    assert grid.positions[0] < 0.0
    assert grid.positions[-1] > 200.0
    with pytest.raises(InputError, match="nobody has told where the lens of camera can go"):
        to_grid(path)


def test_positions_without_a_unit_are_in_the_camera_s(stage: Path) -> None:
    grid = read_grid("0:10", ("a", "b", "c"), stage)
    assert (grid.unit, grid.positions.tolist(), grid.nearer) == ("um", [0.0, 10.0, 20.0], False)
    with pytest.raises(InputError, match="stage counts in um: positions in mm say nothing of it"):
        read_grid("0:10mm", ("a", "b", "c"), stage)


def test_what_names_a_camera(stage: Path) -> None:
    assert is_camera("pixel3")
    assert is_camera(stage)
    assert not any(is_camera(one) for one in ("0:0.5um", "learnaf", [1.0, 2.0], GRID, None))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([1.0, 2.0], InputError, "the stack has 3 slices, but 2 positions are given"),
        (GRID, InputError, "3 slices, but 49 positions"),
        ("pixel3", InputError, "3 slices, but 49 positions"),
        ("0:1:5um", DioptreError, "6 positions for 3 slices"),
        ([1.0, 3.0, 2.0], InputError, "must rise or fall.*index 1 has 3"),
        ("1,3,2um", InputError, "must rise or fall.*index 1 has 3"),
        ([-1.0, 0.0, 1.0], InputError, "0 .infinity. or more, not -1"),
        ("nonesuch.toml", FileError, r"no camera 'nonesuch\.toml'"),
        ("nonesuch", DioptreError, "no file nonesuch; positions are a list such as"),
        (7, InputError, r"a list of positions, not an array of shape \(\)"),
    ],
)
def test_positions_that_do_not_fit_are_refused(
    monkeypatch: pytest.MonkeyPatch, given: Any, error: type, message: str
) -> None:
    # While the tests run the annotation would refuse some first.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(error, match=message) as caught:
        to_grid(given, 3)
    assert "\n" not in str(caught.value)


def test_a_whole_description_of_a_camera_fills_in_a_grid() -> None:
    optics = CameraOptics(growth_px=0.2, unit="um")
    grid = FocusGrid([0.0, 1.0, 2.0], "um", camera=optics)
    assert to_grid(grid, 3).blur_per_unit_px is not None


@pytest.mark.parametrize("method", [7, None, object()])
def test_a_method_is_a_key_a_file_or_an_autofocuser(method: object) -> None:
    unchecked = getattr(_method, "__wrapped__", _method)
    with pytest.raises(
        MethodError, match="a method is a key, the file of a network or an object with scores"
    ):
        unchecked(method, Problem.STACK_GREEN, WHOLE)
