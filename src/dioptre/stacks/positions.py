"""Positions in words: where the lens was at each slice, in whatever unit the user has.

    0:0.5um        START:STEP, as many as there are slices
    0:5:245um      START:STEP:END, END included
    1,2,3um        one for each slice
    names:um       the numbers in the file names
    steps.csv:um   a file with a number on each line, or a name and a number

The unit may be left out, but of `names` only where the names tell positions themselves: by a unit, as
z_10um.tif does, or by decimals, as IMG_00.198.jpg. Whole numbers, as in frame1.jpg, mostly count pictures.
This module does not know what positions mean, nor which end of a stack is far.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from dioptre.errors import StackFileError
from dioptre.resources import read_text
from dioptre.stacks.decoding import PICTURE_SUFFIXES
from dioptre.stacks.filenames import SIGNED, USUAL, numerals_of

POSITION_FORMS: Final = (
    "a list such as 0.2,0.4,0.6, START:STEP or START:STEP:END such as 0:0.5um, the word names, or a file of "
    "numbers"
)
NAMES: Final = "names"
DECIMALS: Final = 12  # 3.3 less 33 times 0.1 is 0
MOST_POSITIONS: Final = 1_000_000
UNIT: Final = re.compile(r"(?P<numbers>[-+0-9.,:eE\s]*[0-9.])\s*(?P<unit>[^\W\d]\w*)")
# What else people write for a unit that means something here.
SPELLINGS: Final = {
    "µm": "um", "μm": "um", "micrometres": "um", "micrometers": "um", "microns": "um", "metres": "m",
    "meters": "m", "diopters": "dioptres", "dpt": "dioptres", "D": "dioptres", "slices": "slice",
}  # fmt: skip

UNITS_IN_NAMES: Final = ("um", "µm", "μm", "nm", "mm", "dioptres", "diopters", "dpt", "steps")
UNIT_IN_NAME: Final = rf"(?:({'|'.join(UNITS_IN_NAMES)})(?![^\W\d_]))?"

Positions = Float[np.ndarray, "n"]


def read_positions(text: str, names: Sequence[str]) -> tuple[Positions, str | None]:
    """Returns the position of each slice as the user gave it, and its unit; None without a unit.

    Args:
        text: As the module says. In a file, a header line, empty lines and lines that begin with # do not
            count, and lines with names may be in any order.
        names: The names of the slices; none of a lens, which has as many positions as are named.

    Raises:
        StackFileError: If that does not give one finite number for each slice, all different.
    """
    text = text.strip()
    if not text:
        raise StackFileError(f"positions are {POSITION_FORMS}, not an empty text")
    if (numbers := _numbers_of(text, names, text, missing=True)) is not None:
        return numbers, None
    found = UNIT.fullmatch(text)
    if found is not None:
        return _numbers_of(found["numbers"], names, text), SPELLINGS.get(found["unit"], found["unit"])
    place, _, unit = text.rpartition(":")
    if place and re.fullmatch(r"[^\W\d]\w*", unit) and not Path(text).exists():
        told = positions_from_names(names) if place == NAMES else _positions_from_file(Path(place), names)
        return told, SPELLINGS.get(unit, unit)
    return _positions_in_names(names) if text == NAMES else (_positions_from_file(Path(text), names), None)


def _positions_in_names(names: Sequence[str]) -> tuple[Positions, str | None]:
    """Returns the positions that names tell without being asked to, and their unit, if they name one.

    Raises:
        StackFileError: If the numbers may just as well count the pictures.
    """
    numbers, unit = _varying_numbers(names)
    if unit is None and not any("." in number for number in numbers):
        raise StackFileError(
            f"the whole numbers in the names ({', '.join(names[:2])}, ...) may only count the pictures: "
            "if they are positions, say their unit, such as names:um or names:dioptres"
        )
    return _check_positions("the file names", [float(one) for one in numbers], names), unit


def _numbers_of(text: str, names: Sequence[str], told: str, missing: bool = False) -> Any:
    """Returns the positions of a list or a range; None, if that may be, where the text is neither."""
    listed = [_to_number(item) for item in text.split(",")]
    if None not in listed:
        return _check_positions(f"the list {told}", [one for one in listed if one is not None], names)
    parts = [_to_number(item) for item in text.split(":")]
    if None in parts or not 2 <= len(parts) <= 3:
        if missing:
            return None
        raise StackFileError(f"positions are {POSITION_FORMS}, not {told!r}")
    start, step, *end = (one for one in parts if one is not None)
    if not end and not names:
        raise StackFileError(f"{told} does not say where the lens's way ends: START:STEP:END")
    many = _count(start, step, end[0], told) if end else len(names)
    return _check_positions(told, [round(start + step * at, DECIMALS) for at in range(many)], names)


def _count(start: float, step: float, end: float, told: str) -> int:
    """Returns the number of positions from START by STEP to END, END included."""
    steps = (end - start) / step if step else np.nan
    if not (0 <= steps < MOST_POSITIONS and abs(steps - round(steps)) < 1e-6):
        raise StackFileError(f"{told}: from {start:g} no whole number of steps of {step:g} leads to {end:g}")
    return round(steps) + 1


def positions_from_names(names: Sequence[str]) -> Positions:
    """Returns the number in each name that varies from slice to slice: IMG_00.198.jpg gives 0.198.

    Raises:
        StackFileError: If a name has no number, if more than one of its numbers varies, or if two
            slices have the same.
    """
    return _check_positions("the file names", [float(one) for one in _varying_numbers(names)[0]], names)


def _varying_numbers(names: Sequence[str]) -> tuple[list[str], str | None]:
    """Returns the number in each name that varies, as it is written, and the unit of all, if any."""
    if not names:
        raise StackFileError("there are no pictures whose names could tell positions")
    numerals = numerals_of(names)
    if numerals not in (USUAL, SIGNED):
        raise StackFileError(
            f"the numbers in the names ({', '.join(names[:2])}, ...) are hexadecimal, or have dots between "
            "whole numbers: they tell the order, and no positions"
        )
    number_in_name = re.compile(numerals.pattern.pattern + UNIT_IN_NAME, re.IGNORECASE)
    numbers = [_numbers_in(name, number_in_name) for name in names]
    for name, found in zip(names, numbers, strict=True):
        if not found:
            raise StackFileError(f"the name {name} has no number to take a position from")
        if len(found) != len(numbers[0]):
            raise StackFileError(
                f"the names {names[0]} and {name} have {len(numbers[0])} and {len(found)} numbers: "
                "it is not clear which one is the position"
            )
    fields = list(zip(*numbers, strict=True))
    varying = [field for field in fields if len({float(number) for number, _ in field}) > 1]
    varying = varying if len(names) > 1 else fields
    if len(varying) != 1:
        raise StackFileError(
            f"{len(varying)} numbers vary between the names ({', '.join(names[:2])}, ...): "
            "just one, the position, must"
        )
    units = {unit for _, unit in varying[0]}
    unit = units.pop() if len(units) == 1 else ""
    return [number for number, _ in varying[0]], SPELLINGS.get(unit, unit) or None


def _numbers_in(name: str, number_in_name: re.Pattern[str]) -> list[tuple[str, str]]:
    """Returns the numbers of a name without its ending, with their units; .198 in IMG_00.198 is no ending."""
    ending = Path(name).suffix
    stem = name.removesuffix(ending) if ending.lower() in PICTURE_SUFFIXES else name
    return [(number, unit.lower()) for number, unit in number_in_name.findall(stem)]


def _to_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _check_positions(told_by: str, positions: Sequence[float], names: Sequence[str]) -> Positions:
    """Returns the positions as an array, if there is a different finite one for each slice."""
    names = names or [f"{position:g}" for position in positions]
    if len(positions) != len(names):
        slices = "1 slice" if len(names) == 1 else f"{len(names)} slices"
        raise StackFileError(f"{told_by}: {len(positions)} positions for {slices}")
    owner: dict[float, str] = {}
    for name, position in zip(names, positions, strict=True):
        if not np.isfinite(position):
            raise StackFileError(f"{told_by}: the position of {name} is {position}, not a finite number")
        if position in owner:
            raise StackFileError(
                f"{told_by}: {owner[position]} and {name} have the same position, {position:g}"
            )
        owner[position] = name
    return np.array(positions, dtype=np.float64)


def _positions_from_file(path: Path, names: Sequence[str]) -> Positions:
    rows = _position_rows(path)
    named = {name for name, _ in rows if name}
    if not named or not names:
        return _check_positions(str(path), [number for _, number in rows], names)
    if len(named) != len(rows):
        raise StackFileError(f"{path} has lines without a name, or the same name twice")
    table = dict(rows)
    missing = [name for name in names if name not in table and Path(name).stem not in table]
    if missing:
        raise StackFileError(
            f"{path} has {len(names) - len(missing)} positions for {len(names)} slices: "
            f"{missing[0]} is not in it"
        )
    found = [table[name] if name in table else table[Path(name).stem] for name in names]
    return _check_positions(str(path), found, names)


def _position_rows(path: Path) -> list[tuple[str, float]]:
    """Returns (name, number) of each line of a file, the name empty where a line is just a number."""
    try:
        text = read_text(path, "utf-8-sig")
    except FileNotFoundError:
        raise StackFileError(f"there is no file {path}; positions are {POSITION_FORMS}") from None
    except OSError as error:
        raise StackFileError(f"{path} cannot be read as positions: {error.strerror}") from error
    except ValueError as error:
        raise StackFileError(f"{path} cannot be read as positions: {error}") from error
    rows: list[tuple[str, float]] = []
    lines = [(at, line.strip()) for at, line in enumerate(text.splitlines(), 1)]
    lines = [(at, line) for at, line in lines if line and not line.startswith("#")]
    for at, line in lines:
        name, number = _split_row(line)
        if number is not None:
            rows.append((name, number))
        elif (at, line) != lines[0]:  # the first may be a header
            raise StackFileError(f"line {at} of {path} is {line!r}, not a number, or a name and a number")
    return rows


def _split_row(line: str) -> tuple[str, float | None]:
    """Returns the name and the number of a line; no number for a line that has none."""
    separator = next((mark for mark in ("\t", ";", ",", " ") if mark in line), None)
    name, _, number = line.rpartition(separator) if separator else ("", "", line)
    return name.strip().strip('"'), _to_number(number.strip().strip('"'))
