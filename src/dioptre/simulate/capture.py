"""One simulated patch: a random scene before a random place of a phone, in some light, swept through focus.

Everything drawn for a patch comes from one generator, so that a patch is the same whoever computes it.
Textures belong to a scene and are shared by its patches; a scene belongs to one split.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float, Float32, UInt16

from dioptre.optics import CameraModel
from dioptre.simulate.device import Device
from dioptre.simulate.lens import Actuator, index_errors, sweep
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.relief import Relief, relief_scene
from dioptre.simulate.render import View, render_stack
from dioptre.simulate.scene import FINE, Layer, Scene, fine_size, soften
from dioptre.simulate.sensor import Noise, read_native
from dioptre.simulate.texture import dead_leaves, glyphs, log_uniform, photograph

Depths = Literal["even", "far"]
KINDS = {
    "plane": 0.36,
    "slant": 0.26,
    "curve": 0.1,
    "two": 0.2,
    "three": 0.08,
}  # how often each kind of scene
RELIEFS = 0.3  # how often a scene is a photograph with depth, if there are any
LESS_LIGHT = (8.0, 32.0)  # in the dark
LEAST_DIMMED = 4.0  # a dark picture is darker by so much at least, whatever the gain
RIM = 2  # more columns and rows are rendered than a patch has: the native rows above and below
SIDE_MOTION_PX = 3.0  # deviation of the optical axis over a stack


@dataclass(frozen=True)
class Conditions:
    """How hard captures are; the defaults give the regime of the published data.

    Attributes:
        actuator: The lens.
        breathing: How much of the thin lens's change of scale with focus there is, 1 for all and 0 for none.
        side_motion: How much of its usual wandering the optical axis does, 1 for all and 0 for none.
        dark: How often the light is low.
        contrast: Range of the textures' contrast, drawn evenly on a logarithmic scale.
        brightness: Range of the patches' mean signal in normal light, likewise, 1 at white.
        shot: Range of the shot noise in normal light, variance for each 10-bit code, likewise.
        tilt_indices: Deviation of the depth over a slanted or curved patch, in indices.
        depths: "even" if depths are spread evenly over the ladder; "far" if there are ever fewer towards its
            near end, and none at it, as in the published data, where three quarters or more are in the far
            half.
        gap_indices: Mean distance in depth of a layer from the one before it, in indices.
        highlights: How often a patch has points of light far above white.
    """

    actuator: Actuator = field(default_factory=Actuator)
    breathing: float = 1.0
    side_motion: float = 1.0
    dark: float = 0.03
    contrast: tuple[float, float] = (0.25, 1.0)
    brightness: tuple[float, float] = (0.03, 0.4)
    shot: tuple[float, float] = (0.05, 0.5)
    tilt_indices: float = 2.0
    depths: Depths = "even"
    gap_indices: float = 7.0
    highlights: float = 0.015

    @classmethod
    def exact(cls) -> "Conditions":
        """Returns the same with a lens that goes where it is told, and along its axis."""
        return cls(actuator=Actuator.exact(), side_motion=0.0)


@dataclass(frozen=True, eq=False)
class Patch:
    """A simulated patch.

    Attributes:
        native: (slice, 2, native row, col) codes, one native row more above and below than the patch has.
        truth: Index nearest in inverse depth to the median depth of the patch.
        depth: That median, in dioptres.
        depth_spread: Deviation of the depth over the patch, in dioptres.
        lens_error: Median error of the lens over the stack, in indices, positive towards near.
        kind: The kind of scene.
        light: "normal" or "dark".
        exposure: What radiance 1 becomes, as a part of white.
        shot: Shot noise, variance for each 10-bit code.
        at: The patch's centre, (x, y) pixels from the centre of the frame.
    """

    native: UInt16[np.ndarray, "slice 2 native col"]
    truth: int
    depth: float
    depth_spread: float
    lens_error: float
    kind: str
    light: str
    exposure: float
    shot: float
    at: tuple[float, float]


def draw_textures(
    rng: np.random.Generator,
    photographs: Sequence[Float32[np.ndarray, "_ _"]] = (),
    count: int = 4,
    size: int = 1024,
) -> list[Float32[np.ndarray, "n n"]]:
    """Returns a scene's textures on the fine grid, of mean 1: leaves of many sizes, print, photographs."""
    textures = []
    for _ in range(count):
        picture = soften(_draw_texture(rng, photographs, size))
        textures.append(picture / np.float32(max(picture.mean(), 0.02)))
    return textures


def _draw_texture(
    rng: np.random.Generator, photographs: Sequence[Float32[np.ndarray, "_ _"]], size: int
) -> Float[np.ndarray, "n n"]:
    kind = rng.random()
    if photographs and kind < 0.6:
        return photograph(photographs[int(rng.integers(len(photographs)))], size, rng)
    if kind > 0.85:
        return glyphs(size, rng, log_uniform(rng, 16.0, 90.0))
    largest = log_uniform(rng, 20.0, 500.0)
    grain = log_uniform(rng, 0.01, 0.25)
    return dead_leaves(size, size, rng, float(rng.uniform(1.5, 5.0)), largest, grain)


def draw_patch(
    camera: CameraModel,
    device: Device,
    textures: list[Float32[np.ndarray, "n n"]],
    rng: np.random.Generator,
    conditions: Conditions,
    size: int = 128,
    light: str | None = None,
    reliefs: Sequence[Relief] = (),
) -> Patch:
    """Returns one patch of one capture.

    Args:
        camera: The camera.
        device: The phone.
        textures: What the surfaces of the scene are painted with.
        rng: Draws everything.
        conditions: How hard it is.
        size: Rows and columns of the patch; even.
        light: "normal" or "dark"; drawn if not given.
        reliefs: Photographs with depth, for some of the patches to be parts of.
    """
    rows, cols = camera.frame
    reach = max(0.0, (cols - size) / 2), max(0.0, (rows - size) / 2)
    at = (
        float(2 * (rng.uniform(-reach[0], reach[0]) // 2)),
        float(2 * (rng.uniform(-reach[1], reach[1]) // 2)),
    )
    view = View(PointSpread(camera, device, at), size + 2 * RIM, conditions.breathing)
    kind = str(rng.choice(list(KINDS), p=list(KINDS.values())))
    if reliefs and rng.random() < RELIEFS:
        kind = "relief"
    scene = draw_scene(kind, camera, textures, view, rng, conditions, reliefs)
    focus = sweep(camera, conditions.actuator, device.lens_bias, rng)
    if light is None:
        light = "dark" if rng.random() < conditions.dark else "normal"
    gain, noise = _draw_light(light, conditions, rng)
    axis = conditions.side_motion * _side_motion(len(focus), rng)
    radiance = render_stack(scene, view, focus, axis)
    radiance *= np.float32(gain)
    depths = scene.depth_map(size + 2 * RIM)[RIM:-RIM, RIM:-RIM]
    depth = float(np.median(depths))
    return Patch(
        native=read_native(radiance[..., RIM:-RIM], noise, rng),
        truth=int(camera.grid.nearest_index(depth)),
        depth=depth,
        depth_spread=float(np.std(depths)),
        lens_error=float(np.median(index_errors(camera, focus))),
        kind=kind,
        light=light,
        exposure=gain,
        shot=noise.shot,
        at=at,
    )


def draw_scene(
    kind: str,
    camera: CameraModel,
    textures: list[Float32[np.ndarray, "n n"]],
    view: View,
    rng: np.random.Generator,
    conditions: Conditions,
    reliefs: Sequence[Relief] = (),
) -> Scene:
    """Returns a random scene of one kind whose depths are spread over the ladder."""
    margin = view.margin(4 * SIDE_MOTION_PX)
    n = fine_size(view.size, margin)
    grid = camera.grid.dioptres
    step = float(np.mean(np.diff(grid)))

    nearest, farthest = grid[-1] + step / 2, max(0.0, grid[0] - step / 2)

    def depths(count: int) -> list[float]:
        """Depths from near to far, each some way from another."""
        along = rng.random()
        if conditions.depths == "far":
            along = 1 - math.sqrt(1 - along)
        gaps = rng.laplace(0, conditions.gap_indices * step, count)
        walk = farthest + along * (nearest - farthest) + np.cumsum([0.0, *gaps])
        walk = np.sort(np.clip(walk[:count], farthest, nearest))[::-1]
        return [float(depth / (1 - view.spread.device.closer_m * depth)) for depth in walk]

    def painted(depth: float, bent: bool, alpha: Float32[np.ndarray, "n n"] | None = None) -> Layer:
        low, high = np.log(conditions.contrast)
        picture = _crop(textures[rng.integers(len(textures))], n, rng)
        picture = 1 + (picture - 1) * np.float32(np.exp(rng.uniform(low, high)))
        if rng.random() < conditions.highlights:
            picture = _add_highlights(picture, rng)
        surface = _bend(kind, depth, n, conditions.tilt_indices * step, rng) if bent else depth
        return Layer(np.maximum(picture, 0), surface, alpha)

    if kind == "relief":
        span = conditions.gap_indices * step * float(rng.uniform(0.5, 3))
        relief = reliefs[int(rng.integers(len(reliefs)))]
        return relief_scene(relief, n, margin, depths(1)[0], span, rng)
    if kind in ("two", "three"):
        *front, back = depths(2 if kind == "two" else 3)
        nearer = [painted(depth, False, _cut(n, view, rng)) for depth in front]
        return Scene((*nearer, painted(back, False)), margin)
    return Scene((painted(depths(1)[0], kind != "plane"),), margin)


def _crop(
    texture: Float32[np.ndarray, "m m"], n: int, rng: np.random.Generator
) -> Float32[np.ndarray, "n n"]:
    """Returns a random part of a texture, randomly turned; a texture that is too small is mirrored on."""
    if len(texture) < n:
        texture = np.pad(texture, (0, n - len(texture)), mode="symmetric")
    y, x = rng.integers(0, len(texture) - n + 1, 2)
    part = np.rot90(texture[y : y + n, x : x + n], int(rng.integers(4)))
    return np.ascontiguousarray(part)


def _bend(
    kind: str, depth: float, n: int, amount: float, rng: np.random.Generator
) -> Float32[np.ndarray, "n n"]:
    """Returns the depth of a slanted or curved surface; `amount` is its deviation in dioptres."""
    y, x = (np.mgrid[:n, :n].astype(np.float32) - n / 2) / (FINE * 64)
    a, b, c = rng.normal(0, amount, 3)
    surface = a * x + b * y
    if kind == "curve":
        surface = surface / 2 + c * (x * x + y * y)
    return np.maximum(np.float32(depth) + surface.astype(np.float32), np.float32(0))


def _cut(n: int, view: View, rng: np.random.Generator) -> Float32[np.ndarray, "n n"]:
    """Returns where a nearer surface is: on one side of a wavy edge that crosses the patch."""
    y, x = (np.mgrid[:n, :n].astype(np.float32) - n / 2) / FINE
    angle, offset = rng.uniform(0, 2 * np.pi), rng.uniform(-0.4, 0.4) * view.size
    along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    wave = rng.uniform(0, 12) * np.sin(along / rng.uniform(8, 60) + rng.uniform(0, 2 * np.pi))
    return soften((across + wave > offset).astype(np.float64))


def _add_highlights(
    picture: Float32[np.ndarray, "n n"], rng: np.random.Generator
) -> Float32[np.ndarray, "n n"]:
    points = np.zeros_like(picture)
    for _ in range(int(rng.integers(3, 40))):
        y, x = rng.integers(2, len(picture) - 2, 2)
        points[y : y + 2, x : x + 2] = log_uniform(rng, 20.0, 500.0)
    return picture + soften(points)


def _draw_light(light: str, conditions: Conditions, rng: np.random.Generator) -> tuple[float, Noise]:
    """Returns the exposure (radiance 1 becomes so much of white) and the noise.

    In the dark the same scene has so many times less light; the camera makes up for a part of that by gain,
    which raises the noise as much as the picture.
    """
    black = float(rng.uniform(-1, 1))
    shot, exposure = (
        float(np.exp(rng.uniform(*np.log(range_)))) for range_ in (conditions.shot, conditions.brightness)
    )
    less = float(np.exp(rng.uniform(*np.log(LESS_LIGHT))))
    gain = float((less / LEAST_DIMMED) ** rng.random())
    if light == "dark":
        shot, exposure = shot * gain, exposure * gain / less
    return exposure, Noise(shot, 0.7 + 1.5 * shot, black=black)


def _side_motion(n: int, rng: np.random.Generator) -> Float[np.ndarray, "n 2"]:
    """Returns where the optical axis meets the frame at each slice: a smooth path and some jitter."""
    knots = rng.normal(0, SIDE_MOTION_PX / 2, (4, 2)).cumsum(axis=0)
    knots -= knots.mean(axis=0)
    path = np.stack(
        [np.interp(np.linspace(0, 3, n), np.arange(4), knots[:, axis]) for axis in (0, 1)], axis=1
    )
    return np.clip(path, -3 * SIDE_MOTION_PX, 3 * SIDE_MOTION_PX) + rng.normal(0, 0.3, (n, 2)).clip(-1, 1)
