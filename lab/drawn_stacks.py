"""Stacks that are drawn in whole numbers: every machine draws the same, to the last code.

A plane of rectangles before a lens with a square aperture, far to near, as dual pixels see it: blur grows by
0.6 px a slice, disparity by a quarter of that. No sum, product or random number here is rounded, so that
neither the processor nor the versions of libraries show in the pixels, as they do in simulated ones.
"""

from typing import Final

import numpy as np
from jaxtyping import Float32, Int64

SLICES: Final = 49
SIZE: Final = 128  # pixels a side
FINE: Final = 4  # parts of a pixel along each side, in which scenes are drawn
MARGIN: Final = 16  # pixels beyond each edge that blur brings in
WHITE: Final = 1 << 14

Parts = Int64[np.ndarray, "row col"]


def draw_stack(number: int) -> Float32[np.ndarray, "slice 2 row col"]:
    """Returns a stack, left and right view, 0 black and 1 white; it is sharp at `sharp_slice(number)`."""
    rng = np.random.default_rng([SLICES, number])
    scene = _draw_scene(rng)
    shape = (SIZE, SIZE)
    views = []
    for at in range(SLICES):
        defocus = at - sharp_slice(number)  # above 0 the lens is focused before the scene
        wide = 12 * abs(defocus) // 5
        for side in (1, -1):
            aside = side * wide * (1 if defocus > 0 else -1) // 8
            light = _exposed(scene, wide, aside)
            noise = rng.integers(-50, 51, shape) + rng.integers(-50, 51, shape)
            views.append(np.clip(light + noise, 0, WHITE))
    codes = np.stack(views).reshape(SLICES, 2, *shape)
    return codes.astype(np.float32) / np.float32(WHITE)


def sharp_slice(number: int) -> int:
    """Returns the slice at which a stack is sharp."""
    return (20 + 13 * number) % SLICES


def _draw_scene(rng: np.random.Generator) -> Parts:
    """Returns rectangles over each other, in codes."""
    side = FINE * (SIZE + 2 * MARGIN)
    scene = np.full((side, side), WHITE // 3, dtype=np.int64)
    for _ in range(600):
        row, col, height, width, code = rng.integers([0, 0, 4, 4, WHITE // 20], [side, side, 100, 100, WHITE])
        scene[row : row + height, col : col + width] = code
    return scene


def _exposed(scene: Parts, wide: int, aside: int) -> Int64[np.ndarray, "row col"]:
    """Returns the codes of pixels behind an aperture that blurs by so many parts of a pixel."""
    down = _summed(scene, wide, 0)
    across = _summed(down.T, wide, aside).T
    rows, cols = across.shape
    pixels = across.reshape(rows // FINE, FINE, cols // FINE, FINE).sum(axis=(1, 3))
    inner = pixels[MARGIN:-MARGIN, MARGIN:-MARGIN]
    return inner // (FINE * (2 * (wide // 2) + 1)) ** 2


def _summed(parts: Parts, wide: int, aside: int) -> Parts:
    """Returns sums over neighbours down the columns, the middle one so far aside."""
    rows, half = len(parts), wide // 2
    total = np.concatenate([np.zeros_like(parts[:1]), parts.cumsum(axis=0)])
    at = np.arange(rows)
    first, last = (np.clip(at + aside + reach, 0, rows) for reach in (-half, half + 1))
    return total[last] - total[first]
