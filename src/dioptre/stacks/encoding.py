"""Pictures as files: PNG of 8 and 16 bits."""

import cv2
import numpy as np
from jaxtyping import UInt8, UInt16


def to_png(picture: UInt8[np.ndarray, "row col *rgb"] | UInt16[np.ndarray, "row col *rgb"]) -> bytes:
    """Returns a picture, grey or red, green and blue, as a PNG file, the dtype's largest value white."""
    made, file = cv2.imencode(".png", picture if picture.ndim == 2 else picture[..., ::-1])
    assert made
    return file.tobytes()
