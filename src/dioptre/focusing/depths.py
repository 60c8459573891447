"""Depths: the things in a picture that are sharp at different slices, and which of them is the subject.

A picture is scored in tiles anyway (`methods.tiles`). Where these show that it may be deep, finer tiles tell:
those that are sharp together, side by side, are one depth, as patches of a map are (`focus_map`). Where there
are several, one slice cannot be the answer for the whole picture. So each depth becomes a region, a large
rectangle of its tiles, in the middle if it covers that; and the subject decides: by default the depth that
covers the middle of the picture.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float, Int

from dioptre.confidence.curve import Curve, CurveNoise, Tiles, stands_out
from dioptre.confidence.reasons import Reason
from dioptre.errors import InputError
from dioptre.focusing.result import Depth, FocusResult, Roi
from dioptre.grid import FocusGrid
from dioptre.miss import reach_of

MIDDLE: Final = 0.1  # deviation of the weight of the middle, of half the picture's width and height
AROUND: Final = 0.5  # that of what decides where nothing lies in the middle
ASIDE: Final = 0.05  # how much of the weight that has
FEWEST: Final = 1 / 64  # of the tiles, two of them, and side by side: fewer are no depth of their own
FINE_TILES: Final = (16, 32)  # across at most, and pixels of one at least, of a picture that may be deep
MIXED: Final = 0.15  # of a tile's range: so far its curve climbs again at another depth if it shows both
PURE: Final = 1 / 4  # of the largest rectangle of a depth: a smaller one of pure tiles tells less than all
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


def glimpse_depths(tiles: Tiles, region: Roi) -> tuple[Depth, ...]:
    """Returns the depths that a region may have, as few tiles show them; finer ones must tell.

    Here one tile is enough, and so is a second rise of its curve: what is small lies in a tile with other
    things.

    Args:
        tiles: Curves of its tiles.
        region: Where it lies in the picture.
    """
    peaks, told = _tile_peaks(tiles)
    reach, places = reach_of(tiles.shape[1]), set(peaks[told].tolist())
    for curve, peak in zip(_scaled(tiles[told]), peaks[told].tolist(), strict=True):
        climbs = np.zeros(len(curve))
        climbs[: peak + 1] = (curve[: peak + 1][::-1] - np.minimum.accumulate(curve[: peak + 1][::-1]))[::-1]
        climbs[peak:] = curve[peak:] - np.minimum.accumulate(curve[peak:])
        if climbs.max() > MIXED:
            places.add(int(climbs.argmax()))
    found = list[int]()
    for place in sorted(places, key=lambda at: -int((np.abs(peaks[told] - at) <= reach).sum())):
        if all(abs(place - other) > 2 * reach for other in found):
            found.append(place)
    shares = (float((told & (np.abs(peaks - at) <= reach)).mean()) for at in found)
    return tuple(Depth(at, share, share, region) for at, share in zip(found, shares, strict=True))


def find_depths(tiles: Tiles, layout: tuple[int, int], region: Roi) -> tuple[Depth, ...]:
    """Returns the depths of a region, the one that fills most of it first; at most one if it is shallow.

    Args:
        tiles: Curves of its tiles, row by row.
        layout: How many tiles there are down and across.
        region: Where it lies in the picture.
    """
    peaks, told = _tile_peaks(tiles)
    reach = reach_of(tiles.shape[1])
    found = group_peaks(peaks.reshape(layout), told.reshape(layout), reach)
    indices = [int(np.mean(_scaled(tiles[mask.ravel()]), axis=0).argmax()) for mask in found]
    depths = []
    for index, mask in zip(indices, found, strict=True):
        mixed = [
            mine and _is_mixed(curve, at, indices, reach)
            for mine, curve, at in zip(mask.ravel().tolist(), tiles, peaks.tolist(), strict=True)
        ]
        depths.append(depth_of(index, mask, mask & ~np.array(mixed).reshape(layout), region))
    return tuple(depths)


def group_peaks(peaks: Int[np.ndarray, "down across"], told: Mask, reach: int) -> list[Mask]:
    """Returns which parts of a picture are sharp together, for each of its depths; the largest depth first.

    Args:
        peaks: The slice at which each part is sharp.
        told: Which parts tell it.
        reach: How many slices apart peaks are of one depth.
    """
    near = np.abs(peaks.ravel()[:, None] - peaks.ravel()) <= reach
    left, found, places = told.ravel().copy(), list[Mask](), list[float]()
    while left.any():
        group = left & near[int(np.argmax(np.where(left, (near & left).sum(axis=1), -1)))]
        left = left & ~group
        place = float(np.median(peaks.ravel()[group]))
        mask = group.reshape(peaks.shape)
        if _largest_patch(mask) >= max(min(2, group.size // 4), FEWEST * group.size) and all(
            abs(place - other) > 2 * reach for other in places
        ):
            found.append(mask)
            places.append(place)
    return found


def _largest_patch(mask: Mask) -> int:
    """Returns how many parts lie side by side, where most of them do."""
    from scipy import ndimage  # noqa: PLC0415 (start-up time)

    labels, _ = ndimage.label(mask, np.ones((3, 3)))
    return int(np.bincount(labels.ravel())[1:].max(initial=0))


def without_twins(answers: Mapping[Depth, FocusResult]) -> dict[Depth, FocusResult]:
    """Returns depths and their answers, those that are answered alike as one with the shares of both."""
    kept = dict[Depth, FocusResult]()
    for depth, answer in sorted(answers.items(), key=lambda pair: -pair[0].share):
        reach = reach_of(len(answer.grid))
        twin = next((one for one in kept if abs(kept[one].subindex - answer.subindex) <= reach), None)
        if twin is None:
            kept[depth] = answer
        else:
            both = replace(twin, share=twin.share + depth.share, centre=twin.centre + depth.centre)
            kept = {both if one is twin else one: told for one, told in kept.items()}
    return kept


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


def depth_of(index: int, mask: Mask, pure: Mask, region: Roi) -> Depth:
    """Returns the depth of some tiles of a region; its rectangle is of pure tiles, if these are enough.

    Args:
        index: The slice.
        mask: Which tiles are of this depth.
        pure: Those of them that show no other.
        region: What is cut into tiles.
    """
    (down, across), h, w = mask.shape, region.h // mask.shape[0], region.w // mask.shape[1]
    weights = np.array(
        [
            [centre_weight(Roi(col * w, row * h, w, h), (down * h, across * w)) for col in range(across)]
            for row in range(down)
        ]
    )
    rows, cols = _best_rectangle(mask, weights)
    if pure.any():
        inner = _best_rectangle(pure, weights)
        if len(inner[0]) * len(inner[1]) >= PURE * len(rows) * len(cols):
            rows, cols = inner
    roi = Roi(region.x + cols.start * w, region.y + rows.start * h, len(cols) * w, len(rows) * h)
    return Depth(index, float(mask.mean()), float(weights[mask].sum()), roi)


def _best_rectangle(mask: Mask, weights: Float[np.ndarray, "down across"]) -> tuple[range, range]:
    """Returns the rows and columns of the best rectangle inside: large, and in the middle if it can be.

    How much of the picture it fills and how much of the weight of the middle it has count alike; of equals
    the most central is best.
    """
    down, across = mask.shape
    top, bottom = np.triu_indices(down)  # the first and the last row
    left, right = np.triu_indices(across)

    def sums(values: Float[np.ndarray, "down across"]) -> Float[np.ndarray, "rows cols"]:
        upto = np.pad(values.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
        low, high = upto[top], upto[bottom + 1]
        return (high[:, right + 1] - high[:, left]) - (low[:, right + 1] - low[:, left])

    area = np.outer(bottom - top + 1, right - left + 1)
    aside = np.abs(top + bottom + 1 - down)[:, None] + np.abs(left + right + 1 - across)
    worth = area / mask.size + sums(weights) - 1e-6 * aside
    row, col = np.unravel_index(
        int(np.where(sums(mask * 1.0) > area - 0.5, worth, -1.0).argmax()), area.shape
    )
    return range(int(top[row]), int(bottom[row]) + 1), range(int(left[col]), int(right[col]) + 1)


# Which of them is the subject


def centre_weight(roi: Roi, shape: tuple[int, int]) -> float:
    """Returns how much of a picture's weight a region has, of 1.

    What covers the middle has nearly all of it, by a narrow Gaussian; a broad one decides where nothing does.
    """

    def along(start: int, length: int, whole: int, deviation: float) -> float:
        low, high = 2 * start / whole - 1, 2 * (start + length) / whole - 1
        scale = deviation * math.sqrt(2)
        return (math.erf(high / scale) - math.erf(low / scale)) / (2 * math.erf(1 / scale))

    def within(deviation: float) -> float:
        return along(roi.x, roi.w, shape[1], deviation) * along(roi.y, roi.h, shape[0], deviation)

    return (1 - ASIDE) * within(MIDDLE) + ASIDE * within(AROUND)


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
