"""Tables out of predictions, and out of nothing else.

A row is a method with a number of looks; its metrics are over all its predictions. Beside them stand, where
there are any, the numbers that the paper prints, marked as the paper's.

Methods with a dagger are measured on patches inside the central 1.5x crop of the frame, as in the paper.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import rankdata

from dioptre.evaluate import paper
from dioptre.evaluate.intervals import Interval, metric_intervals
from dioptre.evaluate.metrics import COLUMNS, PROBLEM_ORDER, Metrics, measure
from dioptre.evaluate.page import Cell, Column, Table, tint_best
from dioptre.evaluate.predict import ORACLE
from dioptre.evaluate.trust import Trusted
from dioptre.methods import METHODS
from dioptre.methods.disparity import AT
from dioptre.problem import Problem

FEW = 4  # methods that cannot be ranked
SHARES = 4  # of COLUMNS, of which more is better; of the others less
ALL_LOOKS = 99  # where all slices are seen, when rows are sorted by looks
DAGGER = " †"  # after the title of a method that is measured in the central crop alone
TITLES = {
    Problem.STACK_GREEN: "the whole stack, green",
    Problem.STACK_DUAL_PIXEL: "the whole stack, left and right",
    Problem.SINGLE_DUAL_PIXEL: "from one look, left and right",
    Problem.SINGLE_GREEN: "from one look, green",
}


@dataclass(frozen=True)
class Line:
    """One row of a table.

    Attributes:
        method: Key of the method, or `oracle`.
        title: Its title.
        problem: The problem it solves.
        steps: How many looks it had; 0 for the whole stack.
        ours: Its metrics on these predictions.
        paper: What the paper prints for it, on the paper's data; None if nothing.
        interval: How sure its metrics are, over scenes.
    """

    method: str
    title: str
    problem: Problem
    steps: int
    ours: Metrics
    paper: Metrics | None
    interval: Interval

    def to_json(self) -> dict[str, Any]:
        """Returns the row as plain JSON."""
        return {
            "method": self.method,
            "title": self.title,
            "problem": str(self.problem),
            "steps": self.steps,
            "metrics": asdict(self.ours),
            "interval": asdict(self.interval),
            "paper": None if self.paper is None else asdict(self.paper),
        }


def lines(predictions: pa.Table) -> list[Line]:
    """Returns a row for each method, problem and number of looks, the worst RMSE of a problem first.

    The oracle, the floor that the lens's unknown error sets, is a row of every problem.
    """
    found = []
    for key in _groups(predictions):
        method, problem, steps = key
        mine = predictions.filter(
            pc.and_(
                pc.equal(predictions["method"], method),
                pc.and_(pc.equal(predictions["problem"], problem), pc.equal(predictions["steps"], steps)),
            )
        )
        if _cropped(method):
            mine = mine.filter(mine["in_crop"])
        if len(mine) == 0:
            continue
        predicted, truth = (mine[name].to_numpy().astype(np.int64) for name in ("predicted", "truth"))
        ours = measure(predicted, truth)
        interval = metric_intervals(predicted - truth, mine["scene"].combine_chunks().to_numpy(False))
        theirs = _paper(method, steps)
        found.append(Line(method, _title(method), Problem(problem), steps, ours, theirs, interval))
    floors = [line for line in found if line.method == ORACLE]
    answers = [line for line in found if line.method != ORACLE]
    return sorted(
        [*answers, *_everywhere(floors, {line.problem for line in answers})],
        key=lambda line: (PROBLEM_ORDER.index(line.problem), -line.ours.rmse),
    )


def _groups(predictions: pa.Table) -> list[tuple[str, str, int]]:
    kinds = predictions.select(["method", "problem", "steps"]).group_by(["method", "problem", "steps"])
    return [(row["method"], row["problem"], row["steps"]) for row in kinds.aggregate([]).to_pylist()]


def _everywhere(floors: Sequence[Line], problems: Iterable[Problem]) -> list[Line]:
    return [replace(line, problem=problem, paper=None) for line in floors for problem in problems]


def _title(method: str) -> str:
    if method == ORACLE:
        return "Oracle: all but the lens's error"
    row = METHODS.get(method)
    return (method if row is None else row.title) + (DAGGER if _cropped(method) else "")


def _cropped(method: str) -> bool:
    """Whether a method is measured in the central crop alone, whatever its calibration."""
    return method.partition(AT)[0] in paper.CENTRE_CROP


def _paper(method: str, steps: int) -> Metrics | None:
    if steps > 1:
        return paper.MULTI_STEP.get((method, steps))
    return paper.BIG_TABLE.get(method)


def to_markdown(rows: Sequence[Line], heading: str, note: str) -> str:
    """Returns the tables of all problems as Markdown."""
    parts = [f"# {heading}\n\n{note}\n"]
    for problem in PROBLEM_ORDER:
        mine = [row for row in rows if row.problem is problem]
        if mine:
            parts.append(f"\n## {problem}: {TITLES[problem]}\n\n{_markdown(mine)}")
    if any(row.title.endswith(DAGGER) for row in rows):
        parts.append(f"\n{DAGGER.strip()} on patches inside the central 1.5x crop of the frame.\n")
    return "".join(parts)


def _markdown(rows: Sequence[Line]) -> str:
    head = ["Algorithm", "Key", "Looks", *COLUMNS, "the paper's MAE", "the paper's RMSE"]
    text = [f"| {' | '.join(head)} |", f"| --- | --- |{' ---: |' * (len(head) - 2)}"]
    for row in rows:
        theirs = ["", ""] if row.paper is None else [f"{row.paper.mae:.3f}", f"{row.paper.rmse:.3f}"]
        cells = [
            row.title,
            f"`{row.method}`",
            "all" if row.steps == 0 else str(row.steps),
            *(f"{value:.3f}" for value in row.ours.numbers),
            *theirs,
        ]
        text.append(f"| {' | '.join(cells)} |")
    return "\n".join(text) + "\n"


def rank_correlation(rows: Sequence[Line], problem: Problem) -> float | None:
    """Returns how alike our MAEs and the paper's rank the methods of a problem (Spearman); None for few."""
    pairs = [
        (row.ours.mae, row.paper.mae) for row in rows if row.problem is problem and row.paper is not None
    ]
    if len(pairs) < FEW:
        return None
    ours, theirs = (rankdata(one) for one in zip(*pairs, strict=True))
    return float(np.corrcoef(ours, theirs)[0, 1])


def to_page(rows: Sequence[Line], problem: Problem, note: str) -> Table:
    """Returns the table of one problem for a page: ours and the paper's six numbers, each under its head."""
    mine = [row for row in rows if row.problem is problem]
    tints = [
        tint_best([row.ours.numbers[at] for row in mine], lower_is_better=at >= SHARES)
        for at in range(len(COLUMNS))
    ]
    cells = [
        [
            Cell(row.title),
            Cell(row.method),
            Cell("all" if row.steps == 0 else str(row.steps), float(row.steps or ALL_LOOKS)),
            *(
                Cell(f"{value:.3f}", value, tints[at][number], f"{low:.3f} to {high:.3f}")
                for at, (value, low, high) in enumerate(
                    zip(row.ours.numbers, row.interval.low.numbers, row.interval.high.numbers, strict=True)
                )
            ),
            *(Cell(f"{value:.3f}", value) for value in ([] if row.paper is None else row.paper.numbers)),
            *([Cell("")] * (len(COLUMNS) if row.paper is None else 0)),
        ]
        for number, row in enumerate(mine)
    ]
    agreement = rank_correlation(rows, problem)
    remarks = [f"{DAGGER.strip()} on patches inside the central 1.5x crop of the frame."]
    remarks = remarks if any(row.title.endswith(DAGGER) for row in mine) else []
    if agreement is not None:
        remarks.append(f"Rank correlation of our MAE with the paper's: {agreement:.2f}.")
    columns = [Column("method", number=False), Column("key", number=False), Column("looks")]
    columns += [Column(name, group="ours") for name in COLUMNS]
    columns += [Column(name, group="the paper's, on its own data") for name in COLUMNS]
    return Table(f"{problem}: {TITLES[problem]}", note, columns, cells, remarks)


def trust_to_markdown(judged: Sequence[Trusted]) -> str:
    """Returns what confidence was worth as Markdown; nothing if nobody judged."""
    if not judged:
        return ""
    head = ["Key", "Looks", "focused", "false-confident", "calibration error", "AUROC"]
    text = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    for one in judged:
        entries = one.to_json()
        numbers = [entries[name] for name in ("focused", "false_confident", "calibration_error", "auroc")]
        shown = ["" if number is None else f"{number:.3f}" for number in numbers]
        looks = "all" if one.steps == 0 else str(one.steps)
        text.append(f"| `{one.method}` | {looks} | {' | '.join(shown)} |")
    note = (
        "Confidence is the probability of being at most 1 index off where the picture is sharp (the label, "
        "if that is not known); a false-confident answer is called focused and is more than 4 off."
    )
    return f"\n## Confidence\n\n{note}\n\n" + "\n".join(text) + "\n"


def to_json(rows: Sequence[Line], about: Mapping[str, Any]) -> dict[str, Any]:
    """Returns every number that the tables show, as plain JSON."""
    return {"about": dict(about), "rows": [row.to_json() for row in rows]}
