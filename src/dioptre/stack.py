"""FocalStack: some slices of a batch of scenes, and the pixel conventions of the whole package.

Axes are always (batch, slice, view, row, col). A pixel is linear and black-subtracted, 0 black and
1 white. Two views are left and right; one view is green, *the mean of left and right*. Disparity
runs along the columns.

Some measures hold absolute constants (a "+1", a threshold): they see **codes**, the units of the
published files, in which one view spans 15344 codes and green, the sum of the views in the paper,
twice as many.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Float32, Int, Shaped

from dioptre.errors import InputError
from dioptre.grid import FocusGrid

VIEW_CODES = 16368.0 - 1024.0  # white minus black of one view in the published files
GREEN_VIEWS = 2.0  # green in codes is the sum of two views

LEFT, RIGHT = 0, 1

Picture = Float32[np.ndarray, "rows cols"]  # those of one call have one size
AnyPicture = Float32[np.ndarray, "_ _"]  # each has its own


@dataclass(frozen=True, eq=False)
class FocalStack:
    """Some slices of a batch of scenes.

    Attributes:
        pixels: (batch, slice, view, row, col), linear, black-subtracted, [0, 1]. One view (green) or two.
        indices: (batch, slice): the index of each slice on the grid.
        grid: Where slices can have been taken.
        where: (batch, 2): the patch centre in the frame as (x, y), each in [-1, 1]; None if not known.
        view_codes: Codes between black and white of one view, for measures with absolute constants.
    """

    pixels: Float32[np.ndarray, "batch slice view row col"]
    indices: Int[np.ndarray, "batch slice"]
    grid: FocusGrid
    where: Float[np.ndarray, "batch 2"] | None = None
    view_codes: float = VIEW_CODES

    def __post_init__(self) -> None:
        pixels, indices = self.pixels, self.indices
        if pixels.ndim != 5 or pixels.dtype != np.float32:
            raise InputError(
                "a focal stack's pixels are float32 (batch, slice, view, row, col), "
                f"not {pixels.dtype} of shape {pixels.shape}"
            )
        if pixels.shape[2] not in (1, 2):
            raise InputError(f"a focal stack has one view or two, not {pixels.shape[2]}")
        if 0 in pixels.shape:
            raise InputError(f"a focal stack has at least one slice and one pixel, not shape {pixels.shape}")
        if indices.shape != pixels.shape[:2]:
            raise InputError(
                f"a focal stack's indices are (batch, slice) = {pixels.shape[:2]}, not {indices.shape}"
            )
        if indices.min() < 0 or indices.max() >= len(self.grid):
            raise InputError(
                f"a focal stack's indices lie in 0..{len(self.grid) - 1}, "
                f"not {indices.min()}..{indices.max()}"
            )
        if self.where is not None and self.where.shape != (len(pixels), 2):
            raise InputError(f"a focal stack's where is (batch, 2), not {self.where.shape}")

    @classmethod
    def full(
        cls,
        pixels: Float32[np.ndarray, "batch n view row col"],
        grid: FocusGrid | None = None,
        where: Float[np.ndarray, "batch 2"] | None = None,
        view_codes: float = VIEW_CODES,
    ) -> "FocalStack":
        """Returns the stack of all positions of a grid, in order; by default of slices alone."""
        if pixels.ndim != 5:
            raise InputError(
                f"a focal stack's pixels are (batch, slice, view, row, col), not {pixels.ndim}-dimensional"
            )
        batch, n = pixels.shape[:2]
        grid = FocusGrid(range(n)) if grid is None else grid
        if len(grid) != n:
            raise InputError(f"the stack has {n} slices, but its focus grid has {len(grid)} positions")
        indices = np.broadcast_to(np.arange(n), (batch, n))
        return cls(pixels=pixels, indices=indices, grid=grid, where=where, view_codes=view_codes)

    def turned(self) -> "FocalStack":
        """Returns the same slices on the same grid in the other order."""
        return replace(self, indices=len(self.grid) - 1 - self.indices, grid=self.grid.turned())

    @property
    def batch(self) -> int:
        """How many scenes."""
        return self.pixels.shape[0]

    @property
    def views(self) -> int:
        """1 for green, 2 for left and right."""
        return self.pixels.shape[2]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a patch."""
        return self.pixels.shape[3], self.pixels.shape[4]

    def at(self, indices: Sequence[int] | Int[np.ndarray, " m"] | Int[np.ndarray, "batch m"]) -> "FocalStack":
        """Returns only the slices at these indices of the grid, in this order.

        Args:
            indices: One list for all scenes, or one row for each scene.
        """
        wanted = np.asarray(indices)
        if wanted.size == 0 or not np.issubdtype(wanted.dtype, np.integer):
            raise InputError(f"at() takes a list of whole positions, not {indices!r}")
        if wanted.ndim > 2 or (wanted.ndim == 2 and len(wanted) != self.batch):
            raise InputError(
                f"at() takes one list, or one row for each of {self.batch} scenes, not {wanted.shape}"
            )
        wanted = np.broadcast_to(wanted, (self.batch, wanted.shape[-1]))
        found = self.indices[:, None, :] == wanted[:, :, None]  # (batch, m, slice)
        if not found.any(axis=2).all():
            missing = int(wanted[~found.any(axis=2)][0])
            raise InputError(f"the stack has no slice at position {missing}")
        slices = found.argmax(axis=2)
        scenes = np.arange(self.batch)[:, None]
        return replace(self, pixels=self.pixels[scenes, slices], indices=wanted)

    def green(self) -> "FocalStack":
        """Returns the one-view stack: the mean of left and right."""
        if self.views == 1:
            return self
        with np.errstate(invalid="ignore"):  # opposite infinities are NaN, as they should be
            return replace(self, pixels=self.pixels.mean(axis=2, keepdims=True, dtype=np.float32))

    @property
    def green_codes(self) -> float:
        """Codes between black and white of green, which in codes is the sum of two views."""
        return GREEN_VIEWS * self.view_codes


def stack_of_array(codes: Shaped[np.ndarray, "..."]) -> "FocalStack":
    """Returns the stack of one scene from an array (slice, row, col) or (slice, 1 or 2 views, row, col).

    Black is 0; white is the largest value of an integer type of 8 or 16 bits, 1 for floats.
    """
    views = codes[:, None] if codes.ndim == 3 else codes
    if views.ndim != 4 or views.shape[1] not in (1, 2) or 0 in views.shape:
        raise InputError(
            f"a stack is (slice, row, col) or (slice, 2 views, row, col), not an array of shape {codes.shape}"
        )
    if codes.dtype in (np.uint8, np.uint16):
        white = float(np.iinfo(codes.dtype).max)
    elif np.issubdtype(codes.dtype, np.floating):
        white = 1.0
    else:
        raise InputError(f"say what white is: {codes.dtype} pixels do not tell; divide by it, as floats")
    return FocalStack.full(codes_to_pixels(views, 0.0, white)[None])


def codes_to_pixels(
    codes: Shaped[np.ndarray, "..."], black: float, white: float
) -> Float32[np.ndarray, "..."]:
    """Returns (code - black) / (white - black), clipped to [0, 1]; NaN and infinity become NaN."""
    if not -np.inf < black < white < np.inf:
        raise InputError(f"white must lie above black, not black {black:g} and white {white:g}")
    scale = np.float32(1.0 / (white - black))
    if codes.dtype in (np.uint8, np.uint16) and black == 0 and white >= np.iinfo(codes.dtype).max:
        return np.multiply(
            codes, scale, dtype=np.float32
        )  # which is the same in one pass over large pictures
    pixels = np.subtract(codes, np.float32(black), dtype=np.float32)
    pixels *= scale
    if np.issubdtype(codes.dtype, np.floating):
        pixels[np.isinf(codes)] = np.nan
    return np.clip(pixels, 0.0, 1.0, out=pixels)


def upsample_rows(native: Float32[np.ndarray, "... native cols"]) -> Float32[np.ndarray, "... rows cols"]:
    """Returns twice as many rows as native ones but the first and the last, by the published files' weights.

    Row 2 k is a quarter of native row k - 1 and three quarters of native row k, row 2 k + 1 the mirror of
    that: bilinear with half-pixel centres.
    """
    before, here, after = native[..., :-2, :], native[..., 1:-1, :], native[..., 2:, :]
    out = np.empty((*native.shape[:-2], 2 * here.shape[-2], native.shape[-1]), dtype=np.float32)
    out[..., ::2, :] = np.float32(0.25) * before + np.float32(0.75) * here
    out[..., 1::2, :] = np.float32(0.75) * here + np.float32(0.25) * after
    return out


def pixels_to_codes(
    pixels: Float32[np.ndarray, "..."], black: float, white: float
) -> Float32[np.ndarray, "..."]:
    """Returns pixels x (white - black) + black: the inverse of `codes_to_pixels` inside the range."""
    return pixels * np.float32(white - black) + np.float32(black)


def srgb_to_linear(pixels: Float32[np.ndarray, "..."]) -> Float32[np.ndarray, "..."]:
    """Returns light from the values of a display, both from 0 to 1 (IEC 61966-2-1)."""
    toe = np.float32(1 / 12.92)
    curve = ((pixels + np.float32(0.055)) * np.float32(1 / 1.055)) ** np.float32(2.4)
    return np.where(pixels <= np.float32(0.04045), pixels * toe, curve)


def linear_to_srgb(light: Float32[np.ndarray, "..."]) -> Float32[np.ndarray, "..."]:
    """Returns the values of a display that show light: the inverse of `srgb_to_linear`."""
    curve = np.float32(1.055) * np.maximum(light, 0) ** np.float32(1 / 2.4) - np.float32(0.055)
    return np.where(light <= np.float32(0.0031308), light * np.float32(12.92), curve)
