"""The command line. A frozen dataclass is a command's configuration, its help text and its flags.

Exit codes: 0 done (for `focus` and `run`: focused), 1 uncertain or failed, or for `verify` changed (why, on
stderr), 2 bad input, said in one sentence on stderr, 70 a fault of dioptre's own, with its traceback, 130
stopped by Ctrl-C, 141 nobody reads the output any more. With `--json`, stdout holds JSON and nothing else.

A command's module is imported when the command is run, and everything heavy inside the function that needs
it, so that `dioptre --help` is immediate.
"""

import os
import sys
import traceback
from collections.abc import Sequence

from dioptre import __version__
from dioptre.cli.commands import COMMANDS, overview
from dioptre.cli.console import BAD_INPUT, DONE, FAULT, NO_READER, STOPPED, did_you_mean
from dioptre.cli.foreign import keep_out_foreign_lines, last_lines
from dioptre.cli.interrupts import interrupted, remember_interrupts
from dioptre.cli.streams import one_line, open_closed_streams, plain_streams
from dioptre.errors import DioptreError, InputError

HELP = ("-h", "--help")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    with plain_streams():
        return _main(sys.argv[1:] if argv is None else list(argv))


def _main(argv: Sequence[str]) -> int:
    """Runs the command line; whatever ends it is an exit code."""
    try:
        try:
            return _run(argv)
        finally:
            sys.stdout.flush()  # or a broken pipe shows only when Python has ended
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still in its buffer
        return NO_READER
    except KeyboardInterrupt:
        return _stopped()
    except Exception as error:
        return _stopped() if interrupted() else _failed(error)


def _stopped() -> int:
    sys.stderr.write("dioptre: stopped\n")
    return STOPPED


def _failed(error: Exception) -> int:
    """Says what went wrong, and returns whose fault it is."""
    if isinstance(error, DioptreError | OSError):
        sys.stderr.write(f"dioptre: {one_line(_sentence(error))}\n")
        return BAD_INPUT
    if isinstance(error, MemoryError):
        sys.stderr.write(f"dioptre: the memory of this machine does not suffice: {one_line(str(error))}\n")
        return BAD_INPUT
    traceback.print_exception(error)
    sys.stderr.write("dioptre: this is a fault in dioptre; please report it with the lines above\n")
    return FAULT


def _run(argv: Sequence[str]) -> int:
    if not argv:
        sys.stderr.write(overview())
        return BAD_INPUT
    name, *rest = argv
    if name in HELP:
        sys.stdout.write(overview())
        return DONE
    if name == "--version":
        sys.stdout.write(f"dioptre {__version__}\n")
        return DONE
    if name not in COMMANDS:
        raise InputError(f"there is no command {name!r}{did_you_mean(name, COMMANDS)}")
    config, run = COMMANDS[name].load()
    from dioptre.cli.flags import explain, parse  # noqa: PLC0415

    before_paths = rest[: rest.index("--")] if "--" in rest else rest
    if set(HELP) & set(before_paths):
        sys.stdout.write(explain(name, config))
        return DONE
    return run(parse(name, config, rest))


def _sentence(error: Exception) -> str:
    """Returns the message of an error, with its file if it has one."""
    if isinstance(error, OSError) and not isinstance(error, DioptreError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def entry() -> None:
    """Leaves Python with the exit code of `main`."""
    open_closed_streams()
    if sys.argv[1:2] == ["train"]:
        from dioptre.cli.train import calm_the_allocator  # noqa: PLC0415

        calm_the_allocator()
    with keep_out_foreign_lines() as sink, remember_interrupts():
        code = main()
        if code == FAULT:
            sys.stderr.write(last_lines(sink))
    sys.exit(code)
