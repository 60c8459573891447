"""Ordinal soft labels (SORD): a class is the wronger the farther it is.

For a target t the label of position i is y_i, proportional to exp(-phi(i, t)), and the loss is the
cross-entropy of the network's softmax with y. The paper ("Training") takes the squared distance in indices
with a coefficient of 1. The cross-entropy is at least the entropy of y; what is reported is what lies above
it, the Kullback-Leibler divergence, so that a curve can reach 0.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from dioptre.train.recipe import Distance


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


def with_beyond(
    labels: Float[Tensor, "batch n"], target: Float[Tensor, " batch"]
) -> Float[Tensor, "batch n_and_beyond"]:
    """Returns soft labels of a network that can tell that the focus lies beyond an end of the grid.

    A target that rounds to a position has its label on the grid and nothing beyond; any other lies wholly
    beyond its end.
    """
    far, near = target < -0.5, target > labels.shape[1] - 0.5
    labels = functional.pad(labels, (1, 1)) * ~(far | near)[:, None]
    labels[:, 0], labels[:, -1] = far.to(labels.dtype), near.to(labels.dtype)
    return labels


def divergence(logits: Float[Tensor, "batch n"], labels: Float[Tensor, "batch n"]) -> Float[Tensor, " batch"]:
    """Returns the cross-entropy of each answer with its label, less the label's entropy."""
    logs = torch.log_softmax(logits, dim=1)
    return (torch.xlogy(labels, labels) - labels * logs).sum(dim=1)
