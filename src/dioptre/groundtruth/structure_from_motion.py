"""Poses of a rig from what its cameras saw: structure from motion.

    features in some slices of each sweep
    -> linked over the slices of a camera, whose motion is known, and matched between cameras, slice by slice
    -> tracks -> bundle adjustment (`dioptre.groundtruth.bundle`), outliers left out, again
    -> places to a few hundredths of a pixel (`dioptre.groundtruth.localise`), in focus only -> adjustment

Places and focal lengths are pixels of the whole frame, places from its centre; metres, the first camera's
axes. Metres come from the spacing: the mean distance of the other cameras from the first.

What is found is checked before it is believed: enough points in every camera, most observations explained,
points in front of the cameras, cameras near where they were meant to be, and parallax and focus telling the
same distances. What does not hold is an `InputError` in a sentence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Final

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy.spatial.transform import Rotation
from scipy.stats import theilslopes

from dioptre.errors import InputError
from dioptre.groundtruth.bundle import Expected, adjust
from dioptre.groundtruth.composite import sharpness
from dioptre.groundtruth.features import Features, Image, Tracks, find_features, join, link_near, match
from dioptre.groundtruth.localise import Observations, localise
from dioptre.groundtruth.poses import Adjusted, Nominal
from dioptre.groundtruth.projection import Bundle, Lenses, project, triangulate
from dioptre.groundtruth.register import Motion

ALIGNED_PX = 0.06  # to which `composite.align` tells the axis of a slice, working pixels
AXIS_PX = 0.03  # of its mean over a sweep, likewise
ROUGH_ROUNDS, FINE_ROUNDS = 12, 40  # of the adjustment: to tell outliers, and to the end

Slices = Float32[np.ndarray, "slice rows cols"]


@dataclass(frozen=True)
class FeatureRules:
    """Which features are taken, and which of them are trusted.

    Attributes:
        slices_apart: Slices between those whose features are taken.
        link_px: Pixels of the working picture within which a feature is found again in the next slice.
        in_focus: Share of the greatest sharpness from which on a feature is in focus.
        defocus: Dioptres between a point and the lens up to which its place can be trusted.
        outlier: Deviations from which on an observation is an outlier.
    """

    slices_apart: int = 6
    link_px: float = 1.0
    in_focus: float = 0.5
    defocus: float = 1.4
    outlier: float = 4.0


FEATURES: Final = FeatureRules()


@dataclass(frozen=True)
class Acceptance:
    """What an adjustment must reach to be accepted.

    Attributes:
        least_points: Points that a camera must share with others.
        sure_explained: Share of the observations from which on nobody asks whether cameras are exchanged.
        least_explained: Share of the observations that must be explained.
        least_in_front: Share of the points that must lie in front.
        near: How far a camera may be from where it was meant to be before that is asked, over the spacing.
        astray: How far it may be at all, likewise.
        held: Deviation of the cameras' places where arrangements are compared, over the spacing.
        held_px: Working pixels within which an observation is explained there.
        held_points: Points by which they are compared.
        focus_ratio: The largest ratio of distances by parallax and by focus.
        focus_points: Points by which these are compared, at least.
        spread: Dioptres between near and far points from which on a slope tells.
        slope_points: Points by which the slope is told, at most.
        lens_off: Dioptres by which a lens may be off everywhere.
    """

    least_points: int = 40
    sure_explained: float = 0.75
    least_explained: float = 0.5
    least_in_front: float = 0.9
    near: float = 0.15
    astray: float = 0.5
    held: float = 0.03
    held_px: float = 1.0
    held_points: int = 1000
    focus_ratio: float = 1.35
    focus_points: int = 30
    spread: float = 2.0
    slope_points: int = 400
    lens_off: float = 0.7


ACCEPTED: Final = Acceptance()


def adjust_capture(
    sweeps: Sequence[Slices], motions: Sequence[Motion], nominal: Nominal, factor: int
) -> Adjusted:
    """Returns the estimate of a rig's cameras from one capture.

    Args:
        sweeps: Of each camera, in working pixels.
        motions: How the slices of each moved (`composite.align`).
        nominal: What is known of the rig.
        factor: Pixels of the whole frame along a side of a working pixel.

    Raises:
        InputError: If what was found cannot be believed.
    """
    slices = list(range(0, sweeps[0].shape[0], FEATURES.slices_apart))
    images = [(camera, at) for camera in range(len(sweeps)) for at in slices]
    features = _features(sweeps, motions, slices)
    _check_features(features, nominal)
    links = _links(images, features, motions)
    tracks = join(images, features, links)
    _check_tracks(tracks, nominal)
    begun = _begin(tracks, motions, nominal, factor)
    rough, _, explained = refine(begun, factor)
    if explained < ACCEPTED.sure_explained or _strayed(rough, nominal).max() > ACCEPTED.near:
        refuse_exchanged(begun, nominal, factor)
    _check_geometry(rough, nominal, explained)
    ratio = _focus_ratio(rough, sweeps, nominal, motions, factor)
    fine = _focused(_localised(rough, sweeps, images, factor), images, nominal)
    _check_points(fine, nominal)
    bundle, expected, _ = refine(fine, factor, begun.lenses, (0.1 * factor,))
    _check_points(bundle, nominal)
    return Adjusted(bundle, begun.lenses, expected, np.array(slices), tuple(motions), explained, ratio)


def _localised(bundle: Bundle, sweeps: Sequence[Slices], images: Sequence[Image], factor: int) -> Bundle:
    """Returns the bundle with the places that the pictures tell, without those that they do not."""
    pictures = [sweeps[camera][at] for camera, at in images]
    clear = [sharpness(one) for one in pictures]
    places = bundle.places / factor
    sharp = np.empty(len(places), np.float32)
    for at, one in enumerate(clear):
        mine = bundle.image == at
        sharp[mine] = _read(one, places[mine])
    rotations = Rotation.from_rotvec(bundle.lenses.rotations).as_matrix()[bundle.camera[bundle.image], :2, :2]
    forms = rotations * bundle.lenses.zooms[bundle.image][:, None, None]
    found, good = localise(pictures, Observations(bundle.point, bundle.image, places, forms, sharp))
    return replace(bundle, places=factor * found).keep(np.flatnonzero(good))


def _focused(bundle: Bundle, images: Sequence[Image], nominal: Nominal) -> Bundle:
    """Returns the bundle without what is seen out of focus: towards the edges blur moves things outwards."""
    focus = nominal.dioptres[[at for _, at in images]][bundle.image]
    return bundle.keep(np.flatnonzero(np.abs(focus - bundle.points[bundle.point, 2]) <= FEATURES.defocus))


def _features(
    sweeps: Sequence[Slices], motions: Sequence[Motion], slices: Sequence[int]
) -> dict[Image, Features]:
    """Returns the features of some slices that are in focus there: blur moves the others sideways."""
    found = {}
    for camera, (sweep, motion) in enumerate(zip(sweeps, motions, strict=True)):
        some = sweep[:: max(1, FEATURES.slices_apart // 2)]
        sharp = np.stack([sharpness(one) for one in some]).max(axis=0)
        for at in slices:
            every = find_features(sweep[at])
            still = (every.places - motion.shift[at]) / motion.zoom[at]
            here, there = (
                _read(one, places) for one, places in ((sharpness(sweep[at]), every.places), (sharp, still))
            )
            found[camera, at] = every.keep(here > FEATURES.in_focus * there)
    return found


def _read(
    picture: Float32[np.ndarray, "rows cols"], places: Float[np.ndarray, "_ 2"]
) -> Float32[np.ndarray, " _"]:
    """Returns a picture's pixels at places counted from its centre, held at its border."""
    rows, cols = picture.shape
    at = np.rint(places + np.array([(cols - 1) / 2, (rows - 1) / 2])).astype(int)
    return picture[np.clip(at[:, 1], 0, rows - 1), np.clip(at[:, 0], 0, cols - 1)]


def _check_features(features: Mapping[Image, Features], nominal: Nominal) -> None:
    for camera, name in enumerate(nominal.names):
        count = sum(len(one.places) for (of, _), one in features.items() if of == camera)
        if count < ACCEPTED.least_points:
            raise InputError(
                f"the sweep of {name} has {count} features, fewer than {ACCEPTED.least_points}: there is too "
                "little to see in it, or it is not sharp at any slice"
            )


def _links(
    images: Sequence[Image], features: Mapping[Image, Features], motions: Sequence[Motion]
) -> list[tuple[Image, Image, Int[np.ndarray, "_ 2"]]]:
    """Returns the pairs of features that show one point: over the slices of a camera, and between cameras."""
    links = []
    slices = sorted({at for _, at in images})
    cameras = sorted({camera for camera, _ in images})
    for camera in cameras:
        motion = motions[camera]
        for k, following in pairwise(slices):
            still = (features[camera, k].places - motion.shift[k]) / motion.zoom[k]
            moved = still * motion.zoom[following] + motion.shift[following]
            pairs = link_near(features[camera, k], features[camera, following], moved, FEATURES.link_px)
            links.append(((camera, k), (camera, following), pairs))
    for k in slices:
        for a, b in combinations(cameras, 2):
            links.append(((a, k), (b, k), match(features[a, k], features[b, k])))
    return links


def _check_tracks(tracks: Tracks, nominal: Nominal) -> None:
    camera_of = np.array([camera for camera, _ in tracks.images])
    for camera, name in enumerate(nominal.names):
        count = len(np.unique(tracks.point[camera_of[tracks.image] == camera]))
        if count < ACCEPTED.least_points:
            raise InputError(
                f"{name} shares {count} points with the other cameras, fewer than {ACCEPTED.least_points}: "
                "it saw something else, or too little that can be told apart"
            )


def _begin(tracks: Tracks, motions: Sequence[Motion], nominal: Nominal, factor: int) -> Bundle:
    """Returns the bundle of a rig that was mounted as it was meant."""
    cameras = len(nominal.names)
    zooms = np.array([motions[camera].zoom[at] for camera, at in tracks.images])
    shifts = factor * np.array([motions[camera].shift[at] for camera, at in tracks.images])
    lenses = Lenses(
        np.zeros((cameras, 3)),
        nominal.centres - nominal.centres[0],
        np.full(cameras, nominal.focal_px),
        zooms,
        shifts,
        np.zeros((cameras, 2)),
        np.zeros(2),
    )
    camera = np.array([camera for camera, _ in tracks.images])
    bundle = Bundle(
        lenses,
        np.zeros((tracks.points, 3)),
        camera,
        nominal.dioptres[[at for _, at in tracks.images]],
        tracks.point,
        tracks.image,
        factor * tracks.places,
        nominal.spacing_m,
    )
    return replace(bundle, points=triangulate(bundle))


def refine(
    bundle: Bundle,
    factor: int,
    start: Lenses | None = None,
    begin_px: Sequence[float] = (),
) -> tuple[Bundle, Expected, float]:
    """Returns the adjusted bundle without outliers, its deviations, and the share that was kept.

    Args:
        bundle: Where to begin.
        factor: Pixels of the whole frame along a side of a working pixel.
        start: What is expected of the lenses; those of the bundle.
        begin_px: Deviations of the observations that it begins with; wide ones by default.
    """
    total = max(1, len(bundle.point))
    start = start or bundle.lenses
    for pixel in begin_px or (12.0 * factor, 2.0 * factor):
        bundle = adjust(bundle, start, _expected(pixel, factor), ROUGH_ROUNDS)
    expected = _expected(0.5 * factor, factor)
    for rounds in (ROUGH_ROUNDS, ROUGH_ROUNDS, FINE_ROUNDS):
        far = np.linalg.norm(project(bundle) - bundle.places, axis=1)
        pixel = float(np.clip(1.2 * np.median(far) / 1.18, 0.03 * factor, 3.0 * factor)) if len(far) else 1.0
        expected = _expected(pixel, factor)
        bundle = bundle.keep(np.flatnonzero(far < FEATURES.outlier * pixel))
        if len(bundle.points) < ACCEPTED.least_points:
            break
        bundle = adjust(bundle, start, expected, rounds)
    return bundle, expected, len(bundle.point) / total


def _expected(pixel: float, factor: int) -> Expected:
    """Returns the expected deviations of a capture whose slices were aligned in working pixels."""
    return Expected(pixel=pixel, shift_px=ALIGNED_PX * factor, axis_px=AXIS_PX * factor)


def refuse_exchanged(begun: Bundle, nominal: Nominal, factor: int) -> None:
    """Raises if two cameras, exchanged, explain more of what was seen than all of them as told.

    How much cameras explain depends on the scene. So arrangements are compared on the same points, with the
    cameras held where each arrangement has them: free ones would walk to where they are.
    """
    told = explained_by(begun, range(len(nominal.names)), factor)
    orders = {}
    for pair in combinations(range(len(nominal.names)), 2):
        order = list(range(len(nominal.names)))
        order[pair[0]], order[pair[1]] = order[pair[1]], order[pair[0]]
        orders[pair] = explained_by(begun, order, factor)
    first, second = max(orders, key=lambda pair: orders[pair])
    most = orders[first, second]
    if most > told:
        raise InputError(
            f"{nominal.names[first]} and {nominal.names[second]} are exchanged: cameras that stand as told "
            f"explain {told:.0%} of what was seen, and {most:.0%} with these two exchanged"
        )


def explained_by(begun: Bundle, order: Sequence[int], factor: int) -> float:
    """Returns the share of observations that cameras explain which stand where others were meant to.

    Args:
        begun: A rig as it was meant.
        order: Whose place each camera takes.
        factor: Pixels of the whole frame along a side of a working pixel.
    """
    centres = begun.lenses.centres[list(order)]
    centres = centres - centres[0]
    spacing = float(np.mean(np.linalg.norm(centres[1:], axis=1)))
    some = replace(_most_seen(begun), lenses=replace(begun.lenses, centres=centres), spacing_m=spacing)
    some = replace(some, points=triangulate(some))
    start = some.lenses
    for pixel in (12.0 * factor, 2.0 * factor):
        some = adjust(some, start, replace(_expected(pixel, factor), centre=ACCEPTED.held), ROUGH_ROUNDS)
    far = np.linalg.norm(project(some) - some.places, axis=1)
    return float(np.mean(far < ACCEPTED.held_px * factor))


def _most_seen(bundle: Bundle) -> Bundle:
    """Returns the bundle of the points that most cameras saw."""
    pairs = np.unique(np.stack([bundle.point, bundle.camera[bundle.image]]), axis=1)
    cameras = np.bincount(pairs[0], minlength=len(bundle.points))
    most = np.argsort(-cameras, kind="stable")[: ACCEPTED.held_points]
    return bundle.keep(np.flatnonzero(np.isin(bundle.point, most)))


def _strayed(bundle: Bundle, nominal: Nominal) -> Float[np.ndarray, " camera"]:
    """Returns how far cameras are from where they were meant to be, over the spacing."""
    meant = nominal.centres - nominal.centres[0]
    return np.linalg.norm(bundle.lenses.centres - meant, axis=1) / nominal.spacing_m


def _check_geometry(bundle: Bundle, nominal: Nominal, explained: float) -> None:
    if explained < ACCEPTED.least_explained:
        raise InputError(
            f"cameras that stand as told explain {explained:.0%} of what was seen, not "
            f"{ACCEPTED.least_explained:.0%}: do they stand so, or did something move?"
        )
    in_front = float(np.mean(bundle.points[:, 2] > 0)) if len(bundle.points) else 0.0
    if in_front < ACCEPTED.least_in_front:
        raise InputError(
            f"{1 - in_front:.0%} of the points lie behind the cameras: are two cameras exchanged?"
        )
    astray = _strayed(bundle, nominal)
    worst = int(np.argmax(astray))
    if astray[worst] > ACCEPTED.astray:
        arm_mm = 1e3 * nominal.spacing_m
        raise InputError(
            f"{nominal.names[worst]} is {arm_mm * astray[worst]:.0f} mm from where it should be, on arms of "
            f"{arm_mm:.0f} mm: are two cameras exchanged?"
        )
    _check_points(bundle, nominal)


def _check_points(bundle: Bundle, nominal: Nominal) -> None:
    camera = bundle.camera[bundle.image]
    for at, name in enumerate(nominal.names):
        count = len(np.unique(bundle.point[camera == at]))
        if count < ACCEPTED.least_points:
            raise InputError(
                f"{name} has {count} points left that agree with the others, not {ACCEPTED.least_points}"
            )


def _focus_ratio(
    bundle: Bundle, sweeps: Sequence[Slices], nominal: Nominal, motions: Sequence[Motion], factor: int
) -> float:
    """Returns the ratio of points' dioptres by parallax to those by where the first camera is sharp.

    Raises:
        InputError: If that is far from 1: the spacing, or the focus distances, are not what was said.
    """
    stack, motion = sweeps[0], motions[0]
    camera = bundle.camera[bundle.image]
    seen, first = np.unique(bundle.point[camera == 0], return_index=True)
    observed = np.flatnonzero(camera == 0)[first]
    image = bundle.image[observed]
    zoom, shift = bundle.lenses.zooms[image], bundle.lenses.shifts[image]
    still = (bundle.places[observed] - shift) / zoom[:, None] / factor
    curves = []
    rows, cols = stack.shape[1:]
    for k in range(0, len(stack), 2):
        at = still * motion.zoom[k] + motion.shift[k] + ((cols - 1) / 2, (rows - 1) / 2)
        x, y = (np.clip(at[:, axis], 0, size - 1).astype(int) for axis, size in ((0, cols), (1, rows)))
        curves.append(sharpness(stack[k])[y, x])
    curve = np.stack(curves, axis=1)
    peak = curve.argmax(axis=1)
    clear = (peak > 1) & (peak < curve.shape[1] - 2) & (curve.max(axis=1) > 2 * np.median(curve, axis=1))
    if clear.sum() < ACCEPTED.focus_points:
        return float("nan")
    return _compare_with_focus(bundle.points[seen, 2][clear], nominal.dioptres[::2][peak[clear]], nominal)


def _compare_with_focus(
    parallax: Float[np.ndarray, " _"], focus: Float[np.ndarray, " _"], nominal: Nominal
) -> float:
    """Returns the ratio of dioptres by parallax to those by focus; raises if it cannot be right.

    A lens may be off by a constant (its grid was calibrated elsewhere, or when it was colder), and where a
    picture is sharpest is uncertain: one of three is enough, the ratio, the slope or a small difference.
    """
    ratio, slope = float(np.median(parallax / focus)), float("nan")
    low, high = np.percentile(focus, [10, 90])
    if high - low >= ACCEPTED.spread:
        slope = float(theilslopes(parallax[: ACCEPTED.slope_points], focus[: ACCEPTED.slope_points])[0])
    off = abs(float(np.median(parallax - focus)))
    believed = off < ACCEPTED.lens_off or any(
        1 / ACCEPTED.focus_ratio < one < ACCEPTED.focus_ratio for one in (ratio, slope)
    )
    if not believed:
        raise InputError(
            f"points are {ratio:.2f} times as near by parallax as by focus: is the spacing of the cameras, "
            f"{1e3 * nominal.spacing_m:.1f} mm, right, and do the cameras stand where it says?"
        )
    return ratio
