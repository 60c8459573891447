"""How much memory the file of a network asks for, told from the file before anything is made of it.

Only two levels are looked at: the graph in the model, the weights in the graph, and the bytes of each.
Weights take about as much memory as the file has bytes for them, a few times over. Everything else
(operators, names, shapes) takes far more than its bytes: up to 200 times as much was measured with ONNX
Runtime 1.31, for operators of 19 bytes each.
"""

from typing import Final

from dioptre.errors import NetworkError
from dioptre.methods.protobuf import Message

GRAPH: Final = 7  # fields: of a model,
WEIGHTS: Final = 5  # of a graph,
RAW: Final = 9  # of weights
COPIES: Final = 4  # of the weights: the file, what is parsed, what is run, and what optimising makes of it
GROWS: Final = 200  # bytes of memory for one of structure
MOST_STRUCTURE: Final = 16_000_000  # bytes that are no weights: a hundred times those of any network of ours


def footprint(content: bytes) -> int:
    """Returns how many bytes of memory a network takes while it is loaded, at most.

    Raises:
        NetworkError: If there is more beside the weights than any network has, or the file is damaged.
    """
    model = Message(content)
    weights = sum(
        end - begin
        for graph in model.inner(GRAPH)
        for tensor in model.inner(WEIGHTS, *graph)
        for begin, end in model.inner(RAW, *tensor)
    )
    structure = len(content) - weights
    if structure > MOST_STRUCTURE:
        raise NetworkError(
            f"it has {structure / 1e6:.0f} MB beside its weights, more than {MOST_STRUCTURE / 1e6:.0f} MB"
        )
    return COPIES * weights + GROWS * structure
