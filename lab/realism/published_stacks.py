"""Real green stacks of the published data set: what networks and measures say of them.

    python -m lab.realism.published_stacks FOLDER [METHOD ...]

FOLDER holds `NAME_labelNN.npy`: the codes (49, 128, 128) of left plus right, black 2048, index 0 far; NN is
the label. No picture leaves this script: it prints numbers. Each stack is seen as it lies and in its seven
other positions, turned and mirrored, and from every start.

Of a method for whole stacks:
    whole    mean absolute error, in indices

Of a method for few looks, after the first one:
    even     mean absolute error under an even prior, and so on under a far one
    sides    the same if the lens were always told on which side of the subject it is: either side counts
    near     how many times as large as it is blur is taken to be (median): the move that is told over the
             true one, where the lens is 6 to 24 indices nearer than the subject and the side is right; `far`
             where it is farther. True is the slice that `l2a-stack-green` finds sharpest, and not the label:
             labels are off by what the lens is.
    focused  share of the looks that `focus_from` calls FOCUSED, and `wrong` the share of these that are off
             by more than 4

Of a method for several looks, as a search leads it (three for a method of any number):
    even 2   mean absolute error after two looks under an even prior, and so on; `far 2` under a far one
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from dioptre import focus_from
from dioptre.autofocus.search import askers_of, policy_of, search, see_stack
from dioptre.confidence.reasons import State
from dioptre.grid import FocusGrid
from dioptre.methods import find_method
from dioptre.methods.base import ANY, Method, best_index
from dioptre.posterior import DepthPrior
from dioptre.stack import FocalStack

BLACK, WHITE = 2048.0, 32766.0  # of left plus right, 14 bits each
METHODS = "dioptre-single-green,l2a-single-green,dioptre-any-green,l2a-stack-green,local-norm-dist-sq-4"
MOVES = (6, 24)  # indices from which blur is read
SURELY_WRONG = 4
SHARPEST = "l2a-stack-green"
LED = 3  # looks to which a method for any number leads itself


@dataclass(frozen=True, eq=False)
class Labelled:
    """One stack in one of its positions, and its label."""

    stack: FocalStack
    label: int


def read(folder: Path) -> list[Labelled]:
    """Returns all stacks of a folder in all their positions."""
    found = []
    for path in sorted(folder.glob("*_label*.npy")):
        pixels = ((np.load(path).astype(np.float32) - BLACK) / (WHITE - BLACK)).clip(0, 1)
        label = int(path.stem.rpartition("_label")[2])
        for turns in range(4):
            turned = np.rot90(pixels, turns, (1, 2))
            for one in (turned, turned[:, :, ::-1]):
                stack = FocalStack(
                    np.ascontiguousarray(one)[None, :, None],
                    np.arange(len(pixels))[None],
                    FocusGrid.learnaf(),
                )
                found.append(Labelled(stack, label))
    if not found:
        raise SystemExit(f"{folder} has no NAME_labelNN.npy")
    return found


def looks(stack: FocalStack) -> FocalStack:
    """Returns every slice of a stack as a stack of its own."""
    pixels = stack.pixels[0][:, None]
    return FocalStack(np.ascontiguousarray(pixels), np.arange(len(pixels))[:, None], stack.grid)


def blur_ratio(
    answer: Int[np.ndarray, " start"], starts: Int[np.ndarray, " start"], sharpest: int
) -> dict[str, Float[np.ndarray, " some"]]:
    """Returns how many times as large as it is blur is taken to be, by the lens's side of the subject."""
    told, true = answer - starts, sharpest - starts
    counts = (np.abs(true) >= MOVES[0]) & (np.abs(true) <= MOVES[1]) & (told * true > 0)
    sides = {"near": true < 0, "far": true > 0}
    return {name: told[side & counts] / true[side & counts] for name, side in sides.items()}


def one_look(method: Method, stacks: list[Labelled]) -> dict[str, float]:
    """Returns what one look is worth."""
    autofocuser, reference = method.build(), find_method(SHARPEST).build()
    numbers: dict[str, list[float]] = {name: [] for name in ("even", "far prior", "sides", "near", "far")}
    sure, wrong = 0, 0
    for one in stacks:
        posterior = autofocuser.posterior(looks(one.stack))
        assert posterior is not None, "a method for few looks knows probabilities"
        starts = np.arange(posterior.positions)
        for name, prior in (("even", DepthPrior.even()), ("far prior", DepthPrior.far())):
            answer = best_index(posterior.weigh(prior).scores())
            numbers[name] += np.abs(answer - one.label).tolist()
        answer = best_index(posterior.scores())
        mirrored = np.clip(2 * starts - answer, 0, posterior.positions - 1)
        numbers["sides"] += np.minimum(abs(answer - one.label), abs(mirrored - one.label)).tolist()
        sharpest = int(best_index(reference.scores(one.stack))[0])
        for name, ratios in blur_ratio(answer, starts, sharpest).items():
            numbers[name] += ratios.tolist()
        results = [
            focus_from(frame[0], at=at, method=method.key) for at, frame in enumerate(one.stack.pixels[0])
        ]
        focused = [abs(result.index - one.label) for result in results if result.state is State.FOCUSED]
        sure += len(focused)
        wrong += sum(error > SURELY_WRONG for error in focused)
    result = {name: float(np.mean(values)) for name, values in numbers.items()}
    result |= {name: float(np.median(numbers[name])) for name in ("near", "far")}
    return result | {"focused": sure / len(numbers["even"]), "wrong": wrong / max(sure, 1)}


def searched(method: Method, stacks: list[Labelled]) -> dict[str, float]:
    """Returns what the looks of a search are worth, from all starts."""
    looked = LED if method.looks == ANY else method.looks
    found: dict[str, float] = {}
    for name, prior in (("even", DepthPrior.even()), ("far", DepthPrior.far())):
        ask, policy = askers_of(method, looked, prior), policy_of(method, looked)
        errors: list[list[int]] = [[] for _ in range(looked)]
        for one in stacks:
            trail = search(np.arange(len(one.stack.grid)), see_stack(one.stack, 0), ask, policy)
            for after, posterior in zip(errors, trail.posteriors, strict=True):
                after.extend(np.abs(best_index(posterior.scores()) - one.label).tolist())
        found |= {f"{name} {number}": float(np.mean(after)) for number, after in enumerate(errors, 1)}
    return found


def whole(method: Method, stacks: list[Labelled]) -> dict[str, float]:
    """Returns what a method says of whole stacks."""
    autofocuser = method.build()
    errors = [abs(int(best_index(autofocuser.scores(one.stack))[0]) - one.label) for one in stacks]
    return {"whole": float(np.mean(errors))}


def main() -> None:
    """Prints a line for each method."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    stacks = read(Path(sys.argv[1]))
    for key in sys.argv[2:] or METHODS.split(","):
        method = find_method(key)
        numbers = one_look(method, stacks) if method.looks in (1, ANY) else {}
        if method.looks == ANY or method.looks > 1:
            numbers |= searched(method, stacks)
        if method.looks < 1:  # WHOLE or ANY
            numbers |= whole(method, stacks)
        print(f"{key:24}", " ".join(f"{name} {value:5.2f}" for name, value in numbers.items()), flush=True)


if __name__ == "__main__":
    main()
