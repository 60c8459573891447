"""The command line. A frozen dataclass is a command's configuration, its help text and its flags.

Exit codes: 0 done (for `focus`: focused), 1 not focused, or for `verify` changed (why, on stderr), 2 bad
input, said in one sentence on stderr, 70 a fault of dioptre's own, with its traceback, 130 stopped by Ctrl-C,
141 nobody reads the output any more. With `--json`, stdout holds JSON and nothing else.

Everything heavy is imported inside the command that needs it, so that `dioptre --help` is immediate.
"""

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Union

import tyro

from dioptre import __version__
from dioptre.cli.calibrate import Calibrate, run_calibrate
from dioptre.cli.camera import MeasureCamera, run_camera
from dioptre.cli.console import BAD_INPUT, DONE, FAULT, NO_READER, STOPPED, one_line
from dioptre.cli.demo import Demo, run_demo
from dioptre.cli.export import Export, run_export
from dioptre.cli.focus import Focus, run_focus
from dioptre.cli.foreign import keep_out_foreign_lines, last_lines
from dioptre.cli.importing import ImportCaptures, run_import
from dioptre.cli.interrupts import interrupted, remember_interrupts
from dioptre.cli.lens import Record, RunLens, run_lens, run_record
from dioptre.cli.map import Map, run_map
from dioptre.cli.methods import Methods, run_methods
from dioptre.cli.predict import Predict, run_predict
from dioptre.cli.reconstruct import ReconstructCaptures, run_reconstruct
from dioptre.cli.register import Register, run_register
from dioptre.cli.report import Report, run_report
from dioptre.cli.simulate import Simulate, run_simulate
from dioptre.cli.train import Train, calm_the_allocator, run_train
from dioptre.cli.verify import Verify, run_verify
from dioptre.errors import DioptreError

COMMANDS: Mapping[str, tuple[type, Callable[[Any], int]]] = {
    "focus": (Focus, run_focus),
    "map": (Map, run_map),
    "run": (RunLens, run_lens),
    "record": (Record, run_record),
    "camera": (MeasureCamera, run_camera),
    "methods": (Methods, run_methods),
    "simulate": (Simulate, run_simulate),
    "reconstruct": (ReconstructCaptures, run_reconstruct),
    "import": (ImportCaptures, run_import),
    "register": (Register, run_register),
    "train": (Train, run_train),
    "export": (Export, run_export),
    "calibrate": (Calibrate, run_calibrate),
    "predict": (Predict, run_predict),
    "report": (Report, run_report),
    "verify": (Verify, run_verify),
    "demo": (Demo, run_demo),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code; tyro leaves with SystemExit for help and bad flags."""
    try:
        try:
            return _run(sys.argv[1:] if argv is None else list(argv))
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
    if argv == ["--version"]:
        sys.stdout.write(f"dioptre {__version__}\n")
        return DONE
    subcommands: Any = Union[  # noqa: UP007  # of a tuple
        tuple(Annotated[config, tyro.conf.subcommand(name)] for name, (config, _) in COMMANDS.items())
    ]
    given = tyro.cli(
        subcommands,
        prog="dioptre",
        description="Learned autofocus: from what a camera sees, where the lens must go.",
        args=argv,
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    return dict(COMMANDS.values())[type(given)](given)


def _sentence(error: Exception) -> str:
    """Returns what is wrong, with the file if there is one."""
    if isinstance(error, OSError) and not isinstance(error, DioptreError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def entry() -> None:
    """Leaves Python with the exit code of `main`."""
    if sys.argv[1:2] == ["train"]:
        calm_the_allocator()
    with keep_out_foreign_lines() as sink, remember_interrupts():
        try:
            code = main()
        except SystemExit as leaving:  # of help and bad flags
            code = leaving.code if isinstance(leaving.code, int) else BAD_INPUT
        if code == FAULT:
            sys.stderr.write(last_lines(sink))
    sys.exit(code)
