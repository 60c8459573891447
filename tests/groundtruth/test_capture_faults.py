"""What is wrong with a capture is said in a sentence, and never becomes a pose: whole captures, not parts."""

import cv2
import numpy as np
import pytest

from dioptre.errors import InputError
from dioptre.groundtruth.poses import Nominal
from dioptre.groundtruth.reconstruct import observe_capture
from tests.groundtruth.test_bundle import CROSS

SHAPE, FOCAL = (180, 240), 220.0
BLUR = (0.0, 1.5, 3.0, 3.0, 3.0, 1.5, 0.0)  # pixels
SLICES = len(BLUR)  # of which the first and the last have features
SPACING = 0.3  # boards are 2 to 4 m away
NAMES = ("center", "left", "right", "top", "bottom")
CENTRES = CROSS / 0.06 * SPACING
NOMINAL = Nominal(
    NAMES, CENTRES, float(np.mean(np.linalg.norm(CENTRES[1:], axis=1))), FOCAL, np.linspace(0.2, 0.6, SLICES)
)


def texture(seed: int) -> np.ndarray:
    """Blots of all sizes."""
    rng = np.random.default_rng(seed)
    layers = [cv2.GaussianBlur(rng.random((800, 800)), (0, 0), size) for size in (2.0, 4.0, 9.0)]
    total = sum((one - one.mean()) / one.std() for one in layers)
    return np.clip(0.5 + 0.12 * total, 0, 1).astype(np.float32)


WALLS = [(np.array([0.0, 0.0, z]), tilt, texture(at), 220.0, half) for at, (z, tilt, half) in enumerate(
    [(2.2, 0.5, 0.35), (2.8, -0.4, 0.5), (4.0, 0.2, 9.0)])]  # fmt: skip


def picture(turn: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """What a camera sees of three boards, one before the other, tilted."""
    rows, cols = SHAPE
    v, u = np.mgrid[:rows, :cols]
    rays = np.stack([(u - (cols - 1) / 2) / FOCAL, (v - (rows - 1) / 2) / FOCAL, np.ones(SHAPE)])
    rays = np.einsum("ji,jrc->irc", turn, rays)
    seen = np.full(SHAPE, np.nan, np.float32)
    for at, (middle, tilt, paint, scale, half) in enumerate(WALLS):
        aside = np.array([0.5 * (at - 1) * (at < 2), 0.25 * (at - 0.5) * (at < 2), 0])
        place = middle + aside
        across, normal = np.array([np.cos(tilt), 0, np.sin(tilt)]), np.array([-np.sin(tilt), 0, np.cos(tilt)])
        reach = (normal @ (place - centre)) / np.einsum("i,irc->rc", normal, rays)
        hit = reach * rays + (centre - place)[:, None, None]
        x, y = np.einsum("i,irc->rc", across, hit), hit[1]
        colour = cv2.remap(
            paint, (scale * x + 400).astype(np.float32), (scale * y + 400).astype(np.float32),
            cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT,
        )  # fmt: skip
        here = np.isnan(seen) & (np.abs(x) < half) & (np.abs(y) < half) & (reach > 0)
        seen[here] = colour[here]
    return np.nan_to_num(seen, nan=0.5)


@pytest.fixture(scope="module")
def sweeps() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    still = [picture(np.eye(3), centre) for centre in CENTRES]
    return [
        (np.stack([defocused(one, blur) for blur in BLUR]) + 0.004 * rng.standard_normal((SLICES, *SHAPE)))
        .astype(np.float32)
        .clip(0, 1)
        for one in still
    ]


def defocused(one: np.ndarray, sigma: float) -> np.ndarray:
    return cv2.GaussianBlur(one, (0, 0), sigma) if sigma else one


def observe(sweeps: list[np.ndarray]) -> float:
    """Returns by how much the worst camera's place is off, over the spacing."""
    found = observe_capture(sweeps, np.ones(SLICES), NOMINAL, SHAPE).bundle.lenses
    return float(np.abs(found.centres - CENTRES).max() / SPACING)


def test_a_capture_without_fault_is_believed(sweeps: list[np.ndarray]) -> None:
    assert observe(sweeps) < 0.02


def test_exchanged_cameras_are_refused(sweeps: list[np.ndarray]) -> None:
    center, left, right, top, bottom = sweeps
    with pytest.raises(InputError, match="left and right are exchanged"):
        observe([center, right, left, top, bottom])


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
def test_a_blank_slice_is_named(sweeps: list[np.ndarray], level: float) -> None:
    blank = sweeps[3].copy()
    blank[2] = level
    with pytest.raises(InputError, match="slice 2 of top is blank"):
        observe([*sweeps[:3], blank, sweeps[4]])


def test_a_black_slice_with_noise_is_named(sweeps: list[np.ndarray]) -> None:
    dark = sweeps[1].copy()
    dark[4] = np.random.default_rng(3).normal(0.002, 0.002, SHAPE)
    with pytest.raises(InputError, match="slice 4 of left is blank"):
        observe([sweeps[0], dark, *sweeps[2:]])


def test_a_blank_capture_is_refused(sweeps: list[np.ndarray]) -> None:
    with pytest.raises(InputError, match="every slice of center is blank"):
        observe([np.zeros_like(one) for one in sweeps])


def test_a_lens_that_is_stuck_is_named(sweeps: list[np.ndarray]) -> None:
    noise = 0.004 * np.random.default_rng(4).standard_normal(sweeps[4].shape)
    stuck = (sweeps[4][:1] + noise).astype(np.float32)
    with pytest.raises(InputError, match="the lens of bottom is stuck"):
        observe([*sweeps[:4], stuck])


def test_a_camera_that_saw_something_else_is_named(sweeps: list[np.ndarray]) -> None:
    other = np.stack([defocused(texture(9)[: SHAPE[0], : SHAPE[1]], blur) for blur in BLUR])
    with pytest.raises(InputError, match=r"top (shares|has) \d+ points"):
        observe([*sweeps[:3], other, sweeps[4]])


def test_a_plain_scene_is_refused(sweeps: list[np.ndarray]) -> None:
    rng = np.random.default_rng(1)
    plain = [(0.5 + 0.004 * rng.standard_normal(one.shape)).astype(np.float32) for one in sweeps]
    with pytest.raises(InputError, match=r"center (has|shares) \d+ (features|points).*too little"):
        observe(plain)


def test_one_blurred_view_is_named(sweeps: list[np.ndarray]) -> None:
    blurred = np.stack([cv2.GaussianBlur(one, (0, 0), 5) for one in sweeps[2]])
    with pytest.raises(InputError, match="view of right is blurred"):
        observe([*sweeps[:2], blurred, *sweeps[3:]])
