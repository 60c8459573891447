"""Traces: what pictures show of themselves, slice by slice, whatever a method makes of them.

A focus peak is detail that comes and goes smoothly along a sweep: what is sharp in one slice is almost as
sharp in the next, at the same place. Noise is not in the next slice, whatever its strength. So detail is
measured twice: in each slice, and in what a slice has in common with the next one. What is in both is the
subject; what is only in the first is noise, or motion.

Detail is the second difference along a diagonal, 2 p[x, y] - p[x - d, y - d] - p[x + d, y + d], at some lags
d. Pictures are sampled on a lattice, so that the cost does not grow with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from dioptre.methods.matching import shift_by_gradient

Pixels = Float32[np.ndarray, "slice view row col"]
PerSlice = Float[np.ndarray, " slice"]

LAGS: Final = (1, 2, 4, 8)  # pixels
AT: Final = 1  # the lag that shows light apart from focus
TILED: Final = 4  # the lag at which parts of the picture are told apart
ACROSS: Final = 7  # parts in each direction
SAMPLES: Final = 56  # of a picture in each direction, about
COARSE: Final = 32  # pixels in each direction of the pictures that are matched
GRID: Final = 8  # pixels between the borders of JPEG blocks
FEW: Final = 6  # slices whose blocks are measured: all are compressed alike
STRIP: Final = 128  # rows whose steps are measured at a time
CLEAR: Final = 3.0  # times the noise: detail that there is no doubt about
LIGHT: Final = 0.5  # of what light changes of detail: where a lens changes less, light is what changes
CUT: Final = 0.7  # correlation: whole pictures that are less alike show different things
STEADY: Final = 0.9  # and the ones before and after, which show the same thing, more
TIMES: Final = 5.0  # by which a cut is less alike than what comes before and after it
STILL: Final = 0.1  # relative: a lens that changes more of it moves through focus, in whatever light
TINY: Final = 1e-12


@dataclass(frozen=True, eq=False)
class Traces:
    """What pictures show of themselves.

    Attributes:
        mean: Of each slice.
        detail: Mean square of the second differences of each slice, by lag.
        common: Mean product of those of each slice and the next one, by lag.
        tiles: The same at TILED pixels for parts of the picture.
        alike: Correlation of each slice with the next one as whole pictures, much smaller.
        blocks: By how much steps on a grid of 8 pixels exceed those beside it, over the mean step.
        right: Of two views, by how many pixels the right view lies right of the left one; 0 for one view.
        down: And by how many below it.
        balance: And the logarithm of its brightness over the left one's.
        views: How many there are.
    """

    mean: PerSlice
    detail: Float[np.ndarray, "lag slice"]
    common: Float[np.ndarray, "lag gap"]
    tiles: Float[np.ndarray, "tile gap"]
    alike: Float[np.ndarray, " gap"]
    blocks: float
    right: PerSlice
    down: PerSlice
    balance: PerSlice
    views: int

    @classmethod
    def of(cls, pixels: Pixels) -> "Traces":
        """Returns the traces of a region; NaN pixels count as black."""
        return cls.of_samples([Samples.of(pixels, shown_blocks(len(pixels)))])

    @classmethod
    def of_samples(cls, samples: Sequence["Samples"]) -> "Traces":
        """Returns the traces of a region of which slices were sampled one by one, or a few at a time."""
        differences = [
            np.concatenate(some) for some in zip(*(one.differences for one in samples), strict=True)
        ]
        views = np.concatenate([one.coarse for one in samples])
        right, down = _shifts(views) if views.shape[1] == 2 else np.zeros((2, len(views)))
        light = np.maximum(views.mean(axis=(2, 3), dtype=np.float64), TINY)
        return cls(
            mean=light.mean(axis=1),
            detail=np.stack([_products(one, one) for one in differences]),
            common=np.stack([_products(one[:-1], one[1:]) for one in differences]),
            tiles=_tile_products(differences[LAGS.index(TILED)]),
            alike=_correlations(views.mean(axis=1)),
            blocks=blockiness(np.concatenate([one.steps for one in samples])),
            right=right,
            down=down,
            balance=np.log(light[:, -1] / light[:, 0]),
            views=views.shape[1],
        )

    def at(self, slices: Int[np.ndarray, " look"]) -> "Traces":
        """Returns the traces of some slices, of which it is not known what they have in common."""
        return replace(
            self,
            mean=self.mean[slices],
            detail=self.detail[:, slices],
            common=np.zeros((len(LAGS), 0)),
            tiles=np.zeros((len(self.tiles), 0)),
            alike=np.zeros(0),
            right=self.right[slices],
            down=self.down[slices],
            balance=self.balance[slices],
        )

    def noise(self, lag: int) -> Float[np.ndarray, " gap"]:
        """Returns the mean square of what a slice does not share with the next one, at one of the lags."""
        detail = self.detail[lag]
        return np.maximum((detail[:-1] + detail[1:]) / 2 - self.common[lag], TINY)

    def unshared(self, lag: int) -> Float[np.ndarray, " gap"]:
        """Returns the mean square of what neither of two slices has in common with the other, at one lag.

        Where slices are far apart, the next one is a blurred picture of a sharp one. That is no noise: it is
        left out as far as one slice is a multiple of the other.
        """
        detail, alike = self.detail[lag], np.clip(self.likeness(lag), -1, 1)
        return np.maximum(np.minimum(detail[:-1], detail[1:]) * (1 - alike**2), TINY)

    def subject(self, lag: int) -> PerSlice:
        """Returns the mean square of what each slice shares with its neighbours, at one of the lags."""
        common = self.common[lag]
        return (np.append(common, common[-1]) + np.insert(common, 0, common[0])) / 2

    @property
    def is_only_light(self) -> bool:
        """Whether what makes slices differ is their light: a lens that does not move, under a lamp.

        A score that grows with light has a peak then, and all parts of the picture agree on it.
        """
        light = self.mean[1:] * self.mean[:-1]
        if len(light) < 2 or light.min() <= 0:
            return False
        change = np.ptp(self.common[AT] / light) / max(float(np.mean(self.common[AT] / light)), TINY)
        clear = self.common[AT].min() > CLEAR * float(np.median(self.noise(AT)))
        return bool(clear and change < min(STILL, LIGHT * np.ptp(light) / light.mean()))

    @property
    def is_cut(self) -> bool:
        """Whether from one slice to the next the picture becomes another one, and stays it.

        A lens changes pictures little by little, and fastest on both sides of focus; so slices of one scene
        are never unlike at one place alone.
        """
        here, beside = self.alike[1:-1], np.minimum(self.alike[:-2], self.alike[2:])
        return bool(np.any((here < CUT) & (beside > STEADY) & (1 - here > TIMES * (1 - beside))))

    def likeness(self, lag: int) -> Float[np.ndarray, " gap"]:
        """Returns the correlation of each slice's detail with the next one's, at one of the lags."""
        detail = self.detail[lag]
        return self.common[lag] / np.sqrt(np.maximum(detail[:-1] * detail[1:], TINY**2))


@dataclass(frozen=True, eq=False)
class Samples:
    """What traces need of some slices of a region: little, so that the slices themselves can be forgotten.

    Attributes:
        differences: Second differences on a lattice, for each lag.
        coarse: The slices, much smaller.
        steps: Mean absolute steps from column to column of those slices whose blocks are measured.
    """

    differences: list[Float32[np.ndarray, "slice down across"]]
    coarse: Float32[np.ndarray, "slice view r c"]
    steps: Float[np.ndarray, "some step"]

    @classmethod
    def of(cls, pixels: Pixels, blocks: Bool[np.ndarray, " slice"]) -> "Samples":
        """Returns the samples of some slices; NaN pixels count as black.

        Args:
            pixels: The slices.
            blocks: The blocks of which are measured (`shown_blocks`).
        """
        if not (np.isfinite(pixels.min()) and np.isfinite(pixels.max())):
            pixels = np.nan_to_num(pixels, nan=0.0, posinf=1.0, neginf=0.0)
        shown = pixels if blocks.all() else pixels[blocks]
        return cls(second_differences(pixels), _coarse(pixels), column_steps(shown))

    def reversed(self) -> "Samples":
        """Returns the samples of the same slices in the opposite order."""
        return Samples([one[::-1] for one in self.differences], self.coarse[::-1], self.steps[::-1])


def shown_blocks(n: int) -> Bool[np.ndarray, " slice"]:
    """Returns the slices of n whose blocks are measured: a few, as all are compressed alike."""
    return np.arange(n) % max(1, n // FEW) == 0


def _products(
    one: Float32[np.ndarray, "slice down across"], other: Float32[np.ndarray, "slice down across"]
) -> PerSlice:
    return np.einsum("sij,sij->s", one, other, dtype=np.float64) / one[0].size if len(one) else np.zeros(0)


def _correlations(pictures: Float32[np.ndarray, "slice down across"]) -> Float[np.ndarray, " gap"]:
    """Returns the correlation of each picture with the next one; 0 where one of them is plain."""
    about = pictures - pictures.mean(axis=(1, 2), keepdims=True)
    power = _products(about, about)
    return _products(about[:-1], about[1:]) / np.sqrt(np.maximum(power[:-1] * power[1:], TINY**2))


def _tile_products(detail: Float32[np.ndarray, "slice down across"]) -> Float[np.ndarray, "tile gap"]:
    """Returns the mean product of each slice's detail and the next one's, in parts of the picture."""
    slices, rows, cols = detail.shape
    down, across = rows // ACROSS, cols // ACROSS
    if slices < 2 or min(down, across) == 0:
        return np.zeros((ACROSS**2, max(slices - 1, 0)))
    cut = detail[:, : ACROSS * down, : ACROSS * across].reshape(slices, ACROSS, down, ACROSS, across)
    found = np.einsum("sidjc,sidjc->ijs", cut[:-1], cut[1:]) / (down * across)
    return found.reshape(ACROSS**2, slices - 1).astype(np.float64)


def second_differences(pixels: Pixels) -> list[Float32[np.ndarray, "slice down across"]]:
    """Returns second differences of green along a diagonal for each lag, all on one lattice."""
    rows, cols = pixels.shape[2:]
    margin = min(LAGS[-1], (min(rows, cols) - 2) // 4)
    steps = [max(1, (length - 2 * margin) // SAMPLES) for length in (rows, cols)]

    def sampled(away: int) -> Float32[np.ndarray, "slice down across"]:
        lines, columns = (
            slice(margin + away, length - margin + away, step)
            for length, step in zip((rows, cols), steps, strict=True)
        )
        part = pixels[:, :, lines, columns]
        return part[:, 0] if part.shape[1] == 1 else (part[:, 0] + part[:, 1]) * np.float32(0.5)

    twice = 2 * sampled(0)
    return [twice - sampled(-lag) - sampled(lag) for lag in (min(one, margin) for one in LAGS)]


def column_steps(pixels: Pixels) -> Float[np.ndarray, "slice step"]:
    """Returns the mean absolute step from each column to the next, of every other row of the first view."""
    lines = pixels[:, 0, ::2]
    total = np.zeros((len(pixels), pixels.shape[3] - 1))
    for first in range(0, lines.shape[1], STRIP):  # of a large picture, little is held at a time
        strip = lines[:, first : first + STRIP]
        total += np.abs(np.diff(strip, axis=2)).sum(axis=1, dtype=np.float64)
    return total / lines.shape[1]


def blockiness(steps: Float[np.ndarray, "slice step"]) -> float:
    """Returns by how much steps from column to column on a grid exceed those beside it, over the mean step.

    The grid may begin anywhere; that of the largest excess counts. What every second or fourth step has too
    does not: a mosaic of colours that was filled in, or columns that were doubled, are no blocks.
    """
    mean = steps.mean(axis=0)
    if len(mean) < 3 * GRID:
        return 0.0
    excess = mean[1:-1] - (mean[:-2] + mean[2:]) / 2
    phases = np.array([np.median(excess[phase::GRID]) for phase in range(GRID)])
    alike = [np.delete(phases[phase % 2 :: 2], phase // 2).max() for phase in range(GRID)]
    return float((phases - np.maximum(alike, 0.0)).max() / max(mean.mean(), TINY))


def _coarse(pixels: Pixels) -> Float32[np.ndarray, "slice view down across"]:
    """Returns pictures of about COARSE pixels in each direction."""
    slices, views, rows, cols = pixels.shape
    block = max(1, min(rows, cols) // COARSE)
    down, across = rows // block, cols // block
    found = np.zeros((slices, views, down, across * block), np.float32)
    for row in range(block):  # row by row is many times as fast as the mean over two axes at once
        found += pixels[:, :, row : down * block : block, : across * block]
    return found.reshape(slices, views, down, across, block).sum(axis=4) / np.float32(block * block)


def _shifts(views: Float32[np.ndarray, "slice 2 down across"]) -> Float[np.ndarray, "2 slice"]:
    """Returns by how much the right views are moved right and down, in coarse pixels; gains do not count."""
    even = views / np.maximum(views.mean(axis=(2, 3), keepdims=True), np.float32(TINY))
    change = (even[:, 1] - even[:, 0])[:, 1:-1, 1:-1]
    middle = even.mean(axis=1)
    along = (middle[:, 1:-1, 2:] - middle[:, 1:-1, :-2]) / 2
    across = (middle[:, 2:, 1:-1] - middle[:, :-2, 1:-1]) / 2
    return shift_by_gradient(along, across, change, TINY)
