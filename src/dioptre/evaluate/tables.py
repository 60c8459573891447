"""The paper's Tables 1 to 5 out of counted predictions (`evaluate.aggregate`), and out of nothing else.

A line is a method with a number of looks on some data; its metrics are over all its answers there. Beside
them stand, where there are any, the six numbers that the paper prints, marked as the paper's. Lines stand in
groups, as in the paper; in a group the RMSE falls, and the best three of a column are marked.

Methods with a dagger are measured on patches inside the central 1.5x crop of the frame, as in the paper. Each
line is also compared with the best of its group, on the answers that both gave.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath
from typing import Any, Final

import numpy as np
from jaxtyping import Int
from scipy.stats import rankdata

from dioptre.evaluate import paper
from dioptre.evaluate.aggregate import Aggregate, as_sums
from dioptre.evaluate.intervals import Comparison, Interval, compare, sums_to_interval, sums_to_metrics
from dioptre.evaluate.metrics import PROBLEM_ORDER, Metrics
from dioptre.evaluate.predict import ORACLE
from dioptre.evaluate.provenance import Provenance, Role
from dioptre.methods import METHODS
from dioptre.methods.base import WHOLE, Method
from dioptre.methods.disparity import AT
from dioptre.methods.learned import NETWORK
from dioptre.problem import Problem

FEW: Final = 4  # methods that cannot be ranked
FEW_SCENES: Final = 4  # over which a difference cannot be tested
SHARES: Final = 4  # of COLUMNS, of which more is better; of the others less
BEST: Final = 3  # values of a column that are marked
DAGGER: Final = " †"  # after the title of a method that is measured in the central crop alone
DAGGER_NOTE: Final = f"{DAGGER.strip()} on patches inside the central 1.5x crop of the frame."
REGISTERED_MODEL: Final = "l2a-registered-green"  # the paper's model of whole stacks, for registered ones
TITLES: Final = {
    Problem.STACK_GREEN: "the whole stack, green",
    Problem.STACK_DUAL_PIXEL: "the whole stack, left and right",
    Problem.SINGLE_DUAL_PIXEL: "from one look, left and right",
    Problem.SINGLE_GREEN: "from one look, green",
}
SINGLE: Final = (Problem.SINGLE_DUAL_PIXEL, Problem.SINGLE_GREEN)

Scenes = dict[str, Int[np.ndarray, " 7"]]
Printed = Callable[[str, int], Metrics | None]  # what the paper prints for a method with so many looks


@dataclass(frozen=True)
class TableLine:
    """One row of a table.

    Attributes:
        method: Key of the method, or `oracle`.
        title: Its title.
        problem: The problem it solves.
        steps: How many looks it had; 0 for the whole stack.
        ours: Its metrics on these predictions.
        paper: What the paper prints for it, on the paper's data; None if nothing.
        interval: How sure its metrics are, over scenes.
        marks: For each of the six numbers its place among the best of the column: 1, 2 or 3; 0 for none.
        behind: Whether the best of its group errs less, on the answers of both; None for the best itself, and
            if there are too few scenes to tell.
    """

    method: str
    title: str
    problem: Problem
    steps: int
    ours: Metrics
    paper: Metrics | None
    interval: Interval
    marks: tuple[int, ...] = (0,) * 6
    behind: Comparison | None = None

    @property
    def key(self) -> str:
        """Its key as a table shows it: of a network in a file, the file's name."""
        return short_key(self.method)

    @property
    def looks(self) -> str:
        """How many looks it had, in words."""
        return "all" if self.steps == WHOLE else str(self.steps)

    def to_json(self) -> dict[str, Any]:
        """Returns the row as plain JSON."""
        return {
            "method": self.key,
            "title": self.title,
            "problem": str(self.problem),
            "steps": self.steps,
            "metrics": asdict(self.ours),
            "interval": asdict(self.interval),
            "paper": None if self.paper is None else asdict(self.paper),
            "marks": list(self.marks),
            "behind_the_best": None if self.behind is None else asdict(self.behind),
        }


@dataclass(frozen=True)
class Group:
    """Lines that belong together.

    Attributes:
        title: What they have in common.
        lines: The worst RMSE first; the oracle, if there is one, last.
        agreement: How alike our MAEs and the paper's rank them (Spearman); None if they are few.
    """

    title: str
    lines: tuple[TableLine, ...]
    agreement: float | None


@dataclass(frozen=True)
class PaperTable:
    """One of the paper's tables.

    Attributes:
        number: In the paper.
        title: What it is about.
        about: On which data ours are.
        groups: Its groups.
    """

    number: int
    title: str
    about: str
    groups: tuple[Group, ...]

    @property
    def lines(self) -> tuple[TableLine, ...]:
        """The lines of all groups."""
        return tuple(line for group in self.groups for line in group.lines)

    def to_json(self) -> dict[str, Any]:
        """Returns every number that the table shows, as plain JSON."""
        groups = [
            {
                "title": group.title,
                "rank_correlation_with_the_paper": group.agreement,
                "rows": [line.to_json() for line in group.lines],
            }
            for group in self.groups
        ]
        return {"number": self.number, "title": self.title, "about": self.about, "groups": groups}


@dataclass(frozen=True, eq=False)
class Counted:
    """Predictions of one data set.

    Attributes:
        origin: What they are of.
        tally: Their counts.
    """

    origin: Provenance
    tally: Aggregate


def paper_tables(sets: Mapping[Role, Counted]) -> list[PaperTable]:
    """Returns those of the paper's tables that there are predictions for.

    Without the test set of the centre phone, Tables 1 and 2 are of the first data that there are.
    """
    main = sets.get(Role.CENTRE) or next(iter(sets.values()))
    found = [_big_table(main), _multi_step(main)]
    found.append(_registered({role: sets[role] for role in (Role.CALIBRATED, Role.SEARCHED) if role in sets}))
    if Role.LEFT in sets:
        found.append(_left(sets[Role.LEFT]))
    if Role.LIGHT_AND_DARK in sets:
        found.append(_light_and_dark(sets[Role.LIGHT_AND_DARK]))
    return [table for table in found if table.groups]


# The tables


def _big_table(data: Counted) -> PaperTable:
    """Returns Table 1: the whole stack or one look; methods with one look are marked together."""
    answers = _answers(data.tally)
    parts = [(problem,) for problem in PROBLEM_ORDER[:2]] + [SINGLE]
    groups: list[Group] = []
    for problems in parts:
        some = [one for one in answers if one[1] in problems and one[2] == int(problems == SINGLE)]
        ranked = _lines(data.tally, some, lambda method, _: paper.BIG_TABLE.get(method))
        for problem in problems:
            mine = [line for line in ranked if line.problem is problem]
            groups += _group(f"{problem}: {TITLES[problem]}", mine, data.tally, problem)
    return PaperTable(1, "The four problems on the test set", data.origin.describe(), tuple(groups))


def _multi_step(data: Counted) -> PaperTable:
    """Returns Table 2: methods that take several looks, after each of them."""
    answers = [one for one in _answers(data.tally) if one[1] in SINGLE]
    several = {first_of(method) for method, _, steps in answers if steps > 1}
    some = [one for one in answers if first_of(one[0]) in several]
    lines = _lines(data.tally, some, lambda method, steps: paper.MULTI_STEP.get((method, steps)))
    last = {first_of(line.method): line.ours.rmse for line in sorted(lines, key=lambda one: one.steps)}
    groups: list[Group] = []
    for problem in SINGLE:
        mine = [line for line in lines if line.problem is problem]
        mine.sort(key=lambda one: (-last[first_of(one.method)], first_of(one.method), one.steps))
        groups += _group(f"{problem}, look by look", mine, data.tally, problem)
    return PaperTable(2, "Several looks", data.origin.describe(), tuple(groups))


def _registered(sets: Mapping[Role, Counted]) -> PaperTable:
    """Returns Table 3: contrast on stacks whose focal breathing was undone, in two ways."""

    def printed(method: str, _steps: int) -> Metrics | None:
        is_model = short_key(method) == REGISTERED_MODEL
        return paper.REGISTERED.get("l2a-stack-green" if is_model else method)

    groups: list[Group] = []
    for role, data in sets.items():
        some = [
            (method, problem, steps)
            for method, problem, steps in _answers(data.tally)
            if problem is Problem.STACK_GREEN and (printed(method, steps) or method not in paper.BIG_TABLE)
        ]
        lines = _lines(data.tally, some, printed)
        title = f"{Problem.STACK_GREEN}, {role.value.replace('-', ', ')}"
        groups += _group(title, lines, data.tally, Problem.STACK_GREEN)
    about = " ".join(data.origin.describe() for data in sets.values())
    return PaperTable(3, "Registered stacks", about, tuple(groups))


def _left(data: Counted) -> PaperTable:
    """Returns Table 4: one look through the other phone, with its own calibration and with the centre's."""

    def printed(method: str, _steps: int) -> Metrics | None:
        plain, _, table = method.partition(AT)
        calibrated = plain in METHODS and METHODS[plain].family is METHODS["zncc-disparity"].family
        return paper.LEFT_CAMERA.get(plain) if table == "left" or not calibrated else None

    lines = _lines(data.tally, _one_look(data.tally), printed)
    group = _group(f"{SINGLE[0]}: {TITLES[SINGLE[0]]}", lines, data.tally, SINGLE[0])
    return PaperTable(4, "The left phone", data.origin.describe(), tuple(group))


def _light_and_dark(data: Counted) -> PaperTable:
    """Returns Table 5: one look at the same scenes with the light on and off."""
    groups: list[Group] = []
    for light, setting in (("normal", "light"), ("dark", "dark")):

        def printed(method: str, _steps: int, setting: str = setting) -> Metrics | None:
            return paper.LIGHT_AND_DARK.get((method, setting))

        lines = _lines(data.tally, _one_look(data.tally), printed, light)
        groups += _group(f"{SINGLE[0]}, {setting}", lines, data.tally, SINGLE[0], light)
    return PaperTable(5, "Light and dark", data.origin.describe(), tuple(groups))


def _one_look(tally: Aggregate) -> list[tuple[str, Problem, int]]:
    return [one for one in _answers(tally) if one[1] is SINGLE[0] and one[2] == 1]


# Lines


def _answers(tally: Aggregate) -> list[tuple[str, Problem, int]]:
    """Returns each method, problem and number of looks that there are answers of, but for the oracle."""
    kinds = {(kind.method, Problem(kind.problem), kind.steps) for kind in tally.sums}
    return sorted((one for one in kinds if one[0] != ORACLE), key=lambda one: (one[0], str(one[1]), one[2]))


def _lines(
    tally: Aggregate, answers: Iterable[tuple[str, Problem, int]], printed: Printed, light: str | None = None
) -> list[TableLine]:
    """Returns the lines of a group, the worst RMSE first, the best marked, all compared with the best."""
    lines, whole, crops = [], {}, {}
    for method, problem, steps in answers:
        crop = tally.select(method, problem, steps, light, crop=True)
        scenes = crop if _cropped(method) else tally.select(method, problem, steps, light)
        if scenes:
            line = _line(method, problem, steps, scenes, printed(method, steps))
            lines.append(line)
            whole[line], crops[line] = scenes, crop
    lines.sort(key=lambda one: -one.ours.rmse)
    if not lines:
        return []
    everywhere = [line for line in lines if not _cropped(line.method)] or lines
    best = min(everywhere, key=lambda one: one.ours.mae)
    marks = _marks(lines)
    return [
        replace(line, marks=marks[at], behind=None if line is best else _behind(line, best, whole, crops))
        for at, line in enumerate(lines)
    ]


def _line(method: str, problem: Problem, steps: int, scenes: Scenes, printed: Metrics | None) -> TableLine:
    sums = as_sums(scenes)
    ours, interval = sums_to_metrics(sums), sums_to_interval(sums)
    return TableLine(method, _title(method), problem, steps, ours, printed, interval)


def _behind(
    line: TableLine, best: TableLine, whole: Mapping[TableLine, Scenes], crops: Mapping[TableLine, Scenes]
) -> Comparison | None:
    """Returns whether the best errs less than a line, on the answers of both; None if they have none."""
    within = crops if _cropped(line.method) != _cropped(best.method) else whole
    one, other = within[best], within[line]
    same = list(one) == list(other) and all(one[name][-1] == other[name][-1] for name in one)
    return compare(as_sums(one), as_sums(other)) if same and len(one) > FEW_SCENES else None


def _marks(lines: Sequence[TableLine]) -> list[tuple[int, ...]]:
    """Returns the places of each line's numbers among the best of their columns; equal ones share a place."""
    columns = []
    for at, values in enumerate(zip(*(line.ours.numbers for line in lines), strict=True)):
        order = sorted(set(values), reverse=at < SHARES)[:BEST]
        columns.append([order.index(value) + 1 if value in order else 0 for value in values])
    return list(zip(*columns, strict=True))


def _group(
    title: str, lines: Sequence[TableLine], tally: Aggregate, problem: Problem, light: str | None = None
) -> list[Group]:
    """Returns lines as a group with the oracle, the floor that the lens's unknown error sets; [] of none."""
    if not lines:
        return []
    scenes = tally.select(ORACLE, Problem.STACK_DUAL_PIXEL, WHOLE, light)
    floor = [_line(ORACLE, problem, WHOLE, scenes, None)] if scenes else []
    return [Group(title, (*lines, *floor), rank_correlation(lines))]


def rank_correlation(lines: Sequence[TableLine]) -> float | None:
    """Returns Spearman's rank correlation of our MAEs and the paper's; None for few methods."""
    pairs = [(line.ours.mae, line.paper.mae) for line in lines if line.paper is not None]
    if len(pairs) < FEW:
        return None
    ours, theirs = (rankdata(one) for one in zip(*pairs, strict=True))
    if ours.std() == 0 or theirs.std() == 0:
        return None
    return float(np.corrcoef(ours, theirs)[0, 1])


def short_key(method: str) -> str:
    """Returns a method's key without the folder of its file."""
    return PurePath(method).stem if method.endswith(NETWORK) else method


def _title(method: str) -> str:
    if method == ORACLE:
        return "Oracle: all but the lens's error"
    if short_key(method) == REGISTERED_MODEL:
        return "Our Model, trained on registered stacks"
    plain, _, table = method.partition(AT)
    row: Method | None = METHODS.get(plain)
    title = short_key(method) if row is None else row.title
    return (
        title
        + (f", calibrated {PurePath(table).stem}" if table else "")
        + (DAGGER if _cropped(method) else "")
    )


def _cropped(method: str) -> bool:
    """Whether a method is measured in the central crop alone, whatever its calibration."""
    return method.partition(AT)[0] in paper.CENTRE_CROP


def first_of(method: str) -> str:
    """Returns the method that takes the first look for a method."""
    row = METHODS.get(method.partition(AT)[0])
    return first_of(row.after) if row is not None and row.after else method
