"""The kernels that tests of the simulator compare with."""

import numpy as np

from dioptre.optics import CameraModel
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.psf import PointSpread


def dual_pixel_psf(diameter_px: float) -> np.ndarray:
    """Returns both views' kernels in the middle of the measured phone's field; their mean sums to one."""
    return PointSpread(CameraModel.pixel3(), PhoneOptics(), (0.0, 0.0)).kernels(diameter_px)
