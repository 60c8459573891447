import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dioptre.grid import FocusGrid
from dioptre.store.labels import (
    Labels,
    code_to_metres,
    in_crop,
    label_rows,
    map_factor,
    metres_to_code,
    patch_corners,
    patch_medians,
    patch_where,
)

PUBLISHED = (1512, 2016)
SMALL = (192, 256)
GRID = FocusGrid.learnaf()


# Depth codes


def test_the_ends_of_the_depth_codes() -> None:
    assert code_to_metres(0.0) == pytest.approx(0.1)
    assert code_to_metres(255.0) == pytest.approx(100.0)
    assert code_to_metres(0.0, 0.2, 50.0) == pytest.approx(0.2)


def test_a_code_is_even_in_inverse_depth() -> None:
    dioptres = 1 / np.asarray(code_to_metres(np.arange(256.0)))
    np.testing.assert_allclose(np.diff(dioptres), (0.01 - 10) / 255)


@given(st.floats(0, 255), st.floats(0.01, 1.0), st.floats(2.0, 1000.0))
def test_codes_and_metres_are_inverse(code: float, nearest: float, farthest: float) -> None:
    assert metres_to_code(code_to_metres(code, nearest, farthest), nearest, farthest) == pytest.approx(
        code, abs=1e-6
    )


@pytest.mark.parametrize("ends", [(0.0, 1.0), (2.0, 1.0), (-1.0, 1.0)])
def test_codes_need_two_distances(ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="nearest < farthest"):
        code_to_metres(1.0, *ends)


# Corners


def test_the_published_grid_has_1680_patches_of_which_660_lie_in_the_crop() -> None:
    corners = patch_corners(PUBLISHED)
    assert len(corners) == 48 * 35
    assert corners.max(axis=0).tolist() == [34 * 40, 47 * 40]
    assert in_crop(corners, PUBLISHED).sum() == 660


def test_a_patch_at_the_edge_of_the_crop_is_inside() -> None:
    corners = np.array([[252, 336], [251, 336], [1260 - 128, 1680 - 128], [1260 - 128, 1681 - 128]])
    assert in_crop(corners, PUBLISHED).tolist() == [True, False, True, False]


def test_where_is_the_centre_over_the_half_frame() -> None:
    where = patch_where(np.array([[0, 0], [64, 128], [32, 64]]), SMALL)
    np.testing.assert_allclose(where, [[-0.5, -1 / 3], [0.5, 1 / 3], [0, 0]])


def test_a_frame_smaller_than_a_patch_is_refused() -> None:
    with pytest.raises(ValueError, match="100 x 400"):
        patch_corners((100, 400))


# Medians


def slow_medians(
    values: np.ndarray, valid: np.ndarray, corners: np.ndarray, factor: int, size: int
) -> list[float]:
    found = []
    for row, col in corners // factor:
        window = np.s_[row : row + size // factor, col : col + size // factor]
        inside = values[window][valid[window]]
        found.append(np.median(inside) if inside.size else np.nan)
    return found


@pytest.mark.parametrize("factor", [1, 2, 4, 8])
def test_medians_are_those_of_a_slow_loop(factor: int) -> None:
    rng = np.random.default_rng(factor)
    shape = SMALL[0] // factor, SMALL[1] // factor
    values, valid = rng.random(shape), rng.random(shape) < 0.3
    valid[: shape[0] // 2] &= rng.random(shape[1]) < 0.5
    corners = patch_corners(SMALL, 64, 24)
    found = patch_medians(values, valid, corners, SMALL, 64)
    np.testing.assert_array_equal(found, slow_medians(values, valid, corners, factor, 64))


def test_medians_of_many_patches_do_not_depend_on_how_they_are_cut() -> None:
    values = np.random.default_rng(0).random((126, 168))
    valid = np.ones(values.shape, bool)
    corners = patch_corners((504, 672), 128, 40)
    assert len(corners) > 128
    some = patch_medians(values, valid, corners[100:], (504, 672))
    np.testing.assert_array_equal(patch_medians(values, valid, corners, (504, 672))[100:], some)


def test_a_patch_without_a_valid_pixel_is_nan() -> None:
    valid = np.ones((48, 64), bool)
    valid[:, :32] = False
    medians = patch_medians(np.ones((48, 64)), valid, np.array([[0, 0], [0, 128]]), SMALL)
    assert np.isnan(medians).tolist() == [True, False]


@pytest.mark.parametrize("shape", [(48, 63), (47, 64), (384, 512), (5, 5)])
def test_a_map_divides_its_frame(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=f"{shape[0]} x {shape[1]}"):
        map_factor(shape, SMALL)


# Labels


def test_the_label_is_the_nearest_index_of_the_median_of_what_is_known() -> None:
    depth = np.full((48, 64), GRID.dioptres[20])
    confidence = np.ones((48, 64))
    depth[:20], confidence[:20] = 0.5, 0.0  # more than half of a patch of 32 rows, but not known
    labels = Labels.from_maps(depth, confidence, GRID, SMALL)
    assert labels.truth.tolist() == [20] * 8
    np.testing.assert_allclose(labels.depth, GRID.dioptres[20])
    assert labels.confidence.tolist() == [0.0] * 4 + [1.0] * 4
    assert len(labels.trusted(0.99)) == 4
    assert (labels.trusted(0.99).corners[:, 0] == 40).all()


def test_a_patch_of_which_nothing_is_known_is_never_trusted() -> None:
    labels = Labels.from_maps(np.full((48, 64), 3.0), np.zeros((48, 64)), GRID, SMALL)
    assert len(labels) == 8
    assert len(labels.trusted(0.0)) == 0


def test_confidence_that_is_no_number_counts_as_none() -> None:
    confidence = np.full((48, 64), np.nan)
    confidence[:, 32:] = 1.0
    labels = Labels.from_maps(np.full((48, 64), 3.0), confidence, GRID, SMALL)
    assert sorted(set(labels.confidence.tolist())) == [0.0, 0.5, 1.0] or set(labels.confidence) == {0.0, 1.0}
    assert np.isnan(labels.depth[0])
    assert labels.depth[3] == 3.0


def test_maps_of_two_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="24 x 32"):
        Labels.from_maps(np.ones((48, 64)), np.ones((24, 32)), GRID, SMALL)


def test_rows_hold_what_a_store_needs() -> None:
    labels = Labels.from_maps(np.full((48, 64), 3.0), np.ones((48, 64)), GRID, SMALL)
    rows = label_rows(labels, SMALL, {"scene": "apt1", "capture": "apt1_0-center", "split": "train"})
    assert len(rows) == 8
    assert rows[5] == {
        "scene": "apt1",
        "capture": "apt1_0-center",
        "split": "train",
        "row": 40,
        "col": 40,
        "truth": GRID.nearest_index(3.0),
        "where_x": pytest.approx((40 + 64 - 128) / 128),
        "where_y": pytest.approx((40 + 64 - 96) / 96),
        "depth": pytest.approx(3.0),
        "confidence": 1.0,
        "in_crop": False,
    }
    assert type(rows[0]["in_crop"]) is bool
