"""A method whose parts vote: each tile of a region says where it is sharp, and none has more than its say.

In a score of the whole region the part with the most contrast decides, and what moves through its border
counts as contrast too: breathing carries bright things in and out. A tile's curve, scaled to its own range,
says no more than where that tile is sharp; the mean of all is highest where most of the region is. Training
or a known camera is not needed for it.

A tile's say grows with the part of its contrast that changes over the stack: a plain one, whose curve is
noise, has little.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from jaxtyping import Float

from dioptre.grid import FocusGrid
from dioptre.methods.base import Autofocuser
from dioptre.methods.contrast import Contrast
from dioptre.methods.tiles import tiles_of
from dioptre.posterior import Scores
from dioptre.stack import FocalStack

Curve = Float[np.ndarray, " n"]
Tiles = Float[np.ndarray, "tile n"]

SAY: Final = 0.75  # power of the part of its contrast that a tile's curve changes by
VOTES_BY: Final = {"dioptre-vote": "dioptre-contrast"}  # the measure of each method whose parts vote


def ballots(tiles: Tiles) -> Tiles:
    """Returns the votes of each tile: its curve scaled from 0 to its weight; 0 where it has no contrast.

    Slices that a tile does not score are minus infinity and get no vote of it.

    Args:
        tiles: Scores of a measure that is never negative.
    """
    scored = np.isfinite(tiles)
    lowest = np.min(tiles, axis=1, where=scored, initial=np.inf, keepdims=True)
    highest = np.max(tiles, axis=1, where=scored, initial=0.0, keepdims=True)
    tells = scored & (highest > lowest)
    span = np.where(highest > lowest, highest - lowest, 1.0)
    height = np.where(tells, tiles - np.where(tells, lowest, 0.0), 0.0) / span
    return height * (span / np.where(highest > 0, highest, 1.0)) ** SAY


@dataclass(frozen=True)
class Voting(Autofocuser):
    """A measure by which the tiles of a region vote, as an Autofocuser.

    Of a region that is too small for four tiles, the measure itself decides.
    """

    key: str
    measure: Contrast
    by_slice: ClassVar[bool] = True

    @property
    def tile_measure(self) -> Contrast:
        """The measure by which tiles vote."""
        return self.measure

    def refusal(self, grid: FocusGrid, shape: tuple[int, int], views: int) -> str | None:
        """Returns why it cannot see such patches, if it cannot."""
        return self.measure.refusal(grid, shape, views)

    def scores(self, stack: FocalStack) -> Scores:
        """Returns the share of the vote that each slice has, (batch, n)."""
        whole = self.measure.scores(stack)
        green = stack.green()
        for at, pixels in enumerate(green.pixels):
            tiles = tiles_of(pixels)
            if tiles is not None:
                each = np.broadcast_to(green.indices[at], (len(tiles), green.indices.shape[1]))
                parts = FocalStack(tiles, each.copy(), stack.grid, view_codes=stack.view_codes)
                whole[at], _ = self.joined(whole[at], self.measure.scores(parts))
        return whole

    def joined(self, curve: Curve, tiles: Tiles) -> tuple[Curve, Tiles]:
        """Returns the mean of the ballots of a region's tiles, and these; its own curve if no tile tells."""
        cast = ballots(tiles)
        votes = cast.mean(axis=0)
        return np.where(np.isfinite(curve), votes, -np.inf) if votes.any() else curve, cast


@dataclass(frozen=True)
class VotingFamily:
    """The methods whose parts vote."""

    def build(self, key: str) -> Voting:
        """Returns one of them."""
        return Voting(key, Contrast(VOTES_BY[key]))

    def scores(self, stack: FocalStack, keys: Sequence[str]) -> dict[str, Scores]:
        """Returns the scores of several of them."""
        return {key: self.build(key).scores(stack) for key in keys}
