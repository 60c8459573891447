"""Where features are, to a few hundredths of a pixel: windows of all pictures of a point against one of them.

A feature's place by SIFT is good to a tenth of a pixel or two. What poses hang on is the difference of a
point's places, and that is told far better by the pictures themselves: of each point the sharpest picture is
the anchor, and the window about each other place is moved until it looks like the anchor's, gain and offset
fitted with it (Lucas and Kanade's method, Gaussian windows). The window's scale and rotation are those of the
cameras, as far as they are known. Pictures are interpolated by splines: OpenCV's cubics move a slope by up to
a twentieth of a pixel, back and forth from pixel to pixel.

Places are (x, y) pixels of the working picture from its centre.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int
from scipy.ndimage import map_coordinates, spline_filter

from dioptre.stack import Picture

HALF = 7  # of a window, pixels
SIGMA = 3.0  # of its weights
ROUNDS = 6
FARTHEST_PX = 1.0  # that a place may move
SETTLED_PX = 0.02  # the last step of a place that has settled
ALIKE = 0.9  # correlation of windows that show the same

Windows = Float32[np.ndarray, "_ side side"]


@dataclass(frozen=True, eq=False)
class Observations:
    """Observations of points in pictures.

    Attributes:
        point: Which point each is of.
        image: Which picture it is in.
        places: Where.
        forms: (observation, 2, 2) how a small step in the world's plane becomes one in the picture: scale and
            rotation of the camera.
        sharpness: Of the picture there.
    """

    point: Int[np.ndarray, " o"]
    image: Int[np.ndarray, " o"]
    places: Float[np.ndarray, "o 2"]
    forms: Float[np.ndarray, "o 2 2"]
    sharpness: Float32[np.ndarray, " o"]


def localise(
    pictures: Sequence[Picture], seen: Observations
) -> tuple[Float[np.ndarray, "o 2"], Bool[np.ndarray, " o"]]:
    """Returns the places of observations relative to their points' anchors, and which of them are good.

    Anchors stay where they are, and are good if any of the others is.
    """
    pictures = [spline_filter(one, order=3, output=np.float32, mode="mirror") for one in pictures]
    anchor = _anchors(seen)
    fixed = _windows(pictures, seen.image[anchor], seen.places[anchor], seen.forms[anchor])
    places, last = seen.places.copy(), np.zeros(len(seen.point))
    alike = np.zeros(len(seen.point))
    for _ in range(ROUNDS):
        step, alike = _step(pictures, seen, places, fixed)
        last = np.hypot(*step.T)
        places = places + np.clip(step, -FARTHEST_PX, FARTHEST_PX)
    moved = np.hypot(*(places - seen.places).T)
    own = anchor == np.arange(len(anchor))
    places[own] = seen.places[own]
    good = (moved < FARTHEST_PX) & (last < SETTLED_PX) & (alike > ALIKE) & ~own
    some = np.bincount(seen.point[good], minlength=int(seen.point.max()) + 1) > 0
    return places, good | (own & some[seen.point])


def _anchors(seen: Observations) -> Int[np.ndarray, " o"]:
    """Returns of each observation the sharpest one of its point."""
    order = np.lexsort((-seen.sharpness, seen.point))
    points, first = np.unique(seen.point[order], return_index=True)
    best = np.zeros(int(points.max()) + 1, np.int64)
    best[points] = order[first]
    return best[seen.point]


def _windows(
    pictures: Sequence[Picture],
    image: Int[np.ndarray, " o"],
    places: Float[np.ndarray, "o 2"],
    forms: Float[np.ndarray, "o 2 2"],
) -> Windows:
    """Returns the windows of pictures about places; the pictures are coefficients of splines."""
    steps = np.arange(-HALF, HALF + 1, dtype=np.float64)
    grid = np.stack(np.meshgrid(steps, steps), axis=-1)
    out = np.empty((len(image), len(steps), len(steps)), np.float32)
    for at in np.unique(image):
        mine = np.flatnonzero(image == at)
        rows, cols = pictures[at].shape
        where = np.einsum("oij,rcj->orci", forms[mine], grid) + places[mine][:, None, None]
        middle = np.array([(cols - 1) / 2, (rows - 1) / 2])
        x, y = np.moveaxis(where + middle, -1, 0)
        out[mine] = map_coordinates(pictures[at], [y, x], order=3, mode="mirror", prefilter=False)
    return out


def _step(
    pictures: Sequence[Picture], seen: Observations, places: Float[np.ndarray, "o 2"], fixed: Windows
) -> tuple[Float[np.ndarray, "o 2"], Float[np.ndarray, " o"]]:
    """Returns the step of each window, in pixels of its picture, and its correlation with its anchor."""
    now = _windows(pictures, seen.image, places, seen.forms)
    steps = np.arange(-HALF, HALF + 1)
    weight = np.exp(-(steps[:, None] ** 2 + steps**2) / (2 * SIGMA**2)).astype(np.float32)[1:-1, 1:-1]
    weight = weight / weight.sum()
    dx, dy = (now[:, 1:-1, 2:] - now[:, 1:-1, :-2]) / 2, (now[:, 2:, 1:-1] - now[:, :-2, 1:-1]) / 2
    here, there = (_centred(one[:, 1:-1, 1:-1], weight) for one in (now, fixed))
    dx, dy = _centred(dx, weight), _centred(dy, weight)

    def dot(a: Windows, b: Windows) -> Float[np.ndarray, " o"]:
        return np.einsum("orc,orc,rc->o", a, b, weight, dtype=np.float64)

    normal = np.empty((len(now), 3, 3))
    parts = (dx, dy, here)
    for i, one in enumerate(parts):
        for j, other in enumerate(parts[: i + 1]):
            normal[:, i, j] = normal[:, j, i] = dot(one, other)
    wanted = np.stack([dot(one, there) for one in parts], axis=1)
    normal += 1e-6 * np.einsum("oii->o", normal)[:, None, None] * np.eye(3) + 1e-12 * np.eye(3)
    fit = np.linalg.solve(normal, wanted[:, :, None])[:, :, 0]
    gain = np.where(np.abs(fit[:, 2]) > 0.1, fit[:, 2], np.inf)
    moved = np.einsum("oij,oj->oi", seen.forms, fit[:, :2] / gain[:, None])
    norm = np.sqrt(normal[:, 2, 2] * dot(there, there))
    return moved, wanted[:, 2] / np.maximum(norm, 1e-12)


def _centred(windows: Windows, weight: Float32[np.ndarray, "_ _"]) -> Windows:
    mean = np.einsum("orc,rc->o", windows, weight)
    return windows - mean[:, None, None]
