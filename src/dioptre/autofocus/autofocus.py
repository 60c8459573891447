"""Autofocus: a lens that is focused by a few looks, with the search that is evaluated; swept if need be."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, get_args, get_type_hints

from dioptre.autofocus.controller import LensController, refuse_busy
from dioptre.autofocus.lens_plan import LensPlan
from dioptre.autofocus.lens_settings import LensMotion, LensSearch
from dioptre.autofocus.run import LensRun
from dioptre.autofocus.search import policy_of
from dioptre.autofocus.tracking import Tracked, Watch, track
from dioptre.cameras.base import Camera, ConnectedCamera, connect
from dioptre.cameras.blur_units import BlurSteps, StepWindow
from dioptre.confidence.model import check_risk
from dioptre.errors import InputError, MethodError
from dioptre.focusing.arguments import ONE_LOOK, SEVERAL_LOOKS, AnyGrid, refuse_unknown, to_prior
from dioptre.focusing.inputs import is_camera, to_grid, to_rois
from dioptre.focusing.result import FocusResult, Roi
from dioptre.focusing.trace import Step
from dioptre.grid import FocusGrid
from dioptre.methods import find_method
from dioptre.methods.base import WHOLE, Method

LOOKS: Final = {2: 3, 1: 4}  # by views: with one, a look does not tell on which side the focus is


@dataclass(frozen=True)
class Autofocus(LensMotion, LensSearch):
    """Focuses a camera: by a few looks, or else by a sweep, checked at the end.

        result = dioptre.Autofocus(camera).run(roi=(x, y, w, h))
        result.state, result.position, result.unit, result.left_at, result.trace

    Positions are in the unit of the camera's grid. Nothing is asked of a camera outside the limits. What
    cannot be used is said before anything moves, as an exception. From then on a run returns a result,
    whatever the camera does: it says what happened, and where the lens was left
    (dioptre.autofocus.controller says what is promised about time).

    Its further settings are those of LensSearch (method, looks, fallback, risk, prior, start, on_failure,
    sure) and of LensMotion (limits, backlash, settle, timeout, patience).

    Attributes:
        camera: Moves the lens and takes frames; dioptre.cameras.base says what it promises.
        grid: What is known of its positions beside what the camera says: a camera's name or file, which tells
            how blur grows, so that networks know its pictures; or a whole FocusGrid. Networks then go by
            steps of blur, each at the nearest position, on from the end of a window of steps; on a long way
            first by long steps, with frames shown smaller, as many looks each time.
        on_step: Told every step (dioptre.Step) of a run meanwhile.
    """

    camera: Camera
    grid: AnyGrid | None = None
    on_step: Callable[[Step], None] | None = None
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
        camera = self._connected()
        plan = self._plan(camera, roi)
        self._cancelled.clear()
        return self._run(plan, camera)

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
        camera = self._connected()
        plan = self._plan(camera, roi)
        self._cancelled.clear()
        quiet = replace(self, timeout=None)
        yield from track(
            lambda start: self._run(replace(plan, start=start), camera),
            lambda: LensController(camera, quiet, self._cancelled),
            plan,
            watch or Watch(),
        )

    def _run(self, plan: LensPlan, camera: ConnectedCamera) -> FocusResult:
        drive = LensController(camera, self, self._cancelled, self.on_step)
        try:
            return LensRun(plan, drive).focus()
        except BaseException:  # a fault of the camera's, of `on_step`, or Ctrl-C
            drive.retreat(plan.start)
            raise
        finally:
            drive.close()

    # What a user says, checked

    def _connected(self) -> ConnectedCamera:
        """Returns the camera with all that is known of its grid."""
        refuse_busy(self.camera)
        return connect(self.camera, self._grid())

    def _grid(self) -> FocusGrid | None:
        """Returns the camera's grid with what its user adds to it, in the driver's order."""
        own = self.camera.grid
        if self.grid is None:
            return own
        if is_camera(self.grid):
            return FocusGrid(own.positions, own.unit, own.dioptres, nearer=own.nearer, camera=self.grid)
        return to_grid(self.grid, len(own))

    def _plan(self, camera: ConnectedCamera, roi: Any) -> LensPlan:
        """Returns what a run is asked, all of it checked."""
        regions = to_rois(roi, camera.shape)
        if len(regions) > 1:
            raise InputError(f"a lens goes to one region, not to {len(regions)}")
        hints = get_type_hints(LensSearch)
        for name in ("fallback", "on_failure"):
            if getattr(self, name) not in get_args(hints[name]):
                listed = ", ".join(repr(one) for one in get_args(hints[name]))
                raise InputError(f"{name} is one of {listed}, not {getattr(self, name)!r}")
        check_risk(self.risk)
        if self.sure is not None and not 0 < self.sure <= 1:
            raise InputError(f"sure is a probability above 0, at most 1, not {self.sure:g}")
        prior = to_prior(self.prior)
        if camera.grid.blur_per_unit_px is not None and not prior.is_even:
            raise InputError(
                "a search by steps of blur knows no prior: leave out prior, or the camera's file"
            )
        looks = LOOKS[camera.views] if self.looks is None else self.looks
        method, measure, notes = self._methods(camera, looks, regions[0])
        start = self._start(camera.grid)
        return LensPlan(self, camera.grid, start, looks, prior, method, measure, regions[0], notes)

    def _start(self, grid: FocusGrid) -> int:
        first, last = self.limits_on(grid)
        if self.start is None:
            return (first + last + 1) // 2
        start = grid.index_near(self.start)
        if not first <= start <= last:
            low, high = grid.positions[first], grid.positions[last]
            raise InputError(f"the lens starts within its limits {low:g} to {high:g}, not at {self.start:g}")
        return start

    def _methods(
        self, camera: ConnectedCamera, looks: int, roi: Roi | None
    ) -> tuple[Method | None, Method | None, tuple[str, ...]]:
        """Returns who is asked about looks, who measures a sweep, and what is to be said about it."""
        default = (ONE_LOOK if looks == 1 else SEVERAL_LOOKS)[camera.views]
        method = find_method(default if self.method is None else self.method)
        if method.looks == WHOLE and method.build().by_slice:
            return None, method, ()
        policy_of(method, looks if method.leads_itself else method.looks)  # says if it cannot search
        refusal = _refusal(method, camera, roi)
        if refusal is None:
            return method, None, ()
        if self.method is not None or self.fallback == "none":
            raise MethodError(refusal)
        return None, None, (f"{refusal}: the lens was swept",)


def _refusal(method: Method, camera: ConnectedCamera, roi: Roi | None) -> str | None:
    """Returns why a method cannot be asked about looks through a camera; None if it can."""
    shape, grid, focuser = camera.shape if roi is None else (roi.h, roi.w), camera.grid, method.build()
    try:
        refuse_unknown(grid, method.key, focuser)
    except MethodError as error:
        return str(error)
    if grid.blur_per_unit_px is not None and focuser.is_network:
        grid, shape = StepWindow.every_step(), BlurSteps(camera.grid).shrunk(shape)
    refusal = focuser.refusal(grid, shape, camera.views)
    return None if refusal is None else f"{method.key} {refusal}"
