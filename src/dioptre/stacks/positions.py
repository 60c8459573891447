"""Positions: numbers that tell where the lens was at each slice, in whatever unit the user has.

They come from the file names, a list, a start and a step, or a file. This module does not know what they
mean, nor which end of a stack is far.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from dioptre.errors import StackFileError
from dioptre.resources import read_text
from dioptre.stacks.decoding import PICTURE_SUFFIXES
from dioptre.stacks.filenames import NUMBER

POSITION_FORMS = (
    'the word "names", a list such as 0.2,0.4,0.6, a start:step such as 0:0.5, or a file of numbers'
)

DECIMALS = 12  # 3.3 less 33 times 0.1 is 0

Positions = Float[np.ndarray, "n"]


def read_positions(text: str, names: Sequence[str]) -> Positions:
    """Returns where the lens was at each slice, as the user said it.

    Args:
        text: "names" for the numbers in the names; "0.2,0.4,0.6", one for each slice; "0:0.5" for a start
            and a step; or the path of a text or CSV file with a number on each line, or a name and a
            number, which then may be in any order. A header line, empty lines and lines that begin with
            # do not count.
        names: The names of the slices.

    Raises:
        StackFileError: If that does not give one finite number for each slice, all different.
    """
    if text.strip() == "names":
        return positions_from_names(names)
    listed = [_to_number(item) for item in text.split(",")]
    if None not in listed:
        return _check_positions(f"the list {text}", [item for item in listed if item is not None], names)
    start, _, step = (_to_number(item) for item in text.partition(":"))
    if start is not None and step is not None:
        steps = [round(start + step * at, DECIMALS) for at in range(len(names))]
        return _check_positions(f"start:step {text}", steps, names)
    return _positions_from_file(Path(text), names)


def positions_from_names(names: Sequence[str]) -> Positions:
    """Returns the number in each name that varies from slice to slice: IMG_00.198.jpg gives 0.198.

    Raises:
        StackFileError: If a name has no number, if more than one of its numbers varies, or if two
            slices have the same.
    """
    numbers = [_numbers_in(name) for name in names]
    for name, found in zip(names, numbers, strict=True):
        if not found:
            raise StackFileError(f"the name {name} has no number to take a position from")
        if len(found) != len(numbers[0]):
            raise StackFileError(
                f"the names {names[0]} and {name} have {len(numbers[0])} and {len(found)} numbers: "
                "it is not clear which one is the position"
            )
    fields = list(zip(*numbers, strict=True))
    varying = [field for field in fields if len(set(field)) > 1] if len(names) > 1 else fields
    if len(varying) != 1:
        raise StackFileError(
            f"{len(varying)} numbers vary between the names ({', '.join(names[:2])}, ...): "
            "just one, the position, must"
        )
    return _check_positions("the file names", varying[0], names)


def _numbers_in(name: str) -> list[float]:
    """Returns the numbers of a name without its ending: .198 in IMG_00.198 is no ending."""
    ending = Path(name).suffix
    stem = name.removesuffix(ending) if ending.lower() in PICTURE_SUFFIXES else name
    return [float(number) for number in NUMBER.findall(stem)]


def _to_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _check_positions(told_by: str, positions: Sequence[float], names: Sequence[str]) -> Positions:
    """Returns the positions as an array, if there is a different finite one for each slice."""
    if len(positions) != len(names):
        raise StackFileError(f"{told_by}: {len(positions)} positions for {len(names)} slices")
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
    if not named:
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
    except (OSError, ValueError) as error:
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
