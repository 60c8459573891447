"""`dioptre reconstruct`: poses, depth and confidence for captures of a rig."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dioptre.cli.console import DONE, print_json, progress
from dioptre.cli.streams import one_line
from dioptre.pipeline.settings import Reconstruct, Workers


@dataclass(frozen=True)
class ReconstructCaptures:
    """Reconstruct poses, depth and confidence from captures of five cameras in a cross.

    CAPTURES is a tree in the layout of the published data set (docs/data.md), such as `dioptre simulate
    --rig` writes. `dioptre import CAPTURES STORE --maps OUT` then makes labelled patches. A run that was
    stopped goes on where it was.

    Attributes:
        captures: Folder of the captures.
        out: Folder of depth, confidence, poses and pages.
        settings: How to reconstruct.
        workers: Who does it (a capture at a time each).
        json: Print the summary as JSON.
    """

    captures: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="CAPTURES")]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    settings: Annotated[Reconstruct, tyro.conf.OmitArgPrefixes]
    workers: Annotated[Workers, tyro.conf.OmitArgPrefixes]
    json: bool = False


def run_reconstruct(config: ReconstructCaptures) -> int:
    """Writes poses, depth and confidence."""
    from dioptre.pipeline.cluster import open_executor, shared_path  # noqa: PLC0415
    from dioptre.pipeline.reconstructing import reconstruct  # noqa: PLC0415

    source, out = (shared_path(path, config.workers) for path in (config.captures, config.out))
    with progress("reconstructing", quiet=config.json) as moved, open_executor(config.workers) as executor:
        summary = reconstruct(source, out, config.settings, executor, moved)
    if config.json:
        print_json(summary, indent=2)
        return DONE
    sys.stdout.write(
        f"reconstructed {summary['captures']} captures, {summary['confident']:.1%} of their pixels sure, to "
        f"{config.out}\n"
    )
    for one in summary["skipped"]:
        sys.stderr.write(f"left out: {one_line(one['reason'])}\n")
    return DONE
