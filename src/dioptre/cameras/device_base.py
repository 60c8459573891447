"""What adapters that hold hardware share.

Closing, stopping from another thread, what drivers raise, and what users say: addresses.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event
from types import TracebackType
from typing import Final, TypeVar
from urllib.parse import parse_qsl

from dioptre.errors import CameraError, DioptreError, InputError

POSITIONS: Final = 1001  # over a lens's whole way, where its user does not say which

H = TypeVar("H", bound="Held")


class Held(ABC):
    """Hardware that is closed by leaving its context."""

    @abstractmethod
    def close(self) -> None:
        """Releases the hardware."""

    def __enter__(self: H) -> H:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Stop:
    """A request to stop from another thread, which a capture polls as often as it can."""

    def __init__(self) -> None:
        self._asked = Event()

    def ask(self) -> None:
        """Requests that a capture stop."""
        self._asked.set()

    def begin(self) -> None:
        """Forgets a request that came while nothing ran."""
        self._asked.clear()

    @property
    def is_asked(self) -> bool:
        """Whether to stop."""
        return self._asked.is_set()

    def check(self) -> None:
        """Raises CameraError if it is time to stop."""
        if self.is_asked:
            raise CameraError("the capture was aborted")

    def pause(self, seconds: float) -> None:
        """Waits, and raises CameraError as soon as it is time to stop."""
        self._asked.wait(seconds)
        self.check()


@contextmanager
def translated(who: str, *kinds: type[Exception]) -> Iterator[None]:
    """Turns what a driver raises into a CameraError.

    Args:
        who: Whose fault it is.
        kinds: What it raises beside RuntimeError, ValueError and OSError.
    """
    caught: tuple[type[Exception], ...] = (RuntimeError, ValueError, OSError, *kinds)
    try:
        yield
    except DioptreError:
        raise
    except caught as error:
        raise CameraError(f"{who}: {' '.join(str(error).split())}") from error


def split_address(address: str, known: Mapping[str, float], form: str) -> tuple[str, dict[str, float]]:
    """Returns the part of an address before its `?`, and the numbers after it by name.

    Args:
        address: Such as `demo?step=2`.
        known: The names that may be given, and what they are by default.
        form: What an address looks like, for the error.

    Raises:
        InputError: If another name is given, or something that is not a number.
    """
    place, _, query = address.partition("?")
    try:
        given = {key: float(value) for key, value in parse_qsl(query, strict_parsing=True)} if query else {}
    except ValueError:
        given = {"": math.nan}
    if given.keys() - known.keys():
        raise InputError(f"such a device is {form}, not {address!r}")
    return place, {**known, **given}


def to_number(place: str, form: str) -> int:
    """Returns the number of the camera that an address names; 0, the first, by default.

    Raises:
        InputError: If that is no number.
    """
    if not (place or "0").isdecimal():
        raise InputError(f"such a device is {form}, with a whole number, not {place!r}")
    return int(place or "0")
