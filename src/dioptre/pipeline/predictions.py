"""A folder of predictions as it is read: its manifest and its table, checked.

Predictions of earlier versions do not tell how far an answer is from what is sharp: there the label counts.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dioptre.errors import FileError
from dioptre.evaluate.predict import JUDGED, SCHEMA, SHARP_DISTANCE
from dioptre.pipeline.predicting import KIND, PREDICTIONS
from dioptre.problem import Problem
from dioptre.store.manifest import MANIFEST, read_manifest
from dioptre.store.parquet import check_table, column_names, iterate_parquet, pa, pc
from dioptre.store.schema import PREDICTIONS as SCHEMA_OF_MANIFEST

LABELLED = ("predicted", "truth")
WHAT = "a folder of predictions"
MAY_BE_NULL = (SHARP_DISTANCE, *JUDGED)


def check_predictions(folder: Path) -> None:
    """Reads all predictions of a folder, a part at a time.

    Raises:
        FileError: If it is not finished, or holds something else, or a column is missing or impossible.
    """
    manifest = read_predictions_manifest(folder)
    found = sum(len(table) for table in iterate_predictions(folder, SCHEMA.names))
    if found != manifest.get("rows", found) or not found:
        raise FileError(f"{folder / PREDICTIONS} has {found} rows, not {manifest.get('rows', 'some')}")


def iterate_predictions(folder: Path, columns: Iterable[str]) -> Iterator[pa.Table]:
    """Yields some columns of the predictions of a folder, some rows at a time, checked.

    Raises:
        FileError: If a column is missing or impossible.
    """
    path = folder / PREDICTIONS
    fields = [SCHEMA.field(name).with_nullable(name in MAY_BE_NULL) for name in columns]
    names = [field.name for field in fields]
    older = SHARP_DISTANCE in names and SHARP_DISTANCE not in column_names(path)
    read = {*names, *LABELLED} - {SHARP_DISTANCE} if older else names
    for stored in iterate_parquet(path, read):
        table = _with_label_distance(stored).select(names) if older else stored
        check_table(path, table, pa.schema(fields))
        try:
            _check_values(path, table)
        except UnicodeDecodeError as error:
            raise FileError(f"{path} holds text that is no UTF-8: {error}") from None
        yield table


def _with_label_distance(table: pa.Table) -> pa.Table:
    """Returns predictions with the distance of each answer from its label."""
    predicted, truth = (table[name].cast(pa.float32()) for name in LABELLED)
    return table.append_column(SHARP_DISTANCE, pc.abs(pc.subtract(predicted, truth)))


def read_predictions_manifest(folder: Path) -> dict[str, Any]:
    """Returns the manifest of a finished folder of predictions, checked."""
    manifest = read_manifest(folder, WHAT)
    if manifest.get("kind") != KIND:
        raise FileError(f"{folder} holds {manifest.get('kind', 'something else')}, not {KIND}")
    SCHEMA_OF_MANIFEST.check(folder / MANIFEST, manifest)
    return manifest


def _check_values(path: Path, table: pa.Table) -> None:
    """Raises FileError for an unknown problem, a position below 0 or a probability that is none."""
    known = [str(problem) for problem in Problem]
    for problem in pc.unique(table["problem"]).to_pylist() if "problem" in table.column_names else ():
        if problem not in known:
            raise FileError(f"{path} has the unknown problem {problem!r}, not one of {', '.join(known)}")
    for name in {"steps", "predicted", "truth", SHARP_DISTANCE} & set(table.column_names):
        least = pc.min(table[name]).as_py()
        if least is not None and least < 0:
            raise FileError(f"{path}: {name} is 0 or more, not {least}")
    for name in {SHARP_DISTANCE, *JUDGED} & set(table.column_names):
        numbers = table[name].drop_null().to_numpy()
        if not np.isfinite(numbers).all():
            raise FileError(f"{path}: {name} is a finite number, not {numbers[~np.isfinite(numbers)][0]}")
