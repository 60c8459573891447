"""Ctrl-C, also where it reaches Python inside of a library's callback, which makes another error of it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_CAME: list[int] = []  # signals; no lock, as a handler may come at any moment


def interrupted() -> bool:
    """Returns whether Ctrl-C came while it was remembered."""
    return bool(_CAME)


@contextmanager
def remember_interrupts() -> Iterator[None]:
    """Remembers a Ctrl-C besides raising it; nothing changes where Ctrl-C is handled already."""
    _CAME.clear()
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def raise_it(number: int, frame: FrameType | None) -> None:
        _CAME.append(number)
        signal.default_int_handler(number, frame)

    try:
        signal.signal(signal.SIGINT, raise_it)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
