import io
from pathlib import Path

import pytest

pytest.importorskip("OpenEXR")

import cv2
import numpy as np
import OpenEXR

from dioptre.errors import MapFileError
from dioptre.store.maps import _exr_header, decode_exr, read_map
from tests.store.published_tree import write_exr

VALUES = np.random.default_rng(0).random((50, 30)).astype(np.float32)


def test_every_kind_of_file_comes_back(tmp_path: Path) -> None:
    write_exr(tmp_path / "a.exr", VALUES)
    np.save(tmp_path / "a.npy", VALUES)
    cv2.imwrite(str(tmp_path / "a.tiff"), VALUES)
    for name in ("a.exr", "a.npy", "a.tiff"):
        found = read_map(tmp_path / name)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, VALUES)
    millimetres = (VALUES * 5000).astype(np.uint16)
    cv2.imwrite(str(tmp_path / "a.png"), millimetres)
    found = read_map(tmp_path / "a.png")
    assert found.dtype == np.uint16
    np.testing.assert_array_equal(found, millimetres)


@pytest.mark.parametrize(
    "compression", ["NO_COMPRESSION", "ZIPS_COMPRESSION", "ZIP_COMPRESSION", "PIZ_COMPRESSION"]
)
def test_an_exr_cut_short_is_named_and_nothing_is_printed(
    compression: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.exr"
    header = {"compression": getattr(OpenEXR, compression), "type": OpenEXR.scanlineimage}
    OpenEXR.File(header, {"R": VALUES}).write(str(file))
    data = file.read_bytes()
    np.testing.assert_array_equal(decode_exr(data, "a.exr"), VALUES)
    for length in (0, 3, 8, 100, 400, len(data) // 2, len(data) - 1):
        with pytest.raises(MapFileError, match=r"b\.exr"):
            decode_exr(data[:length], "b.exr")
    said = capfd.readouterr()
    assert said.out == said.err == ""


def test_the_only_channel_is_taken_or_the_one_called_r(tmp_path: Path) -> None:
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    OpenEXR.File(header, {"Z": VALUES}).write(str(tmp_path / "z.exr"))
    np.testing.assert_array_equal(read_map(tmp_path / "z.exr"), VALUES)
    OpenEXR.File(header, {"A": VALUES, "R": 2 * VALUES}).write(str(tmp_path / "ar.exr"))
    np.testing.assert_array_equal(read_map(tmp_path / "ar.exr"), 2 * VALUES)
    OpenEXR.File(header, {"A": VALUES, "Z": VALUES}).write(str(tmp_path / "az.exr"))
    with pytest.raises(MapFileError, match="channels A, Z"):
        read_map(tmp_path / "az.exr")


def test_what_is_not_a_map_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "cube.npy", np.ones((2, 3, 4)))
    np.save(tmp_path / "text.npy", np.array(["a"]))
    (tmp_path / "bad.npy").write_bytes(b"nonsense")
    (tmp_path / "bad.png").write_bytes(b"nonsense")
    (tmp_path / "a.txt").write_bytes(b"1 2 3")
    expected = {
        "cube.npy": r"\(2, 3, 4\)",
        "text.npy": "numbers",
        "bad.npy": "readable",
        "bad.png": "damaged",
        "a.txt": r"\.npy",
        "none.exr": "No such file",
    }
    for name, said in expected.items():
        with pytest.raises(MapFileError, match=f"{name}.*{said}"):
            read_map(tmp_path / name)


@pytest.mark.parametrize("rows", [2**40, 2**62, 2**70])
def test_a_map_that_claims_more_than_any_memory_is_named(tmp_path: Path, rows: int) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (rows, 2**10)}
    )
    (tmp_path / "wild.npy").write_bytes(header.getvalue())
    with pytest.raises(MapFileError, match=r"wild\.npy is not a readable array"):
        read_map(tmp_path / "wild.npy")


@pytest.mark.parametrize("data", [b"PK\x03\x04 no zip", b"\x93NUMPY\x01\x00\x10\x00{'descr': (((((((", b""])
def test_a_damaged_array_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "bad.npy").write_bytes(data)
    with pytest.raises(MapFileError, match=r"bad\.npy is not a readable array"):
        read_map(tmp_path / "bad.npy")


def test_an_exr_whose_header_is_damaged_is_named(tmp_path: Path) -> None:
    write_exr(tmp_path / "a.exr", VALUES)
    data = (tmp_path / "a.exr").read_bytes()
    for entry in (b"dataWindow", b"channels", b"compression"):
        with pytest.raises(MapFileError, match=r"b\.exr"):
            decode_exr(data.replace(entry, entry[::-1]), "b.exr")


def test_an_exr_whose_chunks_lie_beyond_all_numbers_is_damaged(tmp_path: Path) -> None:
    write_exr(tmp_path / "map.exr", np.ones((12, 9), np.float32))
    content = (tmp_path / "map.exr").read_bytes()
    _, at = _exr_header(content)
    (tmp_path / "map.exr").write_bytes(content[:at] + b"\xff" * 8 + content[at + 8 :])
    with pytest.raises(MapFileError, match="damaged OpenEXR file"):
        read_map(tmp_path / "map.exr")
