"""A lens focused by this package and by others' ways, on simulated cameras.

    python -m lab.loop                        500 cameras, normal and low light, two views and green
    python -m lab.loop --cameras 20           a few of them
    python -m lab.loop --json loop.json       every answer, too
    python -m lab.loop --only dioptre         ways whose names begin so
    python -m lab.loop --makes                four makes whose growth nobody tells (`lab.loop_makes`)

Each camera is a random phone before a random scene with something to focus on; its voice coil strays
(`dioptre.simulate.lens`). Every way drives the same camera from the same random start. An error is counted
from the position at which that lens really is in focus, in whole positions of the grid; a miss is more
than 4. A scene with several depths has its middle one as truth, for all ways alike; a lens that is sharp on
another one misses it (`false`), and `blurred` counts those of them that are sharp on nothing: not on a tenth
of the region within 4 positions. Every way ends with the lens at its answer, sure of it or not, and the frame
there counts. Time is that of a camera with 30 frames a second that waits 50 ms after each move.

    dioptre       Autofocus as it is; with the risk that is accepted
    full sweep    49 frames, the measure that is best on the published data, and to its peak
    coarse-fine   as libcamera does: by 5 positions until the contrast has fallen to 3/4, the other way if it
                  never rose, then by 1; failed if the last frame has less than 3/4 of the highest contrast,
                  or the contrasts differ by less than a third
    Brent         as OughtaFocus does: Brent's search on the gradients over the mean, to within 1 position
    disparity     as phones do: from the disparity of the first frame by a calibration, then by contrast
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar

from dioptre.autofocus.autofocus import Autofocus
from dioptre.cameras.simulated import SimulatedCamera, draw_camera
from dioptre.confidence.curve import fitted_peak
from dioptre.confidence.reasons import State
from dioptre.focusing.focus import focus
from dioptre.focusing.score_slices import slice_scores
from dioptre.methods import best_index, find_method
from dioptre.miss import COVERED_SHARE, MISS_STEPS
from dioptre.pipeline.executors import local_executor, run_pieces
from dioptre.stack import VIEW_CODES, FocalStack
from lab.loop_makes import main_makes

SEED = 50_000  # of the first camera: apart from those that rules were found on
BEST = "local-norm-dist-sq-4"
EDGES = "gradient-magnitude-mean"
DISPARITY = "dioptre-zncc-disparity"
COARSE, FALLEN, CONTRAST = 5, 0.75, 1.33
RISKS = (0.01, 0.05)

Answer = tuple[int, bool]  # where the lens was left, and whether that is called focused
Way = Callable[[SimulatedCamera, int], Answer]


@dataclass(frozen=True)
class RunOutcome:
    """What became of one camera by one way."""

    way: str
    light: str
    views: int
    seed: int
    focused: bool
    error: int
    index: int
    sharp: float
    frames: int
    travel: int
    seconds: float


class Contrast:
    """Contrast of a camera's frames, each taken once; over their mean if that is wanted."""

    def __init__(self, camera: SimulatedCamera, key: str = BEST, over_mean: bool = False) -> None:
        self.camera, self.focuser, self.over_mean = camera, find_method(key).build(), over_mean
        self.seen: dict[int, float] = {}

    def at(self, index: int) -> float:
        """Returns the contrast of a new frame."""
        frame = self.camera.capture(index)
        mean = max(float(frame.mean()), 1e-6) if self.over_mean else 1.0
        self.seen[index] = float(slice_scores(self.focuser, frame[None], VIEW_CODES)[0]) / mean
        return self.seen[index]

    def peak(self) -> int:
        """Returns the position next to the peak of what was seen."""
        places = np.array(sorted(self.seen))
        return round(fitted_peak(places, np.array([self.seen[one] for one in places.tolist()])))


def ours(risk: float) -> Way:
    """Returns this package's way."""

    def way(camera: SimulatedCamera, start: int) -> Answer:
        result = Autofocus(camera, start=start, risk=risk, on_failure="stay").run()
        if result.left_at != result.grid.positions[result.index]:
            camera.capture(result.index)
        return result.index, result.state is State.FOCUSED

    return way


def full_sweep(camera: SimulatedCamera, _start: int) -> Answer:
    """Goes to the far end, takes a frame at each position, and goes to the peak."""
    frames = np.stack([camera.capture(at) for at in range(len(camera.grid))])
    result = focus(FocalStack.full(frames[None], camera.grid), BEST)
    camera.capture(result.index)
    return result.index, result.state is State.FOCUSED


def coarse_fine(camera: SimulatedCamera, start: int) -> Answer:
    """Climbs by long steps, then by short ones."""
    last, contrast = len(camera.grid) - 1, Contrast(camera)

    def scan(at: int, step: int) -> None:
        best = contrast.seen.get(at) or contrast.at(at)
        while 0 <= at + step <= last:
            at += step
            found = contrast.at(at)
            best = max(best, found)
            if found < FALLEN * best:
                return

    scan(start, COARSE)
    if max(contrast.seen, key=contrast.seen.__getitem__) == start:
        scan(start, -COARSE)
    top = max(contrast.seen, key=contrast.seen.__getitem__)
    scan(min(top + COARSE - 1, last), -1)
    answer = int(np.clip(contrast.peak(), 0, last))
    highest, lowest = max(contrast.seen.values()), min(contrast.seen.values())
    settled = contrast.at(answer)
    return answer, settled >= FALLEN * highest and highest >= CONTRAST * lowest


def brent(camera: SimulatedCamera, start: int) -> Answer:
    """Searches for the most gradient over the mean."""
    contrast = Contrast(camera, EDGES, over_mean=True)
    camera.capture(start)

    def less(place: float) -> float:
        at = round(place)
        return -(contrast.seen.get(at) or contrast.at(at))

    found = minimize_scalar(less, bounds=(0, len(camera.grid) - 1), method="bounded", options={"xatol": 1.0})
    answer = round(float(found.x))
    camera.capture(answer)
    return answer, True


def disparity(camera: SimulatedCamera, start: int) -> Answer:
    """Goes where the disparity of the first frame leads, and climbs from there."""
    last, first = len(camera.grid) - 1, camera.capture(start)
    where = None if camera.where is None else np.array([camera.where])
    look = FocalStack(first[None, None], np.array([[start]]), camera.grid, where)
    at = int(best_index(find_method(DISPARITY).build().scores(look))[0])
    contrast = Contrast(camera)
    for place in (at, min(at + 2, last), max(at - 2, 0)):
        contrast.at(place)
    for _ in range(4):  # on, as long as the sharpest is the outermost
        top = max(contrast.seen, key=contrast.seen.__getitem__)
        on = top + 2 if top == max(contrast.seen) else top - 2 if top == min(contrast.seen) else None
        if on is None or not 0 <= on <= last:
            break
        contrast.at(on)
    answer = int(np.clip(contrast.peak(), 0, last))
    contrast.at(answer)
    return answer, True


WAYS: dict[str, Way] = {
    **{f"dioptre, risk {risk:g}": ours(risk) for risk in RISKS},
    "full sweep": full_sweep,
    "coarse-fine": coarse_fine,
    "Brent": brent,
    "disparity": disparity,
}


def outcomes(seed: int, only: str = "") -> list[RunOutcome]:
    """Returns what every way makes of one camera, or those whose names begin so."""
    found = []
    for light in ("normal", "dark"):
        camera = draw_camera(seed, light)
        start = int(np.random.default_rng([seed, 1]).integers(len(camera.grid)))
        for views in (2, 1):
            camera.views = views
            for name, way in WAYS.items():
                if name.startswith(only) and (views == 2 or way is not disparity):
                    found.append(outcome(name, way, camera, start, light, seed))
    return found


def outcome(name: str, way: Way, camera: SimulatedCamera, start: int, light: str, seed: int) -> RunOutcome:
    """Returns what one way makes of a camera, whose lens stands at a start."""
    camera.capture(start)
    camera.visited.clear()
    camera.seconds = 0.0
    index, focused = way(camera, start)
    travel = int(np.abs(np.diff([start, *camera.visited])).sum())
    error = abs(index - round(camera.truth))
    sharp = sharp_share(camera, index)
    frames = len(camera.visited)
    return RunOutcome(
        name, light, camera.views, seed, focused, error, index, sharp, frames, travel, camera.seconds
    )


def sharp_share(camera: SimulatedCamera, index: int) -> float:
    """Returns how much of the region is at most a miss away from where the lens is focused."""
    depths = camera.stage.scene.depth_map(camera.stage.view.size)
    truly = [camera.lens.rest(at) for at in range(len(camera.grid))]
    places = np.interp(depths.ravel(), truly, np.arange(len(truly)))
    return float(np.mean(np.abs(places - index) <= MISS_STEPS))


def line(name: str, found: list[RunOutcome]) -> str:
    """Returns a row of the table."""
    error, focused = np.array([one.error for one in found]), np.array([one.focused for one in found])
    within = [100 * float(np.mean(error <= one)) for one in (1, 2)]
    false = 100 * float(np.mean(focused & (error > MISS_STEPS)))
    sharp = np.array([one.sharp for one in found])
    blurred = 100 * float(np.mean(focused & (error > MISS_STEPS) & (sharp < COVERED_SHARE)))
    mean = [float(np.mean([getattr(one, name) for one in found])) for name in ("frames", "travel", "seconds")]
    middle = float(np.median([one.frames for one in found]))
    sure = error[focused]
    told = [100 * float(np.mean(sure <= one)) if len(sure) else np.nan for one in (1, 2)]
    return (
        f"{name:<20}{within[0]:8.1f}{within[1]:8.1f}{100 * focused.mean():9.1f}{told[0]:8.1f}{told[1]:8.1f}"
        f"{false:9.2f}{blurred:9.2f}{mean[0]:8.2f}{middle:8.1f}{mean[1]:8.1f}{mean[2]:8.2f}"
    )


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cameras", type=int, default=500)
    parser.add_argument("--seed", type=int, default=SEED, help="of the first camera")
    parser.add_argument("--only", default="", help="how the names of the ways begin")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--makes", action="store_true", help="drive four makes whose growth nobody tells")
    parser.add_argument("--json", type=Path, help="write every answer into this file")
    chosen = parser.parse_args()
    if chosen.makes:
        main_makes(chosen)
        return
    pieces = [partial(outcomes, chosen.seed + at, chosen.only) for at in range(chosen.cameras)]
    found: list[RunOutcome] = []
    with local_executor(chosen.workers) as executor:
        for done, some in enumerate(run_pieces(pieces, executor), 1):
            found += some
            if done % 25 == 0:
                print(f"{done} of {chosen.cameras} cameras", flush=True)
            if chosen.json and (done % 25 == 0 or done == chosen.cameras):
                chosen.json.write_text(json.dumps([asdict(one) for one in found]))
    print_tables(found)


def print_tables(found: list[RunOutcome]) -> None:
    """Prints a table for each light and number of views."""
    for views in (2, 1):
        for light in ("normal", "dark", "both"):
            some = [one for one in found if one.views == views and light in (one.light, "both")]
            runs = len({(one.seed, one.light) for one in some})
            print(f"\n{'two views' if views == 2 else 'green'}, {light} light, {runs} runs each")
            print(
                f"{'':<20}{'<= 1 %':>8}{'<= 2 %':>8}{'focused':>9}{'<= 1':>8}{'<= 2':>8}{'false %':>9}"
                f"{'blurred':>9}{'frames':>8}{'median':>8}{'travel':>8}{'s':>8}"
            )
            for name in WAYS:
                if mine := [one for one in some if one.way == name]:
                    print(line(name, mine))


if __name__ == "__main__":
    main()
