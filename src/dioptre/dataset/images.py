"""Pictures taken at different focus settings, as people have them on disk.

A folder of pictures (one for each slice, or a left and a right one), a multi-page TIFF, a .npy or a
.npz. Pixels come back as the codes in the file, axes (slice, view, row, col): nothing is scaled here.
One view is green or grey, two are left and right. Slices of a folder are in natural order of their
names: frame2 before frame10, IMG_00.198 before IMG_01.5.

Positions are numbers that tell where the lens was at each slice, in whatever unit the user has: from
the file names, a list, a start and a step, or a file. This module does not know what they mean, nor
which end of a stack is far.
"""

import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from logging import getLogger
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Shaped

from dioptre.errors import FileError, StackFileError

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".pgm", ".webp")
TIFF_SUFFIXES = (".tif", ".tiff")
NUMPY_SUFFIXES = (".npy", ".npz")
ARRAY_NAMES = ("stack", "pixels")  # what an .npz with several arrays calls its stack
ACCEPTED = f"a folder of pictures ({' '.join(PICTURE_SUFFIXES)}), a multi-page TIFF, a .npy or a .npz"
ARRAY_SHAPES = "(slice, row, col), (slice, 1 or 2 views, row, col) or (slice, row, col, 3 colours)"
POSITION_FORMS = (
    'the word "names", a list such as 0.2,0.4,0.6, a start:step such as 0:0.5, or a file of numbers'
)

MIN_SIDE = 4  # an array axis shorter than this holds views or colours, not rows or columns
MIN_SERIES = 3  # so many files of one name pattern are the stack, and single files beside them are not

# A minus is a sign only where a word or a number cannot end: z_-3 but not img-003 or 2024-01-15.
NUMBER = re.compile(r"((?:(?<![^_\s=(])-)?[0-9]+(?:\.[0-9]+)?)")
SIDE = re.compile(r"_(left|right)(?=\.[^.]+$)", re.IGNORECASE)

Codes = Shaped[np.ndarray, "slice view row col"]
Picture = Shaped[np.ndarray, "row col"]
Positions = Float[np.ndarray, "n"]
Progress = Callable[[int, int], None]
NaturalKey = tuple[tuple[str | Decimal, ...], str]


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
            raise FileError(
                f"pictures are (slice, 1 or 2 views, row, col), not an array of shape {self.codes.shape}"
            )
        if len(self.names) != len(self.codes):
            raise FileError(f"{len(self.codes)} slices have {len(self.names)} names")


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
    try:
        if path.is_dir():
            return _read_folder(path, progress)
        if not path.exists():
            raise StackFileError(f"there is no file or folder {path}; a stack is {ACCEPTED}")
        if path.suffix.lower() in TIFF_SUFFIXES:
            return _read_tiff(path, progress)
        if path.suffix.lower() in NUMPY_SUFFIXES:
            return _read_numpy(path, progress)
    except OSError as error:
        raise StackFileError(f"{error.filename or path} cannot be read: {error.strerror or error}") from error
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
    side = SIDE.search(path.name)
    picture = path.suffix.lower() in PICTURE_SUFFIXES and path.is_file()
    if not picture or (path.suffix.lower() in TIFF_SUFFIXES and not side):
        return read_pictures(path, progress)
    files = [path]
    if side:
        stem, ending = path.name[: side.start(1)], path.name[side.end(1) :]
        files = [path.with_name(f"{stem}{_in_case(view, side[1])}{ending}") for view in ("left", "right")]
    for file in files:
        if not file.is_file():
            raise StackFileError(f"{path} has no partner: {file.name} is missing")
    with quiet_readers():
        codes = _read_alike(files, progress)
    return Pictures(codes[None], (files[0].name,), (), _white(codes.dtype))


def _in_case(word: str, other: str) -> str:
    """Returns a word in the case of another: left, LEFT, Left."""
    return word.upper() if other.isupper() else word.title() if other.istitle() else word


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
    with quiet_readers():
        files = _list_pictures(folder) if names is None else [folder / name for name in names]
        pictures = {file.name: _read_picture(file) for file in files}
    return {name: (one / _white(one.dtype)).astype(np.float32) for name, one in pictures.items()}


def natural_key(name: str) -> NaturalKey:
    """Returns a sort key by which numbers inside names, whole or decimal, compare as numbers.

    Upper and lower case are alike. Names that differ only in how a number is written (1.5, 01.50) keep
    an order of their own, so that two different names never have the same key.
    """
    parts = NUMBER.split(name.casefold())  # text, number, text, number, ..., text
    return tuple(Decimal(part) if at % 2 else part for at, part in enumerate(parts)), name


# Folders


def _read_folder(folder: Path, progress: Progress | None) -> Pictures:
    files, skipped = _leave_out_strays(_list_pictures(folder))
    if len(files) == 1 and files[0].suffix.lower() in TIFF_SUFFIXES:
        return _read_tiff(files[0], progress)
    slices = _pair_views(files)
    with quiet_readers():
        codes = _read_alike([file for views in slices for file in views], progress)
    return Pictures(
        codes=codes.reshape(len(slices), len(slices[0]), *codes.shape[1:]),
        names=tuple(views[0].name for views in slices),
        skipped=tuple(file.name for file in skipped),
        white=_white(codes.dtype),
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


def _name_pattern(name: str) -> str:
    """Returns the name without its numbers and its side: what the files of one series share."""
    return NUMBER.sub("#", SIDE.sub("_side", name.casefold()))


def _leave_out_strays(files: list[Path]) -> tuple[list[Path], list[Path]]:
    """Returns the files of the one numbered series, and the single files beside it.

    If there is not exactly one series, or what is beside it is not all single files, nothing is left out.
    """
    (series, count), *others = Counter(_name_pattern(file.name) for file in files).most_common()
    if count < MIN_SERIES or any(other > 1 for _, other in others):
        return files, []
    used = [file for file in files if _name_pattern(file.name) == series]
    return used, [file for file in files if _name_pattern(file.name) != series]


def _pair_views(files: list[Path]) -> list[tuple[Path, ...]]:
    """Returns the files of each slice: one, or *_left.* and *_right.* if all the names end so."""
    sided = {file: match[1].lower() for file in files if (match := SIDE.search(file.name))}
    if not sided:
        return [(file,) for file in files]
    pairs: dict[str, dict[str, Path]] = {}
    for file in files:
        if file not in sided:
            raise StackFileError(
                f"{file} is neither *_left.* nor *_right.*, but {next(iter(sided)).name} beside it is"
            )
        pair = pairs.setdefault(SIDE.sub("", file.name).removesuffix(file.suffix).casefold(), {})
        if sided[file] in pair:
            raise StackFileError(f"{file} and {pair[sided[file]].name} are the same view of one slice")
        pair[sided[file]] = file
    return [_both_views(pair) for pair in pairs.values()]


def _both_views(pair: dict[str, Path]) -> tuple[Path, Path]:
    if len(pair) == 1:
        ((side, file),) = pair.items()
        missing = SIDE.sub("_right" if side == "left" else "_left", file.name)
        raise StackFileError(f"{file} has no partner: {missing} is missing")
    return pair["left"], pair["right"]


def _read_alike(files: list[Path], progress: Progress | None) -> Shaped[np.ndarray, "picture row col"]:
    """Returns the pictures of these files, which must all have one size and bit depth."""
    first = _read_picture(files[0])
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


# One picture


def _read_picture(file: Path) -> Picture:
    """Returns one picture as it is in the file, its green channel if it has colours, unrotated."""
    _refuse_pages(file)
    return decode_picture(file.read_bytes(), str(file))  # OpenCV opens only some paths by itself


def decode_picture(data: bytes, name: str) -> Picture:
    """Returns the picture that a file's bytes hold, at its full bit depth; of colours the green channel.

    Args:
        data: The whole file.
        name: What to call it in an error.

    Raises:
        StackFileError: If it is damaged, cut short or no picture.
    """
    import cv2  # noqa: PLC0415 (start-up time)

    if not data:
        raise StackFileError(f"{name} is an empty file")
    if _is_broken_png(data):
        raise StackFileError(f"{name} is a damaged PNG, or cut short")
    try:
        picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error as error:
        raise StackFileError(f"{name} cannot be read as a picture: {_reason(error)}") from error
    if picture is None:
        raise StackFileError(
            f"{name} cannot be read as a picture: it is damaged, cut short or something else"
        )
    return _green(picture)


def _green(picture: Shaped[np.ndarray, "..."]) -> Shaped[np.ndarray, "..."]:
    """Returns the green of (row, col, 3 or 4), the grey of (row, col, 2), and (row, col) as it is."""
    if picture.ndim == 2:
        return picture
    return np.ascontiguousarray(picture[..., _green_channel(picture.shape[-1])])


def _green_channel(channels: int) -> int:
    """Returns where green is: second of three or four colours in either order; grey comes before alpha."""
    return 1 if channels in (3, 4) else 0


def _refuse_pages(file: Path) -> None:
    """Raises if a picture of a folder is a TIFF of several pages, of which OpenCV would read just one."""
    if file.suffix.lower() not in TIFF_SUFFIXES:
        return
    import tifffile  # noqa: PLC0415 (start-up time)

    tiff: Any
    try:
        with tifffile.TiffFile(file) as tiff:
            pages = sum(not page.is_reduced for page in tiff.pages)
    except Exception:  # a damaged TIFF raises nearly anything; decoding it will tell
        return
    if pages > 1:
        raise StackFileError(
            f"{file} has {pages} pages, but a folder holds one picture in each file, or one multi-page TIFF"
        )


def _is_broken_png(data: bytes) -> bool:
    """True for a PNG whose chunks do not end in IEND or fail their checksum.

    libpng would find out too, but it prints its own line to the terminal.
    """
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        return False
    at = 8
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 8 + length
        if end + 4 > len(data):
            return True
        critical = kind[:1].isupper()
        if critical and zlib.crc32(data[at + 4 : end]) != int.from_bytes(data[end : end + 4], "big"):
            return True
        if kind == b"IEND":
            return False
        at = end + 4
    return True


def _reason(error: Exception) -> str:
    """Returns the first line of what a library says is wrong."""
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextmanager
def quiet_readers() -> Iterator[None]:
    """Keeps OpenCV and tifffile from printing about broken files: the error says it in our words."""
    from cv2.utils import logging as cv2_logging  # noqa: PLC0415 (start-up time)

    logger = getLogger("tifffile")
    level, disabled = cv2_logging.getLogLevel(), logger.disabled
    cv2_logging.setLogLevel(cv2_logging.LOG_LEVEL_SILENT)
    logger.disabled = True
    try:
        yield
    finally:
        cv2_logging.setLogLevel(level)
        logger.disabled = disabled


# Multi-page TIFF


def _read_tiff(path: Path, progress: Progress | None) -> Pictures:
    with quiet_readers():
        try:
            series = _tiff_series(path)
        except (StackFileError, OSError):
            raise
        except Exception as error:  # a damaged TIFF raises nearly anything: struct.error, KeyError, ...
            raise StackFileError(f"{path} is not a readable TIFF: {_reason(error)}") from error
    codes = _one_stack(path, [_arrange(path, pages, axes) for pages, axes in series])
    names = tuple(f"page {page}" for page in range(1, len(codes) + 1))
    return _from_file(path, codes, names, progress)


def _tiff_series(path: Path) -> list[tuple[Shaped[np.ndarray, "..."], str]]:
    """Returns each series of pages that belong together, as the file tells, and the letters of its axes."""
    import tifffile  # noqa: PLC0415 (start-up time)

    with tifffile.TiffFile(path) as tiff:
        _check_page_list(path, tiff)
        by_opencv = cache(lambda: _decode_pages(path))
        return [_series_codes(path, series, by_opencv) for series in tiff.series]


def _check_page_list(path: Path, tiff: Any) -> None:
    """Raises if the chain of pages does not end in a null: tifffile would return the pages before the cut."""
    at = tiff.pages.next_page_offset
    if at is None:
        return
    tiff.filehandle.seek(at)
    if tiff.filehandle.read(tiff.tiff.offsetsize) != bytes(tiff.tiff.offsetsize):
        raise StackFileError(f"{path} is damaged or cut short: page {len(tiff.pages) + 1} is not there")


def _series_codes(
    path: Path, series: Any, by_opencv: Callable[[], list[Shaped[np.ndarray, "_ _"]]]
) -> tuple[Shaped[np.ndarray, "..."], str]:
    """Returns a series and the letters of its axes, decoded by OpenCV where tifffile lacks the codec."""
    missing = sum(page is None for page in series.pages)
    if missing:  # tifffile would fill them with zeros
        raise StackFileError(f"{path} lacks {missing} of the {len(series.pages)} pages that it describes")
    try:
        return series.asarray(), series.axes
    except (ImportError, ValueError) as error:
        if "imagecodecs" not in str(error):
            raise
    codes = np.stack([by_opencv()[page.index] for page in series.pages])
    shape = [size for size, axis in zip(series.shape, series.axes, strict=True) if axis != "S"]
    return codes.reshape(shape), series.axes.replace("S", "")


def _decode_pages(path: Path) -> list[Shaped[np.ndarray, "_ _"]]:
    """Returns the green or grey of each page, read by OpenCV."""
    import cv2  # noqa: PLC0415 (start-up time)

    done, pages = cv2.imreadmulti(str(path), flags=cv2.IMREAD_UNCHANGED)
    if not done:  # perhaps a path that OpenCV does not open
        done, pages = cv2.imdecodemulti(np.fromfile(path, np.uint8), cv2.IMREAD_UNCHANGED)
    if not done:
        raise StackFileError(f"{path} is damaged, or compressed in a way that is not supported")
    return [_green(page) for page in pages]


def _arrange(path: Path, codes: Shaped[np.ndarray, "..."], axes: str) -> Codes:
    """Returns a TIFF's series as (slice, view, row, col).

    Views are channels (C) if there are two of them, or the last of two unnamed axes (Q); samples (S) are
    colours. One axis that is left, whatever its name, is the slices.
    """
    told = f"axes {axes} of shape {codes.shape}"
    if codes.size == 0:
        raise StackFileError(f"{path} has no pixels: it has {told}")
    if "S" in axes and codes.shape[axes.index("S")] <= 4:
        samples = axes.index("S")
        codes = codes.take(_green_channel(codes.shape[samples]), axis=samples)
        axes = axes.replace("S", "")
    *lead, rows, cols = codes.shape
    several = [letter for letter, size in zip(axes, lead, strict=False) if size > 1]
    if axes == "QQYX" and lead[1] <= 2:
        return codes
    if axes.endswith("YX") and len(several) <= 1:
        return codes.reshape(-1, 1, rows, cols)
    if axes.endswith("YX") and len(several) == 2 and "C" in several and lead[axes.index("C")] == 2:
        return np.moveaxis(codes, axes.index("C"), -3).reshape(-1, 2, rows, cols)
    raise StackFileError(f"{path} has {told}; a stack has slices, one or two views, rows and columns")


def _one_stack(path: Path, stacks: list[Shaped[np.ndarray, "_ _ _ _"]]) -> Codes:
    """Returns the only stack of a TIFF, or the stack of all its pages if each was written by itself."""
    if len(stacks) == 1:
        return stacks[0]
    kinds = Counter((stack.shape, str(stack.dtype)) for stack in stacks)
    if len(kinds) == 1 and stacks[0].shape[:2] == (1, 1):
        return np.concatenate(stacks)
    found = ", ".join(f"{count} of shape {shape} and {dtype}" for (shape, dtype), count in kinds.items())
    raise StackFileError(
        f"{path} holds {len(stacks)} stacks (slice, view, row, col), not one: {found or 'no pages'}"
    )


# Arrays


def _read_numpy(path: Path, progress: Progress | None) -> Pictures:
    try:
        array = _load_array(path)
    except (StackFileError, OSError):
        raise
    except Exception as error:  # as with a TIFF: BadZipFile, EOFError, TokenError, ...
        raise StackFileError(f"{path} is not a readable array of numbers: {_reason(error)}") from error
    codes = _array_codes(path, array)
    return _from_file(path, codes, tuple(f"slice {at}" for at in range(len(codes))), progress)


def _load_array(path: Path) -> Shaped[np.ndarray, "..."]:
    """Returns the stack of an .npz, or that of an .npy without loading it yet."""
    with path.open("rb") as file:
        if file.read(2) != b"PK":  # not a zip, as which an .npz begins
            return np.lib.format.open_memmap(path, mode="r")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return np.asarray(arrays[_stack_name(path, arrays.files)])


def _stack_name(path: Path, names: list[str]) -> str:
    """Returns the name of the only array of an .npz, or of the one that is called a stack."""
    if len(names) == 1:
        return names[0]
    for name in ARRAY_NAMES:
        if name in names:
            return name
    raise StackFileError(
        f"{path} holds the arrays {', '.join(names) or '(none)'}; "
        f"the stack is the only one, or called {' or '.join(ARRAY_NAMES)}"
    )


def _array_codes(path: Path, array: Shaped[np.ndarray, "..."]) -> Codes:
    """Returns an array of any of ARRAY_SHAPES as (slice, view, row, col)."""
    match array.shape:
        case (slices, rows, cols) if _is_stack(slices, rows, cols):
            return np.asarray(array[:, None])
        case (slices, 1 | 2, rows, cols) if _is_stack(slices, rows, cols):
            return np.asarray(array)
        case (slices, rows, cols, 3) if _is_stack(slices, rows, cols):
            return np.asarray(array[:, None, ..., _green_channel(3)])
    raise StackFileError(
        f"{path} holds an array of shape {array.shape}; "
        f"a stack is {ARRAY_SHAPES}, at least {MIN_SIDE} x {MIN_SIDE} pixels"
    )


def _is_stack(slices: int, rows: int, cols: int) -> bool:
    return slices > 0 and min(rows, cols) >= MIN_SIDE


def _from_file(path: Path, codes: Codes, names: tuple[str, ...], progress: Progress | None) -> Pictures:
    """Returns the pictures of a file that holds the whole stack, in this machine's byte order."""
    if not (np.issubdtype(codes.dtype, np.integer) or np.issubdtype(codes.dtype, np.floating)):
        raise StackFileError(f"{path} holds values of type {codes.dtype}; pictures are integers or floats")
    codes = codes.astype(codes.dtype.newbyteorder("="), copy=False)
    if progress:
        progress(len(codes), len(codes))
    return Pictures(codes=codes, names=names, skipped=(), white=_white(codes.dtype))


def _white(dtype: np.dtype[Any]) -> float:
    return float(np.iinfo(dtype).max) if np.issubdtype(dtype, np.integer) else 1.0


# Positions


def positions_from_names(names: Sequence[str]) -> Positions:
    """Returns the number in each name that varies from slice to slice: IMG_00.198.jpg gives 0.198.

    Raises:
        StackFileError: If a name has no number, if more than one of its numbers varies, or if two
            slices have the same.
    """
    numbers = [_numbers_in(name) for name in names]
    for name, found in zip(names, numbers, strict=True):
        if not found:
            raise StackFileError(f"the name {name} has no number to take a position from")
        if len(found) != len(numbers[0]):
            raise StackFileError(
                f"the names {names[0]} and {name} have {len(numbers[0])} and {len(found)} numbers: "
                "it is not clear which one is the position"
            )
    fields = list(zip(*numbers, strict=True))
    varying = [field for field in fields if len(set(field)) > 1] if len(names) > 1 else fields
    if len(varying) != 1:
        raise StackFileError(
            f"{len(varying)} numbers vary between the names ({', '.join(names[:2])}, ...): "
            "just one, the position, must"
        )
    return _check_positions("the file names", varying[0], names)


def _numbers_in(name: str) -> list[float]:
    """Returns the numbers of a name without its ending: .198 in IMG_00.198 is no ending."""
    ending = Path(name).suffix
    stem = name.removesuffix(ending) if ending.lower() in PICTURE_SUFFIXES else name
    return [float(number) for number in NUMBER.findall(stem)]


def read_positions(text: str, names: Sequence[str]) -> Positions:
    """Returns where the lens was at each slice, as the user said it.

    Args:
        text: "names" for the numbers in the names; "0.2,0.4,0.6", one for each slice; "0:0.5" for a start
            and a step; or the path of a text or CSV file with a number on each line, or a name and a
            number, which then may be in any order. A header line, empty lines and lines that begin with
            # do not count.
        names: The names of the slices.

    Raises:
        StackFileError: If that does not give one finite number for each slice, all different.
    """
    if text.strip() == "names":
        return positions_from_names(names)
    listed = [_to_number(item) for item in text.split(",")]
    if None not in listed:
        return _check_positions(f"the list {text}", [item for item in listed if item is not None], names)
    start, _, step = (_to_number(item) for item in text.partition(":"))
    if start is not None and step is not None:
        return _check_positions(f"start:step {text}", [start + step * at for at in range(len(names))], names)
    return _positions_from_file(Path(text), names)


def _to_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _check_positions(source: str, positions: Sequence[float], names: Sequence[str]) -> Positions:
    """Returns the positions as an array, if there is a different finite one for each slice."""
    if len(positions) != len(names):
        raise StackFileError(f"{source}: {len(positions)} positions for {len(names)} slices")
    owner: dict[float, str] = {}
    for name, position in zip(names, positions, strict=True):
        if not np.isfinite(position):
            raise StackFileError(f"{source}: the position of {name} is {position}, not a finite number")
        if position in owner:
            raise StackFileError(
                f"{source}: {owner[position]} and {name} have the same position, {position:g}"
            )
        owner[position] = name
    return np.array(positions, dtype=np.float64)


def _positions_from_file(path: Path, names: Sequence[str]) -> Positions:
    rows = _position_rows(path)
    named = {name for name, _ in rows if name}
    if not named:
        return _check_positions(str(path), [number for _, number in rows], names)
    if len(named) != len(rows):
        raise StackFileError(f"{path} has lines without a name, or the same name twice")
    table = dict(rows)
    missing = [name for name in names if name not in table and Path(name).stem not in table]
    if missing:
        raise StackFileError(
            f"{path} has {len(names) - len(missing)} positions for {len(names)} slices: "
            f"{missing[0]} is not in it"
        )
    found = [table[name] if name in table else table[Path(name).stem] for name in names]
    return _check_positions(str(path), found, names)


def _position_rows(path: Path) -> list[tuple[str, float]]:
    """Returns (name, number) of each line of a file, the name empty where a line is just a number."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise StackFileError(f"there is no file {path}; positions are {POSITION_FORMS}") from None
    except (OSError, ValueError) as error:
        raise StackFileError(f"{path} cannot be read as positions: {error}") from error
    rows: list[tuple[str, float]] = []
    lines = [(at, line.strip()) for at, line in enumerate(text.splitlines(), 1)]
    lines = [(at, line) for at, line in lines if line and not line.startswith("#")]
    for at, line in lines:
        name, number = _split_row(line)
        if number is not None:
            rows.append((name, number))
        elif (at, line) != lines[0]:  # the first may be a header
            raise StackFileError(f"line {at} of {path} is {line!r}, not a number, or a name and a number")
    return rows


def _split_row(line: str) -> tuple[str, float | None]:
    """Returns the name and the number of a line; no number for a line that has none."""
    separator = next((mark for mark in ("\t", ";", ",", " ") if mark in line), None)
    name, _, number = line.rpartition(separator) if separator else ("", "", line)
    return name.strip().strip('"'), _to_number(number.strip().strip('"'))
