"""The fields of a protocol buffer, which ONNX files are, read without making anything of them.

A message is a row of fields, each a number, a kind and a value. A value is a whole number, or bytes: text, or
a message again. What does not follow the rules is refused, never skipped: whatever is not understood here
might be understood by who reads the file next.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from dioptre.errors import NetworkError

MOST_FIELDS: Final = 400_000  # that are looked at: the network of ours with most has 7,400
VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5  # kinds of fields
LARGEST_TAG: Final = 1 << 32


class Field(NamedTuple):
    """One field.

    Attributes:
        number: Which one it is.
        value: Of a whole number; 0 of all others.
        begin: Where its bytes begin.
        end: Where they end.
    """

    number: int
    value: int
    begin: int
    end: int


class Message:
    """A protocol buffer whose fields are looked at, up to a number of them.

    Args:
        content: Its bytes.
    """

    def __init__(self, content: bytes) -> None:
        self.content, self.left = content, MOST_FIELDS

    def fields(self, begin: int = 0, end: int | None = None) -> Iterator[Field]:
        """Yields the fields of the message between two bytes, or of all.

        Raises:
            NetworkError: If there is something else, or too much of it.
        """
        at, end = begin, len(self.content) if end is None else end
        while at < end:
            self.left -= 1
            if self.left < 0:
                raise NetworkError(f"it has more than {MOST_FIELDS} entries")
            tag, first = self._varint(at, end)
            number, kind = tag >> 3, tag & 7
            value, size = 0, {FIXED_32: 4, FIXED_64: 8}.get(kind, 0)
            if kind == VARINT:
                value, first = self._varint(first, end)
            elif kind == BYTES:
                size, first = self._varint(first, end)
            if not number or tag >= LARGEST_TAG or kind not in (VARINT, FIXED_32, FIXED_64, BYTES):
                raise NetworkError(f"it is no ONNX file, or damaged at byte {at}")
            if first + size > end:
                raise NetworkError(f"it is cut short, or damaged at byte {at}")
            yield Field(number, value, first, first + size)
            at = first + size

    def inner(self, number: int, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        """Yields where all fields of a number begin and end."""
        return ((one.begin, one.end) for one in self.fields(begin, end) if one.number == number)

    def text(self, field: Field) -> str:
        """Returns the bytes of a field as text."""
        return self.content[field.begin : field.end].decode("utf-8", "replace")

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        """Returns a number and where it ends."""
        value, shift, begin = 0, 0, at
        while at < end and shift < 70:
            byte = self.content[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at
        raise NetworkError(f"it is cut short, or damaged at byte {begin}")
