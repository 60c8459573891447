"""Where a rig fails, and whether it knows: repeated texture, plain walls, the dark, edges of depth, the rim.

    python -m lab.rigs.hard_scenes --rooms 2 --figure OUT.jpg    ten captures: ten minutes of one core
    python -m lab.rigs.hard_scenes --rooms 1 --kinds stripes cells dark

One rig stands before the same rooms five times: as they are, in the dark, and with wall and table covered by
stripes or cells that repeat, or by nothing but their grain. The frames are the phone's binned by 4. Poses are
those that all captures tell together, as `dioptre reconstruct` has them; a capture that is refused is said,
and has no depth at all. Printed for the middle camera: of the pixels of a kind the share that is sure, and of
the sure the share within 0.1 dioptres; for the left phone the same of the strip that no phone to its left
sees.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import Bool, Float32
from scipy.ndimage import maximum_filter, minimum_filter

from dioptre.errors import InputError
from dioptre.groundtruth.bundle import Expected
from dioptre.groundtruth.consensus import RigEstimate, agree
from dioptre.groundtruth.poses import Adjusted, Nominal, hold_rig, meant_rig
from dioptre.groundtruth.reconstruct import MAP_FACTOR, CameraMaps, observe_capture, reconstruct_capture
from dioptre.optics import breathing
from dioptre.pipeline.reconstructing import nominal_rig
from dioptre.pipeline.settings import Captures, Reconstruct, Simulation
from dioptre.pipeline.simulate_captures import camera_of, describe_rig, rig_of, see_world, take_phone
from dioptre.simulate.frame import WorldView, aim, cast_surface, true_depth
from dioptre.simulate.scene import FINE
from dioptre.simulate.sensor import native_to_pixels
from dioptre.simulate.texture import log_uniform, repeated
from dioptre.simulate.world import World
from lab.rigs.labels import BINNED, CLOSE, EDGE, SURE

KINDS = ("as it is", "stripes", "cells", "plain", "dark")
PERIOD_PX = (6.0, 20.0)  # of cells that repeat, working pixels: a quarter of a dioptre to one
GRAIN = 0.02  # of a plain wall, relative
STRIP = 8  # rows of a map at the left phone's left edge, which is below in a landscape frame

Map = Float32[np.ndarray, "_ _"]
Where = Bool[np.ndarray, "_ _"]


@dataclass(frozen=True, eq=False)
class Scene:
    """A room as the five phones took it.

    Attributes:
        kind: One of KINDS.
        seen: By each phone.
        sweeps: Of each, working pixels.
    """

    kind: str
    seen: tuple[WorldView, ...]
    sweeps: tuple[Float32[np.ndarray, "slice rows cols"], ...]


def covered(world: World, kind: str, rng: np.random.Generator) -> World:
    """Returns a world whose wall, and table if there is one, are covered anew."""
    if kind not in ("stripes", "cells", "plain"):
        return world
    size = len(world.surfaces[-1].picture)
    period = FINE * log_uniform(rng, *PERIOD_PX)
    picture = 1 + GRAIN * rng.standard_normal((size, size), np.float32)
    if kind != "plain":
        picture = 2 * repeated(size, rng, period, stripes=kind == "stripes")
    flat = [surface.kind == "board" and surface.outline.all() for surface in world.surfaces]
    last = tuple(
        replace(surface, picture=picture) if bare else surface
        for surface, bare in zip(world.surfaces, flat, strict=True)
    )
    return replace(world, surfaces=last)


def take(seed: int, room: int, kind: str) -> Scene:
    """Returns one room of a rig, of a kind."""
    simulation = Simulation(seed=seed, split="train", prior="far", light="normal")
    simulation = replace(simulation, light="dark") if kind == "dark" else simulation
    captures = Captures(captures=1, rig=True, binned=BINNED)
    seen, sweeps = [], []
    for phone in rig_of(simulation, captures, camera_of(simulation, captures)).phones:
        one, lit = see_world(simulation, captures, room, phone)
        one = replace(one, world=covered(one.world, kind, np.random.default_rng([seed, room, 5])))
        native = take_phone(simulation, captures, room, one, lit).native
        seen.append(one)
        padded = np.pad(native, ((0, 0), (0, 0), (1, 1), (0, 0)), mode="edge")
        sweeps.append(np.stack([native_to_pixels(both).mean(axis=0) for both in padded]))
    return Scene(kind, tuple(seen), tuple(sweeps))


def nominal_of(seed: int) -> Nominal:
    """Returns what is known of a rig before anybody looks."""
    simulation, captures = Simulation(seed=seed), Captures(captures=1, rig=True, binned=BINNED)
    camera = camera_of(simulation, captures)
    known = describe_rig(rig_of(simulation, captures, camera), simulation, camera, camera.frame)
    return nominal_rig(Reconstruct(), camera, known)


def reconstruct_scenes(scenes: Sequence[Scene], nominal: Nominal) -> list[tuple[CameraMaps, ...] | None]:
    """Returns the maps of each scene's cameras with the rig that all tell; None for one that is refused."""
    adjusted: list[Adjusted | None] = []
    for scene in scenes:
        camera, frame = scene.seen[0].camera, scene.seen[0].frame
        try:
            adjusted.append(observe_capture(scene.sweeps, breathing(camera), nominal, frame))
        except InputError as error:
            print(f"{scene.kind}, refused: {error}")
            adjusted.append(None)
    told = [
        RigEstimate.of(str(at), one.bundle, one.start, one.expected) for at, one in enumerate(adjusted) if one
    ]
    rig = agree(told, meant_rig(nominal), Expected(), nominal.spacing_m)
    return [
        reconstruct_capture(scene.sweeps, hold_rig(one, rig), nominal, scene.seen[0].frame).maps
        if one
        else None
        for scene, one in zip(scenes, adjusted, strict=True)
    ]


def bare(seen: WorldView, shape: tuple[int, int]) -> Where:
    """Returns where a phone sees its world's wall or table."""
    rows, cols = seen.frame
    first = np.array([(MAP_FACTOR - cols) / 2, (MAP_FACTOR - rows) / 2])
    rays = aim(seen, first, float(MAP_FACTOR), shape)
    truth = true_depth(seen, MAP_FACTOR)[: shape[0], : shape[1]]
    there = np.zeros(shape, bool)
    for surface in seen.world.surfaces:
        if surface.kind == "board" and surface.outline.all():
            there |= cast_surface(seen, surface, rays)[0] == truth
    return there


def regions(scene: Scene, maps: tuple[CameraMaps, ...]) -> dict[str, tuple[Map, Where, Where]]:
    """Returns errors, where depth is sure, and where to look, for each thing that is asked of a scene."""
    asked = {}
    for at, name in ((0, "center"), (1, "left")):
        found = maps[at].dioptres
        truth = true_depth(scene.seen[at], MAP_FACTOR)[: found.shape[0], : found.shape[1]]
        error, sure = found - truth, maps[at].confidence >= SURE
        if name == "left":
            strip = np.zeros(found.shape, bool)
            strip[-STRIP:] = True
            asked["the left phone's left edge"] = error, sure, strip
            continue
        edge = maximum_filter(truth, 5) - minimum_filter(truth, 5) > EDGE
        wall = bare(scene.seen[at], (found.shape[0], found.shape[1]))
        asked |= {
            "wall and table": (error, sure, wall & ~edge),
            "things": (error, sure, ~wall & ~edge),
            "edges of depth": (error, sure, edge),
        }
    return asked


def print_scenes(scenes: Sequence[Scene], found: Sequence[tuple[CameraMaps, ...] | None]) -> None:
    """Prints a line for each kind of scene and place."""
    print(f"{'':38}{'of all':>8}{'sure':>8}{'of the sure within 0.1 D':>27}{'sure and wrong':>17}")
    for kind in KINDS:
        every = [
            regions(scene, maps)
            for scene, maps in zip(scenes, found, strict=True)
            if scene.kind == kind and maps is not None
        ]
        for where in every[0] if every else ():
            error, sure, here = (
                np.concatenate([one[where][part].ravel() for one in every]) for part in range(3)
            )
            sure, error, share = sure[here], np.abs(error[here]), here.mean()
            close = np.mean(error[sure] < CLOSE) if sure.any() else np.nan
            wrong = np.mean(sure & (error >= CLOSE))
            print(f"{kind:10}{where:28}{share:8.1%}{sure.mean():8.1%}{close:27.1%}{wrong:17.1%}")


def draw(scenes: Sequence[Scene], found: Sequence[tuple[CameraMaps, ...] | None], path: Path) -> None:
    """Draws a row for each kind: picture, true depth, found depth, where it is sure, and sure and wrong."""
    rows = []
    for kind in KINDS:
        both = zip(scenes, found, strict=True)
        drawn = next(((one, maps) for one, maps in both if one.kind == kind and maps is not None), None)
        if drawn is None:
            continue
        scene, maps = drawn
        middle = maps[0]
        truth = true_depth(scene.seen[0], MAP_FACTOR)[: middle.dioptres.shape[0]]
        most = float(np.percentile(truth, 99.5))
        sure = (middle.confidence >= SURE)[..., None]
        wrong = sure & (np.abs(middle.dioptres - truth) >= CLOSE)[..., None]
        light = np.clip(middle.composite / np.percentile(middle.composite, 98), 0, 1) ** (1 / 2.2)
        grey = cv2.cvtColor((255 * light).astype(np.uint8), cv2.COLOR_GRAY2BGR)
        size = grey.shape[1] // 2, grey.shape[0] // 2
        colours = [
            cv2.applyColorMap(np.clip(255 * one / most, 0, 255).astype(np.uint8), cv2.COLORMAP_TURBO)
            for one in (truth, middle.dioptres)
        ]
        parts = [*colours, colours[1] * sure, np.where(wrong, (0, 0, 255), 64 * sure).astype(np.uint8)]
        tiles = [cv2.resize(grey, size, interpolation=cv2.INTER_AREA)]
        tiles += [cv2.resize(part, size, interpolation=cv2.INTER_NEAREST) for part in parts]
        cv2.putText(tiles[0], kind, (6, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.55, (0, 255, 255), 1, cv2.LINE_AA)
        rows.append(np.concatenate(tiles, axis=1))
    cv2.imwrite(str(path), np.concatenate(rows), [cv2.IMWRITE_JPEG_QUALITY, 85])


def main() -> None:
    """Simulates, reconstructs, prints, and draws if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rooms", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--figure", type=Path, default=None)
    given = parser.parse_args()
    scenes = [take(given.seed, room, kind) for room in range(given.rooms) for kind in given.kinds]
    found = reconstruct_scenes(scenes, nominal_of(given.seed))
    print_scenes(scenes, found)
    if given.figure is not None:
        draw(scenes, found, given.figure)


if __name__ == "__main__":
    main()
