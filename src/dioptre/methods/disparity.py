"""The single-look baselines of dual-pixel autofocus: disparity, and a calibration that turns it into a focus.

What every phone with dual pixels does. The two views of one look are shifted against each other by the
disparity d (`methods.matching`), which tells how far and on which side the lens is off focus:
1/z* = 1/z - d / C (`methods.calibration`).

* `zncc-disparity` matches whole patches, and takes C from the field table (the paper's "ZNCC Disparity with
  Calibration").
* `ssd-disparity` matches tiles, and turns their median by the line (the paper's "SSD Disparity", after
  Wadhwa 2018).

A key may name its calibration after an @: `zncc-disparity@left`, `ssd-disparity@my-phone.toml`; without, it
is that of the simulated phone `center`.

**The answer is a posterior.** Each peak of the curve of likeness over the shifts is a candidate. How likely
it is follows from how alike the views are there: n/2 times -log(1 - rho^2) nats for n independent pixels,
beside the chance that nothing matches. Around a candidate the focus is spread as Student's t (3 degrees of
freedom, since errors at depth edges are large): by what calibration found on labelled patches, by the width
of the peak, and by how much tiles disagree. The likeliest position (`Decision.MODE`) is the one nearest to
1/z - d / C, as in the paper.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Float, Float32

from dioptre.errors import MethodError
from dioptre.methods.calibration import Calibration, Places, Trust, find_calibration
from dioptre.methods.matching import (
    FEW_TILES,
    HALF,
    TILE,
    Curves,
    View,
    bend_at,
    local_peaks,
    smallest_patch,
    ssd,
    tiles_of,
    weighted_median,
    zncc,
)
from dioptre.optics import FocusGrid
from dioptre.posterior import Decision, Posterior, Scores
from dioptre.stack import LEFT, RIGHT, FocalStack

AT: Final = "@"  # before the name of a calibration
DEFAULT: Final = "center"
NO_MATCH: Final = 0.05  # how often the views of a look show nothing that could be matched
SAME_PX: Final = 1.5  # peaks nearer to the answer than this are the answer
MOST_ALIKE: Final = 0.9999  # of two views: no two exposures are more alike than that
FREEDOM: Final = 3.0  # of Student's t


@dataclass(frozen=True, eq=False)
class Match:
    """What matching says of some looks.

    Attributes:
        shifts: The disparity, in pixels.
        noise: Its variance by noise, in pixels squared, were each pixel independent of the others.
        disagreement: How far parts of the patch disagree on it, as a deviation in pixels.
        curves: How alike the views are at each shift that was searched, 0 in the middle; at most 1.
        pixels: How many were compared.
        step: Pixels from shift to shift.
    """

    shifts: Float[np.ndarray, " look"]
    noise: Float[np.ndarray, " look"]
    disagreement: Float[np.ndarray, " look"]
    curves: Curves
    pixels: int
    step: int = 1


def match_zncc(left: View, right: View, calibration: Calibration) -> Match:
    """Returns the shift at which whole patches correlate best, by the parabola at the peak."""
    curves = zncc(left, right, calibration.reach)
    places, heights = local_peaks(curves)
    best = np.argmax(heights, axis=1)[:, None]
    shifts = np.take_along_axis(places, best, axis=1)[:, 0]
    alike = np.clip(np.take_along_axis(heights, best, axis=1)[:, 0], 0.0, MOST_ALIKE)
    pixels = left.shape[1] * left.shape[2]
    with np.errstate(divide="ignore"):  # the bend of the log-likelihood at the peak is one over the variance
        noise = (1 - alike**2) / (pixels * alike * bend_at(curves, shifts))
    nothing = ~np.isfinite(heights).any(axis=1)
    return Match(np.where(nothing, 0.0, shifts), noise, np.zeros(len(left)), curves, pixels)


def match_ssd(left: View, right: View, calibration: Calibration) -> Match:
    """Returns the median shift of tiles."""
    tiles = ssd(left, right, calibration.reach)
    shifts, weights = tiles.shifts.reshape(len(left), -1), tiles.weights.reshape(len(left), -1)
    middle = tiles.medians()
    astray = 1.4826 * weighted_median(np.abs(shifts - middle[:, None]), weights)
    return Match(middle, np.zeros(len(left)), astray / 2, tiles.likeness, shifts.shape[1] * TILE**2, HALF)


@dataclass(frozen=True)
class Kind:
    """How a method of this family works.

    Attributes:
        match: Finds the disparity.
        by_line: Whether the line turns it into a focus; the field table if not.
    """

    match: Callable[[View, View, Calibration], Match]
    by_line: bool

    def trust(self, calibration: Calibration) -> Trust:
        """Returns how far what it matches may be off."""
        return calibration.ssd if self.by_line else calibration.zncc

    def to_focus(
        self, calibration: Calibration, where: Places
    ) -> tuple[Float[np.ndarray, " look"], Float[np.ndarray, " look"]]:
        """Returns slope and offset of 1/z* - 1/z against disparity at places: dioptres a pixel, dioptres."""
        if self.by_line:
            return np.full(len(where), calibration.line.slope), np.full(len(where), calibration.line.offset)
        return -1 / calibration.gain_at(where), np.zeros(len(where))


KINDS: Final[Mapping[str, Kind]] = {
    "zncc-disparity": Kind(match_zncc, by_line=False),
    "ssd-disparity": Kind(match_ssd, by_line=True),
}


@dataclass(frozen=True)
class Disparity:
    """One of the methods, with its calibration.

    Attributes:
        key: Which: of KINDS.
        table: Name or file of the calibration, read when it is first needed.
    """

    key: str
    table: str = DEFAULT

    @property
    def kind(self) -> Kind:
        """How it works."""
        return KINDS[self.key]

    @property
    def calibration(self) -> Calibration:
        """Its calibration."""
        return find_calibration(self.table)

    @property
    def identity(self) -> str:
        """The hash of its calibration."""
        return self.calibration.identity

    def refusal(self, grid: FocusGrid, shape: tuple[int, int], views: int) -> str | None:
        """Returns why it cannot see such patches, if it cannot."""
        if views < 2:
            return "needs the left and the right view, but there is only green"
        reach = self.calibration.reach
        if min(tiles_of(*shape, reach)) < FEW_TILES:
            rows, cols = smallest_patch(reach)
            return (
                f"needs at least {cols} x {rows} pixels, since it searches {reach} to each side, "
                f"not {shape[1]} x {shape[0]}"
            )
        return self.calibration.refusal(grid, shape)

    def scores(self, stack: FocalStack) -> Scores:
        """Returns the logarithm of what its posterior says of each position."""
        return self.posterior(stack).scores()

    def posterior(self, stack: FocalStack) -> Posterior:
        """Returns how likely each position is under an even prior, from one look at each scene.

        A look with a NaN or infinite pixel says nothing.

        Raises:
            MethodError: If it cannot see the stack, or there is more than one look.
        """
        refusal = self.refusal(stack.grid, stack.shape, stack.views)
        if refusal is not None:
            raise MethodError(f"{self.key} {refusal}")
        if stack.pixels.shape[1] != 1:
            raise MethodError(f"{self.key} takes one look, but the stack has {stack.pixels.shape[1]} slices")
        kind, calibration = self.kind, self.calibration
        found = kind.match(*views_of(stack.pixels[:, 0]), calibration)
        where = np.zeros((stack.batch, 2)) if stack.where is None else stack.where
        focus = stack.grid.dioptres[stack.indices[:, 0]]
        slope, offset = kind.to_focus(calibration, where)
        return posterior_of(found, kind.trust(calibration), stack.grid, focus, slope, offset)


@dataclass(frozen=True)
class DisparityFamily:
    """The methods by their keys; they share no work."""

    def build(self, key: str) -> Disparity:
        """Returns a method with the calibration that its key names."""
        kind, _, table = key.partition(AT)
        return Disparity(kind, table or DEFAULT)

    def scores(self, stack: FocalStack, keys: Sequence[str]) -> dict[str, Scores]:
        """Returns the scores of several methods."""
        return {key: self.build(key).scores(stack) for key in keys}


def views_of(pixels: Float32[np.ndarray, "look 2 row col"]) -> tuple[View, View]:
    """Returns the left and the right views; those of a look with a NaN or infinite pixel are black."""
    finite = np.isfinite(pixels).all(axis=(1, 2, 3), keepdims=True)
    clean = pixels if finite.all() else np.where(finite, pixels, np.float32(0))
    return np.ascontiguousarray(clean[:, LEFT]), np.ascontiguousarray(clean[:, RIGHT])


# Posterior


def posterior_of(
    match: Match,
    trust: Trust,
    grid: FocusGrid,
    focus: Float[np.ndarray, " look"],
    slope: Float[np.ndarray, " look"],
    offset: Float[np.ndarray, " look"],
) -> Posterior:
    """Returns how likely each position of the ladder is after looks.

    Args:
        match: What matching says.
        trust: How far that may be off.
        grid: The ladder.
        focus: Where the lens was, in dioptres.
        slope: Dioptres from there to the thing for each pixel of disparity.
        offset: Dioptres that come to that.
    """
    shifts, chances = candidates_of(match, trust)
    centres = focus[:, None] + slope[:, None] * shifts + offset[:, None]
    reach = match.step * (match.curves.shape[1] // 2)
    own = np.minimum(np.sqrt(match.noise * trust.pixels + match.disagreement**2), reach) * np.abs(slope)
    scale = np.hypot(trust.spread + trust.growth * np.abs(match.shifts), own)
    ladder, count = _extended(grid), len(grid)
    away = (ladder - centres[:, :, None]) / scale[:, None, None]  # (look, candidate, position)
    density = (1 + away**2 / FREEDOM) ** (-(FREEDOM + 1) / 2)
    density /= density.sum(axis=2, keepdims=True)
    total = np.einsum("lc,lcp->lp", chances, density)
    inside = total[:, count : 2 * count]
    even = np.maximum(0.0, 1 - chances.sum(axis=1, keepdims=True)) / (count + 2)
    beyond = total[:, :count].sum(axis=1), total[:, 2 * count :].sum(axis=1)
    whole = np.concatenate([beyond[0][:, None], inside, beyond[1][:, None]], axis=1) + even
    return Posterior.of_logits(np.log(whole), count, Decision.MODE)


def candidates_of(
    match: Match, trust: Trust
) -> tuple[Float[np.ndarray, "look candidate"], Float[np.ndarray, "look candidate"]]:
    """Returns the shifts that may be right, the answer first, and how likely each is.

    What they lack to 1 is the chance that nothing was matched.
    """
    places, heights = local_peaks(match.curves)
    places *= match.step
    alike = np.clip(heights, 0.0, MOST_ALIKE)
    nats = np.where(heights > 0, -0.5 * match.pixels / trust.pixels * np.log1p(-(alike**2)), 0.0)
    is_rival = np.isfinite(heights) & (np.abs(places - match.shifts[:, None]) > SAME_PX)
    best = np.max(np.where(np.isfinite(heights), nats, -np.inf), axis=1, keepdims=True)  # of the answer
    logs = np.concatenate([best, np.where(is_rival, nats, -np.inf)], axis=1)
    matched = logs + np.log((1 - NO_MATCH) / match.curves.shape[1])  # every shift is as likely beforehand
    highest = np.maximum(best, 0.0)
    weights = np.exp(matched - highest)
    nothing = NO_MATCH * np.exp(-highest)
    chances = weights / (weights.sum(axis=1, keepdims=True) + nothing)
    return np.concatenate([match.shifts[:, None], places], axis=1), chances


def _extended(grid: FocusGrid) -> Float[np.ndarray, " position"]:
    """Returns the dioptres of the ladder with as many positions again beyond each end."""
    dioptres, steps = grid.dioptres, np.arange(1, len(grid) + 1)
    far, near = dioptres[1] - dioptres[0], dioptres[-1] - dioptres[-2]
    return np.concatenate([dioptres[0] - far * steps[::-1], dioptres, dioptres[-1] + near * steps])
