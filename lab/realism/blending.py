"""Slices that lie at other steps than a network's: show it the nearest one, or a blend of two?

    python -m lab.realism.blending                 12 patches of each make

The simulated sweeps of `lab.realism.makes` whose slices are 1.5 and 0.8 steps apart, laid on a window of 49
steps either way. `dioptre-any-*` is shown those steps that have a slice within half of one, or all of them,
blended; `l2a-stack-*`, which wants all, the nearest slice everywhere, or blends. MAE in steps.
"""

import argparse
from functools import partial

import numpy as np
from jaxtyping import Float32

from dioptre.cameras.blur_units import WINDOW, BlurSteps, StepWindow
from dioptre.cameras.camera_files import describe
from dioptre.confidence.curve import peak_position
from dioptre.focusing.camera_transfer import nearest_slices
from dioptre.methods import find_method
from dioptre.pipeline.executors import local_executor, run_pieces
from dioptre.simulate.sensor import native_to_pixels
from dioptre.stack import FocalStack
from lab.realism.makes import PATCHES_PER_SCENE, draw_scene_patches

MAKES = ("dslr-50mm", "machine-vision-16mm")
METHODS = {"dioptre-any-green": False, "l2a-stack-green": True}  # and whether it wants every step

Pixels = Float32[np.ndarray, "slice view row col"]


def shown_slices(
    pixels: Pixels, window: StepWindow, camera_positions: np.ndarray, every_step: bool, blend: bool
) -> FocalStack:
    """Returns slices as a network is shown them, nearest or blended."""
    if not blend:
        slices, indices = nearest_slices(window, camera_positions, every_step)
        return FocalStack(pixels[slices][None], indices[None], window.every_step())
    places = np.asarray(window.position_to_index(camera_positions))
    along = np.interp(np.arange(WINDOW), places, np.arange(len(places)))
    first = np.minimum(along.astype(np.int64), len(places) - 2)
    part = (along - first).astype(np.float32)[:, None, None, None]
    blended = (1 - part) * pixels[first] + part * pixels[first + 1]
    return FocalStack(blended[None], np.arange(WINDOW)[None], window.every_step())


def measure_scene(make: str, scene: int, count: int) -> dict[str, list[float]]:
    """Returns the errors of both ways, by method, on patches of one scene."""
    camera, patches = draw_scene_patches(make, scene, count)
    steps, errors = BlurSteps(describe(camera).grid()), dict[str, list[float]]()
    window = StepWindow.around(steps, camera.grid.dioptres)
    for patch in patches:
        pixels = native_to_pixels(patch.native).mean(axis=1, keepdims=True, dtype=np.float32)
        truth = float(window.position_to_index(patch.depth))
        for key, every_step in METHODS.items():
            for blend in (False, True):
                stack = shown_slices(pixels, window, camera.grid.dioptres, every_step, blend)
                answer = peak_position(find_method(key).build().scores(stack)[0])
                name = f"{key}, {'blended' if blend else 'nearest'}"
                errors.setdefault(name, []).append(abs(answer - truth))
    return errors


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--patches", type=int, default=12, help="of each make")
    patches = parser.parse_args().patches
    for make in MAKES:
        scenes = range(-(-patches // PATCHES_PER_SCENE))
        with local_executor() as executor:
            pieces = [partial(measure_scene, make, scene, PATCHES_PER_SCENE) for scene in scenes]
            found = list(run_pieces(pieces, executor))
        for name in found[0]:
            off = np.concatenate([one[name] for one in found])
            print(
                f"{make:<24}{name:<32}{off.mean():>7.2f} (standard error {off.std() / np.sqrt(len(off)):.2f})"
            )


if __name__ == "__main__":
    main()
