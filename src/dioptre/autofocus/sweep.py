"""Sweeping: the focus of a lens by contrast alone, coarse to fine, in few frames.

First some positions all over the way, then again and again those half-way between the sharpest one and its
neighbours, until these are as close as the peak is wide. The peak is read off between positions, and the lens
goes there. Frames that were taken before, for whatever reason, count.

A picture that is mostly black, such as a star field, is measured where its light is
(`focusing.bright_regions`) if that is at a few clear places, and by a measure that is large for small bright
things.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from jaxtyping import Float, Float32, Int

from dioptre.autofocus.controller import LensController
from dioptre.cameras.base import Frame
from dioptre.confidence.curve import Curve, peak_position
from dioptre.confidence.exposure import Exposure
from dioptre.confidence.features import noise_floor
from dioptre.confidence.reasons import Reason, State
from dioptre.confidence.statistics import SliceBlocks
from dioptre.confidence.verdict import Verdict, VerdictContext, judge
from dioptre.focusing.arguments import DEFAULT_MEASURE
from dioptre.focusing.bright_regions import bright_places, side_by_side
from dioptre.focusing.score_slices import slice_scores
from dioptre.focusing.trace import Act
from dioptre.methods import find_method
from dioptre.methods.base import Method
from dioptre.methods.voting import VOTES_BY
from dioptre.stack import VIEW_CODES

COARSE: Final = (9, 21)  # positions of the first round, at least and at most
AROUND: Final = 3  # gaps between the positions of a round where the focus is expected
A_PART: Final = 6  # positions of a ladder to each of the first round, if that gives as many
STARS: Final = "gradient-magnitude-variance"  # measures light in the dark
BLACK: Final = 0.05  # of the brightest: so dark is most of it
FINE: Final = 5.0  # positions, at least, over the width of a peak
THIN: Final = 3.5  # of the frames over that width, as many tell its shape
AS_SHARP: Final = 0.75  # of the height of the curve: what the frame at the peak has at least
HIGH: Final = 0.5  # of a curve's height: what a bell is laid through
LEAST: Final = 0.05  # and what is lower counts as this high
ALIKE: Final = 0.08  # relative: detail that changes less over the whole way is the same everywhere
CLEAR: Final = 1.5  # times the noise at most: detail that there is no doubt about
WIDE: Final = 0.25  # of the ladder

Pixels = Float32[np.ndarray, "slice view row col"]


@dataclass(eq=False)
class Gathered:
    """Regions of frames and where they were taken; of several at one place the last one counts.

    Attributes:
        frames: By position.
    """

    frames: dict[int, Frame] = field(default_factory=dict)

    @property
    def places(self) -> Int[np.ndarray, " some"]:
        """Where they were taken, rising."""
        return np.array(sorted(self.frames), dtype=np.int64)

    @property
    def pixels(self) -> Pixels:
        """The frames in that order."""
        return np.stack([self.frames[at] for at in self.places.tolist()])


@dataclass(frozen=True, eq=False)
class Peak:
    """What a sweep found.

    Attributes:
        position: Where the peak is, whole or between positions.
        places: Where frames were taken, rising.
        curve: Their scores.
        verdict: What it is worth; errors are in positions of the ladder.
        method: Who scored.
    """

    position: float
    places: Int[np.ndarray, " some"]
    curve: Curve
    verdict: Verdict
    method: Method

    @property
    def index(self) -> int:
        """The position of the ladder next to the peak."""
        return int(np.clip(round(self.position), self.places[0], self.places[-1]))

    def height_of(self, score: float) -> float:
        """Returns how sharp something of some score is, from 0, the lowest, to 1, the highest."""
        span = float(np.ptp(self.curve))
        return (score - float(self.curve.min())) / span if span > 0 else 1.0


class FrameScorer:
    """A measure of contrast that scores frames: of the whole region, or of where its light is.

    Args:
        method: The measure, or a method whose parts vote by one; None to choose by what is seen.
    """

    def __init__(self, method: Method | None) -> None:
        if method is not None and method.key in VOTES_BY:
            # a vote is taken among all slices, once they are there
            method = find_method(VOTES_BY[method.key])
        self.given = method
        self.method = find_method(DEFAULT_MEASURE) if method is None else method
        self.windows: Int[np.ndarray, "place 2"] | None = None

    def choose(self, frames: Pixels) -> None:
        """Looks whether frames are black but for a few lights."""
        if self.given is not None:
            return
        light = frames.mean(axis=(0, 1))
        black = float(np.median(light)) <= BLACK * float(frames.max())
        self.windows = bright_places(light) if black else None
        self.method = find_method(STARS if black else DEFAULT_MEASURE)

    def shown(self, frames: Pixels) -> Float32[np.ndarray, "slice view down across"]:
        """Returns what is measured of frames."""
        if self.windows is None:
            return frames
        return np.stack([side_by_side(one, self.windows) for one in frames])

    def scores(self, frames: Pixels) -> Float[np.ndarray, " slice"]:
        """Returns the score of each frame."""
        return slice_scores(self.method.build(), self.shown(frames), VIEW_CODES)


def first_round(first: int, last: int) -> Int[np.ndarray, " some"]:
    """Returns the positions that a sweep begins with: both ends, and some evenly between."""
    n = last - first + 1
    count = min(n, int(np.clip(n // A_PART + 1, *COARSE)))
    return np.unique(np.rint(np.linspace(first, last, count)).astype(np.int64))


def around(first: int, last: int) -> Int[np.ndarray, " some"]:
    """Returns the positions of a first round where the focus is expected: a few, none at the ends."""
    apart = max(2, round((last - first) / AROUND))
    middle = (first + last) / 2
    places = np.rint(middle + apart * np.arange(-AROUND, AROUND + 1)).astype(np.int64)
    return places[(places >= first) & (places <= last)]


def between(places: Int[np.ndarray, " some"], curve: Curve) -> list[int]:
    """Returns where to look next: half-way to the neighbours of the sharpest, unless they are close enough.

    Close enough is a part of the width of the peak; a position is always.
    """
    top = int(np.argmax(curve))
    wanted = max(1, math.floor(width_of(places, curve) / FINE))
    gaps = [(places[one], places[one + 1]) for one in (top - 1, top) if 0 <= one < len(places) - 1]
    return [int((low + high) // 2) for low, high in gaps if high - low > wanted]


def width_of(places: Int[np.ndarray, " some"], curve: Curve) -> float:
    """Returns how many positions wide a peak is at half its height, about."""
    top = int(np.argmax(curve))
    height = (curve - curve.min()) / max(float(np.ptp(curve)), 1e-30)
    left, right = top, top
    while left > 0 and height[left - 1] >= HIGH:
        left -= 1
    while right < len(curve) - 1 and height[right + 1] >= HIGH:
        right += 1
    outer = places[max(left - 1, 0)], places[min(right + 1, len(places) - 1)]
    return (float(places[right] - places[left]) + float(outer[1] - outer[0])) / 2


def thinned(places: Int[np.ndarray, " some"], curve: Curve) -> Int[np.ndarray, " fewer"]:
    """Returns which frames tell the shape of a peak: the sharpest, and away from it none close to another.

    Frames crowd around a peak that was climbed; as a curve of slices they would look like a plateau.
    """
    apart, top = max(1.0, width_of(places, curve) / THIN), int(np.argmax(curve))
    kept = [top]
    for way in (range(top + 1, len(places)), range(top - 1, -1, -1)):
        last = places[top]
        for at in way:
            if abs(int(places[at] - last)) >= apart or at in (0, len(places) - 1):
                kept.append(at)
                last = places[at]
    return np.array(sorted(kept))


def fitted_peak(places: Int[np.ndarray, " some"], curve: Curve) -> float:
    """Returns where the peak is, by a bell through what is high around the sharpest.

    A bell is a parabola in the logarithm. A parabola through the scores themselves is drawn to the side that
    has more frames, as a peak's flanks bend outwards. What is higher counts more (Guo 2011).
    """
    top = int(np.argmax(curve))
    if not 0 < top < len(curve) - 1:
        return float(places[top])
    height = (curve - curve.min()) / max(float(np.ptp(curve)), 1e-30)
    left = right = top
    while left > 0 and (height[left - 1] >= HIGH or top - left < 1):
        left -= 1
    while right < len(curve) - 1 and (height[right + 1] >= HIGH or right - top < 1):
        right += 1
    some = slice(left, right + 1)
    away = (places[some] - places[top]).astype(np.float64)
    high = np.maximum(height[some], LEAST)
    bend, slope, _ = np.polyfit(away, np.log(high), 2, w=high)
    if not bend < 0:
        return float(places[top])
    before, after = places[top - 1] - places[top], places[top + 1] - places[top]
    return float(places[top]) + float(np.clip(-slope / (2 * bend), before, after))


def sweep(
    drive: LensController,
    measure: FrameScorer,
    gathered: Gathered,
    risk: float,
    within: tuple[int, int] | None = None,
    weigh: Callable[[Peak], Peak] = lambda peak: peak,
) -> Peak:
    """Returns what a sweep through a lens's limits finds; the lens is left anywhere.

    Args:
        drive: The camera, which shows frames to whoever gathers them.
        measure: Who scores frames.
        gathered: The regions of all frames, those before the sweep and those of it.
        risk: How often an answer that is called focused may be a miss.
        within: Where the focus is expected. Nothing else is looked at, if there is a clear peak inside.
        weigh: Returns a peak with what else is known of it.

    Raises:
        Halt: If the run is ended.
    """
    if within is not None and within[1] - within[0] >= 2:
        peak = weigh(_climb(drive, measure, gathered, around(*within), risk))
        if peak.verdict.state is State.FOCUSED and within[0] < peak.position < within[1]:
            return peak
    return weigh(_climb(drive, measure, gathered, first_round(*drive.limits), risk))


def _climb(
    drive: LensController,
    measure: FrameScorer,
    gathered: Gathered,
    places: Int[np.ndarray, " some"],
    risk: float,
) -> Peak:
    """Returns the peak that a first round at some places and finer ones lead to."""
    _take(drive, gathered, places.tolist())
    measure.choose(gathered.pixels)
    while more := between(gathered.places, measure.scores(gathered.pixels)):
        _take(drive, gathered, more)
    return judged(gathered, measure, len(drive.grid), risk)


def _take(drive: LensController, gathered: Gathered, places: list[int]) -> None:
    """Takes frames at places that have none, along one way: the shorter one, or that of the backlash."""
    wanted = [one for one in sorted(places) if one not in gathered.frames]
    here, way = drive.at, drive.approach
    down = here is not None and wanted and abs(here - wanted[-1]) < abs(here - wanted[0])
    drive.act = Act.SWEEP
    for at in reversed(wanted) if way < 0 or (way == 0 and down) else wanted:
        drive.capture(at)


def judged(gathered: Gathered, measure: FrameScorer, n: int, risk: float) -> Peak:
    """Returns where the peak of what was gathered is, and what it is worth."""
    places, everything = gathered.places, measure.shown(gathered.pixels)
    focuser = measure.method.build()
    scores = slice_scores(focuser, everything, VIEW_CODES)
    some = thinned(places, scores)
    pixels, at = everything[some], peak_position(scores[some])
    blocks = SliceBlocks.of(pixels)
    verdict = judge(at, blocks, Exposure.of(pixels), context=VerdictContext(risk)).placed(places[some])
    if verdict.state is State.FAILED and is_stuck(blocks, places[some], n):
        verdict = replace(verdict, reasons=(Reason.LENS_STUCK, *verdict.reasons))
    return Peak(fitted_peak(places, scores), places, scores, verdict, measure.method)


def is_stuck(blocks: SliceBlocks, places: Int[np.ndarray, " some"], n: int) -> bool:
    """Returns whether there is clear detail, and all over a wide way as much of it."""
    if len(places) < 3 or places[-1] - places[0] < WIDE * n:
        return False
    floor = noise_floor(blocks)
    detail = blocks.fine.mean(axis=1) - floor
    return bool(detail.min() > CLEAR * floor.max() and np.ptp(detail) < ALIKE * detail.mean())
