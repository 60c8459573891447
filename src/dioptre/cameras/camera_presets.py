"""Makes of camera as thin lenses: the paper's phone, and three that focus quite otherwise.

They are examples to begin from (`CameraModel.to_toml` writes one out), and what the methods are tested on:
typical numbers, of no particular product.
"""

from collections.abc import Callable, Mapping
from typing import Final

from dioptre.errors import FileError
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel


def dslr_50mm() -> CameraModel:
    """Returns a 50 mm f/1.8 lens on a full frame of 24 megapixels, from infinity to 0.45 m."""
    return CameraModel(
        focal_length_mm=50.0,
        f_number=1.8,
        pixel_pitch_um=6.0,
        frame=(4000, 6000),
        grid=FocusGrid.uniform(float("inf"), 0.45, 400),
        name="dslr-50mm",
    )


def machine_vision_16mm() -> CameraModel:
    """Returns a 16 mm f/4 lens on an industrial camera of 3 megapixels, from infinity to 0.2 m."""
    return CameraModel(
        focal_length_mm=16.0,
        f_number=4.0,
        pixel_pitch_um=3.45,
        frame=(1536, 2048),
        grid=FocusGrid.uniform(float("inf"), 0.2, 200),
        name="machine-vision-16mm",
    )


def microscope_4x() -> CameraModel:
    """Returns a microscope of magnification 4 and aperture 0.1 as one thin lens, 0.25 mm either way."""
    return CameraModel(
        focal_length_mm=36.0,
        f_number=4.0,  # 9 mm wide, 45 mm from the object, 180 mm from the sensor
        pixel_pitch_um=6.5,
        frame=(2048, 2048),
        grid=FocusGrid.uniform(0.04525, 0.04475, 101),
        name="microscope-4x",
    )


MAKES: Final[Mapping[str, Callable[[], CameraModel]]] = {
    "pixel3": CameraModel.pixel3,
    "dslr-50mm": dslr_50mm,
    "machine-vision-16mm": machine_vision_16mm,
    "microscope-4x": microscope_4x,
}


def find_camera(name: str) -> CameraModel:
    """Returns a make by its name, or the thin lens that a file describes.

    Raises:
        FileError: If it is neither.
    """
    if name in MAKES:
        return MAKES[name]()
    try:
        return CameraModel.from_toml(name)
    except FileNotFoundError:
        raise FileError(f"there is no camera {name!r}: one of {', '.join(MAKES)}, or a camera file") from None
