"""Files that ask for more memory than they may: refused by their heads."""

import io
import os
import re
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile

from dioptre import resources
from dioptre.errors import CaptureFileError, FileError, InputError, MapFileError, StackFileError
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.resources import LIMIT, PIXEL_BYTES, PIXELS, largest_bytes, machine_bytes, read_text, set_limit
from dioptre.stacks.decoding import decode_picture
from dioptre.stacks.formats import read_pictures
from dioptre.store.format import StoreFormat
from dioptre.store.maps import read_map
from dioptre.store.published.archives import read_archive

TOO_MUCH = r"would take .* GB of memory, more than 0\.1 GB: --max-gigabytes allows more"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "0.1")


def test_the_limit_is_half_of_the_machine_or_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert largest_bytes() == 1e8
    set_limit(None)
    assert largest_bytes() == 1e8
    set_limit(2.5)
    assert largest_bytes() == 2.5e9
    monkeypatch.delenv(LIMIT)
    assert largest_bytes() == machine_bytes() / 2
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="--max-gigabytes is a positive number"):
            set_limit(wrong)


# OpenCV learns its limit while it is imported: these tests start processes of their own

READ = """
import resource, sys
from pathlib import Path
from dioptre.errors import DioptreError
from dioptre.stacks.decoding import decode_colours, decode_file, quiet_readers
from dioptre.store.maps import read_map
import cv2, tifffile
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in sys.argv[1:]:
    for read in (decode_file, decode_colours, read_map):
        try:
            with quiet_readers():
                read(Path(name))
        except DioptreError as error:
            print(error)
        else:
            print(name, "was read")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def python(script: str, *arguments: object, **variables: str) -> str:
    """Returns what a script prints in a process that inherits no limit."""
    env = {name: value for name, value in os.environ.items() if name not in (LIMIT, PIXELS)}
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        env={**env, **variables},
    ).stdout


def read_limited(gigabytes: float, *files: Path) -> tuple[list[str], int]:
    """Returns what is said of files, three lines of each, and by how many MiB memory grew."""
    *said, grown = python(READ, *files, **{LIMIT: str(gigabytes)}).splitlines()
    return said, int(grown)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def test_pictures_with_too_many_pixels_are_refused_by_opencv(tmp_path: Path) -> None:
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", 30000, 30000, 8, 0, 0, 0, 0))
    bomb = b"\x89PNG\r\n\x1a\n" + head + _chunk(b"IDAT", zlib.compress(bytes(1000))) + _chunk(b"IEND", b"")
    files = [tmp_path / "head.png"]
    files[0].write_bytes(bomb)
    for suffix in (".png", ".jpg", ".bmp", ".pgm", ".webp", ".tif", ".gif", ".avif"):
        grey = np.zeros((2600, 2600), np.uint8)  # 6.76 megapixels; 16 bytes of each are more than 0.1 GB
        picture = grey if suffix == ".pgm" else np.repeat(grey[..., None], 3, axis=2)
        files.append(tmp_path / f"{suffix[1:]}.png")  # content alone says what it is
        files[-1].write_bytes(cv2.imencode(suffix, picture)[1].tobytes())
    said, grown = read_limited(0.1, *files)
    why = "has more pixels than OpenCV was told to decode, 6250000: --max-gigabytes allows more, or "
    assert said == [f"{file} {why}{LIMIT}" for file in files for _ in range(3)]
    assert grown < 60  # nothing but what the largest file has, as it is
    assert all(" was read" in line for line in read_limited(0.2, *files[1:3])[0][::3])


def test_a_tiff_that_opencv_lets_through_is_refused_by_its_head(tmp_path: Path) -> None:
    """It counts pixels, not their bytes, and nothing of a tile."""
    tifffile.imwrite(
        tmp_path / "tile.tif", np.zeros((64, 64), np.uint8), tile=(8192, 16384), compression="zlib"
    )
    deep = np.zeros((2400, 2400, 3))
    tifffile.imwrite(tmp_path / "deep.tif", deep, photometric="rgb", compression="zlib")
    said, grown = read_limited(0.1, tmp_path / "tile.tif", tmp_path / "deep.tif")
    assert all(re.search(TOO_MUCH, line) for line in said)
    assert len(said) == 6
    assert grown < 30


def test_opencv_is_told_the_limit_before_it_is_imported() -> None:
    ask = f"import os, dioptre; print(os.environ.get({PIXELS!r}))"
    half = str(int(machine_bytes() / 2 / PIXEL_BYTES))
    assert python(ask).strip() == half
    assert python(ask, **{LIMIT: "0.16"}).strip() == "10000000"
    assert python(ask, **{PIXELS: "99"}).strip() == "99"  # its user's own word
    assert python(ask, **{PIXELS: "99", LIMIT: "0.16"}).strip() == "10000000"
    assert python(ask, **{LIMIT: "inf"}).strip().isdecimal()
    assert python(f"import cv2; {ask}").strip() == "None"  # too late: the limit is OpenCV's own
    commands = "import sys, dioptre.cli; dioptre.cli.main(sys.argv[1:]); import os; "
    for command in (("focus", "."), ("map", ".", "out"), ("import", ".", "out")):
        told = python(f"{commands}print(os.environ[{PIXELS!r}])", *command, "--max-gigabytes", "0.16")
        assert told.strip() == "10000000"


def test_many_small_pictures_are_a_large_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(3):
        cv2.imwrite(str(tmp_path / f"{at}.png"), np.zeros((64, 64), np.uint16))
    assert len(read_pictures(tmp_path).codes) == 3
    monkeypatch.setenv(LIMIT, "4e-5")  # two of them, as pixels
    with pytest.raises(StackFileError, match=r"would take 4\.92e-05 GB"):
        read_pictures(tmp_path)


def test_an_npz_bomb_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", stack=np.zeros((2, 8000, 8000), np.uint8))
    with pytest.raises(StackFileError, match=rf"bomb\.npz {TOO_MUCH}"):
        read_pictures(tmp_path / "bomb.npz")
    file = io.BytesIO()
    np.save(file, np.zeros((3, 8, 8), np.uint8))
    with zipfile.ZipFile(tmp_path / "odd.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("stack.npy", file.getvalue() + bytes(1000))
    with pytest.raises(StackFileError, match="the array stack is damaged: it has 1320 bytes, not 320"):
        read_pictures(tmp_path / "odd.npz")


def test_an_array_that_is_larger_than_its_file_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f4", "fortran_order": False, "shape": (2**40, 2**40)}
    )
    (tmp_path / "a.npy").write_bytes(file.getvalue())
    with pytest.raises(MapFileError, match="it has 128 bytes, not"):
        read_map(tmp_path / "a.npy")
    with pytest.raises(StackFileError, match="is cut short"):
        read_pictures(tmp_path / "a.npy")


def test_a_tiff_bomb_is_refused(tmp_path: Path) -> None:
    tifffile.imwrite(
        tmp_path / "a.tif", np.zeros((3, 3000, 20000), np.uint8), compression="zlib", photometric="minisblack"
    )
    with pytest.raises(StackFileError, match=rf"a\.tif {TOO_MUCH}"):
        read_pictures(tmp_path / "a.tif")


def test_an_archive_with_a_sparse_member_is_refused_without_reading_it(tmp_path: Path) -> None:
    member = tarfile.TarInfo("train1/merged_depth/a_0/result_merged_depth_center.png")
    member.size = 100 * 10**9
    with (tmp_path / "train1.tar").open("wb") as file:
        file.write(member.tobuf(tarfile.GNU_FORMAT))
        file.truncate(512 + member.size)  # holes, which take no room
    files = read_archive(tmp_path / "train1.tar", lambda _item: True, lambda _position: None)
    _, _, read = next(files)
    with pytest.raises(CaptureFileError, match=rf"result_merged_depth_center\.png {TOO_MUCH}"):
        read()
    files.close()


def test_a_size_that_is_larger_than_any_float_is_refused() -> None:
    with pytest.raises(FileError, match="would take 1e\\+291 GB of memory"):
        resources.refuse_larger("it", 10**400)


@pytest.mark.parametrize("suffix", [".jp2", ".hdr", ".pam", ".ras"])
def test_other_kinds_of_pictures_are_refused(suffix: str) -> None:
    content = cv2.imencode(suffix, np.zeros((64, 64, 3), np.uint8))[1].tobytes()
    with pytest.raises(StackFileError, match=r"f\.png cannot be read as a picture"):
        decode_picture(content, "f.png")


def test_a_camera_with_endless_positions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "camera.toml"
    CameraModel.pixel3().to_toml(path)
    head = path.read_text().split("[grid]")[0]
    path.write_text(f"{head}[grid]\nfar_m = 4.0\nnear_m = 0.1\nn = {2**31}\n")
    with pytest.raises(FileError, match=r"camera\.toml .* at most 1000000 positions, not n=2147483648"):
        CameraModel.from_toml(path)
    assert len(FocusGrid.uniform(n=1_000_000)) == 1_000_000


def test_text_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "MOST_TEXT", 1000)
    with pytest.raises(FileError, match="/dev/zero has more than"):
        read_text(Path("/dev/zero"))


# What `python -m lab.fuzz` found, as small as it goes


def test_an_array_of_nothing_times_endless_is_refused_silently(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f4", "fortran_order": False, "shape": (0, 2**53, 2**53)}
    )
    (tmp_path / "a.npy").write_bytes(file.getvalue())
    with pytest.raises(StackFileError, match="an array without pixels"):
        read_pictures(tmp_path / "a.npy")


def test_a_patch_is_not_larger_than_any_sensor() -> None:
    with pytest.raises(InputError, match="at most 65536 rows and columns"):
        StoreFormat(FocusGrid.learnaf(), 2**64, 2, 0.0, 1.0)
