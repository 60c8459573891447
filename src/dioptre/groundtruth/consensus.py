"""What several captures of one rig say together about its cameras.

The cameras of a rig stay where they are from capture to capture, and one capture alone barely tells some
things: cameras that are turned towards each other a little look like everything being nearer. So each capture
is adjusted by itself, and what its observations say about rotations, centres, focal lengths and distortion is
kept as information (`bundle.tell_rig`): a quadratic form about what it found. The sum of these, and what is
expected of the rig, counted once, has one most likely rig, by Newton's method. It is what one large
adjustment would find, but for the forms being quadratic, and captures stay independent pieces of work.

A capture that says something quite different is not of this rig, or wrong, and is left out and named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from dioptre.errors import InputError
from dioptre.groundtruth.bundle import Expected, spacing_error, tell_rig
from dioptre.groundtruth.projection import Bundle, Lenses

ROUNDS = 8  # of Newton's method
ASTRAY_RAD = 0.004  # by which a capture's rotations may differ from the others': a quarter of a degree
ASTRAY = 0.05  # likewise of places, over the spacing


@dataclass(frozen=True, eq=False)
class SharedRig:
    """The poses and lenses that captures of one rig share.

    Attributes:
        rotations: (camera, 3) rotation vectors, from the first camera's axes.
        centres: (camera, 3) metres.
        focals: (camera,) pixels of the frame.
        distortion: b1 and b2 (`dioptre.groundtruth.projection`).
    """

    rotations: Float[np.ndarray, "camera 3"]
    centres: Float[np.ndarray, "camera 3"]
    focals: Float[np.ndarray, " camera"]
    distortion: Float[np.ndarray, "2"]

    @classmethod
    def of(cls, lenses: Lenses) -> "SharedRig":
        """Returns the shared part of a bundle's lenses."""
        return cls(lenses.rotations, lenses.centres, lenses.focals, lenses.distortion)

    def values(self, spacing_m: float) -> Float[np.ndarray, " free"]:
        """Returns the unknowns as `tell_rig` orders them."""
        return np.concatenate(
            [
                self.rotations[1:].ravel(),
                self.centres[1:].ravel() / spacing_m,
                np.log(self.focals),
                self.distortion,
            ]
        )

    @classmethod
    def from_values(cls, values: Float[np.ndarray, " free"], spacing_m: float) -> "SharedRig":
        """Returns the rig of unknowns: the inverse of `values`."""
        cameras = (len(values) + 4) // 7
        others = 3 * (cameras - 1)
        first = np.zeros((1, 3))
        return cls(
            np.concatenate([first, values[:others].reshape(-1, 3)]),
            np.concatenate([first, spacing_m * values[others : 2 * others].reshape(-1, 3)]),
            np.exp(values[2 * others : -2]),
            values[-2:],
        )


@dataclass(frozen=True, eq=False)
class RigEstimate:
    """The estimate of a rig from one capture.

    Attributes:
        name: The capture.
        values: What it found, as `SharedRig.values`.
        information: How sure that is.
        slope: Which way the observations alone would go on from there.
    """

    name: str
    values: Float[np.ndarray, " free"]
    information: Float[np.ndarray, "free free"]
    slope: Float[np.ndarray, " free"]

    @classmethod
    def of(cls, name: str, bundle: Bundle, start: Lenses, expected: Expected) -> "RigEstimate":
        """Returns the estimate of an adjusted bundle."""
        information, slope = tell_rig(bundle, start, expected)
        return cls(name, SharedRig.of(bundle.lenses).values(bundle.spacing_m), information, slope)

    def to_json(self) -> dict[str, Any]:
        """Returns it as plain JSON."""
        return {
            "name": self.name,
            "values": self.values.tolist(),
            "information": self.information.tolist(),
            "slope": self.slope.tolist(),
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "RigEstimate":
        """Returns the estimate that `to_json` wrote."""
        return cls(told["name"], *(np.array(told[key]) for key in ("values", "information", "slope")))


def agree(
    captures: Sequence[RigEstimate], expected_rig: SharedRig, expected: Expected, spacing_m: float
) -> SharedRig:
    """Returns the rig that agrees best with its captures and with what was expected of it.

    Args:
        captures: One or more.
        expected_rig: How it was meant.
        expected: How far it may be from that.
        spacing_m: Mean distance of the other cameras from the first.
    """
    if not captures:
        raise InputError("a rig needs one capture or more to be told")
    meant = expected_rig.values(spacing_m)
    others = 3 * (len(expected_rig.focals) - 1)
    deviations = np.concatenate(
        [
            np.full(others, expected.rotation_rad),
            np.full(others, expected.centre),
            np.full(len(expected_rig.focals), expected.focal),
            np.full(2, expected.distortion),
        ]
    )
    values = np.mean([one.values for one in captures], axis=0)
    for _ in range(ROUNDS):
        system = np.diag(1 / deviations**2)
        right = (meant - values) / deviations**2
        for one in captures:
            system = system + one.information
            right = right + one.slope + one.information @ (one.values - values)
        error, by_centre = spacing_error(SharedRig.from_values(values, spacing_m).centres, spacing_m)
        tie = np.zeros(len(values))
        tie[others : 2 * others] = by_centre[1:].ravel()
        system = system + np.outer(tie, tie) / expected.spacing**2
        right = right - tie * error / expected.spacing**2
        values = values + np.linalg.solve(system, right)
    return SharedRig.from_values(values, spacing_m)


def astray(captures: Sequence[RigEstimate]) -> Bool[np.ndarray, " capture"]:
    """Returns a mask of the captures that differ plainly from the median; none of fewer than three."""
    if len(captures) < 3:
        return np.zeros(len(captures), bool)
    values = np.stack([one.values for one in captures])
    others = 3 * ((values.shape[1] + 4) // 7 - 1)
    off = np.abs(values - np.median(values, axis=0))
    turned = off[:, :others].max(axis=1) > ASTRAY_RAD
    return np.asarray(turned | (off[:, others : 2 * others].max(axis=1) > ASTRAY))
