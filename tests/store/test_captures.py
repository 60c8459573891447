"""The capture store: the tests write small captures, stop and damage some, and read them with plain loops."""

import json
import multiprocessing
import pickle
import resource
import subprocess
import sys
import weakref
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dioptre.errors import FileError, InputError
from dioptre.grid import FocusGrid
from dioptre.stack import VIEW_CODES, codes_to_pixels
from dioptre.store import captures as module
from dioptre.store import kernels
from dioptre.store.captures import CaptureWriter
from dioptre.store.packing import packed_words
from dioptre.store.patches import PatchStore, StoreFormat, StoreWriter, open_patches

SLICES, SIZE = 3, 16
FRAME = (38, 301)  # three strips, the last narrower than the others
SHAPE = (19, 301)
FORMAT = StoreFormat(grid=FocusGrid.uniform(n=SLICES), size=SIZE, views=2, black=1024.0, white=16368.0)
PLAIN = replace(FORMAT, rows_per_native=1, views=1)
CONFIG = {"source": "tests", "stride": 40}
NAMES = ("apt1_0-center", "apt1_0-left", "b.2")
CORNERS = ((0, 0), (22, 285), (0, 285), (22, 0), (10, 120), (4, 250), (2, 112), (22, 128))  # row, col
POSITIONS = [(index, view) for index in range(SLICES) for view in range(2)]


def frame_of(name: str, index: int, view: int, shape: tuple[int, int] = SHAPE) -> np.ndarray:
    """Returns 10-bit codes shifted by 4 that depend only on the frame, some below black and above white."""
    rng = np.random.default_rng([*name.encode(), index, view])
    return rng.integers(0, 1024, shape, dtype=np.uint16) << 4


def rows_of(name: str, corners: Iterable[tuple[int, int]] = CORNERS) -> list[dict[str, object]]:
    return [
        {
            "scene": name.split("_", maxsplit=1)[0],
            "capture": name,
            "split": "train",
            "row": row,
            "col": col,
            "truth": at % SLICES,
            "where_x": at / 10,
            "where_y": -at / 10,
            "depth": 0.5 * at,
        }
        for at, (row, col) in enumerate(corners)
    ]


def writer_of(path: Path, form: StoreFormat = FORMAT) -> CaptureWriter:
    return CaptureWriter(path, form, FRAME, CONFIG)


def write_capture(writer: CaptureWriter, name: str, order: int = 1) -> None:
    for index, view in writer.missing_frames(name)[::order]:
        writer.write_frame(name, index, view, frame_of(name, index, view, writer.frame_shape))
    writer.complete(name, rows_of(name))


def write(path: Path, form: StoreFormat = FORMAT, names: Iterable[str] = NAMES) -> PatchStore:
    writer = writer_of(path, form)
    writer.begin()
    for name in names:
        write_capture(writer, name)
    writer.finish()
    return open_patches(path)


def upsample(native: np.ndarray) -> np.ndarray:
    """Returns a frame with twice the rows, by the definition; beyond its edges the edge is repeated."""
    p = native.astype(np.float64)
    out = np.empty((2 * len(p), p.shape[1]))
    for k in range(len(p)):
        above, below = p[max(k - 1, 0)], p[min(k + 1, len(p) - 1)]
        out[2 * k] = 0.25 * above + 0.75 * p[k]
        out[2 * k + 1] = 0.75 * p[k] + 0.25 * below
    return out


def expected_of(name: str, row: int, col: int, index: int, view: int, form: StoreFormat) -> np.ndarray:
    """Returns the pixels of a patch: the whole frame upsampled, then cut, then scaled."""
    native = frame_of(name, index, view, (FRAME[0] // form.rows_per_native, FRAME[1]))
    whole = upsample(native) if form.rows_per_native == 2 else native
    return codes_to_pixels(whole[row : row + SIZE, col : col + SIZE], form.black, form.white)


def all_expected(form: StoreFormat) -> np.ndarray:
    return np.array(
        [
            [
                [expected_of(name, *corner, index, view, form) for view in range(form.views)]
                for index in range(SLICES)
            ]
            for name in NAMES
            for corner in CORNERS
        ]
    )


def bytes_of(path: Path) -> dict[str, bytes]:
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files}


def refusal(call, *args: object) -> str:
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as caught:  # one line
        call(*args)
    return str(caught.value)


def row_sum(store: PatchStore, row: int) -> float:
    """Runs in another process."""
    return float(store.stack([row]).pixels.sum(dtype=np.float64))


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> PatchStore:
    """A store that no test changes."""
    return write(tmp_path_factory.mktemp("shared") / "store")


@pytest.fixture
def store(tmp_path) -> PatchStore:
    return write(tmp_path / "store")


@pytest.fixture
def writer(tmp_path) -> CaptureWriter:
    writer = writer_of(tmp_path / "store")
    writer.begin()
    return writer


# Reading


@settings(deadline=None, max_examples=50)  # the first compiles
@given(row=st.integers(0, 11), col=st.integers(0, 285), index=st.integers(0, SLICES - 1))
def test_a_patch_is_read_from_the_runs_that_it_asks_for(shared, row, col, index):
    capture = shared._reader._capture(NAMES[0])
    wanted, pixels = np.array([index]), np.empty((1, 2, SIZE, SIZE), np.float32)
    runs = capture.runs(wanted, 2 * row, col)
    known = ~capture.words
    for begin, length in runs // 2:
        known[begin : begin + length] = capture.words[begin : begin + length]
    known.flags.writeable = False  # as the file is, for the compiler
    replace(capture, words=known).read(wanted, 2 * row, col, pixels)
    for view in range(2):
        assert np.array_equal(pixels[0, view], expected_of(NAMES[0], 2 * row, col, index, view, FORMAT))
    words_down = -(-10 * (SIZE // 2 + 2) // 16) + 1  # ten bits; a run may begin and end within words
    assert len(runs) <= 2 * 2
    assert (runs[:, 1] <= 2 * kernels.STRIP * words_down).all()


@pytest.mark.parametrize("form", [FORMAT, replace(FORMAT, views=1), PLAIN, replace(PLAIN, black=63.7)])
def test_pixels_are_those_of_the_whole_frame_upsampled_exactly(tmp_path, form):
    store = write(tmp_path, form)
    pixels = store.stack(range(len(store))).pixels
    assert np.array_equal(pixels, all_expected(form))
    assert pixels.min() == 0.0
    assert pixels.max() == 1.0


def test_a_window_is_a_part_of_each_patch(shared):
    rows, half = np.arange(len(shared)), shared.format.size // 2
    corners = np.stack([2 * (rows % 3), rows % (half + 1)], axis=1)
    whole, parts = shared.stack(rows), shared.stack(rows, None, corners, half)
    for at, (row, col) in enumerate(corners):
        wanted = whole.pixels[at, ..., row : row + half, col : col + half]
        np.testing.assert_array_equal(parts.pixels[at], wanted)


@pytest.mark.parametrize("size", [SIZE - 4, SIZE + 2])
def test_other_windows_are_cut_out_of_the_same_captures(shared, size):
    assert shared.frame == FRAME
    rows = np.minimum(shared.column("row"), FRAME[0] - size) // 2 * 2
    cols = np.minimum(shared.column("col"), FRAME[1] - size)
    view = shared.with_windows(np.stack([rows, cols], axis=1), size)
    assert view.format == replace(FORMAT, size=size)
    for at in (0, 12, 23):
        whole = upsample(frame_of(NAMES[at // len(CORNERS)], 2, 1))
        cut = whole[rows[at] : rows[at] + size, cols[at] : cols[at] + size]
        found = view.stack([at], [2])
        assert np.array_equal(found.pixels[0, 0, 1], codes_to_pixels(cut, 1024.0, 16368.0))
        centre = 2 * (cols[at] + size / 2) / FRAME[1] - 1, 2 * (rows[at] + size / 2) / FRAME[0] - 1
        assert found.where[0] == pytest.approx(centre)
    assert view.table.column_names == shared.table.column_names
    assert view.column("truth").tolist() == shared.column("truth").tolist()
    again = pickle.loads(pickle.dumps(view.select([3])))
    assert np.array_equal(again.stack([0]).pixels, view.stack([3]).pixels)
    view.verify()


@pytest.mark.parametrize(
    ("corner", "size", "told"),
    [
        ((24, 0), SIZE, "row in 0..22, divisible by 2, .* not row 24 and col 0"),
        ((1, 0), SIZE, "not row 1 and col 0"),
        ((0, -1), SIZE, "not row 0 and col -1"),
        ((0, 0), 40, "at least as large as a patch, 40 x 40"),
        ((0, 0), 7, "divisible by 2, not 7"),
    ],
)
def test_windows_that_do_not_lie_in_the_frame_are_refused(shared, corner, size, told):
    with pytest.raises(InputError, match=told):
        shared.with_windows(np.tile(corner, (len(shared), 1)), size)


def test_there_is_a_window_for_each_patch(shared):
    with pytest.raises(InputError, match="windows are 24 rows and columns"):
        shared.with_windows(np.zeros((3, 2), int), SIZE)


def test_a_black_that_is_no_whole_code_is_exact_too(tmp_path):
    form = replace(FORMAT, black=1023.3, white=16001.7)
    assert np.array_equal(write(tmp_path, form).stack(range(24)).pixels, all_expected(form))


def test_frames_of_other_depths_are_read_beside_each_other(writer):
    frames = {}
    for bits, at in enumerate(POSITIONS, start=11):
        frames[at] = np.random.default_rng(bits).integers(0, 1 << bits, SHAPE).astype(np.uint16)
        writer.write_frame("deep", *at, frames[at])
    writer.complete("deep", rows_of("deep"))
    writer.finish()
    pixels = open_patches(writer.path).stack([4]).pixels[0]
    for (index, view), codes in frames.items():
        expected = codes_to_pixels(upsample(codes)[10:26, 120:136], 1024.0, 16368.0)
        assert np.array_equal(pixels[index, view], expected)


def test_it_reads_as_a_store_of_patches_does(shared, tmp_path):
    """The same patches in both kinds of store: training does not know where they came from."""
    twin = StoreWriter(tmp_path, FORMAT, {}, total=len(shared))
    codes = np.empty((len(shared), *FORMAT.patch_shape), np.uint16)
    for at, (name, (row, col)) in enumerate((name, corner) for name in NAMES for corner in CORNERS):
        near = np.clip(np.arange(row // 2 - 1, row // 2 + SIZE // 2 + 1), 0, SHAPE[0] - 1)
        for index, view in POSITIONS:
            codes[at, index, view] = frame_of(name, index, view)[near, col : col + SIZE]
    twin.write_shard(0, codes, [row for name in NAMES for row in rows_of(name)])
    twin.finish()
    other = open_patches(tmp_path)
    rows, indices = np.arange(24)[::-1], np.array([[1, 0]] * 12 + [[2, 2]] * 12)
    for wanted in (None, [2, 0], indices):
        one, two = shared.stack(rows, wanted), other.stack(rows, wanted)
        assert np.array_equal(one.pixels, two.pixels)
        assert np.array_equal(one.indices, two.indices)
        assert np.array_equal(one.where, two.where)
        assert (one.grid, one.view_codes) == (two.grid, two.view_codes) == (FORMAT.grid, VIEW_CODES)
    assert shared.table.drop_columns(["file"]) == other.table
    assert (shared.format, len(shared), type(shared)) == (other.format, len(other), type(other))


def test_what_the_store_does_not_have_is_named(shared):
    assert "patches 0..23, not 24" in refusal(shared.stack, [24])
    assert "positions 0..2, not 3" in refusal(shared.stack, [0], [3])


def test_few_open_files_are_enough(shared, monkeypatch):
    monkeypatch.setattr(module, "OPEN_CAPTURES", 1)
    again = open_patches(shared.path)
    assert np.array_equal(again.stack(range(24)[::5]).pixels, shared.stack(range(24)[::5]).pixels)
    assert again._reader._capture.cache_info().currsize == 1


def test_files_close_with_the_store(shared):
    again = open_patches(shared.path)
    capture = weakref.ref(again._reader._capture(NAMES[0]))
    del again
    assert capture() is None


def test_reading_does_not_hold_what_was_read(tmp_path):
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("only Linux tells what a process holds of files")

    def held() -> int:
        line = next(line for line in status.read_text().splitlines() if line.startswith("RssFile"))
        return 1024 * int(line.split()[1])

    writer = CaptureWriter(tmp_path, FORMAT, (1512, 2016), {})
    writer.begin()
    for at in POSITIONS:
        writer.write_frame("large", *at, frame_of("large", *at, writer.frame_shape))
    corners = [(row, col) for row in range(0, 1496, 88) for col in range(0, 2000, 125)]
    writer.complete("large", [row | {"where_x": 0.0, "where_y": 0.0} for row in rows_of("large", corners)])
    writer.finish()
    store = open_patches(tmp_path)
    store.stack([0])
    before = held()
    store.stack(range(len(store)))
    assert held() - before < 1 << 20  # of eleven times as much


def test_threads_share_a_store(shared):
    with ThreadPoolExecutor(4) as pool:
        read = list(pool.map(lambda row: shared.stack([row], [1]).pixels[0], list(range(24)) * 4))
    assert np.array_equal(read[24:48], shared.stack(range(24), [1]).pixels)
    assert np.array_equal(read[:24], read[72:])


def test_a_store_goes_to_another_process(shared, tmp_path, monkeypatch):
    monkeypatch.chdir(shared.path.parent)
    relative = open_patches("store")
    assert len(pickle.dumps(relative)) < 1000
    expected = [row_sum(relative, row) for row in (0, 23)]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(row_sum, [relative] * 2, (0, 23))) == expected


def test_a_store_of_shards_is_opened_without_the_compiler(tmp_path):
    writer = StoreWriter(tmp_path, FORMAT, {}, total=1)
    writer.write_shard(0, np.zeros((1, *FORMAT.patch_shape), np.uint16), rows_of("a")[:1])
    writer.finish()
    code = "import sys, dioptre; dioptre.open_patches(sys.argv[1]); assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True)


# Rows


def test_rows_are_in_the_order_of_the_names(tmp_path):
    store = write(tmp_path, names=[NAMES[2], NAMES[0], NAMES[1]])
    assert store.table.to_pylist() == [row | {"file": name} for name in NAMES for row in rows_of(name)]


def test_a_capture_may_have_no_patch(writer):
    for name in NAMES:
        for at in POSITIONS:
            writer.write_frame(name, *at, frame_of(name, *at))
    for name in NAMES[:2]:
        writer.complete(name, [])
        assert writer.is_complete(name)
    assert "no capture that is complete has a patch" in refusal(writer.finish)
    writer.complete(NAMES[2], rows_of(NAMES[2]))
    writer.finish()
    store = open_patches(writer.path)
    assert len(store) == len(CORNERS)
    assert sorted(store.manifest["captures"]) == sorted(NAMES)
    store.verify()


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"row": 24}, "row in 0..22, divisible by 2, and its col in 0..285, not row 24 and col 0"),
        ({"row": 3}, "divisible by 2, .* not row 3"),
        ({"row": -2}, "not row -2"),
        ({"col": 286}, "not row 0 and col 286"),
        ({"col": -1}, "col -1"),
        ({"truth": SLICES}, "truth of a patch is in 0..2, not 3"),
        ({"file": "other"}, "column file of a patch is the name of its capture, apt1_0-center"),
    ],
)
def test_a_row_that_does_not_belong_is_refused(writer, columns, told):
    for at in POSITIONS:
        writer.write_frame(NAMES[0], *at, frame_of(NAMES[0], *at))
    rows = rows_of(NAMES[0])
    with pytest.raises(ValueError, match=told):
        writer.complete(NAMES[0], [*rows[1:], rows[0] | columns])
    assert not writer.is_complete(NAMES[0])


def test_captures_with_different_columns_do_not_make_a_store(writer):
    for name in NAMES[:2]:
        write_capture(writer, name)
    writer.complete(NAMES[1], [row | {"gain": 1.0} for row in rows_of(NAMES[1])])
    told = "captures apt1_0-center and apt1_0-left have different columns: gain is in one only"
    assert told in refusal(writer.finish)


# Writing


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../b", "a/b", "a\\b", ".hidden", "a b", "a\n", "ä", "/tmp/a"]
)
def test_a_name_that_is_no_plain_name_is_refused(writer, name):
    before = bytes_of(writer.path)
    for call, args in (
        (writer.is_complete, ()),
        (writer.has_frame, (0, 0)),
        (writer.write_frame, (0, 0, frame_of("x", 0, 0))),
        (writer.missing_frames, ()),
        (writer.complete, (rows_of("x"),)),
        (writer.drop, ()),
    ):
        with pytest.raises(ValueError, match="a capture's name is at most 200 letters, digits"):
            call(name, *args)
    assert bytes_of(writer.path) == before


def test_frames_that_do_not_belong_are_refused(writer):
    codes = frame_of("a", 0, 0)
    told = "uint16 codes of shape (19, 301), not uint16 of shape (301, 19)"
    assert told in refusal(writer.write_frame, "a", 0, 0, codes.T)
    for at in ((SLICES, 0), (-1, 0), (0, 2), (0, -1)):
        assert "slice in 0..2 and a view in 0..1" in refusal(writer.write_frame, "a", *at, codes)
        assert "slice in 0..2 and a view in 0..1" in refusal(writer.has_frame, "a", *at)
    writer.write_frame("a", 1, 1, codes)
    assert "has a frame of slice 1 and view 1 already" in refusal(writer.write_frame, "a", 1, 1, codes)
    assert "5 frames are missing, the first is slice 0, view 0" in refusal(writer.complete, "a", rows_of("a"))


def test_frames_come_in_any_order_and_may_be_views_of_others(writer):
    for at in POSITIONS[::-1]:
        writer.write_frame("a", *at, np.asfortranarray(frame_of("a", *at)))
        assert writer.has_frame("a", *at)
    assert writer.missing_frames("a") == []
    writer.complete("a", rows_of("a"))
    writer.finish()
    pixels = open_patches(writer.path).stack([4]).pixels[0, 2, 1]
    assert np.array_equal(pixels, expected_of("a", 10, 120, 2, 1, FORMAT))


def test_ten_bits_take_ten_sixteenths_of_the_disk(shared):
    native = len(NAMES) * len(POSITIONS) * 2 * SHAPE[0] * SHAPE[1]
    packed = sum(file.stat().st_size for file in shared.path.glob("captures/*.codes"))
    assert packed == len(NAMES) * len(POSITIONS) * 2 * packed_words(SHAPE, 10)
    assert packed_words((756, 2016), 10) / (756 * 2016) == pytest.approx(0.625, abs=0.001)
    assert packed < 0.64 * native


def test_nothing_but_the_order_in_a_file_depends_on_when_frames_came(shared, tmp_path):
    writer = writer_of(tmp_path / "store")
    writer.begin()
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        jobs = [pool.submit(write_capture, writer, name) for name in NAMES[::-1]]
        for job in jobs:
            job.result()
    writer.finish()
    assert bytes_of(writer.path) == bytes_of(shared.path)
    backwards = writer_of(tmp_path / "backwards")
    backwards.begin()
    for name in NAMES:
        write_capture(backwards, name, order=-1)
    backwards.finish()
    stack = open_patches(backwards.path).stack(range(24))
    assert np.array_equal(stack.pixels, shared.stack(range(24)).pixels)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"frame": (37, 301)}, "rows divisible by 2, not 37 x 301"),
        ({"frame": (38, 15)}, "at least as large as a patch, 16 x 16, with rows divisible by 2, not 38 x 15"),
        ({"config": {"path": Path()}}, "a store's config is plain JSON"),
    ],
)
def test_an_impossible_store_is_refused(tmp_path, change, told):
    with pytest.raises(ValueError, match=told):
        replace(writer_of(tmp_path), **change)


# Stopped and resumed


class Killed(BaseException):
    """Stands for the end of the process."""


def killed_at_rename(monkeypatch, call, *args: object, suffix: str) -> None:
    original = Path.replace

    def rename(self: Path, target: Path) -> Path:
        if target.suffix == suffix:
            raise Killed
        return original(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", rename)
        with pytest.raises(Killed):
            call(*args)


def test_a_stopped_run_is_resumed(shared, writer, monkeypatch):
    name = NAMES[0]
    writer.write_frame(name, 0, 0, frame_of(name, 0, 0))
    file = writer.path / "captures" / f"{name}.codes"
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:100])  # killed while the frame was being written
    assert not writer.has_frame(name, 0, 1)
    writer.write_frame(name, 0, 1, frame_of(name, 0, 1))
    killed_at_rename(monkeypatch, writer.write_frame, name, 1, 0, frame_of(name, 1, 0), suffix=".json")
    assert file.stat().st_size > 2 * len(whole)  # the frame is there, but nobody says so
    again = writer_of(writer.path)
    again.begin()
    assert again.missing_frames(name) == POSITIONS[2:]
    killed_at_rename(monkeypatch, write_capture, again, name, suffix=".parquet")
    assert not again.is_complete(name)
    assert again.missing_frames(name) == []
    write_capture(again, name)
    assert again.is_complete(name)
    for other in NAMES[1:]:
        write_capture(again, other)
    killed_at_rename(monkeypatch, again.finish, suffix=".json")
    assert "not finished" in refusal(open_patches, again.path)
    again.finish()
    assert bytes_of(again.path) == bytes_of(shared.path)


def test_what_a_killed_run_left_after_the_last_frame_is_cut_off(writer):
    name = NAMES[0]
    for at in POSITIONS:
        writer.write_frame(name, *at, frame_of(name, *at))
    file = writer.path / "captures" / f"{name}.codes"
    file.write_bytes(file.read_bytes() + b"half a frame")
    writer.complete(name, rows_of(name))
    writer.finish()
    open_patches(writer.path).verify()


def test_frames_that_were_lost_are_missing_again(writer):
    write_capture(writer, NAMES[0])
    file = writer.path / "captures" / f"{NAMES[0]}.codes"
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size - 1)
    assert writer.missing_frames(NAMES[0]) == POSITIONS[-1:]
    assert not writer.is_complete(NAMES[0])
    writer.write_frame(NAMES[0], *POSITIONS[-1], frame_of(NAMES[0], *POSITIONS[-1]))
    assert not writer.is_complete(NAMES[0])  # its rows come last
    write_capture(writer, NAMES[0])
    writer.finish()
    open_patches(writer.path).verify()
    file.unlink()
    assert "apt1_0-center.codes" in refusal(open_patches(writer.path).stack, [0])


def test_a_full_disk_leaves_a_folder_that_can_be_resumed(shared, writer):
    for at in POSITIONS[:2]:
        writer.write_frame(NAMES[0], *at, frame_of(NAMES[0], *at))
    file = writer.path / "captures" / f"{NAMES[0]}.codes"
    size = file.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, hard))  # as if the disk were full in mid-frame
    try:
        with pytest.raises(OSError, match="File too large"):
            writer.write_frame(NAMES[0], *POSITIONS[2], frame_of(NAMES[0], *POSITIONS[2]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.stat().st_size == size
    assert writer.missing_frames(NAMES[0]) == POSITIONS[2:]
    assert bytes_of(write(writer.path).path) == bytes_of(shared.path)


def test_a_capture_can_be_dropped(writer):
    write_capture(writer, NAMES[0])
    writer.drop(NAMES[0])
    writer.drop("never-there")
    assert writer.missing_frames(NAMES[0]) == POSITIONS
    assert list(bytes_of(writer.path)) == ["writing.json"]


def test_finishing_drops_what_is_not_complete(shared, writer):
    for name in NAMES:
        write_capture(writer, name)
    writer.write_frame("half", 0, 0, frame_of("half", 0, 0))
    (writer.path / "captures" / "half.json.0123.dioptre-partial").write_bytes(b"{")
    writer.finish()
    assert bytes_of(writer.path) == bytes_of(shared.path)


def test_nothing_is_dropped_when_there_is_nothing_to_finish(writer):
    writer.write_frame("half", 0, 0, frame_of("half", 0, 0))
    before = bytes_of(writer.path)
    assert "no capture that is complete has a patch" in refusal(writer.finish)
    assert bytes_of(writer.path) == before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"config": {**CONFIG, "stride": 20}}, "begun with config stride 40, not 20"),
        ({"format": replace(FORMAT, white=4095.0)}, "format white 16368.0, not 4095.0"),
        ({"frame": (38, 302)}, "frame 1 301, not 302"),
    ],
)
def test_a_store_is_not_resumed_with_something_else(writer, change, told):
    other = replace(writer, **change)
    assert told in refusal(other.begin)
    assert told in refusal(other.finish)
    assert told in refusal(other.drop, NAMES[0])


def test_a_store_of_another_kind_is_not_resumed(tmp_path):
    StoreWriter(tmp_path, FORMAT, CONFIG, total=1).missing_shards()
    assert "begun with frame None, not [38, 301]" in refusal(writer_of(tmp_path).begin)


def test_a_finished_store_is_not_written_again(store):
    writer, before = writer_of(store.path), bytes_of(store.path)
    for call, args in (
        (writer.begin, ()),
        (writer.write_frame, ("new", 0, 0, frame_of("new", 0, 0))),
        (writer.complete, (NAMES[0], rows_of(NAMES[0]))),
        (writer.drop, (NAMES[0],)),
        (writer.finish, ()),
    ):
        assert "is finished already" in refusal(call, *args)
    assert bytes_of(store.path) == before


def test_other_peoples_folders_are_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    assert "it has thesis.tex" in refusal(writer_of(tmp_path).begin)
    assert bytes_of(tmp_path) == {"thesis.tex": b"years of work"}


def test_an_index_without_its_hash_is_named(writer):
    write_capture(writer, NAMES[0])
    file = writer.path / "captures" / f"{NAMES[0]}.json"
    file.write_text(json.dumps({"frames": json.loads(file.read_text())["frames"]}))
    with pytest.raises(FileError, match=r"apt1_0-center\.json does not tell the SHA-256"):
        writer.finish()


# The manifest


def test_the_manifest_says_what_the_store_is(writer):
    write_capture(writer, NAMES[0])
    assert "summary is plain JSON" in refusal(writer.finish, {"left": {1, 2}})
    writer.finish({"left_out": ["b"], "why": ("dark",)})
    manifest = open_patches(writer.path).manifest
    assert manifest["kind"] == "captures"
    assert manifest["frame"] == [38, 301]
    assert manifest["summary"] == {"left_out": ["b"], "why": ["dark"]}
    assert manifest["count"] == len(CORNERS)
    assert StoreFormat.from_json(manifest["format"]) == FORMAT
    assert list(manifest["captures"]) == [NAMES[0]]


@pytest.mark.parametrize("file", ["captures/b.2.codes", "captures/b.2.json"])
def test_verify_names_the_file_that_changed(store, file):
    store.verify()
    content = bytearray((store.path / file).read_bytes())
    content[-3] ^= 1
    (store.path / file).write_bytes(content)
    assert f"{file} has changed since it was written" in refusal(store.verify)
    (store.path / file).unlink()
    assert f"{file} is missing" in refusal(store.verify)


@pytest.mark.parametrize("entry", ["config", "summary", "frame", "captures"])
def test_verify_sees_a_manifest_that_changed(store, entry):
    changed = {
        "config": {**CONFIG, "stride": 41},
        "summary": {"more": 1},
        "frame": [38, 300],
        "captures": {NAMES[0]: store.manifest["captures"][NAMES[0]]},
    }
    manifest = {**store.manifest, entry: changed[entry]}
    (store.path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    told = {"frame": "does not fit its captures", "captures": "patches of apt1_0-left, which manifest.json"}
    told = told.get(entry, "or the manifest has changed")
    assert told in refusal(lambda: open_patches(store.path).verify())


# What cannot be opened


def test_an_unfinished_store_says_so(writer):
    write_capture(writer, NAMES[0])
    assert "is not finished: run what was writing it again" in refusal(open_patches, writer.path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"frame": None}, "does not describe a patch store: its entry frame is rows and columns"),
        ({"frame": [38]}, "does not describe a patch store: its entry frame is rows and columns"),
        ({"frame": [12, 301]}, "does not describe a patch store: a frame is at least as large as a patch"),
        (
            {"frame": [38.5, 301]},
            "does not describe a patch store: its entry frame is rows and columns",
        ),
        ({"captures": 3}, "does not describe a patch store: its entry captures is an object"),
        ({"kind": "patches"}, "does not describe a patch store: it has no entry 'shard_size'"),
        ({"layout": 99}, "has layout 99"),
    ],
)
def test_a_manifest_of_something_else_is_not_opened(store, change, told):
    (store.path / "manifest.json").write_text(json.dumps({**store.manifest, **change}), encoding="utf-8")
    assert told in refusal(open_patches, store.path)


def test_damaged_files_are_named_and_the_others_are_read(store):
    codes, index = (store.path / "captures" / f"{NAMES[1]}.{kind}" for kind in ("codes", "json"))
    content, listed = codes.read_bytes(), json.loads(index.read_text())
    for damaged in (content[:-2], content + b"\0\0", b""):
        codes.write_bytes(damaged)
        told = f"{codes} cannot be read: it has {len(damaged)} bytes, but its .json promises {len(content)}"
        assert told in refusal(store.stack, [0, 9])
    codes.write_bytes(content)
    frames = listed["frames"]
    for entries, told in (
        ({}, "does not list the frames of a capture: KeyError('frames')"),
        ({"frames": [{"slice": 0}]}, "does not list the frames"),
        ({"frames": frames[:-1]}, "lists 5 frames, not each of 3 x 2 once"),
        ({"frames": [*frames[:-1], frames[0]]}, "lists 6 frames, not each of 3 x 2 once"),
        ({"frames": [frames[1], frames[0], *frames[2:]]}, "do not follow each other"),
        ({"frames": [*frames[:-1], frames[-1] | {"bits": 9}]}, "its .json promises"),
        ({"frames": [*frames[:-1], frames[-1] | {"bits": 17}]}, "17 shifted by 4"),
        ({"frames": [*frames[:-1], frames[-1] | {"offset": 0.5}]}, "does not list the frames"),
    ):
        index.write_text(json.dumps(entries))
        assert told in refusal(open_patches(store.path).stack, [9])
    index.write_text("{")
    again = open_patches(store.path)
    assert "apt1_0-left.json cannot be read" in refusal(again.stack, [9])
    assert again.stack([0, 23]).batch == 2
