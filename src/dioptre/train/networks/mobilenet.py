"""MobileNetV2 (Sandler 2018): inverted residuals with linear bottlenecks, batch normalisation, ReLU6.

Convolutions have no bias, since a normalisation follows each.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn import functional

# Expansion, channels, repeats, stride of the first: Table 2 of Sandler 2018.
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
STEM, LAST = 32, 1280
DROPOUT = 0.2
CHUNK = 16  # patches whose features stay in the processor's cache


def scale_channels(channels: int, width: float) -> int:
    """Returns channels x width as a multiple of 8, at most a tenth below it."""
    wanted = channels * width
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * wanted else rounded


def normalised(conv: nn.Module, channels: int, active: bool) -> list[nn.Module]:
    """Returns a convolution, its normalisation and, of an active one, the rectifier."""
    return [conv, nn.BatchNorm2d(channels), *([nn.ReLU6(inplace=True)] if active else [])]


class InvertedResidual(nn.Module):
    """Widens, filters each channel, narrows; adds its input where shapes allow."""

    def __init__(self, channels: int, out: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = channels * expansion
        layers = []
        if expansion != 1:
            layers += normalised(nn.Conv2d(channels, hidden, 1, bias=False), hidden, active=True)
        depthwise = nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False)
        layers += normalised(depthwise, hidden, active=True)
        layers += normalised(nn.Conv2d(hidden, out, 1, bias=False), out, active=False)
        self.layers = nn.Sequential(*layers)
        self.residual = stride == 1 and channels == out

    def forward(self, x: Float[Tensor, "batch channel row col"]) -> Float[Tensor, "batch out row2 col2"]:
        """Returns the block's output."""
        return x + self.layers(x) if self.residual else self.layers(x)

    @torch.no_grad()
    def initialise_identity(self) -> None:
        """Lets the block begin as the identity, or as an average over a few pixels if it has fewer.

        A residual adds nothing at first. Otherwise a channel goes through the rectifiers twice, with either
        sign, and is put together again; of a block that does not widen, neighbouring channels are added up.
        """
        if self.residual:
            assert isinstance(self.layers[-1], nn.BatchNorm2d)
            nn.init.zeros_(self.layers[-1].weight)
            return
        *widen, depthwise, narrow = (one for one in self.layers if isinstance(one, nn.Conv2d))
        hidden, out = len(depthwise.weight), len(narrow.weight)
        if widen:
            channels = widen[0].in_channels
            both = torch.cat([torch.eye(channels), -torch.eye(channels)])
            widen[0].weight[: 2 * channels] = both[:, :, None, None]
            carried = both.T[:out]
        else:
            carried = functional.one_hot(torch.arange(hidden) * out // hidden).T.float()
        narrow.weight[: len(carried)] = 0
        narrow.weight[: len(carried), : carried.shape[1]] = carried[:, :, None, None]
        depthwise.weight[: carried.shape[1]] = 1 / 9
        if widen and depthwise.stride == (1, 1):
            nn.init.dirac_(depthwise.weight[: carried.shape[1]], groups=carried.shape[1])


def inverted_residuals(
    channels: int, width: float, stages: tuple[tuple[int, int, int, int], ...] = STAGES
) -> tuple[nn.Sequential, int]:
    """Returns the blocks of MobileNetV2, and how many channels come out."""
    blocks: list[nn.Module] = []
    for expansion, base, repeats, stride in stages:
        out = scale_channels(base, width)
        for at in range(repeats):
            blocks.append(InvertedResidual(channels, out, stride if at == 0 else 1, expansion))
            channels = out
    return nn.Sequential(*blocks), channels


def initialise(network: nn.Module, *convolutions: type[nn.Module]) -> None:
    """Draws the weights of all convolutions (He 2015, fan out); further classes count as convolutions too."""
    for module in network.modules():
        if isinstance(module, (nn.Conv2d, *convolutions)):
            weight = module.weight
            assert isinstance(weight, Tensor)
            fan_out = weight.shape[0] * math.prod(weight.shape[2:])
            groups = module.groups if isinstance(module, nn.Conv2d) else 1
            nn.init.normal_(weight, 0.0, math.sqrt(2.0 * groups / fan_out))


def classifier(features: int, classes: int) -> nn.Linear:
    """Returns MobileNetV2's last layer, which begins with logits that are almost alike."""
    layer = nn.Linear(features, classes)
    nn.init.normal_(layer.weight, 0.0, 0.01)
    nn.init.zeros_(layer.bias)
    return layer


def in_chunks(
    network: nn.Module,
    run: Callable[..., Float[Tensor, "batch ..."]],
    *inputs: Shaped[Tensor, "batch ..."],
) -> Float[Tensor, "batch ..."]:
    """Returns the outputs of a network for a batch; out of training, chunk by chunk.

    Most of the time of these networks goes into moving numbers between memory and processor, and a chunk
    stays in the cache. In training, batch normalisation must see the batch as a whole.
    """
    if network.training or len(inputs[0]) <= CHUNK or torch.onnx.is_in_onnx_export():
        return run(*inputs)
    return torch.cat([run(*some) for some in zip(*(one.split(CHUNK) for one in inputs), strict=True)])
