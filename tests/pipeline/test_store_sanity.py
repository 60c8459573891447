import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre.cli import store_sanity
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.pipeline.store_sanity import StoreCheck, check
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves
from dioptre.store.captures import CaptureWriter
from dioptre.store.labels import code_to_metres, metres_to_code
from dioptre.store.patches import StoreFormat, StoreWriter

# Every third position of the published grid, small patches: enough to plant a fault in.
CAMERA = replace(CameraModel.pixel3(), grid=FocusGrid.of_dioptres(FocusGrid.learnaf().dioptres[::3]))
SIZE, PATCHES = 64, 36
FORMAT = StoreFormat(CAMERA.grid, SIZE, 2, 1024.0, 16368.0, rows_per_native=1)


@pytest.fixture(scope="module")
def planes() -> tuple[np.ndarray, np.ndarray]:
    """Codes (patch, slice, 2, row, col) of planes as published, 10 bits times 16, and their dioptres."""
    rng = np.random.default_rng(0)
    depths = rng.uniform(CAMERA.grid.dioptres[0], CAMERA.grid.dioptres[-1], PATCHES)
    stacks = []
    for depth in depths:
        picture = 0.6 * dead_leaves(SIZE + 48, SIZE + 48, rng)
        picture[::16, ::16] = 0.0  # somewhere it is dark
        stacks.append(plane_stack(CAMERA, float(depth), picture, rng, SIZE))
    codes = np.rint(np.stack(stacks) * 959 + 64) * 16
    return codes.astype(np.uint16), depths


def rows_of(truth: np.ndarray) -> list[dict[str, object]]:
    return [
        {
            "scene": f"s{at // 12}",
            "capture": f"s{at // 12}_0",
            "split": "test",
            "row": 0,
            "col": 0,
            "truth": int(index),
            "where_x": 0.0,
            "where_y": 0.0,
        }
        for at, index in enumerate(truth)
    ]


def write(
    path: Path, codes: np.ndarray, dioptres: np.ndarray, form: StoreFormat = FORMAT, **config: float | str
) -> StoreCheck:
    """Writes a store and returns its check."""
    writer = StoreWriter(path / "store", form, config, len(codes))
    writer.write_shard(0, codes, rows_of(CAMERA.grid.nearest_index(dioptres)))
    writer.finish()
    return check(path / "store")


def test_a_healthy_store_has_no_flags(tmp_path: Path, planes: tuple[np.ndarray, np.ndarray]) -> None:
    report = write(tmp_path, *planes)
    assert report.flags == ()
    assert abs(report.bias) <= 1
    assert report.slope == pytest.approx(1, abs=0.1)
    assert report.correlation > 0.95
    assert report.depth_scale == pytest.approx(1, abs=0.08)
    assert report.disparity_cols == pytest.approx(3 * 0.148, abs=0.1)  # a step is three published ones
    assert abs(report.disparity_rows or 0) < 0.02
    assert report.levels == 959
    assert report.black <= report.darkest < 1500
    assert sum(report.histogram) == PATCHES
    assert len(report.histogram) == len(CAMERA.grid)
    assert [one.patches for one in report.captures] == [12, 12, 12]
    assert all(abs(one.bias) <= 1 for one in report.captures)
    json.dumps(report.to_json(), allow_nan=False)


def test_a_wrong_min_depth_is_named_with_the_right_one(
    tmp_path: Path, planes: tuple[np.ndarray, np.ndarray]
) -> None:
    codes, dioptres = planes
    depth_codes = metres_to_code(1 / dioptres, nearest_m=0.1)
    wrong = 1 / np.asarray(code_to_metres(depth_codes, nearest_m=0.2))
    report = write(tmp_path, codes, wrong, min_depth_m=0.2)
    assert len(report.flags) == 1
    assert "--min-depth 0.1 fits" in report.flags[0]
    assert "--min-depth 0.2 makes them" in report.flags[0]


def test_wrong_depths_of_ones_own_are_named_too(
    tmp_path: Path, planes: tuple[np.ndarray, np.ndarray]
) -> None:
    codes, dioptres = planes
    report = write(tmp_path, codes, 0.6 * dioptres)
    assert len(report.flags) == 1
    assert "divide the depths by 1." in report.flags[0]


def test_reversed_slices_are_named_and_nothing_else(
    tmp_path: Path, planes: tuple[np.ndarray, np.ndarray]
) -> None:
    codes, dioptres = planes
    report = write(tmp_path, codes[:, ::-1], dioptres)
    assert len(report.flags) == 1
    assert "reverse order" in report.flags[0]
    assert report.correlation < -0.9


@pytest.mark.parametrize("shift", [0, 8], ids=["as they are", "shifted back"])
def test_8_bit_pictures_are_named(tmp_path: Path, planes: tuple[np.ndarray, np.ndarray], shift: int) -> None:
    codes, dioptres = planes
    report = write(tmp_path, (codes >> 8) << shift, dioptres)
    assert "8-bit" in report.flags[0]
    assert all("8-bit" in flag for flag in report.flags)


def test_a_wrong_black_level_is_named(tmp_path: Path, planes: tuple[np.ndarray, np.ndarray]) -> None:
    low = write(tmp_path / "low", *planes, replace(FORMAT, black=0.0))
    assert any("black level is probably too low" in flag for flag in low.flags)
    high = write(tmp_path / "high", *planes, replace(FORMAT, black=6000.0))
    assert any("black level is too high" in flag for flag in high.flags)


def test_disparity_along_the_rows_is_named(tmp_path: Path, planes: tuple[np.ndarray, np.ndarray]) -> None:
    codes, dioptres = planes
    report = write(tmp_path, codes.swapaxes(3, 4), dioptres)
    assert len(report.flags) == 1
    assert "along the rows" in report.flags[0]
    assert "turn the pictures by a quarter" in report.flags[0]


@pytest.mark.parametrize("how", ["swapped", "upside down"])
def test_disparity_the_wrong_way_round_is_named(
    tmp_path: Path, planes: tuple[np.ndarray, np.ndarray], how: str
) -> None:
    codes, dioptres = planes
    report = write(tmp_path, codes[:, :, ::-1] if how == "swapped" else codes[..., ::-1, ::-1], dioptres)
    assert len(report.flags) == 1
    assert "the wrong way round" in report.flags[0]
    assert "--rotate" not in report.flags[0]  # these pictures were not turned by an import


@pytest.mark.parametrize(("turned", "other"), [("ccw", "cw"), ("cw", "ccw")])
def test_pictures_turned_the_wrong_way_are_to_be_turned_the_other(
    tmp_path: Path, planes: tuple[np.ndarray, np.ndarray], turned: str, other: str
) -> None:
    codes, dioptres = planes
    report = write(tmp_path, codes[..., ::-1, ::-1], dioptres, rotate=turned)
    assert len(report.flags) == 1
    assert f"--rotate {other}, or swap" in report.flags[0]


def test_a_bias_is_named(tmp_path: Path, planes: tuple[np.ndarray, np.ndarray]) -> None:
    codes, dioptres = planes
    inside = dioptres > CAMERA.grid.dioptres[4]
    report = write(tmp_path, codes[inside], dioptres[inside] - 1.8)  # three positions
    assert any("3.0 indices nearer" in flag for flag in report.flags)


def test_few_patches_are_named(tmp_path: Path, planes: tuple[np.ndarray, np.ndarray]) -> None:
    codes, dioptres = planes
    report = write(tmp_path, codes[:6], dioptres[:6])
    assert report.flags == ("the store has only 6 patches to judge by, fewer than 20",)


def test_one_view_and_an_unknown_ladder_will_do(
    tmp_path: Path, planes: tuple[np.ndarray, np.ndarray]
) -> None:
    codes, dioptres = planes
    form = replace(FORMAT, views=1, grid=FocusGrid(range(len(CAMERA.grid))))
    report = write(tmp_path, codes[:, :, :1], dioptres, form)
    assert report.flags == ()
    assert report.disparity_cols is None
    assert report.depth_scale is None


def test_patches_without_contrast_do_not_stop_it(tmp_path: Path) -> None:
    flat = np.full((PATCHES, len(CAMERA.grid), 2, SIZE, SIZE), 1500, np.uint16)
    report = write(tmp_path, flat, np.full(PATCHES, CAMERA.grid.dioptres[-1]))
    assert report.flags
    assert report.slope == report.correlation == 0
    json.dumps(report.to_json(), allow_nan=False)


def test_a_store_of_captures_tells_what_was_kept(
    tmp_path: Path, planes: tuple[np.ndarray, np.ndarray]
) -> None:
    codes, dioptres = planes
    truth = CAMERA.grid.nearest_index(dioptres)
    writer = CaptureWriter(tmp_path / "store", FORMAT, (SIZE, SIZE), {})
    writer.begin()
    for at in range(3):
        for index in range(len(CAMERA.grid)):
            for view in range(2):
                writer.write_frame(f"s{at}_0", index, view, codes[at, index, view])
        writer.complete(f"s{at}_0", [{**rows_of(truth[at : at + 1])[0], "capture": f"s{at}_0"}])
    writer.finish({"splits": {"test": {"fraction": 0.6, "paper": 0.68}}})
    report = check(tmp_path / "store")
    assert report.kept == {"test": (0.6, 0.68)}
    assert len(report.flags) == 1  # few patches
    assert ("kept, test", "60.0%, the paper 68%") in store_sanity.describe(report)


def test_at_most_so_many_patches_of_a_capture_are_looked_at(
    tmp_path: Path, planes: tuple[np.ndarray, np.ndarray]
) -> None:
    write(tmp_path, *planes)
    report = check(tmp_path / "store", patches_per_capture=7, seed=1)
    assert [one.patches for one in report.captures] == [7, 7, 7]
    assert check(tmp_path / "store", patches_per_capture=7, seed=1) == report
    with pytest.raises(ValueError, match="not 0"):
        check(tmp_path / "store", patches_per_capture=0)


def test_the_command_prints_and_says_by_its_exit_code(
    tmp_path: Path, planes: tuple[np.ndarray, np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    codes, dioptres = planes
    write(tmp_path / "good", codes, dioptres)
    write(tmp_path / "bad", codes[:, ::-1], dioptres)
    assert store_sanity.run_check(tmp_path / "good" / "store", False) == 0
    said = capsys.readouterr()
    assert "nothing is wrong" in said.out
    assert "s2_0" in said.out
    assert said.err == ""
    assert store_sanity.run_check(tmp_path / "bad" / "store", False) == 2
    said = capsys.readouterr()
    assert "reverse order" in said.err
    assert "nothing is wrong" not in said.out
    assert store_sanity.run_check(tmp_path / "bad" / "store", True) == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["flags"] == said.err.splitlines()


def test_a_histogram_is_a_line_of_bars() -> None:
    assert store_sanity.histogram((0, 1, 8, 4)) == " ▁█▄"
    assert store_sanity.histogram((0, 0)) == "  "
