"""Do the networks know other cameras? Four makes, simulated, asked through `camera=`, in steps.

    python -m lab.realism.makes                        96 patches of each make
    python -m lab.realism.makes --patches 400          for the record
    python -m lab.realism.makes --weights DIR          networks of another folder than the package's

Each make sweeps 48 steps (dioptre.cameras.blur_units) around the middle of its travel, with slices of its
own: the phone's 49, and others 1.5, 0.8 and 1.2 steps apart. Subjects lie anywhere on the sweep. The lens
goes where it is told: its strays would be the larger part of a whole stack's error. Devices are drawn alike
for all: pupils, shading, and growth of blur that differs from the model's by up to 15 per cent and between
the sides.

An error is |answer - truth| in steps of the make, the answer read in dioptres. "told" is the phone whose
grid and place in the frame the network is told, as without `camera=`. Brackets are 90 % intervals of a
bootstrap over scenes.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from dioptre import focus, focus_from
from dioptre.cameras.blur_units import WINDOW, BlurSteps
from dioptre.cameras.camera_files import describe
from dioptre.cameras.camera_presets import MAKES
from dioptre.focusing.result import FocusResult
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.pipeline.executors import local_executor, run_pieces
from dioptre.simulate.capture import Conditions, Patch, draw_patch, draw_surfaces
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.lens import Actuator
from dioptre.simulate.sensor import native_to_pixels

SEED = 17
SIZE = 128  # pixels that a network sees
TOLD, PHONE = "phone, told", "pixel3"
SLICES = {PHONE: 49, "dslr-50mm": 33, "machine-vision-16mm": 61, "microscope-4x": 41}  # of a sweep
STARTS = range(0, WINDOW, 8)  # steps from the far end
PAIRS = tuple((start, start + 12) for start in range(0, 37, 12))
VIEWS = {"green": 1, "dp": 2}
CONTRAST = "local-norm-dist-sq-4"
ALLOWED = 1.2  # times the phone's error
PATCHES_PER_SCENE = 4
RESAMPLES = 400

Pixels = Float32[np.ndarray, "slice view row col"]
Errors = dict[str, list[float]]  # by the question
Ask = Callable[[list[int], str, int], FocusResult]


def sweep_camera(make: str) -> CameraModel:
    """Returns a make with the grid of its sweep: 48 steps around the middle of its travel."""
    camera = MAKES[make]()
    if make == PHONE:
        return camera
    steps = BlurSteps(describe(camera).grid())
    middle = sum(steps.ends) / 2
    places = np.linspace(middle - (WINDOW - 1) / 2, middle + (WINDOW - 1) / 2, SLICES[make])
    return replace(camera, grid=FocusGrid.of_dioptres(np.asarray(steps.step_to_position(places))))


def draw_scene_patches(make: str, scene: int, count: int) -> tuple[CameraModel, list[Patch]]:
    """Returns some patches of one scene, as a device of a make sees them."""
    camera = sweep_camera(make)
    rng = np.random.default_rng([SEED, scene])  # the same surfaces and device for all makes
    conditions = Conditions(actuator=Actuator.exact())
    surfaces, device = draw_surfaces(rng, conditions.clutter), PhoneOptics.draw(rng)
    size = 2 * int(np.ceil(SIZE / BlurSteps(describe(camera).grid()).scale / 2))
    drawers = (np.random.default_rng([SEED, scene, patch]) for patch in range(count))
    return camera, [draw_patch(camera, device, surfaces, one, conditions, size) for one in drawers]


def questions(camera: CameraModel, ask: Ask, whole: Callable[[str, int], FocusResult]) -> Any:
    """Yields the name of each question and its answer."""
    step = np.asarray(BlurSteps(describe(camera).grid()).position_to_step(camera.grid.dioptres))
    slice_at = [int(np.abs(step - step[0] - one).argmin()) for one in range(WINDOW)]
    for kind, views in VIEWS.items():
        for start in STARTS:
            yield f"one look, {kind}", ask([slice_at[start]], f"dioptre-single-{kind}", views)
        for pair in PAIRS:
            yield f"two looks, {kind}", ask([slice_at[one] for one in pair], f"dioptre-any-{kind}", views)
        yield f"whole stack, {kind}", whole(f"dioptre-any-{kind}", views)
    yield f"whole stack, {CONTRAST}", whole(CONTRAST, 1)


def measure_scene(make: str, weights: str, scene: int, count: int) -> Errors:
    """Returns the errors of all questions about the patches of one scene, in steps."""
    camera, patches = draw_scene_patches(PHONE if make == TOLD else make, scene, count)
    steps, errors = BlurSteps(describe(camera).grid()), Errors()
    for patch in patches:
        both = native_to_pixels(patch.native)
        seen = {1: both.mean(axis=1, keepdims=True, dtype=np.float32), 2: both}
        rows, cols = camera.frame
        place = (2 * patch.at[0] / cols, 2 * patch.at[1] / rows)
        truth = float(steps.position_to_step(patch.depth))
        asked = partial(_ask, seen, camera, place if make == TOLD else None, weights)
        whole = partial(_whole, seen, camera, make == TOLD, weights)
        for name, result in questions(camera, asked, whole):
            assert result.dioptres is not None
            errors.setdefault(name, []).append(abs(float(steps.position_to_step(result.dioptres)) - truth))
    return errors


def _ask(
    seen: Mapping[int, Pixels],
    camera: CameraModel,
    place: tuple[float, float] | None,
    weights: str,
    slices: list[int],
    method: str,
    views: int,
) -> FocusResult:
    """Returns what some slices say, as looks; told the grid and the place if there is one."""
    method = f"{weights}/{method}.onnx" if weights else method
    frames = [seen[views][one, 0] if views == 1 else seen[views][one] for one in slices]
    if place is not None:
        looks = list(zip(frames, slices, strict=True))
        return focus_from(looks, method=method, grid=camera.grid, where=place)
    positions = camera.grid.dioptres[slices].tolist()
    return focus_from(list(zip(frames, positions, strict=True)), method=method, grid=camera)


def _whole(
    seen: Mapping[int, Pixels], camera: CameraModel, told: bool, weights: str, method: str, views: int
) -> FocusResult:
    method = f"{weights}/{method}.onnx" if weights and method != CONTRAST else method
    return focus(seen[views], method, grid=camera.grid if told else camera)


def measure(make: str, weights: str, patches: int) -> dict[str, list[Float[np.ndarray, " _"]]]:
    """Returns the errors by question, an array for each scene."""
    counts = [min(PATCHES_PER_SCENE, patches - first) for first in range(0, patches, PATCHES_PER_SCENE)]
    pieces = [partial(measure_scene, make, weights, scene, count) for scene, count in enumerate(counts)]
    with local_executor() as executor:
        scenes = list(run_pieces(pieces, executor))
    return {name: [np.array(one[name]) for one in scenes] for name in scenes[0]}


def mean_of(scenes: list[Float[np.ndarray, " _"]]) -> float:
    """Returns the mean error over all scenes."""
    return float(np.concatenate(scenes).mean())


def ratio_interval(
    ours: list[Float[np.ndarray, " _"]], theirs: list[Float[np.ndarray, " _"]]
) -> tuple[float, float]:
    """Returns the 90 % interval of the ratio of two mean errors."""
    rng = np.random.default_rng(0)

    def again(scenes: list[Float[np.ndarray, " _"]]) -> float:
        return mean_of([scenes[at] for at in rng.integers(0, len(scenes), len(scenes))])

    low, high = np.percentile([again(ours) / again(theirs) for _ in range(RESAMPLES)], (5, 95))
    return float(low), float(high)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--patches", type=int, default=96, help="of each make")
    parser.add_argument("--weights", type=Path, help="folder of other networks of the same names")
    parser.add_argument("--makes", nargs="+", default=list(SLICES)[1:], help="beside the phone")
    chosen = parser.parse_args()
    weights = "" if chosen.weights is None else str(chosen.weights)
    makes = [PHONE, TOLD, *chosen.makes]
    found = {}
    for make in makes:
        print(f"{make} ...", file=sys.stderr, flush=True)
        found[make] = measure(make, weights, chosen.patches)
    print(f"{chosen.patches} simulated patches each; MAE in steps, over the phone's (at most {ALLOWED})\n")
    print(f"{'':<36}" + "".join(f"{make:>26}" for make in makes))
    for name, phone in found[PHONE].items():
        line = f"{name:<36}{mean_of(phone):>26.2f}"
        for make in makes[1:]:
            scenes = found[make][name]
            low, high = ratio_interval(scenes, phone)
            ratio = mean_of(scenes) / mean_of(phone)
            line += f"{f'{mean_of(scenes):.2f}  {ratio:.2f} [{low:.2f}, {high:.2f}]':>26}"
        print(line)


if __name__ == "__main__":
    main()
