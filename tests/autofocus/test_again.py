"""A method for one look that is asked again where it answered: only the last look counts."""

import numpy as np
import pytest

import dioptre
from dioptre.autofocus.search import askers_of, policy_of, search, see_stack
from dioptre.errors import MethodError
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS, best_index
from dioptre.methods.base import Method
from dioptre.optics import CameraModel
from dioptre.posterior import DepthPrior
from dioptre.problem import Problem
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import FocalStack
from tests.fakes import FamilyOf, Probable
from tests.marks import slow

N = 20
EVEN = DepthPrior.even()


class HalfWay(Probable):
    """Goes half of the way to position 16, and takes one look at a time."""

    def logits(self, stack: FocalStack) -> np.ndarray:
        assert stack.indices.shape[1] == 1
        answer = (stack.indices[:, 0] + 16 + 1) // 2
        return -np.abs(np.arange(N) - answer[:, None]).astype(np.float64)


ROW = Method("half", "Half", Problem.SINGLE_GREEN, FamilyOf(HalfWay), "test", looks=1, again=True)


@pytest.fixture
def stack() -> FocalStack:
    pixels = np.random.default_rng(0).random((1, N, 1, 16, 16)).astype(np.float32)
    return FocalStack.full(pixels, FocusGrid.uniform(n=N))


def test_each_look_is_where_the_last_answer_was(stack: FocalStack) -> None:
    trail = search(np.array([0, 16, 19]), see_stack(stack, 0), askers_of(ROW, 3, EVEN), policy_of(ROW, 3))
    assert trail.positions.tolist() == [[0, 8, 12], [16, 16, 16], [19, 18, 17]]
    answers = [best_index(one.scores()).tolist() for one in trail.posteriors]
    assert answers == [[8, 16, 18], [12, 16, 17], [14, 16, 17]]


def test_it_keeps_no_distance_from_looks_before() -> None:
    assert policy_of(ROW, 2).apart == 0
    assert len(askers_of(ROW, 2, EVEN)) == 2


def test_several_looks_at_once_are_not_for_it(stack: FocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "half", ROW)
    frames = [(stack.pixels[0, at, 0], at) for at in (3, 5)]
    with pytest.raises(MethodError, match="takes one look, not 2 looks"):
        dioptre.focus_from(frames, method="half", grid=stack.grid, white=1.0)


def test_only_a_method_for_one_look_can_be_asked_again() -> None:
    with pytest.raises(MethodError, match="asked again of one look"):
        Method("x", "X", Problem.SINGLE_GREEN, FamilyOf(HalfWay), "test", looks=2, again=True)


@pytest.mark.parametrize("key", ["zncc-disparity", "dioptre-zncc-disparity", "dioptre-ssd-disparity"])
@slow
def test_the_second_look_of_disparity_is_nearer(key: str) -> None:
    camera, rng = CameraModel.pixel3(), np.random.default_rng(5)
    dim = 0.1 * dead_leaves(208, 208, rng)
    pixels = plane_stack(camera, float(camera.grid.dioptres[30]), dim, rng, shot=1.0, read=3.0)
    stack = FocalStack.full(pixels[None], camera.grid)
    trail = search(
        np.arange(0, 49, 4), see_stack(stack, 0), askers_of(METHODS[key], 2, EVEN), policy_of(METHODS[key], 2)
    )
    first, second = (np.abs(best_index(one.scores()) - 30) for one in trail.posteriors)
    assert second.max() < first.max()
    assert second.max() <= 3
