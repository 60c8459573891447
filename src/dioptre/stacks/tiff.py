"""Stacks in TIFF files: pages, and the axes, channels and spacing that the file names.

tifffile reads them, and OpenCV what is compressed in a way that needs a codec tifffile has not. What is not
compressed is mapped, so that only the part that is asked for is read; else a page is decoded at a time.
"""

import html
import math
import re
import weakref
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import InputError, StackFileError
from dioptre.resources import refuse_larger, regular, why_opencv_refused
from dioptre.stacks.axes import ALL, MOST_COLOURS, Volume, Wanted, volume_of_array
from dioptre.stacks.colours import GREEN, colour_with_signal, one_colour, red_first, told_of_colour
from dioptre.stacks.decoding import first_line, quiet_readers
from dioptre.stacks.pictures import Window

TIFF_SUFFIXES = (".tif", ".tiff")
PALETTE: Final = 3  # the tag of pages whose codes are indices of colours
MICROMETRES: Final = {
    **dict.fromkeys(("µm", "μm", "um", "micron", "microns", "micrometer", "\\u00b5m"), 1.0),
    "nm": 1e-3,
    "mm": 1e3,
    "cm": 1e4,
    "m": 1e6,
}


def open_tiff(path: Path, wanted: Wanted = ALL) -> Volume:
    """Returns the stacks of a TIFF file, opened.

    Raises:
        StackFileError: If it holds no stack, or several that are not alike, or is damaged.
        OSError: If it cannot be read.
    """
    with quiet_readers():
        try:
            return _open(path, wanted)
        except (StackFileError, OSError):
            raise
        except InputError as error:
            raise StackFileError(f"{path}: {error}") from None
        except Exception as error:  # a damaged TIFF raises nearly anything: struct.error, KeyError, ...
            raise StackFileError(f"{path} is not a readable TIFF: {first_line(error)}") from error


def count_pages(path: Path) -> int:
    """Returns the number of a TIFF's pages, without thumbnails; 0 if it is damaged."""
    import tifffile  # noqa: PLC0415 (start-up time)

    tiff: Any
    try:
        with quiet_readers(), tifffile.TiffFile(regular(path)) as tiff:
            return sum(not page.is_reduced for page in tiff.pages)
    except Exception:  # a damaged TIFF raises nearly anything
        return 0


def _open(path: Path, wanted: Wanted) -> Volume:
    import tifffile  # noqa: PLC0415 (start-up time)

    tiff: Any = tifffile.TiffFile(regular(path))
    pages = _Pages(path, tiff)  # which closes it
    _check_page_list(path, tiff)
    series = list(tiff.series)
    kinds = Counter((one.shape, one.axes, str(one.dtype)) for one in series)
    alone = len(kinds) == 1 and math.prod(series[0].shape[:-2]) == 1 and series[0].axes.endswith("YX")
    if len(kinds) != 1:
        found = ", ".join(
            f"{count} of shape {shape} and {dtype}" for (shape, _, dtype), count in kinds.items()
        )
        raise StackFileError(f"{path} holds {len(series)} stacks, not one: {found or 'no pages'}")
    for one in series:
        missing = sum(page is None for page in one.pages)
        if missing:  # tifffile would fill them with zeros
            raise StackFileError(f"{path} lacks {missing} of the {len(one.pages)} pages that it describes")
    first = series[0]
    axes, shape = _without_colours(first.axes, first.shape)
    if 0 in shape:
        raise StackFileError(f"{path} has no pixels: it has axes {axes} of shape {shape}")
    mapped = _mapped(path, series, wanted)
    if mapped is not None:
        volume = mapped
    else:
        if len(series) > 1:  # pages written one by one are the slices; whole stacks are positions
            axes, shape = ("Z" if alone else "P") + axes, (len(series), *shape)
        volume = _paged(path, pages, series, axes, shape)
        volume = volume if wanted.axes is None else volume.renamed(wanted.axes.replace("S", ""))
    return _without_nameless_channels(_with_metadata(volume, tiff))


def _without_nameless_channels(volume: Volume) -> Volume:
    """Returns a volume whose many channels without names are pages in a row: so tifffile writes any stack."""
    if volume.channels or volume.size("C") <= MOST_COLOURS or "Z" in volume.axes:
        return volume
    return replace(volume, axes=volume.axes.replace("C", "Q"))


def _without_colours(axes: str, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """Returns axes and shape as they are once of each colour picture only green is left."""
    if "S" not in axes or shape[axes.index("S")] > MOST_COLOURS:
        return axes, tuple(shape)
    at = axes.index("S")
    return axes.replace("S", ""), (*shape[:at], *shape[at + 1 :])


def _mapped(path: Path, series: list[Any], wanted: Wanted) -> Volume | None:
    """Returns a series that lies in the file as in memory, mapped; None if it does not."""
    one = series[0]
    colours = "S" in one.axes and one.shape[one.axes.index("S")] <= MOST_COLOURS
    unlike = _has_palette(one) or ("S" in one.axes and not colours)
    if len(series) > 1 or one.dataoffset is None or unlike:
        return None
    size = math.prod(one.shape) * one.dtype.itemsize
    if one.dataoffset + size > path.stat().st_size:
        raise StackFileError(f"{path} is damaged or cut short: its pages take {size} bytes")
    dtype = np.dtype(one.keyframe.parent.byteorder + one.dtype.char)
    array = np.memmap(path, dtype, "r", one.dataoffset, tuple(one.shape))
    return volume_of_array(array, wanted.axes or one.axes, str(path), paged=True)


def _paged(path: Path, pages: "_Pages", series: list[Any], axes: str, shape: tuple[int, ...]) -> Volume:
    """Returns series whose pages are decoded one by one."""
    if not axes.endswith("YX"):
        raise StackFileError(f"{path} has axes {axes} of shape {shape}; its pages are not rows and columns")
    each = [page for one in series for page in one.pages]
    if len(each) != math.prod(shape[:-2]):  # several pictures in a page
        refuse_larger(path, sum(one.size * one.dtype.itemsize for one in series), StackFileError)
        if len(series) == 1:
            return volume_of_array(series[0].asarray(), series[0].axes, str(path), paged=True)
        whole = np.stack([one.asarray() for one in series])
        return volume_of_array(whole, f"P{series[0].axes}", str(path), paged=True)
    refuse_larger(path, math.prod(shape[-2:]) * series[0].dtype.itemsize, StackFileError)

    def read(index: tuple[int, ...], window: Window) -> Shaped[np.ndarray, "row col"]:
        at = int(np.ravel_multi_index(index, shape[:-2])) if index else 0
        return window.cut(pages.read(each[at], shape[-2:]))

    coloured = "S" in series[0].axes or _has_palette(series[0])
    pages.colour = colour_with_signal(pages.picture(page) for page in each if coloured)
    dtype = np.dtype(np.uint8) if _has_palette(series[0]) else series[0].dtype
    return Volume(str(path), axes, shape, dtype, read, paged=True, notes=told_of_colour(pages.colour))


def _has_palette(series: Any) -> bool:
    """Returns whether codes of a series, or of a page, are indices of colours."""
    return series.keyframe.colormap is not None and series.keyframe.photometric == PALETTE


class _Pages:
    """Decodes pages of an open TIFF, which is closed when nobody asks for them any more."""

    def __init__(self, path: Path, tiff: Any) -> None:
        self._path, self.colour = path, GREEN
        tiff.filehandle.set_lock(True)
        weakref.finalize(self, tiff.close)

    def read(self, page: Any, shape: tuple[int, ...]) -> Shaped[np.ndarray, "row col"]:
        """Returns a page, of its colours one."""
        picture = self.picture(page)
        picture = one_colour(picture, self.colour) if picture.size else picture
        if picture.shape != tuple(shape):
            raise StackFileError(
                f"{self._path} has a page of shape {picture.shape} where {tuple(shape)} was expected"
            )
        return picture

    def picture(self, page: Any) -> Shaped[np.ndarray, "..."]:
        """Returns a page, colours last, by OpenCV where tifffile lacks the codec."""
        with quiet_readers():
            try:
                return self._decode(page)
            except (StackFileError, OSError):
                raise
            except Exception as error:  # a damaged page raises nearly anything
                raise StackFileError(f"{self._path} is not a readable TIFF: {first_line(error)}") from error

    def _decode(self, page: Any) -> Shaped[np.ndarray, "..."]:
        try:
            picture = page.asarray()
        except (ImportError, ValueError) as error:
            if "imagecodecs" not in str(error):
                raise
            return _decode_by_opencv(self._path, page.index)
        if picture.ndim == 3 and "S" in page.axes:
            picture = np.moveaxis(picture, page.axes.index("S"), -1)
        picture = picture.squeeze() if picture.ndim > 3 else picture
        return _through_palette(picture, page.keyframe.colormap) if _has_palette(page) else picture


def _through_palette(
    indices: Shaped[np.ndarray, "row col"], colours: Shaped[np.ndarray, "3 index"]
) -> Shaped[np.ndarray, "row col 3"]:
    """Returns the colours that codes stand for, of 8 bits, as OpenCV reads them."""
    return (colours >> 8).astype(np.uint8).T[indices]


def _decode_by_opencv(path: Path, at: int) -> Shaped[np.ndarray, "..."]:
    """Returns a page, read by OpenCV."""
    import cv2  # noqa: PLC0415 (start-up time)

    try:
        done, pages = cv2.imreadmulti(str(path), at, 1, flags=cv2.IMREAD_UNCHANGED)
        if not done:  # perhaps a path that OpenCV does not open
            done, pages = cv2.imdecodemulti(np.fromfile(path, np.uint8), cv2.IMREAD_UNCHANGED)
            pages = pages[at : at + 1]
    except cv2.error as error:
        raise StackFileError(why_opencv_refused(path, error) or f"{path} is damaged") from None
    if not done or not pages:
        raise StackFileError(f"{path} is damaged, or compressed in a way that is not supported")
    return red_first(pages[0])


def _check_page_list(path: Path, tiff: Any) -> None:
    """Raises if the chain of pages does not end in a null: tifffile would return the pages before the cut."""
    at = tiff.pages.next_page_offset
    if at is None:
        return
    tiff.filehandle.seek(at)
    if tiff.filehandle.read(tiff.tiff.offsetsize) != bytes(tiff.tiff.offsetsize):
        raise StackFileError(f"{path} is damaged or cut short: page {len(tiff.pages) + 1} is not there")


# What the file tells beside its pixels


def _with_metadata(volume: Volume, tiff: Any) -> Volume:
    """Returns a volume with the names of its channels and its spacing, as OME or ImageJ tell them."""
    if tiff.is_ome:
        text = str(tiff.ome_metadata or "")
        image = re.split(r"<(?:\w+:)?Image\b", text)[1:2] or [text]
        return volume.told_by(_ome_channels(image[0]), _ome_step(image[0]))
    if tiff.is_imagej:
        told = tiff.imagej_metadata or {}
        return volume.told_by((), _micrometres(told.get("spacing"), told.get("unit")))
    return volume


def _ome_channels(image: str) -> tuple[str, ...]:
    tags = re.findall(r"<(?:\w+:)?Channel\b[^>]*>", image)
    names = [re.search(r'\bName="([^"]*)"', tag) for tag in tags]
    return tuple(html.unescape(name[1]) for name in names if name) if all(names) else ()


def _ome_step(image: str) -> float | None:
    size, unit = (re.search(rf'\b{key}="([^"]*)"', image) for key in ("PhysicalSizeZ", "PhysicalSizeZUnit"))
    return _micrometres(size[1], html.unescape(unit[1]) if unit else "µm") if size else None


def _micrometres(size: Any, unit: Any) -> float | None:
    """Returns a length in micrometres; None if it is none."""
    scale = MICROMETRES.get(str(unit).strip().lower())
    try:
        length = float(size)
    except (TypeError, ValueError):
        return None
    return length * scale if scale and math.isfinite(length) and length > 0 else None
