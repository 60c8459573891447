"""`dioptre map`: where every patch of a frame is sharp, and a picture with all of it in focus."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from dioptre.cli.console import DONE, progress
from dioptre.errors import InputError, StackFileError
from dioptre.pipeline.settings import Mapping

if TYPE_CHECKING:
    import numpy as np

    from dioptre.loop.focus_map import FocusMap


@dataclass(frozen=True)
class Map:
    """Map the focus of a stack over its frame: index, dioptres and confidence of every patch.

    Writes index.npy, dioptres.npy (if the positions are known), confidence.npy, focused.npy, map.png (in
    colour with a scale; the extra `figures`) and all-in-focus.png into a folder.

    Attributes:
        stack: A folder of pictures, a multi-page TIFF, a .npy or a .npz, as for `dioptre focus`.
        out: Folder to write.
        mapping: Which method, and which patches.
        positions: Where each picture was focused: `names`, a list 0.2,0.4,0.6, START:STEP, a file, or
            `learnaf`, as for `dioptre focus`.
        unit: What the positions are.
        json: Print what was found as JSON.
        overwrite: Overwrite files of the same name that a map did not write.
        max_gigabytes: How much memory the pictures may take; half of the machine's by default.
    """

    stack: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="STACK")]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    mapping: Annotated[Mapping, tyro.conf.OmitArgPrefixes]
    positions: Annotated[str | None, tyro.conf.arg(metavar="POSITIONS")] = None
    unit: Literal["dioptres", "metres"] = "dioptres"
    json: bool = False
    overwrite: bool = False
    max_gigabytes: Annotated[float | None, tyro.conf.arg(metavar="GB")] = None


def run_map(config: Map) -> int:
    """Writes the map of a stack."""
    from dioptre.dataset.limits import set_limit  # noqa: PLC0415
    from dioptre.dataset.pictures import read_pictures  # noqa: PLC0415
    from dioptre.methods import find_method  # noqa: PLC0415
    from dioptre.pipeline.mapping import MAP, map_stack, write_map  # noqa: PLC0415

    set_limit(config.max_gigabytes)
    find_method(config.mapping.method)  # before reading a large stack in vain
    if config.out.exists() and not config.out.is_dir():
        raise InputError(f"{config.out} is a file, not a folder for a map")
    if config.out.exists() and config.out.resolve() == config.stack.resolve():
        raise InputError(f"{config.out} holds the pictures: a map among them would be read as one of them")
    with progress("reading pictures", config.json) as moved:
        pictures = read_pictures(config.stack, moved)
    values = None if config.positions is None else _dioptres(config, pictures.names)
    with progress("mapping (the first run compiles the measure)", config.json) as moved:
        found, files = map_stack(pictures.codes, pictures.names, values, config.mapping, moved)
    about = _summary(config, found, sorted(files))
    write_map(config.out, files, config.mapping, {"stack": config.stack.name}, config.overwrite)
    if config.json:
        sys.stdout.write(json.dumps(about, allow_nan=False) + "\n")
        return DONE
    where = "none of them in focus anywhere"
    if about["slices"] is not None:
        first, last = about["slices"]
        where = f"{about['focused']:.0%} of them in focus somewhere, at slices {first} to {last}"
    down, across = about["patches"]
    sys.stdout.write(f"{config.out}: {down} x {across} patches, {where}\n")
    if MAP not in files:
        sys.stderr.write(f"{MAP} was not drawn: pip install 'dioptre[figures]'\n")
    return DONE


def _dioptres(config: Map, names: tuple[str, ...]) -> "np.ndarray[Any, Any]":
    from dioptre.dataset.positions import read_positions  # noqa: PLC0415
    from dioptre.loop.inputs import to_ladder  # noqa: PLC0415
    from dioptre.optics import FocusGrid, metres_to_dioptres  # noqa: PLC0415

    assert config.positions is not None
    if config.positions == "learnaf":
        values: Any = FocusGrid.learnaf().dioptres
    else:
        try:
            values = read_positions(config.positions, names)
        except StackFileError as error:
            raise StackFileError(f"{error} (--positions)") from None
        values = metres_to_dioptres(values) if config.unit == "metres" else values
    to_ladder(len(names), None, values, None)  # says what is wrong with them
    return values


def _summary(config: Map, found: "FocusMap", files: list[str]) -> dict[str, Any]:
    """Returns what was found as plain JSON."""
    inside = found.index[found.focused]
    focus = None if found.dioptres is None else found.dioptres[found.focused]
    return {
        "stack": str(config.stack),
        "out": str(config.out),
        "patches": list(found.index.shape),
        "focused": float(found.focused.mean()),
        "slices": [int(inside.min()), int(inside.max())] if inside.size else None,
        "dioptres": None if focus is None or not focus.size else [float(focus.min()), float(focus.max())],
        "confidence": float(found.confidence.mean()),
        "method": found.method,
        "files": files,
    }
