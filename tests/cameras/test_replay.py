"""A recorded stack as a camera."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile

from dioptre.cameras.base import Camera
from dioptre.cameras.replay import ReplayCamera, open_device
from dioptre.errors import FileError, InputError
from dioptre.grid import FocusGrid
from dioptre.stack import FocalStack
from dioptre.store.recordings import Recording, write_recording
from tests.cameras.contract import CameraContract

N = 7


NEAR_FIRST = FocusGrid(100.0 - 2.5 * np.arange(N), "um", nearer=False)


def recorded(
    views: int = 2, where: bool = True, shuffled: bool = False, grid: FocusGrid | None = None
) -> FocalStack:
    rng = np.random.default_rng(0)
    pixels = rng.random((1, N, views, 16, 20)).astype(np.float32)
    order = rng.permutation(N) if shuffled else np.arange(N)
    place = np.array([[0.25, -0.5]]) if where else None
    return FocalStack(pixels[:, order], order[None], grid or FocusGrid.uniform(n=N), place)


class TestReplay(CameraContract):
    @pytest.fixture(
        params=[
            (1, True, False),
            (2, True, False),
            (2, False, True),
            (1, False, True),
            (1, False, False, NEAR_FIRST),
        ],
        ids=[
            "green",
            "two views",
            "two views, shuffled, anywhere",
            "green, shuffled, anywhere",
            "green, near first",
        ],
    )
    def camera(self, request: pytest.FixtureRequest) -> ReplayCamera:
        return ReplayCamera(recorded(*request.param))

    def position_of(self, camera: Camera) -> object:
        assert isinstance(camera, ReplayCamera)
        return list(camera.visited)


@pytest.mark.parametrize("shuffled", [False, True])
def test_what_was_recorded_is_captured_again(shuffled: bool) -> None:
    stack, camera = recorded(), ReplayCamera(recorded(shuffled=shuffled))
    for index in range(N):
        np.testing.assert_array_equal(camera.capture(index), stack.pixels[0, index])
    assert camera.visited == list(range(N))


def test_it_is_what_was_recorded() -> None:
    camera = ReplayCamera(recorded())
    assert camera.grid == FocusGrid.uniform(n=N)
    assert (camera.views, camera.shape, camera.where) == (2, (16, 20), (0.25, -0.5))
    assert ReplayCamera(recorded(where=False)).where is None


def test_every_slice_of_one_scene_is_needed() -> None:
    with pytest.raises(InputError, match="every slice of one scene once, not 3 slices of 7 positions"):
        ReplayCamera(recorded().at([0, 2, 4]))
    with pytest.raises(InputError, match="every slice of one scene once"):
        ReplayCamera(recorded().at([0, 1, 2, 3, 4, 5, 5]))
    twice = np.repeat(recorded().pixels, 2, axis=0)
    with pytest.raises(InputError, match="of 2 scenes"):
        ReplayCamera(FocalStack.full(twice, FocusGrid.uniform(n=N)))


# Folders and files


def replayed(folder: Path, grid: FocusGrid) -> ReplayCamera:
    """Records a small stack as taken somewhere, and opens it as a camera."""
    frames = recorded(views=1).pixels[0, : len(grid)]
    numbers = [None if np.isnan(one) else float(one) for one in grid.dioptres]
    known = Recording("test:", numbers, grid.unit, tuple(grid.positions.tolist()), nearer=grid.nearer)
    write_recording(folder, iter(frames), lambda: known)
    return open_device(str(folder))


@pytest.mark.parametrize(
    "grid",
    [
        FocusGrid(range(N)),
        FocusGrid.uniform(n=N),
        NEAR_FIRST,
        FocusGrid(range(200, 900, 100), "steps"),
        FocusGrid(np.linspace(0.0, 3.0, N), "dioptres"),
    ],
    ids=["slices", "slices with dioptres", "um", "steps", "dioptres"],
)
def test_a_recording_brings_its_positions_along_and_which_way_is_near(
    grid: FocusGrid, tmp_path: Path
) -> None:
    camera = replayed(tmp_path / "sweep", grid)
    assert camera.grid == grid
    assert camera.capture(2).shape == (1, 16, 20)
    entries = json.loads((tmp_path / "sweep" / "recording.json").read_text())
    assert (entries["unit"], entries["nearer"]) == (grid.unit, grid.nearer)
    assert entries["positions"] == grid.positions.tolist()


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (
            {"dioptres": [0.5, 1.0, 1.5], "unit": None, "positions": []},
            FocusGrid.of_dioptres([0.5, 1.0, 1.5]),
        ),
        ({"dioptres": [None] * 3, "unit": None, "positions": []}, FocusGrid(range(3))),
        (
            {"dioptres": [None] * 3, "unit": "steps", "positions": [100.0, 300.0, 500.0]},
            FocusGrid([100.0, 300.0, 500.0], "steps"),
        ),
    ],
    ids=["dioptres", "nothing known", "steps"],
)
def test_a_recording_of_the_first_release_still_opens(
    entries: dict, expected: FocusGrid, tmp_path: Path
) -> None:
    replayed(tmp_path / "sweep", FocusGrid(range(3)))
    told = {"kind": "recording", "dioptre": "0.1.0", "device": "test:", "where": None, "seconds": []}
    (tmp_path / "sweep" / "recording.json").write_text(json.dumps({**told, **entries}))
    assert open_device(str(tmp_path / "sweep")).grid == expected


def test_a_recording_whose_positions_turn_back_is_refused(tmp_path: Path) -> None:
    replayed(tmp_path / "sweep", FocusGrid(range(3), "um"))
    file = tmp_path / "sweep" / "recording.json"
    entries = json.loads(file.read_text())
    file.write_text(json.dumps({**entries, "positions": [0.0, 2.0, 1.0]}))
    with pytest.raises(FileError, match="does not describe a recording: positions must rise or fall"):
        open_device(str(tmp_path / "sweep"))
    file.write_text(json.dumps({**entries, "positions": [0.0, 2.0]}))
    with pytest.raises(FileError, match="3 slices have 2 positions"):
        open_device(str(tmp_path / "sweep"))


def test_of_any_other_folder_only_the_order_is_known_also_of_49_slices(tmp_path: Path) -> None:
    pictures = np.random.default_rng(0).integers(0, 255, (49, 16, 20), dtype=np.uint8)
    for at, one in enumerate(pictures):
        cv2.imwrite(str(tmp_path / f"slice_{at:02d}.png"), one)
    camera = open_device(str(tmp_path))
    assert camera.grid == FocusGrid(range(49))
    assert not camera.grid.known


def test_a_microscope_s_file_brings_its_micrometres(tmp_path: Path) -> None:
    path = tmp_path / "stack.tif"
    pictures = np.random.default_rng(0).integers(0, 255, (5, 16, 20), dtype=np.uint8)
    tifffile.imwrite(path, pictures, imagej=True, metadata={"axes": "ZYX", "spacing": 0.5, "unit": "um"})
    camera = open_device(str(path))
    assert camera.grid.unit == "um"
    assert camera.grid.positions.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
