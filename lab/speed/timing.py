"""How the benchmarks measure and print: best of several runs, and a stack to measure on."""

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from scipy.ndimage import gaussian_filter


def write_line(text: str) -> None:
    """Prints a line of a table as soon as it is known."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def best_ms(work: Callable[[], object], repeats: int) -> float:
    """Returns the shortest time of several runs, in milliseconds, after one run that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def best_of_each(works: Sequence[Callable[[], object]], repeats: int, rounds: int = 5) -> list[float]:
    """Returns the shortest time of each work, in milliseconds; by turns, so that all see the same machine."""
    times = [[best_ms(work, repeats) for work in works] for _ in range(rounds)]
    return [min(each) for each in zip(*times, strict=True)]


def noisy_stack(
    slices: int, views: int, rows: int, cols: int, rng: np.random.Generator
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Returns (slice, view, row, col) pixels: a texture blurred away from the middle slice, with noise."""
    texture = rng.random((rows, cols)) ** 3
    pixels = np.empty((slices, views, rows, cols), dtype=np.float32)
    for k in range(slices):
        blurred = gaussian_filter(texture, 0.3 + 0.2 * abs(k - slices // 2))
        for view in range(views):
            pixels[k, view] = 0.1 + 0.7 * blurred + rng.normal(0, 0.01, blurred.shape)
    return np.clip(pixels, 0, 1, out=pixels)
