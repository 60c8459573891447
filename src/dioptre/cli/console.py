"""What commands share: exit codes, the console, progress bars."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

DONE = FOCUSED = 0
NOT_FOCUSED = 1
BAD_INPUT = 2
FAULT = 70  # of dioptre's own
STOPPED = 130  # by Ctrl-C
NO_READER = 141  # whoever read the output has gone, such as `head`: what a shell says of SIGPIPE


def open_console() -> "Console":
    """Returns the console for tables on stdout."""
    from rich.console import Console  # noqa: PLC0415

    class PlainConsole(Console):
        """A console that leaves it to the command line what a broken pipe means."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return PlainConsole(highlight=False)


@contextmanager
def progress(what: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yields a function (done, total) that moves a bar on stderr; nothing is shown off a terminal."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(
        console=Console(stderr=True), transient=True, disable=quiet or not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
