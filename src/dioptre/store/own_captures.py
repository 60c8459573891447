"""People's own captures on disk: one folder for each, with a capture.toml.

    captures/
      desk_0/
        capture.toml    camera, scene, split, where the pictures and the truth are
        slices/         the pictures, one for each position, far to near (or whatever `read_pictures` reads)
        depth.npy       or labels.csv: the truth
      desk_1/ ...

docs/data.md lists the entries of capture.toml. Frames are as the camera gave them: nothing is turned, and
disparity, if there are two views, runs along the columns. Depth maps are in metres (or millimetres, if
capture.toml says so), labels.csv has a line for each labelled patch.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Shaped, UInt16

from dioptre.errors import FileError, InputError, MapFileError, StackFileError
from dioptre.grid import FocusGrid, metres_to_dioptres
from dioptre.optics import CameraModel
from dioptre.resources import read_text, read_toml
from dioptre.stacks.axes import Wanted
from dioptre.stacks.formats import read_pictures
from dioptre.store.format import StoreFormat
from dioptre.store.labels import FrameSize, Labels, map_factor
from dioptre.store.maps import read_map
from dioptre.store.table import SPLITS

CAPTURE = "capture.toml"
SLICES = "slices"
FAR_FIRST, NEAR_FIRST = "far-to-near", "near-to-far"
PER_METRE = {"m": 1.0, "mm": 1000.0}
PATHS = ("right", "depth", "confidence", "labels")  # entries that are paths, from the folder
LABEL_HEADERS = (["row", "col", "index"], ["row", "col", "dioptres"])
LONGEST_NAME = 200  # letters
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
ENTRIES: dict[str, tuple[type, ...]] = {
    "camera": (str,), "scene": (str,), "split": (str,), "slices": (str,), "right": (str,), "order": (str,),
    "dioptres": (list,), "black": (int, float), "white": (int, float), "depth": (str,), "depth_unit": (str,),
    "confidence": (str,), "labels": (str,), "light": (str,), "axes": (str,),
}  # fmt: skip

Codes = UInt16[np.ndarray, "slice view row col"]


@dataclass(frozen=True)
class OwnCapture:
    """What a capture.toml says.

    Attributes:
        name: Name of the folder.
        camera: The camera.
        grid: The grid: the capture's own, or the camera's.
        scene: What it shows; all captures of a scene are in one split.
        split: "train", "validation" or "test".
        slices: Folder, TIFF or array of the pictures; of the left view, if there is `right`.
        right: The same of the right view, if it is kept apart.
        order: "far-to-near" or "near-to-far": which end of the grid the first picture is.
        black: Code of black.
        white: Code of white; None for the largest of the pictures' type.
        depth: The depth map, if there is one.
        depth_unit: "m" or "mm"; in either, what is not a positive number is not known.
        confidence: Of the depth; None if it is 1 wherever the depth is known.
        labels: The table of labels, if there is one.
        light: "normal", "dark" or whatever tells captures apart.
        axes: What the axes of a TIFF or an array are (stacks/axes.py), such as "ZVYX" for left and right;
            None if the file tells.
    """

    name: str
    camera: CameraModel
    grid: FocusGrid
    scene: str
    split: str
    slices: Path
    right: Path | None = None
    order: str = FAR_FIRST
    black: float = 0.0
    white: float | None = None
    depth: Path | None = None
    depth_unit: str = "m"
    confidence: Path | None = None
    labels: Path | None = None
    light: str = "normal"
    axes: str | None = None

    def __post_init__(self) -> None:
        _one_of("split", self.split, SPLITS)
        Wanted(self.axes)  # checks them
        _one_of("order", self.order, (FAR_FIRST, NEAR_FIRST))
        _one_of("depth_unit", self.depth_unit, tuple(PER_METRE))
        if len(self.name) > LONGEST_NAME:
            raise InputError(f"the folder's name has {len(self.name)} letters, not {LONGEST_NAME} or less")
        if not NAME.fullmatch(self.name):
            raise InputError(f"the folder's name {self.name!r} has more than letters, digits, - _ and .")
        if (self.depth is None) == (self.labels is None):
            raise InputError(
                "its labels are missing: add depth (a map in metres) or labels (a table row,col,index)"
                if self.depth is None
                else "it has both depth and labels: give one of them"
            )
        if self.confidence is not None and self.depth is None:
            raise InputError("it has confidence, but no depth")

    @classmethod
    def from_toml(cls, path: Path) -> "OwnCapture":
        """Returns the settings in a capture.toml.

        Raises:
            FileError: If it cannot be read, or something is missing or wrong, in one sentence.
        """
        try:
            table = read_toml(path)
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
        try:
            return cls._from_table(path.parent, table)
        except KeyError as error:
            raise FileError(f"{path} lacks the entry {error}") from None
        except (OverflowError, TypeError, ValueError) as error:
            raise FileError(f"{path} does not describe a capture: {error}") from None
        except OSError as error:
            raise FileError(f"{path}: {error.filename}: {error.strerror}") from None

    @classmethod
    def _from_table(cls, folder: Path, table: Mapping[str, Any]) -> "OwnCapture":
        for key, value in table.items():
            if key not in ENTRIES:
                raise InputError(f"it has the unknown entry {key!r}")
            if not isinstance(value, ENTRIES[key]) or isinstance(value, bool):
                raise InputError(f"its entry {key} is {value!r}, not {ENTRIES[key][-1].__name__}")
        named = table["camera"]
        camera = CameraModel.pixel3() if named == "pixel3" else CameraModel.from_toml(folder / named)
        given: dict[str, Any] = {key: folder / table[key] for key in PATHS if key in table}
        given |= {key: table[key] for key in ("order", "depth_unit", "light", "axes") if key in table}
        given |= {key: float(table[key]) for key in ("black", "white") if key in table}
        dioptres = table.get("dioptres")
        return cls(
            name=folder.resolve().name,
            camera=camera,
            grid=camera.grid if dioptres is None else FocusGrid.of_dioptres(dioptres).need_far_to_near(),
            scene=table["scene"],
            split=table["split"],
            slices=folder / table.get("slices", SLICES),
            **given,
        )


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"its {name} is {value!r}, not one of {', '.join(choices)}")


def list_folders(source: Path) -> list[Path]:
    """Returns the capture.toml files of a source: its own, or those of the folders in it, by name."""
    if (source / CAPTURE).is_file():
        return [source / CAPTURE]
    return sorted(source.glob(f"*/{CAPTURE}")) if source.is_dir() else []


# Pictures


def read_codes(capture: OwnCapture) -> tuple[Codes, float]:
    """Returns the codes of a capture, far to near, and its white.

    Raises:
        StackFileError: If pictures cannot be read, are not 8- or 16-bit codes, or do not fit the grid, the
            camera or each other.
    """
    pictures = read_pictures(capture.slices, wanted=Wanted(capture.axes))
    codes, white = pictures.codes, pictures.white
    if capture.right is not None:
        codes = _join_views(capture, codes)
    codes = _sixteen_bit(capture, codes)
    if len(codes) != len(capture.grid):
        raise StackFileError(
            f"{capture.slices} has {len(codes)} slices, but the grid has {len(capture.grid)} positions"
        )
    if codes.shape[2:] != capture.camera.frame:
        raise StackFileError(
            f"{capture.slices} has pictures of {codes.shape[3]} x {codes.shape[2]} pixels, but the camera's "
            f"frame is {capture.camera.frame[1]} x {capture.camera.frame[0]}"
        )
    return (
        codes if capture.order == FAR_FIRST else codes[::-1],
        white if capture.white is None else capture.white,
    )


def _join_views(
    capture: OwnCapture, left: Shaped[np.ndarray, "slice view row col"]
) -> Shaped[np.ndarray, "slice 2 row col"]:
    assert capture.right is not None
    right = read_pictures(capture.right, wanted=Wanted(capture.axes)).codes
    if left.shape != right.shape or left.shape[1] != 1 or left.dtype != right.dtype:
        raise StackFileError(
            f"{capture.slices} and {capture.right} are not two views of the same slices: "
            f"{left.dtype} of shape {left.shape} and {right.dtype} of shape {right.shape}"
        )
    return np.concatenate([left, right], axis=1)


def _sixteen_bit(capture: OwnCapture, codes: Shaped[np.ndarray, "slice view row col"]) -> Codes:
    if codes.dtype not in (np.uint8, np.uint16):
        raise StackFileError(f"{capture.slices} holds {codes.dtype} pixels; a store holds 8- or 16-bit codes")
    return codes.astype(np.uint16, copy=False)


def capture_format(capture: OwnCapture, codes: Codes, white: float, size: int) -> StoreFormat:
    """Returns the format of a store that can hold this capture."""
    return StoreFormat(capture.grid, size, codes.shape[1], capture.black, white, rows_per_native=1)


# Labels


def own_labels(capture: OwnCapture, frame: FrameSize, size: int, stride: int) -> Labels:
    """Returns the labels of a capture: of all patches from its depth map, or those of its table.

    Raises:
        FileError: If the map or the table cannot be read, or does not fit the frame or the grid.
    """
    if capture.labels is not None:
        return read_table(capture.labels, capture.grid, frame, size)
    assert capture.depth is not None  # one of both is there
    depth, known = read_depth(capture.depth, capture.depth_unit)
    try:
        map_factor(depth.shape, frame)
    except InputError as error:
        raise MapFileError(f"{capture.depth}: {error}") from None
    confidence = known.astype(np.float64)
    if capture.confidence is not None:
        confidence *= _read_confidence(capture.confidence, depth.shape)
    return Labels.from_maps(depth, confidence, capture.grid, frame, size, stride)


def _read_confidence(path: Path, shape: tuple[int, ...]) -> Float[np.ndarray, "map_row map_col"]:
    found = read_map(path)
    if not np.issubdtype(found.dtype, np.floating):
        raise MapFileError(f"{path} holds {found.dtype}; a confidence map holds floats in [0, 1]")
    if found.shape != shape:
        raise MapFileError(f"{path} has shape {found.shape}, but the depth map has {shape}")
    return found


def read_depth(
    path: Path, unit: str
) -> tuple[Float[np.ndarray, "map_row map_col"], Bool[np.ndarray, "map_row map_col"]]:
    """Returns a depth map in dioptres, and where it is known.

    Args:
        path: A float map, or whole numbers.
        unit: "m" or "mm". Infinity is 0 dioptres; NaN, 0 and less mean that the depth is not known.

    Raises:
        MapFileError: If whole numbers are said to be metres: such a map most likely holds something else.
    """
    found = read_map(path)
    if unit == "m" and np.issubdtype(found.dtype, np.integer):
        raise MapFileError(
            f"{path} holds whole numbers ({found.dtype}), which are hardly metres: "
            'say depth_unit = "mm" if they are millimetres'
        )
    metres = found.astype(np.float64) / PER_METRE[unit]
    known = metres > 0  # False for NaN
    return np.asarray(metres_to_dioptres(np.where(known, metres, np.inf))), known


def read_table(path: Path, grid: FocusGrid, frame: FrameSize, size: int) -> Labels:
    """Returns the labels of a CSV file with the columns row, col and index, or row, col and dioptres.

    Raises:
        FileError: If a line is wrong, in one sentence with its number.
    """
    try:
        lines = list(csv.reader(read_text(path, "utf-8-sig").splitlines()))
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise FileError(f"{path} is not a CSV file: {error}") from None
    header = [name.strip().lower() for name in lines[0]] if lines else []
    if header not in LABEL_HEADERS:
        raise FileError(f"{path} begins with {','.join(header)!r}, not row,col,index or row,col,dioptres")
    numbered = [(at, line) for at, line in enumerate(lines[1:], 2) if line]
    if not numbered:
        raise FileError(f"{path} has no line but its header")
    parsed = [_label(path, at, line, header[2], grid, frame, size) for at, line in numbered]
    corners = np.array([corner for corner, _, _ in parsed])
    return Labels(
        corners,
        depth=np.array([depth for _, depth, _ in parsed]),
        confidence=np.ones(len(parsed)),
        truth=np.array([truth for _, _, truth in parsed]),
    )


def _label(
    path: Path,
    at: int,
    line: list[str],
    what: str,
    grid: FocusGrid,
    frame: FrameSize,
    size: int,
) -> tuple[tuple[int, int], float, int]:
    """Returns corner, depth in dioptres and index of a line."""
    try:
        row, col = int(line[0]), int(line[1])
        value = int(line[2]) if what == "index" else float(line[2])
    except (ValueError, IndexError):
        raise FileError(f"line {at} of {path} is {','.join(line)!r}, not row,col,{what}") from None
    if not (0 <= row <= frame[0] - size and 0 <= col <= frame[1] - size):
        raise FileError(
            f"line {at} of {path}: the patch of {size} x {size} at row {row}, column {col} is not inside the "
            f"frame of {frame[0]} x {frame[1]}"
        )
    if what == "dioptres":
        if not 0 <= value < np.inf:
            raise FileError(f"line {at} of {path}: {value} is not a depth in dioptres")
        return (row, col), float(value), int(grid.nearest_index(float(value)))
    if not 0 <= value < len(grid):
        raise FileError(f"line {at} of {path}: the index is in 0..{len(grid) - 1}, not {value}")
    return (row, col), float(grid.dioptres[int(value)]), int(value)
