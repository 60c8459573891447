"""How much memory the file of a network asks for, told from the file before anything is made of it.

An ONNX file is a protocol buffer: fields, each a number, a kind and a value. Only two levels are looked at:
the graph in the model, the weights in the graph, and the bytes of each. Weights take about as much memory as
the file has bytes for them, a few times over. Everything else (operators, names, shapes) takes far more than
its bytes: up to 200 times as much was measured with ONNX Runtime 1.31, for operators of 19 bytes each.
"""

from collections.abc import Iterator
from typing import Final

from dioptre.errors import NetworkError

GRAPH: Final = 7  # fields: of a model,
WEIGHTS: Final = 5  # of a graph,
RAW: Final = 9  # of weights
COPIES: Final = 4  # of the weights: the file, what is parsed, what is run, and what optimising makes of it
GROWS: Final = 200  # bytes of memory for one of structure
MOST_STRUCTURE: Final = 16_000_000  # bytes that are no weights: a hundred times those of any network of ours
MOST_FIELDS: Final = 200_000  # that are looked at: weights beyond count as structure

VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5  # kinds of fields


def footprint(content: bytes) -> int:
    """Returns how many bytes of memory a network takes while it is loaded, at most.

    Raises:
        NetworkError: If there is more beside the weights than any network has.
    """
    left = iter(range(MOST_FIELDS))
    weights = sum(
        end - begin
        for graph in _find(content, GRAPH, 0, len(content), left)
        for tensor in _find(content, WEIGHTS, *graph, left)
        for begin, end in _find(content, RAW, *tensor, left)
    )
    structure = len(content) - weights
    if structure > MOST_STRUCTURE:
        raise NetworkError(
            f"it has {structure / 1e6:.0f} MB beside its weights, more than {MOST_STRUCTURE / 1e6:.0f} MB"
        )
    return COPIES * weights + GROWS * structure


def _find(content: bytes, wanted: int, at: int, end: int, left: Iterator[int]) -> Iterator[tuple[int, int]]:
    """Yields where the values of a field begin and end; stops at damage, and where no steps are left."""
    while at < end and next(left, None) is not None:
        tag, at = _varint(content, at, end)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            _, at = _varint(content, at, end)
        elif kind in (FIXED_32, FIXED_64):
            at += 4 if kind == FIXED_32 else 8
        elif kind == BYTES:
            length, at = _varint(content, at, end)
            if at + length > end:
                return
            if number == wanted:
                yield at, at + length
            at += length
        else:
            return


def _varint(content: bytes, at: int, end: int) -> tuple[int, int]:
    """Returns a number and where it ends; that of a cut one is the end."""
    value, shift = 0, 0
    while at < end and shift < 64:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    return 0, end
