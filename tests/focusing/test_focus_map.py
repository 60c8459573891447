"""Every patch of a frame against `focus` on that patch alone."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy import ndimage

from dioptre.confidence.reasons import State
from dioptre.errors import InputError, MethodError, StackFileError
from dioptre.focusing.focus import focus
from dioptre.focusing.focus_map import FocusMap, focus_map, to_count
from dioptre.grid import FocusGrid
from dioptre.methods.frame import MEASURES, PatchLattice
from dioptre.methods.stereo import MEASURES as STEREO
from dioptre.stack import FocalStack
from tests.marks import slow_but

SLICES = 15
SIZE, STRIDE = 64, 24
FAR, NEAR = 4, 10  # where the left and the right part of the frame are sharp
ROWS, COLS = 112, 256  # three columns of blank wall in the middle


def scene(views: int = 1, seed: int = 0) -> np.ndarray:
    """Returns (slice, view, row, col): texture far on the left, a blank wall, texture near on the right."""
    rng = np.random.default_rng(seed)
    texture = 0.2 + 0.6 * rng.random((ROWS, COLS))
    frames = np.full((SLICES, views, ROWS, COLS), 0.5)
    for at, frame in enumerate(frames):
        for columns, sharp in ((slice(0, 72), FAR), (slice(184, COLS), NEAR)):
            blurred = ndimage.gaussian_filter(texture[:, columns], 0.4 + 0.5 * abs(at - sharp))
            for view, image in enumerate(frame):
                shift = (2 * view - 1) * (at - sharp) if views == 2 else 0
                image[:, columns] = np.roll(blurred, shift, axis=1)
    return np.clip(frames + rng.normal(0.0, 0.003, frames.shape), 0, 1).astype(np.float32)


@pytest.fixture(scope="module")
def frames() -> np.ndarray:
    return scene()


@pytest.fixture(scope="module")
def found(frames: np.ndarray) -> FocusMap:
    return focus_map(frames, size=SIZE, stride=STRIDE, grid=FocusGrid.uniform(n=SLICES))


def alone(frames: np.ndarray, method: str, size: int = SIZE, stride: int = STRIDE) -> list:
    """Returns what focus() says of each patch, in order, by the shape of its curve as a map does."""
    lattice = PatchLattice(*frames.shape[2:], size, stride)
    rois = [(int(x), int(y), size, size) for y in lattice.row_starts for x in lattice.col_starts]
    grid = FocusGrid.uniform(n=SLICES)
    return focus(frames, method, grid=grid, roi=rois, risk=0.999)


def test_a_map_unpacks_as_index_and_confidence(found: FocusMap) -> None:
    index, confidence = found
    assert index is found.index
    assert confidence is found.confidence
    assert index.shape == confidence.shape == found.focused.shape == (3, 9)
    assert index.dtype == np.int64
    assert confidence.min() >= 0
    assert confidence.max() <= 1


def test_two_depths_are_two_indices_and_the_wall_between_is_not_focused(found: FocusMap) -> None:
    assert (found.index[:, 0] == FAR).all()
    assert (found.index[:, -1] == NEAR).all()
    assert found.focused[:, [0, -1]].all()
    assert found.confidence[:, [0, -1]].min() > 0.9
    wall = (found.cols - SIZE / 2 >= 72 + 16) & (found.cols + SIZE / 2 <= 184 - 16)
    assert wall.any()
    assert not found.focused[:, wall].any()
    assert found.confidence[:, wall].max() <= 0.5


def test_centres_are_in_pixels(found: FocusMap) -> None:
    assert found.rows.tolist() == [32, 56, 80]
    assert found.cols.tolist() == [32 + 24 * at for at in range(9)]


ONE_A_FAMILY = [
    "total-variation-l2", "histogram-entropy", "modified-dct", "gradient-count-3", "eigenvalue-trace",
    "intensity-variance", "laplacian-energy", "local-ratio-2", "local-norm-dist-sq-4", "wavelet-sum-2",
    "census-transform", "normalized-sad", "normalized-cross-correlation",
]  # fmt: skip


@pytest.mark.parametrize("method", slow_but(ONE_A_FAMILY, MEASURES))
def test_index_and_dioptres_are_those_of_focus_on_each_patch(method: str) -> None:
    frames = scene(views=2)
    found = focus_map(frames, method, SIZE, 48, grid=FocusGrid.uniform(n=SLICES))
    regions = alone(frames, method, stride=48)
    assert found.index.ravel().tolist() == [one.index for one in regions]
    assert found.dioptres is not None
    np.testing.assert_allclose(found.dioptres.ravel(), [one.dioptres for one in regions], atol=1e-3)
    assert found.method == method


def test_positions_are_between_slices_in_the_unit_of_the_grid(frames: np.ndarray, found: FocusMap) -> None:
    assert found.unit == "slice"
    np.testing.assert_allclose(found.position, found.index, atol=0.5)
    um = focus_map(frames, size=SIZE, stride=STRIDE, grid="100:2.5um")
    assert (um.unit, um.dioptres) == ("um", None)
    np.testing.assert_allclose(um.position, 100 + 2.5 * found.position)
    dioptres = focus_map(frames, size=SIZE, stride=STRIDE, grid=FocusGrid.uniform(n=SLICES).dioptres)
    np.testing.assert_allclose(dioptres.position, found.dioptres)
    assert dioptres.position is dioptres.dioptres


def test_a_stack_from_near_to_far_is_mapped_in_its_own_order(frames: np.ndarray, found: FocusMap) -> None:
    grid = FocusGrid.uniform(n=SLICES).turned()
    turned = focus_map(frames[::-1], size=SIZE, stride=STRIDE, grid=grid)
    clear = found.focused
    np.testing.assert_array_equal(turned.index[clear], SLICES - 1 - found.index[clear])
    np.testing.assert_allclose(turned.position[clear], found.position[clear], atol=1e-6)
    np.testing.assert_allclose(turned.dioptres[clear], found.dioptres[clear], atol=1e-6)
    assert turned.grid == grid


@pytest.mark.parametrize("size", [33, 50, 64, 100])
def test_the_verdict_is_almost_always_that_of_focus(frames: np.ndarray, size: int) -> None:
    found = focus_map(frames, size=size, stride=STRIDE)
    regions = alone(frames, "local-norm-dist-sq-4", size)
    focused = np.array([one.state is State.FOCUSED for one in regions])
    assert 0.2 < focused.mean() < 0.9
    assert (found.focused.ravel() == focused).mean() > 0.8  # where texture and wall meet, tiles differ
    clear = found.focused.ravel() & focused
    confidence = np.array([one.confidence for one in regions])  # which has also looked at the pictures
    assert np.mean(np.abs(found.confidence.ravel() - confidence)[clear] < 0.25) > 0.9


@pytest.mark.parametrize("method", ["local-norm-dist-sq-4", "wavelet-sum-2", "census-transform"])
def test_a_blank_wall_is_nowhere_focused(method: str) -> None:
    rng = np.random.default_rng(3)
    wall = np.clip(rng.normal(0.4, 0.02, (25, 2, 160, 200)), 0, 1).astype(np.float32)
    found = focus_map(wall, method, 48, 16)
    assert found.focused.size > 60
    assert not found.focused.any()
    assert found.confidence.max() <= 0.5


@pytest.mark.parametrize("size", [17, 48])
def test_a_few_slices_will_do_and_two_do_not(frames: np.ndarray, size: int) -> None:
    some = frames[FAR - 2 : FAR + 3, :, :, :60]
    found = focus_map(some, size=size, stride=8)
    assert found.focused.mean() > 0.8
    assert (found.index[found.focused] == 2).all()
    noise = np.random.default_rng(0).normal(0.5, 0.003, some.shape).astype(np.float32)
    assert not focus_map(noise, size=size, stride=8).focused.any()
    assert not focus_map(some[:2], size=size, stride=8).answered.any()


def test_codes_and_the_pixels_they_mean_give_the_same(frames: np.ndarray) -> None:
    codes = np.round(1000 + 8000 * frames[:, 0]).astype(np.uint16)
    of_codes = focus_map(codes, size=SIZE, stride=STRIDE, black=1000.0, white=9000.0)
    of_pixels = focus_map((codes.astype(np.float32) - 1000) / 8000, size=SIZE, stride=STRIDE)
    for one, other in zip(of_codes, of_pixels, strict=True):
        np.testing.assert_allclose(one, other, atol=0.01)
    assert of_codes.dioptres is None


def test_a_stack_gives_its_ladder_and_its_order(frames: np.ndarray, found: FocusMap) -> None:
    order = np.random.default_rng(0).permutation(SLICES)
    stack = FocalStack(frames[order][None], order[None], FocusGrid.uniform(n=SLICES))
    for one, other in zip(focus_map(stack, size=SIZE, stride=STRIDE), found, strict=True):
        np.testing.assert_array_equal(one, other)
    by_stack = focus_map(stack, size=SIZE, stride=STRIDE).dioptres
    assert by_stack is not None
    np.testing.assert_array_equal(by_stack, found.dioptres)


def test_a_folder_of_pictures_will_do(tmp_path: Path, frames: np.ndarray) -> None:
    for at, frame in enumerate(frames):
        cv2.imwrite(str(tmp_path / f"{at:02}.png"), np.round(255 * frame[0]).astype(np.uint8))
    found = focus_map(tmp_path, size=SIZE, stride=STRIDE)
    assert (found.index[:, 0] == FAR).all()
    assert (found.index[:, -1] == NEAR).all()


@pytest.mark.parametrize("masked", [False, True])
def test_a_bad_pixel_spoils_its_slice_in_its_patches_only(
    frames: np.ndarray, found: FocusMap, masked: bool
) -> None:
    spoilt = np.ma.array(frames.copy(), mask=np.zeros(frames.shape, bool)) if masked else frames.copy()
    spoilt[FAR, 0, 5, 3] = np.ma.masked if masked else np.nan
    again = focus_map(spoilt, size=SIZE, stride=STRIDE)
    assert again.index[0, 0] in (FAR - 1, FAR + 1)  # what is left of the sharpest ones
    index, focused = again.index.copy(), again.focused.copy()
    index[0, 0], focused[0, 0] = found.index[0, 0], found.focused[0, 0]
    np.testing.assert_array_equal(index, found.index)
    np.testing.assert_array_equal(focused, found.focused)


def test_white_patches_are_not_focused(frames: np.ndarray) -> None:
    bright = frames.copy()
    bright[:, :, :, :72] = np.clip(4 * bright[:, :, :, :72] - 0.6, 0, 1)
    assert np.median((bright[..., :72] >= 1).mean(axis=(1, 2, 3))) > 0.5
    found = focus_map(bright, size=SIZE, stride=STRIDE)
    assert not found.focused[:, 0].any()
    assert found.focused[:, -1].all()


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"method": "wavelet-sum"}, MethodError, "did you mean"),
        ({"method": "l2a-stack-green"}, MethodError, "dual-pixel measures, not the network l2a-stack-green"),
        ({"method": "dioptre-any-dp"}, MethodError, "not the network dioptre-any-dp"),
        ({"method": "dioptre-vote"}, MethodError, "takes measures: dioptre-contrast"),
        ({"size": 8}, InputError, "patches of 8 pixels at stride 24 do not fit a frame of 256 x 112"),
        ({"size": 113}, InputError, "patches of 113 pixels"),
        ({"stride": 0}, InputError, "at stride 0"),
        ({"grid": FocusGrid.uniform(n=9)}, InputError, "15 slices, but 9 positions"),
        ({"grid": "0:1:4um"}, StackFileError, "5 positions for 15 slices"),
        ({"black": 2.0, "white": 1.0}, InputError, "white must lie above black"),
    ],
)
def test_what_cannot_be_used_is_said(
    frames: np.ndarray, settings: dict, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        focus_map(frames, **{"size": SIZE, "stride": STRIDE, **settings})


@pytest.mark.parametrize("bad", [40.0, "40", True, None])
def test_a_size_is_a_whole_number(bad: object) -> None:
    with pytest.raises(InputError, match=f"the size of patches is a whole number of pixels, not {bad!r}"):
        to_count("size", bad)


@pytest.mark.parametrize("method", STEREO)
def test_dual_pixel_measures_need_two_views(frames: np.ndarray, method: str) -> None:
    with pytest.raises(MethodError, match=f"{method} compares a left and a right view"):
        focus_map(frames, method, SIZE, STRIDE)


def test_frames_that_are_no_stack_are_refused(frames: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"not an array of shape \(112, 256\)"):
        focus_map(frames[0, 0])
    stack = FocalStack.full(np.repeat(frames[None], 2, axis=0))
    with pytest.raises(InputError, match="2 scenes"):
        focus_map(stack)
    with pytest.raises(InputError, match="scaled already"):
        focus_map(FocalStack.full(frames[None]), white=0.5)
