"""What a network sees of a stack, and how moves become positions of the grid.

Pixels are a FocalStack's: linear, 0 black, 1 white. A look is one slice: one view (green) or two.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

DARK = 0.005  # added to the mean that a look is divided by: in the dark that would only show noise
BLACK = 1e-3  # added where a logarithm is taken
LIGHT_GAIN = 0.4  # makes logarithms of usual brightness numbers around 0
FLAT = 0.01  # contrast of a stack that has almost none
CONTRAST_GAIN = 3.0  # makes usual contrast numbers around 1
DIFFERENCE_GAIN = 4.0  # the views of a patch differ by a fraction of its contrast
POSITION_WAVES = 6  # the shortest is three positions of 49 long
FLOOR = -30.0  # log-probability of what no move leads to: ONNX files are to hold no infinity
NOWHERE = -1e4  # in place of a logarithm that does not count
TINY = 1e-30  # in place of 0, where a logarithm is taken


def normalise_looks(
    pixels: Float[Tensor, "batch slice view row col"],
) -> Float[Tensor, "batch slice view row col"]:
    """Returns each look as its contrast, the deviation from its mean as a part of that, amplified, and 1.

    One factor serves both views, since their ratio tells of the place in the frame and the side of focus.
    """
    mean = pixels.mean(dim=(2, 3, 4), keepdim=True)
    return 1 + CONTRAST_GAIN * (pixels - mean) / (mean + DARK)


def normalise_stacks(
    pixels: Float[Tensor, "batch slice view row col"],
) -> Float[Tensor, "batch slice view row col"]:
    """Returns the contrast of each look of whole stacks, as a part of that of its stack, and 1.

    Of a stack, only where it has more contrast matters, and not how much.
    """
    mean = pixels.mean(dim=(2, 3, 4), keepdim=True)
    contrast = (pixels - mean) / (mean + DARK)
    return 1 + contrast / torch.sqrt(contrast.square().mean(dim=(1, 2, 3, 4), keepdim=True) + FLAT**2)


def brightness(pixels: Float[Tensor, "look view row col"]) -> Float[Tensor, "look 2"]:
    """Returns the logarithms of mean and deviation of looks as they were seen: how dark, and how flat."""
    mean = pixels.mean(dim=(1, 2, 3))
    variance = (pixels - mean[:, None, None, None]).square().mean(dim=(1, 2, 3))
    return torch.log(torch.stack([mean + BLACK, torch.sqrt(variance + BLACK**2)], dim=1))


def one_hot(
    pixels: Float[Tensor, "batch slice view row col"], indices: Int[Tensor, "batch slice"], positions: int
) -> Float[Tensor, "batch channel row col"]:
    """Returns the paper's input: views x positions channels, zero where no slice was seen.

    This is the plain form, which `SparseStem` equals without building it.
    """
    batch, _, views, rows, cols = pixels.shape
    dense = pixels.new_zeros(batch, positions, views, rows, cols)
    dense[torch.arange(batch)[:, None], indices] = pixels
    return dense.flatten(1, 2)


def first_of_each(indices: Int[Tensor, "batch slice"]) -> Float[Tensor, "batch slice"]:
    """Returns 1 for a position that was not seen before in its row and 0 for one that was.

    A one-hot input holds a slice once, however often it was looked at.
    """
    same = indices[:, :, None] == indices[:, None, :]
    return (~torch.tril(same, diagonal=-1).any(dim=2)).float()


def mixing(views: int) -> Float[Tensor, "plane view"]:
    """Returns the mixing matrix of planes: green and, of two views, their difference, amplified."""
    return torch.tensor([[1.0]] if views == 1 else [[0.5, 0.5], [DIFFERENCE_GAIN, -DIFFERENCE_GAIN]])


def folding(views: int, fold: int) -> Float[Tensor, "plane view fold fold"]:
    """Returns filters that make views into planes, as `mixing` says.

    Each plane is folded: the pixels of a square become channels, row by row. As a convolution, that is quick
    everywhere.
    """
    each = torch.eye(fold * fold).view(fold * fold, fold, fold)
    return torch.einsum("pv,krc->pkvrc", mixing(views), each).flatten(0, 1).contiguous()


def constant_planes(
    position: Float[Tensor, " look"],
    where: Float[Tensor, "look 2"],
    told: Float[Tensor, "look 2"],
    light: Float[Tensor, "look 2"],
    beside: Float[Tensor, "look _ row col"],
) -> Float[Tensor, "look 7 row col"]:
    """Returns planes that are the same everywhere: the lens, the place in the frame, the brightness.

    Args:
        position: The lens, from 0 (far) to 1 (near).
        where: The patch's centre in the frame as (x, y), each in [-1, 1].
        told: 1 where the position is known, and the place; 0 where not: they are then not shown.
        light: What `brightness` says.
        beside: Planes of the same rows and columns.
    """
    lens, place = told[:, :1], told[:, 1:]
    shown = [(2 * position[:, None] - 1) * lens, where * place]
    constants = torch.cat([*shown, LIGHT_GAIN * light + 1, told], dim=1)
    return constants[:, :, None, None].expand(-1, -1, *beside.shape[2:])


def position_waves(position: Float[Tensor, "batch slice"]) -> Float[Tensor, "batch slice wave"]:
    """Returns a lens position, -1 to 1, as cosines and sines of half a wave and its doubles, by turns."""
    phases = position[..., None] * (math.pi * 2.0 ** torch.arange(POSITION_WAVES, device=position.device))
    return torch.stack([torch.cos(phases), torch.sin(phases)], dim=-1).flatten(-2)


def moves_to_positions(
    moves: Float[Tensor, "look move"], indices: Int[Tensor, " look"], positions: int
) -> Float[Tensor, "look n_and_beyond"]:
    """Returns log-probabilities of the positions, and beyond the ends, from those of moves.

    A move of m, from -(n - 1) to n - 1, leads from position k to k + m: position i reads move i - k, and
    moves that lead beyond an end are added up. Where none does, there is FLOOR.

    Args:
        moves: Log-probabilities of all 2n - 1 moves.
        indices: Where the lens was.
        positions: Of the grid.

    Returns:
        Beyond far, the positions, beyond near: as `dioptre.posterior` has them.
    """
    lands = torch.arange(2 * positions - 1, device=moves.device) - (positions - 1) + indices[:, None]
    ladder = torch.arange(positions, device=moves.device) - indices[:, None] + (positions - 1)
    far, near = (
        torch.logsumexp(torch.where(beyond, moves, NOWHERE), dim=1, keepdim=True).clamp_min(FLOOR)
        for beyond in (lands < 0, lands >= positions)
    )
    return torch.cat([far, moves.gather(1, ladder), near], dim=1)


def share_beyond(
    logs: Float[Tensor, "batch slice n_and_beyond"], indices: Int[Tensor, "batch slice"]
) -> Float[Tensor, "batch slice n_and_beyond"]:
    """Returns the log-probabilities of each of several looks, made such that they can be averaged.

    No move leads from the near end to beyond the far one, however far away the focus is: a look there can
    only say "the far end". Of what it says of an end, the part that it is farther away from that end than
    the look closest to it, of the whole grid, counts as beyond too. One look stays what it is.
    """
    span = logs.shape[2] - 3
    far, near = indices - indices.amin(dim=1, keepdim=True), indices.amax(dim=1, keepdim=True) - indices
    parts = [
        torch.logsumexp(torch.stack([beyond, end + torch.log((steps / span).clamp_min(TINY))]), dim=0)
        for beyond, end, steps in (
            (logs[..., 0], logs[..., 1], far),
            (logs[..., -1], logs[..., -2], near),
        )
    ]
    return torch.cat([parts[0][..., None], logs[..., 1:-1], parts[1][..., None]], dim=2)
