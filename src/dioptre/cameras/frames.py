"""Frames: what loops are given of a camera's pictures, float32 (view, row, col), linear, 0 black and 1 white.

A camera may give them as it has them: (row, col) is one view; of 8 or 16 bits, white is the largest number of
the type; of floats it is 1.
"""

from typing import Any, Final

import numpy as np

from dioptre.cameras.base import Frame
from dioptre.errors import CameraError
from dioptre.stack import codes_to_pixels

TWICE_WHITE: Final = 2.0  # what floats do not reach; codes do

Shape = tuple[int, int, int]


def to_frame(picture: Any, wanted: Shape | None = None) -> Frame:
    """Returns a picture as a frame; one that is a frame already as it is.

    Args:
        picture: What a camera gave.
        wanted: Views, rows and columns that it should have; any by default.

    Raises:
        CameraError: If it is something else; the sentence says what, and what was expected.
    """
    fault = _fault_of(picture, wanted)
    if fault is not None:
        raise CameraError(f"the camera gave {fault}")
    views = picture if picture.ndim == 3 else picture[None]
    if views.dtype == np.float32:
        frame: Frame = views
        return frame
    return codes_to_pixels(views, 0.0, float(np.iinfo(views.dtype).max) if views.dtype.kind == "u" else 1.0)


def _fault_of(picture: Any, wanted: Shape | None) -> str | None:
    """Returns what is wrong with a picture and what was expected; None if nothing is."""
    if not isinstance(picture, np.ndarray):
        return f"no frame: {picture!r}"
    shape = (1, *picture.shape) if picture.ndim == 2 else picture.shape
    if 0 in shape or (len(shape) != 3 or shape[0] > 2 if wanted is None else shape != wanted):
        expected = "(row, col), or (view, row, col) with 1 or 2 views"
        if wanted is not None:
            expected = f"{wanted} (view, row, col)"
        colour = picture.ndim == 3 and picture.shape[2] in (3, 4)
        hint = "; of a colour picture take green: picture[..., 1]" if colour else ""
        return f"a frame of shape {picture.shape}, expected {expected}{hint}"
    if picture.dtype.kind == "f":
        return _fault_of_floats(picture)
    if picture.dtype not in (np.uint8, np.uint16):
        return (
            f"a frame of dtype {picture.dtype}, expected uint8, uint16, or floats from 0 (black) to 1 (white)"
        )
    return None


def _fault_of_floats(picture: Any) -> str | None:
    finite = np.isfinite(picture)
    if not finite.all():
        return f"a frame of which {int((~finite).sum())} of {picture.size} pixels are not finite"
    if (brightest := float(picture.max())) > TWICE_WHITE:
        return f"a frame of {picture.dtype} up to {brightest:g}, expected 0 (black) to 1 (white)"
    return None
