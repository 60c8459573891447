"""Speed of the learned models, as ratios in one run.

python -m lab.speed.learned [stem]

latency      one patch: ONNX Runtime against torch eager, of the same network; width 4 in integers
sparse stem  the paper's network on one look, against building its one-hot input
feed         a training step with its batch read from a store, and with the batch already there
"""

import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import Tensor, nn
from torch.nn import functional

from dioptre.grid import FocusGrid
from dioptre.methods import METHODS
from dioptre.methods.learned import Card, Learned
from dioptre.stack import FocalStack
from dioptre.store.patches import PatchStore
from dioptre.train import dataloader, encode, loss
from dioptre.train.dataloader import DataLoader, JoinedStores
from dioptre.train.export import quantise, to_onnx
from dioptre.train.networks import NETWORKS
from dioptre.train.networks.mobilenet import CHUNK
from dioptre.train.networks.one_hot import OneHotNet
from lab.speed.store import build
from lab.speed.timing import best_ms, best_of_each, write_line

N, SIZE = 49, 128
SINGLE = tuple(key for key, row in METHODS.items() if row.looks == 1)


def card(network: str, views: int) -> Card:
    """Returns a card for an untrained network that sees one look."""
    ladder = tuple(FocusGrid.learnaf().dioptres.tolist())
    return Card("D1", network, 1, views, SIZE, ladder, "", "mode", {}, {}, {}, "0")


def one_look(views: int) -> FocalStack:
    """Returns a random patch."""
    pixels = np.random.default_rng(0).uniform(0.1, 0.4, (1, 1, views, SIZE, SIZE)).astype(np.float32)
    return FocalStack(pixels, np.array([[20]]), FocusGrid.learnaf(), np.zeros((1, 2)))


def in_torch(network: nn.Module, stack: FocalStack) -> Callable[[], Tensor]:
    """Returns the work of torch eager for one patch."""
    inputs = (torch.from_numpy(stack.pixels), torch.from_numpy(stack.indices), torch.zeros(1, 2))
    network = network.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return torch.no_grad()(lambda: network(*inputs))


def latency(folder: Path, store: PatchStore) -> None:
    """Prints what one patch costs."""
    write_line(f"{'one patch':28}{'torch':>10}{'ONNX':>10}{'ratio':>8}")
    for key in SINGLE:
        learned = METHODS[key].build()
        assert isinstance(learned, Learned)
        of = learned.card
        network = NETWORKS[of.network].build(N, of.views, float(of.recipe["width"]))
        stack = one_look(of.views)
        theirs, ours = best_of_each((in_torch(network, stack), partial(learned.scores, stack)), 40)
        write_line(f"{key:28}{theirs:8.2f}ms{ours:8.2f}ms{theirs / ours:7.1f}x")
    network, of, stack = OneHotNet(N, 2, 4.0), card("one-hot", 2), one_look(2)
    plain, whole = folder / "plain.onnx", folder / "int8.onnx"
    onnx.save(to_onnx(network, of), plain)
    quantise(network, of, whole, store, patches=8)
    full, integer = best_of_each([partial(Learned(path).scores, stack) for path in (plain, whole)], 10)
    write_line(f"{'the paper, width 4: fp32, int8':28}{full:6.1f}ms{integer:8.1f}ms{full / integer:7.1f}x")


def sparse_stem(batch: int = 128, width: float = 0.5) -> None:
    """Prints what the sparse stem saves, building the one-hot input included."""
    network = OneHotNet(N, 2, width).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    pixels, where = torch.rand(batch, 1, 2, SIZE, SIZE), torch.zeros(batch, 2)
    indices = torch.randint(0, N, (batch, 1))

    def dense() -> Tensor:
        full = encode.one_hot(encode.normalise_looks(pixels), indices, N)
        x = network.after_stem(functional.conv2d(full, network.stem.weight, stride=2, padding=1))
        parts = [x] if network.training else x.split(CHUNK)
        return network.head(torch.cat([network.last(network.blocks(one)).mean(dim=(2, 3)) for one in parts]))

    def sparse() -> Tensor:
        return network(pixels, indices, where)

    def step(forward: Callable[[], Tensor]) -> None:
        network.train()
        network.zero_grad()
        forward().square().mean().backward()

    def infer(forward: Callable[[], Tensor]) -> None:
        network.eval()
        with torch.no_grad():
            forward()

    write_line(f"\n{'width 0.5, batch 128':28}{'dense':>10}{'sparse':>10}{'ratio':>8}")
    for name, run in (("forward", infer), ("training step", step)):
        slow, fast = best_of_each([partial(run, form) for form in (dense, sparse)], 2, rounds=3)
        write_line(f"{name:28}{slow:8.0f}ms{fast:8.0f}ms{slow / fast:7.1f}x")


def feeding(store: PatchStore, batch: int = 64, steps: int = 12) -> None:
    """Prints what reading costs a training step."""
    write_line(f"\n{'training step, batch 64':28}{'batch there':>12}{'read':>10}{'ratio':>8}")
    truth = store.column("truth").astype(np.float64)
    rows = np.arange(len(store))
    for name, looks in (
        ("one look", dataloader.random_start(N)),
        ("whole stacks", dataloader.whole_stack(N)),
    ):
        supply = DataLoader(JoinedStores((store,)), rows, truth, 2, looks, batch)
        network = OneHotNet(N, 2, 0.5).to(memory_format=torch.channels_last)  # type: ignore[call-overload]

        def step(one: dataloader.Batch) -> None:
            scores = network(one.pixels, one.indices, one.where)  # noqa: B023
            network.zero_grad()  # noqa: B023
            value = loss.divergence(scores, loss.soft_labels(one.target, N)).mean()
            value.backward()

        there = supply.batch(0)

        def run(batches: Iterable[dataloader.Batch]) -> None:
            for one in batches:
                step(one)

        alone = best_ms(lambda: run([there] * steps), 2)  # noqa: B023
        fed = best_ms(lambda: run(supply.stream(0, steps)), 2)  # noqa: B023
        write_line(f"{name:28}{alone / steps:10.0f}ms{fed / steps:8.0f}ms{fed / alone:7.2f}x")


def main(arguments: Sequence[str]) -> None:
    """Prints all tables."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        store = build(Path(folder) / "store", 128, np.random.default_rng(0))
        if "stem" not in arguments:
            latency(Path(folder), store)
        sparse_stem()
        feeding(store)


if __name__ == "__main__":
    main(sys.argv[1:])
