"""A recorded stack as Micro-Manager's camera and focus stage: acquisitions are tried without a microscope.

    core = replay_core(stack, step_um=0.5)       # (slice, row, col), 0 black and 1 white
    core.run_mda(...)                            # or MicroManagerCamera(core)

The stage goes from 0 um, the first slice, upwards; the camera shows the slice that is nearest to where the
stage stands. Both are Python devices (pymmcore-plus' `experimental.unicore`), of 16 bits.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float32

from dioptre.cameras.micromanager import MISSING
from dioptre.errors import InputError, MissingExtraError

try:
    from pymmcore_plus.experimental.unicore import ShutterDevice, SimpleCameraDevice, StageDevice, UniMMCore
except ModuleNotFoundError:
    raise MissingExtraError(MISSING) from None

WHITE = 65535


class ReplayStage(StageDevice):
    """A stage that is where it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.visited: list[float] = []
        self._z_um = 0.0

    def set_position_um(self, val: float) -> None:
        """Goes to a position."""
        self._z_um = val
        self.visited.append(val)

    def get_position_um(self) -> float:
        """Returns the position of the stage, in micrometres."""
        return self._z_um

    def home(self) -> None:
        """Goes to the first slice."""
        self.set_position_um(0.0)

    def stop(self) -> None:
        """Stands still, as ever."""

    def set_origin(self) -> None:
        """Does nothing: the slices are where they are."""


class ReplayShutter(ShutterDevice):
    """A shutter, which acquisitions open and close; it darkens nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._open = False

    def get_open(self) -> bool:
        """Returns whether it is open."""
        return self._open

    def set_open(self, open: bool) -> None:  # noqa: A002  # pymmcore-plus' name
        """Opens or closes it."""
        self._open = open


class ReplayCameraDevice(SimpleCameraDevice):
    """A camera that shows the slice at which a stage stands."""

    def __init__(
        self, stage: ReplayStage, slices: Float32[np.ndarray, "slice row col"], step_um: float
    ) -> None:
        super().__init__()
        self._stage, self._step_um = stage, step_um
        self._codes = np.rint(np.clip(slices, 0.0, 1.0) * WHITE).astype(np.uint16)
        self._exposure_ms = 10.0

    def sensor_shape(self) -> tuple[int, int]:
        """Returns the rows and columns of a slice."""
        rows, cols = self._codes.shape[1:]
        return rows, cols

    def dtype(self) -> Any:
        """Returns 16 bits."""
        return np.uint16

    def get_exposure(self) -> float:
        """Returns milliseconds, which change nothing."""
        return self._exposure_ms

    def set_exposure(self, exposure: float) -> None:
        """Keeps milliseconds, which change nothing."""
        self._exposure_ms = exposure

    def snap(self, buffer: np.ndarray) -> Mapping[str, Any]:
        """Puts the slice at which the stage stands into a buffer."""
        nearest = round(self._stage.get_position_um() / self._step_um)
        buffer[:] = self._codes[min(max(nearest, 0), len(self._codes) - 1)]
        return {}


def replay_core(slices: Float32[np.ndarray, "slice row col"], step_um: float) -> UniMMCore:
    """Returns Micro-Manager with the devices "Camera", "Z" and "Shutter" that replay a stack.

    Args:
        slices: The stack, 0 black and 1 white.
        step_um: How far apart its slices were taken.

    Raises:
        InputError: If the step is not positive.
    """
    if not step_um > 0:
        raise InputError(f"slices are a positive number of um apart, not {step_um:g}")
    core, stage = UniMMCore(), ReplayStage()
    core.loadPyDevice("Z", stage)
    core.loadPyDevice("Camera", ReplayCameraDevice(stage, slices, step_um))
    core.loadPyDevice("Shutter", ReplayShutter())
    core.initializeAllDevices()
    core.setCameraDevice("Camera")
    core.setFocusDevice("Z")
    core.setShutterDevice("Shutter")
    return core
