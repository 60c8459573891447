"""Stores of wide pictures: written in pieces, resumed, read as crops."""

import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre.errors import FileError, InputError
from dioptre.grid import FocusGrid
from dioptre.pipeline.verifying import verify
from dioptre.stack import codes_to_pixels
from dioptre.store.depth_images import DepthImages, DepthImageWriter
from dioptre.store.format import StoreFormat

SIZE, SCALE = 16, 4
FORM = StoreFormat(FocusGrid.uniform(n=5), SIZE, 2, 64.0, 1023.0)


def shard(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(100, 900, (3, 2, FORM.native_rows, SIZE)).astype(np.uint16)
    depths = rng.uniform(0, 5, (3, SIZE // SCALE, SIZE // SCALE)).astype(np.float32)
    return codes, depths, rng.uniform(0, 5, 3)


def write(folder: Path) -> Path:
    writer = DepthImageWriter(folder, FORM, {"seed": 1}, ("validation", "train"))
    assert writer.begin() == [0, 1]
    writer.write_shard(1, *shard(1))
    assert writer.begin() == [0]
    writer.write_shard(0, *shard(0))
    writer.finish()
    return folder


def test_a_crop_is_a_part_of_the_picture_and_its_defocus(tmp_path: Path) -> None:
    store = DepthImages(write(tmp_path / "wide"), "train")
    codes, depths, focus = shard(1)
    assert (len(store), store.scale) == (3, SCALE)
    whole, defocus = store.crop(2, 0, 0, SIZE)
    np.testing.assert_allclose(defocus, focus[2] - depths[2], atol=1e-6)
    here = 0.25 * codes[2, :, :-2].astype(np.float32) + 0.75 * codes[2, :, 1:-1]
    np.testing.assert_allclose(whole[:, ::2], codes_to_pixels(here, FORM.black, FORM.white), atol=1e-6)
    part, some = store.crop(2, 4, 8, 8)
    np.testing.assert_array_equal(part, whole[:, 4:12, 8:16])
    np.testing.assert_array_equal(some, defocus[1:3, 2:4])


def test_another_folder_or_split_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "wide")
    with pytest.raises(InputError, match="no pictures of the split test"):
        DepthImages(folder, "test")
    with pytest.raises(FileError, match="finished already"):
        DepthImageWriter(folder, FORM, {"seed": 1}, ("train",)).begin()
    with pytest.raises(FileError, match="there is no folder"):
        DepthImages(tmp_path / "none", "train")


@pytest.mark.parametrize("name", ["codes", "depths", "focus"])
def test_a_shard_that_does_not_fit_is_named(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "wide")
    file = folder / "pictures" / "00001.npz"
    arrays = dict(zip(("codes", "depths", "focus"), shard(1), strict=True))
    for damaged in (arrays[name][:2], arrays[name].astype(np.complex64), arrays[name][..., None]):
        with file.open("wb") as opened:
            np.savez(opened, **{**arrays, name: damaged})
        with pytest.raises(FileError, match=r"00001\.npz"):
            len(DepthImages(folder, "train"))


def test_a_written_store_is_verified_and_a_changed_one_noticed(tmp_path: Path) -> None:
    folder = write(tmp_path / "wide")
    assert verify(folder, lambda _done, _total: None).faults == ()
    file = folder / "pictures" / "00001.npz"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    (fault,) = verify(folder, lambda _done, _total: None).faults
    assert "00001.npz has changed" in fault


def test_a_depth_that_is_no_number_is_refused(tmp_path: Path) -> None:
    writer = DepthImageWriter(tmp_path / "s", FORM, {"seed": 1}, ("train",))
    writer.begin()
    codes, depths, focus = shard(0)
    writer.write_shard(0, codes, depths, focus + 1e300)
    writer.finish()
    with pytest.raises(FileError, match="a depth that is no number"):
        DepthImages(tmp_path / "s", "train").crop(0, 0, 0, SIZE)


def test_a_format_whose_rows_are_not_halved_is_refused(tmp_path: Path) -> None:
    manifest = json.loads((write(tmp_path / "s") / "manifest.json").read_text())
    manifest["format"]["rows_per_native"] = 1
    (tmp_path / "s" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(FileError, match="has codes of shape"):
        DepthImages(tmp_path / "s", "train").crop(0, 0, 0, SIZE)
