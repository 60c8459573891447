"""The networks, one a file, and the table of what differs from one to another.

    mobilenet  the blocks of MobileNetV2, which all are made of
    one_hot    OneHotNet, the paper's: a channel for each position and view
    move       MoveNet: one look as planes, told as a move
    looks      LooksNet: any number of looks, MoveNet for each and attention over all

Tensors have the axes of a FocalStack, (batch, slice, view, row, col); every network is a function of
(pixels, indices, where, told) and answers with logits, (batch, n) over the grid or (batch, n + 2) with what
lies beyond its ends, as `dioptre.posterior` has them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from dioptre.autofocus.search import LOOKS_APART
from dioptre.methods.base import ANY, WHOLE
from dioptre.posterior import Decision
from dioptre.train.dataloader import Looks, random_start, some_slices, whole_stack
from dioptre.train.networks.looks import CombineLooks, LookFeatures, LooksNet
from dioptre.train.networks.move import MoveNet
from dioptre.train.networks.one_hot import (
    AuxiliaryMoves,
    OneHotNet,
    initialise_as_contrast_measure,
    share_stem,
)
from dioptre.train.recipe import Kind, Recipe

# How many looks a network for any number of them is trained with, and how often.
LOOK_COUNTS = (
    (1, 0.25),
    (2, 0.2),
    (3, 0.15),
    (5, 0.1),
    (8, 0.1),
    (16, 0.05),
    (49, 0.15),
)


@dataclass(frozen=True)
class NetworkKind:
    """What differs from one kind of network to another.

    Attributes:
        build: Makes an untrained network from the number of positions and views, and the width.
        decision: How its posterior is read.
        beyond: Whether it can tell that the focus lies beyond the ends: its logits are n + 2.
        looks: How many looks it is shown, from its recipe and how many steps are before it: a number, WHOLE
            or ANY.
        draw_looks: How looks are drawn while it learns the first step, from its recipe and the number of
            positions.
        looks_apart: Indices between the looks of its searches.
        initialise: Sets its first weights as the recipe says.
        encoder: The part of it that sees one look, and takes the weights of another kind of network for one
            look; the network itself if there is no such part.
        learner: The form in which it learns: logits (batch, n), or (batch, head, n) with auxiliary heads.
        answerer: The form that answers while it learns: of a frozen one, what is fed are cached features.
        cached: The form whose answers are cached if it is frozen.
    """

    build: Callable[[int, int, float], nn.Module]
    decision: Decision
    beyond: bool
    looks: Callable[[Recipe, int], int]
    draw_looks: Callable[[Recipe, int], Looks]
    looks_apart: int = 0
    initialise: Callable[[Any, Recipe], None] = lambda _network, _recipe: None
    encoder: Callable[[Any, Kind], nn.Module] = lambda network, _other: network
    learner: Callable[[Any, Recipe], nn.Module] = lambda network, _recipe: network
    answerer: Callable[[Any, Recipe], nn.Module] = lambda network, _recipe: network
    cached: Callable[[Any], nn.Module] = lambda network: network


def _steps(recipe: Recipe, before: int) -> int:
    return WHOLE if recipe.problem.whole else 1 + before


def _start_or_stack(recipe: Recipe, positions: int) -> Looks:
    return whole_stack(positions) if recipe.problem.whole else random_start(positions)


def _some_looks(recipe: Recipe, positions: int) -> Looks:
    most = recipe.batch * positions if recipe.frozen else recipe.batch
    return some_slices(positions, [(min(count, positions), share) for count, share in LOOK_COUNTS], most)


def _begin_one_hot(network: OneHotNet, recipe: Recipe) -> None:
    if recipe.shared_stem:
        (initialise_as_contrast_measure if recipe.problem.whole else share_stem)(network)


def _combine_if_frozen(network: LooksNet, recipe: Recipe) -> nn.Module:
    return CombineLooks(network) if recipe.frozen else network


NETWORKS: dict[str, NetworkKind] = {
    "one-hot": NetworkKind(
        OneHotNet,
        Decision.MODE,
        beyond=False,
        looks=_steps,
        draw_looks=_start_or_stack,
        initialise=_begin_one_hot,
        learner=lambda network, recipe: AuxiliaryMoves(network) if recipe.auxiliary else network,
    ),
    "move": NetworkKind(
        MoveNet,
        Decision.MEDIAN,
        beyond=True,
        looks=_steps,
        draw_looks=_start_or_stack,
    ),
    "looks": NetworkKind(
        LooksNet,
        Decision.MEDIAN,
        beyond=True,
        looks=lambda _recipe, _before: ANY,
        draw_looks=_some_looks,
        looks_apart=LOOKS_APART,
        encoder=lambda network, other: network.alone if other == "move" else network,
        learner=_combine_if_frozen,
        answerer=_combine_if_frozen,
        cached=LookFeatures,
    ),
}
