"""One pass over the slices: what is measured of a stack that is streamed is what is measured of the whole."""

from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest

from dioptre.confidence.statistics import SliceBlocks
from dioptre.confidence.verdict import Exposure
from dioptre.errors import StackFileError
from dioptre.focusing import score_slices
from dioptre.focusing import slices as module
from dioptre.focusing.focus import focus
from dioptre.focusing.regions import Region
from dioptre.focusing.score_slices import measure_regions, measure_tiles
from dioptre.focusing.slices import to_slices
from dioptre.methods import METHODS, scores
from dioptre.methods.tiles import tiles_of
from dioptre.stack import FocalStack
from dioptre.stacks.pictures import Pictures, Window

N, ROWS, COLS = 7, 70, 90


@pytest.fixture
def codes() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, (N, 2, ROWS, COLS)).astype(np.uint8)


@pytest.fixture(params=[1, 10_000, 10**9], ids=["slice by slice", "two by two", "all at once"])
def _block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", request.param)


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("key", ["local-norm-dist-sq-4", "wavelet-sum-3", "census-transform"])
def test_what_is_streamed_is_what_the_whole_array_gives(codes: np.ndarray, key: str, falling: bool) -> None:
    window = Window(3, 5, 67, 85)
    pixels = np.ascontiguousarray(window.cut(codes)).astype(np.float32) * np.float32(1 / 255)
    pixels = pixels[::-1] if falling else pixels
    slices = to_slices(codes, None, None)
    (found,) = measure_regions(slices, [Region(window)], METHODS[key].build(), falling)
    stack = FocalStack.full(np.ascontiguousarray(pixels)[None])
    np.testing.assert_array_equal(found.curve, scores(stack, [key])[key][0])
    tiles = tiles_of(pixels)
    assert tiles is not None
    np.testing.assert_array_equal(found.parts, scores(FocalStack.full(tiles), [key])[key])
    assert found.exposure == Exposure.of(pixels)
    whole = SliceBlocks.of(pixels)
    for field in fields(SliceBlocks):
        np.testing.assert_array_equal(getattr(found.blocks, field.name), getattr(whole, field.name))


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize("falling", [False, True])
def test_tiles_alone_are_those_of_the_whole_array(codes: np.ndarray, falling: bool) -> None:
    measure, window = METHODS["local-norm-dist-sq-4"].build(), Window(3, 5, 67, 85)
    pixels = np.ascontiguousarray(window.cut(codes)).astype(np.float32) * np.float32(1 / 255)
    tiles = tiles_of(pixels[::-1] if falling else pixels, (2, 5))
    assert tiles is not None
    found = measure_tiles(to_slices(codes, None, None), Region(window), measure, (2, 5), falling)
    np.testing.assert_array_equal(found, measure.scores(FocalStack.full(tiles)))
    assert measure_tiles(to_slices(codes, None, None), Region(window), measure, (1, 3)) is None


def test_finer_tiles_are_measured_without_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("the whole region was measured with its finer tiles")

    rng = np.random.default_rng(0)
    codes = rng.integers(0, 255, (N, 1, 256, 256)).astype(np.uint8)
    monkeypatch.setattr(score_slices, "slice_scores", refuse)
    monkeypatch.setattr(score_slices.SliceBlocks, "of", refuse)
    measure, window = METHODS["dioptre-contrast"].build(), Window.whole(256, 256)
    found = measure_tiles(to_slices(codes, None, None), Region(window), measure, (8, 8))
    assert found is not None
    assert found.shape == (64, N)


@pytest.mark.usefixtures("_block")
def test_a_folder_answers_as_its_array_does(tmp_path: Path, codes: np.ndarray) -> None:
    for at, one in enumerate(codes[:, 0]):
        cv2.imwrite(str(tmp_path / f"{at}.png"), one)
    rois = [(0, 0, 40, 40), (30, 20, 50, 45)]
    from_files, from_memory = (
        [found.to_json(full=True) for found in focus(one, roi=rois)] for one in (tmp_path, codes[:, :1])
    )
    assert from_files == from_memory


def test_only_the_regions_are_read_and_each_slice_once_if_the_camera_stands_still(codes: np.ndarray) -> None:
    asked: list[tuple[int, Window]] = []

    def read(at: int, window: Window) -> np.ndarray:
        asked.append((at, window))
        return window.cut(codes[0])

    names = tuple(str(at) for at in range(N))
    pictures = Pictures("some", codes.shape, codes.dtype, names, read)
    focus(pictures, roi=[(10, 20, 16, 16), (40, 30, 20, 20)])
    assert sorted(asked) == [(at, Window(20, 10, 50, 60)) for at in range(N)]


def test_pictures_that_must_be_decoded_are_decoded_one_by_one_whatever_the_region(
    codes: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", 2 * ROWS * COLS)  # of one slice of two views
    names, seen = tuple(str(at) for at in range(N)), []
    pictures = Pictures("some", codes.shape, codes.dtype, names, lambda at, window: window.cut(codes[at]))
    for one, many in ((pictures, N), (codes, 1)):
        seen.clear()
        focus(one, roi=(0, 0, 16, 16), progress=lambda done, _: seen.append(done))
        assert len(seen) == many


def test_no_more_slices_are_held_than_there_are_threads(
    codes: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIOPTRE_THREADS", "2")
    monkeypatch.setattr(module, "BLOCK", 1)
    slices = to_slices(np.repeat(codes, 5, axis=0), None, None)
    begun, done = [], []
    for found in module.stream(
        slices, slices.blocks(1), slices.pictures.whole, lambda run, _: begun.append(run)
    ):
        done.append(found)
        assert len(begun) <= len(done) + 3


def test_a_film_is_read_in_order_whatever_the_threads(
    codes: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIOPTRE_THREADS", "4")
    monkeypatch.setattr(module, "BLOCK", 1)
    asked: list[int] = []

    def read(at: int, window: Window) -> np.ndarray:
        asked.append(at)
        return window.cut(codes[at])

    names = tuple(str(at) for at in range(N))
    focus(Pictures("film", codes.shape, codes.dtype, names, read, parallel=False))
    assert asked[:N] == list(range(N))
    assert all(after in (before + 1, 0) for before, after in pairwise(asked))  # again where nothing was seen


def test_a_slice_that_cannot_be_read_stops_everything(
    codes: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", 1)

    def read(at: int, window: Window) -> np.ndarray:
        if at == 3:
            raise StackFileError("3.png is damaged")
        return window.cut(codes[at])

    with pytest.raises(StackFileError, match=r"3\.png is damaged"):
        focus(Pictures("some", codes.shape, codes.dtype, tuple("abcdefg"), read))


def test_progress_counts_slices(codes: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 1)
    seen: list[tuple[int, int]] = []
    focus(codes, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(at + 1, N) for at in range(N)]
