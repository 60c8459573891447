"""The single-look baselines of dual-pixel autofocus: disparity, and a calibration that turns it into a focus.

What every phone with dual pixels does. The two views of one look are shifted against each other by the
disparity d (`methods.matching`), which tells how far and on which side the lens is off focus:
1/z* = 1/z - d / C (`methods.calibration`).

* `zncc-disparity` matches whole patches, and takes C from the field table (the paper's "ZNCC Disparity with
  Calibration").
* `ssd-disparity` matches tiles, and turns their median by a line (the paper's "SSD Disparity", after
  Wadhwa 2018).
* `learned-depth` fits the map of a network to the tiles (the paper's "Learned Depth", after Garg 2019;
  `methods.depth_network`).

These three search "a small range around zero", as the paper says: Wadhwa's 3 pixels to each side, some 17
positions of the grid. `dioptre-zncc-disparity`, `dioptre-ssd-disparity` and `dioptre-learned-depth` search
the disparities of the whole grid in softened views, and have a line, bent at 0, of what the field table
makes of the disparity: blur grows faster on one side of the focus than on the other.

A key may name its calibration after an @: `zncc-disparity@left`, `ssd-disparity@my-phone.toml`; without, it
is that of the simulated phone `center`.

**The answer is a posterior.** Each peak of the curve of likeness over the shifts is a candidate. How likely
it is follows from how alike the views are there: n/2 times -log(1 - rho^2) nats for n independent pixels,
beside the chance that nothing matches. Around a candidate the focus is spread as Student's t (3 degrees of
freedom, since errors at depth edges are large): by what calibration found on labelled patches, by the width
of the peak, and by how much tiles disagree. The likeliest position (`Decision.MODE`) is the one nearest to
1/z - d / C, as in the paper.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from jaxtyping import Float, Float32

from dioptre.errors import MethodError
from dioptre.grid import FocusGrid
from dioptre.methods.base import Autofocuser
from dioptre.methods.calibration import Calibration, DisparityError, Fit, Places, find_calibration
from dioptre.methods.depth_network import LEAST, DepthNetwork, match_depth
from dioptre.methods.learned import WEIGHTS
from dioptre.methods.matching import (
    FULL,
    HALF,
    MOST_ALIKE,
    Match,
    View,
    local_peaks,
    match_softened,
    match_ssd,
    match_zncc,
    smallest_patch,
)
from dioptre.posterior import Decision, Posterior, Scores
from dioptre.stack import LEFT, RIGHT, FocalStack

AT: Final = "@"  # before the name of a calibration
DEFAULT: Final = "center"
SMALL_PX: Final = 3  # to each side: "a small range around zero" (paper), that of Wadhwa 2018
NO_MATCH: Final = 0.05  # how often the views of a look show nothing that could be matched
SAME_PX: Final = 1.5  # peaks nearer to the answer than this are the answer
FREEDOM: Final = 3.0  # of Student's t


@dataclass(frozen=True)
class DisparityKind:
    """A kind of method of this family: how it matches, and what it searches.

    Attributes:
        match: Finds the disparity, searched so many pixels to each side.
        table: Whether the field table makes dioptres of it before the line does the rest.
        line: Whose line it uses: that of a method's key, fitted to labelled patches; "" for a thin lens's.
        reach: Pixels to search to each side; 0 for the disparities of the whole grid.
        size: Pixels that become one for the tiles that it matches, FULL or HALF; it needs a few of them.
        sides: Whether its line may be steeper on one side of the focus than on the other.
        network: The file of the network that it asks; None for none.
    """

    match: Callable[[View, View, int], Match]
    table: bool
    line: str
    reach: int = 0
    size: int = FULL
    sides: bool = False
    network: DepthNetwork | None = None

    def reach_of(self, calibration: Calibration) -> int:
        """Returns the disparity that is searched to each side, in pixels."""
        return self.reach or calibration.reach

    def find(self, left: View, right: View, calibration: Calibration) -> Match:
        """Returns the disparity of views."""
        return self.match(left, right, self.reach_of(calibration))

    def gain_at(self, calibration: Calibration, where: Places) -> Float[np.ndarray, " look"]:
        """Returns the divisor of disparities before the line: C at each place, or 1."""
        return calibration.gain_at(where) if self.table else np.ones(len(where))

    def refusal(self, calibration: Calibration, shape: tuple[int, int]) -> str | None:
        """Returns why it cannot see patches of so many rows and columns, if it cannot."""
        reach = self.reach_of(calibration)
        rows, cols = smallest_patch(reach, self.size)
        if self.network is not None:
            rows, cols = max(rows, LEAST), max(cols, LEAST)
        if shape[0] >= rows and shape[1] >= cols:
            return None
        return (
            f"needs at least {cols} x {rows} pixels, since it searches {reach} to each side, "
            f"not {shape[1]} x {shape[0]}"
        )


DEPTH: Final = DepthNetwork(WEIGHTS / "learned-depth.onnx")

KINDS: Final[Mapping[str, DisparityKind]] = {
    "zncc-disparity": DisparityKind(match_zncc, table=True, line="", reach=SMALL_PX),
    "ssd-disparity": DisparityKind(
        partial(match_ssd, size=FULL, held=True), table=False, line="ssd-disparity", reach=SMALL_PX
    ),
    "learned-depth": DisparityKind(
        partial(match_depth, DEPTH, size=FULL, held=True),
        table=False,
        line="ssd-disparity",
        reach=SMALL_PX,
        network=DEPTH,
    ),
    "dioptre-zncc-disparity": DisparityKind(
        match_softened, table=True, line="dioptre-zncc-disparity", size=HALF, sides=True
    ),
    "dioptre-ssd-disparity": DisparityKind(
        partial(match_ssd, size=HALF), table=True, line="dioptre-ssd-disparity", size=HALF, sides=True
    ),
    "dioptre-learned-depth": DisparityKind(
        partial(match_depth, DEPTH, size=HALF),
        table=True,
        line="dioptre-ssd-disparity",
        size=HALF,
        sides=True,
        network=DEPTH,
    ),
}


@dataclass(frozen=True)
class Disparity(Autofocuser):
    """One of the methods, with its calibration.

    Attributes:
        key: Which: of KINDS.
        table: Name or file of the calibration, read when it is first needed.
    """

    key: str
    table: str = DEFAULT

    @property
    def kind(self) -> DisparityKind:
        """The kind of method that it is."""
        return KINDS[self.key]

    @property
    def calibration(self) -> Calibration:
        """Its calibration."""
        return find_calibration(self.table)

    @property
    def identity(self) -> str:
        """The hash of its calibration, and of its network if it asks one."""
        table, network = self.calibration.identity, self.kind.network
        if network is None:
            return table
        return hashlib.sha256(f"{table}{network.identity}".encode()).hexdigest()

    def refusal(self, grid: FocusGrid, shape: tuple[int, int], views: int) -> str | None:
        """Returns why it cannot see such patches, if it cannot."""
        if views < 2:
            return "needs the left and the right view, but there is only green"
        small = self.kind.refusal(self.calibration, shape)
        if small is not None:
            return small
        return self.calibration.refusal(grid, shape)

    def scores(self, stack: FocalStack) -> Scores:
        """Returns the log-probability of each position."""
        return self.posterior(stack).scores()

    def posterior(self, stack: FocalStack) -> Posterior:
        """Returns the posterior over positions under an even prior, from one look at each scene.

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
        found = kind.find(*views_of(stack.pixels[:, 0]), calibration)
        where = np.zeros((stack.batch, 2)) if stack.where is None else stack.where
        focus = stack.grid.dioptres[stack.indices[:, 0]]
        fit, gain = calibration.fit_of(self.key), kind.gain_at(calibration, where)
        return posterior_of(found, fit, stack.grid, focus, gain)


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
    fit: Fit,
    grid: FocusGrid,
    focus: Float[np.ndarray, " look"],
    gain: Float[np.ndarray, " look"],
) -> Posterior:
    """Returns the posterior over the positions of the grid after looks.

    Args:
        match: What matching says.
        fit: What turns that into a focus, and how far it may be off.
        grid: The grid.
        focus: Where the lens was, in dioptres.
        gain: What a disparity is divided by before the line.
    """
    trust, line = fit.trust, fit.line
    shifts, chances = candidates_of(match, trust)
    centres = focus[:, None] + line.at(shifts / gain[:, None])
    reach = match.step * (match.curves.shape[1] // 2)
    own = np.minimum(np.sqrt(match.noise * trust.pixels + match.disagreement**2), reach)
    scale = np.hypot(trust.spread + trust.growth * np.abs(match.shifts), own * np.abs(line.slope / gain))
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
    match: Match, trust: DisparityError
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
    """Returns the dioptres of the grid with as many positions again beyond each end."""
    dioptres, steps = grid.dioptres, np.arange(1, len(grid) + 1)
    far, near = dioptres[1] - dioptres[0], dioptres[-1] - dioptres[-2]
    return np.concatenate([dioptres[0] - far * steps[::-1], dioptres, dioptres[-1] + near * steps])
