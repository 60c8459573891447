"""Autofocus: a lens that is focused by a few looks, with the search that is evaluated; swept if need be."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from dioptre.autofocus.controller import LensController, refuse_busy
from dioptre.autofocus.lens_plan import LensPlan
from dioptre.autofocus.lens_settings import LensMotion, LensSearch
from dioptre.autofocus.looks import STEP, LensScale, knows_grid
from dioptre.autofocus.memory import GrowthMemory, is_contradicted
from dioptre.autofocus.run import LensRun
from dioptre.autofocus.tracking import Tracked, Watch, track
from dioptre.cameras.base import Camera, ConnectedCamera, connect
from dioptre.cameras.blur_units import BlurSteps, StepWindow
from dioptre.confidence.model import check_risk
from dioptre.confidence.reasons import State
from dioptre.errors import InputError, MethodError
from dioptre.focusing.arguments import SEVERAL_LOOKS, AnyGrid, refuse_unknown, to_prior
from dioptre.focusing.inputs import is_camera, to_grid, to_rois
from dioptre.focusing.result import FocusResult, Roi
from dioptre.focusing.trace import Step
from dioptre.grid import FocusGrid
from dioptre.methods import find_method
from dioptre.methods.base import ANY, WHOLE, Method
from dioptre.methods.voting import VOTES_BY

LOOKS: Final = {2: 8, 1: 12}  # by views: with one, a look does not tell on which side the focus is


@dataclass(frozen=True)
class Autofocus(LensMotion, LensSearch):
    """Focuses a camera: by a few looks, or else by a sweep, checked at the end.

        result = dioptre.Autofocus(camera).run(roi=(x, y, w, h))
        result.state, result.position, result.unit, result.left_at, result.trace

    Positions are in the unit of the camera's grid. Nothing is asked of a camera outside the limits. What
    cannot be used is said before anything moves, as an exception. From then on a run returns a result,
    whatever the camera does: it says what happened, and where the lens was left
    (dioptre.autofocus.controller says what is promised about time).

    Its further settings are those of LensSearch (method, looks, fallback, risk, prior, start, on_failure)
    and of LensMotion (limits, backlash, settle, timeout, patience).

    Attributes:
        camera: Moves the lens and takes frames; dioptre.cameras.base says what it promises.
        grid: What is known of its positions beside what the camera says: a camera's name or file, which tells
            how blur grows, so that fewer looks are enough; or a whole FocusGrid.
        on_step: Told every step (dioptre.Step) of a run meanwhile.
        memory: A file in which is kept how much blur a unit of the lens adds, once that was learned, so that
            the next run needs fewer looks; none by default.
    """

    camera: Camera
    grid: AnyGrid | None = None
    on_step: Callable[[Step], None] | None = None
    memory: str | Path | None = field(default=None, kw_only=True)
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
        run = LensRun(plan, drive)
        try:
            found = run.focus()
            return replace(found, notes=(*found.notes, *self._remember(run)))
        except BaseException:  # a fault of the camera's, of `on_step`, or Ctrl-C
            drive.retreat(plan.start)
            raise
        finally:
            drive.close()

    def _memory(self, scale: LensScale) -> GrowthMemory | None:
        """Returns what remembers the growth of the lens; None where nobody wants it, or a file tells it."""
        return (
            None if self.memory is None or scale.unit == STEP else GrowthMemory(Path(self.memory), scale.unit)
        )

    def _remember(self, run: LensRun) -> list[str]:
        """Keeps what a run learned, and forgets what it contradicts; returns what is to be said of that."""
        memory, remembered = self._memory(run.plan.scale), run.plan.scale.growth
        if memory is None or run.known is None or run.plan.method is None:
            return []
        told = list[str]()
        try:
            seen = run.known if remembered is None else run.looks.without_memory()
            if remembered is not None and not is_contradicted(remembered, seen):
                return []
            memory.forget()
            told += [f"the looks contradict {memory.path}, which was forgotten"] if remembered else []
            if run.verdict.state is State.FOCUSED and memory.keep(seen.growth, len(run.order)):
                told.append(f"the growth of blur is kept for the next run in {memory.path}")
        except OSError as error:
            told.append(f"what was learned of the lens could not be kept: {error}")
        return told

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
        first, last = self.limits_on(camera.grid)
        if first == last:
            raise InputError("a lens is focused between two positions or more, and there is one")
        regions = to_rois(roi, camera.shape)
        if len(regions) > 1:
            raise InputError(f"a lens goes to one region, not to {len(regions)}")
        hints = get_type_hints(LensSearch)
        for name in ("fallback", "on_failure"):
            if getattr(self, name) not in get_args(hints[name]):
                listed = ", ".join(repr(one) for one in get_args(hints[name]))
                raise InputError(f"{name} is one of {listed}, not {getattr(self, name)!r}")
        check_risk(self.risk)
        looks = LOOKS[camera.views] if self.looks is None else self.looks
        if looks < 1:
            raise InputError(f"a search takes a look or more, not {looks}")
        method, measure, notes = self._methods(camera, regions[0])
        known = method is not None and knows_grid(method, camera.grid, _shape(camera, regions[0]))
        scale = LensScale.of(camera.grid, known)
        memory = self._memory(scale)
        scale = scale if memory is None else replace(scale, growth=memory.recall())
        start, prior = self._start(camera.grid), to_prior(self.prior)
        return LensPlan(self, scale, start, looks, prior, method, measure, regions[0], notes)

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
        self, camera: ConnectedCamera, roi: Roi | None
    ) -> tuple[Method | None, Method | None, tuple[str, ...]]:
        """Returns who is asked about looks, who says how sharp they are, and what is to be said about it."""
        method = find_method(SEVERAL_LOOKS[camera.views] if self.method is None else self.method)
        if method.looks == WHOLE and method.build().by_slice:
            return None, find_method(VOTES_BY.get(method.key, method.key)), ()
        refusal = _refusal(method, camera, roi)
        if refusal is None:
            return method, None, ()
        if self.method is not None:
            raise MethodError(refusal)
        return None, None, (f"{refusal}: looks were compared by their contrast alone",)


def _shape(camera: ConnectedCamera, roi: Roi | None) -> tuple[int, int]:
    """Returns the rows and columns of what is looked at."""
    return camera.shape if roi is None else (roi.h, roi.w)


def _refusal(method: Method, camera: ConnectedCamera, roi: Roi | None) -> str | None:
    """Returns why a method cannot be asked about looks through a camera; None if it can."""
    shape, grid, focuser = _shape(camera, roi), camera.grid, method.build()
    if method.looks not in (1, ANY):
        return f"{method.key} cannot be asked about one look"
    if not focuser.is_network:
        try:
            refuse_unknown(grid, method.key, focuser)
        except MethodError as error:
            return str(error)
    elif grid.blur_per_unit_px is not None:
        grid, shape = StepWindow.every_step(), BlurSteps(grid).shrunk(shape)
    elif not knows_grid(method, grid, shape):
        grid = StepWindow.every_step()
    refusal = focuser.refusal(grid, shape, camera.views)
    return None if refusal is None else f"{method.key} {refusal}"
