import pickle
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre import open_patches
from dioptre.grid import FocusGrid
from dioptre.groundtruth.register import PHASE
from dioptre.optics import CameraModel, breathing
from dioptre.pipeline.executors import local_executor
from dioptre.pipeline.registering import Registered, _open_unregistered, register
from dioptre.pipeline.settings import Registration
from dioptre.store.captures import CaptureWriter
from dioptre.store.patches import StoreFormat, StoreWriter

# A short lens with a strong breathing and a small frame.
CAMERA = CameraModel(20.0, 2.0, 10.0, (240, 320), FocusGrid.uniform(2.0, 0.4, 6), name="short")
SIZE = 64
BLACK, WHITE = 100.0, 60100.0
CORNERS = ((0, 0), (88, 128), (176, 256), (120, 40))  # row, col


def ignore(done: int, total: int) -> None:
    assert 0 <= done <= total


def radiance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What the scene shows at places of slice 0: waves too long for the kernel to err on."""
    return 0.5 + 0.2 * np.sin(0.31 * x + 0.2 * y) + 0.15 * np.cos(0.23 * y - 0.35 * x) + 0.1 * np.sin(0.4 * y)


def frame_codes(zoom: float) -> np.ndarray:
    rows, cols = CAMERA.frame
    y, x = np.mgrid[:rows, :cols] - np.array([(rows - 1) / 2, (cols - 1) / 2])[:, None, None]
    return np.rint(BLACK + (WHITE - BLACK) * radiance(x / zoom, y / zoom)).astype(np.uint16)


def rows_of(corners: tuple[tuple[int, int], ...]) -> list[dict[str, object]]:
    rows, cols = CAMERA.frame
    return [
        {
            "scene": "waves",
            "capture": "waves_0",
            "split": "test",
            "row": row,
            "col": col,
            "truth": at % len(CAMERA.grid),
            "where_x": (col + SIZE / 2) / (cols / 2) - 1,
            "where_y": (row + SIZE / 2) / (rows / 2) - 1,
            "light": "normal",
        }
        for at, (row, col) in enumerate(corners)
    ]


FORMAT = StoreFormat(CAMERA.grid, SIZE, 2, BLACK, WHITE, rows_per_native=1)


@pytest.fixture(scope="module")
def frames() -> np.ndarray:
    return np.stack([frame_codes(float(zoom)) for zoom in breathing(CAMERA)])


@pytest.fixture(scope="module")
def camera(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("camera") / "short.toml"
    CAMERA.to_toml(path)
    return str(path)


def write_patches(path: Path, frames: np.ndarray, form: StoreFormat = FORMAT) -> Path:
    writer = StoreWriter(path, form, {}, len(CORNERS))
    cut = np.stack([frames[:, row : row + SIZE, col : col + SIZE] for row, col in CORNERS])
    writer.write_shard(0, np.repeat(cut[:, :, None], 2, axis=2), rows_of(CORNERS))
    writer.finish()
    return path


@pytest.fixture(scope="module")
def patches(tmp_path_factory: pytest.TempPathFactory, frames: np.ndarray) -> Path:
    return write_patches(tmp_path_factory.mktemp("patches") / "store", frames)


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory, frames: np.ndarray) -> Path:
    path = tmp_path_factory.mktemp("captures") / "store"
    writer = CaptureWriter(path, FORMAT, CAMERA.frame, {})
    writer.begin()
    for index, codes in enumerate(frames):
        for view in range(2):
            writer.write_frame("waves_0", index, view, codes)
    writer.complete("waves_0", rows_of(CORNERS))
    writer.finish()
    return path


def assert_registered(out: Path, atol: float) -> None:
    """Asserts that each slice of each patch shows what its row says."""
    store = open_patches(out)
    size = store.format.size
    rows, cols = CAMERA.frame
    for at, pixels in enumerate(store.stack(range(len(store))).pixels):
        row, col = int(store.column("row")[at]), int(store.column("col")[at])
        y, x = np.mgrid[:size, :size] + PHASE
        expected = radiance(x + col - (cols - 1) / 2, y + row - (rows - 1) / 2)
        np.testing.assert_allclose(pixels, np.broadcast_to(expected, pixels.shape), atol=atol)
        assert store.column("where_x")[at] == pytest.approx((col + PHASE + size / 2) / (cols / 2) - 1)
        assert store.column("where_y")[at] == pytest.approx((row + PHASE + size / 2) / (rows / 2) - 1)


def test_calibrated_patches_show_the_same_in_every_slice(patches: Path, camera: str, tmp_path: Path) -> None:
    found = register(patches, tmp_path / "out", Registration(camera=camera), None, ignore)
    assert found == Registered(size=48, kept=4, dropped=0)
    assert_registered(tmp_path / "out", 0.01)
    store = open_patches(tmp_path / "out")
    assert store.format.grid == CAMERA.grid
    assert list(store.column("truth")) == [0, 1, 2, 3]
    assert list(store.column("light")) == ["normal"] * 4
    assert (store.column("held_px") == 0).all()
    assert store.manifest["config"]["source"]["sha256"] == open_patches(patches).manifest["sha256"]
    store.verify()


def test_unregistered_patches_do_not(patches: Path) -> None:
    pixels = open_patches(patches).stack([0]).pixels[0]
    assert np.abs(pixels[0] - pixels[-1]).max() > 0.3


def test_a_wrong_principal_point_shows_unless_it_is_searched(
    patches: Path, camera: str, tmp_path: Path
) -> None:
    wrong = Registration("calibrated", camera, "30,-20", 40)
    register(patches, tmp_path / "calibrated", wrong, None, ignore)
    register(patches, tmp_path / "searched", replace(wrong, how="searched"), None, ignore)
    with pytest.raises(AssertionError):
        assert_registered(tmp_path / "calibrated", 0.1)
    assert_registered(tmp_path / "searched", 0.03)
    assert np.abs(open_patches(tmp_path / "searched").column("zoom_factor") - 1).max() < 0.1


def test_captures_keep_the_size_and_the_place_of_patches(captures: Path, camera: str, tmp_path: Path) -> None:
    found = register(captures, tmp_path / "out", Registration(camera=camera), None, ignore)
    assert found == Registered(size=SIZE, kept=2, dropped=2)  # two lie in corners of the frame
    assert_registered(tmp_path / "out", 0.01)
    store = open_patches(tmp_path / "out")
    assert [*zip(store.column("row"), store.column("col"), strict=True)] == [(88, 128), (120, 40)]


def test_two_processes_write_the_same_as_one(captures: Path, camera: str, tmp_path: Path) -> None:
    registration = Registration(camera=camera, size=40)
    for workers in (1, 2):
        with local_executor(workers) as executor:
            register(captures, tmp_path / str(workers), registration, executor, ignore, shard_size=2)
    one, two = (open_patches(tmp_path / str(workers)) for workers in (1, 2))
    assert one.manifest["sha256"] == two.manifest["sha256"]


def test_an_unregistered_store_is_opened_again_in_another_process(captures: Path, camera: str) -> None:
    unregistered = _open_unregistered(captures, Registration(camera=camera))
    again = pickle.loads(pickle.dumps(unregistered))
    assert again.store.format.size == unregistered.store.format.size > SIZE
    np.testing.assert_array_equal(again.store.stack([0]).pixels, unregistered.store.stack([0]).pixels)


def test_a_stopped_run_goes_on(patches: Path, camera: str, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    registration = Registration(camera=camera)
    with pytest.raises(KeyboardInterrupt):
        register(patches, tmp_path / "out", registration, None, stop, shard_size=2)
    seen: list[int] = []
    register(patches, tmp_path / "out", registration, None, lambda done, _: seen.append(done), shard_size=2)
    assert seen == [2, 4]
    register(patches, tmp_path / "whole", registration, None, ignore, shard_size=2)
    whole, resumed = open_patches(tmp_path / "whole"), open_patches(tmp_path / "out")
    assert whole.manifest == resumed.manifest


def test_patches_without_room_are_dropped(patches: Path, camera: str, tmp_path: Path) -> None:
    found = register(patches, tmp_path / "out", Registration(camera=camera, size=56), None, ignore)
    assert found.size == 56
    assert 0 < found.dropped < 4
    assert found.kept + found.dropped == 4
    with pytest.raises(ValueError, match="not for 64"):
        register(patches, tmp_path / "none", Registration(camera=camera, size=64), None, ignore)
    with pytest.raises(ValueError, match="at least 16"):
        register(patches, tmp_path / "none", Registration(camera=camera, size=8), None, ignore)
    assert not (tmp_path / "none").exists()


def test_another_camera_is_refused(patches: Path, camera: str, frames: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not where the camera pixel3 has them"):
        register(patches, tmp_path / "out", Registration(), None, ignore)
    unknown = write_patches(tmp_path / "unknown", frames, replace(FORMAT, grid=FocusGrid(range(6))))
    assert register(unknown, tmp_path / "out", Registration(camera=camera), None, ignore).kept == 4
    with pytest.raises(ValueError, match="6 slices, but the camera pixel3 49"):
        register(unknown, tmp_path / "refused", Registration(), None, ignore)


def test_a_registered_store_is_not_registered_again(patches: Path, camera: str, tmp_path: Path) -> None:
    register(patches, tmp_path / "once", Registration(camera=camera), None, ignore)
    with pytest.raises(ValueError, match="once is registered already"):
        register(tmp_path / "once", tmp_path / "twice", Registration(camera=camera), None, ignore)
    assert not (tmp_path / "twice").exists()
