"""`dioptre map`: where every patch of a frame is sharp, and a picture with all of it in focus."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from dioptre.cli.console import DONE, print_json, progress
from dioptre.cli.focus_answers import naming_flags
from dioptre.cli.stack_flags import StackFlags
from dioptre.errors import InputError, StackFileError
from dioptre.pipeline.settings import Mapping

if TYPE_CHECKING:
    from dioptre.focusing.focus_map import FocusMap
    from dioptre.pipeline.mapping import Places


@dataclass(frozen=True)
class Map:
    """Map the focus of a stack over its frame: index, dioptres and confidence of every patch.

    Writes index.npy, dioptres.npy or um.npy (if the positions are known), confidence.npy, focused.npy,
    map.png (in colour with a scale; the extra `figures`) and all-in-focus.png into a folder. Slices are
    read one by one, so that memory does not grow with a stack.

    Attributes:
        stack: A folder of pictures, a multi-page TIFF, a .npy or a .npz, as for `dioptre focus`.
        out: Folder to write.
        mapping: How it is mapped.
        files: What is read from a file.
        positions: Where each picture was focused: `names`, a list such as 0.2,0.4,0.6, START:STEP, a file, or
            `learnaf`, as for `dioptre focus`; by default as a microscope's file tells.
        unit: Unit of the positions.
        json: Print what was found as JSON, and nothing else.
        overwrite: Replace files of the same name that a map did not write.
    """

    stack: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="STACK")]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    mapping: Annotated[Mapping, tyro.conf.OmitArgPrefixes]
    files: Annotated[StackFlags, tyro.conf.OmitArgPrefixes]
    positions: Annotated[str | None, tyro.conf.arg(metavar="POSITIONS")] = None
    unit: Literal["dioptres", "metres", "um"] = "dioptres"
    json: bool = False
    overwrite: bool = False


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
        places = _places(config, pictures.names)
        with progress("mapping (the first run compiles the measure)", config.json) as moved:
            found, files = map_stack(pictures, places, config.mapping, moved)
    about = _summary(config, found, sorted(files))
    write_map(config.out, files, config.mapping, {"stack": config.stack.name}, config.overwrite)
    if MAP not in files:
        sys.stderr.write(f"{MAP} was not drawn: pip install 'dioptre[figures]'\n")
    if config.json:
        print_json(about)
        return DONE
    where = "none of them in focus anywhere"
    if about["slices"] is not None:
        first, last = about["slices"]
        where = f"{about['focused']:.0%} of them in focus somewhere, at slices {first} to {last}"
    down, across = about["patches"]
    sys.stdout.write(f"{config.out}: {down} x {across} patches, {where}\n")
    return DONE


def _places(config: Map, names: tuple[str, ...]) -> "Places":
    """Returns where the slices were taken, as far as it is told."""
    from dioptre.focusing.inputs import to_ladder  # noqa: PLC0415
    from dioptre.grid import FocusGrid, metres_to_dioptres  # noqa: PLC0415
    from dioptre.pipeline.mapping import Places  # noqa: PLC0415
    from dioptre.stacks.positions import read_positions  # noqa: PLC0415

    if config.positions is None:
        return Places()
    if config.positions == "learnaf":
        values: Any = FocusGrid.learnaf().dioptres
    else:
        try:
            values = read_positions(config.positions, names)
        except StackFileError as error:
            raise StackFileError(f"{error} (--positions)") from None
        values = metres_to_dioptres(values) if config.unit == "metres" else values
    places = Places(um=values) if config.unit == "um" else Places(dioptres=values)
    to_ladder(len(names), None, places.dioptres, places.um)  # says what is wrong with them
    return places


def _summary(config: Map, found: "FocusMap", files: list[str]) -> dict[str, Any]:
    """Returns what was found as plain JSON."""
    inside = found.index[found.focused]
    focus, um = (None if one is None else one[found.focused] for one in (found.dioptres, found.um))
    return {
        "stack": str(config.stack),
        "out": str(config.out),
        "patches": list(found.index.shape),
        "focused": float(found.focused.mean()),
        "slices": [int(inside.min()), int(inside.max())] if inside.size else None,
        "dioptres": None if focus is None or not focus.size else [float(focus.min()), float(focus.max())],
        "um": None if um is None or not um.size else [float(um.min()), float(um.max())],
        "confidence": float(found.confidence.mean()),
        "method": found.method,
        "files": files,
    }
