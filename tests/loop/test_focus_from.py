"""One look: where the lens must go, how sure that is, and what is refused."""

import numpy as np
import pytest

from dioptre.loop.focus import SINGLE_METHODS, focus, focus_from
from dioptre.loop.verdict import Reason, State
from dioptre.methods import METHODS
from dioptre.methods.base import ANY, Method, Problem
from dioptre.optics import FocusGrid
from dioptre.stack import FocalStack

N = 49


class Hopeful:
    """Believes in the position that the mean pixel names, as surely as the look has contrast."""

    seen: FocalStack | None = None

    def scores(self, stack: FocalStack) -> np.ndarray:
        return self.decide(self.belief(stack))

    def decide(self, belief: np.ndarray) -> np.ndarray:
        return belief

    def belief(self, stack: FocalStack) -> np.ndarray:
        Hopeful.seen = stack
        best = 100 * stack.pixels[:, 0].mean(axis=(1, 2, 3))
        sharp = 100 * stack.pixels[:, 0].std(axis=(1, 2, 3)) + 1e-3
        logs = -sharp[:, None] * (np.arange(N) - best[:, None]) ** 2
        return logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))


@pytest.fixture(autouse=True)
def methods(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        Method(SINGLE_METHODS[1], "One", Problem.SINGLE_GREEN, Hopeful, "test", looks=1),
        Method(SINGLE_METHODS[2], "Two", Problem.SINGLE_DUAL_PIXEL, Hopeful, "test", looks=1),
        Method("any", "Any", Problem.SINGLE_GREEN, Hopeful, "test", looks=ANY),
        Method("two-step", "Two", Problem.SINGLE_GREEN, Hopeful, "test", looks=2),
    ]
    for row in rows:
        monkeypatch.setitem(METHODS, row.key, row)


def look(level: float, views: int = 1, contrast: float = 0.02) -> np.ndarray:
    rng = np.random.default_rng(0)
    frame = rng.normal(0, contrast, (views, 64, 96))
    frame += level - frame.mean()
    return frame[0] if views == 1 else frame


def test_one_look_names_the_position() -> None:
    found = focus_from(look(0.3), at=7)
    assert (found.index, found.state, found.method) == (30, State.FOCUSED, "dioptre-single-green")
    assert found.confidence > 0.8
    assert found.dioptres == pytest.approx(FocusGrid.learnaf().dioptres[30], abs=0.1)
    assert Hopeful.seen is not None
    assert Hopeful.seen.indices.tolist() == [[7]]


def test_two_views_go_to_the_method_for_two() -> None:
    assert focus_from(look(0.2, views=2), at=0).method == "dioptre-single-dp"


def test_belief_in_many_positions_is_no_focus() -> None:
    found = focus_from(look(0.3, contrast=0.0), at=7)
    assert found.state is State.FAILED
    assert found.reasons == (Reason.UNSURE,)
    assert found.confidence <= 0.5
    assert Reason.TOO_DARK in focus_from(look(0.004, contrast=0.0), at=7).reasons
    assert focus_from(look(2.0), at=7, white=1.0).reasons == (Reason.SATURATED, Reason.UNSURE)


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
        (look(0.3), {"at": 49}, r"positions 0\.\.48, not 49"),
        (look(0.3), {"at": 1, "method": "dioptre-single-dp"}, "the look has only one"),
        (look(0.3), {"at": 1, "method": "two-step"}, "does not take one look"),
        (look(0.3), {"at": 1, "method": "local-ratio-1"}, "does not take one look"),
        (np.zeros((2, 3, 64, 64)), {"at": 1}, r"not an array of shape \(2, 3, 64, 64\)"),
    ],
)
def test_what_cannot_be_used_is_said(frame: np.ndarray, arguments: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        focus_from(frame, **arguments)


def test_a_network_for_any_number_of_looks_takes_whole_stacks_too() -> None:
    stack = np.stack([look(0.25)] * N)
    found = focus(stack, "any", grid=FocusGrid.learnaf())
    assert (found.index, found.state) == (25, State.FOCUSED)
    with pytest.raises(ValueError, match="2 of its slices"):
        focus(stack, "two-step", grid=FocusGrid.learnaf())
