"""Finished networks at work, for others to learn from: what looks say, and where to look next."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from dioptre.loop.search import LOOKS_APART, SearchPolicy
from dioptre.posterior import Posterior
from dioptre.train.feed import Batch, Memory, Source
from dioptre.train.network import Alone, Listener, LooksNet, answers
from dioptre.train.quick import Asked, quicken

Done = Callable[[int, int], None]  # how many patches an earlier network has seen, and of how many


def unwatched(_seen: int, _all: int) -> None:
    """Tells nobody."""


class Teacher:
    """A finished network that says what it believes of the looks another one learns from."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self.asked: dict[torch.Size, Asked] = {}  # by the shape of a look: quarters come first

    @torch.no_grad()
    def belief(self, batch: Batch) -> Float[Tensor, "batch n"]:
        """Returns the probability of each position."""
        given = (batch.pixels, batch.indices, batch.where)
        shape = batch.pixels.shape[1:]
        if shape not in self.asked:
            self.asked[shape] = quicken(self.network, *given)
        return torch.softmax(self.asked[shape](*given), dim=1)


@torch.no_grad()
def remember(
    source: Source,
    network: LooksNet,
    rows: Int[np.ndarray, " some"],
    views: int,
    done: Done = unwatched,
) -> Shaped[np.ndarray, "all position said"]:
    """Returns what every look at some patches of a source says alone; 0 for the others."""
    asked: Asked | None = None
    positions = source.positions
    said = np.zeros((len(source), positions, network.alone.encoder.features + positions), np.float16)
    everything = np.arange(positions)[None]
    for at, row in enumerate(rows):
        pixels, where = source.read(row[None], everything, views)
        given = _tensors_for(network, pixels, everything, where)
        asked = asked or quicken(Alone(network), *given)
        said[row] = asked(*given)[0].cpu().numpy()
        done(at + 1, len(rows))
    return said


def _tensors_for(network: nn.Module, *arrays: Shaped[np.ndarray, "..."]) -> tuple[Tensor, ...]:
    """Returns arrays as tensors where a network is."""
    device = next(network.parameters()).device
    return tuple(torch.from_numpy(one).to(device) for one in arrays)


@torch.no_grad()
def follow(
    source: Source | Memory,
    networks: Sequence[nn.Module],
    views: int,
    done: Done = unwatched,
    batch: int = 16,
) -> Int[np.ndarray, "all start step"]:
    """Returns where networks look, one after the other, from every start of every patch.

    Each network sees all looks so far and says where to look next.
    """
    positions = source.positions
    patches = len(source)
    trails = np.empty((patches, positions, len(networks) + 1), np.int16)
    trails[:, :, 0] = np.arange(positions)
    everything = np.arange(positions)
    asked: dict[int, Asked] = {}
    for begin in range(0, patches, batch):
        rows = np.arange(begin, min(begin + batch, patches))
        pixels, where = source.read(rows, np.tile(everything, (len(rows), 1)), views)
        for step, network in enumerate(networks):
            for at, row in enumerate(rows):
                seen = trails[row, :, : step + 1].astype(np.int64)
                given = _tensors_for(network, pixels[at][seen], seen, np.tile(where[at], (positions, 1)))
                if step not in asked:
                    asked[step] = network if isinstance(network, Listener) else quicken(network, *given)
                trails[row, :, step + 1] = _choice(network, asked[step](*given), seen)
        done(int(rows[-1]) + 1, patches)
    return trails


def _choice(
    network: nn.Module, scores: Float[Tensor, "batch n"], seen: Int[np.ndarray, "batch look"]
) -> Int[np.ndarray, " batch"]:
    """Returns where to look next: where a network answers, or as one for any number of looks searches."""
    if not isinstance(network, Listener | LooksNet):
        return answers(network, scores).cpu().numpy()
    posterior = Posterior.of_logits(scores.cpu().numpy().astype(np.float64), scores.shape[1])
    return SearchPolicy(1, LOOKS_APART).next_position(posterior.scores(), seen)
