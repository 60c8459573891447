"""What a lens's looks say together: where the focus is, and how much blur a unit of its way adds.

A network says of each look how many steps of blur the focus is away, to which side if it sees two views. How
many steps a unit of the lens is, nobody may know. The contrast of the looks says where a peak may lie,
whatever the unit. Both are multiplied into one table over the place of the focus and the growth of blur
(`dioptre.posterior.JointPosterior`), from the first look on:

    log p(growth, place) = log prior + sum over looks of log p_network(growth (place - look))
                         + log p_contrast(place)

A camera file, or an earlier run, is a narrow prior on the growth; none is a broad one. A sweep is the same
with many looks. Places are laid anew after each look, densely where the focus may be.
"""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from jaxtyping import Float, Float32

from dioptre.cameras.blur_units import WINDOW, BlurSteps, StepWindow
from dioptre.confidence.contrast import peak_posterior
from dioptre.confidence.features import sharpness_of
from dioptre.confidence.statistics import SliceBlocks
from dioptre.focusing.score_slices import slice_scores
from dioptre.grid import FocusGrid
from dioptre.methods.base import Method
from dioptre.posterior import DepthPrior, Growth, JointPosterior, Posterior
from dioptre.stack import VIEW_CODES, FocalStack

PLACES: Final = 100  # over the whole way, and as many where the focus may be
AROUND: Final = (1 / 400, 1 / 20)  # of the way: so far from each look are more of them
BESIDE: Final = 5  # on each side
GROWTHS: Final = 40
TRAVELS: Final = (5.0, 1000.0)  # steps of blur that the way of an unknown lens may have
KNOWN: Final = 0.1  # deviation of the logarithm of a growth that a camera file tells
ZOOMS: Final = 4  # times, at most, that places are laid anew
INSIDE: Final = 0.03  # of the probability on each side of dense places; a strange network has as much there
BEYOND: Final = 0.25  # of the way: so far beyond its limits the focus may be
STEP: Final = "step of blur"
STRANGE: Final = 0.02  # of all cameras make pictures that a network does not know
MISLED: Final = 1e-3  # of looks, at least: the network's answer means nothing
FARTHEST: Final = 60.0  # steps, about, of what a network sees beyond its window
TILES: Final = 4  # down and across, at most, that a network is shown of a region
SIDE: Final = 128  # pixels of such a part
CLEAR: Final = 2.5  # times the noise at most: detail that there is no doubt about
CERTAIN: Final = 1e-12  # a probability that is less counts as that

Frame = Float32[np.ndarray, "view row col"]


@dataclass(frozen=True, eq=False)
class LensScale:
    """A lens's way in a measure in which blur grows evenly.

    That is steps of blur where a camera file tells how it grows, else dioptres, else the lens's own unit.

    Attributes:
        grid: Where the lens can go.
        evens: The same positions in that measure, rising.
        unit: What it is counted in.
        growth: What is known of the growth in it; None for nothing.
        signed: Whether later positions focus nearer, for certain.
    """

    grid: FocusGrid
    evens: Float[np.ndarray, " n"]
    unit: str
    growth: Growth | None
    signed: bool

    @classmethod
    def of(cls, grid: FocusGrid, knows_grid: bool) -> "LensScale":
        """Returns the scale of a grid that runs from far to near.

        Args:
            grid: Where the lens can go.
            knows_grid: Whether the network was trained on this very grid, a step an index.
        """
        signed = grid.nearer is not None
        if grid.blur_per_unit_px is not None:
            steps = np.asarray(BlurSteps(grid).position_to_step(grid.positions))
            return cls(grid, steps, STEP, Growth(1.0, KNOWN), signed)
        if knows_grid:
            return cls(grid, np.arange(float(len(grid))), STEP, Growth(1.0, KNOWN), signed)
        if grid.known:
            return cls(grid, grid.dioptres, "dioptre", None, signed)
        rises = len(grid) < 2 or grid.positions[-1] > grid.positions[0]
        return cls(
            grid, grid.positions if rises else -grid.positions, grid.unit.removesuffix("s"), None, signed
        )

    def index_to_even(self, index: float | int) -> float:
        """Returns the place of an index of the grid, whole or fractional."""
        return float(np.interp(index, np.arange(len(self.grid)), self.evens))

    def even_to_index(self, even: float) -> float:
        """Returns the index, whole or fractional, of a place; held at the ends of the grid."""
        return float(np.interp(even, self.evens, np.arange(len(self.grid))))

    def growths(self, travel: float) -> tuple[Float[np.ndarray, " g"], Float[np.ndarray, " g"]]:
        """Returns the growths that are possible over a travel, and the logarithms of their probabilities."""
        if self.growth is None:
            growths, logs = np.geomspace(*TRAVELS, GROWTHS) / travel, np.zeros(GROWTHS)
        else:
            deviations = np.linspace(-3, 3, GROWTHS)
            growths = self.growth.steps * np.exp(deviations * max(self.growth.deviation, 1e-3))
            logs = -0.5 * deviations**2
        if self.signed:
            return growths, logs
        return np.concatenate([-growths[::-1], growths]), np.concatenate([logs[::-1], logs])


@dataclass(frozen=True, eq=False)
class Look:
    """One look.

    Attributes:
        place: Where, in the measure of the lens's scale.
        region: What was seen.
        blocks: What is kept of it.
        moves: How likely the focus is how far away by the network, as logarithms: beyond, steps, beyond.
        origin: The step of its window at which the look was shown.
    """

    place: float
    region: Frame
    blocks: SliceBlocks
    moves: Float[np.ndarray, " n_and_beyond"] | None
    origin: int


@dataclass(eq=False)
class LensLooks:
    """All looks of a run.

    Attributes:
        scale: The lens's way.
        limits: Where the lens may go, in the scale's measure.
        network: Who is asked about each look; None if nobody knows such pictures.
        measure: Who says how sharp looks are; by default all their detail that changes.
        prior: Where the focus is expected.
        where: The middle of the region in the field, if that is known.
        looks: By place; of several at one place the last counts.
        last: The last look.
        peak_width: The expected half width of the peak of contrast; 0 while one look was taken.
    """

    scale: LensScale
    limits: tuple[float, float]
    network: Method | None
    measure: Method | None = None
    prior: DepthPrior = field(default_factory=DepthPrior.even)
    where: tuple[float, float] | None = None
    looks: dict[float, Look] = field(default_factory=dict)
    peak_width: float = 0.0
    last: Look = field(init=False, repr=False)
    _sharpness: Float[np.ndarray, " look"] | None = field(default=None, repr=False)

    def add(self, index: float | int, region: Frame) -> None:
        """Adds a look at an index of the grid, whole or between two."""
        place = self._place_of(region, self.scale.index_to_even(index))
        moves, origin = self._asked(region, index)
        self.looks[place] = Look(place, region, SliceBlocks.of(region[None]), moves, origin)
        self.last = self.looks[place]
        self._sharpness = None

    def _place_of(self, region: Frame, place: float) -> float:
        """Returns where a region was seen: the very same picture within a gap of the grid is one look."""
        gap = float(np.ptp(self.scale.evens)) / max(len(self.scale.evens) - 1, 1)
        for look in self.looks.values():
            if abs(look.place - place) < gap and np.array_equal(look.region, region):
                return look.place
        return place

    @property
    def places(self) -> Float[np.ndarray, " look"]:
        """Where looks were taken, rising."""
        return np.array(sorted(self.looks))

    @property
    def blocks(self) -> SliceBlocks:
        """What is kept of them, in that order."""
        return SliceBlocks.joined([self.looks[place].blocks for place in sorted(self.looks)])

    @property
    def detail(self) -> float:
        """How much detail the last look shows beyond its noise."""
        blocks = self.last.blocks
        return max(float(blocks.fine.mean() - blocks.noise_floor[0]), 0.0)

    @property
    def shows_detail(self) -> bool:
        """Whether every look shows detail that there is no doubt about."""
        blocks = self.blocks
        return bool(blocks.fine.mean(axis=1).min() > CLEAR * blocks.noise_floor.max())

    @property
    def regions(self) -> Float32[np.ndarray, "look view row col"]:
        """What was seen, in that order."""
        return np.stack([self.looks[place].region for place in sorted(self.looks)])

    def posterior(self) -> JointPosterior:
        """Returns what is known after all looks."""
        found = self._over(self._even_places())
        for _ in range(ZOOMS):
            upto = np.cumsum(found.of_places)
            inside = [float(np.interp(one, upto, found.places)) for one in (INSIDE, 1 - INSIDE)]
            dense = np.sum((found.places >= inside[0]) & (found.places <= inside[1]))
            if dense >= PLACES // 2:
                break
            spare = max((inside[1] - inside[0]) / 2, np.diff(found.places).min())
            around = np.linspace(inside[0] - spare, inside[1] + spare, PLACES)
            found = self._over(np.unique(np.concatenate([self._even_places(), around])))
        return found

    def without_memory(self) -> JointPosterior:
        """Returns what the looks say together, were nothing known of the growth before."""
        return replace(self, scale=replace(self.scale, growth=None)).posterior()

    def _even_places(self) -> Float[np.ndarray, " place"]:
        """Returns places evenly over the way and beyond it, and more of them around each look."""
        low, high = self.limits
        beyond = BEYOND * (high - low)
        around = (high - low) * np.geomspace(*AROUND, BESIDE)
        beside = self.places[:, None] + np.concatenate([-around, [0.0], around])
        return np.unique(np.concatenate([np.linspace(low - beyond, high + beyond, PLACES), beside.ravel()]))

    def _over(self, places: Float[np.ndarray, " place"]) -> JointPosterior:
        """Returns the posterior over some places."""
        growths, logs = self.scale.growths(self.limits[1] - self.limits[0])
        table = logs[:, None] + self._told(growths[:, None], places)
        if len(self.looks) > 1:
            table += self._contrast(places)
        if not self.prior.is_even:
            table += self._expected(places)
        return JointPosterior.of_logs(places, growths, table, self.limits)

    def _told(
        self, growths: Float[np.ndarray, "growth 1"], places: Float[np.ndarray, " place"]
    ) -> Float[np.ndarray, "growth place"]:
        """Returns how likely each growth and place is by the network, as a logarithm.

        It may be that the network does not know such pictures: then nothing that it says means anything.
        """
        told, nothing = np.zeros((len(growths), len(places))), np.log(STRANGE)
        for look in self.looks.values():
            if look.moves is not None:
                told += move_logs(look.moves, look.origin, growths * (places - look.place))
                nothing -= np.log(FARTHEST)
        return np.logaddexp(told, nothing)

    def _contrast(self, places: Float[np.ndarray, " place"]) -> Float[np.ndarray, " place"]:
        """Returns how likely each place is by the contrast of the looks, as a logarithm."""
        peak = peak_posterior(self.sharpness, self.places, places)
        self.peak_width = peak.width
        return np.log(peak.chances + CERTAIN)

    @property
    def sharpness(self) -> Float[np.ndarray, " look"]:
        """How sharp each look is, as a logarithm, over the sharpest; in the order of places."""
        if self._sharpness is None:
            if self.measure is None:
                self._sharpness = sharpness_of(self.blocks)
            else:
                scores = slice_scores(self.measure.build(), self.regions, VIEW_CODES)
                self._sharpness = np.log(np.maximum(scores, CERTAIN * max(float(scores.max()), CERTAIN)))
        return self._sharpness

    def _expected(self, places: Float[np.ndarray, " place"]) -> Float[np.ndarray, " place"]:
        """Returns how likely each place is beforehand, as a logarithm."""
        evens = self.scale.evens
        weights = self.prior.weights(len(self.prior.table) or len(evens))
        along = np.linspace(evens[0], evens[-1], len(weights))
        return np.log(np.interp(places, along, weights) / weights.max() + CERTAIN)

    # What the network says of one look

    def _asked(self, region: Frame, index: float | int) -> tuple[Float[np.ndarray, " n"] | None, int]:
        """Returns what the network says of a look, and the step of its window at which it was shown."""
        if self.network is None:
            return None, 0
        grid, origin = StepWindow.every_step(), WINDOW // 2
        if self.scale.grid.blur_per_unit_px is not None:
            region = BlurSteps(self.scale.grid).shrink(region[None])[0]
        elif self.knows_grid:
            grid, origin = self.scale.grid, round(index)
        parts = tiles(region)
        where = None if self.where is None or not self.knows_grid else np.array([self.where] * len(parts))
        looks = FocalStack(parts[:, None], np.full((len(parts), 1), origin), grid, where)
        posterior = self.network.build().posterior(looks)
        assert posterior is not None
        together = Posterior.of_logits(posterior.logs.mean(axis=0, keepdims=True), posterior.positions)
        return together.logs[0], origin

    @property
    def knows_grid(self) -> bool:
        """Whether the network was trained on the lens's very grid."""
        return self.scale.unit == STEP and self.scale.grid.blur_per_unit_px is None


def knows_grid(network: Method, grid: FocusGrid, shape: tuple[int, int]) -> bool:
    """Returns whether a network was trained on a grid, whose distances are known."""
    return grid.known and network.build().refusal(grid, shape, network.views) is None


def tiles(region: Frame) -> Float32[np.ndarray, "tile view side side"]:
    """Returns parts of a region as large as networks see, evenly over it; a small region is one."""
    rows, cols = region.shape[1:]
    side = min(SIDE, rows, cols)
    down, across = min(rows // side, TILES), min(cols // side, TILES)
    corners = [
        (int((row + 0.5) * rows / down - side / 2), int((col + 0.5) * cols / across - side / 2))
        for row in range(down)
        for col in range(across)
    ]
    return np.stack([region[:, top : top + side, left : left + side] for top, left in corners])


def move_logs(
    moves: Float[np.ndarray, " n_and_beyond"], origin: int, steps: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Returns how likely the focus is some steps of blur away from a look, as logarithms of densities.

    Args:
        moves: What a network says: the logarithms of beyond its window, of each step of it, and of beyond.
        origin: The step of the window at which the look was shown.
        steps: How far away; nearer is positive.
    """
    chances = np.exp(moves)
    chances[[0, -1]] /= FARTHEST
    at = np.arange(len(moves)) - 1.0 - origin
    return np.log((1 - MISLED) * np.interp(steps, at, chances) + MISLED / FARTHEST)
