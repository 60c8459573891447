"""Calibrations as values: bilinear tables, files, identity, and what they refuse."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dioptre.errors import FileError, InputError
from dioptre.grid import FocusGrid
from dioptre.methods.calibration import (
    SHIPPED,
    THIN_LENS,
    Calibration,
    CalibrationLine,
    DisparityError,
    Fit,
    bilinear_weights,
    find_calibration,
)
from dioptre.methods.disparity import KINDS
from dioptre.optics import CameraModel


@pytest.fixture
def small() -> Calibration:
    return Calibration(
        name="mine",
        grid=FocusGrid.uniform(n=9),
        frame=(300, 400),
        gain=np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]),
        fits={
            "one": Fit(DisparityError(0.2, 0.01, 64.0)),
            "other": Fit(DisparityError(), CalibrationLine(-0.5, 0.01, 0.9)),
        },
    )


def test_the_table_is_bilinear_over_the_frame_and_held_outside(small: Calibration) -> None:
    places = np.array([[-1, -1], [1, 1], [0, 0], [-0.5, -1], [-3, -3], [1, -1]], dtype=np.float64)
    np.testing.assert_allclose(small.gain_at(places), [1, 5, 3, 1.5, 1, 3])


def test_weights_of_a_place_sum_to_one() -> None:
    places = np.random.default_rng(0).uniform(-1.2, 1.2, (50, 2))
    np.testing.assert_allclose(bilinear_weights(places, (7, 9)).sum(axis=1), 1.0)


def test_the_search_reaches_the_disparities_of_the_whole_ladder(small: Calibration) -> None:
    span = small.grid.dioptres[-1] - small.grid.dioptres[0]
    assert small.reach >= 5.0 * span


def test_a_file_gives_the_same_calibration_back(small: Calibration, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    small.to_toml(path, {"looks": 12, "left over": 0.123456789})
    back = Calibration.from_toml(path)
    assert back.to_json() == small.to_json()
    assert back.identity == small.identity
    assert "# left over: 0.1235\n" in path.read_text(encoding="utf-8")


def test_the_identity_follows_every_number(small: Calibration) -> None:
    gain = small.gain.copy()
    gain[0, 0] += 1e-6
    others = [
        replace(small, gain=gain),
        replace(small, fits={**small.fits, "other": Fit(DisparityError(), CalibrationLine(-0.5, 0.02, 0.9))}),
        replace(small, fits={**small.fits, "one": Fit(DisparityError(0.31))}),
        replace(small, grid=FocusGrid.uniform(n=10)),
        replace(small, frame=(300, 401)),
    ]
    assert len({one.identity for one in (small, *others)}) == 6


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gain": np.array([[1.0, -1.0], [1.0, 1.0]])}, "of one sign"),
        ({"gain": np.array([[1.0, np.nan], [1.0, 1.0]])}, "finite"),
        ({"gain": np.array([[1.0, 1.0]])}, "two rows"),
        ({"grid": FocusGrid(range(9))}, "known in dioptres"),
        ({"frame": (0, 3)}, "rows, columns"),
    ],
)
def test_impossible_values_are_refused(small: Calibration, changed: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(small, **changed)


def test_a_line_may_bend_where_the_disparity_is_0() -> None:
    line = CalibrationLine(-2.0, 0.5, 0.75)
    np.testing.assert_allclose(line.at(np.array([-4.0, 0.0, 1.0])), [6.5, 0.5, -1.5])


def test_a_calibration_without_a_method_says_which_it_has(small: Calibration) -> None:
    assert small.fit_of("other").line.below == 0.9
    with pytest.raises(FileError, match="mine is not for third: it has one, other"):
        small.fit_of("third")


@pytest.mark.parametrize("line", [(0.0, 0.0), (np.nan, 0.0), (1.0, np.inf), (1.0, 0.0, 0.0)])
def test_a_line_that_cannot_be_followed_is_refused(line: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="slope"):
        CalibrationLine(*line)


@pytest.mark.parametrize("trust", [(0.0, 0.0, 1.0), (0.1, -1.0, 1.0), (0.1, 0.0, 0.5), (np.nan, 0.0, 1.0)])
def test_trust_in_nothing_is_refused(trust: tuple[float, float, float]) -> None:
    with pytest.raises(InputError, match="spread"):
        DisparityError(*trust)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("layout = ", "not a TOML file"),
        ('name = "x"', "lacks 'layout'"),
        ("layout = 7", "layout 7"),
        ("layout = 1", "layout 1"),
        ("layout = 2\nframe = [1, 2]", "lacks 'name'"),
    ],
)
def test_a_file_that_is_no_calibration_is_an_error_of_the_file(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=message):
        Calibration.from_toml(path)


def test_a_missing_calibration_is_said_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="center, left"):
        find_calibration("nobody")
    with pytest.raises(FileError, match=r"none\.toml"):
        find_calibration(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("name", ["center", "left"])
def test_the_shipped_ones_are_small_and_for_the_papers_phone(name: str) -> None:
    found, camera = find_calibration(name), CameraModel.pixel3()
    assert found.name == name
    assert found.refusal(camera.grid, camera.frame) is None
    assert (SHIPPED / f"{name}.toml").stat().st_size < 4000
    assert (found.gain > 0).all()  # a thing behind the focus plane has a positive disparity
    assert set(found.fits) == set(KINDS)
    assert found.fits["zncc-disparity"].line == THIN_LENS
    centre = found.gain_at(np.zeros((1, 2)))[0]
    assert found.fits["ssd-disparity"].line.slope == pytest.approx(-1 / centre, rel=0.3)
    assert found.fits["dioptre-ssd-disparity"].line.slope == pytest.approx(-1, rel=0.2)
    assert np.ptp(found.gain) > 0.1  # C varies over the field


def test_another_ladder_or_frame_is_refused_in_a_sentence(small: Calibration) -> None:
    assert small.refusal(small.grid, (300, 400)) is None
    assert small.refusal(FocusGrid(range(9)), (64, 64)) == (
        "needs a grid in dioptres, but only the order of the positions is known"
    )
    assert "grid of 9 positions, not 10" in str(small.refusal(FocusGrid.uniform(n=10), (64, 64)))
    away = FocusGrid.of_dioptres(small.grid.dioptres + 0.5)
    assert "another grid, up to 0.5 dioptres away" in str(small.refusal(away, (64, 64)))
    assert "frames of 400 x 300 pixels, not 800 x 600" in str(small.refusal(small.grid, (600, 800)))
