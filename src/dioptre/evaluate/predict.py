"""Predictions: what methods answer for patches, one row for each answer, and nothing measured yet.

A full-stack method answers once for each patch. A method that sees one look answers once for each start; one
that sees several looks is led to them: the method before it chooses the next, from the same start. A method
for any number of looks is asked with one look, with two and with three (it leads itself to its best guess
that lies apart from the looks so far), and with all.

In a simulated store, `oracle` is an answerer beside the methods. It knows the scene and the camera and sees
exactly where the picture is sharp; it does not know by how much the lens missed the position it was sent to,
and that is all it gets wrong. No method can do better, but by luck.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from dioptre.dataset.store import PatchStore
from dioptre.methods import best_index, find_method, scores
from dioptre.methods.base import ANY, WHOLE, Autofocuser, Method, Problem, Scores, next_look
from dioptre.stack import FocalStack

ORACLE = "oracle"
NO_START = -1  # the start of a method that sees the whole stack
MANY = (1, 2, 3, WHOLE)  # looks that a method for any number is asked with

SCHEMA = pa.schema(
    [
        ("method", pa.string()),
        ("problem", pa.string()),
        ("steps", pa.int16()),  # looks; 0 for the whole stack
        ("split", pa.string()),
        ("scene", pa.string()),
        ("capture", pa.string()),
        ("patch", pa.int32()),
        ("start", pa.int16()),
        ("predicted", pa.int16()),
        ("truth", pa.int16()),
        ("in_crop", pa.bool_()),
        ("light", pa.string()),
        ("device", pa.string()),
    ]
)
DEFAULTS: Mapping[str, object] = {"in_crop": True, "light": "", "device": ""}


@dataclass(frozen=True, eq=False)
class Answers:
    """What one method answers for some patches.

    Attributes:
        method: Its key.
        problem: The problem it solves.
        steps: How many looks it had; 0 for the whole stack.
        starts: Where it began; one NO_START for the whole stack.
        predicted: For each patch and start.
    """

    method: str
    problem: Problem
    steps: int
    starts: Int[np.ndarray, " start"]
    predicted: Int[np.ndarray, "batch start"]


def predict(
    store: PatchStore,
    rows: Int[np.ndarray, " batch"],
    keys: Sequence[str],
    starts: Int[np.ndarray, " start"],
) -> pa.Table:
    """Returns the predictions of some methods, and of the oracle if the store knows its lens, for patches."""
    stack = store.stack(rows)
    answers = [
        *_whole_stacks(stack, [key for key in keys if find_method(key).looks == WHOLE]),
        *(one for key in keys for one in _looks(stack, find_method(key), starts)),
        *_oracle(store, rows),
    ]
    return pa.concat_tables([_table(store, rows, one) for one in answers])


def floor(store: PatchStore, rows: Int[np.ndarray, " batch"]) -> Int[np.ndarray, " batch"] | None:
    """Returns what the oracle answers, or None if a store does not know where its lens really was.

    At position k the lens is focused at k + error. The picture is sharp at the patch's depth less that error,
    and there the oracle is sure that it is; of the error it knows only the mean.
    """
    if not {"lens_error", "depth"} <= set(store.table.column_names):
        return None
    grid = store.format.grid
    exact = grid.dioptres_to_index(store.column("depth")[rows])
    error = store.column("lens_error")
    sharp = exact - (error[rows] - error.mean())
    return np.clip(np.round(sharp), 0, len(grid) - 1).astype(np.int64)


def _oracle(store: PatchStore, rows: Int[np.ndarray, " batch"]) -> Iterator[Answers]:
    found = floor(store, rows)
    if found is not None:
        yield Answers(ORACLE, Problem.STACK_DUAL_PIXEL, WHOLE, np.array([NO_START]), found[:, None])


def _whole_stacks(stack: FocalStack, keys: Sequence[str]) -> Iterator[Answers]:
    for key, found in scores(stack, keys).items() if keys else ():
        yield Answers(key, find_method(key).problem, WHOLE, np.array([NO_START]), best_index(found)[:, None])


def _looks(stack: FocalStack, method: Method, starts: Int[np.ndarray, " start"]) -> Iterator[Answers]:
    if method.looks == WHOLE:
        return
    for steps in MANY if method.looks == ANY else (method.looks,):
        if steps == WHOLE:
            problem = Problem.STACK_DUAL_PIXEL if method.views == 2 else Problem.STACK_GREEN
            found = best_index(method.build().scores(stack))[:, None]
            yield Answers(method.key, problem, WHOLE, np.array([NO_START]), found)
        else:
            choose = next_look if method.looks == ANY else _answer
            found = follow(stack, leaders_of(method, steps), starts, choose)
            yield Answers(method.key, method.problem, steps, starts, found)


def leaders_of(method: Method, steps: int) -> list[Autofocuser]:
    """Returns who is asked after each look: the last is the method itself."""
    if method.looks == ANY:
        return [method.build()] * steps
    chain = [method]
    while chain[0].after:
        chain.insert(0, find_method(chain[0].after))
    return [one.build() for one in chain]


def _answer(scores: Scores, _seen: Int[np.ndarray, "batch look"]) -> Int[np.ndarray, " batch"]:
    """Returns what is answered: the paper's searches look there next."""
    return best_index(scores)


def follow(
    stack: FocalStack,
    leaders: Sequence[Autofocuser],
    starts: Int[np.ndarray, " start"],
    choose: Callable[[Scores, Int[np.ndarray, "batch look"]], Int[np.ndarray, " batch"]] = _answer,
) -> Int[np.ndarray, "batch start"]:
    """Returns what is answered at the end of a search, from each start.

    Args:
        stack: All slices of some patches.
        leaders: Who is asked after each look, and sees all looks so far.
        starts: The first looks.
        choose: Says where to look next, from scores and the looks so far.
    """
    found = np.empty((stack.batch, len(starts)), np.int64)
    for at in range(stack.batch):
        where = None if stack.where is None else np.repeat(stack.where[at : at + 1], len(starts), axis=0)
        seen = starts[:, None]
        for leader in leaders:
            views = stack.pixels[at][seen]  # (start, look, view, row, col)
            scores = leader.scores(FocalStack(views, seen, stack.grid, where, stack.view_codes))
            seen = np.concatenate([seen, choose(scores, seen)[:, None]], axis=1)
        found[at] = best_index(scores)
    return found


def _table(store: PatchStore, rows: Int[np.ndarray, " batch"], answers: Answers) -> pa.Table:
    """Returns answers as rows of predictions."""
    starts = len(answers.starts)
    count = len(rows) * starts
    each = np.repeat(rows, starts)
    columns: dict[str, object] = {
        "method": [answers.method] * count,
        "problem": [str(answers.problem)] * count,
        "steps": np.full(count, answers.steps),
        "patch": each,
        "start": np.tile(answers.starts, len(rows)),
        "predicted": answers.predicted.ravel(),
    }
    for name in ("split", "scene", "capture", "truth"):
        columns[name] = store.table.column(name).take(pa.array(each))
    for name, default in DEFAULTS.items():
        known = name in store.table.column_names
        columns[name] = store.table.column(name).take(pa.array(each)) if known else [default] * count
    return pa.table({field.name: columns[field.name] for field in SCHEMA}).cast(SCHEMA)
