"""DepthNet: the depth of each pixel of a dual-pixel picture, up to an affine transform (Garg 2019).

An encoder to stride STRIDE and a decoder with skips back to SCALE, a head at each scale of the decoder. As in
the published network, residual blocks squeeze, filter each channel by itself and widen again, and a stem of
7 x 7 stands beside the pooled views. Unlike it,

* the views are halved first, as the tiles' are: every second row of a dual-pixel picture is interpolated;
* beside the stem stands a cost volume (`unlikeness`): how much the views differ, pixel by pixel, at each
  shift. The published network must learn to compare from its many pictures; this one has some thousand.

Each view is divided by its mean, and a square root makes shot noise about as strong everywhere.
"""

from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from dioptre.methods.depth_network import SCALE
from dioptre.train.networks.mobilenet import initialise, scale_channels

HALF = 2  # pixels of a view for one that the stem sees
CHANNELS = (32, 64, 96)  # at SCALE, 2 SCALE and 4 SCALE
BLOCKS = (1, 2, 3)  # at each
DARKEST = 1e-3  # mean of a view that is not brightened further
STEM_PX = 7
REACH = 5  # shifts of the cost volume to each side, in halved pixels: those of the grid
AROUND_PX = 13  # halved pixels over which contrast is made even for the cost volume
LEAST_CONTRAST = 0.03  # that is not raised further, as a part of the mean


class Residual(nn.Module):
    """Squeezes to half of the channels, filters, widens; adds what came in."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        few = channels // 2
        self.layers = nn.Sequential(
            nn.Conv2d(channels, few, 3, padding=1, bias=False),
            nn.BatchNorm2d(few),
            nn.PReLU(few, 0.05),
            nn.Conv2d(few, few, 3, padding=1, groups=few, bias=False),
            nn.Conv2d(few, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )
        self.active = nn.PReLU(channels, 0.05)

    def forward(self, x: Float[Tensor, "batch channel row col"]) -> Float[Tensor, "batch channel row col"]:
        """Returns the block's output."""
        return self.active(x + self.layers(x))


def _convolved(channels: int, out: int, size: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, out, size, stride, size // 2, bias=False),
        nn.BatchNorm2d(out),
        nn.PReLU(out, 0.05),
    )


class DepthNet(nn.Module):
    """Relative depth from two views.

    Args:
        width: Multiplier of the channels.
    """

    def __init__(self, width: float = 1.0) -> None:
        super().__init__()
        channels = [scale_channels(one, width) for one in CHANNELS]
        self.stem = _convolved(2, channels[0] - 2, STEM_PX, stride=2)
        self.costs = _convolved(2 * REACH + 1, channels[0], 3)
        self.levels = nn.ModuleList(
            nn.Sequential(*(Residual(wide) for _ in range(blocks)))
            for wide, blocks in zip(channels, BLOCKS, strict=True)
        )
        self.down = nn.ModuleList(
            _convolved(fine, coarse, 3, stride=2) for fine, coarse in pairwise(channels)
        )
        self.up = nn.ModuleList(_convolved(coarse, fine, 1) for fine, coarse in pairwise(channels))
        self.merge = nn.ModuleList(Residual(fine) for fine in channels[:-1])
        self.heads = nn.ModuleList(nn.Conv2d(wide, 1, 3, padding=1) for wide in channels)
        initialise(self)
        for head in self.heads:  # maps begin flat
            assert isinstance(head, nn.Conv2d)
            nn.init.normal_(head.weight, 0.0, 0.01)

    def maps(self, views: Float[Tensor, "batch 2 row col"]) -> list[Float[Tensor, "batch _ _"]]:
        """Returns relative depth at each scale, the finest first."""
        x = _normalised(functional.avg_pool2d(views, HALF))
        costs = self.costs(functional.avg_pool2d(unlikeness(x), 2))
        x = torch.cat([self.stem(x), functional.max_pool2d(x, 2)], dim=1) + costs
        found = []
        for at, level in enumerate(self.levels):
            x = level(x if at == 0 else self.down[at - 1](x))
            found.append(x)
        maps = [self.heads[-1](x)[:, 0]]
        for at in reversed(range(len(self.merge))):
            wide = functional.interpolate(self.up[at](x), scale_factor=2.0, mode="nearest")
            x = self.merge[at](found[at] + wide)
            maps.append(self.heads[at](x)[:, 0])
        return maps[::-1]

    def forward(self, views: Float[Tensor, "batch 2 row col"]) -> Float[Tensor, "batch _ _"]:
        """Returns relative depth, one number for SCALE x SCALE pixels."""
        return self.maps(views)[0]


def unlikeness(views: Float[Tensor, "batch 2 row col"]) -> Float[Tensor, "batch shift row col"]:
    """Returns the difference of the views at each pixel and shift from -REACH to REACH, at even contrast.

    A shift d compares left[y, x] with right[y, x + d].
    """
    around = AROUND_PX // 2
    away = views - functional.avg_pool2d(views, AROUND_PX, 1, around, count_include_pad=False)
    contrast = functional.avg_pool2d(away.square(), AROUND_PX, 1, around, count_include_pad=False)
    even = away / torch.sqrt(contrast + LEAST_CONTRAST**2)
    left, right = even[:, :1], functional.pad(even[:, 1:], (REACH, REACH))
    shifted = [right[..., at : at - 2 * REACH or None] for at in range(2 * REACH + 1)]
    return (left - torch.cat(shifted, dim=1)).abs()


def _normalised(views: Float[Tensor, "batch 2 row col"]) -> Float[Tensor, "batch 2 row col"]:
    mean = views.mean(dim=(2, 3), keepdim=True).clamp_min(DARKEST)
    return torch.sqrt(views.clamp_min(0.0) / mean + DARKEST) - 1.0


assert SCALE == 2 * HALF  # the stem's stride
