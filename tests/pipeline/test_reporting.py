"""From folders of predictions to a report: which tables, which figures, and what is refused."""

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from dioptre.errors import FileError, InputError
from dioptre.pipeline.output_files import write_all
from dioptre.pipeline.predicting import predict_store
from dioptre.pipeline.registering import register
from dioptre.pipeline.reporting import PAGE, report
from dioptre.pipeline.settings import Prediction, Registration, Simulation
from dioptre.pipeline.simulate import simulate
from dioptre.store.manifest import MANIFEST, PARTIAL, read_json, write_json
from tests.marks import slow

METHODS = (
    "laplacian-variance,local-norm-dist-sq-4,census-transform,zncc-disparity,l2a-single-dp,l2a-single-green"
)
PATCHES = 6


def unwatched(_done: int, _total: int) -> None:
    pass


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder of predictions: centre, registered, left, pairs, and one more method on centre."""
    home = tmp_path_factory.mktemp("reporting")
    for name, how in {
        "centre": Simulation(PATCHES, 1, split="test"),
        "left": Simulation(2, 1, split="test", device="left"),
        "pairs": Simulation(4, 1, split="test", light="both"),
    }.items():
        simulate(home / name, how, None, unwatched)
    register(home / "centre", home / "registered", Registration(), None, unwatched)
    for out, store, methods in (
        ("p-centre", "centre", METHODS),
        ("p-more", "centre", "rank-transform"),
        ("p-again", "centre", "rank-transform,modified-dct"),
        ("p-left", "left", "zncc-disparity,zncc-disparity@left"),
        ("p-pairs", "pairs", "zncc-disparity,l2a-single-dp"),
        ("p-registered", "registered", "wavelet-sum-3"),
    ):
        predict_store(home / store, home / out, Prediction(methods, starts=2), None, unwatched)
    return home


def all_sets(home: Path) -> list[Path]:
    return [home / name for name in ("p-centre", "p-more", "p-left", "p-pairs", "p-registered")]


def test_every_table_says_on_which_data_it_is(home: Path, tmp_path: Path) -> None:
    tables = {table.number: table for table in report(all_sets(home), tmp_path / "out")}
    assert list(tables) == [1, 2, 3, 4, 5]
    assert "6 simulated patches" in tables[1].about
    assert "focal breathing undone, calibrated" in tables[3].about
    assert "left phone" in tables[4].about
    assert "in normal light and in the dark" in tables[5].about
    assert "rank-transform" in [line.method for line in tables[1].lines]
    entries = json.loads((tmp_path / "out" / "tables.json").read_text(encoding="utf-8"))
    assert set(entries["data"]) == {"centre", "left", "light-and-dark", "registered-calibrated"}
    page = (tmp_path / "out" / PAGE).read_text(encoding="utf-8")
    assert all(f"Table {number}:" in page for number in tables)
    for number in tables:
        assert (tmp_path / "out" / f"table-{number}.csv").stat().st_size > 100
        assert (tmp_path / "out" / f"table-{number}.tex").stat().st_size > 100


@slow
def test_figures_are_drawn_and_a_report_is_the_same_whatever_its_folder_is_called(
    home: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    for name in ("one", "two"):
        report([home / "p-centre"], tmp_path / name)
    files = sorted(path for path in (tmp_path / "one").rglob("*") if path.is_file())
    names = {path.stem for path in files if path.suffix == ".svg"}
    wanted = {
        "figure-01-three-problems",
        "figure-06-example-stacks",
        "figure-11-examples",
        "figure-15-examples",
    }
    assert wanted | {"error-by-start", "error-by-blur", "frames", "reliability", "risk-coverage"} <= names
    assert {path.stem for path in files if path.suffix == ".png"} == names
    for path in files:
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes(), path


def test_two_sets_of_one_kind_are_refused_and_nothing_is_written(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    other = tmp_path / "other"
    shutil.copytree(home / "p-more", other)
    manifest = read_json(other / MANIFEST)
    manifest["origin"]["data"] = "another"
    write_json(other / MANIFEST, manifest)
    with pytest.raises(InputError, match="both of the data “centre”"):
        report([home / "p-centre", other], out)
    with pytest.raises(InputError, match="both hold the predictions of rank-transform"):
        report([home / "p-more", home / "p-again"], out)
    manifest["origin"] |= {"data": "another", "device": "left", "ladder": "another"}
    write_json(other / MANIFEST, manifest)
    with pytest.raises(InputError, match="different grids"):
        report([home / "p-centre", other], out)
    with pytest.raises(FileError, match="holds patches, not predictions"):
        report([home / "centre"], out)
    assert not out.exists()


def test_damaged_predictions_are_refused(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(home / "p-more", folder)
    for name in ("examples.npz", "predictions.parquet"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(b"nothing")
        with pytest.raises(FileError, match=name):
            report([folder], tmp_path / "out")
        (folder / name).write_bytes(whole)
    assert not (tmp_path / "out").exists()


def test_predictions_of_an_earlier_dioptre_are_read(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "earlier"
    shutil.copytree(home / "p-left", folder)
    (folder / "examples.npz").unlink()
    manifest = read_json(folder / MANIFEST)
    del manifest["origin"]
    write_json(folder / MANIFEST, manifest)
    tables = report([folder], tmp_path / "out")
    assert [table.number for table in tables] == [1, 2, 4]
    assert "left phone" in tables[0].about


@slow
def test_a_file_that_a_report_did_not_write_is_kept(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "tables.md").write_text("mine")
    with pytest.raises(FileError, match=r"tables\.md was not written by dioptre"):
        report([home / "p-more"], out)
    assert [path.name for path in out.iterdir()] == ["tables.md"]
    assert (out / "tables.md").read_text() == "mine"
    report([home / "p-more"], out, overwrite=True)
    report([home / "p-more"], out)  # its own files it may write again
    (out / PAGE).write_text("changed")
    with pytest.raises(FileError, match=r"index\.html was not written by dioptre, or was changed"):
        report([home / "p-more"], out)
    assert (out / PAGE).read_text() == "changed"
    with pytest.raises(FileError, match="holds patches, not a report"):
        report([home / "p-more"], home / "centre")


def test_what_is_no_longer_written_goes_and_what_is_not_ours_stays(tmp_path: Path) -> None:
    write_all(tmp_path, "report", {"a": b"1", "b/c": b"2"}, {}, overwrite=False)
    (tmp_path / "mine").write_text("3")
    (tmp_path / "b" / f"c.0123{PARTIAL}").write_text("half")
    (tmp_path / f"other.0123{PARTIAL}").write_text("another job's")
    write_all(tmp_path, "report", {"a": b"4"}, {}, overwrite=False)
    assert (tmp_path / "a").read_bytes() == b"4"
    assert not (tmp_path / "b" / "c").exists()
    assert (tmp_path / "mine").exists()
    assert [path.name for path in tmp_path.rglob(f"*{PARTIAL}")] == [f"other.0123{PARTIAL}"]


def test_writing_that_was_stopped_half_way_goes_on(tmp_path: Path) -> None:
    write_all(tmp_path, "report", {"a": b"1", "b": b"1"}, {}, overwrite=False)
    (tmp_path / "b").unlink()
    (tmp_path / "b").mkdir()  # cannot be written
    with pytest.raises(FileError, match="b was not written by dioptre"):
        write_all(tmp_path, "report", {"a": b"2", "b": b"2"}, {}, overwrite=False)
    with pytest.raises(OSError, match=str(tmp_path)):
        write_all(tmp_path, "report", {"a": b"2", "b": b"2"}, {}, overwrite=True)
    assert (tmp_path / "a").read_bytes() == b"2"
    (tmp_path / "b").rmdir()
    write_all(tmp_path, "report", {"a": b"3", "b": b"3"}, {}, overwrite=False)
    assert (tmp_path / "a").read_bytes() == b"3"
