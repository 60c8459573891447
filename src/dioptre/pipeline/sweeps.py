"""Simulated sweeps with what is right about them, for faults to be done to."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float32

from dioptre.optics import CameraModel
from dioptre.pipeline.settings import Simulation
from dioptre.pipeline.simulate import simulate_patch
from dioptre.simulate.mishaps import Sweep
from dioptre.simulate.sensor import native_to_pixels
from dioptre.stack import FocalStack

Against = Literal["sharp", "label"]  # what an error is counted from


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
        """Returns the same as a stack of the paper's ladder."""
        grid = CameraModel.pixel3().grid
        return FocalStack.full(self.seen(views)[None], grid, np.array([self.where]))


def simulated_sweep(simulation: Simulation, index: int, against: Against = "sharp") -> SimulatedSweep:
    """Returns one patch of a simulation.

    Args:
        simulation: Which.
        index: Which of its patches.
        against: Whether the right position is where the picture is sharp, which the lens's error moves, or
            the label, which knows nothing of that.
    """
    camera = CameraModel.pixel3()
    native, row = simulate_patch(camera, simulation, index)
    depth, beyond, error, x, y = (
        float(str(row[name])) for name in ("depth", "beyond", "lens_error", "where_x", "where_y")
    )
    exact = float(camera.grid.dioptres_to_index(depth)) + beyond
    sharp = round(exact - (error if against == "sharp" else 0.0))
    return SimulatedSweep(Sweep(native_to_pixels(native), (sharp,) if row["focusable"] else ()), (x, y))
