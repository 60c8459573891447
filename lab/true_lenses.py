"""Lenses whose focus is known: random makes of camera over random travels, whose growth of blur nobody tells.

    for lens in (true_lens(seed, "normal", views=2), ...): Autofocus(lens.camera, start=lens.start).run()

A lens is one of the four makes (`dioptre.cameras.camera_presets`) with a part of its way as all of its
travel: 20 to 100 steps of blur (or as many as are asked for), one to eight positions a step. Its camera says
how many positions there are and which way is near, and nothing else. The actuator strays as a phone's does.

Some have a fault: the lens sticks, the subject moves or is replaced, the light flickers, the pictures are
developed as a camera's JPEGs are, or there is nothing to be seen.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import cv2
import numpy as np
from jaxtyping import Float, Float32

from dioptre.cameras.base import Frame, to_index
from dioptre.cameras.camera_presets import MAKES
from dioptre.cameras.simulated import SimulatedCamera, draw_camera
from dioptre.grid import FocusGrid
from dioptre.miss import BESIDE_STEPS, covering_depths
from dioptre.optics import CameraModel, steps_per_index
from lab.true_sweeps import Look

TRAVELS: Final = (20.0, 100.0)  # steps of blur
FINENESS: Final = (1.0, 8.0)  # positions a step
NEAREST: Final = 20.0  # dioptres: as near as a phone's travel may go on
FAULTS: Final = (
    "developed", "flicker", "moving", "replaced", "stuck", "sticks", "wall",
    "backlash", "hysteresis", "black", "freezes",
)  # fmt: skip
PLAY: Final = 3.0  # steps of blur by which a lens with backlash lags behind
LAG: Final = 0.3  # of each move that a lens with hysteresis leaves out


@dataclass(eq=False)
class BareCamera:
    """A camera that tells nothing of its lens but how many positions there are, and which way is near.

    Attributes:
        inner: The camera.
        change: What happens to a frame: told the frame and how many there were before it.
        move: Where the lens really goes: told the index and how many moves there were before.
        visited: Where it was sent.
        real: Where it really went.
    """

    inner: SimulatedCamera
    change: Callable[[Frame, int], Frame] = lambda frame, _: frame
    move: Callable[[int, int], int] = lambda index, _: index
    visited: list[int] = field(default_factory=list)
    real: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.grid = FocusGrid(range(len(self.inner.grid)), "counts", nearer=True)
        self.views, self.shape, self.where = self.inner.views, self.inner.shape, None

    def capture(self, index: int) -> Frame:
        """Moves the lens and returns a frame."""
        at, before = to_index(index, self.grid), len(self.visited)
        self.visited.append(at)
        self.real.append(self.move(at, before))
        frame = self.change(self.inner.capture(self.real[-1]), before)
        return np.ascontiguousarray(frame, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class TrueLens:
    """A lens whose focus is known.

    Attributes:
        camera: What is driven.
        start: The index of the first look.
        steps_per_index: Of blur.
        sharp: The indices at which a depth that covers a tenth of the picture is sharp; empty for none.
        middle: The index at which the middle depth is.
        kind: The make, or the fault.
    """

    camera: BareCamera
    start: int
    steps_per_index: float
    sharp: tuple[float, ...]
    middle: float
    kind: str

    def steps_off(self, index: float) -> float:
        """Returns how many steps an answer is from the nearest sharp place; infinite if there is none.

        Where the lens was sent there, what counts is where it really is.
        """
        if (
            self.camera.visited
            and abs(self.camera.visited[-1] - index) * self.steps_per_index <= BESIDE_STEPS
        ):
            index = index - self.camera.visited[-1] + self.camera.real[-1]
        away = [abs(index - one) for one in self.sharp]
        return min(away) * self.steps_per_index if away else math.inf


def true_lens(
    seed: int,
    light: str = "normal",
    views: int = 2,
    travels: tuple[float, float] = TRAVELS,
    fault: str = "",
    positions: int | None = None,
) -> TrueLens:
    """Returns a random lens; the same for the same seed.

    Args:
        seed: Draws everything; the make is one after the other.
        light: "normal" or "dark".
        views: 2 for left and right, 1 for green.
        travels: Between how many steps of blur its travel is.
        fault: What is wrong with it.
        positions: That its grid has; one to eight a step of blur by default.
    """
    rng = np.random.default_rng([seed, 77])
    make = part_of(MAKES[list(MAKES)[seed % len(MAKES)]](), travels, rng, positions)
    inner = draw_camera(seed, light, views, make=make)
    start = int(rng.integers(len(make.grid)))
    camera, steps = BareCamera(inner), steps_per_index(make)
    sharp, middle = sharp_places(inner, steps)
    found = TrueLens(camera, start, steps, sharp, middle, make.name)
    return faulty(found, fault, seed, light, rng) if fault else found


def part_of(
    make: CameraModel, travels: tuple[float, float], rng: np.random.Generator, positions: int | None = None
) -> CameraModel:
    """Returns a camera whose lens has a random part of its way as all of its travel."""
    dioptres = make.grid.dioptres
    low, high = float(dioptres.min()), float(dioptres.max())
    steps_per_dioptre = steps_per_index(make) / float(np.abs(np.diff(dioptres)).mean())
    travel = math.exp(rng.uniform(*np.log(travels)))
    span = travel / steps_per_dioptre
    high = max(high, low + span) if make.name == "pixel3" else high
    span = min(span, min(high, NEAREST) - low if make.name == "pixel3" else high - low)
    first = rng.uniform(low, high - span)
    count = positions or max(round(travel * math.exp(rng.uniform(*np.log(FINENESS)))), 3)
    far_m = 1 / first if first > 0 else math.inf
    return replace(make, grid=FocusGrid.uniform(far_m, 1 / (first + span), count))


def sharp_places(camera: SimulatedCamera, steps: float) -> tuple[tuple[float, ...], float]:
    """Returns the indices at which depths that count are sharp, and that of the middle one."""
    truly = np.array([camera.lens.rest(at) for at in range(len(camera.grid))])
    depths = camera.stage.scene.depth_map(camera.stage.view.size)
    places = beyond_too(depths.ravel().astype(np.float64), truly)
    return covering_depths(places, steps)[0], float(beyond_too(np.array([camera.stage.depth]), truly)[0])


def beyond_too(depths: Float[np.ndarray, " n"], truly: Float[np.ndarray, " m"]) -> Float[np.ndarray, " n"]:
    """Returns the indices of depths in dioptres, also of those that the lens does not reach."""
    step = float(np.mean(np.diff(truly)))
    outside = np.minimum(depths - truly[0], 0) + np.maximum(depths - truly[-1], 0)
    return np.interp(depths, truly, np.arange(len(truly))) + outside / step


def faulty(lens: TrueLens, fault: str, seed: int, light: str, rng: np.random.Generator) -> TrueLens:
    """Returns a lens with a fault."""
    camera = lens.camera
    when = int(rng.integers(1, 6))
    if fault in ("developed", "flicker"):
        return replace(_changed(lens, fault, rng), kind=fault)
    if fault == "moving":
        speed, heading = math.exp(rng.uniform(np.log(0.5), np.log(4))), rng.uniform(0, 2 * np.pi)
        camera.change = lambda frame, count: shifted(frame, speed * count, heading)
    elif fault == "replaced":
        other = draw_camera(seed + 500_000, light, camera.views, make=camera.inner.stage.camera)
        first, second = camera.inner.stage, other.stage

        def swap(index: int, count: int) -> int:
            camera.inner.stage = first if count < when else second
            return index

        camera.move = swap
        camera.inner.stage = second
        sharp, middle = sharp_places(camera.inner, lens.steps_per_index)
        camera.inner.stage = first
        return replace(lens, sharp=sharp, middle=middle, kind=fault)
    elif fault in ("stuck", "sticks"):
        held: list[int] = []

        def stay(index: int, count: int) -> int:
            if not held or (fault == "sticks" and count < when):
                held[:] = [index]
            return held[0]

        camera.move = stay
    elif fault in ("backlash", "hysteresis"):
        camera.move = partial(_lagging, [], fault, PLAY / lens.steps_per_index)
    elif fault == "black":
        camera.change = lambda frame, count: frame if count < 2 else 0 * frame
    elif fault == "freezes":
        kept: list[Frame] = []

        def freeze(frame: Frame, count: int) -> Frame:
            if count <= 2:
                kept[:] = [frame]
            return kept[0]

        camera.change = freeze
    elif fault == "wall":
        grey, noise = rng.uniform(0.05, 0.6), math.exp(rng.uniform(np.log(1e-3), np.log(2e-2)))
        camera.change = lambda frame, _: np.clip(grey + noise * rng.standard_normal(frame.shape), 0, 1)
        return replace(lens, sharp=(), kind=fault)
    return replace(lens, kind=fault)


def _lagging(held: list[float], fault: str, play: float, index: int, _: int) -> int:
    """Returns where a lens really goes that lags behind, by some positions or by a part of each move."""
    before = held[0] if held else float(index)
    here = (
        min(max(before, index - play), index + play)
        if fault == "backlash"
        else index + LAG * (before - index)
    )
    held[:] = [here]
    return round(here)


def _changed(lens: TrueLens, fault: str, rng: np.random.Generator) -> TrueLens:
    """Returns a lens whose frames are developed, or whose light flickers."""
    if fault == "flicker":
        wide = math.exp(rng.uniform(np.log(0.02), np.log(0.5)))
        lens.camera.change = lambda frame, _: np.clip(frame * math.exp(wide * rng.standard_normal()), 0, 1)
        return lens
    look = replace(Look.draw(rng, processed=True, noisy=False), halved=False)
    lens.camera.change = lambda frame, _: look.sense(np.maximum(frame, 0)[None], rng)[0]
    return lens


def shifted(frame: Float32[np.ndarray, "view row col"], along: float, heading: float) -> Frame:
    """Returns a frame whose picture has moved by so many pixels."""
    matrix = np.array([[1, 0, along * math.cos(heading)], [0, 1, along * math.sin(heading)]])
    size = frame.shape[2], frame.shape[1]
    how = cv2.INTER_LANCZOS4, cv2.BORDER_REFLECT
    return np.clip(np.stack([cv2.warpAffine(view, matrix, size, None, *how) for view in frame]), 0, 1)
