"""What is wrong with a capture is said in a sentence, and never becomes a pose: whole captures, not parts."""

import cv2
import numpy as np
import pytest

from dioptre.errors import InputError
from dioptre.groundtruth.poses import Nominal
from dioptre.groundtruth.reconstruct import observe_capture
from tests.groundtruth.test_bundle import CROSS
from tests.groundtruth.test_freehand import FOCAL, SHAPE, picture, texture

SLICES = 7  # of which the first and the last have features
SPACING = 0.3  # boards are 2 to 4 m away
NAMES = ("center", "left", "right", "top", "bottom")
CENTRES = CROSS / 0.06 * SPACING
NOMINAL = Nominal(
    NAMES, CENTRES, float(np.mean(np.linalg.norm(CENTRES[1:], axis=1))), FOCAL, np.linspace(0.2, 0.6, SLICES)
)


@pytest.fixture(scope="module")
def sweeps() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    still = [picture(np.eye(3), centre) for centre in CENTRES]
    return [
        (one + 0.004 * rng.standard_normal((SLICES, *SHAPE))).astype(np.float32).clip(0, 1) for one in still
    ]


def observe(sweeps: list[np.ndarray]) -> float:
    """Returns by how much the worst camera's place is off, over the spacing."""
    found = observe_capture(sweeps, np.ones(SLICES), NOMINAL, SHAPE).bundle.lenses
    return float(np.abs(found.centres - CENTRES).max() / SPACING)


def test_a_capture_without_fault_is_believed(sweeps: list[np.ndarray]) -> None:
    assert observe(sweeps) < 0.02


def test_exchanged_cameras_are_refused(sweeps: list[np.ndarray]) -> None:
    center, left, right, top, bottom = sweeps
    with pytest.raises(InputError, match="exchanged"):
        observe([center, right, left, top, bottom])


def test_a_camera_that_saw_something_else_is_named(sweeps: list[np.ndarray]) -> None:
    other = np.broadcast_to(texture(9)[: SHAPE[0], : SHAPE[1]], (SLICES, *SHAPE)).copy()
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
