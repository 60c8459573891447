"""Simulated sweeps with what is right about them, for faults to be done to."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float32

from dioptre.optics import CameraModel
from dioptre.pipeline.settings import Simulation
from dioptre.pipeline.simulate import simulate_patch
from dioptre.simulate.layout import depth_to_index
from dioptre.simulate.sensor import native_to_pixels
from dioptre.stack import FocalStack
from lab.degradations import Sweep

Against = Literal["any", "sharp", "label"]  # what an error is counted from


@dataclass(frozen=True, eq=False)
class SimulatedSweep:
    """A sweep of the simulated phone.

    Attributes:
        sweep: Its pictures, and where they are sharp.
        where: The patch's place in the frame.
    """

    sweep: Sweep
    where: tuple[float, float]

    def seen(self, views: int) -> Float32[np.ndarray, "slice view row col"]:
        """Returns both views of every slice, or their mean."""
        pixels = self.sweep.pixels
        return pixels if views == 2 else pixels.mean(axis=1, keepdims=True)

    def stack(self, views: int) -> FocalStack:
        """Returns the same as a stack of the paper's grid."""
        grid = CameraModel.pixel3().grid
        return FocalStack.full(self.seen(views)[None], grid, np.array([self.where]))


def simulated_sweep(simulation: Simulation, index: int, against: Against = "any") -> SimulatedSweep:
    """Returns one patch of a simulation.

    Args:
        simulation: Which.
        index: Which of its patches.
        against: Whether right is any place at which a depth that covers a tenth of the picture is sharp
            (`dioptre.miss`); where its median depth is, which the lens's error moves too; or the label, which
            knows nothing of that error.
    """
    camera = CameraModel.pixel3()
    patch, row = simulate_patch(camera, simulation, index)
    x, y = (float(str(row[name])) for name in ("where_x", "where_y"))
    sharp = patch.sharp_at
    if against != "any" and patch.focusable:
        error = patch.lens_error if against == "sharp" else 0.0
        sharp = (float(depth_to_index(camera.grid, patch.depth)) - error,)
    return SimulatedSweep(Sweep(native_to_pixels(patch.native), sharp), (x, y))
