"""Textures: what the surfaces of a scene look like, (row, col) linear radiance in [0, 1]."""

import numpy as np
from jaxtyping import Float


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
    texture on them, as a part of their grey: no real surface is quite smooth.
    """
    image = np.zeros((rows, cols))
    free = np.ones((rows, cols), dtype=bool)
    y, x = np.mgrid[:rows, :cols]
    low, high = smallest_px**-2, largest_px**-2
    while free.any():
        radius = (low + rng.random() * (high - low)) ** -0.5  # inverse of the distribution of r^-3
        if free.mean() < 0.02:
            radius = largest_px  # the last specks need not wait for a small disc to hit them
        cy, cx = rng.uniform(-radius, rows + radius), rng.uniform(-radius, cols + radius)
        box = (
            slice(max(0, int(cy - radius)), max(0, int(cy + radius) + 2)),
            slice(max(0, int(cx - radius)), max(0, int(cx + radius) + 2)),
        )
        inside = free[box] & ((y[box] - cy) ** 2 + (x[box] - cx) ** 2 <= radius**2)
        image[box][inside] = rng.uniform(0.05, 0.95)
        free[box] &= ~inside
    return np.clip(image * (1 + grain * rng.standard_normal(image.shape)), 0.0, 1.0)
