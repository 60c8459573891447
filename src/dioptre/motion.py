"""Motion of pictures: by how many pixels one shows a scene beside where another shows it.

A shift is (x, y) pixels, x along the columns: what the first picture shows at u, the second one shows at
u + shift. Pictures move as a whole here; how they grow, as a lens breathes, and what moves in front of a
camera that stands still are not told.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy.fft import irfft2, rfft2

STILL_PX: Final = 1.0  # median step of neighbours up to which a sweep counts as still
ALIKE: Final = 0.5  # correlation of two pictures from which on their shift is believed
FARTHEST: Final = 0.25  # of a picture's sides: the largest step that is looked for
ROUNDS: Final = 3  # each compares what both pictures show of the scene, by the shift of the one before
FINEST_PX: Final = 1.5  # sigma of the smoothing against noise

Picture = Float32[np.ndarray, "row col"]
Part = Float32[np.ndarray, "h w"]
Shift = Float[np.ndarray, "2"]
Pixels = Int[np.ndarray, "2"]


def steps_of(pictures: Iterable[Picture], still_px: float = STILL_PX) -> Float[np.ndarray, "gap 2"]:
    """Returns by how many pixels each picture of a sweep is shifted against the one before.

    All are 0 if the sweep is still: if half of the steps are no longer than that. Pictures that are not
    alike, because they are dark or of different things, count as unmoved. Two pictures are held at a time.
    """
    steps = np.array([step_between(one, other) for one, other in pairwise(pictures)]).reshape(-1, 2)
    return steps if is_moving(steps, still_px) else np.zeros_like(steps)


def is_moving(steps: Float[np.ndarray, "gap 2"], least_px: float = STILL_PX) -> bool:
    """Returns whether half of the steps are longer than so many pixels."""
    return bool(len(steps)) and float(np.median(np.hypot(*steps.T))) > least_px


def step_between(first: Picture, second: Picture) -> Shift:
    """Returns by how many pixels the second picture is shifted against the first; 0 if they are not alike.

    Round after round the parts that both show are compared, so that a large shift is as exact as a small one.
    """
    shift, alike = np.zeros(2), 0.0
    for _ in range(ROUNDS):
        whole = np.rint(shift).astype(int)
        more, alike = _correlate(*_shared(first, second, whole))
        shift = _held(whole + more, first.shape)
    return shift if alike >= ALIKE else np.zeros(2)


def _shared(first: Picture, second: Picture, shift: Pixels) -> tuple[Part, Part]:
    """Returns what both pictures show if the second is shifted by whole pixels."""
    return _inner(first, shift), _inner(second, -shift)


def _inner(picture: Picture, shift: Pixels) -> Part:
    """Returns a picture without what leaves it when its scene moves by a shift."""
    rows, cols = picture.shape
    x, y = shift.tolist()
    return picture[max(0, -y) : rows - max(0, y), max(0, -x) : cols - max(0, x)]


def _correlate(first: Picture, second: Picture) -> tuple[Shift, float]:
    """Returns the shift at which two pictures correlate best, between pixels, and how well they do there.

    Their spectra are whitened by half, which makes the peak narrow and hardly cares for blur.
    """
    shape = first.shape
    one, other = (rfft2(_tapered(picture)) for picture in (first, second))
    cross = np.conj(one) * other * _smoothing(shape)
    found = irfft2(cross / np.sqrt(np.maximum(np.abs(cross), 1e-20)), shape)
    row, col = np.unravel_index(int(found.argmax()), shape)
    place = np.array([_peak(found[row], int(col)), _peak(found[:, col], int(row))])
    place = _held(place, shape)
    return place, _likeness(*_shared(first, second, np.rint(place).astype(int)))


def _held(shift: Shift, shape: tuple[int, ...]) -> Shift:
    """Returns a shift that is not farther than is looked for."""
    limit = FARTHEST * np.array(shape[::-1])
    return np.clip(shift, -limit, limit)


def _likeness(first: Picture, second: Picture) -> float:
    """Returns the correlation of two pictures' pixels; 0 of what is flat."""
    one, other = first - first.mean(), second - second.mean()
    power = float(np.sqrt((one * one).sum() * (other * other).sum()))
    return float((one * other).sum()) / power if power > 0 else 0.0


def _tapered(picture: Picture) -> Picture:
    """Returns a picture's deviation from its mean, which falls to 0 at its borders."""
    down, across = (np.hanning(length + 2)[1:-1].astype(np.float32) for length in picture.shape)
    return np.asarray((picture - picture.mean()) * down[:, None] * across)


def _smoothing(shape: tuple[int, ...]) -> Float[np.ndarray, "row freq"]:
    rows, cols = np.fft.fftfreq(shape[0]), np.fft.rfftfreq(shape[1])
    return np.exp(-2 * (2 * np.pi * FINEST_PX) ** 2 * (rows[:, None] ** 2 + cols**2))


def _peak(line: Float[np.ndarray, " n"], at: int) -> float:
    """Returns where a periodic line is highest around a place, by a parabola, counted from its middle."""
    before, top, after = (float(line[(at + step) % len(line)]) for step in (-1, 0, 1))
    bend = before - 2 * top + after
    aside = (before - after) / (2 * bend) if bend < 0 else 0.0
    return (at + aside + len(line) / 2) % len(line) - len(line) / 2
