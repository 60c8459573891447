"""The patches of a frame at once against `scores` patch by patch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from dioptre.methods import scores
from dioptre.methods.contrast import MEASURES as CONTRAST
from dioptre.methods.frame import PatchLattice, frame_scores, patch_means
from dioptre.methods.measure import offsets
from dioptre.methods.stereo import MEASURES as STEREO
from dioptre.stack import VIEW_CODES, FocalStack, codes_to_pixels

KEYS = [*CONTRAST, *STEREO]
BLACK, WHITE = 1024.0, 16368.0  # of the published files


def coded_frames(slices: int, views: int, rows: int, cols: int, seed: int = 0) -> np.ndarray:
    """Returns uint16 frames, texture and noise, no pixel near black: (slice, view, row, col).

    Codes are multiples of 4 above black, which no threshold is.
    """
    rng = np.random.default_rng(seed)
    frames = np.empty((slices, views, rows, cols))
    for k, frame in enumerate(frames):
        frame[:] = ndimage.gaussian_filter(rng.random((rows, cols)), 0.6 + 0.3 * k)
    frames = 0.15 + 0.7 * frames + rng.normal(0.0, 0.02, frames.shape)
    return (BLACK + 4 * np.round(np.clip(frames, 0.1, 1) * (WHITE - BLACK) / 4)).astype(np.uint16)


def patch_by_patch(frames: np.ndarray, keys: list[str], lattice: PatchLattice) -> dict[str, np.ndarray]:
    """Returns what `scores` says of each patch of coded frames: (row, col, slice)."""
    pixels = codes_to_pixels(frames, BLACK, WHITE)
    cut = [
        pixels[..., y : y + lattice.size, x : x + lattice.size]
        for y in lattice.row_starts
        for x in lattice.col_starts
    ]
    found = scores(FocalStack.full(np.stack(cut)), keys)
    return {key: found[key].reshape(*lattice.shape, len(frames)) for key in keys}


def coded_scores(frames: np.ndarray, keys: list[str], size: int, stride: int) -> dict[str, np.ndarray]:
    return frame_scores(frames, keys, size=size, stride=stride, black=BLACK, white=WHITE)


# Which patches there are


def test_a_frame_of_the_published_files_has_1680_patches() -> None:
    lattice = PatchLattice(1512, 2016)
    assert lattice.shape == (35, 48)
    assert lattice.row_starts[-1] == 1360
    assert lattice.col_starts[-1] == 1880


@pytest.mark.parametrize(
    ("rows", "cols", "size", "stride", "shape"),
    [(16, 16, 16, 1, (1, 1)), (17, 20, 16, 1, (2, 5)), (40, 50, 16, 24, (2, 2)), (39, 50, 16, 24, (1, 2))],
)
def test_patches_lie_wholly_inside(
    rows: int, cols: int, size: int, stride: int, shape: tuple[int, int]
) -> None:
    lattice = PatchLattice(rows, cols, size, stride)
    assert lattice.shape == shape
    assert lattice.row_starts[-1] + size <= rows
    assert lattice.col_starts[-1] + size <= cols


@pytest.mark.parametrize(
    ("rows", "cols", "size", "stride"), [(40, 50, 41, 8), (50, 40, 41, 8), (40, 50, 15, 8), (40, 50, 16, 0)]
)
def test_patches_that_do_not_fit_are_refused(rows: int, cols: int, size: int, stride: int) -> None:
    message = f"patches of {size} pixels at stride {stride} do not fit a frame of {cols} x {rows}"
    with pytest.raises(ValueError, match=message):
        PatchLattice(rows, cols, size, stride)


# Against the patches one by one


@pytest.fixture(
    scope="module",
    params=[
        (20, 22, 16, 1, 1),
        (20, 22, 16, 1, 2),
        (40, 61, 17, 9, 2),
        (61, 40, 24, 7, 2),
        (75, 90, 33, 13, 1),
        (80, 70, 50, 20, 2),
        (90, 75, 64, 11, 2),
        (120, 75, 32, 40, 2),
    ],
    ids=lambda p: f"{p[1]}x{p[0]} size {p[2]} stride {p[3]} views {p[4]}",
)
def both(request: pytest.FixtureRequest) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """All measures of one frame, at once and patch by patch."""
    rows, cols, size, stride, views = request.param
    keys = KEYS if views == 2 else list(CONTRAST)
    frames = coded_frames(2, views, rows, cols)
    expected = patch_by_patch(frames, keys, PatchLattice(rows, cols, size, stride))
    return coded_scores(frames, keys, size, stride), expected


@pytest.mark.parametrize("key", KEYS)
def test_equals_the_patches_one_by_one(
    both: tuple[dict[str, np.ndarray], dict[str, np.ndarray]], key: str
) -> None:
    found, expected = both
    if key in expected:
        assert found[key].shape == expected[key].shape
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-5, atol=1e-9)


def test_returns_the_keys_in_order_and_no_others() -> None:
    keys = ["census-transform", "wavelet-sum-2", "local-ratio-1"]
    assert list(coded_scores(coded_frames(1, 2, 32, 32), keys, 16, 8)) == keys


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(36, 70),
    cols=st.integers(36, 70),
    size=st.integers(16, 36),
    stride=st.integers(5, 45),
)
def test_equals_the_patches_at_any_size_and_stride(
    seed: int, rows: int, cols: int, size: int, stride: int
) -> None:
    frames = coded_frames(1, 2, rows, cols, seed)
    expected = patch_by_patch(frames, KEYS, PatchLattice(rows, cols, size, stride))
    found = coded_scores(frames, KEYS, size, stride)
    for key in KEYS:
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-5, atol=1e-9, err_msg=key)


@pytest.mark.parametrize("key", ["total-variation-l1", "local-norm-dist-sq-1", "rank-transform"])
def test_each_alone_equals_all_together(key: str) -> None:
    frames = coded_frames(1, 2, 48, 40)
    together = coded_scores(frames, KEYS, 24, 8)[key]
    np.testing.assert_array_equal(coded_scores(frames, [key], 24, 8)[key], together)


# A blur that goes on into the frame


@pytest.mark.parametrize("sigma", [1, 2, 4])
def test_a_blur_that_does_not_reflect_sees_the_frame(sigma: int) -> None:
    pixels = codes_to_pixels(coded_frames(1, 1, 72, 90), BLACK, WHITE)
    key, lattice = f"local-norm-dist-sq-{sigma}", PatchLattice(72, 90, 24, 24)
    found = frame_scores(pixels, [key], size=24, stride=24, reflecting=False)[key][..., 0]
    image = pixels[0, 0].astype(np.float64)
    blurred = ndimage.gaussian_filter(image, sigma, mode="reflect", truncate=4.0)
    response = (image - blurred) ** 2 / (blurred**2 + (2 * VIEW_CODES) ** -2)
    for i, y in enumerate(lattice.row_starts):
        for j, x in enumerate(lattice.col_starts):
            expected = response[y : y + 24, x : x + 24].mean()
            assert found[i, j] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("key", ["total-variation-l1", "wavelet-sum-2", "census-transform"])
def test_what_has_no_blur_does_not_care(key: str) -> None:
    pixels = codes_to_pixels(coded_frames(1, 2, 48, 40), BLACK, WHITE)
    reflecting = frame_scores(pixels, [key], size=24, stride=8)[key]
    np.testing.assert_array_equal(
        frame_scores(pixels, [key], size=24, stride=8, reflecting=False)[key], reflecting
    )


def test_means_are_those_of_the_patches() -> None:
    image, lattice = coded_frames(1, 1, 75, 90)[0, 0].astype(np.float32), PatchLattice(75, 90, 33, 13)
    expected = [
        [image[y : y + 33, x : x + 33].mean(dtype=np.float64) for x in lattice.col_starts]
        for y in lattice.row_starts
    ]
    np.testing.assert_allclose(patch_means(image, lattice), expected)


# Pixels


def test_codes_and_the_pixels_they_mean_score_alike() -> None:
    frames = coded_frames(2, 2, 40, 48)
    found = coded_scores(frames, KEYS, 20, 10)
    for key, expected in frame_scores(
        codes_to_pixels(frames, BLACK, WHITE), KEYS, size=20, stride=10
    ).items():
        np.testing.assert_array_equal(found[key], expected, err_msg=key)


def test_black_and_white_are_where_they_are_said_to_be() -> None:
    frames = coded_frames(1, 1, 40, 48)
    key = "intensity-coefficient-of-variation"
    taken_as_zero = frame_scores(frames, [key], size=40, white=65535.0)[key]
    pixels = (frames[0, 0, :, :40].astype(np.float64) - BLACK) / (WHITE - BLACK)
    assert coded_scores(frames, [key], 40, 40)[key][0, 0, 0] == pytest.approx(pixels.std() / pixels.mean())
    assert taken_as_zero[0, 0, 0] < 0.9 * pixels.std() / pixels.mean()


def test_constants_are_in_the_codes_of_the_frames() -> None:
    pixels = codes_to_pixels(coded_frames(1, 2, 32, 32), BLACK, WHITE)
    keys = ["gradient-count-10", "ternary-census-10", "local-ratio-2"]
    found = frame_scores(pixels, keys, size=32, view_codes=100.0)
    expected = scores(FocalStack.full(pixels[None], view_codes=100.0), keys)
    ordinary = scores(FocalStack.full(pixels[None], view_codes=VIEW_CODES), keys)
    for key in keys:
        assert found[key][0, 0, 0] == pytest.approx(expected[key][0, 0], rel=1e-5)
        assert found[key][0, 0, 0] != pytest.approx(ordinary[key][0, 0], rel=1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_pixel_loses_its_slice_in_every_patch(bad: float) -> None:
    frames = codes_to_pixels(coded_frames(3, 2, 40, 48), BLACK, WHITE)
    clean = frame_scores(frames, KEYS, size=16, stride=8)
    frames[1, 1, 39, 0] = bad
    for key, spoilt in frame_scores(frames, KEYS, size=16, stride=8).items():
        assert (spoilt[..., 1] == -np.inf).all(), key
        np.testing.assert_array_equal(spoilt[..., [0, 2]], clean[key][..., [0, 2]], err_msg=key)


@pytest.fixture(scope="module")
def grounds() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """All measures of frames with a black and a white ground, at once and patch by patch."""
    rng = np.random.default_rng(3)
    light = rng.random((3, 2, 120, 160)) ** 6  # mostly dark, with codes of all sizes
    frames = np.round(BLACK + light * (WHITE - BLACK)).astype(np.uint16)
    frames[:, :, 7:60, 5:75] = BLACK
    frames[:, :, 61:120, 82:153] = WHITE
    return coded_scores(frames, KEYS, 36, 12), patch_by_patch(frames, KEYS, PatchLattice(120, 160, 36, 12))


@pytest.mark.parametrize("key", KEYS)
def test_black_and_white_grounds_score_as_their_patches(
    key: str, grounds: tuple[dict[str, np.ndarray], dict[str, np.ndarray]]
) -> None:
    found, expected = grounds
    np.testing.assert_allclose(found[key], expected[key], rtol=1e-5, atol=1e-7)


def test_the_grounds_are_flat(grounds: tuple[dict[str, np.ndarray], dict[str, np.ndarray]]) -> None:
    black, white = (1, 1), (6, 8)  # patches that lie wholly within
    for y, x in (black, white):
        assert (grounds[0]["intensity-variance"][y, x] < 1e-12).all()
        assert (grounds[0]["census-transform"][y, x] == 0).all()
        assert (grounds[0]["normalized-sad"][y, x] == -np.inf).all()
    assert 0.7 < np.isfinite(grounds[0]["normalized-sad"]).mean() < 0.95


@pytest.fixture(scope="module")
def large_frames() -> np.ndarray:
    """Bright specks on dark: large sums beside the flat ground that a test puts in."""
    return np.random.default_rng(2).random((12, 2, 500, 600), dtype=np.float32) ** 4


GROUND = (..., slice(60, 260), slice(60, 360))
ON_GROUND = (slice(3, 10), slice(3, 15))  # of the patches of 64 at stride 20


@pytest.mark.parametrize(
    ("key", "flat"),
    [
        ("intensity-coefficient-of-variation", 0.0),
        ("dct-energy-ratio", 0.0),
        ("wavelet-ratio-2", 0.0),
        ("normalized-sad", -np.inf),
        ("normalized-cross-correlation", -np.inf),
    ],
)
def test_black_patches_of_a_large_frame_have_no_contrast(
    key: str, flat: float, large_frames: np.ndarray
) -> None:
    frames = large_frames.copy()
    frames[GROUND] = 0.0
    found = frame_scores(frames, [key], size=64, stride=20)[key][ON_GROUND]
    np.testing.assert_allclose(found, flat, atol=1e-6)


def test_patches_of_the_frames_own_grey_have_no_normal_form(large_frames: np.ndarray) -> None:
    frames = large_frames.copy()
    frames[GROUND] = 0.0
    for view in frames.reshape(-1, *frames.shape[2:]):
        view[GROUND] = offsets(view[None])[0] + 1e-4
    key = "normalized-cross-correlation"
    found = frame_scores(frames, [key], size=64, stride=20)[key][ON_GROUND]
    assert (found == -np.inf).all()


# What is refused


def test_a_patch_larger_than_the_frame_is_refused() -> None:
    with pytest.raises(ValueError, match="patches of 128 pixels at stride 40 do not fit a frame of 100 x 60"):
        frame_scores(np.zeros((1, 1, 60, 100), np.float32), ["wavelet-sum-2"])


@pytest.mark.parametrize("key", STEREO)
def test_a_dual_pixel_measure_of_one_view_is_refused(key: str) -> None:
    with pytest.raises(
        ValueError, match=f"{key} compares a left and a right view, but the frames have only one"
    ):
        frame_scores(np.zeros((1, 1, 20, 20), np.float32), ["wavelet-sum-2", key], size=16)


@pytest.mark.parametrize("key", ["wavelet-sum", "l2a-stack-green"])
def test_what_is_not_a_measure_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=f"takes contrast and dual-pixel measures, not '{key}'"):
        frame_scores(np.zeros((1, 2, 20, 20), np.float32), ["wavelet-sum-2", key], size=16)


def test_white_below_black_is_refused() -> None:
    with pytest.raises(ValueError, match="white must lie above black, not black 64 and white 64"):
        frame_scores(np.zeros((1, 1, 20, 20), np.uint16), ["wavelet-sum-2"], size=16, black=64.0, white=64.0)
