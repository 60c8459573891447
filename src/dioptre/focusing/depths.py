"""Depths: the things in a picture that are sharp at different slices, and which of them is the subject.

A picture is scored in tiles anyway (`methods.tiles`). Tiles whose curves peak together are one depth; where
there are several, one slice cannot be the answer for the whole picture. So each depth becomes a region, the
largest rectangle of its tiles, and the subject decides: by default the depth that fills most of the middle,
as in a camera.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import product
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Int

from dioptre.confidence.curve import Curve, CurveNoise, Tiles, stands_out
from dioptre.confidence.model import reach_of
from dioptre.confidence.reasons import Reason
from dioptre.errors import InputError
from dioptre.focusing.result import Depth, FocusResult, Roi
from dioptre.grid import FocusGrid

MIDDLE: Final = 0.5  # deviation of the weight of the middle, of half the picture's width and height
FEWEST: Final = 1 / 16  # of the tiles, and two of them: fewer are no depth of their own
FINE_TILES: Final = (8, 32)  # across, where there are several depths, and pixels of one at least
MIXED: Final = 0.15  # of a tile's range: so far its curve climbs again at another depth if it shows both
FAINT: Final = (
    0.02  # of the strongest tile's range: a weaker one shows light that leaks in from its neighbours
)
LEAK: Final = 0.25  # the same at an end of the stack, where blur from elsewhere is widest

Mask = Bool[np.ndarray, "down across"]


class Subject(StrEnum):
    """Which of several depths or regions decides."""

    CENTRE = "centre"
    NEAREST = "nearest"
    FARTHEST = "farthest"
    LARGEST = "largest"
    MOST_CONFIDENT = "most-confident"


def to_subject(name: Any) -> Subject:
    """Returns the subject of a name, in British or American spelling, or says which there are."""
    try:
        return Subject.CENTRE if name == "center" else Subject(name)
    except ValueError:
        raise InputError(f"a subject is {', '.join(Subject)}, not {name!r}") from None


def need_order(subject: Subject, grid: FocusGrid) -> None:
    """Raises InputError where a subject is the nearest or the farthest of slices of which nobody said it."""
    if subject in (Subject.NEAREST, Subject.FARTHEST) and grid.nearer is None:
        raise InputError(
            f"which thing is the {subject} cannot be told: say whether the slices run near-first or "
            "far-first (order=...), or where they were taken in dioptres or metres"
        )


# Which depths there are


def find_depths(tiles: Tiles, layout: tuple[int, int], region: Roi) -> tuple[Depth, ...]:
    """Returns the depths of a region, the one that fills most of it first; at most one if it is shallow.

    Args:
        tiles: Curves of its tiles, row by row.
        layout: How many tiles there are down and across.
        region: Where it lies in the picture.
    """
    peaks, left = _tile_peaks(tiles)
    reach, found = reach_of(tiles.shape[1]), list[tuple[int, Bool[np.ndarray, " tile"]]]()
    near = np.abs(peaks[:, None] - peaks[None, :]) <= reach
    while left.any():
        group = left & near[int(np.argmax(np.where(left, (near & left).sum(axis=1), -1)))]
        left = left & ~group
        index = int(np.mean(_scaled(tiles[group]), axis=0).argmax())
        apart = all(abs(index - other) > 2 * reach for other, _ in found)
        if group.sum() >= max(min(2, len(tiles) // 4), FEWEST * len(tiles)) and apart:
            found.append((index, group))
    places = [index for index, _ in found]
    depths = []
    for index, group in found:
        mixed = [_is_mixed(curve, at, places, reach) for curve, at in zip(tiles, peaks.tolist(), strict=True)]
        pure = group & ~np.array(mixed)
        depths.append(_depth(index, group.reshape(layout), pure.reshape(layout), region))
    return tuple(depths)


def joined_on_plateau(depths: Sequence[Depth], plateau: tuple[int, int] | None) -> tuple[Depth, ...]:
    """Returns depths of which those on a plateau of the whole picture are one: noise alone tells them apart.

    Args:
        depths: As `find_depths` has them.
        plateau: The first and the last slice that are equally sharp, in the order of the tiles' curves.
    """
    if plateau is None:
        return tuple(depths)
    on = [one for one in depths if plateau[0] <= one.index <= plateau[1]]
    if len(on) < 2:
        return tuple(depths)
    largest = max(on, key=lambda one: one.share)
    whole = replace(largest, share=sum(one.share for one in on), centre=sum(one.centre for one in on))
    return tuple(whole if one is largest else one for one in depths if one is largest or one not in on)


def _is_mixed(curve: Curve, peak: int, depths: Sequence[int], reach: int) -> bool:
    """Returns whether a tile shows another depth too: its curve climbs again on the way there."""
    if not np.isfinite(curve).all() or np.ptp(curve) == 0:
        return True
    height = _scaled(curve[None])[0]
    for other in depths:
        if abs(other - peak) > reach:
            low, high = min(peak, other), max(peak, other) + 1
            there = height[max(other - reach, 0) : other + reach + 1].max()
            if there - height[low:high].min() > MIXED:
                return True
    return False


def _tile_peaks(tiles: Tiles) -> tuple[Int[np.ndarray, " tile"], Bool[np.ndarray, " tile"]]:
    """Returns where each tile's curve is highest, and whether that is a peak."""
    whole = np.isfinite(tiles).all(axis=1)
    curves = np.where(whole[:, None], tiles, 0.0)
    ranges = np.ptp(curves, axis=1)
    strongest = float(ranges.max(initial=0.0))
    peaks = curves.argmax(axis=1)
    ends = (peaks == 0) | (peaks == tiles.shape[1] - 1)
    sure = (ranges > 0) & (ranges >= np.where(ends, LEAK, FAINT) * strongest)
    return peaks, np.array([one and _has_peak(curve) for one, curve in zip(sure, curves, strict=True)], bool)


def _has_peak(curve: Curve) -> bool:
    """Returns whether a tile's curve stands out of its noise."""
    height = _scaled(curve[None])[0]
    peak, needed = int(height.argmax()), CurveNoise.of(height, None).needed_rise(len(height))
    return any(stands_out(1.0, side, needed) for side in (height[:peak], height[peak + 1 :]))


def _scaled(tiles: Tiles) -> Tiles:
    """Returns curves from 0 to 1."""
    low, high = tiles.min(axis=1, keepdims=True), tiles.max(axis=1, keepdims=True)
    return (tiles - low) / (high - low)


def _depth(index: int, mask: Mask, pure: Mask, region: Roi) -> Depth:
    """Returns the depth of some tiles of a region; its rectangle is one of pure tiles, if there are any."""
    h, w = region.h // mask.shape[0], region.w // mask.shape[1]

    def to_roi(rows: range, cols: range) -> Roi:
        return Roi(cols.start * w, rows.start * h, len(cols) * w, len(rows) * h)

    tiles = (to_roi(range(row, row + 1), range(col, col + 1)) for row, col in np.argwhere(mask).tolist())
    centre = sum(centre_weight(one, (mask.shape[0] * h, mask.shape[1] * w)) for one in tiles)
    x, y, width, height = to_roi(*_largest_rectangle(pure if pure.any() else mask))
    return Depth(index, float(mask.mean()), centre, Roi(region.x + x, region.y + y, width, height))


def _largest_rectangle(mask: Mask) -> tuple[range, range]:
    """Returns the rows and columns of the largest rectangle that lies inside; of equals the most central."""
    down, across = mask.shape

    def spans(n: int) -> list[range]:
        return [range(a, b) for a in range(n) for b in range(a + 1, n + 1)]

    inside = [
        (rows, cols)
        for rows, cols in product(spans(down), spans(across))
        if mask[rows.start : rows.stop, cols.start : cols.stop].all()
    ]

    def rank(one: tuple[range, range]) -> tuple[int, int]:
        rows, cols = one
        aside = abs(rows.start + rows.stop - down) + abs(cols.start + cols.stop - across)
        return len(rows) * len(cols), -aside

    return max(inside, key=rank)


# Which of them is the subject


def centre_weight(roi: Roi, shape: tuple[int, int]) -> float:
    """Returns how much of a picture's weight a region has, of 1; the middle weighs most, by a Gaussian."""

    def along(start: int, length: int, whole: int) -> float:
        low, high = 2 * start / whole - 1, 2 * (start + length) / whole - 1
        scale = MIDDLE * math.sqrt(2)
        return (math.erf(high / scale) - math.erf(low / scale)) / (2 * math.erf(1 / scale))

    return along(roi.x, roi.w, shape[1]) * along(roi.y, roi.h, shape[0])


def choose(answers: Sequence[FocusResult], weights: Sequence[float], subject: Subject) -> int:
    """Returns which depth decides.

    Args:
        answers: What is answered for each, far to near.
        weights: How much each counts, if the subject is the centre or the largest.
        subject: Which.
    """
    places = range(len(answers))
    if subject is Subject.NEAREST:
        return max(places, key=lambda at: answers[at].subindex)
    if subject is Subject.FARTHEST:
        return min(places, key=lambda at: answers[at].subindex)
    if subject in (Subject.CENTRE, Subject.LARGEST):
        return max(places, key=lambda at: weights[at])
    return max(places, key=lambda at: answers[at].confidence)


def decide(parts: Mapping[Depth, FocusResult], subject: Subject) -> FocusResult:
    """Returns the answer to a picture of several depths: that of its subject, with what else there is.

    What that is worth is what the verdict on its depth says. Which thing is meant is no doubt about it.

    Args:
        parts: The depths, and what is answered for each of them, far to near.
        subject: Which decides.
    """
    depths, answers = list(parts), list(parts.values())
    weights = [one.centre if subject is Subject.CENTRE else one.share for one in depths]
    at = choose(answers, weights, subject)
    chosen = answers[at]
    told = tuple(
        replace(depth, index=one.index, result=one, chosen=one is chosen)
        for depth, one in zip(depths, answers, strict=True)
    )
    reasons = (*(one for one in chosen.reasons if one is not Reason.SEVERAL_DEPTHS), Reason.SEVERAL_DEPTHS)
    return replace(chosen, verdict=replace(chosen.verdict, reasons=reasons), depths=told)
