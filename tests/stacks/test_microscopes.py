"""What people have beside pictures, TIFF and arrays: films, raw files, HEIF, Zarr, microscopes' own files."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import cv2
import numpy as np
import pytest
import tifffile

from dioptre.errors import MissingExtraError, StackFileError
from dioptre.stacks.axes import Wanted
from dioptre.stacks.decoding import green_of_raw
from dioptre.stacks.filenames import numbering
from dioptre.stacks.formats import open_pictures, open_stacks, read_pictures
from dioptre.stacks.series import gaps_in
from tests.stacks.nd2_files import write_nd2
from tests.stacks.picture_files import COLS, ROWS, noise, refusal, write, write_series

SMOOTH = [cv2.GaussianBlur(noise(48, 64, seed=at), (0, 0), 4) for at in range(4)]

# Lists and patterns


def test_pictures_that_are_listed_are_one_stack(tmp_path):
    expected = write_series(tmp_path, ["b2.png", "b10.png", "c.png"])
    (found,) = open_stacks([tmp_path / name for name in ("b10.png", "c.png", "b2.png")])
    np.testing.assert_array_equal(found.codes[:, 0], expected)
    (found,) = open_stacks(tmp_path / "b*.png")
    np.testing.assert_array_equal(found.codes[:, 0], expected[:2])
    with pytest.raises(StackFileError, match="named twice"):
        open_stacks([tmp_path / "c.png", tmp_path / "c.png"])
    with pytest.raises(StackFileError, match=r"no file or folder is called .*x\*\.png"):
        open_stacks(tmp_path / "x*.png")


def test_several_folders_and_files_are_several_stacks(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_series(tmp_path / name, ["0.png", "1.png"])
    np.save(tmp_path / "c.npy", noise(3, ROWS, COLS))
    found = open_stacks([tmp_path / name for name in ("a", "b", "c.npy")])
    assert [Path(one.source).name for one in found] == ["a", "b", "c.npy"]
    assert [len(one) for one in found] == [2, 2, 3]


def test_multi_page_files_in_a_list_are_stacks_of_their_own(tmp_path):
    for name in ("a.tif", "b.tif"):
        tifffile.imwrite(tmp_path / name, noise(3, ROWS, COLS), photometric="minisblack")
    write(tmp_path / "p1.tif", noise(ROWS, COLS))
    write(tmp_path / "p2.tif", noise(ROWS, COLS))
    found = open_stacks([tmp_path / name for name in ("a.tif", "p1.tif", "b.tif", "p2.tif")])
    assert sorted(len(one) for one in found) == [2, 3, 3]


def test_gaps_in_the_numbering_are_noticed(tmp_path):
    write_series(tmp_path, [f"f{at:03}.png" for at in (1, 2, 3, 5, 6, 9)])
    (note,) = open_pictures(tmp_path).notes
    assert note.endswith("gaps: f005.png comes after f003.png; f009.png comes after f006.png")


@pytest.mark.parametrize(
    "names",
    [
        [f"f{at}.png" for at in (10, 20, 30, 40)],  # every tenth
        [f"IMG_{at:.3f}.png" for at in (0.1, 0.15, 0.3, 0.9)],  # positions
        ["f1.png", "f2.png", "f9.png"],  # too few to tell
        ["a.png", "b.png", "c.png", "d.png"],
    ],
)
def test_other_numberings_have_no_gaps(names):
    assert gaps_in(names) == []
    assert numbering(["a1b2.png", "a2b3.png"]) is None


# Films


def test_a_film_is_its_frames(tmp_path):
    film = cv2.VideoWriter(str(tmp_path / "f.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 10, (64, 48))
    for one in SMOOTH:
        film.write(cv2.cvtColor(one, cv2.COLOR_GRAY2BGR))
    film.release()
    pictures = open_pictures(tmp_path / "f.avi")
    assert pictures.shape == (4, 1, 48, 64)
    assert pictures.display
    assert not pictures.parallel
    for at in (0, 3, 1, 1):
        assert np.abs(pictures.read(at)[0].astype(int) - SMOOTH[at]).max() <= 6
    whole = (tmp_path / "f.avi").read_bytes()
    for damaged in (b"", b"this is no film", whole[:100]):
        (tmp_path / "f.avi").write_bytes(damaged)
        assert "f.avi cannot be read as a film" in refusal(tmp_path / "f.avi")


# Camera raw files and phones' pictures


def test_green_of_a_mosaic_is_the_mean_of_its_greens_without_black():
    codes = np.arange(24, dtype=np.uint16).reshape(4, 6) + 100
    cell = np.array([[0, 1], [3, 2]])  # red, green, second green, blue
    found = green_of_raw(codes, cell, b"RGBG", [90, 100, 90, 101])
    assert found.shape == (2, 3)
    assert found[0, 0] == (1 + (6 - 1) + 1) // 2
    with pytest.raises(StackFileError, match="no Bayer mosaic"):
        green_of_raw(codes, cell, b"RCBY", [0, 0, 0, 0])


def test_a_raw_file_is_green_and_linear(tmp_path):
    pytest.importorskip("rawpy")
    mosaic = noise(48, 64, dtype=np.uint16) // 8 + 512
    for at in range(3):
        write_dng(tmp_path / f"{at}.dng", mosaic + at, black=512)
    pictures = read_pictures(tmp_path)
    expected = (mosaic[::2, 1::2].astype(int) + mosaic[1::2, ::2] + 1 - 1024) >> 1
    np.testing.assert_array_equal(pictures.codes[2, 0], expected + 2)
    assert not pictures.display
    (tmp_path / "1.dng").write_bytes(b"no raw file")
    assert "1.dng cannot be read as a camera raw file" in refusal(tmp_path)


def write_dng(file: Path, mosaic: np.ndarray, black: int) -> None:
    tags = [
        (33421, "H", 2, (2, 2), True),  # CFARepeatPatternDim
        (33422, "B", 4, (0, 1, 1, 2), True),  # CFAPattern: RGGB
        (50706, "B", 4, (1, 4, 0, 0), True),  # DNGVersion
        (50708, "s", 0, "Test", True),  # UniqueCameraModel
        (50714, "H", 1, black, True),  # BlackLevel
        (50717, "H", 1, 16383, True),  # WhiteLevel
        (50721, "2i", 9, (1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1), True),  # ColorMatrix1
    ]
    tifffile.imwrite(file, mosaic, photometric=32803, metadata=None, extratags=tags)


def test_pictures_count_before_the_raw_files_beside_them(tmp_path):
    write_series(tmp_path, ["1.jpg", "2.jpg"])
    (tmp_path / "1.nef").write_bytes(b"raw")
    assert read_pictures(tmp_path).names == ("1.jpg", "2.jpg")


@pytest.mark.parametrize("suffix", [".heic", ".avif"])
def test_pictures_of_phones_are_read(tmp_path, suffix):
    for at, one in enumerate(SMOOTH[:3]):
        colour = np.stack([np.zeros_like(one), one, np.full_like(one, 255)], axis=-1)
        if suffix == ".avif":
            write(tmp_path / f"{at}.avif", colour)
        else:
            heif = pytest.importorskip("pillow_heif")
            heif.from_bytes("RGB", (64, 48), colour.tobytes()).save(tmp_path / f"{at}.heic", quality=95)
    pictures = read_pictures(tmp_path)
    assert pictures.codes.shape == (3, 1, 48, 64)
    assert np.abs(pictures.codes[1, 0].astype(int) - SMOOTH[1]).mean() < 8
    assert pictures.display
    (tmp_path / f"1{suffix}").write_bytes(b"something else")
    assert f"1{suffix}" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [
        ("rawpy", "0.nef", "raw"),
        ("pillow_heif", "0.heic", "heif"),
        ("zarr", "s.zarr", "zarr"),
        ("nd2", "s.nd2", "nd2"),
        ("pylibCZIrw", "s.czi", "czi"),
    ],
)
def test_a_missing_reader_is_named_with_its_extra(tmp_path, monkeypatch, module, name, extra):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / name).write_bytes(b"something")
    path = tmp_path if name.startswith("0") else tmp_path / name
    with pytest.raises(MissingExtraError, match=rf"{name} .*pip install 'dioptre\[{extra}\]'"):
        open_pictures(path)


@pytest.mark.parametrize(
    ("name", "said"), [("a.lif", "Fiji"), ("a.dcm", "DICOM"), ("a.fits", "astropy"), ("a.zip", "unpack it")]
)
def test_what_is_not_read_is_named_with_what_would_read_it(tmp_path, name, said):
    (tmp_path / name).write_bytes(b"something")
    assert said in refusal(tmp_path / name)
    assert said in refusal(tmp_path)  # a folder of such


# Zarr


def test_ome_zarr_has_axes_channels_and_a_step(tmp_path):
    zarr = pytest.importorskip("zarr")
    stack = noise(2, 3, 4, ROWS, COLS, dtype=np.uint16)
    group = zarr.open_group(str(tmp_path / "s.zarr"), mode="w", zarr_format=2)
    array = group.create_array("0", shape=stack.shape, dtype=stack.dtype, chunks=(1, 1, 1, 8, 8))
    array[...] = stack
    axes = [{"name": one} for one in "tczyx"]
    axes[2]["unit"] = "micrometer"
    scale = {"type": "scale", "scale": [1.0, 1.0, 0.3, 0.1, 0.1]}
    level = {"path": "0", "coordinateTransformations": [scale]}
    group.attrs["multiscales"] = [{"axes": axes, "datasets": [level], "version": "0.4"}]
    group.attrs["omero"] = {"channels": [{"label": one} for one in ("DAPI", "GFP", "Cy5")]}
    (found,) = open_stacks(tmp_path / "s.zarr", Wanted(time=1, channel="gfp"))
    np.testing.assert_array_equal(found.codes[:, 0], stack[1, 1])
    np.testing.assert_allclose(found.grid.positions, [0.0, 0.3, 0.6, 0.9])
    assert len(open_stacks(tmp_path / "s.zarr")) == 6


def test_a_plain_zarr_is_read_as_an_array(tmp_path):
    zarr = pytest.importorskip("zarr")
    stack = noise(5, ROWS, COLS)
    zarr.save(str(tmp_path / "s.zarr"), stack)
    np.testing.assert_array_equal(read_pictures(tmp_path / "s.zarr").codes[:, 0], stack)
    zarr.save(str(tmp_path / "t.zarr"), np.moveaxis(stack, 0, -1).repeat(4, 0).repeat(4, 1))
    assert "looks turned" in refusal(tmp_path / "t.zarr")
    turned = read_pictures(tmp_path / "t.zarr", wanted=Wanted(axes="YXZ"))
    np.testing.assert_array_equal(turned.codes[:, 0, ::4, ::4], stack)


# Microscopes' own files: their readers' interfaces, as the files themselves cannot be written here


def test_nd2_is_read_frame_by_frame(tmp_path, monkeypatch):
    stack = noise(2, 4, 3, ROWS, COLS, dtype=np.uint16)  # time, slice, channel

    class File:
        sizes: ClassVar = {"T": 2, "Z": 4, "C": 3, "Y": ROWS, "X": COLS}
        dtype = stack.dtype
        metadata = SimpleNamespace(
            channels=[SimpleNamespace(channel=SimpleNamespace(name=one)) for one in ("a", "b", "c")]
        )

        def __init__(self, path: Any) -> None:
            assert Path(path).name == "s.nd2"

        def voxel_size(self) -> Any:
            return SimpleNamespace(x=0.1, y=0.1, z=2.0)

        def read_frame(self, at: int) -> np.ndarray:
            return stack.reshape(8, 3, ROWS, COLS)[at]

        def close(self) -> None:
            pass

    monkeypatch.setitem(sys.modules, "nd2", SimpleNamespace(ND2File=File))
    (tmp_path / "s.nd2").write_bytes(b"")
    (found,) = open_stacks(tmp_path / "s.nd2", Wanted(channel="b", time=1))
    np.testing.assert_array_equal(found.codes[:, 0], stack[1, :, 1])
    np.testing.assert_array_equal(found.grid.positions, [0.0, 2.0, 4.0, 6.0])


@pytest.mark.parametrize("step", [0.4, 0.0])
def test_an_nd2_file_is_read_by_its_own_library(tmp_path, step):
    pytest.importorskip("nd2")
    codes = np.random.default_rng(0).integers(0, 60000, (5, 2, 24, 32)).astype(np.uint16)
    write_nd2(tmp_path / "cells.nd2", codes, ["DAPI", "GFP"], step)
    first, second = open_stacks(tmp_path / "cells.nd2")
    np.testing.assert_array_equal(first.codes[:, 0], codes[:, 0])
    np.testing.assert_array_equal(second.codes[:, 0], codes[:, 1])
    assert (first.label, second.label) == ("channel DAPI", "channel GFP")
    if step:
        np.testing.assert_allclose(first.grid.positions, step * np.arange(5))
    else:
        assert first.grid is None  # nobody said, and the library says 1
