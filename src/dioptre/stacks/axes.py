"""Axes: what each axis of an array of pictures is, and which stacks such an array therefore holds.

One letter an axis, as microscopes' files have them:

    Z slices    Y rows    X columns    S samples, that is colours
    C channels  T times   P positions of the stage (fields, series)   V views: left and right

A channel is not a view: each channel, time and position is a stack of its own, and views are left and right
only where somebody says so. Files name their axes; of bare arrays the shape must tell, or the user. Slices
are Z, or pages that no file names (Q, I). No other axis is taken for the focus, unless its user insists.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import InputError, StackFileError
from dioptre.grid import FocusGrid
from dioptre.stacks.colours import colour_with_signal, told_of_colour
from dioptre.stacks.pictures import Codes, Pictures, Views, Window

LETTERS: Final = "PTCZVYXS"
MEMBERS: Final = {"P": "position", "T": "time", "C": "channel"}  # axes along which there are several stacks
UNNAMED: Final = "QI"  # of pages in a row, as TIFF files have them where nobody says what they are
MIN_SIDE: Final = 4  # an array axis shorter than this holds views or colours, not rows or columns
MOST_COLOURS: Final = 4  # with alpha
MOST_PICTURES: Final = 1_000_000  # of all stacks of a file
FLAT: Final = 4  # times: an axis that is so much shorter than the others before it is the slices
ARRAY_SHAPES: Final = (
    "(slice, row, col), (slice, 1 or 2 views, row, col) or (slice, row, col, 1 to 4 colours)"
)


FARTHEST_UM = 1e12  # a step of a thousand kilometres is none


@dataclass(frozen=True)
class Wanted:
    """Which of the stacks of a file are wanted, and what its user says of its axes.

    Attributes:
        axes: A letter for each axis, such as "YXZ"; None if the file or the shape tells.
        channel: Name or number of a channel, counted from 0; None for all.
        time: Number of a time; None for all.
        position: Number of a position of the stage; None for all.
        views: Whether two channels are the left and the right view.
        focus_along: Letter of the axis along which the focus was moved, if that is not called Z.
    """

    axes: str | None = None
    channel: str | int | None = None
    time: int | None = None
    position: int | None = None
    views: bool = False
    focus_along: str | None = None

    def __post_init__(self) -> None:
        if self.focus_along is not None:
            letter = str(self.focus_along).upper()
            if len(letter) != 1 or letter in "YXS":
                raise InputError(
                    f"the focus is moved along one axis, a letter such as T, not {letter!r} (focus_along=...)"
                )
            object.__setattr__(self, "focus_along", letter)
        if self.axes is None:
            return
        axes = str(self.axes).upper()
        fine = set(axes) <= set(LETTERS) and len(set(axes)) == len(axes) and {"Y", "X"} <= set(axes)
        if not fine:
            raise InputError(
                f"axes are a letter each of {LETTERS} (position, time, channel, slice, view, row, column, "
                f"colours), Y and X among them, such as ZYX or YXZ, not {self.axes!r} (axes=...)"
            )
        object.__setattr__(self, "axes", axes)

    def refuse_series(self, source: object) -> None:
        """Refuses what is wanted of single pictures that only a file of many has.

        Raises:
            StackFileError: If an axis or one along it is asked for.
        """
        for name in ("axes", "focus_along", *MEMBERS.values()):
            value = getattr(self, name)
            if value is not None:
                plural = "axes" if name in ("axes", "focus_along") else f"{name}s"
                raise StackFileError(
                    f"{source} holds single pictures, which have no {plural} to choose: "
                    f"leave out {value!r} ({name}=...)"
                )

    def number_of(self, letter: str) -> str | int | None:
        """Returns the index that is wanted along an axis of MEMBERS; None for all."""
        return {"P": self.position, "T": self.time, "C": self.channel}[letter]


ALL: Final = Wanted()


@dataclass(frozen=True, eq=False)
class Volume:
    """Pictures along named axes, read one by one.

    Attributes:
        source: What it is called in an error.
        axes: A letter for each axis; the last two are YX.
        shape: Of these axes.
        dtype: Of the codes.
        reader: Returns the window of the picture at an index of all axes but the last two.
        channels: Names of the channels, as far as the file tells.
        step_um: Micrometres from slice to slice, if the file tells.
        paged: Whether slices are called pages, counted from 1.
        array: All of it, if it is in memory or mapped.
        display: Whether codes are those of a display (`Pictures`).
        parallel: Whether several threads may read it.
        notes: What its user should know about how it is read.
    """

    source: str
    axes: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    reader: Callable[[tuple[int, ...], Window], Shaped[np.ndarray, "row col"]]
    channels: tuple[str, ...] = ()
    step_um: float | None = None
    paged: bool = False
    array: Shaped[np.ndarray, "..."] | None = None
    display: bool = False
    parallel: bool = True
    notes: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """The axes and their lengths, for an error."""
        return f"axes {self.axes} of shape {self.shape}"

    def size(self, letter: str | None) -> int:
        """Returns the length of an axis; 1 if there is none."""
        return self.shape[self.axes.index(letter)] if letter and letter in self.axes else 1

    def renamed(self, axes: str) -> "Volume":
        """Returns the volume with other letters for its axes, as its user says.

        Raises:
            StackFileError: If there are not as many letters as axes, or rows and columns lie elsewhere.
        """
        if len(axes) != len(self.shape):
            raise StackFileError(f"{self.source} has {self.told}, and {axes} names {len(axes)} (axes=...)")
        if not axes.endswith("YX"):
            raise StackFileError(
                f"{self.source} has {self.told}: its pages are rows and columns, not {axes} (axes=...)"
            )
        return replace(self, axes=axes)

    def told_by(self, channels: tuple[str, ...], step_um: float | None) -> "Volume":
        """Returns the volume with the names of its channels and its spacing, as far as they fit."""
        fitting = channels if len(channels) == self.size("C") else ()
        sensible = step_um if step_um is not None and 0 < step_um < FARTHEST_UM else None
        return replace(self, channels=fitting, step_um=sensible)


def volume_of_array(
    array: Shaped[np.ndarray, "..."], axes: str, source: str = "the array", **known: Any
) -> Volume:
    """Returns an array in memory, or mapped, as a volume: rows and columns last, and one of its colours."""
    if len(axes) != array.ndim:
        raise InputError(f"an array of shape {array.shape} has not the axes {axes} (axes=...)")
    if 0 in array.shape:
        raise InputError(f"an array of shape {array.shape} has no pixels")
    if "S" in axes:
        at = axes.index("S")
        if array.shape[at] > MOST_COLOURS:
            raise InputError(f"pictures have up to {MOST_COLOURS} colours, not {array.shape[at]} (axes=...)")
        array, notes = _one_colour(array, axes)
        axes, known = axes.replace("S", ""), known | {"notes": notes}
    before = [at for at, letter in enumerate(axes) if letter not in "YX"]
    turned, lead = (
        array.transpose([*before, axes.index("Y"), axes.index("X")]),
        "".join(axes[at] for at in before),
    )

    def read(index: tuple[int, ...], window: Window) -> Shaped[np.ndarray, "row col"]:
        return turned[index][window.slices]

    return Volume(source, f"{lead}YX", turned.shape, turned.dtype, read, array=turned, **known)


def _one_colour(
    array: Shaped[np.ndarray, "..."], axes: str
) -> tuple[Shaped[np.ndarray, "..."], tuple[str, ...]]:
    """Returns an array without its axis of colours, and a note if what is left is not green."""
    at = [axes.index(letter) for letter in "YXS"]
    pictures = np.moveaxis(array, at, (-3, -2, -1))
    colour = colour_with_signal(pictures[index] for index in np.ndindex(pictures.shape[:-3]))
    place = colour if array.shape[at[-1]] in (3, 4) else 0  # grey, perhaps with alpha
    return array[(slice(None),) * at[-1] + (place,)], told_of_colour(colour)


def axes_of_shape(shape: tuple[int, ...]) -> str:
    """Returns the axes of a bare array of any of ARRAY_SHAPES.

    Raises:
        InputError: If its shape does not tell, or it is plainly turned: the slices are not the first axis.
    """
    match shape:
        case (slices, rows, cols) if slices > 0 and min(rows, cols) >= MIN_SIDE:
            _refuse_turned(shape)
            return "ZYX"
        case (slices, 1 | 2, rows, cols) if slices > 0 and min(rows, cols) >= MIN_SIDE:
            return "ZVYX"
        case (slices, rows, cols, 1 | 2 | 3 | 4) if slices > 0 and min(rows, cols) >= MIN_SIDE:
            return "ZYXS"
    raise InputError(
        f"a stack is {ARRAY_SHAPES}, at least {MIN_SIDE} x {MIN_SIDE} pixels, not an array of shape {shape}; "
        "say what other axes are, such as ZCYX (axes=...)"
    )


def _refuse_turned(shape: tuple[int, ...]) -> None:
    """Raises if the slices are plainly the last axis, or the middle one."""
    first, middle, last = shape
    if (first == middle and 2 * last <= first) or FLAT * last <= min(first, middle):
        meant = "YXZ"
    elif first == last and 2 * middle <= first:
        meant = "YZX"
    else:
        return
    raise InputError(
        f"an array of shape {shape} would be {first} slices of {last} x {middle} pixels, but looks turned: "
        f"say which axis is which, {meant} or ZYX (axes=...)"
    )


def stacks_of(volume: Volume, wanted: Wanted = ALL) -> list[Pictures]:
    """Returns the stacks of a volume that are wanted: one for each position, time and channel.

    Raises:
        StackFileError: If the axes do not tell which are the slices, or there is no such channel.
    """
    if min(volume.shape) < 1:
        raise StackFileError(f"{volume.source} has no pixels: it has {volume.told}")
    if math.prod(volume.shape[:-2]) > MOST_PICTURES:
        raise StackFileError(f"{volume.source} has {volume.told}, more than {MOST_PICTURES} pictures")
    volume = _without_single(volume)
    if (
        wanted.views
        and not {"C", "V"} & set(volume.axes)
        and volume.axes[-3:-2] == "Q"
        and volume.shape[-3] == 2
    ):
        volume = replace(volume, axes=f"{volume.axes[:-3]}VYX")  # the last of the axes without a name
    slices, views = _slice_axis(volume, wanted), _view_axis(volume, wanted)
    others = [letter for letter in MEMBERS if letter in volume.axes and letter not in (slices, views)]
    chosen = [list(_chosen(volume, letter, wanted)) for letter in others]
    for letter in MEMBERS:
        if letter not in others and wanted.number_of(letter) is not None:
            raise StackFileError(
                f"{volume.source} has no {MEMBERS[letter]}s to choose from: it has {volume.told}"
            )
    several = {letter for letter in others if volume.size(letter) > 1}
    return [
        _stack(volume, slices, views, dict(zip(others, at, strict=True)), several) for at in product(*chosen)
    ]


def _without_single(volume: Volume) -> Volume:
    """Returns a volume without the axes of one picture that have no name of ours."""
    kept = [
        at
        for at, (letter, size) in enumerate(zip(volume.axes, volume.shape, strict=True))
        if size > 1 or letter in LETTERS
    ]
    if len(kept) == len(volume.axes):
        return volume
    lead = len(volume.axes) - 2

    def read(index: tuple[int, ...], window: Window) -> Shaped[np.ndarray, "row col"]:
        place = dict(zip(kept, index, strict=False))
        return volume.reader(tuple(place.get(at, 0) for at in range(lead)), window)

    shape = tuple(volume.shape[at] for at in kept)
    array = None if volume.array is None else volume.array.reshape(shape)
    axes = "".join(volume.axes[at] for at in kept)
    return replace(volume, axes=axes, shape=shape, reader=read, array=array)


def _slice_axis(volume: Volume, wanted: Wanted) -> str | None:
    """Returns the letter of the slices: what its user says, Z, or the only axis that nobody has named."""
    long = [letter for letter, size in zip(volume.axes[:-2], volume.shape, strict=False) if size > 1]
    apart = {*MEMBERS, "V"}
    if wanted.focus_along is not None:
        slices = _insisted(volume, wanted.focus_along)
    elif "Z" in long or (wanted.axes is not None and "Z" in wanted.axes):
        slices = "Z"
    elif not set(long) - ({"C", "V"} if wanted.views and volume.size("C") == 2 else {"V"}):
        return "Z" if "Z" in volume.axes else None
    elif len(found := [letter for letter in long if letter not in "CPV"]) == 1 and found[0] in UNNAMED:
        slices = found[0]
    else:
        raise StackFileError(
            f"{volume.source} has {volume.told}, and none of them is Z, the slices of a focus sweep: if the "
            f"focus was moved along {' or '.join(long)}, say so (focus_along=...), or say what the axes are, "
            "such as ZCYX for slices and channels, ZVYX for slices and two views (axes=...)"
        )
    unknown = [letter for letter in long if letter not in apart and letter != slices]
    if unknown:
        raise StackFileError(
            f"{volume.source} has {volume.told}: say what {' and '.join(unknown)} is, such as T for times or "
            "C for channels (axes=...)"
        )
    return slices


def _insisted(volume: Volume, letter: str) -> str:
    """Returns the axis that its user takes for the focus, if there is such a one."""
    if letter not in volume.axes[:-2]:
        raise StackFileError(f"{volume.source} has {volume.told}, and no axis {letter} (focus_along=...)")
    return letter


def _view_axis(volume: Volume, wanted: Wanted) -> str | None:
    """Returns the letter of the views, if there are any."""
    letter = "V" if "V" in volume.axes else "C" if wanted.views else None
    if letter is None:
        return None
    if volume.size(letter) not in ((1, 2) if letter == "V" else (2,)):
        raise StackFileError(
            f"{volume.source} has {volume.told}: left and right are two, not {volume.size(letter)}"
        )
    return letter


def _chosen(volume: Volume, letter: str, wanted: Wanted) -> Iterator[int]:
    """Yields the numbers along an axis that are wanted."""
    number, size = wanted.number_of(letter), volume.size(letter)
    if number is None:
        yield from range(size)
        return
    names = volume.channels if letter == "C" else ()
    lower = [name.casefold() for name in names]
    if str(number).casefold() in lower:
        yield lower.index(str(number).casefold())
        return
    if not str(number).isdecimal() or int(number) >= size:
        listed = f" ({', '.join(names)})" if names else ""
        raise StackFileError(
            f"{volume.source} has the {MEMBERS[letter]}s 0..{size - 1}{listed}, not {number!r}"
        )
    yield int(number)


def _stack(
    volume: Volume, slices: str | None, views: str | None, member: dict[str, int], several: set[str]
) -> Pictures:
    """Returns one stack of a volume."""
    n, sides = volume.size(slices), volume.size(views)
    paged = volume.paged and math.prod(volume.shape[:-2]) == n
    known: dict[str, Any] = {
        "names": tuple(f"page {at + 1}" if paged else f"slice {at}" for at in range(n)),
        "member": {
            MEMBERS[letter]: _member_name(volume, letter, at)
            for letter, at in member.items()
            if letter in several
        },
        "grid": None if volume.step_um is None or n < 2 else FocusGrid(volume.step_um * np.arange(n), "um"),
        "display": volume.display,
        "notes": volume.notes,
    }
    if volume.array is not None:
        return Pictures.of_array(_mapped(volume, slices, views, member), volume.source, **known)

    def read(at: int, window: Window) -> Views:
        place = {**member, **({slices: at} if slices else {})}
        indices = [{**place, **({views: view} if views else {})} for view in range(sides)]
        lead = volume.axes[:-2]
        found = [volume.reader(tuple(one.get(letter, 0) for letter in lead), window) for one in indices]
        return found[0][None] if sides == 1 else np.stack(found)

    shape = (n, sides, volume.shape[-2], volume.shape[-1])
    return Pictures(volume.source, shape, volume.dtype, reader=read, parallel=volume.parallel, **known)


def _mapped(volume: Volume, slices: str | None, views: str | None, member: dict[str, int]) -> Codes:
    """Returns the stack of a volume that is in memory, or mapped, as a view of it."""
    assert volume.array is not None
    kept = [letter for letter in volume.axes[:-2] if letter in (slices, views)]
    index = tuple(slice(None) if letter in kept else member.get(letter, 0) for letter in volume.axes[:-2])
    codes = volume.array[index]
    if slices is None:
        codes, kept = codes[None], [*"-", *kept]
    if kept[0] == views and slices is not None:
        codes = codes.swapaxes(0, 1)
    return codes if views is not None else codes[:, None]


def _member_name(volume: Volume, letter: str, at: int) -> str:
    """Returns what a channel is called; the number of others."""
    named = letter == "C" and at < len(volume.channels)
    return volume.channels[at] if named else str(at)
