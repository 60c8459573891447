"""Which colour of pictures is read: green, or the only one that has a signal, which is said."""

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile
from scipy.ndimage import gaussian_filter

from dioptre.focusing.slices import pictures_of_array
from dioptre.stacks.colours import BLUE, COLOURS, GREEN, RED, colour_with_signal, one_colour, red_first
from dioptre.stacks.formats import open_pictures
from dioptre.stacks.pictures import Pictures
from tests.stacks.picture_files import noise

N, SIDE, SHARP = 5, 48, 3
NAMED = pytest.mark.parametrize("colour", [RED, GREEN, BLUE])


def of_one_colour(colour: int, dark: int = 0) -> np.ndarray:
    """Pictures, (slice, row, col, colour), red first, of which some at the beginning are black."""
    texture = np.random.default_rng(0).uniform(0, 255, (SIDE, SIDE))
    stack = np.zeros((N, SIDE, SIDE, 3), np.uint8)
    for at in range(dark, N):
        stack[at, ..., colour] = gaussian_filter(texture, 0.5 + abs(at - SHARP))
    return stack


def write_folder(folder: Path, stack: np.ndarray, suffix: str) -> Path:
    folder.mkdir()
    for at, picture in enumerate(stack):
        content = cv2.imencode(suffix, np.ascontiguousarray(picture[..., ::-1]))[1].tobytes()
        (folder / f"f{at}{suffix}").write_bytes(content)
    return folder


def write_pages(path: Path, stack: np.ndarray, **options: object) -> Path:
    tifffile.imwrite(path, stack, photometric="rgb", **options)
    return path


def write_film(path: Path, stack: np.ndarray) -> Path:
    film = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"FFV1"), 10, (SIDE, SIDE))
    for picture in stack:
        film.write(np.ascontiguousarray(picture[..., ::-1]))
    film.release()
    return path


WAYS: dict[str, Callable[[Path, np.ndarray], Pictures]] = {
    "png": lambda folder, stack: open_pictures(write_folder(folder / "s", stack, ".png")),
    "jpg": lambda folder, stack: open_pictures(write_folder(folder / "s", stack, ".jpg")),
    "tif": lambda folder, stack: open_pictures(write_folder(folder / "s", stack, ".tif")),
    "pages": lambda folder, stack: open_pictures(write_pages(folder / "s.tif", stack)),
    "zlib": lambda folder, stack: open_pictures(write_pages(folder / "s.tif", stack, compression="zlib")),
    "film": lambda folder, stack: open_pictures(write_film(folder / "s.mkv", stack)),
    "array": lambda _, stack: pictures_of_array(stack),
}


@NAMED
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dark", [0, 2])
def test_the_colour_that_has_the_signal_is_read_and_said(
    tmp_path: Path, colour: int, way: str, dark: int
) -> None:
    stack = of_one_colour(colour, dark)
    pictures = WAYS[way](tmp_path, stack)
    said = f"green has hardly any signal: the pictures are read by their {COLOURS[colour]}"
    assert pictures.notes == (() if colour == GREEN else (said,))
    codes, signal = pictures.codes[:, 0].astype(float), stack[..., colour].astype(float)
    if way == "jpg":
        codes = codes if colour != GREEN else codes / codes.max() * signal.max()  # luma
        assert codes.std(axis=(1, 2)).argmax() == SHARP
        assert (
            np.corrcoef(codes.ravel(), signal.ravel())[0, 1] > 0.7
        )  # of a JPEG colours are stored at half the rows and columns
    elif way == "film":
        np.testing.assert_allclose(codes, signal, atol=2)
    else:
        np.testing.assert_array_equal(codes, signal)


def test_green_is_read_as_long_as_it_has_a_signal() -> None:
    picture = noise(16, 16, 3)
    assert colour_with_signal([picture]) == GREEN
    assert colour_with_signal([picture // np.array([1, 3, 1], np.uint8)]) == GREEN
    bright = np.full((16, 16, 3), 255, np.uint8)
    bright[..., GREEN] = noise(16, 16) // 8  # red and blue are saturated
    assert colour_with_signal([bright]) == GREEN
    for nothing in ([picture[..., 0]], [None], []):
        assert colour_with_signal(nothing) == GREEN
    black = np.zeros_like(picture)
    assert colour_with_signal([black, black]) == GREEN
    holes = np.where(picture > 200, np.nan, picture.astype(float)) * np.array([0, 0, 1])
    assert colour_with_signal([holes]) == BLUE


def test_alpha_and_grey_are_no_colours() -> None:
    blue = of_one_colour(BLUE)[0]
    veiled = np.concatenate([blue, noise(SIDE, SIDE, 1)], axis=-1)
    assert colour_with_signal([veiled]) == BLUE
    np.testing.assert_array_equal(red_first(veiled)[..., ::-1], veiled[..., :3])
    grey = noise(8, 8, 2)
    np.testing.assert_array_equal(one_colour(grey, BLUE), grey[..., 0])
    assert red_first(grey) is grey


@pytest.mark.parametrize("colour", [BLUE, None])
@pytest.mark.parametrize("options", [{}, {"compression": "zlib"}])
def test_pages_with_a_palette_are_read_as_folders_of_them(
    tmp_path: Path, colour: int | None, options: dict[str, str]
) -> None:
    ramp = np.linspace(0, 65535, 256).astype(np.uint16)
    palette = np.stack([ramp[::-1], np.sqrt(ramp / 65535) * 65535, ramp // 2]).astype(np.uint16)
    if colour is not None:
        palette = np.stack([ramp if one == colour else 0 * ramp for one in range(3)])
    stack = of_one_colour(GREEN)[..., GREEN]
    told = {"photometric": "palette", "colormap": palette, **options}
    tifffile.imwrite(tmp_path / "pages.tif", stack, **told)
    (tmp_path / "s").mkdir()
    for at, picture in enumerate(stack):
        tifffile.imwrite(tmp_path / "s" / f"f{at}.tif", picture, **told)
    pages, folder = open_pictures(tmp_path / "pages.tif"), open_pictures(tmp_path / "s")
    np.testing.assert_array_equal(pages.codes, folder.codes)
    assert pages.notes == folder.notes
    assert bool(pages.notes) == (colour == BLUE)
    assert pages.dtype == folder.dtype == np.uint8
