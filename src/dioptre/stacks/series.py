"""Series: picture files that are the slices of one stack, a file each, or a left and a right one.

Slices are in the order that their names tell (stacks/filenames.py). A folder tells which of its files belong
together; files that are listed belong together as they are. Gaps in their numbering are noticed.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import StackFileError
from dioptre.resources import refuse_larger
from dioptre.stacks.colours import GREEN, colour_with_signal, told_of_colour
from dioptre.stacks.decoding import (
    DISPLAY_SUFFIXES,
    PICTURE_SUFFIXES,
    PLAIN_SUFFIXES,
    CodedPicture,
    decode_colours,
    decode_file,
    quiet_readers,
)
from dioptre.stacks.filenames import (
    could_be_of_series,
    numbering,
    numerals_of,
    untold_order,
    view_of,
    with_view,
    without_view,
)
from dioptre.stacks.microscopes import reader_elsewhere
from dioptre.stacks.pictures import Colours, Pictures, Views, Window
from dioptre.stacks.tiff import TIFF_SUFFIXES, count_pages, open_tiff

MIN_SERIES = 3  # so many files of one name pattern are the stack, and single files beside them are not
MOST_SHOWN = 3  # gaps that are named one by one


@contextmanager
def naming_what_fails(path: Path) -> Iterator[None]:
    """Lets what the system refuses end as an error of the stack that names the file."""
    try:
        yield
    except OSError as error:
        raise StackFileError(f"{error.filename or path} cannot be read: {error.strerror or error}") from error
    except MemoryError as error:
        raise StackFileError(f"{path} does not fit in memory: {error}") from error


def is_tiff(file: Path) -> bool:
    """Returns whether a file is called a TIFF."""
    return file.suffix.lower() in TIFF_SUFFIXES


def list_pictures(folder: Path) -> list[Path]:
    """Returns the picture files of a folder in natural order, without the hidden ones.

    Where a camera has left both, JPEG pictures count and not the raw files beside them.
    """
    files = [file for file in folder.iterdir() if not file.name.startswith(".") and not file.is_dir()]
    for suffixes in (PLAIN_SUFFIXES, PICTURE_SUFFIXES):
        found = [file for file in files if file.suffix.lower() in suffixes]
        if found:
            return in_order(found)
    told = {file.suffix.lower(): reader_elsewhere(file.suffix) for file in files}
    hints = "".join(f"; {suffix}: {hint}" for suffix, hint in sorted(told.items()) if hint)
    raise StackFileError(f"the folder {folder} holds no pictures ({' '.join(PICTURE_SUFFIXES)}){hints}")


def in_order(files: Sequence[Path]) -> list[Path]:
    """Returns files in the order that their names tell."""
    numerals = numerals_of([file.name for file in files])
    return sorted(files, key=lambda file: numerals.key(file.name))


def leave_out_strays(files: list[Path]) -> tuple[list[Path], list[Path]]:
    """Returns the files of the one numbered series, and the single files beside it.

    If there is not exactly one series, or what is beside it is not all single files, or could belong to it,
    nothing is left out.
    """
    series_of = numerals_of([file.name for file in files]).series
    (series, count), *others = Counter(series_of(file.name) for file in files).most_common()
    used = [file for file in files if series_of(file.name) == series]
    beside = [file for file in files if series_of(file.name) != series]
    names = [file.name for file in used]
    doubtful = any(other > 1 for _, other in others) or any(
        could_be_of_series(file.name, names) for file in beside
    )
    return (files, []) if count < MIN_SERIES or doubtful else (in_order(used), beside)


def pair_views(files: list[Path]) -> list[tuple[Path, ...]]:
    """Returns the files of each slice: one, or *_left.* and *_right.* if all the names end so."""
    views = {file: view for file in files if (view := view_of(file.name))}
    if not views:
        return [(file,) for file in files]
    pairs: dict[str, dict[str, Path]] = {}
    for file in files:
        if file not in views:
            raise StackFileError(
                f"{file} is neither *_left.* nor *_right.*, but {next(iter(views)).name} beside it is"
            )
        pair = pairs.setdefault(without_view(file.name).removesuffix(file.suffix).casefold(), {})
        if views[file] in pair:
            raise StackFileError(f"{file} and {pair[views[file]].name} are the same view of one slice")
        pair[views[file]] = file
    return [_both_views(pair) for pair in pairs.values()]


def _both_views(pair: dict[str, Path]) -> tuple[Path, Path]:
    if len(pair) == 1:
        ((view, file),) = pair.items()
        missing = with_view(file.name, "right" if view == "left" else "left")
        raise StackFileError(f"{file} has no partner: {missing} is missing")
    return pair["left"], pair["right"]


def open_series(source: Path, slices: Sequence[tuple[Path, ...]], **known: Any) -> Pictures:
    """Returns the pictures of some files, the first of which tells the size and the bit depth of all.

    Args:
        source: What the stack is called.
        slices: The files of each slice: one, or left and right.
        known: What else is known (`Pictures`).

    Raises:
        StackFileError: If the first picture cannot be read; others, when they are.
    """
    first, names = slices[0][0], [views[0].name for views in slices]
    with naming_what_fails(first), quiet_readers():
        like = read_picture(first)
        colour = colour_with_signal(decode_colours(file) for files in slices for file in files)
        like = like if colour == GREEN else read_picture(first, colour)
    refuse_larger(first, like.size * like.itemsize * len(slices[0]), StackFileError)
    display = first.suffix.lower() in DISPLAY_SUFFIXES and like.dtype == np.uint8

    def read(at: int, window: Window) -> Views:
        views = [_read_alike(file, window, first, like, colour) for file in slices[at]]
        return np.stack(views) if len(views) > 1 else views[0][None]  # which is not copied

    def paint(at: int) -> Colours | None:
        with naming_what_fails(slices[at][0]), quiet_readers():
            colours = decode_colours(slices[at][0])
        return None if colours is None else np.ascontiguousarray(colours)

    return Pictures(
        source=str(source),
        shape=(len(slices), len(slices[0]), *like.shape),
        dtype=like.dtype,
        names=tuple(names),
        reader=read,
        notes=(*told_of_colour(colour), *untold_order(names), *gaps_in(names)),
        display=display,
        painter=paint if len(slices[0]) == 1 else None,
        **known,
    )


def _read_alike(
    file: Path, window: Window, first: Path, like: CodedPicture, colour: int
) -> Shaped[np.ndarray, "h w"]:
    """Returns a part of a picture that must have the size and the bit depth of the first one."""
    if file == first:
        return window.cut(like)
    with naming_what_fails(file):
        cut = is_tiff(file) and window.shape != like.shape and colour == GREEN
        mapped = _map_picture(file) if cut else None
        picture = read_picture(file, colour) if mapped is None else mapped
    if picture.shape != like.shape or picture.dtype != like.dtype:
        raise StackFileError(
            f"{file} is {_describe(picture)}, but {first.name} is {_describe(like)}: "
            "the pictures of a stack are alike"
        )
    return window.cut(picture)


def _map_picture(file: Path) -> CodedPicture | None:
    """Returns the picture of an uncompressed TIFF of one page without reading it yet; None of any other."""
    try:
        array = open_tiff(file).array
    except StackFileError:  # which decoding it will tell
        return None
    return (
        None
        if array is None or array.size != math.prod(array.shape[-2:])
        else array.reshape(array.shape[-2:])
    )


def _describe(picture: CodedPicture) -> str:
    rows, cols = picture.shape
    return f"{cols} x {rows} pixels of {picture.dtype}"


def read_picture(file: Path, colour: int = GREEN) -> Shaped[np.ndarray, "row col"]:
    """Returns one picture as it is in the file, one of its colours if it has several, unrotated."""
    pages = count_pages(file) if is_tiff(file) else 1
    if pages > 1:  # of which OpenCV would read just one
        raise StackFileError(
            f"{file} has {pages} pages, but a folder holds one picture in each file, or one multi-page TIFF"
        )
    with quiet_readers():
        return decode_file(file, colour)


def gaps_in(names: Sequence[str]) -> list[str]:
    """Returns a note if the numbering of files has gaps: a slice that is missing looks like a faster lens."""
    numbers = numbering(names)
    if numbers is None or len(numbers) < MIN_SERIES + 1:
        return []
    steps = np.diff(np.array(numbers, dtype=object))
    usual, count = Counter(steps.tolist()).most_common(1)[0]
    wide = [at for at, step in enumerate(steps) if step > usual]
    if usual < 1 or not wide or 2 * count <= len(steps):
        return []
    shown = "; ".join(f"{names[at + 1]} comes after {names[at]}" for at in wide[:MOST_SHOWN])
    more = f" and {len(wide) - MOST_SHOWN} more" if len(wide) > MOST_SHOWN else ""
    return [f"the numbering of the files has gaps: {shown}{more}"]
