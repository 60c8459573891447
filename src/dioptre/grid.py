"""FocusGrid: where a lens was or can go, in its user's own unit and order.

Conventions, once for the whole package:

* An **index** counts the user's slices or positions from 0, in the user's own order. Nothing is turned round.
* A **position** is what the user counts: slices, micrometres, motor steps, dioptres. `unit` says which.
* A focus or depth inside the package is in **dioptres**, one over metres. Zero dioptres is infinity.
* Whether later positions focus nearer, and what far and near therefore mean, is asked of the grid.
* Metres, millimetres and micrometres appear only with their suffix in a name.

Conversions come in inverse pairs `a_to_b` and `b_to_a`.
"""

import importlib
import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Int

from dioptre.errors import InputError

MOST_POSITIONS: Final = 1_000_000  # of a grid: more than any focuser counts
ROUNDING: Final = 1e-9  # of the nearest focus or the largest position: what is less off was meant to be there

Reals = Float[np.ndarray, "..."] | np.floating | float
Counts = Int[np.ndarray, "..."] | np.integer | int
Numbers = Sequence[float | int] | Float[np.ndarray, " n"] | Int[np.ndarray, " n"]

# Focus distances of the published data set, in millimetres, far to near (its readme).
LEARNAF_MM = (
    3910.92, 2289.27, 1508.71, 1185.83, 935.91, 801.09, 700.37, 605.39, 546.23, 486.87,
    447.99, 407.40, 379.91, 350.41, 329.95, 307.54, 291.72, 274.13, 261.53, 247.35,
    237.08, 225.41, 216.88, 207.10, 198.18, 191.60, 183.96, 178.29, 171.69, 165.57,
    160.99, 155.61, 150.59, 146.81, 142.35, 138.98, 134.99, 131.23, 127.69, 124.99,
    121.77, 118.73, 116.40, 113.63, 110.99, 108.47, 106.54, 104.23, 102.01,
)  # fmt: skip

SLICE: Final = "slice"
DIOPTRES: Final = "dioptres"
METRES: Final = "m"


def metres_to_dioptres(distance_m: Reals) -> Reals:
    """Returns one over the distance; infinity becomes 0."""
    with np.errstate(divide="ignore"):
        return np.float64(1.0) / np.asarray(distance_m, dtype=np.float64)


def dioptres_to_metres(dioptres: Reals) -> Reals:
    """Returns one over the dioptres; 0 becomes infinity."""
    return metres_to_dioptres(dioptres)


@dataclass(frozen=True, eq=False, init=False)
class FocusGrid:
    """Where a lens was or can go; the only value that knows what an index means.

        FocusGrid(range(100_001), "steps")                      # a focuser
        FocusGrid([0.0, 0.5, 1.0, 1.5], "um", nearer=True)      # a stage
        FocusGrid(positions, "dioptres", camera="my.toml")      # what a camera file knows is filled in

    Attributes:
        positions: Of each index, strictly rising or falling, in `unit`; a range, or numbers.
        unit: What positions are counted in: "slice", "dioptres", "m", or any word.
        dioptres: Focus at each position, from 0 (infinity) up; all NaN where nobody has told. Positions in
            dioptres or metres tell it themselves.
        nearer: Whether later positions focus nearer; None where nobody has told.
        blur_per_unit_px: Diameter, in pixels, of the blur that a move by one unit adds to something in focus,
            at each position; None where nobody has told. One number holds for all.
        sharp_px: Sigma, in pixels, of the blur in focus; None where nobody has told.
        camera: Fills in what is not given of the last four, and the unit: a CameraModel, a camera's name or
            its file.
    """

    positions: Float[np.ndarray, " n"]
    unit: str
    dioptres: Float[np.ndarray, " n"]
    nearer: bool | None
    blur_per_unit_px: Float[np.ndarray, " n"] | None
    sharp_px: float | None

    def __init__(
        self,
        positions: Numbers,
        unit: str = SLICE,
        dioptres: Numbers | None = None,
        *,
        nearer: bool | None = None,
        blur_per_unit_px: Numbers | float | None = None,
        sharp_px: float | None = None,
        camera: Any = None,
    ) -> None:
        known: dict[str, Any] = {"nearer": nearer, "blur_per_unit_px": blur_per_unit_px, "sharp_px": sharp_px}
        values = _checked_positions(positions)
        told = None
        if camera is not None:
            # What is told of a camera is a later room's; the user need not care.
            told = importlib.import_module("dioptre.cameras.camera_files").describe(camera)
            unit = told.unit if unit == SLICE and dioptres is None else unit
        focus = _checked_dioptres(values, unit, dioptres)
        if told is not None:
            filled = told.fill(values, unit, focus)
            known = {name: filled.get(name) if one is None else one for name, one in known.items()}
        known["nearer"] = _checked_nearer(values, focus, known["nearer"])
        known["blur_per_unit_px"] = _checked_blur(values, known["blur_per_unit_px"])
        for array in (values, focus, known["blur_per_unit_px"]):
            if array is not None:
                array.flags.writeable = False
        for name, value in {**known, "positions": values, "unit": unit, "dioptres": focus}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def learnaf(cls) -> "FocusGrid":
        """Returns the 49 slices of the published data set, 3.91 m (slice 0) to 0.102 m (slice 48)."""
        return cls.of_dioptres(1000.0 / np.array(LEARNAF_MM))

    @classmethod
    def uniform(cls, far_m: float = 3.91, near_m: float = 0.102, n: int = 49) -> "FocusGrid":
        """Returns n slices evenly spaced in dioptres, far to near; far_m may be infinite.

        The defaults are the positions that the paper states.
        """
        if n > MOST_POSITIONS:
            raise InputError(f"a focus grid has at most {MOST_POSITIONS} positions, not n={n}")
        if n < 2 or not 0 < near_m < far_m:
            raise InputError(
                f"a uniform grid needs n >= 2 and 0 < near < far, not n={n}, near {near_m} m, far {far_m} m"
            )
        return cls.of_dioptres(np.linspace(1.0 / far_m, 1.0 / near_m, n))

    @classmethod
    def of_dioptres(cls, dioptres: Numbers) -> "FocusGrid":
        """Returns slices, counted from 0, with the dioptres of each; all NaN if nobody has told."""
        return cls(range(len(dioptres)), dioptres=dioptres)

    @classmethod
    def from_json(cls, entries: object) -> "FocusGrid":
        """Returns the slices whose dioptres `to_json` wrote.

        Raises:
            InputError: If this is not a list of rising or falling numbers, or of nulls.
        """
        if not isinstance(entries, list) or not all(_is_number_or_null(value) for value in entries):
            raise InputError(f"a focus grid is a list of dioptres, or of nulls, not {reprlib.repr(entries)}")
        try:
            return cls.of_dioptres([math.nan if value is None else float(value) for value in entries])
        except OverflowError as error:
            raise InputError(f"a focus grid's dioptres are finite: {error}") from None

    def to_json(self) -> list[float | None]:
        """Returns the dioptres as plain JSON; where they are not known, nulls."""
        return self.dioptres.tolist() if self.known else [None] * len(self)

    @property
    def known(self) -> bool:
        """True if the dioptres of the positions are known."""
        return not bool(np.isnan(self.dioptres[0]))

    @property
    def far_to_near(self) -> bool:
        """Whether index 0 is the far end; where nobody has told, it is taken to be."""
        return self.nearer is not False

    def __len__(self) -> int:
        return int(self.positions.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FocusGrid):
            return NotImplemented
        mine, theirs = (
            np.zeros(0) if one is None else one for one in (self.blur_per_unit_px, other.blur_per_unit_px)
        )
        return (
            (self.unit, self.nearer, self.sharp_px) == (other.unit, other.nearer, other.sharp_px)
            and np.array_equal(self.positions, other.positions)
            and np.array_equal(self.dioptres, other.dioptres, equal_nan=True)
            and np.array_equal(mine, theirs)
        )

    def __hash__(self) -> int:
        return hash((self.unit, self.positions.tobytes(), self.dioptres.tobytes()))

    def __repr__(self) -> str:
        ends = f"{self.positions[0]:.6g} to {self.positions[-1]:.6g} {self.unit}"
        focus = ""
        if self.known and self.unit != DIOPTRES:
            focus = f", {self.dioptres[0]:.3f} to {self.dioptres[-1]:.3f} dioptres"
        return f"FocusGrid({len(self)} positions, {ends}{focus})"

    def turned(self) -> "FocusGrid":
        """Returns the same positions in the other order."""
        blur = self.blur_per_unit_px
        return FocusGrid(
            self.positions[::-1],
            self.unit,
            self.dioptres[::-1],
            nearer=None if self.nearer is None else not self.nearer,
            blur_per_unit_px=None if blur is None else blur[::-1],
            sharp_px=self.sharp_px,
        )

    def part(self, first: int, last: int) -> "FocusGrid":
        """Returns the positions from one index to another, both included."""
        some, blur = slice(first, last + 1), self.blur_per_unit_px
        return FocusGrid(
            self.positions[some],
            self.unit,
            self.dioptres[some],
            nearer=self.nearer,
            blur_per_unit_px=None if blur is None else blur[some],
            sharp_px=self.sharp_px,
        )

    # Conversions

    def index_to_position(self, index: Reals | Counts) -> Reals:
        """Returns the position at a whole or fractional index, linear between positions, held at the ends."""
        return np.interp(index, np.arange(len(self)), self.positions)

    def position_to_index(self, position: Reals) -> Reals:
        """Returns the fractional index of a position, held at the ends."""
        return _interpolated_index(position, self.positions)

    def index_to_dioptres(self, index: Reals | Counts) -> Reals:
        """Returns the dioptres at a whole or fractional index, linear between positions, held at the ends."""
        self._need_known()
        return np.interp(index, np.arange(len(self)), self.dioptres)

    def dioptres_to_index(self, dioptres: Reals) -> Reals:
        """Returns the fractional index of a focus in dioptres, held at the ends of the grid."""
        self._need_known()
        return _interpolated_index(dioptres, self.dioptres)

    def index_to_metres(self, index: Reals | Counts) -> Reals:
        """Returns the focus distance in metres at a whole or fractional index."""
        return dioptres_to_metres(self.index_to_dioptres(index))

    def metres_to_index(self, distance_m: Reals) -> Reals:
        """Returns the fractional index of a focus distance in metres."""
        return self.dioptres_to_index(metres_to_dioptres(distance_m))

    def units_per_index(self, index: float | int) -> float:
        """Returns the distance of neighbours around an index, in `unit`; 1 of a single position."""
        if len(self) < 2:
            return 1.0
        low = min(max(math.ceil(index) - 1, 0), len(self) - 2)
        return float(abs(self.positions[low + 1] - self.positions[low]))

    @property
    def midpoints(self) -> Float[np.ndarray, " m"]:
        """The dioptres half-way between neighbouring positions, where the nearest index changes."""
        return (self.dioptres[1:] + self.dioptres[:-1]) / 2

    def nearest_index(self, dioptres: Reals) -> Counts:
        """Returns the index nearest in inverse depth (paper, Dataset); a midpoint goes to the far side."""
        self._need_known()
        if self.far_to_near:
            return np.searchsorted(self.midpoints, dioptres, side="left")
        return len(self) - 1 - np.searchsorted(self.midpoints[::-1], dioptres, side="left")

    def check(self, position: Any) -> float:
        """Returns a position that the lens can be at, between those of the grid too.

        Raises:
            InputError: If it is no number, or beyond the ends.
        """
        number = to_number(position, self.unit)
        low, high = sorted(float(self.positions[end]) for end in (0, -1))
        rounding = ROUNDING * max(abs(low), abs(high))
        if not low - rounding <= number <= high + rounding:
            raise InputError(
                f"positions go from {self.positions[0]:g} to {self.positions[-1]:g} ({self.unit}), "
                f"not to {position:g}"
            )
        return min(max(number, low), high)

    def index_of(self, position: Any) -> int:
        """Returns the index of a position that a slice was taken at.

        Raises:
            InputError: If it is none of the grid's.
        """
        nearest = int(np.abs(self.positions - self.check(position)).argmin())
        if abs(self.positions[nearest] - position) > ROUNDING + 1e-6 * self.units_per_index(nearest):
            raise InputError(
                f"there is no position {position:g} ({self.unit}): the nearest is {self.positions[nearest]:g}"
            )
        return nearest

    def index_near(self, position: Any) -> int:
        """Returns the index of the position nearest to one that the lens is to go to.

        Raises:
            InputError: If it is no number, beyond the ends, or, of slices, between two.
        """
        if self.unit == SLICE:
            return self.index_of(position)
        return int(np.abs(self.positions - self.check(position)).argmin())

    def need_far_to_near(self) -> "FocusGrid":
        """Returns itself: what dioptre ships and stores counts its slices from the far end.

        Raises:
            InputError: If later positions focus farther.
        """
        if not self.far_to_near:
            raise InputError(
                f"dioptres rise here, from far (index 0) to near, not from {self.dioptres[0]:g} to "
                f"{self.dioptres[-1]:g}"
            )
        return self

    def _need_known(self) -> None:
        if not self.known:
            raise InputError("this focus grid's dioptres are not known, only the order of its positions")


def to_number(position: Any, unit: str) -> float:
    """Returns a position as a number.

    Raises:
        InputError: If it is none.
    """
    number = isinstance(position, (int, float, np.integer, np.floating)) and not isinstance(position, bool)
    if not number or not math.isfinite(position):
        raise InputError(f"a position is a number ({unit}), not {position!r}")
    return float(position)


def _interpolated_index(value: Reals, values: Float[np.ndarray, " n"]) -> Reals:
    index = np.arange(len(values), dtype=np.float64)
    order = slice(None, None, -1 if values[-1] < values[0] else 1)
    return np.interp(value, values[order], index[order])


def _checked_positions(given: Any) -> Float[np.ndarray, " n"]:
    """Returns positions as an array of their own, if they rise or fall."""
    if isinstance(given, range) and len(given) > MOST_POSITIONS:
        raise InputError(f"a focus grid has at most {MOST_POSITIONS} positions, not {len(given)}")
    try:
        positions = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"a focus grid's positions are numbers, not {reprlib.repr(given)}") from None
    if positions.ndim != 1 or not 0 < positions.size <= MOST_POSITIONS:
        raise InputError(f"a focus grid is a list of positions, not an array of shape {positions.shape}")
    if not np.isfinite(positions).all():
        raise InputError(
            f"a focus grid's positions are finite, not {positions[~np.isfinite(positions)][0]:g}"
        )
    _check_order("positions", positions)
    return positions


def _checked_dioptres(positions: Any, unit: str, given: Any) -> Float[np.ndarray, " n"]:
    """Returns the dioptres of positions: as given, as their unit tells, or NaN."""
    if given is None and unit == DIOPTRES:
        given = positions
    if given is None and unit == METRES:
        given = metres_to_dioptres(positions)
    if given is None:
        return np.full(len(positions), np.nan)
    dioptres = np.array(given, dtype=np.float64)
    if dioptres.shape != positions.shape:
        raise InputError(f"{len(positions)} positions have as many dioptres, not {dioptres.size}")
    if np.isnan(dioptres).all():
        return dioptres
    if not np.isfinite(dioptres).all():
        raise InputError("a focus grid's dioptres are finite (0 is infinity), or all unknown")
    dioptres[np.abs(dioptres) < ROUNDING * np.abs(dioptres).max()] = 0.0
    if (dioptres < 0).any():
        raise InputError(
            f"dioptres are 0 (infinity) or more, not {dioptres[dioptres < 0][0]:g}: no lens focuses farther "
            "than that"
        )
    _check_order("dioptres", dioptres)
    return dioptres


def _check_order(name: str, values: Float[np.ndarray, " n"]) -> None:
    """Raises InputError if values neither rise nor fall."""
    steps = np.diff(values)
    if not ((steps > 0).all() or (steps < 0).all()):
        rising = bool(steps[0] > 0)
        at = int(np.argmax(steps <= 0 if rising else steps >= 0))
        raise InputError(
            f"{name} must rise or fall from slice to slice, but index {at} has {values[at]:g} and "
            f"index {at + 1} has {values[at + 1]:g}; sort the slices by position"
        )


def _checked_nearer(positions: Any, dioptres: Any, given: bool | None) -> bool | None:
    """Returns whether later positions focus nearer: as dioptres tell, or as given."""
    if len(positions) < 2 or np.isnan(dioptres[0]):
        return given
    nearer = bool(dioptres[-1] > dioptres[0])
    if given is not None and bool(given) != nearer:
        raise InputError(f"nearer={given}, but the dioptres go from {dioptres[0]:g} to {dioptres[-1]:g}")
    return nearer


def _checked_blur(positions: Any, given: Any) -> Float[np.ndarray, " n"] | None:
    if given is None:
        return None
    blur = np.array(given, dtype=np.float64)
    if blur.ndim > 0 and blur.shape != positions.shape:
        raise InputError(f"{len(positions)} positions have as many blur_per_unit_px, or one, not {blur.size}")
    if not (np.isfinite(blur) & (blur > 0)).all():
        raise InputError(f"blur_per_unit_px is a number of pixels above 0, not {given}")
    return np.broadcast_to(blur, positions.shape).copy()


def _is_number_or_null(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
