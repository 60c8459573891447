"""Regions: the part of all slices that is measured, without the pixels that do not count.

Where whole rows and columns of the border do not count, as registration leaves them, the region is cropped.
The holes that remain are filled, from their borders inwards, with the mean of what is around them, which has
little detail: so they add little to a measure of contrast, and all slices have the same ones.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from jaxtyping import Bool, Float32, Int, Shaped

from dioptre.errors import InputError
from dioptre.focusing.slices import LOST, Mask, Slices
from dioptre.methods.measure import MIN_SIZE
from dioptre.stacks.pictures import Window

NEIGHBOURS: Final = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))  # down, right
EDGE: Final = 0.05  # of a border's pixels do not count: then the border does not


@dataclass(frozen=True, eq=False)
class Region:
    """The part of all slices that is measured.

    Attributes:
        window: Where it lies.
        filling: What fills its holes, if it has any.
        notes: What was left out of it, in sentences.
    """

    window: Window
    filling: "Filling | None" = None
    notes: tuple[str, ...] = field(default=())

    def pixels(
        self, slices: Slices, codes: Shaped[np.ndarray, "view row col"]
    ) -> Float32[np.ndarray, "view h w"]:
        """Returns the region's pixels of a slice that was read in its window."""
        pixels = np.ascontiguousarray(slices.to_pixels(codes))
        return pixels if self.filling is None else self.filling.fill(pixels)


def to_region(slices: Slices, window: Window) -> Region:
    """Returns a region without the borders that do not count.

    Raises:
        InputError: If hardly anything of it counts, or is in all slices.
    """
    window = _in_field(slices, window)
    if slices.holes is None or not window.cut(slices.holes).any():
        return Region(window)
    holes = window.cut(slices.holes)
    share = float(holes.mean())
    inner = _crop(holes)
    top, left = window.top + inner.top, window.left + inner.left
    rows, cols = inner.shape
    kept = Window(top, left, top + rows, left + cols)
    if min(rows, cols) < MIN_SIZE or inner.cut(holes).mean() > LOST:
        raise InputError(
            f"hardly any pixel of the region is finite in all slices: {share:.0%} are NaN, infinite or masked"
        )
    note = f"{share:.2g} of the pixels are NaN, infinite or masked and left out"
    if kept != window:
        note = f"{note}; the region is cropped to x={left} y={top} w={cols} h={rows}"
    filling = Filling.of(inner.cut(holes)) if inner.cut(holes).any() else None
    return Region(kept, filling, (note,))


def _in_field(slices: Slices, window: Window) -> Window:
    """Returns the part of a window that all slices show."""
    inner = window if slices.field is None else window.common(slices.field)
    if min(inner.shape) < min(MIN_SIZE, *window.shape):
        raise InputError(
            f"the camera moved away from the region x={window.left} y={window.top} w={window.shape[1]} "
            f"h={window.shape[0]}: hardly anything of it is in all slices"
        )
    return inner


def _crop(holes: Mask) -> Window:
    """Returns the part that is left when borders with many holes are taken off, the worst first."""
    rows, cols = holes.shape
    top, left, bottom, right = 0, 0, rows, cols
    while bottom - top > 1 and right - left > 1:
        sides = (
            holes[top, left:right].mean(),
            holes[bottom - 1, left:right].mean(),
            holes[top:bottom, left].mean(),
            holes[top:bottom, right - 1].mean(),
        )
        worst = int(np.argmax(sides))
        if sides[worst] <= EDGE:
            break
        top, bottom = top + (worst == 0), bottom - (worst == 1)
        left, right = left + (worst == 2), right - (worst == 3)
    return Window(int(top), int(left), int(bottom), int(right))


@dataclass(frozen=True, eq=False)
class HoleLayer:
    """Pixels of holes that are filled at the same time.

    Attributes:
        here: Their flat places.
        around: Those of the eight neighbours of each.
        known: Which of these are known by then.
    """

    here: Int[np.ndarray, " hole"]
    around: Int[np.ndarray, "8 hole"]
    known: Bool[np.ndarray, "8 hole"]


@dataclass(frozen=True, eq=False)
class Filling:
    """How holes are filled: from their borders inwards, each pixel with the mean of its known neighbours."""

    layers: tuple[HoleLayer, ...]

    @classmethod
    def of(cls, holes: Mask) -> "Filling":
        """Returns how the holes of a region are filled."""
        cols = holes.shape[1]
        wide = cols + 2
        flat = np.pad(~holes, 1).ravel()  # beyond the border nothing is known
        left = np.flatnonzero(np.pad(holes, 1))
        steps = np.array([[down * wide + right] for down, right in NEIGHBOURS])
        layers = []
        while len(left):
            around = left + steps
            known = flat[around]
            now = known.any(axis=0)
            here = left[now]
            places = np.where(known[:, now], around[:, now], here)  # itself where there is none
            layers.append(
                HoleLayer(_unpadded(here, wide, cols), _unpadded(places, wide, cols), known[:, now])
            )
            flat[here] = True
            left = left[~now]
        return cls(tuple(layers))

    def fill(self, pixels: Float32[np.ndarray, "view row col"]) -> Float32[np.ndarray, "view row col"]:
        """Returns pixels without holes."""
        filled = pixels.copy()
        for view in filled.reshape(len(filled), -1):
            for layer in self.layers:
                values = np.where(layer.known, view[layer.around], np.float32(0))
                view[layer.here] = values.sum(axis=0) / layer.known.sum(axis=0, dtype=np.float32)
        return filled


def _unpadded(places: Int[np.ndarray, "*any"], wide: int, cols: int) -> Int[np.ndarray, "*any"]:
    """Returns flat places in a padded picture as flat places in the picture itself."""
    return ((places // wide - 1) * cols + places % wide - 1).astype(np.int32)
