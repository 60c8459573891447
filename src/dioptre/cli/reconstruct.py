"""`dioptre reconstruct`: poses, depth and confidence for captures of a rig."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dioptre.cli.console import DONE, one_line, progress
from dioptre.errors import InputError
from dioptre.pipeline.settings import Reconstruct, Workers


@dataclass(frozen=True)
class ReconstructCaptures:
    """Reconstruct poses, depth and confidence from captures of five cameras in a cross.

    CAPTURES is a tree in the layout of the published data set (docs/data.md), such as `dioptre simulate
    --rig` writes. `dioptre import CAPTURES STORE --maps OUT` then makes labelled patches. A run that was
    stopped goes on where it was.

    With --pictures, CAPTURES is a folder of overlapping pictures of one camera, from anywhere, and OUT
    gets their poses, as JSON and as a COLMAP model; no depth.

    Attributes:
        captures: Folder of the captures, or of pictures.
        out: Folder of depth, confidence, poses and pages.
        pictures: Poses of a folder of pictures instead.
        focal_px: With --pictures: their focal length in pixels, roughly. 0 for 1.2 times the longer side.
        settings: How.
        workers: Who does it, a capture at a time each.
        json: Print the summary as JSON.
    """

    captures: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="CAPTURES")]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    settings: Annotated[Reconstruct, tyro.conf.OmitArgPrefixes]
    workers: Annotated[Workers, tyro.conf.OmitArgPrefixes]
    pictures: bool = False
    focal_px: float = 0.0
    json: bool = False


def run_reconstruct(config: ReconstructCaptures) -> int:
    """Writes poses, depth and confidence."""
    if config.pictures:
        return _pose_pictures(config)
    if config.focal_px:
        raise InputError("--focal-px is about pictures (--pictures); a rig's focal length is its camera's")
    from dioptre.pipeline.cluster import open_executor, shared_path  # noqa: PLC0415
    from dioptre.pipeline.reconstructing import reconstruct  # noqa: PLC0415

    source, out = (shared_path(path, config.workers) for path in (config.captures, config.out))
    with progress("reconstructing", quiet=config.json) as moved, open_executor(config.workers) as executor:
        summary = reconstruct(source, out, config.settings, executor, moved)
    if config.json:
        sys.stdout.write(json.dumps(summary, indent=2) + "\n")
        return DONE
    sys.stdout.write(
        f"reconstructed {summary['captures']} captures, {summary['confident']:.1%} of their pixels sure, to "
        f"{config.out}\n"
    )
    for one in summary["skipped"]:
        sys.stderr.write(f"left out: {one_line(one['reason'])}\n")
    return DONE


def _pose_pictures(config: ReconstructCaptures) -> int:
    """Writes the poses of a folder of pictures."""
    from dioptre.pipeline.posing import pose_folder  # noqa: PLC0415

    if not 0 <= config.focal_px < 1e6:
        raise InputError(f"a focal length is some pixels, not {config.focal_px:g} (--focal-px)")
    config.settings.check()
    with progress("placing pictures", quiet=config.json) as moved:
        summary = pose_folder(config.captures, config.out, config.focal_px, config.settings.spacing_mm, moved)
    if config.json:
        sys.stdout.write(json.dumps(summary, indent=2) + "\n")
        return DONE
    sys.stdout.write(
        f"placed {len(summary['pictures'])} pictures by {summary['points']} points, seen to "
        f"{summary['observation_deviation_px']:.2f} pixels, to {config.out}\n"
    )
    if summary["left_out"]:
        sys.stderr.write(f"left out: {', '.join(summary['left_out'])}\n")
    return DONE
