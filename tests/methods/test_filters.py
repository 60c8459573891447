"""The sums of the default measures are those of the kernels, and need no compiler."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from dioptre.methods.contrast import SIGMAS, gaussian_taps
from dioptre.methods.filters import distance_sums, magnitude_sums
from dioptre.methods.kernels import local_cells, sobel_cells
from dioptre.methods.measure import cell_edges

SHAPES = [(16, 16), (37, 90), (300, 260), (40, 1500)]  # small, odd, high, wide
CODES = 30688.0


def images(shape: tuple[int, int], floor: float) -> np.ndarray:
    pixels = floor + 0.5 * np.random.default_rng(2).random((3, *shape))
    return pixels.astype(np.float32)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("offset", [0.0, 0.4])
def test_distances_are_those_of_the_kernel(sigma: int, shape: tuple[int, int], offset: float) -> None:
    some, offsets, taps = images(shape, 0.0), np.full(3, offset), gaussian_taps(sigma)
    rows, cols = cell_edges(shape[0]), np.array([0, shape[1] // 3, shape[1]])
    expected = np.zeros((3, 3, len(rows) - 1, 2))
    local_cells(some, offsets, taps, CODES, True, rows, cols, expected)
    found = distance_sums(some, offsets, taps, CODES, rows, cols)
    np.testing.assert_allclose(found, expected[:, 2], rtol=5e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_magnitudes_are_those_of_the_kernel(shape: tuple[int, int]) -> None:
    some = images(shape, 0.2)
    rows, cols = cell_edges(shape[0] - 2), np.array([0, shape[1] // 2, shape[1] - 2])
    expected = np.zeros((3, 2, len(rows) - 1, 2))
    sobel_cells(some, np.array((), np.float32), rows, cols, expected)
    np.testing.assert_allclose(magnitude_sums(some, rows, cols), expected, rtol=5e-6)


def test_cells_may_begin_and_end_within_a_picture() -> None:
    some = images((100, 90), 0.2)
    rows, cols = np.array([40, 60, 92]), np.array([10, 30, 80])
    whole = magnitude_sums(some, np.arange(99), np.arange(89))
    expected = [
        [whole[:, :, a:b, c:d].sum(axis=(2, 3)) for c, d in ((10, 30), (30, 80))]
        for a, b in ((40, 60), (60, 92))
    ]
    found = magnitude_sums(some, rows, cols)
    np.testing.assert_allclose(found, np.moveaxis(np.array(expected), (0, 1), (2, 3)), rtol=1e-6)


SCRIPT = """
import sys
import dioptre
result = dioptre.focus("stack.npy")
assert "numba" not in sys.modules
print(result.index)
"""


def test_focus_does_not_load_a_compiler(tmp_path: Path) -> None:
    sharp = np.random.default_rng(0).random((80, 90))
    stack = np.stack([ndimage.gaussian_filter(sharp, 0.3 + abs(one - 4) / 2) for one in range(9)])
    np.save(tmp_path / "stack.npy", stack.astype(np.float32))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.stdout == "4\n", run.stderr
