"""Stacks in TIFF files."""

import cv2
import numpy as np
import pytest
import tifffile
from tests.dataset.picture_files import COLS, ROWS, noise, refusal

from dioptre.dataset.pictures import read_pictures


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


@pytest.mark.parametrize("side", ["ImageLength", "ImageWidth"])
def test_a_tiff_that_claims_more_than_any_memory_is_refused(tmp_path, side):
    file = tmp_path / "wild.tif"
    with tifffile.TiffWriter(file) as tiff:
        tiff.write(noise(ROWS, COLS).astype(np.float64), metadata=None, compression="zlib")
    with tifffile.TiffFile(file, mode="r+b") as tiff:
        tiff.pages[0].tags["ImageLength"].overwrite(2**31, dtype="I")
        tiff.pages[0].tags[side].overwrite(2**32 - 1, dtype="I")
        if side == "ImageLength":
            tiff.pages[0].tags["ImageWidth"].overwrite(2**31, dtype="I")
    assert str(file) in refusal(file)
