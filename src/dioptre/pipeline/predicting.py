"""From patches to predictions: every method on every patch, from every start, and nothing measured yet.

parts/00000.parquet   the predictions for some patches
parts/00000.json      what they took
predictions.parquet   all of them
examples.npz          a few of the patches, for a report to show
costs.json            seconds of processor time that each method takes for a patch
manifest.json         written last

But for what things took, the same patches and methods give the same bytes, whoever does it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
from jaxtyping import Int

from dioptre.autofocus.search import leaders_of
from dioptre.errors import FileError, InputError, MethodError
from dioptre.evaluate.examples import build_gallery, choose_examples
from dioptre.evaluate.predict import SCHEMA, Costs, predict
from dioptre.evaluate.provenance import origin_of
from dioptre.methods import METHODS, Method, find_method
from dioptre.pipeline.executors import run_counted
from dioptre.pipeline.settings import Prediction
from dioptre.posterior import DepthPrior
from dioptre.store.lock import locked
from dioptre.store.manifest import (
    begin_folder,
    clear_leftovers,
    hash_file,
    read_json,
    write_file,
    write_json,
    write_manifest,
)
from dioptre.store.parquet import check_table, iterate_parquet, join_parquet, pa, read_parquet, write_parquet
from dioptre.store.patches import PatchStore, StoreFormat, open_patches
from dioptre.store.schema import is_number

KIND = "predictions"
PREDICTIONS = "predictions.parquet"
PARTS = "parts"
EXAMPLES = "examples.npz"
EXAMPLES_HASH = "examples_sha256"  # entry of the manifest
COSTS = "costs.json"
EVERYONE = "reading, and what verdicts look at"  # in costs.json, what no method takes alone
CHOSEN_BY = ("method", "patch", "start", "predicted", "truth")  # columns
PATCHES = 32  # in a part
ALL = "all"  # methods that the patches allow; patches of every split
TEST = "test"


def predict_store(
    data: Path,
    out: Path,
    prediction: Prediction,
    executor: Executor | None,
    done: Callable[[int, int], None],
) -> tuple[int, str]:
    """Writes predictions for the patches of a store and returns how many, and of which split.

    A run that was stopped goes on where it was.

    Args:
        data: The patch store.
        out: The folder of the predictions.
        prediction: What to predict.
        executor: Who does it, a part each; None for this process. The result does not depend on it.
        done: Called with the number of patches done and of all.
    """
    store = open_patches(data)
    keys = methods_for(store, prediction.keys)
    split = prediction.split or usual_split(store)
    rows = store.rows_of(split)
    prior = DepthPrior.parse(prediction.prior)
    starts = spread(len(store.format.grid), prediction.starts)
    origin = origin_of(store, split, len(starts), prior.name)
    plan = {
        "kind": KIND,
        "data": origin.data,
        "simulated": origin.simulated,
        "origin": origin.to_json(),
        "methods": {key: _identities(find_method(key)) for key in keys},
        "prior": {"name": prior.name, "table": list(prior.table)},
        "split": split,
        "starts": starts.tolist(),
        "patches": len(rows),
    }
    with locked(out):
        begin_folder(out, plan, "a folder of predictions")
        (out / PARTS).mkdir(exist_ok=True)
        parts = {
            out / PARTS / f"{number:05}.parquet": rows[begin : begin + PATCHES]
            for number, begin in enumerate(range(0, len(rows), PATCHES))
        }
        piece = partial(_predict_part, store=store, keys=keys, starts=starts, prior=prior)
        _write_parts(parts, piece, executor, done)
        clear_leftovers(out)
        count = _join(parts, out / PREDICTIONS)
        examples = choose_examples(store, rows, iterate_parquet(out / PREDICTIONS, CHOSEN_BY))
        write_file(out / EXAMPLES, build_gallery(store, examples, keys, prior).write)
        write_json(out / COSTS, _costs_of_all(parts, len(rows)))
        hashes = {"sha256": hash_file(out / PREDICTIONS), EXAMPLES_HASH: hash_file(out / EXAMPLES)}
        write_manifest(out, {**plan, "rows": count, **hashes})
    return count, split


def usual_split(store: PatchStore) -> str:
    """Returns the split for testing; "all" of a store that has none, such as one of own captures."""
    return TEST if (store.column("split") == TEST).any() else ALL


def _costs_of_all(parts: Iterable[Path], patches: int) -> dict[str, float]:
    """Returns the seconds that each method takes for a patch."""
    total: dict[str, float] = {}
    for part in parts:
        file = part.with_suffix(".json")
        for key, seconds in read_json(file).items():
            if not is_number(seconds):
                raise FileError(f"{file} is damaged: {key!r} took {seconds!r}; delete it and {part.name}")
            total[key or EVERYONE] = total.get(key or EVERYONE, 0.0) + float(seconds)
    return {key: round(seconds / patches, 7) for key, seconds in total.items()}


def _join(parts: Iterable[Path], path: Path) -> int:
    """Writes the predictions of all parts into one file, a part at a time, and returns how many they are."""
    counted: list[int] = []

    def write(file: BinaryIO) -> None:
        counted.append(join_parquet(map(_read_part, parts), SCHEMA, file))

    write_file(path, write)
    return counted[0]


def _read_part(path: Path) -> pa.Table:
    """Returns the predictions of a part, which an earlier run may have written."""
    table = read_parquet(path)
    check_table(path, table, SCHEMA)
    try:
        return table.select(SCHEMA.names).cast(SCHEMA)
    except pa.ArrowException as error:
        raise FileError(f"{path} is damaged: {str(error).splitlines()[0]}; delete it") from None


def _write_parts(
    parts: Mapping[Path, Int[np.ndarray, " patch"]],
    predict_part: Callable[[Path, Int[np.ndarray, " patch"]], int],
    executor: Executor | None,
    done: Callable[[int, int], None],
) -> None:
    """Writes the parts that are missing."""
    missing = {file: rows for file, rows in parts.items() if not file.exists()}
    total = sum(len(rows) for rows in parts.values())
    finished = total - sum(len(rows) for rows in missing.values())
    pieces = [partial(predict_part, file, rows) for file, rows in missing.items()]
    run_counted(pieces, executor, finished, total, done)


def _predict_part(
    file: Path,
    rows: Int[np.ndarray, " patch"],
    store: PatchStore,
    keys: Sequence[str],
    starts: Int[np.ndarray, " start"],
    prior: DepthPrior,
) -> int:
    """Writes the predictions for some patches and returns how many patches these are."""
    costs = Costs()
    table = predict(store, rows, keys, starts, prior, costs)
    write_json(file.with_suffix(".json"), costs.seconds)
    write_file(file, lambda opened: write_parquet(table, opened))
    return len(rows)


def methods_for(store: PatchStore, wanted: Sequence[str]) -> tuple[str, ...]:
    """Returns the methods to run: those asked for; all that the patches allow for none, or for "all".

    Raises:
        MethodError: If a method that was asked for does not exist, or cannot see the store's patches.
    """
    fitting = [key for key, row in METHODS.items() if _refusal(row, store.format) is None]
    if not wanted:
        return tuple(fitting)
    listed = [key for one in wanted for key in (fitting if one == ALL else [one])]
    for key in listed:
        refusal = _refusal(find_method(key), store.format)
        if refusal is not None:
            raise MethodError(f"{key} {refusal}: {store.path}")
    return tuple(dict.fromkeys(listed))


def _identities(method: Method) -> list[str]:
    """Returns the identity of a method, after those of the methods that choose its looks."""
    return [one.build().identity for one in leaders_of(method)]


def _refusal(row: Method, form: StoreFormat) -> str | None:
    """Returns why a method cannot see patches of this grid and size, if it cannot."""
    return row.build().refusal(form.grid, (form.size, form.size), form.views)


def spread(positions: int, count: int) -> Int[np.ndarray, " start"]:
    """Returns some starts, spread evenly over the grid; all of them for 0."""
    if not 0 <= count <= positions:
        raise InputError(f"a grid of {positions} positions has 0 to {positions} starts, not {count}")
    if count in (0, positions):
        return np.arange(positions)
    return np.round((np.arange(count) + 0.5) * positions / count - 0.5).astype(np.int64)
