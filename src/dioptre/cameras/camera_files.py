"""What is told of a camera: a thin lens, or how fast blur grows along its way; from a file, a name, a model.

A camera file is TOML (docs/data.md shows both forms). `FocusGrid(positions, unit, camera=...)` fills in from
it what networks need; `CameraOptics.grid` is a grid of the camera's own way.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from dioptre.cameras.blur_units import SHARP_PX, WINDOW
from dioptre.cameras.camera_presets import MAKES
from dioptre.errors import FileError, InputError
from dioptre.grid import DIOPTRES, SLICE, FocusGrid, to_number
from dioptre.optics import PIXEL_PX, STEP_PX, CameraModel, blur_in_focus
from dioptre.resources import read_toml

ENTRIES: Final = frozenset({"name", "unit", "growth_px", "far", "near", "sharp_px", "measured"})
AROUND: Final = 8  # windows of a network, either way of looks through a lens whose ends nobody has told

Positions = Float[np.ndarray, " n"]
AnyCamera = CameraModel | str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class CameraOptics:
    """The growth of blur along a lens's range; the first two numbers suffice.

    Attributes:
        growth_px: Blur diameter, in pixels of its pictures, that a move by one unit adds to something in
            focus; positive if larger positions focus nearer, negative if they focus farther. Where growth
            changes along the way, that at position 0.
        unit: What its positions are counted in: "dioptres", "um", or any word.
        travel: The positions of its far end and its near end; None where nobody has told.
        sharp_px: Sigma of the blur in focus, in pixels of its pictures.
        focal_length_m: Of a thin lens in dioptres, at whose position x growth is growth_px / (1 - f x); 0
            where growth is the same everywhere.
        name: What to call the camera.
        stops: The positions that it can go to, far to near, if these are told one by one.
    """

    growth_px: float
    unit: str
    travel: tuple[float, float] | None = None
    sharp_px: float = SHARP_PX
    focal_length_m: float = 0.0
    name: str = "camera"
    stops: Positions | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.growth_px) and self.growth_px != 0):
            raise InputError(
                f"growth_px, the blur that one of the {self.unit} adds, is a number of pixels other than 0, "
                f"not {self.growth_px}"
            )
        if not (math.isfinite(self.sharp_px) and self.sharp_px > PIXEL_PX):
            raise InputError(
                f"sharp_px, the sigma of the blur in focus, is at least that of a pixel's own width, "
                f"{PIXEL_PX:.2f}, not {self.sharp_px:g}"
            )
        if self.travel is not None:
            far, near = self.travel
            if not (math.isfinite(far) and math.isfinite(near) and (near - far) * self.growth_px > 0):
                raise InputError(
                    f"the travel leads from its far end, {far:g}, to its near end, {near:g}: growth_px is "
                    f"positive if larger positions focus nearer, and negative if they focus farther, "
                    f"not {self.growth_px:g}"
                )

    @classmethod
    def of_model(cls, camera: CameraModel, sharp_px: float | None = None) -> "CameraOptics":
        """Returns the optics of a thin lens, whose positions are dioptres.

        Args:
            camera: The camera.
            sharp_px: Sigma of the blur in focus, if it was measured; by default what diffraction and usual
                aberrations leave.
        """
        known = camera.grid.known and len(camera.grid) > 1
        stops = camera.grid.dioptres if known else None
        f_m = 1e-3 * camera.focal_length_mm
        return cls(
            growth_px=camera.aperture_mm * 1e3 / camera.pixel_pitch_um * f_m,
            unit=DIOPTRES,
            travel=None if stops is None else (float(stops[0]), float(stops[-1])),
            sharp_px=blur_in_focus(camera) if sharp_px is None else sharp_px,
            focal_length_m=f_m,
            name=camera.name,
            stops=stops,
        )

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> "CameraOptics":
        """Returns the optics that a camera file describes.

        Raises:
            FileError: If it is not a TOML file, or describes neither a thin lens nor a growth of blur.
            OSError: If it cannot be read.
        """
        table = read_toml(path)
        try:
            if not {"growth_px", "focal_length_mm"} & set(table):
                raise InputError(
                    "it holds neither a thin lens (focal_length_mm, f_number, pixel_pitch_um, frame, [grid]) "
                    "nor growth_px, the pixels of blur that a move by one unit adds, and unit"
                )
            if "growth_px" not in table:
                sharp_px = _number(table, "sharp_px")
                return cls.of_model(CameraModel.from_toml(Path(path)), sharp_px)
            return cls._from_table(table)
        except InputError as error:
            raise FileError(f"{path} does not describe a camera: {error}") from None

    @classmethod
    def _from_table(cls, table: Mapping[str, Any]) -> "CameraOptics":
        unknown = sorted(set(table) - ENTRIES)
        if unknown:
            raise InputError(
                f"beside growth_px there are {', '.join(sorted(ENTRIES - {'growth_px'}))}, not {unknown[0]!r}"
            )
        if not isinstance(table.get("unit"), str):
            raise InputError('say what its positions are counted in: unit = "um", "counts", or any name')
        growth_px, sharp_px = _number(table, "growth_px"), _number(table, "sharp_px")
        far, near = _number(table, "far"), _number(table, "near")
        if (far is None) != (near is None):
            raise InputError("the ends of its travel are both given, far and near, or neither")
        assert growth_px is not None
        return cls(
            growth_px=growth_px,
            unit=SLICE if table["unit"] == "positions" else table["unit"],  # as 0.1 wrote it
            travel=None if far is None or near is None else (far, near),
            sharp_px=SHARP_PX if sharp_px is None else sharp_px,
            name=str(table.get("name", "camera")),
        )

    def growth_at(self, positions: Positions) -> Positions:
        """Returns the blur diameter, in px, that a move by one unit adds at each position; never negative.

        Raises:
            InputError: If the lens cannot be at one of them.
        """
        for at in positions.tolist():
            if self.focal_length_m * at >= 1:
                raise InputError(
                    f"{at:g} {self.unit} are not beyond the focal length of {self.name}, "
                    f"{1e3 * self.focal_length_m:g} mm"
                )
            if self.travel is not None and not _within(at, *self.travel):
                raise InputError(
                    f"the lens of {self.name} goes from {self.travel[0]:g} (far) to {self.travel[1]:g} "
                    f"(near) {self.unit}, not to {at:g}"
                )
        return np.asarray(abs(self.growth_px) / (1 - self.focal_length_m * positions))

    def fill(self, positions: Positions, unit: str, dioptres: Positions) -> dict[str, Any]:
        """Returns the optional fields of a FocusGrid with these positions, by name.

        Args:
            positions: In `unit`.
            unit: The camera's own; or any, if the dioptres of the positions are told and the camera's are
                dioptres.
            dioptres: Of each position; NaN where nobody has told.

        Raises:
            InputError: If the camera counts otherwise.
        """
        if unit == self.unit:
            rising = len(positions) < 2 or bool(positions[-1] > positions[0])
            blur = self.growth_at(positions)
            return {
                "nearer": rising == (self.growth_px > 0),
                "blur_per_unit_px": blur,
                "sharp_px": self.sharp_px,
            }
        if self.unit != DIOPTRES or np.isnan(dioptres).any():
            raise InputError(f"{self.name} counts in {self.unit}: positions in {unit} say nothing of it")
        per_unit = np.abs(np.gradient(dioptres, positions)) if len(positions) > 1 else np.ones(1)
        return {"blur_per_unit_px": self.growth_at(dioptres) * per_unit, "sharp_px": self.sharp_px}

    def grid(self, around: Sequence[Any] = ()) -> FocusGrid:
        """Returns the camera's own way, far to near.

        Args:
            around: Where looks were taken: of a lens whose ends nobody has told, the way around them.

        Raises:
            InputError: If neither is told.
        """
        step = STEP_PX / abs(self.growth_px) * math.copysign(1.0, self.growth_px)
        if self.stops is not None:
            positions = self.stops
        elif self.travel is not None:
            far, near = self.travel
            positions = np.linspace(far, near, max(2, math.ceil((near - far) / step) + 1))
        elif len(around) > 0:
            taken = [to_number(one, self.unit) for one in around]
            half = AROUND * WINDOW + math.ceil((max(taken) - min(taken)) / abs(step))
            positions = (max(taken) + min(taken)) / 2 + step * np.arange(-half, half + 1)
        else:
            raise InputError(
                f"nobody has told where the lens of {self.name} can go: write far and near into its file, or "
                "give the positions, FocusGrid(positions, unit, camera=...)"
            )
        return FocusGrid(positions, self.unit, camera=self)


def describe(camera: Any) -> CameraOptics:
    """Returns the optics of a camera that is given as a CameraModel, a name, or a file.

    Raises:
        InputError: If it is none of these.
        FileError: If there is no such camera or file, or it cannot be understood.
    """
    if isinstance(camera, CameraOptics):
        return camera
    if isinstance(camera, CameraModel):
        return CameraOptics.of_model(camera)
    if not isinstance(camera, (str, os.PathLike)):
        raise InputError(f"a camera is a CameraModel, its name or its file, not {camera!r}")
    if camera in MAKES:
        return CameraOptics.of_model(MAKES[str(camera)]())
    if not Path(camera).exists():
        raise FileError(f"there is no camera {str(camera)!r}: one of {', '.join(MAKES)}, or a camera file")
    return CameraOptics.from_toml(camera)


def _within(position: float, far: float, near: float) -> bool:
    return 0 <= (position - far) / (near - far) <= 1


def _number(table: Mapping[str, Any], name: str) -> float | None:
    value = table.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise InputError(f"{name} is a number, not {value!r}")
    try:
        return None if value is None else float(value)
    except OverflowError:  # a whole number of hundreds of digits
        raise InputError(f"{name} is a finite number, not one of {len(str(value))} digits") from None
