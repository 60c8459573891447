"""The rig of five phones in a cross (`dioptre.rig`) as it is: with the errors of its mounting.

A pose is a rotation from the world's axes (`dioptre.simulate.world`) to the camera's and the camera's place
in metres: a point X is at rotation (X - centre) before the camera.
"""

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from jaxtyping import Float

from dioptre.rig import ARM_M, nominal_centres
from dioptre.simulate.device import PhoneOptics

WHOLE_TANGENT: Final = 2016 / 1588  # columns over focal length of the frames that such arms are for
MOUNTING_M: Final = 0.002  # deviation of a phone's place
MOUNTING_RAD: Final = 0.02  # deviation of each angle
FOCAL_DEVIATION: Final = 0.002  # of a phone's focal length, relative
DISTORTION: Final = (-0.02, 0.03)  # of the make: see simulate.kernels.aim
MEASURED_M: Final = 5e-5  # deviation of a measured spacing: callipers


@dataclass(frozen=True, eq=False)
class Phone:
    """One camera of a rig.

    Attributes:
        name: One of `dioptre.rig.CAMERAS`.
        device: Its optics.
        rotation: Rotation from the world to the camera.
        centre: Its place, metres.
        focal_gain: Its focal length relative to the camera model's.
        distortion: See `simulate.kernels.aim`.
    """

    name: str
    device: PhoneOptics
    rotation: Float[np.ndarray, "3 3"]
    centre: Float[np.ndarray, "3"]
    focal_gain: float = 1.0
    distortion: tuple[float, float] = DISTORTION


@dataclass(frozen=True, eq=False)
class Rig:
    """Some phones that look the same way.

    Attributes:
        phones: The cameras.
        arm_m: Distance of the outer ones from the middle one, as it was meant.
    """

    phones: tuple[Phone, ...]
    arm_m: float

    @property
    def spacing_m(self) -> float:
        """The mean distance of the outer phones from the middle one, as they are."""
        middle, *outer = self.phones
        return float(np.mean([np.linalg.norm(one.centre - middle.centre) for one in outer]))


def arm_for(frame: tuple[int, int], focal_px: float) -> float:
    """Returns the arms with which narrower views overlap as those of the published rig do, metres."""
    return ARM_M * frame[1] / focal_px / WHOLE_TANGENT


def draw_rig(arm_m: float, rng: np.random.Generator) -> Rig:
    """Returns five phones in a cross with the errors of their mounting.

    The middle one is the measured phone, and the world is counted from where it really is.
    """
    scale = arm_m / ARM_M
    phones = []
    for name, place in nominal_centres(arm_m).items():
        astray = MOUNTING_M * scale * rng.standard_normal(3)
        angles = MOUNTING_RAD * rng.standard_normal(3)
        device = PhoneOptics.center() if name == "center" else PhoneOptics.draw(rng)
        device = PhoneOptics.left() if name == "left" else device
        gain = 1 + FOCAL_DEVIATION * float(rng.standard_normal())
        middle = name == "center"
        rotation = np.eye(3) if middle else np.asarray(cv2.Rodrigues(angles)[0])
        phones.append(Phone(name, device, rotation, np.array(place) + (0 if middle else astray), gain))
    return Rig(tuple(phones), arm_m)


def lone_phone(device: PhoneOptics) -> Phone:
    """Returns one phone that stands in the middle of the world, without distortion."""
    return Phone("center", device, np.eye(3), np.zeros(3), distortion=(0.0, 0.0))
