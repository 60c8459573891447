"""Tiles: parts of a picture that are scored as pictures of their own.

Those of large pictures are scored in the same pass as the whole. The pixels of a picture are summed in cells
(`methods.kernels`), of which the tiles take theirs and the whole takes all. So the tiles cost nothing, but
filters that reach beyond a tile see its neighbours there, where a picture of the tile alone would end: of
tiles as large as LEAST that hardly shows.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import numpy as np
from jaxtyping import Float, Float32

from dioptre.methods.measure import (
    MIN_SIZE,
    Images,
    Measure,
    Statistic,
    Sums,
    apply_formulae,
    finite_images,
    parts_needed,
    sums_across,
    sums_down,
    window_edges,
)

TILES: Final = 4  # a region is cut into at most 4 x 4 tiles
LEAST: Final = 128  # pixels on a side of a tile: eight times the radius of the widest blur

Pixels = Float32[np.ndarray, "slice view row col"]
Layout = tuple[int, int]  # how many tiles there are down and across
PerImage = Float[np.ndarray, " image"]
Tiled = Float[np.ndarray, "tile image"]


def tile_layout(rows: int, cols: int, most: int = TILES, smallest: int = MIN_SIZE) -> Layout:
    """Returns the numbers of tiles of a region, down and across, none smaller than `smallest` pixels."""
    return min(most, rows // smallest), min(most, cols // smallest)


def tiles_of(
    pixels: Pixels, layout: Layout | None = None
) -> Float32[np.ndarray, "tile slice view h w"] | None:
    """Returns the region cut into tiles, row by row, or None if it is too small for four of them.

    Args:
        pixels: The region.
        layout: How many tiles down and across, other than TILES.
    """
    rows = tile_rows(pixels, layout)
    return None if rows is None else np.concatenate(list(rows))


def tile_rows(
    pixels: Pixels, layout: Layout | None = None
) -> Iterator[Float32[np.ndarray, "tile slice view h w"]] | None:
    """Returns the same row by row of tiles, so that never more than one row is copied."""
    n, views, rows, cols = pixels.shape
    down, across = tile_layout(rows, cols) if layout is None else layout
    if down * across < 4:
        return None
    h, w = rows // down, cols // across

    def one(row: int) -> Float32[np.ndarray, "tile slice view h w"]:
        band = pixels[:, :, row * h : (row + 1) * h, : across * w].reshape(n, views, h, across, w)
        return np.ascontiguousarray(band.transpose(3, 0, 1, 2, 4))

    return (one(row) for row in range(down))


def tiled_scores(
    images: Images,
    codes: float,
    statistics: Mapping[str, Statistic],
    measure: Measure,
    layout: Layout,
) -> tuple[PerImage, Tiled] | None:
    """Returns a measure of each image, and of its tiles row by row; None where tiles want their own pass.

    Args:
        images: Pixels, contiguous.
        codes: Codes between black and white.
        statistics: The table that the measure's statistics are looked up in.
        measure: What to compute.
        layout: How many tiles there are down and across.
    """
    needed = parts_needed({"": measure})
    used = [statistics[name] for name in needed]
    size = images.shape[1] // layout[0], images.shape[2] // layout[1]
    if min(size) < LEAST or any(one.cells is None or one.block > 1 for one in used):
        return None
    pixels, finite = finite_images(images)
    whole, tiles = dict[str, Sums](), dict[str, Sums]()
    for name, parts in needed.items():
        whole[name], tiles[name] = _both_sums(pixels, codes, statistics[name], parts, size, layout)
    score, each = (apply_formulae({"": measure}, sums)[""] for sums in (whole, tiles))
    return np.where(finite, score, -np.inf), np.where(finite, each, -np.inf)


def _both_sums(
    images: Images,
    codes: float,
    statistic: Statistic,
    parts: Collection[str],
    size: tuple[int, int],
    layout: Layout,
) -> tuple[Sums, Sums]:
    """Returns a statistic of whole images, maps (map, image), and of their tiles, (map, tile, image)."""
    assert statistic.cells is not None
    height, width = statistic.extent(*images.shape[1:])
    h, w = statistic.extent(*size)
    down, across = (step * np.arange(many) for step, many in zip(size, layout, strict=True))
    rows, cols = window_edges(down, h, height), window_edges(across, w, width)
    cells = statistic.cells(images, codes, parts, rows, cols)
    tiles = sums_down(sums_across(cells, cols, across, w), rows, down, h)
    whole = Sums(np.moveaxis(cells.sum(axis=(2, 3)), 0, 1), height * width)
    return whole, Sums(np.moveaxis(tiles, 0, -1).reshape(cells.shape[1], -1, len(images)), h * w)
