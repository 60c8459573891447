import pickle
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre.errors import FileError, InputError
from dioptre.optics import CameraModel
from dioptre.pipeline.reconstructing import Job, _captures, _working, nominal_rig, observe_files, reconstruct
from dioptre.pipeline.settings import Reconstruct
from tests.store.published_tree import write_tree


def quiet(_done: int, _total: int) -> None:
    pass


def test_a_capture_that_lacks_cameras_is_left_out_by_name_and_has_no_depth(tmp_path: Path) -> None:
    source = write_tree(tmp_path / "captures", {"train1": ["apt1_0"]})
    with pytest.raises(FileError, match=r"apt1_0: it lacks the camera left, right, top, bottom"):
        reconstruct(source, tmp_path / "out", Reconstruct(), None, quiet)
    assert not list((tmp_path / "out").rglob("*depth*"))
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_asked_to_stop_it_stops_with_a_remedy(tmp_path: Path) -> None:
    source = write_tree(tmp_path / "captures", {"train1": ["apt1_0"]}, slices=[0])
    with pytest.raises(FileError, match=r"apt1_0.*--on-error skip"):
        reconstruct(source, tmp_path / "out", Reconstruct(on_error="stop"), None, quiet)


def test_pieces_can_be_sent_to_workers_elsewhere(tmp_path: Path) -> None:
    source = write_tree(tmp_path / "captures", {"train1": ["apt1_0"]})
    job = Job(tmp_path / "out", Reconstruct(), CameraModel.pixel3(), {"spacing_mm": 60.0})
    piece = pickle.loads(pickle.dumps(partial(observe_files, job, _captures(source)[0])))
    assert piece()["fault"].startswith("apt1_0: it lacks the camera left")
    assert (tmp_path / "out" / "train1" / "reconstruction" / "apt1_0" / "told.json").is_file()


def test_a_folder_without_captures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no captures"):
        reconstruct(tmp_path, tmp_path / "out", Reconstruct(), None, quiet)
    with pytest.raises(FileError, match="there is no folder"):
        reconstruct(tmp_path / "nowhere", tmp_path / "out", Reconstruct(), None, quiet)


def test_what_is_told_of_a_rig_goes_before_what_lies_there() -> None:
    camera = CameraModel.pixel3()
    assert nominal_rig(Reconstruct(), camera, {}).spacing_m == pytest.approx(0.06)
    assert nominal_rig(Reconstruct(), camera, {"spacing_mm": 15.2}).spacing_m == pytest.approx(0.0152)
    told = nominal_rig(Reconstruct(spacing_mm=50.0), camera, {"spacing_mm": 15.2})
    assert told.spacing_m == pytest.approx(0.05)
    assert np.mean(np.linalg.norm(told.centres[1:], axis=1)) == pytest.approx(0.05)
    with pytest.raises(InputError, match=r"rig\.json does not describe a rig"):
        nominal_rig(Reconstruct(), camera, {"spacing_mm": "wide"})


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_working_pixels_are_means_of_the_frames(factor: int) -> None:
    codes = np.full((24, 64), 1024 + 1534, np.uint16)
    working = _working(codes, factor)
    assert working.shape == (48 // factor, 64 // factor)
    assert np.allclose(working, 1534 / 15344, atol=1e-6)


def test_a_fault_is_looked_at_again_once_it_may_be_repaired(tmp_path: Path) -> None:
    source = write_tree(tmp_path / "captures", {"train1": ["apt1_0"]})
    job = Job(tmp_path / "out", Reconstruct(), CameraModel.pixel3(), {})
    files = _captures(source)[0]
    told = tmp_path / "out" / "train1" / "reconstruction" / "apt1_0" / "told.json"
    assert observe_files(job, files)["fault"]
    told.write_text(told.read_text().replace("it lacks the camera", "something else"))
    assert "it lacks the camera" in observe_files(job, files)["fault"]
    told.write_text('{"capture": "apt1_0", "fault": "", "told": null}')
    assert observe_files(job, files) == {"capture": "apt1_0", "fault": "", "told": None}
