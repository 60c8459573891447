"""Small sweeps for tests of confidence: a texture that a lens brings into focus, and light that changes."""

from functools import cache

import cv2
import numpy as np

from dioptre.confidence.curve import peak_position
from dioptre.confidence.exposure import Exposure
from dioptre.confidence.statistics import SliceBlocks
from dioptre.confidence.verdict import NOTHING_KNOWN, Verdict, VerdictContext, judge_curve
from dioptre.grid import FocusGrid
from dioptre.methods import scores
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import FocalStack

SIZE = 128  # pixels on a side
N, SHARP = 25, 11
METHOD = "local-norm-dist-sq-4"


@cache
def texture(seed: int = 0, size: int = SIZE) -> np.ndarray:
    """Returns overlapping leaves of brightness 0.05 to 0.75 or so."""
    return dead_leaves(size, size, np.random.default_rng(seed)).astype(np.float32)


def blurred(picture: np.ndarray, sigma_px: float) -> np.ndarray:
    return cv2.GaussianBlur(picture, (0, 0), float(sigma_px)).astype(np.float32)


def sweep(
    n: int = N, sharp: float = SHARP, growth_px: float = 0.35, noise: float = 0.003, seed: int = 0
) -> np.ndarray:
    """Returns slices of one view: blur grows by `growth_px` of sigma a slice on either side of `sharp`."""
    light = np.stack([blurred(texture(seed), 0.5 + growth_px * abs(at - sharp)) for at in range(n)])
    return grained(light[:, None], noise, seed)


def grained(light: np.ndarray, noise: float = 0.003, seed: int = 0) -> np.ndarray:
    """Returns pictures of some light: fresh noise on each, and nothing below black or above white."""
    drawn = np.random.default_rng([seed, 1]).standard_normal(light.shape, dtype=np.float32)
    return np.clip(light + np.float32(noise) * drawn, 0, 1).astype(np.float32)


def curve_of(pixels: np.ndarray, method: str = METHOD) -> np.ndarray:
    """Returns the score of each slice."""
    green = pixels.mean(axis=1, keepdims=True)
    return scores(FocalStack.full(green[None], FocusGrid(range(len(green)))), [method])[method][0]


def judged(pixels: np.ndarray, context: VerdictContext = NOTHING_KNOWN) -> Verdict:
    """Returns the verdict on the peak of a sweep's scores."""
    return judge_curve(curve_of(pixels), SliceBlocks.of(pixels), Exposure.of(pixels), context)


def answer_of(pixels: np.ndarray) -> float:
    """Returns where a sweep's scores peak."""
    return peak_position(curve_of(pixels))


def still(gains: np.ndarray, noise: float = 0.003, sigma_px: float = 0.0) -> np.ndarray:
    """Returns slices of a lens that does not move: one picture, perhaps blurred, in light that changes."""
    picture = blurred(texture(), sigma_px) if sigma_px else texture()
    return grained(np.clip(gains[:, None, None, None] * picture, 0, 1).astype(np.float32), noise)


def noise_bump(deviation: float, width: float) -> np.ndarray:
    """Returns one blurred picture again and again, noisiest at SHARP: for measures of contrast, a peak."""
    most = 0.003 + deviation * np.exp(-0.5 * ((np.arange(N) - SHARP) / width) ** 2)
    drawn = np.random.default_rng(0).standard_normal((N, 1, SIZE, SIZE))
    return np.clip(blurred(texture(), 4.0) + most[:, None, None, None] * drawn, 0, 1).astype(np.float32)
