"""Regions: the part of all slices that is measured, without the pixels that do not count.

Where whole rows and columns of the border do not count, as registration leaves them, the region is cropped.
The holes that remain are filled, from their borders inwards, with the mean of what is around them, which has
no detail: so they add nothing to a measure of contrast, and all slices have the same ones.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from jaxtyping import Float32, Int, Shaped

from dioptre.dataset.stacks import Window
from dioptre.errors import InputError
from dioptre.loop.slices import LOST, Mask, Slices
from dioptre.methods.measure import MIN_SIZE

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
        InputError: If hardly anything of it counts.
    """
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
class Filling:
    """How holes are filled: from their borders inwards, each pixel with the mean of its known neighbours.

    Attributes:
        layers: Of each layer, the flat places of its pixels and those of four neighbours of each, of which
            those that are not known are the pixel's first known one again.
    """

    layers: tuple[tuple[Int[np.ndarray, " hole"], Int[np.ndarray, "4 hole"]], ...]

    @classmethod
    def of(cls, holes: Mask) -> "Filling":
        """Returns how the holes of a region are filled."""
        cols = holes.shape[1]
        known = np.pad(~holes, 1)
        wide = cols + 2
        flat = known.ravel()
        left = np.flatnonzero(~np.pad(~holes, 1, constant_values=True))
        layers = []
        while len(left):
            beside = left + np.array([[-wide], [wide], [-1], [1]])
            seen = flat[beside]
            now = seen.any(axis=0)
            here, around, seen = left[now], beside[:, now], seen[:, now]
            first = np.take_along_axis(around, seen.argmax(axis=0)[None], axis=0)
            around = np.where(seen, around, first)
            layers.append((_unpadded(here, wide, cols), _unpadded(around, wide, cols)))
            flat[here] = True
            left = left[~now]
        return cls(tuple(layers))

    def fill(self, pixels: Float32[np.ndarray, "view row col"]) -> Float32[np.ndarray, "view row col"]:
        """Returns pixels without holes."""
        filled = pixels.copy()
        for view in filled.reshape(len(filled), -1):
            for here, around in self.layers:
                view[here] = view[around].mean(axis=0)
        return filled


def _unpadded(places: Int[np.ndarray, "*any"], wide: int, cols: int) -> Int[np.ndarray, "*any"]:
    """Returns flat places in a padded picture as flat places in the picture itself."""
    return ((places // wide - 1) * cols + places % wide - 1).astype(np.int32)
