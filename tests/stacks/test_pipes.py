"""Pipes and devices that are called as files are: they are refused, and nobody waits for what they hold."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dioptre.errors import DioptreError
from dioptre.stacks.decoding import decode_colours
from dioptre.stacks.formats import open_look, open_stacks, read_photographs, read_pictures
from dioptre.store.maps import read_map
from tests.stacks.picture_files import ROWS, write_series

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes have names on POSIX systems")

SUFFIXES = (".png", ".jpg", ".tif", ".dng", ".heic", ".npy", ".npz", ".mp4", ".gif", ".nd2", ".czi", ".zarr")
IRREGULAR = "it is a pipe or a device, not a file|not a stack of pictures|pip install"


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        pytest.fail("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("device", [False, True])
def test_a_pipe_is_no_stack(tmp_path: Path, suffix: str, device: bool) -> None:
    path = tmp_path / f"s{suffix}"
    path.symlink_to("/dev/zero") if device else os.mkfifo(path)
    for read in (open_stacks, open_look):
        with pytest.raises(DioptreError, match=IRREGULAR):
            read(path)


@pytest.mark.parametrize("suffix", [".png", ".tif", ".dng", ".heic"])
def test_a_pipe_is_no_picture_of_a_folder(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f"f1{suffix}")
    for read in (read_pictures, read_photographs):
        with pytest.raises(DioptreError, match=rf"f1\{suffix}.*({IRREGULAR})"):
            read(tmp_path)


def test_a_pipe_among_pictures_is_named_when_it_is_read(tmp_path: Path) -> None:
    write_series(tmp_path, ["f0.png", "f1.png", "f2.png"])
    (tmp_path / "f1.png").unlink()
    os.mkfifo(tmp_path / "f1.png")
    (stack,) = open_stacks(tmp_path)
    assert stack.read(0).shape[1] == ROWS
    with pytest.raises(DioptreError, match=r"f1\.png cannot be read: it is a pipe or a device, not a file"):
        stack.read(1)
    with pytest.raises(OSError, match="it is a pipe"):
        decode_colours(tmp_path / "f1.png")


def test_a_pipe_is_no_map(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.ones((4, 4)))
    assert read_map(tmp_path / "m.npy").shape == (4, 4)
    os.mkfifo(tmp_path / "p.npy")
    with pytest.raises(DioptreError, match=r"p\.npy cannot be read: it is a pipe or a device, not a file"):
        read_map(tmp_path / "p.npy")
