"""A small rig in software, all the way: captures, poses and depth, patches, predictions, report."""

import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.pipeline.importing import import_captures
from dioptre.pipeline.predicting import predict_store
from dioptre.pipeline.reconstructing import reconstruct
from dioptre.pipeline.reporting import report
from dioptre.pipeline.settings import Captures, Import, Prediction, Reconstruct, Simulation
from dioptre.pipeline.simulate_captures import simulate_captures
from dioptre.store.maps import read_map
from dioptre.store.patches import open_patches
from dioptre.store.published.layout import labels_of_depth
from tests.marks import slow

# As wide a field as the phone's on few pixels, and as much blur for a position: frames that are small and
# still tell poses. No such lens could be built.
WIDE = CameraModel(0.71, 0.0455, 2.8, (240, 320), FocusGrid.uniform(3.91, 0.102, 49), 0.74, 0.25, "wide")
CAPTURE = "world000_0"


def quiet(_done: int, _total: int) -> None:
    pass


@slow
def test_labels_of_a_rig_are_near_the_truth_and_go_all_the_way_to_a_report(tmp_path: Path) -> None:
    toml = tmp_path / "wide.toml"
    WIDE.to_toml(toml)
    captures, maps, store = (tmp_path / name for name in ("captures", "maps", "store"))
    simulation = Simulation(seed=6, camera=str(toml), split="train", prior="far", exact_lens=True)
    simulate_captures(captures, simulation, Captures(captures=1, rig=True), None, quiet)

    summary = reconstruct(captures, maps, Reconstruct(camera=str(toml)), None, quiet)
    assert summary["captures"] == 1
    assert not summary["skipped"]
    folder = maps / "train1" / "reconstruction" / CAPTURE
    found, truth = np.load(folder / "center.npy"), np.load(captures / "truth" / CAPTURE / "center.npy")
    sure = read_map(maps / f"train1/merged_conf/{CAPTURE}/result_merged_conf_center.exr")
    sure = np.rot90(sure) >= 0.99
    error = found[sure] - truth[2::4, 2::4][sure]
    assert sure.mean() > 0.2
    assert abs(float(np.median(error))) < 0.03
    assert float(np.mean(np.abs(error) < 0.1)) > 0.9
    poses = json.loads((folder / "poses.json").read_text())
    assert abs(poses["parallax_over_focus"] - 1) < 0.2
    assert (folder / "index.html").is_file()
    assert (folder / "images.txt").read_text().count(".png") == 5

    kept = import_captures(captures, store, Import(maps=str(maps)), None, quiet)["splits"]["train"]
    grid = open_patches(store).format.grid
    right = labels_of_depth(truth.astype(np.float64), grid)
    rows = dict(zip(map(tuple, right.corners.tolist()), right.truth.tolist(), strict=True))
    labels = open_patches(store).table.to_pylist()
    assert 0 < kept["kept"] == len(labels) < kept["patches"]
    off = [abs(row["truth"] - rows[row["row"], row["col"]]) for row in labels]
    assert np.mean(np.array(off) <= 1) >= 0.8

    chosen = Prediction(methods="local-norm-dist-sq-4")
    predict_store(store, tmp_path / "predictions", chosen, None, quiet)
    report([tmp_path / "predictions"], tmp_path / "report")
    assert "local-norm-dist-sq-4" in (tmp_path / "report" / "tables.json").read_text()
