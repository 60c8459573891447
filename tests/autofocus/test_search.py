"""The one search against a plain loop over one start at a time, on a recorded stack and on a camera."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dioptre.autofocus.search import (
    LOOKS_APART,
    LOOKS_STRADDLE,
    NEVER,
    NO_LOOK,
    SAME_SIDE,
    SearchPolicy,
    Trail,
    askers_of,
    policy_of,
    search,
    see_camera,
    see_stack,
)
from dioptre.cameras.replay import ReplayCamera
from dioptre.errors import InputError, MethodError
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS
from dioptre.methods.base import ANY, Method
from dioptre.posterior import Decision, DepthPrior, Posterior
from dioptre.problem import Problem
from dioptre.stack import FocalStack
from tests.fakes import FamilyOf, Probable

N = 12
GRID = FocusGrid.uniform(n=N)
EVEN = DepthPrior.even()
Ask = Callable[[FocalStack], Posterior]


def logits_of(stack: FocalStack) -> np.ndarray:
    """Returns a guess that depends on every look, its position and its order."""
    weights = np.arange(1, stack.indices.shape[1] + 1)
    marks = (stack.pixels.mean(axis=(2, 3, 4)) * weights).sum(axis=1)
    steps = np.arange(N + 2)
    return 3 * np.sin(40 * marks[:, None] + steps * (1 + stack.indices.sum(axis=1, keepdims=True) / 7))


class Guess(Probable):
    def logits(self, stack: FocalStack) -> np.ndarray:
        return logits_of(stack)


class Counted(Probable):
    """The more looks, the surer of position 9."""

    def logits(self, stack: FocalStack) -> np.ndarray:
        sharpness = stack.indices.shape[1] * (1 + stack.indices[:, :1])
        return -sharpness * 0.2 * (np.arange(N) - 9.0) ** 2


ROWS = {
    "one": Method("one", "One", Problem.SINGLE_GREEN, FamilyOf(Guess), "test", looks=1),
    "two": Method("two", "Two", Problem.SINGLE_GREEN, FamilyOf(Guess), "test", looks=2, after="one"),
    "three": Method("three", "Three", Problem.SINGLE_GREEN, FamilyOf(Guess), "test", looks=3, after="two"),
    "alone": Method("alone", "Alone", Problem.SINGLE_GREEN, FamilyOf(Guess), "test", looks=2),
    "any": Method("any", "Any", Problem.SINGLE_GREEN, FamilyOf(Guess), "test", looks=ANY),
}


@pytest.fixture(autouse=True)
def methods(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, row in ROWS.items():
        monkeypatch.setitem(METHODS, key, row)


@pytest.fixture(scope="module")
def stacks() -> FocalStack:
    rng = np.random.default_rng(0)
    pixels = rng.random((2, N, 1, 16, 16)).astype(np.float32)
    return FocalStack.full(pixels, GRID, where=np.array([[0.1, 0.2], [-0.3, 0.4]]), view_codes=99.0)


def plainly_beyond(chances: list[float], start: int, policy: SearchPolicy) -> int:
    """Returns where a second look loses least, one subject after the other."""

    def lost(look: int) -> float:
        total = 0.0
        for subject, chance in enumerate(chances, -1):
            between = start < subject < look or look < subject < start
            total += chance * (abs(abs(look - subject) - policy.straddles) + (0 if between else SAME_SIDE))
        return total

    return min((look for look in range(N) if abs(look - start) >= max(1, policy.apart)), key=lost)


def plain(
    stack: FocalStack, scene: int, start: int, ask: list[Ask], policy: SearchPolicy
) -> tuple[list[int], list[np.ndarray]]:
    """Returns where one search looks and its posteriors, as the words of SearchPolicy say, slowly."""
    seen, logs = [start], []
    for look, ask_now in enumerate(ask):
        pixels = stack.pixels[scene][seen][None]
        where = None if stack.where is None else stack.where[scene][None]
        posterior = ask_now(FocalStack(pixels, np.array([seen]), stack.grid, where, stack.view_codes))
        logs.append(posterior.logs[0])
        scores = posterior.scores()[0].tolist()
        answer = scores.index(max(scores))
        near = sum(p for at, p in enumerate(posterior.ladder[0]) if abs(at - answer) <= 1)
        if max(near, posterior.beyond_far[0], posterior.beyond_near[0]) >= policy.sure:
            break
        if look == 0 < policy.looks - 1 and policy.straddles:
            seen.append(plainly_beyond(np.exp(posterior.logs[0]).tolist(), start, policy))
        elif look < policy.looks - 1:
            away = [min(abs(at - old) for old in seen) for at in range(len(scores))]
            wanted = min(policy.apart, max(away))
            seen.append(max((at for at in range(N) if away[at] >= wanted), key=lambda at, s=scores: s[at]))
    return seen, logs


def assert_same(trail: Trail, stack: FocalStack, scene: int, ask: list[Ask], policy: SearchPolicy) -> None:
    for walk, start in enumerate(trail.positions[:, 0]):
        seen, logs = plain(stack, scene, int(start), ask, policy)
        padded = seen + [NO_LOOK] * (policy.looks - len(seen))
        assert trail.positions[walk].tolist() == padded
        logs += [logs[-1]] * (policy.looks - len(logs))
        for found, expected in zip(trail.posteriors, logs, strict=True):
            np.testing.assert_allclose(found.logs[walk], expected, rtol=1e-9, atol=1e-9)


# The walk


@pytest.mark.parametrize("scene", [0, 1])
@pytest.mark.parametrize(
    ("key", "looks"), [("one", 1), ("two", 2), ("three", 3), ("any", 1), ("any", 2), ("any", 4)]
)
def test_searches_side_by_side_are_searches_one_by_one(
    stacks: FocalStack, scene: int, key: str, looks: int
) -> None:
    policy, ask = policy_of(METHODS[key], looks), askers_of(METHODS[key], looks, EVEN)
    trail = search(np.arange(N), see_stack(stacks, scene), ask, policy)
    assert trail.positions.shape == (N, looks)
    assert len(trail.posteriors) == looks
    assert trail.posterior is trail.posteriors[-1]
    assert len({tuple(row) for row in trail.positions.tolist()}) == N
    assert_same(trail, stacks, scene, ask, policy)


@pytest.mark.parametrize("sure", [0.0, 0.25, 0.35, 0.4, NEVER])
def test_a_walk_that_is_sure_stops_and_the_others_go_on(stacks: FocalStack, sure: float) -> None:
    method = METHODS["any"]
    policy, ask = policy_of(method, 4, sure), askers_of(method, 4, EVEN)
    trail = search(np.arange(N), see_stack(stacks, 0), ask, policy)
    assert_same(trail, stacks, 0, ask, policy)
    stopped = (trail.positions == NO_LOOK).sum(axis=1)
    if sure == 0.0:
        assert (stopped == 3).all()
    elif sure == NEVER:
        assert (stopped == 0).all()
    else:
        assert len(set(stopped.tolist())) > 1


def test_whoever_has_stopped_is_not_asked_again(stacks: FocalStack) -> None:
    asked = []

    def see(walks: np.ndarray, seen: np.ndarray) -> FocalStack:
        asked.append(walks.tolist())
        return see_stack(stacks, 0)(walks, seen)

    ask = [Counted().posterior] * 3
    trail = search(np.array([0, 8, 1]), see, ask, SearchPolicy(3, 1, sure=0.95))
    assert asked == [[0, 1, 2], [0, 2], [0]]
    assert trail.positions.tolist() == [[0, 9, 8], [8, NO_LOOK, NO_LOOK], [1, 9, NO_LOOK]]
    np.testing.assert_array_equal(trail.posteriors[2].logs[1], trail.posteriors[0].logs[1])


def test_a_focus_that_is_clearly_beyond_an_end_ends_the_search() -> None:
    policy = SearchPolicy(3, sure=0.89)
    beyond = Posterior(np.log(np.array([[0.95, 0.01, 0.01, 0.02, 0.01], [0.05, 0.2, 0.3, 0.4, 0.05]])))
    assert policy.is_sure(beyond, np.array([0, 1])).tolist() == [True, True]
    assert policy.is_sure(beyond.scene(1), np.array([0])).tolist() == [False]  # 0.5 within an index of it


# Where to look next


def test_a_search_looks_apart_from_where_it_looked() -> None:
    scores = np.array([[0.0, 1.0, 2.0, 5.0, 4.0, 3.0, 1.0, 6.0, 2.0, 0.0]])
    policy = SearchPolicy(4, LOOKS_APART)
    assert policy.next_position(scores, np.array([[8]])).tolist() == [3]
    assert policy.next_position(scores, np.array([[0, 8]])).tolist() == [4]  # the only one four from both
    assert policy.next_position(scores, np.array([[1, 4, 7]])).tolist() == [9]  # none: the best two away


def at_positions(chances: dict[int, float], positions: int = 49) -> Posterior:
    logs = np.full((1, positions + 2), -np.inf)
    for at, chance in chances.items():
        logs[0, at + 1] = np.log(chance)
    return Posterior(logs)


@pytest.mark.parametrize(
    ("chances", "start", "second"),
    [
        ({20: 1.0}, 5, 28),  # beyond the subject, as far as is best
        ({20: 1.0}, 40, 12),
        ({10: 0.3, 30: 0.7}, 20, 38),  # of two sides, the likelier
        ({45: 1.0}, 30, 48),  # as far as there is room
        ({0: 1.0}, 20, 8),  # nothing is beyond it: before it, at that distance
        ({49: 1.0}, 40, 44),  # nearer than the ladder reaches: not within four of the first look
    ],
)
def test_a_second_look_at_green_is_beyond_the_subject(
    chances: dict[int, float], start: int, second: int
) -> None:
    policy = SearchPolicy(2, LOOKS_APART, straddles=8)
    assert policy.position_beyond(at_positions(chances), np.array([start])).tolist() == [second]


def test_the_papers_search_looks_at_the_answer_itself() -> None:
    scores = np.array([[0.0, 1.0, 5.0, 2.0]])
    assert SearchPolicy(2).next_position(scores, np.array([[2]])).tolist() == [2]


def test_looks_stay_apart_where_a_prior_rules_positions_out() -> None:
    scores = np.full((1, N), -np.inf)
    scores[0, 0] = 0.0  # the only position that is possible, and looked at already
    policy = SearchPolicy(2, LOOKS_APART)
    assert policy.next_position(scores, np.array([[0]])).tolist() == [4]


@pytest.mark.parametrize(("looks", "apart"), [(0, 0), (-1, 4), (2, -1)])
def test_a_policy_checks_itself(looks: int, apart: int) -> None:
    with pytest.raises(InputError, match="a search takes a look or more"):
        SearchPolicy(looks, apart)


# Who is asked


def test_each_look_is_asked_of_whom_it_is_for(stacks: FocalStack) -> None:
    assert policy_of(METHODS["three"], 3) == SearchPolicy(3, 0, NEVER)
    assert policy_of(METHODS["any"], 5, 0.8) == SearchPolicy(5, LOOKS_APART, 0.8, straddles=LOOKS_STRADDLE)
    assert policy_of(METHODS["dioptre-any-dp"], 3).straddles == 0  # two views tell their side
    assert [len(askers_of(METHODS[key], looks, EVEN)) for key, looks in (("three", 3), ("any", 5))] == [3, 5]
    ask = askers_of(METHODS["two"], 2, EVEN)[:1]
    with pytest.raises(InputError, match="a search of 2 looks asks as often, not 1 times"):
        search(np.array([0]), see_stack(stacks, 0), ask, SearchPolicy(2))


def test_whoever_is_asked_heeds_the_prior(stacks: FocalStack) -> None:
    far = DepthPrior.far()
    (ask,) = askers_of(METHODS["one"], 1, far)
    looks = stacks.at([3])
    expected = Guess().posterior(looks)
    assert expected is not None
    np.testing.assert_array_equal(ask(looks).logs, expected.weigh(far).logs)


@pytest.mark.parametrize(
    ("key", "looks", "sentence"),
    [
        ("local-ratio-1", 1, "looks at a whole stack and does not search"),
        ("l2a-stack-green", 1, "looks at a whole stack and does not search"),
        ("one", 2, "takes 1 looks, not 2"),
        ("two", 3, "takes 2 looks, not 3"),
        ("alone", 2, "nothing says who chooses the second"),
    ],
)
def test_a_method_that_cannot_search_is_refused(key: str, looks: int, sentence: str) -> None:
    with pytest.raises(MethodError, match=f"{key} .*{sentence}"):
        policy_of(METHODS[key], looks)


def test_a_method_that_only_scores_slices_cannot_lead(stacks: FocalStack) -> None:
    class Scorer(Guess):
        def posterior(self, _stack: FocalStack) -> None:
            return None

    row = replace(ROWS["one"], key="scorer", family=FamilyOf(Scorer))
    (ask,) = askers_of(row, 1, EVEN)
    with pytest.raises(MethodError, match="scorer scores slices and cannot lead a search"):
        ask(stacks.at([3]))


# How looks are taken


def test_a_recorded_look_has_all_that_the_stack_knows(stacks: FocalStack) -> None:
    looks = see_stack(stacks, 1)(np.arange(2), np.array([[3, 5], [7, 0]]))
    np.testing.assert_array_equal(looks.pixels, stacks.pixels[1][[[3, 5], [7, 0]]])
    assert looks.indices.tolist() == [[3, 5], [7, 0]]
    assert looks.where is not None
    assert looks.where.tolist() == [[-0.3, 0.4]] * 2
    assert looks.view_codes == 99.0


def test_a_recorded_stack_may_be_in_any_order(stacks: FocalStack) -> None:
    order = np.random.default_rng(1).permutation(N)
    shuffled = stacks.at(order)
    walks, seen = np.arange(2), np.array([[3, 5], [7, 0]])
    np.testing.assert_array_equal(
        see_stack(shuffled, 0)(walks, seen).pixels, see_stack(stacks, 0)(walks, seen).pixels
    )
    with pytest.raises(InputError, match="every slice of a recorded stack once"):
        see_stack(stacks.at([0, 1, 2]), 0)


@pytest.mark.parametrize(("key", "looks"), [("one", 1), ("two", 2), ("three", 3), ("any", 4)])
@pytest.mark.parametrize("decision", list(Decision))
def test_a_camera_and_a_recorded_stack_give_the_same(
    stacks: FocalStack, key: str, looks: int, decision: Decision
) -> None:
    scene = FocalStack(stacks.pixels[:1], stacks.indices[:1], GRID, np.array([[0.1, 0.2]]))
    policy = policy_of(METHODS[key], looks)

    def ask(looks_so_far: FocalStack) -> Posterior:
        return Posterior.of_logits(logits_of(looks_so_far), N, decision)

    asks = [ask] * looks
    recorded = search(np.arange(N), see_stack(scene, 0), asks, policy)
    for start in range(N):
        camera = ReplayCamera(scene)
        live = search(
            np.array([start]), see_camera(camera, lambda frame: frame, camera.where, []), asks, policy
        )
        assert live.positions[0].tolist() == recorded.positions[start].tolist()
        assert camera.visited == recorded.positions[start].tolist()
        np.testing.assert_array_equal(live.posterior.logs[0], recorded.posterior.logs[start])


def test_a_camera_shows_what_is_cut_and_where_that_lies(stacks: FocalStack) -> None:
    camera, frames = ReplayCamera(FocalStack.full(stacks.pixels[:1], GRID)), []
    see = see_camera(camera, lambda frame: frame[:, 2:10, 4:16], (0.5, -0.5), frames)
    see(np.array([0]), np.array([[3]]))
    looks = see(np.array([0]), np.array([[3, 8]]))
    np.testing.assert_array_equal(looks.pixels[0], stacks.pixels[0, [3, 8], :, 2:10, 4:16])
    assert looks.where is not None
    assert looks.where.tolist() == [[0.5, -0.5]]
    assert camera.visited == [3, 8]
    assert len(frames) == 2


def test_a_camera_cannot_follow_two_walks(stacks: FocalStack) -> None:
    camera = ReplayCamera(FocalStack.full(stacks.pixels[:1], GRID))
    ask = askers_of(METHODS["one"], 1, EVEN)
    with pytest.raises(InputError, match="one lens and cannot follow 2 searches"):
        search(np.array([0, 3]), see_camera(camera, lambda frame: frame, None, []), ask, SearchPolicy(1))
    assert camera.visited == []
