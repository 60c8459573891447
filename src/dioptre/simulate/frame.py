"""Whole frames: what one phone sees of a world, slice by slice, as codes of its sensor.

A frame is rendered by tiles. What a tile can see of the world becomes a `Scene` of layers, which the renderer
of patches (`dioptre.simulate.render`) blurs with the kernels of the tile's middle. Tiles overlap, and where
they do their light is blended, so that blur changes smoothly over the field instead of stepping at seams.
Shading is that of each pixel.

Frames are read out strip by strip: all slices of a row of tiles are in memory, never a whole stack of light.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Float32, UInt16

from dioptre.errors import InputError
from dioptre.optics import CameraModel, depth_to_blur, reference_focal_px
from dioptre.simulate import kernels
from dioptre.simulate.device import SHADED_FROM, PhoneOptics
from dioptre.simulate.layout import mean_step
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import STEP_PX, PatchView
from dioptre.simulate.rig import Phone
from dioptre.simulate.scene import FINE, Layer, Scene, soften
from dioptre.simulate.sensor import Noise, read_native
from dioptre.simulate.tile import render_tile
from dioptre.simulate.world import KINDS, Surface, World

TILE = 200  # rows and columns of a tile, pixels, as far as the frame's size allows
OVERLAP = 32  # pixels that neighbouring tiles share, at least
AXIS_PX = 24.0  # how far the optical axis may wander, and what blur at half resolution takes more
NEARER_INDICES = 8.0  # beyond the grid, from which on blur grows no more: `View.margin` allows 9
SPARE_INDICES = 2.0  # that the lens may go beyond its grid
PROBE = 2  # pixels between the rays that look for what a tile can see

Origin = tuple[int, int]
Rays = Float32[np.ndarray, "2 _ _"]
Strip = Float32[np.ndarray, "slice 2 rows cols"]


@dataclass(frozen=True, eq=False)
class WorldView:
    """A world as one phone sees it.

    Attributes:
        world: What is there.
        phone: Who looks.
        camera: Its make.
        frame: Rows and columns that are rendered: the middle of the sensor, or all of it.
        breathing: How much of the thin lens's change of scale there is.
        tile: Rows and columns of a tile, about: where tiles lie must not matter.
    """

    world: World
    phone: Phone
    camera: CameraModel
    frame: tuple[int, int]
    breathing: float = 1.0
    tile: int = TILE

    def __post_init__(self) -> None:
        if self.frame[0] % 2 or min(self.frame) < 2:
            raise InputError(f"a frame has an even number of rows, not {self.frame}")
        if self.frame[0] > self.camera.frame[0] or self.frame[1] > self.camera.frame[1]:
            raise InputError(
                f"a frame of {self.frame} pixels is larger than the sensor's, {self.camera.frame}"
            )

    @property
    def focal_px(self) -> float:
        """Focal length at the far end of the grid, pixels."""
        return self.phone.focal_gain * reference_focal_px(self.camera)

    @cached_property
    def shading(self) -> Float32[np.ndarray, "2 rows cols"]:
        """The brightness of a white sheet in both views, over the frame."""
        return frame_shading(self.camera, self.phone.device, self.frame)

    @cached_property
    def steps(self) -> Origin:
        """Pixels from tile to tile, down and across."""
        rows, cols = (
            2 * -(-(length - OVERLAP) // (2 * max(1, round((length - OVERLAP) / (self.tile - OVERLAP)))))
            for length in self.frame
        )
        return rows, cols

    @property
    def size(self) -> int:
        """Rows and columns of a tile."""
        return max(self.steps) + OVERLAP

    def origins(self, axis: int) -> range:
        """Returns the first pixels of the tiles along an axis."""
        return range(0, max(1, self.frame[axis] - OVERLAP), self.steps[axis])

    def ramp(self, axis: int, at: int) -> Float32[np.ndarray, " n"]:
        """Returns a tile's weights along an axis: those of neighbours add up to 1."""
        shared = self.size - self.steps[axis]
        rise = (np.arange(shared) + 0.5) / shared
        weights = np.ones(self.size)
        if at > 0:
            weights[:shared] *= rise
        if at + self.steps[axis] < self.frame[axis] - OVERLAP:
            weights[-shared:] *= rise[::-1]
        return weights.astype(np.float32)

    def view(self, origin: Origin, size: int | None = None) -> PatchView:
        """Returns where a square of the frame is seen from: a tile, or one of another size."""
        size = size or self.size
        middle = [at + (size - length) / 2 for at, length in zip(origin, self.frame, strict=True)]
        spread = PointSpread(self.camera, self.phone.device, (middle[1], middle[0]))
        return PatchView(spread, size, self.breathing)


def frame_shading(
    camera: CameraModel, device: PhoneOptics, frame: tuple[int, int]
) -> Float32[np.ndarray, "2 rows cols"]:
    """Returns the brightness of both views of a white sheet over the middle of a sensor."""
    views = []
    for table in (device.shading, device.left_share):
        across = []
        for length, whole, margin, count in zip(frame, camera.frame, SHADED_FROM, table.shape, strict=True):
            places = np.arange(length) + 0.5 + (whole - length) / 2
            part = (places / whole - margin) / (1 - 2 * margin) * (count - 1)
            part = np.clip(part, 0, count - 1.001)
            first = part.astype(int)
            weights = np.zeros((length, count))
            weights[np.arange(length), first] = 1 - (part - first)
            weights[np.arange(length), first + 1] = part - first
            across.append(weights)
        views.append(across[0] @ table @ across[1].T)
    brightness, share = views
    return np.stack([2 * brightness * share, 2 * brightness * (1 - share)]).astype(np.float32)


# What a tile can see


def tile_scene(seen: WorldView, origin: Origin, view: PatchView) -> Scene:
    """Returns the layers that a tile, or another square that begins there, can see, from front to back."""
    margin = view.margin(AXIS_PX, SPARE_INDICES)
    n = FINE * (view.size + 2 * margin)
    first = _fine_place(seen, origin, margin)
    rays = aim(seen, first, 1 / FINE, (n, n))
    few = np.ascontiguousarray(rays[:, :: FINE * PROBE, :: FINE * PROBE])
    layers: list[Layer] = []
    for surface in seen.world.surfaces:
        layer = _layer(seen, surface, rays, few)
        if layer is not None:
            layers.append(layer)
            if layer.alpha is None:
                break
    return Scene(tuple(layers), margin)


def _layer(seen: WorldView, surface: Surface, rays: Rays, few: Rays) -> Layer | None:
    """Returns a surface as a tile can see it; None if it cannot."""
    last = surface is seen.world.surfaces[-1]
    if not last and not cast_surface(seen, surface, few)[1].any():
        return None
    depth, cover = cast_surface(seen, surface, rays)
    if last:
        cover[...] = 1
    alpha = None if cover.all() else soften(cover)
    radiance = np.empty_like(depth)
    phone, world = seen.phone, seen.world
    kernels.shine(
        depth, cover if alpha is None else alpha, phone.rotation, phone.centre, rays, surface.picture,
        surface.painted_at, world.painted_px, radiance,
    )  # fmt: skip
    return Layer(radiance, _flattened(seen.camera, depth, cover), alpha)


def _fine_place(seen: WorldView, origin: Origin, margin: int) -> Float[np.ndarray, "2"]:
    """Returns the first place (x, y) of a tile's fine grid, pixels from the centre of the frame."""
    rows, cols = seen.frame
    inset = (1 / FINE - 1) / 2  # from a pixel's centre to that of its first fine pixel
    x = origin[1] - margin - (cols - 1) / 2 + inset
    y = origin[0] - margin - (rows - 1) / 2 + inset
    return np.array([x, y])


def aim(seen: WorldView, first: Float[np.ndarray, "2"], step: float, shape: tuple[int, int]) -> Rays:
    """Returns the directions (x, y, 1) of rays on a grid of places.

    Args:
        seen: From where.
        first: The grid's first place, (x, y) pixels from the centre of the frame.
        step: Pixels between its places.
        shape: Its rows and columns.
    """
    rays = np.empty((2, *shape), np.float32)
    kernels.aim(seen.focal_px, seen.phone.distortion, first, float(step), rays)
    return rays


def cast_surface(
    seen: WorldView, surface: Surface, rays: Rays
) -> tuple[Float32[np.ndarray, "rows cols"], Float32[np.ndarray, "rows cols"]]:
    """Returns the dioptres of a surface on each ray, and where it is."""
    depth, cover = np.empty(rays.shape[1:], np.float32), np.empty(rays.shape[1:], np.float32)
    kernels.cast(
        KINDS[surface.kind], surface.place, np.ascontiguousarray(surface.axes), surface.half, surface.outline,
        seen.phone.rotation, seen.phone.centre, rays, depth, cover,
    )  # fmt: skip
    return depth, cover


def _flattened(
    camera: CameraModel, depth: Float32[np.ndarray, "n n"], cover: Float32[np.ndarray, "n n"]
) -> float | Float32[np.ndarray, "n n"]:
    """Returns one depth for a surface that blur cannot tell from a plane that faces the camera."""
    there = depth[cover > 0]
    near = float(camera.grid.dioptres[-1])
    nearest = near + NEARER_INDICES * mean_step(camera.grid)
    low, high = min(float(there.min()), nearest), min(float(there.max()), nearest)
    if abs(float(depth_to_blur(camera, near, low)) - float(depth_to_blur(camera, near, high))) < STEP_PX:
        return (low + high) / 2
    return np.clip(depth, np.float32(low), np.float32(high))


def true_depth(seen: WorldView, step: int = 1) -> Float32[np.ndarray, "map_row map_col"]:
    """Returns the dioptres of what is seen in front, at the far end of the grid.

    Args:
        seen: From where.
        step: Pixels of the frame along a side of a pixel of the map, at whose centre it is taken.
    """
    rows, cols = seen.frame
    first = np.array([(step - cols) / 2, (step - rows) / 2])
    found = np.full((rows // step, cols // step), np.nan, np.float32)
    rays = aim(seen, first, float(step), found.shape)
    for surface in seen.world.surfaces:
        depth, cover = cast_surface(seen, surface, rays)
        here = np.isnan(found) & ((cover > 0) | (surface is seen.world.surfaces[-1]))
        found[here] = depth[here]
    return found


# Light


def render_strips(
    seen: WorldView,
    focus: Float[np.ndarray, " slice"],
    axis: Float[np.ndarray, "slice 2"],
    gain: Float32[np.ndarray, " slice"],
    executor: Executor | None = None,
) -> Iterator[tuple[int, Strip]]:
    """Yields the light of a sweep, strip by strip from the top, with the row that each begins at.

    Args:
        seen: What, and from where.
        focus: Where the lens is truly focused at each slice, dioptres.
        axis: Where the optical axis meets the frame, (x, y) pixels from its centre.
        gain: Exposure of each slice.
        executor: Threads that render tiles; None for this one.
    """
    rows, cols = seen.frame
    columns, step = seen.origins(1), seen.steps[0]
    wide = columns[-1] + seen.size
    carried = np.zeros((len(focus), 2, seen.size - step, wide), np.float32)
    for top in seen.origins(0):
        strip = np.zeros((len(focus), 2, seen.size, wide), np.float32)
        strip[:, :, : seen.size - step] = carried
        _add_tiles(seen, top, columns, strip, focus, axis, executor)
        carried = strip[:, :, step:].copy()
        last = min(top + step, rows) if top != seen.origins(0)[-1] else rows
        light = strip[:, :, : last - top, :cols]
        yield top, light * (seen.shading[:, top:last] * gain[:, None, None, None])


def _add_tiles(
    seen: WorldView,
    top: int,
    columns: Sequence[int],
    strip: Strip,
    focus: Float[np.ndarray, " slice"],
    axis: Float[np.ndarray, "slice 2"],
    executor: Executor | None,
) -> None:
    """Adds the light of a row of tiles to a strip, each weighed by how much of it is its own."""

    def rendered(left: int) -> Strip:
        view = seen.view((top, left))
        scene = tile_scene(seen, (top, left), view)
        weight = seen.ramp(0, top)[:, None] * seen.ramp(1, left)[None, :]
        share = weight / view.spread.sums[:, None, None]
        return np.stack(
            [
                render_tile(scene, view, float(one), (float(x), float(y))) * share
                for one, (x, y) in zip(focus, axis, strict=True)
            ]
        )

    run: Callable[..., Iterator[Strip]] = map if executor is None else executor.map
    for left, light in zip(columns, run(rendered, columns), strict=True):
        strip[..., left : left + seen.size] += light


def read_frames(
    seen: WorldView,
    focus: Float[np.ndarray, " slice"],
    axis: Float[np.ndarray, "slice 2"],
    gain: Float32[np.ndarray, " slice"],
    noise: Noise,
    rng: np.random.Generator,
    executor: Executor | None = None,
) -> UInt16[np.ndarray, "slice 2 native cols"]:
    """Returns the codes of a whole sweep, (slice, view, native row, col), 10 bit.

    Args:
        seen: What, and from where.
        focus: See `render_strips`.
        axis: See `render_strips`.
        gain: See `render_strips`.
        noise: The sensor's.
        rng: Draws it.
        executor: See `render_strips`; the codes do not depend on it.
    """
    rows, cols = seen.frame
    codes = np.empty((len(focus), 2, rows // 2, cols), np.uint16)
    for first, light in render_strips(seen, focus, axis, gain, executor):
        codes[:, :, first // 2 : (first + light.shape[2]) // 2] = read_native(light, noise, rng)
    return codes
