"""Pictures as files: PNG of 8 and 16 bits."""

import cv2
import numpy as np
from jaxtyping import UInt8, UInt16


def to_png(picture: UInt8[np.ndarray, "row col"] | UInt16[np.ndarray, "row col"]) -> bytes:
    """Returns a picture as a PNG file, 0 black and the dtype's largest value white."""
    made, file = cv2.imencode(".png", picture)
    assert made
    return file.tobytes()
