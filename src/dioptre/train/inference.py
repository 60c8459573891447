"""Networks that do not learn, run by ONNX Runtime.

On a processor that is three times as fast as torch, which matters where a trained network looks at every
slice of every patch before another one learns from that.
"""

import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import onnx
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from dioptre.methods.learned import session_of

OPSET = 18
INPUTS = ("pixels", "indices", "where", "told")
OUTPUT = "logits"

Inference = Callable[..., Float[Tensor, "batch ..."]]  # what a network answers, without gradients


def trace(
    network: nn.Module,
    given: tuple[Tensor, ...],
    axes: Mapping[str, Mapping[int, str]],
    inputs: Sequence[str] = INPUTS,
    output: str = OUTPUT,
) -> onnx.ModelProto:
    """Returns a network as an ONNX model.

    Args:
        network: Takes the inputs.
        given: Inputs of the kind that it will see.
        axes: Which axes of inputs and output may have another length, by number, and their names.
        inputs: Their names.
        output: Its name.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tracing is deprecated, and says so of every shape it meets
        file = Path(folder) / "network.onnx"
        torch.onnx.export(
            network.eval(),
            given,
            str(file),
            input_names=list(inputs),
            output_names=[output],
            dynamic_axes={name: dict(some) for name, some in axes.items()},
            opset_version=OPSET,
            dynamo=False,
        )
        return onnx.load(file)


def inference_session(network: nn.Module, *given: Shaped[Tensor, "batch ..."]) -> Inference:
    """Returns a network in its fastest form, for any number of inputs like those given.

    On a processor the weights are copied: what the network learns later is not seen.
    """
    if given[0].device.type != "cpu":
        return network.eval()
    model = trace(network, given, {name: {0: "batch"} for name in (*INPUTS, OUTPUT)})
    session = session_of(model.SerializeToString())
    wanted = [one.name for one in session.get_inputs()]

    def infer(*tensors: Shaped[Tensor, "batch ..."]) -> Float[Tensor, "batch ..."]:
        named = dict(zip(INPUTS, tensors, strict=True))
        return torch.from_numpy(session.run(None, {name: named[name].numpy() for name in wanted})[0])

    return infer


class LazyInference:
    """A network whose session is started with the first looks of each shape that come."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self.sessions: dict[tuple[torch.Size, ...], Inference] = {}

    @property
    def device(self) -> torch.device:
        """Where the network is computed."""
        return next(self.network.parameters()).device

    @torch.no_grad()
    def __call__(self, *given: Shaped[Tensor, "batch ..."]) -> Float[Tensor, "batch ..."]:
        """Returns the outputs of the network."""
        shapes = tuple(one.shape[1:] for one in given)
        if shapes not in self.sessions:
            self.sessions[shapes] = inference_session(self.network, *given)
        return self.sessions[shapes](*given)
