"""Ordinal soft labels (SORD): a class is the wronger the farther it is.

For a target t the label of position i is y_i, proportional to exp(-phi(i, t)), and the loss is the
cross-entropy of the network's softmax with y. The paper ("Training") takes the squared distance in indices
with a coefficient of 1. The cross-entropy has a floor, the entropy of y; what is reported is what lies above
it, the Kullback-Leibler divergence, so that a curve can reach 0.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Distance = Literal["squared", "absolute"]


def soft_labels(
    target: Float[Tensor, " batch"],
    positions: int,
    distance: Distance = "squared",
    coefficient: float = 1.0,
) -> Float[Tensor, "batch n"]:
    """Returns the label of every position; a target may lie between two or beyond the ends.

    Args:
        target: The true position, in indices.
        positions: How many there are.
        distance: What of the distance counts: its square or its size.
        coefficient: What it is multiplied by: larger is sharper.
    """
    away = torch.arange(positions, device=target.device) - target[:, None]
    penalty = away.square() if distance == "squared" else away.abs()
    return torch.softmax(-coefficient * penalty, dim=1)


def divergence(scores: Float[Tensor, "batch n"], labels: Float[Tensor, "batch n"]) -> Float[Tensor, " batch"]:
    """Returns the cross-entropy of each answer with its label, less the label's entropy."""
    logs = torch.log_softmax(scores, dim=1)
    return (torch.xlogy(labels, labels) - labels * logs).sum(dim=1)
