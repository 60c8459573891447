"""What a network starts from: its own first weights, or those of another one, fitted to it.

A network for green can begin with one for two views, as if green were both, and one for two views with one
for green, as if that were their mean.
"""

from pathlib import Path

import torch
from torch import Tensor, nn

from dioptre.errors import InputError
from dioptre.train.folder import open_run
from dioptre.train.networks import NETWORKS
from dioptre.train.networks.move import FOLD
from dioptre.train.recipe import Recipe

ENCODER_STEMS = ("encoder.stem.0.weight", "alone.encoder.stem.0.weight")  # of MoveNet and LooksNet

Weights = dict[str, Tensor]


def start_network(recipe: Recipe, positions: int, start_from: Path | None) -> nn.Module:
    """Returns a network as its training begins.

    Args:
        recipe: What to train.
        positions: Of the grid.
        start_from: A finished run whose weights are taken where name and shape agree.

    Raises:
        InputError: If no weight of the run agrees.
    """
    torch.manual_seed(recipe.seed)
    kind = NETWORKS[recipe.network]
    network = kind.build(positions, recipe.views, recipe.width)
    kind.initialise(network, recipe)
    if start_from is not None:
        run = open_run(start_from)
        weights = match_views(run.weights(), run.recipe.views, network.state_dict(), recipe.views)
        if not take_weights(kind.encoder(network, run.recipe.network), weights):
            raise InputError(f"{start_from} has no weights of the names and shapes of this network's")
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def take_weights(network: nn.Module, weights: Weights) -> int:
    """Copies weights whose name and shape agree; returns how many."""
    own = network.state_dict()
    fitting = {name: one for name, one in weights.items() if name in own and own[name].shape == one.shape}
    network.load_state_dict(fitting, strict=False)
    return len(fitting)


def match_views(weights: Weights, views: int, own: Weights, wanted: int) -> Weights:
    """Returns weights of a network for some views as those of one for others."""
    if views == wanted:
        return weights
    return two_views_to_green(weights, own) if views > wanted else green_to_two_views(weights, own)


def two_views_to_green(weights: Weights, own: Weights) -> Weights:
    """Returns the weights of a network for two views as those of one that sees green in place of both.

    Channels that lived on the difference of the views begin as in the network's own weights.
    """
    weights = dict(weights)
    if "stem.weight" in weights:
        two = weights["stem.weight"]  # the views of each position by turns
        both = two[:, ::2] + two[:, 1::2]
        alive = both.flatten(1).norm(dim=1) > 0.5 * two.flatten(1).norm(dim=1)
        weights["stem.weight"] = torch.where(alive[:, None, None, None], both, own["stem.weight"])
    for name in ENCODER_STEMS:
        if name in weights:
            two, planes = weights[name], FOLD * FOLD
            weights[name] = torch.cat([two[:, :planes], two[:, 2 * planes :]], dim=1)
    return weights


def green_to_two_views(weights: Weights, own: Weights) -> Weights:
    """Returns the weights of a network for green as those of one that sees the mean of two views.

    What it sees of their difference begins as in the network's own weights, and in a one-hot stem as nothing.
    """
    weights = dict(weights)
    if "stem.weight" in weights:
        weights["stem.weight"] = weights["stem.weight"].repeat_interleave(2, dim=1) / 2
    for name in ENCODER_STEMS:
        if name in weights:
            one, planes = weights[name], FOLD * FOLD
            difference = own[name][:, planes : 2 * planes]
            weights[name] = torch.cat([one[:, :planes], difference, one[:, planes:]], dim=1)
    return weights
