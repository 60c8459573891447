"""One call: a stack in, or a few looks, and a FocusResult out.

Slices come in the order in which the user has them, and answers are in that order. Positions may rise or
fall along it; a ladder inside the package always rises from far to near, so a stack that runs from near
to far is turned round on the way in and its answer on the way out.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Shaped

from dioptre.cameras.base import to_index
from dioptre.cameras.blur_units import WINDOW, FocusSteps, StepWindow, to_steps
from dioptre.confidence.curve import peak_position
from dioptre.confidence.exposure import Exposure
from dioptre.confidence.model import RISK, check_risk
from dioptre.confidence.reasons import Reason
from dioptre.confidence.sweep_statistics import Traces
from dioptre.confidence.verdict import Asked, Verdict, judge, judge_posterior
from dioptre.errors import InputError, MethodError
from dioptre.focusing.arguments import DEFAULT_MEASURE, AnyMethod, method_of_looks, method_of_stacks, to_prior
from dioptre.focusing.arguments import DEFAULT_METHOD as DEFAULT_METHOD  # noqa: PLC0414  # handed on
from dioptre.focusing.bright_regions import bright_slices
from dioptre.focusing.camera_transfer import Asker, ask_looks, ask_stack
from dioptre.focusing.depths import (
    FINE_TILES,
    Subject,
    choose_given,
    decide,
    find_depths,
    joined_on_plateau,
    less_sure_of_two,
    to_subject,
)
from dioptre.focusing.inputs import (
    Ladder,
    Pixels,
    cut,
    place_of,
    roi_of,
    to_ladder,
    to_rois,
    to_where,
    window_of,
)
from dioptre.focusing.looks import Look, look_pixels, to_looks
from dioptre.focusing.own_positions import AnyCamera as AnyCamera  # noqa: PLC0414  # handed on
from dioptre.focusing.own_positions import own_positions, with_own
from dioptre.focusing.preview import preview_of
from dioptre.focusing.regions import to_region
from dioptre.focusing.result import Depth, FocusResult, Roi
from dioptre.focusing.score_slices import MeasuredRegion, measure_regions, measure_tiles
from dioptre.focusing.slices import Reading, Slices, to_slices
from dioptre.grid import FocusGrid, dioptres_to_metres
from dioptre.methods import Method
from dioptre.methods.base import WHOLE, Autofocuser
from dioptre.methods.tiles import tile_layout, tiles_of
from dioptre.posterior import DepthPrior
from dioptre.stack import VIEW_CODES, FocalStack
from dioptre.stacks.pictures import Pictures

EVEN: Final = DepthPrior.even()
LARGE: Final = 256  # pixels on a side of a picture in which depths are looked for on behalf of a network
NOTHING_SEEN: Final = frozenset({Reason.FLAT_CURVE, Reason.UNSURE})
BRIGHTEST: Final = (
    "all of it together does not tell: its brightest places decide, and the scores are not theirs"
)


def focus(
    stack: Shaped[np.ndarray, "..."] | FocalStack | Pictures | str | os.PathLike[str],
    method: AnyMethod = DEFAULT_METHOD,
    *,
    grid: FocusGrid | None = None,
    dioptres: Sequence[float] | Float[np.ndarray, " n"] | None = None,
    positions_um: Sequence[float] | Float[np.ndarray, " n"] | None = None,
    roi: Any = None,
    subject: str = Subject.CENTRE,
    black: float | None = None,
    white: float | None = None,
    prior: DepthPrior | str = EVEN,
    camera: AnyCamera | None = None,
    positions: Sequence[float] | Float[np.ndarray, " n"] | None = None,
    risk: float = RISK,
    **reading: Any,
) -> FocusResult:
    """Returns the sharpest slice of a stack, how sure that is, and why not when it is not.

    Args:
        stack: (slice, row, col) or (slice, 2 views, row, col) of any real dtype; a path that
            `dioptre focus` would take; Pictures that are open; or a FocalStack of one scene.
        method: Key of a method that sees whole stacks (`dioptre.METHODS`), the file of a network, or an
            Autofocuser.
        grid: The ladder that the slices were taken on, index 0 far.
        dioptres: Or the dioptres of each slice, rising or falling.
        positions_um: Or the micrometres of each slice, rising or falling.
        roi: One region (x, y, w, h) in pixels, or a list of them; the whole picture by default.
        subject: Which of several depths, or of several regions in focus, decides: what fills most of the
            "centre", the "nearest" to the camera, the "largest", or the "most-confident".
        black: Value of black; 0 by default.
        white: Value of white; by default the largest of an 8- or 16-bit integer dtype, 1.0 for floats, and
            for others and for floats above 2 the highest value that there is.
        prior: Where things are expected before looking: "even", "far", or a DepthPrior. Only methods that
            know probabilities heed it.
        camera: Whose pictures these are, for networks, which know only the phone that they were trained on: a
            CameraModel, FocusSteps (dioptre.cameras.blur_units), or a camera file.
        positions: Where its slices were taken, rising or falling, in the unit of that camera.
        risk: How often an answer that is called focused may be off by more than 4 of 49 positions.
        reading: How a stack is read: axes, channel, time, position, views, gamma (`dioptre.focusing.slices`).

    Raises:
        DioptreError: The stack, a region, the positions or the method cannot be used; the message says why.
    """
    row, chosen, how = method_of_stacks(method), to_subject(subject), Reading.of(reading)
    focuser = row.build()
    slices = to_slices(stack, black, white, how, focuser.is_network)
    if grid is None and dioptres is None and positions_um is None and positions is None:
        grid = slices.grid if camera is None or (slices.grid is not None and slices.grid.known) else None
        positions_um = slices.pictures.um if grid is None and camera is None else None
    steps, own = own_positions(len(slices), camera, positions, grid, dioptres, positions_um)
    ladder = to_ladder(len(slices), grid, dioptres, positions_um)
    asked = FocusJob(row, focuser, ladder, to_prior(prior), slices.view_codes, check_risk(risk), steps, own)
    rois = to_rois(roi, slices.shape)
    regions = asked.regions(slices, rois, how.progress)
    if len(regions) > 1:
        return _shown(choose_given(regions, chosen, slices.shape, ladder.falling), slices)
    parts = asked.depths(slices, rois[0], regions[0])
    return _shown(decide(parts, chosen, ladder.falling) if parts else replace(regions[0], depths=()), slices)


def _shown(result: FocusResult, slices: Slices) -> FocusResult:
    """Returns a result with what was looked at; what is not in memory is read again if somebody looks."""
    later = partial(preview_of, slices, result)
    return replace(result, preview=later if slices.pictures.array is None else later())


def focus_from(
    frame: Shaped[np.ndarray, "..."] | Sequence[Look],
    at: int | float | None = None,
    method: AnyMethod | None = None,
    *,
    grid: FocusGrid | None = None,
    where: tuple[float, float] | None = None,
    roi: Any = None,
    black: float | None = None,
    white: float | None = None,
    prior: DepthPrior | str = EVEN,
    camera: AnyCamera | None = None,
    risk: float = RISK,
    gamma: str | None = None,
) -> FocusResult:
    """Returns where the lens must go from one look, or from several.

        dioptre.focus_from(frame, at=20)
        dioptre.focus_from([(frame, 20), (another, 31)])
        dioptre.focus_from(frame, at=1.25, camera="my.toml").lens_position

    Args:
        frame: (row, col), or (2, row, col) for the left and the right view, of any real dtype. Or a list of
            looks, each a frame and the position that it was taken at.
        at: The position of the ladder that a single look was taken at; of a camera, in its own unit.
        method: Key of a method for so many looks, the file of a network, or an Autofocuser; by default ours
            for as many views as there are.
        grid: The ladder; that of the published data set by default, and the result says so (assumed-camera).
        where: The region's centre in the camera's frame, (x, y) in [-1, 1]; its place in `frame` by default.
        roi: A region (x, y, w, h) in pixels; the whole picture by default.
        black: Value of black; 0 by default.
        white: Value of white; by default the largest value of an integer dtype, 1.0 for floats.
        prior: Where things are expected before looking: "even", "far", or a DepthPrior.
        camera: Whose pictures these are: a CameraModel (positions are dioptres), FocusSteps
            (dioptre.cameras.blur_units), or a camera file. The answer is in its unit.
        risk: How often an answer that is called focused may be off by more than 4 of 49 positions.
        gamma: "srgb" if the values are a display's, as of a JPEG; they are linear by default.

    Raises:
        DioptreError: A look, a position or the method cannot be used; the message says why.
    """
    looks = to_looks(frame, at)
    steps = None if camera is None else to_steps(camera)
    if steps is not None and grid is not None:
        raise InputError("give a camera or a grid, not both: a camera knows its own positions")
    ladder = Ladder(FocusGrid.learnaf() if grid is None else grid, assumed=grid is None)
    at_each = [steps.check(one) if steps else to_index(one, ladder.grid) for _, one in looks]
    pixels, notes = look_pixels(looks, black, white, gamma)
    views, shape = pixels.shape[1], (pixels.shape[2], pixels.shape[3])
    row = method_of_looks(method, len(looks), views)
    region, *more = to_rois(roi, shape)
    if more:
        raise InputError(f"a look has one region, not {1 + len(more)}")
    asked = FocusJob(row, row.build(), ladder, to_prior(prior), VIEW_CODES, check_risk(risk))
    if steps is not None:
        found = ask_looks(asked.asker(views, region), steps, cut(pixels, region), np.array(at_each))
    else:
        place = place_of(region, shape, to_where(where))
        found = asked.looks(cut(pixels, region), np.array([at_each]), region, place)
    return replace(found, notes=notes)


@dataclass(frozen=True, eq=False)
class FocusJob:
    """Who is asked about pictures, and what is known of them beside the pixels.

    Of a camera that was given, `steps` are its own, and `own` the positions of the slices in its unit.
    """

    method: Method
    focuser: Autofocuser
    ladder: Ladder
    prior: DepthPrior
    view_codes: float
    risk: float
    steps: FocusSteps | None = None
    own: Any = None

    def regions(self, slices: Slices, rois: Sequence[Roi | None], progress: Any = None) -> list[FocusResult]:
        """Returns what each region of all slices says; of one that is mostly black, where its signal is."""
        found = self._regions(slices, rois, progress)
        return [self._lit(slices, one) if NOTHING_SEEN.intersection(one.reasons) else one for one in found]

    def _lit(self, slices: Slices, whole: FocusResult) -> FocusResult:
        """Returns what the brightest places of a region say alone, if they say more than the whole.

        The scores stay those of the region: no rectangle has the scores of places that lie apart.
        """
        if self.focuser.is_network:  # which knows pictures, and not pieces of them
            return whole
        bright = bright_slices(slices, to_region(slices, window_of(whole.roi, slices.shape)))
        if bright is None:
            return whole
        (seen,) = self._regions(bright, [None])
        if NOTHING_SEEN.intersection(seen.reasons):
            return whole
        notes = (*whole.notes, BRIGHTEST)
        return replace(seen, scores=whole.scores, roi=whole.roi, depths=(), notes=notes)

    def _regions(self, slices: Slices, rois: Sequence[Roi | None], progress: Any = None) -> list[FocusResult]:
        strange = self.steps is not None and self.focuser.is_network  # to whom its camera is
        parts = [to_region(slices, window_of(one, slices.shape)) for one in rois]
        for one in parts:
            if not strange:
                self._check(one.window.shape, slices.views)
        falling = self.ladder.falling and not strange
        results = []
        for roi, part, found in zip(
            rois, parts, measure_regions(slices, parts, self.focuser, falling, progress=progress), strict=True
        ):
            if strange:
                assert found.pixels is not None
                assert self.steps is not None
                result = ask_stack(self.asker(slices.views, roi), self.steps, found.pixels, self.own)
            else:
                place = place_of(roi, slices.shape, slices.where)
                stack = None if found.pixels is None else self._stack(found.pixels[None], None, place)
                result = self._answer(found, stack, roi or roi_of(part.window), ())
                result = with_own(replace(result, roi=roi), self.steps, self.own)
            results.append(_told(result, (*slices.notes, *part.notes), bool(part.notes)))
        return results

    def depths(self, slices: Slices, roi: Roi | None, whole: FocusResult) -> dict[Depth, FocusResult]:
        """Returns the depths of a region and what each says; none if it has one depth only.

        A network looks at patches and knows no depths: of a picture that is large enough, the default measure
        finds them, and the network answers for each.
        """
        depths = whole.depths if len(whole.depths) > 1 else ()
        if self.focuser.is_network:
            depths = self._depths_for_network(slices, roi)
        elif depths or Reason.SEVERAL_DEPTHS in whole.reasons:
            depths = self._fine_depths(slices, roi, self.focuser) or depths
        depths = joined_on_plateau(depths, self._plateau_of(whole))
        depths = depths if len(depths) > 1 else ()
        found = self.regions(slices, [one.roi for one in depths]) if depths else []
        return dict(zip(depths, found, strict=True))

    def _plateau_of(self, whole: FocusResult) -> tuple[int, int] | None:
        """Returns the plateau of a result in the order of the ladder."""
        if whole.plateau is None or not self.ladder.falling:
            return whole.plateau
        (first, last), end = whole.plateau, len(whole.scores) - 1
        return end - last, end - first

    def _depths_for_network(self, slices: Slices, roi: Roi | None) -> tuple[Depth, ...]:
        """Returns the depths of a large region that the network can see; none if they are not several."""
        if min(window_of(roi, slices.shape).shape) < LARGE:
            return ()
        measure = method_of_stacks(DEFAULT_MEASURE).build()
        found = self._fine_depths(slices, roi, measure)
        seen = [one for one in found if min(one.roi.w, one.roi.h) >= LARGE / 2]
        return tuple(seen) if len(seen) > 1 else ()

    def _fine_depths(self, slices: Slices, roi: Roi | None, focuser: Autofocuser) -> tuple[Depth, ...]:
        """Returns the depths of a region as finer tiles show them; none if these do not tell several."""
        part = to_region(slices, window_of(roi, slices.shape))
        rows, cols = part.window.shape
        layout = tile_layout(rows, cols, *FINE_TILES)
        if layout == tile_layout(rows, cols) or 0 in layout:
            return ()
        if focuser.refusal(self.ladder.grid, (rows // layout[0], cols // layout[1]), slices.views):
            return ()
        if focuser.by_slice:
            curves = measure_tiles(slices, part, focuser, layout, self.ladder.falling)
        else:
            (found,) = measure_regions(slices, [part], focuser, self.ladder.falling)
            assert found.pixels is not None
            curves = self._tile_curves(found.pixels, layout)
        depths = () if curves is None else find_depths(curves, layout, roi_of(part.window))
        return depths if len(depths) > 1 else ()

    def looks(
        self, region: Pixels, indices: Any, roi: Roi | None, where: tuple[float, float] | None
    ) -> FocusResult:
        """Returns what a few looks say."""
        stack = self._stack(np.ascontiguousarray(region[None]), indices, where)
        found = MeasuredRegion(None, None, Exposure.of(region), Traces.of(region), region)
        return self._answer(found, stack, roi, tuple(indices[0].tolist()))

    def asker(self, views: int, roi: Roi | None) -> Asker:
        """Returns the same question about windows of steps."""

        def ask(region: Pixels, indices: Any, window: StepWindow) -> FocusResult:
            asked = replace(self, ladder=Ladder(window.grid, window=window), prior=window.prior(self.prior))
            return asked.looks(region, indices, roi, None)

        def refusal(shape: tuple[int, int]) -> str | None:
            return self.focuser.refusal(FocusGrid.unknown(WINDOW), shape, views)

        return Asker(ask, refusal, self.method.looks == WHOLE, self.method.key)

    def _check(self, shape: tuple[int, int], views: int) -> None:
        refusal = self.focuser.refusal(self.ladder.grid, shape, views)
        if refusal is not None:
            raise MethodError(f"{self.method.key} {refusal}")

    def _stack(self, pixels: Any, indices: Any, where: tuple[float, float] | None) -> FocalStack:
        grid, place = self.ladder.grid, None if where is None else np.array([where])
        self._check(pixels.shape[3:], pixels.shape[2])
        if indices is None:
            return FocalStack.full(pixels, grid, place, self.view_codes)
        return FocalStack(pixels, indices, grid, place, self.view_codes)

    def _answer(
        self, found: MeasuredRegion, stack: FocalStack | None, roi: Roi | None, looks: tuple[int, ...]
    ) -> FocusResult:
        positions = stack.indices[0] if looks and stack is not None else None
        far = self.ladder.grid.steps_to_infinity
        asked = Asked(self.method.key, self.focuser.identity, found.traces, positions, self.risk, far)
        posterior = None if stack is None else self.focuser.posterior(stack)
        if posterior is not None:
            if self.ladder.window is not None:
                posterior = self.ladder.window.held(posterior)
            posterior = posterior.weigh(self.prior)
            return to_result(
                posterior.scores()[0],
                flag_assumed_camera(
                    judge_posterior(posterior, found.exposure, asked), self.focuser, self.ladder
                ),
                self.method,
                self.ladder,
                roi,
                looks,
            )
        curve, parts = found.curve, found.parts
        if stack is not None:
            curve = self.focuser.scores(stack)[0]
            parts = None if looks else self._tile_curves(stack.pixels[0])
        assert curve is not None
        judged = parts
        if parts is not None:
            curve, judged = self.focuser.joined(curve, parts)
        verdict = judge(curve, judged, found.exposure, asked=asked)
        result = to_result(curve, less_sure_of_two(curve, verdict), self.method, self.ladder, roi, looks)
        if parts is None or roi is None:
            return result
        return replace(result, depths=find_depths(parts, tile_layout(roi.h, roi.w), roi))

    def _tile_curves(self, pixels: Pixels, layout: Any = None) -> Float[np.ndarray, "tile n"] | None:
        tiles = tiles_of(pixels, layout)
        return None if tiles is None else self.focuser.tile_measure.scores(self._stack(tiles, None, None))


def _told(result: FocusResult, notes: tuple[str, ...], left_out: bool) -> FocusResult:
    """Returns a result that says how its stack was read, and whether pixels were left out."""
    reasons = (*result.reasons, Reason.PIXELS_LEFT_OUT) if left_out else result.reasons
    return replace(result, notes=notes, reasons=reasons)


def flag_assumed_camera(verdict: Verdict, focuser: Autofocuser, ladder: Ladder) -> Verdict:
    """Returns the verdict on what a network said, which may have had to assume whose pictures it saw."""
    known = ladder.window is not None or (ladder.grid.known and not ladder.assumed)
    if known or not focuser.is_network:
        return verdict
    return replace(verdict, reasons=(*verdict.reasons, Reason.ASSUMED_CAMERA))


def to_result(
    curve: Float[np.ndarray, " n"],
    verdict: Verdict,
    method: Method,
    ladder: Ladder,
    roi: Roi | None,
    looks: tuple[int, ...],
) -> FocusResult:
    """Returns the result of a scene's scores and what they are worth, in the order of the user's stack."""
    position = peak_position(curve)
    dioptres, lens = ladder.dioptres_at(position), ladder.own_at(position)
    index, last = int(np.argmax(curve)), len(curve) - 1
    candidates, plateau, rivals = verdict.candidates, verdict.plateau, verdict.rivals
    if ladder.falling:
        rivals = tuple(last - one for one in rivals[::-1])
        candidates = tuple(replace(one, index=last - one.index) for one in candidates)
        plateau = None if plateau is None else (last - plateau[1], last - plateau[0])
    return FocusResult(
        index=last - index if ladder.falling else index,
        position=last - position if ladder.falling else position,
        dioptres=dioptres,
        distance_m=float(dioptres_to_metres(dioptres)) if dioptres is not None else None,
        position_um=ladder.um_at(position),
        state=verdict.state,
        confidence=verdict.confidence,
        scores=curve[::-1] if ladder.falling else curve,
        reasons=verdict.reasons,
        method=method.key,
        expected_error=verdict.expected_error,
        risk=verdict.risk,
        candidates=candidates,
        plateau=plateau,
        rivals=rivals,
        looks=looks,
        roi=roi,
        **({} if lens is None or ladder.window is None else ladder.window.own(lens, verdict.expected_error)),
    )
