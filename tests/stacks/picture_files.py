"""Small files of pictures that the tests write and read back."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from dioptre.errors import StackFileError
from dioptre.stacks.formats import read_pictures

ROWS, COLS = 12, 16


def noise(*shape: int, dtype: type = np.uint8, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def write(file: Path, picture: np.ndarray) -> Path:
    assert cv2.imwrite(str(file), picture)
    return file


def write_series(folder: Path, names: list[str], dtype: type = np.uint8) -> np.ndarray:
    pictures = noise(len(names), ROWS, COLS, dtype=dtype)
    for name, picture in zip(names, pictures, strict=True):
        write(folder / name, picture)
    return pictures


def refusal(path: Path) -> str:
    with pytest.raises(StackFileError) as caught:
        read_pictures(path)
    message = str(caught.value)
    assert "\n" not in message
    return message
