"""What commands share: exit codes, the console, progress bars."""

import difflib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dioptre.cli.streams import PlainStream, escaped, one_line
from dioptre.errors import FileError

if TYPE_CHECKING:
    from rich.console import Console

DONE = FOCUSED = 0
NOT_FOCUSED = CHANGED = 1
BAD_INPUT = 2
FAULT = 70  # of dioptre's own
STOPPED = 130  # by Ctrl-C
LINES_APART_S = 30.0  # of progress, off a terminal
SIZES = ("COLUMNS", "LINES")  # environment variables: of the terminal; 0 where nobody knows
NO_READER = 141  # whoever read the output has gone, such as `head`: what a shell says of SIGPIPE


def refuse_overwriting(path: Path, overwrite: bool, makes_folder: bool = False) -> None:
    """Raises FileError if a file to write is there already, whoever wrote it, or its folder is not."""
    if path.is_dir():
        raise FileError(f"{path} is a folder, not a file to write")
    if not makes_folder and not path.parent.is_dir():
        raise FileError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.exists() and not overwrite:
        raise FileError(f"{path} is there already: --overwrite replaces it")


def did_you_mean(word: str, known: Iterable[str], help_command: str = "dioptre --help") -> str:
    """Returns the end of a sentence about an unknown word: the word that is spelt most like it, if any."""
    bare = {one.lstrip("-"): one for one in known}  # hyphens that all have are no likeness
    typed = word.lstrip("-")
    near = [one for one in bare if sorted(one) == sorted(typed)]  # letters exchanged, as in --rio
    near = near or difflib.get_close_matches(typed, list(bare), n=1)
    return f"; did you mean {bare[near[0]]!r}?" if near else f": '{help_command}' lists them"


def open_console(stderr: bool = False) -> "Console":
    """Returns the console for tables on stdout, or for what is drawn on stderr."""
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    class PlainConsole(Console):
        """A console that raises BrokenPipeError, which the command line handles, and draws letters only."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

        def render_str(self, text: str, **how: Any) -> Text:
            return super().render_str(escaped(text), **how)

    stream: Any = sys.stderr if stderr else sys.stdout
    drawn: Any = stream.letters if isinstance(stream, PlainStream) else stream
    return PlainConsole(
        highlight=False,
        file=drawn,
        _environ={name: value for name, value in os.environ.items() if name not in SIZES or _is_size(value)},
    )


def _is_size(value: str) -> bool:
    return value.isdecimal() and int(value) > 0


def to_line(record: Any, indent: int | None = None) -> str:
    """Returns a record as JSON that ends a line: numbers are finite, and null where they are not."""
    from dioptre.focusing.plain import to_plain  # noqa: PLC0415

    return json.dumps(to_plain(record), indent=indent, allow_nan=False) + "\n"


def print_json(record: Any, indent: int | None = None) -> None:
    """Prints a record as JSON."""
    sys.stdout.write(to_line(record, indent))


@contextmanager
def progress(what: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yields a function (done, total) that moves a bar on stderr; off a terminal, lines now and then."""
    if quiet:
        yield lambda _done, _total: None
        return
    if not sys.stderr.isatty():
        yield ProgressLines(what)
        return
    from rich.markup import escape  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=open_console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(one_line(what)), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def staged(moved: Callable[[int, int], None]) -> Callable[[str, int, int], None]:
    """Returns a function (stage, done, total) that moves a bar; each stage that begins is said on stderr."""
    seen: set[str] = set()

    def move(stage: str, done: int, total: int) -> None:
        if stage not in seen:
            seen.add(stage)
            sys.stderr.write(f"{stage} ...\n")
            sys.stderr.flush()
        moved(done, total)

    return move


class ProgressLines:
    """Says on stderr how far a job is, at most every half minute: for log files.

    Jobs may follow each other: if less is done than before, the next one has begun.

    Args:
        what: What is done.
        clock: Tells the time in seconds.
    """

    def __init__(self, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.what, self.clock = what, clock
        self.began = self.said = clock()
        self.before: int | None = None  # what an earlier run had done
        self.last = 0

    def __call__(self, done: int, total: int) -> None:
        """Says how much is done, of how much, if it is time to."""
        now = self.clock()
        if self.before is None:
            self.before = done
        elif done < self.last:
            self.before, self.began = done, now
        self.last = done
        if now - self.said < LINES_APART_S:
            return
        self.said = now
        rate = (done - self.before) / (now - self.began) if now > self.began else 0.0
        left = f", about {format_duration((total - done) / rate)} left" if rate > 0 else ""
        sys.stderr.write(f"{self.what}: {done} of {total}{left}\n")
        sys.stderr.flush()


def format_duration(seconds: float) -> str:
    """Returns a time as people say it: 40 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"
