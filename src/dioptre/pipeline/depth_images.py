"""A store of wide pictures from the camera in software, for networks that tell depth."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from dioptre.errors import InputError
from dioptre.methods.depth_network import SCALE, STRIDE
from dioptre.optics import CameraModel
from dioptre.pipeline.executors import run_counted
from dioptre.pipeline.simulate import SPLITS, photographs_of, read_textures
from dioptre.simulate import sensor
from dioptre.simulate.capture import Conditions, draw_surfaces
from dioptre.simulate.depth_images import WidePicture, draw_wide_picture
from dioptre.simulate.device import PhoneOptics
from dioptre.store.depth_images import DepthImageWriter
from dioptre.store.format import StoreFormat
from dioptre.store.lock import locked

PER_SCENE = 12  # pictures with the same surfaces, which are a shard
SURFACES, SURFACE = 5, 1280  # of a scene, and their fine pixels
VALIDATION_EVERY = 10  # shards


@dataclass(frozen=True)
class WideSimulation:
    """What decides the wide pictures of a store. Every phone is another one.

    Attributes:
        scenes: How many, of PER_SCENE pictures each; every tenth is for validation, beginning with the first.
        seed: Seed of everything.
        size: Rows and columns of a picture.
        textures: See `Simulation.textures`.
    """

    scenes: int = 130
    seed: int = 0
    size: int = 384
    textures: str = ""

    def check(self) -> None:
        """Raises InputError if a value is impossible."""
        if self.scenes < 2:
            raise InputError(f"training and validation need two scenes or more, not {self.scenes}")
        if self.size < STRIDE or self.size % STRIDE:
            raise InputError(f"the size of a wide picture is a multiple of {STRIDE}, not {self.size}")


def simulate_wide(
    out: Path, simulation: WideSimulation, executor: Executor | None, done: Callable[[int, int], None]
) -> None:
    """Writes a store of wide pictures; a run that was stopped goes on where it was.

    Args:
        out: The store's folder.
        simulation: What to simulate.
        executor: Who does it; None for this process. The result does not depend on it.
        done: Called with the number of pictures written and of all.
    """
    simulation.check()
    camera, count = CameraModel.pixel3(), simulation.scenes
    form = StoreFormat(camera.grid, simulation.size, 2, sensor.BLACK, sensor.WHITE)
    splits = tuple("train" if at % VALIDATION_EVERY else "validation" for at in range(count))
    writer = DepthImageWriter(out, form, asdict(simulation), splits)
    with locked(out):
        missing = writer.begin()
        finished = PER_SCENE * (count - len(missing))
        pieces = [partial(_write_scene, writer, simulation, number) for number in missing]
        run_counted(pieces, executor, finished, PER_SCENE * count, done)
        writer.finish()


def draw_scene(simulation: WideSimulation, split: str, number: int) -> list[WidePicture]:
    """Returns the pictures of one scene."""
    conditions, camera = Conditions(), CameraModel.pixel3()
    rng = np.random.default_rng([simulation.seed, list(SPLITS).index(split), number])
    device = PhoneOptics.draw(rng)
    photographs = photographs_of(read_textures(simulation.textures), split)
    surfaces = draw_surfaces(rng, conditions.clutter, photographs, SURFACES, SURFACE)
    return [
        draw_wide_picture(camera, device, surfaces, rng, conditions, simulation.size, SCALE)
        for _ in range(PER_SCENE)
    ]


def _write_scene(writer: DepthImageWriter, simulation: WideSimulation, number: int) -> int:
    """Writes the pictures of one scene and returns how many they are."""
    pictures = draw_scene(simulation, writer.splits[number], number)
    writer.write_shard(
        number,
        np.stack([one.native for one in pictures]),
        np.stack([one.depths for one in pictures]),
        np.array([one.focus for one in pictures]),
    )
    return len(pictures)
