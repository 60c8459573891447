"""LooksNet: any number of looks, put together by attention."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from dioptre.train import encode
from dioptre.train.networks.mobilenet import classifier, initialise
from dioptre.train.networks.move import MoveNet


class Attention(nn.Module):
    """Looks attend to one another, then each thinks for itself; both are added to what there was."""

    def __init__(self, features: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(features)
        self.mix = nn.Linear(features, 3 * features)
        self.out = nn.Linear(features, features)
        self.think = nn.Sequential(
            nn.LayerNorm(features),
            nn.Linear(features, 2 * features),
            nn.GELU(),
            nn.Linear(2 * features, features),
        )

    def forward(self, x: Float[Tensor, "batch slice feature"]) -> Float[Tensor, "batch slice feature"]:
        """Returns the looks, each knowing of the others."""
        batch, slices, features = x.shape
        mixed = self.mix(self.before(x)).view(batch, slices, 3, self.heads, features // self.heads)
        query, key, value = mixed.permute(2, 0, 3, 1, 4).unbind(0)  # batch, head, slice, feature
        seen = functional.scaled_dot_product_attention(query, key, value)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, slices, features))
        return x + self.think(x)


class LooksNet(nn.Module):
    """Any number of looks: each says what it would say alone; they attend to one another, and correct that.

    What the looks say is averaged with weights that they also choose; the order of the looks does not matter.
    One look begins as it is with MoveNet.

    Args:
        positions: Of the grid.
        views: 1 green, 2 left and right.
        width: Multiplier of the encoder's channels.
        features: Length of a look's vector while looks attend to one another.
        layers: How often they do.
    """

    def __init__(
        self,
        positions: int = 49,
        views: int = 2,
        width: float = 0.5,
        features: int = 192,
        layers: int = 2,
    ) -> None:
        super().__init__()
        self.positions = positions
        self.alone = MoveNet(positions, views, width)
        self.enter = nn.Linear(self.alone.encoder.features + 2 * encode.POSITION_WAVES, features)
        self.layers = nn.ModuleList([Attention(features) for _ in range(layers)])
        self.head = classifier(features, 2 * positions - 1)
        nn.init.zeros_(self.head.weight)
        self.weight = nn.Linear(features, 1)
        initialise(self)

    def forward(
        self,
        pixels: Float[Tensor, "batch slice view row col"],
        indices: Int[Tensor, "batch slice"],
        where: Float[Tensor, "batch 2"],
        told: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch n_and_beyond"]:
        """Returns a logit for each position, and beyond the ends."""
        return self.combine(self.look_features(pixels, indices, where, told), indices)

    def look_features(
        self,
        pixels: Float[Tensor, "batch slice view row col"],
        indices: Int[Tensor, "batch slice"],
        where: Float[Tensor, "batch 2"],
        told: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch slice look"]:
        """Returns the mean features of each look, and its own log-probability of each move."""
        batch, slices = indices.shape
        each = [one[:, None, :].expand(batch, slices, 2).reshape(-1, 2) for one in (where, told)]
        seen = self.alone.part_features(pixels.flatten(0, 1), indices.flatten(), *each)
        alone = torch.cat([seen.mean(dim=1), self.alone.move_logs(seen)], dim=1)
        return alone.view(batch, slices, -1)

    def combine(
        self, looks: Float[Tensor, "batch slice look"], indices: Int[Tensor, "batch slice"]
    ) -> Float[Tensor, "batch n_and_beyond"]:
        """Returns the joint log-probabilities of several looks, each corrected by what the others show.

        Only how far apart looks are counts here, and not where on the grid: that may not be known.
        """
        features, moves = looks.split([self.alone.encoder.features, 2 * self.positions - 1], dim=2)
        position = indices.to(looks.dtype) / (self.positions - 1)
        waves = encode.position_waves(position - position.mean(dim=1, keepdim=True))
        x = self.enter(torch.cat([features, waves], dim=2))
        for layer in self.layers:
            x = layer(x)
        corrected = torch.log_softmax(moves + self.head(x), dim=2).flatten(0, 1)
        each = encode.moves_to_positions(corrected, indices.flatten(), self.positions)
        each = encode.share_beyond(each.view(*indices.shape, self.positions + 2), indices)
        return (torch.softmax(self.weight(x), dim=1) * each).sum(dim=1)


class LookFeatures(nn.Module):
    """What each look says alone, of a network of looks: what a feature cache holds."""

    def __init__(self, network: LooksNet) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        pixels: Float[Tensor, "batch slice view row col"],
        indices: Int[Tensor, "batch slice"],
        where: Float[Tensor, "batch 2"],
        told: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch slice look"]:
        """Returns the features of each look, and the log-probability of each of its moves."""
        return self.network.look_features(pixels, indices, where, told)


class CombineLooks(nn.Module):
    """A network of looks while it learns only to put together: it is given what a feature cache holds."""

    def __init__(self, network: LooksNet) -> None:
        super().__init__()
        self.network = network
        network.alone.requires_grad_(False)

    def forward(
        self,
        looks: Float[Tensor, "batch slice look"],
        indices: Int[Tensor, "batch slice"],
        _where: Float[Tensor, "batch 2"],
        _told: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch n_and_beyond"]:
        """Returns a logit for each position, and beyond the ends."""
        return self.network.combine(looks, indices)
