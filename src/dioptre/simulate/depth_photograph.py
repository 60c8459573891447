"""Scenes with real geometry: a photograph with a depth for every pixel.

A crop becomes one surface or, where its depths fall into two groups, a front and a back. What the front hides
was never photographed; the back is filled with its own surroundings there, which only shows through the thin
rim that blur uncovers.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Bool, Float32
from scipy.ndimage import distance_transform_edt, gaussian_filter

from dioptre.simulate.scene import FINE, Layer, Scene, soften
from dioptre.simulate.texture import GAMMA

GAP = 0.08  # of the range of depth: a wider gap parts front and back


@dataclass(frozen=True, eq=False)
class DepthPhotograph:
    """A photograph and its depth.

    Attributes:
        radiance: Linear, (rows, cols).
        nearness: 0 for the farthest pixel, 1 for the nearest, linear in inverse depth.
    """

    radiance: Float32[np.ndarray, "rows cols"]
    nearness: Float32[np.ndarray, "rows cols"]

    @classmethod
    def of(
        cls, photograph: Float32[np.ndarray, "rows cols"], disparity: Float32[np.ndarray, "rows cols"]
    ) -> "DepthPhotograph":
        """Returns a photograph and its stereo disparity as one; infinite disparities are filled."""
        known = np.isfinite(disparity)
        rows, cols = distance_transform_edt(~known, return_distances=False, return_indices=True)
        filled = disparity[rows, cols]
        low, high = float(filled.min()), float(filled.max())
        return cls((photograph**GAMMA).astype(np.float32), ((filled - low) / (high - low)).astype(np.float32))


def photograph_scene(
    source: DepthPhotograph, n: int, margin: int, depth: float, span: float, rng: np.random.Generator
) -> Scene:
    """Returns a random part of a photograph with depth as a scene.

    Args:
        source: The photograph and its depth.
        n: Rows and columns of the scene's layers, on the fine grid.
        margin: See `Scene`.
        depth: Dioptres of the median of the part.
        span: Dioptres between the photograph's nearest and farthest pixel.
        rng: Draws the part.
    """
    radiance, nearness = _part(source, n, rng)
    depths = np.maximum(depth + span * (nearness - np.median(nearness)), 0).astype(np.float32)
    radiance = radiance / np.float32(max(float(radiance.mean()), 0.02))
    front = _front(nearness)
    if front is None:
        return Scene((Layer(soften(radiance), depths),), margin)
    behind = Layer(soften(_fill(radiance, ~front)), _hold(depths, ~front))
    return Scene(
        (Layer(soften(radiance), _hold(depths, front), soften(front.astype(np.float64))), behind), margin
    )


def _part(
    source: DepthPhotograph, n: int, rng: np.random.Generator
) -> tuple[Float32[np.ndarray, "n n"], Float32[np.ndarray, "n n"]]:
    """Returns a random square part of both pictures on the fine grid, mirrored on if they are too small."""
    size = n // FINE
    pads = [(0, max(0, size - length)) for length in source.radiance.shape]
    y, x = (int(rng.integers(0, max(1, length - size + 1))) for length in source.radiance.shape)
    parts = []
    for picture, way in ((source.radiance, cv2.INTER_CUBIC), (source.nearness, cv2.INTER_LINEAR)):
        part = np.pad(picture, pads, mode="symmetric")[y : y + size, x : x + size]
        parts.append(cv2.resize(part, (n, n), interpolation=way).astype(np.float32))
    return np.maximum(parts[0], 0), parts[1]


def _front(nearness: Float32[np.ndarray, "n n"]) -> Bool[np.ndarray, "n n"] | None:
    """Returns the mask of the nearer of two groups of depths; None if there is one group."""
    levels = np.percentile(nearness, np.arange(5, 100, 5))
    gap = int(np.argmax(np.diff(levels)))
    if levels[gap + 1] - levels[gap] < GAP:
        return None
    return nearness > (levels[gap] + levels[gap + 1]) / 2


def _hold(depths: Float32[np.ndarray, "n n"], where: Bool[np.ndarray, "n n"]) -> Float32[np.ndarray, "n n"]:
    """Returns the depths of a surface, going on beyond its edge as they are there."""
    rows, cols = distance_transform_edt(~where, return_distances=False, return_indices=True)
    return np.ascontiguousarray(depths[rows, cols])


def _fill(picture: Float32[np.ndarray, "n n"], where: Bool[np.ndarray, "n n"]) -> Float32[np.ndarray, "n n"]:
    """Returns the picture with what lies elsewhere replaced by a smooth average of its surroundings."""
    weight = gaussian_filter(where.astype(np.float32), 8.0) + np.float32(1e-4)
    smooth = gaussian_filter(np.where(where, picture, 0), 8.0) / weight
    return np.where(where, picture, smooth).astype(np.float32)
