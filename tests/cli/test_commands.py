import json
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from dioptre import METHODS, __version__
from dioptre.cli import main
from dioptre.cli.console import FOCUSED, NOT_FOCUSED
from dioptre.cli.focus import parse_roi
from dioptre.cli.focus_result import sparkline
from tests.cli.command_line import refused, run_json
from tests.marks import slow

SHARP = 4


@pytest.fixture(scope="module")
def pictures() -> np.ndarray:
    rng = np.random.default_rng(0)
    texture = rng.random((72, 96))
    blurred = [gaussian_filter(texture, 0.3 + 0.5 * abs(k - SHARP)) for k in range(11)]
    noisy = [120 + 300 * (one - 0.5) + rng.normal(0, 1, one.shape) for one in blurred]
    return np.clip(np.round(noisy), 0, 255).astype(np.uint8)


@pytest.fixture
def folder(tmp_path: Path, pictures: np.ndarray) -> Path:
    home = tmp_path / "stack"
    home.mkdir()
    for k, picture in enumerate(pictures):
        cv2.imwrite(str(home / f"IMG_{0.5 * k + 1:05.2f}.png"), picture)
    return home


def test_focus_names_the_sharp_picture(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["focus", str(folder)]) == FOCUSED
    said = capsys.readouterr()
    assert "IMG_03.00.png" in said.out
    assert "focused" in said.out
    assert said.err == ""


def test_focus_json_is_json_and_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "focus", str(folder))
    assert found["index"] == SHARP
    assert found["name"] == "IMG_03.00.png"
    assert found["state"] == "focused"
    assert "scores" not in found
    assert found["dioptres"] is None
    assert (found["unit"], found["position"]) == ("slice", pytest.approx(SHARP, abs=0.1))
    full = run_json(capsys, "focus", str(folder), "--full")
    assert (len(full.pop("scores")), full.pop("positions")) == (11, list(range(11)))
    assert full == found


def test_positions_come_from_the_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "focus", str(folder), "--positions", "names")
    assert found["dioptres"] == pytest.approx(3.0, abs=0.2)
    assert found["distance_m"] == pytest.approx(1 / found["dioptres"])
    found = run_json(capsys, "focus", str(folder), "--positions", "names:um")
    assert (found["unit"], found["position"]) == ("um", pytest.approx(3.0, abs=0.2))
    assert found["dioptres"] is None
    found = run_json(capsys, "focus", str(folder), "--positions", "names:metres")
    assert found["unit"] == "m"
    assert found["distance_m"] == pytest.approx(3.0, abs=0.2)


def test_a_blank_wall_is_not_focused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wall = np.random.default_rng(1).normal(100, 3, (30, 64, 64)).round().astype(np.uint8)
    np.save(tmp_path / "wall.npy", wall)
    assert main(["focus", str(tmp_path / "wall.npy")]) == NOT_FOCUSED
    said = capsys.readouterr()
    assert said.err.startswith("failed: flat-curve: no picture is clearly sharper")
    assert "uncertain" not in said.err
    assert "failed" in said.out


def test_several_regions_are_all_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["focus", str(folder), "--roi", "0,0,40,40", "--roi", "40,30,40,40", "--risk", "0.05"]
    assert main(arguments) == FOCUSED
    said = capsys.readouterr().out
    assert "0,0,40,40" in said
    assert "40,30,40,40" in said
    found = run_json(capsys, *arguments)
    assert list(found) == ["results"]
    assert [one["roi"] for one in found["results"]] == [[0, 0, 40, 40], [40, 30, 40, 40]]


def test_the_subject_may_be_spelt_as_americans_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = [run_json(capsys, "focus", str(folder), "--subject", name) for name in ("centre", "center")]
    assert found[0] == found[1]
    assert found[0]["index"] == SHARP


def test_a_plot_is_drawn(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert main(["focus", str(folder), "--plot", str(tmp_path / "curve.png")]) == FOCUSED
    picture = cv2.imread(str(tmp_path / "curve.png"))
    assert picture.shape[0] > 400
    orange = (picture[..., 2].astype(int) - picture[..., 0]) > 150
    assert orange.sum() > 500  # the chosen slice is marked


def test_skipped_files_are_named(
    folder: Path, pictures: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    cv2.imwrite(str(folder / "depth.png"), pictures[0])
    assert run_json(capsys, "focus", str(folder))["skipped"] == ["depth.png"]
    main(["focus", str(folder)])
    assert "depth.png" in capsys.readouterr().err


def test_bad_input_is_one_sentence(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert "empty" in refused(capsys, "focus", str(tmp_path / "empty"))
    assert "nowhere" in refused(capsys, "focus", str(tmp_path / "nowhere"))
    assert "laplacian-energy" in refused(capsys, "focus", str(folder), "--method", "laplacian-enrgy")
    assert "90 x" not in refused(capsys, "focus", str(folder), "--roi", "90,0,40,40")
    assert "'1,2'" in refused(capsys, "focus", str(folder), "--roi", "1,2")
    assert "'left'" in refused(capsys, "focus", str(folder), "--at", "2", "--subject", "left")
    assert "one view" in refused(capsys, "focus", str(folder), "--method", "census-transform")
    assert "49" in refused(capsys, "focus", str(folder), "--positions", "learnaf")
    assert "has no flag '--unit'" in refused(capsys, "focus", str(folder), "--unit", "um")
    assert "--full goes with --json" in refused(capsys, "focus", str(folder), "--full")
    assert "patches" in refused(capsys, "demo", "--patches", "0", "--out", str(tmp_path))


def test_a_plot_that_cannot_be_drawn_is_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    assert "missing" in refused(capsys, "focus", str(folder), "--plot", str(tmp_path / "missing" / "a.png"))
    assert "not .xyz" in refused(capsys, "focus", str(folder), "--plot", str(tmp_path / "a.xyz"))
    assert "'nowhere.txt'" in refused(capsys, "focus", str(folder), "--prior", "nowhere.txt")


def test_one_unreadable_picture_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "IMG_02.50.png").write_bytes(b"not a picture")
    assert "IMG_02.50.png" in refused(capsys, "focus", str(folder))


def test_mixed_sizes_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cv2.imwrite(str(folder / "IMG_02.50.png"), np.zeros((10, 20), np.uint8))
    assert "IMG_02.50.png" in refused(capsys, "focus", str(folder))


def test_methods_lists_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["key"] for row in rows] == list(METHODS)
    assert main(["methods"]) == 0
    said = capsys.readouterr().out
    assert all(key in said for key in (*METHODS, "tenengrad"))
    assert max(len(line) for line in said.splitlines()) <= 80


def test_demo_writes_its_tables_and_its_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(["demo", "--out", str(tmp_path / "demo"), "--patches", "2"]) == 0
    said = capsys.readouterr().out
    assert "blank wall: failed" in said
    assert "textured plane: focused at slice 25" in said
    assert said.endswith(f"{tmp_path / 'demo' / 'index.html'}\n")
    table = (tmp_path / "demo" / "tables.md").read_text(encoding="utf-8")
    assert "2 simulated patches" in table
    tables = json.loads((tmp_path / "demo" / "tables.json").read_text(encoding="utf-8"))["tables"]
    rows = [row for table in tables for group in table["groups"] for row in group["rows"]]
    assert {row["method"] for row in rows} == {*METHODS, "oracle"}
    assert (tmp_path / "demo" / "figures" / "focus_curve.png").stat().st_size > 10_000
    assert [path for path in (tmp_path / "demo").iterdir() if path.name.startswith("working")] == []


@slow
def test_demo_without_matplotlib_leaves_out_the_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["demo", "--out", str(tmp_path), "--patches", "1"]) == 0
    assert "dioptre[figures]" in capsys.readouterr().out
    tables = [f"table-{number}.{kind}" for number in (1, 2) for kind in ("csv", "tex")]
    files = ["index.html", "manifest.json", *tables, "tables.json", "tables.md"]
    assert sorted(path.name for path in tmp_path.iterdir()) == files


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"dioptre {__version__}"


def test_parse_roi_takes_four_whole_numbers() -> None:
    assert parse_roi("1,2,30,40") == (1, 2, 30, 40)
    with pytest.raises(ValueError, match="whole pixels"):
        parse_roi("1,2,3.5,4")


def test_sparkline_has_a_block_for_each_slice() -> None:
    assert sparkline(np.array([0.0, -np.inf, 1.0, 0.5])) == "▁ █▄"
    assert sparkline(np.array([2.0, 2.0])) == "▁▁"
