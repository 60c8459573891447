"""Blur steps: a lens's positions in the steps that networks think in, and back.

A network's unit is the **step**: a move of the lens that changes the blur diameter by STEP_PX pixels of the
picture that it sees. The paper's phone has 49 of them. Another camera counts in units of its own
(dioptres, micrometres, motor counts), and its pictures may have to be shrunk first: then the blur in focus is
about as wide as on the phone, and a step is so much longer.

Steps rise **towards near**; where step 0 is means nothing. A network is asked about a window of steps around
its looks (`StepWindow`) and is not told where that lies.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from jaxtyping import Float, Float32

from dioptre.grid import Counts, FocusGrid, Reals
from dioptre.optics import PIXEL_PX, STEP_PX, CameraModel, blur_in_focus
from dioptre.posterior import DepthPrior, Posterior

PHONE: Final = CameraModel.pixel3()
WINDOW: Final = len(PHONE.grid)  # steps that a network knows
SHARP_PX: Final = blur_in_focus(PHONE)  # sigma
SOFT: Final = 1.25  # times as wide in focus as on the phone: only then is a picture shrunk

Pictures = Float32[np.ndarray, "slice view row col"]


@dataclass(frozen=True, eq=False)
class BlurSteps:
    """The conversion of lens positions to blur steps, STEP_PX of blur each, and back.

    Attributes:
        grid: Where the lens can go, with its `blur_per_unit_px`.
        coarser: How many times smaller than is good for sharpness its pictures are shown, 1 or more: so many
            times farther a look reaches, and so many times less exact it is.
    """

    grid: FocusGrid
    coarser: float = 1.0

    @property
    def scale(self) -> float:
        """The factor by which pictures are shrunk for a network, 1 or less.

        What the lens blurs in focus, without the pixels, is then as wide as on the phone: a network that
        knows sharp pictures would take a soft one for one out of focus. Pictures are never enlarged.
        """
        sharp_px = SHARP_PX if self.grid.sharp_px is None else self.grid.sharp_px
        lens, known = (math.sqrt(one**2 - PIXEL_PX**2) for one in (sharp_px, SHARP_PX))
        return (known / lens if lens > SOFT * known else 1.0) / self.coarser

    @cached_property
    def _knots(self) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Positions that rise; the blur diameter, in px, that is added from 0 to each; and its growth."""
        grid, order = self.grid, slice(None, None, 1 if self._rises else -1)
        assert grid.blur_per_unit_px is not None
        towards_near = 1.0 if grid.far_to_near == self._rises else -1.0
        positions, growth = grid.positions[order], towards_near * grid.blur_per_unit_px[order]
        moves = np.diff(positions) * (growth[1:] + growth[:-1]) / 2
        return positions, positions[0] * growth[0] + np.concatenate([[0.0], np.cumsum(moves)]), growth

    @property
    def _rises(self) -> bool:
        return len(self.grid) < 2 or bool(self.grid.positions[-1] > self.grid.positions[0])

    @property
    def ends(self) -> tuple[float, float]:
        """The steps at the far and the near end of the grid."""
        first, last = sorted(float(self.position_to_step(self.grid.positions[end])) for end in (0, -1))
        return first, last

    def position_to_step(self, position: Reals) -> Reals:
        """Returns the step at a position, whole or fractional, also beyond the grid; near is up."""
        positions, blur, growth = self._knots
        at = np.asarray(position, dtype=np.float64)
        beyond = np.minimum(at - positions[0], 0) * growth[0] + np.maximum(at - positions[-1], 0) * growth[-1]
        return (np.interp(at, positions, blur) + beyond) * (self.scale / STEP_PX)

    def step_to_position(self, step: Reals) -> Reals:
        """Returns the position at a step, on or beyond the grid."""
        positions, blur, growth = self._knots
        at = np.asarray(step, dtype=np.float64) * (STEP_PX / self.scale)
        order = slice(None, None, 1 if growth[0] > 0 else -1)
        low, high = (0, -1) if growth[0] > 0 else (-1, 0)
        beyond = np.minimum(at - blur[low], 0) / growth[low] + np.maximum(at - blur[high], 0) / growth[high]
        return np.interp(at, blur[order], positions[order]) + beyond

    def units_per_step(self, position: float) -> float:
        """Returns the length of a blur step at a position, in the camera's unit."""
        positions, _, growth = self._knots
        return float(STEP_PX / (self.scale * abs(np.interp(position, positions, growth))))

    def shrunk(self, shape: tuple[int, int]) -> tuple[int, int]:
        """Returns the rows and columns that a network is shown of so many."""
        return int(shape[0] * self.scale + 1e-9), int(shape[1] * self.scale + 1e-9)

    def shrink(self, pictures: Pictures) -> Float32[np.ndarray, "slice view r c"]:
        """Returns pictures as a network is shown them; a pixel is the mean of what it covers."""
        if self.scale == 1.0:
            return pictures
        down, across = (_averaging(length, self.scale) for length in pictures.shape[2:])
        return np.ascontiguousarray(down @ np.nan_to_num(pictures, posinf=1.0, neginf=0.0) @ across.T)


def _averaging(length: int, scale: float) -> Float32[np.ndarray, "few many"]:
    """Returns the weights of pixels in fewer ones that cover them: means over 1 / scale of them."""
    few = int(length * scale + 1e-9)
    spare = (length - few / scale) / 2
    begin = spare + np.arange(few)[:, None] / scale
    here = np.arange(length)[None, :]
    covered = np.minimum(begin + 1 / scale, here + 1) - np.maximum(begin, here)
    return (np.maximum(covered, 0.0) * scale).astype(np.float32)


@dataclass(frozen=True)
class StepWindow:
    """The blur steps that a network is asked about, within a lens's range.

    Attributes:
        steps: The lens's.
        origin: The step of the window's index 0, its far end.
    """

    steps: BlurSteps
    origin: float

    @classmethod
    def around(cls, steps: BlurSteps, positions: Float[np.ndarray, " look"]) -> "StepWindow":
        """Returns the window in whose middle looks at some positions are, but not beyond the grid's ends.

        It lies so that the looks are as close to whole indices as they can be together; one look is at one.
        """
        taken = np.asarray(steps.position_to_step(positions))
        far, near = steps.ends
        middle = (taken.min() + taken.max() - (WINDOW - 1)) / 2
        if near - far >= WINDOW - 1.5:
            middle = min(max(middle, far - 0.25), near - (WINDOW - 1) + 0.25)
        turn = np.exp(2j * np.pi * taken).mean()
        part = float(np.angle(turn)) / (2 * np.pi)  # of a step, that the looks are beyond whole ones
        return cls(steps, round(middle - part) + part)

    def covers(self, positions: Float[np.ndarray, " look"]) -> bool:
        """Returns whether all looks lie in the window."""
        index = np.asarray(self.position_to_index(positions))
        return bool((index > -0.5).all() and (index < WINDOW - 0.5).all())

    def position_to_index(self, position: Reals) -> Reals:
        """Returns the index of a position in the window, between whole indices."""
        return self.steps.position_to_step(position) - self.origin

    def index_to_position(self, index: Reals | Counts) -> Reals:
        """Returns the position at an index of the window, or between two."""
        return self.steps.step_to_position(index + self.origin)

    @property
    def reach(self) -> slice:
        """The indices that the lens can go to: those within the grid, or half a step beyond."""
        far, near = self.steps.ends
        first = max(0, math.ceil(far - self.origin - 0.5))
        last = min(WINDOW - 1, math.floor(near - self.origin + 0.5))
        return slice(first, max(first, last) + 1)

    def held(self, posterior: Posterior) -> Posterior:
        """Returns a posterior over the window as one over `reach`: what the lens cannot reach lies beyond."""
        return posterior.within(self.reach.start, self.reach.stop - 1)

    def prior(self, prior: DepthPrior) -> DepthPrior:
        """Returns a prior over the lens's way as one over `reach`."""
        if prior.is_even:
            return prior
        weights = prior.weights(len(prior.table) or WINDOW)
        places = np.arange(self.reach.start, self.reach.stop) + self.origin
        return DepthPrior.of_table(np.interp(places, np.linspace(*self.steps.ends, len(weights)), weights))

    @staticmethod
    def every_step() -> FocusGrid:
        """Returns the grid of all steps that a network knows, as it counts them."""
        return FocusGrid(range(WINDOW))

    @property
    def grid(self) -> FocusGrid:
        """The positions of `reach`, far to near, in the lens's unit."""
        return FocusGrid(
            np.asarray(self.index_to_position(np.arange(self.reach.start, self.reach.stop))),
            self.steps.grid.unit,
            np.full(self.reach.stop - self.reach.start, np.nan),  # whose focus networks are not told
            nearer=True,
        )
