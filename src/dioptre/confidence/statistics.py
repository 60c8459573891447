"""Statistics of slices: the few numbers of each picture from which an answer is judged.

A region is sampled in blocks: at most 8 x 8 of them, at most 96 pixels on a side, spread evenly over it. Of
each slice and block are kept how much detail it shows, fine and finest, how noisy it is, a picture of it that
is four times smaller, and a piece of its detail; the slice itself is forgotten. So memory is a small constant
a slice, slices may come one by one, and a region of a frame is a choice of the frame's blocks.

Detail is the mean square of differences between pixels that are some columns or rows apart: 2 ("fine"), 1
("finest"), or 1 in pictures that are four times smaller ("coarse"). Views of dual pixels are averaged for
it, and kept apart in the small pictures.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float, Float32

from dioptre.methods.matching import shift_by_gradient

Pixels = Float32[np.ndarray, "slice view row col"]
PerBlock = Float32[np.ndarray, "slice block"]

MOST_BLOCKS: Final = 8  # down, and across
LARGEST: Final = 96  # pixels on a side of a block
SMALLEST: Final = 16
BINNED: Final = 4  # pixels on a side that become one of a small picture
PIECE: Final = 24  # pixels on a side of the piece of detail
FARTHEST: Final = 8  # pixels by which neighbours may be shifted against each other
RUN: Final = 1 << 17  # pixels that are measured at a time, for the processor's cache
DARKEST: Final = 1e-7  # mean square of differences: what rounding to 8 bits leaves
TINY: Final = 1e-12


@dataclass(frozen=True)
class BlockLayout:
    """Where blocks lie in a region: a lattice of equal cells, with a block in the middle of each.

    Attributes:
        counts: Cells down and across.
        pitches: Rows and columns of a cell.
        sides: Rows and columns of a block.
        piece: Rows and columns of the piece of its detail.
    """

    counts: tuple[int, int]
    pitches: tuple[int, int]
    sides: tuple[int, int]
    piece: int

    @classmethod
    def of(cls, rows: int, cols: int) -> "BlockLayout":
        """Returns the blocks by which a region is judged."""
        down, across = (min(max(n // SMALLEST, 1), MOST_BLOCKS) for n in (rows, cols))
        return cls._with(rows, cols, down, across, PIECE)

    @classmethod
    def every(cls, rows: int, cols: int, pitch: int) -> "BlockLayout":
        """Returns blocks side by side over a whole frame, of which patches take those inside them."""
        return cls._with(
            pitch * (rows // pitch), pitch * (cols // pitch), rows // pitch, cols // pitch, PIECE // 3
        )

    @classmethod
    def _with(cls, rows: int, cols: int, down: int, across: int, piece: int) -> "BlockLayout":
        pitches = rows // down, cols // across
        sides = min(pitches[0], LARGEST), min(pitches[1], LARGEST)
        return cls((down, across), pitches, sides, min(piece, sides[0] - 2, sides[1] - 2))

    def cut(self, pixels: Pixels) -> Float32[np.ndarray, "slice view block r c"]:
        """Returns the blocks of slices, row by row."""
        (down, across), (height, width) = self.counts, self.pitches
        part = pixels[:, :, : down * height, : across * width]
        cells = part.reshape(*pixels.shape[:2], down, height, across, width)
        rows, cols = (
            slice((pitch - side) // 2, (pitch - side) // 2 + side)
            for pitch, side in zip(self.pitches, self.sides, strict=True)
        )
        blocks = cells[:, :, :, rows, :, cols].swapaxes(3, 4)
        return np.ascontiguousarray(blocks).reshape(*pixels.shape[:2], down * across, *self.sides)


@dataclass(frozen=True, eq=False)
class SliceBlocks:
    """What is kept of the slices of a region.

    Attributes:
        fine: Mean square of differences over two pixels.
        finest: The same over one.
        noise: How much of `fine` independent noise of the pixels would be, if all of the mixed second
            difference were noise: an upper bound.
        small: Pictures of the blocks, four times smaller, of each view.
        pieces: Differences along rows and along columns in the middle of each block.
    """

    fine: PerBlock
    finest: PerBlock
    noise: PerBlock
    small: Float32[np.ndarray, "slice view block r c"]
    pieces: Float32[np.ndarray, "slice block 2 h w"]

    @classmethod
    def of(cls, pixels: Pixels, layout: BlockLayout | None = None) -> "SliceBlocks":
        """Returns what is kept of some slices; pixels that are not finite count as black.

        Args:
            pixels: The region of the slices.
            layout: Where its blocks lie; by default as a region is judged.
        """
        layout = BlockLayout.of(*pixels.shape[2:]) if layout is None else layout
        if not np.isfinite(pixels.min() + pixels.max()):
            pixels = np.nan_to_num(pixels, nan=0.0, posinf=1.0, neginf=0.0)
        blocks = layout.cut(pixels)
        many = max(1, RUN // blocks[0].size)
        return cls.joined(
            [cls._of_blocks(blocks[at : at + many], layout.piece) for at in range(0, len(blocks), many)]
        )

    @classmethod
    def _of_blocks(cls, blocks: Float32[np.ndarray, "slice view block r c"], side: int) -> "SliceBlocks":
        slices, views, count, rows, cols = blocks.shape
        green = blocks[:, 0] if views == 1 else (blocks[:, 0] + blocks[:, 1]) * np.float32(0.5)
        right = green[..., 1:] - green[..., :-1]
        down = green[..., 1:, :] - green[..., :-1, :]
        mixed = right[..., 1:, :] - right[..., :-1, :]
        right2 = right[..., 1:] + right[..., :-1]
        down2 = down[..., 1:, :] + down[..., :-1, :]
        small = rows // BINNED, cols // BINNED
        top, left = (rows - side) // 2, (cols - side) // 2
        pieces = np.stack(
            [one[:, :, top - 1 : top - 1 + side, left - 1 : left - 1 + side] for one in (right2, down2)],
            axis=2,
        )
        whole = blocks[..., : small[0] * BINNED, : small[1] * BINNED]
        binned = whole.reshape(slices, views, count, small[0], BINNED, small[1], BINNED)
        return cls(
            fine=_mean_square(right2) + _mean_square(down2),
            finest=_mean_square(right) + _mean_square(down),
            noise=_mean_square(mixed),
            small=np.einsum("svbrycx->svbrc", binned) / np.float32(BINNED**2),
            pieces=pieces,
        )

    @classmethod
    def joined(cls, some: Sequence["SliceBlocks"]) -> "SliceBlocks":
        """Returns what is known of the slices of all of them, in that order."""
        if len(some) == 1:
            return some[0]
        return cls(*(np.concatenate([getattr(one, name) for one in some]) for name in FIELDS))

    def at(self, slices: Any) -> "SliceBlocks":
        """Returns what is known of some slices, in any order."""
        return SliceBlocks(*(getattr(self, name)[slices] for name in FIELDS))

    def within(self, blocks: Any) -> "SliceBlocks":
        """Returns what is known of some of the blocks."""
        return SliceBlocks(
            self.fine[:, blocks],
            self.finest[:, blocks],
            self.noise[:, blocks],
            self.small[:, :, blocks],
            self.pieces[:, blocks],
        )

    @property
    def slices(self) -> int:
        """How many there are."""
        return len(self.fine)

    @property
    def views(self) -> int:
        """One, or two of dual pixels."""
        return self.small.shape[1]

    @property
    def green(self) -> Float32[np.ndarray, "slice block r c"]:
        """The small pictures, their views averaged."""
        return self.small[:, 0] if self.views == 1 else self.small.mean(axis=1)

    def one_view(self) -> "SliceBlocks":
        """Returns the same of the views' mean."""
        return replace(self, small=self.green[:, None])

    @cached_property
    def noise_floor(self) -> Float[np.ndarray, " slice"]:
        """How much detail noise is in each slice: what the calmest quarter of the blocks has at most."""
        return np.quantile(self.noise, 0.25, axis=1) + DARKEST

    @property
    def same_as_next(self) -> Bool[np.ndarray, " gap"]:
        """Which slices are the very same picture as the next one."""
        fine = np.all(self.fine[1:] == self.fine[:-1], axis=1)
        return fine & np.all(self.small[1:] == self.small[:-1], axis=(1, 2, 3, 4))

    def likeness(self) -> Float[np.ndarray, "gap block"]:
        """Returns the correlation of each slice's detail with the next one's, which is aligned to it."""
        green, side = self.green, self.pieces.shape[-1]
        farthest = min(FARTHEST, side // 3)
        moves = np.clip(np.rint(_shifts(green[:-1], green[1:])), -farthest, farthest).astype(int)
        found = _correlations(self.pieces[:-1], self.pieces[1:])
        for gap in np.flatnonzero(moves.any(axis=0)).tolist():
            right, down = moves[:, gap].tolist()
            one = self.pieces[gap : gap + 1, ..., _kept(-down, side), _kept(-right, side)]
            other = self.pieces[gap + 1 : gap + 2, ..., _kept(down, side), _kept(right, side)]
            found[gap] = np.maximum(found[gap], _correlations(one, other)[0])
        return found

    def disparity(self) -> Float[np.ndarray, "2 slice"]:
        """Returns by how many pixels the right view lies right of the left one, and below it."""
        return _shifts(self.small[:, 0], self.small[:, -1])


FIELDS: Final = ("fine", "finest", "noise", "small", "pieces")


def _mean_square(images: Float32[np.ndarray, "slice block r c"]) -> PerBlock:
    flat = np.ascontiguousarray(images).reshape(*images.shape[:2], -1)
    return np.einsum("sbi,sbi->sb", flat, flat) / np.float32(flat.shape[2])


def _correlations(
    first: Float32[np.ndarray, "gap block 2 r c"], second: Float32[np.ndarray, "gap block 2 r c"]
) -> Float[np.ndarray, "gap block"]:
    one, other = (np.ascontiguousarray(part).reshape(*part.shape[:2], -1) for part in (first, second))
    power = [np.einsum("gbi,gbi->gb", part, part) for part in (one, other)]
    return np.einsum("gbi,gbi->gb", one, other) / np.sqrt(np.maximum(power[0] * power[1], TINY**2))


def _kept(move: int, side: int) -> slice:
    """Returns what of a piece is left if its picture moved by so many pixels into it."""
    return slice(max(move, 0), side + min(move, 0))


def _shifts(
    first: Float32[np.ndarray, "image block r c"], second: Float32[np.ndarray, "image block r c"]
) -> Float[np.ndarray, "2 image"]:
    """Returns by how many pixels of full size the second pictures lie right of the first, and below them."""
    first, second = (
        one / np.maximum(one.mean(axis=(1, 2, 3), keepdims=True), TINY) for one in (first, second)
    )
    images, blocks, rows, cols = first.shape
    if min(rows, cols) < 2:
        return np.zeros((2, images))
    # Gradients and change over cubes of 2 x 2 pixels of both pictures (Horn and Schunck, 1981): differences
    # over more than one pixel are too small where detail is fine.
    both, change = (first + second) / 2, second - first
    right, down = both[..., 1:] - both[..., :-1], both[..., 1:, :] - both[..., :-1, :]
    right = (right[..., 1:, :] + right[..., :-1, :]) / 2
    down = (down[..., 1:] + down[..., :-1]) / 2
    change = (change[..., 1:] + change[..., :-1]) / 2
    change = (change[..., 1:, :] + change[..., :-1, :]) / 2
    flat = (images, blocks * (rows - 1), cols - 1)
    return BINNED * shift_by_gradient(right.reshape(flat), down.reshape(flat), change.reshape(flat), TINY)
