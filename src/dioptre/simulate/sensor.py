"""From light to codes: clipping, binning, noise, black level, 10-bit quantisation.

The sensor reads one number for each view and each *pair of rows*: native rows are half as many as the rows of
the images that the package works on. `upsample_rows` brings them back, as the published files do, and with
that the correlation of their noise. Codes are 10-bit: BLACK without light, WHITE at saturation.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Float, Float32, UInt16

from dioptre.stack import codes_to_pixels, upsample_rows

BLACK, WHITE = 64.0, 1023.0
LEVELS = WHITE - BLACK
GAMMA = 2.2  # of the tone curve of processed pictures
SHARPENED_PX = 1.5  # sigma of the blur that sharpening undoes, along a native row; half of that across


@dataclass(frozen=True)
class Noise:
    """The noise of a capture, in 10-bit codes.

    Attributes:
        shot: Variance for each code of signal.
        read: Standard deviation in the dark, fresh at every pixel.
        row: Standard deviation of what a whole row is off, fresh at every slice.
        black: How far the black level of the stack is off.
        pattern: Standard deviation of the pixels' gain, the same at every slice of a stack.
    """

    shot: float = 0.3
    read: float = 1.15
    row: float = 0.2
    black: float = 0.0
    pattern: float = 0.005

    @classmethod
    def none(cls) -> "Noise":
        """Returns a sensor without noise; it still quantises."""
        return cls(0.0, 0.0, 0.0, 0.0, 0.0)

    def averaged(self, side: int) -> "Noise":
        """Returns the noise of means over so many pixels along either side."""
        return Noise(
            self.shot / side**2,
            self.read / side,
            self.row / side**0.5,
            self.black,
            self.pattern / side,
        )


def read_native(
    light: Float32[np.ndarray, "slice 2 rows cols"], noise: Noise, rng: np.random.Generator
) -> UInt16[np.ndarray, "slice 2 native cols"]:
    """Returns the codes that the sensor reads, one native row for each pair of rows.

    Args:
        light: Radiance in each view, 1 at white; each pixel clips before it is averaged with its neighbour.
        noise: Its strengths.
        rng: Draws it.
    """
    slices, views, rows, cols = light.shape
    pattern = 1 + np.float32(noise.pattern) * rng.standard_normal((views, rows // 2, cols), dtype=np.float32)
    codes = np.empty((slices, views, rows // 2, cols), dtype=np.uint16)
    clipped, drawn = np.empty((views, rows, cols), np.float32), np.empty_like(pattern)
    for one, out in zip(light, codes, strict=True):  # a slice at a time stays in the cache
        np.clip(one, 0.0, 1.0, out=clipped)
        signal = clipped[:, ::2] + clipped[:, 1::2]
        signal *= np.float32(LEVELS / 2) * pattern
        deviation = np.sqrt(np.float32(noise.shot) * signal + np.float32(noise.read**2))
        signal += deviation * rng.standard_normal(out=drawn, dtype=np.float32)
        signal += np.float32(noise.row) * rng.standard_normal((views, rows // 2, 1), dtype=np.float32)
        signal += np.float32(BLACK + noise.black)
        np.clip(np.rint(signal, out=signal), 0, WHITE, out=signal)
        out[...] = signal
    return codes


def process(
    native: UInt16[np.ndarray, "slice view native cols"], quality: int, sharpening: float = 0.0
) -> UInt16[np.ndarray, "slice view native cols"]:
    """Returns the codes of processed pictures: tone curve, sharpening, 8 bits, JPEG.

    They keep black and white, but are no longer linear in the light between them.

    Args:
        native: Codes as the sensor reads them.
        quality: Of JPEG, from 1 to 100.
        sharpening: How many times what a blur of SHARPENED_PX takes away is added.
    """
    out = np.empty_like(native)
    for one, codes in zip(
        native.reshape(-1, *native.shape[2:]), out.reshape(-1, *native.shape[2:]), strict=True
    ):
        linear = np.clip((one.astype(np.float32) - BLACK) / LEVELS, 0.0, 1.0)
        shown = 255 * linear ** np.float32(1 / GAMMA)
        if sharpening:
            smooth = cv2.GaussianBlur(shown, (0, 0), SHARPENED_PX, sigmaY=SHARPENED_PX / 2)
            shown = np.clip(shown + np.float32(sharpening) * (shown - smooth), 0, 255)
        shown = np.rint(shown).astype(np.uint8)
        file = cv2.imencode(".jpg", shown, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        codes[...] = np.rint(BLACK + LEVELS / 255 * np.asarray(cv2.imdecode(file, cv2.IMREAD_GRAYSCALE)))
    return out


def native_to_pixels(native: UInt16[np.ndarray, "... native cols"]) -> Float32[np.ndarray, "... rows cols"]:
    """Returns upsampled, black-subtracted pixels in [0, 1]."""
    return codes_to_pixels(upsample_rows(native.astype(np.float32)), BLACK, WHITE)


def expose(
    light: Float[np.ndarray, "..."], shot: float, read: float, rng: np.random.Generator
) -> Float32[np.ndarray, "..."]:
    """Returns pixels in [0, 1] of a plain sensor without binning.

    Args:
        light: Linear radiance, 1 at white; more is clipped.
        shot: Variance for each code of signal, in 10-bit codes (0.1 to 0.8 in normal light).
        read: Standard deviation of the noise in the dark, in 10-bit codes.
        rng: Draws the noise.
    """
    signal = LEVELS * np.clip(light, 0.0, 1.0)
    noise = rng.standard_normal(signal.shape) * np.sqrt(shot * signal + read**2)
    codes = np.clip(np.round(BLACK + signal + noise), 0, WHITE)
    return np.clip((codes - BLACK) / LEVELS, 0.0, 1.0).astype(np.float32)
