"""MoveNet: one look, and how far to move from it."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from dioptre.train import encode
from dioptre.train.networks.mobilenet import (
    DROPOUT,
    STEM,
    classifier,
    in_chunks,
    initialise,
    inverted_residuals,
    normalised,
    scale_channels,
)

# A look needs fewer blocks than a picture of many things, and its first halving is folded into channels.
MOVE_STAGES = ((6, 24, 1, 1), (6, 32, 2, 2), (6, 64, 3, 2), (6, 96, 2, 1), (6, 160, 2, 2))
FEATURES = 512
FOLD = 2
CONSTANTS = 7  # planes that are the same everywhere


class LookEncoder(nn.Module):
    """What is seen in each part of a look: planes, folded 2 x 2 into channels, through MobileNetV2's blocks.

    Args:
        views: 1 green, 2 left and right.
        width: Multiplier of the blocks' channels.
        features: How many numbers say it.
    """

    def __init__(self, views: int, width: float, features: int = FEATURES) -> None:
        super().__init__()
        stem = scale_channels(STEM, width)
        self.folding: Tensor
        self.register_buffer("folding", encode.folding(views, FOLD), persistent=False)
        planes = FOLD * FOLD * views + CONSTANTS
        layers = normalised(nn.Conv2d(planes, stem, 3, 2, 1, bias=False), stem, active=True)
        self.stem = nn.Sequential(*layers)
        self.blocks, channels = inverted_residuals(stem, width, MOVE_STAGES)
        last = nn.Conv2d(channels, features, 1, bias=False)
        self.last = nn.Sequential(*normalised(last, features, active=True))
        self.features = features

    def forward(
        self,
        pixels: Float[Tensor, "look view row col"],
        position: Float[Tensor, " look"],
        where: Float[Tensor, "look 2"],
        told: Float[Tensor, "look 2"],
    ) -> Float[Tensor, "look part feature"]:
        """Returns the features of all parts, row by row."""
        return in_chunks(self, self._forward, pixels, position, where, told)

    def _forward(
        self,
        pixels: Float[Tensor, "look view row col"],
        position: Float[Tensor, " look"],
        where: Float[Tensor, "look 2"],
        told: Float[Tensor, "look 2"],
    ) -> Float[Tensor, "look part feature"]:
        light = encode.brightness(pixels)
        pixels = encode.normalise_looks(pixels[:, None])[:, 0]
        folded = functional.conv2d(pixels - 1, self.folding, stride=FOLD)
        constants = encode.constant_planes(position, where, told, light, folded)
        x = torch.cat([folded, constants], dim=1).contiguous(memory_format=torch.channels_last)
        return self.last(self.blocks(self.stem(x))).flatten(2).transpose(1, 2)


class MoveNet(nn.Module):
    """One look: how far to move, -(n - 1) .. n - 1 indices, told as positions and what lies beyond them.

    Each part of a patch has a distribution over moves of its own, and the patch's is their mixture, with
    weights that the parts choose: where a patch has two depths, its label is that of the larger one, and not
    one between.

    Args:
        positions: Of the grid.
        views: 1 green, 2 left and right.
        width: Multiplier of the encoder's channels.
    """

    def __init__(self, positions: int = 49, views: int = 2, width: float = 0.5) -> None:
        super().__init__()
        self.positions = positions
        self.encoder = LookEncoder(views, width)
        self.head = nn.Sequential(nn.Dropout(DROPOUT), classifier(self.encoder.features, 2 * positions - 1))
        self.weight = classifier(self.encoder.features, 1)
        initialise(self)

    def forward(
        self,
        pixels: Float[Tensor, "batch one view row col"],
        indices: Int[Tensor, "batch one"],
        where: Float[Tensor, "batch 2"],
        told: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch n_and_beyond"]:
        """Returns the log-probability of each position, and beyond the ends."""
        moves = self.move_logs(self.part_features(pixels[:, 0], indices[:, 0], where, told))
        return encode.moves_to_positions(moves, indices[:, 0], self.positions)

    def part_features(
        self,
        pixels: Float[Tensor, "look view row col"],
        indices: Int[Tensor, " look"],
        where: Float[Tensor, "look 2"],
        told: Float[Tensor, "look 2"],
    ) -> Float[Tensor, "look part feature"]:
        """Returns the features of each part of each look; green is seen as it is and laid on its side.

        A camera may be held upright, and green means the same then; two views differ along the columns.
        """
        position = indices.to(pixels.dtype) / (self.positions - 1)
        if pixels.shape[1] == 2:
            return self.encoder(pixels, position, where, told)
        both = torch.cat([pixels, pixels.transpose(2, 3)])
        seen = self.encoder(both, position.repeat(2), torch.cat([where, where.flip(1)]), told.repeat(2, 1))
        return torch.cat(seen.chunk(2), dim=1)

    def move_logs(self, features: Float[Tensor, "look part feature"]) -> Float[Tensor, "look move"]:
        """Returns the log-probability of each move."""
        each = torch.log_softmax(self.head(features), dim=2)
        return torch.logsumexp(each + torch.log_softmax(self.weight(features), dim=1), dim=1)
