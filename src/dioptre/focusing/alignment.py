"""Alignment: slices of a camera that moved, as one that stood still would have taken them.

Where blocks of neighbouring slices seem to lie beside one another, all slices are read once more, small, and
their steps are measured (`dioptre.motion`). If the camera moved, each slice is read at its own place: by
whole pixels, so that no picture is sampled anew and loses contrast. Places are those of a camera in the
middle of its walk; what not all slices show does not count (`Slices.field`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

import numpy as np
from jaxtyping import Float32, Int

from dioptre.confidence.statistics import SliceBlocks
from dioptre.errors import InputError
from dioptre.focusing.slices import Mask, Slices, stream
from dioptre.methods.measure import MIN_SIZE
from dioptre.motion import ALIKE, STILL_PX, is_moving, steps_of
from dioptre.stacks.pictures import Colours, Views, Window

SEEMS_PX: Final = STILL_PX / 2  # blocks that are blurred or move far seem to move less than they do
LARGEST: Final = 512  # pixels on the longer side of the small pictures
TINY: Final = 1e-12
LEAST: Final = 0.25  # of the rows and of the columns that all slices must show

Places = Int[np.ndarray, "slice 2"]


def seems_to_move(blocks: SliceBlocks) -> bool:
    """Returns whether neighbouring slices seem to lie beside one another, by what is kept of them anyway.

    Of those that are not alike nobody can tell; they may have moved far.
    """
    if blocks.slices < 2:
        return False
    green = blocks.green
    as_views = replace(blocks.at(slice(1, None)), small=np.stack([green[:-1], green[1:]], axis=1))
    return is_moving(as_views.disparity().T, SEEMS_PX) or _median_likeness(green) < ALIKE


def _median_likeness(green: Float32[np.ndarray, "slice block r c"]) -> float:
    """Returns the median correlation of the small pictures of neighbouring slices."""
    flat = green.reshape(len(green), -1)
    flat = flat - flat.mean(axis=1, keepdims=True)
    power = np.sqrt(np.square(flat).sum(axis=1)) + TINY
    return float(np.median((flat[:-1] * flat[1:]).sum(axis=1) / (power[:-1] * power[1:])))


def aligned(slices: Slices) -> Slices:
    """Returns slices without the motion of the camera; the same ones if it stood still.

    Raises:
        InputError: If it moved so far that hardly anything is in all slices.
    """
    binned = -(-max(slices.shape) // LARGEST)
    steps = binned * steps_of(_small_pictures(slices, binned), STILL_PX / binned)
    if not steps.any():
        return slices
    walk = np.rint(np.concatenate([np.zeros((1, 2)), steps.cumsum(axis=0)])).astype(int)
    places = walk - (walk.max(axis=0) + walk.min(axis=0)) // 2
    field = _field(places, slices.shape)
    length = float(np.median(np.hypot(*steps.T)))
    rows, cols = field.shape
    note = (
        f"neighbouring slices lie {length:.1f} pixels beside one another: they are aligned, and all of them "
        f"show x={field.left} y={field.top} w={cols} h={rows}"
    )
    return replace(_moved(slices, places), field=field, notes=(*slices.notes, note))


def _small_pictures(slices: Slices, side: int) -> Iterator[Float32[np.ndarray, "row col"]]:
    """Yields each slice's mean view, in squares of so many pixels."""

    def small(codes: Views) -> Float32[np.ndarray, "row col"]:
        rows, cols = (length // side * side for length in slices.shape)
        views = np.nan_to_num(slices.to_pixels(codes[:, :rows, :cols]), posinf=1.0, neginf=0.0)
        squares = views.reshape(len(views), rows // side, side, cols // side, side)
        return np.asarray(squares.mean(axis=(0, 2, 4), dtype=np.float32))

    def work(_: range, some: Sequence[Views]) -> Iterable[Float32[np.ndarray, "row col"]]:
        return [small(codes) for codes in some]

    runs = [range(at, at + 1) for at in range(len(slices))]
    return chain.from_iterable(stream(slices, runs, slices.pictures.whole, work))


def _field(places: Places, shape: tuple[int, int]) -> Window:
    """Returns what all slices show, if each is read at its place.

    Raises:
        InputError: If that is hardly anything.
    """
    (left, top), (right, bottom) = np.maximum(-places.min(axis=0), 0), np.maximum(places.max(axis=0), 0)
    field = Window(int(top), int(left), shape[0] - int(bottom), shape[1] - int(right))
    if any(some < max(LEAST * whole, MIN_SIZE) for some, whole in zip(field.shape, shape, strict=True)):
        x, y = np.ptp(places, axis=0).tolist()
        raise InputError(
            f"the camera pans by {x} x {y} pixels through the sweep, of pictures of {shape[1]} x {shape[0]}: "
            "hardly anything is in all slices; hold it still"
        )
    return field


def _moved(slices: Slices, places: Places) -> Slices:
    """Returns slices each of which is read at its own place; beyond its borders it is held."""
    pictures = slices.pictures

    def read(at: int, window: Window) -> Views:
        rows, cols = _lines(places[at], window, slices.shape)
        part = pictures.read(at, Window(int(rows[0]), int(cols[0]), int(rows[-1]) + 1, int(cols[-1]) + 1))
        return part[:, (rows - rows[0])[:, None], cols - cols[0]]

    def paint(at: int) -> Colours | None:
        colours = pictures.colours(at)
        rows, cols = _lines(places[at], pictures.whole, slices.shape)
        return None if colours is None else colours[rows[:, None], cols]

    moved = replace(pictures, reader=read, painter=paint, array=None)
    return replace(slices, pictures=moved, holes=_moved_holes(slices, places))


def _lines(
    place: Int[np.ndarray, "2"], window: Window, shape: tuple[int, int]
) -> tuple[Int[np.ndarray, " h"], Int[np.ndarray, " w"]]:
    """Returns the rows and columns of a picture that show a window, if its scene lies at a place (x, y)."""
    x, y = place.tolist()
    rows = np.clip(np.arange(window.top, window.bottom) + y, 0, shape[0] - 1)
    return rows, np.clip(np.arange(window.left, window.right) + x, 0, shape[1] - 1)


def _moved_holes(slices: Slices, places: Places) -> Mask | None:
    """Returns which pixels do not count in some slice, now that each lies elsewhere in each."""
    if slices.holes is None:
        return None
    holes = np.zeros_like(slices.holes)
    for place in places:
        rows, cols = _lines(place, slices.pictures.whole, slices.shape)
        holes |= slices.holes[rows[:, None], cols]
    return holes
