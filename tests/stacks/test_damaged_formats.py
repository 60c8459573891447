"""Films and microscopes' files from strangers: recipes of what was found, each refused in a sentence."""

import json
import pickle
import struct
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from dioptre.stacks.formats import read_pictures
from lab.fuzz.formats import make_czi, make_nd2
from tests.stacks.picture_files import noise, refusal

CODES = noise(4, 16, 20, dtype=np.uint16)


# Films


def test_a_list_of_films_is_no_film(tmp_path: Path) -> None:
    film = cv2.VideoWriter(str(tmp_path / "other.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 10, (64, 48))
    film.write(np.zeros((48, 64, 3), np.uint8))
    film.release()
    (tmp_path / "list.avi").write_text("ffconcat version 1.0\nfile other.avi\n")
    assert "list.avi cannot be read as a film" in refusal(tmp_path / "list.avi")


# Zarr


def write_zarr(path: Path, **changed: Any) -> Path:
    """A Zarr of one chunk, with entries of its description changed."""
    told = {
        "zarr_format": 2, "shape": [4, 16, 20], "chunks": [4, 16, 20], "dtype": "<u2", "compressor": None,
        "fill_value": 0, "order": "C", "filters": None,
    }  # fmt: skip
    path.mkdir()
    (path / ".zarray").write_text(json.dumps(told | changed))
    (path / "0.0.0").write_bytes(CODES.tobytes())
    return path


def test_a_damaged_zarr_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    np.testing.assert_array_equal(read_pictures(write_zarr(tmp_path / "a.zarr")).codes[:, 0], CODES)
    (tmp_path / "a.zarr" / "0.0.0").write_bytes(b"cut")
    assert "a.zarr cannot be read" in refusal(tmp_path / "a.zarr")


def test_a_zarr_that_is_said_to_be_endless_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    many = write_zarr(tmp_path / "many.zarr", shape=[2**31, 16, 20])
    assert "more than 1000000 pictures" in refusal(many)
    assert "GB of memory" in refusal(write_zarr(tmp_path / "chunk.zarr", chunks=[2**20, 2**20, 20]))


@pytest.mark.parametrize("dtype", ["|O", "<u2"])
def test_a_zarr_with_pickles_is_refused_before_a_chunk_is_read(tmp_path: Path, dtype: str) -> None:
    pytest.importorskip("zarr")
    filters = [{"id": "vlen-utf8"}, {"id": "pickle"}] if dtype == "|O" else [{"id": "pickle"}]
    path = write_zarr(tmp_path / "a.zarr", dtype=dtype, filters=filters)
    (path / "0.0.0").write_bytes(pickle.dumps("harmless"))
    assert "a.zarr" in refusal(path)


# Nikon and Zeiss, read by their own libraries


def test_nd2_and_czi_are_read_and_refused_when_damaged(tmp_path: Path) -> None:
    for module, name, content in (
        ("nd2", "a.nd2", make_nd2(CODES)),
        ("pylibCZIrw", "a.czi", make_czi(CODES)),
    ):
        pytest.importorskip(module)
        (tmp_path / name).write_bytes(content)
        pictures = read_pictures(tmp_path / name)
        np.testing.assert_array_equal(pictures.codes[:, 0], CODES)
        assert pictures.grid is not None
        np.testing.assert_allclose(pictures.grid.positions, [0.0, 0.5, 1.0, 1.5])
        for damaged in (content[:200], content[: len(content) // 2], b"", b"hello"):
            (tmp_path / name).write_bytes(damaged)
            assert name in refusal(tmp_path / name)


def test_an_nd2_of_negative_size_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("nd2")
    (tmp_path / "a.nd2").write_bytes(make_nd2(CODES).replace(b'value="16"/><uiComp', b'value="-6"/><uiComp'))
    assert "a.nd2" in refusal(tmp_path / "a.nd2")


def test_a_czi_whose_blocks_are_larger_than_its_directory_says_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pylibCZIrw")
    content = make_czi(CODES)
    first = content.index(b"DV")  # the entry in the first block, not in the directory
    at = first + 32 + 8
    (tmp_path / "a.czi").write_bytes(content[:at] + struct.pack("<i", 10**9) + content[at + 4 :])
    assert "SubBlock-directory and sub-block information do not match" in refusal(tmp_path / "a.czi")


@pytest.mark.parametrize(("place", "form"), [(16, "<i"), (12, "<i"), (8, "<q")])
@pytest.mark.parametrize("count", [-1, 2**31 - 1])
def test_a_czi_whose_blocks_are_said_to_have_more_bytes_than_the_file_does_not_reach_its_library(
    tmp_path: Path, place: int, form: str, count: int
) -> None:
    pytest.importorskip("pylibCZIrw")
    content = make_czi(CODES)
    at = content.index(b"DV") - place  # metadata, attachment, pixels
    damaged = content[:at] + struct.pack(form, count) + content[at + struct.calcsize(form) :]
    (tmp_path / "a.czi").write_bytes(damaged)
    assert "its directory and its blocks tell of other sizes" in refusal(tmp_path / "a.czi")


def test_a_czi_without_a_directory_is_not_searched_for_ever(tmp_path: Path) -> None:
    pytest.importorskip("pylibCZIrw")
    content = bytearray(make_czi(CODES))
    content[16:24] = struct.pack("<q", -32)  # the next segment is this one
    content[32 + 52 : 32 + 60] = struct.pack("<q", 0)  # the place of the directory
    (tmp_path / "a.czi").write_bytes(bytes(content))
    assert "a.czi is damaged" in refusal(tmp_path / "a.czi")


@pytest.mark.parametrize("axes", [-1, 0, 0x7FFF0003, 41])
@pytest.mark.parametrize("where", ["block", "directory"])
def test_a_czi_whose_blocks_tell_of_wild_axes_does_not_reach_its_library(
    tmp_path: Path, axes: int, where: str
) -> None:
    pytest.importorskip("pylibCZIrw")  # which ends the process
    content = make_czi(CODES)
    entry = content.index(b"DV") if where == "block" else content.rindex(b"DV")
    (tmp_path / "a.czi").write_bytes(content[: entry + 28] + struct.pack("<i", axes) + content[entry + 32 :])
    assert "its directory and its blocks tell of other sizes" in refusal(tmp_path / "a.czi")
