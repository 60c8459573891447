"""Zeiss' .czi files, read by Zeiss' own library, an extra: a picture at a time, however compressed.

A file is blocks, each a tile of a picture at a place of the stage and at coordinates Z, C, T, S (scenes), H
(phases), V, I, R and B (views, illuminations, rotations and blocks of light sheets). Scenes are positions of
the stage. Tiles of a mosaic are laid side by side. Blocks of a pyramid are left out.
"""

import html
import math
import re
import struct
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import StackFileError
from dioptre.resources import refuse_larger
from dioptre.stacks.axes import MOST_PICTURES, Volume, Wanted
from dioptre.stacks.colours import GREEN, colour_with_signal, one_colour, red_first, told_of_colour
from dioptre.stacks.decoding import first_line
from dioptre.stacks.pictures import Window

KINDS: Final = {
    "Gray8": np.uint8, "Gray16": np.uint16, "Gray32Float": np.float32, "Bgr24": np.uint8, "Bgr48": np.uint16,
}  # fmt: skip
AXES: Final = "SHTCZ"  # in the order in which stacks are told
# The layout of a file, in bytes: of the head of a segment, of what comes before entries in a directory and in
# a block, of an entry without its axes, and of an axis.
DIRECTORY_PLACE, SEGMENT, DIRECTORY_HEAD, BLOCK_HEAD, ENTRY, AXIS = 84, 32, 128, 16, 32, 20
MOST_AXES: Final = 40  # of a block, as the library has it
LIGHT_SHEET: Final = {"V": "views", "I": "illuminations", "R": "rotations", "B": "blocks"}


class Rectangle(NamedTuple):
    """A part of the plane of the stage, in pixels."""

    x: int
    y: int
    w: int
    h: int

    def joined(self, other: "Rectangle") -> "Rectangle":
        """Returns the smallest rectangle that holds both."""
        x, y = min(self.x, other.x), min(self.y, other.y)
        right, bottom = max(self.x + self.w, other.x + other.w), max(self.y + self.h, other.y + other.h)
        return Rectangle(x, y, right - x, bottom - y)


class Block(NamedTuple):
    """A tile: its coordinates along AXES, where it lies, and the kind of its pixels."""

    at: tuple[int, ...]
    place: Rectangle
    kind: str


def open_czi(path: Path, wanted: Wanted) -> Volume:
    """Returns the pictures of a Zeiss file.

    Raises:
        StackFileError: If it is a light sheet's, lacks pictures, or holds pictures that are not alike.
        Exception: Whatever the library raises for a damaged file.
    """
    from pylibCZIrw import czi as library  # noqa: PLC0415 (an extra)

    _refuse_wild_blocks(path)
    file: Any = library.CziReader(str(path))
    czi = _Czi(path, file, _blocks(path, file))  # which closes it
    rows, cols = czi.shape(wanted.position)
    refuse_larger(path, rows * cols * 3 * czi.dtype.itemsize, StackFileError)
    lengths = [len(places) for places in czi.indices]
    czi.colour = colour_with_signal(czi.picture(at) for at in np.ndindex(*lengths) if czi.coloured)
    long = [axis for axis, length in enumerate(lengths) if length > 1]

    def read(index: tuple[int, ...], window: Window) -> Shaped[np.ndarray, "row col"]:
        place = dict(zip(long, index, strict=True))
        found = czi.picture([place.get(axis, 0) for axis in range(len(lengths))])
        return window.cut(one_colour(found, czi.colour))

    axes = "".join(AXES[axis] for axis in long).replace("S", "P") + "YX"  # scenes are positions
    shape = (*(lengths[axis] for axis in long), rows, cols)
    notes = (*told_of_colour(czi.colour), *czi.told_of_mosaic())
    volume = Volume(str(path), axes, shape, czi.dtype, read, parallel=False, notes=notes)
    volume = volume.told_by(*_metadata(str(file.raw_metadata or "")))
    return volume if wanted.axes is None else volume.renamed(wanted.axes)


def _blocks(path: Path, file: Any) -> list[Block]:
    """Returns the tiles of a file at full size.

    Raises:
        StackFileError: If there are none, too many, or such as are not read.
    """
    found: list[Block] = []
    beside: dict[str, set[int]] = {letter: set() for letter in LIGHT_SHEET}

    def take(_: int, block: Any) -> bool:
        at, place = block.coordinate.to_dict(), block.logicalRect
        for letter, seen in beside.items():
            seen.add(at.get(letter, 0))
        kind = str(block.pixelType).rpartition(".")[2]
        coordinates = tuple(at.get(letter, 0) for letter in AXES)
        found.append(Block(coordinates, Rectangle(place.x, place.y, place.w, place.h), kind))
        return len(found) <= MOST_PICTURES

    file.enumerate_subblocks_subset(take, only_layer0=True)
    if not 0 < len(found) <= MOST_PICTURES:
        raise StackFileError(f"{path} has {len(found) or 'no'} pictures, not up to {MOST_PICTURES}")
    several = [
        f"{len(seen)} {LIGHT_SHEET[letter]} ({letter})" for letter, seen in beside.items() if len(seen) > 1
    ]
    if several:
        raise StackFileError(
            f"{path} is of a light sheet, with {' and '.join(several)}: Fiji saves one of them as OME-TIFF, "
            "which is read"
        )
    return found


def _refuse_wild_blocks(path: Path) -> None:
    """Raises StackFileError if a block says of itself that it has more axes than there are, or more bytes.

    The library believes it, reads on behind its memory, and ends the process.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        (directory,) = struct.unpack("<q", _bytes_at(file, DIRECTORY_PLACE, 8))
        (count,) = struct.unpack("<i", _bytes_at(file, directory + SEGMENT, 4))
        at = directory + SEGMENT + DIRECTORY_HEAD
        for _ in range(count):
            entry = _bytes_at(file, at, ENTRY)
            (block,) = struct.unpack_from("<q", entry, 6)
            own = _bytes_at(file, block + SEGMENT, BLOCK_HEAD + ENTRY)
            axes, own_axes = (struct.unpack_from("<i", one, len(one) - 4)[0] for one in (entry, own))
            parts = struct.unpack_from("<iiq", own)  # metadata, attachment, pixels
            fits = min(parts) >= 0 and block + SEGMENT + sum(parts) <= size
            if not (0 < axes <= MOST_AXES and own_axes == axes and fits):
                raise StackFileError(f"{path} is damaged: its directory and its blocks tell of other sizes")
            at += ENTRY + AXIS * axes


def _bytes_at(file: BinaryIO, place: int, count: int) -> bytes:
    """Returns some bytes of a file.

    Raises:
        ValueError: If they are not there.
    """
    file.seek(place)
    found = file.read(count)
    if len(found) < count:
        raise ValueError(f"the file ends before byte {place + count}")
    return found


def _refuse_light_sheet(path: Path, beside: Mapping[str, set[int]]) -> None:
    several = [f"{len(seen)} {LIGHT_SHEET[one]} ({one})" for one, seen in beside.items() if len(seen) > 1]
    if several:
        raise StackFileError(
            f"{path} is of a light sheet, with {' and '.join(several)}: Fiji saves one of them as OME-TIFF, "
            "which is read"
        )


@dataclass
class _Czi:
    """An open file and its tiles, closed when nobody asks for them any more.

    Attributes:
        path: Of the file.
        file: As the library has it.
        blocks: Its tiles.
        indices: Those that there are along each of AXES, which need not begin with 0.
        colour: Which one is read.
    """

    path: Path
    file: Any
    blocks: Sequence[Block]

    def __post_init__(self) -> None:
        weakref.finalize(self, self.file.close)
        self.colour = GREEN
        self.indices = [sorted(set(places)) for places in zip(*(one.at for one in self.blocks), strict=True)]
        kinds = sorted({one.kind for one in self.blocks})
        if len(kinds) > 1 or kinds[0] not in KINDS:
            raise StackFileError(
                f"{self.path} has pictures of {' and '.join(kinds)}; one of {', '.join(KINDS)} is read"
            )
        self.coloured, self.dtype = kinds[0].startswith("Bgr"), np.dtype(KINDS[kinds[0]])
        self.scenes: dict[int, Rectangle] = {}
        for one in self.blocks:
            scene = one.at[AXES.index("S")]
            self.scenes[scene] = one.place.joined(self.scenes.get(scene, one.place))
        self._refuse_gaps()

    def _refuse_gaps(self) -> None:
        """Raises StackFileError if a picture is missing, which the library would fill with black."""
        there, all_of_them = len({one.at for one in self.blocks}), math.prod(map(len, self.indices))
        if there < all_of_them:
            raise StackFileError(
                f"{self.path} lacks {all_of_them - there} of the {all_of_them} pictures of its axes"
            )

    def shape(self, position: int | None) -> tuple[int, int]:
        """Returns the rows and columns of its pictures, of several sizes those of the wanted scene."""
        sizes = [(place.h, place.w) for _, place in sorted(self.scenes.items())]
        if position is not None and 0 <= position < len(sizes):
            return sizes[position]
        if len(set(sizes)) > 1:
            told = ", ".join(f"{cols} x {rows}" for rows, cols in sizes[:8])
            raise StackFileError(
                f"{self.path} has {len(sizes)} scenes of several sizes ({told}): choose one (position=...)"
            )
        return sizes[0]

    def told_of_mosaic(self) -> tuple[str, ...]:
        """Returns a note if pictures are put together of tiles."""
        tiles = math.ceil(len(self.blocks) / len({one.at for one in self.blocks}))
        return (
            ()
            if tiles < 2
            else (f"each picture is a mosaic of {tiles} tiles, side by side as the file says",)
        )

    def picture(self, index: Sequence[int]) -> Shaped[np.ndarray, "..."]:
        """Returns a picture, its colours red first.

        Raises:
            StackFileError: If it is damaged.
        """
        at = {letter: self.indices[axis][index[axis]] for axis, letter in enumerate(AXES)}
        scene = at.pop("S")
        try:
            found = self.file.read(
                roi=self.scenes[scene], plane=at, scene=scene if len(self.scenes) > 1 else None
            )
        except Exception as error:  # a damaged block raises nearly anything
            raise StackFileError(f"{self.path}: picture {at} cannot be read: {first_line(error)}") from error
        return red_first(found) if self.coloured else found[..., 0]


def _metadata(text: str) -> tuple[tuple[str, ...], float | None]:
    """Returns the names of the channels and the micrometres from slice to slice, as far as they are told."""
    step = re.search(r'<Distance Id="Z">\s*<Value>([^<]+)</Value>', text)
    named = re.search(r"<Dimensions>.*?</Dimensions>", text, re.DOTALL)
    names = re.findall(r'<Channel [^>]*\bName="([^"]+)"', named[0] if named else "")
    try:
        length = float(step[1]) * 1e6 if step else None
    except ValueError:
        length = None
    return tuple(html.unescape(name) for name in names), length
