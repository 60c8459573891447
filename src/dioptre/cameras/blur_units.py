"""FocusSteps: a camera's own lens positions in the steps that networks think in, and back.

A network's unit is the **step**: a move of the lens that changes the blur diameter by STEP_PX pixels of the
picture that it sees. The ladder of the paper's phone has 49 of them. Another camera counts in units of its
own (dioptres, micrometres, motor counts), and its pictures may have to be shrunk first: then the blur in
focus is about as wide as on the phone, and a step is so much longer.

Steps, like indices of a ladder, rise **towards near**; where step 0 is means nothing. A network is asked
about a window of steps around its looks (`StepWindow`) and is not told where that lies.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Float32

from dioptre.cameras.camera_presets import MAKES
from dioptre.errors import FileError, InputError
from dioptre.grid import Counts, FocusGrid, Reals
from dioptre.optics import PIXEL_PX, CameraModel, blur_in_focus, depth_to_blur
from dioptre.posterior import DepthPrior, Posterior
from dioptre.resources import read_toml

PHONE: Final = CameraModel.pixel3()
WINDOW: Final = len(PHONE.grid)  # steps that a network knows
STEP_PX: Final = float(  # blur diameter: the mean over the phone's ladder, 0.589
    np.mean(np.asarray(depth_to_blur(PHONE, PHONE.grid.dioptres[1:], PHONE.grid.dioptres[:-1])))
)
SHARP_PX: Final = blur_in_focus(PHONE)  # sigma
SOFT: Final = 1.25  # times as wide in focus as on the phone: only then is a picture shrunk
ENTRIES: Final = frozenset({"name", "unit", "growth_px", "far", "near", "sharp_px", "measured"})

Pictures = Float32[np.ndarray, "slice view row col"]


@dataclass(frozen=True)
class FocusSteps:
    """How a camera's own lens positions become steps: two numbers will do, the first two.

    Attributes:
        growth_px: Blur diameter, in pixels of its pictures, that a move by one unit adds to something in
            focus; positive if larger positions focus nearer, negative if they focus farther. Where growth
            changes along the way, that at position 0.
        unit: What its positions are counted in: "dioptres", "um", or any name.
        travel: Its far end and its near end in that unit; None if not known.
        sharp_px: Sigma of the blur in focus, in pixels of its pictures.
        bend: Growth at a position x is growth_px / (1 - bend x): of a thin lens in dioptres, its focal length
            in metres; 0 where it is the same everywhere.
        name: What to call the camera.
        coarser: How many times smaller than is good for sharpness its pictures are shown, 1 or more: so many
            times farther a look reaches, and so many times less exact it is.
    """

    growth_px: float
    unit: str
    travel: tuple[float, float] | None = None
    sharp_px: float = SHARP_PX
    bend: float = 0.0
    name: str = "camera"
    coarser: float = 1.0

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
    def of_camera(cls, camera: CameraModel, sharp_px: float | None = None) -> "FocusSteps":
        """Returns the steps of a thin lens, whose positions are dioptres and whose travel is its ladder.

        Args:
            camera: The camera.
            sharp_px: Sigma of the blur in focus, if it was measured; by default what diffraction and usual
                aberrations leave.
        """
        ends = camera.grid.dioptres[[0, -1]].tolist() if camera.grid.known and len(camera.grid) > 1 else None
        f_m = 1e-3 * camera.focal_length_mm
        return cls(
            growth_px=camera.aperture_mm * 1e3 / camera.pixel_pitch_um * f_m,
            unit="dioptres",
            travel=None if ends is None else (ends[0], ends[1]),
            sharp_px=blur_in_focus(camera) if sharp_px is None else sharp_px,
            bend=f_m,
            name=camera.name,
        )

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> "FocusSteps":
        """Returns the steps of the camera that a TOML file describes (docs/data.md shows both forms).

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
                return cls.of_camera(CameraModel.from_toml(Path(path)), sharp_px)
            return cls._from_table(table)
        except InputError as error:
            raise FileError(f"{path} does not describe a camera: {error}") from None

    @classmethod
    def _from_table(cls, table: Mapping[str, Any]) -> "FocusSteps":
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
            unit=table["unit"],
            travel=None if far is None or near is None else (far, near),
            sharp_px=SHARP_PX if sharp_px is None else sharp_px,
            name=str(table.get("name", "camera")),
        )

    @property
    def scale(self) -> float:
        """How many times as large as they are its pictures are shown to a network, 1 or less.

        What the lens blurs in focus, without the pixels, is then as wide as on the phone: a network that
        knows sharp pictures would take a soft one for one out of focus. Pictures are never enlarged.
        """
        lens, known = (math.sqrt(one**2 - PIXEL_PX**2) for one in (self.sharp_px, SHARP_PX))
        return (known / lens if lens > SOFT * known else 1.0) / self.coarser

    @property
    def ends(self) -> tuple[float, float]:
        """The steps at the far and the near end of the travel; infinite if they are not known."""
        if self.travel is None:
            return -math.inf, math.inf
        far, near = (float(self.position_to_step(one)) for one in self.travel)
        return far, near

    def position_to_step(self, position: Reals) -> Reals:
        """Returns the step at a position in own units, whole or fractional; it rises towards near."""
        place = np.asarray(position, dtype=np.float64)
        if self.bend:
            place = -np.log1p(-self.bend * place) / self.bend
        return place * (self.scale * self.growth_px / STEP_PX)

    def step_to_position(self, step: Reals) -> Reals:
        """Returns the position in own units at a step."""
        place = np.asarray(step, dtype=np.float64) * (STEP_PX / (self.scale * self.growth_px))
        return -np.expm1(-self.bend * place) / self.bend if self.bend else place

    def units_per_step(self, position: float) -> float:
        """Returns how many units a step is long at a position."""
        return abs(STEP_PX / (self.scale * self.growth_px)) * (1 - self.bend * position)

    def check(self, at: Any) -> float:
        """Returns a position in own units, if the lens can be there.

        Raises:
            InputError: If it is not a number, or beyond the travel.
        """
        known = isinstance(at, (int, float, np.integer, np.floating)) and not isinstance(at, bool)
        if not known or not math.isfinite(at):
            raise InputError(f"a position of {self.name} is a number of {self.unit}, not {at!r}")
        if self.bend * at >= 1:
            raise InputError(
                f"{at:g} {self.unit} are not beyond the focal length of {self.name}, {1e3 * self.bend:g} mm"
            )
        if self.travel is not None and not 0 <= (at - self.travel[0]) / np.subtract(*self.travel[::-1]) <= 1:
            raise InputError(
                f"the lens of {self.name} goes from {self.travel[0]:g} (far) to {self.travel[1]:g} (near) "
                f"{self.unit}, not to {at:g}"
            )
        return float(at)

    def shrunk(self, shape: tuple[int, int]) -> tuple[int, int]:
        """Returns the rows and columns that a network is shown of so many."""
        return int(shape[0] * self.scale + 1e-9), int(shape[1] * self.scale + 1e-9)

    def shrink(self, pictures: Pictures) -> Float32[np.ndarray, "slice view r c"]:
        """Returns pictures as a network is shown them; a pixel is the mean of what it covers."""
        if self.scale == 1.0:
            return pictures
        down, across = (_averaging(length, self.scale) for length in pictures.shape[2:])
        return np.ascontiguousarray(down @ np.nan_to_num(pictures, posinf=1.0, neginf=0.0) @ across.T)


def to_steps(camera: Any) -> FocusSteps:
    """Returns the steps of a camera: a CameraModel, its FocusSteps, or its file."""
    if isinstance(camera, FocusSteps):
        return camera
    if isinstance(camera, CameraModel):
        return FocusSteps.of_camera(camera)
    if not isinstance(camera, (str, os.PathLike)):
        raise InputError(f"a camera is a CameraModel, its FocusSteps or its file, not {camera!r}")
    if camera in MAKES:
        return FocusSteps.of_camera(MAKES[str(camera)]())
    if not Path(camera).exists():
        raise FileError(f"there is no camera {str(camera)!r}: one of {', '.join(MAKES)}, or a camera file")
    return FocusSteps.from_toml(camera)


def _number(table: Mapping[str, Any], name: str) -> float | None:
    value = table.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise InputError(f"{name} is a number, not {value!r}")
    try:
        return None if value is None else float(value)
    except OverflowError:  # a whole number of hundreds of digits
        raise InputError(f"{name} is a finite number, not one of {len(str(value))} digits") from None


def _averaging(length: int, scale: float) -> Float32[np.ndarray, "few many"]:
    """Returns the weights of pixels in fewer ones that cover them: means over 1 / scale of them."""
    few = int(length * scale + 1e-9)
    spare = (length - few / scale) / 2
    begin = spare + np.arange(few)[:, None] / scale
    here = np.arange(length)[None, :]
    covered = np.minimum(begin + 1 / scale, here + 1) - np.maximum(begin, here)
    return (np.maximum(covered, 0.0) * scale).astype(np.float32)


@dataclass(frozen=True)
class StepWindow:
    """The steps that a network is asked about, on a camera's own travel.

    Attributes:
        steps: The camera's.
        origin: The step of the window's index 0, its far end.
    """

    steps: FocusSteps
    origin: float

    @classmethod
    def around(cls, steps: FocusSteps, positions: Float[np.ndarray, " look"]) -> "StepWindow":
        """Returns the window in whose middle looks at some positions are, but not beyond the travel's ends.

        It lies so that the looks are as close to whole indices as they can be together; one look is at one.
        """
        taken = np.asarray(steps.position_to_step(positions))
        far, near = steps.ends
        middle = (taken.min() + taken.max() - (WINDOW - 1)) / 2
        if near - far >= WINDOW - 1.5:
            middle = min(max(middle, far - 0.25), near - (WINDOW - 1) + 0.25)
        turn = np.exp(2j * np.pi * taken).mean()
        part = float(np.angle(turn)) / (2 * np.pi)  # of a step, that the looks are beyond whole ones
        return cls(steps, round(middle - part) + part)

    def covers(self, positions: Float[np.ndarray, " look"]) -> bool:
        """Returns whether all looks lie in the window."""
        index = np.asarray(self.position_to_index(positions))
        return bool((index > -0.5).all() and (index < WINDOW - 0.5).all())

    def position_to_index(self, position: Reals) -> Reals:
        """Returns where in the window a position in own units is, between indices."""
        return self.steps.position_to_step(position) - self.origin

    def index_to_position(self, index: Reals | Counts) -> Reals:
        """Returns the position in own units at an index of the window, or between two."""
        return self.steps.step_to_position(index + self.origin)

    @property
    def reach(self) -> slice:
        """The indices that the lens can go to: those within the travel, give or take half a step."""
        far, near = self.steps.ends
        first = max(0, math.ceil(far - self.origin - 0.5)) if math.isfinite(far) else 0
        last = min(WINDOW - 1, math.floor(near - self.origin + 0.5)) if math.isfinite(near) else WINDOW - 1
        return slice(first, max(first, last) + 1)

    def held(self, posterior: Posterior) -> Posterior:
        """Returns a posterior over the window as one over `reach`: what the lens cannot reach lies beyond."""
        return posterior.within(self.reach.start, self.reach.stop - 1)

    def prior(self, prior: DepthPrior) -> DepthPrior:
        """Returns a prior over the camera's travel as one over `reach`.

        Raises:
            InputError: If the ends of the travel are not known.
        """
        if prior.is_even:
            return prior
        far, near = self.steps.ends
        if not math.isfinite(near - far):
            raise InputError(
                f"a prior is about the whole travel, whose ends {self.steps.name} does not tell: give it far "
                "and near"
            )
        weights = prior.weights(len(prior.table) or WINDOW)
        places = np.arange(self.reach.start, self.reach.stop) + self.origin
        return DepthPrior.of_table(np.interp(places, np.linspace(far, near, len(weights)), weights))

    def own(self, lens_position: float, expected_error: float | None) -> dict[str, Any]:
        """Returns what a FocusResult says of the lens in own units: the fields from `unit` on."""
        length = self.steps.units_per_step(lens_position)
        return {
            "unit": self.steps.unit,
            "lens_position": lens_position,
            "lens_error": None if expected_error is None else expected_error * length,
            "positions": np.asarray(self.index_to_position(np.arange(self.reach.start, self.reach.stop))),
        }

    @property
    def grid(self) -> FocusGrid:
        """The ladder that a network is told: so many steps, nobody says where."""
        return FocusGrid.unknown(WINDOW)
