"""Poses of a folder of pictures, taken from anywhere: `dioptre reconstruct --pictures`.

OUT/poses.json                             where each picture was taken, the lens, what was left out
OUT/cameras.txt, images.txt, points3D.txt  the same as a COLMAP model of the pictures
OUT/manifest.json                          written last
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dioptre.errors import FileError, InputError
from dioptre.groundtruth.colmap import colmap_model
from dioptre.groundtruth.freehand import pose_pictures
from dioptre.groundtruth.poses import Poses
from dioptre.stack import Picture
from dioptre.stacks.formats import read_photographs
from dioptre.store.lock import locked
from dioptre.store.manifest import (
    begin_folder,
    clear_leftovers,
    hash_folder,
    write_file,
    write_json,
    write_manifest,
)

KIND = "poses of pictures"
WORKING = 1600  # rows or columns that larger pictures are shrunk below
FOCAL = 1.2  # of the longer side: what a picture's focal length is taken for if nobody says


def pose_folder(
    source: Path, out: Path, focal_px: float, spacing_mm: float, done: Callable[[int, int], None]
) -> dict[str, Any]:
    """Writes where the pictures of a folder were taken, and returns a summary.

    Args:
        source: Pictures of one camera, of one size, that overlap.
        out: The folder.
        focal_px: Their focal length, roughly; 0 for 1.2 times the longer side.
        spacing_mm: Mean distance of the others from the first in the result, if known: it gives metres. 0 for
            not known: that distance is then the unit.
        done: Called with 0 of 1 before and 1 of 1 afterwards.

    Raises:
        FileError: If the folder holds no such pictures, or they cannot be placed.
    """
    done(0, 1)
    if not source.is_dir():
        raise FileError(f"there is no folder {source}")
    pictures = read_photographs(source)
    shape = _one_size(source, pictures)
    focal = focal_px or FOCAL * max(shape)
    with locked(out):
        plan = {"kind": KIND, "focal_px": focal, "spacing_mm": spacing_mm, "pictures": sorted(pictures)}
        begin_folder(out, plan, "poses")
        factor = -(-max(shape) // WORKING)
        shrunk = [_shrunk(one, factor) for one in pictures.values()]
        try:
            poses = pose_pictures(shrunk, list(pictures), focal / factor, spacing_mm / 1e3 or 1.0)
        except InputError as error:
            raise FileError(f"{source}: {error}") from None
        summary = _describe(poses, list(pictures), factor, bool(spacing_mm))
        write_json(out / "poses.json", summary)
        cut = shape[0] // factor * factor, shape[1] // factor * factor
        model = colmap_model(scaled(poses, factor), cut, 1, poses.names)
        for name, text in model.items():
            write_file(out / name, lambda file, text=text: file.write(text.encode()))  # type: ignore[misc]
        clear_leftovers(out)
        write_manifest(out, {**plan, "files": hash_folder(out, ("poses.json", *model))})
    done(1, 1)
    return summary


def _one_size(source: Path, pictures: dict[str, Picture]) -> tuple[int, int]:
    shapes = {one.shape for one in pictures.values()}
    if len(pictures) < 2 or len(shapes) > 1:
        raise FileError(
            f"{source} has {len(pictures)} pictures of {len(shapes)} sizes: poses are told by two or more of "
            "one size"
        )
    rows, cols = shapes.pop()
    return rows, cols


def _shrunk(picture: Picture, factor: int) -> Picture:
    rows, cols = picture.shape[0] // factor, picture.shape[1] // factor
    cut = picture[: rows * factor, : cols * factor]
    return cut.reshape(rows, factor, cols, factor).mean(axis=(1, 3))


def scaled(poses: Poses, factor: int) -> Poses:
    """Returns poses of pictures with so many times as many pixels along a side."""
    return replace(
        poses,
        focals=factor * poses.focals,
        shifts=factor * poses.shifts,
        seen_by=factor * poses.seen_by,
        pixel=factor * poses.pixel,
    )


def _describe(poses: Poses, every: list[str], factor: int, metric: bool) -> dict[str, Any]:
    """Returns poses as plain JSON."""
    pictures = {
        name: {"turn": poses.turns[at].tolist(), "centre": poses.centres[at].tolist()}
        for at, name in enumerate(poses.names)
    }
    return {
        "unit": "metre" if metric else "mean distance of the other pictures from the first",
        "pictures": pictures,
        "left_out": [name for name in every if name not in poses.names],
        "focal_px": float(factor * np.exp(np.mean(np.log(poses.focals)))),
        "bend": poses.bend.tolist(),
        "points": len(poses.points),
        "observation_deviation_px": factor * poses.pixel,
        "explained": poses.explained,
    }
