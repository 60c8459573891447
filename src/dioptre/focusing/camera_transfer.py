"""Networks asked about pictures of a camera that they were not trained on.

Looks, or the slices of a stack, are laid on a window of steps (`dioptre.cameras.blur_units`), shrunk as that
says, and the network is asked as if about the phone that it knows. Where a window does not reach, pictures
are halved: a step is then twice as long, and the answer half as exact. One look goes from fine to coarse
until the focus is within reach; a long stack goes from coarse to fine, each time with the slices around the
answer.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from jaxtyping import Float, Int

from dioptre.cameras.blur_units import WINDOW, BlurSteps, StepWindow
from dioptre.confidence.reasons import Reason, State
from dioptre.confidence.verdict import Verdict
from dioptre.errors import InputError, MethodError
from dioptre.focusing.inputs import Pixels
from dioptre.focusing.result import FocusResult
from dioptre.grid import FocusGrid
from dioptre.methods.base import Autofocuser

COARSEST: Final = 64.0  # times smaller; nobody has such frames
APART: Final = 1.0  # steps that a slice may lie from where a network that wants every step is shown it
OUT_OF_REACH: Final = frozenset({Reason.BEYOND_FAR, Reason.BEYOND_NEAR})
MOSTLY: Final = 0.5  # of the probability at or beyond the ends of a window: the focus is not seen in it

Positions = Float[np.ndarray, " look"]
Indices = Int[np.ndarray, "1 look"]


@dataclass(frozen=True, eq=False)
class Asker:
    """Who is asked.

    Attributes:
        ask: Returns what pictures, shrunk, at indices of a window say.
        refusal: Returns why pictures of so many rows and columns cannot be seen; None if they can.
        every_step: Whether all steps of a window must be shown.
        name: Key of the method.
    """

    ask: Callable[[Pixels, Indices, StepWindow], FocusResult]
    refusal: Callable[[tuple[int, int]], str | None]
    every_step: bool
    name: str

    def sees(self, steps: BlurSteps, region: Pixels) -> bool:
        """Returns whether a region is still large enough when it is shrunk."""
        return self.refusal(steps.shrunk(region.shape[2:])) is None

    def check(self, steps: BlurSteps, region: Pixels) -> None:
        """Raises MethodError if a region cannot be seen at its finest."""
        refusal = self.refusal(steps.shrunk(region.shape[2:]))
        if refusal is not None:
            shrunk = f" (shrunk to {steps.scale:.2f}, as the lens is so soft)" if steps.scale < 1 else ""
            raise MethodError(f"{self.name} {refusal}{shrunk}")


def ask_looks(asker: Asker, grid: FocusGrid, region: Pixels, positions: Positions) -> FocusResult:
    """Returns where the lens must go from looks at some positions.

    Args:
        asker: Who is asked.
        grid: Where the lens can go, with its `blur_per_unit_px`.
        region: The looks.
        positions: Where they were taken, in the unit of the grid.

    Raises:
        DioptreError: If the region is too small, or the looks lie too far apart.
    """
    steps, found = BlurSteps(grid), None
    asker.check(steps, region)
    while asker.sees(steps, region) and steps.coarser <= COARSEST:
        window = StepWindow.around(steps, positions)
        if window.covers(positions):
            indices = np.rint(np.asarray(window.position_to_index(positions))).astype(np.int64)[None]
            result = asker.ask(steps.shrink(region), indices, window)
            if found is None or is_out_of_reach(found) or result.state is State.FOCUSED:
                found = result
            seen = not is_out_of_reach(result) and Reason.UNSURE not in result.reasons
            if seen or _sees_all(window):
                break
        steps = replace(steps, coarser=2 * steps.coarser)
    if found is None:
        apart = np.ptp(np.asarray(steps.position_to_step(positions))) * steps.coarser
        raise InputError(
            f"the looks lie {apart:.0f} steps apart, and {asker.name} sees {WINDOW} at a time: take looks "
            "closer to one another, or a larger region"
        )
    return replace(on_grid(found, grid), looks=tuple(positions.tolist()))


def is_out_of_reach(result: FocusResult) -> bool:
    """Returns whether the focus lies beyond a window, on one side of it or on an unknown one."""
    ends = (0, len(result.scores) - 1)
    at_ends = sum(one.probability for one in result.verdict.candidates if one.index in ends)
    reasons = set(result.reasons)
    unsure = result.state is not State.FOCUSED or Reason.AMBIGUOUS in reasons
    return bool(OUT_OF_REACH & reasons) or (unsure and at_ends >= MOSTLY)


def _sees_all(window: StepWindow) -> bool:
    """Returns whether the whole travel lies in the window, so that a coarser one would show no more."""
    far, near = window.steps.ends
    return near - far <= WINDOW


def ask_stack(asker: Asker, grid: FocusGrid, region: Pixels) -> FocusResult:
    """Returns the sharpest slice of a stack.

    Args:
        asker: Who is asked.
        grid: Where its slices were taken, with its `blur_per_unit_px`.
        region: The slices, in that order.

    Raises:
        DioptreError: If the region is too small, or the stack spans more steps, or fewer, than can be seen.
    """
    steps, positions = BlurSteps(grid), grid.positions
    asker.check(steps, region)
    coarse = steps
    while not StepWindow.around(coarse, positions).covers(positions):
        coarse = replace(coarse, coarser=2 * coarse.coarser)
        if not asker.sees(coarse, region):
            raise InputError(
                f"the slices span {np.ptp(np.asarray(steps.position_to_step(positions))):.0f} steps, and in "
                f"a region of {region.shape[3]} x {region.shape[2]} pixels {asker.name} sees too few: take "
                "slices around the focus, or a larger region"
            )
    found, middle = None, positions
    while coarse.coarser >= steps.coarser:
        window = StepWindow.around(coarse, middle)
        slices, indices = nearest_slices(window, positions, asker.every_step)
        if not len(slices) or (asker.every_step and len(slices) < WINDOW):
            raise MethodError(
                f"{asker.name} needs a slice at each of {WINDOW} steps, and here there are only "
                f"{len(slices)}: dioptre-any-green and dioptre-any-dp take any"
            )
        result = asker.ask(coarse.shrink(region[slices]), indices[None], window)
        if found is not None and is_out_of_reach(result):
            break  # around an answer that was not sure the focus is not: it stays what is known
        found = result
        if result.state is State.FAILED:
            break
        middle, coarse = np.array([result.position]), replace(coarse, coarser=coarse.coarser / 2)
    assert found is not None
    return on_grid(found, grid)


def nearest_slices(
    window: StepWindow, positions: Positions, every_step: bool
) -> tuple[Int[np.ndarray, " some"], Int[np.ndarray, " some"]]:
    """Returns which slices are shown at which indices of a window: for each index the nearest, if it is near.

    Slices are not blended: that is more work, and no more exact (`python -m lab.realism.blending`).

    Args:
        window: The window.
        positions: Where the slices were taken.
        every_step: Whether a slice may be shown at several indices, up to APART steps from it; otherwise each
            is shown once at most, at the index next to it.
    """
    away = np.abs(window.position_to_index(positions) - np.arange(WINDOW)[:, None])  # (index, slice)
    nearest = away.argmin(axis=1)
    shown = away.min(axis=1) <= (APART if every_step else 0.5)
    return nearest[shown], np.flatnonzero(shown)


def on_grid(result: FocusResult, grid: FocusGrid) -> FocusResult:
    """Returns a result over the steps of a window as one over a grid, far to near; both count in one unit."""
    places, scored = grid.positions, result.grid.positions
    rising = slice(None, None, 1 if len(scored) < 2 or scored[-1] > scored[0] else -1)
    error, subindex = result.expected_error, float(grid.position_to_index(result.position))
    verdict = replace(
        result.verdict,
        candidates=tuple(
            replace(one, index=int(np.abs(places - scored[one.index]).argmin()))
            for one in result.verdict.candidates
        ),
        expected_error=None if error is None else error / grid.units_per_index(subindex),
    )
    scores = np.interp(places, scored[rising], result.scores[rising])
    return replace(result, subindex=subindex, verdict=verdict, scores=scores, grid=grid)


def flag_assumed_camera(verdict: Verdict, focuser: Autofocuser) -> Verdict:
    """Returns the verdict on an answer about pictures of an unknown camera: a network has assumed one."""
    if not focuser.is_network:
        return verdict
    return replace(verdict, reasons=(*verdict.reasons, Reason.ASSUMED_CAMERA))
