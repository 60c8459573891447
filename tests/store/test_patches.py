"""The patch store: the tests write small stores, damage some, and read them with plain loops beside."""

import json
import multiprocessing
import pickle
import weakref
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np
import pyarrow.parquet as pq

from dioptre import __version__
from dioptre.errors import FileError, InputError
from dioptre.grid import FocusGrid
from dioptre.stack import VIEW_CODES, codes_to_pixels
from dioptre.store import patch_shards as patches_module
from dioptre.store.patches import LARGEST_CODE, PatchStore, StoreFormat, StoreWriter, open_patches

SLICES, SIZE, TOTAL, SHARD = 5, 8, 7, 3
FORMAT = StoreFormat(grid=FocusGrid.uniform(n=SLICES), size=SIZE, views=2, black=1024.0, white=16368.0)
PLAIN = replace(FORMAT, rows_per_native=1, views=1)
CONFIG = {"seed": 3, "camera": {"name": "pixel3", "frame": [1512, 2016]}}


def codes_of(patches: Iterable[int], form: StoreFormat = FORMAT) -> np.ndarray:
    """Returns codes that depend only on the patch, some of them below black and above white."""
    shape = form.patch_shape
    return np.stack([np.random.default_rng(at).integers(0, 20000, shape, dtype=np.uint16) for at in patches])


def row_of(patch: int, **further: object) -> dict[str, object]:
    return {
        "scene": f"scene {patch // 2}",
        "capture": "center",
        "split": ("train", "validation", "test")[patch % 3],
        "row": 10 * patch,
        "col": 20 * patch,
        "truth": patch % SLICES,
        "where_x": patch / 10,
        "where_y": -patch / 10,
        **further,
    }


def writer_of(path: Path, form: StoreFormat = FORMAT) -> StoreWriter:
    return StoreWriter(path, form, CONFIG, total=TOTAL, shard_size=SHARD)


def shard_of(writer: StoreWriter, number: int) -> tuple[int, np.ndarray, list[dict[str, object]]]:
    patches = writer.patches(number)
    return number, codes_of(patches, writer.format), [row_of(patch) for patch in patches]


def write(path: Path, form: StoreFormat = FORMAT) -> PatchStore:
    writer = writer_of(path, form)
    for number in writer.missing_shards():
        writer.write_shard(*shard_of(writer, number))
    writer.finish()
    return open_patches(path)


def bytes_of(path: Path) -> dict[str, bytes]:
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files}


def upsample(native: np.ndarray) -> np.ndarray:
    """Returns codes with twice the rows, by the definition."""
    *lead, rows, cols = native.shape
    p = native.astype(np.float64)
    out = np.empty((*lead, 2 * (rows - 2), cols))
    for k in range(rows - 2):
        above, here, below = p[..., k, :], p[..., k + 1, :], p[..., k + 2, :]
        out[..., 2 * k, :] = 0.25 * above + 0.75 * here
        out[..., 2 * k + 1, :] = 0.75 * here + 0.25 * below
    return out


def refusal(call, *args: object) -> str:
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as caught:  # one line
        call(*args)
    return str(caught.value)


@pytest.fixture
def store(tmp_path) -> PatchStore:
    return write(tmp_path / "store")


# Reading


def test_pixels_are_the_upsampled_codes_exactly(store):
    stack = store.stack(range(TOTAL))
    expected = codes_to_pixels(upsample(codes_of(range(TOTAL))), 1024.0, 16368.0)
    assert np.array_equal(stack.pixels, expected)
    assert stack.pixels.min() == 0.0
    assert stack.pixels.max() == 1.0


def test_codes_are_clipped_after_upsampling(tmp_path):
    form = StoreFormat(FocusGrid(range(1)), size=2, views=1, black=100.0, white=200.0)
    writer = StoreWriter(tmp_path, form, {}, total=1)
    codes = np.array([[20, 20], [120, 180], [240, 240]], dtype=np.uint16)
    writer.write_shard(0, codes[None, None, None], [row_of(0)])
    writer.finish()
    pixels = open_patches(tmp_path).stack([0]).pixels[0, 0, 0]
    assert pixels.tolist() == pytest.approx(np.array([[0.0, 0.4], [0.5, 0.95]]))


def test_patches_that_need_no_upsampling(tmp_path):
    store = write(tmp_path, PLAIN)
    expected = codes_to_pixels(codes_of(range(TOTAL), PLAIN), 1024.0, 16368.0)
    assert np.array_equal(store.stack(range(TOTAL)).pixels, expected)


def test_a_full_stack_has_all_positions(store):
    stack = store.stack([4, 0])
    assert stack.grid == FORMAT.grid
    assert stack.view_codes == VIEW_CODES
    assert stack.indices.tolist() == [list(range(SLICES))] * 2


def test_some_slices_are_those_of_the_full_stack(store):
    rows = np.array([6, 0, 3, 3, 5])
    some, full = store.stack(rows, [3, 0]), store.stack(rows).at([3, 0])
    assert np.array_equal(some.pixels, full.pixels)
    assert np.array_equal(some.indices, full.indices)


def test_each_patch_can_have_its_own_slices(store):
    rows, indices = [2, 6, 0], np.array([[4, 1], [0, 0], [2, 3]])
    some, full = store.stack(rows, indices), store.stack(rows).at(indices)
    assert np.array_equal(some.pixels, full.pixels)
    assert np.array_equal(some.indices, indices)


def test_where_is_that_of_the_rows(store):
    assert store.stack([5, 1], [0]).where == pytest.approx(np.array([[0.5, -0.5], [0.1, -0.1]]))


@pytest.mark.parametrize("form", [FORMAT, PLAIN])
def test_a_window_is_a_part_of_each_patch(tmp_path, form):
    store = write(tmp_path / "windows", form)
    corners = np.array([[0, 0], [2, 3], [4, 4]])
    whole, parts = store.stack([5, 0, 2], [4, 1]), store.stack([5, 0, 2], [4, 1], corners, 4)
    for at, (row, col) in enumerate(corners):
        np.testing.assert_array_equal(parts.pixels[at], whole.pixels[at, ..., row : row + 4, col : col + 4])
    with pytest.raises(ValueError, match="does not lie in a patch of 8"):
        store.stack([0], [0], np.array([[0, 5]]), 4)


def test_a_window_begins_with_a_native_row(store):
    with pytest.raises(ValueError, match="with a native row"):
        store.stack([0], [0], np.array([[1, 0]]), 4)


def test_only_the_wanted_slices_are_prefetched(store, monkeypatch):
    asked = []
    monkeypatch.setattr(patches_module._Shard, "prefetch", lambda _, *slices: asked.append(slices))
    store.stack([1, 5], np.array([[2], [4]]))
    assert asked == [(SLICES + 2, 1), (2 * SLICES + 4, 1)]
    asked.clear()
    store.stack([1])
    assert asked == [(SLICES, SLICES)]


def test_few_open_files_are_enough(store, monkeypatch):
    expected = store.stack(range(TOTAL)).pixels
    monkeypatch.setattr(patches_module, "OPEN_SHARDS", 1)
    again = open_patches(store.path)
    assert np.array_equal(again.stack(range(TOTAL)).pixels, expected)
    assert again._reader._shard.cache_info().currsize == 1


def test_files_close_with_the_store(store):
    shard = weakref.ref(store._reader._shard(0))
    again = open_patches(store.path)
    other = weakref.ref(again._reader._shard(0))
    del again
    assert other() is None
    assert shard() is not None


def test_threads_share_a_store(store):
    with ThreadPoolExecutor(4) as pool:
        read = list(pool.map(lambda row: store.stack([row], [1]).pixels[0], range(TOTAL)))
    assert np.array_equal(read, store.stack(range(TOTAL), [1]).pixels)


def test_a_pickled_store_is_opened_again(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    relative = open_patches("store")
    relative.stack([0])
    pickled = pickle.dumps(relative)
    assert len(pickled) < 1000
    monkeypatch.chdir("/")
    assert np.array_equal(pickle.loads(pickled).stack([6]).pixels, store.stack([6]).pixels)


@pytest.mark.parametrize(
    ("rows", "indices", "told"),
    [
        ([0, TOTAL], None, "patches 0..6, not 7"),
        ([-1], None, "patches 0..6, not -1"),
        ([0], [SLICES], "positions 0..4, not 5"),
        ([0], [-1], "positions 0..4, not -1"),
        ([], None, r"not \[\]"),
        ([0], [], r"not \[\]"),
        ([0, 1], np.zeros((3, 1), dtype=int), r"each of 2 patches, not \(3, 1\)"),
    ],
)
def test_what_the_store_does_not_have_is_named(store, rows, indices, told):
    with pytest.raises(ValueError, match=told):
        store.stack(rows, indices)


# Views


def test_a_selection_is_some_of_the_patches(store):
    chosen = store.select([6, 0, 3])
    assert len(chosen) == 3
    assert chosen.table.to_pylist() == [row_of(patch) for patch in (6, 0, 3)]
    stack, expected = chosen.stack([0, 2], [1]), store.stack([6, 3], [1])
    assert np.array_equal(stack.pixels, expected.pixels)
    assert np.array_equal(stack.where, expected.where)
    again = chosen.select(np.array([2, 1]))
    assert np.array_equal(again.stack([0, 1]).pixels, store.stack([3, 0]).pixels)
    assert "patches 0..2, not 3" in refusal(chosen.stack, [3])
    assert "patches 0..6, not 7" in refusal(store.select, [7])


def test_codes_are_what_was_written_whatever_black_and_white_are(tmp_path):
    form = replace(PLAIN, black=63.7, white=9000.0)
    store = write(tmp_path, form)
    found = store.as_codes().stack(range(TOTAL)).pixels * np.float32(LARGEST_CODE)
    assert np.array_equal(np.rint(found), codes_of(range(TOTAL), form))
    assert store.format == form


def test_a_view_goes_to_another_process(store):
    view = store.as_codes().select([5, 2])
    again = pickle.loads(pickle.dumps(view))
    assert again.format == view.format
    assert again.table == view.table
    assert np.array_equal(again.stack([0, 1]).pixels, view.stack([0, 1]).pixels)


def test_a_view_verifies_the_store_it_is_of(store):
    view = store.select([0]).as_codes()
    view.verify()
    file = store.path / "shards" / "00002.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert "00002.npy has changed" in refusal(view.verify)


def test_single_patches_have_no_other_windows(store):
    assert store.frame is None
    assert "keeps each patch by itself" in refusal(store.with_windows, np.zeros((TOTAL, 2), int), 4)


# Rows


def test_rows_are_in_the_order_of_the_patches(store):
    assert len(store) == store.table.num_rows == TOTAL
    assert store.table.to_pylist() == [row_of(patch) for patch in range(TOTAL)]
    assert store.column("truth").tolist() == [patch % SLICES for patch in range(TOTAL)]
    assert np.flatnonzero(store.column("split") == "train").tolist() == [0, 3, 6]
    assert "no column depth" in refusal(store.column, "depth")


def test_further_columns_are_kept(tmp_path):
    further = [
        {"gain": 2, "dark": False, "device": "left", "lag": np.int32(4)},
        {"gain": 1.5, "dark": True, "device": "Ω", "lag": np.int64(-2)},
        {"gain": np.float32(0.25), "dark": np.True_, "device": "", "lag": 0},
    ]
    writer = StoreWriter(tmp_path, PLAIN, {}, total=3, shard_size=1)
    for at, columns in enumerate(further):  # in the first shard gain is whole
        writer.write_shard(at, codes_of([at], PLAIN), [row_of(at, **columns)])
    writer.finish()
    store = open_patches(tmp_path)
    assert store.table.column_names == [*row_of(0), "gain", "dark", "device", "lag"]
    assert store.column("gain").tolist() == [2.0, 1.5, 0.25]
    assert store.column("gain").dtype == np.float64
    assert store.column("dark").tolist() == [False, True, True]
    assert store.column("device").tolist() == ["left", "Ω", ""]
    assert store.column("lag").dtype == np.int64


def test_lists_of_numbers_are_kept_empty_ones_too(tmp_path):
    lists = [[], [-1.7, np.float64(4.25)], [3]]
    writer = StoreWriter(tmp_path, PLAIN, {}, total=3, shard_size=1)
    for at, sharp_at in enumerate(lists):
        writer.write_shard(at, codes_of([at], PLAIN), [row_of(at, sharp_at=sharp_at)])
    writer.finish()
    store = open_patches(tmp_path)
    assert store.table["sharp_at"].to_pylist() == [[], [-1.7, 4.25], [3.0]]
    assert [one.tolist() for one in store.column("sharp_at")] == [[], [-1.7, 4.25], [3.0]]
    store.verify()
    assert store.select([2, 1]).table["sharp_at"].to_pylist() == [[3.0], [-1.7, 4.25]]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"split": "dev"}, "split of a patch is one of train, validation, test, not 'dev'"),
        ({"truth": SLICES}, "truth of a patch is in 0..4, not 5"),
        ({"truth": 1.5}, "truth holds int, not double"),
        ({"where_x": 1.01}, r"where_x of a patch is in \[-1, 1\], not 1.01"),
        ({"where_y": float("nan")}, r"where_y of a patch is in \[-1, 1\], not nan"),
        ({"scene": 7}, "scene holds str, not int64"),
        ({"depth": None}, "column depth holds .* not NoneType"),
        ({"sharp_at": ["near"]}, r"column sharp_at holds lists of numbers, not \['near'\]"),
        ({"extra": 1.0}, "extra is not in all of them"),
    ],
)
def test_a_row_that_does_not_belong_is_refused(tmp_path, columns, told):
    writer = writer_of(tmp_path)
    number, codes, rows = shard_of(writer, 0)
    rows = [row | columns if "extra" not in columns or at else row for at, row in enumerate(rows)]
    with pytest.raises(ValueError, match=told):
        writer.write_shard(number, codes, rows)
    assert writer.missing_shards() == [0, 1, 2]


def test_a_required_column_cannot_be_left_out(tmp_path):
    writer = writer_of(tmp_path)
    number, codes, rows = shard_of(writer, 0)
    for row in rows:
        del row["capture"]
    assert "capture is not in all" in refusal(writer.write_shard, number, codes, rows)


def test_shards_with_different_columns_do_not_make_a_store(tmp_path):
    writer = StoreWriter(tmp_path, PLAIN, {}, total=2, shard_size=1)
    writer.write_shard(0, codes_of([0], PLAIN), [row_of(0)])
    writer.write_shard(1, codes_of([1], PLAIN), [row_of(1, gain=1.0)])
    assert "shards 0 and 1 have different columns: gain" in refusal(writer.finish)
    writer.write_shard(0, codes_of([0], PLAIN), [row_of(0, gain="much")])
    assert "do not fit together" in refusal(writer.finish)
    assert "not finished" in refusal(open_patches, tmp_path)


# Writing and resuming


def test_codes_of_another_shape_are_refused(tmp_path):
    writer = writer_of(tmp_path)
    number, codes, rows = shard_of(writer, 0)
    assert "uint16 codes of shape (3, 5, 2, 6, 8)" in refusal(writer.write_shard, number, codes[:2], rows)
    assert "3 patches, but 2 rows" in refusal(writer.write_shard, number, codes, rows[:2])
    assert "shards 0..2, not 3" in refusal(writer.write_shard, 3, codes, rows)


def test_a_stopped_run_is_resumed(tmp_path):
    whole = write(tmp_path / "whole")
    path = tmp_path / "stopped"
    writer = writer_of(path)
    assert writer.missing_shards() == [0, 1, 2]
    writer.write_shard(*shard_of(writer, 1))
    assert writer_of(path).missing_shards() == [0, 2]
    (path / "shards" / "00000.npy").write_bytes(b"codes whose rows were never written")
    (path / "shards" / "00002.npy.0123.dioptre-partial").write_bytes(b"half")
    (path / "writing.json.0123.dioptre-partial").write_bytes(b"{")
    assert writer_of(path).missing_shards() == [0, 2]
    assert "2 of 3 shards are missing, the first is 0" in refusal(writer_of(path).finish)
    assert "not finished" in refusal(open_patches, path)
    assert bytes_of(write(path).path) == bytes_of(whole.path)


def test_a_shard_cut_short_is_missing(tmp_path):
    writer = writer_of(tmp_path)
    writer.write_shard(*shard_of(writer, 0))
    with (tmp_path / "shards" / "00000.npy").open("r+b") as file:
        file.truncate(1000)
    assert writer.missing_shards() == [0, 1, 2]


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_a_killed_write_leaves_nothing_that_looks_complete(tmp_path, monkeypatch, suffix):
    class Killed(BaseException):
        pass

    def rename(self: Path, target: Path) -> Path:
        if target.suffix == suffix:
            raise Killed
        return original(self, target)

    original = Path.replace
    writer = writer_of(tmp_path)
    writer.write_shard(*shard_of(writer, 0))  # is about to be written again
    monkeypatch.setattr(Path, "replace", rename)
    with pytest.raises(Killed):
        writer.write_shard(*shard_of(writer, 0))
    monkeypatch.undo()
    assert writer.missing_shards() == [0, 1, 2]
    assert not list(tmp_path.rglob("*.dioptre-partial"))


def test_a_run_killed_while_it_finishes_is_resumed(tmp_path, monkeypatch):
    path = tmp_path / "store"
    expected = bytes_of(write(tmp_path / "whole").path)

    def rename(self: Path, target: Path) -> Path:
        if target.name == "manifest.json":
            raise KeyboardInterrupt
        return original(self, target)

    original = Path.replace
    monkeypatch.setattr(Path, "replace", rename)
    with pytest.raises(KeyboardInterrupt):
        write(path)
    monkeypatch.undo()
    assert "not finished" in refusal(open_patches, path)
    assert writer_of(path).missing_shards() == []
    writer_of(path).finish()
    assert bytes_of(path) == expected


def test_the_bytes_do_not_depend_on_who_writes_when(tmp_path):
    expected = bytes_of(write(tmp_path / "in order").path)
    writer = writer_of(tmp_path / "shuffled")
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        jobs = [pool.submit(writer.write_shard, *shard_of(writer, number)) for number in (2, 0, 1)]
        for job in jobs:
            job.result()
    writer.finish()
    assert bytes_of(tmp_path / "shuffled") == expected
    assert sorted(expected) == [
        "manifest.json",
        "patches.parquet",
        *(f"shards/{number:05}.{kind}" for number in range(3) for kind in ("npy", "parquet", "sums")),
    ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"config": {**CONFIG, "seed": 4}}, "begun with config seed 3, not 4"),
        ({"config": {**CONFIG, "camera": {"name": "own"}}}, "config camera frame [1512, 2016], not None"),
        ({"config": {**CONFIG, "extra": True}}, "config extra None, not True"),
        ({"format": replace(FORMAT, white=4095.0)}, "format white 16368.0, not 4095.0"),
        ({"format": replace(FORMAT, grid=FocusGrid(range(SLICES)))}, "format dioptres 0 0.25"),
        ({"total": 8}, "count 7, not 8"),
        ({"shard_size": 4}, "shard_size 3, not 4"),
    ],
)
def test_a_store_is_not_resumed_with_something_else(tmp_path, change, told):
    writer_of(tmp_path).missing_shards()
    other = replace(writer_of(tmp_path), **change)
    assert told in refusal(other.missing_shards)
    assert told in refusal(other.finish)
    assert writer_of(tmp_path).missing_shards() == [0, 1, 2]


def test_a_finished_store_is_not_written_again(store):
    writer = writer_of(store.path)
    before = bytes_of(store.path)
    for call, args in ((writer.missing_shards, ()), (writer.write_shard, shard_of(writer, 0))):
        assert "is finished already" in refusal(call, *args)
    assert "is finished already" in refusal(writer.finish)
    assert bytes_of(store.path) == before


def test_other_peoples_folders_are_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    assert "it has thesis.tex" in refusal(writer_of(tmp_path).missing_shards)
    assert "is a file" in refusal(writer_of(tmp_path / "thesis.tex").missing_shards)
    assert bytes_of(tmp_path) == {"thesis.tex": b"years of work"}


def test_a_config_is_plain_json(tmp_path):
    assert "plain JSON" in refusal(StoreWriter, tmp_path, FORMAT, {"path": tmp_path}, 1)
    assert "plain JSON" in refusal(StoreWriter, tmp_path, FORMAT, {"gain": float("nan")}, 1)
    with_tuple = StoreWriter(tmp_path, FORMAT, {"frame": (3, 4)}, 1)
    with_tuple.missing_shards()
    assert with_tuple.missing_shards() == [0]  # the tuple is a list on disk


# The manifest


@pytest.mark.parametrize("form", [FORMAT, PLAIN, replace(FORMAT, grid=FocusGrid(range(3)))])
def test_the_format_survives_json(form):
    assert StoreFormat.from_json(json.loads(json.dumps(form.to_json(), allow_nan=False))) == form


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"size": 7}, "divisible by 2, not 7"),
        ({"views": 3}, "one view or two, not 3"),
        ({"black": 5.0, "white": 5.0}, "black 5 and white 5"),
        ({"white": float("inf")}, "white inf"),
        ({"rows_per_native": 4}, "1 or 2 rows for each native row, not 4"),
    ],
)
def test_an_impossible_format_is_refused(change, told):
    with pytest.raises(ValueError, match=told):
        replace(FORMAT, **change)


def test_the_manifest_says_what_the_store_is(store):
    manifest = json.loads((store.path / "manifest.json").read_text(encoding="utf-8"))
    assert manifest == store.manifest
    assert manifest["config"] == CONFIG
    assert manifest["count"] == TOTAL
    assert manifest["dioptre"] == __version__
    assert len(manifest["shards"]) == 3
    assert StoreFormat.from_json(manifest["format"]) == store.format == FORMAT


def test_the_hash_changes_with_the_content(tmp_path):
    def hashes(name: str, config: dict[str, object], code: int = 0, **columns: object) -> tuple[str, str]:
        writer = StoreWriter(tmp_path / name, PLAIN, config, total=1)
        codes = codes_of([0], PLAIN)
        codes[0, 1, 0, 2, 3] += code
        writer.write_shard(0, codes, [row_of(0) | columns])
        writer.finish()
        manifest = open_patches(tmp_path / name).manifest
        return manifest["shards"][0], manifest["sha256"]

    first = hashes("first", {"a": 1, "b": 2})
    assert hashes("same", {"b": 2, "a": 1}) == first
    others = [hashes("c", {}), hashes("t", {"a": 1, "b": 2}, truth=3), hashes("p", {"a": 1, "b": 2}, code=1)]
    assert [shard == first[0] for shard, _ in others] == [True, True, False]
    assert len({first[1], *(whole for _, whole in others)}) == 4


def test_verify_names_the_shard_that_changed(store):
    store.verify()
    file = store.path / "shards" / "00001.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert "00001.npy has changed" in refusal(open_patches(store.path).verify)


# Folders that cannot be opened


def test_a_folder_without_a_manifest_is_not_opened(tmp_path):
    assert "there is no folder" in refusal(open_patches, tmp_path / "none")
    assert "is not a patch store: it has no manifest.json" in refusal(open_patches, tmp_path)
    writer_of(tmp_path).missing_shards()
    assert "is not finished" in refusal(open_patches, str(tmp_path))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "predictions"}, "holds predictions, not patches"),
        ({"layout": 99}, "has layout 99, but this version of dioptre reads layout 1"),
        ({"format": {}}, "does not describe a patch store: KeyError('dioptres')"),
        ({"count": 8}, "has 7 rows, but the manifest says 8"),
    ],
)
def test_a_manifest_of_something_else_is_not_opened(store, change, told):
    (store.path / "manifest.json").write_text(json.dumps({**store.manifest, **change}), encoding="utf-8")
    assert told in refusal(open_patches, store.path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"shards": 3}, "its entry shards is a list of SHA-256, not 3"),
        ({"shards": None}, "its entry shards is a list of SHA-256, not None"),
        ({"config": 1.5}, "its entry config is an object, not 1.5"),
        ({"count": 0}, "its entry count is a whole number of 1 or more, not 0"),
        ({"shard_size": []}, "its entry shard_size is a whole number of 1 or more"),
    ],
)
def test_a_manifest_that_says_impossible_things_is_refused(store, change, told):
    manifest = {**store.manifest, **change}
    (store.path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(FileError, match=f"does not describe a patch store: {told}"):
        open_patches(store.path).verify()


@pytest.mark.parametrize(("value", "told"), [(float("nan"), "NaN"), (float("inf"), "Infinity")])
def test_a_manifest_with_what_json_does_not_have_is_refused(store, value, told):
    (store.path / "manifest.json").write_text(json.dumps({**store.manifest, "count": value}))
    with pytest.raises(FileError, match=rf"manifest\.json cannot be read: {told} is no number of JSON's"):
        open_patches(store.path)


def test_a_manifest_nested_without_end_is_refused(store):
    (store.path / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(FileError, match=r"manifest\.json cannot be read"):
        open_patches(store.path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda table: table.drop_columns(["where_x"]), "has no column where_x; it has scene"),
        (
            lambda table: table.set_column(5, "truth", [["x"] * TOTAL]),
            "truth holds int for each patch, not s",
        ),
        (lambda table: table.set_column(5, "truth", [[None, *range(1, TOTAL)]]), "truth holds int for each"),
        (lambda table: table.append_column("sharp_at", [[1.0] * TOTAL]), "sharp_at holds a list of numbers"),
        (
            lambda table: table.append_column("sharp_at", [[[None]] * TOTAL]),
            "sharp_at holds a list of numbers",
        ),
        (
            lambda table: table.append_column("sharp_at", [[None, *[[1.0]] * (TOTAL - 1)]]),
            "sharp_at holds a list of numbers",
        ),
        (
            lambda table: table.append_column("sharp_at", [[[float("nan")]] * TOTAL]),
            "sharp_at holds finite numbers, not nan",
        ),
    ],
)
def test_a_table_of_something_else_is_not_opened(store, change, told):
    pq.write_table(change(store.table), store.path / "patches.parquet")
    with pytest.raises(FileError, match=rf"patches\.parquet.*{told}"):
        open_patches(store.path)


@pytest.mark.parametrize("header", [b"{'descr': '<u2', 'shape': (", b"{" * 117, b"\xff" * 117, b"()"])
def test_a_damaged_header_of_a_shard_is_named(store, header):
    file = store.path / "shards" / "00001.npy"
    content = bytearray(file.read_bytes())
    content[10:127] = header.ljust(117)
    file.write_bytes(content)
    with pytest.raises(FileError, match=r"00001\.npy cannot be read"):
        store.stack([4])


def test_damaged_files_are_named(store):
    (store.path / "patches.parquet").write_bytes(b"PAR1 no")
    assert "patches.parquet cannot be read" in refusal(open_patches, store.path)
    (store.path / "manifest.json").write_text("{")
    assert "manifest.json cannot be read" in refusal(open_patches, store.path)


def test_a_damaged_shard_is_named_and_the_others_are_read(store):
    file = store.path / "shards" / "00001.npy"
    content = file.read_bytes()
    for damaged, told in (
        (content[:-1], f"has {len(content) - 1} bytes, but its header promises {len(content)}"),
        (content + b"\0", f"has {len(content) + 1} bytes"),
        (content[:20], "00001.npy cannot be read"),
        (b"", "00001.npy cannot be read"),
    ):
        file.write_bytes(damaged)
        message = refusal(store.stack, [0, 4])
        assert "00001.npy" in message
        assert told in message
    file.unlink()
    assert "00001.npy" in refusal(store.stack, [4])
    assert store.stack([0, 6]).batch == 2
    np.save(file, codes_of([3], PLAIN))
    assert "not uint16 of shape (3, 5, 2, 6, 8)" in refusal(store.stack, [4])


def test_the_rows_of_a_split_are_found_or_it_is_said_which_there_are(store: PatchStore) -> None:
    splits = store.column("split")
    some = str(splits[0])
    np.testing.assert_array_equal(store.rows_of(some), np.flatnonzero(splits == some))
    assert len(store.rows_of("all")) == len(store)
    with pytest.raises(InputError, match="no patches of the split nonesuch; it has"):
        store.rows_of("nonesuch")
