"""From light to codes: shot and read noise, black level, clipping, 10-bit quantisation."""

import numpy as np
from jaxtyping import Float, Float32

LEVELS = 959.0  # codes between black and white of the 10-bit sensor
BLACK = 64.0


def expose(
    light: Float[np.ndarray, "..."], shot: float, read: float, rng: np.random.Generator
) -> Float32[np.ndarray, "..."]:
    """Returns pixels in [0, 1] as a sensor would give them.

    Args:
        light: Linear radiance, 1 at white; more is clipped.
        shot: Variance for each code of signal, in 10-bit codes (0.1 to 0.8 in normal light).
        read: Standard deviation of the noise in the dark, in 10-bit codes.
        rng: Draws the noise.
    """
    signal = LEVELS * np.clip(light, 0.0, 1.0)
    noise = rng.standard_normal(signal.shape) * np.sqrt(shot * signal + read**2)
    codes = np.clip(np.round(BLACK + signal + noise), 0, BLACK + LEVELS)
    return np.clip((codes - BLACK) / LEVELS, 0.0, 1.0).astype(np.float32)
