"""Posterior and DepthPrior: what is known of the focus after a look, and before it, as values.

The focus is a position of the grid, or lies beyond one of its ends. A **posterior** is the logarithm of the
probability of each, in this order:

    beyond the far end, position 0 (far) .. position n - 1 (near), beyond the near end

A **prior** says how often things are at each position before anything was seen. A method never holds one:
whoever asks applies it (`Posterior.weigh`), and the simulator draws from it (`DepthPrior.draw`).
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from dioptre.errors import InputError, NetworkError

Scores = Float[np.ndarray, "batch n"]
FAR_END, NEAR_END = 0, -1  # places of the mass beyond the ends in a posterior
SUM_TOLERANCE = 1e-6
MOST_TABLE = 1_000_000  # bytes of a file of weights
MOSTLY = 0.5  # of a probability
BEYOND = 0.9  # how much of a posterior beyond an end of the grid means that the focus is there
APART = 1 / 12  # of the positions: peaks that are nearer to each other are one side of focus
DIP = 0.5  # of the lower peak: how deep the valley between two sides is at least
UNLIKELY = 1e-4  # a position that is less likely is no peak


class Decision(StrEnum):
    """How a posterior is read."""

    MODE = "mode"  # the likeliest position, as the paper's networks are read
    MEDIAN = "median"  # of the likeliest side of focus, the position with the least expected absolute error


@dataclass(frozen=True, eq=False)
class Posterior:
    """How likely the focus is at each position of the grid, and beyond its ends, for some scenes.

    Attributes:
        logs: (batch, n + 2) natural logarithms of probabilities that sum to 1; minus infinity for 0.
        decision: How an answer is read off it.
    """

    logs: Float[np.ndarray, "batch n_and_beyond"]
    decision: Decision = Decision.MEDIAN

    def __post_init__(self) -> None:
        if self.logs.ndim != 2 or self.logs.shape[1] < 3:
            raise InputError(f"a posterior is (batch, n + 2), not of shape {self.logs.shape}")
        with np.errstate(over="ignore"):
            sums = np.exp(self.logs).sum(axis=1)
        if not np.abs(sums - 1).max(initial=0.0) <= SUM_TOLERANCE:  # also for NaN
            worst = sums[np.argmax(np.abs(sums - 1))]
            raise NetworkError(f"probabilities of a posterior sum to 1, not to {worst:g}")

    @classmethod
    def of_logits(
        cls,
        logits: Float[np.ndarray, "batch _"],
        positions: int,
        decision: Decision = Decision.MEDIAN,
    ) -> "Posterior":
        """Returns the posterior that logits stand for, normalised.

        Args:
            logits: One for each position, if the ends cannot be passed; or those two more, as in `logs`.
            positions: Of the grid.
            decision: How an answer is read.

        Raises:
            NetworkError: If a logit is NaN or plus infinity, or none is finite.
        """
        if logits.shape[1] == positions:
            logits = np.pad(logits.astype(np.float64), ((0, 0), (1, 1)), constant_values=-np.inf)
        if logits.shape[1] != positions + 2:
            raise NetworkError(
                f"the network's answer has {logits.shape[1]} numbers, not {positions} or {positions + 2}"
            )
        highest = logits.max(axis=1, keepdims=True)
        if not np.isfinite(highest).all():  # NaN, plus infinity, or nothing but minus infinity
            raise NetworkError("the network's answer is not finite")
        shifted = logits.astype(np.float64) - highest
        return cls(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), decision)

    @property
    def positions(self) -> int:
        """Positions of the grid."""
        return self.logs.shape[1] - 2

    @property
    def ladder(self) -> Scores:
        """The probability of each position; together with what lies beyond the ends they sum to 1."""
        return np.exp(self.logs[:, 1:-1])

    @property
    def beyond_far(self) -> Float[np.ndarray, " batch"]:
        """The probability that the focus lies beyond the far end."""
        return np.exp(self.logs[:, FAR_END])

    @property
    def beyond_near(self) -> Float[np.ndarray, " batch"]:
        """The probability that the focus lies beyond the near end."""
        return np.exp(self.logs[:, NEAR_END])

    def weigh(self, prior: "DepthPrior") -> "Posterior":
        """Returns the posterior under a prior, where this one was found under an even one (Bayes's rule).

        What lies beyond an end is weighed as the end is.
        """
        if prior.is_even:
            return self
        weights = np.pad(prior.weights(self.positions), 1, mode="edge")
        with np.errstate(divide="ignore"):
            logits = self.logs + np.log(weights)
        if not np.isfinite(logits.max(axis=1)).all():
            raise InputError("the prior rules out every position that is possible after the look")
        return Posterior.of_logits(logits, self.positions, self.decision)

    def expected_error(self) -> Scores:
        """Returns for each position how many indices off it is to be expected, were it the answer.

        It is least at the median of what is reachable.
        """
        return self.reachable @ _distances(self.positions)

    @property
    def is_beyond(self) -> Bool[np.ndarray, " batch"]:
        """Which scenes have their focus clearly beyond one end of the grid, or nowhere on it."""
        clear = np.maximum(self.beyond_far, self.beyond_near) >= BEYOND
        return clear | (self.ladder.sum(axis=1) <= 0)

    @property
    def held(self) -> Scores:
        """The probability of each position, where what lies beyond an end counts for the end."""
        held = self.ladder
        held[:, 0] += self.beyond_far
        held[:, -1] += self.beyond_near
        return held

    @property
    def reachable(self) -> Scores:
        """The probability of each position, given that the lens can reach the focus.

        A look near an end often does not tell whether the focus is on the grid or as far beyond the end,
        and things are almost always on it. So an answer is read off this, and what lies beyond lowers its
        confidence. Only where the focus is clearly beyond does that count for the end.
        """
        weights = np.where(self.is_beyond[:, None], self.held, self.ladder)
        return weights / weights.sum(axis=1, keepdims=True)

    @property
    def likeliest_side(self) -> Scores:
        """The probability of each position, given that the lens can reach it and it is on its likeliest side.

        A look often leaves two sides, far and near of where it was taken. The median of both lies between
        them, where nothing is sharp.
        """
        weights = self.reachable
        for at, chances in enumerate(weights):
            sides = sides_of(chances)
            if len(sides) > 1:
                first, last = max(sides, key=lambda ends: chances[slice(*ends)].sum())
                side = np.zeros(len(chances))
                side[first:last] = chances[first:last]
                weights[at] = side / side.sum()
        return weights

    def scores(self) -> Scores:
        """Returns (batch, n): higher is the better answer. The only place that reads mode or median."""
        if self.decision is Decision.MEDIAN:
            return -self.likeliest_side @ _distances(self.positions)
        with np.errstate(divide="ignore"):
            return np.log(self.reachable)

    def within(self, first: int, last: int) -> "Posterior":
        """Returns the posterior over some of the positions; what lies outside of them lies beyond their ends.

        Args:
            first: The first position that is kept.
            last: The last one.
        """
        sides = self.logs[:, : first + 1], self.logs[:, last + 2 :]
        far, near = (np.logaddexp.reduce(side, axis=1)[:, None] for side in sides)
        return replace(self, logs=np.concatenate([far, self.logs[:, first + 1 : last + 2], near], axis=1))

    def scene(self, at: int) -> "Posterior":
        """Returns the posterior of one scene of the batch."""
        return replace(self, logs=self.logs[at : at + 1])


def sides_of(chances: Float[np.ndarray, " n"]) -> list[tuple[int, int]]:
    """Returns the sides of focus in the probabilities of positions, each by its first and the next after it.

    Two peaks are two sides if they are not near each other and the valley between them is deep.
    """
    near, peaks = max(1, round(APART * len(chances))), list[int]()
    for at in np.argsort(-chances, kind="stable").tolist():
        if chances[at] < UNLIKELY:
            break
        if all(
            abs(at - peak) > near and chances[min(at, peak) : max(at, peak)].min() < DIP * chances[at]
            for peak in peaks
        ):
            peaks.append(at)
    valleys = [a + int(np.argmin(chances[a:b])) for a, b in pairwise(sorted(peaks))]
    return list(pairwise([0, *valleys, len(chances)]))


def _distances(positions: int) -> Float[np.ndarray, "n n"]:
    """Returns the distance of each position from each, in indices."""
    places = np.arange(positions)
    return np.abs(places[:, None] - places).astype(np.float64)


@dataclass(frozen=True)
class DepthPrior:
    """How often things are at each position of the grid, before anything was seen.

    Attributes:
        name: "even", anywhere alike; "far", ever more rarely towards the near end, where there is nothing, as
            in the published data; "table", as the table says.
        table: Of a table, a weight for each position, far to near; of any sum.
    """

    name: str = "even"
    table: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.name not in ("even", "far", "table"):
            raise InputError(f"a prior is even, far or a table of weights, not {self.name!r}")
        if bool(self.table) != (self.name == "table"):
            raise InputError("a prior that is a table has weights, and no other has")
        if self.table and not (all(weight >= 0 for weight in self.table) and 0 < sum(self.table) < math.inf):
            raise InputError("the weights of a prior are finite, 0 or more, and not all 0")

    @classmethod
    def even(cls) -> "DepthPrior":
        """Returns the prior of things that are anywhere on the grid alike."""
        return cls("even")

    @classmethod
    def far(cls) -> "DepthPrior":
        """Returns the prior of rooms and landscapes: density 2 (1 - x), x from 0 (far end) to 1 (near)."""
        return cls("far")

    @classmethod
    def of_table(cls, weights: Float[np.ndarray, " n"] | tuple[float, ...]) -> "DepthPrior":
        """Returns the prior with a weight for each position, far to near."""
        return cls("table", tuple(float(weight) for weight in weights))

    @classmethod
    def parse(cls, text: str) -> "DepthPrior":
        """Returns the prior that a word, a list of weights 3,2,1 or a file of them stands for."""
        if text in ("even", "far"):
            return cls(text)
        try:
            return cls.of_table(tuple(float(word) for word in _content(text).replace(",", " ").split()))
        except ValueError as error:
            why = f": {error}" if isinstance(error, InputError) else ""
            raise InputError(
                f"a prior is even, far, a list of weights such as 3,2,1, or a file of them, not {text!r}{why}"
            ) from None

    @property
    def is_even(self) -> bool:
        """Whether it changes nothing."""
        return self.name == "even"

    def weights(self, positions: int) -> Float[np.ndarray, " n"]:
        """Returns the probability of each position of a grid."""
        if self.name == "table" and len(self.table) != positions:
            raise InputError(
                f"the prior has {len(self.table)} weights, but the grid has {positions} positions"
            )
        if self.name == "table":
            weights = np.array(self.table)
        elif self.name == "far":
            weights = 2.0 * (positions - np.arange(positions)) - 1  # the density's mean over each position
        else:
            weights = np.ones(positions)
        return weights / weights.sum()

    def draw(self, rng: "np.random.Generator") -> float:  # quoted: else it would be imported here
        """Returns a place on the grid at random, from 0 (half a step beyond its far end) to 1 (near)."""
        along = float(rng.random())
        if self.name == "far":
            return 1 - math.sqrt(1 - along)
        if self.name == "table":
            upto = np.concatenate([[0.0], np.cumsum(self.weights(len(self.table)))])
            return float(np.interp(along, upto, np.linspace(0, 1, len(upto))))
        return along


def _content(text: str) -> str:
    """Returns the content of a file, or the text itself if there is no file of that name."""
    try:
        is_file = Path(text).is_file()
    except OSError:  # a list too long for a name
        is_file = False
    if not is_file:
        return text
    with Path(text).open("rb") as file:
        content = file.read(MOST_TABLE + 1)
    if len(content) > MOST_TABLE:
        raise InputError(f"{text} has more than {MOST_TABLE / 1e6:.0f} MB: it is no list of weights")
    return content.decode()


@dataclass(frozen=True)
class Growth:
    """How much blur a unit of a lens's way adds, as far as that is known.

    Attributes:
        steps: Of blur, a unit; of a camera whose later positions focus farther it is negative.
        deviation: Of its natural logarithm: 0.08 is 8 % either way.
    """

    steps: float
    deviation: float


@dataclass(frozen=True, eq=False)
class JointPosterior:
    """How likely the focus is at each place of a lens's way, if a unit adds so much blur, for every growth.

    Attributes:
        places: Where the focus may be, rising, in the unit of the lens; some lie beyond its limits.
        growths: Steps of blur that a unit adds; negative where later positions focus farther.
        chances: (growth, place); they sum to 1.
        limits: The lowest and the highest position that the lens may go to.
    """

    places: Float[np.ndarray, " place"]
    growths: Float[np.ndarray, " growth"]
    chances: Float[np.ndarray, "growth place"]
    limits: tuple[float, float]

    @classmethod
    def of_logs(
        cls,
        places: Float[np.ndarray, " place"],
        growths: Float[np.ndarray, " growth"],
        logs: Float[np.ndarray, "growth place"],
        limits: tuple[float, float],
    ) -> "JointPosterior":
        """Returns the posterior of logarithms of densities; places count by how much of the way they have."""
        chances = np.exp(logs - logs.max()) * np.gradient(places)
        return cls(places, growths, chances / chances.sum(), limits)

    @property
    def of_places(self) -> Float[np.ndarray, " place"]:
        """The probability of each place, whatever the growth is."""
        return self.chances.sum(axis=0)

    @property
    def is_within(self) -> Bool[np.ndarray, " place"]:
        """Which places the lens may go to."""
        return (self.places >= self.limits[0]) & (self.places <= self.limits[1])

    @property
    def beyond(self) -> tuple[float, float]:
        """The probabilities that the focus lies below the limits, and above them."""
        chances, (low, high) = self.of_places, self.limits
        return float(chances[self.places < low].sum()), float(chances[self.places > high].sum())

    def quantile(self, share: float) -> float:
        """Returns up to where so much of the probability lies, of what the lens can reach.

        Where the focus is more likely beyond one end than anywhere else, that is this end.
        """
        chances = self.of_places if max(self.beyond) > MOSTLY else self.of_places * self.is_within
        upto = np.cumsum(chances) - chances / 2
        return float(np.clip(np.interp(share * upto[-1], upto, self.places), *self.limits))

    @property
    def growth(self) -> Growth:
        """How much blur a unit adds."""
        chances, logs = self.chances.sum(axis=1), np.log(np.abs(self.growths))
        mean = float(chances @ logs)
        sign = 1.0 if chances @ np.sign(self.growths) >= 0 else -1.0
        return Growth(sign * math.exp(mean), math.sqrt(max(float(chances @ (logs - mean) ** 2), 0.0)))

    def away_from(self, place: float, steps: float) -> float:
        """Returns the probability that the focus is more than so many steps of blur from a place."""
        away = np.abs(self.growths[:, None] * (self.places - place)) > steps
        return float(self.chances.sum(where=away))

    def steps_between(self, place: float, other: float) -> float:
        """Returns how many steps of blur are to be expected between two places."""
        return abs(place - other) * float(self.chances.sum(axis=1) @ np.abs(self.growths))

    def expected_distance(self, place: float) -> float:
        """Returns how far the focus is to be expected from a place, in the unit of the lens."""
        return float(self.of_places @ np.abs(self.places - place))

    def at(self, positions: Float[np.ndarray, " n"]) -> "Posterior":
        """Returns the posterior over some positions of the lens, in their order; between them it is shared.

        Args:
            positions: Rising or falling; the first and the last are the ends of the grid.
        """
        rising = positions if positions[-1] >= positions[0] else positions[::-1]
        upto = np.concatenate([[0.0], np.cumsum(self.of_places)])
        edges = np.concatenate([[self.limits[0]], (rising[1:] + rising[:-1]) / 2, [self.limits[1]]])
        edges = np.clip(edges, *self.limits)
        borders = np.concatenate(
            [self.places[:1], (self.places[1:] + self.places[:-1]) / 2, self.places[-1:]]
        )
        shares = np.diff(np.concatenate([[0.0], np.interp(edges, borders, upto), [1.0]]))
        shares = shares if rising is positions else shares[::-1]
        with np.errstate(divide="ignore"):
            return Posterior(np.log(np.maximum(shares, 0.0) / np.maximum(shares, 0.0).sum())[None])
