"""Learned depth: a network's relative depth, fitted to the disparities of tiles (paper, "Learned Depth").

After Garg et al. 2019. From two views a network tells inverse depth up to an affine transform: how many
pixels a dioptre is depends on focus, aperture and place, which it is not told. The paper finds the
transform by least squares against the block matching of the same picture, takes the patch's median, and
turns that by the same line as `ssd-disparity`. So a network smooths and sharpens what tiles say; it cannot
be better than they are at telling *how far* the lens is off.

**The file.** An ONNX file with one input `views`, (batch, 2, row, col), pixels as a FocalStack has them,
rows and columns multiples of STRIDE and at least LEAST; one output `depth`, (batch, row / SCALE, col /
SCALE), larger for what is nearer or for what is farther, all the same. What the network wants done to its
input is inside. Its metadata holds "learned-depth" under the key "dioptre-depth", and where it came from
under "dioptre-depth-card", as JSON.

**How large a picture.** Rows and columns from LEAST on. One patch of 128 pixels has at most a few hundred
tiles to fit two numbers to, all of one depth as often as not: then only the offset is told, and the answer is
that of the tiles, smoothed. The paper's pictures are a thousand pixels wide. A larger picture is to be handed
over as the region; the median is then the region's. `dioptre.train.networks.depth` is the network that comes
with the package, `dioptre.train.depth` how it learned.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from dioptre.errors import NetworkError
from dioptre.methods.learned import open_network, run_network
from dioptre.methods.matching import HALF, TILE, Match, Tiles, View, rim_of, ssd
from dioptre.robust import NORMAL, weighted_median

SCALE: Final = 4  # pixels of a view for one of the map
STRIDE: Final = 16  # rows and columns are multiples of this
LEAST: Final = 128  # rows and columns
INPUT, OUTPUT = "views", "depth"
METADATA, CARD = "dioptre-depth", "dioptre-depth-card"
KIND: Final = "learned-depth"
FLAT: Final = 1e-10  # variance of a map relative to its square mean: below this it is of one depth

Maps = Float[np.ndarray, "image map_row map_col"]
DepthMap = Callable[[View, View], Maps]


@dataclass(frozen=True)
class DepthNetwork:
    """A depth network in a file, which is read when the first picture comes.

    Attributes:
        path: The file.
    """

    path: Path

    @property
    def there(self) -> bool:
        """Whether there is such a file."""
        return self.path.is_file()

    @property
    def identity(self) -> str:
        """The SHA-256 of the file."""
        return _load(self.path)[1]

    @property
    def card(self) -> dict[str, Any]:
        """The network's origin, as its file says; empty if it does not."""
        try:
            card = json.loads(_load(self.path)[0].get_modelmeta().custom_metadata_map.get(CARD, "{}"))
        except (RecursionError, ValueError) as error:
            raise NetworkError(f"{self.path} cannot be used: its card is no JSON: {error}") from None
        if not isinstance(card, dict):
            raise NetworkError(f"{self.path} cannot be used: its card is no object")
        return card

    def __call__(self, left: View, right: View) -> Maps:
        """Returns the relative depth of pictures, one value for SCALE x SCALE pixels.

        What does not fill a multiple of STRIDE at the right and below is left out.

        Raises:
            NetworkError: If a picture is too small, or the answer is not finite or of another size.
        """
        rows, cols = (length - length % STRIDE for length in left.shape[1:])
        if min(rows, cols) < LEAST:
            raise NetworkError(
                f"a depth network sees pictures of {LEAST} pixels or more, not {left.shape[1:]}"
            )
        views = np.stack([left[:, :rows, :cols], right[:, :rows, :cols]], axis=1)
        (maps,) = run_network(self.path, _load(self.path)[0], [OUTPUT], {INPUT: views})
        if not isinstance(maps, np.ndarray) or maps.dtype != np.float32:
            raise NetworkError(f"{self.path} answered {type(maps).__name__}, not a single-precision map")
        if maps.shape != (len(left), rows // SCALE, cols // SCALE) or not np.isfinite(maps).all():
            raise NetworkError(
                f"{self.path} answered {maps.shape} for views of {views.shape}, or not finitely"
            )
        return maps.astype(np.float64)


@cache
def _load(path: Path) -> tuple[Any, str]:
    """Returns the session of a file and its hash; once for each file."""
    session, metadata, sha256 = open_network(path)
    if metadata.get(METADATA) != KIND:
        raise NetworkError(f"{path} is not a depth network of dioptre's: it has no metadata {METADATA!r}")
    inputs = [one.name for one in session.get_inputs()]
    if inputs != [INPUT] or OUTPUT not in [one.name for one in session.get_outputs()]:
        raise NetworkError(f"{path} has the inputs {', '.join(inputs)}, not {INPUT}, or no output {OUTPUT}")
    return session, sha256


def match_depth(
    depth: DepthMap,
    left: View,
    right: View,
    reach: int,
    size: int = HALF,
    held: bool = False,
    within: int = 0,
) -> Match:
    """Returns the median of a network's map, fitted to the shifts of tiles.

    Args:
        depth: Tells the relative depth of pictures: a `DepthNetwork`, or any other function.
        left: The left views.
        right: The right views.
        reach: Pixels in which the tiles are searched, to each side.
        size: Of the tiles' pixels, FULL or HALF.
        held: Whether a tile that fits best at the end of the search has a say.
        within: Rows and columns in the middle of a picture whose median is wanted; 0 for all.
    """
    tiles = ssd(left, right, reach, size, held)
    fitted, off = fit_to_tiles(pool_tiles(depth(left, right), tiles), tiles)
    if within:
        side = max(1, round(within / (size * TILE)))
        down, across = ((length - side) // 2 for length in fitted.shape[1:])
        fitted = fitted[:, down : down + side, across : across + side]
    middle = np.median(fitted.reshape(len(left), -1), axis=1)
    count = tiles.shifts[0].size
    return Match(middle, np.zeros(len(left)), off / 2, tiles.likeness, count * TILE**2, size)


def pool_tiles(maps: Maps, tiles: Tiles) -> Float[np.ndarray, "image down across"]:
    """Returns the mean of a map in each tile; where the map ends, its last whole tile's."""
    _, down, across = tiles.shifts.shape
    side = tiles.size * TILE // SCALE
    rim = rim_of(tiles.size)
    top, first = (  # tiles begin where the search has room
        tiles.size * begin // SCALE for begin in (rim, rim + tiles.likeness.shape[1] // 2)
    )
    wanted = (
        (0, 0),
        (0, max(0, top + down * side - maps.shape[1])),
        (0, max(0, first + across * side - maps.shape[2])),
    )
    part = np.pad(maps, wanted, mode="edge")[:, top : top + down * side, first : first + across * side]
    return part.reshape(len(maps), down, side, across, side).mean(axis=(2, 4))


def fit_to_tiles(
    maps: Float[np.ndarray, "image down across"], tiles: Tiles
) -> tuple[Float[np.ndarray, "image down across"], Float[np.ndarray, " image"]]:
    """Returns a D + b, the affine map nearest to the tiles' shifts by weighted least squares, in pixels.

    And how far the tiles are off it, as a deviation. Where no tile is worth anything, the map is 0.
    """
    count = len(maps)
    depth, shifts, weights = (one.reshape(count, -1) for one in (maps, tiles.shifts, tiles.weights))
    total = np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    share = weights / total
    mean_depth, mean_shift = (np.sum(share * one, axis=1, keepdims=True) for one in (depth, shifts))
    variance = np.sum(share * (depth - mean_depth) ** 2, axis=1, keepdims=True)
    covariance = np.sum(share * (depth - mean_depth) * (shifts - mean_shift), axis=1, keepdims=True)
    flat = variance <= FLAT * mean_depth**2
    slope = np.where(flat, 0.0, covariance / np.where(flat, 1.0, variance))
    fitted = slope * (depth - mean_depth) + mean_shift
    off = NORMAL * weighted_median(np.abs(shifts - fitted), weights)
    return fitted.reshape(maps.shape), off
