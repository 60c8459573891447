"""Measuring: one pass over the slices of a stack, after which nothing of them is needed any more.

A slice is decoded, its regions are cut out, scored and looked at, and it is forgotten. So memory does not
grow with a stack, and threads decode slices while others are measured. What is left of a region is its curve,
those of its tiles, its exposure and a few numbers of its blocks: all that a verdict asks for. Methods that
see a stack as a whole get its pixels instead; the rest is the same for them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from dioptre.confidence.exposure import Exposure, SliceExposures
from dioptre.confidence.statistics import SliceBlocks
from dioptre.focusing.regions import Region
from dioptre.focusing.slices import Slices, stream
from dioptre.methods.base import Autofocuser
from dioptre.methods.tiles import Layout, tile_layout, tile_rows
from dioptre.resources import refuse_larger
from dioptre.stack import FocalStack
from dioptre.stacks.pictures import PIXEL_BYTES, Views, Window

Pixels = Float32[np.ndarray, "slice view row col"]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class MeasuredRegion:
    """What is known of a region of all slices, far to near.

    Attributes:
        curve: A score for each slice; None of a method that sees the stack as a whole. Of a method whose
            parts vote, that of the measure that they vote by.
        parts: Those of tiles of the region; None if it is too small for four of them, or there is no curve.
        exposure: How bright it is.
        blocks: What is kept of its pictures.
        pixels: All of it, for a method that sees the stack as a whole; else None.
    """

    curve: Float[np.ndarray, " n"] | None
    parts: Float[np.ndarray, "tile n"] | None
    exposure: Exposure
    blocks: SliceBlocks
    pixels: Pixels | None


@dataclass(frozen=True, eq=False)
class _Found:
    """The same of a few slices."""

    curve: Float[np.ndarray, " some"] | None
    parts: Float[np.ndarray, "tile some"] | None
    exposures: SliceExposures
    blocks: SliceBlocks
    pixels: Pixels | None


def measure_regions(
    slices: Slices,
    regions: Sequence[Region],
    focuser: Autofocuser,
    near_first: bool = False,
    progress: Progress | None = None,
) -> list[MeasuredRegion]:
    """Returns what is known of some regions of all slices, which are read once.

    Args:
        slices: The slices.
        regions: What to measure of each.
        focuser: Who scores.
        near_first: Whether slices run from near to far.
        progress: Told (slices measured, slices in all).

    Raises:
        DioptreError: If a slice cannot be read, or a method wants more pixels at once than there may be.
    """
    n, single, measures = len(slices), focuser.by_slice, focuser.tile_measure
    window = reduce(Window.joined, (region.window for region in regions))
    wanted = slices.views * sum(math.prod(region.window.shape) for region in regions)
    if not single:
        refuse_larger(slices.pictures.source, PIXEL_BYTES * n * wanted)

    def work(_: range, codes: Sequence[Views]) -> list[_Found]:
        return [measure(region, codes) for region in regions]

    def measure(region: Region, codes: Sequence[Views]) -> _Found:
        place = region.window.inside(window)
        each = [region.pixels(slices, place.cut(one)) for one in codes]
        pixels = np.stack(each) if len(each) > 1 else each[0][None]  # which is not copied
        curve, parts = both_scores(measures, pixels, slices.view_codes) if single else (None, None)
        blocks = SliceBlocks.of(pixels)
        return _Found(curve, parts, SliceExposures.of(pixels), blocks, None if single else pixels)

    found: list[list[_Found]] = [[] for _ in regions]
    runs = _runs(slices, window, wanted)
    for run, each in zip(runs, stream(slices, runs, window, work), strict=True):
        for mine, one in zip(found, each, strict=True):
            mine.append(one)
        if progress:
            progress(run.stop, n)
    return [_joined(mine, near_first) for mine in found]


def _runs(slices: Slices, window: Window, wanted: int = 0) -> list[range]:
    """Returns runs of slices by the pixels that are decoded or wanted of each, whichever are more."""
    decoded = window.shape if slices.pictures.array is not None else slices.shape
    return slices.blocks(max(wanted, slices.views * math.prod(decoded)))


def _joined(found: Sequence[_Found], near_first: bool) -> MeasuredRegion:
    """Returns what is known of all slices from what is known of some, far to near."""
    order = slice(None, None, -1 if near_first else 1)

    def together(some: Sequence[Any]) -> Any:
        return None if some[0] is None else np.concatenate(some, axis=-1)[..., order]

    exposures = SliceExposures(
        *(
            np.concatenate([getattr(one.exposures, name) for one in found])
            for name in ("saturated", "mean", "finite", "brightest")
        )
    )
    pixels = None if found[0].pixels is None else np.concatenate([one.pixels for one in found])[order]
    return MeasuredRegion(
        curve=together([one.curve for one in found]),
        parts=together([one.parts for one in found]),
        exposure=exposures.median(),
        blocks=SliceBlocks.joined([one.blocks for one in found]).at(order),
        pixels=pixels,
    )


def measure_tiles(
    slices: Slices, region: Region, focuser: Autofocuser, layout: Layout, near_first: bool = False
) -> Float[np.ndarray, "tile n"] | None:
    """Returns the curves of a region's tiles and nothing else, far to near.

    Args:
        slices: The slices.
        region: What is cut into tiles.
        focuser: Who scores, slice by slice.
        layout: How many tiles down and across; None comes back for fewer than four.
        near_first: Whether slices run from near to far.
    """
    codes, runs = slices.view_codes, _runs(slices, region.window)

    def work(_: range, some: Sequence[Views]) -> Float[np.ndarray, "tile some"] | None:
        pixels = np.stack([region.pixels(slices, one) for one in some])
        together = _scored_together(focuser.tile_measure, pixels, codes, layout)
        return tile_scores(focuser.tile_measure, pixels, codes, layout) if together is None else together[1]

    found = [one for one in stream(slices, runs, region.window, work) if one is not None]
    return np.concatenate(found, axis=1)[:, :: -1 if near_first else 1] if found else None


def both_scores(
    focuser: Autofocuser, pixels: Pixels, view_codes: float
) -> tuple[Float[np.ndarray, " slice"], Float[np.ndarray, "tile slice"] | None]:
    """Returns the scores of some slices and those of their tiles, in one pass where the method can do so."""
    together = _scored_together(focuser, pixels, view_codes, tile_layout(*pixels.shape[2:]))
    if together is not None:
        return together
    return slice_scores(focuser, pixels, view_codes), tile_scores(focuser, pixels, view_codes)


def _scored_together(
    focuser: Autofocuser, pixels: Pixels, view_codes: float, layout: Layout
) -> tuple[Float[np.ndarray, " slice"], Float[np.ndarray, "tile slice"]] | None:
    """Returns both in one pass; None if the method cannot do so, or there are too few tiles."""
    if math.prod(layout) < 4:
        return None
    return focuser.tiled_scores(FocalStack.full(pixels[None], view_codes=view_codes), layout)


def slice_scores(focuser: Autofocuser, pixels: Pixels, view_codes: float) -> Float[np.ndarray, " slice"]:
    """Returns the score of each of some slices, from a method that looks at each by itself."""
    return focuser.scores(FocalStack.full(pixels[None], view_codes=view_codes))[0]


def tile_scores(
    focuser: Autofocuser, pixels: Pixels, view_codes: float, layout: Layout | None = None
) -> Float[np.ndarray, "tile slice"] | None:
    """Returns the scores of tiles of some slices, a row of tiles at a time; None if there are too few."""
    rows = tile_rows(pixels, layout)
    if rows is None:
        return None
    stacks = (FocalStack.full(tiles, view_codes=view_codes) for tiles in rows)
    return np.concatenate([focuser.scores(stack) for stack in stacks])
