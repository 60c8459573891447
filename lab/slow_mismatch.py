"""The mismatch of left and right of the 8 dual-pixel measures, plain and slow: half of `reference`.

Its conventions are those of lab.slow_references. Every mismatch f is lowest in focus.
"""

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float64]
Image32 = NDArray[np.float32]


# Operators


def normalise(view: Image) -> Image:
    """View of mean 0 and standard deviation 1, as the paper's text says; its equation prints Var instead."""
    result: Image = (view - np.mean(view)) / np.std(view)
    return result


def neighbours(view: Image32) -> Image32:
    """The 8 neighbours of every interior pixel: (8, row - 2, col - 2).

    The text says "8-length"; the printed condition on the offsets would also drop neighbours.
    """
    rows, cols = view.shape
    return np.stack(
        [
            view[1 + dy : rows - 1 + dy, 1 + dx : cols - 1 + dx]
            for dy in (-1, 0, 1)
            for dx in (-1, 0, 1)
            if (dy, dx) != (0, 0)
        ]
    )


def census(view: Image32) -> NDArray[np.int64]:
    """Census: 1 where a neighbour is greater than the centre."""
    return (neighbours(view) > view[1:-1, 1:-1]).astype(np.int64)


def rank(view: Image32) -> NDArray[np.int64]:
    """Rank: how many neighbours are greater than the centre."""
    result: NDArray[np.int64] = np.sum(census(view), axis=0)
    return result


def ternary_census(view: Image32, eps: float) -> NDArray[np.int64]:
    """Ternary census: the sign of neighbour minus centre, 0 where they are within eps."""
    difference = neighbours(view) - view[1:-1, 1:-1]
    return np.where(np.abs(difference) > eps, np.sign(difference), 0).astype(np.int64)


def corners(view: Image) -> Image:
    """The 4 pixels of every 2 x 2 window, stride 1: (4, row - 1, col - 1)."""
    return np.stack([view[:-1, :-1], view[:-1, 1:], view[1:, :-1], view[1:, 1:]])


def envelope(view: Image) -> tuple[Image, Image]:
    """Lower and upper envelope: 2 x 2 minimum and maximum of the 2 x 2 average, all of stride 1."""
    windows = corners(np.mean(corners(view), axis=0))
    return np.min(windows, axis=0), np.max(windows, axis=0)


# Measures


def census_transform(left: Image32, right: Image32) -> float:
    """Census Transform (Hamming)."""
    return float(np.sum(census(left) != census(right)))


def rank_transform(left: Image32, right: Image32) -> float:
    """Rank Transform (L1)."""
    return float(np.sum(np.abs(rank(left) - rank(right))))


def ternary_census_l1(left: Image32, right: Image32, eps: float) -> float:
    """Ternary Census, of views that are not normalised: eps is a difference of codes."""
    return float(np.sum(np.abs(ternary_census(left, eps) - ternary_census(right, eps))))


def normalized_cross_correlation(left: Image, right: Image) -> float:
    """Normalized Cross-Correlation."""
    return float(-np.sum(normalise(left) * normalise(right)))


def normalized_sad(left: Image, right: Image) -> float:
    """Normalized SAD."""
    return float(np.sum(np.abs(normalise(left) - normalise(right))))


def normalized_envelope_l1(left: Image, right: Image) -> float:
    """Normalized Envelope (L1)."""
    left_lo, left_hi = envelope(normalise(left))
    right_lo, right_hi = envelope(normalise(right))
    return float(np.sum(np.maximum(0, left_lo - right_hi) + np.maximum(0, right_lo - left_hi)))


def normalized_envelope_l2(left: Image, right: Image) -> float:
    """Normalized Envelope (L2)."""
    left_lo, left_hi = envelope(normalise(left))
    right_lo, right_hi = envelope(normalise(right))
    return float(np.sum(np.maximum(0, left_lo - right_hi) ** 2 + np.maximum(0, right_lo - left_hi) ** 2))
