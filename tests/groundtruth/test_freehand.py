from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dioptre.errors import FileError, InputError
from dioptre.groundtruth.freehand import pose_pictures
from dioptre.pipeline.posing import pose_folder

SHAPE, FOCAL = (180, 240), 220.0
SPACING = 0.4


def texture(seed: int) -> np.ndarray:
    """Blots of all sizes."""
    rng = np.random.default_rng(seed)
    layers = [cv2.GaussianBlur(rng.random((800, 800)), (0, 0), size) for size in (2.0, 4.0, 9.0)]
    total = sum((one - one.mean()) / one.std() for one in layers)
    return np.clip(0.5 + 0.12 * total, 0, 1).astype(np.float32)


WALLS = [(np.array([0.0, 0.0, z]), tilt, texture(at), 220.0, half) for at, (z, tilt, half) in enumerate(
    [(2.2, 0.5, 0.35), (2.8, -0.4, 0.5), (4.0, 0.2, 9.0)])]  # fmt: skip


def picture(turn: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """What a camera sees of three boards, one before the other, tilted."""
    rows, cols = SHAPE
    v, u = np.mgrid[:rows, :cols]
    rays = np.stack([(u - (cols - 1) / 2) / FOCAL, (v - (rows - 1) / 2) / FOCAL, np.ones(SHAPE)])
    rays = np.einsum("ji,jrc->irc", turn, rays)
    seen = np.full(SHAPE, np.nan, np.float32)
    for at, (middle, tilt, paint, scale, half) in enumerate(WALLS):
        aside = np.array([0.5 * (at - 1) * (at < 2), 0.25 * (at - 0.5) * (at < 2), 0])
        place = middle + aside
        across, normal = np.array([np.cos(tilt), 0, np.sin(tilt)]), np.array([-np.sin(tilt), 0, np.cos(tilt)])
        reach = (normal @ (place - centre)) / np.einsum("i,irc->rc", normal, rays)
        hit = reach * rays + (centre - place)[:, None, None]
        x, y = np.einsum("i,irc->rc", across, hit), hit[1]
        colour = cv2.remap(
            paint, (scale * x + 400).astype(np.float32), (scale * y + 400).astype(np.float32),
            cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT,
        )  # fmt: skip
        here = np.isnan(seen) & (np.abs(x) < half) & (np.abs(y) < half) & (reach > 0)
        seen[here] = colour[here]
    return np.nan_to_num(seen, nan=0.5)


def walk(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses of somebody who walks past, looking at the boards."""
    at = np.linspace(-1, 1, count)
    centres = np.stack([0.5 * at, 0.1 * np.cos(3 * at), 0.15 * at**2], axis=1)
    turns = Rotation.from_rotvec(np.stack([0.02 * at, -0.16 * at, 0.05 * np.sin(4 * at)], axis=1)).as_matrix()
    return turns, centres


@pytest.fixture(scope="module")
def taken() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    turns, centres = walk(5)
    return [picture(*pose) for pose in zip(turns, centres, strict=True)], turns, centres


def test_pictures_are_placed_with_a_rough_focal_length(
    taken: tuple[list[np.ndarray], np.ndarray, np.ndarray],
) -> None:
    pictures, turns, centres = taken
    names = [str(at) for at in range(5)]
    poses = pose_pictures(pictures, names, 1.08 * FOCAL)
    assert sorted(poses.names) == names
    order = [int(name) for name in poses.names]
    first = turns[order[0]]
    true = (centres[order] - centres[order[0]]) @ first.T
    true /= np.mean(np.linalg.norm(true[1:], axis=1))
    assert np.abs(poses.centres - true).max() < 0.06
    for found, right in zip(poses.turns, turns[order] @ first.T, strict=True):
        assert np.degrees(Rotation.from_matrix(found @ right.T).magnitude()) < 0.8
    assert np.abs(poses.focals / FOCAL - 1).max() < 0.05
    assert poses.pixel < 0.3


def test_a_folder_of_pictures_becomes_json_and_a_colmap_model(
    tmp_path: Path, taken: tuple[list[np.ndarray], np.ndarray, np.ndarray]
) -> None:
    source = tmp_path / "pictures"
    source.mkdir()
    for at, one in enumerate([*taken[0], np.full(SHAPE, 0.5, np.float32)]):
        cv2.imwrite(str(source / f"{at}.png"), np.rint(255 * one).astype(np.uint8))
    summary = pose_folder(source, tmp_path / "out", FOCAL, 1e3 * SPACING, lambda _done, _all: None)
    assert summary["left_out"] == ["5.png"]
    assert summary["unit"] == "metre"
    away = [np.linalg.norm(one["centre"]) for one in summary["pictures"].values()]
    assert np.sum(away) / 4 == pytest.approx(SPACING, rel=0.01)
    lines = (tmp_path / "out" / "images.txt").read_text().splitlines()
    assert {line.split()[-1] for line in lines[::2]} == set(summary["pictures"])
    assert (tmp_path / "out" / "manifest.json").is_file()


def test_pictures_that_do_not_overlap_are_refused_with_the_folder(tmp_path: Path) -> None:
    for at in range(3):
        other = np.rint(255 * texture(20 + at)[:180, :240]).astype(np.uint8)
        cv2.imwrite(str(tmp_path / f"{at}.png"), other)
    with pytest.raises(FileError, match=r"no two of 3 pictures have 15 points in common"):
        pose_folder(tmp_path, tmp_path / "out", 0.0, 0.0, lambda _done, _all: None)
    with pytest.raises(InputError, match="two pictures or more, not 1"):
        pose_pictures([np.zeros((20, 20), np.float32)], ["a"], 100.0)
    cv2.imwrite(str(tmp_path / "4.png"), np.zeros((20, 30), np.uint8))
    with pytest.raises(FileError, match="of 2 sizes"):
        pose_folder(tmp_path, tmp_path / "out", 0.0, 0.0, lambda _done, _all: None)
