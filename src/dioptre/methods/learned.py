"""Learned methods: networks in ONNX files that explain themselves, run by ONNX Runtime.

A file has the inputs `pixels` (batch, slice, view, row, col), `indices` (batch, slice) and, if it wants to
know, `where` (batch, 2), all as a FocalStack has them, and `told` (batch, 2): 1 if the grid is the one that
it was trained on, and if the place in the frame is known, else 0. Its output is `logits`: (batch, n), or
(batch, n + 2) of a network that can tell that the focus lies beyond an end of the grid
(`dioptre.posterior`). On a grid of unknown distances an index is a step of its own grid. Everything a
network wants done to its input is inside the file; no prior is. What it is for stands in its metadata under
the key "dioptre", as JSON; `Card` says what.

A network is code that its user trusts, as a Python module is: its operators may take what time and memory
they like. What is checked is that the file is no larger than the limit of memory, that it needs no other
files, and that what goes in and comes out has the right types and shapes.
"""

import hashlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from jaxtyping import Float32

from dioptre.errors import MethodError, NetworkError
from dioptre.grid import FocusGrid
from dioptre.methods.base import ANY, WHOLE, Autofocuser
from dioptre.methods.model_card import Card as Card  # noqa: PLC0414  # handed on
from dioptre.posterior import Decision, Posterior, Scores
from dioptre.resources import refuse_larger, workers
from dioptre.stack import FocalStack

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

WEIGHTS: Final = Path(__file__).parents[1] / "weights"  # those that come with the package
NETWORK: Final = ".onnx"
METADATA = "dioptre"
BATCH = 32  # looks at a time: enough to keep all cores busy
CLOSE = 1e-3  # dioptres: grids that differ by less are the same
WEIGHTS_ELSEWHERE = "session.model_external_initializers_file_folder_path"  # else the working directory
FATAL = 4  # of ONNX Runtime's levels: what is less comes as an exception, or does not matter
TYPES = {
    "pixels": "tensor(float)",
    "indices": "tensor(int64)",
    "where": "tensor(float)",
    "told": "tensor(float)",
}


@dataclass(frozen=True, eq=False)
class Learned(Autofocuser):
    """A network in a file.

    Attributes:
        path: The file; read when the first stack comes.
    """

    path: Path
    is_network: ClassVar[bool] = True

    @property
    def card(self) -> Card:
        """The network's model card."""
        return _load(self.path)[1]

    @property
    def identity(self) -> str:
        """The SHA-256 of the file: another file of the same name is another method."""
        return _load(self.path)[3]

    def refusal(self, grid: FocusGrid, shape: tuple[int, int], views: int) -> str | None:
        """Returns why the network cannot see such patches, if it cannot."""
        if self.card.views > views:
            return "needs the left and the right view, but there is only green"
        return _refusal(self.card, grid, shape)

    def scores(self, stack: FocalStack) -> Scores:
        """Returns the score of each position: its posterior by the decision of the network's card."""
        return self.posterior(stack).scores()

    def posterior(self, stack: FocalStack) -> Posterior:
        """Returns the posterior over positions under an even prior.

        A patch larger than the network's is seen in tiles, whose logarithms are averaged.

        Raises:
            MethodError: If the stack is not what the network was trained for.
            NetworkError: If its answer is not finite.
        """
        session, card, wanted, _ = _load(self.path)
        stack = _fit(stack, card, self.path.stem)
        n, decision = len(card.dioptres), Decision(card.decision)
        tiles = _tiles(stack.shape, card.size)
        where, told = place_of(stack)
        total = np.zeros((stack.batch, n + 2), np.float64)
        step = max(1, BATCH // stack.pixels.shape[1])
        for begin in range(0, stack.batch, step):
            some = slice(begin, begin + step)
            for row, col in tiles:
                inputs = {
                    "pixels": _window(stack.pixels[some], row, col, card.size),
                    "indices": np.ascontiguousarray(stack.indices[some], dtype=np.int64),
                    "where": where[some],
                    "told": told[some],
                }
                logits = _answer(self.path, session, {name: inputs[name] for name in wanted}, n)
                total[some] += Posterior.of_logits(logits, n, decision).logs
        return Posterior.of_logits(total / len(tiles), n, decision)


@dataclass(frozen=True)
class LearnedFamily:
    """Networks by the names of those that come with the package, or by their files; they share no work."""

    def build(self, key: str) -> Learned:
        """Returns a network."""
        return Learned(Path(key) if key.endswith(NETWORK) else WEIGHTS / f"{key}{NETWORK}")

    def scores(self, stack: FocalStack, keys: Sequence[str]) -> dict[str, Scores]:
        """Returns the scores of several networks."""
        return {key: self.build(key).scores(stack) for key in keys}


@cache
def _load(path: Path) -> "tuple[InferenceSession, Card, tuple[str, ...], str]":
    """Returns the session of a file, its card, the names of its inputs, and its hash; once for each file."""
    session, metadata, sha256 = open_network(path)
    if METADATA not in metadata:
        raise NetworkError(f"{path} is not a network of dioptre's: it has no metadata {METADATA!r}")
    try:
        card = Card.from_json(metadata[METADATA])
        _check_inputs(session, card)
    except (KeyError, TypeError, ValueError) as error:
        raise NetworkError(f"{path} cannot be used: {error}") from None
    return session, card, tuple(one.name for one in session.get_inputs()), sha256


def open_network(path: Path) -> "tuple[InferenceSession, dict[str, str], str]":
    """Returns the session of a file, its metadata, and the file's SHA-256.

    Raises:
        NetworkError: If it cannot be read.
    """
    try:
        content = _read(path)
        session = session_of(content)
        metadata = dict(session.get_modelmeta().custom_metadata_map)
        _ = session.get_inputs(), session.get_outputs()  # names that are no text raise here
    except Exception as error:  # ONNX Runtime raises what it likes
        raise NetworkError(f"{path} cannot be read: {_reason(error)}") from None
    return session, metadata, hashlib.sha256(content).hexdigest()


def _read(path: Path) -> bytes:
    """Returns the bytes of a network, if they are within the limit of memory."""
    if path.exists() and not path.is_file():
        raise NetworkError("it is not a file")
    refuse_larger("it", path.stat().st_size, NetworkError)
    return path.read_bytes()


def _check_inputs(session: "InferenceSession", card: Card) -> None:
    """Raises NetworkError if a network wants something else than looks, or has more than one answer."""
    shapes = {"pixels": (None, None, card.views, card.size, card.size), "indices": (None, None)}
    inputs = session.get_inputs()
    for one in inputs:
        if one.name not in TYPES:
            raise NetworkError(f"it has the input {one.name!r}, not some of {', '.join(TYPES)}")
        if one.type != TYPES[one.name]:
            raise NetworkError(f"its input {one.name} is {one.type}, not {TYPES[one.name]}")
        wanted = shapes.get(one.name, (None, 2))
        fits = len(one.shape) == len(wanted) and all(
            not isinstance(found, int) or size in (None, found)
            for found, size in zip(one.shape, wanted, strict=True)
        )
        if not fits:
            shown = ", ".join("any" if size is None else str(size) for size in wanted)
            raise NetworkError(f"its input {one.name} has the shape {one.shape}, not ({shown})")
    if "pixels" not in [one.name for one in inputs] or len(session.get_outputs()) != 1:
        raise NetworkError(
            f"it has {len(inputs)} inputs and {len(session.get_outputs())} outputs, not logits"
        )


def _answer(
    path: Path, session: "InferenceSession", inputs: dict[str, np.ndarray], n: int
) -> Float32[np.ndarray, "batch _"]:
    """Returns the logits of some looks.

    Raises:
        NetworkError: If there is no such answer.
    """
    (logits,) = run_network(path, session, None, inputs)
    batch = len(inputs["pixels"])
    if not isinstance(logits, np.ndarray) or logits.dtype != np.float32:
        raise NetworkError(f"{path} answered {type(logits).__name__}, not single-precision logits")
    if logits.shape not in ((batch, n), (batch, n + 2)):
        raise NetworkError(f"{path} answered {logits.shape} for {batch} looks at a grid of {n} positions")
    return logits


def run_network(
    path: Path, session: "InferenceSession", outputs: list[str] | None, inputs: dict[str, np.ndarray]
) -> list[Any]:
    """Returns the outputs of a network.

    Raises:
        NetworkError: If it does not answer.
    """
    try:
        return session.run(outputs, inputs)
    except Exception as error:  # ONNX Runtime raises what it likes
        raise NetworkError(f"{path} did not answer: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """Returns the first line of what ONNX Runtime raised."""
    return (str(error) or repr(error)).splitlines()[0]


def session_of(model: bytes) -> "InferenceSession":
    """Returns the model in a file's bytes, ready to run on all cores."""
    import onnxruntime  # noqa: PLC0415  # it takes a while to load

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = workers()
    options.log_severity_level = FATAL
    options.add_session_config_entry("session.load_model_format", "ONNX")  # never ONNX Runtime's own
    options.add_session_config_entry(WEIGHTS_ELSEWHERE, os.devnull)  # a place that holds no files
    return onnxruntime.InferenceSession(
        model,
        options,
        providers=["CPUExecutionProvider"],
        enable_fallback=0,  # it would print that it tries the same again
    )


def _fit(stack: FocalStack, card: Card, name: str) -> FocalStack:
    """Returns the stack with the views that a network wants, or says why it cannot be had."""
    n, slices = len(card.dioptres), stack.pixels.shape[1]
    if card.views == 2 and stack.views == 1:
        raise MethodError(f"{name} needs the left and the right view, but the stack has only green")
    refusal = _refusal(card, stack.grid, stack.shape)
    if refusal is not None:
        raise MethodError(f"{name} {refusal}")
    wanted = n if card.looks == WHOLE else card.looks
    if wanted not in (ANY, slices):
        raise MethodError(f"{name} takes {wanted} of the {n} slices, but the stack has {slices}")
    if card.looks == WHOLE:
        stack = _in_order(stack, name)
    return stack.green() if card.views == 1 else stack


def _refusal(card: Card, grid: FocusGrid, shape: tuple[int, int]) -> str | None:
    """Returns why a network cannot see patches of this grid, rows and columns, or None if it can."""
    n = len(card.dioptres)
    if len(grid) != n:
        return (
            f"knows a grid of {n} positions, but the stack's has {len(grid)}: a learned method works on "
            "the grid that it was trained on"
        )
    ladder = np.array([math.nan if value is None else value for value in card.dioptres])
    if grid.known and not np.isnan(ladder).any():
        away = float(np.abs(grid.dioptres - ladder).max())
        if away > CLOSE:
            return f"was trained on another grid, up to {away:.3g} dioptres away from the stack's"
    if min(shape) < card.size:
        return f"needs patches of {card.size} pixels or more, not {shape}"
    return None


def _in_order(stack: FocalStack, name: str) -> FocalStack:
    if (np.sort(stack.indices, axis=1) != np.arange(len(stack.grid))).any():
        raise MethodError(f"{name} needs every slice of the stack once")
    order = np.argsort(stack.indices, axis=1)
    if (order == np.arange(len(stack.grid))).all():
        return stack
    scenes = np.arange(stack.batch)[:, None]
    return replace(stack, pixels=stack.pixels[scenes, order], indices=np.sort(stack.indices, axis=1))


def _tiles(shape: tuple[int, int], size: int) -> list[tuple[int, int]]:
    """Returns the corners of as many tiles as fit beside one another, in the middle of a patch."""
    starts = [
        [(length - length // size * size) // 2 + size * at for at in range(length // size)]
        for length in shape
    ]
    return [(row, col) for row in starts[0] for col in starts[1]]


def _window(
    pixels: Float32[np.ndarray, "batch slice view row col"], row: int, col: int, size: int
) -> Float32[np.ndarray, "batch slice view size size"]:
    window = np.ascontiguousarray(pixels[..., row : row + size, col : col + size])
    return np.nan_to_num(window, nan=0.0, posinf=1.0, neginf=0.0) if not np.isfinite(window).all() else window


def place_of(stack: FocalStack) -> tuple[Float32[np.ndarray, "batch 2"], Float32[np.ndarray, "batch 2"]]:
    """Returns the places of patches in the frame, (0, 0) if unknown, and whether grid and places are known.

    It is told where the lens is if the grid's distances are known, and the place if that is.
    """
    known = np.array([stack.grid.known, stack.where is not None], np.float32)
    where = np.zeros((stack.batch, 2)) if stack.where is None else stack.where
    return where.astype(np.float32), np.tile(known, (stack.batch, 1))
