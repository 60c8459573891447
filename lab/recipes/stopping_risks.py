"""How sure looks through a lens are: counts the numbers of `autofocus/stopping.py` on simulated cameras.

    python -m lab.recipes.stopping_risks record FOLDER --cameras 217   films cameras: a frame at each position
    python -m lab.recipes.stopping_risks count FOLDER                  the search looks at them; counts

Cameras are those of `python -m lab.loop` with other seeds, in normal and in low light. A frame stands
for every capture at its position: the stray of the lens and the noise are drawn once for each. Counted are

* the share of misses (more than 4 positions) among answers of two looks or more whose expected error is at
  most so much, beside what `risk_of` says of it;
* what becomes of searches that stop at an expected error. A frame at the answer is counted unless the lens
  may stay where it is; nothing is swept.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Int

from dioptre.autofocus.autofocus import LOOKS
from dioptre.autofocus.run import BESIDE, LANDS
from dioptre.autofocus.search import Ask, Trail, askers_of, policy_of, search, see_stack
from dioptre.autofocus.stopping import combined, risk_of, stays
from dioptre.cameras.simulated import draw_camera
from dioptre.focusing.arguments import SEVERAL_LOOKS
from dioptre.methods import find_method
from dioptre.methods.base import best_index
from dioptre.miss import MISS_STEPS
from dioptre.optics import CameraModel
from dioptre.posterior import DepthPrior, Posterior
from dioptre.stack import FocalStack

SEED = 2000  # of the first camera: apart from those of the benchmark
BOUNDS = (1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.5, 3.0, 4.0)


@dataclass(frozen=True, eq=False)
class State:
    """What is known after some looks of a search.

    Attributes:
        expected: The expected error of the answer.
        error: Its true error.
        frames: Looks so far, and the frame at the answer unless the lens may stay.
        travel: Of the lens, in positions.
    """

    expected: float
    error: int
    frames: int
    travel: int


def record(seed: int, light: str, folder: Path) -> None:
    """Films one camera at each position, in random order."""
    path = folder / f"{seed}-{light}.npz"
    if path.exists():
        return
    camera = draw_camera(seed, light)
    n = len(camera.grid)
    order = np.random.default_rng([seed, 2]).permutation(n)
    frames = np.empty((n, 2, *camera.shape), np.float16)
    for at in order.tolist():
        frames[at] = camera.capture(at)
    start = int(np.random.default_rng([seed, 1]).integers(n))
    part = path.with_suffix(".part.npz")
    np.savez(part, frames=frames, truth=camera.truth, where=np.array(camera.where), start=start)
    part.rename(path)


def searched(path: Path, views: int) -> list[State]:
    """Returns what is known after each look of a search through a film."""
    film = np.load(path)
    pixels = film["frames"].astype(np.float32)
    stack = FocalStack.full(pixels[None], CameraModel.pixel3().grid, where=film["where"][None])
    stack = stack if views == 2 else stack.green()
    method, looks = find_method(SEVERAL_LOOKS[views]), LOOKS[views]
    policy = replace(policy_of(method, looks), apart=BESIDE, lands=LANDS, straddles=0)
    ask = [_with_contrast(one) for one in askers_of(method, looks, DepthPrior.even())]
    trail = search(np.array([int(film["start"])]), see_stack(stack, 0), ask, policy)
    return list(_states(trail, round(float(film["truth"]))))


def _with_contrast(ask: Ask[FocalStack]) -> Ask[FocalStack]:
    return lambda looks: combined(ask(looks), looks)


def _states(trail: Trail, truth: int) -> Iterator[State]:
    for count, posterior in enumerate(trail.posteriors, 1):
        seen: Int[np.ndarray, " look"] = trail.positions[0, :count]
        yield _state(posterior, seen, truth)


def _state(posterior: Posterior, seen: Int[np.ndarray, " look"], truth: int) -> State:
    answer, last = int(best_index(posterior.scores())[0]), int(seen[-1])
    left = last if stays(posterior, last, answer) else answer
    travel = int(np.abs(np.diff([*seen, left])).sum())
    expected = float(posterior.expected_error().min())
    return State(expected, abs(left - truth), len(seen) + (left != last), travel)


def print_shares(found: list[list[State]], views: int) -> None:
    """Prints how many answers with at most some expected error are misses, and what is said of them."""
    states = [one for states in found for one in states[1:]]
    expected = np.array([one.expected for one in states])
    missed = np.array([one.error > MISS_STEPS for one in states])
    print(f"{'expected':>9}{'answers %':>11}{'misses %':>10}{'risk %':>8}")
    for bound in BOUNDS:
        taken = expected <= bound
        share = 100 * float(missed[taken].mean()) if taken.any() else np.nan
        print(f"{bound:9.1f}{100 * taken.mean():11.1f}{share:10.2f}{100 * risk_of(bound, views):8.2f}")


def print_stops(found: list[list[State]]) -> None:
    """Prints what becomes of searches that stop once the expected error is at most so much."""
    print(f"{'stop at':>8}{'<= 1 %':>8}{'<= 2 %':>8}{'focused':>9}{'false %':>9}{'frames':>8}{'travel':>8}")
    for bound in BOUNDS:
        ends = [next((one for one in states[1:] if one.expected <= bound), states[-1]) for states in found]
        error, sure = np.array([one.error for one in ends]), np.array([one.expected <= bound for one in ends])
        rates = [
            100 * float(np.mean(one)) for one in (error <= 1, error <= 2, sure, sure & (error > MISS_STEPS))
        ]
        frames, travel = (float(np.mean([getattr(one, key) for one in ends])) for key in ("frames", "travel"))
        print(
            f"{bound:8.1f}{rates[0]:8.1f}{rates[1]:8.1f}{rates[2]:9.1f}{rates[3]:9.2f}"
            f"{frames:8.2f}{travel:8.1f}"
        )


def main() -> None:
    """Films cameras, or counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("record", "count"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cameras", type=int, default=217)
    parser.add_argument("--seed", type=int, default=SEED)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    names = [(chosen.seed + at, light) for at in range(chosen.cameras) for light in ("normal", "dark")]
    if chosen.what == "record":
        for seed, light in names:
            record(seed, light, chosen.folder)
        return
    paths = [chosen.folder / f"{seed}-{light}.npz" for seed, light in names]
    found = {views: [searched(path, views) for path in paths if path.exists()] for views in (2, 1)}
    for views, some in found.items():
        print(f"\n{'two views' if views == 2 else 'green'}, {len(some)} searches")
        print_shares(some, views)
        print_stops(some)


if __name__ == "__main__":
    main()
