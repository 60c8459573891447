"""Slices: what people hand over, as pictures that are read and scaled slice by slice.

Whatever the stack is (an array, a FocalStack, a folder, a file), it comes as `Pictures`, which know how to
read one slice. Here it is said what black and white are, whether there is a gamma to undo, and which pixels
do not count. So methods and verdicts see the same pixels whether a stack is in memory or streamed.

**Pixels that do not count** are NaN, infinite or masked. A pixel that does not count in one slice counts in
none, so that all slices are compared by the same pixels (`focusing.regions`). A slice that has hardly any is
left out instead.
"""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from jaxtyping import Bool, Float32, Shaped

from dioptre.errors import InputError
from dioptre.grid import FocusGrid
from dioptre.resources import largest_bytes, refuse_larger, workers
from dioptre.stack import VIEW_CODES, FocalStack, codes_to_pixels, srgb_to_linear
from dioptre.stacks.axes import ALL, Wanted, axes_of_shape, stacks_of, volume_of_array
from dioptre.stacks.formats import open_pictures
from dioptre.stacks.pictures import Pictures, Window
from dioptre.store.recordings import Recording

Pixels = Float32[np.ndarray, "slice view row col"]
Mask = Bool[np.ndarray, "row col"]
Found = TypeVar("Found")

SRGB, LINEAR = "srgb", "linear"
DECODED_COLOURS: Final = 3  # of a picture, of which one is kept
WORK_BYTES: Final = 16  # of a pixel that is measured: itself, and what measures keep of it
LOST: Final = 0.5  # of its pixels do not count: then it is the slice that does not
BLOCK: Final = 1_500_000  # pixels that are measured at a time, if slices are smaller


@dataclass(frozen=True, eq=False)
class Slices:
    """All slices of one scene, not scaled yet, and what is known of them.

    Attributes:
        pictures: Where codes come from.
        black: Value of black.
        white: Value of white.
        scaled: Whether codes are pixels already, 0 black and 1 white.
        gamma: Whether codes are a display's, to be made linear.
        grid: Where the slices were taken, if they came with it.
        where: The centre of the slices in the camera's frame, if that is known.
        view_codes: Codes between black and white of one view, for measures with absolute constants.
        holes: Which pixels do not count; None if all do.
        field: What all slices show, where they had to be aligned; None if that is all of them.
        lost: Slices that do not count.
        notes: What was assumed or left out, in sentences.
    """

    pictures: Pictures
    black: float
    white: float
    scaled: bool = False
    gamma: bool = False
    grid: FocusGrid | None = None
    where: tuple[float, float] | None = None
    view_codes: float = VIEW_CODES
    holes: Mask | None = None
    field: Window | None = None
    lost: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.pictures)

    @property
    def views(self) -> int:
        """One, or left and right."""
        return self.pictures.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.pictures.shape[2:]

    @property
    def codes(self) -> Shaped[np.ndarray, "slice view row col"]:
        """The codes of all slices at once."""
        return self.pictures.codes

    def to_pixels(self, codes: Shaped[np.ndarray, "*any row col"]) -> Float32[np.ndarray, "*any row col"]:
        """Returns codes as pixels, 0 black and 1 white; NaN where one is masked or not finite."""
        if self.scaled:
            return np.asarray(codes)
        pixels = codes_to_pixels(np.asarray(codes), self.black, self.white)
        mask = np.ma.getmask(codes)
        if mask is not np.ma.nomask:
            pixels[mask] = np.nan
        return srgb_to_linear(pixels) if self.gamma else pixels

    def pixels(self, at: slice = slice(None)) -> Pixels:
        """Returns some slices, whole, 0 black and 1 white; NaN where a pixel is masked or not finite."""
        some = range(len(self))[at]
        return np.stack([self.to_pixels(self.pictures.read(one)) for one in some])

    def bytes_in_work(self, window: Window) -> int:
        """Returns the memory that a part of a slice takes while it is decoded and measured."""
        decoded = (
            0 if self.pictures.array is not None else math.prod(self.shape) * self.pictures.dtype.itemsize
        )
        return self.views * (DECODED_COLOURS * decoded + WORK_BYTES * math.prod(window.shape))

    def blocks(self, pixels: int) -> list[range]:
        """Returns runs of slices, as many as are worth measuring together if each has so many pixels."""
        together = max(1, BLOCK // max(1, pixels))
        return [range(at, min(at + together, len(self))) for at in range(0, len(self), together)]


def grid_of(slices: Slices) -> FocusGrid:
    """Returns where slices were taken as they tell themselves; else nothing but their order is known."""
    return slices.grid or slices.pictures.grid or FocusGrid(range(len(slices)))


def stream(
    slices: Slices,
    runs: Sequence[range],
    window: Window,
    work: Callable[[range, Sequence[Shaped[np.ndarray, "view row col"]]], Found],
) -> Iterator[Found]:
    """Yields what work finds in each run of slices, in order: decoding and work go on in several threads.

    No more runs are held than there are threads, or than memory may be taken for. A film, whose frames only
    come in order, is read here.

    Args:
        slices: Which.
        runs: Runs of slices.
        window: The part of them that is read.
        work: Told a run and the codes of its slices.

    Raises:
        InputError: If a run takes more memory than it may.
    """

    def read(run: range) -> list[Shaped[np.ndarray, "view row col"]]:
        return [slices.pictures.read(at, window) for at in run]

    size = max((len(run) for run in runs), default=1) * slices.bytes_in_work(window)
    refuse_larger(f"a slice of {slices.pictures.title}", size, InputError)
    many = min(workers(), int(largest_bytes() / size))
    if len(runs) == 1 or many == 1:
        yield from (work(run, read(run)) for run in runs)
        return
    pool, waiting = ThreadPoolExecutor(many, thread_name_prefix="dioptre-slices"), deque[Future[Found]]()
    try:
        for run in runs:
            if slices.pictures.parallel:
                waiting.append(pool.submit(lambda one: work(one, read(one)), run))
            else:
                waiting.append(pool.submit(work, run, read(run)))
            if len(waiting) > many:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


# What people hand over


@dataclass(frozen=True)
class Reading:
    """How a stack is read: what its user may say beside where it is.

    Attributes:
        wanted: Which stack of a file, and what the axes are.
        gamma: SRGB if codes are a display's, LINEAR if they are not; None to tell by the file, where it
            matters: networks know linear pictures only.
        progress: Told (slices done, slices in all).
    """

    wanted: Wanted = ALL
    gamma: str | None = None
    progress: Callable[[int, int], None] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Reading":
        """Returns what is said by options: those of `Wanted`, gamma, progress.

        Raises:
            InputError: If there is another one, or a value that is none.
        """
        asked = dict(options)
        gamma, progress = asked.pop("gamma", None), asked.pop("progress", None)
        known = {one.name for one in fields(Wanted)}
        if not set(asked) <= known:
            name = min(set(asked) - known)
            raise InputError(
                f"focus() has no argument {name!r}; a stack is read with {', '.join(sorted(known))}"
            )
        if gamma not in (None, SRGB, LINEAR):
            raise InputError(f"gamma is {SRGB} or {LINEAR}, not {gamma!r}")
        return cls(Wanted(**asked), gamma, progress)

    def undoes_gamma(self, pictures: Pictures, learned: bool) -> bool:
        """Returns whether the gamma of pictures is undone for a method, which may be learned."""
        return self.gamma == SRGB or (self.gamma is None and learned and pictures.display)


PLAIN: Final = Reading()


def to_slices(
    stack: Any,
    black: float | None,
    white: float | None,
    reading: Reading = PLAIN,
    learned: bool = False,
) -> Slices:
    """Returns the slices of one scene.

    Args:
        stack: (slice, row, col) or (slice, 2 views, row, col) of any real dtype; a path that
            `dioptre focus` would take, or a list of pictures' paths; Pictures that are open; or a FocalStack
            of one scene.
        black: Value of black; 0 by default.
        white: Value of white; by default what the dtype or the pixels imply.
        reading: Which stack of a file, what the axes are, and whether there is a gamma.
        learned: Whether it is for a network.
    """
    if isinstance(stack, FocalStack):
        if black is not None or white is not None:
            raise InputError("a FocalStack's pixels are scaled already: black and white are for codes")
        where = None if stack.where is None else (float(stack.where[0, 0]), float(stack.where[0, 1]))
        pictures = Pictures.of_array(_one_scene(stack))
        known = Slices(pictures, 0.0, 1.0, True, False, stack.grid, where, stack.view_codes)
        return surveyed(known, None, None)
    if isinstance(stack, Pictures):
        pictures = stack
    elif isinstance(stack, (str, os.PathLike)):
        pictures = open_pictures(Path(stack), reading.wanted)
    elif _are_paths(stack):
        pictures = open_pictures([Path(one) for one in stack], reading.wanted)
    else:
        pictures = pictures_of_array(stack, reading.wanted)
    return of_pictures(pictures, black, white, reading.undoes_gamma(pictures, learned))


def pictures_of_array(array: Any, wanted: Wanted = ALL) -> Pictures:
    """Returns an array as pictures.

    Raises:
        InputError: If it is no stack.
    """
    codes = _to_codes(array)
    real = np.issubdtype(codes.dtype, np.integer) or np.issubdtype(codes.dtype, np.floating)
    if codes.dtype == bool or not real:
        raise InputError(f"a stack's pixels are real numbers, not {codes.dtype}")
    volume = volume_of_array(codes, wanted.axes or axes_of_shape(codes.shape))
    stacks = stacks_of(volume, wanted)
    if len(stacks) > 1:
        raise InputError(
            f"the array holds {len(stacks)} stacks ({'; '.join(one.label for one in stacks[:8])}): "
            "choose one (channel=..., time=..., position=...)"
        )
    return stacks[0]


def _are_paths(stack: Any) -> bool:
    return (
        isinstance(stack, (list, tuple))
        and len(stack) > 0
        and all(isinstance(one, (str, os.PathLike)) for one in stack)
    )


def _to_codes(array: Any) -> Shaped[np.ndarray, "..."]:
    try:
        return np.asanyarray(array)
    except ValueError as error:  # of a list of arrays that are not alike
        shapes = [getattr(one, "shape", None) for one in array]
        odd = next((shape for shape in shapes if shape != shapes[0]), None)
        if odd is None:
            raise InputError(f"a stack is an array of real numbers: {error}") from None
        raise InputError(f"the slices of a stack are alike, not of shape {shapes[0]} and {odd}") from None


def grid_of_pictures(pictures: Pictures) -> FocusGrid | None:
    """Returns where pictures were taken, as their file or recording.json tells; None if neither does.

    Raises:
        FileError: If they are a recording that cannot be understood.
    """
    if pictures.grid is not None or pictures.array is not None:
        return pictures.grid
    known = Recording.read(Path(pictures.source))
    return None if known is None or len(known.grid) != len(pictures) else known.grid


def of_pictures(pictures: Pictures, black: float | None, white: float | None, gamma: bool = False) -> Slices:
    """Returns pictures with what black and white are, and which pixels do not count."""
    notes = ("the pictures have the gamma of a display (sRGB) and are made linear",) if gamma else ()
    grid = grid_of_pictures(pictures)
    slices = Slices(pictures, black or 0.0, 1.0, gamma=gamma, grid=grid, notes=(*pictures.notes, *notes))
    return surveyed(slices, black, white)


def _one_scene(stack: FocalStack) -> Pixels:
    if stack.batch != 1 or sorted(stack.indices[0].tolist()) != list(range(len(stack.grid))):
        raise InputError(
            f"all slices of one scene are needed, not {stack.batch} scenes of {stack.indices.shape[1]} of "
            f"{len(stack.grid)} slices; dioptre.scores takes any FocalStack"
        )
    return stack.pixels[0][np.argsort(stack.indices[0])]


# What all slices are read for, before they are measured: their range, and pixels that do not count


@dataclass(frozen=True, eq=False)
class _ValueRange:
    """What some slices hold: the lowest and highest value that is finite, and which pixels do not count."""

    low: float
    high: float
    bad: list[Mask | None]

    @classmethod
    def of(cls, codes: Sequence[Shaped[np.ndarray, "view row col"]]) -> "_ValueRange":
        """Returns what slices hold."""
        lows: list[float] = []
        highs: list[float] = []
        bad: list[Mask | None] = []
        for one in codes:
            values, masked = np.asarray(one), np.ma.getmask(one) is not np.ma.nomask
            low, high = float(values.min()), float(values.max())  # NaN if there is any
            if not masked and math.isfinite(low) and math.isfinite(high):
                bad.append(None)
                lows.append(low)
                highs.append(high)
                continue
            good = np.isfinite(values) & ~np.ma.getmaskarray(one)
            bad.append(None if good.all() else ~good.all(axis=0))
            if good.any():
                lows.append(float(values[good].min()))
                highs.append(float(values[good].max()))
        return cls(min(lows, default=0.0), max(highs, default=0.0), bad)


def surveyed(slices: Slices, black: float | None, white: float | None) -> Slices:
    """Returns slices whose black, white and holes are known; where the dtype tells, nothing is read."""
    pictures = slices.pictures
    dtype, masked = pictures.dtype, isinstance(pictures.array, np.ma.MaskedArray)
    floats, signed = np.issubdtype(dtype, np.floating), np.issubdtype(dtype, np.signedinteger)
    wide = np.issubdtype(dtype, np.integer) and dtype.itemsize > 2
    if not (floats or masked or (signed and black is None) or (wide and white is None)):
        return replace(slices, white=pictures.white if white is None else white)
    if slices.scaled and np.isfinite(np.asarray(pictures.array)).all():
        return slices
    rows, cols = slices.shape
    runs = slices.blocks(slices.views * rows * cols)
    found = list(stream(slices, runs, pictures.whole, lambda _, codes: _ValueRange.of(codes)))
    low, high = min(one.low for one in found), max(one.high for one in found)
    slices = _with_holes(slices, [bad for one in found for bad in one.bad])
    return slices if slices.scaled else _ranged(slices, low, high, black, white)


def _ranged(slices: Slices, low: float, high: float, black: float | None, white: float | None) -> Slices:
    """Returns slices whose black and white are as told, as the dtype implies, or their own range."""
    dtype, notes = slices.pictures.dtype, slices.notes
    wide = np.issubdtype(dtype, np.integer) and dtype.itemsize > 2
    if black is None and low < 0 and np.issubdtype(dtype, np.signedinteger) and not wide:
        raise InputError(f"say what black is: {dtype} pixels go down to {low:g} (black=...)")
    floor = min(low, 0.0) if black is None else black
    own = white is None and (wide or (np.issubdtype(dtype, np.floating) and (high > 2.0 or floor < 0.0)))
    top = high if own else slices.pictures.white if white is None else white
    if not own and floor == slices.black:
        return replace(slices, white=top)
    if top <= floor:  # nothing but black
        return replace(slices, black=floor, white=floor + 1.0)
    note = f"{dtype} pixels are scaled by their own range: black {floor:g}, white {top:g}"
    return replace(slices, black=floor, white=top, notes=(*notes, note))


def _with_holes(slices: Slices, bad: list[Mask | None]) -> Slices:
    """Returns slices of which some pixels do not count, or whole slices."""
    lost = frozenset(at for at, one in enumerate(bad) if one is not None and one.mean() > LOST)
    holes = np.zeros(slices.shape, dtype=bool)
    for at, one in enumerate(bad):
        if one is not None and at not in lost:
            holes |= one
    notes = slices.notes
    if lost:
        listed = ", ".join(slices.pictures.names[at] for at in sorted(lost))
        notes = (*notes, f"hardly any pixel is finite in these slices, which are left out: {listed}")
    return replace(slices, holes=holes if holes.any() else None, lost=lost, notes=notes)
