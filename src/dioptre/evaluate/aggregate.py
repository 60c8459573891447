"""What a report needs of predictions, counted in one pass: memory does not grow with their number.

Every number of a table is a mean over answers of a function of the error, and the scenes are drawn anew with
all that belongs to them (`evaluate.intervals`): sums for each scene are enough. Figures need sums by start
and truth, and confidence in fine bins (`evaluate.calibration_metrics`).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from jaxtyping import Float, Int

from dioptre.errors import FileError
from dioptre.evaluate.calibration_metrics import ConfidenceCounts
from dioptre.evaluate.intervals import Sums, error_columns
from dioptre.evaluate.predict import NO_START
from dioptre.store.parquet import pa, pc

READ: Final = (
    "method", "problem", "steps", "scene", "patch", "start", "predicted", "truth", "sharp_distance",
    "state", "confidence", "risk", "in_crop", "light",
)  # fmt: skip  # columns of predictions
SUMMED: Final = ("exact", "within_1", "within_2", "within_4", "size", "square", "answers")


@dataclass(frozen=True, order=True)
class AnswerKind:
    """The columns that tell kinds of answers apart.

    Attributes:
        method: Key of the method.
        problem: The problem it solves.
        steps: How many looks it had; 0 for the whole stack.
        light: Of the capture.
        in_crop: Whether the patch lies in the central crop.
    """

    method: str
    problem: str
    steps: int
    light: str
    in_crop: bool


@dataclass(frozen=True)
class Choice:
    """One answer for an example patch.

    Attributes:
        method: Key of the method.
        problem: The problem it solves.
        steps: How many looks it had; 0 for the whole stack.
        start: Where it began.
        predicted: What it answered.
    """

    method: str
    problem: str
    steps: int
    start: int
    predicted: int


@dataclass(eq=False)
class Aggregate:
    """Predictions, counted.

    Attributes:
        positions: Of the grid.
        examples: Patches whose answers are kept one by one.
        steps_per_index: How many steps of blur an index is.
        sums: For each kind and scene, what is summed over its answers.
        by_start: For each method with one look, (start, truth): the answers, and their errors' sizes.
        trust: For each method and number of looks, what was believed of its answers.
        choices: The answers for each example.
    """

    positions: int
    examples: Collection[int] = ()
    steps_per_index: float = 1.0
    sums: dict[AnswerKind, dict[str, Int[np.ndarray, " 7"]]] = field(default_factory=dict)
    by_start: dict[str, Float[np.ndarray, "2 n n"]] = field(default_factory=dict)
    trust: dict[tuple[str, int], ConfidenceCounts] = field(default_factory=dict)
    choices: dict[int, list[Choice]] = field(default_factory=dict)

    def add(self, batch: pa.Table) -> None:
        """Counts some predictions: a table with the columns of READ."""
        predicted, truth = (batch[name].to_numpy().astype(np.int64) for name in ("predicted", "truth"))
        for values in (predicted, truth):
            if len(values) and not 0 <= values.min() <= values.max() < self.positions:
                raise FileError(
                    f"predictions of a grid of {self.positions} positions lie in 0..{self.positions - 1}, "
                    f"not at {values.min()} or {values.max()}"
                )
        self._add_sums(batch, predicted - truth)
        for (method, steps), rows in _by_method(batch):
            if steps == 1:
                start = batch["start"].to_numpy()[rows].astype(np.int64)
                self._add_starts(method, start, predicted[rows], truth[rows])
        self._add_trust(batch.filter(pc.is_valid(batch["confidence"])))
        self._add_choices(batch)

    def select(
        self, method: str, problem: str, steps: int, light: str | None = None, crop: bool = False
    ) -> dict[str, Int[np.ndarray, " 7"]]:
        """Returns each scene's sums over answers of a method.

        Args:
            method: Its key.
            problem: The problem it solves.
            steps: How many looks it had.
            light: Of the captures; None for any.
            crop: Whether only patches in the central crop count.
        """
        found: dict[str, Int[np.ndarray, " 7"]] = {}
        for kind, scenes in self.sums.items():
            same = (kind.method, kind.problem, kind.steps) == (method, problem, steps)
            if same and light in (None, kind.light) and (kind.in_crop or not crop):
                for scene, sums in scenes.items():
                    found[scene] = found.get(scene, 0) + sums
        return dict(sorted(found.items()))

    def _add_sums(self, batch: pa.Table, errors: Int[np.ndarray, " answer"]) -> None:
        keys = ["method", "problem", "steps", "light", "in_crop", "scene"]
        columns = dict(zip(SUMMED, error_columns(errors).T, strict=True))
        table = pa.table({name: batch[name] for name in keys} | columns)
        grouped = table.group_by(keys, use_threads=False).aggregate([(name, "sum") for name in SUMMED])
        for row in grouped.to_pylist():
            kind = AnswerKind(row["method"], row["problem"], row["steps"], row["light"], row["in_crop"])
            sums = np.array([row[f"{name}_sum"] for name in SUMMED], np.int64)
            scenes = self.sums.setdefault(kind, {})
            scenes[row["scene"]] = scenes.get(row["scene"], 0) + sums

    def _add_starts(
        self,
        method: str,
        start: Int[np.ndarray, " answer"],
        predicted: Int[np.ndarray, " answer"],
        truth: Int[np.ndarray, " answer"],
    ) -> None:
        n = self.positions
        place, size = start * n + truth, np.abs(predicted - truth).astype(np.float64)
        both = [np.bincount(place, weights, n * n).reshape(n, n) for weights in (None, size)]
        self.by_start[method] = self.by_start.get(method, 0) + np.stack(both).astype(np.float64)

    def _add_trust(self, judged: pa.Table) -> None:
        away = pc.fill_null(judged["sharp_distance"], np.inf).to_numpy().astype(np.float64)
        away *= self.steps_per_index
        confidence, risk = (judged[name].to_numpy().astype(np.float64) for name in ("confidence", "risk"))
        focused = pc.equal(judged["state"], "focused").to_numpy()
        for kind, rows in _by_method(judged):
            found = ConfidenceCounts.of(confidence[rows], risk[rows], away[rows], focused[rows])
            self.trust[kind] = self.trust[kind] + found if kind in self.trust else found

    def _add_choices(self, batch: pa.Table) -> None:
        if not len(self.examples):
            return
        shown = batch.filter(pc.is_in(batch["patch"], pa.array(sorted(self.examples), pa.int32())))
        names = ["patch", "method", "problem", "steps", "start", "predicted"]
        for row in shown.select(names).to_pylist():
            self.choices.setdefault(row.pop("patch"), []).append(Choice(**row))


def _by_method(batch: pa.Table) -> Iterator[tuple[tuple[str, int], Int[np.ndarray, " row"]]]:
    """Yields each method and number of looks, and which rows are its."""
    if not len(batch):
        return
    encoded = batch["method"].combine_chunks().dictionary_encode()
    steps = batch["steps"].to_numpy().astype(np.int64)
    code = encoded.indices.to_numpy().astype(np.int64) * 1000 + steps
    order = np.argsort(code, kind="stable")
    cuts = np.flatnonzero(np.diff(code[order])) + 1
    for rows in np.split(order, cuts):
        number, looks = divmod(int(code[rows[0]]), 1000)
        yield (encoded.dictionary[number].as_py(), looks), rows


def tally(
    batches: Iterable[pa.Table],
    positions: int,
    examples: Collection[int] = (),
    steps_per_index: float = 1.0,
) -> Aggregate:
    """Returns predictions, counted.

    Args:
        batches: Tables with the columns of READ; one at a time is in memory.
        positions: Of the grid.
        examples: Patches whose answers are kept one by one.
        steps_per_index: How many steps of blur an index is.
    """
    found = Aggregate(positions, examples, steps_per_index)
    for batch in batches:
        found.add(batch)
    return found


def as_sums(scenes: dict[str, Int[np.ndarray, " 7"]]) -> Sums:
    """Returns the sums of scenes as one array, in their order."""
    return np.array(list(scenes.values()), np.float64).reshape(len(scenes), len(SUMMED))


def nearest_start(choices: Sequence[Choice], start: int) -> int:
    """Returns the start of some answer that is nearest to a start, the farther one of two."""
    starts = sorted({one.start for one in choices if one.start != NO_START})
    return min(starts, key=lambda one: abs(one - start), default=NO_START)
