"""Simulated sweeps with what is right about them, for faults to be done to."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float32

from dioptre.optics import CameraModel
from dioptre.pipeline.settings import Simulation
from dioptre.pipeline.simulate import simulate_patch
from dioptre.simulate.layout import beyond
from dioptre.simulate.sensor import native_to_pixels
from dioptre.stack import FocalStack
from lab.degradations import Sweep

Against = Literal["sharp", "label", "any"]  # what an error is counted from


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


def simulated_sweep(simulation: Simulation, index: int, against: Against = "sharp") -> SimulatedSweep:
    """Returns one patch of a simulation.

    Args:
        simulation: Which.
        index: Which of its patches.
        against: Whether the right position is where the picture is sharp, which the lens's error moves; the
            label, which knows nothing of that; or any at which some part of the picture is sharp.
    """
    camera = CameraModel.pixel3()
    patch, row = simulate_patch(camera, simulation, index)
    x, y = (float(str(row[name])) for name in ("where_x", "where_y"))
    error = 0.0 if against == "label" else patch.lens_error
    right = (patch.depth, *(patch.depths if against == "any" else ()))
    sharp = [
        float(camera.grid.dioptres_to_index(one)) + beyond(camera.grid, one) - error
        for one in (right if patch.focusable else ())
    ]
    return SimulatedSweep(Sweep(native_to_pixels(patch.native), tuple(map(round, sharp))), (x, y))
