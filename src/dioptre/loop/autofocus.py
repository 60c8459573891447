"""Autofocus: a lens that is focused by a few looks, with the search that is evaluated."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dioptre.cameras.base import Camera, Frame, to_index
from dioptre.errors import InputError, MethodError
from dioptre.loop.confidence import RISK, check_risk
from dioptre.loop.focus import EVEN, ONE_LOOK, SEVERAL_LOOKS, to_result
from dioptre.loop.inputs import Ladder, cut, place_of, to_rois
from dioptre.loop.result import FocusResult, Roi
from dioptre.loop.search import NEVER, NO_LOOK, Trail, askers_of, policy_of, search, see_camera
from dioptre.loop.traces import Traces
from dioptre.loop.verdict import Asked, Exposure, State, judge_posterior
from dioptre.methods import find_method
from dioptre.methods.base import Method
from dioptre.posterior import DepthPrior

LOOKS: Final = 3


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
        risk: How often an answer that is called focused may be off by more than 4 of 49 positions.
    """

    camera: Camera
    method: str | None = None
    looks: int = LOOKS
    start: int | None = None
    prior: DepthPrior = EVEN
    sure: float = NEVER
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
        method = self._method(camera.shape if regions[0] is None else (regions[0].h, regions[0].w))
        looks = self.looks if method.leads_itself else method.looks
        policy = policy_of(method, looks, self.sure)
        frames: list[Frame] = []  # what was seen, for the verdict
        where = place_of(regions[0], camera.shape, camera.where)
        see = see_camera(camera, lambda frame: cut(frame, regions[0]), where, frames)
        trail = search(np.array([self._start()]), see, askers_of(method, looks, self.prior), policy)
        result = _result(method, camera, trail, frames, regions[0], check_risk(self.risk))
        if result.state is State.FOCUSED:
            camera.capture(result.index)
        return result

    def _start(self) -> int:
        grid = self.camera.grid
        return len(grid) // 2 if self.start is None else to_index(self.start, grid)

    def _method(self, shape: tuple[int, int]) -> Method:
        default = (ONE_LOOK if self.looks == 1 else SEVERAL_LOOKS)[self.camera.views]
        method = find_method(default if self.method is None else self.method)
        refusal = method.build().refusal(self.camera.grid, shape, self.camera.views)
        if refusal is not None:
            raise MethodError(f"{method.key} {refusal}")
        return method


def _result(
    method: Method, camera: Camera, trail: Trail, frames: list[Frame], roi: Roi | None, risk: float
) -> FocusResult:
    seen, positions = np.stack(frames), trail.positions[0][trail.positions[0] != NO_LOOK]
    asked = Asked(method.key, method.build().identity, Traces.of(seen), positions, risk)
    verdict = judge_posterior(trail.posterior, Exposure.of(seen), asked)
    looks = tuple(positions.tolist())
    return to_result(trail.posterior.scores()[0], verdict, method, Ladder(camera.grid), roi, looks)
