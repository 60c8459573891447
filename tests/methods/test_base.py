"""What a method, a family and a row are: checked for every row of METHODS."""

import re
from dataclasses import dataclass, field

import numpy as np
import pytest

from dioptre.errors import InputError, MethodError
from dioptre.grid import FocusGrid
from dioptre.methods import CONTRAST, DISPARITY, LEARNED, METHODS, STEREO, VOTING, scores
from dioptre.methods.base import ANY, WHOLE, Autofocuser, Family, Method
from dioptre.methods.contrast import ContrastFamily
from dioptre.methods.disparity import DisparityFamily
from dioptre.methods.learned import LearnedFamily
from dioptre.methods.stereo import StereoFamily
from dioptre.methods.voting import VotingFamily
from dioptre.posterior import Posterior, Scores
from dioptre.problem import Problem
from dioptre.stack import FocalStack

LEARNED_KEYS = [key for key, row in METHODS.items() if isinstance(row.family, LearnedFamily)]
CALIBRATED = [key for key, row in METHODS.items() if isinstance(row.family, DisparityFamily)]
FORMULAE = [key for key in METHODS if key not in LEARNED_KEYS + CALIBRATED]
LADDER = FocusGrid.learnaf()
SIZE = 128  # pixels that every row can see


def row_of(problem: Problem, looks: int, after: str = "") -> Method:
    return Method("mine", "Mine", problem, CONTRAST, "test", looks=looks, after=after)


# A row checks itself


@pytest.mark.parametrize("problem", [Problem.STACK_GREEN, Problem.STACK_DUAL_PIXEL])
@pytest.mark.parametrize("looks", [1, 3, ANY, -2])
def test_a_whole_stack_is_no_number_of_looks(problem: Problem, looks: int) -> None:
    with pytest.raises(MethodError, match=re.escape(f"mine cannot solve {problem} with {looks} looks")):
        row_of(problem, looks)


@pytest.mark.parametrize("problem", [Problem.SINGLE_GREEN, Problem.SINGLE_DUAL_PIXEL])
@pytest.mark.parametrize("looks", [WHOLE, -2])
def test_a_few_looks_are_no_whole_stack(problem: Problem, looks: int) -> None:
    with pytest.raises(MethodError, match=f"mine cannot solve {problem} with {looks} looks"):
        row_of(problem, looks)


@pytest.mark.parametrize("looks", [1, ANY])
def test_nobody_chooses_a_second_look_that_there_is_not(looks: int) -> None:
    with pytest.raises(MethodError, match="mine has no second look for other to choose"):
        row_of(Problem.SINGLE_GREEN, looks, after="other")


def test_rows_that_can_be_are_accepted() -> None:
    assert row_of(Problem.STACK_GREEN, WHOLE).views == 1
    assert row_of(Problem.SINGLE_DUAL_PIXEL, 2, after="other").views == 2
    assert row_of(Problem.SINGLE_GREEN, ANY).looks == ANY
    assert row_of(Problem.SINGLE_GREEN, 3).after == ""


# What every row builds


@pytest.mark.parametrize("key", METHODS)
def test_a_row_builds_an_autofocuser(key: str) -> None:
    row = METHODS[key]
    assert isinstance(row.family, Family)
    assert isinstance(row.build(), Autofocuser)


@pytest.mark.parametrize("key", FORMULAE)
def test_a_formula_has_no_identity_but_its_key(key: str) -> None:
    assert METHODS[key].build().identity == ""


@pytest.mark.parametrize("key", LEARNED_KEYS + CALIBRATED)
def test_a_network_or_a_calibration_is_known_by_its_hash(key: str) -> None:
    assert re.fullmatch("[0-9a-f]{64}", METHODS[key].build().identity)


def test_no_two_networks_are_the_same() -> None:
    assert len({METHODS[key].build().identity for key in LEARNED_KEYS}) == len(LEARNED_KEYS) == 10


@pytest.mark.parametrize("key", FORMULAE)
def test_a_formula_knows_no_probabilities(key: str) -> None:
    views = METHODS[key].views
    stack = FocalStack.full(np.full((1, 3, views, 16, 16), 0.5, np.float32))
    assert METHODS[key].build().posterior(stack) is None


@pytest.mark.parametrize("key", LEARNED_KEYS + CALIBRATED)
def test_what_knows_probabilities_scores_by_its_posterior(key: str) -> None:
    row = METHODS[key]
    positions = list(range(len(LADDER))) if row.looks == WHOLE else [20, 30][: max(1, row.looks)]
    rng = np.random.default_rng(0)
    pixels = rng.random((1, len(positions), row.views, SIZE, SIZE)).astype(np.float32)
    stack = FocalStack(pixels, np.array([positions]), LADDER)
    posterior = row.build().posterior(stack)
    assert isinstance(posterior, Posterior)
    np.testing.assert_array_equal(posterior.scores(), row.build().scores(stack))


# What every row refuses, in words


@pytest.mark.parametrize("key", METHODS)
def test_a_row_can_see_a_patch_of_its_own_kind(key: str) -> None:
    row = METHODS[key]
    assert row.build().refusal(LADDER, (SIZE, SIZE), row.views) is None
    assert row.build().refusal(LADDER, (SIZE, SIZE), 2) is None


SMALLEST = {  # three tiles and room to search, or what a depth network sees
    "zncc-disparity": "needs at least 30 x 24 pixels",
    "ssd-disparity": "needs at least 30 x 24 pixels",
    "learned-depth": "needs at least 128 x 128 pixels",
    "dioptre-zncc-disparity": "needs at least 80 x 56 pixels",
    "dioptre-ssd-disparity": "needs at least 80 x 56 pixels",
    "dioptre-learned-depth": "needs at least 128 x 128 pixels",
}


@pytest.mark.parametrize("key", METHODS)
def test_a_small_patch_is_refused(key: str) -> None:
    refusal = METHODS[key].build().refusal(LADDER, (SIZE, 15), 2)
    assert refusal is not None
    learned, formula = "needs patches of 128 pixels or more", "needs at least 16 x 16 pixels"
    needed = SMALLEST.get(key) or (learned if key in LEARNED_KEYS else formula)
    assert refusal.startswith(needed)
    assert "15" in refusal


@pytest.mark.parametrize("key", METHODS)
def test_one_view_is_refused_by_what_needs_two(key: str) -> None:
    refusal = METHODS[key].build().refusal(LADDER, (SIZE, SIZE), 1)
    if METHODS[key].views == 1:
        assert refusal is None
    else:
        assert refusal is not None
        assert re.match("(needs|compares) .*left and .*right view.*, but .* only ", refusal)


@pytest.mark.parametrize("key", METHODS)
def test_another_ladder_is_refused_by_what_was_made_for_one(key: str) -> None:
    focuser = METHODS[key].build()
    shorter = focuser.refusal(FocusGrid.uniform(n=20), (SIZE, SIZE), 2)
    elsewhere = focuser.refusal(FocusGrid.uniform(5.0, 0.3, 49), (SIZE, SIZE), 2)
    unknown = focuser.refusal(FocusGrid(range(49)), (SIZE, SIZE), 2)
    assert (unknown is None) != (key in CALIBRATED)
    if key in CALIBRATED:
        assert "for a grid of 49 positions, not 20" in str(shorter)
        assert "for another grid" in str(elsewhere)
        assert "grid in dioptres" in str(unknown)
    elif key in LEARNED_KEYS:
        assert shorter is not None
        assert "knows a grid of 49 positions, but the stack's has 20" in shorter
        assert elsewhere is not None
        assert "was trained on another grid" in elsewhere
    else:
        assert shorter is None
        assert elsewhere is None


@pytest.mark.parametrize("key", METHODS)
def test_what_is_refused_is_a_method_error_when_scored(key: str) -> None:
    row, n = METHODS[key], 49
    looks = n if row.looks == WHOLE else max(1, row.looks)
    small = FocalStack(
        np.full((1, looks, 2, 15, 15), 0.5, np.float32), np.arange(looks)[None], FocusGrid(range(n))
    )
    with pytest.raises(MethodError, match="15"):
        row.build().scores(small)


# Families


def test_families_of_one_kind_are_one() -> None:
    assert ContrastFamily() == CONTRAST
    assert StereoFamily() == STEREO
    assert LearnedFamily() == LEARNED
    assert DisparityFamily() == DISPARITY
    assert VotingFamily() == VOTING
    assert len({row.family for row in METHODS.values()}) == 5


@dataclass(frozen=True)
class Recording:
    """A family that notes what it is asked for, and how often."""

    name: str
    asked: list[list[str]] = field(default_factory=list, hash=False, compare=False)

    def build(self, key: str) -> Autofocuser:
        raise AssertionError(f"nobody needs {key} alone")

    def scores(self, stack: FocalStack, keys: list[str]) -> dict[str, Scores]:
        self.asked.append(list(keys))
        return {key: np.full((stack.batch, len(stack.grid)), float(key[1:])) for key in reversed(keys)}


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> tuple[Recording, Recording]:
    families = Recording("a"), Recording("b")
    for family, keys in zip(families, (("a1", "a2", "a3"), ("b4", "b5")), strict=True):
        for key in keys:
            row = Method(key, key, Problem.STACK_GREEN, family, "test", in_paper=False)
            monkeypatch.setitem(METHODS, key, row)
    return families


def test_a_family_is_asked_once_for_all_its_keys(recording: tuple[Recording, Recording]) -> None:
    keys = ["b5", "a2", "b4", "a3", "a1"]
    stack = FocalStack.full(np.zeros((2, 3, 1, 16, 16), np.float32))
    found = scores(stack, keys)
    assert list(found) == keys
    assert {key: value[0, 0] for key, value in found.items()} == {key: float(key[1:]) for key in keys}
    assert [family.asked for family in recording] == [[["a2", "a3", "a1"]], [["b5", "b4"]]]


@pytest.mark.usefixtures("recording")
def test_a_key_asked_twice_is_answered_once() -> None:
    stack = FocalStack.full(np.zeros((1, 3, 1, 16, 16), np.float32))
    assert list(scores(stack, ["a1", "b4", "a1"])) == ["a1", "b4"]


def test_a_string_is_not_a_list_of_keys() -> None:
    stack = FocalStack.full(np.zeros((1, 3, 1, 16, 16), np.float32))
    with pytest.raises(InputError, match="a list of method keys, not the string 'wavelet-sum-2'"):
        scores(stack, "wavelet-sum-2")


@pytest.mark.parametrize("family", [CONTRAST, STEREO], ids=["contrast", "stereo"])
def test_a_family_scores_what_its_members_score(family: Family) -> None:
    keys = [key for key in FORMULAE if METHODS[key].family == family]
    pixels = np.random.default_rng(0).uniform(0.1, 0.9, (2, 3, 2, 20, 24)).astype(np.float32)
    stack = FocalStack.full(pixels)
    for key, together in family.scores(stack, keys).items():
        np.testing.assert_array_equal(family.build(key).scores(stack), together, err_msg=key)
