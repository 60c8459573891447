"""A store of labelled patches from the camera in software."""

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, replace
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from dioptre.cameras.camera_presets import find_camera
from dioptre.errors import MissingExtraError
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.pipeline.settings import Simulation
from dioptre.pipeline.shards import write_shards
from dioptre.posterior import DepthPrior
from dioptre.simulate import sensor
from dioptre.simulate.capture import Conditions, Patch, draw_patch, draw_surfaces
from dioptre.simulate.depth_photograph import DepthPhotograph
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.surface_texture import Clutter
from dioptre.stacks.formats import read_photographs
from dioptre.store.lock import locked
from dioptre.store.patches import StoreFormat, StoreWriter

SIZE = 128
PATCHES_PER_SCENE = 16
FOR_TRAINING = {"beyond": 0.12, "featureless": 0.04, "periodic": 0.06}  # the usual shares
DEPTH_PHOTOGRAPH_SPLIT = "train"  # there is but one photograph with depth
SPLITS = {"train": 0.8, "validation": 0.1, "test": 0.1}
SKIMAGE_PHOTOGRAPHS = (
    "astronaut.png", "brick.png", "camera.png", "cell.png", "chelsea.png", "clock_motion.png", "coffee.png",
    "coins.png", "grass.png", "gravel.png", "hubble_deep_field.jpg", "ihc.png", "moon.png",
    "page.png", "retina.jpg", "rocket.jpg", "text.png",
)  # fmt: skip


def simulate(
    out: Path,
    simulation: Simulation,
    executor: Executor | None,
    done: Callable[[int, int], None],
    shard_size: int = 64,
) -> None:
    """Writes a store of simulated patches; a run that was stopped goes on where it was.

    Args:
        out: The store's folder.
        simulation: What to simulate.
        executor: Who does it; None for this process. The result does not depend on it.
        done: Called with the number of patches written and of all.
        shard_size: Patches that are computed and written at a time.
    """
    simulation.check()
    _prior(simulation.prior)  # refused before a folder is begun
    camera = find_camera(simulation.camera)
    form = StoreFormat(camera.grid, SIZE, 2, sensor.BLACK, sensor.WHITE)
    photographs = {name: photograph_hash(one) for name, one in read_textures(simulation.textures).items()}
    config = {**asdict(simulation), "camera": _camera_entries(camera), "textures": photographs}
    with locked(out):
        writer = StoreWriter(out, form, config, simulation.patches, shard_size)
        write_shards(writer, partial(_write_shard, writer, simulation), executor, done)


def _camera_entries(camera: CameraModel) -> dict[str, Any]:
    """Returns a camera as plain JSON, so that a store knows it whatever becomes of its file."""
    return {**asdict(replace(camera, grid=FocusGrid.learnaf())), "grid": camera.grid.to_json()}


def _write_shard(writer: StoreWriter, simulation: Simulation, number: int) -> int:
    camera = find_camera(simulation.camera)
    patches = [simulate_patch(camera, simulation, index) for index in writer.patches(number)]
    writer.write_shard(number, np.stack([patch.native for patch, _ in patches]), [row for _, row in patches])
    return len(patches)


def conditions_of(simulation: Simulation, split: str) -> Conditions:
    """Returns the conditions of a simulation's captures in the scenes of one split."""
    conditions = Conditions.exact() if simulation.exact_lens else Conditions()
    shares = {
        name: share if split == "train" else 0.0
        for name, share in FOR_TRAINING.items()
        if getattr(simulation, name) is None
    }
    shares = {name: getattr(simulation, name) for name in FOR_TRAINING} | shares
    return replace(
        conditions,
        layout=replace(conditions.layout, prior=_prior(simulation.prior), beyond=shares["beyond"]),
        clutter=replace(conditions.clutter, periodic=shares["periodic"]),
        featureless=shares["featureless"],
        processed=simulation.processed,
    )


@cache
def _prior(text: str) -> DepthPrior:
    return DepthPrior.parse(text)


def split_of(simulation: Simulation, scene: int) -> str:
    """Returns the split that a scene belongs to."""
    if simulation.split != "mixed":
        return simulation.split
    draw = float(np.random.default_rng([simulation.seed, scene]).random())
    upto = zip(SPLITS, accumulate(SPLITS.values()), strict=True)
    return next((name for name, limit in upto if draw <= limit), "test")


def simulate_patch(
    camera: CameraModel, simulation: Simulation, index: int, conditions: Conditions | None = None
) -> tuple[Patch, dict[str, object]]:
    """Returns one patch of a simulation, and its row.

    Args:
        camera: The camera.
        simulation: What to simulate.
        index: Which of its patches.
        conditions: Other ones than the simulation's own.
    """
    pair = simulation.light == "both"
    scene = index // PATCHES_PER_SCENE
    split = split_of(simulation, scene)
    conditions = conditions or conditions_of(simulation, split)
    surfaces, device = _scene(
        simulation.seed, split, simulation.device, simulation.textures, scene, conditions.clutter
    )
    light = ("normal", "dark")[index % 2] if pair else simulation.light
    patch = draw_patch(
        camera,
        device.thin_lens() if simulation.exact_lens else device,
        surfaces,
        np.random.default_rng([simulation.seed, _code(split), scene, 1, index // 2 if pair else index]),
        conditions,
        SIZE,
        None if light == "mixed" else light,
        _depth_photographs() if simulation.textures == "skimage" and split == DEPTH_PHOTOGRAPH_SPLIT else (),
    )
    rows, cols = camera.frame
    name = f"{split}{scene:06d}"
    return patch, {
        "scene": name,
        "capture": f"{name}_{index % PATCHES_PER_SCENE}",
        "split": split,
        "row": int(patch.at[1] + (rows - SIZE) / 2),
        "col": int(patch.at[0] + (cols - SIZE) / 2),
        "truth": patch.truth,
        "where_x": patch.at[0] / (cols / 2),
        "where_y": patch.at[1] / (rows / 2),
        "depth": patch.depth,
        "depth_spread": patch.depth_spread,
        "beyond": patch.beyond,
        "focusable": patch.focusable,
        "lens_error": patch.lens_error,
        "sharp_at": list(patch.sharp_at),
        "sharp_share": list(patch.sharp_share),
        "kind": patch.kind,
        "light": patch.light,
        "exposure": patch.exposure,
        "shot": patch.shot,
        "device": simulation.device,
    }


def _code(split: str) -> int:
    return list(SPLITS).index(split)


@lru_cache(maxsize=2)
def _scene(
    seed: int, split: str, device: str, textures: str, scene: int, clutter: Clutter
) -> tuple[list[Float32[np.ndarray, "n n"]], PhoneOptics]:
    """Returns a scene's surfaces and phone. The split is part of the seed: no two share a surface."""
    rng = np.random.default_rng([seed, _code(split), scene, 0])
    phone = (
        PhoneOptics.draw(rng)
        if device == "random"
        else PhoneOptics.left()
        if device == "left"
        else PhoneOptics.center()
    )
    return draw_surfaces(rng, clutter, photographs_of(read_textures(textures), split)), phone


@lru_cache(maxsize=1)
def read_textures(textures: str) -> dict[str, Float32[np.ndarray, "_ _"]]:
    """Returns the photographs that a setting names: see `Simulation.textures`."""
    if not textures:
        return {}
    return (
        read_photographs(_skimage_data(), SKIMAGE_PHOTOGRAPHS)
        if textures == "skimage"
        else read_photographs(textures)
    )


def _skimage_data() -> Path:
    home = find_spec("skimage")
    if home is None or home.origin is None:
        raise MissingExtraError("the photographs of scikit-image need it: pip install 'dioptre[photographs]'")
    return Path(home.origin).parent / "data"


@cache
def _depth_photographs() -> tuple[DepthPhotograph, ...]:
    """Returns the photograph with depth that scikit-image brings: a motorcycle in a garage."""
    photograph = read_photographs(_skimage_data(), ["motorcycle_left.png"])["motorcycle_left.png"]
    with np.load(_skimage_data() / "motorcycle_disp.npz") as file:
        return (DepthPhotograph.of(photograph, file["arr_0"].astype(np.float32)),)


def photographs_of(
    photographs: Mapping[str, Float32[np.ndarray, "_ _"]], split: str
) -> list[Float32[np.ndarray, "_ _"]]:
    """Returns the photographs that belong to a split: of every ten, eight, one and one."""
    turn = {8: "validation", 9: "test"}
    return [one for at, one in enumerate(photographs.values()) if turn.get(at % 10, "train") == split]


def photograph_hash(photograph: Float32[np.ndarray, "_ _"]) -> str:
    """Returns the SHA-256 of a photograph."""
    return hashlib.sha256(np.ascontiguousarray(photograph).tobytes()).hexdigest()
