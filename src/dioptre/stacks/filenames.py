"""What the names of picture files say: their order, the series and the view they belong to, their numbers.

Numbers inside a name, whole or decimal, count as numbers: frame2 comes before frame10, IMG_00.198 before
IMG_01.5. A view is the ending _left or _right before the file's own ending.
"""

import re
from collections.abc import Sequence
from decimal import Decimal

# A minus is a sign only where a word or a number cannot end: z_-3 but not img-003 or 2024-01-15.
NUMBER = re.compile(r"((?:(?<![^_\s=(])-)?[0-9]+(?:\.[0-9]+)?)")
VIEW = re.compile(r"_(left|right)(?=\.[^.]+$)", re.IGNORECASE)

NaturalKey = tuple[tuple[str | Decimal, ...], str]


def natural_key(name: str) -> NaturalKey:
    """Returns a sort key by which numbers inside names, whole or decimal, compare as numbers.

    Upper and lower case are alike. Names that differ only in how a number is written (1.5, 01.50) keep
    an order of their own, so that two different names never have the same key.
    """
    parts = NUMBER.split(name.casefold())  # text, number, text, number, ..., text
    return tuple(Decimal(part) if at % 2 else part for at, part in enumerate(parts)), name


def series_pattern(name: str) -> str:
    """Returns the name without its numbers and its view: what the files of one series share."""
    return NUMBER.sub("#", VIEW.sub("_view", name.casefold()))


def numbering(names: Sequence[str]) -> list[int] | None:
    """Returns the one whole number that varies from name to name; None if there is not just one."""
    rows = [NUMBER.findall(VIEW.sub("", name)) for name in names]
    if len({len(row) for row in rows}) != 1:
        return None
    varying = [column for column in zip(*rows, strict=True) if len(set(column)) > 1]
    if len(varying) != 1 or any("." in number for number in varying[0]):
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
