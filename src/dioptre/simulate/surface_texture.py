"""Clutter: things of many sizes on a ground, in light and shadow, as pictures for surfaces.

A picture is linear radiance, on a grid of FINE pixels to one of the sensor's. Each thing has a shape, an
albedo of its own, a material of which it shows more or less (down to nothing), and a shading: flat, or round
as on a cylinder or a ball. Large things are laid down first, so that labels lie on boxes, boxes on shelves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Bool, Float, Float32, Int32

from dioptre.simulate.light import Square
from dioptre.simulate.scene import FINE
from dioptre.simulate.texture import log_uniform

Points = Float[np.ndarray, "point 2"]

CORNERS = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
GRAIN_PX = 1.2  # sigma of the finest grain, fine pixels
FACES = 3  # of a box, at most: front, side, top


@dataclass(frozen=True)
class Clutter:
    """What surfaces are covered with.

    Attributes:
        size_px: Range of the half-size of a picture's commonest things, in the sensor's pixels, drawn evenly
            on a logarithmic scale; larger ones are ever fewer, as the inverse cube.
        largest_px: Half-size of the largest.
        cover: How many times over the things would cover the ground if none hid another.
        albedo: Range of the share of light that a thing gives back, likewise.
        contrast: Range of the materials' contrast in a picture, likewise.
        texture: Range of a thing's part of that, likewise.
        periodic: How often a picture's first material is a pattern that repeats: blinds, tiles, cloth, grids.
        plain: How often a thing has no texture but grain.
        grain: Range of the deviation of a thing's finest grain, as a part of its grey, likewise: no real
            surface is quite smooth.
        print_share: How often a thing is a label: print on a plain ground.
        one_way: How often all things of a picture run one way: upright or level.
        upright: How often that is upright. The published captures hold the phone upright, so that upright in
            the world is along the rows of the landscape frame, and so along the disparity.
        elongation: Range of how many times as long as wide these are, likewise.
        round_share: How often a thing is shaded as a cylinder or a ball.
        shadows: Mean number of shadows on a picture.
        shadow: Range of the light that is left in a shadow, likewise.
    """

    size_px: tuple[float, float] = (30.0, 250.0)
    largest_px: float = 400.0
    cover: float = 3.0
    albedo: tuple[float, float] = (0.03, 0.95)
    contrast: tuple[float, float] = (0.7, 1.6)
    texture: tuple[float, float] = (0.2, 1.0)
    periodic: float = 0.0
    plain: float = 0.2
    grain: tuple[float, float] = (0.012, 0.18)
    print_share: float = 0.25
    one_way: float = 0.9
    upright: float = 0.9
    elongation: tuple[float, float] = (3.0, 20.0)
    round_share: float = 0.3
    shadows: float = 1.5
    shadow: tuple[float, float] = (0.08, 0.6)


@dataclass(frozen=True, eq=False)
class Thing:
    """One thing: where it is, and how it looks.

    Attributes:
        centre: (x, y), fine pixels.
        half: Half its length along its own x and y, fine pixels.
        angle: By which its own x is turned from the columns, radians.
        outlines: Polygons in its own coordinates, -1 to 1; a face each.
        lights: Of each face.
        albedo: Its share of light given back.
        material: Which one.
        gain: Its part of the material's contrast.
        grain: Deviation of its finest grain.
        shading: How light falls on its own coordinates.
    """

    centre: tuple[float, float]
    half: tuple[float, float]
    angle: float
    outlines: Sequence[Points]
    lights: Float[np.ndarray, " face"]
    albedo: float
    material: int
    gain: float
    grain: float
    shading: str


def paint(
    materials: Sequence[Square], clutter: Clutter, size: int, rng: np.random.Generator
) -> Float32[np.ndarray, "{size} {size}"]:
    """Returns a picture of clutter; radiance 1 is that of a white sheet in full light.

    Args:
        materials: Pictures of mean 1, at least so large; the last is print.
        clutter: What there is.
        size: Rows and columns, fine pixels.
        rng: Draws everything.
    """
    along = int(rng.random() < clutter.upright) if rng.random() < clutter.one_way else None
    if along is not None:
        *rest, printed = materials
        materials = [*(_stretch(one, along, log_uniform(rng, *clutter.elongation)) for one in rest), printed]
    things = draw_things(len(materials), clutter, size, rng, along)
    contrast = np.float32(log_uniform(rng, *clutter.contrast))
    which = np.zeros((size, size), np.int32)  # the ground is the first thing
    light = np.ones((size, size), np.float32)
    for number, thing in enumerate(things[1:], 1):
        _lay(thing, number, which, light)
    albedo = np.array([thing.albedo for thing in things], np.float32)
    picture = albedo[which] * light
    texture = np.ones_like(picture)
    for number, material in enumerate(materials):
        gains = np.array([thing.gain if thing.material == number else 0.0 for thing in things], np.float32)
        strength = 1 if number == len(materials) - 1 else contrast
        texture += strength * gains[which] * (material[:size, :size] - np.float32(1))
    texture *= 1 + np.array([thing.grain for thing in things], np.float32)[which] * _grain(size, rng)
    picture *= np.maximum(texture, np.float32(0.02))
    return picture * _shadows(clutter, size, rng)


def _grain(size: int, rng: np.random.Generator) -> Square:
    """Returns fine grain of deviation 1, mostly of one to three fine pixels."""
    white = rng.standard_normal((size, size), dtype=np.float32)
    soft = cv2.GaussianBlur(white, (0, 0), GRAIN_PX)
    return soft * np.float32(2 * np.sqrt(np.pi) * GRAIN_PX)


def _stretch(material: Square, along: int, times: float) -> Square:
    """Returns a material drawn out along the columns (0) or the rows (1)."""
    n = len(material)
    part = max(8, round(n / times))
    part_of = material[:part] if along == 0 else material[:, :part]
    return cv2.resize(part_of, (n, n), interpolation=cv2.INTER_CUBIC)


def draw_things(
    materials: int, clutter: Clutter, size: int, rng: np.random.Generator, along: int | None
) -> list[Thing]:
    """Returns the ground and what lies on it, the large things first.

    Args:
        materials: How many there are.
        clutter: What there is.
        size: Rows and columns of the picture.
        rng: Draws everything.
        along: 0 if all runs along the columns (downwards), 1 along the rows, None if it runs anywhere.
    """
    typical = FINE * log_uniform(rng, *clutter.size_px)
    largest = max(FINE * clutter.largest_px, 1.5 * typical)
    shapes = list(SHAPES)
    weights = rng.dirichlet(np.full(len(shapes), 0.6))  # a picture of boxes, one of foliage, one of all
    ground = _thing((size / 2, size / 2), (float(size), float(size)), 0.0, "box", materials, clutter, rng)
    things: list[Thing] = []
    covered = 0.0
    while covered < clutter.cover * size * size and len(things) < 1500:
        low, high = typical**-2, largest**-2
        half = float((low + rng.random() * (high - low)) ** -0.5)
        ratio = log_uniform(rng, *clutter.elongation) if along is not None else log_uniform(rng, 1.0, 3.0)
        if along is not None:
            angle = (1 - along) * np.pi / 2 + float(rng.normal(0, 0.03))
        else:
            angle = float(rng.normal(0, 0.1) + np.pi / 2 * rng.integers(2))
            angle = angle if rng.random() < 0.5 else float(rng.uniform(0, np.pi))
        halves = half * ratio**0.5, half / ratio**0.5
        x, y = rng.uniform(-0.3 * half, size + 0.3 * half, 2)
        shape = shapes[int(rng.choice(len(shapes), p=weights))]
        things.append(_thing((float(x), float(y)), halves, angle, shape, materials, clutter, rng))
        covered += 4 * halves[0] * halves[1]
    order = np.argsort([-np.prod(thing.half) * np.exp(rng.normal(0, 0.5)) for thing in things])
    return [ground, *(things[at] for at in order)]


def _thing(
    centre: tuple[float, float],
    half: tuple[float, float],
    angle: float,
    shape: str,
    materials: int,
    clutter: Clutter,
    rng: np.random.Generator,
) -> Thing:
    printed = rng.random() < clutter.print_share
    outlines = [CORNERS] if printed else SHAPES[shape](rng)
    gain = 0.0 if rng.random() < clutter.plain else log_uniform(rng, *clutter.texture)
    shading = ("ball" if shape in ("disc", "blob") else "cylinder") if len(outlines) == 1 else "flat"
    return Thing(
        centre=centre,
        half=half,
        angle=angle,
        outlines=outlines,
        lights=np.exp(rng.normal(0, 0.5, len(outlines)))
        if 1 < len(outlines) <= FACES
        else np.ones(len(outlines)),
        albedo=log_uniform(rng, *clutter.albedo),
        material=materials - 1 if printed else int(rng.integers(materials - 1)),
        gain=max(gain, float(rng.uniform(0.4, 1.0))) if printed else gain,
        grain=log_uniform(rng, *clutter.grain),
        shading=shading if rng.random() < clutter.round_share else "flat",
    )


def _lay(thing: Thing, number: int, which: Int32[np.ndarray, "n n"], light: Square) -> None:
    """Lays a thing over what is there."""
    c, s = np.cos(thing.angle), np.sin(thing.angle)
    turn = np.array([[c, s], [-s, c]])
    for outline, brightness in zip(thing.outlines, thing.lights, strict=True):
        points = (outline * thing.half) @ turn + thing.centre
        low = np.maximum(np.floor(points.min(axis=0)).astype(int), 0)
        high = np.minimum(np.ceil(points.max(axis=0)).astype(int) + 1, len(which))
        if (high <= low).any():
            continue
        (x0, y0), (x1, y1) = low.tolist(), high.tolist()
        mask = np.zeros((y1 - y0, x1 - x0), np.uint8)
        cv2.fillPoly(mask, [np.round(16 * (points - low)).astype(np.int32)], 1, cv2.LINE_8, 4)
        inside = mask.astype(bool)
        which[y0:y1, x0:x1][inside] = number
        light[y0:y1, x0:x1][inside] = np.float32(brightness) * _shade(thing, (x0, y0), inside)


def _shade(
    thing: Thing, origin: tuple[int, int], inside: Bool[np.ndarray, "rows cols"]
) -> Float32[np.ndarray, " _"] | np.float32:
    """Returns the light on the pixels inside, by Lambert's law, coming from the thing's own upper left."""
    if thing.shading == "flat":
        return np.float32(1)
    rows, cols = np.nonzero(inside)
    x, y = cols + (origin[0] - thing.centre[0]), rows + (origin[1] - thing.centre[1])
    c, s = np.cos(thing.angle), np.sin(thing.angle)
    v = ((y * c - x * s) / thing.half[1]).clip(-1, 1).astype(np.float32)
    u = ((x * c + y * s) / thing.half[0]).clip(-1, 1).astype(np.float32)
    if thing.shading == "cylinder":
        lit = 0.8 * np.sqrt(1 - v * v) - 0.6 * v
    else:
        lit = 0.75 * np.sqrt(np.maximum(1 - v * v - u * u, 0)) - 0.5 * v - 0.4 * u
    return np.float32(0.15) + np.float32(0.85) * np.maximum(lit, 0).astype(np.float32)


def _shadows(clutter: Clutter, size: int, rng: np.random.Generator) -> Square:
    """Returns the light that cast shadows leave, with their penumbras."""
    coarse = 8
    light = np.ones((size // coarse, size // coarse), np.float32)
    for _ in range(rng.poisson(clutter.shadows)):
        mask = np.zeros_like(light)
        middle, angle = rng.uniform(0, len(light), 2), rng.uniform(0, 2 * np.pi)
        far = 2.0 * len(light)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        wide = far if rng.random() < 0.5 else rng.uniform(0.05, 0.4) * len(light)
        corners = np.array([(-far, 0), (far, 0), (far, wide), (-far, wide)]) @ turn + middle
        cv2.fillPoly(mask, [np.round(16 * corners).astype(np.int32)], 1.0, cv2.LINE_8, 4)
        soft = cv2.GaussianBlur(mask, (0, 0), log_uniform(rng, 0.4, 8.0))
        light *= 1 - soft * np.float32(1 - log_uniform(rng, *clutter.shadow))
    return cv2.resize(light, (size, size), interpolation=cv2.INTER_LINEAR)


def silhouette(n: int, size: int, rng: np.random.Generator) -> Bool[np.ndarray, "{n} {n}"]:
    """Returns the mask of something in front: a part of the middle `size` of n x n fine pixels.

    It is a thing of any shape, or one that is larger than all that is seen and has a long edge.
    """
    large = rng.random() < 0.5
    half = size * (rng.uniform(1.5, 3.0) if large else rng.uniform(0.15, 0.6))
    shape = str(rng.choice(["box", "disc", "blob"] if large else list(SHAPES)))
    toward = rng.uniform(0, 2 * np.pi)
    distance = half - rng.uniform(-0.4, 0.4) * size if large else rng.uniform(0, 0.45) * size
    angle = toward + float(rng.normal(0, 0.2)) if large else float(rng.uniform(0, np.pi))
    centre = n / 2 + distance * np.cos(toward), n / 2 + distance * np.sin(toward)
    which, light = np.zeros((n, n), np.int32), np.ones((n, n), np.float32)
    outlines = SHAPES[shape](rng)
    _lay(
        Thing(centre, (half, half), angle, outlines, np.ones(len(outlines)), 1.0, 0, 0.0, 0.0, "flat"),
        1,
        which,
        light,
    )
    return which > 0


def _box(rng: np.random.Generator) -> list[Points]:
    """Returns a box: its front, or also a side and its top."""
    if rng.random() < 0.5:
        return [CORNERS]
    dx, dy = rng.uniform(0.15, 0.6) * rng.choice([-1, 1]), rng.uniform(0.1, 0.4)
    edge = np.sign(dx)
    side = np.array([(edge, -1.0), (edge + dx, -1.0 - dy), (edge + dx, 1.0 - dy), (edge, 1.0)])
    top = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0 + dx, -1.0 - dy), (-1.0 + dx, -1.0 - dy)])
    return [CORNERS, side, top]


def _disc(_rng: np.random.Generator) -> list[Points]:
    turn = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    return [np.stack([np.cos(turn), np.sin(turn)], axis=1)]


def _blob(rng: np.random.Generator) -> list[Points]:
    """Returns a silhouette without straight lines."""
    turn = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    waves = np.arange(2, 9)
    radius = 1 + (rng.normal(0, 0.7, 7) / waves) @ np.cos(
        waves[:, None] * turn + rng.uniform(0, 2 * np.pi, 7)[:, None]
    )
    radius = np.clip(radius, 0.2, 1.6) / 1.3
    return [radius[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)]


def _leaf(rng: np.random.Generator) -> list[Points]:
    """Returns a pointed leaf, bent a little."""
    x = np.linspace(-1, 1, 16)
    bend = rng.uniform(-0.5, 0.5) * (1 - x * x)
    width = rng.uniform(0.3, 0.8) * (1 - x * x)
    return [np.concatenate([np.stack([x, bend + width], 1), np.stack([x, bend - width], 1)[::-1]])]


def _stem(rng: np.random.Generator) -> list[Points]:
    """Returns something long: a cable, a stem, a rail."""
    x = np.linspace(-6, 6, 24)
    path = rng.normal(0, 0.6) * np.sin(x / rng.uniform(1.5, 6) + rng.uniform(0, 6))
    thick = rng.uniform(0.1, 0.4)
    return [np.concatenate([np.stack([x, path + thick], 1), np.stack([x, path - thick], 1)[::-1]])]


def _rows(rng: np.random.Generator) -> list[Points]:
    """Returns the same bar many times: blinds, a fence, keys."""
    count, filled = int(rng.integers(4, 16)), rng.uniform(0.25, 0.75)
    starts = np.linspace(-1, 1, count, endpoint=False)
    thick = filled * 2 / count
    return [np.array([(-1.0, y), (1.0, y), (1.0, y + thick), (-1.0, y + thick)]) for y in starts]


SHAPES: Mapping[str, Callable[[np.random.Generator], list[Points]]] = {
    "box": _box,
    "disc": _disc,
    "blob": _blob,
    "leaf": _leaf,
    "stem": _stem,
    "rows": _rows,
}
