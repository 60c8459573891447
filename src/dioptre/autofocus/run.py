"""A run: one lens focused once, by as many looks as it takes.

    look     a frame is taken, and joins what all looks say together (`autofocus.looks`)
    verify   the answer can be taken: the lens goes there, and that is a look too
    sweep    so many looks told too little: more of them, evenly over the way, and then again where they lead
    leave    the lens stays at the answer, be it sure or not; without one it goes back to where it began

A run ends when the risk of the verdict is accepted and the lens stands at the answer. Whatever happens once
the lens may have moved, a run returns a result that says so.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from jaxtyping import Float

from dioptre.autofocus.controller import Halt, LensController
from dioptre.autofocus.lens_plan import LensPlan
from dioptre.autofocus.looks import STEP, LensLooks
from dioptre.autofocus.next_look import next_place, sweep_places
from dioptre.cameras.base import Frame
from dioptre.confidence.curve import fitted_peak
from dioptre.confidence.exposure import Exposure
from dioptre.confidence.reasons import Reason, State
from dioptre.confidence.verdict import Verdict, VerdictContext, judge
from dioptre.focusing.inputs import cut, place_of
from dioptre.focusing.result import FocusResult
from dioptre.focusing.trace import Act, JointOnLens
from dioptre.miss import SHARP_STEPS
from dioptre.optics import STEP_PX
from dioptre.posterior import MOSTLY, JointPosterior, Posterior

NARROW: Final = 0.15  # of the half width of the peak of contrast
WORTH: Final = 0.35  # steps of blur: for less, a lens is not moved to its answer
AFTER: Final = 5  # looks that may follow a sweep
STEPS: Final = (3, 1500)  # of the ladder of steps on which looks are judged, at least and at most
MIDDLE: Final = (0.1, 0.9)  # of a posterior: between them are its middle 80 %
CONTRAST: Final = "contrast"  # what answers if no network does


@dataclass(eq=False)
class LensRun:
    """A lens that is being focused once: what was seen so far, and what is known of it.

    Attributes:
        plan: What is asked.
        drive: The camera.
        looks: What was seen.
        known: What all looks say together; None before the first.
        verdict: What the answer is worth.
        order: Where looks were taken, one after the other.
        answer: Where the focus is, in the measure of the plan's scale.
    """

    plan: LensPlan
    drive: LensController
    known: JointPosterior | None = None
    verdict: Verdict = field(default_factory=lambda: Verdict(State.FAILED, 0.0, ()))
    order: list[float] = field(default_factory=list)
    answer: float = 0.0

    def __post_init__(self) -> None:
        plan, evens = self.plan, self.plan.scale.evens
        low, high = (float(evens[end]) for end in self.drive.limits)
        where = place_of(plan.roi, self.drive.shape, self.drive.where)
        self.looks = LensLooks(plan.scale, (low, high), plan.method, plan.measure, plan.prior, where)
        self.drive.on_frame = self._keep

    def focus(self) -> FocusResult:
        """Returns where the lens must go, with the lens left there, or else where it began."""
        halted = None
        try:
            self._search()
        except Halt as halt:
            halted, self.verdict = halt, Verdict(State.FAILED, 0.0, (halt.reason,))
        notes = [*self.plan.notes, *([halted.sentence] if halted else []), *self._learned()]
        if self.verdict.state is State.FAILED and self.plan.search.on_failure == "return":
            trouble = self.drive.retreat(self.plan.start)
            notes += [trouble] if trouble else []
        found = self._result(tuple(notes))
        return found.turned() if self.drive.camera.near_first else found

    # From look to look

    def _search(self) -> None:
        """Looks until the answer can be taken and the lens is there, or until that is in vain."""
        if self._looks_up_to(self.plan.looks, float(self.plan.grid.positions[self.plan.start])):
            return
        if self.plan.search.fallback == "sweep" and self.known is not None:
            for place in sweep_places(self.known, self.looks.places):
                self._look(self._position(place), Act.SWEEP)
            if self._looks_up_to(AFTER, self._next()):
                return
        if self.verdict.state is not State.FAILED:
            self._look(self._target(), Act.VERIFY)

    def _looks_up_to(self, most: int, first: float) -> bool:
        """Takes looks; returns whether the answer is sure, and the lens there."""
        at = first
        for _ in range(most):
            self._look(at, Act.VERIFY if self.is_sure else Act.LOOK)
            there = self._target() == self.drive.position
            if self.is_sure and there and self._is_exact():
                return True
            at = self._target() if self.is_sure and not there else self._next()
            if at == self.drive.position:  # everything was looked at
                break
        return False

    def _is_exact(self) -> bool:
        """Returns whether the answer is expected to be sharp, also if blur grows faster than is likely.

        Where nobody tells how it grows, the answer must be near beside the width of the peak of contrast.
        """
        assert self.known is not None
        growth, off = self.known.growth, self.known.expected_distance(self.answer)
        fast = abs(growth.steps) * math.exp(2 * growth.deviation)
        return off * fast <= SHARP_STEPS or off <= NARROW * self.looks.peak_width

    @property
    def is_sure(self) -> bool:
        """Whether the answer can be taken."""
        return self.verdict.state is State.FOCUSED

    def _look(self, at: float, act: Act) -> None:
        """Takes a frame at a position, unless the lens has just looked there, and asks what is known now."""
        self.drive.act = act
        if at != self.drive.position or self.known is None:
            self.drive.capture_at(at)
            self.order.append(at)
        self.known = self.looks.posterior()
        self._judge(self.known)
        self._note(self.known)

    def _keep(self, _: int, frame: Frame) -> None:
        """Adds the region of a frame to the looks."""
        self.looks.add(self._here, np.ascontiguousarray(cut(frame, self.plan.roi)))

    def _next(self) -> float:
        """Returns the position of the next look: of a grid, one that was not looked at."""
        assert self.known is not None
        gaps = np.abs(np.diff(self.plan.scale.evens))
        place = next_place(self.known, self.looks.places, float(gaps.min(initial=np.inf)))
        wanted = self._position(place)
        if self.drive.camera.continuous or wanted not in self.order:
            return wanted
        first, last = self.drive.limits
        others = np.setdiff1d(self.plan.grid.positions[first : last + 1], self.order)
        return float(others[np.argmin(np.abs(others - wanted))]) if len(others) else wanted

    # What is known

    @property
    def _here(self) -> float:
        """Where the lens is, as an index of the grid, whole or between two."""
        assert self.drive.position is not None
        return float(self.plan.grid.position_to_index(self.drive.position))

    def _position(self, place: float) -> float:
        """Returns the position that the lens can go to which is nearest to a place, within its limits."""
        index = float(np.clip(self.plan.scale.even_to_index(place), *self.drive.limits))
        return self.drive.camera.place(float(self.plan.grid.index_to_position(index)))

    def _target(self) -> float:
        """Returns the position that the lens goes to: the answer, or where it is if that gains too little."""
        assert self.drive.position is not None
        assert self.known is not None
        here = self.plan.scale.index_to_even(self._here)
        gains = self.known.steps_between(here, self.answer) > WORTH
        return self._position(self.answer) if gains else self.drive.position

    def _judge(self, known: JointPosterior) -> None:
        """Finds the answer and what it is worth."""
        ladder, posterior, context = self.on_ladder(known)
        self.answer = self._peak(known, ladder, np.cumsum(posterior.likeliest_side[0]))
        answer = float(np.interp(self.answer, ladder, np.arange(len(ladder))))
        verdict = judge(answer, self.looks.blocks, Exposure.of(self.looks.regions), posterior, context)
        indices = np.interp(ladder, self.plan.scale.evens, np.arange(len(self.plan.grid)))
        verdict = verdict.placed(np.rint(indices).astype(np.int64))
        stuck = Reason.FLAT_CURVE in verdict.reasons and self.looks.shows_detail
        self.verdict = replace(verdict, reasons=(Reason.LENS_STUCK, *verdict.reasons)) if stuck else verdict

    def on_ladder(self, known: JointPosterior) -> tuple[Float[np.ndarray, " n"], Posterior, VerdictContext]:
        """Returns a ladder of steps of blur over the way, and what is known and was seen on it."""
        low, high = known.limits
        n = int(np.clip(round(known.steps_between(low, high)) + 1, *STEPS))
        ladder = np.linspace(low, high, n)
        places = (self.looks.places - low) * ((n - 1) / max(high - low, 1e-12))
        return ladder, known.at(ladder), VerdictContext(self.plan.search.risk, places, n, in_steps=True)

    def _peak(
        self, known: JointPosterior, ladder: Float[np.ndarray, " n"], upto: Float[np.ndarray, " n"]
    ) -> float:
        """Returns the peak of the looks if it is in the middle half of a posterior, or else its median."""
        if max(known.beyond) > MOSTLY:
            return known.quantile(0.5)
        first, middle, last = (float(np.interp(share, upto, ladder)) for share in (0.25, 0.5, 0.75))
        peak = fitted_peak(self.looks.places, self.looks.sharpness)
        return peak if first <= peak <= last else middle

    def _note(self, known: JointPosterior) -> None:
        """Writes down what is known after a look."""
        posterior = known.at(self.plan.scale.evens)
        ends = [self.plan.scale.even_to_index(known.quantile(share)) for share in MIDDLE]
        self.drive.amend(
            score=self.looks.detail,
            answer=float(self.plan.grid.index_to_position(self.plan.scale.even_to_index(self.answer))),
            spread=float(abs(np.diff(self.plan.grid.index_to_position(np.array(ends)))[0]) / 2),
            confidence=self.verdict.confidence,
            posterior=np.exp(posterior.logs[0]),
        )

    def _learned(self) -> list[str]:
        """Returns what was learned of the lens, in a sentence."""
        scale, known = self.plan.scale, self.known
        if known is None or self.plan.method is None or scale.unit == STEP or not self.is_sure:
            return []
        px, sure = abs(known.growth.steps) * STEP_PX, known.growth.deviation
        looks = f"{len(self.order)} look{'s' if len(self.order) > 1 else ''}"
        return [f"blur grows by {px:.3g} px a {scale.unit}, +- {sure:.0%}, from {looks}"]

    def _result(self, notes: tuple[str, ...]) -> FocusResult:
        plan, at = self.plan, self.drive.position
        scores, subindex = np.full(len(plan.grid), -np.inf), float(plan.start)
        if self.known is not None:
            scores = self.known.at(plan.scale.evens).logs[0, 1:-1]
            subindex = plan.scale.even_to_index(self.answer)
            if (
                self.verdict.state is not State.FAILED
                and at is not None
                and at != self._position(self.answer)
            ):
                subindex = self._here
        return FocusResult(
            subindex,
            self.verdict,
            scores,
            plan.grid,
            CONTRAST if plan.method is None else plan.method.key,
            plan.roi,
            looks=tuple(self.order),
            trace=tuple(self.drive.steps),
            left_at=at,
            joint=None
            if self.known is None
            else JointOnLens.of(self.known, plan.scale.evens, plan.grid.positions, plan.scale.unit),
            notes=notes,
        )
