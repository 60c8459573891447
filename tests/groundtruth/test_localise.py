import cv2
import numpy as np
from scipy.ndimage import map_coordinates

from dioptre.groundtruth.localise import Observations, localise

TEXTURE = cv2.GaussianBlur(np.random.default_rng(0).random((120, 160)).astype(np.float32), (0, 0), 1.5)


def moved(shift: tuple[float, float], turn: float = 0.0, gain: float = 1.0) -> np.ndarray:
    """The texture, turned about its middle and moved, in other light."""
    y, x = np.mgrid[-59.5:60, -79.5:80]
    x, y = x - shift[0], y - shift[1]
    back = np.cos(turn) * x + np.sin(turn) * y + 79.5, np.cos(turn) * y - np.sin(turn) * x + 59.5
    return gain * map_coordinates(TEXTURE, back[::-1], order=3, mode="mirror") + np.float32(0.01)


def test_places_are_told_to_hundredths_of_a_pixel_in_other_light_and_turned() -> None:
    shift, turn = (0.37, -0.21), 0.03
    pictures = [TEXTURE, moved(shift, turn, 0.6)]
    rng = np.random.default_rng(1)
    first = rng.uniform((-50, -35), (50, 35), (40, 2))
    form = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    second = first @ form.T + shift
    places = np.concatenate([first, second + rng.normal(0, 0.2, second.shape)])
    seen = Observations(
        np.tile(np.arange(40), 2),
        np.repeat([0, 1], 40),
        places,
        np.concatenate([np.broadcast_to(np.eye(2), (40, 2, 2)), np.broadcast_to(form, (40, 2, 2))]),
        np.repeat([2.0, 1.0], 40).astype(np.float32),
    )
    found, good = localise(pictures, seen)
    assert good.mean() > 0.9
    assert np.array_equal(found[:40], first)  # the sharper picture is the anchor
    assert np.abs(found[40:] - second)[good[40:]].max() < 0.02


def test_what_shows_something_else_is_not_good() -> None:
    other = np.random.default_rng(5).random((120, 160)).astype(np.float32)
    eye = np.broadcast_to(np.eye(2), (2, 2, 2))
    seen = Observations(np.zeros(2, np.int64), np.arange(2), np.zeros((2, 2)), eye, np.ones(2, np.float32))
    assert not localise([TEXTURE, other], seen)[1].any()
