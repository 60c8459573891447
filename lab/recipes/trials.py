"""What single ideas are worth: `dioptre-single-dp` trained for a few minutes with one thing changed.

python -m lab.recipes.trials DATA OUT [idea ...]

Each idea is a run in OUT, all with the same batches; it prints the loss above its least and the mean error
on validation patches, against where the lens was sharp. What "other seed" differs by means nothing.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

from dioptre.cli.train import calm_the_allocator
from dioptre.pipeline.recipes import MOVE
from dioptre.train import encode
from dioptre.train.fit import train
from dioptre.train.networks import NETWORKS
from dioptre.train.networks.move import MoveNet
from dioptre.train.recipe import RunSettings

STEPS = 1600
RECIPE = replace(MOVE, steps=STEPS, learning_rate=3e-3, ema=0.99, flips="rows", crops=0.9)
SETTINGS = RunSettings(validate_every=STEPS, validate_patches=1024)
LARGEST_GAIN = 2.0
LARGEST_NOISE = 0.02  # of white; normal light is some tenths of it
NOISE_WEIGHT = 0.1  # of what is told of the noise, beside the answer


class Perturbed(MoveNet):
    """Learns from looks with another exposure and more noise; their noise is told by a second answer."""

    tell_noise = False

    def __init__(self, positions: int = 49, views: int = 2, width: float = 0.5) -> None:
        super().__init__(positions, views, width)
        self.noise = nn.Linear(self.encoder.features, 1)

    def forward(self, pixels: Tensor, indices: Tensor, where: Tensor, told: Tensor) -> Tensor:
        """Returns a logit for each position, and beyond the ends."""
        if not self.training:
            return super().forward(pixels, indices, where, told)
        drawn = torch.rand(2, len(pixels), 1, 1, 1, 1)
        added = LARGEST_NOISE * drawn[1].square()
        pixels = LARGEST_GAIN ** (2 * drawn[0] - 1) * pixels + added * torch.randn_like(pixels)
        seen = self.part_features(pixels[:, 0], indices[:, 0], where, told)
        logits = encode.moves_to_positions(self.move_logs(seen), indices[:, 0], self.positions)
        if not self.tell_noise:
            return logits
        guessed = self.noise(seen.mean(dim=1))[:, 0]
        second = (guessed - added.flatten() / LARGEST_NOISE).square().mean()
        return _Beside.apply(logits, second)  # type: ignore[no-untyped-call]


class TellingNoise(Perturbed):
    """Also learns how much noise was added."""

    tell_noise = True


class _Beside(torch.autograd.Function):
    """Hands on logits, and lets a second loss be learned with the first."""

    @staticmethod
    def forward(_context: FunctionCtx, logits: Tensor, _second: Tensor) -> Tensor:
        return logits.clone()

    @staticmethod
    def backward(_context: FunctionCtx, gradient: Tensor) -> tuple[Tensor, Tensor]:
        return gradient, torch.tensor(NOISE_WEIGHT)


@contextmanager
def without_planes(*hidden: int) -> Iterator[None]:
    """Hides some of the planes that are the same everywhere."""
    whole = encode.constant_planes

    def planes(*given: Tensor) -> Tensor:
        shown = whole(*given).clone()
        shown[:, hidden] = 0
        return shown

    with patch.object(encode, "constant_planes", planes):
        yield


def views_as_they_are() -> AbstractContextManager[Any]:
    """Shows left and right instead of green and their difference."""
    return patch.object(encode, "mixing", torch.eye)


def learning_as(network: type[nn.Module]) -> AbstractContextManager[Any]:
    """Trains another network in place of MoveNet."""
    return patch.dict(NETWORKS, {"move": replace(NETWORKS["move"], build=network)})


@dataclass(frozen=True)
class Idea:
    """One thing that is changed: of the recipe, or in the code."""

    changes: Mapping[str, Any] = field(default_factory=dict)
    meanwhile: Callable[[], AbstractContextManager[Any]] = nullcontext


IDEAS = {
    "as it is": Idea(),
    "other seed": Idea({"seed": 1}),
    "no moving average": Idea({"ema": 0.0}),
    "no flips": Idea({"flips": "none"}),
    "mirrored too": Idea({"flips": "both"}),
    "no position": Idea(meanwhile=lambda: without_planes(0)),
    "no place": Idea(meanwhile=lambda: without_planes(1, 2)),
    "no brightness": Idea(meanwhile=lambda: without_planes(3, 4)),
    "views as they are": Idea(meanwhile=views_as_they_are),
    "gain and noise": Idea(meanwhile=lambda: learning_as(Perturbed)),
    "noise told": Idea(meanwhile=lambda: learning_as(TellingNoise)),
}


def main() -> None:
    """Trains the ideas that are named, or all."""
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= set(IDEAS):
        sys.exit(f"{__doc__}\nideas: {', '.join(IDEAS)}")
    calm_the_allocator()
    data, out, *names = sys.argv[1:]
    for name in names or IDEAS:
        idea = IDEAS[name]
        with idea.meanwhile():
            run = Path(out) / name.replace(" ", "-")
            last = train([Path(data)], run, replace(RECIPE, **idea.changes), SETTINGS)
        print(f"{name:20} {last.loss:7.3f} {last.mae:7.3f}", flush=True)


if __name__ == "__main__":
    main()
