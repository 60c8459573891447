"""Folders of pictures, and what else holds a stack: the tests write small files and read them back."""

import logging
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile
from cv2.utils import logging as cv2_logging

from dioptre.errors import InputError, StackFileError
from dioptre.stacks import decoding as module
from dioptre.stacks.axes import Wanted
from dioptre.stacks.formats import Pictures, open_look, open_pictures, read_photographs, read_pictures
from dioptre.stacks.pictures import Window
from tests.stacks.picture_files import COLS, ROWS, noise, refusal, write, write_series

# Folders


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("suffix", [".png", ".tif", ".TIFF", ".pgm"])
def test_folder_keeps_codes_and_bit_depth(tmp_path, dtype, suffix):
    expected = write_series(tmp_path, [f"{at:03}{suffix}" for at in range(4)], dtype)
    pictures = read_pictures(tmp_path)
    assert pictures.codes.dtype == dtype
    np.testing.assert_array_equal(pictures.codes, expected[:, None])
    assert pictures.names == tuple(f"{at:03}{suffix}" for at in range(4))
    assert pictures.skipped == ()
    assert pictures.white == np.iinfo(dtype).max


def test_folder_of_unpadded_numbers_is_in_numeric_order(tmp_path):
    expected = write_series(tmp_path, [f"{at}.png" for at in range(12)])
    pictures = read_pictures(str(tmp_path))
    assert pictures.names == tuple(f"{at}.png" for at in range(12))
    np.testing.assert_array_equal(pictures.codes[:, 0], expected)


@pytest.mark.parametrize("suffix", [".jpg", ".JPEG", ".webp", ".bmp"])
def test_other_formats_read_within_compression_error(tmp_path, suffix):
    smooth = cv2.GaussianBlur(noise(64, 64), (0, 0), 4)
    for at in range(3):
        write(tmp_path / f"frame{at}{suffix}", smooth + np.uint8(at))
    codes = read_pictures(tmp_path).codes
    assert codes.shape == (3, 1, 64, 64)
    assert np.abs(codes[2, 0].astype(int) - smooth - 2).max() <= 6


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_colour_becomes_green(tmp_path, channels, dtype):
    colour = noise(3, ROWS, COLS, channels, dtype=dtype)  # BGR or BGRA
    for at, picture in enumerate(colour):
        write(tmp_path / f"{at}.png", picture)
    codes = read_pictures(tmp_path).codes
    np.testing.assert_array_equal(codes, colour[:, None, ..., 1])
    assert codes.flags.c_contiguous


def test_of_a_jpeg_the_luma_is_read(tmp_path):
    colour = np.zeros((32, 48, 3), np.uint8)
    colour[:, 24:] = (200, 100, 50)  # blue, green, red
    write(tmp_path / "0.jpg", colour)
    codes = read_pictures(tmp_path).codes[0, 0]
    assert abs(int(codes[16, 40]) - round(0.114 * 200 + 0.587 * 100 + 0.299 * 50)) <= 1
    assert codes[16, 5] <= 1


def test_grey_with_alpha_becomes_grey(tmp_path):
    grey, alpha = noise(2, ROWS, COLS)
    lines = b"".join(b"\0" + np.stack([grey[r], alpha[r]], axis=-1).tobytes() for r in range(ROWS))
    (tmp_path / "0.png").write_bytes(png(struct.pack(">IIBBBBB", COLS, ROWS, 8, 4, 0, 0, 0), lines))
    np.testing.assert_array_equal(read_pictures(tmp_path).codes[0, 0], grey)


def png(header: bytes, lines: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("shape", [(ROWS, COLS), (ROWS, COLS, 3)])
def test_a_window_of_a_tiff_is_read_whatever_its_compression(tmp_path, compression, shape):
    stack = noise(3, *shape, dtype=np.uint16)
    for at, one in enumerate(stack):
        tifffile.imwrite(tmp_path / f"{at}.tif", one, compression=compression)
    pictures = open_pictures(tmp_path)
    green = stack if len(shape) == 2 else stack[..., 1]
    for at in range(3):
        np.testing.assert_array_equal(pictures.read(at, Window(2, 3, 9, 11))[0], green[at, 2:9, 3:11])


def test_a_window_does_not_keep_the_whole_picture(tmp_path):
    write_series(tmp_path, ["0.png", "1.png"])
    pictures = open_pictures(tmp_path)
    for at in range(2):
        window = pictures.read(at, Window(2, 3, 9, 11))
        assert window.shape == (1, 7, 8)
        assert window.base is None


def test_exif_orientation_is_ignored(tmp_path):
    file = write(tmp_path / "0.jpg", noise(ROWS, COLS))
    tiff = b"II*\0\x08\0\0\0\x01\0" + struct.pack("<HHIHHI", 0x0112, 3, 1, 6, 0, 0)  # rotate by 90 degrees
    exif = b"Exif\0\0" + tiff
    plain = file.read_bytes()
    file.write_bytes(plain[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + plain[2:])
    assert cv2.imread(str(file)).shape[:2] == (COLS, ROWS)  # the tag is really there
    assert read_pictures(tmp_path).codes.shape == (1, 1, ROWS, COLS)


def test_path_with_any_letters(tmp_path):
    folder = tmp_path / "Schärfe 焦点 #1"
    folder.mkdir()
    expected = write_series(tmp_path, ["0.png", "1.png", "2.png"])
    for at in range(3):
        (tmp_path / f"{at}.png").rename(folder / f"bild ä{at}.png")
    np.testing.assert_array_equal(read_pictures(folder).codes[:, 0], expected)


def test_other_files_and_hidden_files_do_not_count(tmp_path):
    write_series(tmp_path, ["a.png", "b.png"])
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / "._a.png").write_bytes(b"resource fork")
    (tmp_path / "folder.png").mkdir()
    pictures = read_pictures(tmp_path)
    assert pictures.names == ("a.png", "b.png")
    assert pictures.skipped == ()


def test_single_files_beside_a_series_are_left_out(tmp_path):
    write_series(tmp_path, ["frame1.jpg", "frame2.jpg", "frame10.jpg"])
    write(tmp_path / "joe2_depthmap.png", noise(5, 5))
    write(tmp_path / "thumbnail.jpg", noise(6, 6))
    pictures = read_pictures(tmp_path)
    assert pictures.names == ("frame1.jpg", "frame2.jpg", "frame10.jpg")
    assert pictures.skipped == ("joe2_depthmap.png", "thumbnail.jpg")


@pytest.mark.parametrize(
    "names",
    [
        ["a.png", "b1.png", "b2.png"],  # the series is too short
        ["a1.png", "a2.png", "a3.png", "b1.png", "b2.png"],  # not all the others are single
        ["far.png", "middle.png", "near.png"],
    ],
)
def test_without_one_series_all_files_are_used(tmp_path, names):
    write_series(tmp_path, names)
    pictures = read_pictures(tmp_path)
    assert pictures.names == tuple(names)
    assert pictures.skipped == ()


def test_decimal_names_are_one_series(tmp_path):
    names = ["IMG_00.198.png", "IMG_00.204.png", "IMG_01.5.png", "IMG_2.png"]
    write_series(tmp_path, names)
    write(tmp_path / "depth.png", noise(4, 4))
    assert read_pictures(tmp_path).names == tuple(names)


def test_progress_counts_every_picture(tmp_path):
    write_series(tmp_path, ["0.png", "1.png", "2.png"])
    seen: list[tuple[int, int]] = []
    read_pictures(tmp_path, lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_folder_without_pictures_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("no picture")
    message = refusal(tmp_path)
    assert str(tmp_path) in message
    assert ".webp" in message


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif", ".bmp", ".webp", ".pgm"])
@pytest.mark.parametrize("damage", ["text", "empty", "cut"])
def test_one_broken_file_is_named_and_nothing_is_printed(tmp_path, capfd, suffix, damage):
    write_series(tmp_path, [f"{at}{suffix}" for at in range(3)])
    whole = (tmp_path / f"1{suffix}").read_bytes()
    broken = {"text": b"this is not a picture", "empty": b"", "cut": whole[: len(whole) // 2]}
    (tmp_path / f"1{suffix}").write_bytes(broken[damage])
    assert str(tmp_path / f"1{suffix}") in refusal(tmp_path)
    assert capfd.readouterr() == ("", "")


def test_libraries_may_speak_again_afterwards(tmp_path):
    level = cv2_logging.getLogLevel()
    cv2_logging.setLogLevel(cv2_logging.LOG_LEVEL_ERROR)
    (tmp_path / "0.png").write_bytes(b"this is not a picture")
    refusal(tmp_path)
    assert cv2_logging.getLogLevel() == cv2_logging.LOG_LEVEL_ERROR
    assert not logging.getLogger("tifffile").disabled
    cv2_logging.setLogLevel(level)


def test_flipped_bits_in_a_png_are_found_and_nothing_is_printed(tmp_path, capfd):
    file = write(tmp_path / "0.png", noise(ROWS, COLS))
    data = bytearray(file.read_bytes())
    data[data.index(b"IDAT") + 20] ^= 1
    file.write_bytes(data)
    assert "damaged PNG" in refusal(tmp_path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("cols", "rows"), [(2**31 - 1, 2**31 - 1), (2**20, 2**20), (2**32 - 1, 1), (0, 5)])
def test_a_picture_that_claims_impossible_sizes_is_named(tmp_path, cols, rows):
    (tmp_path / "0.png").write_bytes(png(struct.pack(">IIBBBBB", cols, rows, 16, 0, 0, 0, 0), b"few"))
    assert "0.png" in refusal(tmp_path)


def test_dangling_link_is_named(tmp_path):
    write_series(tmp_path, ["0.png", "1.png"])
    (tmp_path / "2.png").symlink_to(tmp_path / "gone.png")
    assert "2.png" in refusal(tmp_path)


def test_other_size_is_refused_with_both_sizes(tmp_path):
    write_series(tmp_path, ["0.png", "1.png"])
    write(tmp_path / "2.png", noise(10, 20))
    message = refusal(tmp_path)
    assert "2.png is 20 x 10 pixels" in message
    assert "0.png is 16 x 12 pixels" in message


def test_other_bit_depth_is_refused_with_both(tmp_path):
    write_series(tmp_path, ["0.png", "1.png"])
    write(tmp_path / "2.png", noise(ROWS, COLS, dtype=np.uint16))
    message = refusal(tmp_path)
    assert "uint16" in message
    assert "uint8" in message


# Left and right


def test_pairs_are_two_views(tmp_path):
    left = write_series(tmp_path, [f"z{at}_left.png" for at in (2, 10, 11)], np.uint16)
    right = 65535 - left
    for at, picture in zip((2, 10, 11), right, strict=True):
        write(tmp_path / f"z{at}_right.png", picture)
    write(tmp_path / "depth.png", noise(4, 4))
    pictures = read_pictures(tmp_path)
    np.testing.assert_array_equal(pictures.codes, np.stack([left, right], axis=1))
    assert pictures.names == ("z2_left.png", "z10_left.png", "z11_left.png")
    assert pictures.skipped == ("depth.png",)


def test_right_before_left_in_the_alphabet_is_still_right(tmp_path):
    pictures = write_series(tmp_path, ["A_right.png", "a_LEFT.png"])
    np.testing.assert_array_equal(read_pictures(tmp_path).codes[0], pictures[::-1])


@pytest.mark.parametrize(("lost", "side"), [("2_right.png", "right"), ("3_left.png", "left")])
def test_missing_partner_is_named(tmp_path, lost, side):
    write_series(tmp_path, [f"{at}_{side}.png" for at in (1, 2, 3) for side in ("left", "right")])
    (tmp_path / lost).unlink()
    assert f"{lost} is missing" in refusal(tmp_path)


def test_pairs_mixed_with_others_are_refused(tmp_path):
    write_series(tmp_path, [f"{at}_{kind}.png" for at in (1, 2, 3) for kind in ("gt", "left", "right")])
    assert "1_gt.png is neither" in refusal(tmp_path)


def test_one_view_twice_is_refused(tmp_path):
    write_series(tmp_path, ["1_left.png", "1_left.bmp", "1_right.png"])
    message = refusal(tmp_path)
    assert "1_left.png" in message
    assert "1_left.bmp" in message


# A single look


def test_a_look_is_one_picture_with_its_partner(tmp_path):
    views = {side: noise(ROWS, COLS, seed=at) for at, side in enumerate(("LEFT", "RIGHT"))}
    for side, one in views.items():
        cv2.imwrite(str(tmp_path / f"shot_{side}.png"), one)
    cv2.imwrite(str(tmp_path / "alone.png"), views["LEFT"])
    for side in views:
        look = open_look(tmp_path / f"shot_{side}.png").loaded()
        np.testing.assert_array_equal(look.codes, np.stack(list(views.values()))[None])
        assert look.names == ("shot_LEFT.png",)
    np.testing.assert_array_equal(open_look(tmp_path / "alone.png").loaded().codes, views["LEFT"][None, None])
    (tmp_path / "shot_RIGHT.png").unlink()
    with pytest.raises(StackFileError, match=r"shot_RIGHT\.png is missing"):
        open_look(tmp_path / "shot_LEFT.png").loaded()


def test_a_stack_holds_looks_too(tmp_path):
    np.save(tmp_path / "stack.npy", noise(3, ROWS, COLS))
    assert open_look(tmp_path / "stack.npy").loaded().codes.shape == (3, 1, ROWS, COLS)
    with pytest.raises(StackFileError, match="there is no file"):
        open_look(tmp_path / "none.png").loaded()


def test_a_look_that_the_system_refuses_is_named(tmp_path, monkeypatch):
    write(tmp_path / "shot.png", noise(ROWS, COLS))

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(StackFileError, match=r"shot\.png cannot be read: Permission denied"):
        open_look(tmp_path / "shot.png").loaded()


# Photographs


def test_photographs_may_have_any_size_and_depth(tmp_path):
    write(tmp_path / "b10.png", np.full((4, 6), 255, np.uint8))
    write(tmp_path / "b2.png", np.full((5, 3, 3), (0, 13107, 65535), np.uint16))
    found = read_photographs(tmp_path)
    assert list(found) == ["b2.png", "b10.png"]
    np.testing.assert_allclose(found["b2.png"], np.full((5, 3), 0.2), rtol=1e-6)
    assert found["b10.png"].shape == (4, 6)
    assert list(read_photographs(tmp_path, ["b10.png"])) == ["b10.png"]


def test_a_photograph_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StackFileError, match=r"gone\.png"):
        read_photographs(tmp_path, ["gone.png"])
    with pytest.raises(StackFileError, match="no folder of photographs"):
        read_photographs(tmp_path / "none")


# Other paths


@pytest.mark.parametrize("name", ["notes.txt", "one.png", "no_ending"])
def test_other_files_are_refused_with_what_is_accepted(tmp_path, name):
    (tmp_path / name).write_bytes(b"something")
    message = refusal(tmp_path / name)
    assert name in message
    assert "multi-page TIFF" in message


@pytest.mark.parametrize("name", ["gone", "gone.npy", "gone.tif", "x" * 300])
def test_missing_path_is_refused(tmp_path, name):
    assert name in refusal(tmp_path / name)


def test_pictures_check_themselves():
    with pytest.raises(InputError, match="3 slices have 1 names"):
        Pictures.of_array(noise(3, 1, ROWS, COLS), names=("a",))
    with pytest.raises(InputError, match="1 or 2 views"):
        Pictures.of_array(noise(3, 3, ROWS, COLS))


def test_a_stack_larger_than_the_memory_is_refused(tmp_path, monkeypatch):
    write_series(tmp_path, ["0.png", "1.png"])

    def no_memory(*_: object) -> None:
        raise MemoryError("Unable to allocate 1 TiB")

    monkeypatch.setattr(module, "decode_picture", no_memory)
    assert "0.png does not fit in memory: Unable to allocate 1 TiB" in refusal(tmp_path)


@pytest.mark.parametrize("wanted", [{"channel": "3"}, {"time": 1}, {"position": 0}, {"axes": "ZYX"}])
def test_single_pictures_have_no_axes_to_choose_from(tmp_path, wanted):
    write_series(tmp_path, ["0.png", "1.png", "2.png"])
    (name,) = wanted
    with pytest.raises(StackFileError, match=f"{tmp_path.name}.*{name}=..."):
        open_pictures(tmp_path, Wanted(**wanted))


@pytest.mark.parametrize("data", [b"", b"\x00\x00\x00\x0cjP  \r\n\x87\n", b"\xff\xd8\xff\xe0", b"no picture"])
def test_what_is_no_picture_has_no_colours(tmp_path, data):
    (tmp_path / "f.png").write_bytes(data)
    assert module.decode_colours(tmp_path / "f.png") is None
