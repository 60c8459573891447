"""Worlds: textured surfaces with metric places, which several cameras can see at once.

Metres; x along the columns of a landscape frame, y along its rows, z ahead. The origin is where the middle
camera of a rig would stand if it were mounted without error. Phones are held upright, so that down in the
world is along x.

A surface is a board of any outline, a box, a cylinder or a ball. What it looks like is a picture thrown onto
it from the origin, as by a projector: from there a surface has as much detail on a pixel as the patches of
the simulator have, whatever its distance, and from elsewhere it is seen with its parallax. Light is the same
from everywhere (Lambert's law).

Surfaces are in order, the front ones first; the last is a wall without end. Which of two is in front is the
same for all cameras.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import cv2
import numpy as np
from jaxtyping import Float, Float32

from dioptre.errors import InputError
from dioptre.optics import CameraModel, reference_focal_px
from dioptre.simulate.capture import Conditions, draw_surfaces
from dioptre.simulate.layout import draw_depth, mean_step
from dioptre.simulate.light import Lighting
from dioptre.simulate.scene import FINE
from dioptre.simulate.surface_texture import SHAPES, Clutter
from dioptre.simulate.texture import log_uniform
from dioptre.stack import Picture

Vector = Float[np.ndarray, "3"]
Matrix = Float[np.ndarray, "3 3"]

KINDS: Final = {"board": 0, "box": 1, "cylinder": 2, "ball": 3}  # as the kernels number them
SHARES: Final = {"board": 0.45, "box": 0.25, "cylinder": 0.18, "ball": 0.12}  # how often each is
PHONE_FOCAL_PX: Final = 1588.0  # of the phone that the sizes of clutter are for
OUTLINE_PX: Final = 256  # rows and columns of an outline's mask
WIDTH_PX: Final = 0.3  # sigma of what pixels that are sums of finer ones blur: their own width
LARGEST_PICTURE: Final = 2048  # fine pixels; beyond that it is mirrored on
FULL: Final = np.ones((2, 2), np.float32)


@dataclass(frozen=True)
class RoomPlan:
    """What a room holds, and where.

    Attributes:
        table: How often there is a table.
        things: How many things there are: from, to.
        room_things: The same in `draw_room`.
        wall_indices: Where the wall is on the grid, positions from the far end.
        farthest: Part of the grid's far end, in dioptres, that no wall is farther than.
        table_wall: Part of the grid's near end: a nearer wall leaves no room for a table.
        wall_tilt: Deviation of the wall's normal from the axis, radians.
        board_tilt: The same of a board's.
        thing_half: Half-size of a thing, over the sensor's columns: from, to.
        deepest: Half-size of a solid over its distance, at most.
        apart_indices: Positions by which a thing is nearer than the wall, at least.
        light_periods_px: Of light and shade on a surface, the sensor's pixels: from, to.
    """

    table: float = 0.6
    things: tuple[int, int] = (6, 14)
    room_things: tuple[int, int] = (4, 10)
    wall_indices: tuple[float, float] = (0.5, 12.0)
    farthest: float = 0.5
    table_wall: float = 0.3
    wall_tilt: float = 0.2
    board_tilt: float = 0.35
    thing_half: tuple[float, float] = (0.06, 0.42)
    deepest: float = 0.25
    apart_indices: float = 1.5
    light_periods_px: tuple[float, float] = (500.0, 1800.0)


PLAN: Final = RoomPlan()


@dataclass(frozen=True, eq=False)
class Surface:
    """One thing, or the wall.

    Attributes:
        kind: One of KINDS.
        place: Its middle, metres.
        axes: Its own x, y and z, as rows.
        half: Half its size along them; all 0 for a board without end.
        outline: Where a board is, over -1 to 1 along its x and y.
        picture: Radiance, on the fine grid.
        painted_at: The place (row, col) of the picture that is thrown straight ahead.
    """

    kind: str
    place: Vector
    axes: Matrix
    half: Vector
    picture: Picture
    painted_at: Float[np.ndarray, "2"]
    outline: Float32[np.ndarray, "n n"]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"a surface is one of {', '.join(KINDS)}, not {self.kind}")


@dataclass(frozen=True, eq=False)
class World:
    """What a rig stands before.

    Attributes:
        surfaces: From front to back; the last is a board without end.
        painted_px: Pixels of the pictures for a tangent of 1.
    """

    surfaces: tuple[Surface, ...]
    painted_px: float

    def __post_init__(self) -> None:
        if not self.surfaces or self.surfaces[-1].half.any():
            raise InputError("a world's last surface is a board without end")

    def coarser(self, factor: int) -> "World":
        """Returns the same world for pixels so many times as large: its pictures are means over them."""
        if factor == 1:
            return self
        surfaces = (
            replace(
                one,
                picture=_shrunk(one.picture, factor),
                painted_at=(one.painted_at - (factor - 1) / 2) / factor,
            )
            for one in self.surfaces
        )
        return World(tuple(surfaces), self.painted_px / factor)


def draw_world(
    camera: CameraModel,
    frame: tuple[int, int],
    rng: np.random.Generator,
    conditions: Conditions,
    photographs: Sequence[Float32[np.ndarray, "_ _"]] = (),
    binned: int = 1,
    room: bool = False,
) -> World:
    """Returns a random world: a wall, often a table before it, and things before both.

    What stands where does not depend on the frame: a part of the sensor sees a part of the same things.

    Args:
        camera: Its grid decides how far things are, and its sensor's whole field how large they are.
        frame: Rows and columns that are looked at, which pictures shall cover.
        rng: Draws everything.
        conditions: What things are covered with, where they are and how they are lit.
        photographs: To cover some of them with.
        binned: How many pixels of a finer camera along a side make one of this camera: it sees the world that
            the finer camera would.
        room: A room, as a rig wants it (`draw_room`), and not what patches are of (`draw_places`).
    """
    focal = binned * reference_focal_px(camera)
    size = min(LARGEST_PICTURE, 512 * -(-FINE * binned * frame[1] // 512))
    clutter = _as_seen(conditions.clutter, focal)

    def draw_pictures() -> list[Picture]:
        return draw_surfaces(rng, clutter, photographs, count=5, size=size)

    def paint(surface: Surface) -> Surface:
        chosen = pictures[int(rng.integers(len(pictures)))]
        picture = np.rot90(chosen, 2 * int(rng.integers(2)))
        lit = picture * _light(size, conditions.lighting, rng) + np.float32(conditions.lighting.glare)
        at = rng.uniform(0, size, 2)
        return replace(surface, picture=np.ascontiguousarray(lit), painted_at=at)

    if room:
        pictures, surfaces = draw_pictures(), draw_room(camera, conditions, rng)
    else:  # places come first: how much is drawn for pictures depends on the frame
        surfaces, pictures = draw_places(camera, conditions, rng), draw_pictures()
    return World(tuple(paint(one) for one in surfaces), FINE * focal).coarser(binned)


def draw_places(camera: CameraModel, conditions: Conditions, rng: np.random.Generator) -> list[Surface]:
    """Returns the shapes and places of things before a camera, from front to back, not painted yet.

    Between the wall and the things is where the prior has scenes, and things stand before the wall as far as
    the layers of a patch are apart: a part of a frame has the depths that a patch has.
    """
    grid, layout, step = camera.grid, conditions.layout, mean_step(camera.grid)
    wall_depth = draw_depth(grid, layout, rng) - step * layout.gap_indices / 2
    wall_depth = max(wall_depth, PLAN.farthest * float(grid.dioptres[0]))
    gaps = PLAN.apart_indices + rng.exponential(layout.gap_indices, int(rng.integers(*PLAN.things)))
    nearest = max(float(grid.dioptres[-1]), wall_depth + PLAN.apart_indices * step)
    depths = np.sort(np.minimum(wall_depth + step * gaps, nearest))[::-1]
    things = [draw_thing(camera, float(depth), rng, wall_depth) for depth in depths]
    wall = _wall(wall_depth, rng)
    roomy = wall_depth < PLAN.table_wall * float(grid.dioptres[-1])
    table = [draw_table(camera, wall_depth, rng)] if rng.random() < PLAN.table and roomy else []
    return [*things, *table, wall]


def draw_room(camera: CameraModel, conditions: Conditions, rng: np.random.Generator) -> list[Surface]:
    """Returns the same for a room: a far wall, and things before it wherever the prior has scenes.

    Near things against far ones tell poses, so that this is what a rig is set up before.
    """
    far, step = float(camera.grid.dioptres[0]), mean_step(camera.grid)
    wall_depth = far + step * float(rng.uniform(*PLAN.wall_indices))
    wall = _wall(wall_depth, rng)
    count = int(rng.integers(*PLAN.room_things))
    nearest = max(wall_depth + PLAN.apart_indices * step, far)
    depths = [max(draw_depth(camera.grid, conditions.layout, rng), nearest) for _ in range(count)]
    things = [draw_thing(camera, depth, rng) for depth in sorted(depths, reverse=True)]
    table = [draw_table(camera, wall_depth, rng)] if rng.random() < PLAN.table else []
    return [*things, *table, wall]


def _wall(depth: float, rng: np.random.Generator) -> Surface:
    return _board(np.array([0.0, 0.0, 1 / depth]), _turned(rng, PLAN.wall_tilt), np.zeros(3), FULL)


def _shrunk(picture: Float32[np.ndarray, "n n"], factor: int) -> Float32[np.ndarray, "m m"]:
    """Returns a picture on pixels so many times as large, each of which sees its whole width."""
    small = (len(picture) // factor, len(picture) // factor)
    mean = cv2.resize(picture, small, interpolation=cv2.INTER_AREA)
    return cv2.GaussianBlur(mean, (0, 0), FINE * WIDTH_PX, borderType=cv2.BORDER_REFLECT)


def _as_seen(clutter: Clutter, focal_px: float) -> Clutter:
    """Returns clutter as large as a lens of this focal length sees it: its sizes are for the phone's."""
    small = min(1.0, focal_px / PHONE_FOCAL_PX)
    low, high = clutter.size_px
    return replace(clutter, size_px=(small * low, small * high), largest_px=small * clutter.largest_px)


def draw_thing(camera: CameraModel, depth: float, rng: np.random.Generator, behind: float = 0.0) -> Surface:
    """Returns a thing whose nearest part, or of a board the middle, is so many dioptres away.

    Args:
        camera: Its sensor's field decides how large it may be.
        depth: Where it is.
        rng: Draws it.
        behind: Dioptres of a wall that it shall not reach through.
    """
    focal, (rows, cols) = reference_focal_px(camera), camera.frame
    kind = str(rng.choice(list(SHARES), p=list(SHARES.values())))
    half = log_uniform(rng, *PLAN.thing_half) * cols / focal  # over the distance of the middle
    room = 1 - behind / depth
    kind = kind if room > PLAN.thing_half[0] * cols / focal else "board"
    half = half if kind == "board" else min(half, PLAN.deepest, room)
    distance = 1 / depth / (1.0 if kind == "board" else 1 - half)
    across = rng.uniform(-0.55, 0.55, 2) * (cols, rows) / focal
    place = distance * np.array([across[0], across[1], 1.0])
    size = distance * half
    if kind == "board":
        tilt = min(PLAN.board_tilt, room / (2 * half))
        return _board(place, _turned(rng, tilt), np.array([size, size, 0.0]), _outline(rng))
    if kind == "ball":
        return _solid(kind, place, np.eye(3), np.full(3, size))
    upright = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # its own y is down: along x
    angle = float(rng.uniform(0, 2 * np.pi))
    spin = np.array(
        [[np.cos(angle), 0.0, np.sin(angle)], [0.0, 1.0, 0.0], [-np.sin(angle), 0.0, np.cos(angle)]]
    )
    wide, high = size / np.sqrt(2), size * float(rng.uniform(0.5, 2.0))
    deep = wide * float(rng.uniform(0.3, 1.0))
    return _solid(kind, place, spin @ upright, np.array([wide, high, deep]))


def draw_table(camera: CameraModel, wall_depth: float, rng: np.random.Generator) -> Surface:
    """Returns a table top below the axis, from near the camera to near the wall."""
    focal, (rows, cols) = reference_focal_px(camera), camera.frame
    near = 1 / float(rng.uniform(0.5, 0.8) * camera.grid.dioptres[-1])
    far = max(0.9 / wall_depth, 1.5 * near)
    drop_near, drop_far = 0.55 * near * cols / focal, float(rng.uniform(0.1, 0.35)) * far * cols / focal
    front, back = np.array([drop_near, 0.0, near]), np.array([drop_far, 0.0, far])
    along = back - front
    length = float(np.linalg.norm(along))
    y = along / length
    x = np.array([0.0, 1.0, 0.0])
    half = np.array([far * rows / focal, length / 2, 0.0])
    return _board((front + back) / 2, np.stack([x, y, np.cross(x, y)]), half, FULL)


def _board(place: Vector, axes: Matrix, half: Vector, outline: Picture) -> Surface:
    return Surface("board", place, axes, half, FULL, np.zeros(2), outline)


def _solid(kind: str, place: Vector, axes: Matrix, half: Vector) -> Surface:
    return Surface(kind, place, axes, half, FULL, np.zeros(2), FULL)


def _turned(rng: np.random.Generator, deviation: float) -> Matrix:
    """Returns axes whose z leans from the world's by about so much, turned about it at random."""
    lean = np.clip(rng.normal(0, deviation, 2), -2.2 * deviation, 2.2 * deviation)
    roll = float(rng.uniform(0, 2 * np.pi))
    turn = cv2.Rodrigues(np.array([lean[0], lean[1], 0.0]))[0]
    return np.asarray(turn @ cv2.Rodrigues(np.array([0.0, 0.0, roll]))[0]).T


def _outline(rng: np.random.Generator) -> Float32[np.ndarray, "n n"]:
    """Returns the mask of a thing of any shape, as large as the mask allows."""
    outlines = SHAPES[str(rng.choice(list(SHAPES)))](rng)
    points = np.concatenate(outlines)
    low, high = points.min(axis=0), points.max(axis=0)
    mask = np.zeros((OUTLINE_PX, OUTLINE_PX), np.float32)
    for outline in outlines:
        places = (outline - (low + high) / 2) / (high - low).max() * (OUTLINE_PX - 3) + OUTLINE_PX / 2
        cv2.fillPoly(mask, [np.round(16 * places).astype(np.int32)], 1.0, cv2.LINE_8, 4)
    return mask


def _light(n: int, lighting: Lighting, rng: np.random.Generator) -> Float32[np.ndarray, "{n} {n}"]:
    """Returns light that changes over a surface as steeply as over a patch, but to and fro."""
    steep = lighting.slope * np.exp(rng.normal(0, 0.5)) / (64 * FINE)
    along = np.arange(n, dtype=np.float64)
    logarithm = np.zeros((n, n))
    for wave in range(2):
        period = FINE * log_uniform(rng, *PLAN.light_periods_px)
        phase = along / period * 2 * np.pi + float(rng.uniform(0, 2 * np.pi))
        swing = steep * period / (2 * np.pi) * np.sqrt(2)
        logarithm += swing * np.sin(phase)[:, None] if wave else swing * np.sin(phase)[None, :]
    return np.exp(logarithm).astype(np.float32)
