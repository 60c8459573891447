"""Zeiss' files: scenes, mosaics, light sheets, phases, and however compressed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dioptre.errors import StackFileError
from dioptre.focusing.focus import focus
from dioptre.stacks.axes import Wanted
from dioptre.stacks.formats import open_pictures, open_stacks
from tests.stacks.czi_files import write_czi
from tests.stacks.picture_files import noise, refusal

library = pytest.importorskip("pylibCZIrw.czi")

ROWS, COLS, N = 40, 48, 5
Tiles = list[tuple[np.ndarray, dict[str, Any]]]

XML = """<ImageDocument><Metadata><Information><Image><Dimensions><Channels>
<Channel Id="Channel:0" Name="DAPI"/><Channel Id="Channel:1" Name="GFP"/></Channels></Dimensions></Image>
</Information><Scaling><Items><Distance Id="Z"><Value>3E-07</Value></Distance></Items></Scaling>
</Metadata></ImageDocument>"""


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_czi_file_is_read_by_its_own_library(tmp_path, dtype):
    codes = np.random.default_rng(0).integers(0, 200, (2, 5, 24, 32)).astype(dtype)
    write_czi(tmp_path / "cells.czi", codes, "CZYX", XML)
    first, second = open_stacks(tmp_path / "cells.czi")
    np.testing.assert_array_equal(second.codes[:, 0], codes[1])
    assert (first.label, second.label) == ("channel DAPI", "channel GFP")
    np.testing.assert_allclose(first.grid.positions, 0.3 * np.arange(5))
    (chosen,) = open_stacks(tmp_path / "cells.czi", Wanted(channel="GFP"))
    np.testing.assert_array_equal(chosen.codes, second.codes)


def write(path: Path, tiles: Tiles, compression: str = "uncompressed:") -> Path:
    with library.create_czi(str(path), compression_options=compression) as file:
        for tile, how in tiles:
            file.write(data=tile if tile.ndim == 3 else tile[..., None], **how)
        file.write_metadata("x", channel_names={0: "DA&PI"}, scale_x=1e-7, scale_y=1e-7, scale_z=5e-7)
    return path


def slices(stack: np.ndarray, **how: Any) -> Tiles:
    return [(one, {"plane": {"Z": at}, **how}) for at, one in enumerate(stack)]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize(
    "compression", ["zstd0:ExplicitLevel=2", "zstd1:ExplicitLevel=2;PreProcess=HiLoByteUnpack", "zstd1:"]
)
def test_the_same_pixels_give_the_same_answer_however_compressed(
    tmp_path: Path, compression: str, dtype: type
) -> None:
    stack = noise(N, ROWS, COLS, dtype=dtype)
    raw = write(tmp_path / "raw.czi", slices(stack))
    other = write(tmp_path / "other.czi", slices(stack), compression)
    pictures = open_pictures(other)
    np.testing.assert_array_equal(pictures.codes[:, 0], stack)
    assert pictures.grid is not None
    np.testing.assert_allclose(pictures.grid.positions, 0.5 * np.arange(N))
    assert pictures.notes == ()
    np.testing.assert_array_equal(focus(raw).scores, focus(other).scores)


def test_scenes_are_positions_of_the_stage(tmp_path: Path) -> None:
    both = noise(2, N, ROWS, COLS)
    tiles = [one for at in (0, 1) for one in slices(both[at], scene=at, location=(300 * at, 20))]
    path = write(tmp_path / "s.czi", tiles)
    first, second = open_stacks(path)
    assert (first.label, second.label) == ("position 0", "position 1")
    np.testing.assert_array_equal(first.codes[:, 0], both[0])
    np.testing.assert_array_equal(open_pictures(path, Wanted(position=1)).codes[:, 0], both[1])


def test_scenes_of_several_sizes_are_chosen(tmp_path: Path) -> None:
    small, large = noise(N, ROWS, COLS), noise(N, 2 * ROWS, COLS)
    path = write(tmp_path / "s.czi", [*slices(small), *slices(large, scene=1, location=(300, 0))])
    assert "2 scenes of several sizes (48 x 40, 48 x 80): choose one (position=...)" in refusal(path)
    np.testing.assert_array_equal(open_pictures(path, Wanted(position=1)).codes[:, 0], large)


def test_tiles_of_a_mosaic_are_laid_side_by_side_and_it_is_said(tmp_path: Path) -> None:
    both = noise(2, N, ROWS, COLS)
    tiles = [one for at in (0, 1) for one in slices(both[at], location=(COLS * at - 7, 0))]
    pictures = open_pictures(write(tmp_path / "m.czi", tiles))
    np.testing.assert_array_equal(pictures.codes[:, 0], np.concatenate(both, axis=-1))
    assert pictures.notes == ("each picture is a mosaic of 2 tiles, side by side as the file says",)


def test_slices_need_not_begin_with_the_first(tmp_path: Path) -> None:
    stack = noise(N, ROWS, COLS)
    tiles = [(one, {"plane": {"Z": at + 3, "T": 2}}) for at, one in enumerate(stack)]
    np.testing.assert_array_equal(open_pictures(write(tmp_path / "z.czi", tiles)).codes[:, 0], stack)


def test_a_picture_that_is_missing_is_not_taken_for_black(tmp_path: Path) -> None:
    tiles = [
        (one, {"plane": {"Z": at, "C": c}}) for at, one in enumerate(noise(N, ROWS, COLS)) for c in (0, 1)
    ]
    said = refusal(write(tmp_path / "z.czi", tiles[:-1]))
    assert "lacks 1 of the 10 pictures of its axes" in said


def test_colours_are_read_by_that_which_has_the_signal(tmp_path: Path) -> None:
    blue = np.zeros((N, ROWS, COLS, 3), np.uint8)
    blue[..., 0] = noise(N, ROWS, COLS)  # blue first
    pictures = open_pictures(write(tmp_path / "c.czi", slices(blue)))
    np.testing.assert_array_equal(pictures.codes[:, 0], blue[..., 0])
    assert pictures.notes == ("green has hardly any signal: the pictures are read by their blue",)


def test_phases_are_no_slices(tmp_path: Path) -> None:
    stack = noise(N, ROWS, COLS)
    write_czi(tmp_path / "h.czi", stack, "HYX", XML)
    assert "axes HYX of shape (5, 40, 48), and none of them is Z" in refusal(tmp_path / "h.czi")
    pictures = open_pictures(tmp_path / "h.czi", Wanted(focus_along="H"))
    np.testing.assert_array_equal(pictures.codes[:, 0], stack)
    pictures = open_pictures(tmp_path / "h.czi", Wanted(axes="ZYX"))
    np.testing.assert_array_equal(pictures.codes[:, 0], stack)


@pytest.mark.parametrize(("axis", "said"), [("V", "2 views (V)"), ("I", "2 illuminations (I)")])
def test_light_sheets_are_refused_in_a_sentence(tmp_path: Path, axis: str, said: str) -> None:
    write_czi(tmp_path / "v.czi", noise(2, N, ROWS, COLS), f"{axis}ZYX", XML)
    refused = refusal(tmp_path / "v.czi")
    assert f"is of a light sheet, with {said}: Fiji saves one of them as OME-TIFF" in refused


def test_channels_of_several_kinds_are_refused(tmp_path: Path) -> None:
    tiles = [
        (noise(ROWS, COLS), {"plane": {"C": 0}}),
        (noise(ROWS, COLS, dtype=np.uint16), {"plane": {"C": 1}}),
    ]
    path = write(tmp_path / "k.czi", tiles)
    with pytest.raises(StackFileError, match="pictures of Gray16 and Gray8"):
        open_stacks(path)
