"""Where surfaces lie in depth: planes that face the camera, slanted and curved ones, things before others.

Depths are dioptres. A prior says where on the grid a scene is; some scenes may lie beyond its ends.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float32

from dioptre.grid import FocusGrid, Reals
from dioptre.posterior import DepthPrior
from dioptre.simulate.scene import FINE, Layer, soften
from dioptre.simulate.surface_texture import silhouette
from dioptre.stack import Picture

KINDS = {"plane": 0.36, "slant": 0.26, "curve": 0.1, "two": 0.2, "three": 0.08}  # how often each is
FARTHEST_BEYOND = 14.0  # indices beyond an end of the grid, at most


@dataclass(frozen=True)
class Layout:
    """How scenes are laid out in depth.

    Attributes:
        prior: Where on the grid scenes are.
        beyond: How often one lies farther or nearer than the grid reaches, each half of the time. What lies
            far beyond the far end has negative dioptres: on a grid that begins nearer it is a real thing,
            and blur depends on differences alone.
        tilt_indices: Deviation of the depth over a slanted or curved patch, in indices.
        gap_indices: Mean distance in depth of a layer from the one before it, in indices.
    """

    prior: DepthPrior = field(default_factory=DepthPrior.even)
    beyond: float = 0.0
    tilt_indices: float = 2.0
    gap_indices: float = 7.0


def mean_step(grid: FocusGrid) -> float:
    """Returns the mean distance of neighbouring positions in dioptres."""
    return float(np.mean(np.diff(grid.dioptres)))


def beyond(grid: FocusGrid, depth: float) -> float:
    """Returns the distance of a depth beyond the end of a grid, in indices.

    It is 0 up to half a step beyond an end, where the end is the nearest position still; negative beyond the
    far end, positive beyond the near end.
    """
    step = mean_step(grid)
    far, near = ((depth - float(grid.dioptres[end])) / step for end in (0, -1))
    return near if near > 0.5 else far if far < -0.5 else 0.0


def depth_to_index(grid: FocusGrid, depth: Reals) -> Reals:
    """Returns the fractional index of depths in dioptres; beyond an end a mean step counts as one index."""
    outside = np.minimum(depth - grid.dioptres[0], 0) + np.maximum(depth - grid.dioptres[-1], 0)
    return grid.dioptres_to_index(depth) + outside / mean_step(grid)


def draw_depth(grid: FocusGrid, layout: Layout, rng: np.random.Generator) -> float:
    """Returns the depth of a scene: on the grid, or beyond one of its ends."""
    step = mean_step(grid)
    farthest, nearest = max(0.0, float(grid.dioptres[0]) - step / 2), float(grid.dioptres[-1]) + step / 2
    along, leaves, side = layout.prior.draw(rng), rng.random(), rng.random()
    if leaves >= layout.beyond:
        return farthest + along * (nearest - farthest)
    away = float(rng.uniform(0, FARTHEST_BEYOND - 0.5)) * step
    return float(grid.dioptres[0]) - step / 2 - away if side < 0.5 else nearest + away


def draw_depths(grid: FocusGrid, layout: Layout, count: int, rng: np.random.Generator) -> list[float]:
    """Returns the depths of layers from near to far, each some way from another."""
    step = mean_step(grid)
    first = draw_depth(grid, layout, rng)
    limits = (float(grid.dioptres[0]) - step / 2, float(grid.dioptres[-1]) + step / 2)
    low, high = min(first, max(0.0, limits[0])), max(first, limits[1])
    walk = first + np.cumsum([0.0, *rng.laplace(0, layout.gap_indices * step, count - 1)])
    return [float(depth) for depth in np.sort(np.clip(walk, low, high))[::-1]]


def lay_out(
    kind: str,
    depths: Sequence[float],
    paint: Callable[[], Picture],
    size: int,
    tilt: float,
    rng: np.random.Generator,
) -> tuple[Layer, ...]:
    """Returns the layers of a scene of one kind, from front to back.

    Args:
        kind: One of KINDS.
        depths: Of its layers, near to far.
        paint: Gives another picture at every call.
        size: Rows and columns of the patch, in pixels.
        tilt: Deviation of the depth over a slanted or curved patch, in dioptres.
        rng: Draws the shapes.
    """
    *front, back = depths
    layers = []
    for depth in front:
        picture = paint()
        shape = soften(silhouette(len(picture), FINE * size, rng).astype(np.float32))
        layers.append(Layer(picture, depth, shape))
    picture = paint()
    surface = bend(kind, back, len(picture), tilt, rng) if kind in ("slant", "curve") else back
    return (*layers, Layer(picture, surface))


def bend(
    kind: str, depth: float, n: int, amount: float, rng: np.random.Generator
) -> Float32[np.ndarray, "n n"]:
    """Returns the depth of a slanted or curved surface; `amount` is its deviation in dioptres."""
    along = (np.arange(n, dtype=np.float32) - n / 2) / (FINE * 64)
    x, y = along[None, :], along[:, None]
    a, b, c = rng.normal(0, amount, 3)
    surface = a * x + b * y
    if kind == "curve":
        surface = surface / 2 + c * (x * x + y * y)
    return np.maximum(np.float32(depth) + surface.astype(np.float32), np.float32(0))
