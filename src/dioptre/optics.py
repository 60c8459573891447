"""The thin lens and the camera: blur, disparity and breathing of a focus at a depth.

Beside the conventions of `dioptre.grid`:

* The signed blur diameter is in pixels and **positive for an object behind the focus plane**
  (farther than the lens is focused). Disparity has the sign of the blur: with d = argmax over delta of
  <left[x], right[x + delta]>, d > 0 for an object behind the focus plane.
* Metres, millimetres and micrometres appear only with their suffix in the name.

Conversions come in inverse pairs `a_to_b` and `b_to_a`. This module knows nothing of images.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from dioptre.errors import FileError, InputError
from dioptre.grid import FocusGrid, Reals
from dioptre.resources import read_toml

GREEN_UM = 0.55  # wavelength
AIRY_SIGMA = 0.44  # of the Gaussian closest to an Airy disc, in wavelengths times the working f-number
ABERRATION_PX = 0.4  # sigma of what a lens made for its pixels leaves in focus
PIXEL_PX = 12**-0.5  # sigma of a pixel's own width


@dataclass(frozen=True)
class CameraModel:
    """A camera that focuses by moving a thin lens.

    Attributes:
        focal_length_mm: Focal length f.
        f_number: f over the nominal aperture diameter.
        pixel_pitch_um: Distance between neighbouring pixels of the images.
        frame: Rows and columns of a frame, landscape: disparity runs along the columns.
        grid: Where its lens can go, far to near, with dioptres.
        aperture_factor: Effective over nominal aperture diameter. Real blur grows more slowly than the
            nominal aperture says (vignetting, angular response of the pixels): 0.74 on the Pixel 3.
        split: Distance between the centroids of the left and right view over the blur diameter
            (alpha in the paper). 0.25 was measured; ideal half discs would give 4 / (3 pi) = 0.424.
        name: What to call it.
    """

    focal_length_mm: float
    f_number: float
    pixel_pitch_um: float
    frame: tuple[int, int]
    grid: FocusGrid = field(default_factory=FocusGrid.learnaf)
    aperture_factor: float = 1.0
    split: float = 0.25
    name: str = "camera"

    def __post_init__(self) -> None:
        for name in ("focal_length_mm", "f_number", "pixel_pitch_um", "aperture_factor", "split"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"a camera's {name} is a positive number, not {value}")
        if len(self.frame) != 2 or min(self.frame) < 1:
            raise InputError(f"a camera's frame is (rows, columns), not {self.frame}")
        near = self.grid.need_far_to_near().dioptres[-1]
        if near * self.focal_length_mm * 1e-3 >= 1:
            raise InputError(
                f"the nearest focus, {1000 / near:g} mm, is not beyond the focal length, "
                f"{self.focal_length_mm:g} mm"
            )

    @classmethod
    def pixel3(cls) -> "CameraModel":
        """Returns the phone of the published data set, at the resolution of its dual-pixel files."""
        return cls(
            focal_length_mm=4.44,
            f_number=1.8,
            pixel_pitch_um=2.8,
            frame=(1512, 2016),
            grid=FocusGrid.learnaf(),
            aperture_factor=0.74,
            split=0.25,
            name="pixel3",
        )

    @property
    def aperture_mm(self) -> float:
        """Effective aperture diameter L."""
        return self.aperture_factor * self.focal_length_mm / self.f_number

    @property
    def focal_length_px(self) -> float:
        """Focal length in pixels of the images."""
        return 1e3 * self.focal_length_mm / self.pixel_pitch_um

    @classmethod
    def from_toml(cls, path: str | Path) -> "CameraModel":
        """Returns the camera that a TOML file describes (docs/data.md shows one).

        Raises:
            FileError: If it is not a TOML file, or does not describe a camera.
            OSError: If it cannot be read.
        """
        table = read_toml(path)
        try:
            return cls._from_table(table)
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise FileError(f"{path} does not describe a camera: {what}") from None

    @classmethod
    def _from_table(cls, table: Mapping[str, Any]) -> "CameraModel":
        unknown = (
            set(table) - set(cls.__dataclass_fields__) - {"sharp_px"}
        )  # which dioptre.cameras.camera_files reads
        if unknown:
            raise InputError(f"it has the unknown entry {sorted(unknown)[0]!r}")
        rest = {key: float(table[key]) for key in ("aperture_factor", "split") if key in table}
        rows, columns = table["frame"]
        return cls(
            focal_length_mm=float(table["focal_length_mm"]),
            f_number=float(table["f_number"]),
            pixel_pitch_um=float(table["pixel_pitch_um"]),
            frame=(int(rows), int(columns)),
            grid=_grid_from_table(table["grid"]),
            name=str(table.get("name", "camera")),
            **rest,
        )

    def to_toml(self, path: str | Path) -> None:
        """Writes the camera so that `from_toml` reads the same camera back."""
        dioptres = ",\n".join(f"  {value!r}" for value in self.grid.dioptres.tolist())
        Path(path).write_text(
            f"name = {json.dumps(self.name, ensure_ascii=False)}\n"
            f"focal_length_mm = {float(self.focal_length_mm)!r}\n"
            f"f_number = {float(self.f_number)!r}\n"
            f"pixel_pitch_um = {float(self.pixel_pitch_um)!r}\n"
            f"frame = [{self.frame[0]}, {self.frame[1]}]  # rows, columns\n"
            f"aperture_factor = {float(self.aperture_factor)!r}\n"
            f"split = {float(self.split)!r}\n"
            f"\n[grid]\ndioptres = [  # far to near\n{dioptres},\n]\n",
            encoding="utf-8",
        )


def _grid_from_table(table: Mapping[str, Any]) -> FocusGrid:
    """Returns the grid of `[grid]`: `dioptres`, or `far_m`, `near_m` and `n` for an even one."""
    if set(table) == {"dioptres"}:
        return FocusGrid.of_dioptres(table["dioptres"])
    if set(table) == {"far_m", "near_m", "n"}:
        return FocusGrid.uniform(float(table["far_m"]), float(table["near_m"]), int(table["n"]))
    raise InputError(f"[grid] holds either dioptres, or far_m, near_m and n, not {sorted(table)}")


def _focal_length_m(camera: CameraModel) -> float:
    return camera.focal_length_mm * 1e-3


def focus_to_extension_um(camera: CameraModel, focus: Reals) -> Reals:
    """Returns the lens's extension beyond its infinity position, in micrometres: f^2 g / (1 - f g)."""
    f = _focal_length_m(camera)
    return 1e6 * f * f * focus / (1 - f * focus)


def extension_to_focus_um(camera: CameraModel, extension_um: Reals) -> Reals:
    """Returns the focus in dioptres of a lens moved out by so many micrometres."""
    f = _focal_length_m(camera)
    extension = 1e-6 * extension_um
    return extension / (f * (f + extension))


def focus_to_magnification(camera: CameraModel, focus: Reals) -> Reals:
    """Returns the image scale v / f = 1 / (1 - f g), which is 1 at infinity: focal breathing."""
    return 1 / (1 - _focal_length_m(camera) * focus)


def magnification_to_focus(camera: CameraModel, magnification: Reals) -> Reals:
    """Returns the focus in dioptres at which the image has this scale relative to infinity."""
    return (1 - 1 / magnification) / _focal_length_m(camera)


def breathing(camera: CameraModel) -> Float[np.ndarray, " n"]:
    """Returns each position's image scale relative to the far end of the grid, v(k) / v(0)."""
    scale = np.asarray(focus_to_magnification(camera, camera.grid.dioptres))
    return scale / scale[0]


def reference_focal_px(camera: CameraModel) -> float:
    """Returns the focal length in pixels of a lens that is focused at the far end of its way."""
    return camera.focal_length_px * float(focus_to_magnification(camera, float(camera.grid.dioptres[0])))


def _blur_gain(camera: CameraModel, focus: Reals) -> Reals:
    """Returns pixels of blur diameter for each dioptre of defocus, L f / (1 - f g) over the pixel pitch."""
    return camera.aperture_mm * camera.focal_length_px * 1e-3 * focus_to_magnification(camera, focus)


def blur_in_focus(camera: CameraModel) -> float:
    """Returns the sigma in pixels of what blurs even in focus: diffraction, aberrations, a pixel's width.

    Diffraction is that in the middle of the grid, where the cone of light is as narrow as v over the
    nominal aperture: much narrower than the f-number says where the lens magnifies.
    """
    middle = float(np.mean(camera.grid.dioptres[[0, -1]])) if camera.grid.known else 0.0
    working = camera.f_number * float(focus_to_magnification(camera, middle))
    return math.hypot(AIRY_SIGMA * GREEN_UM * working / camera.pixel_pitch_um, ABERRATION_PX, PIXEL_PX)


def depth_to_blur(camera: CameraModel, focus: Reals, depth: Reals) -> Reals:
    """Returns the signed blur diameter in pixels (paper, equation 4 without the absolute value).

    Args:
        camera: The camera.
        focus: Where the lens is focused, in dioptres.
        depth: Where the object is, in dioptres.
    """
    return _blur_gain(camera, focus) * (focus - depth)


def blur_per_index_px(camera: CameraModel) -> float:
    """Returns the diameter in pixels of the blur that a move by one index adds, the mean over the grid."""
    focus = camera.grid.dioptres
    return float(np.mean(np.abs(depth_to_blur(camera, focus[1:], focus[:-1]))))


def steps_per_index(camera: CameraModel) -> float:
    """Returns how many steps of blur an index of a camera's grid is; 1 on the published grid."""
    return blur_per_index_px(camera) / STEP_PX


def blur_to_depth(camera: CameraModel, focus: Reals, blur: Reals) -> Reals:
    """Returns the depth in dioptres of an object whose signed blur diameter is `blur` pixels."""
    return focus - blur / _blur_gain(camera, focus)


def depth_to_disparity(camera: CameraModel, focus: Reals, depth: Reals) -> Reals:
    """Returns the signed disparity of the two views in pixels (paper, equation 5)."""
    return camera.split * depth_to_blur(camera, focus, depth)


def disparity_to_depth(camera: CameraModel, focus: Reals, disparity: Reals) -> Reals:
    """Returns the depth in dioptres of an object whose views differ by `disparity` pixels."""
    return blur_to_depth(camera, focus, disparity / camera.split)


STEP_PX: Final = blur_per_index_px(CameraModel.pixel3())  # of blur diameter, a step: 0.589
