"""From patches to predictions: every method on every patch, from every start, and nothing measured yet.

parts/00000.parquet   the predictions for some patches
predictions.parquet   all of them
manifest.json         written last
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from dioptre.dataset.manifest import (
    begin_folder,
    finish_folder,
    hash_file,
    read_parquet,
    write_file,
    write_parquet,
)
from dioptre.dataset.store import PatchStore, StoreFormat, open_patches
from dioptre.errors import InputError
from dioptre.evaluate.predict import floor, predict
from dioptre.methods import METHODS, Method, find_method
from dioptre.methods.learned import Learned

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
    """

    methods: tuple[str, ...] = ()
    split: str = "test"
    starts: int = 0


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
    starts = spread(len(store.format.grid), prediction.starts)
    plan = {
        "kind": KIND,
        "data": store.manifest["sha256"],
        "simulated": floor(store, rows[:1]) is not None,
        "methods": list(keys),
        "networks": _networks(keys),
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
            found = predict(store, some, keys, starts)
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
        InputError: If a method that was asked for does not exist, or needs what the store has not.
    """
    form = store.format
    if not wanted:
        return tuple(key for key, row in METHODS.items() if row.views <= form.views and _knows(row, form))
    for key in wanted:
        if find_method(key).views > form.views:
            raise InputError(f"{key} needs the left and the right view, but {store.path} has only green")
    return tuple(wanted)


def _networks(keys: Sequence[str]) -> dict[str, str]:
    """Returns the hash of each network among methods: another file of the same name is another method."""
    built = {key: find_method(key).build() for key in keys}
    return {key: hash_file(one.path) for key, one in built.items() if isinstance(one, Learned)}


def _knows(row: Method, form: StoreFormat) -> bool:
    """Returns whether a method can see patches of this ladder and size: a network must have been told."""
    focuser = row.build()
    return not isinstance(focuser, Learned) or focuser.knows(form.grid, (form.size, form.size))


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
