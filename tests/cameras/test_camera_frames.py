"""Pictures as people have them, made frames."""

import numpy as np
import pytest

from dioptre.cameras.frames import to_frame
from dioptre.errors import CameraError

RAMP = np.linspace(0, 1, 12).reshape(3, 4)


@pytest.mark.parametrize(
    ("picture", "error"),
    [
        (np.rint(255 * RAMP).astype(np.uint8), 0.5 / 255),
        (np.rint(65535 * RAMP).astype(np.uint16), 0.5 / 65535),
        (RAMP.astype(np.float16), 1e-3),
        (RAMP, 1e-7),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_white_is_the_types_own(picture: np.ndarray, error: float) -> None:
    frame = to_frame(picture, (1, 3, 4))
    assert (frame.dtype, frame.shape) == (np.float32, (1, 3, 4))
    np.testing.assert_allclose(frame[0], RAMP, atol=error + 1e-6)
    np.testing.assert_array_equal(to_frame(picture[None]), frame)


def test_a_frame_stays_what_it_is() -> None:
    frame = np.stack([RAMP, RAMP / 2]).astype(np.float32)
    assert to_frame(frame) is frame
    assert to_frame(frame, (2, 3, 4)) is frame


@pytest.mark.parametrize(
    ("picture", "wanted", "sentence"),
    [
        (RAMP, (2, 3, 4), r"shape \(3, 4\), expected \(2, 3, 4\) \(view, row, col\)$"),
        (np.zeros((3, 3, 4)), None, r"shape \(3, 3, 4\), expected .*; of a colour picture take green"),
        (np.zeros((5, 3, 8)), None, r"shape \(5, 3, 8\), expected .* with 1 or 2 views$"),
        (np.zeros((3, 4, 3), np.uint8), (1, 3, 4), r"of a colour picture take green: picture\[\.\.\., 1\]"),
        (np.zeros((0, 4)), None, r"shape \(0, 4\), expected"),
        (RAMP.astype(np.int32), None, r"dtype int32, expected uint8, uint16, or floats from 0 \(black\)"),
        (255 * RAMP, None, r"float64 up to 255, expected 0 \(black\) to 1 \(white\)"),
        (np.full((3, 4), np.inf), None, "12 of 12 pixels are not finite"),
        ("a.png", None, "no frame: 'a.png'"),
    ],
)
def test_what_is_no_frame_is_said(picture: object, wanted: tuple | None, sentence: str) -> None:
    with pytest.raises(CameraError, match=sentence):
        to_frame(picture, wanted)
