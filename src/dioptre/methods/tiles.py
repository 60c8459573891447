"""Tiles of large pictures, scored in the same pass as the picture as a whole.

The pixels of a picture are summed in cells (`methods.kernels`), of which the tiles take theirs and the whole
takes all. So the tiles cost nothing, but filters that reach beyond a tile see its neighbours there, where a
picture of the tile alone would end: of tiles as large as LEAST that hardly shows.
"""

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
from jaxtyping import Float

from dioptre.methods.measure import (
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

LEAST: Final = 128  # pixels on a side of a tile: eight times the radius of the widest blur

PerImage = Float[np.ndarray, " image"]
Tiled = Float[np.ndarray, "tile image"]


def tiled_scores(
    images: Images,
    codes: float,
    statistics: Mapping[str, Statistic],
    measure: Measure,
    layout: tuple[int, int],
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
    layout: tuple[int, int],
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
