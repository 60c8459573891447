"""Stacks of pictures as people have them: the tests write small files and read them back."""

import logging
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile
from cv2.utils import logging as cv2_logging
from hypothesis import given
from hypothesis import strategies as st

from dioptre.dataset.images import (
    Pictures,
    natural_key,
    positions_from_names,
    read_look,
    read_pictures,
    read_positions,
)
from dioptre.errors import StackFileError

ROWS, COLS = 12, 16


def noise(*shape: int, dtype: type = np.uint8, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def write(file: Path, picture: np.ndarray) -> Path:
    assert cv2.imwrite(str(file), picture)
    return file


def write_series(folder: Path, names: list[str], dtype: type = np.uint8) -> np.ndarray:
    pictures = noise(len(names), ROWS, COLS, dtype=dtype)
    for name, picture in zip(names, pictures, strict=True):
        write(folder / name, picture)
    return pictures


def refusal(path: Path) -> str:
    with pytest.raises(StackFileError) as caught:
        read_pictures(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


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


# Multi-page TIFF


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bigtiff": True},
        {"byteorder": ">"},
        {"imagej": True},
        {"imagej": True, "metadata": {"axes": "ZYX"}},
        {"ome": True, "metadata": {"axes": "ZYX"}},
        {"ome": True, "metadata": {"axes": "TYX"}},
        {"compression": "zlib", "predictor": True},
        {"metadata": None},
        {"tile": (16, 16)},
    ],
)
def test_multi_page_tiff(tmp_path, options):
    stack = noise(5, ROWS, COLS, dtype=np.uint16)
    tifffile.imwrite(tmp_path / "stack.tif", stack, photometric="minisblack", **options)
    pictures = read_pictures(tmp_path / "stack.tif")
    np.testing.assert_array_equal(pictures.codes, stack[:, None])
    assert pictures.codes.dtype == np.uint16
    assert pictures.codes.dtype.isnative
    assert pictures.names == ("page 1", "page 2", "page 3", "page 4", "page 5")
    assert pictures.white == 65535


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_lzw_tiff_without_the_codec_is_read_by_opencv(tmp_path, dtype):
    stack = noise(4, ROWS, COLS, dtype=dtype)
    assert cv2.imwritemulti(str(tmp_path / "lzw.tif"), list(stack))
    np.testing.assert_array_equal(read_pictures(tmp_path / "lzw.tif").codes, stack[:, None])


def test_lzw_tiff_in_colour_becomes_green(tmp_path):
    stack = noise(4, ROWS, COLS, 3)
    assert cv2.imwritemulti(str(tmp_path / "lzw.tif"), list(stack))
    np.testing.assert_array_equal(read_pictures(tmp_path / "lzw.tif").codes, stack[:, None, ..., 1])


def test_lzw_tiff_keeps_its_axes(tmp_path, monkeypatch):
    """As the codec is not needed to write the file, it is taken away while reading."""
    stack = noise(3, 2, ROWS, COLS)
    tifffile.imwrite(tmp_path / "s.tif", stack, imagej=True, metadata={"axes": "ZCYX"})

    def no_codec(*_: object, **__: object) -> None:
        raise ValueError("<COMPRESSION.LZW: 5> requires the 'imagecodecs' package")

    monkeypatch.setattr(tifffile.TiffPageSeries, "asarray", no_codec)
    np.testing.assert_array_equal(read_pictures(tmp_path / "s.tif").codes, stack)


@pytest.mark.parametrize("channels", [3, 4])
def test_tiff_colour_becomes_green(tmp_path, channels):
    stack = noise(5, ROWS, COLS, channels)
    tifffile.imwrite(tmp_path / "rgb.tif", stack, photometric="rgb")
    np.testing.assert_array_equal(read_pictures(tmp_path / "rgb.tif").codes, stack[:, None, ..., 1])


def test_tiff_with_separate_colour_planes_becomes_green(tmp_path):
    stack = noise(5, 3, ROWS, COLS)
    tifffile.imwrite(tmp_path / "rgb.tif", stack, photometric="rgb", planarconfig="separate")
    np.testing.assert_array_equal(read_pictures(tmp_path / "rgb.tif").codes, stack[:, 1:2])


@pytest.mark.parametrize("slices", [1, 2, 5])
def test_tiff_of_two_views(tmp_path, slices):
    stack = noise(slices, 2, ROWS, COLS)
    tifffile.imwrite(tmp_path / "dp.tif", stack, photometric="minisblack")
    np.testing.assert_array_equal(read_pictures(tmp_path / "dp.tif").codes, stack)


def test_tiff_axes_tell_the_views_from_the_slices(tmp_path):
    stack = noise(2, 5, ROWS, COLS)
    tifffile.imwrite(tmp_path / "dp.ome.tif", stack, metadata={"axes": "CZYX"})
    np.testing.assert_array_equal(read_pictures(tmp_path / "dp.ome.tif").codes, stack.swapaxes(0, 1))


@pytest.mark.parametrize(("axes", "shape"), [("TZYX", (4, 2)), ("ZCYX", (5, 3))])
def test_tiff_with_other_axes_is_refused_with_them(tmp_path, axes, shape):
    stack = noise(*shape, ROWS, COLS)
    tifffile.imwrite(tmp_path / "x.ome.tif", stack, metadata={"axes": axes}, photometric="minisblack")
    message = refusal(tmp_path / "x.ome.tif")
    assert axes in message
    assert str(stack.shape) in message


def test_single_page_is_one_slice(tmp_path):
    picture = noise(ROWS, COLS)
    tifffile.imwrite(tmp_path / "one.tif", picture)
    np.testing.assert_array_equal(read_pictures(tmp_path / "one.tif").codes, picture[None, None])


def test_float_tiff_has_white_one(tmp_path):
    stack = noise(3, ROWS, COLS).astype(np.float32) / 255
    tifffile.imwrite(tmp_path / "f.tif", stack, photometric="minisblack")
    pictures = read_pictures(tmp_path / "f.tif")
    np.testing.assert_array_equal(pictures.codes[:, 0], stack)
    assert pictures.white == 1.0


def test_pages_written_one_by_one_are_one_stack(tmp_path):
    stack = noise(4, ROWS, COLS)
    with tifffile.TiffWriter(tmp_path / "pages.tif") as tiff:
        for page in stack:
            tiff.write(page, contiguous=False)
    np.testing.assert_array_equal(read_pictures(tmp_path / "pages.tif").codes[:, 0], stack)


def test_pages_of_different_sizes_are_refused_with_the_sizes(tmp_path):
    with tifffile.TiffWriter(tmp_path / "pages.tif") as tiff:
        tiff.write(noise(ROWS, COLS))
        tiff.write(noise(ROWS, COLS + 2))
    message = refusal(tmp_path / "pages.tif")
    assert "12, 16)" in message
    assert "12, 18)" in message


def test_thumbnail_in_a_tiff_does_not_count(tmp_path):
    picture = noise(ROWS, COLS)
    for at in range(2):
        with tifffile.TiffWriter(tmp_path / f"{at}.tif") as tiff:
            tiff.write(picture, metadata=None)
            tiff.write(picture[::2, ::2].copy(), metadata=None, subfiletype=1)
    np.testing.assert_array_equal(read_pictures(tmp_path).codes[1, 0], picture)


def test_folder_with_one_multi_page_tiff(tmp_path):
    stack = noise(5, ROWS, COLS)
    tifffile.imwrite(tmp_path / "stack.tif", stack, photometric="minisblack")
    (tmp_path / "notes.txt").write_text("about the stack")
    np.testing.assert_array_equal(read_pictures(tmp_path).codes, stack[:, None])


def test_folder_with_several_multi_page_tiffs_is_refused(tmp_path):
    for at in range(2):
        tifffile.imwrite(tmp_path / f"{at}.tif", noise(5, ROWS, COLS), photometric="minisblack")
    assert "0.tif has 5 pages" in refusal(tmp_path)


@pytest.mark.parametrize("kind", ["plain", "imagej", "lzw", "one by one"])
@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.9])
def test_tiff_cut_short_is_refused_and_nothing_is_printed(tmp_path, capfd, caplog, kind, part):
    file, stack = tmp_path / "cut.tif", noise(6, ROWS, COLS)
    if kind == "lzw":
        assert cv2.imwritemulti(str(file), list(stack))
    elif kind == "one by one":
        with tifffile.TiffWriter(file) as tiff:
            for page in stack:
                tiff.write(page, contiguous=False)
    else:
        tifffile.imwrite(file, stack, photometric="minisblack", imagej=kind == "imagej")
    whole = file.read_bytes()
    file.write_bytes(whole[: int(part * len(whole))])
    assert str(file) in refusal(file)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_tiff_that_describes_more_pages_than_it_has_is_refused(tmp_path):
    file = tmp_path / "z.ome.tif"
    tifffile.imwrite(file, noise(5, ROWS, COLS), metadata={"axes": "ZYX"})
    file.write_bytes(file.read_bytes().replace(b'SizeZ="5"', b'SizeZ="7"'))
    assert "lacks 2 of the 7 pages" in refusal(file)


def test_tiff_without_pixels_is_refused(tmp_path):
    file = tmp_path / "empty.tif"
    with tifffile.TiffWriter(file) as tiff:
        tiff.write(noise(ROWS, COLS), metadata=None)
    with tifffile.TiffFile(file, mode="r+b") as tiff:
        tiff.pages[0].tags["ImageLength"].overwrite(0)
    assert str(file) in refusal(file)


def test_compressed_pages_of_different_sizes_are_refused_with_the_sizes(tmp_path):
    assert cv2.imwritemulti(str(tmp_path / "lzw.tif"), [noise(12, 16), noise(12, 16), noise(12, 18)])
    message = refusal(tmp_path / "lzw.tif")
    assert "12, 16)" in message
    assert "12, 18)" in message


def test_tiff_of_bits_is_refused(tmp_path):
    tifffile.imwrite(tmp_path / "bits.tif", noise(3, ROWS, COLS) > 99, photometric="minisblack")
    assert "bool" in refusal(tmp_path / "bits.tif")


# Arrays


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float16, np.float32, np.float64, ">u2"])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_array_keeps_its_numbers(tmp_path, dtype, suffix):
    stack = noise(3, ROWS, COLS).astype(dtype)
    save = np.save if suffix == ".npy" else np.savez_compressed
    save(tmp_path / f"stack{suffix}", stack)
    pictures = read_pictures(tmp_path / f"stack{suffix}")
    np.testing.assert_array_equal(pictures.codes, stack[:, None])
    assert pictures.codes.dtype == np.dtype(dtype).newbyteorder("=")
    assert pictures.names == ("slice 0", "slice 1", "slice 2")
    assert pictures.white == (np.iinfo(dtype).max if np.dtype(dtype).kind in "iu" else 1.0)


def test_npy_is_mapped_not_loaded(tmp_path):
    np.save(tmp_path / "stack.npy", noise(3, ROWS, COLS))
    codes = read_pictures(tmp_path / "stack.npy").codes
    assert not codes.flags.owndata
    assert not codes.flags.writeable


@pytest.mark.parametrize(
    ("shape", "view"),
    [
        ((5, ROWS, COLS), np.s_[:, None]),
        ((5, 1, ROWS, COLS), np.s_[:]),
        ((5, 2, ROWS, COLS), np.s_[:]),
        ((1, 2, ROWS, 4), np.s_[:]),
        ((5, ROWS, COLS, 3), np.s_[:, None, :, :, 1]),
    ],
)
def test_array_shapes(tmp_path, shape, view):
    stack = noise(*shape)
    np.save(tmp_path / "stack.npy", stack)
    np.testing.assert_array_equal(read_pictures(tmp_path / "stack.npy").codes, stack[view])


@pytest.mark.parametrize(
    "shape",
    [
        (),
        (9,),
        (ROWS, COLS),
        (ROWS, COLS, 3),  # one colour picture, not a stack
        (0, ROWS, COLS),
        (5, 0, 0),
        (5, 3, ROWS, COLS),
        (5, 2, ROWS, 3),
        (1, 5, 2, ROWS, COLS),
    ],
)
def test_other_array_shapes_are_refused_with_the_shape(tmp_path, shape):
    np.save(tmp_path / "stack.npy", np.zeros(shape, np.uint8))
    message = refusal(tmp_path / "stack.npy")
    assert "stack.npy" in message
    assert ", ".join(map(str, shape)) in message


@pytest.mark.parametrize("dtype", [bool, complex, object, "U3", "datetime64[s]"])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_other_dtypes_are_refused(tmp_path, dtype, suffix):
    save = np.save if suffix == ".npy" else np.savez
    save(tmp_path / f"stack{suffix}", np.zeros((3, ROWS, COLS), np.uint8).astype(dtype))
    assert f"stack{suffix}" in refusal(tmp_path / f"stack{suffix}")


@pytest.mark.parametrize("name", ["stack", "pixels"])
def test_npz_with_several_arrays(tmp_path, name):
    stack = noise(3, ROWS, COLS)
    np.savez(tmp_path / "s.npz", depth=np.zeros((ROWS, COLS)), **{name: stack})
    np.testing.assert_array_equal(read_pictures(tmp_path / "s.npz").codes[:, 0], stack)


def test_npz_without_a_stack_lists_its_arrays(tmp_path):
    np.savez(tmp_path / "s.npz", left=noise(3, ROWS, COLS), right=noise(3, ROWS, COLS))
    assert "left, right" in refusal(tmp_path / "s.npz")


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("damage", ["text", "empty", "cut", "header"])
def test_broken_array_is_refused(tmp_path, suffix, damage):
    file = tmp_path / f"stack{suffix}"
    save = np.save if suffix == ".npy" else np.savez
    save(file, noise(3, ROWS, COLS))
    whole = file.read_bytes()
    broken = {
        "text": b"this is not an array",
        "empty": b"",
        "cut": whole[: len(whole) // 2],
        "header": whole.replace(b"(3, 12, 16)", b"(3, 12, 16 "),
    }
    file.write_bytes(broken[damage])
    assert str(file) in refusal(file)


def test_whole_files_report_progress_once(tmp_path):
    np.save(tmp_path / "stack.npy", noise(3, ROWS, COLS))
    seen: list[tuple[int, int]] = []
    read_pictures(tmp_path / "stack.npy", lambda done, total: seen.append((done, total)))
    assert seen == [(3, 3)]


# Other paths


@pytest.mark.parametrize("name", ["movie.mp4", "one.png", "no_ending"])
def test_other_files_are_refused_with_what_is_accepted(tmp_path, name):
    (tmp_path / name).write_bytes(b"something")
    message = refusal(tmp_path / name)
    assert name in message
    assert "multi-page TIFF" in message


@pytest.mark.parametrize("name", ["gone", "gone.npy", "gone.tif", "x" * 300])
def test_missing_path_is_refused(tmp_path, name):
    assert name in refusal(tmp_path / name)


def test_pictures_check_themselves():
    with pytest.raises(ValueError, match="3 slices have 1 names"):
        Pictures(codes=noise(3, 1, ROWS, COLS), names=("a",), skipped=(), white=255.0)
    with pytest.raises(ValueError, match="1 or 2 views"):
        Pictures(codes=noise(3, 3, ROWS, COLS), names=("a", "b", "c"), skipped=(), white=255.0)


# Natural order


@given(st.integers(0, 10**20), st.integers(0, 10**20), st.integers(0, 25), st.integers(0, 25))
def test_whole_numbers_compare_as_numbers(a, b, pad_a, pad_b):
    key_a, key_b = (natural_key(f"frame{n:0{pad}}.jpg") for n, pad in ((a, pad_a), (b, pad_b)))
    if a != b:
        assert (key_a < key_b) == (a < b)


@given(
    st.decimals(-(10**6), 10**6, places=4),
    st.decimals(-(10**6), 10**6, places=2),
    st.sampled_from(["_", "z=", ""]),
)
def test_decimals_compare_as_numbers(a, b, before):
    if a != b:
        assert (natural_key(f"{before}{a:f}.png") < natural_key(f"{before}{b:f}.png")) == (a < b)


@given(st.lists(st.text(alphabet="aA_-. 019²٣", max_size=8), unique=True).flatmap(
    lambda names: st.tuples(st.just(names), st.permutations(names))
))  # fmt: skip
def test_order_does_not_depend_on_where_it_starts(both):
    names, shuffled = both
    assert sorted(names, key=natural_key) == sorted(shuffled, key=natural_key)


@pytest.mark.parametrize(
    "ordered",
    [
        ["frame2.jpg", "frame10.jpg"],
        ["IMG_00.198.jpg", "IMG_00.204.jpg", "IMG_01.5.jpg"],
        ["img-1.png", "img-2.png", "img-10.png"],  # a separator, not a sign
        ["2024-01-09.png", "2024-01-10.png", "2024-02-01.png"],
        ["z_-10.5.tif", "z_-2.tif", "z_0.tif", "z_3.tif"],
        ["IMG_1.JPG", "img_2.jpg", "IMG_3.JPG"],
        ["9007199254740992.png", "09007199254740993.png"],  # alike as floats
        ["a1_z9.png", "a1_z10.png", "a2_z1.png"],
    ],
)
def test_natural_order_examples(ordered):
    turned = ordered[1:] + ordered[:1]
    assert sorted(turned, key=natural_key) == ordered


# Positions


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["IMG_00.198.jpg", "IMG_00.204.jpg", "IMG_01.5.jpg"], [0.198, 0.204, 1.5]),
        (["joe2_frame1.jpg", "joe2_frame10.jpg"], [1, 10]),
        (["z_-3.5um_left.png", "z_2um_left.png"], [-3.5, 2]),
        (["IMG_00.198", "IMG_00.204"], [0.198, 0.204]),
        (["slice 0", "slice 1", "slice 2"], [0, 1, 2]),
        (["near 7.tif"], [7]),
        (["5.png", "3.png"], [5, 3]),
    ],
)
def test_positions_from_names(names, expected):
    np.testing.assert_array_equal(positions_from_names(names), expected)


@given(st.lists(st.decimals(0, 1000, places=3), min_size=2, unique=True))
def test_positions_come_back_from_names(values):
    names = [f"scan7_{value}.tif" for value in values]
    np.testing.assert_array_equal(positions_from_names(names), [float(value) for value in values])


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a1.png", "far.png"], "far.png has no number"),
        (["1_z5.png", "2_z6.png"], "2 numbers vary"),
        (["1.5.png", "2.png", "01.50.png"], "1.5.png and 01.50.png have the same position, 1.5"),
        (["a1.png", "b1.png"], "0 numbers vary"),
        (["a1.png", "a1_2.png"], "1 and 2 numbers"),
        (["1_2.png"], "2 numbers"),
    ],
)
def test_unclear_names_are_refused(names, said):
    with pytest.raises(StackFileError, match=said):
        positions_from_names(names)


NAMES = ("frame1.jpg", "frame2.jpg", "frame10.jpg")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("names", [1, 2, 10]),
        ("0.2,0.4,0.6", [0.2, 0.4, 0.6]),
        (" 3, 2 ,-1e1", [3, 2, -10]),
        ("0:0.5", [0, 0.5, 1]),
        ("10:-2", [10, 8, 6]),
    ],
)
def test_positions_as_text(text, expected):
    np.testing.assert_allclose(read_positions(text, NAMES), expected, rtol=1e-15)


@pytest.mark.parametrize(
    "content",
    [
        "0.2\n0.4\n0.6\n",
        "position\n0.2\n\n0.4\n0.6",
        "\ufeff0.2\r\n# dioptres\r\n0.4\r\n0.6\r\n",
        "name,position\nframe10.jpg,0.6\nframe1.jpg,0.2\nframe2.jpg,0.4\n",
        '"frame10.jpg";"0.6"\n"frame1.jpg";"0.2"\n"frame2.jpg";"0.4"\n',
        "frame2\t0.4\nframe1\t0.2\nframe10\t0.6\nframe11\t0.8\n",
        "frame2.jpg 0.4\nframe1.jpg 0.2\nframe10.jpg 0.6\n",
    ],
)
def test_positions_from_a_file(tmp_path, content):
    file = tmp_path / "positions.csv"
    file.write_text(content, encoding="utf-8")
    np.testing.assert_array_equal(read_positions(str(file), NAMES), [0.2, 0.4, 0.6])


def test_names_with_commas_and_spaces_are_matched(tmp_path):
    (tmp_path / "p.csv").write_text("my frame, far.png, 2\nnear.png,1\n")
    np.testing.assert_array_equal(
        read_positions(str(tmp_path / "p.csv"), ["near.png", "my frame, far.png"]), [1, 2]
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("0.2\n0.4\n", "2 positions for 3 slices"),
        ("", "0 positions for 3 slices"),
        ("0.2\nfar\n0.6\n", "line 2 .*'far'"),
        ("0.2\n0.4\nnan\n", "frame10.jpg is nan"),
        ("frame1.jpg,0.2\nframe2.jpg,0.4\n", "2 positions for 3 slices: frame10.jpg is not in it"),
        ("frame1.jpg,0.2\n0.4\nframe10.jpg,0.6\n", "without a name"),
        ("frame1.jpg,1\nframe1.jpg,2\nframe2.jpg,3\nframe10.jpg,4\n", "twice"),
    ],
)
def test_wrong_position_files_are_refused(tmp_path, content, said):
    file = tmp_path / "positions.txt"
    file.write_text(content)
    with pytest.raises(StackFileError, match=said) as caught:
        read_positions(str(file), NAMES)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2", "2 positions for 3 slices"),
        ("1,2,3,4", "4 positions for 3 slices"),
        ("1,2,2", "frame2.jpg and frame10.jpg have the same position, 2"),
        ("1,2,inf", "frame10.jpg is inf"),
        ("0:0", "same position"),
        ("1,x,3", "no file 1,x,3"),
        ("gone.csv", "no file gone.csv.*start:step"),
        ("", "positions"),
    ],
)
def test_wrong_position_texts_are_refused(text, said):
    with pytest.raises(StackFileError, match=said):
        read_positions(text, NAMES)


def test_picture_as_position_file_is_refused(tmp_path):
    write(tmp_path / "0.png", noise(ROWS, COLS))
    with pytest.raises(StackFileError, match=r"0\.png"):
        read_positions(str(tmp_path / "0.png"), NAMES)


def test_a_look_is_one_picture_with_its_partner(tmp_path):
    views = {side: noise(ROWS, COLS, seed=at) for at, side in enumerate(("LEFT", "RIGHT"))}
    for side, one in views.items():
        cv2.imwrite(str(tmp_path / f"shot_{side}.png"), one)
    cv2.imwrite(str(tmp_path / "alone.png"), views["LEFT"])
    for side in views:
        look = read_look(tmp_path / f"shot_{side}.png")
        np.testing.assert_array_equal(look.codes, np.stack(list(views.values()))[None])
        assert look.names == ("shot_LEFT.png",)
    np.testing.assert_array_equal(read_look(tmp_path / "alone.png").codes, views["LEFT"][None, None])
    (tmp_path / "shot_RIGHT.png").unlink()
    with pytest.raises(StackFileError, match=r"shot_RIGHT\.png is missing"):
        read_look(tmp_path / "shot_LEFT.png")


def test_a_stack_holds_looks_too(tmp_path):
    np.save(tmp_path / "stack.npy", noise(3, ROWS, COLS))
    assert read_look(tmp_path / "stack.npy").codes.shape == (3, 1, ROWS, COLS)
    with pytest.raises(StackFileError, match="there is no file"):
        read_look(tmp_path / "none.png")
