"""The paper's tables and what confidence was worth as text: Markdown, CSV, LaTeX, and tables of the page."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

from dioptre.evaluate.calibration_metrics import RISKS, ConfidenceCounts
from dioptre.evaluate.metrics import COLUMNS, Metrics
from dioptre.evaluate.page import TINTS, Body, Cell, Column, Table
from dioptre.evaluate.tables import DAGGER, DAGGER_NOTE, Group, PaperTable, TableLine, short_key

ALL_LOOKS = 99  # where all slices are seen, when rows are sorted by looks
PAPERS = "the paper's, on its own data"
NAMES = ("exact", "within_1", "within_2", "within_4", "mae", "rmse")
LATEX_TINTS = ("", r"\cellcolor{red!40}", r"\cellcolor{orange!40}", r"\cellcolor{yellow!50}")
LATEX_SPECIAL = {"≤": r"$\leq$", "†": r"$^\dagger$", "σ": r"$\sigma$", "ℓ": r"$\ell$", "ε": r"$\epsilon$"}
TRUST_NOTE = (
    "Confidence is the probability that the answer is sharp: at most 2 steps (of 0.6 px of blur, on the "
    "published grid 1 index each) from a depth that covers a tenth of the patch; where depths are not known, "
    "from the label. A miss is more than 4 steps from every such depth; a false-confident answer is called "
    "focused and is a miss. Only what is focused counts as answered, uncertain answers do not. Calibration "
    "error and AUROC are those of the confidence of all answers."
)
RISK_NOTE = (
    "What a risk costs: for each risk of a miss that is accepted, the share of answers that are then called "
    "focused, and in brackets the share of misses (more than 4 steps from every depth that covers a tenth of "
    "the patch) among those."
)

Trusts = Mapping[tuple[str, int], ConfidenceCounts]


# Markdown


def to_markdown(tables: Sequence[PaperTable], trust: Trusts) -> str:
    """Returns all tables as Markdown."""
    parts = ["# Predictions against truth\n"]
    for table in tables:
        parts.append(f"\n## Table {table.number}: {table.title}\n\n{table.about}\n")
        parts += [_markdown(group) for group in table.groups]
        parts += [f"\n{DAGGER_NOTE}\n"] if _has_dagger(table) else []
    return "".join([*parts, _trust_to_markdown(trust)])


def _markdown(group: Group) -> str:
    head = ["Algorithm", "Key", "Looks", *COLUMNS, "behind the best (MAE), p"]
    head += [f"the paper's {name}" for name in COLUMNS]
    rows = [
        [
            line.title,
            f"`{line.key}`",
            line.looks,
            *_three(line.ours),
            describe_behind(line),
            *(_three(line.paper) if line.paper else [""] * len(COLUMNS)),
        ]
        for line in group.lines
    ]
    told = ""
    if group.agreement is not None:
        told = f"\nRank correlation of our MAE with the paper's: {group.agreement:.2f}.\n"
    return f"\n### {group.title}\n\n{_pipes(head, rows, 2)}{told}"


def _pipes(head: Sequence[str], rows: Iterable[Sequence[str]], words: int) -> str:
    text = [f"| {' | '.join(head)} |", f"|{' --- |' * words}{' ---: |' * (len(head) - words)}"]
    return "\n".join([*text, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def _trust_to_markdown(trust: Trusts) -> str:
    """Returns the tables of confidence and risk as Markdown; an empty text without verdicts."""
    if not trust:
        return ""
    columns, rows = trust_rows(trust)
    risks, priced = risk_rows(trust)
    return (
        f"\n## Confidence\n\n{TRUST_NOTE}\n\n{_pipes(columns, rows, 1)}"
        f"\n## Risk\n\n{RISK_NOTE}\n\n{_pipes(risks, priced, 1)}"
    )


def trust_rows(trust: Trusts) -> tuple[list[str], list[list[str]]]:
    """Returns the heads and the rows of what confidence was worth."""
    names = {
        "focused": "focused", "false_confident": "false-confident", "calibration_error": "calibration error",
        "auroc": "AUROC",
    }  # fmt: skip
    rows = []
    for (method, steps), one in trust.items():
        entries = one.to_json()
        shown = ["" if entries[name] is None else f"{entries[name]:.3f}" for name in names]
        rows.append([short_key(method), str(steps or "all"), *shown])
    return ["key", "looks", *names.values()], rows


def risk_rows(trust: Trusts) -> tuple[list[str], list[list[str]]]:
    """Returns the heads and the rows of what each risk costs."""
    rows = []
    for (method, steps), one in trust.items():
        prices = [one.at_risk(risk) for risk in RISKS]
        shown = [f"{accepted:.2f} ({missed:.3f})" if accepted else "0" for accepted, missed in prices]
        rows.append([short_key(method), str(steps or "all"), *shown])
    return ["key", "looks", *(f"risk {risk:g}" for risk in RISKS)], rows


# CSV and LaTeX


def to_csv(table: PaperTable) -> str:
    """Returns a table as CSV: every number with its interval, and the paper's."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    ends = [f"{name}{end}" for name in NAMES for end in ("", "_low", "_high")]
    behind = ["behind_mae", "behind_low", "behind_high", "behind_p"]
    papers = [f"paper_{name}" for name in NAMES]
    writer.writerow(["group", "title", "method", "problem", "steps", "answers", *ends, *behind, *papers])
    for group in table.groups:
        for line in group.lines:
            writer.writerow(
                [group.title, line.title, line.key, line.problem, line.steps, *_csv_numbers(line)]
            )
    return file.getvalue()


def _csv_numbers(line: TableLine) -> list[object]:
    low, high = line.interval.low.numbers, line.interval.high.numbers
    three = [number for each in zip(line.ours.numbers, low, high, strict=True) for number in each]
    one = line.behind
    behind = [""] * 4 if one is None else [one.difference, one.low, one.high, one.p]
    papers = [""] * len(NAMES) if line.paper is None else line.paper.numbers
    numbers = [
        f"{number:.6g}" if isinstance(number, float) else number for number in (*three, *behind, *papers)
    ]
    return [line.ours.count, *numbers]


def to_latex(table: PaperTable) -> str:
    """Returns a table as LaTeX, as the paper sets it, with the paper's numbers after ours.

    It needs the packages graphicx, and xcolor with its option table.
    """
    names = " & ".join(_latex(name) for name in COLUMNS)
    rows = [
        r"\resizebox{\linewidth}{!}{",
        r"\begin{tabular}{c|lc||cccc|cc||cccc|cc}",
        r"&&& \multicolumn{6}{c||}{ours} & \multicolumn{6}{c}{the paper's, on its own data} \\",
        rf"& Algorithm & looks & {names} & {names} \\ \hline\hline",
    ]
    for group in table.groups:
        rows.append(rf"\multicolumn{{15}}{{l}}{{{_latex(group.title)}}} \\ \hline")
        rows += [_latex_row(line) for line in group.lines]
        rows.append(r"\hline\hline")
    about = _latex(f"{table.title}. {table.about}" + (f" {DAGGER_NOTE}" if _has_dagger(table) else ""))
    body = "\n".join(rows)
    return (
        f"\\begin{{table}}\n\\centering\n{body}\n\\end{{tabular}}}}\n\\caption{{{about}}}\n"
        f"\\label{{table:{table.number}}}\n\\end{{table}}\n"
    )


def _latex_row(line: TableLine) -> str:
    ours = [text + LATEX_TINTS[mark] for text, mark in zip(_three(line.ours), line.marks, strict=True)]
    papers = _three(line.paper) if line.paper else [""] * len(COLUMNS)
    return " & ".join([_latex(str(line.problem)), _latex(line.title), line.looks, *ours, *papers]) + r" \\"


def _latex(text: str) -> str:
    for special in "%&#_":
        text = text.replace(special, f"\\{special}")
    return "".join(LATEX_SPECIAL.get(letter, letter) for letter in text)


# The page


def to_page(table: PaperTable) -> Table:
    """Returns a table for the page: ours and the paper's six numbers, each under its head."""
    columns = [Column("method", number=False), Column("looks")]
    columns += [Column(name, group="ours") for name in COLUMNS]
    columns += [Column("MAE", group="behind the best"), Column("p", group="behind the best")]
    columns += [Column(name, group=PAPERS) for name in COLUMNS]
    bodies = [Body(group.title, [_page_row(line) for line in group.lines]) for group in table.groups]
    remarks = [DAGGER_NOTE] if _has_dagger(table) else []
    remarks += [
        f"{group.title}: rank correlation of our MAE with the paper's {group.agreement:.2f}."
        for group in table.groups
        if group.agreement is not None
    ]
    return Table(f"Table {table.number}: {table.title}", table.about, columns, bodies, remarks)


def _page_row(line: TableLine) -> list[Cell]:
    ends = zip(line.interval.low.numbers, line.interval.high.numbers, strict=True)
    numbers = [
        Cell(f"{value:.3f}", value, TINTS[mark - 1] if mark else "", f"{low:.3f} to {high:.3f} over scenes")
        for value, mark, (low, high) in zip(line.ours.numbers, line.marks, ends, strict=True)
    ]
    papers = [Cell("")] * len(COLUMNS)
    if line.paper is not None:
        papers = [Cell(f"{value:.3f}", value) for value in line.paper.numbers]
    looks = Cell(line.looks, float(line.steps or ALL_LOOKS))
    return [Cell(line.title, small=line.key), looks, *numbers, *_behind_cells(line), *papers]


def _behind_cells(line: TableLine) -> list[Cell]:
    one = line.behind
    if one is None:
        return [Cell(""), Cell("")]
    hint = f"{-one.high:.3f} to {-one.low:.3f} over scenes"
    return [Cell(f"{-one.difference:.3f}", -one.difference, hint=hint), Cell(f"{one.p:.3f}", one.p)]


def trust_to_page(title: str, note: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Returns rows of text as a table of the page, whose first column holds words."""
    columns = [Column(head, number=at > 0) for at, head in enumerate(heads)]
    return Table(title, note, columns, [Body("", [[_cell(text) for text in row] for row in rows])])


def _cell(text: str) -> Cell:
    """Returns a cell that is sorted by the number that it begins with, if it does."""
    try:
        return Cell(text, float(text.partition(" ")[0]))
    except ValueError:
        return Cell(text, float(ALL_LOOKS) if text == "all" else None)


# Both


def describe_behind(line: TableLine) -> str:
    """Returns the difference in MAE to the best of a line's group, and its p-value, as text."""
    return "" if line.behind is None else f"{-line.behind.difference:.3f}, {line.behind.p:.3f}"


def _three(metrics: Metrics) -> list[str]:
    """Returns the six numbers with three decimals, as the paper has them."""
    return [f"{value:.3f}" for value in metrics.numbers]


def _has_dagger(table: PaperTable) -> bool:
    return any(line.title.endswith(DAGGER) for line in table.lines)
