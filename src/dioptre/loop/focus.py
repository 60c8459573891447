"""One call: a stack in, or one look, and a FocusResult out.

Slices come in the order in which the user has them, and answers are in that order. Positions may rise or
fall along it; a ladder inside the package always rises from far to near, so a stack that runs from near
to far is turned round on the way in and its answer on the way out.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Shaped

from dioptre.dataset.pictures import read_pictures
from dioptre.errors import InputError
from dioptre.loop.verdict import Exposure, Reason, State, Verdict, judge, judge_belief, peak_position
from dioptre.methods import Method, find_method
from dioptre.methods.base import ANY, WHOLE, Autofocuser, Believer
from dioptre.methods.measure import MIN_SIZE
from dioptre.optics import FocusGrid, dioptres_to_metres
from dioptre.stack import VIEW_CODES, FocalStack, codes_to_pixels

DEFAULT_METHOD: Final = "local-norm-dist-sq-4"
SINGLE_METHODS: Final = {1: "dioptre-single-green", 2: "dioptre-single-dp"}
_TILES: Final = 4  # a region is cut into at most 4 x 4 tiles to see whether they agree


class Roi(NamedTuple):
    """A region of interest in pixels: x counts columns from the left, y rows from the top."""

    x: int
    y: int
    w: int
    h: int


class Policy(StrEnum):
    """Which of several regions decides."""

    MOST_CONFIDENT = "most-confident"
    NEAREST = "nearest"


@dataclass(frozen=True)
class FocusResult:
    """Where the lens must go, how sure that is, and why not when it is not.

    Attributes:
        index: The sharpest slice, counted from 0 in the order of the stack. Given also when focusing
            failed, then as the best guess.
        position: The same between slices, by a parabola through the peak.
        dioptres: The focus there; None if the positions are not known in dioptres.
        distance_m: The same in metres; None if not known.
        position_um: The place there in micrometres; None if the positions are not known in micrometres.
        state: FOCUSED, or FAILED.
        confidence: 0 to 1; at most 0.5 when focusing failed.
        scores: The focus curve: a score for each slice, higher is sharper.
        reasons: Why it failed, or what to beware of; machine-readable.
        method: Key of the method.
        roi: The region that decided; None for the whole picture.
        regions: The results of all regions, if there were several.
    """

    index: int
    position: float
    dioptres: float | None
    distance_m: float | None
    position_um: float | None
    state: State
    confidence: float
    scores: Float[np.ndarray, " n"]
    reasons: tuple[Reason, ...]
    method: str
    roi: Roi | None = None
    regions: tuple["FocusResult", ...] = field(default=(), repr=False)

    def to_json(self) -> dict[str, Any]:
        """Returns the result as plain numbers, strings and lists; scores that do not exist are None."""
        return {
            "index": self.index,
            "position": self.position,
            "dioptres": self.dioptres,
            "distance_m": _finite(self.distance_m),
            "position_um": self.position_um,
            "state": self.state.value,
            "confidence": self.confidence,
            "reasons": [reason.value for reason in self.reasons],
            "method": self.method,
            "roi": None if self.roi is None else list(self.roi),
            "scores": [_finite(float(score)) for score in self.scores],
            "regions": [region.to_json() for region in self.regions],
        }


def _finite(number: float | None) -> float | None:
    """Returns the number, or None where JSON has no word for it."""
    return number if number is not None and np.isfinite(number) else None


@dataclass(frozen=True)
class _Ladder:
    """Where the slices were taken: a grid that rises, whether the stack runs against it, or micrometres."""

    grid: FocusGrid
    falling: bool = False
    um: Float[np.ndarray, " n"] | None = None


def focus(
    stack: Shaped[np.ndarray, "..."] | FocalStack | str | os.PathLike[str],
    method: str = DEFAULT_METHOD,
    *,
    grid: FocusGrid | None = None,
    dioptres: Sequence[float] | Float[np.ndarray, " n"] | None = None,
    positions_um: Sequence[float] | Float[np.ndarray, " n"] | None = None,
    roi: Sequence[int] | Sequence[Sequence[int]] | None = None,
    policy: str = Policy.MOST_CONFIDENT,
    black: float | None = None,
    white: float | None = None,
) -> FocusResult:
    """Returns the sharpest slice of a stack, how sure that is, and why not when it is not.

    Args:
        stack: (slice, row, col) or (slice, 2 views, row, col) of any real dtype; a path that
            `dioptre focus` would take; or a FocalStack of one scene.
        method: Key of a full-stack method (`dioptre.METHODS`).
        grid: The ladder that the slices were taken on, index 0 far.
        dioptres: Or the dioptres of each slice, rising or falling.
        positions_um: Or the micrometres of each slice, rising or falling.
        roi: One region (x, y, w, h) in pixels, or a list of them; the whole picture by default.
        policy: Which of several regions decides: "most-confident", or "nearest" (to the camera) of those that
            are in focus somewhere.
        black: Value of black; 0 by default.
        white: Value of white; by default the largest value of an integer dtype, 1.0 for floats.

    Raises:
        InputError: The stack, a region, the positions or the method cannot be used; the message says why.
    """
    row, chosen = find_method(method), _policy(policy)
    if row.looks not in (WHOLE, ANY):
        raise InputError(f"{method} does not look at a whole stack, but at {row.looks} of its slices")
    if isinstance(stack, FocalStack):
        grid = stack.grid if grid is None and dioptres is None and positions_um is None else grid
        pixels, view_codes = _one_scene(stack), stack.view_codes
    else:
        codes = read_pictures(Path(stack)).codes if isinstance(stack, (str, os.PathLike)) else stack
        pixels, view_codes = _to_pixels(codes, black, white), VIEW_CODES
    if row.views > pixels.shape[1]:
        raise InputError(f"{method} compares a left and a right view, but the stack has only one view")
    ladder = _ladder(len(pixels), grid, dioptres, positions_um)
    regions = [_focus_region(pixels, view_codes, row, ladder, one) for one in _rois(roi, pixels.shape[2:])]
    if len(regions) == 1:
        return regions[0]
    return replace(_decide(regions, chosen, ladder), regions=tuple(regions))


def focus_from(
    frame: Shaped[np.ndarray, "..."],
    at: int,
    method: str | None = None,
    *,
    grid: FocusGrid | None = None,
    where: tuple[float, float] | None = None,
    roi: Sequence[int] | None = None,
    black: float | None = None,
    white: float | None = None,
) -> FocusResult:
    """Returns where the lens must go from one look.

    Args:
        frame: (row, col), or (2, row, col) for the left and the right view, of any real dtype.
        at: The position of the ladder that the look was taken at.
        method: Key of a method for one look; by default ours for as many views as there are.
        grid: The ladder; that of the published data set by default.
        where: The region's centre in the camera's frame as (x, y), each in [-1, 1]; if the frame is the whole
            of it, its region tells.
        roi: A region (x, y, w, h) in pixels; the whole picture by default.
        black: Value of black; 0 by default.
        white: Value of white; by default the largest value of an integer dtype, 1.0 for floats.

    Raises:
        InputError: The look, the position or the method cannot be used; the message says why.
    """
    codes = np.asarray(frame)
    if codes.ndim not in (2, 3):
        raise InputError(f"a look is (row, col) or (2, row, col), not an array of shape {codes.shape}")
    pixels = _to_pixels(codes[None], black, white)
    row = find_method(SINGLE_METHODS[pixels.shape[1]] if method is None else method)
    if row.looks not in (1, ANY):
        raise InputError(f"{row.key} does not take one look")
    if row.views > pixels.shape[1]:
        raise InputError(f"{row.key} needs the left and the right view, but the look has only one")
    ladder = _Ladder(FocusGrid.learnaf() if grid is None else grid)
    if not 0 <= at < len(ladder.grid):
        raise InputError(f"the ladder has positions 0..{len(ladder.grid) - 1}, not {at}")
    (region,) = _rois(roi, pixels.shape[2:])
    if region is not None:
        where = where or _centre(region, pixels.shape[2:])
        pixels = pixels[:, :, region.y : region.y + region.h, region.x : region.x + region.w]
    place = None if where is None else np.array([where])
    look = FocalStack(np.ascontiguousarray(pixels[None]), np.array([[at]]), ladder.grid, place)
    curve, verdict = _ask(row.build(), look, Exposure.of(pixels))
    return _result(curve, verdict, row, ladder, region)


def _centre(region: Roi, shape: tuple[int, ...]) -> tuple[float, float]:
    """Returns where in a picture the centre of a region lies, each axis in [-1, 1]."""
    rows, cols = shape
    return (2 * region.x + region.w) / cols - 1, (2 * region.y + region.h) / rows - 1


def _policy(name: str) -> Policy:
    try:
        return Policy(name)
    except ValueError:
        raise InputError(f"a policy is {' or '.join(Policy)}, not {name!r}") from None


def _one_scene(stack: FocalStack) -> Float32[np.ndarray, "slice view row col"]:
    if stack.batch != 1 or sorted(stack.indices[0].tolist()) != list(range(len(stack.grid))):
        raise InputError(
            f"focus() takes all slices of one scene, not {stack.batch} scenes of {stack.indices.shape[1]} of "
            f"{len(stack.grid)} slices; dioptre.scores takes any FocalStack"
        )
    return stack.pixels[0][np.argsort(stack.indices[0])]


def _to_pixels(
    codes: Shaped[np.ndarray, "..."], black: float | None, white: float | None
) -> Float32[np.ndarray, "slice view row col"]:
    codes = np.asarray(codes)
    if codes.dtype == bool or not (
        np.issubdtype(codes.dtype, np.integer) or np.issubdtype(codes.dtype, np.floating)
    ):
        raise InputError(f"a stack's pixels are real numbers, not {codes.dtype}")
    if codes.ndim == 3:
        codes = codes[:, None]
    if codes.ndim != 4 or codes.shape[1] not in (1, 2) or 0 in codes.shape:
        raise InputError(
            f"a stack is (slice, row, col) or (slice, 2 views, row, col), not an array of shape {codes.shape}"
        )
    return codes_to_pixels(codes, black or 0.0, _white(codes) if white is None else white)


def _white(codes: Shaped[np.ndarray, "slice view row col"]) -> float:
    """Returns the white that the dtype implies, unless the pixels show that it cannot be."""
    if np.issubdtype(codes.dtype, np.integer):
        if codes.dtype.itemsize > 2:
            raise InputError(f"say what white is: {codes.dtype} pixels do not tell (white=...)")
        return float(np.iinfo(codes.dtype).max)
    highest = float(np.max(codes, initial=0.0, where=np.isfinite(codes)))
    if highest > 2.0:
        raise InputError(
            f"say what white is: float pixels are taken as 0 to 1, but reach {highest:g} (white=...)"
        )
    return 1.0


def _ladder(
    n: int,
    grid: FocusGrid | None,
    dioptres: Sequence[float] | Float[np.ndarray, " n"] | None,
    positions_um: Sequence[float] | Float[np.ndarray, " n"] | None,
) -> _Ladder:
    given = [one for one in (grid, dioptres, positions_um) if one is not None]
    if len(given) > 1:
        raise InputError("give the positions once: as grid, dioptres or positions_um")
    if not given:
        return _Ladder(FocusGrid.unknown(n))
    if len(given[0]) != n:
        raise InputError(f"the stack has {n} slices, but {len(given[0])} positions are given")
    if grid is not None:
        return _Ladder(grid)
    values = np.asarray(given[0], dtype=np.float64)
    steps = np.diff(values)
    if not ((steps > 0).all() or (steps < 0).all()):
        raise InputError("positions must rise or fall from slice to slice; sort the slices by position")
    if positions_um is not None:
        return _Ladder(FocusGrid.unknown(n), um=values)
    falling = n > 1 and bool(steps[0] < 0)
    return _Ladder(FocusGrid(values[::-1] if falling else values), falling)


def _rois(roi: Sequence[int] | Sequence[Sequence[int]] | None, shape: tuple[int, ...]) -> list[Roi | None]:
    if roi is None or len(roi) == 0:
        return [None]
    many = [roi] if isinstance(roi[0], (int, float, np.number)) else roi
    return [_checked_roi(one, shape) for one in many]  # type: ignore[arg-type]


def _checked_roi(roi: Sequence[int], shape: tuple[int, ...]) -> Roi:
    if len(roi) != 4 or any(v != int(v) for v in roi):
        raise InputError(f"a region is x, y, width, height in whole pixels, not {tuple(roi)}")
    region, (rows, cols) = Roi(*(int(v) for v in roi)), shape
    inside = region.x >= 0 and region.y >= 0 and region.x + region.w <= cols and region.y + region.h <= rows
    if not inside or min(region.w, region.h) < MIN_SIZE:
        raise InputError(
            f"the region x={region.x} y={region.y} w={region.w} h={region.h} does not lie inside the picture "
            f"of {cols} x {rows} pixels, or is smaller than {MIN_SIZE} x {MIN_SIZE}"
        )
    return region


def _focus_region(
    pixels: Float32[np.ndarray, "slice view row col"],
    view_codes: float,
    method: Method,
    ladder: _Ladder,
    roi: Roi | None,
) -> FocusResult:
    region = pixels if roi is None else pixels[:, :, roi.y : roi.y + roi.h, roi.x : roi.x + roi.w]
    shown = region[::-1] if ladder.falling else region
    focuser = method.build()
    whole = FocalStack.full(shown[None], ladder.grid, view_codes=view_codes)
    cut = None if isinstance(focuser, Believer) else _tiles(shown)
    parts = None if cut is None else FocalStack.full(cut, ladder.grid, view_codes=view_codes)
    curve, verdict = _ask(focuser, whole, Exposure.of(region), parts)
    return _result(curve, verdict, method, ladder, roi)


def _ask(
    focuser: Autofocuser, stack: FocalStack, exposure: Exposure, parts: FocalStack | None = None
) -> tuple[Float[np.ndarray, " n"], Verdict]:
    """Returns the scores of one scene, and what they are worth.

    Args:
        focuser: Who scores.
        stack: The scene.
        exposure: How bright it is.
        parts: Tiles of it; not needed if the focuser knows itself how likely its answer is.
    """
    if isinstance(focuser, Believer):
        belief = focuser.belief(stack)
        curve = focuser.decide(belief)[0]
        return curve, judge_belief(belief[0], int(np.argmax(curve)), exposure)
    curve = focuser.scores(stack)[0]
    return curve, judge(curve, None if parts is None else focuser.scores(parts), exposure)


def _result(
    curve: Float[np.ndarray, " n"], verdict: Verdict, method: Method, ladder: _Ladder, roi: Roi | None
) -> FocusResult:
    position = peak_position(curve)
    known = ladder.grid.known
    dioptres = float(ladder.grid.index_to_dioptres(position)) if known else None
    index, last = int(np.argmax(curve)), len(curve) - 1
    return FocusResult(
        index=last - index if ladder.falling else index,
        position=last - position if ladder.falling else position,
        dioptres=dioptres,
        distance_m=float(dioptres_to_metres(dioptres)) if dioptres is not None else None,
        position_um=None if ladder.um is None else float(np.interp(position, np.arange(last + 1), ladder.um)),
        state=verdict.state,
        confidence=verdict.confidence,
        scores=curve[::-1] if ladder.falling else curve,
        reasons=verdict.reasons,
        method=method.key,
        roi=roi,
    )


def _tiles(
    pixels: Float32[np.ndarray, "slice view row col"],
) -> Float32[np.ndarray, "tile slice view h w"] | None:
    """Returns the region cut into tiles, or None if it is too small for four of them."""
    n, views, rows, cols = pixels.shape
    down, across = min(_TILES, rows // MIN_SIZE), min(_TILES, cols // MIN_SIZE)
    if down * across < 4:
        return None
    h, w = rows // down, cols // across
    cut = pixels[:, :, : down * h, : across * w].reshape(n, views, down, h, across, w)
    return np.ascontiguousarray(cut.transpose(2, 4, 0, 1, 3, 5)).reshape(-1, n, views, h, w)


def _decide(regions: list[FocusResult], policy: Policy, ladder: _Ladder) -> FocusResult:
    """Returns the region that decides: the most confident, or the nearest of those in focus."""
    focused = [region for region in regions if region.state is State.FOCUSED]
    if policy is Policy.NEAREST and focused:
        return max(focused, key=lambda region: -region.position if ladder.falling else region.position)
    return max(focused or regions, key=lambda region: region.confidence)
