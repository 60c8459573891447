"""What the names of picture files say: their order, the series and the view they belong to, their numbers.

Numbers inside a name, whole or decimal, count as numbers: frame2 comes before frame10, IMG_00.198 before
IMG_01.5. Where names count evenly only if their numbers are read otherwise, they are: z-2, z-1, z0 have
signs, z09, z0a, z0b are hexadecimal, and in z0.9, z0.10, z0.11 a dot separates whole numbers. A view is the
ending _left or _right before the file's own ending.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

# A minus is a sign only where a word or a number cannot end: z_-3 but not img-003 or 2024-01-15.
NUMBER = re.compile(r"((?:(?<![^_\s=(])-)?[0-9]+(?:\.[0-9]+)?)")
HEX_WITH_A_DIGIT: Final = re.compile(r"[a-f]*[0-9][0-9a-f]*")
ENDING: Final = re.compile(r"\.[^.0-9][^.]*$")
VIEW = re.compile(r"_(left|right)(?=\.[^.]+$)", re.IGNORECASE)
MOST_SHOWN: Final = 3  # names in a note

NaturalKey = tuple[tuple[str | Decimal, ...], str]


@dataclass(frozen=True)
class Numerals:
    """How the numbers in names are written.

    Attributes:
        pattern: Finds a number, in a group.
        value: Of such a text.
    """

    pattern: re.Pattern[str]
    value: Callable[[str], Decimal] = Decimal

    def key(self, name: str) -> NaturalKey:
        """Returns a sort key by which numbers inside names compare as numbers.

        Upper and lower case are alike. Names that differ only in how a number is written (1.5, 01.50) keep
        an order of their own, so that two different names never have the same key.
        """
        parts = self.pattern.split(name.casefold())  # text, number, text, number, ..., text
        return tuple(self.value(part) if at % 2 else part for at, part in enumerate(parts)), name

    def numbers(self, name: str) -> tuple[Decimal, ...]:
        """Returns the numbers of a name."""
        return tuple(
            self.value(number) for number in self.pattern.findall(_parts(VIEW.sub("_view", name))[0])
        )

    def series(self, name: str) -> str:
        """Returns the name without its numbers and its view: what the files of one series share."""
        stem, ending = _parts(VIEW.sub("_view", name))
        return self.pattern.sub("#", stem) + ending

    def alike(self, names: Sequence[str]) -> list[tuple[Decimal, ...]]:
        """Returns the numbers, all different, of the names of the largest series, in order."""
        (series, _), *_ = Counter(self.series(name) for name in names).most_common()
        return sorted({self.numbers(name) for name in names if self.series(name) == series})


USUAL: Final = Numerals(NUMBER)
SIGNED: Final = Numerals(re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?)"))
WHOLE: Final = Numerals(re.compile(r"([0-9]+)"))
HEXADECIMAL: Final = Numerals(re.compile(r"([0-9a-f]+)"), lambda text: Decimal(int(text, 16)))


def _parts(name: str) -> tuple[str, str]:
    """Returns a name without its ending, and that; .198 in IMG_00.198 is none."""
    ending = ENDING.search(name.casefold())
    return (name.casefold(), "") if ending is None else (name.casefold()[: ending.start()], ending[0])


def numerals_of(names: Sequence[str]) -> Numerals:
    """Returns how the numbers of a stack's names are written.

    As usual, unless read otherwise more names are alike, or as many that count more evenly.
    """
    if not names:
        return USUAL
    best, rank = USUAL, _rank(USUAL.alike(names))
    for other in (SIGNED, WHOLE, HEXADECIMAL):
        found = _rank(other.alike(names))
        if found > rank and found[1] > 0.5:
            best, rank = other, found
    return best


def _rank(numbers: list[tuple[Decimal, ...]]) -> tuple[int, float]:
    """Returns how many numbers there are, and the share of the usual step among those between them."""
    varying = [column for column in zip(*numbers, strict=True) if len(set(column)) > 1]
    if len(numbers) < 3 or len(varying) != 1:
        return len(numbers), 0.0
    steps = [later - earlier for earlier, later in zip(varying[0], varying[0][1:], strict=False)]
    return len(numbers), Counter(steps).most_common(1)[0][1] / len(steps)


def could_be_of_series(name: str, others: Sequence[str]) -> bool:
    """Returns whether a name is like others if its numbers are read in any other way."""
    ways = (SIGNED.series, WHOLE.series, lambda one: HEX_WITH_A_DIGIT.sub("#", _parts(one)[0]))
    return any(way(name) == way(other) for way in ways for other in others[:1])


def untold_order(names: Sequence[str]) -> list[str]:
    """Returns a note if names do not tell the order of their pictures."""
    numerals, several = numerals_of(names), len(set(names))
    if several < MOST_SHOWN or len(numerals.alike(names)) == several:
        return []
    listed = ", ".join(names[:MOST_SHOWN]) + (", ..." if several > MOST_SHOWN else "")
    return [f"the names of the pictures do not tell their order: they are taken as follows: {listed}"]


def numbering(names: Sequence[str]) -> list[int] | None:
    """Returns the one whole number that varies from name to name; None if there is not just one."""
    numerals = numerals_of(names)
    rows = [numerals.numbers(name) for name in names]
    if len({len(row) for row in rows}) != 1:
        return None
    varying = [column for column in zip(*rows, strict=True) if len(set(column)) > 1]
    if len(varying) != 1 or any(number % 1 for number in varying[0]):
        return None
    return [int(number) for number in varying[0]]


def view_of(name: str) -> str | None:
    """Returns the view that a name ends in, "left" or "right"; None if it tells none."""
    found = VIEW.search(name)
    return found[1].lower() if found else None


def without_view(name: str) -> str:
    """Returns a name without its view, which both files of a slice share."""
    return VIEW.sub("", name)


def with_view(name: str, view: str) -> str:
    """Returns the name of another view of the same slice, in the same case: left, LEFT, Left."""

    def replaced(found: re.Match[str]) -> str:
        return f"_{_in_case(view, found[1])}"

    return VIEW.sub(replaced, name)


def _in_case(word: str, other: str) -> str:
    return word.upper() if other.isupper() else word.title() if other.istitle() else word
