"""One call: what stacks it takes, in which order it answers, and how it refuses."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from dioptre.confidence.reasons import Reason, State
from dioptre.errors import InputError, MethodError
from dioptre.focusing.focus import DEFAULT_METHOD, focus
from dioptre.focusing.focus_map import focus_map
from dioptre.focusing.result import FocusResult, Roi
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS, scores
from dioptre.methods.base import ANY, WHOLE
from dioptre.methods.contrast import Contrast
from dioptre.optics import CameraModel
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import FocalStack

SIZE = 64
N = 13
NEAR, FAR = 8, 4  # indices of two planes; index 0 is the far end
CAMERA = CameraModel(
    focal_length_mm=4.44,
    f_number=1.8,
    pixel_pitch_um=2.8,
    frame=(1512, 2016),
    grid=FocusGrid.uniform(far_m=2.0, near_m=0.12, n=N),
)
GRID = CAMERA.grid


@pytest.fixture(scope="module")
def texture() -> np.ndarray:
    return dead_leaves(150, 150, np.random.default_rng(0))


def plane(texture: np.ndarray, index: int, seed: int = 0) -> np.ndarray:
    depth = float(GRID.dioptres[index])
    return plane_stack(CAMERA, depth, texture, np.random.default_rng(seed), size=SIZE)


@pytest.fixture(scope="module")
def views(texture: np.ndarray) -> np.ndarray:
    """The left and right view of a plane at NEAR, (slice, 2, row, col) in 0..1."""
    return plane(texture, NEAR)


@pytest.fixture(scope="module")
def green(views: np.ndarray) -> np.ndarray:
    return views.mean(axis=1)


@pytest.fixture(scope="module")
def side_by_side(texture: np.ndarray, views: np.ndarray) -> np.ndarray:
    """The plane at NEAR to the left of one at FAR with a fifth of its contrast."""
    far = 0.4 + 0.2 * (texture[::-1] - 0.4)
    return np.concatenate([views, plane(far, FAR, seed=1)], axis=3)


LEFT_ROI, RIGHT_ROI = (0, 0, SIZE, SIZE), (SIZE, 0, SIZE, SIZE)


def assert_sharp_at(result: FocusResult, index: int) -> None:
    assert result.state is State.FOCUSED, result.reasons
    assert result.index == index
    assert abs(result.subindex - index) <= 0.5
    assert result.confidence > 0.9
    assert result.reasons == ()


# Arrays


@pytest.mark.parametrize(
    ("dtype", "white"),
    [(np.uint8, 255), (np.uint16, 65535), (np.int16, 32767), (np.float32, 1.0), (np.float64, 1.0)],
)
@pytest.mark.parametrize("shape", ["(S, H, W)", "(S, 1, H, W)", "(S, 2, H, W)"])
def test_arrays_of_all_common_dtypes_and_shapes(
    views: np.ndarray, green: np.ndarray, dtype: type, white: float, shape: str
) -> None:
    pixels = {"(S, H, W)": green, "(S, 1, H, W)": green[:, None], "(S, 2, H, W)": views}[shape]
    codes = pixels.astype(np.float64) * white
    result = focus((np.round(codes) if white > 1 else codes).astype(dtype))
    assert_sharp_at(result, NEAR)
    np.testing.assert_allclose(result.scores, focus(pixels).scores, rtol=0.02, atol=1e-3)


def test_two_views_are_scored_as_their_mean(views: np.ndarray, green: np.ndarray) -> None:
    np.testing.assert_allclose(focus(views).scores, focus(green).scores, rtol=1e-6)


def test_black_and_white_undo_a_camera_s_scale(green: np.ndarray) -> None:
    codes = np.round(64 + 959 * green).astype(np.uint16)
    result = focus(codes, black=64.0, white=1023.0)
    assert_sharp_at(result, NEAR)
    np.testing.assert_allclose(result.scores, focus(green).scores, rtol=0.01, atol=1e-3)


def test_white_lets_floats_and_wide_integers_in(green: np.ndarray) -> None:
    expected = focus(green).scores
    np.testing.assert_allclose(focus(255 * green, white=255.0).scores, expected, rtol=1e-4)
    wide = np.round(1e6 * green).astype(np.int32)
    np.testing.assert_allclose(focus(wide, white=1e6).scores, expected, rtol=1e-3)


def test_pixels_at_the_white_that_is_given_are_saturated(green: np.ndarray) -> None:
    result = focus(green, white=float(np.median(green)) / 4)
    assert result.state is State.FAILED
    assert Reason.SATURATED in result.reasons


def test_an_array_in_any_memory_order(green: np.ndarray) -> None:
    turned = np.asfortranarray(green)
    np.testing.assert_array_equal(focus(turned).scores, focus(green).scores)


def test_the_stack_is_left_as_it_was(green: np.ndarray) -> None:
    before = green.copy()
    focus(green)
    np.testing.assert_array_equal(green, before)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_pixel_is_left_out_and_not_its_slice(green: np.ndarray, value: float) -> None:
    broken = green.copy()
    broken[NEAR, 3, 5] = value
    result = focus(broken)
    assert result.state is State.FOCUSED
    assert result.reasons == (Reason.PIXELS_LEFT_OUT,)
    assert result.index == NEAR
    assert "0.00024 of the pixels" in result.notes[0]
    np.testing.assert_allclose(result.scores, focus(green).scores, rtol=0.01)


def test_a_border_of_nan_is_cropped(green: np.ndarray) -> None:
    shifted = green.copy()
    for at in range(N):  # as registration leaves it
        shifted[at, : at // 3] = np.nan
        shifted[at, :, SIZE - at // 2 :] = np.nan
    result = focus(shifted)
    inner = green[:, 4:, : SIZE - 6]
    np.testing.assert_allclose(result.scores, focus(inner).scores, rtol=1e-6)
    assert result.index == NEAR
    assert "cropped to x=0 y=4 w=58 h=60" in result.notes[0]


def test_a_slice_without_pixels_is_left_out_and_said_so(green: np.ndarray) -> None:
    broken = green.copy()
    broken[2] = np.nan
    result = focus(broken)
    assert Reason.NOT_FINITE in result.reasons
    assert result.scores[2] == -np.inf
    assert np.isfinite(np.delete(result.scores, 2)).all()
    assert "left out: slice 2" in result.notes[0]


def test_a_region_without_finite_pixels_is_refused(green: np.ndarray) -> None:
    broken = green.copy()
    broken[3, :40, :40] = np.nan
    with pytest.raises(InputError, match="hardly any pixel of the region is finite"):
        focus(broken, roi=(0, 0, 32, 32))


def test_wide_integers_and_floats_are_scaled_by_their_own_range(green: np.ndarray) -> None:
    wide = np.round(1e6 * green).astype(np.int32)
    result = focus(wide)
    assert result.notes == (f"int32 pixels are scaled by their own range: black 0, white {wide.max():g}",)
    np.testing.assert_allclose(result.scores, focus(green, white=float(green.max())).scores, rtol=1e-3)
    floats = focus(300 * green - 20)
    assert "float64 pixels are scaled" in floats.notes[0] or "float32 pixels are scaled" in floats.notes[0]
    assert floats.index == NEAR


@pytest.mark.parametrize("options", [{}, {"white": 1.0}])
def test_floats_below_zero_keep_their_negative_half(green: np.ndarray, options: dict[str, float]) -> None:
    floats = (2 * green / green.max() - 1).astype(np.float32)
    low, high = floats.min(), options.get("white", floats.max())
    result = focus(floats, **options)
    assert result.notes == (f"float32 pixels are scaled by their own range: black {low:g}, white {high:g}",)
    told = focus(floats, black=float(low), white=float(high))
    assert told.notes == ()
    np.testing.assert_array_equal(result.scores, told.scores)
    assert result.index == NEAR


def test_a_list_of_paths_is_a_stack(tmp_path: Path, green: np.ndarray) -> None:
    codes = np.round(255 * green / green.max()).astype(np.uint8)
    paths = [tmp_path / f"f{at}.png" for at in range(len(codes))]
    for path, picture in zip(paths, codes, strict=True):
        path.write_bytes(cv2.imencode(".png", picture)[1].tobytes())
    np.testing.assert_array_equal(focus(paths).scores, focus(codes).scores)
    np.testing.assert_array_equal(focus([str(path) for path in paths]).scores, focus(codes).scores)
    assert focus_map(paths[:5], size=32).index.ndim == 2


def test_arrays_that_are_not_alike_are_refused(green: np.ndarray) -> None:
    rows, cols = green.shape[1:]
    with pytest.raises(InputError) as refused:
        focus([green[0], green[1], green[2, :-1]])
    assert str(refused.value) == (
        f"the slices of a stack are alike, not of shape {(rows, cols)} and {(rows - 1, cols)}"
    )
    with pytest.raises(InputError, match="real numbers"):
        focus(["a", 3])


def test_colour_arrays_are_read_as_colour_files_are(green: np.ndarray) -> None:
    colour = np.stack([np.zeros_like(green), green, np.ones_like(green)], axis=-1)
    np.testing.assert_array_equal(focus(colour).scores, focus(green).scores)
    np.testing.assert_array_equal(focus(green[..., None]).scores, focus(green).scores)


def test_a_turned_array_names_the_argument(green: np.ndarray) -> None:
    turned = np.moveaxis(green, 0, -1)
    with pytest.raises(InputError, match=r"YXZ or ZYX \(axes=\.\.\.\)"):
        focus(turned)
    np.testing.assert_array_equal(focus(turned, axes="YXZ").scores, focus(green).scores)


def test_channels_of_an_array_are_chosen(green: np.ndarray) -> None:
    both = np.stack([green[::-1], green], axis=1)
    with pytest.raises(InputError, match=r"2 stacks \(channel 0; channel 1\)"):
        focus(both, axes="ZCYX")
    assert focus(both, axes="ZCYX", channel=1).index == NEAR
    assert focus(both, axes="ZCYX", channel=0).index == N - 1 - NEAR
    with pytest.raises(InputError, match="no argument 'chanel'"):
        focus(both, chanel=1)


@pytest.mark.parametrize(
    ("pixels", "message"),
    [
        (np.zeros((5, 32, 32), np.complex64), "real numbers, not complex64"),
        (np.zeros((5, 32, 32), bool), "real numbers, not bool"),
        (np.zeros((32, 32)), r"\(slice, row, col\).*shape \(32, 32\)"),
        (np.zeros((5, 32, 32, 5)), r"shape \(5, 32, 32, 5\)"),
        (np.zeros((5, 3, 32, 32)), r"shape \(5, 3, 32, 32\)"),
        (np.zeros((0, 32, 32)), r"shape \(0, 32, 32\)"),
        (np.zeros((5, 15, 32)), "at least 16 x 16 pixels, not 32 x 15"),
    ],
)
def test_arrays_that_are_no_stack_are_refused(pixels: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        focus(pixels)


def test_white_must_lie_above_black(green: np.ndarray) -> None:
    with pytest.raises(ValueError, match="black 100 and white 50"):
        focus(green, black=100.0, white=50.0)


# Paths and focal stacks


@pytest.mark.parametrize("as_path", [str, Path])
def test_a_numpy_file(tmp_path: Path, views: np.ndarray, as_path: type) -> None:
    np.save(tmp_path / "stack.npy", views)
    assert_sharp_at(focus(as_path(tmp_path / "stack.npy")), NEAR)


def write_pictures(folder: Path, green: np.ndarray) -> np.ndarray:
    codes = np.round(255 * green).astype(np.uint8)
    for at, picture in enumerate(codes):
        assert cv2.imwrite(str(folder / f"frame{at}.png"), picture)
    return codes


def test_a_folder_of_pictures_in_numeric_order(tmp_path: Path, green: np.ndarray) -> None:
    codes = write_pictures(tmp_path, green)
    result = focus(tmp_path, grid=GRID.dioptres)
    assert_sharp_at(result, NEAR)
    np.testing.assert_array_equal(result.scores, focus(codes).scores)


def test_a_path_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no file or folder .*nowhere"):
        focus(tmp_path / "nowhere")


def test_a_focal_stack_knows_its_positions(views: np.ndarray) -> None:
    result = focus(FocalStack.full(views[None], GRID))
    assert_sharp_at(result, NEAR)
    assert result.dioptres == pytest.approx(GRID.dioptres[NEAR], abs=0.35)


def test_the_slices_of_a_focal_stack_may_come_in_any_order(views: np.ndarray) -> None:
    order = np.random.default_rng(0).permutation(N)
    result = focus(FocalStack(views[order][None], order[None], GRID))
    np.testing.assert_array_equal(result.scores, focus(views).scores)


def test_a_grid_may_overrule_that_of_a_focal_stack(views: np.ndarray) -> None:
    stack = FocalStack.full(views[None], GRID)
    result = focus(stack, grid="0:2.5um")
    assert (result.unit, result.dioptres) == ("um", None)
    assert result.position == pytest.approx(2.5 * result.subindex)
    assert focus(FocalStack.full(views[None]), grid=GRID).dioptres == focus(stack).dioptres


def test_a_focal_stack_keeps_the_codes_of_its_views(views: np.ndarray) -> None:
    stack = FocalStack.full(views[None], GRID, view_codes=959.0)
    expected = scores(stack, ["local-ratio-4"])["local-ratio-4"][0]
    np.testing.assert_array_equal(focus(stack, "local-ratio-4").scores, expected)


def test_a_focal_stack_of_several_scenes_or_some_slices_is_refused(views: np.ndarray) -> None:
    with pytest.raises(ValueError, match="not 2 scenes"):
        focus(FocalStack.full(np.stack([views, views]), GRID))
    with pytest.raises(ValueError, match="of 3 of 13 slices"):
        focus(FocalStack.full(views[None], GRID).at([3, 4, 5]))


# Positions


def test_without_positions_only_the_slice_is_known(views: np.ndarray) -> None:
    result = focus(views)
    assert (result.dioptres, result.distance_m) == (None, None)
    assert (result.unit, result.position) == ("slice", result.subindex)


def assert_found_at_plane(result: FocusResult) -> None:
    assert result.dioptres is not None
    assert result.dioptres == pytest.approx(GRID.dioptres[NEAR], abs=np.diff(GRID.dioptres)[0] / 2)
    assert result.distance_m == pytest.approx(1 / result.dioptres)


def test_slices_whose_dioptres_are_known_are_answered_as_slices(views: np.ndarray) -> None:
    result = focus(views, grid=GRID)
    assert_found_at_plane(result)
    assert (result.unit, result.position) == ("slice", result.subindex)
    assert result.dioptres == pytest.approx(GRID.index_to_dioptres(result.subindex))


@pytest.mark.parametrize("as_given", [np.asarray, list, tuple])
def test_rising_dioptres(views: np.ndarray, as_given: Any) -> None:
    result = focus(views, grid=as_given(GRID.dioptres.tolist()))
    assert (result.index, result.unit) == (NEAR, "dioptres")
    assert result.position == result.dioptres
    assert_found_at_plane(result)


def test_falling_dioptres_answer_in_the_user_s_order(views: np.ndarray) -> None:
    rising = focus(views, grid=GRID.dioptres)
    falling = focus(views[::-1], grid=GRID.dioptres[::-1])
    assert_sharp_at(falling, N - 1 - NEAR)
    assert falling.subindex == pytest.approx(N - 1 - rising.subindex)
    assert falling.position == pytest.approx(rising.position)
    assert falling.expected_error == pytest.approx(rising.expected_error)
    np.testing.assert_array_equal(falling.scores, rising.scores[::-1])
    np.testing.assert_array_equal(falling.grid.positions, GRID.dioptres[::-1])
    assert falling.confidence == rising.confidence
    assert_found_at_plane(falling)


def test_a_stack_that_is_told_to_run_near_to_far_keeps_its_order(views: np.ndarray) -> None:
    grid = FocusGrid(np.arange(N) * 10.0, "steps", nearer=False)
    result = focus(views[::-1], grid=grid)
    assert_sharp_at(result, N - 1 - NEAR)
    assert result.position == pytest.approx(10 * (N - 1 - NEAR), abs=5)
    assert result.grid == grid
    np.testing.assert_array_equal(result.scores, focus(views).scores[::-1])
    shown = result.shown()
    assert shown is not None
    assert shown.slices == (N - 2 - NEAR, N - 1 - NEAR, N - NEAR)


def test_infinity_is_no_distance_in_json(views: np.ndarray) -> None:
    result = focus(views[NEAR:], grid=np.arange(float(N - NEAR)))
    assert result.distance_m == np.inf
    assert result.to_json()["distance_m"] is None


@pytest.mark.parametrize("direction", [1, -1])
def test_micrometres_rising_or_falling(views: np.ndarray, direction: int) -> None:
    um = 100.0 + direction * 2.5 * np.arange(N)
    result = focus(views, grid=FocusGrid(um, "um"))
    assert_sharp_at(result, NEAR)
    assert result.position == pytest.approx(100.0 + direction * 2.5 * result.subindex)
    assert (result.unit, result.dioptres) == ("um", None)
    assert result.verdict.expected_error is not None
    assert result.expected_error == pytest.approx(2.5 * result.verdict.expected_error)


def test_positions_may_be_told_in_words(tmp_path: Path, views: np.ndarray, green: np.ndarray) -> None:
    result = focus(views, grid="100:-2.5um")
    assert (result.index, result.unit) == (NEAR, "um")
    assert result.position == pytest.approx(100.0 - 2.5 * result.subindex)
    write_pictures(tmp_path, green)
    assert focus(tmp_path, grid="names:steps").position == pytest.approx(NEAR, abs=0.5)


def test_a_network_is_refused_slices_of_which_nothing_is_known() -> None:
    """Also 49 of them, which are not for that the slices of the paper's phone."""
    stack = np.random.default_rng(0).random((49, 2, 128, 128))
    for key in ("l2a-stack-green", "dioptre-any-dp"):
        for grid in (None, FocusGrid(range(49)), "0:0.5um"):
            with pytest.raises(MethodError, match=f"{key} is a network and must know where the slices were"):
                focus(stack, key, grid=grid)
        assert focus(stack, key, grid="learnaf").method == key


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (np.arange(5.0), "13 slices, but 5 positions"),
        (FocusGrid(np.arange(14.0), "um"), "13 slices, but 14 positions"),
        (FocusGrid.learnaf(), "13 slices, but 49 positions"),
        ("pixel3", "13 slices, but 49 positions"),
        ("0:0.5:10um", "21 positions for 13 slices"),
        (GRID.dioptres[[0, 2, 1, *range(3, N)]], "must rise or fall.*sort"),
        (np.zeros(N), "must rise or fall"),
        (np.full(N, np.nan), "positions are finite, not nan"),
    ],
)
def test_positions_that_do_not_fit_are_refused(views: np.ndarray, grid: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        focus(views, grid=grid)


@pytest.mark.parametrize("gone", ["dioptres", "positions_um", "positions", "camera"])
def test_positions_enter_by_one_argument(views: np.ndarray, gone: str) -> None:
    with pytest.raises(InputError, match=f"no argument '{gone}'"):
        focus(views, **{gone: GRID.dioptres})


# Regions


@pytest.mark.parametrize(("roi", "index"), [(LEFT_ROI, NEAR), (RIGHT_ROI, FAR)])
def test_a_region_decides_what_is_focused(side_by_side: np.ndarray, roi: tuple[int, ...], index: int) -> None:
    result = focus(side_by_side, roi=roi, grid=GRID)
    assert_sharp_at(result, index)
    assert result.roi == Roi(*roi)
    assert result.depths == ()


def test_a_region_is_x_y_width_height(side_by_side: np.ndarray) -> None:
    x, y, w, h = 70, 5, 40, 33
    cropped = focus(side_by_side[:, :, y : y + h, x : x + w])
    np.testing.assert_array_equal(focus(side_by_side, roi=(x, y, w, h)).scores, cropped.scores)


def test_no_region_is_the_whole_picture(side_by_side: np.ndarray) -> None:
    whole = focus(side_by_side)
    assert focus(side_by_side[..., :SIZE]).roi is None
    np.testing.assert_array_equal(focus(side_by_side, roi=[]).scores, whole.scores)
    np.testing.assert_array_equal(focus(side_by_side, roi=(0, 0, 2 * SIZE, SIZE)).scores, whole.scores)


def test_a_list_of_regions_is_answered_by_a_list_of_results(side_by_side: np.ndarray) -> None:
    results = focus(side_by_side, roi=[RIGHT_ROI, LEFT_ROI], grid=GRID)
    assert [one.roi for one in results] == [Roi(*RIGHT_ROI), Roi(*LEFT_ROI)]
    for result, index in zip(results, (FAR, NEAR), strict=True):
        assert_sharp_at(result, index)
        np.testing.assert_array_equal(result.scores, focus(side_by_side, roi=result.roi).scores)
        assert result.shown() is not None


def test_a_list_of_one_region_is_answered_by_a_list(side_by_side: np.ndarray) -> None:
    (result,) = focus(side_by_side, roi=[RIGHT_ROI])
    assert (result.index, result.roi) == (FAR, Roi(*RIGHT_ROI))


def test_each_region_of_a_stack_from_near_to_far_is_answered_in_its_order(side_by_side: np.ndarray) -> None:
    near, far = focus(side_by_side[::-1], roi=[LEFT_ROI, RIGHT_ROI], grid=GRID.dioptres[::-1])
    assert (near.index, far.index) == (N - 1 - NEAR, N - 1 - FAR)
    assert_found_at_plane(near)


def test_a_region_that_fails_says_so_beside_others(side_by_side: np.ndarray) -> None:
    noise = np.random.default_rng(0).uniform(0.3, 0.31, side_by_side[..., :SIZE].shape)
    stack = np.concatenate([noise, side_by_side[..., SIZE:]], axis=3)
    blank, far = focus(stack, roi=[LEFT_ROI, RIGHT_ROI])
    assert blank.state is State.FAILED
    assert_sharp_at(far, FAR)


@pytest.mark.parametrize(
    ("roi", "message"),
    [
        ((100, 0, 64, 64), "x=100 y=0 w=64 h=64 does not lie inside the picture of 128 x 64"),
        ((0, 1, 64, 64), "does not lie inside"),
        ((-1, 0, 64, 64), "x=-1"),
        ((0, 0, 15, 64), "w=15.*smaller than 16 x 16"),
        ((0, 0, -64, 64), "w=-64"),
        ((0, 0, 64), r"x, y, width, height in whole pixels, not \(0, 0, 64\)"),
        ([LEFT_ROI, (0, 0, 64, 65)], "h=65"),
    ],
)
def test_regions_that_do_not_fit_are_refused(side_by_side: np.ndarray, roi: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        focus(side_by_side, roi=roi)


def test_an_unknown_subject_is_refused(side_by_side: np.ndarray) -> None:
    with pytest.raises(ValueError, match="behind"):
        focus(side_by_side, roi=LEFT_ROI, subject="behind")


# Methods


def test_every_full_stack_method_gives_a_curve(views: np.ndarray) -> None:
    for key, method in METHODS.items():
        if method.problem.whole and not key.startswith("l2a-"):
            result = focus(views, key)
            assert result.method == key
            assert result.scores.shape == (N,)
            assert result.index == round(result.subindex)
            assert abs(result.subindex - result.scores.argmax()) <= 1


@pytest.mark.parametrize("key", ["census-transform", "normalized-cross-correlation"])
def test_a_dual_pixel_method_on_two_views(views: np.ndarray, key: str) -> None:
    result = focus(views, key)
    assert result.state is State.FOCUSED
    assert result.index == NEAR


def test_a_dual_pixel_method_needs_two_views(green: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"census-transform compares a left and a right view.*only one"):
        focus(green, "census-transform")


def test_a_blank_wall_is_flat_to_a_dual_pixel_method_too() -> None:
    result = focus(np.full((7, 2, 64, 64), 0.3), "normalized-cross-correlation")
    assert result.reasons == (Reason.FLAT_CURVE,)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("local-norm-dist-sq4", "local-norm-dist-sq-4"), ("censustransform", "census-transform")],
)
def test_an_unknown_method_is_answered_with_the_nearest(green: np.ndarray, wrong: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"no method '{wrong}'; did you mean {meant}"):
        focus(green, wrong)


# Results


def test_a_result_says_which_method_and_what_it_scored(green: np.ndarray) -> None:
    result = focus(green)
    assert result.method == DEFAULT_METHOD
    assert result.scores.argmax() == result.index


def test_json_says_what_the_result_does(side_by_side: np.ndarray) -> None:
    result = focus(side_by_side, roi=LEFT_ROI, grid=GRID)
    plain = json.loads(json.dumps(result.to_json(full=True), allow_nan=False))
    for name in ("index", "subindex", "position", "dioptres", "distance_m", "confidence", "risk", "method"):
        assert plain[name] == getattr(result, name)
    assert plain["expected_error"] == result.expected_error
    assert (plain["state"], plain["unit"], plain["roi"]) == ("focused", "slice", list(LEFT_ROI))
    assert plain["scores"] == result.scores.tolist()


def test_json_of_a_slice_that_was_left_out_holds_no_word_that_json_lacks(green: np.ndarray) -> None:
    broken = green.copy()
    broken[2] = np.nan
    result = focus(broken, grid=np.arange(float(N)))
    plain = json.loads(json.dumps(result.to_json(full=True), allow_nan=False))
    assert plain["scores"][2] is None
    assert "not-finite" in plain["reasons"]
    assert (plain["state"], plain["index"]) == ("focused", NEAR)  # by the slices that are left


def test_json_of_a_failure_holds_no_word_that_json_lacks(green: np.ndarray) -> None:
    result = focus(np.full_like(green, np.nan))
    plain = json.loads(json.dumps(result.to_json(full=True), allow_nan=False))
    assert (plain["state"], plain["confidence"], plain["expected_error"]) == ("failed", 0.0, None)
    assert plain["scores"] == [None] * N


def test_an_unknown_subject_is_refused_whatever_the_regions(views: np.ndarray) -> None:
    with pytest.raises(ValueError, match="nearest, farthest, largest, most-confident, not 'best'"):
        focus(views, subject="best")


# Faults of earlier versions


@pytest.mark.parametrize("key", [key for key, row in METHODS.items() if row.looks in (WHOLE, ANY)])
def test_focus_scores_as_scores_does(key: str) -> None:
    rng = np.random.default_rng(5)
    pixels = rng.uniform(0.1, 0.6, (1, 49, 2, 128, 128)).astype(np.float32)
    stack = FocalStack.full(pixels, FocusGrid.learnaf(), where=np.array([[0.7, -0.6]]))
    np.testing.assert_array_equal(focus(stack, key).scores, scores(stack, [key])[key][0])


def test_black_and_white_of_a_focal_stack_are_refused() -> None:
    stack = FocalStack.full(np.full((1, 5, 1, 32, 32), 0.5, np.float32))
    for given in ({"black": 0.1}, {"white": 2.0}):
        with pytest.raises(InputError, match="scaled already"):
            focus(stack, **given)


def test_masked_pixels_are_left_out() -> None:
    rng = np.random.default_rng(0)
    codes = np.ma.masked_array(rng.integers(0, 255, (12, 32, 32)).astype(np.uint8), mask=False)
    codes[4, 3, 5] = np.ma.masked
    codes.data[4, 3, 5] = 255 - codes.data[4, 3, 5]  # whatever it is
    result = focus(codes)
    assert Reason.PIXELS_LEFT_OUT in result.reasons
    assert np.isfinite(result.scores).all()
    codes.data[4, 3, 5] = 0
    np.testing.assert_array_equal(focus(codes).scores, result.scores)


def test_negative_integers_want_to_know_what_black_is() -> None:
    codes = np.random.default_rng(0).integers(-50, 1000, (12, 32, 32)).astype(np.int16)
    with pytest.raises(InputError, match=r"int16 pixels go down to -50 \(black=...\)"):
        focus(codes)
    assert focus(codes, black=-50.0, white=1000.0).state is State.FAILED


def test_an_autofocuser_of_the_users_own_is_a_method() -> None:
    pixels = np.random.default_rng(0).random((12, 32, 32))
    result = focus(pixels, Contrast("laplacian-energy"))
    np.testing.assert_array_equal(result.scores, focus(pixels, "laplacian-energy").scores)
    assert result.method == "laplacian-energy"
