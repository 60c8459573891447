"""What a network sees of a stack, and how its answer becomes scores over the ladder.

Pixels are a FocalStack's: linear, 0 black, 1 white. A look is one slice: one view (green) or two.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

DARK = 1e-3  # a mean below this is black: dividing by it would only show noise
TINY = 1e-6
REACH = 16  # lags of a correlation either way: more than any disparity of the ladder
DIFFERENCE_GAIN = 4.0  # the views of a patch differ by a fraction of its contrast


def normalise_looks(
    pixels: Float[Tensor, "batch slice view row col"],
) -> Float[Tensor, "batch slice view row col"]:
    """Returns each look divided by the mean of its views: what is left is contrast, whatever the light.

    One factor serves both views, since their ratio tells of the place in the frame and the side of focus.
    """
    mean = pixels.mean(dim=(2, 3, 4), keepdim=True)
    return pixels / mean.clamp_min(DARK)


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


def view_planes(pixels: Float[Tensor, "look view row col"]) -> Float[Tensor, "look view row col"]:
    """Returns normalised looks as the contrast of green and, of two views, their difference."""
    green = pixels.mean(dim=1, keepdim=True) - 1
    if pixels.shape[1] == 1:
        return green
    return torch.cat([green, DIFFERENCE_GAIN * (pixels[:, :1] - pixels[:, 1:])], dim=1)


def constant_planes(
    position: Float[Tensor, " look"],
    where: Float[Tensor, "look 2"],
    beside: Float[Tensor, "look _ row col"],
) -> Float[Tensor, "look 3 row col"]:
    """Returns planes that are the same everywhere: the lens, and where in the frame the patch lies.

    Args:
        position: The lens, from 0 (far) to 1 (near).
        where: The patch's centre in the frame as (x, y), each in [-1, 1].
        beside: Planes of the same rows and columns.
    """
    constants = torch.cat([2 * position[:, None] - 1, where], dim=1)
    return constants[:, :, None, None].expand(-1, -1, *beside.shape[2:])


def row_correlation(
    first: Float[Tensor, "look row col"], second: Float[Tensor, "look row col"], reach: int
) -> Float[Tensor, "look lag"]:
    """Returns how alike two pictures are at lags -reach .. reach along the columns: 1 for the same.

    At lag d, first[x] meets second[x + d]: the highest value of the left and the right view is at their
    disparity. One matrix product makes the sums over all pairs of columns; its diagonals are the lags.
    """
    cols = first.shape[2]
    pairs = first.transpose(1, 2) @ second  # (look, col of first, col of second)
    flat = functional.pad(pairs, (reach, reach)).flatten(1)
    # Read with rows longer by one, each row begins one column later: diagonals become columns.
    skewed = functional.pad(flat, (0, cols)).view(-1, cols, cols + 2 * reach + 1)
    lags = skewed[:, :, : 2 * reach + 1].sum(dim=1)
    energy = first.square().sum(dim=(1, 2)) * second.square().sum(dim=(1, 2))
    return lags * torch.rsqrt(energy + TINY)[:, None]


def likeness(pixels: Float[Tensor, "look view row col"]) -> Float[Tensor, "look lag"]:
    """Returns correlations of normalised looks: the views' tell disparity, green's tell blur.

    Each is taken of the pictures and of their differences along the axis, which weigh fine detail more. Green
    is seen at half its size, along the columns and along the rows, and only at lags above 0.
    """
    centred = pixels - pixels.mean(dim=(2, 3), keepdim=True)
    half = functional.avg_pool2d(centred.mean(dim=1, keepdim=True), 2)[:, 0]
    greens = [one for green in (half, half.transpose(1, 2)) for one in (green, differences(green))]
    blur = [row_correlation(one, one, REACH)[:, REACH + 1 :] for one in greens]
    pairs = (centred, differences(centred)) if pixels.shape[1] == 2 else ()
    disparity = [row_correlation(two[:, 0], two[:, 1], REACH) for two in pairs]
    return torch.cat([*blur, *disparity], dim=1)


def differences(pixels: Float[Tensor, "*axes col"]) -> Float[Tensor, "*axes fewer"]:
    """Returns what each column has more than the one before."""
    return pixels[..., 1:] - pixels[..., :-1]


def relative_to_scores(
    relative: Float[Tensor, "look move"], indices: Int[Tensor, " look"], positions: int
) -> Float[Tensor, "look n"]:
    """Returns scores over the ladder from scores over moves of -(n - 1) .. n - 1 indices.

    A move of m from position k leads to position k + m: position i reads move i - k.
    """
    moves = torch.arange(positions, device=relative.device)[None, :] - indices[:, None] + positions - 1
    return relative.gather(1, moves)


def scores_to_relative(
    scores: Float[Tensor, "look n"], indices: Int[Tensor, " look"], positions: int
) -> Float[Tensor, "look move"]:
    """Returns scores over moves from scores over the ladder; moves that leave it get minus infinity."""
    moves = torch.arange(positions, device=scores.device)[None, :] - indices[:, None] + positions - 1
    relative = scores.new_full((len(scores), 2 * positions - 1), -torch.inf)
    return relative.scatter(1, moves, scores)
