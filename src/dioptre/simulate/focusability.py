"""Is there anything to focus on? Contrast that focus changes, against the noise.

A patch can be focused if leaving its focus by a few positions changes the light on its pixels by enough to
stand out from their noise. Nothing but that is asked: not how a method would fare.
"""

import numpy as np
from jaxtyping import Float32

from dioptre.grid import FocusGrid
from dioptre.miss import MISS_STEPS
from dioptre.simulate.render import PatchView, render
from dioptre.simulate.scene import Scene
from dioptre.simulate.sensor import LEVELS, Noise

AWAY = round(MISS_STEPS)  # positions from the best one
LEAST = 0.2  # change over noise, root mean square over the pixels, from which on a patch can be focused


def focus_contrast(
    scene: Scene, view: PatchView, grid: FocusGrid, depth: float, gain: float, noise: Noise
) -> float:
    """Returns by how much the light changes a few positions from the best one, over the noise of a pixel.

    Both are root mean squares over the patch, of left and right taken together. Breathing does not count: the
    two slices are seen at one scale.

    Args:
        scene: What is there.
        view: Where it is seen from; `breathing` 0.
        grid: The grid.
        depth: Where the best focus is, in dioptres; held at the ends of the grid.
        gain: Exposure.
        noise: The sensor's.
    """
    best = int(grid.nearest_index(depth))
    away = best + AWAY if best + AWAY < len(grid) else max(best - AWAY, 0)
    sharp, blurred = (_green(render(scene, view, float(grid.dioptres[at])), gain) for at in (best, away))
    variance = (noise.shot * LEVELS * (sharp + blurred) / 2 + noise.read**2) / 2  # of the mean of two views
    change = (
        sharp / max(float(sharp.mean()), 1e-6) - blurred / max(float(blurred.mean()), 1e-6)
    ) * sharp.mean()
    return float(np.sqrt(np.mean((LEVELS * change) ** 2) / np.mean(variance)))


def _green(views: Float32[np.ndarray, "2 n n"], gain: float) -> Float32[np.ndarray, "n n"]:
    return np.clip(views * np.float32(gain), 0.0, 1.0).mean(axis=0)
