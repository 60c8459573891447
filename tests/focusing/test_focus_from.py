"""One look: where the lens must go, how sure that is, and what is refused."""

import numpy as np
import pytest
from scipy import ndimage

from dioptre.confidence.model import RISK
from dioptre.confidence.reasons import Reason, State
from dioptre.errors import DioptreError, NetworkError
from dioptre.focusing.arguments import ONE_LOOK, SEVERAL_LOOKS
from dioptre.focusing.focus import focus, focus_from
from dioptre.focusing.result import FocusResult
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS
from dioptre.methods.base import ANY, Method
from dioptre.posterior import DepthPrior
from dioptre.problem import Problem
from dioptre.stack import FocalStack
from tests.fakes import FamilyOf, Probable

N = 49

pytestmark = pytest.mark.filterwarnings("ignore:the confidence of")  # of methods that stand in for others


class Hopeful(Probable):
    """Believes in the position that the mean pixel names, as surely as the look has contrast."""

    seen: FocalStack | None = None

    def logits(self, stack: FocalStack) -> np.ndarray:
        Hopeful.seen = stack
        best = 100 * stack.pixels[:, 0].mean(axis=(1, 2, 3))
        sharp = 100 * stack.pixels[:, 0].std(axis=(1, 2, 3)) + 1e-3
        return -sharp[:, None] * (np.arange(N) - best[:, None]) ** 2


class HopefulOfTwo(Hopeful):
    """The same, which wants two views."""

    def refusal(self, _grid: FocusGrid, _shape: tuple[int, int], views: int) -> str | None:
        return None if views == 2 else "needs the left and the right view"


TAKEN = 0.99  # the risk: these pictures are no scenes, whatever the methods say of them


@pytest.fixture(autouse=True)
def methods(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        Method(ONE_LOOK[1], "One", Problem.SINGLE_GREEN, FamilyOf(Hopeful), "test", looks=1),
        Method(ONE_LOOK[2], "Two", Problem.SINGLE_DUAL_PIXEL, FamilyOf(HopefulOfTwo), "test", looks=1),
        Method(SEVERAL_LOOKS[1], "Any", Problem.SINGLE_GREEN, FamilyOf(Hopeful), "test", looks=ANY),
        Method("any", "Any", Problem.SINGLE_GREEN, FamilyOf(Hopeful), "test", looks=ANY),
        Method("two-step", "Two", Problem.SINGLE_GREEN, FamilyOf(Hopeful), "test", looks=2),
    ]
    for row in rows:
        monkeypatch.setitem(METHODS, row.key, row)


def look(level: float, views: int = 1, contrast: float = 0.02) -> np.ndarray:
    """Returns a look at a soft texture."""
    noise = np.random.default_rng(0).standard_normal((views, 64, 96))
    texture = ndimage.gaussian_filter(noise, (0, 1.5, 1.5))
    frame = level + contrast * (texture - texture.mean()) / texture.std()
    return frame[0] if views == 1 else frame


def test_one_look_names_the_position() -> None:
    found = focus_from(look(0.3), at=7, risk=TAKEN)
    assert (found.index, found.state, found.method) == (30, State.FOCUSED, "dioptre-single-green")
    assert found.dioptres == pytest.approx(FocusGrid.learnaf().dioptres[30], abs=0.1)
    assert Hopeful.seen is not None
    assert Hopeful.seen.indices.tolist() == [[7]]


def test_a_look_is_taken_and_answered_in_the_unit_of_the_grid() -> None:
    grid = FocusGrid(100.0 + 2.5 * np.arange(N), "um", FocusGrid.learnaf().dioptres)
    found = focus_from(look(0.3), at=117.5, grid=grid, risk=TAKEN)
    assert Hopeful.seen is not None
    assert Hopeful.seen.indices.tolist() == [[7]]
    assert (found.index, found.unit, found.looks) == (30, "um", (117.5,))
    assert found.position == pytest.approx(175.0, abs=0.5)
    assert found.verdict.expected_error is not None
    assert found.expected_error == pytest.approx(2.5 * found.verdict.expected_error)


def test_a_look_on_a_grid_that_runs_near_to_far_is_answered_in_its_order() -> None:
    grid = FocusGrid.learnaf().turned()
    found = focus_from(look(0.3), at=7, grid=grid, risk=TAKEN)
    assert Hopeful.seen is not None
    assert Hopeful.seen.indices.tolist() == [[7]]  # slice 7 of 48 to 0 is the far one, whatever its index
    assert (found.position, found.index, found.looks) == (pytest.approx(30, abs=0.1), 18, (7.0,))
    assert found.scores.argmax() == 18
    assert found.grid == grid


def test_dioptres_without_a_unit_are_where_a_lens_can_go() -> None:
    dioptres = FocusGrid.learnaf().dioptres
    found = focus_from(look(0.3), at=float(dioptres[7]), grid=dioptres.tolist(), risk=TAKEN)
    assert (found.unit, found.index, found.looks) == ("dioptres", 30, (dioptres[7],))
    assert found.position == pytest.approx(dioptres[30], abs=0.05)


def test_two_views_go_to_the_method_for_two() -> None:
    assert focus_from(look(0.2, views=2), at=0).method == "dioptre-single-dp"


def test_a_broad_posterior_is_no_focus() -> None:
    found = ask(-0.5 * ((np.arange(N) - 30) / 10) ** 2)
    assert (found.state, found.index) == (State.UNCERTAIN, 30)
    assert Reason.UNSURE in found.reasons
    assert found.confidence <= 0.5
    assert found.risk > 5 * RISK
    assert found.expected_error is not None
    assert found.expected_error > 3


def test_a_look_without_light_or_detail_fails() -> None:
    assert focus_from(look(0.3, contrast=0.0), at=7).state is State.FAILED
    assert Reason.TOO_DARK in focus_from(look(0.004, contrast=0.0), at=7).reasons
    assert focus_from(look(2.0), at=7, white=1.0).reasons[0] is Reason.SATURATED


def test_codes_and_regions_are_those_of_focus() -> None:
    codes = np.clip(1024 + 15344 * look(0.3), 0, 65535).astype(np.uint16)
    assert focus_from(codes, at=3, black=1024.0, white=16368.0).index == 30
    found = focus_from(look(0.3), at=3, roi=(64, 0, 32, 32))
    assert found.roi == (64, 0, 32, 32)
    assert Hopeful.seen is not None
    assert Hopeful.seen.shape == (32, 32)
    np.testing.assert_allclose(Hopeful.seen.where, [[2 * 80 / 96 - 1, -0.5]])
    focus_from(look(0.3), at=3, where=(0.5, -1.0))
    np.testing.assert_allclose(Hopeful.seen.where, [[0.5, -1.0]])


@pytest.mark.parametrize(
    ("frame", "arguments", "sentence"),
    [
        (look(0.3), {"at": 49}, r"positions go from 0 to 48 \(slice\), not to 49"),
        (look(0.3), {"at": 1, "method": "dioptre-single-dp"}, "needs the left and the right view"),
        (look(0.3), {"at": 1, "method": "two-step"}, "takes 2 looks, not one look"),
        (look(0.3), {"at": 1, "method": "local-ratio-1"}, "takes a whole stack, not one look"),
        (np.zeros((2, 3, 64, 64)), {"at": 1}, r"not an array of shape \(2, 3, 64, 64\)"),
    ],
)
def test_what_cannot_be_used_is_said(frame: np.ndarray, arguments: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        focus_from(frame, **arguments)


def test_a_network_for_any_number_of_looks_takes_whole_stacks_too() -> None:
    detail = look(0.25) - 0.25
    stack = 0.25 + detail * np.exp(-0.5 * ((np.arange(N) - 25) / 6) ** 2)[:, None, None]
    stack[0] = look(0.25)  # which is all that the method looks at
    found = focus(stack, "any", grid=FocusGrid.learnaf(), risk=TAKEN)
    assert (found.index, found.state) == (25, State.FOCUSED)
    with pytest.raises(ValueError, match="takes 2 looks, not a whole stack"):
        focus(stack, "two-step", grid=FocusGrid.learnaf())


# Several looks


def test_several_looks_go_to_the_method_for_them() -> None:
    found = focus_from([(look(0.3), 7), (look(0.3), 30)])
    assert (found.method, found.looks) == ("dioptre-any-green", (7, 30))
    assert Hopeful.seen is not None
    assert Hopeful.seen.indices.tolist() == [[7, 30]]
    assert Hopeful.seen.pixels.shape == (1, 2, 1, 64, 96)
    assert focus_from([(look(0.3), 7), (look(0.3), 30)], method="two-step").method == "two-step"


@pytest.mark.parametrize(
    ("looks", "arguments", "sentence"),
    [
        ([(look(0.3), 7)], {"at": 7}, "each has its own position"),
        ([(look(0.3), 7), (look(0.3)[:32], 8)], {}, r"\(64, 96\) and float64 \(32, 96\)"),
        ([(look(0.3), 7)] * 3, {"method": "two-step"}, "takes 2 looks, not 3 looks"),
        (look(0.3), {}, "say where the lens was"),
        (look(0.3), {"at": True}, r"a position is a number \(slice\), not True"),
        (look(0.3), {"at": -1}, "from 0 to 48 .slice., not to -1"),
        (look(0.3), {"at": 17.5}, r"there is no position 17\.5 \(slice\): the nearest is 17"),
        (look(0.3), {"at": 17, "grid": "pixel3"}, "from 0.255694 to 9.80296 .dioptres., not to 17"),
        (look(0.3), {"at": 1, "where": (0.1, np.nan)}, r"each in \[-1, 1\]"),
        (look(0.3), {"at": 1, "where": (2.0, 0.0)}, r"each in \[-1, 1\]"),
        (look(0.3), {"at": 1, "roi": (0, 0, np.nan, 32)}, "whole pixels"),
        (look(0.3), {"at": 1, "roi": (0, 0, np.inf, 32)}, "whole pixels"),
        (look(0.3), {"at": 1, "roi": (0, 0, None, 32)}, "whole pixels"),
        (look(0.3), {"at": 1, "roi": (0, 0, 32)}, "whole pixels"),
        (look(0.3), {"at": 1, "roi": 5}, "whole pixels"),
        (look(0.3), {"at": 1, "roi": [(0, 0, 32, 32), (8, 8, 32, 32)]}, "one region, not 2"),
        (look(0.3), {"at": 1, "prior": "near"}, "a prior is even, far"),
        (look(0.3), {"at": 1, "prior": "1,2,3"}, "3 weights, but the grid has 49"),
    ],
)
def test_what_cannot_be_used_is_an_input_error_in_one_sentence(
    looks: object, arguments: dict, sentence: str
) -> None:
    with pytest.raises(DioptreError, match=sentence) as caught:
        focus_from(looks, **arguments)
    assert "\n" not in str(caught.value)


# Priors, sides, ends


class Told(Probable):
    """Answers with the logits that it was told."""

    said = np.zeros(N)

    def logits(self, stack: FocalStack) -> np.ndarray:
        return np.tile(Told.said, (stack.batch, 1))


def two_sides(far: float, near: float, at: tuple[int, int] = (10, 30)) -> np.ndarray:
    places = np.arange(N)
    bells = [np.exp(-0.5 * (places - one) ** 2) / np.sqrt(2 * np.pi) for one in at]
    return np.log(far * bells[0] + near * bells[1] + 1e-12)


def ask(logits: np.ndarray, **arguments: object) -> FocusResult:
    Told.said = logits
    return focus_from(look(0.3), 20, Told(), **arguments)


def test_two_sides_are_ambiguous_and_both_are_candidates() -> None:
    found = ask(two_sides(0.4, 0.6))
    assert found.state is State.UNCERTAIN
    assert found.reasons[0] is Reason.AMBIGUOUS
    assert [one.index for one in found.verdict.candidates] == [30, 10]
    assert [one.probability for one in found.verdict.candidates] == pytest.approx([0.6, 0.4], abs=0.01)
    assert found.to_json()["candidates"][0]["index"] == 30


def test_a_side_that_hardly_counts_is_no_ambiguity() -> None:
    found = ask(two_sides(0.03, 0.97), risk=TAKEN)
    assert (found.state, found.index) == (State.FOCUSED, 30)
    assert found.expected_error is not None


def test_two_peaks_beside_each_other_are_one_side() -> None:
    assert ask(two_sides(0.5, 0.5, at=(20, 23)), risk=TAKEN).state is State.FOCUSED


def test_a_prior_decides_between_sides_and_is_never_assumed() -> None:
    logits = two_sides(0.5, 0.5, at=(3, 44))
    even, far = ask(logits), ask(logits, prior="far", risk=TAKEN)
    assert Reason.AMBIGUOUS in even.reasons
    assert Reason.AMBIGUOUS not in far.reasons
    assert (far.state, far.index) == (State.FOCUSED, 3)
    near = DepthPrior.of_table(np.linspace(0, 1, N))
    assert ask(logits, prior=near).index == 44


@pytest.mark.parametrize(
    ("entry", "index", "reason"), [(0, 0, Reason.BEYOND_FAR), (-1, 48, Reason.BEYOND_NEAR)]
)
def test_a_subject_beyond_an_end_is_said_to_be_there(entry: int, index: int, reason: Reason) -> None:
    logits = np.pad(np.full(N, np.log(0.05 / N)), 1, constant_values=-30.0)
    logits[entry] = np.log(0.95)
    found = ask(logits)
    assert (found.state, found.index, found.reasons[0]) == (State.UNCERTAIN, index, reason)
    assert found.confidence <= 0.5
    assert found.risk > 5 * RISK


def test_an_answer_that_is_not_finite_is_an_error_of_the_network() -> None:
    with pytest.raises(NetworkError, match="the network's answer is not finite"):
        ask(np.full(N, np.nan))
