import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre.errors import InputError
from dioptre.optics import CameraModel
from dioptre.pipeline.importing import import_captures
from dioptre.pipeline.settings import Captures, Import, Simulation
from dioptre.pipeline.simulate_captures import camera_of, rig_of, simulate_captures
from dioptre.simulate.frame import WorldView
from dioptre.simulate.sweeps import Light
from dioptre.store.patches import open_patches
from dioptre.store.published.layout import is_tree

SIMULATION = Simulation(seed=4, split="train", light="normal", prior="far")
SMALL = Captures(captures=1, frame="128x168")


def quiet(_done: int, _total: int) -> None:
    pass


def sure_everywhere(seen: WorldView, _light: Light) -> np.ndarray:
    return np.ones((seen.frame[0] // 4, seen.frame[1] // 4), np.float32)


def test_a_whole_capture_of_one_phone_is_imported_with_its_true_depth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "dioptre.pipeline.simulate_captures"
    monkeypatch.setattr(f"{module}.confidence_map", sure_everywhere)  # or few of so small a frame would be
    out = tmp_path / "captures"
    simulate_captures(out, SIMULATION, SMALL, None, quiet)
    assert is_tree(out)
    truth = json.loads((out / "truth/world000_0/center.json").read_text())
    assert len(truth["focus"]) == 49
    depth = np.load(out / "truth/world000_0/center.npy")
    assert depth.shape == (128, 168)
    summary = import_captures(out, tmp_path / "store", Import(), None, quiet)
    assert summary["splits"]["train"]["kept"] == 2
    store = open_patches(tmp_path / "store")
    assert store.format.size == 128
    grid = store.format.grid
    middle = np.median(depth[:, :128])
    assert abs(int(store.table["truth"][0].as_py()) - int(grid.nearest_index(middle))) <= 1


@pytest.mark.parametrize(
    ("captures", "what"),
    [
        (Captures(captures=0), "number of captures"),
        (Captures(captures=1, frame="wide"), "ROWSxCOLS"),
        (Captures(captures=1, frame="100x100"), "at least 128"),
        (Captures(captures=1, frame="1600x2016"), "larger than the sensor"),
        (Captures(captures=1, spacing_mm=-1.0), "spacing"),
        (Captures(captures=1, binned=0), "binned"),
    ],
)
def test_impossible_captures_are_refused_before_a_folder_is_begun(
    tmp_path: Path, captures: Captures, what: str
) -> None:
    with pytest.raises(InputError, match=what):
        simulate_captures(tmp_path / "out", SIMULATION, captures, None, quiet)
    assert not (tmp_path / "out").exists()


def test_phones_of_a_rig_see_the_same_world_from_their_own_places() -> None:
    captures = Captures(captures=1, rig=True, frame="128x168")
    rig = rig_of(SIMULATION, captures, CameraModel.pixel3())
    again = rig_of(SIMULATION, captures, CameraModel.pixel3())
    assert [one.name for one in rig.phones] == ["center", "left", "right", "top", "bottom"]
    for one, other in zip(rig.phones, again.phones, strict=True):
        assert np.array_equal(one.rotation, other.rotation)
    left = rig.phones[1]
    assert left.centre[2] > rig.phones[2].centre[2] - 0.002


def test_binned_frames_have_the_field_of_whole_ones() -> None:
    whole, binned = (camera_of(SIMULATION, Captures(captures=1, binned=side)) for side in (1, 4))
    assert whole.frame == CameraModel.pixel3().frame
    assert binned.frame == (376, 504)
    assert binned.focal_length_px == pytest.approx(whole.focal_length_px / 4)
    assert np.array_equal(binned.grid.dioptres, whole.grid.dioptres)
