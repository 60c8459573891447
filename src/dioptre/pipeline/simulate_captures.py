"""Whole captures from the camera in software, in the layout of the published set.

    OUT/train1, OUT/test      frames and maps: store/published/layout.py. The maps are the truth, sure
                              where a rig would be (simulate/mvs_confidence.py)
    OUT/rig.json              how the cameras were meant to stand, and the spacing that was measured
    OUT/truth/<capture>/<camera>.json, .npy
                              pose, focal length, lens and axis of each phone; its depth for every pixel,
                              dioptres
    OUT/manifest.json         written last

A piece is one phone's sweep. A world belongs to one capture, and a capture is a scene of its own.
"""

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from dioptre.cameras.camera_presets import find_camera
from dioptre.errors import InputError
from dioptre.groundtruth.reconstruct import working_factor
from dioptre.optics import CameraModel, reference_focal_px
from dioptre.pipeline.executors import run_counted
from dioptre.pipeline.settings import Captures, Simulation
from dioptre.pipeline.simulate import conditions_of, photographs_of, read_textures, split_of
from dioptre.posterior import DepthPrior
from dioptre.resources import workers
from dioptre.rig import nominal_centres
from dioptre.simulate.capture import Conditions
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.frame import WorldView, true_depth
from dioptre.simulate.mvs_confidence import certain, sharp_picture
from dioptre.simulate.rig import MEASURED_M, Phone, Rig, arm_for, draw_rig, lone_phone
from dioptre.simulate.sweeps import Light, WholeSweep, draw_light, take_sweep
from dioptre.simulate.world import World, draw_world
from dioptre.store.lock import locked
from dioptre.store.manifest import begin_folder, clear_leftovers, hash_folder, write_json, write_manifest
from dioptre.store.published.layout import DEPTH_FACTOR
from dioptre.store.published.writing import write_array, write_frames, write_maps

KIND = "simulated captures"
RIG = "rig.json"
TRUTH = "truth"
PARTS = {"train": "train1", "validation": "train1", "test": "test"}
POSITIONS = 49  # of the published grid


def simulate_captures(
    out: Path,
    simulation: Simulation,
    captures: Captures,
    executor: Executor | None,
    done: Callable[[int, int], None],
) -> None:
    """Writes whole captures of simulated worlds; a run that was stopped goes on where it was.

    Args:
        out: The folder.
        simulation: Seed, camera, light, depths and split.
        captures: How many, and of what size.
        executor: Who does it; None for this process, which then renders by threads. The result does not
            depend on it.
        done: Called with the number of sweeps written and of all.
    """
    simulation.check()
    captures.check()
    DepthPrior.parse(simulation.prior)  # refused before a folder is begun
    camera = camera_of(simulation, captures)
    frame = captures.size or camera.frame
    _check_frame(camera, frame)
    entries = {"simulation": asdict(simulation), "captures": asdict(captures)}
    plan = {"kind": KIND, **entries}
    with locked(out):
        begin_folder(out, plan, "simulated captures")
        rig = rig_of(simulation, captures, camera)
        if captures.rig:
            write_json(out / RIG, describe_rig(rig, simulation, camera, frame))
        pieces = [
            partial(_write_sweep, out, simulation, captures, number, phone)
            for number in range(captures.captures)
            for phone in range(len(rig.phones))
        ]
        run_counted(pieces, executor, 0, len(pieces), done)
        clear_leftovers(out)
        write_manifest(out, {**plan, "files": hash_folder(out, (*set(PARTS.values()), RIG, TRUTH))})


def camera_of(simulation: Simulation, captures: Captures) -> CameraModel:
    """Returns the make, with as large pixels as are binned."""
    camera, side = find_camera(simulation.camera), captures.binned
    if side == 1:
        return camera
    rows, cols = (4 * (length // (4 * side)) for length in camera.frame)
    return replace(camera, pixel_pitch_um=side * camera.pixel_pitch_um, frame=(rows, cols))


def _check_frame(camera: CameraModel, frame: tuple[int, int]) -> None:
    if frame[0] > camera.frame[0] or frame[1] > camera.frame[1]:
        raise InputError(
            f"a frame of {frame[0]}x{frame[1]} pixels is larger than the sensor, "
            f"{camera.frame[0]}x{camera.frame[1]}"
        )
    if len(camera.grid) != POSITIONS:
        raise InputError(
            f"the published layout has {POSITIONS} positions, and {camera.name} has {len(camera.grid)}"
        )


def rig_of(simulation: Simulation, captures: Captures, camera: CameraModel) -> Rig:
    """Returns the cameras of a simulation: a rig, or one phone alone."""
    frame = captures.size or camera.frame
    rng = np.random.default_rng([simulation.seed, 19])
    arm = captures.spacing_mm / 1e3 or arm_for(frame, reference_focal_px(camera))
    if captures.rig:
        rig = draw_rig(arm, rng)
        if not simulation.exact_lens:
            return rig
        return replace(rig, phones=tuple(replace(one, device=one.device.thin_lens()) for one in rig.phones))
    if simulation.device == "random":
        device = PhoneOptics.draw(rng)
    else:
        device = PhoneOptics.left() if simulation.device == "left" else PhoneOptics.center()
    return Rig((lone_phone(device.thin_lens() if simulation.exact_lens else device),), arm)


def describe_rig(
    rig: Rig, simulation: Simulation, camera: CameraModel, frame: tuple[int, int]
) -> dict[str, Any]:
    """Returns rig.json: the nominal rig, and the spacing as callipers measure it, in mm."""
    rng = np.random.default_rng([simulation.seed, 20])
    measured = rig.spacing_m + MEASURED_M * float(rng.standard_normal())
    return {
        "spacing_mm": 1e3 * measured,
        "nominal_mm": {name: [1e3 * m for m in place] for name, place in nominal_centres(rig.arm_m).items()},
        "focal_px": reference_focal_px(camera),
        "frame": list(frame),
    }


def capture_name(number: int) -> str:
    """Returns the name of a capture: each is a scene of its own."""
    return f"world{number:03d}_0"


def _write_sweep(out: Path, simulation: Simulation, captures: Captures, number: int, phone: int) -> int:
    rig = rig_of(simulation, captures, camera_of(simulation, captures))
    one, name = rig.phones[phone], capture_name(number)
    truth = out / TRUTH / name / f"{one.name}.npy"
    if truth.exists():  # written last
        return 1
    split = split_of(simulation, number)
    part = out / PARTS[split]
    seen, light = see_world(simulation, captures, number, one)
    taken = take_phone(simulation, captures, number, seen, light)
    write_frames(part, name, one.name, taken.native)
    codes = true_depth(seen, DEPTH_FACTOR).astype(np.float64)
    write_maps(part, name, one.name, codes, confidence_map(seen, light))
    truth.parent.mkdir(parents=True, exist_ok=True)
    write_json(truth.with_suffix(".json"), _truth(seen, taken))
    write_array(truth, true_depth(seen))
    return 1


def take_phone(
    simulation: Simulation, captures: Captures, number: int, seen: WorldView, light: Light
) -> WholeSweep:
    """Returns the simulated sweep of one phone before one world."""
    conditions = conditions_of(simulation, split_of(simulation, number))
    conditions = replace(conditions, side_motion=conditions.side_motion / captures.binned)
    rng = np.random.default_rng([*_seed(simulation, number), 2, *seen.phone.name.encode()])
    with ThreadPoolExecutor(workers()) if workers() > 1 else nullcontext() as threads:
        return take_sweep(seen, light, conditions, rng, threads)


def confidence_map(seen: WorldView, light: Light) -> Float32[np.ndarray, "map_row map_col"]:
    """Returns the confidence of a rig in a frame's depth: 1 where it would be sure, else 0."""
    factor = working_factor(seen.frame)
    picture, depth = sharp_picture(seen, (0, 0), seen.frame)
    sure = certain(picture * seen.shading.mean(axis=0), depth, light.exposure, light.noise, factor)
    step = DEPTH_FACTOR // factor
    return sure[step // 2 :: step, step // 2 :: step].astype(np.float32)


def see_world(
    simulation: Simulation, captures: Captures, number: int, phone: Phone
) -> tuple[WorldView, Light]:
    """Returns the world of a capture as one phone sees it, and its light, with the noise of its pixels."""
    camera = camera_of(simulation, captures)
    frame = captures.size or camera.frame
    conditions = conditions_of(simulation, split_of(simulation, number))
    seed = _seed(simulation, number)
    seen = WorldView(_world(seed, simulation, captures, frame, conditions), phone, camera, frame)
    light = draw_light(simulation.light, conditions, np.random.default_rng([*seed, 1]))
    return seen, replace(light, noise=light.noise.averaged(captures.binned))


def _seed(simulation: Simulation, number: int) -> tuple[int, ...]:
    return simulation.seed, list(PARTS).index(split_of(simulation, number)), number


@lru_cache(maxsize=1)
def _world(
    seed: tuple[int, ...],
    simulation: Simulation,
    captures: Captures,
    frame: tuple[int, int],
    conditions: Conditions,
) -> World:
    """Returns the world of a capture; its phones follow each other, so that the last one is kept."""
    photographs = photographs_of(read_textures(simulation.textures), split_of(simulation, seed[-1]))
    camera, rng = camera_of(simulation, captures), np.random.default_rng(list(seed))
    return draw_world(camera, frame, rng, conditions, photographs, captures.binned, captures.rig)


def _truth(seen: WorldView, taken: WholeSweep) -> dict[str, Any]:
    """Returns the true pose, lens and focus positions (dioptres) of a sweep, as plain JSON."""
    phone = seen.phone
    return {
        "turn": phone.rotation.tolist(),
        "centre_mm": (1e3 * phone.centre).tolist(),
        "focal_px": seen.focal_px,
        "bend": list(phone.distortion),
        "focus": taken.focus.tolist(),
        "axis_px": taken.axis.tolist(),
    }
