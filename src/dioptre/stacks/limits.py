"""How long files of words and numbers may be; and the limit of memory, which is `dioptre.resources`'s."""

from pathlib import Path

from dioptre.errors import FileError
from dioptre.resources import LIMIT, largest_bytes, machine_bytes, refuse_larger, set_limit

__all__ = ["LIMIT", "largest_bytes", "machine_bytes", "read_text", "refuse_larger", "set_limit"]

MOST_TEXT = 64_000_000  # bytes of a table, a list or a description


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Returns what a file of words and numbers holds; also of a pipe, which does not tell its size.

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
