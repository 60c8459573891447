"""Samples of confidence: what methods answer to sweeps of all kinds, and how far off that is.

    python -m lab.confidence_samples OUT --scenes 1500 --seed 7 --workers 2

    python -m lab.confidence_samples OUT --lenses 1500        the same of live lenses

Every sweep of `lab.true_sweeps` is put to the default method and to others that are drawn for it; on whole
sweeps of the phone, networks and disparity methods answer too, from the stack or from a few looks. Kept are
the features of each answer (`confidence.features`) and how far it is from the nearest place that is sharp.
Every lens of `lab.true_lenses` is driven, and what is known after each of its looks is an answer.
OUT/000012.npz holds what scene 12 gave, and OUT/L00012.npz lens 12; what is there already is not made again.
`lab.fit_confidence` reads them.
"""

import argparse
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dioptre.autofocus.autofocus import Autofocus
from dioptre.autofocus.controller import LensController
from dioptre.autofocus.run import CONTRAST, LensRun
from dioptre.autofocus.search import askers_of, policy_of, search, see_stack
from dioptre.cameras.base import connect
from dioptre.confidence.curve import peak_position
from dioptre.confidence.features import find_evidence, near_of, own_doubt
from dioptre.confidence.statistics import SliceBlocks
from dioptre.focusing.arguments import DEFAULT_METHOD
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS, find_method, scores
from dioptre.methods.base import ANY, WHOLE, Method
from dioptre.pipeline.executors import local_executor, run_pieces
from dioptre.posterior import DepthPrior, JointPosterior, Posterior
from dioptre.stack import FocalStack
from lab.true_lenses import FAULTS, TRAVELS, TrueLens, true_lens
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
CONTRAST_ALONE = 0.2  # of the lenses: whose pictures no network knows
LONG_TRAVELS = (100.0, 400.0)
NEVER_SURE = 1e-9  # an accepted risk at which a lens looks on


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
    features = find_evidence(blocks, answer, own, positions, near_of(posterior.positions)).features
    return Sample(key, features, sweep.steps_off(answer), answer)


@dataclass(frozen=True, eq=False)
class LensKind:
    """What is written of a lens beside its answers: as `TrueSweep` has it."""

    kind: str
    clean: bool
    pixels: range


class WatchedRun(LensRun):
    """A run that keeps what is known after each look."""

    samples: list[Sample]
    lens: TrueLens

    def _judge(self, known: JointPosterior) -> None:
        super()._judge(known)
        ladder, posterior, context = self.on_ladder(known)
        answer = float(np.interp(self.answer, ladder, np.arange(len(ladder))))
        near = context.near(len(ladder))
        own = own_doubt(posterior, answer, near)
        features = find_evidence(self.looks.blocks, answer, own, context.looks, near).features
        index = self.plan.scale.even_to_index(self.answer)
        key = CONTRAST if self.plan.method is None else self.plan.method.key
        method = f"{key}@{len(self.looks.looks)}"
        self.samples.append(Sample(method, features, self.lens.steps_off(index), index))


def lens_samples(seed: int, scene: int) -> list[tuple[LensKind, Sample]]:
    """Returns what is known after each look of a lens, with and without a fault."""
    rng = np.random.default_rng([seed, scene, 2])
    found = []
    for fault in ("", "", str(rng.choice(FAULTS))):
        light, views = str(rng.choice(["normal", "dark"])), int(rng.integers(1, 3))
        travels = TRAVELS if rng.random() < 0.8 else LONG_TRAVELS
        lens = true_lens(seed * 10_000_000 + scene, light, views, travels, fault)
        focuser = Autofocus(lens.camera, start=lens.start, risk=NEVER_SURE)
        camera = connect(lens.camera)
        drive = LensController(camera, focuser, threading.Event())
        plan = focuser._plan(camera, None)
        run = WatchedRun(replace(plan, method=None) if rng.random() < CONTRAST_ALONE else plan, drive)
        run.samples, run.lens = [], lens
        run.focus()
        drive.close()
        kind = LensKind(f"lens/{fault or 'clean'}", not fault, range(len(lens.camera.grid)))
        found += [(kind, one) for one in run.samples]
    return found


def scene_samples(folder: Path, seed: int, scene: int, lens: bool = False) -> int:
    """Writes the samples of a scene, if they are not there; returns how many there are."""
    path = folder / (f"L{scene:05d}.npz" if lens else f"{scene:06d}.npz")
    if not path.exists():
        rng = np.random.default_rng([seed, scene, 1])
        found: list[tuple[Any, Sample]] = lens_samples(seed, scene) if lens else []
        if not lens:
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
    parser.add_argument("--scenes", type=int, default=0)
    parser.add_argument("--lenses", type=int, default=0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--workers", type=int, default=0)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    many = ((False, chosen.scenes), (True, chosen.lenses))
    pieces = [
        partial(scene_samples, chosen.out, chosen.seed, scene, lens)
        for lens, count in many
        for scene in range(count)
    ]
    with local_executor(chosen.workers) as executor:
        for number, count in enumerate(run_pieces(pieces, executor)):
            print(f"scene {number + 1} of {len(pieces)}: {count} samples", file=sys.stderr)


if __name__ == "__main__":
    main()
