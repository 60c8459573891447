"""A run: one lens focused once. First by a few looks, then by contrast if need be, checked at the end.

    look     the method is asked after each look; once it is sure, or has had its looks, its answer is taken
    verify   the lens goes there; what is seen must be as sharp as it was promised to be
    sweep    if what was seen was not as sharp, or contrast may know more than the looks: coarse to fine
    leave    the lens stays at the answer, be it sure or not; without one it goes back to where it began

Whatever happens once the lens may have moved, a run returns a result that says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from dioptre.autofocus.controller import Halt, LensController
from dioptre.autofocus.lens_plan import LensPlan
from dioptre.autofocus.rescaled_camera import SteppedCamera
from dioptre.autofocus.search import NO_LOOK, SearchPolicy, askers_of, policy_of, search, see_camera
from dioptre.autofocus.stopping import (
    SETTLED,
    agreed,
    are_lost,
    are_turned,
    as_sharp,
    closed,
    combined,
    credible,
    is_early,
    is_refuted,
    stays,
)
from dioptre.autofocus.sweep import AS_SHARP, FrameScorer, Gathered, Peak, sweep
from dioptre.cameras.base import Camera, Frame
from dioptre.cameras.blur_units import WINDOW, BlurSteps, StepWindow
from dioptre.confidence.curve import peak_position
from dioptre.confidence.exposure import Exposure
from dioptre.confidence.reasons import Reason, State
from dioptre.confidence.statistics import SliceBlocks
from dioptre.confidence.verdict import Verdict, VerdictContext, judge
from dioptre.focusing.camera_transfer import OUT_OF_REACH, flag_assumed_camera, on_grid
from dioptre.focusing.inputs import cut, place_of
from dioptre.focusing.result import FocusResult, Roi
from dioptre.focusing.trace import Act
from dioptre.grid import FocusGrid
from dioptre.methods.base import ANY, Method, best_index
from dioptre.methods.measure import MIN_SIZE
from dioptre.posterior import Posterior

ZOOM: Final = 8.0  # times as long are the steps of the search before: one is a sixth of a window
LANDS: Final = 2  # indices: an answer that is farther from all looks is looked at
SELDOM_MORE: Final = (
    "a sweep would seldom find more than these looks, and was left out; fallback always takes it"
)
BESIDE: Final = 3  # indices: else a look is so far from all others


@dataclass(eq=False)
class LensRun:
    """A lens that is being focused once: what was seen so far, and what is known of it.

    Attributes:
        plan: What is asked.
        drive: The camera.
        gathered: The regions of all frames, by position.
        posterior: What was known last, over the camera's own grid.
    """

    plan: LensPlan
    drive: LensController
    gathered: Gathered = field(default_factory=Gathered)
    posterior: Posterior | None = None

    def __post_init__(self) -> None:
        self.drive.on_frame = self._keep
        self._measure = FrameScorer(self.plan.measure)
        shape = self.drive.shape if self.plan.roi is None else (self.plan.roi.h, self.plan.roi.w)
        self._measurable = min(shape) >= MIN_SIZE

    def focus(self) -> FocusResult:
        """Returns where the lens must go, with the lens left there, or else where it began."""
        try:
            result = self._find()
            if result.state is State.UNCERTAIN:
                result = self._left_there(result)
        except Halt as halt:
            result = self._halted(halt)
        notes = [*self.plan.notes, *result.notes]
        if result.state is State.FAILED and self.plan.search.on_failure == "return":
            trouble = self.drive.retreat(self.plan.start)
            notes += [trouble] if trouble else []
        at = self.drive.at
        found = replace(
            result,
            roi=self.plan.roi,
            trace=tuple(self.drive.steps),
            left_at=None if at is None else float(self.plan.grid.positions[at]),
            notes=tuple(notes),
        )
        return found.turned() if self.drive.camera.near_first else found

    def _find(self) -> FocusResult:
        found = None
        if self.plan.method is not None:
            found = self._look(self.plan.method)
            if found.state is State.FOCUSED:
                found = self._verified(found)
            if found.state is State.FOCUSED or not (self.plan.search.fallback != "none" and self._measurable):
                return found
            refuted = is_refuted(self.gathered, found.index)
            if not refuted and self._knows(found):
                return replace(_at(found, self._target(found)), notes=(*found.notes, SELDOM_MORE))
            if refuted:
                self.posterior = None  # and has no say any more
        swept = self._swept()
        if found is None:
            return swept
        failed = ", ".join(one.value for one in found.reasons)
        note = f"{found.method} did not do after {len(found.looks)} looks ({failed}): the lens was swept"
        verdict = replace(swept.verdict, candidates=found.verdict.candidates)
        return replace(swept, verdict=verdict, notes=(*swept.notes, note))

    def _knows(self, found: FocusResult) -> bool:
        """Returns whether looks that are not sure know as much as a sweep would find."""
        known = self.posterior
        return (
            self.plan.closes
            and self.plan.search.fallback != "always"
            and known is not None
            and set(found.reasons) <= SETTLED
            and not are_lost(self._measure, self.gathered, known)
        )

    def _keep(self, at: int, frame: Frame) -> None:
        """Remembers the region of a frame, and how sharp it is."""
        region = np.ascontiguousarray(cut(frame, self.plan.roi))
        self.gathered.frames[at] = region
        if self._measurable:
            self.drive.amend(score=float(self._measure.scores(region[None])[0]))

    # Looks

    def _look(self, method: Method) -> FocusResult:
        self.drive.act = Act.LOOK
        if self.plan.steps is not None:
            return self._in_steps(method, self.plan.steps)
        return self._searched(method, self.drive, self.plan.start, self.plan.roi)

    def _searched(self, method: Method, camera: Camera, start: int, roi: Roi | None) -> FocusResult:
        """Returns what a search finds."""
        plan, frames = self.plan, list[Frame]()
        looks = plan.looks if method.leads_itself else method.looks
        policy = replace(_policy(method, looks, plan.search.sure), limits=self._limits(camera))
        where = place_of(roi, camera.shape, camera.where)
        see = see_camera(camera, lambda frame: cut(frame, roi), where, frames)
        ask = [self._within(one, camera) for one in askers_of(method, looks, plan.prior)]
        seen: list[int] = []

        def enough(posterior: Posterior) -> bool:
            seen[:] = _seen(camera, self.drive, seen)
            verdict = _verdict(method, camera, posterior, frames, seen, plan)
            self._note(camera, posterior, verdict, policy)
            taken = plan.search.sure is None and len(seen) > 1 and verdict.state is State.FOCUSED
            return taken and (not plan.closes or is_early(posterior))

        trail = search(np.array([start]), see, ask, policy, enough)
        positions = trail.positions[0][trail.positions[0] != NO_LOOK]
        posterior = trail.posterior
        verdict = _verdict(method, camera, posterior, frames, positions.tolist(), plan)
        grid, curve = plan.grid, policy.scores(posterior)[0]
        places = tuple(plan.grid.positions[positions].tolist())
        if isinstance(camera, SteppedCamera):
            grid, curve = camera.window.grid, camera.window.held(posterior).scores()[0]
            places = tuple(camera.looks)
        return FocusResult(peak_position(curve), verdict, curve, grid, method.key, roi, looks=places)

    def _within(self, ask: Any, camera: Camera) -> Any:
        """Returns the same that is asked, but sure that the focus is not outside the limits of the lens.

        Where looks are closed by contrast, it has heard of that, too.
        """
        if isinstance(camera, SteppedCamera):  # whose window knows them
            return ask
        first, last = self.drive.limits
        if self.plan.closes:
            return lambda looks: limited(combined(ask(looks), looks), first, last)
        return lambda looks: limited(ask(looks), first, last)

    def _limits(self, camera: Camera) -> tuple[int, int] | None:
        """Returns the indices between which looks are taken; a window of steps knows them itself."""
        whole = isinstance(camera, SteppedCamera) or self.drive.limits == (0, len(self.plan.grid) - 1)
        return None if whole else self.drive.limits

    def _note(self, camera: Camera, posterior: Posterior, verdict: Verdict, policy: SearchPolicy) -> None:
        """Writes down what is known after a look."""
        answer = int(best_index(policy.scores(posterior))[0])
        if isinstance(camera, SteppedCamera):
            at = self._position(camera.own_index(answer))
            self.drive.amend(answer=at, confidence=verdict.confidence)
        else:
            self.posterior = posterior
            chances = np.exp(posterior.logs[0])
            self.drive.amend(answer=self._position(answer), confidence=verdict.confidence, posterior=chances)

    def _position(self, index: int) -> float:
        return float(self.plan.grid.positions[index])

    # Looks through a camera that the networks do not know

    def _in_steps(self, method: Method, steps: BlurSteps) -> FocusResult:
        """Returns what searches find that go from long steps to short ones."""
        looks: tuple[float, ...] = ()
        at = self.plan.start
        for coarser in levels_of(method, steps, self.drive, self.plan.roi):
            result = self._walked(method, coarser, at)
            looks += result.looks
            at = at if result.state is State.FAILED else result.index
        return replace(result, looks=looks)

    def _walked(self, method: Method, coarser: float, at: int) -> FocusResult:
        """Returns what a search finds that goes on from the end of a window of steps to the next."""
        grid, (first, last) = self.plan.grid, self.drive.limits
        steps, own = BlurSteps(grid.part(first, last), coarser), grid.positions
        visited: set[int] = set()
        looks: list[float] = []
        while at not in visited:
            visited.add(at)
            window = StepWindow.around(steps, own[[at]])
            stepped = SteppedCamera(self.drive, window, own[first : last + 1], self.plan.roi, first=first)
            start = round(float(window.position_to_index(own[at])))
            result = on_grid(self._searched(method, stepped, start, None), grid)
            looks += stepped.looks
            if not OUT_OF_REACH & set(result.reasons):
                break
            at = int(np.clip(result.index, first, last))
        return replace(result, looks=tuple(looks))

    # What comes after

    def _left_there(self, found: FocusResult) -> FocusResult:
        """Returns an answer that is not sure with the lens there."""
        target = self._target(found)
        if self.drive.at != target:
            self.drive.act = Act.VERIFY
            self.drive.capture(target)
        return _at(found, target)

    def _verified(self, found: FocusResult) -> FocusResult:
        """Returns the answer of looks with the lens there, if what is seen is as sharp as promised."""
        target = self._target(found)
        self.drive.act = Act.VERIFY
        if self.drive.at != target:
            self.drive.capture(target)
        if self._measurable and not as_sharp(self.gathered, target):
            self.drive.again()  # it may have been late
            if not as_sharp(self.gathered, target):
                return _failed(found, Reason.NOT_AS_SHARP)
        return _at(found, target)

    def _target(self, found: FocusResult) -> int:
        """Returns where the lens goes after looks: to the answer, or nowhere if that gains too little."""
        target = int(np.clip(found.index, *self.drive.limits))
        here, known = self.drive.at, self.posterior
        if known is not None and self.plan.steps is None and here is not None and stays(known, here, target):
            return here
        return target

    def _swept(self) -> FocusResult:
        """Returns what a sweep finds, with the lens there, if what is seen is as sharp as it was."""
        within = None if self.posterior is None else credible(self.posterior, self.drive.limits)
        risk, known = self.plan.search.risk, self.posterior
        peak = sweep(self.drive, self._measure, self.gathered, risk, within, lambda one: agreed(one, known))
        result = peak_result(peak, self.drive.grid, self.plan.roi)
        if result.state is State.FAILED:
            return result
        self.drive.act = Act.VERIFY
        if self.drive.at != peak.index:
            self.drive.capture(peak.index)
        for attempt in range(2):
            if attempt:
                self.drive.again()  # the one before may have been late
            score = float(self._measure.scores(self.gathered.frames[peak.index][None])[0])
            self.drive.amend(score=score, answer=self._position(peak.index), confidence=result.confidence)
            if peak.height_of(score) >= AS_SHARP:
                return result
        return _failed(result, Reason.NOT_AS_SHARP)

    def _halted(self, halt: Halt) -> FocusResult:
        """Returns what is known of a run that was ended."""
        n, method = len(self.plan.grid), self.plan.method
        answer, scores = self.plan.start, np.full(n, -np.inf)
        if self.posterior is not None:
            scores = self.posterior.scores()[0]
            answer = int(np.argmax(scores))
        verdict = Verdict(State.FAILED, 0.0, (halt.reason,))
        key = "" if method is None else method.key
        return FocusResult(float(answer), verdict, scores, self.plan.grid, key, notes=(halt.sentence,))


def levels_of(method: Method, steps: BlurSteps, camera: Camera, roi: Roi | None) -> list[float]:
    """Returns how many times smaller frames are shown, search after search, to see the whole way."""
    shape = camera.shape if roi is None else (roi.h, roi.w)
    (far, near), levels = steps.ends, [1.0]
    while (
        near - far > WINDOW * levels[0]
        and method.build().refusal(
            StepWindow.every_step(), replace(steps, coarser=ZOOM * levels[0]).shrunk(shape), camera.views
        )
        is None
    ):
        levels.insert(0, ZOOM * levels[0])
    return levels


def limited(posterior: Posterior, first: int, last: int) -> Posterior:
    """Returns a posterior in which what lies outside limits lies beyond the ends of the grid."""
    if (first, last) == (0, posterior.positions - 1):
        return posterior
    logs, kept = np.full_like(posterior.logs, -np.inf), posterior.within(first, last).logs
    logs[:, first + 1 : last + 2] = kept[:, 1:-1]
    logs[:, [0, -1]] = kept[:, [0, -1]]
    return replace(posterior, logs=logs)


def peak_result(peak: Peak, grid: FocusGrid, roi: Roi | None) -> FocusResult:
    """Returns the result of a sweep over a camera's grid."""
    scores = np.full(len(grid), -np.inf)
    scores[peak.places] = peak.curve
    looks = tuple(grid.positions[peak.places].tolist())
    return FocusResult(peak.position, peak.verdict, scores, grid, peak.method.key, roi, looks=looks)


def _at(result: FocusResult, index: int) -> FocusResult:
    """Returns a result whose answer is at an index; where it is already, also between indices."""
    return result if result.index == index else replace(result, subindex=float(index))


def _failed(result: FocusResult, reason: Reason) -> FocusResult:
    verdict = replace(result.verdict, state=State.FAILED, reasons=(*result.reasons, reason))
    return replace(result, verdict=verdict)


def _policy(method: Method, looks: int, sure: float | None) -> SearchPolicy:
    """Returns how a lens searches: by the answers themselves, unless it is told how sure to be."""
    if sure is not None:
        return policy_of(method, looks, sure)
    policy = policy_of(method, looks)
    return replace(policy, apart=BESIDE, lands=LANDS, straddles=0) if method.looks == ANY else policy


def _seen(camera: Camera, drive: LensController, before: list[int]) -> list[int]:
    """Returns where looks were taken so far, as the method counts, the last one just now."""
    if isinstance(camera, SteppedCamera):
        return [*before, camera.indices[-1]]
    assert drive.at is not None
    return [*before, drive.at]


def _verdict(
    method: Method,
    camera: Camera,
    posterior: Posterior,
    frames: list[Frame],
    positions: Sequence[int],
    plan: LensPlan,
) -> Verdict:
    """Returns what is to be thought of a posterior after some looks.

    A search by steps goes on from window to window, and its answers are only verified.
    """
    seen, focuser, stepped = np.stack(frames), method.build(), isinstance(camera, SteppedCamera)
    held = camera.window.held(posterior) if isinstance(camera, SteppedCamera) else posterior
    places, last = np.unique(np.array(positions)[::-1], return_index=True)
    blocks = SliceBlocks.of(seen[::-1][last])
    context = VerdictContext(plan.search.risk, places, held.positions)
    verdict = judge(peak_position(held.scores()[0]), blocks, Exposure.of(seen), held, context)
    verdict = verdict if stepped or plan.grid.known else flag_assumed_camera(verdict, focuser)
    if not plan.closes or len(positions) < 2:
        return verdict
    if are_turned(blocks) and Reason.VIEWS_TURNED not in verdict.reasons:
        verdict = replace(verdict, reasons=(*verdict.reasons, Reason.VIEWS_TURNED))
    return closed(verdict, posterior, plan.search.risk, seen.shape[1])
