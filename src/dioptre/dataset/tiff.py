"""Stacks in TIFF files: pages, and the axes that the file names, become (slice, view, row, col).

tifffile reads them, and OpenCV what is compressed in a way that needs a codec tifffile has not.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from dioptre.dataset.decoding import first_line, green, green_channel, quiet_readers
from dioptre.dataset.limits import refuse_larger
from dioptre.errors import StackFileError

TIFF_SUFFIXES = (".tif", ".tiff")

Codes = Shaped[np.ndarray, "slice view row col"]


def read_tiff(path: Path) -> Codes:
    """Returns the stack in a TIFF file.

    Raises:
        StackFileError: If it holds none, or several, or is damaged.
        OSError: If it cannot be read.
    """
    with quiet_readers():
        try:
            series = _tiff_series(path)
            return _one_stack(path, [_arrange(path, pages, axes) for pages, axes in series])
        except (StackFileError, OSError):
            raise
        except Exception as error:  # a damaged TIFF raises nearly anything: struct.error, KeyError, ...
            raise StackFileError(f"{path} is not a readable TIFF: {first_line(error)}") from error


def count_pages(path: Path) -> int:
    """Returns how many pages a TIFF has, without thumbnails; 0 if it is damaged, as decoding it will tell."""
    import tifffile  # noqa: PLC0415 (start-up time)

    tiff: Any
    try:
        with tifffile.TiffFile(path) as tiff:
            return sum(not page.is_reduced for page in tiff.pages)
    except Exception:  # a damaged TIFF raises nearly anything
        return 0


def _tiff_series(path: Path) -> list[tuple[Shaped[np.ndarray, "..."], str]]:
    """Returns each series of pages that belong together, as the file tells, and the letters of its axes."""
    import tifffile  # noqa: PLC0415 (start-up time)

    with tifffile.TiffFile(path) as tiff:
        _check_page_list(path, tiff)
        for series in tiff.series:
            refuse_larger(path, series.size * series.dtype.itemsize, StackFileError)
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
    return [green(page) for page in pages]


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
        codes = codes.take(green_channel(codes.shape[samples]), axis=samples)
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
