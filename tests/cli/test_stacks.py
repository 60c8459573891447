"""`dioptre focus` on what people have: several stacks, channels, axes, notes, a gamma."""

import csv
import json
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile
from scipy.ndimage import gaussian_filter

from dioptre.cli import main
from dioptre.cli.console import FOCUSED, NOT_FOCUSED
from tests.cli.command_line import refused, run_json


def sweep(sharp: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    texture = rng.random((72, 96))
    blurred = [gaussian_filter(texture, 0.3 + 0.5 * abs(k - sharp)) for k in range(11)]
    noisy = [120 + 300 * (one - 0.5) + rng.normal(0, 1, one.shape) for one in blurred]
    return np.clip(np.round(noisy), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of two channels, which are sharp at slices 3 and 7, 0.5 micrometres apart."""
    file = tmp_path_factory.mktemp("cells") / "cells.ome.tif"
    told = {"axes": "ZCYX", "Channel": {"Name": ["DAPI", "GFP"]}, "PhysicalSizeZ": 0.5}
    tifffile.imwrite(file, np.stack([sweep(3), sweep(7, 1)], axis=1), metadata=told)
    return file


def test_each_channel_has_its_result(cells: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = run_json(capsys, "focus", str(cells))["results"]
    assert [(one["which"], one["index"]) for one in results] == [("channel DAPI", 3), ("channel GFP", 7)]
    assert (results[1]["unit"], results[1]["position"]) == ("um", pytest.approx(3.5, abs=0.1))
    one = run_json(capsys, "focus", str(cells), "--channel", "gfp")
    assert (one["index"], one["name"]) == (7, "slice 7")
    assert main(["focus", str(cells)]) == FOCUSED
    said = capsys.readouterr().out
    assert "DAPI" in said
    assert "GFP" in said


def test_several_stacks_become_a_table(
    cells: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "wall.npy", np.random.default_rng(1).normal(100, 3, (30, 64, 64)).astype(np.uint8))
    out = tmp_path / "out.csv"
    assert main(["focus", str(cells), str(tmp_path / "wall.npy"), "--csv", str(out)]) == NOT_FOCUSED
    assert "wall.npy: failed: flat-curve" in capsys.readouterr().err
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["state"] for row in rows] == ["focused", "focused", "failed"]
    assert [row["channel"] for row in rows] == ["DAPI", "GFP", ""]
    assert {(row["time"], row["stage_position"], row["depths"]) for row in rows} == {("", "", "1")}
    assert "flat-curve" in rows[2]["reasons"].split()
    assert "out.csv is there already" in refused(capsys, "focus", str(cells), "--csv", str(out))


def test_depths_have_a_file_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stack = np.concatenate([np.tile(sweep(2), (1, 2, 1)), np.tile(sweep(8, 1), (1, 2, 1))], axis=2)
    np.save(tmp_path / "deep.npy", stack)
    answers, depths = tmp_path / "answers.csv", tmp_path / "depths.csv"
    asked = ["focus", str(tmp_path / "deep.npy"), "--csv", str(answers), "--depths-csv", str(depths)]
    told = run_json(capsys, *asked)
    rows, parts = ([*csv.DictReader(file.read_text().splitlines())] for file in (answers, depths))
    (row,) = rows
    assert (row["depths"], row["index"]) == ("2", str(told["index"]))
    assert sorted(int(one["index"]) for one in parts) == pytest.approx([2, 8], abs=1)
    (chosen,) = (one for one in parts if one["chosen"] == "1")
    same = ("name", "index", "position", "state", "confidence", "risk", "expected_error", "share", "roi")
    assert [row[name] for name in same] == [chosen[name] for name in same]
    assert [float(one["confidence"]) for one in parts] == [one["confidence"] for one in told["depths"]]
    assert f"{told['confidence']:.2f}" in printed(capsys, asked[:2])
    assert "--csv and --depths-csv are both" in refused(capsys, *asked[:2], "--csv", "x", "--depths-csv", "x")


def printed(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    main(arguments)
    return capsys.readouterr().out


def test_a_list_of_pictures_is_one_stack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for at, one in enumerate(sweep(4)):
        if at != 8:
            files.append(tmp_path / f"f{at}.png")
            cv2.imwrite(str(files[-1]), one)
    found = run_json(capsys, "focus", *(str(file) for file in reversed(files)), "--full")
    assert (found["name"], len(found["scores"])) == ("f4.png", 10)
    assert found["notes"] == ["the numbering of the files has gaps: f9.png comes after f7.png"]
    assert run_json(capsys, "focus", str(tmp_path / "f*.png"))["name"] == "f4.png"
    main(["focus", str(tmp_path)])
    assert "note: the numbering" in capsys.readouterr().err


def test_flags_are_named_where_a_program_has_arguments(
    cells: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "turned.npy", np.moveaxis(sweep(4), 0, -1))
    message = refused(capsys, "focus", str(tmp_path / "turned.npy"))
    assert "turned.npy" in message
    assert "YXZ or ZYX (--axes)" in message
    assert run_json(capsys, "focus", str(tmp_path / "turned.npy"), "--axes", "yxz")["index"] == 4
    assert "'Cy5'" in refused(capsys, "focus", str(cells), "--channel", "Cy5")
    assert "(--axes)" in refused(capsys, "focus", str(cells), "--axes", "ZYX")
    assert "--channel" in refused(capsys, "focus", str(cells), "--at", "3")
    assert "name a stack" in refused(capsys, "focus")


def test_one_figure_is_of_one_stack(cells: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert "--plot takes one stack" in refused(capsys, "focus", str(cells), "--plot", str(tmp_path / "a.png"))


def test_views_only_when_told(cells: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tifffile.TiffFile(cells) as file:
        assert file.series[0].shape == (11, 2, 72, 96)
    main(["focus", str(cells), "--views", "--method", "census-transform", "--json"])
    assert json.loads(capsys.readouterr().out)["method"] == "census-transform"
    assert "one view" in refused(
        capsys, "focus", str(cells), "--channel", "0", "--method", "census-transform"
    )


def test_the_gamma_of_pictures_is_undone_for_networks_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 255, (128, 128), np.uint8), (0, 0), 2)
    cv2.imwrite(str(tmp_path / "look.png"), picture)
    cv2.imwrite(str(tmp_path / "deep.png"), picture.astype(np.uint16) * 257)
    look = ["focus", str(tmp_path / "look.png"), "--at", "20"]
    said, linear = run_json(capsys, *look, "--full"), run_json(capsys, *look, "--full", "--gamma", "linear")
    assert said["notes"] == ["the pictures have the gamma of a display (sRGB) and are made linear"]
    assert linear["notes"] == []
    assert said["scores"] != linear["scores"]
    deep = run_json(capsys, "focus", str(tmp_path / "deep.png"), "--at", "20", "--full")
    assert deep["notes"] == []
    np.testing.assert_allclose(deep["scores"], linear["scores"], rtol=1e-4)


def test_measures_see_codes_as_they_are_unless_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for at, one in enumerate(sweep(4)):
        cv2.imwrite(str(tmp_path / f"f{at}.png"), one)
    plain, linear, srgb = (
        run_json(capsys, "focus", str(tmp_path), *flags, "--full")
        for flags in ((), ("--gamma", "linear"), ("--gamma", "srgb"))
    )
    assert plain["scores"] == linear["scores"] != srgb["scores"]
    assert srgb["notes"]
    assert not plain["notes"]


def test_times_are_focused_only_where_one_insists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "t.tif")
    stack = np.random.default_rng(0).integers(0, 255, (5, 64, 64), dtype=np.uint8)
    tifffile.imwrite(path, stack, ome=True, metadata={"axes": "TYX"})
    said = refused(capsys, "focus", path)
    assert "none of them is Z" in said
    assert "--focus-along" in said
    assert main(["focus", path, "--focus-along", "T"]) == 1
    assert "5 pictures of 64 x 64" in capsys.readouterr().out
