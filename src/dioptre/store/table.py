"""Rows of patches, checked, and the tables they become.

A row is a mapping from column to text, number, bool or a list of numbers. Every store has the columns of
REQUIRED; others may follow, the same for all patches of a store. Those of LISTS, which simulated stores have,
are lists wherever they are.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dioptre.errors import FileError, InputError
from dioptre.store.parquet import pa, pc

SPLITS = ("train", "validation", "test")
REQUIRED: dict[str, type] = {
    "scene": str,
    "capture": str,
    "split": str,
    "row": int,
    "col": int,
    "truth": int,
    "where_x": float,
    "where_y": float,
}
LISTS = ("sharp_at", "sharp_share")
ARROW_TYPES = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    list: pa.list_(pa.float64()),
}

Row = Mapping[str, object]
Columns = dict[str, list[Any]]


def rows_to_table(rows: Sequence[Row], positions: int) -> pa.Table:
    """Returns the checked rows as a table: the required columns first, then the others as they come.

    Args:
        rows: For each patch the columns of REQUIRED (truth is a position of the grid; row and col are its
            corner in the frame in pixels; where_x and where_y its centre, in [-1, 1]) and any further ones.
            Without any patch the table has the required columns only.
        positions: How many positions the grid has.

    Raises:
        InputError: If a row does not belong in a store, or not to the others.
    """
    if not rows:
        return pa.table({name: pa.array([], ARROW_TYPES[kind]) for name, kind in REQUIRED.items()})
    columns = _rows_to_columns(rows)
    arrays = {name: pa.array(values, _arrow_type(name, values)) for name, values in columns.items()}
    for name, kind in REQUIRED.items():
        if arrays[name].type != ARROW_TYPES[kind]:
            raise InputError(f"the column {name} holds {kind.__name__}, not {arrays[name].type}")
    _check_each(columns, "split", lambda value: value in SPLITS, f"one of {', '.join(SPLITS)}")
    _check_each(columns, "truth", lambda value: 0 <= value < positions, f"in 0..{positions - 1}")
    for name in ("where_x", "where_y"):
        _check_each(columns, name, lambda value: -1 <= value <= 1, "in [-1, 1]")
    return pa.table(arrays)


def check_columns(path: Path, table: pa.Table) -> None:
    """Raises FileError if a table that was read lacks a required column, or has another type in it."""
    for name, kind in REQUIRED.items():
        if name not in table.column_names:
            raise FileError(f"{path} has no column {name}; it has {', '.join(table.column_names)}")
        found = table.schema.field(name).type
        if found != ARROW_TYPES[kind] or table.column(name).null_count:
            raise FileError(f"{path}: the column {name} holds {kind.__name__} for each patch, not {found}")
    for name in set(LISTS) & set(table.column_names):
        column = table.column(name)
        if not _is_list_of_numbers(column.type) or column.null_count or pc.list_flatten(column).null_count:
            raise FileError(f"{path}: the column {name} holds a list of numbers for each patch")


def check_values(path: Path, table: pa.Table, positions: int) -> None:
    """Raises FileError if a table that was read has a truth or a place in the frame that cannot be."""
    for name, low, high in (("truth", 0, positions - 1), ("where_x", -1.0, 1.0), ("where_y", -1.0, 1.0)):
        values = table.column(name).to_numpy()
        outside = ~((values >= low) & (values <= high))  # also for NaN
        if outside.any():
            raise FileError(f"{path}: the {name} of a patch is in {low}..{high}, not {values[outside][0]}")
    for name in set(LISTS) & set(table.column_names):
        values = pc.list_flatten(table.column(name)).to_numpy()
        if not np.isfinite(values).all():
            raise FileError(f"{path}: {name} holds finite numbers, not {values[~np.isfinite(values)][0]}")


def _is_list_of_numbers(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) and pa.types.is_floating(kind.value_type)


def _rows_to_columns(rows: Sequence[Row]) -> Columns:
    names = dict.fromkeys([*REQUIRED, *rows[0]])  # in this order
    for row in rows:
        odd = names.keys() ^ row.keys()
        if odd:
            name = sorted(odd)[0]
            raise InputError(f"all rows of a store have the same columns, but {name} is not in all of them")
    return {name: [_plain(row[name]) for row in rows] for name in names}


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def _arrow_type(name: str, values: list[Any]) -> pa.DataType:
    """Returns the type of a column; whole numbers among others become floats."""
    kinds = {type(value) for value in values}
    if kinds == {int, float} or (kinds == {int} and REQUIRED.get(name) is float):
        return ARROW_TYPES[float]
    if kinds == {list} and not {type(one) for value in values for one in value} <= {int, float}:
        raise InputError(f"the column {name} holds lists of numbers, not {values[0]!r}")
    if len(kinds) != 1 or not kinds <= ARROW_TYPES.keys():
        found = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(f"the column {name} holds text, whole numbers, numbers, bool or lists, not {found}")
    return ARROW_TYPES[kinds.pop()]


def _check_each(columns: Columns, name: str, holds: Callable[[Any], bool], expected: str) -> None:
    for value in columns[name]:
        if not holds(value):
            raise InputError(f"the {name} of a patch is {expected}, not {value!r}")


def join_tables(parts: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    """Returns the rows of all tables; a column that is whole numbers in some and not in others is float.

    Args:
        parts: What the tables belong to, for errors: "shards".
        tables: The table of each part, at least one.

    Raises:
        FileError: If their columns differ.
    """
    first, names = next((part, table.column_names) for part, table in tables.items())
    for part, table in tables.items():
        odd = set(names) ^ set(table.column_names)
        if odd:
            raise FileError(
                f"{parts} {first} and {part} have different columns: {sorted(odd)[0]} is in one only"
            )
    plain = [table.select(names).replace_schema_metadata(None) for table in tables.values()]
    try:
        return pa.concat_tables(plain, promote_options="permissive").combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise FileError(f"the {parts}' columns do not fit together: {str(error).splitlines()[0]}") from None
