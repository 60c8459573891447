"""Tiles that are scored in one pass with the whole picture are nearly what each of them scores alone."""

import numpy as np
import pytest
from scipy import ndimage

from dioptre.methods import scores
from dioptre.methods.contrast import Contrast
from dioptre.methods.tiles import LEAST, tiles_of
from dioptre.stack import FocalStack

LAYOUT = (2, 3)
CELLS = ["local-norm-dist-sq-4", "local-ratio-2", "laplacian-variance", "gradient-magnitude-mean",
         "total-variation-l2", "intensity-variance"]  # fmt: skip


@pytest.fixture(scope="module")
def stack() -> FocalStack:
    rng = np.random.default_rng(1)
    sharp = rng.random((2 * LEAST + 5, 3 * LEAST + 7))
    slices = np.stack([ndimage.gaussian_filter(sharp, 0.5 + one) for one in range(3)])
    return FocalStack.full(slices.astype(np.float32)[None, :, None])


@pytest.mark.parametrize("key", CELLS)
def test_the_whole_is_the_same_and_tiles_nearly_so(stack: FocalStack, key: str) -> None:
    found = Contrast(key).tiled_scores(stack, LAYOUT)
    assert found is not None
    whole, tiles = found
    np.testing.assert_allclose(whole, scores(stack, [key])[key][0], rtol=1e-6)
    alone = tiles_of(stack.pixels[0], LAYOUT)
    assert alone is not None
    expected = scores(FocalStack.full(alone), [key])[key]
    blurred = key.startswith("local")  # which reaches beyond a tile's border
    np.testing.assert_allclose(tiles, expected, rtol=0.08 if blurred else 1e-5)


@pytest.mark.parametrize("key", ["wavelet-sum-2", "histogram-entropy", "eigenvalue-trace"])
def test_what_takes_a_tile_as_a_unit_wants_a_pass_of_its_own(stack: FocalStack, key: str) -> None:
    assert Contrast(key).tiled_scores(stack, LAYOUT) is None


def test_small_tiles_want_a_pass_of_their_own(stack: FocalStack) -> None:
    assert Contrast("laplacian-variance").tiled_scores(stack, (4, 4)) is None


def test_a_slice_that_is_not_finite_has_no_score(stack: FocalStack) -> None:
    pixels = stack.pixels.copy()
    pixels[0, 1, 0, 3, 4] = np.nan
    found = Contrast("local-norm-dist-sq-4").tiled_scores(FocalStack.full(pixels), LAYOUT)
    assert found is not None
    whole, tiles = found
    assert np.isneginf(whole[1])
    assert np.isneginf(tiles[:, 1]).all()
    assert np.isfinite(tiles[:, [0, 2]]).all()
