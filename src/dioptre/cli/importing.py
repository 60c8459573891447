"""`dioptre import`: a store of labelled patches from the published data set, or from own captures."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from dioptre.cli.console import progress
from dioptre.errors import InputError


@dataclass(frozen=True)
class Importing:
    """Write a store of labelled patches from captures on disk (docs/data.md).

    SRC is the published data set: its root, one of its folders trainN or test, an archive, or a folder of
    archives, which are not unpacked. Or it is a folder of own captures with a capture.toml each. A run that
    was stopped goes on where it was.
    """

    source: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SRC")]
    """What to import; with --check, the store to check."""

    out: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")] = None
    """Folder of the store."""

    cameras: Annotated[str, tyro.conf.arg(metavar="CAMERA,...")] = "center"
    """Cameras of the published rig: center, left, right, top, bottom."""

    pd: Literal["raw", "up", "auto"] = "auto"
    """Published frames: native (raw), upsampled (up), or whichever is there. Both give the same patches."""

    min_depth: float = 0.1
    """Distance of the published depth code 0, in metres."""

    max_depth: float = 100.0
    """Distance of the published depth code 255, in metres."""

    confidence: float = 0.99
    """Least median confidence of a patch that is kept."""

    rotate: Literal["ccw", "cw"] = "ccw"
    """Which way the published portrait files are turned to landscape; --check tells if it is right."""

    validation: Annotated[str, tyro.conf.arg(metavar="FRACTION|SCENE,...")] = ""
    """Training scenes to keep for validation: a fraction such as 0.1, or names. Test scenes are official."""

    on_error: Literal["skip", "stop"] = "skip"
    """Leave out captures that cannot be read, and list them; or stop at the first. A full disk stops."""

    workers: int = 0
    """Captures (of archives: frames) decoded at a time; 0 for one a core."""

    check: bool = False
    """Do not import: tell whether units, order and axes of the store SRC are right."""

    json: bool = False
    """Print the summary as JSON."""


def run_import(config: Importing) -> int:
    """Writes a store of labelled patches, or checks one."""
    if config.check:
        return _check(config)
    if config.out is None:
        raise InputError("import needs a source and a folder for the store: dioptre import SRC OUT")
    if config.workers < 0:
        raise InputError(f"--workers is positive, or 0 for one a core, not {config.workers}")
    from dioptre.methods.measure import workers  # noqa: PLC0415
    from dioptre.pipeline.importing import Import, import_captures  # noqa: PLC0415

    settings = Import(
        cameras=tuple(name.strip() for name in config.cameras.split(",") if name.strip()),
        pd=config.pd,
        min_depth_m=config.min_depth,
        max_depth_m=config.max_depth,
        confidence=config.confidence,
        rotate=config.rotate,
        validation=config.validation,
        on_error=config.on_error,
    )
    with progress("importing", quiet=config.json) as moved:
        summary = import_captures(config.source, config.out, settings, config.workers or workers(), moved)
    if config.json:
        sys.stdout.write(json.dumps(summary, indent=2) + "\n")
    else:
        _print_summary(summary, config.out)
    return 0


def _check(config: Importing) -> int:
    if config.out is not None:
        raise InputError(f"--check takes one store, not {config.source} and {config.out}")
    from dioptre.cli.checking import run_check  # noqa: PLC0415

    return run_check(config.source, config.json)


def _print_summary(summary: Mapping[str, Any], out: Path) -> None:
    """Prints how much was kept to stdout, what is wrong to stderr."""
    for split, found in summary["splits"].items():
        paper = f"; the paper kept {found['paper']:.0%}" if found["paper"] else ""
        sys.stdout.write(
            f"{split}: {found['kept']} of {found['patches']} patches kept ({found['fraction']:.1%}{paper}), "
            f"captures: {found['captures']}\n"
        )
    kept = sum(found["kept"] for found in summary["splits"].values())
    sys.stdout.write(f"wrote {kept} patches to {out}\n")
    for one in summary["skipped"]:
        sys.stderr.write(f"left out: {one['reason']}\n")
    if summary["without_patches"]:
        names = ", ".join(summary["without_patches"])
        sys.stderr.write(f"no patch with enough confidence: {names}\n")
    for warning in summary["warnings"]:
        sys.stderr.write(f"warning: {warning}\n")
