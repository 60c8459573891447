"""One simulated patch: a random scene before a random place of a phone, in some light, swept through focus.

Everything drawn for a patch comes from one generator, so that a patch is the same whoever computes it.
Surfaces belong to a scene and are shared by its patches; a scene belongs to one split.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np
from jaxtyping import Float, Float32, UInt16

from dioptre.miss import covering_depths
from dioptre.optics import CameraModel, steps_per_index
from dioptre.simulate.depth_photograph import DepthPhotograph, photograph_scene
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.focusability import LEAST, focus_contrast
from dioptre.simulate.layout import KINDS, Layout, beyond, depth_to_index, draw_depths, lay_out, mean_step
from dioptre.simulate.lens import Actuator, index_errors, sweep
from dioptre.simulate.light import Lighting, Square, add_highlights, draw_exposure, draw_slope, draw_steps
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView, render_stack
from dioptre.simulate.scene import Scene, diffract, fine_size, soften
from dioptre.simulate.sensor import Noise, process, read_native
from dioptre.simulate.surface_texture import Clutter, paint
from dioptre.simulate.texture import (
    crumpled,
    dead_leaves,
    glyphs,
    log_uniform,
    photograph,
    repeated,
    roughness,
)

DEPTH_PHOTOGRAPHS = 0.3  # how often a scene is a photograph with depth, if there are any
PHOTOGRAPHS = 0.6  # how often a surface is painted with a photograph, if there are any
TRIES = 16  # to draw a patch with something to focus on, or with nothing
JPEG_QUALITY = (70, 98)  # of processed pictures
SHARPENING = (-0.6, 1.2)  # of processed pictures: a third of them are left as they are
PERIOD_PX = (12.0, 160.0)  # of a pattern that repeats, fine pixels
RIM = 2  # more columns and rows are rendered than a patch has: the native rows above and below
SPARE = 2.0  # indices that the lens may go beyond its grid, and a slanted surface beyond its median
SIDE_MOTION_PX = 3.0  # deviation of the optical axis over a stack


@dataclass(frozen=True)
class Conditions:
    """How hard captures are; the defaults give the regime of the published data.

    Attributes:
        actuator: The lens.
        breathing: How much of the thin lens's change of scale with focus there is, 1 for all and 0 for none.
        side_motion: How much of its usual wandering the optical axis does, 1 for all and 0 for none.
        clutter: What surfaces are covered with.
        layout: Where they lie in depth.
        lighting: Brightness and noise.
        featureless: How often a patch has nothing to focus on; the others all have something.
        processed: Whether the pictures went through a tone curve, sharpening and JPEG.
    """

    actuator: Actuator = field(default_factory=Actuator)
    breathing: float = 1.0
    side_motion: float = 1.0
    clutter: Clutter = field(default_factory=Clutter)
    layout: Layout = field(default_factory=Layout)
    lighting: Lighting = field(default_factory=Lighting)
    featureless: float = 0.0
    processed: bool = False

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
        sharp_at: Where on this lens each depth that covers a tenth of the patch is sharpest (`dioptre.miss`):
            fractional indices in rising order, beyond the ends too; the lens's median error is in them. None
            without anything to focus on.
        sharp_share: The share of the patch that each of them covers.
        beyond: Indices that the median lies beyond the grid: 0 inside, negative beyond its far end,
            positive beyond its near end.
        focusable: Whether there is anything to focus on (`visibility`).
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
    sharp_at: tuple[float, ...]
    sharp_share: tuple[float, ...]
    beyond: float
    focusable: bool
    lens_error: float
    kind: str
    light: str
    exposure: float
    shot: float
    at: tuple[float, float]


def draw_surfaces(
    rng: np.random.Generator,
    clutter: Clutter,
    photographs: Sequence[Float32[np.ndarray, "_ _"]] = (),
    count: int = 4,
    size: int = 1024,
) -> list[Square]:
    """Returns the textures of a scene's surfaces, on the fine grid; their mean together is 1."""
    pictures = []
    for _ in range(count):
        if photographs and rng.random() < PHOTOGRAPHS:
            picture = photograph(photographs[int(rng.integers(len(photographs)))], size, rng)
            picture = picture.astype(np.float32) * np.float32(0.25 / max(float(picture.mean()), 0.02))
        else:
            picture = paint(draw_materials(rng, size, clutter.periodic), clutter, size, rng)
        pictures.append(soften(picture))
    mean = np.float32(np.mean([picture.mean() for picture in pictures]))
    return [picture / mean for picture in pictures]


def draw_materials(rng: np.random.Generator, size: int, periodic: float = 0.0) -> list[Square]:
    """Returns two materials and print, of mean 1; how often the first one is a pattern that repeats."""
    height = log_uniform(rng, 16.0, 110.0)
    print_ = glyphs(size, rng, height)
    smallest = float(rng.uniform(1.5, 5.0))
    leaves = dead_leaves(
        size, size, rng, smallest, log_uniform(rng, 20.0, 500.0), log_uniform(rng, 0.01, 0.25)
    )
    leaves = crumpled(leaves.astype(np.float32), rng, log_uniform(rng, 4.0, 16.0))
    if periodic and rng.random() < periodic:
        leaves = repeated(size, rng, log_uniform(rng, *PERIOD_PX))
    rough = roughness(
        size, rng, log_uniform(rng, 4.0, 200.0), log_uniform(rng, 0.3, 1.2), log_uniform(rng, 1.0, 8.0)
    )
    turned = [np.rot90(one, int(rng.integers(2))) for one in (rough, print_)]
    materials = [leaves, *turned]
    return [(one / max(float(one.mean()), 0.02)).astype(np.float32) for one in materials]


def draw_patch(
    camera: CameraModel,
    device: PhoneOptics,
    surfaces: Sequence[Square],
    rng: np.random.Generator,
    conditions: Conditions,
    size: int = 128,
    light: str | None = None,
    depth_photographs: Sequence[DepthPhotograph] = (),
) -> Patch:
    """Returns one patch of one capture.

    Args:
        camera: The camera.
        device: The phone.
        surfaces: What the surfaces of the scene look like.
        rng: Draws everything.
        conditions: How hard it is.
        size: Rows and columns of the patch; even.
        light: "normal" or "dark"; drawn if not given.
        depth_photographs: Photographs with depth, for some of the patches to be parts of.
    """
    at = draw_place(camera, size, rng)
    view = PatchView(PointSpread(camera, device, at), size + 2 * RIM, conditions.breathing)
    focus = sweep(camera, conditions.actuator, device.lens_bias, rng)
    axis = conditions.side_motion * side_motion(len(focus), rng)
    drawn = "dark" if rng.random() < conditions.lighting.dark else "normal"
    light = light or drawn
    gain, noise = draw_exposure(light, conditions.lighting, rng)
    steps = draw_steps(len(focus), conditions.lighting, rng)
    wanted = rng.random() >= conditions.featureless
    found = draw_visible(view, surfaces, rng, conditions, gain, noise, wanted, depth_photographs)
    kind, scene, depths, focusable = found.kind, found.scene, found.depths, found.focusable
    depth, lens_error = float(np.median(depths)), float(np.median(index_errors(camera, focus)))
    places = np.asarray(depth_to_index(camera.grid, depths.astype(np.float64))) - lens_error
    sharp_at, sharp_share = covering_depths(places, steps_per_index(camera)) if focusable else ((), ())
    radiance = render_stack(scene, view, focus, axis)
    radiance *= np.float32(gain) * steps[:, None, None, None]
    radiance *= device.shading_within(camera, at, view.size)
    native = read_native(radiance[..., RIM:-RIM], noise, rng)
    if conditions.processed:
        native = process(native, int(rng.integers(*JPEG_QUALITY)), max(0.0, float(rng.uniform(*SHARPENING))))
    return Patch(
        native=native,
        truth=int(camera.grid.nearest_index(depth)),
        depth=depth,
        depth_spread=float(np.std(depths)),
        sharp_at=sharp_at,
        sharp_share=sharp_share,
        beyond=beyond(camera.grid, depth),
        focusable=focusable,
        lens_error=lens_error,
        kind=kind,
        light=light,
        exposure=gain,
        shot=noise.shot,
        at=at,
    )


@dataclass(frozen=True, eq=False)
class Visible:
    """A scene that was drawn until it had something to focus on, or nothing.

    Attributes:
        kind: The kind of scene.
        scene: As soft as the camera leaves it in focus.
        depths: Of what is in front at each pixel of the patch, without its rim, in dioptres.
        focusable: Whether there is anything to focus on.
    """

    kind: str
    scene: Scene
    depths: Float32[np.ndarray, "row col"]
    focusable: bool


def draw_visible(
    view: PatchView,
    surfaces: Sequence[Square],
    rng: np.random.Generator,
    conditions: Conditions,
    gain: float,
    noise: Noise,
    wanted: bool = True,
    depth_photographs: Sequence[DepthPhotograph] = (),
) -> Visible:
    """Returns a scene that has something to focus on, or nothing, as is wanted; some tries are made.

    Args:
        view: Camera, device and place; of the patch with its rim.
        surfaces: What the surfaces of the scene look like.
        rng: Draws it.
        conditions: How hard it is.
        gain: The exposure.
        noise: The sensor's.
        wanted: Whether there shall be anything to focus on.
        depth_photographs: Photographs with depth, for some of the scenes to be parts of.
    """
    camera, still = view.camera, replace(view, breathing=0.0)
    for _ in range(TRIES):
        kind, scene = _draw_any_scene(camera, surfaces, view, rng, conditions, depth_photographs, wanted)
        scene = diffract(scene, camera)
        depths = scene.depth_map(view.size)[RIM:-RIM, RIM:-RIM]
        depth = float(np.median(depths))
        focusable = focus_contrast(scene, still, camera.grid, depth, gain, noise) >= LEAST
        if focusable == wanted:
            break
    return Visible(kind, scene, depths, focusable)


def draw_place(camera: CameraModel, size: int, rng: np.random.Generator) -> tuple[float, float]:
    """Returns the centre of a random patch, (x, y) pixels from the centre of the frame."""
    rows, cols = camera.frame
    reach = max(0.0, (cols - size) / 2), max(0.0, (rows - size) / 2)
    x, y = (float(2 * (rng.uniform(-one, one) // 2)) for one in reach)
    return x, y


def _draw_any_scene(
    camera: CameraModel,
    surfaces: Sequence[Square],
    view: PatchView,
    rng: np.random.Generator,
    conditions: Conditions,
    depth_photographs: Sequence[DepthPhotograph],
    visible: bool,
) -> tuple[str, Scene]:
    kind = str(rng.choice(list(KINDS), p=list(KINDS.values())))
    if depth_photographs and rng.random() < DEPTH_PHOTOGRAPHS:
        kind = "photograph"
    if not visible:
        kind = "plain"
    return kind, draw_scene(kind, camera, surfaces, view, rng, conditions, depth_photographs)


def draw_scene(
    kind: str,
    camera: CameraModel,
    surfaces: Sequence[Square],
    view: PatchView,
    rng: np.random.Generator,
    conditions: Conditions,
    depth_photographs: Sequence[DepthPhotograph] = (),
) -> Scene:
    """Returns a random scene of one kind: one of KINDS, "photograph" with depth, or "plain"."""
    layout, lighting = conditions.layout, conditions.lighting
    count = {"two": 2, "three": 3}.get(kind, 1)
    closer = view.spread.device.closer_m
    depths = [one / (1 - closer * one) for one in draw_depths(camera.grid, layout, count, rng)]
    margin = view.margin(4 * SIDE_MOTION_PX, max(abs(beyond(camera.grid, one)) for one in depths) + SPARE)
    n, step = fine_size(view.size, margin), mean_step(camera.grid)
    slope = draw_slope(n, lighting, rng)

    def painted() -> Square:
        picture = crop_surface(surfaces[int(rng.integers(len(surfaces)))], n, rng)
        if rng.random() < lighting.highlights:
            picture = soften(add_highlights(picture, rng))
        return picture * slope + np.float32(lighting.glare)

    if kind == "photograph":
        span = layout.gap_indices * step * float(rng.uniform(0.5, 3))
        source = depth_photographs[int(rng.integers(len(depth_photographs)))]
        return photograph_scene(source, n, margin, depths[0], span, rng)
    if kind == "plain":
        return Scene(lay_out("plane", depths, lambda: _smooth(n, rng) * slope, view.size, 0.0, rng), margin)
    tilt = layout.tilt_indices * step
    return Scene(lay_out(kind, depths, painted, view.size, tilt, rng), margin)


def crop_surface(
    surface: Float32[np.ndarray, "m m"], n: int, rng: np.random.Generator
) -> Float32[np.ndarray, "n n"]:
    """Returns a random part of a picture, either way up; one that is too small is mirrored on."""
    if len(surface) < n:
        surface = np.pad(surface, (0, n - len(surface)), mode="symmetric")
    y, x = rng.integers(0, len(surface) - n + 1, 2)
    part = surface[y : y + n, x : x + n]
    return np.ascontiguousarray(np.rot90(part, 2 * int(rng.integers(2))))


def _smooth(n: int, rng: np.random.Generator) -> Square:
    """Returns a surface without detail: blank, or with soft lights and shadows that no focus makes sharp."""
    coarse = rng.normal(0, log_uniform(rng, 0.003, 0.4), (n // 120 + 4, n // 120 + 4)).astype(np.float32)
    grey = np.float32(log_uniform(rng, 0.2, 2.0))
    return grey * np.exp(cv2.resize(coarse, (n, n), interpolation=cv2.INTER_CUBIC))


def side_motion(n: int, rng: np.random.Generator) -> Float[np.ndarray, "n 2"]:
    """Returns the offset of the optical axis at each slice, in pixels: a smooth path and some jitter."""
    knots = rng.normal(0, SIDE_MOTION_PX / 2, (4, 2)).cumsum(axis=0)
    knots -= knots.mean(axis=0)
    path = np.stack(
        [np.interp(np.linspace(0, 3, n), np.arange(4), knots[:, axis]) for axis in (0, 1)], axis=1
    )
    return np.clip(path, -3 * SIDE_MOTION_PX, 3 * SIDE_MOTION_PX) + rng.normal(0, 0.3, (n, 2)).clip(-1, 1)
