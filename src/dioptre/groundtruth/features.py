"""Features, matches and tracks: places in several pictures that show the same point of the world.

A picture is one (camera, slice) of a capture. Places are (x, y) pixels of the whole frame from its centre,
and at the far slice's scale for matches only; an observation keeps the place where its slice has it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from dioptre.stack import Picture

MOST_FEATURES = 1500  # of a picture
LEAST_CONTRAST = 0.02  # of SIFT
RATIO = 0.85  # of the best to the second best descriptor: Lowe's test
EPIPOLAR_PX = 1.5  # of the working picture, by which a match may miss its line
LEAST_MATCHES = 16  # of two pictures, to be believed

Image = tuple[int, int]  # camera, slice


@dataclass(frozen=True, eq=False)
class Features:
    """The features of a picture.

    Attributes:
        places: (feature, 2) pixels of the working picture from its centre.
        descriptors: (feature, 128), RootSIFT.
    """

    places: Float[np.ndarray, "feature 2"]
    descriptors: Float32[np.ndarray, "feature 128"]

    def keep(self, which: Bool[np.ndarray, " feature"]) -> "Features":
        """Returns some of them."""
        return Features(self.places[which], self.descriptors[which])


@dataclass(frozen=True, eq=False)
class Tracks:
    """Observations of points.

    Attributes:
        images: The pictures, (camera, slice).
        point: Which point each observation is of.
        image: Which picture it is in, as a position in `images`.
        places: (observation, 2) pixels from the picture's centre.
    """

    images: tuple[Image, ...]
    point: Int[np.ndarray, " observation"]
    image: Int[np.ndarray, " observation"]
    places: Float[np.ndarray, "observation 2"]

    @property
    def points(self) -> int:
        """How many points there are."""
        return int(self.point.max()) + 1 if len(self.point) else 0


def find_features(picture: Picture) -> Features:
    """Returns the SIFT features of a picture in linear light."""
    level = cv2.GaussianBlur(picture, (0, 0), max(picture.shape) / 16)
    even = np.sqrt(np.maximum(picture, 0) / np.maximum(level, np.float32(1e-6)))
    codes = np.clip(even * 100, 0, 255).astype(np.uint8)
    sift = cv2.SIFT.create(nfeatures=MOST_FEATURES, contrastThreshold=LEAST_CONTRAST)
    points, descriptors = sift.detectAndCompute(codes, None)
    if descriptors is None or not len(points):
        return Features(np.empty((0, 2)), np.empty((0, 128), np.float32))
    rows, cols = picture.shape
    places = np.array([point.pt for point in points]) - ((cols - 1) / 2, (rows - 1) / 2)
    norms = np.maximum(descriptors.sum(axis=1, keepdims=True), 1e-6)
    return Features(places, np.sqrt(descriptors / norms).astype(np.float32))


def match(a: Features, b: Features) -> Int[np.ndarray, "match 2"]:
    """Returns pairs of features that are each other's best, plainly better than the second, on one geometry.

    Few pairs that agree are none: LEAST_MATCHES.
    """
    nothing = np.empty((0, 2), np.int64)
    if min(len(a.places), len(b.places)) < LEAST_MATCHES:
        return nothing
    alike = a.descriptors @ b.descriptors.T
    there, back = alike.argmax(axis=1), alike.argmax(axis=0)
    one = np.arange(len(a.places))
    best = alike[one, there]
    second = np.partition(alike, -2, axis=1)[:, -2]
    far = np.sqrt(np.maximum(2 - 2 * best, 0)), np.sqrt(np.maximum(2 - 2 * second, 1e-12))
    good = (back[there] == one) & (far[0] < RATIO * far[1])
    pairs = np.stack([one[good], there[good]], axis=1)
    if len(pairs) < LEAST_MATCHES:
        return nothing
    places = a.places[pairs[:, 0]], b.places[pairs[:, 1]]
    try:
        _, kept = cv2.findFundamentalMat(*places, cv2.USAC_MAGSAC, EPIPOLAR_PX, 0.999, 2000)
    except cv2.error:  # it asserts that there is a geometry
        return nothing
    if kept is None:
        return nothing
    pairs = pairs[kept.ravel() > 0]
    return pairs if len(pairs) >= LEAST_MATCHES else nothing


def link_near(
    a: Features, b: Features, moved: Float[np.ndarray, "feature 2"], within_px: float
) -> Int[np.ndarray, "match 2"]:
    """Returns pairs of features of two pictures whose motion is known.

    Args:
        a: Features of one.
        b: Of the other.
        moved: Where the features of `a` are expected in the other.
        within_px: How far off they may be.
    """
    if not len(a.places) or not len(b.places):
        return np.empty((0, 2), np.int64)
    far = np.hypot(*(moved[:, None, :] - b.places[None]).transpose(2, 0, 1))
    unlike = np.sqrt(np.maximum(2 - 2 * (a.descriptors @ b.descriptors.T), 0))
    cost = np.where(far < within_px, unlike, np.inf)
    there, back, one = cost.argmin(axis=1), cost.argmin(axis=0), np.arange(len(a.places))
    good = (back[there] == one) & (cost[one, there] < 0.6)
    return np.stack([one[good], there[good]], axis=1)


def join(
    images: Sequence[Image],
    features: Mapping[Image, Features],
    links: Sequence[tuple[Image, Image, Int[np.ndarray, "_ 2"]]],
) -> Tracks:
    """Returns the tracks that links between features form.

    A track with two features in one picture is wrong somewhere and is left out, as is one that only
    one camera has seen.
    """
    first = np.cumsum([0, *(len(features[image].places) for image in images)])
    start = {image: int(at) for image, at in zip(images, first, strict=False)}
    parent = np.arange(int(first[-1]))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = int(parent[at])
        return at

    for a, b, pairs in links:
        for i, j in pairs.tolist():
            parent[root(start[a] + i)] = root(start[b] + j)
    roots = np.array([root(at) for at in range(len(parent))])
    image_of = np.repeat(np.arange(len(images)), np.diff(first))
    camera_of = np.array([camera for camera, _ in images])[image_of]
    order = np.argsort(roots, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(roots[order])) + 1) if len(order) else []
    chosen = [
        group
        for group in groups
        if len(set(camera_of[group].tolist())) >= 2 and len(set(image_of[group].tolist())) == len(group)
    ]
    if not chosen:
        return Tracks(tuple(images), np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 2)))
    point = np.repeat(np.arange(len(chosen)), [len(group) for group in chosen])
    members = np.concatenate(chosen)
    places = np.concatenate([features[image].places for image in images])
    return Tracks(tuple(images), point, image_of[members], places[members])
