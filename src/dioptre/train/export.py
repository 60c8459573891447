"""A trained network as one ONNX file that explains itself.

The exporter runs what it wrote and compares it with torch before the file gets its name; a network whose
weights or answers are not finite gets no file. Weights may be stored in half precision, which halves the
file: they are widened when it is loaded, and computed with in single precision. Or the whole network is
computed in 8-bit integers, with ranges measured on real looks.
"""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import torch
from jaxtyping import Float, Int
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from torch import Tensor, nn

from dioptre import __version__
from dioptre.errors import InputError, NetworkError
from dioptre.grid import FocusGrid
from dioptre.methods.base import ANY, WHOLE, best_index
from dioptre.methods.learned import METADATA, Learned, place_of
from dioptre.methods.model_card import Card
from dioptre.posterior import Decision, Posterior
from dioptre.stack import FocalStack
from dioptre.store.manifest import unnamed
from dioptre.store.patches import PatchStore
from dioptre.train.folder import TrainingRun, open_run
from dioptre.train.inference import INPUTS, OUTPUT, trace

PIXELS = "(code - black) / (white - black) of each view, linear, 0 to 1; green is the mean of left and right"
SMALL = 256  # weights with fewer numbers stay as they are: nothing is won with them
SOME = 3  # looks that a network for any number is tried with
EXAMPLES = ((1, 1), (5, 2))  # batches and seeds of the looks that a file is tried with
CALIBRATION_STACKS = 128
IN_INTEGERS = re.compile(r"/(blocks|last|enter|layers\.)")  # what is worth it; the rest is light, and fine
TOLERANCES = {"float32": 1e-4, "float16": 0.02}  # how far a probability may be from torch's


@dataclass(frozen=True)
class Exported:
    """What an export found.

    Attributes:
        path: The file.
        bytes: Its size.
        difference: Largest difference of a probability from torch's, on random looks.
        mae: Mean absolute error of the file on validation patches, in indices; None if there were none.
        torch_mae: The same of torch's network.
    """

    path: Path
    bytes: int
    difference: float
    mae: float | None = None
    torch_mae: float | None = None


def card_of(run: TrainingRun, decision: Decision | None = None) -> Card:
    """Returns the model card of a finished run's network."""
    recipe = run.recipe
    return Card(
        problem=str(recipe.problem),
        network=recipe.network,
        looks=run.looks,
        views=recipe.views,
        size=run.format.size,
        dioptres=tuple(run.entries["format"]["dioptres"]),
        pixels=PIXELS,
        decision=run.kind.decision if decision is None else decision,
        recipe=recipe.to_json(),
        lineage=run.lineage,
        validation=run.entries["validation"],
        version=__version__,
    )


def export(path: Path, file: Path, half: bool = False, decision: Decision | None = None) -> Exported:
    """Writes the network of a finished run and returns how far it is from torch's.

    Args:
        path: The run's folder.
        file: The ONNX file.
        half: Whether weights are stored in half precision.
        decision: How its posterior is read, if not as that of its kind is.

    Raises:
        NetworkError: If weights or answers are not finite, or the file does not answer as torch does; it then
            does not get its name.
    """
    run = open_run(path)
    network, card = run.network(), card_of(run, decision)
    check_finite(network, card)

    def differs(partial: Path) -> float:
        learned = Learned(partial)
        return max(compare(learned, network, example(card, *one)) for one in EXAMPLES)

    model, tolerance = to_onnx(network, card), TOLERANCES["float16" if half else "float32"]
    return write_checked(model, file, half, differs, tolerance, "probabilities differ from torch's by {:.2g}")


def write_checked(
    model: onnx.ModelProto,
    file: Path,
    half: bool,
    differs: Callable[[Path], float],
    tolerance: float,
    complaint: str,
) -> Exported:
    """Writes a model that answers as torch does, and returns how far it is from torch's.

    Args:
        model: The model, with its card inside.
        file: The ONNX file.
        half: Whether weights are stored in half precision.
        differs: Runs a file and returns how far its answers are from torch's.
        tolerance: How far they may be.
        complaint: What to say of them otherwise, with a place for how far they are.

    Raises:
        NetworkError: If it does not; it then does not get its name.
    """
    if half:
        store_half(model)
    onnx.checker.check_model(model, full_check=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    with unnamed(file) as partial:
        onnx.save(model, partial)
        difference = differs(partial)
        if not difference <= tolerance:  # also for NaN
            said = complaint.format(difference)
            raise NetworkError(f"{file} was not written: its {said}, more than {tolerance:g}")
    return Exported(file, file.stat().st_size, difference)


def write_figures(file: Path, figures: Mapping[str, float]) -> None:
    """Writes what a network was worth into the card of its file; the file is then another one."""
    model = onnx.load(file)
    card = replace(Learned(file).card, figures=dict(figures))
    helper.set_model_props(model, {METADATA: card.to_json()})
    with unnamed(file) as partial:
        onnx.save(model, partial)


def check_finite(network: nn.Module, card: Card) -> None:
    """Raises NetworkError if a weight, or an answer to random looks, is NaN or infinite."""
    for name, one in network.state_dict().items():
        if one.is_floating_point() and not bool(torch.isfinite(one).all()):
            raise NetworkError(f"the network cannot be exported: its weights {name} are not finite")
    for one in EXAMPLES:
        if not bool(torch.isfinite(_logits(network, example(card, *one))).all()):
            raise NetworkError("the network cannot be exported: its answer to random looks is not finite")


def to_onnx(network: nn.Module, card: Card) -> onnx.ModelProto:
    """Returns a network as an ONNX model, with its card inside."""
    looks = example(card, 2, seed=0)
    axes: dict[str, dict[int, str]] = {name: {0: "batch"} for name in (*INPUTS, OUTPUT)}
    if card.looks == ANY:
        for name in ("pixels", "indices"):
            axes[name][1] = "slice"
    model = trace(network, to_tensors(looks), axes)
    helper.set_model_props(model, {METADATA: card.to_json()})
    return model


def example(card: Card, batch: int, seed: int) -> FocalStack:
    """Returns random looks of the kind that a network sees."""
    rng = np.random.default_rng(seed)
    indices = _positions(card, batch, rng)
    shape = (*indices.shape, card.views, card.size, card.size)
    pixels = rng.uniform(0.05, 0.4, shape).astype(np.float32)
    where = rng.uniform(-1, 1, (batch, 2))
    return FocalStack(pixels, indices, FocusGrid(range(len(card.dioptres))), where)


def _positions(card: Card, batch: int, rng: np.random.Generator) -> Int[np.ndarray, "batch slice"]:
    """Returns as many positions as a network sees, each once, in order."""
    n = len(card.dioptres)
    slices = {WHOLE: n, ANY: SOME}.get(card.looks, card.looks)
    return np.sort(rng.permuted(np.tile(np.arange(n), (batch, 1)), axis=1)[:, :slices], axis=1)


def store_half(model: onnx.ModelProto) -> None:
    """Stores a model's large weights in half precision, to be widened when it is loaded."""
    graph = model.graph
    casts = []
    for weight in graph.initializer:
        if weight.data_type != TensorProto.FLOAT or np.prod(weight.dims) < SMALL:
            continue
        values = numpy_helper.to_array(weight)
        if np.abs(values).max() > np.finfo(np.float16).max:
            continue
        name, stored = weight.name, f"{weight.name}.half"
        weight.CopyFrom(numpy_helper.from_array(values.astype(np.float16), stored))
        casts.append(helper.make_node("Cast", [stored], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def compare(learned: Learned, network: nn.Module, stack: FocalStack) -> float:
    """Returns the largest difference of a probability in a file from torch's."""
    theirs = torch_posterior(network, stack, learned.card)
    return float(np.abs(np.exp(learned.posterior(stack).logs) - np.exp(theirs.logs)).max())


def torch_posterior(network: nn.Module, stack: FocalStack, card: Card) -> Posterior:
    """Returns the posterior that torch gives."""
    logits = _logits(network, stack).numpy()
    return Posterior.of_logits(logits, len(card.dioptres), Decision(card.decision))


@torch.no_grad()
def _logits(network: nn.Module, stack: FocalStack) -> Float[Tensor, "batch _"]:
    return network.eval()(*to_tensors(stack))


def to_tensors(stack: FocalStack) -> tuple[Tensor, ...]:
    """Returns the inputs of a network, in their order."""
    where, told = place_of(stack)
    return (
        torch.from_numpy(np.ascontiguousarray(stack.pixels)),
        torch.from_numpy(stack.indices.astype(np.int64)),
        torch.from_numpy(where),
        torch.from_numpy(told),
    )


# Integers


def export_int8(path: Path, file: Path, store: PatchStore, patches: int = CALIBRATION_STACKS) -> Exported:
    """Writes a network that computes in 8-bit integers, and returns what that costs.

    Args:
        path: The run's folder.
        file: The ONNX file.
        store: Patches to measure the ranges on (of the split train) and the loss of accuracy (of the
            split validation).
        patches: How many of each.
    """
    run = open_run(path)
    network, card = run.network(), card_of(run)
    check_finite(network, card)
    file.parent.mkdir(parents=True, exist_ok=True)
    with unnamed(file) as partial:
        quantise(network, card, partial, store, patches)
        learned, errors = Learned(partial), []
        for stack, truth in looks_of(store, card, "validation", patches):
            posteriors = (learned.posterior(stack), torch_posterior(network, stack, card))
            found = [best_index(one.scores()) for one in posteriors]
            errors.append([np.abs(one - truth).mean() for one in found])
        difference = compare(learned, network, example(card, 4, seed=3))
    mae, torch_mae = (float(value) for value in np.mean(errors, axis=0))
    return Exported(file, file.stat().st_size, difference, mae, torch_mae)


def quantise(network: nn.Module, card: Card, path: Path, store: PatchStore, patches: int) -> None:
    """Writes a network in 8-bit integers, its ranges measured on patches of the split train."""
    with tempfile.TemporaryDirectory() as folder:
        plain, ready = Path(folder) / "plain.onnx", Path(folder) / "ready.onnx"
        onnx.save(to_onnx(network, card), plain)
        quant_pre_process(plain, ready, skip_symbolic_shape=True)  # which does not know all operators
        around = [node.name for node in onnx.load(ready).graph.node if not IN_INTEGERS.search(node.name)]
        quantize_static(
            ready,
            path,
            _Calibration(looks_of(store, card, "train", patches), _input_names(ready)),
            quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            per_channel=True,
            nodes_to_exclude=around,
        )
    model = onnx.load(path)
    helper.set_model_props(model, {METADATA: card.to_json()})
    onnx.save(model, path)


def looks_of(
    store: PatchStore, card: Card, split: str, patches: int, batch: int = 8
) -> Iterator[tuple[FocalStack, Int[np.ndarray, " batch"]]]:
    """Yields looks of some patches of a split at random positions, and the patches' truth."""
    rows = np.flatnonzero(store.column("split") == split)
    if rows.size == 0:
        raise InputError(f"{store.path} has no patches of the split {split}")
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(rows)[:patches])
    truth = store.column("truth")
    for begin in range(0, len(rows), batch):
        some = rows[begin : begin + batch]
        stack = store.stack(some, _positions(card, len(some), rng))
        yield (stack.green() if card.views == 1 else stack), truth[some]


class _Calibration(CalibrationDataReader):  # type: ignore[misc]
    """Looks as ONNX Runtime's quantiser asks for them."""

    def __init__(
        self, looks: Iterator[tuple[FocalStack, Int[np.ndarray, " batch"]]], wanted: frozenset[str]
    ) -> None:
        self.looks, self.wanted = looks, wanted

    def get_next(self) -> dict[str, np.ndarray] | None:
        """Returns the next input, or None after the last."""
        stack, _ = next(self.looks, (None, None))
        if stack is None:
            return None
        given = zip(INPUTS, to_tensors(stack), strict=True)
        return {name: one.numpy() for name, one in given if name in self.wanted}


def _input_names(path: Path) -> frozenset[str]:
    return frozenset(one.name for one in onnx.load(path).graph.input)
