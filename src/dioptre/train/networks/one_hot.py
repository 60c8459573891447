"""OneHotNet: the paper's network, a channel for each position and view."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from dioptre.errors import InputError
from dioptre.train import encode
from dioptre.train.networks.mobilenet import (
    DROPOUT,
    LAST,
    STEM,
    InvertedResidual,
    classifier,
    in_chunks,
    initialise,
    inverted_residuals,
    normalised,
    scale_channels,
)

WINDOW = 0.7  # of their distance: deviation of the bells that a stem for whole stacks begins with
GRADIENT_GAIN = 3.0  # of its filters


class SparseStem(nn.Module):
    """The first convolution (3 x 3, stride 2) of a one-hot input, without the input.

    The weights are those of the dense convolution, (out, positions x views, 3, 3). Channels of slices that
    were not seen are zero, so only the weights of those that were matter: they are gathered for each sample.
    """

    def __init__(self, positions: int, views: int, out: int) -> None:
        super().__init__()
        self.positions, self.views = positions, views
        self.weight = nn.Parameter(torch.empty(out, positions * views, 3, 3))

    def forward(
        self, pixels: Float[Tensor, "batch slice view row col"], indices: Int[Tensor, "batch slice"]
    ) -> Float[Tensor, "batch out row2 col2"]:
        """Returns the dense convolution of the one-hot input; rows and columns are even."""
        batch, slices, views, rows, cols = pixels.shape
        if slices == self.positions:  # a full stack, in order: nothing to leave out
            weight = self.weight.contiguous()  # pixels are not channels last, and too many to be made so
            answer = functional.conv2d(pixels.flatten(1, 2), weight, stride=2, padding=1)
            return answer.contiguous(memory_format=torch.channels_last)
        out = len(self.weight)
        each = self.weight.reshape(out, self.positions, views * 9).permute(1, 2, 0)  # position, tap, out
        taps = (each[indices] * encode.first_of_each(indices)[:, :, None, None]).flatten(1, 2)
        columns = _columns(pixels.flatten(1, 2))  # batch, channel and tap, place
        if torch.onnx.is_in_onnx_export():  # ONNX Runtime wants channels first
            return (taps.transpose(1, 2) @ columns).view(batch, out, rows // 2, cols // 2)
        answer = columns.transpose(1, 2) @ taps  # channels last
        return answer.view(batch, rows // 2, cols // 2, out).permute(0, 3, 1, 2)


def _columns(x: Float[Tensor, "batch channel row col"]) -> Float[Tensor, "batch tap place"]:
    """Returns the 3 x 3 neighbourhoods at every other pixel, channel by channel."""
    if not torch.onnx.is_in_onnx_export():
        return functional.unfold(x, 3, padding=1, stride=2)
    channels = int(x.shape[1])  # ONNX has no unfold: each tap is a filter of its own
    taps = torch.eye(9).view(9, 1, 3, 3).repeat(channels, 1, 1, 1)
    return functional.conv2d(x, taps, stride=2, padding=1, groups=channels).flatten(2)


class OneHotNet(nn.Module):
    """The paper's network: MobileNetV2 on a channel for each position and view.

    Args:
        positions: Of the grid.
        views: 1 green, 2 left and right.
        width: Multiplier of all channels; the paper's is 4.
    """

    def __init__(self, positions: int = 49, views: int = 2, width: float = 4.0) -> None:
        super().__init__()
        stem = scale_channels(STEM, width)
        self.stem = SparseStem(positions, views, stem)
        self.after_stem = nn.Sequential(nn.BatchNorm2d(stem), nn.ReLU6(inplace=True))
        self.blocks, channels = inverted_residuals(stem, width)
        last = scale_channels(LAST, max(1.0, width))
        self.last = nn.Sequential(*normalised(nn.Conv2d(channels, last, 1, bias=False), last, active=True))
        self.head = nn.Sequential(nn.Dropout(DROPOUT), classifier(last, positions))
        self.channels = last
        initialise(self, SparseStem)

    def forward(
        self,
        pixels: Float[Tensor, "batch slice view row col"],
        indices: Int[Tensor, "batch slice"],
        _where: Float[Tensor, "batch 2"],
        _told: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch n"]:
        """Returns a logit for each position; the paper's network does not know where a patch lies."""
        return self.head(self.features(pixels, indices))

    def features(
        self, pixels: Float[Tensor, "batch slice view row col"], indices: Int[Tensor, "batch slice"]
    ) -> Float[Tensor, "batch feature"]:
        """Returns the features of the last layer before the answer."""
        return in_chunks(self, self._features, pixels, indices)

    def _features(
        self, pixels: Float[Tensor, "batch slice view row col"], indices: Int[Tensor, "batch slice"]
    ) -> Float[Tensor, "batch feature"]:
        whole = pixels.shape[1] == self.stem.positions
        pixels = encode.normalise_stacks(pixels) if whole else encode.normalise_looks(pixels)
        x = self.after_stem(self.stem(pixels, indices))
        return self.last(self.blocks(x)).mean(dim=(2, 3))


class AuxiliaryMoves(nn.Module):
    """The paper's network while it learns, with an auxiliary head that is then dropped: how far to move.

    From one look, a move can be told without the position, and both sides of focus are learned soon; from
    there to the position is a smaller step than from nothing.
    """

    def __init__(self, network: OneHotNet) -> None:
        super().__init__()
        self.network = network
        self.moves = classifier(network.channels, 2 * network.stem.positions - 1)

    def forward(
        self,
        pixels: Float[Tensor, "batch slice view row col"],
        indices: Int[Tensor, "batch slice"],
        _where: Float[Tensor, "batch 2"],
        _told: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch 2 n"]:
        """Returns the logits of both heads over the grid, the network's own first."""
        features = self.network.features(pixels, indices)
        moved = encode.moves_to_positions(self.moves(features), indices[:, -1], self.network.stem.positions)
        return torch.stack([self.network.head(features), moved[:, 1:-1]], dim=1)


def share_stem(network: nn.Module) -> None:
    """Lets all positions of a one-hot network begin with one stem, made to see what matters.

    Otherwise 49 stems would each have to learn the same things. Looks have mean 1, so what a filter does to a
    constant is a number that the position can choose: the first half of the channels begin with waves of it.
    The other half begin with the difference of the views, if there are two, which is small and tells the
    side of focus.
    """
    stem = _one_hot(network).stem
    channels = len(stem.weight)
    half = channels // 2
    with torch.no_grad():
        each = stem.weight.view(channels, stem.positions, stem.views, 3, 3)
        each.copy_(each[:, :1].expand_as(each).clone())
        codes = encode.position_waves(torch.linspace(0, 1, stem.positions)[None])[0].T[:half]
        each[: len(codes)] += codes[:, :, None, None, None] / (stem.views * 9)
        if stem.views == 2:
            each[half:] *= encode.DIFFERENCE_GAIN
            each[half:, :, 1] = -each[half:, :, 0]


def initialise_as_contrast_measure(network: nn.Module) -> None:
    """Lets a one-hot network for whole stacks begin as a measure of contrast along the grid.

    The stem adds up all slices in each channel. Its channels begin in pairs, each pair with the slices around
    one position: their gradients along rows and along columns. The blocks begin by handing that on: where the
    sharp slices are, there is more of it. From random weights, the network would first have to find a way
    for each position to the answer.
    """
    network = _one_hot(network)
    stem = network.stem
    channels = len(stem.weight)
    down = torch.outer(torch.tensor([1.0, 0.0, -1.0]), torch.tensor([1.0, 2.0, 1.0])) * (GRADIENT_GAIN / 8)
    with torch.no_grad():
        windows = _windows(stem.positions, channels // 2).repeat_interleave(2, dim=0)
        filters = torch.stack([down.T, down]).repeat(channels // 2, 1, 1) / stem.views
        each = stem.weight.view(channels, stem.positions, stem.views, 3, 3)
        each.copy_((windows[:, :, None, None] * filters[:, None])[:, :, None].expand_as(each))
        for block in network.blocks:
            assert isinstance(block, InvertedResidual)
            block.initialise_identity()


def _one_hot(network: nn.Module) -> OneHotNet:
    if not isinstance(network, OneHotNet):
        raise InputError(f"only a one-hot network has a stem for each position, not {type(network).__name__}")
    return network


def _windows(positions: int, count: int) -> Float[Tensor, "count positions"]:
    """Returns bells over the grid, evenly spread, each reaching to the next."""
    centres = torch.linspace(0, positions - 1, count)
    spread = max(1.0, WINDOW * (positions - 1) / max(1, count - 1))
    return torch.exp(-0.5 * ((torch.arange(positions) - centres[:, None]) / spread) ** 2)
