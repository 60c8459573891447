"""The paper's six numbers: how often a prediction is close enough, and how far off it is.

An error is the predicted index minus the true index. A table gives the share of predictions whose
absolute error is 0, at most 1, at most 2 and at most 4, then the mean absolute error and the root mean
square error, in indices. This module knows nothing of methods, files or pictures.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Integer

from dioptre.errors import InputError
from dioptre.problem import Problem

# The paper's order of problems in its big table.
PROBLEM_ORDER = (
    Problem.STACK_GREEN,
    Problem.STACK_DUAL_PIXEL,
    Problem.SINGLE_DUAL_PIXEL,
    Problem.SINGLE_GREEN,
)

COLUMNS = ("= 0", "≤ 1", "≤ 2", "≤ 4", "MAE", "RMSE")


@dataclass(frozen=True)
class Metrics:
    """The six numbers of one row of a table.

    Attributes:
        exact: Share of predictions that are right.
        within_1: Share with an absolute error of at most 1 index.
        within_2: Share with an absolute error of at most 2 indices.
        within_4: Share with an absolute error of at most 4 indices.
        mae: Mean absolute error, in indices.
        rmse: Root mean square error, in indices.
        count: How many predictions; None if whoever printed the row does not say.
    """

    exact: float
    within_1: float
    within_2: float
    within_4: float
    mae: float
    rmse: float
    count: int | None = None

    @property
    def numbers(self) -> tuple[float, ...]:
        """The six numbers in the order of COLUMNS."""
        return self.exact, self.within_1, self.within_2, self.within_4, self.mae, self.rmse


def errors_to_metrics(errors: Integer[np.ndarray, "..."]) -> Metrics:
    """Returns the metrics of signed errors, predicted minus true index, of any shape."""
    if errors.size == 0:
        raise InputError("there is nothing to measure: no predictions")
    size = np.abs(errors.astype(np.int64))
    return Metrics(
        exact=float(np.mean(size == 0)),
        within_1=float(np.mean(size <= 1)),
        within_2=float(np.mean(size <= 2)),
        within_4=float(np.mean(size <= 4)),
        mae=float(np.mean(size)),
        rmse=float(np.sqrt(np.mean(size**2))),
        count=size.size,
    )


def measure(predicted: Integer[np.ndarray, "..."], truth: Integer[np.ndarray, "..."]) -> Metrics:
    """Returns the metrics of predicted indices against true ones, arrays of one shape."""
    if predicted.shape != truth.shape:
        raise InputError(
            f"predictions and truth have one shape, not {predicted.shape} for the predictions "
            f"and {truth.shape} for the truth"
        )
    return errors_to_metrics(np.subtract(predicted, truth, dtype=np.int64))


def table_row(title: str, metrics: Metrics, problem: str = "") -> str:
    """Returns one line of a Markdown table, numbers with three decimals as in the paper."""
    cells = (problem, title, *(f"{number:.3f}" for number in metrics.numbers))
    return f"| {' | '.join(cells)} |"


def format_rows(rows: Iterable[tuple[Problem, str, Metrics]]) -> str:
    """Returns a Markdown table of (problem, title, metrics), ordered as in the paper.

    Rows are grouped by problem, I*, D*, D1, I1, and within each the RMSE falls: the worst comes first.
    """
    ordered = sorted(rows, key=lambda row: (PROBLEM_ORDER.index(row[0]), -row[2].rmse))
    lines = [
        f"| Problem | Algorithm | {' | '.join(COLUMNS)} |",
        f"| --- | --- |{' ---: |' * len(COLUMNS)}",
        *(table_row(title, metrics, problem) for problem, title, metrics in ordered),
    ]
    return "\n".join(lines) + "\n"
