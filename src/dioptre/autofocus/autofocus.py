"""Autofocus: a lens that is focused by a few looks, with the search that is evaluated; swept if need be."""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dioptre.autofocus.controller import PATIENCE_S, LensController, Rules, refuse_busy
from dioptre.autofocus.rescaled_camera import lens_positions
from dioptre.autofocus.run import LensRun
from dioptre.autofocus.run_settings import LensRunSettings
from dioptre.autofocus.search import policy_of
from dioptre.autofocus.tracking import Tracked, Watch, track
from dioptre.cameras.base import Camera, connect, to_index
from dioptre.cameras.blur_units import WINDOW, to_steps
from dioptre.confidence.model import RISK, check_risk
from dioptre.errors import InputError, MethodError
from dioptre.focusing.arguments import ONE_LOOK, SEVERAL_LOOKS, to_prior
from dioptre.focusing.focus import EVEN, AnyCamera
from dioptre.focusing.inputs import to_rois
from dioptre.focusing.result import FocusResult, Roi
from dioptre.focusing.trace import Step
from dioptre.grid import FocusGrid
from dioptre.methods import find_method
from dioptre.methods.base import WHOLE, Method
from dioptre.posterior import DepthPrior

LOOKS: Final = {2: 3, 1: 4}  # by views: with one, a look does not tell on which side the focus is
SWEEP: Final = "sweep"
ALWAYS: Final = "always"
RETURN, STAY = "return", "stay"


@dataclass(frozen=True)
class Autofocus:
    """Focuses a camera: by a few looks, or else by a sweep, checked at the end.

        result = dioptre.Autofocus(camera).run(roi=(x, y, w, h))
        result.state, result.index, result.left_at, result.trace

    Positions are indices of the camera's ladder. Nothing is asked of a camera outside the limits. What cannot
    be used is said before anything moves, as an exception. From then on a run returns a result, whatever the
    camera does: it says what happened, and where the lens was left (dioptre.autofocus.controller says what is
    promised about time).

    Attributes:
        camera: Moves the lens and takes frames; dioptre.cameras.base says what it promises.
        method: Key of a method with few looks; by default ours for as many views and looks as there are. Or
            that of a measure that scores frames by themselves, with which the lens is swept at once.
        looks: How many looks it takes at most; by default three with two views and four with one. A method
            for two takes two.
        fallback: "sweep" to sweep the lens by contrast when that knows more than the looks, or when the
            default method does not know such a camera; "always" whenever the looks are not sure, which takes
            some ten frames more; None to leave it at that.
        limits: The first and the last position that the lens may go to; the whole ladder by default.
        start: Where the first look is taken; the middle of the limits by default.
        backlash: Positions by which the lens goes too far and comes back, to arrive always moving towards
            near; negative to arrive moving towards far.
        settle: Seconds that are waited after each move before another frame is taken, for a camera that says
            too early that its lens has settled.
        timeout: Seconds that a run may take; None for as long as it takes.
        risk: How often an answer that is called focused may be off by more than 4 of 49 positions.
        prior: Where things are expected before looking: "even", "far", or a DepthPrior.
        on_step: Told every step (dioptre.focusing.trace.Step) of a run meanwhile.
        on_failure: "return" to send the lens back to the start if nothing is in focus, "stay" to leave it.
        sure: It stops early once so much of the posterior lies within an index of the answer, and looks as
            in the evaluation; by default it stops as soon as an answer can be taken at the accepted risk.
        optics: What the camera is, for networks, which know only the phone that they were trained on: a
            CameraModel, FocusSteps (dioptre.cameras.blur_units), or a camera file. The search then goes by
            steps, each at the nearest position of the camera's ladder, on from the end of a window of steps;
            on a long way first by long steps, with frames shown smaller, as many looks each time.
        positions: Where the positions of that ladder are, in the unit of `optics`; its dioptres by default.
        patience: Seconds in which a camera that is told to stop must do so, before it is left to itself.
    """

    camera: Camera
    method: str | None = None
    looks: int | None = None
    fallback: str | None = SWEEP
    limits: tuple[int, int] | None = None
    start: int | None = None
    backlash: int = 0
    settle: float = 0.0
    timeout: float | None = None
    risk: float = RISK
    prior: DepthPrior | str = EVEN
    on_step: Callable[[Step], None] | None = None
    on_failure: str = RETURN
    sure: float | None = None
    optics: AnyCamera | None = None
    positions: Sequence[float] | None = None
    patience: float = PATIENCE_S
    _cancelled: threading.Event = field(
        default_factory=threading.Event, init=False, repr=False, compare=False
    )

    def run(self, roi: Any = None) -> FocusResult:
        """Returns where the lens must go; if that is in focus, the lens is left there.

        Args:
            roi: A region (x, y, w, h) in pixels; the whole frame by default.

        Raises:
            DioptreError: If the region, a setting or the method cannot be used, or the camera is still busy
                with an earlier run; nothing has moved.
        """
        plan, rules = self._plan(roi), self._rules()
        self._cancelled.clear()
        return self._run(plan, rules)

    def cancel(self) -> None:
        """Ends the run that is under way, from another thread; its result says so. Else nothing happens."""
        self._cancelled.set()

    def track(self, roi: Any = None, watch: Watch | None = None) -> Iterator[Tracked]:
        """Yields what became of frame after frame: the lens stays while it is sharp, and follows a change.

        It goes on until it is cancelled, or until nobody asks for the next one.

        Args:
            roi: As for `run`.
            watch: When to focus again; dioptre.autofocus.tracking says.
        """
        plan, rules = self._plan(roi), self._rules()
        self._cancelled.clear()
        quiet = replace(rules, timeout=None)
        yield from track(
            lambda start: self._run(replace(plan, start=start), rules),
            lambda: LensController(connect(self.camera), quiet, self._cancelled),
            plan,
            watch or Watch(),
        )

    def _run(self, plan: LensRunSettings, rules: Rules) -> FocusResult:
        drive = LensController(connect(self.camera), rules, self._cancelled, self.on_step)
        try:
            return LensRun(plan, drive).focus()
        except BaseException:  # a fault of the camera's, of `on_step`, or Ctrl-C
            drive.retreat(plan.start)
            raise
        finally:
            drive.close()

    # What a user says, checked

    def _rules(self) -> Rules:
        for name, least in (("settle", 0.0), ("patience", 0.0)):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and math.isfinite(value) and value >= least):
                raise InputError(f"{name} is a number of seconds, 0 or more, not {value!r}")
        if self.timeout is not None and not (
            isinstance(self.timeout, (int, float)) and 0 < self.timeout < math.inf
        ):
            raise InputError(f"timeout is a number of seconds, or None, not {self.timeout!r}")
        if isinstance(self.backlash, bool) or not isinstance(self.backlash, int):
            raise InputError(f"backlash is a whole number of positions, not {self.backlash!r}")
        refuse_busy(self.camera)
        return Rules(self._limits(), self.backlash, self.settle, self.timeout, self.patience)

    def _limits(self) -> tuple[int, int]:
        grid = self.camera.grid
        if self.limits is None:
            return 0, len(grid) - 1
        try:
            first, last = (to_index(one, grid) for one in self.limits)
        except (TypeError, ValueError) as error:
            raise InputError(f"limits are the first and the last position: {error}") from None
        if first > last:
            raise InputError(f"limits are the first and the last position, not {first} and {last}")
        return first, last

    def _plan(self, roi: Any) -> LensRunSettings:
        """Returns what a run is asked, all of it checked."""
        regions = to_rois(roi, self.camera.shape)
        if len(regions) > 1:
            raise InputError(f"a lens goes to one region, not to {len(regions)}")
        for name, known in (("fallback", (SWEEP, ALWAYS, None)), ("on_failure", (RETURN, STAY))):
            if getattr(self, name) not in known:
                listed = ", ".join(repr(one) for one in known)
                raise InputError(f"{name} is one of {listed}, not {getattr(self, name)!r}")
        prior, steps = to_prior(self.prior), None if self.optics is None else to_steps(self.optics)
        own = None if steps is None else lens_positions(self.camera, steps, self.positions)
        if steps is not None and not prior.is_even:
            raise InputError("a search by steps knows no prior: leave out prior, or optics")
        method, measure, notes = self._methods(regions[0])
        return LensRunSettings(
            method, measure, self._looks, self._start(), prior, self.sure, check_risk(self.risk),
            self.fallback is not None, self.on_failure == RETURN, regions[0], steps, own, notes,
            self.fallback == ALWAYS,
        )  # fmt: skip

    @property
    def _looks(self) -> int:
        return LOOKS[self.camera.views] if self.looks is None else self.looks

    def _start(self) -> int:
        first, last = self._limits()
        if self.start is None:
            return (first + last + 1) // 2
        start = to_index(self.start, self.camera.grid)
        if not first <= start <= last:
            raise InputError(f"the lens starts within its limits {first}..{last}, not at {start}")
        return start

    def _methods(self, roi: Roi | None) -> tuple[Method | None, Method | None, tuple[str, ...]]:
        """Returns who is asked about looks, who measures a sweep, and what is to be said about it."""
        default = (ONE_LOOK if self._looks == 1 else SEVERAL_LOOKS)[self.camera.views]
        method = find_method(default if self.method is None else self.method)
        if method.looks == WHOLE and method.build().by_slice:
            return None, method, ()
        policy_of(method, self._looks if method.leads_itself else method.looks)  # says if it cannot search
        refusal = self._refusal(method, roi)
        if refusal is None:
            return method, None, ()
        if self.method is not None or self.fallback is None:
            raise MethodError(f"{method.key} {refusal}")
        return None, None, (f"{method.key} {refusal}: the lens was swept",)

    def _refusal(self, method: Method, roi: Roi | None) -> str | None:
        shape = self.camera.shape if roi is None else (roi.h, roi.w)
        grid = self.camera.grid
        if self.optics is not None:
            grid, shape = FocusGrid.unknown(WINDOW), to_steps(self.optics).shrunk(shape)
        return method.build().refusal(grid, shape, self.camera.views)
