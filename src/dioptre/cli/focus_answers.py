"""What `dioptre focus` answers about one stack or many: on the terminal, as JSON, as CSV."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dioptre.cli.console import open_console, print_json
from dioptre.cli.focus_result import in_colour, in_words, place, print_notes, print_stack_result, table_of
from dioptre.cli.streams import lettered
from dioptre.errors import DioptreError

if TYPE_CHECKING:
    from dioptre.focusing.result import FocusResult
    from dioptre.stacks.pictures import Pictures

ARGUMENTS: Final = "black|white|axes|focus_along|channel|time|position|order"  # that are flags as well
WHICH: Final = {
    "channel": "channel",
    "time": "time",
    "stage_position": "position",
}  # column: as files have it
VERDICT: Final = (
    "position",
    "unit",
    "state",
    "confidence",
    "risk",
    "expected_error",
    "dioptres",
    "distance_m",
)
COLUMNS: Final = (
    "stack", *WHICH, "roi", "name", "index", "subindex", *VERDICT, "depths", "share", "reasons",
    "notes", "method",
)  # fmt: skip
DEPTH_COLUMNS: Final = (
    "stack", *WHICH, "chosen", "share", "roi", "name", "index", "subindex", *VERDICT, "reasons", "method",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Answer:
    """A stack and its result."""

    pictures: "Pictures"
    result: "FocusResult"

    @property
    def title(self) -> str:
        """The name of the answer: its stack, and its region if there is one."""
        roi = self.result.roi
        return self.pictures.title if roi is None else f"{self.pictures.title} at {in_words(roi)}"

    def to_json(self, full: bool) -> dict[str, Any]:
        """Returns both as plain numbers, strings and lists."""
        which = {"which": self.pictures.label} if self.pictures.label else {}
        return {
            "stack": self.pictures.source,
            **which,
            "name": self.pictures.names[self.result.index],
            **self.result.to_json(full),
            "skipped": list(self.pictures.skipped),
        }

    def row(self) -> dict[str, Any]:
        """Returns the line of a table of all answers: of several depths, the one that was chosen."""
        depths = self.result.depths
        shares = [one.share for one in depths if one.chosen]
        return {
            **self._row(self.result),
            "depths": max(len(depths), 1),
            "share": shares[0] if shares else 1.0,
            "notes": "; ".join(self.result.notes),
        }

    def depth_rows(self) -> list[dict[str, Any]]:
        """Returns the lines of a table of all depths; none for an answer of one depth only."""
        return [
            {**self._row(one.result), "chosen": int(one.chosen), "share": one.share}
            for one in self.result.depths
            if one.result is not None
        ]

    def _row(self, result: "FocusResult") -> dict[str, Any]:
        plain, member = result.to_json(), self.pictures.member
        return {
            **{name: plain[name] for name in ("index", "subindex", *VERDICT, "method")},
            **{column: member.get(name, "") for column, name in WHICH.items()},
            "stack": self.pictures.source,
            "name": self.pictures.names[result.index],
            "roi": "" if result.roi is None else in_words(result.roi),
            "reasons": " ".join(plain["reasons"]),
        }


@contextmanager
def naming_flags(stack: str = "") -> Iterator[None]:
    """Makes errors about pictures name their file, and the flags of the command line."""
    try:
        yield
    except DioptreError as error:
        told = re.sub(rf"\b({ARGUMENTS})=\.\.\.", lambda found: f"--{found[1].replace('_', '-')}", str(error))
        told = re.sub(r"^white must lie above black.*", r"\g<0> (--black, --white)", told)
        told = told.replace("views=True", "--views")
        named = told if told == str(error) or stack in told else f"{stack}: {told}"
        raise type(error)(named) from None


def print_answers(answers: Sequence[Answer], as_json: bool, full: bool = False) -> None:
    """Prints one result as a table of its own, several as a line each; as JSON one record, or a list."""
    if as_json:
        records = [one.to_json(full) for one in answers]
        plain = records[0] if len(records) == 1 else {"results": records}
        print_json(plain)
    elif len(answers) == 1:
        print_stack_result(answers[0].pictures.title, answers[0].pictures, answers[0].result)
    else:
        _print_table(answers)


def _print_table(answers: Sequence[Answer]) -> None:
    from rich.markup import escape  # noqa: PLC0415

    columns = ("stack", "state", "sharpest", "position", "confidence", "reasons")
    table = table_of(*columns, folded=("stack", "sharpest"))
    for one in answers:
        result = one.result
        table.add_row(
            escape(one.title),
            in_colour(result.state),
            escape(one.pictures.names[result.index]),
            place(result),
            f"{result.confidence:.2f}",
            "\n".join(reason.value for reason in result.reasons),
        )
    open_console().print(table)
    for one in answers:
        print_notes(one.result, one.title)


def write_csv(path: Path, answers: Sequence[Answer]) -> None:
    """Writes a line for each answer: the whole file, or nothing."""
    _write_table(path, COLUMNS, [one.row() for one in answers])


def write_depths_csv(path: Path, answers: Sequence[Answer]) -> None:
    """Writes a line for each depth of each answer that has several: the whole file, or nothing."""
    _write_table(path, DEPTH_COLUMNS, [row for one in answers for row in one.depth_rows()])


def _write_table(path: Path, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    from dioptre.store.manifest import write_file  # noqa: PLC0415

    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_file(path, lambda file: file.write(lettered(text.getvalue(), "utf-8").encode()))
