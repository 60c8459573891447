"""From predictions to tables, figures and one page.

index.html    all of it; opens from disk without a network
tables.md     the tables, for people
tables.json   every number that the tables show
*.png, *.svg  the figures, if matplotlib is there (the extra `figures`)
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dioptre.dataset.manifest import read_manifest, read_parquet, write_file, write_json
from dioptre.errors import FileError, MissingExtraError
from dioptre.evaluate import curves, explained, figures, tables
from dioptre.evaluate.metrics import PROBLEM_ORDER
from dioptre.evaluate.page import Figure as PageFigure
from dioptre.evaluate.page import Table, build_page
from dioptre.evaluate.predict import ORACLE
from dioptre.evaluate.tables import Line
from dioptre.evaluate.trust import Trusted, reliability, risk_coverage, trusted
from dioptre.pipeline.predicting import KIND, PREDICTIONS

if TYPE_CHECKING:
    from dioptre.evaluate.figures import Figure

MARKDOWN, JSON, PAGE = "tables.md", "tables.json", "index.html"
DRAWN = 8  # methods in a figure: the best
MOST_BLUR = 40  # indices out of focus, in the figure of errors by blur
HOW_TO_READ = (
    "Let the pointer rest on a number to see its interval over scenes; press a head to sort. The best three "
    "of a column are tinted."
)
EVERY = 49  # frames of a whole stack

# What each figure shows: its file, its title, and what to see in it.
SHOWN: Mapping[str, tuple[str, str]] = {
    "three_problems": (
        "The three problems",
        "Slices that an algorithm is shown (red), its scores (blue), its choice (orange). Drawn.",
    ),
    "sensors": (
        "Ordinary and dual-pixel sensors",
        "Through the halves of the lens, light of a thing too near arrives on two sides. Drawn.",
    ),
    "saturated_point": (
        "Why contrast misleads",
        "A saturated point: under a disc, as of a real aperture, it has more gradient out of focus.",
    ),
    "error_by_start": ("Error by start", "Mean absolute error by the slice that was seen first."),
    "error_by_blur": (
        "Error by blur",
        "Mean absolute error by how far out of focus the first look was.",
    ),
    "frames": ("Frames against error", "How many frames a method looks at, and how far off it is then."),
    "reliability": (
        "Is confidence true?",
        "How often answers are at most one index off where the picture is sharp, by how sure they were.",
    ),
    "risk_coverage": (
        "What a risk costs",
        "The share of misses among the answers that are accepted, the surest first.",
    ),
}


def report(predictions: Path, out: Path) -> list[Line]:
    """Writes the tables, the figures and the page of a folder of predictions; returns the tables' rows."""
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
    drawn: dict[str, "Figure"] = {}
    with suppress(MissingExtraError):
        drawn = draw(table, rows, judged)
    for name, figure in drawn.items():
        for suffix in ("png", "svg"):
            figures.save(figure, out / f"{name}.{suffix}")
    page = to_page(rows, drawn, describe(manifest), f"dioptre report {predictions.name} {out.name}")
    write_file(out / PAGE, lambda file: file.write(page.encode()))
    return rows


def to_page(rows: Sequence[Line], drawn: Mapping[str, "Figure"], about: str, command: str) -> str:
    """Returns the page: a table for each problem, then the figures."""
    problems = [problem for problem in PROBLEM_ORDER if any(row.problem is problem for row in rows)]
    parts: list[Table | PageFigure] = [
        *(tables.to_page(rows, problem, about) for problem in problems),
        *(PageFigure(*SHOWN[name], command, figures.to_svg(figure)) for name, figure in drawn.items()),
    ]
    return build_page("dioptre: predictions against truth", [about, HOW_TO_READ], parts)


# Figures


def draw(table: pa.Table, rows: Sequence[Line], judged: Sequence[Trusted]) -> dict[str, "Figure"]:
    """Returns all figures that predictions allow, by name."""
    found = {
        "three_problems": explained.three_problems(),
        "sensors": explained.sensors(),
        "saturated_point": explained.saturated_point(),
    }
    few = _few_looks(table, rows)
    if few:
        positions = int(pc.max(table["truth"]).as_py()) + 1
        by_start = {name: (starts, errors) for name, (starts, _, errors) in few.items()}
        by_blur = {name: (starts - sharp, errors) for name, (starts, sharp, errors) in few.items()}
        found["error_by_start"] = curves.error_by_start(by_start, positions)
        found["error_by_blur"] = curves.error_by_blur(by_blur, MOST_BLUR)
        found["frames"] = _frames(rows)
    if judged:
        best = sorted(judged, key=lambda one: float(one.missed.mean()))[:DRAWN]
        named = {f"{one.method}, {one.steps or 'all'} looks": one for one in best}
        diagrams = {name: reliability(one.confidence, one.right) for name, one in named.items()}
        risks = {name: risk_coverage(one.risk, one.missed) for name, one in named.items()}
        found["reliability"] = figures.reliability_diagram(diagrams, "Is confidence true?")
        found["risk_coverage"] = figures.risk_coverage_curves(risks, "Misses among accepted answers")
    return found


def _few_looks(table: pa.Table, rows: Sequence[Line]) -> dict[str, tuple[Any, Any, Any]]:
    """Returns for the best methods with one look the start, the truth and the error of each answer."""
    first = sorted((row for row in rows if row.steps == 1), key=lambda row: row.ours.mae)[:DRAWN]
    found = {}
    for row in first:
        mine = table.filter(pc.and_(pc.equal(table["method"], row.method), pc.equal(table["steps"], 1)))
        start, truth, predicted = (
            mine[name].to_numpy().astype(np.int64) for name in ("start", "truth", "predicted")
        )
        found[row.method] = start, truth.astype(np.float64), (predicted - truth).astype(np.float64)
    return found


def _frames(rows: Sequence[Line]) -> "Figure":
    """Returns the figure of frames against error: the best of each number of looks."""
    best: dict[str, tuple[float, float]] = {}
    for steps in sorted({row.steps for row in rows}):
        mine = [row for row in rows if row.steps == steps and row.method != ORACLE]
        for row in sorted(mine, key=lambda row: row.ours.mae)[:3]:
            best[f"{row.method}, {steps or 'all'}"] = float(steps or EVERY), row.ours.mae
    oracle = next((row.ours.mae for row in rows if row.method == ORACLE), None)
    return curves.frames_against_error(best, oracle)


def describe(manifest: dict[str, Any]) -> str:
    """Returns what the predictions are of, in words."""
    origin = "simulated patches, not real captures" if manifest["simulated"] else "imported patches"
    return (
        f"{manifest['patches']} {origin}, split {manifest['split']}. A method with few looks begins at "
        f"{len(manifest['starts'])} positions. Errors are in indices. The last two columns are the paper's "
        "numbers, on the paper's data."
    )
