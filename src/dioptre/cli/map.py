"""`dioptre map`: where every patch of a frame is sharp, and a picture with all of it in focus."""

import sys
from dataclasses import dataclass, field
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from dioptre.cli.console import DONE, print_json, progress
from dioptre.cli.focus_answers import naming_flags
from dioptre.cli.stack_flags import StackFlags, read_flags
from dioptre.errors import InputError
from dioptre.pipeline.settings import Mapping

if TYPE_CHECKING:
    from dioptre.focusing.focus_map import FocusMap


@dataclass(frozen=True)
class Map:
    """Map the focus of a stack over its frame: index, dioptres and confidence of every patch.

    Writes index.npy, position.npy, dioptres.npy (if these are known), confidence.npy, focused.npy,
    answered.npy (focused or uncertain), map.png (in colour with a scale, paler where uncertain, grey where
    there is no answer; the extra `figures`) and all-in-focus.png into a folder. Slices are read one by one,
    so that memory does not grow with a stack.

    Attributes:
        stack: A folder of pictures, a multi-page TIFF, a .npy or a .npz, as for `dioptre focus`.
        out: Folder to write.
        positions: Where each picture was focused, as for `dioptre focus`: 0:0.5um, 1,2,3, names:um, a file or
            learnaf; by default as a microscope's file or a recording tells.
        json: Print what was found as JSON, and nothing else.
        overwrite: Replace files of the same name that a map did not write.
        mapping: How it is mapped.
        files: What is read from a file.
    """

    stack: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="STACK")]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    positions: Annotated[str | None, tyro.conf.arg(metavar="POSITIONS")] = None
    json: bool = False
    overwrite: bool = False
    mapping: Annotated[Mapping, tyro.conf.OmitArgPrefixes] = field(default_factory=Mapping)
    files: Annotated[StackFlags, tyro.conf.OmitArgPrefixes] = field(default_factory=StackFlags)


def run_map(config: Map) -> int:
    """Writes the map of a stack."""
    from dioptre.resources import set_limit  # noqa: PLC0415

    set_limit(config.files.max_gigabytes)  # before OpenCV is imported
    from dioptre.methods import find_method  # noqa: PLC0415
    from dioptre.pipeline.mapping import MAP, map_stack, write_map  # noqa: PLC0415
    from dioptre.stacks.formats import open_pictures  # noqa: PLC0415

    find_method(config.mapping.method)  # before reading a large stack in vain
    if config.out.exists() and not config.out.is_dir():
        raise InputError(f"{config.out} is a file, not a folder for a map")
    if config.out.exists() and config.out.resolve() == config.stack.resolve():
        raise InputError(f"{config.out} holds the pictures: a map among them would be read as one of them")
    with naming_flags(str(config.stack)):
        pictures = open_pictures(config.stack, config.files.wanted())
        grid = read_flags(config.positions, None, pictures)
        with progress("mapping (the first run compiles the measure)", config.json) as moved:
            found, files = map_stack(pictures, grid, config.mapping, moved)
    about = _summary(config, found, sorted(files))
    write_map(
        config.out, files, config.mapping, {"stack": config.stack.name, "unit": found.unit}, config.overwrite
    )
    if MAP not in files:
        sys.stderr.write(f"{MAP} was not drawn: pip install 'dioptre[figures]'\n")
    if config.json:
        print_json(about)
        return DONE
    where = "none of them in focus anywhere" if not found.answered.any() else "none of them focused"
    if about["slices"] is not None:
        first, last = about["slices"]
        at = f"slice {first}" if first == last else f"slices {first} to {last}"
        if found.unit != "slice":
            at += f", {_range(about['positions'], found.grid.units_per_index(first))} {found.unit}"
        where = f"{about['focused']:.0%} of them focused, at {at}"
    unsure = about["answered"] - about["focused"]
    where += f"; {unsure:.0%} uncertain" if unsure > 0 else ""
    down, across = about["patches"]
    sys.stdout.write(f"{config.out}: {down} x {across} patches, {where}\n")
    if len(found.depths) > 1:
        told = ", ".join(f"slice {one.index} ({one.share:.0%})" for one in found.depths)
        sys.stdout.write(f"depths: {told}\n")
    return DONE


def _range(ends: list[float], apart: float) -> str:
    """Returns the first and the last position, to a tenth of what neighbouring ones lie apart."""
    digits = max(0, round(1 - log10(apart)))
    first, last = (f"{round(end, digits) + 0.0:.{digits}f}" for end in ends)
    return first if first == last else f"{first} to {last}"


def _summary(config: Map, found: "FocusMap", files: list[str]) -> dict[str, Any]:
    """Returns the summary of a map as plain JSON."""
    inside = found.index[found.focused]
    places = found.position[found.focused]
    focus = None if found.dioptres is None else found.dioptres[found.focused]
    return {
        "stack": str(config.stack),
        "out": str(config.out),
        "patches": list(found.index.shape),
        "focused": float(found.focused.mean()),
        "answered": float(found.answered.mean()),
        "slices": [int(inside.min()), int(inside.max())] if inside.size else None,
        "dioptres": None if focus is None or not focus.size else [float(focus.min()), float(focus.max())],
        "positions": [float(places.min()), float(places.max())] if places.size else None,
        "unit": found.unit,
        "depths": [
            {"index": one.index, "position": float(found.grid.positions[one.index]), "share": one.share}
            for one in found.depths
        ],
        "confidence": float(found.confidence.mean()),
        "method": found.method,
        "files": files,
    }
