"""The lens actuator: it goes near where it is told, and nobody is told where.

A phone moves its lens with a voice coil against a spring, open loop. The camera knows only the position it
commanded; gravity, heat, hysteresis and the spring's tolerance decide the rest. Positions are micrometres of
extension beyond the infinity position.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from dioptre.optics import CameraModel, extension_to_focus_um, focus_to_extension_um


@dataclass(frozen=True)
class Actuator:
    """How far a lens strays from its commanded position, as standard deviations in micrometres.

    The defaults spread the stacks of one device by 1.6 indices of the published ladder, and those of many by
    1.8, since each keeps a bias of its own.

    Attributes:
        device_um: A bias that a device keeps for all its stacks.
        posture_um: Gravity, as far as it is not compensated; one draw for each stack.
        thermal_um_per_k: Drift with temperature, drawn between 15 and 45 degrees Celsius for each stack.
        play_um: Half-width of the hysteresis; a sweep in one direction lags by this much.
        jitter_um: Fresh at each slice.
        code_um: The driver's step; commands are rounded to it.
    """

    device_um: float = 3.0
    posture_um: float = 6.8
    thermal_um_per_k: float = 0.1
    play_um: float = 1.5
    jitter_um: float = 0.3
    code_um: float = 0.895

    @classmethod
    def exact(cls) -> "Actuator":
        """Returns an actuator that goes exactly where it is told."""
        return cls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def sweep(
    camera: CameraModel, actuator: Actuator, device_bias: float, rng: np.random.Generator
) -> Float[np.ndarray, " n"]:
    """Returns where the lens really is focused, in dioptres, at each position of a sweep from far to near.

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


def index_errors(camera: CameraModel, focus: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Returns how many indices each slice's true focus lies beyond the commanded one, towards near.

    A mean step of the ladder counts as one index, also beyond its ends.
    """
    step = np.gradient(camera.grid.dioptres)
    return (focus - camera.grid.dioptres) / step
