"""Bundle adjustment: poses, lenses and points that explain where points are seen, by least squares.

The model is `dioptre.groundtruth.projection`. What pictures cannot tell, or only barely, is held by
expectations, each with its deviation: where cameras were meant to stand, their focal length, how scale goes
from slice to slice; and the mean distance of the cameras from the first, which gives metres.

Levenberg and Marquardt's method; points are eliminated (Schur's complement), so that the system that is
solved has only the cameras' unknowns. Outliers are weighed down (Cauchy's loss). It stops once whole,
undamped steps no longer lower the cost: a general solver that stops when the reprojection error looks low
leaves cameras turned towards each other a little, and with that a bias of every depth.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix
from scipy.spatial.transform import Rotation

from dioptre.groundtruth.projection import Bundle, Lenses, derive, offsets, project, see

ROUNDS = 40  # of Levenberg and Marquardt, at most
SETTLED = 1e-7  # relative fall of the cost, while steps are nearly undamped
UNDAMPED = 1e-6
FIRST_DAMPING = 1e-4
FOCUS_OFF = 0.4  # dioptres by which a lens is off its told focus, as a deviation
CAUCHY = 2.0  # residuals in deviations from which on they are weighed down


@dataclass(frozen=True)
class Expected:
    """The standard deviations of unknowns around their initial values; 0 holds one fixed.

    Attributes:
        rotation_rad: Of a camera.
        centre: Of a camera's place, over the spacing.
        focal: Of a camera's focal length, relative.
        zoom: Of a picture's scale, relative.
        shift_px: Of where the axis meets a picture.
        outwards: Of how far a dioptre out of focus moves things outwards, tangents.
        axis_px: Of the mean of that over a camera's pictures: turning a camera moves all of it as well, so
            that the axis is by definition where it is on the average.
        distortion: Of each of its coefficients.
        spacing: Of the mean distance of the cameras from the first, relative.
        pixel: Of an observation.
    """

    rotation_rad: float = 0.1
    centre: float = 0.2
    focal: float = 0.004
    zoom: float = 3e-4
    shift_px: float = 0.3
    outwards: float = 3e-4
    axis_px: float = 0.03
    distortion: float = 0.05
    spacing: float = 1e-5
    pixel: float = 0.3


def adjust(bundle: Bundle, start: Lenses, expected: Expected, rounds: int = ROUNDS) -> Bundle:
    """Returns the bundle that explains its observations best.

    Args:
        bundle: A start.
        start: Where unknowns are expected; usually the bundle's own lenses.
        expected: How far they stray from there.
        rounds: How many steps at most; few are enough to tell outliers.
    """
    damping, cost = FIRST_DAMPING, _cost(bundle, start, expected)
    for _ in range(rounds):
        system = _normal(bundle, start, expected)
        for _ in range(12):
            step = _solve(system, damping)
            moved = _moved(bundle, *step)
            new = _cost(moved, start, expected)
            if new < cost:
                break
            damping *= 8
        else:
            return bundle
        settled = cost - new <= SETTLED * cost and damping <= UNDAMPED
        bundle, cost, damping = moved, new, max(damping / 8, 1e-12)
        if settled:
            break
    return bundle


def _deviations(bundle: Bundle, expected: Expected) -> Float[np.ndarray, " unknown"]:
    cameras, images = len(bundle.lenses.focals), len(bundle.camera)
    first = np.zeros(3)  # the first camera is the origin
    return np.concatenate(
        [
            first,
            np.full(3 * (cameras - 1), expected.rotation_rad),
            first,
            np.full(3 * (cameras - 1), expected.centre),
            np.full(cameras, expected.focal),
            np.full(images, expected.zoom),
            np.full(2 * images, expected.shift_px),
            np.tile([expected.outwards, FOCUS_OFF * expected.outwards], cameras),
            np.full(2, expected.distortion),
        ]
    )


def _strayed(bundle: Bundle, start: Lenses) -> Float[np.ndarray, " unknown"]:
    """Returns the residuals of the cameras' unknowns against their expected values."""
    now = bundle.lenses
    return np.concatenate(
        [
            (now.rotations - start.rotations).ravel(),
            (now.centres - start.centres).ravel() / bundle.spacing_m,
            np.log(now.focals / start.focals),
            np.log(now.zooms / start.zooms),
            (now.shifts - start.shifts).ravel(),
            (now.outwards - start.outwards).ravel(),
            now.distortion - start.distortion,
        ]
    )


def _moved(
    bundle: Bundle, cameras: Float[np.ndarray, " unknown"], points: Float[np.ndarray, "_ 3"]
) -> Bundle:
    """Returns the bundle a step away."""
    t, c, f, z, s, o, b, end = offsets(bundle)
    old = bundle.lenses
    rotations = (
        Rotation.from_rotvec(cameras[t:c].reshape(-1, 3)) * Rotation.from_rotvec(old.rotations)
    ).as_rotvec()
    lenses = Lenses(
        rotations,
        old.centres + bundle.spacing_m * cameras[c:f].reshape(-1, 3),
        old.focals * np.exp(cameras[f:z]),
        old.zooms * np.exp(cameras[z:s]),
        old.shifts + cameras[s:o].reshape(-1, 2),
        old.outwards + cameras[o:b].reshape(-1, 2),
        old.distortion + cameras[b:end],
    )
    return replace(bundle, lenses=lenses, points=bundle.points + points)


def _ties(
    bundle: Bundle, start: Lenses, expected: Expected
) -> tuple[Float[np.ndarray, " tie"], Float[np.ndarray, "tie unknown"]]:
    """Returns the residuals that tie several unknowns together, in deviations, and their derivatives.

    First the spacing, then the mean axis of each camera, x and y.
    """
    _, c, f, _, s, _, _, unknowns = offsets(bundle)
    error, by_centre = spacing_error(bundle.lenses.centres, bundle.spacing_m)
    cameras = len(bundle.lenses.focals)
    slopes = np.zeros((1 + 2 * cameras, unknowns))
    slopes[0, c:f] = by_centre.ravel() / expected.spacing
    own = (bundle.camera == np.arange(cameras)[:, None]).astype(float)
    own /= np.maximum(own.sum(axis=1, keepdims=True), 1) * expected.axis_px
    images = s + 2 * np.arange(len(bundle.camera))
    slopes[1::2, images], slopes[2::2, images + 1] = own, own
    axes = own @ (bundle.lenses.shifts - start.shifts)
    return np.concatenate([[error / expected.spacing], axes.ravel()]), slopes


def spacing_error(
    centres: Float[np.ndarray, "camera 3"], spacing_m: float
) -> tuple[float, Float[np.ndarray, "camera 3"]]:
    """Returns the relative error of the mean distance from the first camera, and its derivatives.

    The derivatives are those by places in units of the spacing.
    """
    apart = centres - centres[0]
    far = np.linalg.norm(apart, axis=1)
    far[0] = np.inf
    slope = apart / far[:, None] / (len(apart) - 1)
    slope[0] = 0
    return float(np.mean(far[1:]) / spacing_m - 1), slope


def _weights(
    residuals: Float[np.ndarray, "observation 2"], pixel: float
) -> tuple[Float[np.ndarray, " observation"], float]:
    """Returns Cauchy's weights of observations, and their cost."""
    square = (residuals**2).sum(axis=1) / (pixel * CAUCHY) ** 2
    return 1 / (1 + square), float(CAUCHY**2 * np.log1p(square).sum())


def _cost(bundle: Bundle, start: Lenses, expected: Expected) -> float:
    residuals = project(bundle) - bundle.places
    deviations = _deviations(bundle, expected)
    free = deviations > 0
    strayed = _strayed(bundle, start)[free] / deviations[free]
    ties = _ties(bundle, start, expected)[0]
    total = _weights(residuals, expected.pixel)[1] + float(strayed @ strayed) + float(ties @ ties)
    return total if np.isfinite(total) else np.inf


def tell_rig(
    bundle: Bundle, start: Lenses, expected: Expected
) -> tuple[Float[np.ndarray, "free free"], Float[np.ndarray, " free"]]:
    """Returns the normal equations of the unknowns that captures of one rig share, by observations alone.

    Points, zooms and shifts are eliminated. The result is the information on rotations, centres, log focal
    lengths and distortion, in this order and without the first camera's pose, and its right-hand side: the
    most likely step from where the bundle is solves both.
    """
    nothing = np.inf  # expected of what is shared: that is counted once, not once a capture
    data = replace(
        expected, rotation_rad=nothing, centre=nothing, focal=nothing, distortion=nothing, spacing=nothing
    )
    system = _normal(bundle, start, data)
    inverse = np.linalg.inv(system.points + 1e-9 * np.eye(3))
    both = system.both.reshape(len(system.free), -1, 3).transpose(1, 0, 2)
    product = (both @ inverse).transpose(1, 0, 2).reshape(len(system.free), -1)
    reduced = system.cameras - product @ system.both.T
    right = system.camera_slope - product @ system.point_slope.ravel()
    _, _, _, z, _, _, b, _ = offsets(bundle)
    own = (system.free >= z) & (system.free < b)
    across = reduced[np.ix_(~own, own)] @ np.linalg.inv(reduced[np.ix_(own, own)])
    return reduced[np.ix_(~own, ~own)] - across @ reduced[np.ix_(own, ~own)], right[~own] - across @ right[
        own
    ]


@dataclass(frozen=True, eq=False)
class _System:
    """Normal equations, in parts.

    Attributes:
        cameras: (free, free) of the cameras' unknowns.
        points: (point, 3, 3) of the points'.
        both: (free, 3 points) of both.
        camera_slope: (free,) right-hand side.
        point_slope: (point, 3) right-hand side.
        free: Which unknowns of the cameras are not held fast.
        unknowns: How many there are.
    """

    cameras: Float[np.ndarray, "free free"]
    points: Float[np.ndarray, "point 3 3"]
    both: Float[np.ndarray, "free three_points"]
    camera_slope: Float[np.ndarray, " free"]
    point_slope: Float[np.ndarray, "point 3"]
    free: Int[np.ndarray, " free"]
    unknowns: int


def _normal(bundle: Bundle, start: Lenses, expected: Expected) -> _System:
    """Returns the normal equations at a state."""
    seen = see(bundle)
    by_camera, columns, by_point = derive(bundle, seen)
    residuals = seen.places - bundle.places
    weight = np.sqrt(_weights(residuals, expected.pixel)[0]) / expected.pixel
    residuals, by_camera = residuals * weight[:, None], by_camera * weight[:, None, None]
    by_point = by_point * weight[:, None, None]
    unknowns, observations, points = offsets(bundle)[-1], len(bundle.point), len(bundle.points)
    rows = np.repeat(np.arange(2 * observations), by_camera.shape[2])
    across = np.repeat(columns, 2, axis=0).ravel()
    camera = csr_matrix((by_camera.ravel(), (rows, across)), (2 * observations, unknowns))
    point_columns = np.repeat(3 * bundle.point[:, None] + np.arange(3), 2, axis=0).ravel()
    point_rows = np.repeat(np.arange(2 * observations), 3)
    point = csr_matrix((by_point.ravel(), (point_rows, point_columns)), (2 * observations, 3 * points))
    deviations = _deviations(bundle, expected)
    free = np.flatnonzero(deviations > 0)
    camera = camera[:, free]
    expect = np.diag(1 / deviations[free] ** 2)
    slope = -(camera.T @ residuals.ravel()) - _strayed(bundle, start)[free] / deviations[free] ** 2
    tied, ties = _ties(bundle, start, expected)
    ties = ties[:, free]
    hessian = (camera.T @ camera).toarray() + expect + ties.T @ ties
    blocks = np.einsum("oia,oib->oab", by_point, by_point)
    own = np.zeros((points, 3, 3))
    np.add.at(own, bundle.point, blocks)
    return _System(
        hessian,
        own,
        (camera.T @ point).toarray(),
        slope - ties.T @ tied,
        -(point.T @ residuals.ravel()).reshape(-1, 3),
        free,
        unknowns,
    )


def _solve(
    system: _System, damping: float
) -> tuple[Float[np.ndarray, " unknown"], Float[np.ndarray, "point 3"]]:
    """Returns the step of the cameras' unknowns and of the points, points eliminated."""
    points = system.points + damping * np.eye(3) * (
        np.einsum("pii->p", system.points)[:, None, None] / 3 + 1e-6
    )
    inverse = np.linalg.inv(points)
    both = system.both.reshape(len(system.free), -1, 3).transpose(1, 0, 2)
    product = np.ascontiguousarray((both @ inverse).transpose(1, 0, 2)).reshape(len(system.free), -1)
    cameras = system.cameras + damping * np.diag(np.diag(system.cameras))
    reduced = cameras - product @ system.both.T
    right = system.camera_slope - product @ system.point_slope.ravel()
    try:
        step = np.linalg.solve(reduced, right)
    except np.linalg.LinAlgError:
        step = np.zeros(len(system.free))
    rest = system.point_slope - (system.both.T @ step).reshape(-1, 3)
    whole = np.zeros(system.unknowns)
    whole[system.free] = step
    return whole, np.einsum("pij,pj->pi", inverse, rest)
