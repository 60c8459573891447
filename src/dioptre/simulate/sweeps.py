"""Whole sweeps: a world before a phone, in some light, from far to near.

What is drawn for a sweep comes from one generator, so that a sweep is the same whoever computes it. Light and
noise belong to a capture, which several phones take at once; where each lens really goes belongs to the
phone.
"""

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, UInt16

from dioptre.simulate.capture import Conditions, side_motion
from dioptre.simulate.frame import WorldView, read_frames
from dioptre.simulate.lens import sweep
from dioptre.simulate.light import draw_exposure, draw_steps
from dioptre.simulate.sensor import Noise


@dataclass(frozen=True)
class Light:
    """How a capture is lit.

    Attributes:
        name: "normal" or "dark".
        exposure: What radiance 1 becomes, as a part of white.
        noise: The sensors'.
    """

    name: str
    exposure: float
    noise: Noise


@dataclass(frozen=True, eq=False)
class WholeSweep:
    """What a phone took.

    Attributes:
        native: (slice, 2, native row, col) codes, 10 bit.
        focus: Where the lens really was at each slice, dioptres.
        axis: Where the optical axis met the frame, (x, y) pixels from its centre.
    """

    native: UInt16[np.ndarray, "slice 2 native col"]
    focus: Float[np.ndarray, " slice"]
    axis: Float[np.ndarray, "slice 2"]


def draw_light(light: str, conditions: Conditions, rng: np.random.Generator) -> Light:
    """Returns the light of a capture; "mixed" is dark as often as the conditions say."""
    drawn = "dark" if rng.random() < conditions.lighting.dark else "normal"
    name = drawn if light == "mixed" else light
    return Light(name, *draw_exposure(name, conditions.lighting, rng))


def take_sweep(
    seen: WorldView,
    light: Light,
    conditions: Conditions,
    rng: np.random.Generator,
    executor: Executor | None = None,
) -> WholeSweep:
    """Returns the frames of a phone before a world, from the far end of its grid to the near one.

    The camera's axis is where it is on the average of the sweep.

    Args:
        seen: The world and the phone.
        light: Of the capture.
        conditions: How far lens and axis stray, and how exposure changes.
        rng: Draws all that.
        executor: Threads that render; the codes do not depend on it.
    """
    focus, axis, gain = draw_sweep(seen, light, conditions, rng)
    return WholeSweep(read_frames(seen, focus, axis, gain, light.noise, rng, executor), focus, axis)


def draw_sweep(
    seen: WorldView, light: Light, conditions: Conditions, rng: np.random.Generator
) -> tuple[Float[np.ndarray, " slice"], Float[np.ndarray, "slice 2"], Float32[np.ndarray, " slice"]]:
    """Returns the focus, the offset of the optical axis in pixels, and the exposure of each slice."""
    focus = sweep(seen.camera, conditions.actuator, seen.phone.device.lens_bias, rng)
    axis = conditions.side_motion * side_motion(len(focus), rng)
    axis -= axis.mean(axis=0)
    steps = draw_steps(len(focus), conditions.lighting, rng)
    return focus, axis, np.float32(light.exposure) * steps
