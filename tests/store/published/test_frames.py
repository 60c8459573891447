"""Frames of the published data set as files."""

import cv2
import numpy as np
import pytest

from dioptre.errors import CaptureFileError
from dioptre.store.labels import patch_corners
from dioptre.store.published.frames import (
    HEADER_BYTES,
    decode_frame,
    native_to_upsampled,
    read_header,
    rotate_corners,
    rotate_frame,
    unrotate_frame,
    upsampled_to_native,
)

RNG = np.random.default_rng(0)
NATIVE = (RNG.integers(0, 1024, (40, 30)) << 4).astype(np.uint16)  # as in a file


def png(codes: np.ndarray) -> bytes:
    return cv2.imencode(".png", codes)[1].tobytes()


# Files


def test_upsampling_is_the_formula_of_the_published_files() -> None:
    out = native_to_upsampled(NATIVE)
    codes = NATIVE.astype(float)
    assert out.shape == (40, 60)
    for k in range(30):
        before, after = codes[:, max(k - 1, 0)], codes[:, min(k + 1, 29)]
        np.testing.assert_array_equal(out[:, 2 * k], 0.25 * before + 0.75 * codes[:, k])
        np.testing.assert_array_equal(out[:, 2 * k + 1], 0.75 * codes[:, k] + 0.25 * after)


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (40, 30)])
def test_upsampled_frames_give_back_their_native_codes(shape: tuple[int, int]) -> None:
    native = (RNG.integers(0, 1024, shape) << 4).astype(np.uint16)
    native.flat[0] = 16368
    np.testing.assert_array_equal(upsampled_to_native(native_to_upsampled(native)), native)


@pytest.mark.parametrize("rotate", ["ccw", "cw"])
def test_both_forms_of_a_frame_are_the_same(rotate: str) -> None:
    raw = decode_frame(png(NATIVE), "a.png", "raw", rotate)
    up = decode_frame(png(native_to_upsampled(NATIVE)), "a.png", "up", rotate)
    assert raw.shape == (30, 40)
    np.testing.assert_array_equal(raw, up)
    np.testing.assert_array_equal(unrotate_frame(raw, rotate), NATIVE)


def test_all_16_bits_are_read() -> None:
    assert decode_frame(png(NATIVE), "a.png", "raw", "ccw").max() > 16000


def test_what_was_not_upsampled_is_refused_as_such() -> None:
    for codes in (NATIVE, cv2.resize(native_to_upsampled(NATIVE), (50, 40)), NATIVE[:, :29]):
        with pytest.raises(CaptureFileError, match=r"odd\.png is not a native frame"):
            decode_frame(png(np.ascontiguousarray(codes)), "odd.png", "up", "ccw")


def test_8_bit_files_are_the_high_bytes() -> None:
    low = (NATIVE >> 8).astype(np.uint8)
    found = decode_frame(png(low), "a.png", "raw", "ccw")
    np.testing.assert_array_equal(found, rotate_frame(low.astype(np.uint16) << 8, "ccw"))
    up = decode_frame(png((native_to_upsampled(NATIVE) >> 8).astype(np.uint8)), "a.png", "up", "ccw")
    assert up.shape == found.shape
    assert np.corrcoef(up.ravel(), found.ravel())[0, 1] > 0.9


def test_damaged_frames_are_named() -> None:
    data = png(NATIVE)
    broken = bytearray(data)
    broken[len(data) // 2] ^= 1
    for bad in (data[:-10], bytes(broken), b"", b"nonsense"):
        with pytest.raises(CaptureFileError, match=r"7/left\.png"):
            decode_frame(bad, "7/left.png", "raw", "ccw")


def test_the_header_tells_the_frame_and_the_bits() -> None:
    portrait = np.zeros((2016, 756), np.uint16)
    header = read_header(png(portrait)[:HEADER_BYTES], "a.png", "raw")
    assert (header.frame, header.bits) == ((1512, 2016), 16)
    header = read_header(png(np.zeros((2016, 1512), np.uint8))[:HEADER_BYTES], "a.png", "up")
    assert (header.frame, header.bits) == ((1512, 2016), 8)


def test_wrong_headers_are_named() -> None:
    colour = cv2.imencode(".png", np.zeros((4, 4, 3), np.uint16))[1].tobytes()
    odd = png(np.zeros((4, 5), np.uint16))
    for data, form, said in (
        (b"", "raw", "cut short"),
        (b"x" * 100, "raw", "not a PNG"),
        (colour, "raw", "not grey"),
        (odd, "up", "5 columns"),
    ):
        with pytest.raises(CaptureFileError, match=f"a.png.*{said}"):
            read_header(data[:HEADER_BYTES], "a.png", form)


# Orientation


def test_ccw_puts_the_top_of_a_file_to_the_left() -> None:
    portrait = np.arange(12).reshape(4, 3)
    landscape = rotate_frame(portrait, "ccw")
    for row in range(4):
        for col in range(3):
            assert landscape[2 - col, row] == portrait[row, col]


@pytest.mark.parametrize("rotate", ["ccw", "cw"])
def test_patches_keep_their_pixels_when_they_are_turned(rotate: str) -> None:
    portrait = RNG.integers(0, 9999, (50, 40))
    corners = patch_corners((50, 40), 16, 7)
    landscape = rotate_frame(portrait, rotate)
    for (row, col), (to_row, to_col) in zip(
        corners, rotate_corners(corners, (40, 50), 16, rotate), strict=True
    ):
        patch = landscape[to_row : to_row + 16, to_col : to_col + 16]
        np.testing.assert_array_equal(patch, rotate_frame(portrait[row : row + 16, col : col + 16], rotate))
