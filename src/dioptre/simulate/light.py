"""Light: how bright a capture is, how noisy, and how both change within a patch and over a stack.

Exposure is what radiance 1 becomes, as a part of white. In the dark the same scene has so many times less
light; the camera makes up for a part of that by gain, which raises the noise as much as the picture.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from dioptre.simulate.scene import FINE
from dioptre.simulate.sensor import Noise
from dioptre.simulate.texture import log_uniform

Square = Float32[np.ndarray, "n n"]  # a picture that is as wide as it is high

LESS_LIGHT = (8.0, 32.0)  # in the dark
LEAST_DIMMED = 4.0  # a dark picture is darker by so much at least, whatever the gain
STEP = (0.04, 0.12)  # by which exposure steps within a stack, relative
FLICKER = (0.001, 0.012)  # deviation of the exposure from slice to slice, relative


@dataclass(frozen=True)
class Lighting:
    """How captures are lit; the defaults are as measured on published stacks, as far as that was possible.

    Attributes:
        dark: How often the light is low.
        brightness: Range of the mean signal of a scene in normal light, 1 at white, drawn evenly on a
            logarithmic scale.
        shot: Range of the shot noise in normal light, variance for each 10-bit code, likewise.
        slope: Typical change of the light over 64 pixels, as a logarithm, along either axis.
        glare: Light that lens and sensor scatter all over the picture, as a part of the scene's mean.
        steps: How often the exposure steps within a stack.
        highlights: How often a patch has points of light far above white.
    """

    dark: float = 0.05
    brightness: tuple[float, float] = (0.05, 0.55)
    shot: tuple[float, float] = (0.1, 0.8)
    slope: float = 0.06
    glare: float = 0.03
    steps: float = 0.3
    highlights: float = 0.015


def draw_exposure(light: str, lighting: Lighting, rng: np.random.Generator) -> tuple[float, Noise]:
    """Returns the exposure and the noise of a capture in "normal" or "dark" light."""
    black = float(rng.uniform(-1, 1))
    shot, exposure = log_uniform(rng, *lighting.shot), log_uniform(rng, *lighting.brightness)
    less = log_uniform(rng, *LESS_LIGHT)
    gain = float((less / LEAST_DIMMED) ** rng.random())
    if light == "dark":
        shot, exposure = shot * gain, exposure * gain / less
    return exposure, Noise(shot, 0.7 + 1.5 * shot, black=black)


def draw_steps(slices: int, lighting: Lighting, rng: np.random.Generator) -> Float32[np.ndarray, " {slices}"]:
    """Returns each slice's exposure relative to the capture's: flicker, and steps that last a while."""
    gain = 1 + log_uniform(rng, *FLICKER) * rng.standard_normal(slices)
    if rng.random() < lighting.steps:
        for _ in range(int(rng.integers(1, 4))):
            first, length = int(rng.integers(slices)), int(rng.integers(1, slices))
            gain[first : first + length] *= 1 + log_uniform(rng, *STEP) * rng.choice([-1, 1])
    return gain.astype(np.float32)


def draw_slope(n: int, lighting: Lighting, rng: np.random.Generator) -> Square:
    """Returns light that falls off over a surface of n x n fine pixels, 1 in its middle."""
    steep = lighting.slope * np.exp(rng.normal(0, 0.5))
    across, down = rng.normal(0, steep, 2) / (64 * FINE)
    along = np.arange(n) - n / 2
    return np.exp(down * along[:, None] + across * along[None, :]).astype(np.float32)


def add_highlights(picture: Square, rng: np.random.Generator) -> Square:
    """Returns a picture with a few points of light far above white."""
    picture = picture.copy()
    for _ in range(int(rng.integers(3, 40))):
        y, x = rng.integers(2, len(picture) - 2, 2)
        picture[y : y + 2, x : x + 2] += np.float32(log_uniform(rng, 5.0, 100.0))
    return picture
