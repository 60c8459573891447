"""Where networks look when they search: the looks that others, or they themselves, learn from.

The walk is `dioptre.autofocus.search`'s, as everywhere; here a look is read from a store or a feature cache,
and who is asked is a network in torch or ONNX Runtime.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float32, Int, Int64

from dioptre.autofocus.search import Ask, SearchPolicy, See, search
from dioptre.posterior import Decision, Posterior
from dioptre.train.cache import Done, unwatched
from dioptre.train.dataloader import LookSource
from dioptre.train.inference import Inference

# Looks as networks take them: pixels or features, positions, places in the frame.
Given = tuple[
    Float32[np.ndarray, "walk look ..."],
    Int64[np.ndarray, "walk look"],
    Float32[np.ndarray, "walk 2"],
    Float32[np.ndarray, "walk 2"],
]


def roll_out(
    source: LookSource,
    ask: Sequence[Ask[Given]],
    views: int,
    apart: int = 0,
    done: Done = unwatched,
    batch: int = 16,
) -> Int[np.ndarray, "all start look"]:
    """Returns the positions at which searches look, from every start of every patch, and their last answer.

    Args:
        source: Where looks are read.
        ask: Who is asked after the first look, after the second, and so on.
        views: 1 green, 2 left and right.
        apart: Indices that a new look keeps from all looks so far.
        done: Told how far it is.
        batch: Patches that are read at a time.
    """
    everything, policy = np.arange(source.positions), SearchPolicy(len(ask), apart)
    trails = np.empty((len(source), source.positions, len(ask) + 1), np.int16)
    for begin in range(0, len(source), batch):
        rows = np.arange(begin, min(begin + batch, len(source)))
        pixels, where = source.read(rows, np.tile(everything, (len(rows), 1)), views)
        for row, slices, place in zip(rows, pixels, where, strict=True):
            trail = search(everything, see_slices(slices, place), ask, policy)
            last = policy.next_position(trail.posterior.scores(), trail.positions)
            trails[row] = np.column_stack([trail.positions, last])
        done(int(rows[-1]) + 1, len(source))
    return trails


def see_slices(slices: Float32[np.ndarray, "position ..."], where: Float32[np.ndarray, " 2"]) -> See[Given]:
    """Returns looks at one patch, of which all slices are there; all walks see the same patch."""

    def see(walks: Int[np.ndarray, " walk"], seen: Int[np.ndarray, "walk look"]) -> Given:
        return slices[seen], seen, np.tile(where, (len(walks), 1)), np.ones((len(walks), 2), np.float32)

    return see


def ask_network(
    infer: Inference, device: torch.device, positions: int, decision: Decision = Decision.MEDIAN
) -> Ask[Given]:
    """Returns a network as one who is asked.

    Args:
        infer: What the network answers.
        device: Where it is computed.
        positions: Of the grid.
        decision: How its answer is read.
    """

    @torch.no_grad()
    def ask(looks: Given) -> Posterior:
        logits = infer(*(torch.from_numpy(one).to(device) for one in looks))
        return Posterior.of_logits(logits.cpu().numpy().astype(np.float64), positions, decision)

    return ask
