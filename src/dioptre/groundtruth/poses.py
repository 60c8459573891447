"""Poses of a rig's cameras: what is known before anybody looks, what one capture tells, and what comes of it.

Places and focal lengths are pixels of the whole frame, places from its centre; metres, the first camera's
axes. An aligned picture (`dioptre.groundtruth.composite`) has its camera's axis in its middle and its focal
length, whatever slice a part of it is from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from dioptre.errors import InputError
from dioptre.groundtruth.bundle import Expected, adjust
from dioptre.groundtruth.consensus import SharedRig
from dioptre.groundtruth.projection import Bundle, Lenses, project
from dioptre.groundtruth.register import Motion

# What the fields of `Lenses` are called in files, in their order
LENS_KEYS = ("turns", "centres", "focals", "zooms", "shifts", "outwards", "bend")


@dataclass(frozen=True, eq=False)
class Nominal:
    """The nominal rig, before any picture is read.

    Attributes:
        names: The cameras, the one in the middle first.
        centres: (camera, 3) where they were meant to stand, metres.
        spacing_m: Mean distance of the others from the first, measured.
        focal_px: Focal length at the far slice, as the maker says.
        dioptres: Where each slice was told to focus.
    """

    names: tuple[str, ...]
    centres: Float[np.ndarray, "camera 3"]
    spacing_m: float
    focal_px: float
    dioptres: Float[np.ndarray, " slice"]

    def __post_init__(self) -> None:
        if not self.spacing_m > 0 or len(self.names) != len(self.centres) or len(self.names) < 2:
            raise InputError(
                f"a rig has two cameras or more, some way apart, not {len(self.names)}, {self.spacing_m:g} m"
            )


@dataclass(frozen=True, eq=False)
class Poses:
    """The poses and lenses of a capture's cameras.

    Attributes:
        names: The cameras.
        rotations: (camera, 3, 3) rotation from the first camera's axes to each.
        centres: (camera, 3) metres.
        focals: (camera,) focal length of the aligned pictures, pixels of the whole frame.
        shifts: (camera, 2) where the axis meets these, pixels from the centre of the frame.
        distortion: Distortion: places are (1 + b1 r^2 + b2 r^4) times as far from the axis.
        zooms: (camera, slice) scale of the slices relative to the aligned pictures.
        points: (point, 3) metres.
        seen_by: (point, camera) where each aligned picture shows a point; NaN where it does not.
        pixel: Deviation of the observations, pixels.
        explained: Share of the observations that were kept.
        focus_ratio: How many times as near points are by parallax as by focus, in dioptres.
    """

    names: tuple[str, ...]
    rotations: Float[np.ndarray, "camera 3 3"]
    centres: Float[np.ndarray, "camera 3"]
    focals: Float[np.ndarray, " camera"]
    shifts: Float[np.ndarray, "camera 2"]
    distortion: Float[np.ndarray, "2"]
    zooms: Float[np.ndarray, "camera slice"]
    points: Float[np.ndarray, "point 3"]
    seen_by: Float[np.ndarray, "point camera 2"]
    pixel: float
    explained: float
    focus_ratio: float

    def to_json(self) -> dict[str, Any]:
        """Returns poses and lenses as plain JSON; points are in the COLMAP model."""
        rig = _rig_to_json(self.names, self.rotations, self.centres, self.focals, self.distortion)
        for at, name in enumerate(self.names):
            rig["cameras"][name] |= {
                "axis_px": self.shifts[at].tolist(),
                "slice_focal_px": (self.focals[at] * self.zooms[at]).tolist(),
            }
        return {
            **rig,
            "points": len(self.points),
            "observation_deviation_px": self.pixel,
            "explained": self.explained,
            "parallax_over_focus": self.focus_ratio if np.isfinite(self.focus_ratio) else None,
        }


@dataclass(frozen=True, eq=False)
class Adjusted:
    """The adjusted poses of one capture, and its estimate of the rig.

    Attributes:
        bundle: The adjusted cameras and points; pictures are in the order camera, slice.
        start: The cameras as they were meant.
        expected: How far they may stray from there, and the deviation of an observation.
        slices: Which slices of each sweep its pictures are.
        motions: How the slices of each camera moved, working pixels.
        explained: Share of the observations that were kept.
        focus_ratio: How many times as near points are by parallax as by focus, in dioptres.
    """

    bundle: Bundle
    start: Lenses
    expected: Expected
    slices: Int[np.ndarray, " slice"]
    motions: tuple[Motion, ...]
    explained: float
    focus_ratio: float

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns all of it as arrays, to be kept in a file."""
        bundle = self.bundle
        kept: dict[str, np.ndarray] = {
            "slices": self.slices,
            "zoom": np.stack([one.zoom for one in self.motions]),
            "shift": np.stack([one.shift for one in self.motions]),
            "numbers": np.array([bundle.spacing_m, self.explained, self.focus_ratio]),
            "expected_px": np.array([self.expected.pixel, self.expected.shift_px, self.expected.axis_px]),
            **{
                name: getattr(bundle, name)
                for name in ("points", "camera", "focus", "point", "image", "places")
            },
        }
        for key, one in zip(LENS_KEYS, fields(Lenses), strict=True):
            kept[f"found_{key}"] = getattr(bundle.lenses, one.name)
            kept[f"start_{key}"] = getattr(self.start, one.name)
        return kept

    @classmethod
    def from_arrays(cls, kept: Mapping[str, np.ndarray]) -> "Adjusted":
        """Returns the poses that `arrays` gave.

        Raises:
            InputError: If an older version gave it.
        """
        if "expected_px" not in kept:
            raise InputError("the points of a capture are those of an older dioptre: reconstruct it anew")
        found, start = (Lenses(*(kept[f"{when}_{key}"] for key in LENS_KEYS)) for when in ("found", "start"))
        spacing, explained, ratio = (float(one) for one in kept["numbers"])
        pixel, shift, axis = (float(one) for one in kept["expected_px"])
        motions = tuple(Motion(*one) for one in zip(kept["zoom"], kept["shift"], strict=True))
        expected = Expected(pixel=pixel, shift_px=shift, axis_px=axis)
        bundle = Bundle(
            found,
            kept["points"],
            kept["camera"],
            kept["focus"],
            kept["point"],
            kept["image"],
            kept["places"],
            spacing,
        )
        return cls(bundle, start, expected, kept["slices"], motions, explained, ratio)


def meant_rig(nominal: Nominal) -> SharedRig:
    """Returns the rig as it was meant to be mounted."""
    count = len(nominal.names)
    centres = nominal.centres - nominal.centres[0]
    return SharedRig(np.zeros((count, 3)), centres, np.full(count, nominal.focal_px), np.zeros(2))


def rig_to_json(rig: SharedRig, nominal: Nominal, captures: int, left_out: list[str]) -> dict[str, Any]:
    """Returns a rig as plain JSON, with how many captures told it and which said something else."""
    rotations = Rotation.from_rotvec(rig.rotations).as_matrix()
    told = _rig_to_json(nominal.names, rotations, rig.centres, rig.focals, rig.distortion)
    return {**told, "captures": captures, "astray": left_out}


def _rig_to_json(
    names: Sequence[str],
    rotations: Float[np.ndarray, "camera 3 3"],
    centres: Float[np.ndarray, "camera 3"],
    focals: Float[np.ndarray, " camera"],
    distortion: Float[np.ndarray, "2"],
) -> dict[str, Any]:
    """Returns what all files say about a rig's cameras: rotations are called turn, distortion bend."""
    cameras = {
        name: {
            "turn": rotations[at].tolist(),
            "centre_mm": (1e3 * centres[at]).tolist(),
            "focal_px": float(focals[at]),
        }
        for at, name in enumerate(names)
    }
    return {"cameras": cameras, "bend": distortion.tolist()}


def hold_rig(adjusted: Adjusted, rig: SharedRig) -> Adjusted:
    """Returns a capture adjusted to a rig that is known: only slices and points are left to find."""
    old, bundle = adjusted.bundle.lenses, adjusted.bundle
    lenses = replace(
        old, rotations=rig.rotations, centres=rig.centres, focals=rig.focals, distortion=rig.distortion
    )
    start = replace(lenses, zooms=adjusted.start.zooms, shifts=adjusted.start.shifts)
    held = replace(adjusted.expected, rotation_rad=0.0, centre=0.0, focal=0.0, distortion=0.0)
    return replace(adjusted, bundle=adjust(replace(bundle, lenses=lenses), start, held))


def refined_motion(adjusted: Adjusted, camera: int, factor: int) -> Motion:
    """Returns the motion of a camera's slices against a picture of the rig's focal length, by its points.

    Between the slices whose points were found what is added to the alignment is interpolated.
    """
    motion, lenses = adjusted.motions[camera], adjusted.bundle.lenses
    own = np.flatnonzero(adjusted.bundle.camera == camera)
    every = len(motion.zoom)
    slices = adjusted.slices
    more = lenses.zooms[own] / motion.zoom[slices]
    moved = lenses.shifts[own] / factor - motion.shift[slices]
    at = np.arange(every)
    shift = np.stack([np.interp(at, slices, moved[:, axis]) for axis in (0, 1)], axis=1)
    return Motion(motion.zoom * np.interp(at, slices, more), motion.shift + shift)


def poses_of(adjusted: Adjusted, nominal: Nominal, factor: int) -> Poses:
    """Returns the poses, for pictures that `refined_motion` aligned."""
    bundle, lenses = adjusted.bundle, adjusted.bundle.lenses
    count = len(nominal.names)
    zooms = np.stack([refined_motion(adjusted, camera, factor).zoom for camera in range(count)])
    rho = np.maximum(bundle.points[:, 2], 1e-3)
    points = np.concatenate([bundle.points[:, :2], np.ones((len(rho), 1))], axis=1) / rho[:, None]
    seen = np.full((len(points), count, 2), np.nan)
    zoom, shift = lenses.zooms[bundle.image], lenses.shifts[bundle.image]
    seen[bundle.point, bundle.camera[bundle.image]] = (bundle.places - shift) / zoom[:, None]
    far = np.linalg.norm(project(bundle) - bundle.places, axis=1)
    return Poses(
        nominal.names, Rotation.from_rotvec(lenses.rotations).as_matrix(), lenses.centres, lenses.focals,
        np.zeros((count, 2)), lenses.distortion, zooms, points, seen, float(np.median(far) / 1.18),
        adjusted.explained, adjusted.focus_ratio,
    )  # fmt: skip
