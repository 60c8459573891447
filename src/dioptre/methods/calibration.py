"""Calibration: what turns the disparity of one camera's views into a focus, as data with an owner.

Two ways of writing the same physics, d = C (1/z - 1/z*), with d the disparity in pixels, z where the
lens is focused and z* where the thing is:

* **The field table** holds C, in pixels for each dioptre, at evenly spaced places of the frame (factories
  measure it on planes of known distance). Between them it is bilinear: rows from the top, columns from the
  left, the outermost values at the frame's borders.
* **A line** has 1/z* - 1/z = slope d + offset for the whole frame.

Each method has a `Fit` of its own: a line, of the disparity or of what the table makes of it, and
`DisparityError`, which says how far what was matched may be off. A place is (x, y), each in [-1, 1] over the
frame, as in a FocalStack. A calibration belongs to one grid and one size of frame, and is a TOML file; its
hash is the identity of a method that uses it.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from dioptre.errors import FileError, InputError
from dioptre.grid import FocusGrid
from dioptre.resources import read_toml

SHIPPED: Final = Path(__file__).parents[1] / "calibrations"  # those that come with the package
SUFFIX: Final = ".toml"
CLOSE: Final = 1e-3  # dioptres: grids that differ by less are the same
MARGIN_PX: Final = 2  # that a search goes beyond the disparities of the grid, to see what lies past its ends
LAYOUT: Final = 2

Places = Float[np.ndarray, "batch 2"]


@dataclass(frozen=True)
class DisparityError:
    """The error model of a matched disparity, fitted to labelled patches.

    Attributes:
        spread: Scale of the error in focus, in dioptres; the lens's own error is part of it.
        growth: By how much it grows with each pixel of disparity, in dioptres.
        pixels: How many pixels count as one independent one, where the views' likeness is weighed.
    """

    spread: float = 0.3
    growth: float = 0.05
    pixels: float = 128.0

    def __post_init__(self) -> None:
        sound = all(math.isfinite(value) for value in (self.spread, self.growth, self.pixels))
        if not (sound and self.spread > 0 and self.growth >= 0 and self.pixels >= 1):
            raise InputError(
                "a matched disparity has a spread above 0, a growth of 0 or more and 1 pixel or more, not "
                f"{self.spread:g}, {self.growth:g} and {self.pixels:g}"
            )


@dataclass(frozen=True)
class CalibrationLine:
    """1/z* - 1/z = slope d + offset, where d is the disparity in pixels or, by the field table, in dioptres.

    Attributes:
        slope: Dioptres for each of d.
        offset: Dioptres.
        below: How many times a negative d counts: blur may grow faster on one side of the focus.
    """

    slope: float
    offset: float = 0.0
    below: float = 1.0

    def __post_init__(self) -> None:
        sound = all(math.isfinite(value) for value in (self.slope, self.offset, self.below))
        if not (sound and self.slope != 0 and self.below > 0):
            raise InputError(
                "a line has a finite slope, not 0, a finite offset and a positive weight below 0, not "
                f"{self.slope:g}, {self.offset:g} and {self.below:g}"
            )

    def at(self, disparity: Float[np.ndarray, "*any"]) -> Float[np.ndarray, "*any"]:
        """Returns 1/z* - 1/z for disparities, in dioptres."""
        return self.slope * np.where(disparity < 0, self.below * disparity, disparity) + self.offset


THIN_LENS: Final = CalibrationLine(-1.0)  # of what the field table makes of a disparity


@dataclass(frozen=True)
class Fit:
    """The numbers of a calibration for one method, besides the field table.

    Attributes:
        trust: How far what it matches may be off.
        line: What turns that into a focus.
    """

    trust: DisparityError = field(default_factory=DisparityError)
    line: CalibrationLine = THIN_LENS

    def to_json(self) -> dict[str, float]:
        """Returns its numbers by name."""
        return {**vars(self.line), **vars(self.trust)}

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> "Fit":
        """Returns the fit that `to_json` wrote."""
        numbers = {key: float(value) for key, value in entries.items()}
        line = CalibrationLine(numbers.pop("slope"), numbers.pop("offset"), numbers.pop("below"))
        return cls(DisparityError(**numbers), line)


@dataclass(frozen=True, eq=False)
class Calibration:
    """The calibration of one camera: from the disparity of its views to a focus in dioptres.

    Attributes:
        name: Of the camera.
        grid: Its grid, in known dioptres.
        frame: Rows and columns of its frame.
        gain: The field table: C in pixels for each dioptre of defocus, of one sign everywhere.
        fits: What each method needs beside it, by the method's key.
    """

    name: str
    grid: FocusGrid
    frame: tuple[int, int]
    gain: Float[np.ndarray, "down across"]
    fits: Mapping[str, Fit]

    def __post_init__(self) -> None:
        gain = np.array(self.gain, dtype=np.float64)
        if gain.ndim != 2 or min(gain.shape) < 2:
            raise InputError(f"a field table has two rows and columns or more, not the shape {gain.shape}")
        if not (np.isfinite(gain).all() and ((gain > 0).all() or (gain < 0).all())):
            raise InputError("a field table's values are finite, not 0, and of one sign")
        if not self.grid.known:
            raise InputError("a calibration's grid is known in dioptres")
        if len(self.frame) != 2 or min(self.frame) < 1:
            raise InputError(f"a frame is (rows, columns), not {self.frame}")
        gain.flags.writeable = False
        object.__setattr__(self, "gain", gain)

    def gain_at(self, where: Places) -> Float[np.ndarray, " batch"]:
        """Returns C at places of the frame, in pixels for each dioptre."""
        return bilinear_weights(where, self.gain.shape) @ self.gain.ravel()

    @property
    def reach(self) -> int:
        """Pixels of disparity in which to search: those of the whole grid, and a few beyond its ends."""
        span = self.grid.dioptres[-1] - self.grid.dioptres[0]
        return math.ceil(float(np.abs(self.gain).max()) * span) + MARGIN_PX

    def fit_of(self, key: str) -> Fit:
        """Returns the fit of a method.

        Raises:
            FileError: If the calibration was made without it.
        """
        if key not in self.fits:
            raise FileError(f"the calibration {self.name} is not for {key}: it has {', '.join(self.fits)}")
        return self.fits[key]

    def refusal(self, grid: FocusGrid, shape: tuple[int, int]) -> str | None:
        """Returns why it is not for pictures of this grid, rows and columns; None if it may be."""
        if not grid.known:
            return "needs a grid in dioptres, but only the order of the positions is known"
        if len(grid) != len(self.grid):
            return f"is calibrated ({self.name}) for a grid of {len(self.grid)} positions, not {len(grid)}"
        away = float(np.abs(grid.dioptres - self.grid.dioptres).max())
        if away > CLOSE:
            return f"is calibrated ({self.name}) for another grid, up to {away:.3g} dioptres away"
        if shape[0] > self.frame[0] or shape[1] > self.frame[1]:
            mine, theirs = (f"{cols} x {rows}" for rows, cols in (self.frame, shape))
            return f"is calibrated ({self.name}) for frames of {mine} pixels, not {theirs}"
        return None

    # Files

    def to_json(self) -> dict[str, Any]:
        """Returns everything that it holds as plain JSON."""
        return {
            "layout": LAYOUT,
            "name": self.name,
            "frame": list(self.frame),
            "dioptres": self.grid.to_json(),
            "gain": self.gain.tolist(),
            "fits": {key: fit.to_json() for key, fit in self.fits.items()},
        }

    @property
    def identity(self) -> str:
        """The SHA-256 of what it holds: another table is another method."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def to_toml(self, path: str | Path, about: Mapping[str, object] | None = None) -> None:
        """Writes it so that `from_toml` reads the same calibration back.

        Args:
            path: The file.
            about: Where it comes from and what it leaves over, by name; comments, which nobody reads back.
        """
        notes = "".join(f"# {name}: {_short(value)}\n" for name, value in (about or {}).items())
        fits = "".join(
            f"\n[fits.{key}]  # line and trust, in dioptres and pixels\n"
            + "".join(f"{name} = {float(value)!r}\n" for name, value in fit.to_json().items())
            for key, fit in self.fits.items()
        )
        Path(path).write_text(
            f"{notes}layout = {LAYOUT}\n"
            f"name = {json.dumps(self.name, ensure_ascii=False)}\n"
            f"frame = [{self.frame[0]}, {self.frame[1]}]  # rows, columns\n"
            f"dioptres = [  # far to near\n{_lines(self.grid.dioptres)}]\n"
            f"gain = [  # pixels for each dioptre; rows from the top, columns from the left\n"
            + "".join(f"  [{', '.join(map(repr, row))}],\n" for row in self.gain.tolist())
            + f"]\n{fits}",
            encoding="utf-8",
        )

    @classmethod
    def from_toml(cls, path: str | Path) -> "Calibration":
        """Returns the calibration in a file.

        Raises:
            FileError: If it cannot be read or understood.
        """
        try:
            table = read_toml(path)
        except OSError as error:
            raise FileError(f"{path}: {error.strerror}") from None
        try:
            return cls._from_table(table)
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise FileError(f"{path} is not a calibration: {what}") from None

    @classmethod
    def _from_table(cls, table: Mapping[str, Any]) -> "Calibration":
        if table["layout"] != LAYOUT:
            raise InputError(
                f"it has the layout {table['layout']}, and this version of dioptre reads {LAYOUT}"
            )
        rows, cols = table["frame"]
        return cls(
            name=str(table["name"]),
            grid=FocusGrid.from_json(table["dioptres"]).need_far_to_near(),
            frame=(int(rows), int(cols)),
            gain=np.array(table["gain"], dtype=np.float64),
            fits={key: Fit.from_json(entries) for key, entries in table["fits"].items()},
        )


@cache
def find_calibration(name: str) -> Calibration:
    """Returns a calibration that comes with the package, by its name, or the one in a file; read once.

    Raises:
        FileError: If there is none.
    """
    if name.endswith(SUFFIX):
        return Calibration.from_toml(name)
    path = SHIPPED / f"{name}{SUFFIX}"
    if not path.is_file():
        there = ", ".join(sorted(one.stem for one in SHIPPED.glob(f"*{SUFFIX}")))
        raise FileError(f"there is no calibration {name!r}: give a {SUFFIX} file, or one of {there}")
    return Calibration.from_toml(path)


def bilinear_weights(where: Places, shape: tuple[int, ...]) -> Float[np.ndarray, "batch place"]:
    """Returns the bilinear weight of each value of a field table, row by row, at places of the frame."""
    down, across = shape
    rows = _hat_weights(where[:, 1], down)
    cols = _hat_weights(where[:, 0], across)
    return (rows[:, :, None] * cols[:, None, :]).reshape(len(where), down * across)


def _hat_weights(along: Float[np.ndarray, " batch"], count: int) -> Float[np.ndarray, "batch count"]:
    at = np.clip((along + 1) / 2 * (count - 1), 0, count - 1)
    return np.maximum(0.0, 1 - np.abs(at[:, None] - np.arange(count)))


def _short(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value


def _lines(values: Float[np.ndarray, " n"]) -> str:
    return "".join(f"  {value!r},\n" for value in values.tolist())
