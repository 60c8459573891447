"""Writes into the cards of networks what they are worth on patches that they have not seen.

python -m lab.recipes.card_figures WEIGHTS STORE [REAL]

WEIGHTS is a folder of ONNX files, or one of them; STORE a simulated store with patches of the split test;
REAL a folder of real green stacks (`lab.realism.published_stacks`). Errors are mean absolute errors in
indices; a method with few looks begins at seven starts in STORE and at all in REAL. What a second look is
worth depends on who leads to it, so it is asked of the method of that name, behind its first: ship both
before.
"""

import sys
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from dioptre.autofocus.search import askers_of, policy_of, search, see_stack
from dioptre.evaluate.predict import oracle_answers
from dioptre.methods import find_method
from dioptre.methods.base import Method, best_index
from dioptre.methods.learned import Learned
from dioptre.pipeline.predicting import spread
from dioptre.posterior import DepthPrior
from dioptre.stack import FocalStack
from dioptre.store.patches import PatchStore, open_patches
from dioptre.train.export import write_figures
from lab.realism.published_stacks import looks, read, searched

BATCH, STARTS = 32, 7


def answers(learned: Learned, stack: FocalStack, prior: DepthPrior) -> Float[np.ndarray, " batch"]:
    """Returns the network's answer for each stack of a batch."""
    return best_index(learned.posterior(stack).weigh(prior).scores())


def led_answers(method: Method, stack: FocalStack) -> Int[np.ndarray, "batch start"]:
    """Returns the answers of a method for several looks at the end of its searches."""
    ask, policy = askers_of(method, method.looks, DepthPrior.even()), policy_of(method, method.looks)
    starts = spread(len(stack.grid), STARTS)
    trails = [search(starts, see_stack(stack, at), ask, policy) for at in range(stack.batch)]
    return np.stack([best_index(trail.posteriors[-1].scores()) for trail in trails])


def simulated(learned: Learned, method: Method | None, store: PatchStore) -> dict[str, float]:
    """Returns the errors on simulated test patches: of all looks of a method, and of the oracle."""
    rows, truth = store.rows_of("test"), store.column("truth")
    starts = spread(len(store.format.grid), STARTS) if learned.card.looks == 1 else [None]
    errors, least = [], []
    for begin in range(0, len(rows), BATCH):
        some = rows[begin : begin + BATCH]
        if method is not None:
            errors.append(np.abs(led_answers(method, store.stack(some)) - truth[some][:, None]).ravel())
        for start in starts if method is None else []:
            stack = store.stack(some) if start is None else store.stack(some, [int(start)])
            stack = stack.green() if learned.card.views == 1 else stack
            errors.append(np.abs(answers(learned, stack, DepthPrior.even()) - truth[some]))
        exact = oracle_answers(store, some)
        assert exact is not None, "only a simulated store can be used"
        least.append(np.abs(exact - truth[some]))
    return {
        "simulated patches": len(rows),
        "simulated error": round(float(np.concatenate(errors).mean()), 3),
        "simulated error of the oracle": round(float(np.concatenate(least).mean()), 3),
    }


def real(learned: Learned, method: Method | None, folder: Path) -> dict[str, float]:
    """Returns the errors on real green stacks, as they lie and turned, under both priors."""
    stacks = read(folder)
    found: dict[str, float] = {"real stacks": len(stacks) // 8}
    if method is not None:
        led = searched(method, stacks)
        last = {name: led[f"{name} {method.looks}"] for name in ("even", "far")}
        return found | {f"real error, {name} prior": round(error, 3) for name, error in last.items()}
    for name, prior in (("even", DepthPrior.even()), ("far", DepthPrior.far())):
        errors = [
            np.abs(
                answers(learned, looks(one.stack) if learned.card.looks == 1 else one.stack, prior)
                - one.label
            )
            for one in stacks
        ]
        found[f"real error, {name} prior"] = round(float(np.concatenate(errors).mean()), 3)
    return found


def figures_of(file: Path, store: PatchStore, folder: Path | None) -> dict[str, float]:
    """Returns all figures of a network."""
    learned = Learned(file)
    method = find_method(file.stem) if learned.card.looks > 1 else None
    if method is not None and method.build().identity != learned.identity:
        sys.exit(f"{file} is not the {file.stem} that is shipped: what leads to its last look is not known")
    figures = simulated(learned, method, store)
    if folder is not None and learned.card.views == 1:
        figures |= real(learned, method, folder)
    return figures


def main() -> None:
    """Measures and writes."""
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    weights, store = Path(sys.argv[1]), open_patches(Path(sys.argv[2]))
    folder = Path(sys.argv[3]) if len(sys.argv) == 4 else None
    for file in [weights] if weights.is_file() else sorted(weights.glob("*.onnx")):
        figures = figures_of(file, store, folder)
        write_figures(file, figures)
        print(file.stem, figures, flush=True)


if __name__ == "__main__":
    main()
