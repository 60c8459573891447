"""The networks: MobileNetV2 in the paper's form, and the forms that go past it.

    OneHotNet   the paper's: a channel for each position and view, scores over the ladder
    MoveNet     one look as planes, scores over moves
    LooksNet    any number of looks: MoveNet for each, attention over all

MobileNetV2 (Sandler 2018) is written out here: inverted residuals with linear bottlenecks, batch
normalisation, ReLU6. Convolutions have no bias, since a normalisation follows each.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.distributed.nn.functional import all_reduce
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from dioptre.errors import InputError
from dioptre.train import encode

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
PART = 16  # patches whose features stay in the cache


def scale_channels(channels: int, width: float) -> int:
    """Returns channels x width as a multiple of 8, at most a tenth below it."""
    wanted = channels * width
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * wanted else rounded


def _normalised(conv: nn.Module, channels: int, active: bool) -> list[nn.Module]:
    return [conv, nn.BatchNorm2d(channels), *([nn.ReLU6(inplace=True)] if active else [])]


class InvertedResidual(nn.Module):
    """Widens, filters each channel, narrows; adds its input where shapes allow."""

    def __init__(self, channels: int, out: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = channels * expansion
        layers = []
        if expansion != 1:
            layers += _normalised(nn.Conv2d(channels, hidden, 1, bias=False), hidden, active=True)
        depthwise = nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False)
        layers += _normalised(depthwise, hidden, active=True)
        layers += _normalised(nn.Conv2d(hidden, out, 1, bias=False), out, active=False)
        self.layers = nn.Sequential(*layers)
        self.residual = stride == 1 and channels == out

    def forward(self, x: Float[Tensor, "batch channel row col"]) -> Float[Tensor, "batch out row2 col2"]:
        """Returns the block's output."""
        return x + self.layers(x) if self.residual else self.layers(x)

    @torch.no_grad()
    def hand_on(self) -> None:
        """Lets the block begin by handing on its input, on average over a few pixels if it has fewer.

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


def _initialise(network: nn.Module) -> None:
    for module in network.modules():
        if isinstance(module, nn.Conv2d | SparseStem):
            fan_out = module.weight.shape[0] * math.prod(module.weight.shape[2:])
            groups = module.groups if isinstance(module, nn.Conv2d) else 1
            nn.init.normal_(module.weight, 0.0, math.sqrt(2.0 * groups / fan_out))


def _answer(features: int, answers: int) -> nn.Linear:
    """Returns MobileNetV2's last layer, which begins with answers that are almost alike."""
    layer = nn.Linear(features, answers)
    nn.init.normal_(layer.weight, 0.0, 0.01)
    nn.init.zeros_(layer.bias)
    return layer


POSITION_WAVES = 6  # the shortest is three positions of 49 long
WINDOW = 0.7  # of their distance: deviation of the bells that a stem for whole stacks begins with
GRADIENT_GAIN = 3.0  # of its filters


def position_waves(position: Float[Tensor, "batch slice"]) -> Float[Tensor, "batch slice wave"]:
    """Returns the lens position, 0 to 1, as cosines and sines of half a wave and its doubles, by turns."""
    phases = position[..., None] * (math.pi * 2.0 ** torch.arange(POSITION_WAVES, device=position.device))
    return torch.stack([torch.cos(phases), torch.sin(phases)], dim=-1).flatten(-2)


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
        """Returns what the dense convolution of the one-hot input gives; rows and columns are even."""
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


def in_parts(
    network: nn.Module,
    run: Callable[..., Float[Tensor, "batch ..."]],
    *inputs: Shaped[Tensor, "batch ..."],
) -> Float[Tensor, "batch ..."]:
    """Returns what a network says of a batch; out of training, of parts of it that stay in the cache.

    Most of the time of these networks goes into moving numbers between memory and processor. In training,
    batch normalisation must see the batch as a whole.
    """
    if network.training or len(inputs[0]) <= PART or torch.onnx.is_in_onnx_export():
        return run(*inputs)
    return torch.cat([run(*some) for some in zip(*(one.split(PART) for one in inputs), strict=True)])


class OneHotNet(nn.Module):
    """The paper's network: MobileNetV2 on a channel for each position and view.

    Args:
        positions: Of the ladder.
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
        self.last = nn.Sequential(*_normalised(nn.Conv2d(channels, last, 1, bias=False), last, active=True))
        self.head = nn.Sequential(nn.Dropout(DROPOUT), _answer(last, positions))
        self.channels = last
        _initialise(self)

    def forward(
        self,
        pixels: Float[Tensor, "batch slice view row col"],
        indices: Int[Tensor, "batch slice"],
        where: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch n"]:
        """Returns a score for each position; the paper's network does not know where a patch lies."""
        del where
        return self.head(self.features(pixels, indices))

    def features(
        self, pixels: Float[Tensor, "batch slice view row col"], indices: Int[Tensor, "batch slice"]
    ) -> Float[Tensor, "batch feature"]:
        """Returns what the last layer before the answer says."""
        return in_parts(self, self._features, pixels, indices)

    def _features(
        self, pixels: Float[Tensor, "batch slice view row col"], indices: Int[Tensor, "batch slice"]
    ) -> Float[Tensor, "batch feature"]:
        whole = pixels.shape[1] == self.stem.positions
        pixels = encode.normalise_stacks(pixels) if whole else encode.normalise_looks(pixels)
        x = self.after_stem(self.stem(pixels, indices))
        return self.last(self.blocks(x)).mean(dim=(2, 3))


class Pupil(nn.Module):
    """The paper's network while it learns, with a second answer that is then forgotten: how far to move.

    From one look, a move can be told without the position, and both sides of focus are learned soon; from
    there to the position is a smaller step than from nothing.
    """

    def __init__(self, network: OneHotNet) -> None:
        super().__init__()
        self.network = network
        self.moves = _answer(network.channels, 2 * network.stem.positions - 1)

    def forward(
        self,
        pixels: Float[Tensor, "batch slice view row col"],
        indices: Int[Tensor, "batch slice"],
        where: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch 2 n"]:
        """Returns both answers as scores over the ladder."""
        del where
        features = self.network.features(pixels, indices)
        moved = encode.relative_to_scores(self.moves(features), indices[:, -1], self.network.stem.positions)
        return torch.stack([self.network.head(features), moved], dim=1)


# A look needs fewer blocks than a picture of many things, and its first halving is folded into channels.
MOVE_STAGES = ((6, 24, 1, 1), (6, 32, 2, 2), (6, 64, 3, 2), (6, 96, 2, 1), (6, 160, 2, 2))
FEATURES = 512
FOLD = 2
CONSTANTS = 5  # planes that are the same everywhere


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
        layers = _normalised(nn.Conv2d(planes, stem, 3, 2, 1, bias=False), stem, active=True)
        self.stem = nn.Sequential(*layers)
        self.blocks, channels = inverted_residuals(stem, width, MOVE_STAGES)
        last = nn.Conv2d(channels, features, 1, bias=False)
        self.last = nn.Sequential(*_normalised(last, features, active=True))
        self.features = features

    def forward(
        self,
        pixels: Float[Tensor, "look view row col"],
        position: Float[Tensor, " look"],
        where: Float[Tensor, "look 2"],
    ) -> Float[Tensor, "look place feature"]:
        """Returns the features of all parts, row by row."""
        return in_parts(self, self._forward, pixels, position, where)

    def _forward(
        self,
        pixels: Float[Tensor, "look view row col"],
        position: Float[Tensor, " look"],
        where: Float[Tensor, "look 2"],
    ) -> Float[Tensor, "look place feature"]:
        light = encode.brightness(pixels)
        pixels = encode.normalise_looks(pixels[:, None])[:, 0]
        folded = functional.conv2d(pixels - 1, self.folding, stride=FOLD)
        constants = encode.constant_planes(position, where, light, folded)
        x = torch.cat([folded, constants], dim=1).contiguous(memory_format=torch.channels_last)
        return self.last(self.blocks(self.stem(x))).flatten(2).transpose(1, 2)


class MoveNet(nn.Module):
    """One look: how far to move, -(n - 1) .. n - 1 indices, told as scores over the ladder.

    Each part of a patch has a belief of its own, and the patch's is their average, with weights that the
    parts choose: where a patch has two depths, its label is that of the larger one, and not one between.

    Args:
        positions: Of the ladder.
        views: 1 green, 2 left and right.
        width: Multiplier of the encoder's channels.
    """

    def __init__(self, positions: int = 49, views: int = 2, width: float = 0.5) -> None:
        super().__init__()
        self.positions = positions
        self.encoder = LookEncoder(views, width)
        self.head = nn.Sequential(nn.Dropout(DROPOUT), _answer(self.encoder.features, 2 * positions - 1))
        self.weight = _answer(self.encoder.features, 1)
        _initialise(self)

    def forward(
        self,
        pixels: Float[Tensor, "batch one view row col"],
        indices: Int[Tensor, "batch one"],
        where: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch n"]:
        """Returns a score for each position."""
        return self.believe(self.places(pixels[:, 0], indices[:, 0], where), indices[:, 0])

    def places(
        self,
        pixels: Float[Tensor, "look view row col"],
        indices: Int[Tensor, " look"],
        where: Float[Tensor, "look 2"],
    ) -> Float[Tensor, "look place feature"]:
        """Returns what is seen in each part of each look; green is seen as it is and laid on its side.

        A camera may be held upright, and green means the same then; two views differ along the columns.
        """
        position = indices.to(pixels.dtype) / (self.positions - 1)
        if pixels.shape[1] == 2:
            return self.encoder(pixels, position, where)
        both = torch.cat([pixels, pixels.transpose(2, 3)])
        seen = self.encoder(both, position.repeat(2), torch.cat([where, where.flip(1)]))
        return torch.cat(seen.chunk(2), dim=1)

    def believe(
        self, seen: Float[Tensor, "look place feature"], indices: Int[Tensor, " look"]
    ) -> Float[Tensor, "look n"]:
        """Returns the logarithm of each position's probability."""
        looks, places, _ = seen.shape
        start = indices[:, None].expand(looks, places).flatten()
        each = encode.relative_to_scores(self.head(seen).flatten(0, 1), start, self.positions)
        beliefs = torch.log_softmax(each.view(looks, places, -1), dim=2)
        return torch.logsumexp(beliefs + torch.log_softmax(self.weight(seen), dim=1), dim=1)


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
        positions: Of the ladder.
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
        self.enter = nn.Linear(self.alone.encoder.features + 2 * POSITION_WAVES, features)
        self.layers = nn.ModuleList([Attention(features) for _ in range(layers)])
        self.head = _answer(features, 2 * positions - 1)
        nn.init.zeros_(self.head.weight)
        self.weight = nn.Linear(features, 1)
        _initialise(self)

    def forward(
        self,
        pixels: Float[Tensor, "batch slice view row col"],
        indices: Int[Tensor, "batch slice"],
        where: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch n"]:
        """Returns a score for each position."""
        return self.decide(self.listen(pixels, indices, where), indices)

    def listen(
        self,
        pixels: Float[Tensor, "batch slice view row col"],
        indices: Int[Tensor, "batch slice"],
        where: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch slice said"]:
        """Returns what each look says alone: the mean of its features, and what it believes."""
        batch, slices = indices.shape
        frame = where[:, None, :].expand(batch, slices, 2).reshape(-1, 2)
        seen = self.alone.places(pixels.flatten(0, 1), indices.flatten(), frame)
        said = torch.cat([seen.mean(dim=1), self.alone.believe(seen, indices.flatten())], dim=1)
        return said.view(batch, slices, -1)

    def decide(
        self, said: Float[Tensor, "batch slice said"], indices: Int[Tensor, "batch slice"]
    ) -> Float[Tensor, "batch n"]:
        """Returns what the looks say together."""
        features, beliefs = said.split([said.shape[2] - self.positions, self.positions], dim=2)
        waves = position_waves(indices.to(said.dtype) / (self.positions - 1))
        x = self.enter(torch.cat([features, waves], dim=2))
        for layer in self.layers:
            x = layer(x)
        moves = self.head(x).flatten(0, 1)
        each = beliefs + encode.relative_to_scores(moves, indices.flatten(), self.positions).view_as(beliefs)
        return (torch.softmax(self.weight(x), dim=1) * each).sum(dim=1)


class Alone(nn.Module):
    """What each look says alone, of a network of looks."""

    def __init__(self, network: LooksNet) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        pixels: Float[Tensor, "batch slice view row col"],
        indices: Int[Tensor, "batch slice"],
        where: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch slice said"]:
        """Returns the mean of each look's features, and what it believes."""
        return self.network.listen(pixels, indices, where)


class Listener(nn.Module):
    """A network of looks while it learns only to put together: it hears what each look said alone."""

    def __init__(self, network: LooksNet) -> None:
        super().__init__()
        self.network = network
        network.alone.requires_grad_(False)

    def forward(
        self,
        said: Float[Tensor, "batch slice said"],
        indices: Int[Tensor, "batch slice"],
        where: Float[Tensor, "batch 2"],
    ) -> Float[Tensor, "batch n"]:
        """Returns a score for each position."""
        del where
        return self.network.decide(said, indices)


NETWORKS: dict[str, type[nn.Module]] = {"one-hot": OneHotNet, "move": MoveNet, "looks": LooksNet}


def answers(network: nn.Module, scores: Float[Tensor, "batch n"]) -> Int[Tensor, " batch"]:
    """Returns the positions that a network's scores mean: the paper's network answers with the likeliest.

    The others answer with the median of what they believe, which has the least expected error.
    """
    if isinstance(network, OneHotNet):
        return scores.argmax(dim=1)
    return (torch.softmax(scores, dim=1).cumsum(dim=1) < 0.5).sum(dim=1).clamp(max=scores.shape[1] - 1)


def multiply_adds(network: nn.Module, slices: int, views: int, size: int) -> int:
    """Returns how many multiply-adds one patch costs.

    The paper's input has all slices, seen or not: its network is counted with `slices` = all.

    Args:
        network: Of any kind here.
        slices: How many it is shown.
        views: Of each slice.
        size: Rows and columns of the patch.
    """
    pixels = torch.zeros(1, slices, views, size, size)
    training = network.training
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network.eval()(pixels, torch.arange(slices)[None], torch.zeros(1, 2))
    network.train(training)
    return counter.get_total_flops() // 2


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
        codes = position_waves(torch.linspace(0, 1, stem.positions)[None])[0].T[:half]
        each[: len(codes)] += codes[:, :, None, None, None] / (stem.views * 9)
        if stem.views == 2:
            each[half:] *= encode.DIFFERENCE_GAIN
            each[half:, :, 1] = -each[half:, :, 0]


def carry_contrast(network: nn.Module) -> None:
    """Lets a one-hot network for whole stacks begin as a measure of contrast along the ladder.

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
            block.hand_on()


def _one_hot(network: nn.Module) -> OneHotNet:
    if not isinstance(network, OneHotNet):
        raise InputError(f"only a one-hot network has a stem for each position, not {type(network).__name__}")
    return network


def _windows(positions: int, count: int) -> Float[Tensor, "count positions"]:
    """Returns bells over the ladder, evenly spread, each reaching to the next."""
    centres = torch.linspace(0, positions - 1, count)
    spread = max(1.0, WINDOW * (positions - 1) / max(1, count - 1))
    return torch.exp(-0.5 * ((torch.arange(positions) - centres[:, None]) / spread) ** 2)


ENCODER_STEMS = ("encoder.stem.0.weight", "alone.encoder.stem.0.weight")  # of MoveNet and LooksNet


def seeing_green_twice(weights: dict[str, Tensor], own: dict[str, Tensor]) -> dict[str, Tensor]:
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


def seeing_both_as_green(weights: dict[str, Tensor], own: dict[str, Tensor]) -> dict[str, Tensor]:
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


class SharedBatchNorm(nn.BatchNorm2d):
    """Batch normalisation over the parts of a batch that several processes hold.

    torch's own needs a GPU. The moments are summed over all processes, and so are their gradients: the
    weights learn what one process with the whole batch would.
    """

    def forward(self, x: Float[Tensor, "batch channel row col"]) -> Float[Tensor, "batch channel row col"]:
        """Returns the normalised channels."""
        if not self.training:
            return super().forward(x)
        sums = all_reduce(torch.cat([x.sum(dim=(0, 2, 3)), x.new_tensor([x.numel() / x.shape[1]])]))
        count, mean = sums[-1], sums[:-1] / sums[-1]
        away = x - mean[:, None, None]
        variance = all_reduce(away.square().sum(dim=(0, 2, 3))) / count
        with torch.no_grad():
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.momentum is not None
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (count / (count - 1)), self.momentum)
        scale = self.weight * torch.rsqrt(variance + self.eps)
        return away * scale[:, None, None] + self.bias[:, None, None]


def shared_batch_norms(network: nn.Module) -> None:
    """Replaces every batch normalisation of a network by one that is shared by all processes."""
    for module in network.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = SharedBatchNorm
