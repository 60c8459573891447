"""From labelled patches to a calibration: fits that are known, and what cannot be calibrated."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre.cli import main
from dioptre.errors import InputError
from dioptre.grid import FocusGrid
from dioptre.methods.calibration import Calibration, bilinear_weights, find_calibration
from dioptre.methods.disparity import KINDS
from dioptre.methods.matching import Match
from dioptre.optics import CameraModel
from dioptre.pipeline.calibrating import (
    PLANES,
    Looks,
    calibrate,
    fit_table,
    fit_trust,
    in_crop,
    look_at_planes,
    ransac_line,
)
from dioptre.pipeline.settings import CalibrationJob
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves
from dioptre.store.patches import StoreFormat, StoreWriter

CAMERA = CameraModel.pixel3()


def looks_of(shifts: np.ndarray, where: np.ndarray, focus: np.ndarray, depth: np.ndarray) -> Looks:
    curves = np.maximum(0.0, 0.95 - 0.1 * (np.arange(-11, 12) - shifts[:, None]) ** 2)
    return Looks(where, focus, depth, Match(shifts, 0 * shifts + 1e-6, 0 * shifts, curves, 128 * 128))


def write_planes(folder: Path, views: int = 2, grid: FocusGrid = CAMERA.grid) -> Path:
    """A store of planes in the middle of the field, with a lens that goes where it is told."""
    rng = np.random.default_rng(0)
    form = StoreFormat(grid, 128, views, 0.0, 60000.0, rows_per_native=1)
    writer, rows, codes = StoreWriter(folder, form, {}, 8, 8), [], []
    for at, truth in enumerate(np.linspace(0, len(grid) - 1, 8).astype(int).tolist()):
        depth = float(CAMERA.grid.dioptres[truth])
        texture = dead_leaves(208, 208, rng)
        pixels = plane_stack(CAMERA, depth, texture, rng, shot=0.05, read=0.2)[: len(grid), :views]
        codes.append(np.round(60000 * pixels).astype(np.uint16))
        rows.append(
            {
                "scene": f"s{at}", "capture": f"c{at}", "split": "train", "row": 692, "col": 944,
                "truth": truth, "where_x": 0.0, "where_y": 0.0,
            }
        )  # fmt: skip
    writer.write_shard(0, np.stack(codes), rows)
    writer.finish()
    return folder


# Fits


def test_a_table_is_found_again_from_its_disparities() -> None:
    rng = np.random.default_rng(0)
    table = 0.7 + 0.02 * np.arange(7)[:, None] + 0.01 * np.arange(9)
    where, focus, depth = rng.uniform(-1, 1, (800, 2)), rng.uniform(0, 10, 800), rng.uniform(0, 10, 800)
    shifts = bilinear_weights(where, (7, 9)) @ table.ravel() * (focus - depth)
    shifts[::20] += 5.0  # outliers
    found, left_over = fit_table(looks_of(shifts, where, focus, depth), (7, 9))
    np.testing.assert_allclose(found, table, atol=0.01)
    assert left_over < 0.2


def test_a_table_without_looks_everywhere_is_smooth() -> None:
    rng = np.random.default_rng(1)
    where = rng.uniform(-0.3, 0.3, (100, 2))
    focus, depth = rng.uniform(0, 10, 100), rng.uniform(0, 10, 100)
    found, _ = fit_table(looks_of(0.8 * (focus - depth), where, focus, depth), (7, 9))
    np.testing.assert_allclose(found, 0.8, atol=0.01)


def test_ransac_is_deaf_to_a_third_of_outliers() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(-6, 6, 300)
    y = -1.25 * x + 0.1 + rng.normal(0, 0.05, 300)
    y[::3] = rng.uniform(-8, 8, 100)
    line = ransac_line(x, y, rng)
    assert line.slope == pytest.approx(-1.25, abs=0.02)
    assert line.offset == pytest.approx(0.1, abs=0.03)
    assert line.below == 1.0


def test_a_line_that_is_steeper_below_0_is_found_among_outliers() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-6, 6, 600)
    y = -1.0 * np.where(x < 0, 0.85 * x, x) - 0.1 + rng.normal(0, 0.2, 600)
    y[::5] += rng.uniform(-5, 5, 120)
    line = ransac_line(x, y, rng, sides=True)
    assert line.slope == pytest.approx(-1.0, abs=0.03)
    assert line.below == pytest.approx(0.85, abs=0.03)
    assert line.offset == pytest.approx(-0.1, abs=0.08)
    one_side = ransac_line(np.abs(x), -np.abs(x), rng, sides=True)
    assert (one_side.slope, one_side.below) == (-1.0, 1.0)


@pytest.mark.parametrize("x", [np.ones(5), np.ones(1)])
def test_points_without_a_line_are_refused(x: np.ndarray) -> None:
    with pytest.raises(InputError, match="line"):
        ransac_line(x, np.arange(len(x), dtype=np.float64), np.random.default_rng(0))


def test_trust_follows_the_errors() -> None:
    rng, table = np.random.default_rng(3), find_calibration("center")
    focus, depth = rng.uniform(1, 9, 400), rng.uniform(1, 9, 400)
    where = np.zeros((400, 2))
    spreads = []
    for error in (0.1, 0.5):
        shifts = table.gain_at(where) * (focus - depth + rng.normal(0, error, 400))
        spreads.append(fit_trust(PLANES, looks_of(shifts, where, focus, depth), table).spread)
    assert spreads[0] < spreads[1]


def test_the_crop_is_the_central_part_of_the_frame() -> None:
    where = np.array([[0, 0], [0.6, 0.0], [0.61, 0.0], [0.0, 0.58], [0.0, 0.59]], dtype=np.float64)
    assert in_crop(where, (1512, 2016), 128).tolist() == [True, True, False, True, False]


# Planes and stores


def test_planes_show_the_field_of_a_phone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dioptre.pipeline.calibrating.PLANES_M", (0.2,))
    monkeypatch.setattr("dioptre.pipeline.calibrating.TABLE", (3, 3))
    monkeypatch.setattr("dioptre.pipeline.calibrating.FOCI", 3)
    looks = look_at_planes(CAMERA, PhoneOptics.center(), find_calibration("center"), np.random.default_rng(0))
    assert len(looks.focus) == 27
    expected = find_calibration("center").gain_at(looks.where) * looks.defocus
    assert np.median(np.abs(looks.match.shifts - expected)) < 0.15


def test_own_stacks_make_a_calibration_that_a_method_uses(tmp_path: Path) -> None:
    store, out = write_planes(tmp_path / "planes"), tmp_path / "mine.toml"
    steps: list[tuple[int, int]] = []
    found, left_over = calibrate(store, out, CalibrationJob(), lambda *at: steps.append(at))
    assert Calibration.from_toml(out).identity == found.identity
    assert found.name == "mine"
    assert found.gain_at(np.zeros((1, 2)))[0] == pytest.approx(0.84, rel=0.1)
    assert set(found.fits) == set(left_over.indices) == set(KINDS)
    assert left_over.indices["dioptre-zncc-disparity"] < 1.5
    assert left_over.indices["dioptre-ssd-disparity"] < 1.5
    assert left_over.indices["zncc-disparity"] > 1.5  # a small range around zero does not reach
    assert steps[0][0] == 0
    assert steps[-1][0] == steps[-1][1]


def test_what_cannot_be_calibrated_is_refused(tmp_path: Path) -> None:
    def refused(store: Path, out: str = "x.toml", **job: object) -> str:
        with pytest.raises(InputError) as caught:
            calibrate(store, tmp_path / out, CalibrationJob(**job), lambda *_: None)  # type: ignore[arg-type]
        return str(caught.value)

    two, green = write_planes(tmp_path / "two"), write_planes(tmp_path / "green", views=1)
    assert "only green" in refused(green)
    assert "no patches of the split test" in refused(two, split="test")
    assert ".toml file" in refused(two, "x.txt")
    assert "0 or more" in refused(two, seed=-1)
    short = write_planes(tmp_path / "short", grid=FocusGrid.uniform(n=20))
    assert "another grid" in refused(short)


def test_the_command_writes_a_file_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    store = write_planes(tmp_path / "planes")
    out, figure = tmp_path / "mine.toml", tmp_path / "c.png"
    code = main(["calibrate", str(store), str(out), "--starts", "4", "--figure", str(figure), "--json"])
    assert code == 0
    assert '"indices": {"zncc-disparity"' in capsys.readouterr().out
    assert out.is_file()
    assert figure.stat().st_size > 1000
    assert main(["calibrate", str(tmp_path), str(out)]) == 2
