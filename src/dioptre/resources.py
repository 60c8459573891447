"""How much memory a file from a stranger may ask for: sizes are read, and refused, before memory is taken.

The limit is half of the machine's memory, or what the environment variable DIOPTRE_MAX_GIGABYTES says, which
`--max-gigabytes` sets: worker processes see it too.
"""

import os
from pathlib import Path

from dioptre.errors import DioptreError, FileError, InputError

LIMIT = "DIOPTRE_MAX_GIGABYTES"
ASSUMED = 8e9  # bytes of a machine that does not tell
GIGA = 1e9
MOST_SHOWN = 10**300


def set_limit(gigabytes: float | None) -> None:
    """Sets the limit for this process and those that it starts; None leaves it as it is.

    Raises:
        InputError: If it is not a positive number.
    """
    if gigabytes is None:
        return
    if not gigabytes > 0:
        raise InputError(f"--max-gigabytes is a positive number, not {gigabytes:g}")
    os.environ[LIMIT] = repr(float(gigabytes))


def largest_bytes() -> float:
    """Returns how many bytes what a file holds may take."""
    try:
        given = float(os.environ.get(LIMIT, ""))
    except ValueError:
        given = 0.0
    return given * GIGA if given > 0 else machine_bytes() / 2


def machine_bytes() -> float:
    """Returns the memory of this machine."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not on every system
        return ASSUMED


def refuse_larger(name: str | Path, size: int, error: type[DioptreError] = FileError) -> None:
    """Raises if what a file holds takes more memory than the limit.

    Args:
        name: The file.
        size: Bytes that it would take.
        error: What to raise.
    """
    if size > (limit := largest_bytes()):
        shown = min(size, MOST_SHOWN)  # a whole number may be larger than any float
        raise error(
            f"{name} would take {shown / GIGA:.3g} GB of memory, more than {limit / GIGA:.3g} GB: "
            f"--max-gigabytes allows more, or {LIMIT}"
        )
