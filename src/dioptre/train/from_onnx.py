"""A finished run out of a network's file: to build on a network whose run is gone or was somebody else's.

A file holds what a network computes and not quite what was trained: each normalisation is folded into the
convolution before it. What is folded stays so, and the normalisation behind it gets the mean and the
deviation of what it sees, on looks of a store, once as what it subtracts and divides by and once as what it
multiplies by and adds: it then changes nothing, and learns on as the one that was folded would.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from dioptre.errors import NetworkError
from dioptre.methods.learned import Learned
from dioptre.store.manifest import hash_file, write_manifest
from dioptre.store.patches import PatchStore
from dioptre.train.export import EXAMPLES, TOLERANCES, compare, example, looks_of, to_tensors
from dioptre.train.folder import BEST, KIND, LINEAGE, save_state
from dioptre.train.networks import NETWORKS
from dioptre.train.networks.one_hot import SparseStem
from dioptre.train.recipe import Recipe

LOOKED_AT = 256  # patches on which the means and deviations are measured
Arrays = dict[str, np.ndarray]


def recover_run(file: Path, store: PatchStore, out: Path) -> None:
    """Writes the run that a network's file was exported from, as far as the file tells.

    Args:
        file: The ONNX file.
        store: Patches of the kind that it was trained on, some of the split train.
        out: The run's folder.

    Raises:
        NetworkError: If the file is not of a network that is known here, or answers otherwise.
    """
    card = Learned(file).card
    network = recover_network(file)
    measure_normalisations(network, _batches(file, store))
    _check(file, network)
    out.mkdir(parents=True, exist_ok=True)
    save_state(out / BEST, network.state_dict())
    earlier = {name: card.lineage[name] for name in LINEAGE if name != "weights"}
    entries = {
        "kind": KIND,
        "dioptre": card.version,
        "format": store.format.to_json(),
        "validation": dict(card.validation),
        "recovered": Learned(file).identity,
    }
    write_manifest(out, {**earlier, **entries, "weights": hash_file(out / BEST)})


def recover_network(file: Path) -> nn.Module:
    """Returns the network of a file, its normalisations folded, for inference.

    Raises:
        NetworkError: If the file is not of a network that is known here, or answers otherwise.
    """
    card = Learned(file).card
    try:
        recipe = Recipe.from_json(dict(card.recipe))
        network = NETWORKS[recipe.network].build(len(card.dioptres), recipe.views, recipe.width).eval()
        _take(network, onnx.load(file).graph, recipe)
    except (KeyError, RuntimeError, StopIteration, TypeError, ValueError) as error:
        raise NetworkError(f"{file} does not hold the weights of its network: {error}") from None
    _check(file, network)
    return network


def _check(file: Path, network: nn.Module) -> None:
    learned = Learned(file)
    difference = max(compare(learned, network, example(learned.card, *one)) for one in EXAMPLES)
    if not difference <= TOLERANCES["float32"]:
        raise NetworkError(f"{file} answers otherwise than its weights: by {difference:.2g}")


# From the graph


def _take(network: nn.Module, graph: Any, recipe: Recipe) -> None:
    """Copies the weights of a graph into a network: by name, and where a layer has no name, by order."""
    arrays = _arrays(graph)
    named = arrays.keys() & network.state_dict().keys()
    network.load_state_dict({name: torch.from_numpy(arrays[name].copy()) for name in named}, strict=False)
    convolutions = _weights_of(graph, "Conv", arrays)
    products = _weights_of(graph, "MatMul", arrays)
    for before, after in _layers(network, recipe):
        if isinstance(before, nn.Linear):
            if _name_of(network, before) + ".weight" not in arrays:
                (weight,) = next(products)
                before.weight.data.copy_(torch.from_numpy(weight.T.copy()))
            continue
        weight, bias = next(one for one in convolutions if len(one) == 2)
        assert isinstance(before.weight, Tensor)
        before.weight.data.copy_(torch.from_numpy(weight.copy()))
        assert after is not None
        _make_bias(after, torch.from_numpy(bias.copy()))


def _arrays(graph: Any) -> Arrays:
    """Returns the weights of a graph by the names that its nodes use, widened to single precision."""
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    casts = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Cast"}
    widened = {name: stored[one].astype(np.float32) for name, one in casts.items() if one in stored}
    return {**stored, **widened}


def _weights_of(graph: Any, kind: str, arrays: Arrays) -> Iterator[tuple[np.ndarray, ...]]:
    """Yields the stored weights of each layer of one kind, in order."""
    for node in graph.node:
        if node.op_type == kind:
            found = tuple(arrays[name] for name in node.input if name in arrays)
            if found:
                yield found


def _layers(network: nn.Module, recipe: Recipe) -> Iterator[tuple[nn.Module, nn.BatchNorm2d | None]]:
    """Yields the layers that a file may have without a name, each with the normalisation behind it."""
    modules = list(network.modules())
    kinds = (nn.Conv2d, SparseStem) if recipe.problem.whole else nn.Conv2d  # whose stem is a convolution
    for at, module in enumerate(modules):
        if isinstance(module, nn.Linear):
            yield module, None
        if isinstance(module, kinds):
            yield module, next(one for one in modules[at:] if isinstance(one, nn.BatchNorm2d))


def _name_of(network: nn.Module, wanted: nn.Module) -> str:
    return next(name for name, module in network.named_modules() if module is wanted)


@torch.no_grad()
def _make_bias(normalisation: nn.BatchNorm2d, bias: Tensor) -> None:
    """Lets a normalisation do nothing but add a bias."""
    mean, spread = _running(normalisation)
    mean.zero_()
    spread.fill_(1.0 - normalisation.eps)
    normalisation.weight.fill_(1.0)
    normalisation.bias.copy_(bias)


# Normalisations


def _running(normalisation: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    """Returns the mean that a normalisation subtracts, and the variance that it divides by the root of."""
    assert normalisation.running_mean is not None
    assert normalisation.running_var is not None
    return normalisation.running_mean, normalisation.running_var


@torch.no_grad()
def measure_normalisations(network: nn.Module, batches: Iterator[tuple[Tensor, ...]]) -> None:
    """Gives every normalisation the mean and the deviation of what it sees, and changes no answer."""
    sums: dict[nn.BatchNorm2d, list[Tensor]] = {}
    with _watched(network, sums):
        for given in batches:
            network.eval()(*given)
    for normalisation, (count, total, squares) in sums.items():
        mean = total / count
        spread = (squares / count - mean**2).clamp_min(1e-8)
        running_mean, running_var = _running(normalisation)
        gain = normalisation.weight / (running_var + normalisation.eps).sqrt()
        normalisation.bias.add_(gain * (mean - running_mean).float())
        normalisation.weight.copy_(gain * (spread.float() + normalisation.eps).sqrt())
        running_mean.copy_(mean)
        running_var.copy_(spread)


@contextmanager
def _watched(network: nn.Module, sums: dict[nn.BatchNorm2d, list[Tensor]]) -> Iterator[None]:
    """Adds up what every normalisation sees: how many numbers, their sum, the sum of their squares."""

    def watch(module: nn.Module, given: tuple[Tensor, ...]) -> None:
        assert isinstance(module, nn.BatchNorm2d)
        seen = given[0].double()
        count = torch.tensor(seen.numel() / seen.shape[1])
        found = [count, seen.sum(dim=(0, 2, 3)), (seen**2).sum(dim=(0, 2, 3))]
        sums[module] = [a + b for a, b in zip(sums[module], found, strict=True)] if module in sums else found

    hooks = [
        one.register_forward_pre_hook(watch) for one in network.modules() if isinstance(one, nn.BatchNorm2d)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _batches(file: Path, store: PatchStore) -> Iterator[tuple[Tensor, ...]]:
    for stack, _ in looks_of(store, Learned(file).card, "train", LOOKED_AT):
        yield to_tensors(stack)
