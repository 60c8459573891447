"""Statistics of pictures, by which simulated patches are held against real ones.

A stack here is (slice, row, col) of green pixels, linear, black subtracted, 1 at white. All but `drift` are
of one slice: the sharpest one, as `SHARPEST` finds it, so that nothing depends on a label.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter, uniform_filter

from dioptre.methods import scores
from dioptre.stack import FocalStack

Image = Float[np.ndarray, "rows cols"]
Stack = Float[np.ndarray, "slice rows cols"]

SHARPEST = "local-norm-dist-sq-4"
PUBLISHED_BLACK, PUBLISHED_RANGE = 2048.0, 2 * 959 * 16.0  # of the published files' sum of both views
TINY = 1e-6


def deviation(image: Image) -> float:
    """Returns the deviation over the mean."""
    return float(image.std() / max(float(image.mean()), TINY))


def coarse_share(image: Image) -> float:
    """Returns the share of the variance that a Gaussian of sigma 8 pixels leaves."""
    return float(gaussian_filter(image, 8.0).var() / max(float(image.var()), TINY**2))


def spectrum_slope(image: Image) -> float:
    """Returns the exponent of the power spectrum's fall between 0.012 and 0.24 cycles a pixel."""
    window = np.outer(*(np.hanning(length) for length in image.shape))
    power = np.abs(np.fft.fft2((image - image.mean()) * window)) ** 2
    f = np.hypot(np.fft.fftfreq(image.shape[0])[:, None], np.fft.fftfreq(image.shape[1])[None, :])
    edges = np.geomspace(0.012, 0.24, 9)
    mean = [power[(f >= low) & (f < high)].mean() for low, high in pairwise(edges)]
    return float(np.polyfit(np.log(np.sqrt(edges[:-1] * edges[1:])), np.log(mean), 1)[0])


def gradient_kurtosis(image: Image) -> float:
    """Returns the kurtosis of the differences of neighbours after a Gaussian of 1 pixel; 3 if normal."""
    smooth = gaussian_filter(image, 1.0)
    steps = np.concatenate([np.diff(smooth, axis=0).ravel(), np.diff(smooth, axis=1).ravel()])
    steps = steps - steps.mean()
    return float(np.mean(steps**4) / max(float(np.mean(steps**2)) ** 2, TINY**4))


def local_contrast(image: Image) -> float:
    """Returns the 90th percentile of deviation over mean in 7 x 7 pixels, after a Gaussian of 1 pixel."""
    smooth = gaussian_filter(image, 1.0)
    mean = uniform_filter(smooth, 7)
    variance = np.maximum(uniform_filter(smooth**2, 7) - mean**2, 0)
    return float(np.percentile(np.sqrt(variance) / np.maximum(mean, 1e-3), 90))


def brightness(image: Image) -> float:
    """Returns the mean."""
    return float(image.mean())


def plain_share(image: Image) -> float:
    """Returns the share of 8 x 8 cells that deviate by less than 5 per cent of their mean, softened."""
    smooth = gaussian_filter(image, 1.0)
    rows, cols = (length // 8 for length in image.shape)
    cells = smooth[: 8 * rows, : 8 * cols].reshape(rows, 8, cols, 8)
    return float(np.mean(cells.std(axis=(1, 3)) < 0.05 * cells.mean(axis=(1, 3))))


def drift(stack: Stack) -> float:
    """Returns the range of the mean over the sweep as a part of its mean."""
    means = stack.mean(axis=(1, 2))
    return float(np.ptp(means) / max(float(means.mean()), TINY))


STATISTICS: Mapping[str, Callable[[Image], float]] = {
    "deviation / mean": deviation,
    "variance beyond sigma 8": coarse_share,
    "spectrum slope": spectrum_slope,
    "gradient kurtosis": gradient_kurtosis,
    "local contrast": local_contrast,
    "plain share": plain_share,
    "mean": brightness,
}
DRIFT = "drift of the mean"

# Median and quartiles of 756 patches of another phone, which 12 published stacks agree with; None where they
# were not measured.
REAL: Mapping[str, tuple[float, float, float] | None] = {
    "deviation / mean": (0.81, 0.55, 1.13),
    "variance beyond sigma 8": (0.54, 0.31, 0.72),
    "spectrum slope": (-2.8, -3.4, -2.0),
    "gradient kurtosis": (22.0, 11.0, 57.0),
    "local contrast": (0.39, 0.24, 0.57),
    "plain share": None,
    "mean": (0.09, 0.03, 0.16),
    DRIFT: (0.18, 0.11, 0.37),
}


def sharpest(stack: Stack) -> int:
    """Returns the index of the sharpest slice."""
    pixels = np.ascontiguousarray(stack[None, :, None], dtype=np.float32)
    return int(scores(FocalStack.full(pixels), [SHARPEST])[SHARPEST].argmax())


def stack_statistics(stack: Stack, at: int | None = None) -> dict[str, float]:
    """Returns every statistic of one stack; `at` is its sharpest slice if that is known."""
    image = stack[sharpest(stack) if at is None else at].astype(np.float64)
    return {name: one(image) for name, one in STATISTICS.items()} | {DRIFT: drift(stack.astype(np.float64))}


def read_published(path: Path) -> Stack:
    """Returns the pixels of a published stack in a .npy file, (slice, row, col) of the sum of both views."""
    codes = np.load(path).astype(np.float32)
    return np.clip((codes - PUBLISHED_BLACK) / PUBLISHED_RANGE, 0.0, 1.0)
