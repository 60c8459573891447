from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import cv2
import numpy as np

from dioptre import open_patches
from dioptre.cli import main
from dioptre.errors import InputError
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.pipeline.executors import local_executor
from dioptre.pipeline.settings import Simulation
from dioptre.pipeline.simulate import (
    SPLITS,
    _scene,
    conditions_of,
    photograph_hash,
    photographs_of,
    simulate,
    simulate_patch,
    split_of,
)
from dioptre.posterior import DepthPrior
from dioptre.simulate.surface_texture import Clutter
from dioptre.stacks.formats import read_photographs

TINY = Simulation(patches=3, seed=5)


def ignore(done: int, total: int) -> None:
    assert 0 <= done <= total


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("simulated") / "store"
    simulate(out, TINY, None, ignore, shard_size=2)
    return out


def test_a_simulated_store_opens(store: Path) -> None:
    patches = open_patches(store)
    assert len(patches) == 3
    stack = patches.stack([0, 2], indices=[0, 24, 48])
    assert stack.pixels.shape == (2, 3, 2, 128, 128)
    assert stack.grid == FocusGrid.learnaf()
    assert set(patches.column("split")) <= set(SPLITS)
    assert (np.abs(patches.column("where_x")) <= 1).all()
    for name in (
        "depth",
        "depth_spread",
        "beyond",
        "focusable",
        "lens_error",
        "sharp_at",
        "sharp_share",
        "kind",
        "light",
        "device",
        "capture",
    ):
        assert len(patches.column(name)) == 3


def test_a_simulated_store_tells_where_each_depth_is_sharp(store: Path) -> None:
    patches = open_patches(store)
    for row in patches.table.to_pylist():
        assert len(row["sharp_at"]) == len(row["sharp_share"]) >= row["focusable"]
        assert sum(row["sharp_share"]) <= 1 + 1e-9
        if len(row["sharp_at"]) == 1 and row["beyond"] == 0:
            label = float(patches.format.grid.dioptres_to_index(row["depth"]))
            assert row["sharp_at"][0] == pytest.approx(label - row["lens_error"], abs=1.5)


def test_the_same_seed_gives_the_same_bytes_with_two_workers(store: Path, tmp_path: Path) -> None:
    with local_executor(2) as executor:
        simulate(tmp_path / "again", TINY, executor, ignore, shard_size=2)
    assert bytes_of(tmp_path / "again") == bytes_of(store)


def test_a_stopped_run_goes_on_to_the_same_bytes(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "stopped"

    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(out, TINY, None, stop, shard_size=2)
    assert not (out / "manifest.json").exists()
    simulate(out, TINY, None, ignore, shard_size=2)
    assert bytes_of(out) == bytes_of(store)


def test_splits_share_no_surface() -> None:
    (one, _), (two, _) = (_scene(0, split, "center", "", 0, Clutter()) for split in ("train", "test"))
    assert not np.array_equal(one[0], two[0])


def test_only_scenes_for_training_hold_the_unusual_unless_it_is_asked_for() -> None:
    usual, asked = Simulation(), Simulation(beyond=0.2, featureless=0.1, prior="far")
    for split in SPLITS:
        conditions = conditions_of(usual, split)
        assert (conditions.layout.beyond > 0) == (conditions.featureless > 0) == (split == "train")
        assert conditions_of(asked, split).layout.beyond == 0.2
        assert conditions_of(asked, split).featureless == 0.1
        assert conditions_of(asked, split).layout.prior == DepthPrior.far()


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_share_is_from_0_to_1(share: float) -> None:
    with pytest.raises(InputError, match="beyond is a share from 0 to 1"):
        Simulation(beyond=share).check()


def test_a_scene_is_in_the_same_split_every_time() -> None:
    names = [split_of(Simulation(seed=1), scene) for scene in range(200)]
    assert names == [split_of(Simulation(seed=1), scene) for scene in range(200)]
    assert 0.7 < np.mean([name == "train" for name in names]) < 0.9
    assert {split_of(Simulation(split="test"), scene) for scene in range(20)} == {"test"}


def test_all_patches_of_a_scene_are_in_one_split() -> None:
    camera = CameraModel.pixel3()
    rows = [simulate_patch(camera, Simulation(seed=1), index)[1] for index in (0, 15, 16)]
    assert rows[0]["scene"] == rows[1]["scene"] != rows[2]["scene"]
    assert rows[0]["split"] == rows[1]["split"]


def test_photographs_are_in_one_split_each(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for number in range(20):
        cv2.imwrite(str(tmp_path / f"{number}.png"), rng.integers(0, 255, (40, 50), np.uint8))
    photographs = read_photographs(tmp_path)
    assert list(photographs) == [f"{number}.png" for number in range(20)]
    parts = {split: photographs_of(photographs, split) for split in SPLITS}
    assert [len(part) for part in parts.values()] == [16, 2, 2]
    found = {photograph_hash(one) for part in parts.values() for one in part}
    assert len(found) == 20


def test_photographs_become_textures(tmp_path: Path) -> None:
    stripes = np.tile(np.repeat([0, 255], 2), (40, 10)).astype(np.uint8)
    for number in range(10):
        cv2.imwrite(str(tmp_path / f"{number}.png"), stripes)
    with_them, _ = _scene(3, "train", "center", str(tmp_path), 0, Clutter())
    without, _ = _scene(3, "train", "center", "", 0, Clutter())
    assert any(not np.array_equal(one, two) for one, two in zip(with_them, without, strict=True))


def test_simulate_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    camera = CameraModel(20.0, 1.4, 4.0, (300, 400), FocusGrid.uniform(2.0, 0.4, 5))
    camera.to_toml(tmp_path / "mine.toml")
    arguments = [
        "simulate",
        str(tmp_path / "out"),
        "--patches",
        "2",
        "--workers",
        "1",
        "--prior",
        "5,4,3,2,1",
    ]
    assert main([*arguments, "--camera", str(tmp_path / "mine.toml"), "--light", "both"]) == 0
    patches = open_patches(tmp_path / "out")
    assert patches.stack([0]).pixels.shape == (1, 5, 2, 128, 128)
    assert list(patches.column("light")) == ["normal", "dark"]
    capsys.readouterr()
    assert main([*arguments, "--camera", str(tmp_path / "nowhere.toml")]) == 2
    assert "nowhere.toml" in capsys.readouterr().err
    assert main([*arguments, "--camera", str(tmp_path / "mine.toml")]) == 2
    assert "finished already" in capsys.readouterr().err


def test_a_prior_that_is_none_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a prior is even, far"):
        simulate(tmp_path / "out", Simulation(2, prior="near"), None, lambda *_: None)
    assert not (tmp_path / "out").exists()
