"""The command line. A frozen dataclass is a command's configuration, its help text and its flags.

Exit codes: 0 done (for `focus`: focused), 1 not focused (the reason is on stderr), 2 bad input, said in one
sentence on stderr. With `--json`, stdout holds JSON and nothing else.

Everything heavy is imported inside the command that needs it, so that `dioptre --help` is immediate.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import tyro

from dioptre import __version__
from dioptre.cli.calibrate import Calibrate, run_calibrate
from dioptre.cli.console import BAD_INPUT
from dioptre.cli.demo import Demo, run_demo
from dioptre.cli.export import Export, run_export
from dioptre.cli.focus import Focus, run_focus
from dioptre.cli.importing import Importing, run_import
from dioptre.cli.methods import Methods, run_methods
from dioptre.cli.predict import Predict, run_predict
from dioptre.cli.register import Register, run_register
from dioptre.cli.report import Report, run_report
from dioptre.cli.simulate import Simulate, run_simulate
from dioptre.cli.train import Train, calm_the_allocator, run_train


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv == ["--version"]:
        sys.stdout.write(f"dioptre {__version__}\n")
        return 0
    commands: dict[type, Callable[[Any], int]] = {
        Focus: run_focus,
        Methods: run_methods,
        Simulate: run_simulate,
        Importing: run_import,
        Register: run_register,
        Train: run_train,
        Export: run_export,
        Calibrate: run_calibrate,
        Predict: run_predict,
        Report: run_report,
        Demo: run_demo,
    }
    config = tyro.cli(
        Annotated[Focus, tyro.conf.subcommand("focus")]
        | Annotated[Methods, tyro.conf.subcommand("methods")]
        | Annotated[Simulate, tyro.conf.subcommand("simulate")]
        | Annotated[Importing, tyro.conf.subcommand("import")]
        | Annotated[Register, tyro.conf.subcommand("register")]
        | Annotated[Train, tyro.conf.subcommand("train")]
        | Annotated[Export, tyro.conf.subcommand("export")]
        | Annotated[Calibrate, tyro.conf.subcommand("calibrate")]
        | Annotated[Predict, tyro.conf.subcommand("predict")]
        | Annotated[Report, tyro.conf.subcommand("report")]
        | Annotated[Demo, tyro.conf.subcommand("demo")],
        prog="dioptre",
        description="Learned autofocus: from what a camera sees, where the lens must go.",
        args=argv,
        config=(tyro.conf.FlagCreatePairsOff,),
    )
    try:
        return commands[type(config)](config)
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        sys.stderr.write(f"dioptre: {said}\n")
        return BAD_INPUT
    except (ValueError, ImportError) as error:
        sys.stderr.write(f"dioptre: {error}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("dioptre: stopped\n")
        return 130


def entry() -> None:
    """Leaves Python with the exit code of `main`."""
    if sys.argv[1:2] == ["train"]:
        calm_the_allocator()
    sys.exit(main())
