"""METHODS as a table: every row is complete, finds the sharp slice, and keeps to the same contract."""

from dataclasses import replace

import numpy as np
import pytest

from dioptre.errors import InputError, MethodError
from dioptre.grid import FocusGrid
from dioptre.methods import ALIASES, METHODS, Problem, best_index, find_method, scores
from dioptre.methods.voting import VOTES_BY
from dioptre.optics import CameraModel
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import FocalStack

PAPER_GREEN = [
    "dct-reduced-energy-ratio", "total-variation-l1", "histogram-entropy", "modified-dct",
    "gradient-count-3", "gradient-count-10", "dct-energy-ratio", "eigenvalue-trace", "intensity-variance",
    "intensity-coefficient-of-variation", "percentile-range-3", "percentile-range-1",
    "percentile-range-0.3", "total-variation-l2", "modified-laplacian", "diagonal-laplacian",
    "laplacian-energy", "laplacian-variance", "local-log-ratio-1", "local-ratio-1", "local-norm-dist-sq-1",
    "wavelet-sum-2", "gradient-magnitude-mean", "wavelet-variance-2", "gradient-magnitude-variance",
    "wavelet-variance-3", "wavelet-ratio-3", "wavelet-log-ratio-2", "local-ratio-2", "wavelet-ratio-2",
    "local-log-ratio-2", "wavelet-sum-3", "local-norm-dist-sq-2", "local-ratio-4", "local-log-ratio-4",
    "wavelet-log-ratio-3", "local-norm-dist-sq-4",
]  # fmt: skip
PAPER_DUAL_PIXEL = [
    "normalized-sad", "ternary-census-30", "normalized-cross-correlation", "rank-transform",
    "census-transform", "ternary-census-10", "normalized-envelope-l2", "normalized-envelope-l1",
]  # fmt: skip
STACK = [key for key, row in METHODS.items() if row.problem.whole and not key.startswith("l2a-")]

# Rows that miss the sharp slice even of a clean stack, for what their formula says.
MISSES = (
    "dct-reduced-energy-ratio",  # the five lowest frequencies hardly fade with defocus
    "modified-dct",  # the signed sum telescopes: only the patch's corners are left
    "gradient-count-3",  # almost every gradient of a textured patch exceeds a few of 30688 codes,
    "gradient-count-10",  # in focus and out of it
)
TRUTHS = [4, 8, 13]
POSITIONS = 17
SIZE = 96


@pytest.fixture(scope="module")
def scenes() -> FocalStack:
    """Three planes at positions of a short grid, with hardly any noise.

    The grain gives every pixel something to compare; a grid of 17 has steps of half a pixel of disparity,
    which the envelope measures do not forgive.
    """
    rng = np.random.default_rng(2)
    camera = replace(CameraModel.pixel3(), grid=FocusGrid.uniform(n=POSITIONS))
    stacks = []
    for truth in TRUTHS:
        grain = 0.7 + 0.3 * rng.random((SIZE + 64, SIZE + 64))
        texture = dead_leaves(SIZE + 64, SIZE + 64, rng) * grain
        depth = float(camera.grid.dioptres[truth])
        stacks.append(plane_stack(camera, depth, texture, rng, size=SIZE, shot=0.02, read=0.2))
    return FocalStack.full(np.stack(stacks), camera.grid)


@pytest.fixture(scope="module")
def found(scenes: FocalStack) -> dict[str, np.ndarray]:
    return scores(scenes, STACK)


@pytest.fixture(scope="module")
def six() -> FocalStack:
    """Six small scenes of three slices."""
    rng = np.random.default_rng(6)
    return FocalStack.full(rng.uniform(0.1, 0.9, (6, 3, 2, 20, 24)).astype(np.float32))


@pytest.fixture(scope="module")
def of_six(six: FocalStack) -> dict[str, np.ndarray]:
    return scores(six, STACK)


# The rows


def test_keys_are_the_rows_own() -> None:
    assert {key: row.key for key, row in METHODS.items()} == {key: key for key in METHODS}


@pytest.mark.parametrize(
    ("paper", "problem"), [(PAPER_GREEN, Problem.STACK_GREEN), (PAPER_DUAL_PIXEL, Problem.STACK_DUAL_PIXEL)]
)
def test_the_papers_rows_are_there_in_its_order(paper: list[str], problem: Problem) -> None:
    assert [key for key in METHODS if key in paper] == paper
    assert {METHODS[key].problem for key in paper} == {problem}
    assert all(METHODS[key].in_paper for key in paper)


def test_the_paper_has_37_contrast_and_8_dual_pixel_measures() -> None:
    assert (len(PAPER_GREEN), len(PAPER_DUAL_PIXEL)) == (37, 8)


def test_green_comes_before_dual_pixel() -> None:
    problems = [METHODS[key].problem for key in STACK]
    assert problems == sorted(problems, key=[Problem.STACK_GREEN, Problem.STACK_DUAL_PIXEL].index)


def test_only_our_own_rows_begin_with_our_name() -> None:
    assert [key for key in METHODS if key.startswith("dioptre-")] == [
        key for key, row in METHODS.items() if not row.in_paper
    ]


def test_titles_and_sources_say_something_and_titles_of_a_problem_differ() -> None:
    assert all(row.title.strip() and row.source.strip() for row in METHODS.values())
    assert len({(row.title, row.problem) for row in METHODS.values()}) == len(METHODS)


def test_views_follow_the_problem() -> None:
    assert METHODS["wavelet-sum-2"].views == 1
    assert METHODS["census-transform"].views == 2


def test_the_best_index_is_the_first_of_a_tie() -> None:
    assert best_index(np.array([[0.0, 2.0, 2.0], [-np.inf, -np.inf, -1.0]])).tolist() == [1, 2]


# What every row does


@pytest.mark.parametrize("key", [key for key in STACK if key not in MISSES])
def test_finds_the_sharp_slice_of_a_clean_stack(key: str, found: dict[str, np.ndarray]) -> None:
    assert np.abs(best_index(found[key]) - TRUTHS).max() <= 1


def test_dct_reduced_energy_ratio_hardly_fades_with_defocus(found: dict[str, np.ndarray]) -> None:
    key = "dct-reduced-energy-ratio"
    assert (found[key].max(axis=1) < 2 * found[key].min(axis=1)).all()
    other = found["wavelet-ratio-3"]
    assert (other.max(axis=1) > 5 * other.min(axis=1)).all()


def test_modified_dct_looks_at_corners_and_its_repair_at_the_scene(
    scenes: FocalStack, found: dict[str, np.ndarray]
) -> None:
    assert best_index(found["dioptre-modified-dct"]).tolist() == TRUTHS
    hollow = scenes.pixels.copy()
    hollow[..., 3:-3, 3:-3] = 0.0
    found_hollow = scores(replace(scenes, pixels=hollow), ["modified-dct"])["modified-dct"]
    np.testing.assert_array_equal(found_hollow, found["modified-dct"])


@pytest.mark.parametrize("key", ["gradient-count-3", "gradient-count-10"])
def test_gradient_counts_are_saturated(key: str, found: dict[str, np.ndarray]) -> None:
    assert 1.97 < found[key].min() < found[key].max() < 2  # two for each pixel


@pytest.mark.parametrize("key", STACK)
def test_a_batch_of_six_equals_six_of_one(key: str, six: FocalStack) -> None:
    together = scores(six, [key])[key]
    assert together.shape == (6, 3)
    for b in range(6):
        alone = FocalStack.full(six.pixels[b : b + 1])
        np.testing.assert_array_equal(scores(alone, [key])[key], together[b : b + 1])


@pytest.mark.parametrize("key", STACK)
@pytest.mark.parametrize("grey", [0.0, 0.5, 1.0])
def test_flat_grey_ties_and_does_not_raise(key: str, grey: float) -> None:
    flat = FocalStack.full(np.full((2, 3, 2, 32, 32), grey, dtype=np.float32))
    values = scores(flat, [key])[key]
    assert not np.isnan(values).any()
    assert (values < np.inf).all()
    assert (values == values[0, 0]).all()
    assert best_index(values).tolist() == [0, 0]


@pytest.mark.parametrize("key", STACK)
def test_several_keys_equal_each_alone(key: str, six: FocalStack, of_six: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(scores(six, [key])[key], of_six[key])


@pytest.mark.parametrize("key", STACK)
def test_the_built_method_equals_scores(key: str, six: FocalStack, of_six: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(METHODS[key].build().scores(six), of_six[key])


@pytest.mark.parametrize("key", STACK)
def test_slices_not_seen_score_minus_infinity(
    key: str, scenes: FocalStack, found: dict[str, np.ndarray]
) -> None:
    seen = np.array([[11, 2, 7], [0, 16, 8], [3, 4, 5]])  # in any order, and different for each scene
    values = scores(scenes.at(seen), [key])[key]
    expected = np.full((3, POSITIONS), -np.inf)
    np.put_along_axis(expected, seen, np.take_along_axis(found[key], seen, axis=1), axis=1)
    if key in VOTES_BY:  # a vote is taken among the slices that are seen
        np.testing.assert_array_equal(np.isfinite(values), np.isfinite(expected))
    else:
        np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("key", [key for key in STACK if METHODS[key].views == 1])
def test_contrast_of_two_views_is_that_of_their_mean(
    key: str, six: FocalStack, of_six: dict[str, np.ndarray]
) -> None:
    np.testing.assert_array_equal(scores(six.green(), [key])[key], of_six[key])


def test_opposite_infinities_lose_only_their_slice(six: FocalStack) -> None:
    pixels = six.pixels.copy()
    pixels[0, 1, :, 4, 4] = np.inf, -np.inf
    spoilt = scores(FocalStack.full(pixels), STACK)
    for key, expected in scores(six, STACK).items():
        expected[0, 1] = -np.inf
        np.testing.assert_array_equal(spoilt[key], expected, err_msg=key)


# How rows are asked for


def test_scores_come_in_the_order_of_the_keys(six: FocalStack) -> None:
    keys = ["census-transform", "wavelet-sum-2", "normalized-sad", "modified-dct"]
    assert list(scores(six, keys)) == keys


def test_no_keys_give_no_scores(six: FocalStack) -> None:
    assert scores(six, []) == {}


def test_a_known_key_finds_its_row() -> None:
    assert find_method("wavelet-sum-3").title == "Wavelet Sum (ℓ = 3)"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("wavelet-sum", "wavelet-sum-2"),
        ("normalised-sad", "normalized-sad"),
        ("localnormdistsq4", "local-norm-dist-sq-4"),
        ("tenengrat", "tenengrad"),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest(six: FocalStack, typed: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"no method '{typed}'; did you mean .*{meant}"):
        scores(six, [typed])


def test_a_key_like_no_other_gets_no_suggestion() -> None:
    with pytest.raises(ValueError, match=r"no method '#' \(`dioptre methods` lists all\)"):
        find_method("#")


def test_a_dual_pixel_row_among_others_needs_two_views(six: FocalStack) -> None:
    with pytest.raises(ValueError, match="census-transform compares a left and a right view"):
        scores(six.green(), ["wavelet-sum-2", "census-transform"])


@pytest.mark.parametrize(("name", "key"), ALIASES.items())
def test_names_that_people_know_are_understood(name: str, key: str) -> None:
    assert find_method(name) is METHODS[key]
    assert find_method(name.upper()) is METHODS[key]
    assert name not in METHODS


def test_brenner_is_told_what_comes_nearest() -> None:
    with pytest.raises(MethodError, match="total-variation-l2"):
        find_method("brenner")


def test_arrays_are_scored_as_stacks_are() -> None:
    pixels = np.random.default_rng(0).random((5, 2, 32, 32), np.float32)
    expected = scores(FocalStack.full(pixels[None]), ["laplacian-variance"])["laplacian-variance"]
    found = scores(pixels, ["lapv", "laplacian-variance"])
    assert list(found) == ["lapv", "laplacian-variance"]
    for one in found.values():
        np.testing.assert_array_equal(one, expected)
    green = scores(np.round(255 * pixels[:, 0]).astype(np.uint8), ["sml"])["sml"]
    assert green.shape == (1, 5)
    with pytest.raises(InputError, match=r"not an array of shape \(32, 32\)"):
        scores(np.zeros((32, 32)), ["sml"])
    with pytest.raises(InputError, match="int32 pixels do not tell"):
        scores(np.zeros((5, 32, 32), np.int32), ["sml"])
