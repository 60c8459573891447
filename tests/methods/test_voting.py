"""Parts that vote: where most of a region is sharp decides, and not where its contrast is highest."""

import numpy as np
import pytest
from scipy import ndimage

from dioptre.focusing.focus import focus
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS, scores, tile_curves
from dioptre.methods.tiles import tiles_of
from dioptre.methods.voting import SAY, ballots
from dioptre.stack import FocalStack

KEY, MEASURE = "dioptre-vote", "dioptre-contrast"
SLICES = 17


def texture(rng: np.random.Generator, shape: tuple[int, int] = (128, 128)) -> np.ndarray:
    return ndimage.gaussian_filter(rng.random(shape), 1.0)


def blurred(sharp: np.ndarray, at: int, slices: int = SLICES) -> np.ndarray:
    return np.stack([ndimage.gaussian_filter(sharp, 0.3 + 0.7 * abs(one - at)) for one in range(slices)])


def stack_of(slices: np.ndarray) -> FocalStack:
    return FocalStack.full(slices.astype(np.float32)[None, :, None], FocusGrid(range(len(slices))))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_a_ballot_rises_from_nothing_to_what_a_tile_has_to_say() -> None:
    tiles = np.array([[1.0, 4.0, 2.0], [0.0, 0.5, 1.0], [3.0, 3.0, 3.0]])
    found = ballots(tiles)
    np.testing.assert_allclose(found[0], 0.75**SAY * np.array([0, 1, 1 / 3]))
    np.testing.assert_allclose(found[1], [0, 0.5, 1])
    assert not found[2].any()  # it tells nothing


def test_slices_that_a_tile_does_not_score_get_no_vote() -> None:
    tiles = np.array([[1.0, -np.inf, 2.0], [-np.inf, -np.inf, -np.inf]])
    np.testing.assert_allclose(ballots(tiles), [[0, 0, 0.5**SAY], [0, 0, 0]])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_ballots_do_not_depend_on_the_unit_of_scores(scale: float, rng: np.random.Generator) -> None:
    tiles = rng.random((5, 9))
    np.testing.assert_allclose(ballots(scale * tiles), ballots(tiles), rtol=1e-9)


def test_the_larger_part_decides_and_not_the_one_with_the_most_contrast(rng: np.random.Generator) -> None:
    wall = 0.4 + 0.1 * (texture(rng) - 0.5)
    slices = blurred(wall, 4)
    slices[:, 32:64, 32:64] = blurred(0.5 + 2.0 * (texture(rng, (32, 32)) - 0.5), 12)
    found = scores(stack_of(np.clip(slices, 0, 1)), [KEY, MEASURE])
    assert found[MEASURE][0].argmax() == 12
    assert found[KEY][0].argmax() == 4


def test_a_small_thing_before_a_plain_wall_is_not_voted_down(rng: np.random.Generator) -> None:
    slices = np.full((SLICES, 128, 128), 0.4)
    slices[:, :32, 96:] = blurred(texture(rng, (32, 32)), 11)
    slices += 0.003 * rng.standard_normal(slices.shape)
    assert scores(stack_of(slices), [KEY])[KEY][0].argmax() == 11


def test_of_a_region_without_tiles_the_measure_decides(rng: np.random.Generator) -> None:
    stack = stack_of(blurred(texture(rng, (31, 31)), 6))
    found = scores(stack, [KEY, MEASURE])
    np.testing.assert_array_equal(found[KEY], found[MEASURE])


def test_a_slice_that_is_not_finite_has_no_score(rng: np.random.Generator) -> None:
    slices = blurred(texture(rng), 6)
    slices[6, 3, 3] = np.nan
    found = scores(stack_of(slices), [KEY])[KEY][0]
    assert found[6] == -np.inf
    assert np.isfinite(np.delete(found, 6)).all()
    assert found.argmax() in (5, 7)


def test_a_flat_stack_has_no_peak() -> None:
    found = scores(stack_of(np.full((5, 64, 64), 0.3)), [KEY])[KEY]
    assert np.ptp(found) == 0


def test_the_curve_is_the_mean_of_the_ballots_that_it_is_judged_by(rng: np.random.Generator) -> None:
    stack = stack_of(blurred(texture(rng), 9))
    tiles = tiles_of(stack.pixels[0])
    assert tiles is not None
    parts = tile_curves(FocalStack.full(tiles, stack.grid), [KEY, MEASURE])
    np.testing.assert_allclose(parts[KEY].mean(axis=0), scores(stack, [KEY])[KEY][0], rtol=1e-12)
    np.testing.assert_array_equal(parts[KEY], ballots(parts[MEASURE]))


def test_focus_finds_what_scores_find(rng: np.random.Generator) -> None:
    slices = blurred(texture(rng), 9).astype(np.float32)
    result = focus(slices, KEY)
    assert result.index == 9
    np.testing.assert_allclose(result.scores, scores(stack_of(slices), [KEY])[KEY][0], rtol=1e-9)
    turned = focus(slices[::-1], KEY, grid=np.linspace(5, 1, SLICES))
    assert turned.index == SLICES - 1 - 9


def test_scores_of_several_scenes_in_any_order_are_those_of_each(rng: np.random.Generator) -> None:
    slices = [blurred(texture(rng), at) for at in (3, 14)]
    pixels = np.stack(slices).astype(np.float32)[:, :, None]
    indices = np.stack([rng.permutation(SLICES) for _ in slices])
    shuffled = FocalStack(
        np.stack([one[at] for one, at in zip(pixels, indices, strict=True)]),
        indices,
        FocusGrid(range(SLICES)),
    )
    found = METHODS[KEY].build().scores(shuffled)
    for one, mine in zip(slices, found, strict=True):
        np.testing.assert_allclose(mine, scores(stack_of(one), [KEY])[KEY][0], rtol=1e-9)
