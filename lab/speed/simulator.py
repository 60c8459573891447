"""Speed of the simulator, and of its renderer against aperture sampling, in one run.

    python -m lab.speed simulator

Stacks are 49 x 2 x 128 x 128; all cores are used, a process each, as `dioptre simulate` does. Scenes and
their surfaces are made before the clock starts; noise and quantisation count.
"""

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import get_context

import numpy as np

from dioptre.optics import CameraModel
from dioptre.resources import workers
from dioptre.simulate import capture
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.layout import KINDS
from dioptre.simulate.lens import Actuator, sweep
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView, render, render_stack
from dioptre.simulate.scene import Scene
from dioptre.simulate.sensor import Noise, read_native
from dioptre.simulate.surface_texture import Clutter
from lab.slow_renderer import render_by_aperture
from lab.speed.timing import write_line

CAMERA = CameraModel.pixel3()
Surfaces = list[np.ndarray[tuple[int, int], np.dtype[np.float32]]]


def a_second(work: Callable[[int], object], count: int) -> float:
    """Returns how many items a second all cores do; `work` is a function of this module."""
    with get_context("fork").Pool(workers()) as pool:  # forked: the scenes are there already
        pool.map(work, range(2 * workers()), chunksize=1)
        start = time.perf_counter()
        pool.map(work, range(count), chunksize=4)
        return count / (time.perf_counter() - start)


def drawn(kind: str | None, seed: int, surfaces: Surfaces) -> tuple[Scene, PatchView]:
    """Returns a scene of one kind, or of the default mix, and where it is seen from."""
    rng = np.random.default_rng(seed)
    at = float(rng.uniform(-900, 900)), float(rng.uniform(-650, 650))
    view = PatchView(PointSpread(CAMERA, PhoneOptics.center(), at), 128)
    kind = kind or str(rng.choice(list(KINDS), p=list(KINDS.values())))
    return capture.draw_scene(kind, CAMERA, surfaces, view, rng, capture.Conditions()), view


SURFACES: Surfaces = []
SCENES: dict[str, list[tuple[Scene, PatchView]]] = {}


def stack_of(name: str, full: bool, number: int) -> None:
    """Makes the codes of one of the scenes: a full stack, or one slice of it."""
    rng = np.random.default_rng(number)
    scene, view = SCENES[name][number % len(SCENES[name])]
    focus = sweep(CAMERA, Actuator(), 0.0, rng)
    focus = focus if full else focus[[number % len(focus)]]
    read_native(render_stack(scene, view, focus), Noise(), rng)


def whole_patch(number: int) -> None:
    """Makes one patch of the default mix, scene and all."""
    rng = np.random.default_rng(number)
    capture.draw_patch(CAMERA, PhoneOptics.center(), SURFACES, rng, capture.Conditions())


def main(_arguments: Sequence[str]) -> None:
    """Prints the tables."""
    SURFACES.extend(capture.draw_surfaces(np.random.default_rng(0), Clutter()))
    for name, kind in (("planes", "plane"), ("the default mix", None)):
        SCENES[name] = [drawn(kind, seed, SURFACES) for seed in range(24)]
        stack_of(name, True, 0)  # compiles
        full = a_second(partial(stack_of, name, True), 96)
        one = a_second(partial(stack_of, name, False), 960)
        write_line(f"{name}: {full:.1f} full stacks a second, {one:.0f} single slices a second")
    write_line(f"drawing scene and all, the default mix: {a_second(whole_patch, 48):.1f} patches a second")

    scene, view = drawn("two", 1, SURFACES)
    start = time.perf_counter()
    slow = render_by_aperture(scene, view, 3.0, samples=24)
    middle = time.perf_counter()
    for _ in range(20):
        fast = render(scene, view, 3.0)
    end = time.perf_counter()
    ratio = (middle - start) / ((end - middle) / 20)
    psnr = 10 * np.log10(1 / np.mean((fast - slow) ** 2))
    write_line(
        f"one slice of two planes: {ratio:.0f} times as fast as aperture sampling (PSNR {psnr:.1f} dB)"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
