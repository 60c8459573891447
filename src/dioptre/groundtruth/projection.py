"""How a rig sees points: places in pictures from poses, lenses and points, and their derivatives.

The model of a picture (camera c, slice k) of a point whose ray from the first camera is (u, v, 1) and whose
inverse depth there is rho, one over metres:

    (X, Y, Z) = rotation_c ((u, v, 1) - rho centre_c)       a point at infinity is nothing special
    place = shift_ck + focal_c zoom_ck (1 + b1 r^2 + b2 r^4 + (o_c d + p_c) / sqrt(r^2 + FIELD^2)) (X, Y) / Z

with r^2 = (X^2 + Y^2) / Z^2 and d = rho / Z - focus_ck: how many dioptres nearer the point is than where the
lens was told to focus. Off axis a lens passes more light through one side of its pupil, so that what is out
of focus is seen farther out or farther in, by so much for each dioptre (o_c), more towards the edge of the
field and from about FIELD on alike. p_c is the same of a lens that is off its told focus by p_c / o_c.

The first camera is the origin. The cameras' unknowns are one vector: rotations, centres, log focal lengths,
log zooms, shifts, outwards, distortion. Their lengths: an angle in radians, a place in units of the spacing,
pixels.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

FIELD = 0.27  # tangent from which on what is out of focus moves outwards alike
BEGIN_RHO = 2.0  # dioptres, of a point that the first camera does not see


@dataclass(frozen=True, eq=False)
class Lenses:
    """The cameras of a bundle.

    Attributes:
        rotations: (camera, 3) rotation vectors, from the first camera's axes to each.
        centres: (camera, 3) places in the first camera's axes, metres.
        focals: (camera,) focal lengths at the far slice, pixels.
        zooms: (image,) scale of each picture relative to that.
        shifts: (image, 2) where the axis meets each picture, pixels.
        outwards: (camera, 2) how far a dioptre out of focus moves things outwards, and an error of the focus,
            tangents.
        distortion: b1 and b2, of all cameras.
    """

    rotations: Float[np.ndarray, "camera 3"]
    centres: Float[np.ndarray, "camera 3"]
    focals: Float[np.ndarray, " camera"]
    zooms: Float[np.ndarray, " image"]
    shifts: Float[np.ndarray, "image 2"]
    outwards: Float[np.ndarray, "camera 2"]
    distortion: Float[np.ndarray, "2"]


@dataclass(frozen=True, eq=False)
class Bundle:
    """A state of the adjustment.

    Attributes:
        lenses: The cameras.
        points: (point, 3): u, v, rho.
        camera: (image,) which camera took each picture.
        focus: (image,) where it was told to focus, dioptres.
        point: (observation,) which point.
        image: (observation,) which picture.
        places: (observation, 2) pixels.
        spacing_m: Mean distance of the other cameras from the first.
    """

    lenses: Lenses
    points: Float[np.ndarray, "point 3"]
    camera: Int[np.ndarray, " image"]
    focus: Float[np.ndarray, " image"]
    point: Int[np.ndarray, " observation"]
    image: Int[np.ndarray, " observation"]
    places: Float[np.ndarray, "observation 2"]
    spacing_m: float

    def keep(self, which: np.ndarray) -> "Bundle":
        """Returns the bundle with some of its observations, and the points that two cameras or more saw."""
        camera = self.camera[self.image[which]]
        pairs = np.unique(self.point[which] * len(self.lenses.focals) + camera)
        counts = np.bincount(pairs // len(self.lenses.focals), minlength=len(self.points))
        which = which[counts[self.point[which]] >= 2]
        left, point = np.unique(self.point[which], return_inverse=True)
        return replace(
            self, points=self.points[left], point=point, image=self.image[which], places=self.places[which]
        )


def project(bundle: Bundle) -> Float[np.ndarray, "observation 2"]:
    """Returns the projection of each observation's point, in pixels."""
    return see(bundle).places


def offsets(bundle: Bundle) -> tuple[int, int, int, int, int, int, int, int]:
    """Returns the offset of each part of the cameras' unknowns, and their number."""
    cameras, images = len(bundle.lenses.focals), len(bundle.camera)
    sizes = np.cumsum([0, 3 * cameras, 3 * cameras, cameras, images, 2 * images, 2 * cameras, 2])
    return tuple(int(size) for size in sizes)  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class ProjectionSteps:
    """The steps of each observation's projection: world, camera, distortion, picture.

    Attributes:
        camera: Which camera took it.
        rotations: Its rotation.
        local: The point in the camera's axes, times rho.
        flat: The same divided by its z.
        bent: By what distortion and blur multiply.
        defocus: Dioptres by which it is nearer than the focus.
        inner: Square root of r^2 + FIELD^2.
        scale: Focal length of the picture, pixels.
        places: Where it is seen.
    """

    camera: Int[np.ndarray, " o"]
    rotations: Float[np.ndarray, "o 3 3"]
    local: Float[np.ndarray, "o 3"]
    flat: Float[np.ndarray, "o 2"]
    bent: Float[np.ndarray, " o"]
    defocus: Float[np.ndarray, " o"]
    inner: Float[np.ndarray, " o"]
    scale: Float[np.ndarray, " o"]
    places: Float[np.ndarray, "o 2"]


def see(bundle: Bundle) -> ProjectionSteps:
    """Returns the steps of each observation's projection."""
    lenses, image = bundle.lenses, bundle.image
    camera = bundle.camera[image]
    rotations = Rotation.from_rotvec(lenses.rotations).as_matrix()[camera]
    u, v, rho = bundle.points[bundle.point].T
    before = np.stack([u, v, np.ones_like(u)], axis=1) - rho[:, None] * lenses.centres[camera]
    local = np.einsum("oij,oj->oi", rotations, before)
    local[:, 2] = np.where(np.abs(local[:, 2]) < 1e-6, 1e-6, local[:, 2])
    flat = local[:, :2] / local[:, 2:]
    r2 = (flat**2).sum(axis=1)
    bent = 1 + (lenses.distortion[0] + lenses.distortion[1] * r2) * r2
    defocus, inner = rho / local[:, 2] - bundle.focus[image], np.sqrt(r2 + FIELD**2)
    bent = bent + (lenses.outwards[camera, 0] * defocus + lenses.outwards[camera, 1]) / inner
    scale = lenses.focals[camera] * lenses.zooms[image]
    places = lenses.shifts[image] + (scale * bent)[:, None] * flat
    return ProjectionSteps(camera, rotations, local, flat, bent, defocus, inner, scale, places)


def derive(
    bundle: Bundle, seen: ProjectionSteps
) -> tuple[Float[np.ndarray, "o 2 14"], Int[np.ndarray, "o 14"], Float[np.ndarray, "o 2 3"]]:
    """Returns derivatives by the cameras' unknowns, which unknowns those are, and those by the points'."""
    lenses, image, camera, flat = bundle.lenses, bundle.image, seen.camera, seen.flat
    rho, (b1, b2), r2 = bundle.points[bundle.point, 2], lenses.distortion, (flat**2).sum(axis=1)
    by_flat = seen.bent[:, None, None] * np.eye(2)
    out, more = lenses.outwards[camera].T
    by_r2 = 2 * b1 + 4 * b2 * r2 - (out * seen.defocus + more) / seen.inner**3
    by_flat = by_flat + by_r2[:, None, None] * (flat[:, :, None] * flat[:, None, :])
    by_local = np.zeros((len(rho), 2, 3))
    by_local[:, 0, 0] = by_local[:, 1, 1] = 1 / seen.local[:, 2]
    by_local[:, :, 2] = -flat / seen.local[:, 2:]
    by_local = (by_flat * seen.scale[:, None, None]) @ by_local
    away_inner = (seen.scale / seen.inner)[:, None] * flat
    by_defocus = out[:, None] * away_inner
    by_local[:, :, 2] -= by_defocus * (rho / seen.local[:, 2] ** 2)[:, None]
    by_world = by_local @ seen.rotations
    away = (seen.places - lenses.shifts[image])[:, :, None]
    bends = (seen.scale[:, None] * flat)[:, :, None] * np.stack([r2, r2**2], axis=1)[:, None, :]
    by_camera = np.concatenate(
        [
            by_local @ _crossed(seen.local),
            -by_world * (rho * bundle.spacing_m)[:, None, None],
            away,
            away,
            np.broadcast_to(np.eye(2), (len(rho), 2, 2)),
            away_inner[:, :, None] * np.stack([seen.defocus, np.ones_like(rho)], axis=1)[:, None, :],
            bends,
        ],
        axis=2,
    )
    by_depth = -(by_world @ lenses.centres[camera][:, :, None])
    by_depth += (by_defocus / seen.local[:, 2:])[:, :, None]
    return by_camera, _columns(bundle, camera), np.concatenate([by_world[:, :, :2], by_depth], axis=2)


def _crossed(local: Float[np.ndarray, "o 3"]) -> Float[np.ndarray, "o 3 3"]:
    """Returns how points move with a small rotation of their axes."""
    out = np.zeros((len(local), 3, 3))
    x, y, z = local.T
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 0] = z, -y, -z
    out[:, 1, 2], out[:, 2, 0], out[:, 2, 1] = x, y, -x
    return out


def _columns(bundle: Bundle, camera: Int[np.ndarray, " o"]) -> Int[np.ndarray, "o 14"]:
    """Returns the columns of the cameras' unknowns that each observation depends on."""
    t, c, f, z, s, o, b, _ = offsets(bundle)
    image = bundle.image[:, None]
    return np.concatenate(
        [
            t + 3 * camera[:, None] + np.arange(3),
            c + 3 * camera[:, None] + np.arange(3),
            f + camera[:, None],
            z + image,
            s + 2 * image + np.arange(2),
            o + 2 * camera[:, None] + np.arange(2),
            np.broadcast_to(b + np.arange(2), (len(camera), 2)),
        ],
        axis=1,
    )


def triangulate(bundle: Bundle) -> Float[np.ndarray, "point 3"]:
    """Returns rays and inverse depths of points by least squares, as if no camera were turned.

    A place over the focal length is then (u, v) - rho centre, which is linear in what is wanted.
    """
    lenses, image = bundle.lenses, bundle.image
    camera = bundle.camera[image]
    flat = (bundle.places - lenses.shifts[image]) / (lenses.focals[camera] * lenses.zooms[image])[:, None]
    centre = lenses.centres[camera][:, :2]
    count = np.bincount(bundle.point, minlength=len(bundle.points)).astype(float)

    def mean(values: Float[np.ndarray, " o"]) -> Float[np.ndarray, " point"]:
        return np.bincount(bundle.point, values, len(bundle.points)) / count

    at = np.stack([mean(flat[:, axis]) for axis in (0, 1)], axis=1)
    middle = np.stack([mean(centre[:, axis]) for axis in (0, 1)], axis=1)
    apart, moved = centre - middle[bundle.point], flat - at[bundle.point]
    along = np.bincount(bundle.point, -(apart * moved).sum(axis=1), len(bundle.points))
    wide = np.bincount(bundle.point, (apart**2).sum(axis=1), len(bundle.points))
    rho = np.clip((along + BEGIN_RHO * 1e-6) / (wide + 1e-6), 0.0, 12.0)
    return np.concatenate([at + rho[:, None] * middle, rho[:, None]], axis=1)
