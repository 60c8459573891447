"""Poses of pictures from anywhere: any that overlap, of one camera, taken by hand or by a rig.

    features and matches of all pairs -> tracks
    -> two pictures with many matches and some parallax: the essential matrix, points
    -> picture by picture: where it was, from the points that it sees; more points; bundle adjustment
    -> outliers left out, one focal length for all, adjustment to the end

Pictures tell no metres: the unit is the mean distance of the others from the first picture, unless that is
known. Places are pixels from the centre of a picture, where the axis is taken to be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import cv2
import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial.transform import Rotation

from dioptre.errors import InputError
from dioptre.groundtruth.bundle import Expected, adjust
from dioptre.groundtruth.features import Tracks, find_features, join, match
from dioptre.groundtruth.poses import Poses
from dioptre.groundtruth.projection import Bundle, Lenses, project
from dioptre.stack import Picture

PAIRS_TRIED = 12  # of those with most matches, to begin with
ENOUGH_PARALLAX = np.radians(6.0)  # more does not make a first pair better
LEAST_PARALLAX = np.radians(0.5)  # median of a first pair
LEAST_SEEN = 15  # points by which a picture is placed
MISS_PX = 4.0  # by which a point may miss its place while pictures are added
OUTLIER = 4.0  # deviations
ROUNDS = 10  # of the adjustment after each picture
STRAY = Expected(
    turn_rad=10.0, centre=100.0, focal=0.1, zoom=0.0, shift_px=0.0, outwards=0.0, bend=0.1, spacing=1e-4
)
ONE_LENS = 1e-3  # how much focal lengths of one camera may differ in the end


@dataclass(eq=False)
class _State:
    """What is known so far: pose (turn, centre) of some pictures, places of some points."""

    tracks: Tracks
    focal_px: float
    turns: dict[int, Float[np.ndarray, "3 3"]] = field(default_factory=dict)
    centres: dict[int, Float[np.ndarray, "3"]] = field(default_factory=dict)
    points: dict[int, Float[np.ndarray, "3"]] = field(default_factory=dict)
    bend: Float[np.ndarray, "2"] = field(default_factory=lambda: np.zeros(2))

    def flat(self, which: Int[np.ndarray, " _"]) -> Float[np.ndarray, "_ 2"]:
        """Returns observations as tangents."""
        return self.tracks.places[which] / self.focal_px

    def seen_in(self, image: int) -> Int[np.ndarray, " _"]:
        """Returns the observations of a picture."""
        return np.flatnonzero(self.tracks.image == image)


def pose_pictures(
    pictures: Sequence[Picture], names: Sequence[str], focal_px: float, spacing: float = 1.0
) -> Poses:
    """Returns where pictures were taken; those that could not be placed are not among the names.

    Args:
        pictures: Linear or not, of one size.
        names: What they are called.
        focal_px: Focal length, roughly.
        spacing: Mean distance of the others from the first, in the unit that is wanted.

    Raises:
        InputError: If fewer than two can be placed.
    """
    if len(pictures) < 2:
        raise InputError(f"poses are told by two pictures or more, not {len(pictures)}")
    if not focal_px > 0 or not spacing > 0:
        raise InputError(f"a focal length and a spacing are positive, not {focal_px:g} and {spacing:g}")
    images = [(at, 0) for at in range(len(pictures))]
    features = {image: find_features(one) for image, one in zip(images, pictures, strict=True)}
    links = [(a, b, match(features[a], features[b])) for a, b in combinations(images, 2)]
    tracks = join(images, features, links)
    state = _State(tracks, focal_px)
    _begin(state, [(a[0], b[0], len(pairs)) for a, b, pairs in links])
    while (image := _next(state)) is not None:
        if not _place(state, image):
            break
        _add_points(state)
        _settle(state, spacing)
    bundle, used, explained = _finish(state, spacing)
    return _poses(bundle, [names[at] for at in used], explained)


def _begin(state: _State, pairs: Sequence[tuple[int, int, int]]) -> None:
    """Places the first two pictures and their points."""
    best, found = 0.0, None
    for a, b, _ in sorted(pairs, key=lambda pair: -pair[2])[:PAIRS_TRIED]:
        one = _pair(state, a, b)
        if one is not None and one[0] > best:
            best, found = one[0], (a, b, *one[1:])
    if found is None:
        raise InputError(
            f"no two of {len(state.tracks.images)} pictures have {LEAST_SEEN} points in common that show "
            "parallax: they do not overlap, or were taken from one place"
        )
    a, b, turn, centre = found
    state.turns.update({a: np.eye(3), b: turn})
    state.centres.update({a: np.zeros(3), b: centre})
    _add_points(state)


def _pair(
    state: _State, a: int, b: int
) -> tuple[float, Float[np.ndarray, "3 3"], Float[np.ndarray, "3"]] | None:
    """Returns how good a start two pictures are, and the second one's pose before the first; None if bad."""
    own, other = state.seen_in(a), state.seen_in(b)
    _, i, j = np.intersect1d(state.tracks.point[own], state.tracks.point[other], return_indices=True)
    if len(i) < LEAST_SEEN:
        return None
    x, y = state.flat(own[i]), state.flat(other[j])
    miss = MISS_PX / 2 / state.focal_px
    essential, kept = cv2.findEssentialMat(x, y, np.eye(3), cv2.RANSAC, 0.999, miss)
    if essential is None or essential.shape != (3, 3):
        return None
    count, turn, move, kept = cv2.recoverPose(essential, x, y, np.eye(3), mask=kept)
    if count < LEAST_SEEN:
        return None
    good = kept.ravel() > 0
    turned = np.concatenate([y[good], np.ones((good.sum(), 1))], axis=1) @ turn
    ahead = np.concatenate([x[good], np.ones((good.sum(), 1))], axis=1)
    cosine = (turned * ahead).sum(1) / np.linalg.norm(turned, axis=1) / np.linalg.norm(ahead, axis=1)
    parallax = float(np.median(np.arccos(np.clip(cosine, -1, 1))))
    if parallax < LEAST_PARALLAX:
        return None
    return count * min(parallax, ENOUGH_PARALLAX), turn, -turn.T @ move.ravel()


def _next(state: _State) -> int | None:
    """Returns the picture that sees most of the points; None if none sees enough."""
    known = np.isin(state.tracks.point, list(state.points))
    seen = np.bincount(state.tracks.image[known], minlength=len(state.tracks.images))
    seen[list(state.turns)] = 0
    image = int(seen.argmax())
    return image if seen[image] >= LEAST_SEEN else None


def _place(state: _State, image: int) -> bool:
    """Places a picture by the points that it sees; False if these do not agree."""
    seen = np.array([at for at in state.seen_in(image) if state.tracks.point[at] in state.points])
    world = np.stack([state.points[int(state.tracks.point[at])] for at in seen])
    good, turn, move, kept = cv2.solvePnPRansac(
        world, state.flat(seen), np.eye(3), None, reprojectionError=MISS_PX / state.focal_px,
        iterationsCount=500, flags=cv2.SOLVEPNP_EPNP,
    )  # fmt: skip
    if not good or kept is None or len(kept) < LEAST_SEEN:
        return False
    inside = kept.ravel()
    turn, move = cv2.solvePnPRefineLM(world[inside], state.flat(seen[inside]), np.eye(3), None, turn, move)
    state.turns[image] = Rotation.from_rotvec(turn.ravel()).as_matrix()
    state.centres[image] = -state.turns[image].T @ move.ravel()
    return True


def _add_points(state: _State) -> None:
    """Adds the points that two placed pictures or more see where they should."""
    placed = np.isin(state.tracks.image, list(state.turns))
    order = np.flatnonzero(placed)
    order = order[np.argsort(state.tracks.point[order], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(state.tracks.point[order])) + 1)
    for group in groups:
        point = int(state.tracks.point[group[0]])
        if point in state.points or len(group) < 2:
            continue
        images = state.tracks.image[group]
        turns = np.stack([state.turns[int(at)] for at in images])
        centres = np.stack([state.centres[int(at)] for at in images])
        place = _triangulated(turns, centres, state.flat(group))
        local = np.einsum("oij,oj->oi", turns, place - centres)
        if (local[:, 2] <= 0).any():
            continue
        miss = np.linalg.norm(local[:, :2] / local[:, 2:] - state.flat(group), axis=1)
        if miss.max() < MISS_PX / state.focal_px:
            state.points[point] = place


def _triangulated(
    turns: Float[np.ndarray, "o 3 3"], centres: Float[np.ndarray, "o 3"], flat: Float[np.ndarray, "o 2"]
) -> Float[np.ndarray, "3"]:
    """Returns the point whose tangents are those seen, by linear least squares."""
    rows = turns[:, :2] - flat[:, :, None] * turns[:, 2:]
    right = np.einsum("oij,oj->oi", rows, centres)
    return np.linalg.lstsq(rows.reshape(-1, 3), right.ravel(), rcond=None)[0]


def _bundle(state: _State, spacing: float) -> tuple[Bundle, list[int], list[int]]:
    """Returns what is known as a bundle, and which pictures and points it is of."""
    used, points = list(state.turns), list(state.points)
    position = {image: at for at, image in enumerate(used)}
    number = {point: at for at, point in enumerate(points)}
    which = np.flatnonzero(np.isin(state.tracks.image, used) & np.isin(state.tracks.point, points))
    centres = np.stack([state.centres[image] for image in used])
    scale = spacing / float(np.mean(np.linalg.norm(centres[1:], axis=1)))
    places = scale * np.stack([state.points[point] for point in points])
    z = np.where(np.abs(places[:, 2]) < 1e-6, 1e-6, places[:, 2])
    lenses = Lenses(
        Rotation.from_matrix(np.stack([state.turns[image] for image in used])).as_rotvec(),
        scale * centres,
        np.full(len(used), state.focal_px),
        np.ones(len(used)),
        np.zeros((len(used), 2)),
        np.zeros((len(used), 2)),
        state.bend,
    )
    bundle = Bundle(
        lenses,
        np.stack([places[:, 0] / z, places[:, 1] / z, 1 / z], axis=1),
        np.arange(len(used)),
        np.zeros(len(used)),
        np.array([number[int(point)] for point in state.tracks.point[which]]),
        np.array([position[int(image)] for image in state.tracks.image[which]]),
        state.tracks.places[which],
        spacing,
    )
    return bundle, used, points


def _settle(state: _State, spacing: float) -> None:
    """Adjusts what is known, with one focal length, and drops points that are nowhere."""
    bundle, used, points = _bundle(state, spacing)
    bundle = adjust(bundle, _expected_lenses(bundle, state.focal_px), replace(STRAY, pixel=1.0), ROUNDS)
    far = np.linalg.norm(project(bundle) - bundle.places, axis=1)
    wrong = set(np.unique(bundle.point[far > 2 * MISS_PX]).tolist())
    lenses = bundle.lenses
    turns = Rotation.from_rotvec(lenses.turns).as_matrix()
    state.focal_px, state.bend = float(np.exp(np.mean(np.log(lenses.focals)))), lenses.bend
    state.turns = {image: turns[at] for at, image in enumerate(used)}
    state.centres = {image: lenses.centres[at] for at, image in enumerate(used)}
    rho = np.where(np.abs(bundle.points[:, 2]) < 1e-9, 1e-9, bundle.points[:, 2])
    places = np.concatenate([bundle.points[:, :2], np.ones((len(rho), 1))], axis=1) / rho[:, None]
    state.points = {point: places[at] for at, point in enumerate(points) if at not in wrong}


def _expected_lenses(bundle: Bundle, focal_px: float) -> Lenses:
    """Returns what is expected: of the poses nothing, of the lenses one focal length and no distortion."""
    return replace(bundle.lenses, focals=np.full(len(bundle.lenses.focals), focal_px), bend=np.zeros(2))


def _finish(state: _State, spacing: float) -> tuple[Bundle, list[int], float]:
    """Returns the bundle adjusted to the end, its pictures, and the share of observations kept."""
    bundle, used, _ = _bundle(state, spacing)
    total = max(1, int(np.isin(state.tracks.image, used).sum()))
    focal = state.focal_px
    for strays in (STRAY.focal, 0.01, ONE_LENS):
        far = np.linalg.norm(project(bundle) - bundle.places, axis=1)
        pixel = float(np.clip(1.2 * np.median(far) / 1.18, 0.03, MISS_PX))
        bundle = bundle.keep(_inside(far, OUTLIER * pixel))
        expected = replace(STRAY, pixel=pixel, focal=strays)
        bundle = adjust(bundle, _expected_lenses(bundle, focal), expected)
        focal = float(np.exp(np.mean(np.log(bundle.lenses.focals))))
    return bundle, used, len(bundle.point) / total


def _inside(far: Float[np.ndarray, " o"], limit: float) -> Int[np.ndarray, " _"]:
    good: Bool[np.ndarray, " o"] = far < limit
    return np.flatnonzero(good)


def _poses(bundle: Bundle, names: Sequence[str], explained: float) -> Poses:
    lenses, count = bundle.lenses, len(names)
    rho = np.where(np.abs(bundle.points[:, 2]) < 1e-6, 1e-6, bundle.points[:, 2])
    points = np.concatenate([bundle.points[:, :2], np.ones((len(rho), 1))], axis=1) / rho[:, None]
    seen = np.full((len(points), count, 2), np.nan)
    seen[bundle.point, bundle.image] = bundle.places
    far = np.linalg.norm(project(bundle) - bundle.places, axis=1)
    return Poses(
        tuple(names), Rotation.from_rotvec(lenses.turns).as_matrix(), lenses.centres, lenses.focals,
        np.zeros((count, 2)), lenses.bend, np.ones((count, 1)), points, seen,
        float(np.median(far) / 1.18), explained, float("nan"),
    )  # fmt: skip
