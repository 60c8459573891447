"""FocusGrid: where a lens can go, and what each position means.

Conventions, once for the whole package:

* A focus or depth inside the package is in **dioptres**, one over metres. Zero dioptres is infinity.
* **Index 0 of a grid is its far end**, the last index its near end: dioptres rise with the index.
* Metres, millimetres and micrometres appear only with their suffix in the name.

Conversions come in inverse pairs `a_to_b` and `b_to_a`.
"""

import math
import reprlib
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from dioptre.errors import InputError

MOST_POSITIONS = 10_000  # of an even ladder: more than any lens has
FAR_STEPS = 5  # positions at the far end of a ladder whose spacing tells how far infinity is
ROUNDING = 1e-9  # of the nearest focus: what is less than this off infinity was meant to be infinity

Reals = Float[np.ndarray, "..."] | np.floating | float
Counts = Int[np.ndarray, "..."] | np.integer | int

# Focus distances of the published data set, in millimetres, far to near (its readme).
LEARNAF_MM = (
    3910.92, 2289.27, 1508.71, 1185.83, 935.91, 801.09, 700.37, 605.39, 546.23, 486.87,
    447.99, 407.40, 379.91, 350.41, 329.95, 307.54, 291.72, 274.13, 261.53, 247.35,
    237.08, 225.41, 216.88, 207.10, 198.18, 191.60, 183.96, 178.29, 171.69, 165.57,
    160.99, 155.61, 150.59, 146.81, 142.35, 138.98, 134.99, 131.23, 127.69, 124.99,
    121.77, 118.73, 116.40, 113.63, 110.99, 108.47, 106.54, 104.23, 102.01,
)  # fmt: skip


def metres_to_dioptres(distance_m: Reals) -> Reals:
    """Returns one over the distance; infinity becomes 0."""
    with np.errstate(divide="ignore"):
        return np.float64(1.0) / np.asarray(distance_m, dtype=np.float64)


def dioptres_to_metres(dioptres: Reals) -> Reals:
    """Returns one over the dioptres; 0 becomes infinity."""
    return metres_to_dioptres(dioptres)


@dataclass(frozen=True, eq=False)
class FocusGrid:
    """The ladder of lens positions, and the only place that knows what an index means.

    Attributes:
        dioptres: Focus of each position, strictly rising from the far end (index 0) to the near end.
            All NaN for a ladder whose positions are counted but not known (`FocusGrid.unknown`).
    """

    dioptres: Float[np.ndarray, " n"]

    def __post_init__(self) -> None:
        dioptres = np.array(self.dioptres, dtype=np.float64)
        if dioptres.ndim != 1 or dioptres.size == 0:
            raise InputError(f"a focus grid is a list of dioptres, not an array of shape {dioptres.shape}")
        if not np.isnan(dioptres).all():
            if not np.isfinite(dioptres).all():
                raise InputError("a focus grid's dioptres are finite (0 is infinity), or all unknown")
            dioptres[np.abs(dioptres) < ROUNDING * np.abs(dioptres).max()] = 0.0
            if (dioptres < 0).any():
                raise InputError(
                    f"dioptres are 0 (infinity) or more, not {dioptres[dioptres < 0][0]:g}: no lens focuses "
                    "farther than that"
                )
            if (np.diff(dioptres) <= 0).any():
                at = int(np.argmax(np.diff(dioptres) <= 0))
                raise InputError(
                    f"a focus grid's dioptres rise from far (index 0) to near, but index {at} has "
                    f"{dioptres[at]:g} and index {at + 1} has {dioptres[at + 1]:g}"
                )
        dioptres.flags.writeable = False
        object.__setattr__(self, "dioptres", dioptres)

    @classmethod
    def learnaf(cls) -> "FocusGrid":
        """Returns the 49 positions of the published data set, 3.91 m (index 0) to 0.102 m (index 48)."""
        return cls(1000.0 / np.array(LEARNAF_MM))

    @classmethod
    def uniform(cls, far_m: float = 3.91, near_m: float = 0.102, n: int = 49) -> "FocusGrid":
        """Returns n positions evenly spaced in dioptres; far_m may be infinite.

        The defaults are the ladder that the paper states.
        """
        if n > MOST_POSITIONS:
            raise InputError(f"a ladder has at most {MOST_POSITIONS} positions, not n={n}")
        if n < 2 or not 0 < near_m < far_m:
            raise InputError(
                f"a uniform grid needs n >= 2 and 0 < near < far, not n={n}, near {near_m} m, far {far_m} m"
            )
        return cls(np.linspace(1.0 / far_m, 1.0 / near_m, n))

    @classmethod
    def unknown(cls, n: int) -> "FocusGrid":
        """Returns n positions in order whose dioptres nobody has told."""
        return cls(np.full(n, np.nan))

    @classmethod
    def from_json(cls, entries: object) -> "FocusGrid":
        """Returns the ladder that `to_json` wrote.

        Raises:
            InputError: If this is not a list of rising numbers, or of nulls.
        """
        if not isinstance(entries, list) or not all(_is_number_or_null(value) for value in entries):
            raise InputError(f"a focus grid is a list of dioptres, or of nulls, not {reprlib.repr(entries)}")
        try:
            return cls(np.array([math.nan if value is None else float(value) for value in entries]))
        except OverflowError as error:
            raise InputError(f"a focus grid's dioptres are finite: {error}") from None

    def to_json(self) -> list[float | None]:
        """Returns the dioptres as plain JSON, of an unknown ladder nulls."""
        return self.dioptres.tolist() if self.known else [None] * len(self)

    @property
    def known(self) -> bool:
        """True if the ladder's dioptres are known."""
        return not bool(np.isnan(self.dioptres[0]))

    @property
    def steps_to_infinity(self) -> float:
        """How many steps as its farthest ones lie between its far end and infinity; inf if not known."""
        if not self.known or len(self) < 2:
            return math.inf
        far = self.dioptres[:FAR_STEPS]
        return float(far[0] * (len(far) - 1) / (far[-1] - far[0]))

    def __len__(self) -> int:
        return int(self.dioptres.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FocusGrid):
            return NotImplemented
        return np.array_equal(self.dioptres, other.dioptres, equal_nan=True)

    def __hash__(self) -> int:
        return hash(self.dioptres.tobytes())

    def __repr__(self) -> str:
        if not self.known:
            return f"FocusGrid.unknown({len(self)})"
        return f"FocusGrid({len(self)} positions, {self.dioptres[0]:.3f} to {self.dioptres[-1]:.3f} dioptres)"

    def index_to_dioptres(self, index: Reals | Counts) -> Reals:
        """Returns the dioptres at a whole or fractional index, linear between positions, held at the ends."""
        self._need_known()
        return np.interp(index, np.arange(len(self)), self.dioptres)

    def dioptres_to_index(self, dioptres: Reals) -> Reals:
        """Returns the fractional index of a focus in dioptres, held at the ends of the ladder."""
        self._need_known()
        return np.interp(dioptres, self.dioptres, np.arange(len(self), dtype=np.float64))

    def index_to_metres(self, index: Reals | Counts) -> Reals:
        """Returns the focus distance in metres at a whole or fractional index."""
        return dioptres_to_metres(self.index_to_dioptres(index))

    def metres_to_index(self, distance_m: Reals) -> Reals:
        """Returns the fractional index of a focus distance in metres."""
        return self.dioptres_to_index(metres_to_dioptres(distance_m))

    @property
    def midpoints(self) -> Float[np.ndarray, " m"]:
        """The dioptres half-way between neighbouring positions, where the nearest index changes."""
        return (self.dioptres[1:] + self.dioptres[:-1]) / 2

    def nearest_index(self, dioptres: Reals) -> Counts:
        """Returns the index nearest in inverse depth (paper, Dataset); a midpoint goes to the far side."""
        self._need_known()
        return np.searchsorted(self.midpoints, dioptres, side="left")

    def _need_known(self) -> None:
        if not self.known:
            raise InputError("this focus grid's dioptres are not known, only the order of its positions")


def _is_number_or_null(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
