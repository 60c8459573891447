"""The card of a network: what it is for, as JSON inside its file."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dioptre.errors import NetworkError
from dioptre.grid import MOST_POSITIONS, FocusGrid
from dioptre.methods.base import ANY
from dioptre.posterior import Decision

LAYOUT = 2  # of the card
LARGEST = 4096  # rows and columns of a patch
LONGEST = 1_000_000  # characters of a card


@dataclass(frozen=True)
class Card:
    """The model card in a network's file: what it answers, and for which pictures.

    Attributes:
        problem: The paper's problem it was trained for.
        network: Its kind.
        looks: How many slices it is shown: 0 for the whole stack, -1 for as many as there are.
        views: 1 green, 2 left and right.
        size: Rows and columns of a patch.
        dioptres: Its grid.
        pixels: What a pixel is, in words.
        decision: How its answer is read: "mode" or "median".
        recipe: How it was trained.
        lineage: What it came from: hashes of its weights and of the stores that it was trained on, and the
            same of every earlier run that it built on.
        validation: What its last validation found.
        version: Of dioptre, when it was exported.
        figures: What it was worth on patches that it had not seen: simulated and real ones, by name.
        layout: Of this card.
    """

    problem: str
    network: str
    looks: int
    views: int
    size: int
    dioptres: tuple[float | None, ...]
    pixels: str
    decision: str
    recipe: Mapping[str, Any]
    lineage: Mapping[str, Any]
    validation: Mapping[str, float]
    version: str
    figures: Mapping[str, float] = field(default_factory=dict)
    layout: int = LAYOUT

    def to_json(self) -> str:
        """Returns the card as it stands in the file."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Card":
        """Returns the card that `to_json` wrote.

        Raises:
            NetworkError: If it is none.
        """
        if len(text) > LONGEST:
            raise NetworkError(f"its card has {len(text)} characters, more than {LONGEST}")
        try:
            entries = json.loads(text)
        except (RecursionError, ValueError) as error:
            raise NetworkError(f"its card is no JSON: {error}") from None
        layout = entries.get("layout") if isinstance(entries, dict) else None
        if layout != LAYOUT:
            raise NetworkError(f"its card has layout {layout}, but this version of dioptre reads {LAYOUT}")
        unknown = sorted(entries.keys() - cls.__dataclass_fields__.keys())
        if unknown:
            raise NetworkError(f"its card has the unknown entry {unknown[0]!r}")
        missing = sorted(cls.__dataclass_fields__.keys() - entries.keys() - {"figures"})
        if missing:
            raise NetworkError(f"its card has no entry {missing[0]!r}")
        _check(entries)
        return cls(**{**entries, "dioptres": tuple(entries["dioptres"])})


def _check(entries: Mapping[str, Any]) -> None:
    """Raises NetworkError for the first entry of a card that cannot be."""
    for name in ("problem", "network", "pixels", "version"):
        _need(entries, name, isinstance(entries[name], str), "text")
    for name in ("recipe", "lineage", "validation", "figures"):
        _need(entries, name, isinstance(entries.get(name, {}), dict), "an object")
    ladder = entries["dioptres"]
    rung = isinstance(ladder, list) and 2 <= len(ladder) <= MOST_POSITIONS
    _need(entries, "dioptres", rung, f"2 to {MOST_POSITIONS} positions")
    FocusGrid.from_json(ladder).need_far_to_near()
    _need_whole(entries, "views", 1, 2)
    _need_whole(entries, "size", 1, LARGEST)
    _need_whole(entries, "looks", ANY, len(ladder))
    _need(entries, "decision", entries["decision"] in list(Decision), f"one of {', '.join(Decision)}")
    for name in ("validation", "figures"):
        numbers = entries.get(name, {}).values()
        _need(entries, name, all(_is_number(one) for one in numbers), "finite numbers")


def _need(entries: Mapping[str, Any], name: str, holds: bool, expected: str) -> None:
    if not holds:
        found = repr(entries[name])
        raise NetworkError(f"the {name} of its card is {expected}, not {found[:60]}")


def _need_whole(entries: Mapping[str, Any], name: str, least: int, most: int) -> None:
    value = entries[name]
    holds = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    _need(entries, name, holds, f"a whole number in {least}..{most}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
