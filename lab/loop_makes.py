"""Lenses of four makes whose growth of blur nobody tells, focused by this package and by others' ways.

    python -m lab.loop --makes --cameras 500

Each lens is one of `lab.true_lenses`: a make, a travel of 20 to 100 steps of blur (and 100 to 400, told
beside), a random start, normal and low light. An error is in steps of blur from the nearest depth that covers
a tenth of the picture; a miss is more than 4. The verifying frame is counted.

    dioptre         Autofocus as it is, for the first time
    second run      the same lens once more, from another start, with what it remembers
    full sweep      49 frames evenly over the travel, and to the peak of the default method
    coarse-fine     by a tenth of the travel until the contrast has fallen to 3/4, then by a fiftieth
    Brent           Brent's search on the gradients over the mean, to within a fiftieth of the travel
    fixed network   one look; the network's move, as if the travel had 48 steps
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from scipy.optimize import minimize_scalar

from dioptre.autofocus.autofocus import Autofocus
from dioptre.autofocus.looks import tiles
from dioptre.cameras.blur_units import WINDOW, StepWindow
from dioptre.confidence.curve import fitted_peak
from dioptre.confidence.reasons import State
from dioptre.focusing.arguments import SEVERAL_LOOKS
from dioptre.focusing.focus import focus
from dioptre.focusing.score_slices import slice_scores
from dioptre.grid import FocusGrid
from dioptre.methods import find_method
from dioptre.miss import MISS_STEPS, SHARP_STEPS
from dioptre.pipeline.executors import local_executor, run_pieces
from dioptre.stack import VIEW_CODES, FocalStack
from lab.true_lenses import TRAVELS, TrueLens, true_lens

LONG: Final = (100.0, 400.0)
FRAMES: Final = 49
BEST, EDGES = "local-norm-dist-sq-4", "gradient-magnitude-mean"
FALLEN, CONTRAST = 0.75, 1.33

Answer = tuple[float, bool]
Way = Callable[[TrueLens, Path], Answer]


@dataclass(frozen=True)
class MakeOutcome:
    """What became of one lens by one way."""

    way: str
    kind: str
    light: str
    views: int
    travel: str
    focused: bool
    off: float
    frames: int


def ours(lens: TrueLens, memory: Path) -> Answer:
    """Focuses a lens; remembers it, or goes by what is remembered."""
    result = Autofocus(lens.camera, start=float(lens.start), memory=memory, on_failure="stay").run()
    return result.subindex, result.state is State.FOCUSED


def full_sweep(lens: TrueLens, _: Path) -> Answer:
    """Takes frames evenly over the travel."""
    n = len(lens.camera.grid)
    places = np.unique(np.rint(np.linspace(0, n - 1, FRAMES)).astype(int))
    frames = np.stack([lens.camera.capture(at) for at in places.tolist()])
    result = focus(frames, grid=FocusGrid(places.astype(float), "counts"))
    lens.camera.capture(round(result.position))
    return result.position, result.state is State.FOCUSED


def coarse_fine(lens: TrueLens, _: Path) -> Answer:
    """Climbs by long steps, then by short ones."""
    last, seen = len(lens.camera.grid) - 1, dict[int, float]()
    focuser, coarse, fine = find_method(BEST).build(), max(1, round(last / 10)), max(1, round(last / 50))

    def contrast(at: int) -> float:
        frame = lens.camera.capture(at)
        seen[at] = float(slice_scores(focuser, frame[None], VIEW_CODES)[0])
        return seen[at]

    def scan(at: int, step: int) -> None:
        best = seen.get(at) or contrast(at)
        while 0 <= at + step <= last:
            at += step
            found = contrast(at)
            best = max(best, found)
            if found < FALLEN * best:
                return

    scan(lens.start, coarse)
    if max(seen, key=seen.__getitem__) == lens.start:
        scan(lens.start, -coarse)
    top = max(seen, key=seen.__getitem__)
    scan(min(top + coarse - 1, last), -fine)
    places = np.array(sorted(seen))
    answer = int(
        np.clip(round(fitted_peak(places, np.array([seen[one] for one in places.tolist()]))), 0, last)
    )
    highest, lowest = max(seen.values()), min(seen.values())
    return answer, contrast(answer) >= FALLEN * highest and highest >= CONTRAST * lowest


def brent(lens: TrueLens, _: Path) -> Answer:
    """Searches for the most gradient over the mean."""
    last, focuser = len(lens.camera.grid) - 1, find_method(EDGES).build()

    def less(place: float) -> float:
        frame = lens.camera.capture(round(place))
        return -float(slice_scores(focuser, frame[None], VIEW_CODES)[0]) / max(float(frame.mean()), 1e-6)

    found = minimize_scalar(less, bounds=(0, last), method="bounded", options={"xatol": max(1.0, last / 50)})
    lens.camera.capture(round(float(found.x)))
    return float(found.x), True


def fixed_network(lens: TrueLens, _: Path) -> Answer:
    """Goes where a network says, as if a step were a 48th of the travel."""
    last, middle = len(lens.camera.grid) - 1, WINDOW // 2
    part = tiles(lens.camera.capture(lens.start))
    looks = FocalStack(part[:, None], np.full((len(part), 1), middle), StepWindow.every_step())
    scores = find_method(SEVERAL_LOOKS[lens.camera.views]).build().scores(looks)[0]
    move = (int(np.argmax(scores)) - middle) * last / (WINDOW - 1)
    answer = float(np.clip(lens.start + move, 0, last))
    lens.camera.capture(round(answer))
    return answer, True


WAYS: Final[dict[str, Way]] = {
    "dioptre": ours,
    "second run": ours,
    "full sweep": full_sweep,
    "coarse-fine": coarse_fine,
    "Brent": brent,
    "fixed network": fixed_network,
}


def outcomes(seed: int, only: str, travels: tuple[float, float]) -> list[MakeOutcome]:
    """Returns what every way makes of one lens, in both lights, with two views and with one."""
    found = []
    name = f"{travels[0]:g} to {travels[1]:g} steps"
    for light in ("normal", "dark"):
        for views in (2, 1):
            with tempfile.TemporaryDirectory() as folder:
                for way, ask in WAYS.items():
                    if not way.startswith(only) and not (way == "second run" and "dioptre".startswith(only)):
                        continue
                    lens = true_lens(seed, light, views, travels)
                    if way == "second run":
                        start = int(np.random.default_rng([seed, 5]).integers(len(lens.camera.grid)))
                        lens = TrueLens(
                            lens.camera, start, lens.steps_per_index, lens.sharp, lens.middle, lens.kind
                        )
                    answer, focused = ask(lens, Path(folder) / "memory.json")
                    off, frames = lens.steps_off(answer), len(lens.camera.visited)
                    found.append(MakeOutcome(way, lens.kind, light, views, name, focused, off, frames))
    return found


def line(name: str, found: list[MakeOutcome]) -> str:
    """Returns a row of the table."""
    off, focused = np.array([one.off for one in found]), np.array([one.focused for one in found])
    frames = np.array([one.frames for one in found])
    return (
        f"{name:<16}{np.mean(off <= SHARP_STEPS):8.1%}{np.mean(off > MISS_STEPS):8.1%}{focused.mean():9.1%}"
        f"{np.mean(focused & (off > MISS_STEPS)):9.2%}{frames.mean():8.2f}{np.median(frames):8.1f}"
    )


def main_makes(chosen: argparse.Namespace) -> None:
    """Prints the tables."""
    count = chosen.cameras
    pieces = [partial(outcomes, chosen.seed + at, chosen.only, TRAVELS) for at in range(count)]
    pieces += [partial(outcomes, chosen.seed + at, chosen.only, LONG) for at in range(count // 4)]
    found: list[MakeOutcome] = []
    with local_executor(chosen.workers) as executor:
        for some in run_pieces(pieces, executor):
            found += some
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(one) for one in found]))
    for travel in dict.fromkeys(one.travel for one in found):
        for views in (2, 1):
            for light in ("normal", "dark", "both"):
                some = [
                    one for one in found
                    if (one.travel, one.views) == (travel, views) and light in (one.light, "both")
                ]  # fmt: skip
                print(f"\n{travel}, {'two views' if views == 2 else 'green'}, {light} light")
                print(f"{'':<16}{'<= 2':>8}{'> 4':>8}{'focused':>9}{'wrong':>9}{'frames':>8}{'median':>8}")
                for name in WAYS:
                    if mine := [one for one in some if one.way == name]:
                        print(line(name, mine))
