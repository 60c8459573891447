import numpy as np
import pytest

from dioptre.errors import InputError
from dioptre.optics import CameraModel
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.frame import WorldView, render_strips
from dioptre.simulate.rig import lone_phone
from dioptre.simulate.sensor import LEVELS, Noise
from dioptre.simulate.world import FULL, Surface, World
from lab.rigs.frame_crop import read_window, render_window

CAMERA = CameraModel.pixel3()
TEXTURE = (0.2 + 0.6 * np.random.default_rng(0).random((128, 128))).astype(np.float32)


def board(depth: float, half: float = 0.0) -> Surface:
    place = np.array([0.0, 0.0, 1 / depth])
    return Surface("board", place, np.eye(3), np.array([half, half, 0.0]), TEXTURE, np.zeros(2), FULL)


SEEN = WorldView(
    World((board(5.0, 0.004), board(2.0)), 2 * CAMERA.focal_length_px),
    lone_phone(PhoneOptics.center()),
    CAMERA,
    (160, 200),
)
FOCUS, AXIS, GAIN = np.array([2.0, 6.0]), np.array([[1.0, -2.0], [0.5, 3.0]]), np.full(2, 0.3, np.float32)


def test_a_window_is_what_the_frame_has_there() -> None:
    strips = render_strips(SEEN, FOCUS, AXIS, GAIN)
    frame = np.concatenate([strip for _, strip in strips], axis=2)
    top, left, size = 40, 70, 64
    window = render_window(SEEN, (top, left), size, FOCUS, AXIS, GAIN)
    there = frame[..., top : top + size, left : left + size]
    noise = np.sqrt(0.3 * LEVELS * there + 1.2**2) / LEVELS
    assert float(np.sqrt(np.mean((window - there) ** 2))) < 0.5 * float(noise.mean())
    moved = frame[..., top : top + size, left + 1 : left + 1 + size]
    assert np.abs(window - there).mean() < 0.2 * np.abs(window - moved).mean()


def test_a_window_is_read_with_the_native_rows_about_it() -> None:
    quiet = [
        read_window(SEEN, (40, col), 32, FOCUS, AXIS, GAIN, Noise.none(), np.random.default_rng(0))
        for col in (70, 72)
    ]
    assert quiet[0].shape == (2, 2, 32 // 2 + 2, 32)
    assert np.abs(quiet[0][..., 2:].astype(int) - quiet[1][..., :-2].astype(int)).max() <= 2
    with pytest.raises(InputError, match="even row"):
        read_window(SEEN, (41, 70), 32, FOCUS, AXIS, GAIN, Noise.none(), np.random.default_rng(0))
