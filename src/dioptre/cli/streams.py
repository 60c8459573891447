"""What reaches the terminal: every text passes here, whoever wrote it and wherever it came from.

Names of files, of channels and of whatever else a stranger may call things can hold letters that a terminal
obeys: they are escaped. A terminal may have no block characters, or no micro sign: plain letters stand for
them. So no text is refused by a stream. Who draws in colour (`cli.console.open_console`) escapes what it
draws itself, and writes to `letters`.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

KEPT: Final = "\n\t"  # that are no printable letters
PLAIN: Final = str.maketrans("▁▂▃▄▅▆▇█·…×–µμ", "_.-=+*#@..x-uu")  # what stands for a letter


def escaped(text: str, kept: str = KEPT) -> str:
    """Returns a text with letters that a terminal would obey escaped: names may hold anything."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in kept else _escape(one) for one in text)


def one_line(text: str) -> str:
    """Returns a text as one line that a terminal shows as it is."""
    return escaped(text, kept="")


def lettered(text: str, encoding: str | None) -> str:
    """Returns a text in letters that an encoding has: a plain one, or an escape, for each that it has not."""
    encoding = encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(_encodable(one, encoding) for one in text)
    return text


def _encodable(letter: str, encoding: str) -> str:
    for one in (letter, letter.translate(PLAIN)):
        with suppress(UnicodeEncodeError):
            one.encode(encoding)
            return one
    return _escape(letter)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape", "backslashreplace").decode()


class LetteredStream:
    """A stream that takes any text; what it has no letters for is written in plain ones.

    Args:
        stream: Where the text goes.
        heard: Whether it is an error that nobody reads it any more.
    """

    def __init__(self, stream: Any, heard: bool) -> None:
        self.stream, self.heard = stream, heard

    def write(self, text: str) -> int:
        """Writes a text."""
        return self._heard(lambda: self.stream.write(lettered(text, self.stream.encoding)), len(text))

    def flush(self) -> None:
        """Writes what waits in a buffer."""
        self._heard(self.stream.flush, None)

    def _heard(self, do: Any, otherwise: Any) -> Any:
        try:
            return do()
        except OSError:
            if self.heard:
                raise
            return otherwise

    def __getattr__(self, name: str) -> Any:
        """Returns whatever else a stream has."""
        return getattr(self.stream, name)


class PlainStream(LetteredStream):
    """A stream on which letters that a terminal would obey are escaped, too."""

    @property
    def letters(self) -> LetteredStream:
        """The stream for whoever draws in colour."""
        return LetteredStream(self.stream, self.heard)

    def write(self, text: str) -> int:
        """Writes a text."""
        return super().write(escaped(text))


@contextmanager
def plain_streams() -> Iterator[None]:
    """Lets what is printed pass the door; nothing fails because nobody reads what is said on stderr."""
    before = sys.stdout, sys.stderr
    plain: Any = PlainStream(before[0], heard=True), PlainStream(before[1], heard=False)
    sys.stdout, sys.stderr = plain
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def open_closed_streams() -> None:
    """Opens streams that were closed when Python began, unread: or else a file gets their number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)  # which takes the lowest number
        if getattr(sys, name) is None:
            stream = os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)
            setattr(sys, name, stream)
