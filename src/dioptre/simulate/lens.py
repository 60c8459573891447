"""The lens actuator: it goes near where it is told, and nobody is told where.

A phone moves its lens with a voice coil against a spring, open loop. The camera knows only the position it
commanded; gravity, heat, hysteresis and the spring's tolerance decide the rest. Positions are micrometres of
extension beyond the infinity position.

`sweep` says where a lens is along one sweep from far to near. `VoiceCoil` is a lens that is sent anywhere, in
any order, and remembers where it came from.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from dioptre.optics import CameraModel, extension_to_focus_um, focus_to_extension_um


@dataclass(frozen=True)
class Actuator:
    """How far a lens strays from its commanded position, as standard deviations in micrometres.

    The defaults spread the stacks of one device by 1.6 indices of the published grid, and those of many by
    1.8, since each keeps a bias of its own.

    Attributes:
        device_um: A bias that a device keeps for all its stacks.
        posture_um: Gravity, as far as it is not compensated; one draw for each stack.
        thermal_um_per_k: Drift with temperature, drawn between 15 and 45 degrees Celsius for each stack.
        play_um: Half-width of the hysteresis; a sweep in one direction lags by this much.
        jitter_um: Fresh at each slice.
        code_um: The driver's step; commands are rounded to it.
        settling_s: Time constant of the ringing after a move, which is as wide as the move at first.
        ringing_hz: How often a second it swings.
    """

    device_um: float = 3.0
    posture_um: float = 6.8
    thermal_um_per_k: float = 0.1
    play_um: float = 1.5
    jitter_um: float = 0.3
    code_um: float = 0.895
    settling_s: float = 0.015
    ringing_hz: float = 80.0

    @classmethod
    def exact(cls) -> "Actuator":
        """Returns an actuator that goes exactly where it is told."""
        return cls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def sweep(
    camera: CameraModel, actuator: Actuator, device_bias: float, rng: np.random.Generator
) -> Float[np.ndarray, " n"]:
    """Returns the true focus at each position of a sweep from far to near, in dioptres.

    Args:
        camera: Its grid holds the commanded positions.
        actuator: How far the lens strays.
        device_bias: This device's constant error, in deviations: `actuator.device_um` micrometres each.
        rng: Draws posture, temperature and jitter.
    """
    commanded = np.asarray(focus_to_extension_um(camera, camera.grid.dioptres))
    if actuator.code_um > 0:
        origin = commanded[0]
        commanded = origin + np.round((commanded - origin) / actuator.code_um) * actuator.code_um
    posture = actuator.posture_um * rng.standard_normal()
    thermal = actuator.thermal_um_per_k * (rng.uniform(15, 45) - 25)
    jitter = actuator.jitter_um * rng.standard_normal(commanded.shape)
    lag = -actuator.play_um * rng.uniform(0, 1)
    bias = actuator.device_um * device_bias
    return np.asarray(extension_to_focus_um(camera, commanded + bias + posture + thermal + lag + jitter))


class VoiceCoil:
    """A lens that is sent to positions one after the other, as a loop does.

    Bias, gravity and heat stay what they are; the play of its hysteresis depends on where it came from.

    Args:
        camera: Its grid holds the commanded positions.
        actuator: How far the lens strays.
        device_bias: This device's constant error, in deviations.
        rng: Draws gravity and temperature now, and jitter at each move.
    """

    def __init__(
        self, camera: CameraModel, actuator: Actuator, device_bias: float, rng: np.random.Generator
    ) -> None:
        self.camera, self.actuator, self.rng = camera, actuator, rng
        self.offset_um = (
            actuator.device_um * device_bias
            + actuator.posture_um * float(rng.standard_normal())
            + actuator.thermal_um_per_k * (float(rng.uniform(15, 45)) - 25)
        )
        self._dragged_um: float | None = None  # where the play has left it, without the offset
        self._jitter_um = self._swing_um = self._since_s = 0.0

    def move(self, index: float | int, wait_s: float) -> float:
        """Returns the focus of the lens in dioptres, some time after it was sent to a position.

        Args:
            index: Of the grid, whole or between two.
            wait_s: Seconds after the command; after one to where it is, the ringing of the last move goes on.
        """
        actuator, command = self.actuator, self._command_um(index)
        before = command if self._dragged_um is None else self._dragged_um
        here = min(max(before, command - actuator.play_um), command + actuator.play_um)
        if here != before or self._dragged_um is None:
            self._jitter_um = actuator.jitter_um * float(self.rng.standard_normal())
            self._swing_um, self._since_s = before - here, 0.0
        self._dragged_um = here
        self._since_s += wait_s
        swing = self._swing_um * math.cos(2 * math.pi * actuator.ringing_hz * self._since_s)
        swing *= math.exp(-self._since_s / actuator.settling_s) if actuator.settling_s > 0 else 0.0
        return float(extension_to_focus_um(self.camera, here + self.offset_um + self._jitter_um + swing))

    def rest(self, index: float | int) -> float:
        """Returns the focus at which the lens comes to rest without play and jitter, in dioptres."""
        return float(extension_to_focus_um(self.camera, self._command_um(index) + self.offset_um))

    def _command_um(self, index: float | int) -> float:
        focus = self.camera.grid.index_to_dioptres(np.array([0.0, index]))
        far, wanted = np.asarray(focus_to_extension_um(self.camera, focus))
        code = self.actuator.code_um
        return float(far + round(float(wanted - far) / code) * code if code > 0 else wanted)


def index_errors(camera: CameraModel, focus: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Returns the error of each slice's true focus against the commanded one, in indices towards near.

    A mean step of the grid counts as one index, also beyond its ends.
    """
    step = np.gradient(camera.grid.dioptres)
    return (focus - camera.grid.dioptres) / step
