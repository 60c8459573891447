"""Pictures taken at different focus settings, as people have them on disk.

A folder of pictures (one for each slice, or a left and a right one), a multi-page TIFF (dataset/tiff.py), a
.npy or a .npz (dataset/arrays.py). Pixels come back as the codes in the file, axes (slice, view, row, col):
nothing is scaled here. One view is green or grey, two are left and right. Slices of a folder are in natural
order of their names (dataset/names.py).

This module does not know where the lens was: dataset/positions.py does.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Shaped

from dioptre.dataset.arrays import ARRAY_SUFFIXES, read_array
from dioptre.dataset.decoding import PICTURE_SUFFIXES, Picture, decode_picture, quiet_readers, white_of
from dioptre.dataset.limits import refuse_larger
from dioptre.dataset.names import natural_key, series_pattern, view_of, with_view, without_view
from dioptre.dataset.tiff import TIFF_SUFFIXES, count_pages, read_tiff
from dioptre.errors import InputError, StackFileError

ACCEPTED = f"a folder of pictures ({' '.join(PICTURE_SUFFIXES)}), a multi-page TIFF, a .npy or a .npz"
PIXEL_BYTES = 4  # of what codes become
MIN_SERIES = 3  # so many files of one name pattern are the stack, and single files beside them are not

Codes = Shaped[np.ndarray, "slice view row col"]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Pictures:
    """The pictures of one stack, as they are in the file.

    Attributes:
        codes: (slice, view, row, col) in the file's dtype. One view (green or grey) or left and right.
        names: One for each slice: the file name (of the left picture, if there are two), "page 1"
            onwards as viewers count the pages of a TIFF, "slice 0" onwards as arrays count.
        skipped: Pictures of the folder that were left out, because they do not belong to its series.
        white: The largest value of an integer dtype; 1.0 for floats.
    """

    codes: Codes
    names: tuple[str, ...]
    skipped: tuple[str, ...]
    white: float

    def __post_init__(self) -> None:
        if self.codes.ndim != 4 or self.codes.shape[1] not in (1, 2) or 0 in self.codes.shape:
            raise InputError(
                f"pictures are (slice, 1 or 2 views, row, col), not an array of shape {self.codes.shape}"
            )
        if len(self.names) != len(self.codes):
            raise InputError(f"{len(self.codes)} slices have {len(self.names)} names")


def read_pictures(path: str | Path, progress: Progress | None = None) -> Pictures:
    """Returns the pictures of a folder, a multi-page TIFF, a .npy or a .npz.

    Args:
        path: The folder or the file.
        progress: Is told (pictures read, pictures in all) after each picture of a folder, and once at the
            end for a file that is read in one go.

    Raises:
        StackFileError: If there is no stack there, or a part of it cannot be read.
    """
    path = Path(path)
    with _naming_what_fails(path):
        if path.is_dir():
            return _read_folder(path, progress)
        if not path.exists():
            raise StackFileError(f"there is no file or folder {path}; a stack is {ACCEPTED}")
        if _is_tiff(path):
            return _read_pages(path, progress)
        if path.suffix.lower() in ARRAY_SUFFIXES:
            return _read_slices(path, progress)
    raise StackFileError(f"{path} is not a stack of pictures; a stack is {ACCEPTED}")


def read_look(path: str | Path, progress: Progress | None = None) -> Pictures:
    """Returns one picture as a stack of one slice, or a stack that holds it.

    Args:
        path: A picture; if its name ends in _left or _right, both are read. Or anything that `read_pictures`
            takes.
        progress: As for `read_pictures`.

    Raises:
        StackFileError: If it cannot be read.
    """
    path = Path(path)
    paired = view_of(path.name) is not None
    is_picture = path.suffix.lower() in PICTURE_SUFFIXES and path.is_file()
    if not is_picture or (_is_tiff(path) and not paired):
        return read_pictures(path, progress)
    files = [path.with_name(with_view(path.name, view)) for view in ("left", "right")] if paired else [path]
    for file in files:
        if not file.is_file():
            raise StackFileError(f"{path} has no partner: {file.name} is missing")
    with _naming_what_fails(path), quiet_readers():
        codes = _read_alike(files, progress)
    return Pictures(codes[None], (files[0].name,), (), white_of(codes.dtype))


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
    with _naming_what_fails(folder), quiet_readers():
        files = _list_pictures(folder) if names is None else [folder / name for name in names]
        pictures = {file.name: _read_picture(file) for file in files}
    return {name: (one / white_of(one.dtype)).astype(np.float32) for name, one in pictures.items()}


@contextmanager
def _naming_what_fails(path: Path) -> Iterator[None]:
    """Lets what the system refuses end as an error of the stack that names the file."""
    try:
        yield
    except OSError as error:
        raise StackFileError(f"{error.filename or path} cannot be read: {error.strerror or error}") from error
    except MemoryError as error:
        raise StackFileError(f"{path} does not fit in memory: {error}") from error


# Folders


def _read_folder(folder: Path, progress: Progress | None) -> Pictures:
    files, skipped = _leave_out_strays(_list_pictures(folder))
    if len(files) == 1 and _is_tiff(files[0]):
        return _read_pages(files[0], progress)
    slices = _pair_views(files)
    with quiet_readers():
        codes = _read_alike([file for views in slices for file in views], progress)
    return Pictures(
        codes=codes.reshape(len(slices), len(slices[0]), *codes.shape[1:]),
        names=tuple(views[0].name for views in slices),
        skipped=tuple(file.name for file in skipped),
        white=white_of(codes.dtype),
    )


def _list_pictures(folder: Path) -> list[Path]:
    """Returns the picture files of a folder in natural order, without the hidden ones."""
    files = [
        file
        for file in folder.iterdir()
        if file.suffix.lower() in PICTURE_SUFFIXES and not file.name.startswith(".") and not file.is_dir()
    ]
    if not files:
        raise StackFileError(f"the folder {folder} holds no pictures ({' '.join(PICTURE_SUFFIXES)})")
    return sorted(files, key=lambda file: natural_key(file.name))


def _leave_out_strays(files: list[Path]) -> tuple[list[Path], list[Path]]:
    """Returns the files of the one numbered series, and the single files beside it.

    If there is not exactly one series, or what is beside it is not all single files, nothing is left out.
    """
    (series, count), *others = Counter(series_pattern(file.name) for file in files).most_common()
    if count < MIN_SERIES or any(other > 1 for _, other in others):
        return files, []
    used = [file for file in files if series_pattern(file.name) == series]
    return used, [file for file in files if series_pattern(file.name) != series]


def _pair_views(files: list[Path]) -> list[tuple[Path, ...]]:
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


def _read_alike(files: list[Path], progress: Progress | None) -> Shaped[np.ndarray, "picture row col"]:
    """Returns the pictures of these files, which must all have one size and bit depth."""
    first = _read_picture(files[0])
    refuse_larger(files[0].parent, len(files) * first.size * PIXEL_BYTES, StackFileError)
    codes = np.empty((len(files), *first.shape), first.dtype)
    for at, file in enumerate(files):
        picture = _read_picture(file) if at else first
        if picture.shape != first.shape or picture.dtype != first.dtype:
            raise StackFileError(
                f"{file} is {_describe(picture)}, but {files[0].name} is {_describe(first)}: "
                "the pictures of a stack are alike"
            )
        codes[at] = picture
        if progress:
            progress(at + 1, len(files))
    return codes


def _describe(picture: Picture) -> str:
    rows, cols = picture.shape
    return f"{cols} x {rows} pixels of {picture.dtype}"


def _read_picture(file: Path) -> Picture:
    """Returns one picture as it is in the file, its green channel if it has colours, unrotated."""
    pages = count_pages(file) if _is_tiff(file) else 1
    if pages > 1:  # of which OpenCV would read just one
        raise StackFileError(
            f"{file} has {pages} pages, but a folder holds one picture in each file, or one multi-page TIFF"
        )
    return decode_picture(file.read_bytes(), str(file))  # OpenCV opens only some paths by itself


def _is_tiff(file: Path) -> bool:
    return file.suffix.lower() in TIFF_SUFFIXES


# Files that hold a whole stack


def _read_pages(path: Path, progress: Progress | None) -> Pictures:
    codes = read_tiff(path)
    return _from_file(path, codes, tuple(f"page {page}" for page in range(1, len(codes) + 1)), progress)


def _read_slices(path: Path, progress: Progress | None) -> Pictures:
    codes = read_array(path)
    return _from_file(path, codes, tuple(f"slice {at}" for at in range(len(codes))), progress)


def _from_file(path: Path, codes: Codes, names: tuple[str, ...], progress: Progress | None) -> Pictures:
    """Returns the pictures of a file that holds the whole stack, in this machine's byte order."""
    if not (np.issubdtype(codes.dtype, np.integer) or np.issubdtype(codes.dtype, np.floating)):
        raise StackFileError(f"{path} holds values of type {codes.dtype}; pictures are integers or floats")
    codes = codes.astype(codes.dtype.newbyteorder("="), copy=False)
    if progress:
        progress(len(codes), len(codes))
    return Pictures(codes=codes, names=names, skipped=(), white=white_of(codes.dtype))
