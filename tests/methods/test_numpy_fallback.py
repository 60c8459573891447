"""The default measures without their kernels give the kernels' answers."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from dioptre.focusing.arguments import DEFAULT_MEASURE, DEFAULT_METHOD
from dioptre.methods import find_method
from dioptre.methods.contrast import MEASURES, Contrast
from dioptre.methods.kernels import distance_cells
from dioptre.stack import FocalStack

KEYS = [key for key in MEASURES if key.startswith("local-norm-dist-sq")]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("shape", [(16, 16), (37, 90), (300, 260)])
@pytest.mark.parametrize("floor", [0.0, 0.4])
def test_answers_are_those_of_the_kernel(key: str, shape: tuple[int, int], floor: float) -> None:
    pixels = floor + 0.5 * np.random.default_rng(2).random((1, 4, 1, *shape))
    stack = FocalStack.full(pixels.astype(np.float32))
    compiled, plain = (Contrast(key, compiled=one).scores(stack) for one in (True, False))
    np.testing.assert_allclose(plain, compiled, rtol=2e-6)


def test_a_flat_picture_has_no_contrast() -> None:
    stack = FocalStack.full(np.full((1, 2, 1, 40, 50), 0.3, np.float32))
    assert (Contrast(DEFAULT_MEASURE, compiled=False).scores(stack) == 0).all()


def test_what_is_compiled_is_used() -> None:
    stack = FocalStack.full(np.ones((1, 1, 1, 16, 16), np.float32))
    Contrast(DEFAULT_MEASURE).scores(stack)
    assert distance_cells.signatures
    assert Contrast(DEFAULT_MEASURE).without_compiling().compiled
    assert Contrast("wavelet-sum-2").without_compiling().compiled  # which cannot do without


SCRIPT = """
import numpy as np
from dioptre.focusing.focus import focus
from dioptre.methods.kernels import distance_cells
stack = np.load("stack.npy")
result = focus(stack)
print(len(distance_cells.signatures), result.scores.tolist())
"""


def test_a_first_answer_compiles_nothing(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    sharp = np.random.default_rng(0).random((80, 90))
    stack = np.stack([ndimage.gaussian_filter(sharp, 0.3 + abs(one - 4) / 2) for one in range(9)])
    np.save(tmp_path / "stack.npy", stack.astype(np.float32))
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    compiled, found = run.stdout.split(" ", 1)
    assert compiled == "0"
    assert not list(tmp_path.rglob("*.nbi"))
    pixels = np.clip(stack, 0, 1).astype(np.float32)
    expected = find_method(DEFAULT_METHOD).build().scores(FocalStack.full(pixels[None, :, None]))[0]
    np.testing.assert_allclose(eval(found), expected, atol=1e-5)


@pytest.mark.parametrize("key", ["gradient-magnitude-variance", "dioptre-contrast"])
@pytest.mark.parametrize("shape", [(16, 16), (37, 90), (300, 260)])
def test_gradients_are_those_of_the_kernel(key: str, shape: tuple[int, int]) -> None:
    pixels = 0.2 + 0.5 * np.random.default_rng(3).random((1, 3, 1, *shape))
    stack = FocalStack.full(pixels.astype(np.float32))
    compiled, plain = (Contrast(key, compiled=one).scores(stack) for one in (True, False))
    np.testing.assert_allclose(plain, compiled, rtol=5e-5)
