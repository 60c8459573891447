"""The rig of the published data set as it was meant to be mounted: five phones in a cross.

Places are metres: x along the columns of a landscape frame, y along its rows, z ahead. Phones stand upright,
and their files are portrait, turned counterclockwise to landscape: what is up in the world is at the left of
a frame, so that the upper phone is at negative x and the left one at positive y. Without NumPy, since the
command line's help reads it.
"""

from typing import Final

from dioptre.errors import InputError

CAMERAS: Final = ("center", "left", "right", "top", "bottom")
TOWARDS: Final = {"center": (0, 0), "left": (0, 1), "right": (0, -1), "top": (-1, 0), "bottom": (1, 0)}
CLOSER_M: Final = 0.011  # the left phone stands nearer to the scene (paper, Dataset)
ARM_M: Final = 0.06  # of a rig with whole frames: a phone is 68 mm wide


def nominal_centres(arm_m: float) -> dict[str, tuple[float, float, float]]:
    """Returns the nominal centres of a rig's phones, in metres."""
    if not arm_m > 0:
        raise InputError(f"the arms of a rig are longer than 0, not {arm_m:g} m")
    closer = CLOSER_M * arm_m / ARM_M
    return {
        name: (arm_m * x, arm_m * y, closer if name == "left" else 0.0) for name, (x, y) in TOWARDS.items()
    }
