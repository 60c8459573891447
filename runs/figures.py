"""Writes into the cards of networks what they are worth on patches that they have not seen.

python runs/figures.py WEIGHTS STORE [REAL]

WEIGHTS is a folder of ONNX files, or one of them; STORE a simulated store with patches of the split test;
REAL a folder of real green stacks (`benchmarks.stacks`). Errors are mean absolute errors in indices; a method
with few looks begins at seven starts in STORE and at all in REAL.
"""

import sys
from pathlib import Path

import numpy as np
from benchmarks.stacks import looks, read
from jaxtyping import Float

from dioptre.dataset.store import PatchStore, open_patches
from dioptre.evaluate.predict import oracle_answers
from dioptre.methods.base import ANY, WHOLE, best_index
from dioptre.methods.learned import Card, Learned
from dioptre.pipeline.predicting import spread
from dioptre.posterior import DepthPrior
from dioptre.stack import FocalStack
from dioptre.train.export import write_figures

BATCH, STARTS = 32, 7


def answers(learned: Learned, stack: FocalStack, prior: DepthPrior) -> Float[np.ndarray, " batch"]:
    """Returns the network's answer for each stack of a batch."""
    return best_index(learned.posterior(stack).weigh(prior).scores())


def simulated(learned: Learned, store: PatchStore) -> dict[str, float]:
    """Returns the errors on simulated test patches: of one look or the whole stack, and of the oracle."""
    rows, truth = store.rows_of("test"), store.column("truth")
    starts = spread(len(store.format.grid), STARTS) if learned.card.looks == 1 else None
    errors, least = [], []
    for begin in range(0, len(rows), BATCH):
        some = rows[begin : begin + BATCH]
        for start in [None] if starts is None else starts:
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


def real(learned: Learned, folder: Path) -> dict[str, float]:
    """Returns the errors on real green stacks, as they lie and turned, under both priors."""
    stacks = read(folder)
    found: dict[str, float] = {"real stacks": len(stacks) // 8}
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


def figures_of(card: Card, learned: Learned, store: PatchStore, folder: Path | None) -> dict[str, float]:
    """Returns all figures of a network."""
    if card.looks not in (1, WHOLE, ANY):
        return {}  # a later step is worth what the step before it lets it be: dioptre predict
    figures = simulated(learned, store)
    return figures | real(learned, folder) if folder is not None and card.views == 1 else figures


def main() -> None:
    """Measures and writes."""
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    weights, store = Path(sys.argv[1]), open_patches(Path(sys.argv[2]))
    folder = Path(sys.argv[3]) if len(sys.argv) == 4 else None
    for file in [weights] if weights.is_file() else sorted(weights.glob("*.onnx")):
        learned = Learned(file)
        figures = figures_of(learned.card, learned, store, folder)
        write_figures(file, figures)
        print(file.stem, figures, flush=True)


if __name__ == "__main__":
    main()
