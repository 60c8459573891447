"""From predictions to tables and figures.

tables.md           for people
tables.json         every number that the tables show
reliability.png     is confidence true? (with the extra `figures`)
risk_coverage.png   how many misses there are among the answers that a risk accepts (likewise)
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dioptre.dataset.manifest import read_manifest, read_parquet, write_file, write_json
from dioptre.errors import FileError, MissingExtraError
from dioptre.evaluate import figures, tables
from dioptre.evaluate.tables import Line
from dioptre.evaluate.trust import Trusted, reliability, risk_coverage, trusted
from dioptre.pipeline.predicting import KIND, PREDICTIONS

MARKDOWN, JSON = "tables.md", "tables.json"
RELIABILITY, RISK_COVERAGE = "reliability.png", "risk_coverage.png"
DRAWN = 10  # methods in a figure: those that miss least


def report(predictions: Path, out: Path) -> list[Line]:
    """Writes the tables of a folder of predictions and returns their rows."""
    manifest = read_manifest(predictions, "a folder of predictions")
    if manifest.get("kind") != KIND:
        raise FileError(f"{predictions} holds {manifest.get('kind', 'something else')}, not {KIND}")
    table = read_parquet(predictions / PREDICTIONS)
    rows, judged = tables.lines(table), trusted(table)
    out.mkdir(parents=True, exist_ok=True)
    text = tables.to_markdown(rows, "Predictions against truth", describe(manifest))
    text += tables.trust_to_markdown(judged)
    write_file(out / MARKDOWN, lambda file: file.write(text.encode()))
    about = {name: manifest[name] for name in ("data", "simulated", "split", "patches", "starts")}
    write_json(out / JSON, {**tables.to_json(rows, about), "trust": [one.to_json() for one in judged]})
    if judged:
        with suppress(MissingExtraError):
            draw(judged, out)
    return rows


def draw(judged: Sequence[Trusted], out: Path) -> None:
    """Draws the figures of the methods that miss least into a folder."""
    best = sorted(judged, key=lambda one: float(one.missed.mean()))[:DRAWN]
    named = {f"{one.method}, {one.steps or 'all'} looks": one for one in best}
    diagrams = {name: reliability(one.confidence, one.right) for name, one in named.items()}
    curves = {name: risk_coverage(one.risk, one.missed) for name, one in named.items()}
    figures.save(figures.reliability_diagram(diagrams, "Is confidence true?"), out / RELIABILITY)
    figures.save(figures.risk_coverage_curves(curves, "Misses among accepted answers"), out / RISK_COVERAGE)


def describe(manifest: dict[str, Any]) -> str:
    """Returns what the predictions are of, in words."""
    origin = "simulated patches, not real captures" if manifest["simulated"] else "imported patches"
    return (
        f"{manifest['patches']} {origin}, split {manifest['split']}. A method with few looks begins at "
        f"{len(manifest['starts'])} positions. Errors are in indices. The last two columns are the paper's "
        "numbers, on the paper's data."
    )
