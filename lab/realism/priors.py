"""What a prior is worth to one green look: even and far side by side, near and far subjects apart.

    python -m lab.realism.priors STORE [METHOD ...]

STORE is a simulated store with patches of the split test. A subject is far in the farther half of the grid.
Every number is a mean absolute error in indices over seven starts; `sides` is what it would be under an even
prior if the lens were told on which side of the subject it is; `two answers` is the share of the looks whose
posterior has another side of focus that is at least a tenth likely: what makes one green look bimodal.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from dioptre.confidence.verdict import OTHER_SIDE, candidates
from dioptre.methods import find_method
from dioptre.methods.base import Autofocuser, best_index
from dioptre.pipeline.predicting import spread
from dioptre.posterior import DepthPrior, Posterior
from dioptre.store.patches import PatchStore, open_patches

METHODS = ("dioptre-single-green", "l2a-single-green", "dioptre-single-dp", "l2a-single-dp")
PRIORS = {"even": DepthPrior.even(), "far prior": DepthPrior.far()}
BATCH, STARTS = 32, 7


def seen(
    autofocuser: Autofocuser, store: PatchStore, views: int
) -> Iterator[tuple[Posterior, Float[np.ndarray, " batch"], int]]:
    """Yields the posteriors of looks at test patches, the patches' truth, and the start."""
    rows, truth = store.rows_of("test"), store.column("truth")
    for begin in range(0, len(rows), BATCH):
        some = rows[begin : begin + BATCH]
        for start in spread(len(store.format.grid), STARTS):
            stack = store.stack(some, [int(start)])
            posterior = autofocuser.posterior(stack.green() if views == 1 else stack)
            assert posterior is not None, "a method for one look knows probabilities"
            yield posterior, truth[some].astype(np.float64), int(start)


def measure(key: str, store: PatchStore) -> dict[str, tuple[float, float, float]]:
    """Returns what one look of a method is worth, of all subjects, of far and of near ones."""
    method = find_method(key)
    errors: dict[str, list[Float[np.ndarray, " batch"]]] = {}
    truths = []
    for posterior, truth, start in seen(method.build(), store, method.views):
        truths.append(truth)
        for name, prior in PRIORS.items():
            answer = best_index(posterior.weigh(prior).scores())
            errors.setdefault(name, []).append(np.abs(answer - truth))
        answer = best_index(posterior.scores())
        mirrored = np.clip(2 * start - answer, 0, posterior.positions - 1)
        errors.setdefault("sides", []).append(np.minimum(np.abs(answer - truth), np.abs(mirrored - truth)))
        errors.setdefault("two answers", []).append(has_two_sides(posterior).astype(np.float64))
    far = np.concatenate(truths) < len(store.format.grid) / 2
    joined = {name: np.concatenate(each) for name, each in errors.items()}
    return {
        name: (float(each.mean()), float(each[far].mean()), float(each[~far].mean()))
        for name, each in joined.items()
    }


def has_two_sides(posterior: Posterior) -> Bool[np.ndarray, " batch"]:
    """Returns whether the second likeliest side of focus of each look is at least a tenth likely."""
    each = (candidates(posterior.reachable[at]) for at in range(len(posterior.logs)))
    return np.array([len(sides) > 1 and sides[1].probability >= OTHER_SIDE for sides in each])


def main() -> None:
    """Prints a table for each method."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    store = open_patches(Path(sys.argv[1]))
    for key in sys.argv[2:] or METHODS:
        print(f"\n{key:24}{'all':>8}{'far':>8}{'near':>8}")
        for name, numbers in measure(key, store).items():
            print(f"{name:24}" + "".join(f"{one:8.2f}" for one in numbers), flush=True)


if __name__ == "__main__":
    main()
