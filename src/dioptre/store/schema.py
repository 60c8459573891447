"""What the files between commands must hold: one schema for each kind, checked when it is read.

A schema says of each entry of a JSON object what it may be. What is not listed may be there as well: later
versions add entries.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dioptre.errors import FileError

MOST = 2**53  # of anything that is counted
DEEPEST = 50  # lists and objects in one another: far more than anything here has

Check = Callable[[Any], bool]


@dataclass(frozen=True)
class Entry:
    """What an entry may be.

    Attributes:
        expected: In words.
        holds: Whether a value is that.
        needed: Whether it must be there.
    """

    expected: str
    holds: Check
    needed: bool = True

    def or_absent(self) -> "Entry":
        """Returns the same entry, which may be missing."""
        return Entry(self.expected, self.holds, needed=False)


@dataclass(frozen=True)
class Schema:
    """What a JSON object must hold.

    Attributes:
        what: What it describes, in words: "a patch store".
        entries: Its entries.
    """

    what: str
    entries: Mapping[str, Entry]

    def check(self, path: Path, found: Mapping[str, Any]) -> None:
        """Raises FileError, with the file, for the first entry that is missing or not what it may be."""
        if depth_of(found) > DEEPEST:
            raise FileError(f"{path} does not describe {self.what}: it is nested more than {DEEPEST} deep")
        for name, entry in self.entries.items():
            if name not in found:
                if entry.needed:
                    raise FileError(f"{path} does not describe {self.what}: it has no entry {name!r}")
            elif not entry.holds(found[name]):
                raise FileError(
                    f"{path} does not describe {self.what}: its entry {name} is {entry.expected}, "
                    f"not {_brief(found[name])}"
                )


def depth_of(value: object, deepest: int = DEEPEST) -> int:
    """Returns the depth of nested lists and objects; at most one more than the deepest allowed."""
    level, depth = [value], 0
    while depth <= deepest:
        inner: list[object] = []
        for one in level:
            inner.extend(one.values() if isinstance(one, Mapping) else one if isinstance(one, list) else ())
        if not inner:
            return depth
        level, depth = inner, depth + 1
    return depth


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# Kinds of entries


def whole(least: int = 0) -> Entry:
    """Returns an entry that is a whole number."""
    return Entry(
        f"a whole number of {least} or more", lambda value: is_whole(value) and least <= value <= MOST
    )


def is_whole(value: object) -> bool:
    """Returns whether a value is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Returns whether a value is a finite number."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def is_hash(value: object) -> bool:
    """Returns whether a value is a SHA-256 in hexadecimal digits."""
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def list_of(holds: Check, what: str) -> Entry:
    """Returns an entry that is a list."""
    return Entry(f"a list of {what}", lambda value: isinstance(value, list) and all(map(holds, value)))


TEXT = Entry("text", lambda value: isinstance(value, str))
NUMBER = Entry("a finite number", is_number)
OBJECT = Entry("an object", lambda value: isinstance(value, dict))
OBJECT_OR_NULL = Entry("an object or null", lambda value: value is None or isinstance(value, dict))
TRUTH = Entry("true or false", lambda value: isinstance(value, bool))
HASH = Entry("a SHA-256", is_hash)
LADDER = Entry(
    "a list of numbers or nulls",
    lambda value: isinstance(value, list) and all(one is None or is_number(one) for one in value),
)

# Manifests

STORE = {
    "layout": whole(),
    "config": OBJECT,
    "format": OBJECT,
    "count": whole(1),
    "sha256": HASH,
    "checksums": OBJECT.or_absent(),
}
PATCHES = Schema("a patch store", {**STORE, "shard_size": whole(1), "shards": list_of(is_hash, "SHA-256")})
CAPTURES = Schema(
    "a patch store",
    {
        **STORE,
        "frame": Entry(
            "rows and columns",
            lambda value: isinstance(value, list) and len(value) == 2 and all(map(is_whole, value)),
        ),
        "captures": Entry(
            "an object of the hashes of each capture",
            lambda value: (
                isinstance(value, dict)
                and all(isinstance(one, dict) and all(map(is_hash, one.values())) for one in value.values())
            ),
        ),
        "summary": OBJECT,
    },
)
STORES = {"patches": PATCHES, "captures": CAPTURES}


def _is_inside(name: str) -> bool:
    """Returns whether a name leads to a file in the folder, and to none outside of it."""
    parts = name.split("/")
    return all(part not in ("", ".", "..") and not set(part) & set("\\\0:") for part in parts)


LEDGER = Schema(
    "a report",
    {
        "files": Entry(
            "an object of the hashes of each file in the folder",
            lambda value: (
                isinstance(value, dict)
                and all(map(_is_inside, value))
                and all(isinstance(one, list) and one and all(map(is_hash, one)) for one in value.values())
            ),
        )
    },
)
WIDE_PICTURES = Schema(
    "a store of wide pictures",
    {
        "shards": list_of(is_hash, "SHA-256"),
        "splits": list_of(lambda value: isinstance(value, str), "splits"),
        "format": OBJECT,
        "sha256": HASH,
    },
)


def _is_length(value: object) -> bool:
    return is_number(value) and 0 < value < 1e9  # type: ignore[operator]


def _are_places(value: object) -> bool:
    """Returns whether a value is places of cameras, not all the same."""
    if not isinstance(value, dict) or not all(
        isinstance(one, list) and len(one) == 3 for one in value.values()
    ):
        return False
    numbers = all(is_number(one) and abs(one) < 1e9 for place in value.values() for one in place)
    return numbers and len({tuple(place) for place in value.values()}) > 1


LENGTH = Entry("a positive number", _is_length, needed=False)
RIG = Schema(
    "a rig",
    {
        "spacing_mm": LENGTH,
        "focal_px": LENGTH,
        "nominal_mm": Entry("three millimetres for each of its cameras", _are_places, needed=False),
    },
)


def _is_told(value: object) -> bool:
    """Returns whether a value is what a capture says about its rig: numbers, slopes, and their squares."""
    if value is None:
        return True
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return False
    numbers, slope, square = (value.get(name) for name in ("values", "slope", "information"))
    rows = [numbers, slope, *square] if isinstance(square, list) else [None]
    if not all(isinstance(row, list) and all(map(is_number, row)) for row in rows):
        return False
    return len(rows) == len(numbers) + 2 and {len(row) for row in rows} == {len(numbers)}  # type: ignore[arg-type]


OUTCOME = Schema(
    "what became of a capture",
    {
        "capture": TEXT,
        "fault": TEXT,
        "confident": NUMBER,
        "rig": Entry("numbers, or null", lambda value: value is None or isinstance(value, list)),
    },
)
TOLD = Schema(
    "what a capture says about its rig",
    {"capture": TEXT, "fault": TEXT, "told": Entry("values, slopes and their squares, or null", _is_told)},
)
PREDICTIONS = Schema(
    "a folder of predictions",
    {
        "data": HASH,
        "simulated": TRUTH,
        "methods": OBJECT,
        "split": TEXT,
        "starts": list_of(lambda value: is_whole(value) and value >= 0, "positions"),
        "patches": whole(1),
        "sha256": HASH.or_absent(),
        "rows": whole(1).or_absent(),
    },
)
LINEAGE = {
    "data": list_of(is_hash, "SHA-256"),
    "start_from": OBJECT_OR_NULL,
    "after": list_of(lambda value: isinstance(value, dict), "objects"),
    "teacher": OBJECT_OR_NULL,
}
RUN = Schema(
    "a training's folder",
    {**LINEAGE, "recipe": OBJECT, "format": OBJECT, "weights": HASH, "validation": OBJECT},
)
VALIDATION = Schema("a training's folder", {"step": whole(), "loss": NUMBER, "mae": NUMBER})
