"""Textures: what surfaces are painted with, linear radiance of mean about a half, on any grid.

Dead leaves have the statistics of natural images and the imaging industry's trust, glyphs the hard edges and
blank grounds of print, roughness the grain of bark and cloth, repeated patterns the trap of everything that
matches pictures, photographs whatever is on them.
"""

import cv2
import numpy as np
from jaxtyping import Float, Float32

from dioptre.simulate import kernels

FONTS = (
    cv2.FONT_HERSHEY_SIMPLEX,
    cv2.FONT_HERSHEY_DUPLEX,
    cv2.FONT_HERSHEY_COMPLEX,
    cv2.FONT_HERSHEY_TRIPLEX,
    cv2.FONT_HERSHEY_SCRIPT_SIMPLEX,
)
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:!?&%()"
GAMMA = 2.2  # of photographs
TILE_PX = 64  # rows and columns of the cell of a pattern that repeats, before it is scaled


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """Returns a number whose logarithm is drawn evenly."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def dead_leaves(
    rows: int,
    cols: int,
    rng: np.random.Generator,
    smallest_px: float = 1.5,
    largest_px: float = 60.0,
    grain: float = 0.1,
) -> Float[np.ndarray, "{rows} {cols}"]:
    """Returns overlapping discs of random grey whose radii follow r^-3: the statistics of natural images.

    Discs fall from front to back until every pixel is covered by one. `grain` is the deviation of a fine
    texture on them, as a part of their grey: no real surface is quite smooth. Radii are in the result's
    pixels.
    """
    image = np.full((rows, cols), np.nan)
    low, high = smallest_px**-2, largest_px**-2
    free, many = rows * cols, 4096
    while free:
        # Once little is free, the last specks need not wait for a small disc to hit them.
        radii = (low + rng.random(many) * (high - low)) ** -0.5
        radii = radii if free > 0.02 * rows * cols else np.full(many, largest_px)
        centres = rng.uniform(-largest_px, np.array([rows, cols]) + largest_px, (many, 2))
        free = kernels.drop_discs(centres, radii, rng.uniform(0.05, 0.95, many), image)
    return np.clip(image * (1 + grain * rng.standard_normal(image.shape)), 0.0, 1.0)


def glyphs(
    size: int, rng: np.random.Generator, height_px: float, grain: float = 0.02
) -> Float[np.ndarray, "n n"]:
    """Returns lines of random print on a plain ground, letters about `height_px` high."""
    ground, ink = (0.85, 0.1) if rng.random() < 0.7 else (0.15, 0.8)
    page = np.full((size, size), round(255 * ground), dtype=np.uint8)
    y = 0.0
    while y < size + height_px:
        font = FONTS[int(rng.integers(len(FONTS)))]
        scale = height_px * float(rng.uniform(0.7, 1.4)) / 22
        line = "".join(rng.choice(list(LETTERS + " " * 12), max(8, int(2.5 * size / height_px))))
        x = -int(rng.integers(0, int(2 * height_px)))
        thickness = max(1, round(height_px / 12))
        cv2.putText(page, line, (x, int(y)), font, scale, round(255 * ink), thickness, cv2.LINE_AA)
        y += height_px * float(rng.uniform(1.2, 2.2))
    return np.clip(page / 255 * (1 + grain * rng.standard_normal(page.shape)), 0.0, 1.0)


def roughness(
    size: int, rng: np.random.Generator, coarsest_px: float, roughest: float = 1.0, stretch: float = 1.0
) -> Float32[np.ndarray, "n n"]:
    """Returns bark, cloth, stone: noise of all scales up to `coarsest_px`, of median 1, with dark cracks.

    Args:
        size: Rows and columns.
        rng: Draws it.
        coarsest_px: The largest scale.
        roughest: Deviation of its logarithm.
        stretch: How many times as long as wide its grain is, along the rows.
    """
    total, scale, weight = np.zeros((size, size), np.float32), coarsest_px, 1.0
    while scale >= 1.0:
        rows, cols = (max(4, round(size / one) + 3) for one in (scale, scale * stretch))
        coarse = rng.standard_normal((rows, cols), dtype=np.float32)
        total += np.float32(weight) * cv2.resize(coarse, (size, size), interpolation=cv2.INTER_CUBIC)
        scale, weight = scale / 2, weight * 0.75
    total -= np.abs(np.float32(0.5) * total)  # valleys are deeper than hills are high
    return np.exp(np.float32(roughest / max(float(total.std()), 1e-6)) * (total - np.median(total)))


def repeated(
    size: int, rng: np.random.Generator, period_px: float, stripes: bool | None = None
) -> Float32[np.ndarray, "n n"]:
    """Returns a pattern that repeats, of mean about a half: stripes or cells, soft or hard, turned a little.

    Args:
        size: Rows and columns.
        rng: Draws it.
        period_px: Length of a cell across the stripes; along them it is 0.7 to 1.4 times that.
        stripes: Stripes, or cells; drawn by default.
    """
    knots = int(rng.integers(3, 7))
    drawn = bool(rng.random() < 0.5)
    across_only = drawn if stripes is None else stripes
    coarse = rng.standard_normal((knots, 1 if across_only else knots)).astype(np.float32)
    tiled = cv2.resize(np.tile(coarse, (3, 3)), (3 * TILE_PX, 3 * TILE_PX), interpolation=cv2.INTER_CUBIC)
    cell = np.asarray(tiled[TILE_PX : 2 * TILE_PX, TILE_PX : 2 * TILE_PX], np.float32)
    if rng.random() < 0.5:
        cell = (cell > np.median(cell)).astype(np.float32)
    low, high = float(cell.min()), float(cell.max())
    cell = np.float32(0.1) + np.float32(0.8) * (cell - np.float32(low)) / np.float32(max(high - low, 1e-6))
    angle = float(rng.normal(0, 0.15) + np.pi / 2 * rng.integers(2))
    along = np.arange(size, dtype=np.float32)
    c, s = np.float32(np.cos(angle)), np.float32(np.sin(angle))
    across = (along[None, :] * c + along[:, None] * s) * np.float32(TILE_PX / period_px)
    down = along[:, None] * c - along[None, :] * s
    down *= np.float32(TILE_PX / (period_px * rng.uniform(0.7, 1.4)))
    return cv2.remap(cell, down % TILE_PX, across % TILE_PX, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)


def crumpled(
    picture: Float32[np.ndarray, "n n"], rng: np.random.Generator, by_px: float
) -> Float32[np.ndarray, "n n"]:
    """Returns a picture whose places are displaced by about so many pixels: discs become pebbles."""
    n = len(picture)
    knots = max(4, round(n / (3 * by_px)))
    across, down = (
        cv2.resize(
            rng.standard_normal((knots, knots), dtype=np.float32), (n, n), interpolation=cv2.INTER_CUBIC
        )
        for _ in range(2)
    )
    places = np.arange(n, dtype=np.float32)
    x, y = places[None, :] + np.float32(by_px) * across, places[:, None] + np.float32(by_px) * down
    return cv2.remap(picture, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)


def photograph(
    picture: Float32[np.ndarray, "rows cols"], size: int, rng: np.random.Generator
) -> Float[np.ndarray, "n n"]:
    """Returns a random part of a photograph, made linear; a small photograph is mirrored on."""
    linear = picture.astype(np.float64) ** GAMMA
    pads = [(0, max(0, size - length)) for length in linear.shape]
    linear = np.pad(linear, pads, mode="symmetric")
    y, x = (int(rng.integers(0, length - size + 1)) for length in linear.shape)
    return linear[y : y + size, x : x + size]
