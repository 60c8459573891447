"""`dioptre verify`: is what lies in a folder what was written?"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dioptre.cli.console import CHANGED, DONE, print_json, progress
from dioptre.cli.streams import one_line


@dataclass(frozen=True)
class Verify:
    """Say whether what lies in a folder, or a file, is what was written.

    Exit code 0: it is. 1: something has changed, or is missing (what, on stderr). 2: there is nothing of
    dioptre's, or it is not finished.

    Attributes:
        path: A store, a run, predictions, a report, a map, a folder of networks; a network (.onnx), a
            calibration or a camera (.toml).
        json: Print what was found as JSON.
    """

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
    json: bool = False


def run_verify(config: Verify) -> int:
    """Prints whether what lies there is what was written."""
    from dioptre.pipeline.verifying import verify  # noqa: PLC0415

    with progress("verifying", config.json) as moved:
        found = verify(config.path, moved)
    if config.json:
        print_json({"path": str(config.path), **found.to_json()})
    elif not found.faults:
        sys.stdout.write(f"{config.path}: {found.kind}, {found.parts} parts: all as written\n")
    for fault in found.faults:
        sys.stderr.write(f"{one_line(fault)}\n")
    for note in found.notes:
        sys.stderr.write(f"note: {one_line(note)}\n")
    return CHANGED if found.faults else DONE
