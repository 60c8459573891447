"""From predictions to the paper's tables and figures, and one page with all of them.

index.html             all of it; opens from disk without a network
tables.md              the tables, for people
tables.json            every number that the tables show
table-1.csv, .tex ...  each table by itself
figures/*.png, *.svg   the figures, if matplotlib is there (the extra `figures`)
manifest.json          what was written, last

Predictions and the examples beside them are all that is read, in one pass; memory does not grow with them.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from dioptre.errors import InputError, MissingExtraError
from dioptre.evaluate import figures, formats
from dioptre.evaluate.aggregate import READ, tally
from dioptre.evaluate.examples import ExampleSet, read_gallery
from dioptre.evaluate.page import Figure as PageFigure
from dioptre.evaluate.page import Table, build_page
from dioptre.evaluate.predict import ORACLE
from dioptre.evaluate.provenance import Provenance, Role, origin_from_json
from dioptre.evaluate.tables import Counted, PaperTable, paper_tables, short_key
from dioptre.pipeline.output_files import write_all
from dioptre.pipeline.predicting import EXAMPLES
from dioptre.pipeline.predictions import iterate_predictions, read_predictions_manifest
from dioptre.pipeline.report_figures import Illustration, Predicted, illustrate
from dioptre.store.parquet import pa, pc

KIND: Final = "report"
MARKDOWN, JSON, PAGE = "tables.md", "tables.json", "index.html"
FIGURES: Final = "figures"
HOW_TO_READ: Final = (
    "Let the pointer rest on a number to see its interval: 95 % over draws of scenes. Press a head to sort. "
    "The best three of a column are tinted, methods with one look together. Behind the best is how much "
    "larger a method's MAE is than that of the best of its group, on the answers of both, and p how likely "
    "so large a difference is if there were none; with fewer than five scenes nobody can tell. The oracle "
    "knows all but the lens's error."
)


def report(
    predictions: Sequence[Path], out: Path, overwrite: bool = False, further: Iterable[Illustration] = ()
) -> list[PaperTable]:
    """Writes the tables, the figures and the page of some folders of predictions; returns the tables.

    Args:
        predictions: Folders that `predict_store` wrote, of different data.
        out: The folder to write.
        overwrite: Whether files that a report did not write may be overwritten.
        further: Figures of other things, which stand first.

    Raises:
        FileError: If a folder does not hold predictions, or a file must not be overwritten.
        InputError: If two are of different data for the same tables, or of different grids.
    """
    folders = [_open(folder) for folder in predictions]
    _check_ladders(folders)
    sets = {role: _count(some) for role, some in _by_role(folders).items()}
    tables = paper_tables({role: one.counted for role, one in sets.items()})
    if not tables:
        raise InputError(f"{predictions[0]} holds no predictions to report")
    drawn = list(further)
    with suppress(MissingExtraError):
        drawn += illustrate(sets, tables)
    command = shlex.join(["dioptre", "report", *(folder.path.name for folder in folders), KIND])
    files = _files(sets, tables, drawn, command)
    about = {"predictions": [folder.origin.to_json() for folder in folders]}
    write_all(out, KIND, files, about, overwrite)
    return tables


# Reading


@dataclass(frozen=True)
class _Folder:
    """A folder of predictions."""

    path: Path
    origin: Provenance
    methods: frozenset[str]


def _open(path: Path) -> _Folder:
    manifest = read_predictions_manifest(path)
    origin = origin_from_json(manifest, path)
    if not origin.positions:
        origin = _looked_up(path, origin)
    return _Folder(path, origin, frozenset(manifest.get("methods", {})))


def _looked_up(folder: Path, origin: Provenance) -> Provenance:
    """Returns the origin of predictions that do not tell it, as far as their rows do."""
    positions, devices = 0, set()
    for table in iterate_predictions(folder, ["truth", "predicted", "start", "device"]):
        most = max((pc.max(table[name]).as_py() or 0) for name in ("truth", "predicted", "start"))
        positions = max(positions, most + 1)
        devices |= set(pc.unique(table["device"]).to_pylist())
    return replace(origin, positions=positions, device="+".join(sorted(devices - {"", None})))


def _check_ladders(folders: Sequence[_Folder]) -> None:
    first = folders[0]
    for folder in folders[1:]:
        ladders = {one.origin.ladder for one in (first, folder)} - {""}
        if folder.origin.positions != first.origin.positions or len(ladders) > 1:
            raise InputError(
                f"{first.path} and {folder.path} are predictions of different grids, of "
                f"{first.origin.positions} and {folder.origin.positions} positions: a report has one"
            )


def _by_role(folders: Sequence[_Folder]) -> dict[Role, list[_Folder]]:
    """Returns the folders of each role; several if they are other methods on the same data."""
    found: dict[Role, list[_Folder]] = {}
    for folder in folders:
        for other in found.get(folder.origin.role, []):
            if folder.origin != other.origin:
                raise InputError(
                    f"{other.path} and {folder.path} are both of the data “{folder.origin.role}”, but not of "
                    "the same patches and starts: a report has one of each"
                )
            twice = sorted(folder.methods & other.methods)
            if twice:
                raise InputError(f"{other.path} and {folder.path} both hold the predictions of {twice[0]}")
        found.setdefault(folder.origin.role, []).append(folder)
    return found


def _count(folders: Sequence[_Folder]) -> Predicted:
    """Returns the predictions of one data set, counted; the oracle's are those of the first folder."""
    galleries = [
        one for one in (read_gallery(folder.path / EXAMPLES) for folder in folders) if one is not None
    ]
    gallery: ExampleSet | None = galleries[0] if galleries else None
    batches = chain.from_iterable(_batches(folder, at == 0) for at, folder in enumerate(folders))
    origin = folders[0].origin
    examples = [] if gallery is None else gallery.patch.tolist()
    return Predicted(
        Counted(origin, tally(batches, origin.positions, examples, origin.steps_per_index)), gallery
    )


def _batches(folder: _Folder, with_oracle: bool) -> Iterator[pa.Table]:
    for table in iterate_predictions(folder.path, READ):
        yield table if with_oracle else table.filter(pc.not_equal(table["method"], ORACLE))


# Writing


def _files(
    sets: Mapping[Role, Predicted], tables: Sequence[PaperTable], drawn: Sequence[Illustration], command: str
) -> dict[str, bytes]:
    """Returns all files of a report."""
    first = next(iter(sets.values())) if Role.CENTRE not in sets else sets[Role.CENTRE]
    trust = dict(sorted(first.counted.tally.trust.items()))
    entries: dict[str, Any] = {
        "data": {role.value: one.counted.origin.to_json() for role, one in sets.items()},
        "tables": [table.to_json() for table in tables],
        "trust": [
            {"method": short_key(key), "steps": steps, **one.to_json()} for (key, steps), one in trust.items()
        ],
    }
    text = json.dumps(entries, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    files = {JSON: f"{text}\n", MARKDOWN: formats.to_markdown(tables, trust)}
    for table in tables:
        files[f"table-{table.number}.csv"] = formats.to_csv(table)
        files[f"table-{table.number}.tex"] = formats.to_latex(table)
    pictures: dict[str, bytes] = {}
    shown: list[PageFigure] = []
    for one in drawn:
        svg = figures.to_bytes(one.figure, "svg")
        pictures[f"{FIGURES}/{one.name}.svg"] = svg
        pictures[f"{FIGURES}/{one.name}.png"] = figures.to_bytes(one.figure, "png")
        inside = figures.to_bytes(one.figure, "jpeg") if one.photographic else svg.decode()
        shown.append(PageFigure(one.title, one.text, command, inside))
    further = []
    if trust:
        further = [
            formats.trust_to_page("Confidence", formats.TRUST_NOTE, *formats.trust_rows(trust)),
            formats.trust_to_page("Risk", formats.RISK_NOTE, *formats.risk_rows(trust)),
        ]
    parts: list[Table | PageFigure] = [*(formats.to_page(table) for table in tables), *further, *shown]
    about = [f"Confidence and figures are of the data of Table 1. {HOW_TO_READ}"]
    files[PAGE] = build_page("dioptre: predictions against truth", about, parts)
    return {name: content.encode() for name, content in files.items()} | pictures
