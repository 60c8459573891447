"""The one search: from look to look, to where the lens must go.

A search looks at a start, asks what that says, looks where the answer leads, asks again, and so on.
Evaluation runs it on recorded stacks, training on stores, a lens loop on a camera: they differ in how a look
is taken (`see`) and in who is asked (`ask`), and in nothing else.

Searches run side by side as **walks**, one for each start; a walk is a row of every array here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np
from jaxtyping import Bool, Int

from dioptre.cameras.base import Camera, Frame
from dioptre.errors import InputError, MethodError
from dioptre.methods import find_method
from dioptre.methods.base import ANY, WHOLE, Method, best_index
from dioptre.posterior import DepthPrior, Posterior, Scores
from dioptre.stack import FocalStack

Looks = TypeVar("Looks")  # what `see` gives and `ask` takes: a FocalStack, or tensors

# Takes looks: which walks, and the positions that each has looked at, the new one last.
See = Callable[[Int[np.ndarray, " walk"], Int[np.ndarray, "walk look"]], Looks]
Ask = Callable[[Looks], Posterior]

NO_LOOK: Final = -1  # in a trail, after a walk has stopped
NEVER: Final = 1.0  # no search is surer than that, so it takes all its looks
SAME_SIDE: Final = 20.0  # indices that a second look is worse for if the subject is not between both


@dataclass(frozen=True)
class SearchPolicy:
    """Where a search looks next, and when it stops.

    Attributes:
        looks: How many looks it takes at most.
        apart: Indices that a new look keeps from all looks so far, as far as there is room: a look beside
            another shows almost the same again. 0 to look at the answer itself, as the paper does.
        sure: It stops early once more than so much of the posterior lies within one index of the answer, or
            beyond one end of the grid.
        straddles: The second look is meant to be about so many indices beyond the subject, as seen from the
            first; 0 to look at the answer. One blur has two sides, and that of a look next to the subject
            hardly tells which: from beyond it, each look tells the other's.
    """

    looks: int
    apart: int = 0
    sure: float = NEVER
    straddles: int = 0

    def __post_init__(self) -> None:
        if self.looks < 1:
            raise InputError(f"a search takes a look or more, not {self.looks}")
        if self.apart < 0:
            raise InputError(f"a search takes a look or more, 0 indices apart or more, not {self.apart}")

    def next_position(self, scores: Scores, seen: Int[np.ndarray, "walk look"]) -> Int[np.ndarray, " walk"]:
        """Returns where to look next: the best position that is far enough from all looks so far.

        Where no position is, the best of those that are as far from them as there is one.
        """
        indices = np.arange(scores.shape[1])
        away = np.abs(indices[:, None] - seen[:, None, :]).min(axis=2)
        enough = away >= np.minimum(self.apart, away.max(axis=1, keepdims=True))
        ruled_out = np.finfo(scores.dtype).min  # such a position is still better than one too near
        return best_index(np.where(enough, np.maximum(scores, ruled_out), -np.inf))

    def position_beyond(
        self, posterior: Posterior, first: Int[np.ndarray, " walk"]
    ) -> Int[np.ndarray, " walk"]:
        """Returns where to look second: where the least is expected to be lost.

        Lost are an index for each that the look is nearer to the subject or farther from it than
        `straddles`, and SAME_SIDE where the subject does not lie between both looks.
        """
        looks = np.arange(posterior.positions)
        subjects = np.arange(-1, posterior.positions + 1)  # with what lies beyond the ends
        away = looks[:, None] - subjects
        between = away * (subjects - first[:, None])[:, None, :] > 0  # (walk, look, subject)
        lost = np.abs(np.abs(away) - self.straddles) + SAME_SIDE * ~between
        expected = np.einsum("wls,ws->wl", lost, np.exp(posterior.logs))
        apart = np.abs(looks - first[:, None]) >= max(1, self.apart)
        apart = np.where(apart.any(axis=1, keepdims=True), apart, True)
        return np.argmin(np.where(apart, expected, np.inf), axis=1)

    def is_sure(self, posterior: Posterior, answer: Int[np.ndarray, " walk"]) -> Bool[np.ndarray, " walk"]:
        """Returns which walks may stop before their last look."""
        beside = np.abs(np.arange(posterior.positions) - answer[:, None]) <= 1
        near = np.sum(posterior.ladder, axis=1, where=beside)
        known = np.maximum.reduce([near, posterior.beyond_far, posterior.beyond_near])
        return np.minimum(known, 1.0) > self.sure  # a sum of probabilities may round to a little above 1


LOOKS_APART: Final = 4  # of a method that takes any number of looks
LOOKS_STRADDLE: Final = 8  # of such a method that sees green; two views tell their side


@dataclass(frozen=True, eq=False)
class Trail:
    """What became of searches.

    Attributes:
        positions: Where each walk looked, in order; NO_LOOK after it has stopped.
        posteriors: What was known after each of these looks; after it has stopped, the same as before.
    """

    positions: Int[np.ndarray, "walk look"]
    posteriors: tuple[Posterior, ...]

    @property
    def posterior(self) -> Posterior:
        """What was known after the last look."""
        return self.posteriors[-1]


def search(
    starts: Int[np.ndarray, " walk"],
    see: See[Looks],
    ask: Sequence[Ask[Looks]],
    policy: SearchPolicy,
) -> Trail:
    """Returns where searches looked, and what they found.

    Args:
        starts: Where each begins.
        see: Takes looks.
        ask: Who is asked after the first look, after the second, and so on; each hears of all looks so far.
        policy: Where to look next, and when to stop.
    """
    if len(ask) != policy.looks:
        raise InputError(f"a search of {policy.looks} looks asks as often, not {len(ask)} times")
    positions = np.full((len(starts), policy.looks), NO_LOOK, np.int64)
    walks, seen = np.arange(len(starts)), starts[:, None].astype(np.int64)
    posteriors: list[Posterior] = []
    for look, ask_now in enumerate(ask):
        positions[walks, look] = seen[:, -1]
        posterior = ask_now(see(walks, seen))
        posteriors.append(_put(posterior, walks, posteriors[-1]) if posteriors else posterior)
        scores = posterior.scores()
        going = ~policy.is_sure(posterior, best_index(scores))
        if look == policy.looks - 1 or not going.any():
            break
        if look == 0 and policy.straddles:
            following = policy.position_beyond(replace(posterior, logs=posterior.logs[going]), seen[going, 0])
        else:
            following = policy.next_position(scores[going], seen[going])
        walks, seen = walks[going], np.concatenate([seen[going], following[:, None]], axis=1)
    posteriors += [posteriors[-1]] * (policy.looks - len(posteriors))
    return Trail(positions, tuple(posteriors))


def _put(posterior: Posterior, walks: Int[np.ndarray, " walk"], before: Posterior) -> Posterior:
    """Returns the posterior of all walks, of which some have stopped before."""
    logs = before.logs.copy()
    logs[walks] = posterior.logs
    return replace(posterior, logs=logs)


# Who is asked


def policy_of(method: Method, looks: int, sure: float = NEVER) -> SearchPolicy:
    """Returns how a method searches with so many looks.

    Raises:
        MethodError: If it does not take so many looks, or nobody chooses them.
    """
    if method.looks == WHOLE:
        raise MethodError(f"{method.key} looks at a whole stack and does not search")
    if not method.leads_itself and method.looks != looks:
        raise MethodError(f"{method.key} takes {method.looks} looks, not {looks}")
    if method.looks > 1 and not method.after:
        raise MethodError(f"{method.key} takes {method.looks} looks, and nothing says who chooses the second")
    if method.looks != ANY:
        return SearchPolicy(looks, sure=sure)
    return SearchPolicy(looks, LOOKS_APART, sure, straddles=LOOKS_STRADDLE if method.views == 1 else 0)


def leaders_of(method: Method) -> list[Method]:
    """Returns the methods that choose its looks, the first look's first, and then itself."""
    chain = [method]
    while chain[0].after:
        chain.insert(0, find_method(chain[0].after))
    return chain


def askers_of(method: Method, looks: int, prior: DepthPrior) -> list[Ask[FocalStack]]:
    """Returns who is asked after each look, under a prior: the last one is the method itself.

    A method that is asked again hears of the last look alone: what it said before only led there.
    """
    chain = [method] * looks if method.leads_itself else leaders_of(method)
    return [_asker(one, prior) for one in chain]


def _asker(method: Method, prior: DepthPrior) -> Ask[FocalStack]:
    focuser = method.build()

    def ask(looks: FocalStack) -> Posterior:
        posterior = focuser.posterior(_last(looks) if method.again else looks)
        if posterior is None:
            raise MethodError(f"{method.key} scores slices and cannot lead a search")
        return posterior.weigh(prior)

    return ask


def _last(looks: FocalStack) -> FocalStack:
    return replace(looks, pixels=looks.pixels[:, -1:], indices=looks.indices[:, -1:])


# How looks are taken


def see_stack(stack: FocalStack, scene: int) -> See[FocalStack]:
    """Returns looks at one scene of recorded stacks; all walks see the same scene."""
    order = np.argsort(stack.indices[scene])
    if not np.array_equal(stack.indices[scene][order], np.arange(len(stack.grid))):
        raise InputError("a search needs every slice of a recorded stack once")
    pixels = stack.pixels[scene]

    def see(walks: Int[np.ndarray, " walk"], seen: Int[np.ndarray, "walk look"]) -> FocalStack:
        where = None if stack.where is None else np.repeat(stack.where[scene : scene + 1], len(walks), axis=0)
        return FocalStack(pixels[order[seen]], seen, stack.grid, where, stack.view_codes)

    return see


def see_camera(
    camera: Camera,
    cut: Callable[[Frame], Frame],
    where: tuple[float, float] | None,
    frames: list[Frame],
) -> See[FocalStack]:
    """Returns looks through a camera, for one walk; every look is a capture.

    Args:
        camera: Moves the lens.
        cut: Cuts the region of interest out of a frame.
        where: The region's centre in the whole field, if that is known.
        frames: Where the regions that were seen are put, one after the other; empty at first.
    """

    def see(walks: Int[np.ndarray, " walk"], seen: Int[np.ndarray, "walk look"]) -> FocalStack:
        if len(walks) != 1:
            raise InputError(f"a camera has one lens and cannot follow {len(walks)} searches")
        frames.append(np.ascontiguousarray(cut(camera.capture(int(seen[0, -1])))))
        place = None if where is None else np.array([where])
        return FocalStack(np.stack(frames)[None], seen, camera.grid, place)

    return see
