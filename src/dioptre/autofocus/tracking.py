"""Tracking: a lens that stays while the picture is sharp, focuses again when it changes, and does not hunt.

A frame after the other is measured where the lens stands, and compared with how sharp it was when it had
been focused. What counts as a change is larger than the noise of these frames, and lasts for some of them.
Then the lens waits until the picture stands still again, and focuses from where it is. If that fails, it
stays, and tries again only after another change: what cannot be focused now is not tried again and again.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from dioptre.autofocus.controller import Halt, LensController
from dioptre.autofocus.lens_plan import LensPlan
from dioptre.confidence.reasons import Reason, State
from dioptre.errors import InputError
from dioptre.focusing.arguments import DEFAULT_MEASURE
from dioptre.focusing.inputs import cut
from dioptre.focusing.result import FocusResult
from dioptre.focusing.score_slices import slice_scores
from dioptre.focusing.trace import Act
from dioptre.methods import find_method
from dioptre.stack import VIEW_CODES

DEVIATIONS: Final = 5.0  # of the noise of still frames: what is more is a change
STILL: Final = 0.5  # of what counts as a change: from one frame to the next, less is standing still
LONGEST: Final = 30  # frames that are waited for the picture to stand still


class Doing(StrEnum):
    """What a lens that tracks is doing."""

    STEADY = "steady"  # the picture is as sharp as it was
    CHANGING = "changing"  # it is not, but that may pass
    FOCUSED = "focused"  # the lens was focused just now
    LOST = "lost"  # that was tried in vain: it stays where it is until something changes


@dataclass(frozen=True)
class Watch:
    """When to focus again.

    Attributes:
        change: Relative change of the sharpness that is one, if it is more than noise.
        frames: Frames in a row that show it; as many frames say first how sharp a still picture is.
        interval: Seconds from frame to frame, beside what the camera takes.
    """

    change: float = 0.2
    frames: int = 3
    interval: float = 0.0

    def __post_init__(self) -> None:
        if not (self.change > 0 and self.frames >= 1 and self.interval >= 0):
            raise InputError(
                f"a change is more than 0, lasts for a frame or more, and frames come after 0 s or more, not "
                f"{self.change:g}, {self.frames} and {self.interval:g}"
            )


@dataclass(frozen=True, eq=False)
class Tracked:
    """What became of a frame.

    Attributes:
        doing: What the lens is doing.
        position: Where it is, in the unit of its grid; None if nobody knows.
        sharpness: How sharp the frame is, over how sharp it was when focused; 1 just then.
        result: Of the run, if the lens was focused just now, or that was tried.
    """

    doing: Doing
    position: float | None
    sharpness: float = 1.0
    result: FocusResult | None = None


@dataclass(eq=False)
class _Level:
    """How sharp a still picture is: the scores of the first few frames."""

    scores: list[float]

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))

    def away(self, score: float) -> float:
        """Returns the relative change of the sharpness since."""
        return abs(score - self.mean) / max(abs(self.mean), 1e-12)

    def ratio(self, score: float) -> float:
        """Returns a sharpness over this one: 1 for the same, 0 included; infinity for any other over 0."""
        if score == self.mean:
            return 1.0
        return score / self.mean if self.mean else math.inf

    def limit(self, watch: Watch) -> float:
        """Returns from where on a relative change is one."""
        noise = float(np.std(self.scores)) / max(abs(self.mean), 1e-12)
        return max(watch.change, DEVIATIONS * noise)


def track(
    focus: Callable[[int], FocusResult],
    open_drive: Callable[[], LensController],
    plan: LensPlan,
    watch: Watch,
) -> Iterator[Tracked]:
    """Yields what became of frame after frame, until the run is cancelled or the camera fails.

    Args:
        focus: Focuses the lens from a position.
        open_drive: Opens the camera for watching.
        plan: What is asked: the region, the measure and the start.
        watch: When to focus again.
    """
    start: int | None = plan.start
    while start is not None:
        result = focus(start)
        good = result.state is not State.FAILED  # an answer that is uncertain is the best there is
        yield Tracked(Doing.FOCUSED if good else Doing.LOST, result.left_at, 1.0, result)
        if result.left_at is None or Reason.CANCELLED in result.reasons:
            return
        drive = open_drive()
        try:
            at = plan.grid.index_near(result.left_at)
            yield from _watched(drive, at, plan, watch, Doing.STEADY if good else Doing.LOST)
            start = drive.at
        except Halt:
            return
        finally:
            drive.close()


def _watched(drive: LensController, at: int, plan: LensPlan, watch: Watch, calm: Doing) -> Iterator[Tracked]:
    """Yields frames where the lens stands, until the picture has changed and stands still again."""
    measure, level = find_method(DEFAULT_MEASURE) if plan.measure is None else plan.measure, _Level([])
    position = float(plan.grid.positions[at])
    before = 0.0  # the score of the last frame; not read at the first, which a level is made of
    drive.act, drive.at = Act.WATCH, at
    changed = 0
    while True:
        frame = np.ascontiguousarray(cut(drive.capture(at), plan.roi))
        score = float(slice_scores(measure.build(), frame[None], VIEW_CODES)[0])
        drive.amend(score=score)
        if len(level.scores) < watch.frames:
            level.scores.append(score)
            yield Tracked(calm, position)
        else:
            limit = level.limit(watch)
            away, jump = level.away(score), abs(score - before) / max(abs(level.mean), 1e-12)
            changed = changed + 1 if away > (STILL * limit if changed else limit) else 0
            yield Tracked(Doing.CHANGING if changed else calm, position, level.ratio(score))
            if changed >= watch.frames and (jump < STILL * limit or changed >= LONGEST):
                return
        before = score
        if watch.interval:
            time.sleep(watch.interval)
