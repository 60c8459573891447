"""Depth of every pixel by a plane sweep: each camera of a rig against the others.

    256 planes that face the camera, even in inverse depth from 0.1 m to 100 m
    -> cost of each: differences of intensity and gradients in the other pictures, cut off
    -> smoothed along the edges of the picture -> of the others, the better half (who is hidden does not vote)
    -> the plane of least cost, between planes by a parabola
    -> confidence: do the other cameras' depths agree, is the least cost plainly the least, is depth smooth?

Pictures are all-in-focus (`dioptre.groundtruth.composite`) and rectified: of one focal length, without
distortion, the axis in their middle. A plane's number counts from far (0) to near.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from jaxtyping import Float, Float32
from scipy.ndimage import median_filter

from dioptre.errors import InputError
from dioptre.groundtruth import kernels
from dioptre.stack import Picture


@dataclass(frozen=True)
class PlaneSweep:
    """How planes are swept, and how pictures are compared on them.

    Attributes:
        planes: How many planes.
        nearest_m: Distance of the nearest, metres.
        farthest_m: Distance of the farthest, metres.
        radius: Of the squares that costs are smoothed over, pixels.
        keep: Variance of the guide from which on an edge is one.
        gradients: How much gradients count beside the intensity.
        cut: The largest cost.
        level_px: Sigma of the local mean that a picture is divided by, pixels.
        present: Part of the mean light that is added to that mean.
    """

    planes: int = 256
    nearest_m: float = 0.1
    farthest_m: float = 100.0
    radius: int = 4
    keep: float = 1e-3
    gradients: float = 4.0
    cut: float = 0.3
    level_px: float = 12.0
    present: float = 0.02


SWEEP: Final = PlaneSweep()


@dataclass(frozen=True)
class DepthConfidence:
    """When the depth of a pixel can be trusted.

    Attributes:
        apart: Planes about the best one that are no rivals.
        rival: How much lower than its rival the least cost is: from nothing to sure.
        agreed: Planes by which cameras may differ.
        rough: Planes of local deviation that are no longer smooth.
        window: Pixels in which that is judged.
    """

    apart: int = 3
    rival: tuple[float, float] = (0.05, 0.2)
    agreed: float = 1.5
    rough: float = 4.0
    window: int = 7


CONFIDENCE: Final = DepthConfidence()


@dataclass(frozen=True, eq=False)
class RectifiedView:
    """A rectified picture and its camera.

    Attributes:
        picture: Linear light.
        focal_px: Focal length, pixels of the picture.
        rotation: Rotation from the world's axes.
        centre: Place, metres.
    """

    picture: Picture
    focal_px: float
    rotation: Float[np.ndarray, "3 3"]
    centre: Float[np.ndarray, "3"]

    def to(self, other: "RectifiedView") -> tuple[Float[np.ndarray, "3 3"], Float[np.ndarray, "3"]]:
        """Returns rotation and move: the other one has (u, v, 1) at rho at rotation (u, v, 1) + rho move."""
        return other.rotation @ self.rotation.T, other.rotation @ (self.centre - other.centre)


@dataclass(frozen=True, eq=False)
class DepthEstimate:
    """The depth that a plane sweep found for every pixel, and how well the pictures agree there.

    Attributes:
        plane: Number of the plane, with its fraction.
        peak: How plainly the least cost is the least, 0 to 1.
        range_dioptres: Of the first and the last plane.
    """

    plane: Picture
    peak: Picture
    range_dioptres: tuple[float, float]

    @property
    def dioptres(self) -> Picture:
        """Inverse depth along the axis."""
        return plane_to_dioptres(self.plane, self.range_dioptres)


def sweep_range(
    nearest_m: float = SWEEP.nearest_m, farthest_m: float = SWEEP.farthest_m
) -> tuple[float, float]:
    """Returns the dioptres of the first and the last plane."""
    if not 0 < nearest_m < farthest_m:
        raise InputError(f"planes lie between 0 < nearest < farthest, not {nearest_m:g} and {farthest_m:g} m")
    return 1 / farthest_m, 1 / nearest_m


def plane_to_dioptres(plane: Picture, limits: tuple[float, float]) -> Picture:
    """Returns the inverse depth of a plane's number."""
    return np.float32(limits[0]) + plane * np.float32((limits[1] - limits[0]) / (SWEEP.planes - 1))


def dioptres_to_plane(dioptres: Picture, limits: tuple[float, float]) -> Picture:
    """Returns the number of the plane at an inverse depth."""
    return (dioptres - np.float32(limits[0])) * np.float32((SWEEP.planes - 1) / (limits[1] - limits[0]))


def channels(picture: Picture) -> Float32[np.ndarray, "3 rows cols"]:
    """Returns the channels that pictures are compared by: relative intensity, and its gradients."""
    level = cv2.GaussianBlur(picture, (0, 0), SWEEP.level_px)
    even = np.sqrt(np.maximum(picture, 0) / (level + np.float32(SWEEP.present) * picture.mean()))
    even = np.minimum(even, np.float32(3)) / np.float32(3)
    dx = cv2.Sobel(even, cv2.CV_32F, 1, 0, ksize=3, scale=SWEEP.gradients / 8)
    dy = cv2.Sobel(even, cv2.CV_32F, 0, 1, ksize=3, scale=SWEEP.gradients / 8)
    return np.stack([even, dx, dy])


def sweep_planes(
    views: Sequence[RectifiedView],
    at: int,
    limits: tuple[float, float] | None = None,
    executor: Executor | None = None,
    threads: int = 1,
) -> DepthEstimate:
    """Returns the depth of one camera's pixels against the other cameras.

    Args:
        views: The cameras.
        at: Which of them.
        limits: Dioptres of the first and the last plane.
        executor: Threads that share the planes.
        threads: How many.
    """
    limits = limits or sweep_range()
    reference, others = views[at], [one for k, one in enumerate(views) if k != at]
    if not others:
        raise InputError("a plane sweep compares two pictures or more")
    own, theirs = channels(reference.picture), [channels(one.picture) for one in others]
    ways = [reference.to(one) for one in others]
    rhos = np.linspace(*limits, SWEEP.planes)
    volume = np.empty((SWEEP.planes, *reference.picture.shape), np.float32)
    guide = _Guide.of(own[0])

    def fill(part: range) -> None:
        rows, cols = reference.picture.shape
        costs = np.empty((len(others), rows, cols), np.float32)
        room = [np.empty((rows, cols), np.float32) for _ in range(3)]
        spare = np.zeros((rows, cols + 2 * SWEEP.radius), np.float32)
        for k in part:
            for cost, picture, (rotation, move) in zip(costs, theirs, ways, strict=True):
                kernels.match_plane(
                    own, picture, reference.focal_px, (cols - 1) / 2, (rows - 1) / 2, rotation, move, rhos[k],
                    np.float32(SWEEP.cut), cost,
                )  # fmt: skip
                kernels.smooth_cost(
                    cost, guide.picture, guide.count, guide.mean, guide.variance, SWEEP.radius,
                    np.float32(SWEEP.keep), spare, *room,
                )  # fmt: skip
            kernels.best_half(costs, volume[k])

    parts = [range(first, SWEEP.planes, threads) for first in range(threads)]
    run: Callable[..., Iterator[None]] = map if executor is None else executor.map
    list(run(fill, parts))
    return _pick(volume, limits)


@dataclass(frozen=True, eq=False)
class _Guide:
    """A picture along whose edges costs are smoothed, and its means and variances over squares."""

    picture: Picture
    count: Picture
    mean: Picture
    variance: Picture

    @classmethod
    def of(cls, picture: Picture) -> "_Guide":
        side = (2 * SWEEP.radius + 1, 2 * SWEEP.radius + 1)

        def total(one: Picture) -> Picture:
            return cv2.boxFilter(one, cv2.CV_32F, side, normalize=False, borderType=cv2.BORDER_CONSTANT)

        count = total(np.ones_like(picture))
        mean = total(picture) / count
        return cls(picture, count, mean, np.maximum(total(picture * picture) / count - mean * mean, 0))


def _pick(volume: Float32[np.ndarray, "plane rows cols"], limits: tuple[float, float]) -> DepthEstimate:
    plane, best, second = (np.empty(volume.shape[1:], np.float32) for _ in range(3))
    kernels.pick_plane(volume, CONFIDENCE.apart, plane, best, second)
    lower = 1 - best / np.maximum(second, np.float32(1e-9))
    nothing, sure = CONFIDENCE.rival
    peak = np.clip((lower - nothing) / (sure - nothing), 0, 1).astype(np.float32)
    return DepthEstimate(plane, peak, limits)


def confidence(views: Sequence[RectifiedView], depths: Sequence[DepthEstimate], at: int) -> Picture:
    """Returns the confidence of each depth of a camera, 0 to 1.

    It is the product of three: how well the better half of the other cameras agrees, how plainly the cost has
    one minimum, and how smooth depth is about the pixel.
    """
    own, limits = depths[at].plane, depths[at].range_dioptres
    others = [k for k in range(len(views)) if k != at]
    ways = [views[at].to(views[k]) for k in others]
    rows, cols = own.shape
    agreed = np.empty((len(others), rows, cols), np.float32)
    kernels.agreement(
        own,
        np.stack([depths[k].plane for k in others]),
        np.stack([rotation for rotation, _ in ways]),
        np.stack([move for _, move in ways]),
        views[at].focal_px,
        (cols - 1) / 2,
        (rows - 1) / 2,
        limits[0],
        (limits[1] - limits[0]) / (SWEEP.planes - 1),
        CONFIDENCE.agreed,
        agreed,
    )
    half = max(1, len(others) // 2)
    best = np.sort(agreed, axis=0)[-half:].mean(axis=0)
    spread = median_filter(np.abs(own - median_filter(own, CONFIDENCE.window)), CONFIDENCE.window)
    smooth = np.exp(-((spread / CONFIDENCE.rough) ** 2))
    return (best * depths[at].peak * smooth).astype(np.float32)


def rectify(
    picture: Picture,
    focal_px: float,
    shift: Float[np.ndarray, "2"],
    distortion: Float[np.ndarray, "2"],
    wanted_px: float,
) -> Picture:
    """Returns a picture as a pinhole camera of another focal length has it, without distortion.

    Args:
        picture: As it was taken.
        focal_px: Its focal length, its own pixels.
        shift: Where its axis is, pixels from its centre.
        distortion: Its distortion.
        wanted_px: Focal length of the result, whose axis is in its middle.
    """
    rows, cols = picture.shape
    x = (np.arange(cols) - (cols - 1) / 2) / wanted_px
    y = (np.arange(rows) - (rows - 1) / 2) / wanted_px
    r2 = x[None, :] ** 2 + y[:, None] ** 2
    more = focal_px * (1 + (distortion[0] + distortion[1] * r2) * r2)
    across = (more * x[None, :] + shift[0] + (cols - 1) / 2).astype(np.float32)
    down = (more * y[:, None] + shift[1] + (rows - 1) / 2).astype(np.float32)
    return cv2.remap(picture, across, down, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)


def residual(views: Sequence[RectifiedView], depths: Sequence[DepthEstimate], at: int) -> Picture:
    """Returns the difference of a camera's pixels and those at its depths in the other cameras.

    It is the mean over the better half of the cameras, of intensities relative to their surroundings.
    """
    reference, dioptres = views[at], depths[at].dioptres.astype(np.float64)
    rows, cols = dioptres.shape
    u = (np.arange(cols)[None, :] - (cols - 1) / 2) / reference.focal_px + np.zeros((rows, 1))
    v = (np.arange(rows)[:, None] - (rows - 1) / 2) / reference.focal_px + np.zeros((1, cols))
    ray = np.stack([u, v, np.ones_like(u)])
    own = channels(reference.picture)[0]
    unlike = []
    for other in (one for k, one in enumerate(views) if k != at):
        rotation, move = reference.to(other)
        x, y, z = np.einsum("ij,jrc->irc", rotation, ray) + dioptres * move[:, None, None]
        z = np.maximum(z, 0.01)
        across = (other.focal_px * x / z + (cols - 1) / 2).astype(np.float32)
        down = (other.focal_px * y / z + (rows - 1) / 2).astype(np.float32)
        seen = cv2.remap(
            channels(other.picture)[0],
            across,
            down,
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_CONSTANT,
            borderValue=2.0,
        )
        unlike.append(np.minimum(np.abs(seen - own), 1))
    return np.sort(np.stack(unlike), axis=0)[: max(1, len(unlike) // 2)].mean(axis=0)


def to_frame(
    values: Float32[np.ndarray, "_ _"],
    focal_px: float,
    shift: Float[np.ndarray, "2"],
    distortion: Float[np.ndarray, "2"],
    wanted_px: float,
    shape: tuple[int, int],
    scale: float,
) -> Float32[np.ndarray, "_ _"]:
    """Returns a rectified map in the geometry of the frame it came from: the inverse of `rectify`.

    Args:
        values: Rectified, such as depth.
        focal_px: Of the frame, in the pixels of `values`.
        shift: Where its axis is, likewise.
        distortion: Its distortion.
        wanted_px: Focal length of `values`.
        shape: Rows and columns of the result.
        scale: Pixels of `values` along a side of one of the result.
    """
    rows, cols = shape
    x = ((np.arange(cols) - (cols - 1) / 2) * scale - shift[0]) / focal_px
    y = ((np.arange(rows) - (rows - 1) / 2) * scale - shift[1]) / focal_px
    seen = x[None, :] ** 2 + y[:, None] ** 2
    r2 = seen
    for _ in range(5):
        more = 1 + (distortion[0] + distortion[1] * r2) * r2
        r2 = seen / more**2
    high, wide = values.shape
    across = np.rint(wanted_px * x[None, :] / more + (wide - 1) / 2).astype(int)
    down = np.rint(wanted_px * y[:, None] / more + (high - 1) / 2).astype(int)
    inside = (across >= 0) & (across < wide) & (down >= 0) & (down < high)
    found = values[np.clip(down, 0, high - 1), np.clip(across, 0, wide - 1)]
    return np.where(inside, found, np.float32(0))
