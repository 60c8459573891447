"""Speed of the whole-frame evaluator against calling the patch version for every patch, in one run.

    python -m lab.speed.frame [slices]

A stack of 49 frames of 1512 x 2016, patches of 128 at stride 40: 1680 of them. Peak memory is printed too.
The last row is `dioptre.focus_map`, which adds the verdicts, against the scores alone.
"""

import resource
import sys
import time
from collections.abc import Sequence

import numpy as np

from dioptre.focusing.arguments import DEFAULT_MEASURE
from dioptre.focusing.focus_map import focus_map
from dioptre.methods import contrast, scores, stereo
from dioptre.methods.frame import PatchLattice, frame_scores
from dioptre.stack import FocalStack, codes_to_pixels
from lab.speed.timing import noisy_stack, write_line

PROMISED = 5.0
MAP_PROMISED = 2.0  # times the scores alone
BLACK, WHITE = 1024.0, 16368.0

# Measures of local responses; the others treat a patch as a unit and are listed apart.
FILTERS = {
    "intensity": [
        "intensity-variance",
        "intensity-coefficient-of-variation",
        "dct-energy-ratio",
        "eigenvalue-trace",
    ],
    "differences": ["total-variation-l1", "total-variation-l2"],
    "Laplacians": ["modified-laplacian", "diagonal-laplacian", "laplacian-energy", "laplacian-variance"],
    "gradients": [
        "gradient-magnitude-mean",
        "gradient-magnitude-variance",
        "gradient-count-3",
        "gradient-count-10",
    ],
    "local contrast, sigma 1": ["local-ratio-1", "local-log-ratio-1", "local-norm-dist-sq-1"],
    "local contrast, sigma 2": ["local-ratio-2", "local-log-ratio-2", "local-norm-dist-sq-2"],
    "local contrast, sigma 4": ["local-ratio-4", "local-log-ratio-4", "local-norm-dist-sq-4"],
    "census": ["census-transform", "rank-transform", "ternary-census-10", "ternary-census-30"],
    "cross-correlation": ["normalized-cross-correlation"],
}


def patch_by_patch(
    frames: np.ndarray[tuple[int, ...], np.dtype[np.uint16]], keys: list[str], lattice: PatchLattice
) -> dict[str, np.ndarray[tuple[int, int, int], np.dtype[np.float64]]]:
    """Returns what frame_scores returns, by calling the patch version for each patch."""
    found = {key: np.empty((*lattice.shape, len(frames))) for key in keys}
    for i, row in enumerate(lattice.row_starts):
        for j, col in enumerate(lattice.col_starts):
            patch = frames[:, :, row : row + lattice.size, col : col + lattice.size]
            stack = FocalStack.full(codes_to_pixels(patch, BLACK, WHITE)[None])
            for key, value in scores(stack, keys).items():
                found[key][i, j] = value[0]
    return found


def print_focus_map(frames: np.ndarray[tuple[int, ...], np.dtype[np.uint16]]) -> None:
    """Prints how long a map with its verdicts takes, and how many times as long as its scores."""
    start = time.perf_counter()
    frame_scores(frames, [DEFAULT_MEASURE], black=BLACK, white=WHITE)
    middle = time.perf_counter()
    focus_map(frames, black=BLACK, white=WHITE)
    scored, judged = middle - start, time.perf_counter() - middle
    promise = "ok" if judged <= MAP_PROMISED * scored else f"above the promised {MAP_PROMISED:.0f}"
    ratio = judged / scored
    write_line(f"{'focus_map, scores and map':<28}{scored:>11.2f}{judged:>9.2f}{ratio:>7.1f}  {promise}")


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    slices = int(arguments[0]) if arguments else 49
    rng = np.random.default_rng(0)
    frames = np.empty((slices, 2, 1512, 2016), dtype=np.uint16)
    for k in range(slices):
        frames[k] = BLACK + (WHITE - BLACK) * noisy_stack(1, 2, 1512, 2016, rng)[0]
    lattice = PatchLattice(1512, 2016)
    every = [*contrast.MEASURES, *stereo.MEASURES]
    filters = [key for keys in FILTERS.values() for key in keys]
    units = [key for key in every if key not in filters]
    rows = [*FILTERS.items(), ("all filter-type", filters), ("patch as a unit", units)]
    frame_scores(frames[:1], every, black=BLACK, white=WHITE)  # compiles
    write_line(f"{'measures':<28}{'patches s':>11}{'frame s':>9}{'ratio':>7}{'error':>10}")
    for name, keys in rows:
        view = frames if any(key in stereo.MEASURES for key in keys) else frames[:, :1]
        start = time.perf_counter()
        fast = frame_scores(view, keys, black=BLACK, white=WHITE)
        middle = time.perf_counter()
        slow = patch_by_patch(view, keys, lattice)
        end = time.perf_counter()
        error = max(np.max(np.abs(fast[k] - slow[k]) / np.maximum(np.abs(slow[k]), 1e-12)) for k in keys)
        ratio = (end - middle) / (middle - start)
        write_line(f"{name:<28}{end - middle:>11.2f}{middle - start:>9.2f}{ratio:>7.1f}{error:>10.1e}")
    print_focus_map(frames[:, :1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    write_line(f"promised for all filter-type measures: {PROMISED:.0f}")
    write_line(f"peak memory {peak:.2f} GB, of which the frames {frames.nbytes / 2**30:.2f} GB")


if __name__ == "__main__":
    main(sys.argv[1:])
