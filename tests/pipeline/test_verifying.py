import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dioptre.cli import main
from dioptre.cli.console import BAD_INPUT, CHANGED, DONE
from dioptre.errors import FileError
from dioptre.evaluate.predict import SCHEMA
from dioptre.grid import FocusGrid
from dioptre.methods.calibration import SHIPPED
from dioptre.methods.learned import WEIGHTS
from dioptre.pipeline.mapping import KIND as MAP
from dioptre.pipeline.output_files import write_all
from dioptre.pipeline.predictions import check_predictions, iterate_predictions
from dioptre.pipeline.verifying import Verified, verify
from dioptre.store.captures import CaptureWriter
from dioptre.store.manifest import hash_file, hash_folder, write_json
from dioptre.store.patches import StoreFormat, StoreWriter

FORM = StoreFormat(FocusGrid.uniform(10.0, 0.1, 5), size=16, views=2, black=0.0, white=4095.0)
ROW = {"scene": "a", "capture": "c", "split": "test", "row": 0, "col": 0, "truth": 0}
ROW |= {"where_x": 0.0, "where_y": 0.0}


def codes(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 4096, shape, dtype=np.uint16)


def write_patches(path: Path) -> Path:
    writer = StoreWriter(path, FORM, {}, total=3, shard_size=2)
    for number in writer.missing_shards():
        count = len(writer.patches(number))
        writer.write_shard(number, codes(count, *FORM.patch_shape), [ROW] * count)
    writer.finish()
    return path


def write_captures(path: Path) -> Path:
    writer = CaptureWriter(path, FORM, (32, 48), {})
    writer.begin()
    for name in ("a", "b"):
        for index, view in writer.missing_frames(name):
            writer.write_frame(name, index, view, codes(16, 48))
        writer.complete(name, [ROW])
    writer.finish()
    return path


def write_predictions(path: Path) -> Path:
    text = {"problem": "D1", "state": "focused"}
    values = {
        field.name: [text.get(field.name, "x") if pa.types.is_string(field.type) else 1] * 2
        for field in SCHEMA
    }
    values["in_crop"] = [True, False]
    path.mkdir()
    pq.write_table(pa.table(values).cast(SCHEMA), path / "predictions.parquet")
    entries = {"kind": "predictions", "data": "0" * 64, "simulated": True, "methods": {}, "split": "test"}
    sha256 = hash_file(path / "predictions.parquet")
    (path / "examples.npz").write_bytes(b"the examples")
    entries |= {"starts": [0], "patches": 2, "rows": 2, "sha256": sha256}
    entries["examples_sha256"] = hash_file(path / "examples.npz")
    write_json(path / "manifest.json", entries)
    return path


def look(path: Path) -> Verified:
    return verify(path, lambda _done, _total: None)


def change(path: Path, at: int = -9) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 255
    path.write_bytes(content)


@pytest.mark.parametrize("write", [write_patches, write_captures, write_predictions])
def test_what_was_written_is_whole(write, tmp_path: Path) -> None:
    found = look(write(tmp_path / "out"))
    assert not found.faults
    assert not found.notes
    assert found.parts > 1


@pytest.mark.parametrize(
    ("write", "file"),
    [
        (write_patches, "shards/00001.npy"),
        (write_patches, "shards/00000.sums"),
        (write_patches, "patches.parquet"),
        (write_captures, "captures/b.codes"),
        (write_captures, "captures/a.json"),
        (write_captures, "captures/a.sums"),
        (write_predictions, "predictions.parquet"),
        (write_predictions, "examples.npz"),
    ],
)
def test_a_changed_byte_is_found_and_named(write, file: str, tmp_path: Path) -> None:
    path = write(tmp_path / "out")
    change(path / file)
    found = look(path)
    assert found.faults
    assert any(file in fault for fault in found.faults)


def test_a_missing_file_is_a_fault_and_the_others_are_checked(tmp_path: Path) -> None:
    path = write_captures(tmp_path / "out")
    (path / "captures" / "a.codes").unlink()
    change(path / "captures" / "b.codes")
    assert len(look(path).faults) == 2


def test_a_store_without_checksums_says_so(tmp_path: Path) -> None:
    path = write_patches(tmp_path / "out")
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["checksums"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    for file in path.glob("shards/*.sums"):
        file.unlink()
    found = look(path)
    assert not found.faults
    assert "no checksums" in found.notes[0]


def test_shipped_networks_and_calibrations_are_whole(tmp_path: Path) -> None:
    assert look(SHIPPED) == Verified("networks and calibrations", 2, ())
    network = tmp_path / "n.onnx"
    network.write_bytes((WEIGHTS / "l2a-single-green.onnx").read_bytes())
    assert not look(network).faults
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(network.read_bytes()[:5000])
    assert "cut.onnx" in look(cut).faults[0]


def test_the_command_says_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_patches(tmp_path / "out")
    assert main(["verify", str(path)]) == DONE
    assert "all as written" in capsys.readouterr().out
    change(path / "shards" / "00000.npy")
    assert main(["verify", str(path), "--json"]) == CHANGED
    said = capsys.readouterr()
    assert json.loads(said.out)["whole"] is False
    assert "00000.npy has changed since it was written" in said.err
    for nothing in (tmp_path / "nowhere", tmp_path, Path(__file__)):
        assert main(["verify", str(nothing)]) == BAD_INPUT


@pytest.mark.parametrize("column", ["method", "truth", "confidence", "problem"])
def test_predictions_without_a_column_are_refused(tmp_path: Path, column: str) -> None:
    path = write_predictions(tmp_path / "out")
    table = pq.read_table(path / "predictions.parquet")
    pq.write_table(table.drop_columns([column]), path / "predictions.parquet")
    with pytest.raises(FileError, match=rf"predictions\.parquet has no column {column}; it has "):
        check_predictions(path)


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("problem", "X9", "unknown problem 'X9'"),
        ("truth", -3, "truth is 0 or more, not -3"),
        ("risk", float("inf"), "risk is a finite number, not inf"),
        ("sharp_distance", -1.5, "sharp_distance is 0 or more, not -1.5"),
        ("sharp_distance", float("inf"), "sharp_distance is a finite number, not inf"),
        ("truth", "far", "holds string, not int16"),
        ("method", None, "the column method"),
    ],
)
def test_predictions_that_cannot_be_are_refused(
    tmp_path: Path, column: str, value: object, told: str
) -> None:
    path = write_predictions(tmp_path / "out")
    table = pq.read_table(path / "predictions.parquet")
    at = table.column_names.index(column)
    pq.write_table(table.set_column(at, column, pa.array([value] * 2)), path / "predictions.parquet")
    with pytest.raises(FileError, match=told):
        check_predictions(path)


def test_older_predictions_are_as_far_off_as_from_their_label(tmp_path: Path) -> None:
    path = write_predictions(tmp_path / "out")
    table = pq.read_table(path / "predictions.parquet").drop_columns(["sharp_distance"])
    at = table.column_names.index("predicted")
    older = table.set_column(at, "predicted", pa.array([1, 4], pa.int16()))
    pq.write_table(older, path / "predictions.parquet")
    check_predictions(path)
    (found,) = iterate_predictions(path, ["method", "sharp_distance"])
    assert found.column_names == ["method", "sharp_distance"]
    assert found["sharp_distance"].to_pylist() == [0.0, 3.0]


@pytest.mark.parametrize("entry", ["data", "starts", "methods", "patches"])
def test_predictions_whose_manifest_lacks_an_entry_are_refused(tmp_path: Path, entry: str) -> None:
    path = write_predictions(tmp_path / "out")
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest[entry]
    (path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(FileError, match=f"has no entry '{entry}'"):
        check_predictions(path)


def test_text_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    path = write_predictions(tmp_path / "out")
    table = pq.read_table(path / "predictions.parquet")
    at = table.column_names.index("problem")
    pq.write_table(table.set_column(at, "problem", _odd_text()), path / "predictions.parquet")
    with pytest.raises(FileError, match=r"cannot be read|no UTF-8"):
        check_predictions(path)


def _odd_text() -> pa.Array:
    """Returns two texts that are no UTF-8, as a damaged file may hold them."""
    good = pa.array(["ab", "cd"])
    return pa.Array.from_buffers(pa.string(), 2, [None, good.buffers()[1], pa.py_buffer(b"\xff\xfe\xff\xfe")])


def test_a_map_is_verified_by_its_list_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_all(tmp_path, MAP, {"index.npy": b"1", "map.png": b"2"}, {}, overwrite=False)
    assert main(["verify", str(tmp_path)]) == DONE
    assert "a focus map, 2 parts: all as written" in capsys.readouterr().out
    (tmp_path / "map.png").write_bytes(b"3")
    assert main(["verify", str(tmp_path)]) == CHANGED


def test_names_of_files_are_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_all(tmp_path, MAP, {"index.npy": b"1"}, {}, overwrite=False)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["files"]["a\x1b[31m\nb.npy"] = manifest["files"].pop("index.npy")
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert main(["verify", str(tmp_path)]) in (BAD_INPUT, CHANGED)
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert said.count("\n") == 1


def test_captures_and_reconstructions_are_verified_file_by_file(tmp_path: Path) -> None:
    for kind in ("simulated captures", "reconstruction"):
        folder = tmp_path / kind
        (folder / "train1").mkdir(parents=True)
        (folder / "train1" / "one.png").write_bytes(b"one")
        manifest = {"kind": kind, "files": hash_folder(folder, ("train1", "nothing.json"))}
        (folder / "manifest.json").write_text(json.dumps(manifest))
        found = verify(folder, lambda _done, _total: None)
        assert (found.kind, found.parts, found.faults) == (kind, 1, ())
        (folder / "train1" / "one.png").write_bytes(b"two")
        assert "one.png has changed" in verify(folder, lambda _done, _total: None).faults[0]
        (folder / "manifest.json").write_text(json.dumps({"kind": kind}))
        assert "no hashes" in verify(folder, lambda _done, _total: None).notes[0]
