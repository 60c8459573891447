"""Samples of confidence: what methods answer to sweeps of all kinds, and how far off that is.

    python -m lab.confidence_samples OUT --scenes 1500 --seed 7 --workers 2

Every sweep of `lab.true_sweeps` is put to the default method and to others that are drawn for it; on whole
sweeps of the phone, networks and disparity methods answer too, from the stack or from a few looks. Kept are
the features of each answer (`confidence.features`) and how far it is from the nearest place that is sharp.
OUT/000012.npz holds what scene 12 gave; what is there already is not made again. `lab.fit_confidence` reads
them.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from dioptre.autofocus.search import askers_of, policy_of, search, see_stack
from dioptre.confidence.curve import peak_position
from dioptre.confidence.features import find_evidence, near_of, own_doubt
from dioptre.confidence.statistics import SliceBlocks
from dioptre.focusing.arguments import DEFAULT_METHOD
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS, find_method, scores
from dioptre.methods.base import ANY, WHOLE, Method
from dioptre.pipeline.executors import local_executor, run_pieces
from dioptre.posterior import DepthPrior, Posterior
from dioptre.stack import FocalStack
from lab.true_sweeps import TrueSweep, true_sweeps

MEASURES = [
    key for key, one in METHODS.items() if one.looks == WHOLE and one.views == 1 and one.build().by_slice
]
VIEWS = [
    key for key, one in METHODS.items() if one.looks == WHOLE and one.views == 2 and one.build().by_slice
]
OTHERS = [key for key, one in METHODS.items() if not one.build().by_slice]
EACH = 2  # measures beside the default
NETWORKS = 4  # that are asked about a whole sweep of the phone
MOST_LOOKS = 3


@dataclass(frozen=True, eq=False)
class Sample:
    """One answer.

    Attributes:
        method: Key, with the number of looks after an @ if it did not see the whole stack.
        features: By name.
        off: How many steps it is from the nearest sharp place; infinite if nothing is sharp.
        answer: The slice, with its fraction.
    """

    method: str
    features: dict[str, float]
    off: float
    answer: float


def samples_of(sweep: TrueSweep, rng: np.random.Generator) -> Iterator[Sample]:
    """Yields what methods answer to one sweep."""
    blocks = SliceBlocks.of(sweep.pixels)
    green = sweep.pixels.mean(axis=1, keepdims=True) if sweep.pixels.shape[1] == 2 else sweep.pixels
    keys = [DEFAULT_METHOD, *rng.choice(MEASURES, EACH, replace=False)]
    yield from _measured(sweep, green, blocks, keys)
    if sweep.pixels.shape[1] == 2:
        yield from _measured(sweep, sweep.pixels, blocks, [str(rng.choice(VIEWS))])
    if sweep.grid_is_learnaf:
        for key in rng.choice(OTHERS, NETWORKS, replace=False):
            yield from _looked(sweep, find_method(str(key)), blocks, rng)


def _measured(
    sweep: TrueSweep, pixels: np.ndarray, blocks: SliceBlocks, keys: Sequence[str]
) -> Iterator[Sample]:
    stack = FocalStack.full(pixels[None], FocusGrid(range(len(pixels))))
    for key, curves in scores(stack, keys).items():
        curve = curves[0]
        if np.isfinite(curve).sum() > 2 and np.ptp(curve[np.isfinite(curve)]) > 0:
            answer = float(peak_position(curve))
            yield Sample(key, find_evidence(blocks, answer).features, sweep.steps_off(answer), answer)


def _looked(
    sweep: TrueSweep, method: Method, blocks: SliceBlocks, rng: np.random.Generator
) -> Iterator[Sample]:
    """Yields what a method answers to the whole stack, or after each of a few looks, or both."""
    pixels = sweep.pixels if method.views == 2 else sweep.pixels.mean(axis=1, keepdims=True)
    seen = blocks if method.views == 2 else blocks.one_view()
    stack = FocalStack.full(np.ascontiguousarray(pixels)[None], FocusGrid.learnaf(), np.array([sweep.where]))
    if method.looks in (WHOLE, ANY):
        posterior = method.build().posterior(stack)
        if posterior is not None:
            yield _answered(sweep, method.key, posterior, seen, None)
    if method.looks != WHOLE:
        most = MOST_LOOKS if method.leads_itself else method.looks
        start = np.array([rng.integers(len(pixels))])
        asked = askers_of(method, most, DepthPrior.even())
        trail = search(start, see_stack(stack, 0), asked, policy_of(method, most))
        for looks in range(1, most + 1) if method.leads_itself else (most,):
            at = np.unique(trail.positions[0, :looks])
            key = f"{method.key}@{looks}"
            yield _answered(sweep, key, trail.posteriors[looks - 1], seen.at(at), at.astype(float))


def _answered(
    sweep: TrueSweep, key: str, posterior: Posterior, blocks: SliceBlocks, positions: np.ndarray | None
) -> Sample:
    answer = float(peak_position(posterior.scores()[0]))
    own = own_doubt(posterior, answer, near_of(posterior.positions))
    features = find_evidence(blocks, answer, own, positions, posterior.positions).features
    return Sample(key, features, sweep.steps_off(answer), answer)


def scene_samples(folder: Path, seed: int, scene: int) -> int:
    """Writes the samples of a scene, if they are not there; returns how many there are."""
    path = folder / f"{scene:06d}.npz"
    if not path.exists():
        rng = np.random.default_rng([seed, scene, 1])
        found = [(sweep, one) for sweep in true_sweeps(seed, scene) for one in samples_of(sweep, rng)]
        names = list(dict.fromkeys(name for _, one in found for name in one.features))
        partial_path = path.with_suffix(".partial.npz")
        np.savez_compressed(
            partial_path,
            names=np.array(names),
            features=np.array(
                [[one.features.get(name, np.nan) for name in names] for _, one in found], np.float32
            ),
            method=np.array([one.method for _, one in found]),
            kind=np.array([sweep.kind for sweep, _ in found]),
            clean=np.array([sweep.clean for sweep, _ in found]),
            off=np.array([one.off for _, one in found], np.float32),
            answer=np.array([one.answer for _, one in found], np.float32),
            slices=np.array([len(sweep.pixels) for sweep, _ in found]),
            scene=np.full(len(found), scene),
        )
        partial_path.replace(path)
    return len(np.load(path)["off"])


def main() -> None:
    """Writes samples."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--scenes", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--workers", type=int, default=0)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    pieces = [partial(scene_samples, chosen.out, chosen.seed, scene) for scene in range(chosen.scenes)]
    with local_executor(chosen.workers) as executor:
        for number, count in enumerate(run_pieces(pieces, executor)):
            print(f"scene {number + 1} of {chosen.scenes}: {count} samples", file=sys.stderr)


if __name__ == "__main__":
    main()
