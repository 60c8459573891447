"""From predictions to tables.

tables.md     for people
tables.json   every number that the tables show
"""

from pathlib import Path
from typing import Any

from dioptre.dataset.manifest import read_manifest, read_parquet, write_file, write_json
from dioptre.errors import FileError
from dioptre.evaluate import tables
from dioptre.evaluate.tables import Line
from dioptre.pipeline.predicting import KIND, PREDICTIONS

MARKDOWN, JSON = "tables.md", "tables.json"


def report(predictions: Path, out: Path) -> list[Line]:
    """Writes the tables of a folder of predictions and returns their rows."""
    manifest = read_manifest(predictions, "a folder of predictions")
    if manifest.get("kind") != KIND:
        raise FileError(f"{predictions} holds {manifest.get('kind', 'something else')}, not {KIND}")
    rows = tables.lines(read_parquet(predictions / PREDICTIONS))
    out.mkdir(parents=True, exist_ok=True)
    text = tables.to_markdown(rows, "Predictions against truth", describe(manifest))
    write_file(out / MARKDOWN, lambda file: file.write(text.encode()))
    about = {name: manifest[name] for name in ("data", "simulated", "split", "patches", "starts")}
    write_json(out / JSON, tables.to_json(rows, about))
    return rows


def describe(manifest: dict[str, Any]) -> str:
    """Returns what the predictions are of, in words."""
    origin = "simulated patches, not real captures" if manifest["simulated"] else "imported patches"
    return (
        f"{manifest['patches']} {origin}, split {manifest['split']}. A method with few looks begins at "
        f"{len(manifest['starts'])} positions. Errors are in indices. The last two columns are the paper's "
        "numbers, on the paper's data."
    )
