"""What a point of light becomes in the left and the right view of a dual-pixel sensor.

Light that passes the pupil at u (in radii, x along the columns) lands (c / 2) u pixels from where the chief
ray does, c being the signed blur diameter: the kernel is the pupil's light scaled by c / 2, and so
point-reflected when c is negative. Each half of a pixel sees mostly one half of the pupil; the split is soft,
the left view's share falling as 1/2 - A tanh((u - u0) / s) across it.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from jaxtyping import Float, Float32
from scipy.special import expit

from dioptre.optics import CameraModel
from dioptre.simulate import kernels
from dioptre.simulate.device import HALF_DIAGONAL_PX, Field, PhoneOptics

REACH = 1.25  # pupil radii beyond which there is no light
EDGE_WIDTH = 0.04  # of the pupil's rim, radii


@dataclass(frozen=True, eq=False)
class PointSpread:
    """The blur kernels at one place of one device's field.

    Attributes:
        camera: The camera.
        device: The phone.
        at: Place in the field, (x, y) pixels from the centre of the frame.
    """

    camera: CameraModel
    device: PhoneOptics
    at: Field

    def half(self, diameter_px: float) -> int:
        """Returns the half-width of the kernels of a blur diameter, in pixels."""
        return int(np.ceil(REACH * abs(diameter_px * self.device.blur_gain(diameter_px)) / 2)) + 2

    def kernels(self, diameter_px: float, half: int | None = None) -> Float32[np.ndarray, "2 n n"]:
        """Returns the left and right kernels of a signed blur diameter.

        Their sums are the views' brightness of a white sheet; their mean sums to the shading, 1 at most.

        Args:
            diameter_px: Blur diameter in pixels by the camera model, positive for a point behind the focus
                plane, whose left view then lies to the left.
            half: How far the result reaches from its centre; as far as there is light by default.
        """
        diameter = diameter_px * self.device.blur_gain(diameter_px)
        pupil = self._coarse if abs(diameter) < 9 else self._medium if abs(diameter) < 20 else self._fine
        half = self.half(diameter_px) if half is None else half
        out = np.zeros((2, 2 * half + 1, 2 * half + 1), dtype=np.float32)
        kernels.splat(pupil, _places(pupil.shape[1]), diameter / 2, out)
        return out

    @cached_property
    def sums(self) -> Float32[np.ndarray, " 2"]:
        """The brightness of the left and the right view of a white sheet; their mean is the shading."""
        brightness, share = self.device.shading_at(self.camera, self.at)
        return np.array([2 * brightness * share, 2 * brightness * (1 - share)], dtype=np.float32)

    @cached_property
    def _coarse(self) -> Float32[np.ndarray, "2 n n"]:
        return self._pupil(33)

    @cached_property
    def _medium(self) -> Float32[np.ndarray, "2 n n"]:
        return self._pupil(65)

    @cached_property
    def _fine(self) -> Float32[np.ndarray, "2 n n"]:
        return self._pupil(129)

    def _pupil(self, n: int) -> Float32[np.ndarray, "2 n n"]:
        """Returns the pupil's light for each view on n x n samples over [-REACH, REACH]."""
        places = _places(n)
        views = pupil_light(self.camera, self.device, self.at, places[None, :], places[:, None])
        views[:, views.sum(axis=0) < 1e-3 * views.sum(axis=0).max()] = 0.0
        return (views * (self.sums / views.sum(axis=(1, 2)))[:, None, None]).astype(np.float32)


@cache
def _places(n: int) -> Float[np.ndarray, " n"]:
    return np.linspace(-REACH, REACH, n)


def pupil_light(
    camera: CameraModel,
    device: PhoneOptics,
    at: Field,
    ux: Float[np.ndarray, "..."],
    uy: Float[np.ndarray, "..."],
) -> Float[np.ndarray, "2 ..."]:
    """Returns the light that each view gets through places of the pupil, in no particular unit.

    Off axis the pupil is stretched radially, its rim brightens, and its side towards the centre of the
    frame (for a point behind the focus plane) brightens too.
    """
    to_measured = HALF_DIAGONAL_PX / (np.hypot(*camera.frame) / 2)
    hx, hy = at[0] * to_measured, at[1] * to_measured
    far = np.hypot(hx, hy)
    ex, ey = (hx / far, hy / far) if far > 0 else (1.0, 0.0)
    radial, tangential = ux * ex + uy * ey, uy * ex - ux * ey
    stretch = 1 + 0.09 * min(1.0, far / 588) ** 2
    edge = expit((1 - np.hypot(radial / stretch, tangential * stretch)) / EDGE_WIDTH)
    rim, tilt = min(1.0, far / 450) * device.rim, min(0.9, far / 430 * device.tilt)
    light = edge * np.maximum(0.0, 1 + rim * (ux**2 + uy**2) - tilt * radial)
    depth = device.split_depth - 0.06 * min(1.0, far / 588)
    left = 0.5 - depth * np.tanh((ux - device.split_centre + 0.12 * hx / 588) / device.split_width)
    return np.stack([light * left, light * (1 - left)])
