"""Labels of patches: where patches lie in a frame, and what depth and confidence maps say about each.

A *corner* is (row, col) of a patch's top left pixel in the frame; the size of a frame is (rows, cols). A map
covers the whole frame, each of its pixels a square of frame pixels. Depths are dioptres where nothing else is
said.

The published depth maps hold codes 0..255, evenly spaced in inverse depth, **0 nearest**:
1 / distance = 1 / nearest - (code / 255) (1 / nearest - 1 / farthest).

This module knows arrays, no files; and nothing of which way up a file is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.lib.stride_tricks import sliding_window_view

from dioptre.errors import InputError
from dioptre.grid import FocusGrid, Reals, metres_to_dioptres

SIZE = 128  # rows and columns of a patch (paper, Dataset)
STRIDE = 40
CROP = 1.5  # the tables of the paper are for patches inside this central crop
LARGEST_CODE = 255.0

NEAREST_M, FARTHEST_M = 0.1, 100.0  # of the published depth codes
WINDOWS_AT_A_TIME = 128  # whose pixels are copied: bounds the memory of maps at full resolution

FrameSize = tuple[int, int]
Corners = Int[np.ndarray, "patch 2"]
Map = Float[np.ndarray, "map_row map_col"]


# Depth codes


def code_to_metres(code: Reals, nearest_m: float = NEAREST_M, farthest_m: float = FARTHEST_M) -> Reals:
    """Returns the distance of a depth code."""
    near, far = _ends(nearest_m, farthest_m)
    return 1.0 / (near - np.asarray(code, dtype=np.float64) / LARGEST_CODE * (near - far))


def metres_to_code(distance_m: Reals, nearest_m: float = NEAREST_M, farthest_m: float = FARTHEST_M) -> Reals:
    """Returns the depth code of a distance, neither rounded nor held to 0..255."""
    near, far = _ends(nearest_m, farthest_m)
    return LARGEST_CODE * (near - np.asarray(metres_to_dioptres(distance_m))) / (near - far)


def _ends(nearest_m: float, farthest_m: float) -> tuple[float, float]:
    """Returns the dioptres of the codes 0 and 255."""
    if not 0 < nearest_m < farthest_m:
        raise InputError(f"depth codes span 0 < nearest < farthest, not {nearest_m:g} m to {farthest_m:g} m")
    return 1.0 / nearest_m, 1.0 / farthest_m


# Corners


def patch_corners(frame: FrameSize, size: int = SIZE, stride: int = STRIDE) -> Corners:
    """Returns the corner of every patch of a frame, row by row from the top left."""
    if min(frame) < size:
        raise InputError(f"a frame of {frame[0]} x {frame[1]} pixels holds no patch of {size} x {size}")
    rows, cols = (np.arange(0, length - size + 1, stride) for length in frame)
    return np.stack(np.meshgrid(rows, cols, indexing="ij"), axis=-1).reshape(-1, 2)


def in_crop(corners: Corners, frame: FrameSize, size: int = SIZE) -> Bool[np.ndarray, " patch"]:
    """Returns which patches lie wholly inside the central 1.5x crop of the frame."""
    offset = np.abs(_centres(corners, frame, size))  # from the frame's centre
    return (offset + size / 2 <= np.array(frame) / (2 * CROP)).all(axis=1)


def patch_where(corners: Corners, frame: FrameSize, size: int = SIZE) -> Float[np.ndarray, "patch 2"]:
    """Returns the centre of each patch as (x, y), each in [-1, 1] over the frame."""
    return (_centres(corners, frame, size) / (np.array(frame) / 2))[:, ::-1]


def _centres(corners: Corners, frame: FrameSize, size: int) -> Float[np.ndarray, "patch 2"]:
    """Returns each patch's centre, (row, col) from the frame's centre."""
    return corners + size / 2 - np.array(frame) / 2


# Medians


def patch_medians(
    values: Map,
    valid: Bool[np.ndarray, "map_row map_col"],
    corners: Corners,
    frame: FrameSize,
    size: int = SIZE,
) -> Float[np.ndarray, " patch"]:
    """Returns the median of each patch's valid map pixels; NaN for a patch that has none.

    Args:
        values: The map.
        valid: Which of its pixels count.
        corners: Of the patches, in pixels of the frame.
        frame: Rows and columns that the map covers.
        size: Rows and columns of a patch.

    Raises:
        InputError: If a pixel of the map is not a square of whole frame pixels.
    """
    factor = map_factor(values.shape, frame)
    marked = np.where(valid, values, np.nan)
    windows = sliding_window_view(marked, (-(-size // factor),) * 2)
    rows, cols = corners.T // factor
    medians = np.empty(len(corners))
    for first in range(0, len(corners), WINDOWS_AT_A_TIME):
        some = slice(first, first + WINDOWS_AT_A_TIME)
        chosen = windows[rows[some], cols[some]]
        medians[some] = _medians(chosen.reshape(len(chosen), -1))
    return medians


def map_factor(shape: tuple[int, ...], frame: FrameSize) -> int:
    """Returns the side of a map's pixel in frame pixels: 4 for the published maps."""
    factor = frame[0] // max(shape[0], 1)
    if len(shape) != 2 or factor < 1 or (shape[0] * factor, shape[1] * factor) != frame:
        raise InputError(
            f"a map of {' x '.join(map(str, shape))} does not divide the frame of "
            f"{frame[0]} x {frame[1]} pixels"
        )
    return factor


def _medians(values: Float[np.ndarray, "patch pixel"]) -> Float[np.ndarray, " patch"]:
    """Returns the median of the numbers in each row, leaving out NaN, which sorts last."""
    ordered = np.sort(values, axis=1)
    count = values.shape[1] - np.isnan(ordered).sum(axis=1)
    middle = np.stack([np.maximum(count - 1, 0) // 2, count // 2], axis=1)
    middle = np.minimum(middle, values.shape[1] - 1)
    return np.take_along_axis(ordered, middle, axis=1).mean(axis=1)


# Labels


@dataclass(frozen=True, eq=False)
class Labels:
    """What is known about some patches of a capture.

    Attributes:
        corners: Where they are.
        depth: Median depth in dioptres; NaN where nothing is known.
        confidence: Median confidence, in [0, 1].
        truth: Position of the grid nearest in inverse depth; 0 where the depth is NaN.
    """

    corners: Corners
    depth: Float[np.ndarray, " patch"]
    confidence: Float[np.ndarray, " patch"]
    truth: Int[np.ndarray, " patch"]

    @classmethod
    def from_maps(
        cls,
        depth: Map,
        confidence: Float[np.ndarray, "_ _"],
        grid: FocusGrid,
        frame: FrameSize,
        size: int = SIZE,
        stride: int = STRIDE,
    ) -> "Labels":
        """Returns the labels of all patches of a frame (paper, Dataset).

        Args:
            depth: In dioptres.
            confidence: In [0, 1]; where it is 0 (or NaN) the depth does not count.
            grid: The grid.
            frame: Rows and columns that the maps cover.
            size: Rows and columns of a patch.
            stride: From patch to patch.
        """
        if depth.shape != confidence.shape:
            raise InputError(
                f"depth is {depth.shape[0]} x {depth.shape[1]}, "
                f"but confidence is {confidence.shape[0]} x {confidence.shape[1]}"
            )
        corners = patch_corners(frame, size, stride)
        known = np.nan_to_num(confidence)
        medians = patch_medians(depth, known > 0, corners, frame, size)
        trusted = patch_medians(known, np.ones(known.shape, dtype=bool), corners, frame, size)
        truth = np.where(np.isnan(medians), 0, grid.nearest_index(np.nan_to_num(medians)))
        return cls(corners, medians, trusted, truth)

    def __len__(self) -> int:
        return len(self.corners)

    def at(self, chosen: Bool[np.ndarray, " patch"]) -> "Labels":
        """Returns some of the labels."""
        return Labels(self.corners[chosen], self.depth[chosen], self.confidence[chosen], self.truth[chosen])

    def trusted(self, least: float) -> "Labels":
        """Returns those whose depth is known with at least this median confidence."""
        return self.at(~np.isnan(self.depth) & (self.confidence >= least))


def label_rows(
    labels: Labels, frame: FrameSize, capture: Mapping[str, Any], size: int = SIZE
) -> list[dict[str, Any]]:
    """Returns the rows of a store for these patches.

    Args:
        labels: Of the patches.
        frame: Rows and columns of the frame they lie in.
        capture: Columns that are the same for all patches of the capture: scene, capture, split, ...
        size: Rows and columns of a patch.
    """
    columns = zip(
        labels.corners.tolist(),
        labels.truth.tolist(),
        patch_where(labels.corners, frame, size).tolist(),
        labels.depth.tolist(),
        labels.confidence.tolist(),
        in_crop(labels.corners, frame, size).tolist(),
        strict=True,
    )
    return [
        {
            **capture,
            "row": row,
            "col": col,
            "truth": truth,
            "where_x": x,
            "where_y": y,
            "depth": depth,
            "confidence": confidence,
            "in_crop": inside,
        }
        for (row, col), truth, (x, y), depth, confidence, inside in columns
    ]
