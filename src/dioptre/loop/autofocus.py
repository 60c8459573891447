"""Autofocus: a lens that is focused by a few looks, with the search that is evaluated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from dioptre.cameras.base import Camera, Frame, to_index
from dioptre.errors import InputError, MethodError
from dioptre.loop.any_camera import OUT_OF_REACH, by_slice
from dioptre.loop.confidence import RISK, check_risk
from dioptre.loop.exposure import Exposure
from dioptre.loop.focus import EVEN, AnyCamera, beware, to_result
from dioptre.loop.inputs import Ladder, cut, place_of, to_rois
from dioptre.loop.request import ONE_LOOK, SEVERAL_LOOKS
from dioptre.loop.result import FocusResult, Roi
from dioptre.loop.search import NEVER, NO_LOOK, Trail, askers_of, policy_of, search, see_camera
from dioptre.loop.stepped import SteppedCamera, own_positions
from dioptre.loop.steps import WINDOW, FocusSteps, StepWindow, to_steps
from dioptre.loop.traces import Traces
from dioptre.loop.verdict import Asked, State, judge_posterior
from dioptre.methods import find_method
from dioptre.methods.base import Method
from dioptre.optics import FocusGrid
from dioptre.posterior import DepthPrior

LOOKS: Final = 3
ZOOM: Final = 8.0  # times as long are the steps of the search before: one is a sixth of a window


@dataclass(frozen=True)
class Autofocus:
    """Focuses a camera by a few looks.

        result = dioptre.Autofocus(camera).run(roi=(x, y, w, h))

    Attributes:
        camera: Moves the lens and takes frames; dioptre.cameras.base says what it promises.
        method: Key of a method with few looks; by default ours for as many views and looks as there are.
        looks: How many looks it takes at most; a method for two takes two.
        start: Where the first look is taken; the middle of the ladder by default.
        prior: Where things are expected before looking.
        sure: It stops early once so much of the posterior lies within an index of the answer.
        optics: What the camera is, for networks, which know only the phone that they were trained on: a
            CameraModel, FocusSteps (dioptre.loop.steps), or a camera file. The search then goes by steps,
            each at the nearest position of the camera's ladder, on from the end of a window of steps; on a
            long way first by long steps, with frames shown smaller, as many looks each time.
        positions: Where the positions of that ladder are, in the unit of `optics`; its dioptres by default.
        risk: How often an answer that is called focused may be off by more than 4 of 49 positions.
    """

    camera: Camera
    method: str | None = None
    looks: int = LOOKS
    start: int | None = None
    prior: DepthPrior = EVEN
    sure: float = NEVER
    optics: AnyCamera | None = None
    positions: Sequence[float] | None = None
    risk: float = RISK

    def run(self, roi: Any = None) -> FocusResult:
        """Returns where the lens must go after a few looks; if that is in focus, the lens is left there.

        Args:
            roi: A region (x, y, w, h) in pixels; the whole frame by default.

        Raises:
            DioptreError: If the region, the start or the method cannot be used, or the camera fails.
        """
        camera = self.camera
        regions = to_rois(roi, camera.shape)
        if len(regions) > 1:
            raise InputError(f"a lens goes to one region, not to {len(regions)}")
        if self.optics is None:
            result = self._search(regions[0])
        else:
            result = self._search_in_steps(to_steps(self.optics), regions[0])
        if result.state is State.FOCUSED:
            camera.capture(result.index)
        return result

    def _search(self, roi: Roi | None) -> FocusResult:
        """Returns what a search finds."""
        camera = self.camera
        method = self._method(camera.shape if roi is None else (roi.h, roi.w))
        looks = self.looks if method.leads_itself else method.looks
        policy = policy_of(method, looks, self.sure)
        frames: list[Frame] = []  # what was seen, for the verdict
        where = place_of(roi, camera.shape, camera.where)
        see = see_camera(camera, lambda frame: cut(frame, roi), where, frames)
        trail = search(np.array([self._start()]), see, askers_of(method, looks, self.prior), policy)
        return _result(method, camera, trail, frames, roi, check_risk(self.risk))

    def _search_in_steps(self, steps: FocusSteps, roi: Roi | None) -> FocusResult:
        """Returns what a search through a camera that the networks do not know finds, window after window."""
        own, at = own_positions(self.camera, steps, self.positions), self._start()
        if not self.prior.is_even:
            raise InputError("a search by steps knows no prior: leave out prior, or optics")
        looks: tuple[int | float, ...] = ()
        for coarser in self._levels(steps, own, roi):
            result = self._walk(replace(steps, coarser=coarser), own, at, roi)
            looks += result.looks
            at = result.index if result.state is State.FOCUSED else at
        return replace(result, looks=looks, roi=roi)

    def _levels(self, steps: FocusSteps, own: Float[np.ndarray, " n"], roi: Roi | None) -> list[float]:
        """Returns how many times smaller frames are shown, search after search, to see the whole way."""
        shape = self.camera.shape if roi is None else (roi.h, roi.w)
        way, levels = float(np.ptp(np.asarray(steps.position_to_step(own)))), [1.0]
        while (
            way > WINDOW * levels[0]
            and self._refusal(
                FocusGrid.unknown(WINDOW), replace(steps, coarser=ZOOM * levels[0]).shrunk(shape)
            )
            is None
        ):
            levels.insert(0, ZOOM * levels[0])
        return levels

    def _walk(self, steps: FocusSteps, own: Float[np.ndarray, " n"], at: int, roi: Roi | None) -> FocusResult:
        """Returns what a search finds that goes on from the end of a window of steps to the next."""
        visited: set[int] = set()
        looks: list[float] = []
        while at not in visited:
            visited.add(at)
            stepped = SteppedCamera(self.camera, StepWindow.around(steps, own[[at]]), own, roi)
            start = round(float(stepped.window.position_to_index(own[at])))
            inner = replace(self, camera=stepped, optics=None, positions=None, start=start)
            result = by_slice(inner._search(None), steps, own)
            looks += stepped.looks
            if not OUT_OF_REACH & set(result.reasons):
                break
            at = result.index
        return replace(result, looks=tuple(looks))

    def _start(self) -> int:
        grid = self.camera.grid
        return len(grid) // 2 if self.start is None else to_index(self.start, grid)

    def _method(self, shape: tuple[int, int]) -> Method:
        method, refusal = self._named(), self._refusal(self.camera.grid, shape)
        if refusal is not None:
            raise MethodError(f"{method.key} {refusal}")
        return method

    def _named(self) -> Method:
        default = (ONE_LOOK if self.looks == 1 else SEVERAL_LOOKS)[self.camera.views]
        return find_method(default if self.method is None else self.method)

    def _refusal(self, grid: FocusGrid, shape: tuple[int, int]) -> str | None:
        return self._named().build().refusal(grid, shape, self.camera.views)


def _result(
    method: Method, camera: Camera, trail: Trail, frames: list[Frame], roi: Roi | None, risk: float
) -> FocusResult:
    posterior, window = trail.posterior, camera.window if isinstance(camera, SteppedCamera) else None
    ladder = Ladder(camera.grid, window=window)
    if window is not None:
        posterior = window.held(posterior)
    seen, positions = np.stack(frames), trail.positions[0][trail.positions[0] != NO_LOOK]
    asked = Asked(method.key, method.build().identity, Traces.of(seen), positions, risk)
    verdict = beware(judge_posterior(posterior, Exposure.of(seen), asked), method.build(), ladder)
    return to_result(posterior.scores()[0], verdict, method, ladder, roi, tuple(positions.tolist()))
