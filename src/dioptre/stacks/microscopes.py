"""Microscopes' own files: Zarr and OME-Zarr, Nikon's .nd2, Zeiss' .czi (stacks/zeiss.py), each by an extra.

What is not read here is named with what would read it.
"""

import math
import warnings
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import InputError, MissingExtraError, StackFileError
from dioptre.resources import refuse_larger, regular
from dioptre.stacks.axes import ALL, Volume, Wanted, axes_of_shape, volume_of_array
from dioptre.stacks.colours import GREEN, colour_with_signal, one_colour, told_of_colour
from dioptre.stacks.decoding import first_line
from dioptre.stacks.pictures import Window
from dioptre.stacks.zeiss import open_czi

EXTRAS: Final = {".zarr": "zarr", ".nd2": "nd2", ".czi": "czi"}
ELSEWHERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (".lif", ".oib", ".oif", ".vsi", ".lsm", ".stk", ".ims"), "Fiji saves it as OME-TIFF, which is read"
    ),
    **dict.fromkeys((".dcm", ".ima"), "DICOM never is; pydicom's pixel_array, saved as .npy, is read"),
    **dict.fromkeys((".fits", ".fit", ".fts"), "astropy's fits.getdata, saved as .npy, is read"),
    **dict.fromkeys((".h5", ".hdf5", ".mat"), "h5py reads it; the array, saved as .npy, is read"),
    **dict.fromkeys(
        (".nii", ".nrrd", ".mha", ".mhd"), "SimpleITK reads it; the array, saved as .npy, is read"
    ),
    **dict.fromkeys((".psd", ".xcf", ".pdf", ".svg"), "export the pictures as PNG or TIFF, which are read"),
    **dict.fromkeys((".zip", ".tar", ".gz", ".7z", ".rar"), "unpack it; the folder is read"),
}


def reader_elsewhere(suffix: str) -> str | None:
    """Returns advice on a format that is not read here; None if there is none."""
    return ELSEWHERE.get(suffix.lower())


def is_microscope_file(path: Path) -> bool:
    """Returns whether a path is called as one of these, or is a folder that holds a Zarr."""
    marks = (".zgroup", ".zarray", "zarr.json")
    return (path.suffix.lower() in EXTRAS and path.exists()) or any((path / mark).is_file() for mark in marks)


def open_microscope(path: Path, wanted: Wanted = ALL) -> Volume:
    """Returns the stacks of a microscope's file, opened.

    Raises:
        StackFileError: If it is damaged, or holds no pictures.
        MissingExtraError: If its reader is not there.
        OSError: If it cannot be read.
    """
    suffix = path.suffix.lower() if path.suffix.lower() in EXTRAS else ".zarr"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {".zarr": _open_zarr, ".nd2": _open_nd2, ".czi": open_czi}[suffix](regular(path), wanted)
    except (StackFileError, OSError):
        raise
    except InputError as error:
        raise StackFileError(f"{path}: {error}") from None
    except ImportError:
        extra = EXTRAS[suffix]
        raise MissingExtraError(f"{path} needs a reader of its own: pip install 'dioptre[{extra}]'") from None
    except Exception as error:  # a damaged file raises nearly anything
        raise StackFileError(f"{path} cannot be read: {first_line(error)}") from error


# Zarr


def _open_zarr(path: Path, wanted: Wanted) -> Volume:
    """Returns the array of a Zarr, or the finest level of an OME-Zarr with the axes that it names."""
    import zarr  # noqa: PLC0415 (an extra)

    opened: Any = zarr.open(str(path), mode="r")
    scales = _multiscales(opened)
    channels: tuple[str, ...] = ()
    if scales is None:
        array = opened if hasattr(opened, "shape") else _only_array(path, opened)
        axes, step = wanted.axes or axes_of_shape(array.shape), None
    else:
        array, axes, step = _finest(opened, scales)
        axes, channels = wanted.axes or axes, _zarr_channels(opened)
    _check_zarr(path, array)
    if len(axes) != len(array.shape) or not axes.endswith("YX"):
        if len(axes) != len(array.shape):
            raise InputError(f"an array of shape {array.shape} has not the axes {axes} (axes=...)")
        refuse_larger(path, math.prod(array.shape) * array.dtype.itemsize, StackFileError)
        return volume_of_array(np.asarray(array[...]), axes, str(path))
    refuse_larger(path, math.prod(array.shape[-2:]) * array.dtype.itemsize, StackFileError)

    def read(index: tuple[int, ...], window: Window) -> Shaped[np.ndarray, "row col"]:
        try:
            return np.asarray(array[(*index, *window.slices)])
        except OSError:
            raise
        except Exception as error:  # a damaged chunk raises nearly anything
            raise StackFileError(f"{path} cannot be read: {first_line(error)}") from error

    volume = Volume(str(path), axes, tuple(array.shape), np.dtype(array.dtype), read)
    return volume.told_by(channels, step)


def _check_zarr(path: Path, array: Any) -> None:
    """Raises StackFileError before a chunk is read that is no numbers, runs code, or is too large."""
    codecs = [*(array.filters or ()), *(array.compressors or ())]
    names = [str(getattr(one, "codec_id", type(one).__name__)).lower() for one in codecs]
    if np.dtype(array.dtype).kind not in "buif" or "pickle" in names:
        raise StackFileError(f"{path} holds values of type {array.dtype} by {names}; pictures are numbers")
    chunk = math.prod(array.shards or array.chunks)
    refuse_larger(path, chunk * array.dtype.itemsize, StackFileError)


def _multiscales(opened: Any) -> Any:
    attributes = dict(opened.attrs)
    ome = attributes.get("ome", attributes)  # version 0.5 puts all under ome
    found = ome.get("multiscales") if isinstance(ome, dict) else None
    return found[0] if isinstance(found, list) and found else None


def _only_array(path: Path, group: Any) -> Any:
    arrays = list(group.array_values())
    if len(arrays) != 1:
        raise StackFileError(f"{path} holds {len(arrays)} arrays, not one, and is no OME-Zarr of pictures")
    return arrays[0]


def _finest(group: Any, scales: Mapping[str, Any]) -> tuple[Any, str, float | None]:
    """Returns the finest level, its axes and the micrometres from slice to slice."""
    level = scales["datasets"][0]
    array = group[level["path"]]
    named = scales.get("axes") or list("tczyx"[-len(array.shape) :])
    letters = [(one["name"] if isinstance(one, dict) else one)[:1].upper() for one in named]
    step = None
    for change in level.get("coordinateTransformations", []):
        if change.get("type") == "scale" and "Z" in letters and isinstance(named[0], dict):
            at = letters.index("Z")
            scale = {"micrometer": 1.0, "nanometer": 1e-3, "millimeter": 1e3}.get(named[at].get("unit"))
            step = float(change["scale"][at]) * scale if scale else None
    return array, "".join(letters), step


def _zarr_channels(opened: Any) -> tuple[str, ...]:
    attributes = dict(opened.attrs)
    omero = attributes.get("ome", attributes).get("omero", {})
    return tuple(str(one.get("label", at)) for at, one in enumerate(omero.get("channels", [])))


# nd2


def _open_nd2(path: Path, wanted: Wanted) -> Volume:
    """Returns the pictures of a Nikon file, read a frame at a time."""
    import nd2  # noqa: PLC0415 (an extra)

    file: Any = nd2.ND2File(path)
    frames = _Frames(path, file)  # which closes it
    sizes = dict(file.sizes)
    rows, cols = sizes["Y"], sizes["X"]
    loops = [letter for letter in sizes if letter not in "CYXS"]
    shape = (*(sizes[letter] for letter in loops), sizes.get("C", 1), rows, cols)
    axes = "".join(loops) + "CYX"
    refuse_larger(path, rows * cols * sizes.get("C", 1) * file.dtype.itemsize, StackFileError)
    counts = shape[: len(loops)]

    def read(index: tuple[int, ...], window: Window) -> Shaped[np.ndarray, "row col"]:
        at = int(np.ravel_multi_index(index[:-1], counts)) if counts else 0
        frame = frames.read(at, index[-1])
        if frame.shape != (rows, cols):
            raise StackFileError(f"{path}: frame {at} has shape {frame.shape}, not {(rows, cols)}")
        return window.cut(frame)

    if "S" in sizes:
        frames.colour = colour_with_signal(frames.picture(at) for at in range(math.prod(counts)))
    notes = told_of_colour(frames.colour)
    volume = Volume(str(path), axes, shape, np.dtype(file.dtype), read, notes=notes)
    told = getattr(file.metadata, "channels", None) or []
    scale = getattr(told[0], "volume", None) if told else None
    known = scale is None or scale.axesCalibrated[2]  # of what is not, nd2 says 1
    step = _positive(file.voxel_size().z) if known else None
    volume = volume.told_by(tuple(one.channel.name for one in told), step)
    return volume if wanted.axes is None else volume.renamed(wanted.axes)


class _Frames:
    """Frames of an open .nd2, which is closed when nobody asks for them any more."""

    def __init__(self, path: Path, file: Any) -> None:
        self._path, self._file = path, file
        weakref.finalize(self, file.close)
        self.coloured, self.colour = "S" in file.sizes, GREEN

    def picture(self, at: int) -> Shaped[np.ndarray, "..."]:
        """Returns a frame, (row, col), (channel, row, col) or with its colours last."""
        try:
            return np.asarray(self._file.read_frame(at))
        except Exception as error:  # a damaged file raises nearly anything
            raise StackFileError(f"{self._path}: frame {at} cannot be read: {first_line(error)}") from error

    def read(self, at: int, channel: int) -> Shaped[np.ndarray, "row col"]:
        """Returns a channel of a frame, of colours one."""
        frame = self.picture(at)
        frame = one_colour(frame, self.colour) if self.coloured else frame
        return frame if frame.ndim == 2 else frame[channel]


def _positive(value: Any) -> float | None:
    return float(value) if value and math.isfinite(value) and value > 0 else None
