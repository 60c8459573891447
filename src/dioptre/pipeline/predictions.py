"""A folder of predictions as it is read: its manifest and its table, checked."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dioptre.dataset.manifest import MANIFEST, read_manifest, read_parquet
from dioptre.dataset.schema import PREDICTIONS as SCHEMA_OF_MANIFEST
from dioptre.dataset.schema import check_table
from dioptre.errors import FileError
from dioptre.evaluate.predict import JUDGED, SCHEMA
from dioptre.pipeline.predicting import KIND, PREDICTIONS
from dioptre.problem import Problem

WHAT = "a folder of predictions"
MAY_BE_NULL = ("sharp", *JUDGED)


def read_predictions(folder: Path) -> tuple[dict[str, Any], pa.Table]:
    """Returns what the manifest of a finished folder of predictions says, and its table.

    Raises:
        FileError: If it is not finished, or holds something else, or a column is missing or impossible.
    """
    manifest = read_predictions_manifest(folder)
    path = folder / PREDICTIONS
    table = read_parquet(path)
    wanted = [field.with_nullable(field.name in MAY_BE_NULL) for field in SCHEMA]
    check_table(path, table, pa.schema(wanted))
    _check_values(path, table)
    if "rows" in manifest and len(table) != manifest["rows"]:
        raise FileError(f"{path} has {len(table)} rows, but the manifest says {manifest['rows']}")
    return manifest, table


def read_predictions_manifest(folder: Path) -> dict[str, Any]:
    """Returns the manifest of a finished folder of predictions, checked."""
    manifest = read_manifest(folder, WHAT)
    if manifest.get("kind") != KIND:
        raise FileError(f"{folder} holds {manifest.get('kind', 'something else')}, not {KIND}")
    SCHEMA_OF_MANIFEST.check(folder / MANIFEST, manifest)
    return manifest


def _check_values(path: Path, table: pa.Table) -> None:
    """Raises FileError for an unknown problem, a position below 0 or a probability that is none."""
    if len(table) == 0:
        raise FileError(f"{path} has no rows")
    known = [str(problem) for problem in Problem]
    for problem in pc.unique(table["problem"]).to_pylist():
        if problem not in known:
            raise FileError(f"{path} has the unknown problem {problem!r}, not one of {', '.join(known)}")
    for name in ("steps", "predicted", "truth"):
        if (least := pc.min(table[name]).as_py()) < 0:
            raise FileError(f"{path}: {name} is 0 or more, not {least}")
    for name in JUDGED:
        numbers = table[name].drop_null().to_numpy()
        if not np.isfinite(numbers).all():
            raise FileError(f"{path}: {name} is a finite number, not {numbers[~np.isfinite(numbers)][0]}")
