"""How much memory a file from a stranger may ask for, and how many cores a process may use.

Sizes are read, and refused, before memory is taken. The limit is half of the machine's memory, or what the
environment variable DIOPTRE_MAX_GIGABYTES says, which `--max-gigabytes` sets: worker processes see it too.
OpenCV refuses pictures by itself, but it learns how large they may be only while it is imported.
"""

import errno
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Final

from dioptre.errors import DioptreError, FileError, InputError

LIMIT = "DIOPTRE_MAX_GIGABYTES"
THREADS: Final = "DIOPTRE_THREADS"  # environment variable: how many cores a process may use
PIXELS: Final = "OPENCV_IO_MAX_IMAGE_PIXELS"  # environment variable: what OpenCV decodes at most
PIXEL_BYTES = 16  # that OpenCV takes for a pixel of 16-bit RGBA while it is decoded; of AVIF it is 17
OPENCV_PIXELS = 1 << 30  # what it decodes if nothing is said
ASSUMED = 8e9  # bytes of a machine that does not tell
MOST_TEXT = 64_000_000  # bytes of a table, a list or a description
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
    limit_opencv()


def limit_opencv() -> None:
    """Tells OpenCV the limit, unless its user has told it one, or it is too late: it is imported already."""
    if "cv2" not in sys.modules and (LIMIT in os.environ or PIXELS not in os.environ):
        os.environ[PIXELS] = str(max(1, int(min(largest_bytes(), sys.maxsize) / PIXEL_BYTES)))


def why_opencv_refused(name: str | Path, error: Exception) -> str | None:
    """Returns in a sentence that a picture is larger than OpenCV may decode; None if its error is another."""
    if "CV_IO_MAX_IMAGE_PIXELS" not in str(error):
        return None
    return (
        f"{name} has more pixels than OpenCV was told to decode, {os.environ.get(PIXELS, OPENCV_PIXELS)}: "
        f"--max-gigabytes allows more, or {LIMIT}"
    )


def largest_bytes() -> float:
    """Returns the limit of memory for what a file holds, in bytes."""
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


def regular(path: Path) -> Path:
    """Returns a path that is about to be opened: of a pipe or a device reading may never end, nor begin.

    Raises:
        OSError: If it leads to one.
    """
    kind = path.stat().st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
    return path


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Returns the text of a file within the limit of size; also of a pipe, which does not tell its size.

    Raises:
        FileError: If it is larger than any such file.
        OSError: If it cannot be read.
        UnicodeDecodeError: If it is no text.
    """
    with path.open("rb") as file:
        content = file.read(MOST_TEXT + 1)
    if len(content) > MOST_TEXT:
        raise FileError(f"{path} has more than {MOST_TEXT / 1e6:.0f} MB: it is no text of ours")
    return content.decode(encoding)


def workers() -> int:
    """Returns the number of cores that this process may use."""
    told = os.environ.get(THREADS, "")
    if told:
        if not told.isdecimal() or int(told) < 1:
            raise InputError(f"{THREADS} is a positive number of threads, not {told!r}")
        return int(told)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def threads(count: int) -> ThreadPoolExecutor:
    """Returns threads that wait for work; starting new ones for every call costs as much as a measure."""
    return ThreadPoolExecutor(count, thread_name_prefix="dioptre")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=threads.cache_clear)  # threads do not survive a fork


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the content of a TOML file.

    Raises:
        FileError: If it is not a TOML file.
        OSError: If it cannot be read.
    """
    import tomllib  # noqa: PLC0415 (start-up time)

    try:
        return tomllib.loads(read_text(Path(path)))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise FileError(f"{path} is not a TOML file: {error}") from None
