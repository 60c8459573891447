"""From patches to predictions: every method on every patch, from every start, and nothing measured yet.

parts/00000.parquet   the predictions for some patches
predictions.parquet   all of them
manifest.json         written last
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from dioptre.dataset.manifest import (
    begin_folder,
    finish_folder,
    read_parquet,
    write_file,
    write_parquet,
)
from dioptre.dataset.store import PatchStore, StoreFormat, open_patches
from dioptre.errors import InputError, MethodError
from dioptre.evaluate.predict import oracle_answers, predict
from dioptre.methods import METHODS, Method, find_method
from dioptre.posterior import DepthPrior

KIND = "predictions"
PREDICTIONS = "predictions.parquet"
PARTS = "parts"
PATCHES = 32  # in a part


@dataclass(frozen=True)
class Prediction:
    """What decides predictions.

    Attributes:
        methods: Keys; empty for all that the patches allow.
        split: "train", "validation" or "test"; "all" for every patch.
        starts: From how many starts, spread evenly over the ladder, a method with few looks begins;
            0 for all.
        prior: Where things are expected: "even", "far", a list of weights, or a file of them.
    """

    methods: tuple[str, ...] = ()
    split: str = "test"
    starts: int = 0
    prior: str = "even"


def predict_store(data: Path, out: Path, prediction: Prediction, done: Callable[[int, int], None]) -> int:
    """Writes predictions for the patches of a store and returns how many; a run that was stopped goes on.

    Args:
        data: The patch store.
        out: The folder of the predictions.
        prediction: What to predict.
        done: Called with the number of patches done and of all.
    """
    store = open_patches(data)
    keys = methods_for(store, prediction.methods)
    rows = _rows(store, prediction.split)
    prior = DepthPrior.parse(prediction.prior)
    starts = spread(len(store.format.grid), prediction.starts)
    plan = {
        "kind": KIND,
        "data": store.manifest["sha256"],
        "simulated": oracle_answers(store, rows[:1]) is not None,
        "methods": {key: find_method(key).build().identity for key in keys},
        "prior": asdict(prior),
        "split": prediction.split,
        "starts": starts.tolist(),
        "patches": len(rows),
    }
    begin_folder(out, plan, "a folder of predictions")
    (out / PARTS).mkdir(exist_ok=True)
    parts = [rows[begin : begin + PATCHES] for begin in range(0, len(rows), PATCHES)]
    done(0, len(rows))
    for number, some in enumerate(parts):
        file = out / PARTS / f"{number:05}.parquet"
        if not file.exists():
            found = predict(store, some, keys, starts, prior)
            write_file(file, lambda opened, table=found: write_parquet(table, opened))  # type: ignore[misc]
        done(min((number + 1) * PATCHES, len(rows)), len(rows))
    whole = pa.concat_tables(
        [read_parquet(out / PARTS / f"{number:05}.parquet") for number in range(len(parts))]
    )
    finish_folder(out, whole, plan, PREDICTIONS)
    return len(whole)


def methods_for(store: PatchStore, wanted: Sequence[str]) -> tuple[str, ...]:
    """Returns the methods to run: those asked for, or all that the patches allow.

    Raises:
        MethodError: If a method that was asked for does not exist, or cannot see the store's patches.
    """
    if not wanted:
        return tuple(key for key, row in METHODS.items() if _refusal(row, store.format) is None)
    for key in wanted:
        refusal = _refusal(find_method(key), store.format)
        if refusal is not None:
            raise MethodError(f"{key} {refusal}: {store.path}")
    return tuple(wanted)


def _refusal(row: Method, form: StoreFormat) -> str | None:
    """Returns why a method cannot see patches of this ladder and size, if it cannot."""
    return row.build().refusal(form.grid, (form.size, form.size), form.views)


def spread(positions: int, count: int) -> Int[np.ndarray, " start"]:
    """Returns some starts, spread evenly over the ladder; all of them for 0."""
    if not 0 <= count <= positions:
        raise InputError(f"a ladder of {positions} positions has 0 to {positions} starts, not {count}")
    if count in (0, positions):
        return np.arange(positions)
    return np.round((np.arange(count) + 0.5) * positions / count - 0.5).astype(np.int64)


def _rows(store: PatchStore, split: str) -> Int[np.ndarray, " n"]:
    splits = store.column("split")
    rows = np.arange(len(store)) if split == "all" else np.flatnonzero(splits == split)
    if rows.size == 0:
        there = ", ".join(sorted(set(splits.tolist())))
        raise InputError(f"{store.path} has no patches of the split {split}; it has {there}")
    return rows
