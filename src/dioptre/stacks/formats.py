"""Pictures taken at different focus settings, as people have them on disk.

A folder of pictures or a list of them (stacks/series.py), a multi-page TIFF (stacks/tiff.py), a .npy or a
.npz (stacks/arrays.py), a film (stacks/video.py), a microscope's file (stacks/microscopes.py). A file may
hold several stacks: one for each channel, time and position of the stage (stacks/axes.py).

Stacks are opened, and read slice by slice (stacks/pictures.py). This module does not know where the lens was:
stacks/positions.py does, unless the file itself tells.
"""

import glob
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Float32

from dioptre.errors import StackFileError
from dioptre.stacks.arrays import ARRAY_SUFFIXES, open_array
from dioptre.stacks.axes import ALL, Volume, Wanted, stacks_of
from dioptre.stacks.decoding import PICTURE_SUFFIXES, quiet_readers, white_of
from dioptre.stacks.filenames import view_of, with_view
from dioptre.stacks.microscopes import is_microscope_file, open_microscope, reader_elsewhere
from dioptre.stacks.pictures import Pictures, Progress
from dioptre.stacks.series import (
    in_order,
    is_tiff,
    leave_out_strays,
    list_pictures,
    naming_what_fails,
    open_series,
    pair_views,
    read_picture,
)
from dioptre.stacks.tiff import open_tiff
from dioptre.stacks.video import FILM_SUFFIXES, open_film

ACCEPTED = (
    f"a folder of pictures ({' '.join(PICTURE_SUFFIXES)}) or a list of them, a multi-page TIFF, a .npy, "
    f"a .npz, a film ({' '.join(FILM_SUFFIXES)}), .zarr, .nd2 or .czi"
)

AnyPath = str | Path


@dataclass(frozen=True)
class Format:
    """A kind of file that holds stacks.

    Attributes:
        holds: Whether a path is of this kind, by its name or its beginning.
        open: Returns what it holds, opened.
    """

    holds: Callable[[Path], bool]
    open: Callable[[Path, Wanted], Volume]


# A line each; a folder of pictures is none of them.
FORMATS: Final = (
    Format(is_microscope_file, open_microscope),
    Format(is_tiff, open_tiff),
    Format(lambda path: path.suffix.lower() in ARRAY_SUFFIXES, open_array),
    Format(lambda path: path.suffix.lower() in FILM_SUFFIXES, lambda path, _: open_film(path)),
)


def open_stacks(paths: AnyPath | Sequence[AnyPath], wanted: Wanted = ALL) -> list[Pictures]:
    """Returns the stacks of some paths, opened: one or several of each folder or file, one of all pictures.

    Args:
        paths: Folders and files, or patterns such as `shots/*.jpg`.
        wanted: Which channels, times and positions, and what the axes are.

    Raises:
        StackFileError: If there is no stack, or a part of it cannot be read.
    """
    several = [paths] if isinstance(paths, (str, Path)) else list(paths)
    found = [path for one in several for path in _expanded(Path(one))]
    loose = [path for path in found if _is_picture(path)] if len(found) > 1 else []
    stacks = [] if not loose else [_open_list(loose, wanted)]
    return [*stacks, *(stack for path in found if path not in loose for stack in _open(path, wanted))]


def open_pictures(path: AnyPath | Sequence[AnyPath], wanted: Wanted = ALL) -> Pictures:
    """Returns the only stack of a folder, a file or a list of pictures, opened.

    Raises:
        StackFileError: As `open_stacks` does, and if there are several: the message lists them.
    """
    stacks = open_stacks(path, wanted)
    if len(stacks) > 1:
        labels = [stack.label for stack in stacks]
        listed = "; ".join(labels[:8]) + ("; ..." if len(labels) > 8 else "")
        raise StackFileError(
            f"{stacks[0].source} holds {len(stacks)} stacks ({listed}): choose one (channel=..., time=..., "
            "position=...), or say that two channels are the left and the right view (views=True)"
        )
    return stacks[0]


def read_pictures(path: AnyPath, progress: Progress | None = None, wanted: Wanted = ALL) -> Pictures:
    """Returns the pictures of a folder or a file that holds one stack, all read.

    Args:
        path: The folder or the file.
        progress: Is told (pictures read, pictures in all) after each picture; once for an array.
        wanted: Which channel, time and position, and what the axes are.

    Raises:
        StackFileError: If there is no stack there, or several, or a part of it cannot be read.
    """
    pictures = open_pictures(path, wanted)
    with naming_what_fails(Path(path)):
        return pictures.loaded(progress)


def open_look(path: AnyPath, wanted: Wanted = ALL) -> Pictures:
    """Returns one picture as a stack of one slice, or a stack that holds it.

    Args:
        path: A picture; if its name ends in _left or _right, both are read. Or anything that `open_pictures`
            takes.
        wanted: As for `open_pictures`.

    Raises:
        StackFileError: If it cannot be read.
    """
    path = Path(path)
    paired = view_of(path.name) is not None
    is_picture = path.suffix.lower() in PICTURE_SUFFIXES and path.is_file()
    if not is_picture or (is_tiff(path) and not paired):
        return open_pictures(path, wanted)
    files = [path.with_name(with_view(path.name, view)) for view in ("left", "right")] if paired else [path]
    for file in files:
        if not file.is_file():
            raise StackFileError(f"{path} has no partner: {file.name} is missing")
    return open_series(path, [tuple(files)])


def read_photographs(
    folder: str | Path, names: Sequence[str] | None = None
) -> dict[str, Float32[np.ndarray, "_ _"]]:
    """Returns the pictures of a folder, by file name in natural order, as green values from 0 to 1.

    Unlike the pictures of a stack they may have any sizes and depths.

    Args:
        folder: Where they are.
        names: Only these; all by default.

    Raises:
        StackFileError: If the folder holds no pictures, or one that cannot be read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise StackFileError(f"there is no folder of photographs {folder}")
    with naming_what_fails(folder), quiet_readers():
        files = list_pictures(folder) if names is None else [folder / name for name in names]
        pictures = {file.name: read_picture(file) for file in files}
    return {name: (one / white_of(one.dtype)).astype(np.float32) for name, one in pictures.items()}


def _expanded(path: Path) -> Iterator[Path]:
    """Yields a path, or what a pattern such as *.jpg stands for, if no file is called so."""
    if not glob.has_magic(str(path)) or path.exists() or path.is_symlink():
        yield path
        return
    found = in_order([Path(one) for one in glob.glob(str(path))])  # noqa: PTH207 (of any root)
    if not found:
        raise StackFileError(f"no file or folder is called {path}")
    yield from found


def _is_picture(path: Path) -> bool:
    """Returns whether a file is one picture, and not a stack of its own."""
    if path.suffix.lower() not in PICTURE_SUFFIXES or not path.is_file():
        return False
    return not is_tiff(path) or math.prod(open_tiff(path).shape[:-2]) == 1


def _open_list(files: list[Path], wanted: Wanted) -> Pictures:
    """Returns the stack of the files that were named one by one."""
    wanted.refuse_series(files[0].parent)
    if len({file.resolve() for file in files}) < len(files):
        raise StackFileError("the same picture is named twice")
    folder = files[0].parent
    return open_series(folder if len(files) > 1 else files[0], pair_views(in_order(files)))


def _open(path: Path, wanted: Wanted) -> list[Pictures]:
    """Returns the stacks of one folder or file."""
    with naming_what_fails(path):
        if not path.exists():
            raise StackFileError(f"there is no file or folder {path}")
        if path.is_dir() and not is_microscope_file(path):
            return _open_folder(path, wanted)
        for form in FORMATS:
            if form.holds(path):
                return stacks_of(form.open(path, wanted), wanted)
    elsewhere = reader_elsewhere(path.suffix.lower())
    if elsewhere:
        raise StackFileError(f"{path} is not read: {elsewhere}; a stack is {ACCEPTED}")
    raise StackFileError(f"{path} is not a stack of pictures; a stack is {ACCEPTED}")


def _open_folder(folder: Path, wanted: Wanted) -> list[Pictures]:
    files, skipped = leave_out_strays(list_pictures(folder))
    if len(files) == 1 and is_tiff(files[0]):
        return stacks_of(open_tiff(files[0], wanted), wanted)
    wanted.refuse_series(folder)
    return [open_series(folder, pair_views(files), skipped=tuple(file.name for file in skipped))]
