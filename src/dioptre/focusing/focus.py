"""One call: a stack in, or a few looks, and a FocusResult out.

Inside, slices run from far to near. Those of a person whose slices run the other way are measured in that
order and the result is turned back at the end, so that he meets his own order only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, overload

import numpy as np
from jaxtyping import Float, Shaped

from dioptre.cameras.blur_units import StepWindow
from dioptre.confidence.curve import peak_position
from dioptre.confidence.exposure import Exposure
from dioptre.confidence.model import RISK, check_risk
from dioptre.confidence.reasons import Reason, State
from dioptre.confidence.statistics import SliceBlocks
from dioptre.confidence.verdict import Verdict, VerdictContext, judge, judge_curve
from dioptre.errors import InputError, MethodError
from dioptre.focusing.alignment import aligned, seems_to_move
from dioptre.focusing.arguments import (
    DEFAULT_MEASURE,
    AnyGrid,
    AnyMethod,
    AnyStack,
    method_of_looks,
    method_of_stacks,
    refuse_unknown,
    to_prior,
)
from dioptre.focusing.arguments import DEFAULT_METHOD as DEFAULT_METHOD  # noqa: PLC0414  # handed on
from dioptre.focusing.bright_regions import LIT, bright_slices
from dioptre.focusing.camera_transfer import Asker, ask_looks, ask_stack, flag_assumed_camera
from dioptre.focusing.depths import (
    FINE_TILES,
    Subject,
    decide,
    find_depths,
    glimpse_depths,
    joined_on_plateau,
    need_order,
    to_subject,
    without_twins,
)
from dioptre.focusing.inputs import (
    Pixels,
    cut,
    in_order,
    is_several,
    place_of,
    roi_of,
    to_grid,
    to_rois,
    to_where,
    window_of,
)
from dioptre.focusing.looks import Look, look_pixels, to_looks
from dioptre.focusing.preview import shown
from dioptre.focusing.regions import to_region
from dioptre.focusing.result import Depth, FocusResult, Roi
from dioptre.focusing.score_slices import MeasuredRegion, measure_regions, measure_tiles
from dioptre.focusing.slices import Reading, Slices, grid_of, to_slices
from dioptre.grid import FocusGrid
from dioptre.methods import Method
from dioptre.methods.base import WHOLE, Autofocuser
from dioptre.methods.tiles import tile_layout, tiles_of
from dioptre.posterior import DepthPrior, Posterior
from dioptre.stack import VIEW_CODES, FocalStack

EVEN: Final = DepthPrior.even()
LARGE: Final = 256  # pixels on a side of a picture in which depths are looked for on behalf of a network
BRIGHTEST: Final = (
    "all of it together does not tell: its brightest places decide, and the scores are not theirs"
)


@overload
def focus(
    stack: AnyStack, method: AnyMethod = DEFAULT_METHOD, *, roi: Sequence[Sequence[int]], **how: Any
) -> list[FocusResult]: ...


@overload
def focus(
    stack: AnyStack, method: AnyMethod = DEFAULT_METHOD, *, roi: Sequence[int] | None = None, **how: Any
) -> FocusResult: ...


def focus(
    stack: AnyStack,
    method: AnyMethod = DEFAULT_METHOD,
    *,
    roi: Any = None,
    grid: AnyGrid | None = None,
    order: str | None = None,
    subject: str = Subject.CENTRE,
    black: float | None = None,
    white: float | None = None,
    prior: DepthPrior | str = EVEN,
    risk: float = RISK,
    **reading: Any,
) -> FocusResult | list[FocusResult]:
    """Returns the sharpest slice of a stack, how sure that is, and why not when it is not.

    Args:
        stack: (slice, row, col) or (slice, 2 views, row, col) of any real dtype; a path that `dioptre focus`
            would take, or a list of pictures' paths; open Pictures; or a FocalStack of one scene.
        method: Key of a method that sees whole stacks (`dioptre.METHODS`), the file of a network, or an
            Autofocuser.
        roi: One region (x, y, w, h) in pixels, the whole picture by default; or a list of regions, of which
            there is a list of results.
        grid: Where the slices were taken, in their order: a FocusGrid; a camera's name or file; positions in
            words, such as "0:0.5um"; or numbers, which are dioptres. By default as the file tells, or else
            not known: an answer is then a slice, and networks, which must know, are refused.
        order: Whether the slices run "near-first" or "far-first", where their positions do not tell.
        subject: Which of several depths decides: what fills most of the "centre", the "nearest" to the
            camera or the "farthest", the "largest", or the "most-confident".
        black: Value of black; 0 by default.
        white: Value of white; by default the largest of an 8- or 16-bit integer dtype, 1.0 for floats, and
            for others and for floats below 0 or above 2 the highest value that there is.
        prior: Where things are expected before looking: "even", "far", or a DepthPrior. Only methods that
            know probabilities heed it.
        risk: How often an answer that is called focused may be a miss: nothing in the region is sharp.
        reading: How a stack is read: gamma, and axes, channel, ... (`dioptre.stacks.axes.Wanted`).

    Raises:
        DioptreError: The stack, a region, the positions or the method cannot be used; the message says why.
    """
    row, chosen, how = method_of_stacks(method), to_subject(subject), Reading.of(reading)
    focuser = row.build()
    slices = to_slices(stack, black, white, how, focuser.is_network)
    told = grid_of(slices) if grid is None else to_grid(grid, len(slices), slices.pictures.names)
    told = in_order(told, order)
    refuse_unknown(told, row.key, focuser)
    need_order(chosen, told)
    job = FocusJob.of(row, focuser, told, to_prior(prior), slices.view_codes, check_risk(risk))
    rois = to_rois(roi, slices.shape)
    slices, regions = job.steadied(slices, rois, how.progress)
    if is_several(roi):
        return [shown(job.turned(replace(one, depths=())), slices) for one in regions]
    parts = job.depths(slices, rois[0], regions[0])
    found = decide(parts, chosen) if parts else replace(regions[0], depths=())
    return shown(job.turned(found), slices)


def focus_from(
    frame: Shaped[np.ndarray, "..."] | Sequence[Look],
    at: int | float | None = None,
    method: AnyMethod | None = None,
    *,
    grid: AnyGrid | None = None,
    where: tuple[float, float] | None = None,
    roi: Any = None,
    black: float | None = None,
    white: float | None = None,
    prior: DepthPrior | str = EVEN,
    risk: float = RISK,
    gamma: str | None = None,
) -> FocusResult:
    """Returns where the lens must go from one look, or from several.

        dioptre.focus_from(frame, at=20)
        dioptre.focus_from([(frame, 20), (another, 31)])
        dioptre.focus_from(frame, at=1.25, grid="my-camera.toml").position

    Args:
        frame: (row, col), or (2, row, col) for the left and the right view, of any real dtype. Or a list of
            looks, each a frame and the position that it was taken at.
        at: The position that a single look was taken at, in the unit of the grid.
        method: Key of a method for so many looks, the file of a network, or an Autofocuser; by default ours
            for as many views as there are.
        grid: Where the lens can go: a FocusGrid; a camera's name or file; positions in words; or numbers,
            which are dioptres. By default the slices of the published data set, and the result says so
            (assumed-camera).
        where: The region's centre in the camera's frame, (x, y) in [-1, 1]; its place in `frame` by default.
        roi: A region (x, y, w, h) in pixels; the whole picture by default.
        black: Value of black; 0 by default.
        white: Value of white; by default the largest value of an integer dtype, 1.0 for floats.
        prior: Where things are expected before looking: "even", "far", or a DepthPrior.
        risk: How often an answer that is called focused may be a miss: nothing in the region is sharp.
        gamma: "srgb" if the values are a display's, as of a JPEG; they are linear by default.

    Raises:
        DioptreError: A look, a position or the method cannot be used; the message says why.
    """
    looks = to_looks(frame, at)
    positions = [one for _, one in looks]
    told = FocusGrid.learnaf() if grid is None else to_grid(grid, around=positions)
    pixels, notes = look_pixels(looks, black, white, gamma)
    views, shape = pixels.shape[1], (pixels.shape[2], pixels.shape[3])
    row = method_of_looks(method, len(looks), views)
    region, *more = to_rois(roi, shape)
    if more:
        raise InputError(f"a look has one region, not {1 + len(more)}")
    focuser = row.build()
    refuse_unknown(told, row.key, focuser)
    job = FocusJob.of(row, focuser, told, to_prior(prior), VIEW_CODES, check_risk(risk), assumed=grid is None)
    if job.through_camera:
        taken = np.array([told.check(one) for one in positions])
        found = ask_looks(job.asker(views, region), job.grid, cut(pixels, region), taken)
    else:
        taken = np.array([[job.grid.index_of(one) for one in positions]])
        found = job.looks(cut(pixels, region), taken, region, place_of(region, shape, to_where(where)))
    return job.turned(replace(found, notes=notes))


@dataclass(frozen=True, eq=False)
class FocusJob:
    """Who is asked about pictures, and what is known of them beside the pixels.

    Attributes:
        method: The method's row.
        focuser: The method, built.
        grid: Where slices were taken, far to near; all inside is in its order.
        near_first: Whether the person's own order is the other one.
        prior: Where things are expected.
        view_codes: Codes between black and white of one view.
        risk: How often an answer that is called focused may be a miss.
        assumed: Whether nobody has told the grid, and it is taken to be the published one.
        window: The steps that a network is asked about, through a camera whose blur it is told.
    """

    method: Method
    focuser: Autofocuser
    grid: FocusGrid
    near_first: bool
    prior: DepthPrior
    view_codes: float
    risk: float
    assumed: bool = False
    window: StepWindow | None = None

    @classmethod
    def of(
        cls, method: Method, focuser: Autofocuser, grid: FocusGrid, prior: DepthPrior, view_codes: float,
        risk: float, assumed: bool = False,
    ) -> "FocusJob":  # fmt: skip
        """Returns the job for slices in their own order."""
        near_first = not grid.far_to_near
        ordered = grid.turned() if near_first else grid
        return cls(method, focuser, ordered, near_first, prior, view_codes, risk, assumed)

    @property
    def through_camera(self) -> bool:
        """Whether a network is told how blur grows, and asked in steps of it."""
        return self.focuser.is_network and self.grid.blur_per_unit_px is not None

    def turned(self, result: FocusResult) -> FocusResult:
        """Returns a result in the person's own order."""
        return result.turned() if self.near_first else result

    def steadied(
        self, slices: Slices, rois: Sequence[Roi | None], progress: Any = None
    ) -> tuple[Slices, list[FocusResult]]:
        """Returns the slices, aligned where the camera moved, and the answer to each region of them.

        A network is shown them as they are: it needs patches of its size.
        """
        seen = self._regions(slices, rois, progress)
        if not self.focuser.is_network and any(seems_to_move(found.blocks) for _, found in seen):
            still = aligned(slices)
            if still is not slices:
                return still, self.regions(still, rois, progress)
        return slices, [self._lit(slices, *one) for one in seen]

    def regions(self, slices: Slices, rois: Sequence[Roi | None], progress: Any = None) -> list[FocusResult]:
        """Returns the answer to each region of all slices; of a mostly black one, where its light is."""
        return [self._lit(slices, *one) for one in self._regions(slices, rois, progress)]

    def _lit(self, slices: Slices, whole: FocusResult, found: MeasuredRegion) -> FocusResult:
        """Returns the answer of a region's brightest places, with its own scores, if it is surer than its."""
        if whole.state is State.FOCUSED or found.exposure.mean > LIT:
            return whole
        if self.focuser.is_network:  # which knows pictures, and not pieces of them
            return whole
        bright = bright_slices(slices, to_region(slices, window_of(whole.roi, slices.shape)))
        if bright is None:
            return whole
        ((seen, _),) = self._regions(bright, [None])
        if seen.risk >= whole.risk:
            return whole
        notes = (*whole.notes, BRIGHTEST)
        return replace(seen, scores=whole.scores, roi=whole.roi, depths=(), notes=notes)

    def _regions(
        self, slices: Slices, rois: Sequence[Roi | None], progress: Any = None
    ) -> list[tuple[FocusResult, MeasuredRegion]]:
        """Returns what is said of each region as it is, and what is known of it."""
        parts = [to_region(slices, window_of(one, slices.shape)) for one in rois]
        for one in parts:
            if not self.through_camera:
                self._check(one.window.shape, slices.views)
        measured = measure_regions(slices, parts, self.focuser, self.near_first, progress=progress)
        results = []
        for roi, part, found in zip(rois, parts, measured, strict=True):
            if self.through_camera:
                assert found.pixels is not None
                result = ask_stack(self.asker(slices.views, roi), self.grid, found.pixels)
            else:
                place = place_of(roi, slices.shape, slices.where)
                stack = None if found.pixels is None else self._stack(found.pixels[None], None, place)
                result = replace(self._answer(found, stack, roi or roi_of(part.window), None), roi=roi)
            told = result.read_with((*slices.notes, *part.notes), bool(part.notes))
            results.append((told, found))
        return results

    def depths(self, slices: Slices, roi: Roi | None, whole: FocusResult) -> dict[Depth, FocusResult]:
        """Returns the depths of a region and what each says; none if it has one depth only.

        A network looks at patches and knows no depths: of a picture that is large enough, the default measure
        finds them, and the network answers for each.
        """
        depths: tuple[Depth, ...] = ()
        if self.focuser.is_network:
            depths = self._depths_for_network(slices, roi)
        elif len(whole.depths) > 1 or Reason.SEVERAL_DEPTHS in whole.reasons:
            shape = window_of(roi, slices.shape).shape
            coarse = self._layout(self.focuser, shape, slices.views) == tile_layout(*shape)
            depths = whole.depths if coarse else self._fine_depths(slices, roi, self.focuser)
        depths = joined_on_plateau(depths, whole.verdict.plateau)
        if len(depths) < 2:
            return {}
        found = self.regions(slices, [one.roi for one in depths])
        told = {depth: replace(one, depths=()) for depth, one in zip(depths, found, strict=True)}
        apart = without_twins(told)
        return apart if len(apart) > 1 else {}

    def _depths_for_network(self, slices: Slices, roi: Roi | None) -> tuple[Depth, ...]:
        """Returns the depths of a large region that the network can see; none if they are not several."""
        if min(window_of(roi, slices.shape).shape) < LARGE:
            return ()
        measure = method_of_stacks(DEFAULT_MEASURE).build()
        found = self._fine_depths(slices, roi, measure)
        seen = [one for one in found if min(one.roi.w, one.roi.h) >= LARGE / 2]
        return tuple(seen) if len(seen) > 1 else ()

    def _layout(self, focuser: Autofocuser, shape: tuple[int, int], views: int) -> tuple[int, int]:
        """Returns how many tiles of a region depths are looked for in, down and across."""
        coarse, fine = tile_layout(*shape), tile_layout(*shape, *FINE_TILES)
        layout = max(coarse[0], fine[0]), max(coarse[1], fine[1])
        small = shape[0] // layout[0], shape[1] // layout[1]
        return coarse if focuser.refusal(self.grid, small, views) else layout

    def _fine_depths(self, slices: Slices, roi: Roi | None, focuser: Autofocuser) -> tuple[Depth, ...]:
        """Returns the depths of a region as finer tiles show them; none if these do not tell several."""
        part = to_region(slices, window_of(roi, slices.shape))
        layout = self._layout(focuser, part.window.shape, slices.views)
        if focuser.by_slice:
            curves = measure_tiles(slices, part, focuser, layout, self.near_first)
        else:
            (found,) = measure_regions(slices, [part], focuser, self.near_first)
            assert found.pixels is not None
            curves = self._tile_curves(found.pixels, layout)
        depths = () if curves is None else find_depths(curves, layout, roi_of(part.window))
        return depths if len(depths) > 1 else ()

    def looks(
        self, region: Pixels, indices: Any, roi: Roi | None, where: tuple[float, float] | None
    ) -> FocusResult:
        """Returns the answer of a few looks, at indices of the grid, or of the window of steps."""
        stack = self._stack(np.ascontiguousarray(region[None]), indices, where)
        found = MeasuredRegion(None, None, Exposure.of(region), SliceBlocks.of(region), region)
        return self._answer(found, stack, roi, indices[0])

    def asker(self, views: int, roi: Roi | None) -> Asker:
        """Returns the same question about windows of steps."""

        def ask(region: Pixels, indices: Any, window: StepWindow) -> FocusResult:
            asked = replace(self, grid=window.grid, window=window, prior=window.prior(self.prior))
            return asked.looks(region, indices, roi, None)

        def refusal(shape: tuple[int, int]) -> str | None:
            return self.focuser.refusal(StepWindow.every_step(), shape, views)

        return Asker(ask, refusal, self.method.looks == WHOLE, self.method.key)

    @property
    def _seen_grid(self) -> FocusGrid:
        """The grid that the method is shown."""
        return self.grid if self.window is None else StepWindow.every_step()

    def _check(self, shape: tuple[int, int], views: int) -> None:
        refusal = self.focuser.refusal(self._seen_grid, shape, views)
        if refusal is not None:
            raise MethodError(f"{self.method.key} {refusal}")

    def _stack(self, pixels: Any, indices: Any, where: tuple[float, float] | None) -> FocalStack:
        place = None if where is None else np.array([where])
        self._check(pixels.shape[3:], pixels.shape[2])
        if indices is None:
            return FocalStack.full(pixels, self._seen_grid, place, self.view_codes)
        return FocalStack(pixels, indices, self._seen_grid, place, self.view_codes)

    def _answer(
        self, found: MeasuredRegion, stack: FocalStack | None, roi: Roi | None, at: Any
    ) -> FocusResult:
        """Returns the answer to a region.

        Args:
            found: What is known of it.
            stack: Its pixels, for a method that sees them together.
            roi: Where it lies.
            at: The indices of looks; None of a whole stack.
        """
        posterior = None if stack is None else self.focuser.posterior(stack)
        if posterior is not None:
            if self.window is not None:
                posterior = self.window.held(posterior)
            posterior = posterior.weigh(self.prior)
            verdict = self._judged(posterior, found, at)
            known = self.window is not None or (self.grid.known and not self.assumed)
            verdict = verdict if known else flag_assumed_camera(verdict, self.focuser)
            return self._result(posterior.scores()[0], verdict, roi, at)
        curve, parts = found.curve, found.parts
        if stack is not None:
            curve = self.focuser.scores(stack)[0]
            parts = self._tile_curves(stack.pixels[0]) if at is None else None
        assert curve is not None
        if parts is not None:
            curve, _ = self.focuser.joined(curve, parts)
        context = VerdictContext(self.risk)
        verdict = judge_curve(curve, found.blocks, found.exposure, context)
        result = self._result(curve, verdict, roi, at)
        if parts is None or roi is None:
            return result
        coarse = tile_layout(roi.h, roi.w)
        same = self._layout(self.focuser, (roi.h, roi.w), found.blocks.views) == coarse
        return replace(result, depths=find_depths(parts, coarse, roi) if same else glimpse_depths(parts, roi))

    def _judged(self, posterior: Posterior, found: MeasuredRegion, at: Any) -> Verdict:
        """Returns the verdict on a posterior, of looks or of a whole stack."""
        answer, blocks = peak_position(posterior.scores()[0]), found.blocks
        context = VerdictContext(self.risk)
        if at is not None:
            looks, which = np.unique(at, return_index=True)
            context = VerdictContext(self.risk, looks.astype(np.float64), posterior.positions)
            blocks = blocks.at(which)
        return judge(answer, blocks, found.exposure, posterior, context)

    def _result(
        self, curve: Float[np.ndarray, " n"], verdict: Verdict, roi: Roi | None, at: Any
    ) -> FocusResult:
        looks = () if at is None or self.window is not None else tuple(self.grid.positions[at].tolist())
        return FocusResult(peak_position(curve), verdict, curve, self.grid, self.method.key, roi, looks=looks)

    def _tile_curves(self, pixels: Pixels, layout: Any = None) -> Float[np.ndarray, "tile n"] | None:
        tiles = tiles_of(pixels, layout)
        return None if tiles is None else self.focuser.tile_measure.scores(self._stack(tiles, None, None))
