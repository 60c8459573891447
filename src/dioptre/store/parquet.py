"""Tables in Parquet files. The only door to pyarrow, which the extra `data` brings.

The hash of a whole store is the SHA-256 of lines, each UTF-8 with a newline: those that its kind of store
lists, then each row of patches.parquet as a JSON object. JSON has sorted keys and no spaces, so that this
hash does not depend on pyarrow.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from dioptre.errors import FileError, MissingExtraError
from dioptre.resources import refuse_larger
from dioptre.store.manifest import TABLE, canonical, clear_leftovers, write_file, write_manifest

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ImportError:
    raise MissingExtraError(
        "tables of patches and predictions need pyarrow: pip install 'dioptre[data]'"
    ) from None

__all__ = [
    "check_table",
    "column_names",
    "finish_folder",
    "hash_store",
    "iterate_parquet",
    "join_parquet",
    "pa",
    "pc",
    "read_parquet",
    "write_parquet",
]

FIXED: Mapping[str, Any] = {  # settings of Parquet files
    "version": "2.6",
    "compression": "zstd",
    "compression_level": 3,
    "use_dictionary": True,
    "data_page_version": "1.0",
}


def finish_folder(folder: Path, table: pa.Table, manifest: Mapping[str, Any]) -> None:
    """Writes the table of all rows, then the manifest, which contains the plan."""
    clear_leftovers(folder)
    write_file(folder / TABLE, lambda file: write_parquet(table, file))
    write_manifest(folder, manifest)


def hash_store(lines: Iterable[str], table: pa.Table) -> str:
    """Returns the SHA-256 of a whole store, as the head of this module describes it."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode())
    for row in table.to_pylist():
        digest.update(f"{canonical(row, allow_nan=True)}\n".encode())
    return digest.hexdigest()


def write_parquet(table: pa.Table, file: BinaryIO) -> None:
    """Writes a table with settings that are all fixed, so that the same rows give the same bytes."""
    join_parquet([table], table.schema, file)


def join_parquet(tables: Iterable[pa.Table], schema: pa.Schema, file: BinaryIO) -> int:
    """Writes tables one after the other into one, of which one at a time is in memory; returns its rows."""
    rows = 0
    with pq.ParquetWriter(file, schema, **FIXED) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=1 << 16)
            rows += len(table)
    return rows


def read_parquet(path: Path) -> pa.Table:
    """Returns a table without starting pyarrow's threads, which a later fork would lose."""
    try:
        with pq.ParquetFile(path) as file:
            refuse_larger(path, _table_bytes(file.metadata))
            return file.read(use_threads=False)
    except FileError:
        raise
    except (OSError, MemoryError, OverflowError, ValueError, TypeError, pa.ArrowException) as error:
        raise FileError(f"{path} cannot be read: {(str(error) or repr(error)).splitlines()[0]}") from None


def _table_bytes(metadata: pq.FileMetaData) -> int:
    """Returns the least size of a table in bytes, as its file tells: a value has one or more."""
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    stored = sum(group.total_byte_size for group in groups)
    return max(stored, metadata.num_rows * metadata.num_columns)


def column_names(path: Path) -> list[str]:
    """Returns the names of a table's columns."""
    try:
        return list(pq.read_schema(path).names)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise FileError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None


def iterate_parquet(path: Path, columns: Iterable[str]) -> Iterator[pa.Table]:
    """Yields some columns of a table, some rows at a time, so that it need not fit into memory."""
    names = list(columns)
    try:
        with pq.ParquetFile(path) as file:
            missing = sorted(set(names) - set(file.schema_arrow.names))
            if missing:
                have = ", ".join(file.schema_arrow.names)
                raise FileError(f"{path} has no column {missing[0]}; it has {have}")
            for batch in file.iter_batches(1 << 16, columns=names, use_threads=False):
                yield pa.Table.from_batches([batch])
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise FileError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None


def check_table(path: Path, table: pa.Table, schema: pa.Schema) -> None:
    """Raises FileError if a table lacks a column of a schema, or has another type or nothing in one.

    Whole numbers of another width will do. A column that the schema lets be null may be.
    """
    for wanted in schema:
        if wanted.name not in table.column_names:
            raise FileError(f"{path} has no column {wanted.name}; it has {', '.join(table.column_names)}")
        found = table.schema.field(wanted.name).type
        if not _alike(found, wanted.type):
            raise FileError(f"{path}: the column {wanted.name} holds {found}, not {wanted.type}")
        if not wanted.nullable and table.column(wanted.name).null_count:
            raise FileError(f"{path}: the column {wanted.name} is empty in some rows")


def _alike(found: pa.DataType, wanted: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, _is_text)
    return found == wanted or any(kind(found) and kind(wanted) for kind in kinds)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
