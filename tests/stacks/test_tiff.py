"""Stacks in TIFF files."""

import cv2
import numpy as np
import pytest
import tifffile

from dioptre.errors import InputError, StackFileError
from dioptre.stacks.axes import Wanted
from dioptre.stacks.formats import open_pictures, open_stacks, read_pictures
from dioptre.stacks.pictures import Window
from tests.stacks.picture_files import COLS, ROWS, noise, refusal


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bigtiff": True},
        {"byteorder": ">"},
        {"imagej": True},
        {"imagej": True, "metadata": {"axes": "ZYX"}},
        {"ome": True, "metadata": {"axes": "ZYX"}},
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
    options = {"metadata": {"axes": "ZCYX"}, "compression": "zlib", "photometric": "minisblack"}
    tifffile.imwrite(tmp_path / "s.ome.tif", stack, **options)

    def no_codec(*_: object, **__: object) -> None:
        raise ValueError("<COMPRESSION.LZW: 5> requires the 'imagecodecs' package")

    monkeypatch.setattr(tifffile.TiffPage, "asarray", no_codec)
    monkeypatch.setattr(tifffile.TiffFrame, "asarray", no_codec)
    found = read_pictures(tmp_path / "s.ome.tif", wanted=Wanted(channel=1))
    np.testing.assert_array_equal(found.codes, stack[:, 1:])


@pytest.mark.parametrize("channels", [3, 4])
def test_tiff_colour_becomes_green(tmp_path, channels):
    stack = noise(5, ROWS, COLS, channels)
    tifffile.imwrite(tmp_path / "rgb.tif", stack, photometric="rgb")
    np.testing.assert_array_equal(read_pictures(tmp_path / "rgb.tif").codes, stack[:, None, ..., 1])


def test_tiff_with_separate_colour_planes_becomes_green(tmp_path):
    stack = noise(5, 3, ROWS, COLS)
    tifffile.imwrite(tmp_path / "rgb.tif", stack, photometric="rgb", planarconfig="separate")
    np.testing.assert_array_equal(read_pictures(tmp_path / "rgb.tif").codes, stack[:, 1:2])


@pytest.mark.parametrize("slices", [2, 5])
@pytest.mark.parametrize("wanted", [Wanted(views=True), Wanted(axes="zvyx")])
def test_tiff_of_two_views_if_somebody_says_so(tmp_path, slices, wanted):
    stack = noise(slices, 2, ROWS, COLS)
    tifffile.imwrite(tmp_path / "dp.tif", stack, photometric="minisblack")
    assert "(axes=...)" in refusal(tmp_path / "dp.tif")
    np.testing.assert_array_equal(read_pictures(tmp_path / "dp.tif", wanted=wanted).codes, stack)


def test_channels_are_views_only_if_somebody_says_so(tmp_path):
    stack = noise(2, 5, ROWS, COLS)
    tifffile.imwrite(tmp_path / "dp.ome.tif", stack, metadata={"axes": "CZYX"})
    assert "channel 0; channel 1" in refusal(tmp_path / "dp.ome.tif")
    views = read_pictures(tmp_path / "dp.ome.tif", wanted=Wanted(views=True)).codes
    np.testing.assert_array_equal(views, stack.swapaxes(0, 1))
    one, other = open_stacks(tmp_path / "dp.ome.tif")
    np.testing.assert_array_equal(one.codes, stack[0][:, None])
    np.testing.assert_array_equal(other.codes, stack[1][:, None])


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_every_channel_time_and_position_is_a_stack(tmp_path, compression):
    stack = noise(2, 3, 4, 2, ROWS, COLS)  # position, time, slice, channel
    with tifffile.TiffWriter(tmp_path / "x.ome.tif") as tiff:
        for one in stack:
            told = {"axes": "TZCYX", "Channel": {"Name": ["DAPI", "GFP & co"]}, "PhysicalSizeZ": 0.5}
            tiff.write(one, metadata=told, compression=compression, photometric="minisblack")
    found = open_stacks(tmp_path / "x.ome.tif")
    assert len(found) == 12
    assert found[-1].label == "position 1, time 2, channel GFP & co"
    np.testing.assert_array_equal(found[-1].codes[:, 0], stack[1, 2, :, 1])
    np.testing.assert_array_equal(found[-1].grid.positions, [0.0, 0.5, 1.0, 1.5])
    (one,) = open_stacks(tmp_path / "x.ome.tif", Wanted(channel="gfp & CO", time=1, position=0))
    np.testing.assert_array_equal(one.codes[:, 0], stack[0, 1, :, 1])
    assert one.names == ("slice 0", "slice 1", "slice 2", "slice 3")
    np.testing.assert_array_equal(one.read(2, Window(3, 2, 9, 12))[0], stack[0, 1, 2, 1, 3:9, 2:12])
    with pytest.raises(StackFileError, match=r"channels 0\.\.1 \(DAPI, GFP & co\), not 'Cy5'"):
        open_stacks(tmp_path / "x.ome.tif", Wanted(channel="Cy5"))
    with pytest.raises(StackFileError, match=r"times 0\.\.2, not 3"):
        open_stacks(tmp_path / "x.ome.tif", Wanted(time=3))


def test_imagej_spacing_is_micrometres(tmp_path):
    told = {"axes": "ZYX", "spacing": 250.0, "unit": "nm"}
    tifffile.imwrite(tmp_path / "z.tif", noise(3, ROWS, COLS), imagej=True, metadata=told)
    np.testing.assert_allclose(read_pictures(tmp_path / "z.tif").grid.positions, [0.0, 0.25, 0.5])
    tifffile.imwrite(
        tmp_path / "z.tif", noise(3, ROWS, COLS), imagej=True, metadata={**told, "unit": "pixel"}
    )
    assert read_pictures(tmp_path / "z.tif").grid is None


def test_a_few_channels_without_slices_are_no_stack(tmp_path):
    tifffile.imwrite(
        tmp_path / "c.ome.tif", noise(3, ROWS, COLS), metadata={"axes": "CYX"}, photometric="minisblack"
    )
    assert "none of them is Z" in refusal(tmp_path / "c.ome.tif")
    named = read_pictures(tmp_path / "c.ome.tif", wanted=Wanted(axes="ZYX"))
    assert named.codes.shape == (3, 1, ROWS, COLS)


def test_an_uncompressed_tiff_is_mapped(tmp_path):
    tifffile.imwrite(tmp_path / "s.tif", noise(3, ROWS, COLS), photometric="minisblack")
    assert isinstance(open_pictures(tmp_path / "s.tif").codes.base, np.memmap)


@pytest.mark.parametrize(
    ("axes", "problem"), [("ZZYX", "a letter each"), ("ABC", "a letter each"), ("ZX", "Y and X")]
)
def test_axes_are_letters_of_ours(axes, problem):
    with pytest.raises(InputError, match=problem):
        Wanted(axes=axes)


def test_axes_that_do_not_fit_are_refused(tmp_path):
    stack = noise(3, ROWS, COLS)
    tifffile.imwrite(tmp_path / "s.tif", stack, photometric="minisblack", compression="zlib")
    for axes, said in (("TZYX", "names 4"), ("YXZ", "rows and columns, not YXZ")):
        with pytest.raises(StackFileError, match=said):
            open_stacks(tmp_path / "s.tif", Wanted(axes=axes))
    tifffile.imwrite(tmp_path / "s.tif", np.moveaxis(stack, 0, -1), photometric="minisblack")
    (turned,) = open_stacks(tmp_path / "s.tif", Wanted(axes="YXZ"))
    np.testing.assert_array_equal(turned.codes, stack[:, None])


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


@pytest.mark.parametrize("options", [{"imagej": True}, {"ome": True}])
def test_times_are_no_slices_unless_its_user_insists(tmp_path, options):
    stack = noise(5, ROWS, COLS, dtype=np.uint16)
    told = {"metadata": {"axes": "TYX"}, "photometric": "minisblack"}
    tifffile.imwrite(tmp_path / "t.tif", stack, **told, **options)
    assert "axes TYX of shape (5, 12, 16), and none of them is Z" in refusal(tmp_path / "t.tif")
    pictures = open_pictures(tmp_path / "t.tif", Wanted(focus_along="T"))
    np.testing.assert_array_equal(pictures.codes, stack[:, None])
