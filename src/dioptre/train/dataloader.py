"""Batches out of patch stores, read in the background while the last one is being learned.

Batch number b of a seed is always the same, whoever asks and whenever: everything random in it is drawn from
(seed, b). So a run that was stopped goes on as if it had not been, and the processes of a run on several
machines each take their part of the same batch.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int, Shaped
from torch import Tensor

from dioptre.errors import InputError
from dioptre.store.patches import PatchStore
from dioptre.train.recipe import Flips

AHEAD = 3  # batches read in advance

# Draws which positions are seen of each patch. It may answer for only the first few of them.
Looks = Callable[[np.random.Generator, Int[np.ndarray, " batch"]], Int[np.ndarray, "fewer slice"]]


@dataclass(frozen=True, eq=False)
class Batch:
    """Some patches to learn from.

    Attributes:
        pixels: What was seen, or what a feature cache holds of each look.
        indices: Where the lens was.
        where: The patches' centres in the frame.
        told: 1 where a network is told the lens's position, and the place in the frame; 0 where not.
        target: The true position, in indices; NaN where there is nothing to focus on.
    """

    pixels: Float[Tensor, "batch slice ..."]
    indices: Int[Tensor, "batch slice"]
    where: Float[Tensor, "batch 2"]
    told: Float[Tensor, "batch 2"]
    target: Float[Tensor, " batch"]

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What a network is given."""
        return self.pixels, self.indices, self.where, self.told

    def to(self, device: torch.device) -> "Batch":
        """Returns the batch on a device."""
        return Batch(*(one.to(device) for one in (*self.inputs, self.target)))


@runtime_checkable
class LookSource(Protocol):
    """Where looks at patches come from: stores, or a feature cache of them."""

    @property
    def positions(self) -> int:
        """Positions of the grid."""
        ...

    def __len__(self) -> int:
        """Returns the number of patches."""
        ...

    def read(
        self,
        rows: Int[np.ndarray, " batch"],
        indices: Int[np.ndarray, "batch slice"],
        views: int,
        crop_at: Float[np.ndarray, "batch 2"] | None = None,
    ) -> tuple[Float32[np.ndarray, "batch slice ..."], Float32[np.ndarray, "batch 2"]]:
        """Returns some slices of some patches, and where these lie in their frames.

        Args:
            rows: Which patches.
            indices: Which slices of each.
            views: 1 green, 2 left and right.
            crop_at: How far down and to the right, 0 to 1, a crop of half the rows and columns begins; None
                for whole patches.
        """
        ...


@dataclass(frozen=True, eq=False)
class JoinedStores:
    """The patches of several stores of one grid and size, counted through."""

    stores: tuple[PatchStore, ...]

    def __post_init__(self) -> None:
        first = self.stores[0].format
        for store in self.stores[1:]:
            if store.format.size != first.size or store.format.views != first.views:
                raise InputError(
                    f"{store.path} has {store.format.views} views of {store.format.size} pixels, "
                    f"but {self.stores[0].path} has {first.views} of {first.size}"
                )
            if not np.array_equal(store.format.grid.dioptres, first.grid.dioptres, equal_nan=True):
                raise InputError(f"{store.path} has another grid than {self.stores[0].path}")

    @property
    def positions(self) -> int:
        """Positions of the grid."""
        return len(self.stores[0].format.grid)

    def __len__(self) -> int:
        """Returns the number of patches."""
        return sum(len(store) for store in self.stores)

    def column(self, name: str) -> Shaped[np.ndarray, " n"]:
        """Returns a column of all tables, one after the other."""
        return np.concatenate([store.column(name) for store in self.stores])

    def crop_corners(self, crop_at: Float[np.ndarray, "batch 2"]) -> Int[np.ndarray, "batch 2"]:
        """Returns the row and column where a crop begins, from how far down and to the right, 0 to 1."""
        form = self.stores[0].format
        corners = (crop_at * (form.size - form.size // 2 + 1)).astype(np.int64)
        corners[:, 0] -= corners[:, 0] % form.rows_per_native
        return corners

    @property
    def where(self) -> Float32[np.ndarray, "n 2"]:
        """The patches' centres in the frame, as (x, y)."""
        return np.stack([self.column("where_x"), self.column("where_y")], axis=1).astype(np.float32)

    def has_column(self, name: str) -> bool:
        """Returns whether every table has it."""
        return all(name in store.table.column_names for store in self.stores)

    def read(
        self,
        rows: Int[np.ndarray, " batch"],
        indices: Int[np.ndarray, "batch slice"],
        views: int,
        crop_at: Float[np.ndarray, "batch 2"] | None = None,
    ) -> tuple[Float32[np.ndarray, "batch slice view row col"], Float32[np.ndarray, "batch 2"]]:
        """Returns some slices of some patches, counted through all stores, and where these lie."""
        size = self.stores[0].format.size // (1 if crop_at is None else 2)
        corners = None if crop_at is None else self.crop_corners(crop_at)
        pixels = np.empty((*indices.shape, views, size, size), np.float32)
        where = np.empty((len(rows), 2), np.float32)
        begin = 0
        for store in self.stores:
            mine = np.flatnonzero((rows >= begin) & (rows < begin + len(store)))
            if mine.size:
                stack = store.stack(
                    rows[mine] - begin, indices[mine], None if corners is None else corners[mine], size
                )
                pixels[mine] = (stack.green() if views == 1 else stack).pixels
                where[mine] = stack.where
            begin += len(store)
        return pixels, where


@dataclass(frozen=True, eq=False)
class DataLoader:
    """An endless supply of batches, the same for the same seed.

    Attributes:
        source: Where the patches are.
        rows: Which of them to draw from.
        target: The true position of every patch of the source, in indices.
        views: 1 green, 2 left and right.
        looks: Which positions are seen.
        size: Patches in a batch, of all processes together.
        seed: Of everything random.
        flips: Whether patches are turned upside down ("rows"), also mirrored ("both": two views then change
            places), and of green also laid on their side ("all").
        crops: In so many batches, the first ones, only a crop of half the rows and columns of each patch is
            seen, cut out anywhere.
        untold: Part of the patches whose lens position is not told, and likewise whose place in the frame.
        part: Which part of each batch is this process's, and of how many.
    """

    source: LookSource
    rows: Int[np.ndarray, " n"]
    target: Float[np.ndarray, " all"]
    views: int
    looks: Looks
    size: int
    seed: int = 0
    flips: Flips = "none"
    crops: int = 0
    untold: float = 0.0
    part: tuple[int, int] = (0, 1)

    def batch(self, number: int) -> Batch:
        """Returns one batch, or this process's part of it."""
        rng = np.random.default_rng([self.seed, number])
        rows = rng.choice(self.rows, self.size, replace=self.size > len(self.rows))
        indices = self.looks(rng, rows)
        indices = indices[: len(indices) // self.part[1] * self.part[1]]  # all parts are of one size
        flipped = rng.random((len(indices), 3)) < 0.5
        crop_at = rng.random((len(indices), 2))
        told = rng.random((len(indices), 2)) >= self.untold
        mine = slice(self.part[0], len(indices), self.part[1])
        rows, indices, flipped = rows[: len(indices)][mine], indices[mine], flipped[mine]
        crop = crop_at[mine] if number < self.crops else None
        pixels, where = self.source.read(rows, indices, self.views, crop)
        if self.flips != "none":
            mirrored, transposed = (
                flipped[:, 1] & (self.flips != "rows"),
                flipped[:, 2] & (self.flips == "all"),
            )
            flip(pixels, where, flipped[:, 0], mirrored, transposed)
        return Batch(
            torch.from_numpy(pixels),
            torch.from_numpy(np.ascontiguousarray(indices, dtype=np.int64)),
            torch.from_numpy(where),
            torch.from_numpy(told[mine].astype(np.float32)),
            torch.from_numpy(self.target[rows].astype(np.float32)),
        )

    def stream(self, first: int, last: int) -> Iterator[Batch]:
        """Yields batches first .. last - 1, reading ahead in the background."""
        with ThreadPoolExecutor(1, thread_name_prefix="feed") as pool:
            waiting: deque[Future[Batch]] = deque()
            try:
                for number in range(first, last):
                    waiting.append(pool.submit(self.batch, number))
                    if len(waiting) > AHEAD:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


def flip(
    pixels: Float32[np.ndarray, "batch slice view row col"],
    where: Float32[np.ndarray, "batch 2"],
    upside_down: Bool[np.ndarray, " batch"],
    mirrored: Bool[np.ndarray, " batch"],
    transposed: Bool[np.ndarray, " batch"],
) -> None:
    """Turns some patches upside down, mirrors some, and exchanges rows and columns of some, in place.

    Seen in a mirror, the left half of the lens is the right one: the views change places. Two views cannot be
    transposed, since they differ along the columns.
    """
    for at in np.flatnonzero(upside_down):
        pixels[at] = pixels[at, :, :, ::-1].copy()
        where[at, 1] *= -1
    for at in np.flatnonzero(mirrored):
        pixels[at] = pixels[at, :, ::-1, :, ::-1].copy()
        where[at, 0] *= -1
    for at in np.flatnonzero(transposed):
        pixels[at] = pixels[at].swapaxes(-1, -2).copy()
        where[at] = where[at, ::-1].copy()


# Which positions are seen


def whole_stack(positions: int) -> Looks:
    """Returns looks at every position, in order."""
    return lambda _rng, rows: np.tile(np.arange(positions), (len(rows), 1))


def random_start(positions: int) -> Looks:
    """Returns one look anywhere."""
    return lambda rng, rows: rng.integers(0, positions, (len(rows), 1))


def from_trails(trails: Int[np.ndarray, "all start step"]) -> Looks:
    """Returns the looks of a search that began anywhere.

    Args:
        trails: The positions that were looked at, for each patch of the source and each start.
    """

    def looks(rng: np.random.Generator, rows: Int[np.ndarray, " batch"]) -> Int[np.ndarray, "batch step"]:
        return trails[rows, rng.integers(0, trails.shape[1], len(rows))]

    return looks


def some_slices(positions: int, counts: Sequence[tuple[int, float]], most: int) -> Looks:
    """Returns looks at different positions, a random number of them in each batch.

    Args:
        positions: Of the grid.
        counts: How many looks, and how often.
        most: Looks in a batch at most, over all patches: with many looks there are fewer patches.
    """
    numbers = np.array([count for count, _ in counts])
    odds = np.array([share for _, share in counts], dtype=np.float64)

    def looks(rng: np.random.Generator, rows: Int[np.ndarray, " batch"]) -> Int[np.ndarray, "fewer slice"]:
        count = int(rng.choice(numbers, p=odds / odds.sum()))
        fewer = min(len(rows), max(2, most // count))
        return rng.permuted(np.tile(np.arange(positions), (fewer, 1)), axis=1)[:, :count]

    return looks


@dataclass(eq=False)
class RandomOrTrails:
    """Looks at positions drawn at random and, as soon as there are any, as often the looks of searches.

    Attributes:
        random: Draws positions.
        trails: The positions that searches looked at, for each patch of the source and each start.
    """

    random: Looks
    trails: Int[np.ndarray, "all start step"] | None = None

    def __call__(
        self, rng: np.random.Generator, rows: Int[np.ndarray, " batch"]
    ) -> Int[np.ndarray, "fewer slice"]:
        """Returns the positions that are seen of each patch: in a search, as many as it has come to."""
        if self.trails is None or rng.random() < 0.5:
            return self.random(rng, rows)
        return from_trails(self.trails)(rng, rows)[:, : rng.integers(1, self.trails.shape[2] + 1)]
