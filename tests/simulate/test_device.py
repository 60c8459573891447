import numpy as np
import pytest

from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.simulate.device import LEFT_SHARE, SHADING, PhoneOptics
from dioptre.simulate.psf import PointSpread

CAMERA = CameraModel.pixel3()


@pytest.mark.parametrize(("row", "col"), [(0, 0), (2, 4), (4, 8), (1, 6)])
def test_shading_is_the_measured_table_at_its_places(row: int, col: int) -> None:
    x = -1008 + 60 + col * (2016 - 120) / 8
    y = -756 + 60 + row * (1512 - 120) / 4
    brightness, share = PhoneOptics.center().shading_at(CAMERA, (x, y))
    assert brightness == pytest.approx(SHADING[row, col], abs=2e-3)
    assert share == pytest.approx(LEFT_SHARE[row, col], abs=2e-3)


def test_shading_is_held_outside_its_table() -> None:
    assert PhoneOptics.center().shading_at(CAMERA, (-1008.0, -756.0))[0] == pytest.approx(
        SHADING[0, 0], abs=2e-3
    )


def test_shading_scales_with_the_frame() -> None:
    small = CameraModel(4.44, 1.8, 2.8, (100, 160), FocusGrid.learnaf())
    assert PhoneOptics.center().shading_at(small, (0.0, 0.0))[0] == pytest.approx(1.0)


def test_the_left_phone_is_always_the_same_and_closer() -> None:
    one, two = PhoneOptics.left(), PhoneOptics.left()
    assert (one.split_depth, one.lens_bias) == (two.split_depth, two.lens_bias)
    assert one.closer_m == 0.011
    assert one.split_width != PhoneOptics.center().split_width


def test_drawn_phones_differ_and_stay_physical() -> None:
    phones = [PhoneOptics.draw(np.random.default_rng(seed)) for seed in range(40)]
    assert len({phone.radius_gain for phone in phones}) == 40
    for phone in phones:
        assert phone.split_depth <= 0.5
        assert phone.shading.min() > 0
        assert phone.shading.max() <= 1
        assert 0.3 <= phone.left_share.min() <= phone.left_share.max() <= 0.7
    brighter_left = [phone.left_share.mean() > 0.5 for phone in phones]
    assert 8 < sum(brighter_left) < 32  # half of them are mirrored


def test_blur_has_a_gain_on_either_side_of_focus() -> None:
    phone = PhoneOptics(radius_gain=1.1, far_side=1.2)
    assert phone.blur_gain(5.0) == pytest.approx(1.1)
    assert phone.blur_gain(-5.0) == pytest.approx(1.32)
    assert phone.most_gain == pytest.approx(1.32)
    assert phone.thin_lens().blur_gain(-5.0) == 1.0


def test_kernels_are_wider_on_the_far_side_as_drawn() -> None:
    widths = []
    for blur in (12.0, -12.0):
        kernel = PointSpread(CAMERA, PhoneOptics(far_side=1.2), (0.0, 0.0)).kernels(blur).sum(axis=0)
        at = np.arange(len(kernel)) - len(kernel) // 2
        widths.append(np.sqrt((kernel.sum(axis=0) * at**2).sum() / kernel.sum()))
    assert widths[1] / widths[0] == pytest.approx(1.2, abs=0.02)


def test_drawn_phones_split_their_views_by_a_fifth_to_a_quarter_of_the_blur() -> None:
    splits, sides = [], []
    for seed in range(12):
        phone = PhoneOptics.draw(np.random.default_rng(seed))
        left, right = PointSpread(CAMERA, phone.thin_lens(), (0.0, 0.0)).kernels(20.0).astype(np.float64)
        at = np.arange(left.shape[1])
        centres = [float((one.sum(axis=0) * at).sum() / one.sum()) for one in (left, right)]
        splits.append((centres[1] - centres[0]) / 20)
        sides.append(phone.far_side)
    assert 0.19 < min(splits) < max(splits) < 0.26
    assert 0.9 <= min(sides) < max(sides) <= 1.3


def test_a_patch_is_shaded_within_as_the_field_is() -> None:
    at, size = (500.0, 300.0), 128
    inside = PhoneOptics.center().shading_within(CAMERA, at, size)
    assert inside.shape == (2, size, size)
    np.testing.assert_allclose(inside.mean(axis=(1, 2)), 1.0, atol=1e-3)
    edges = [PhoneOptics.center().shading_at(CAMERA, (at[0] + x, at[1])) for x in (-64.0, 64.0)]
    left = [light * share for light, share in edges]
    assert inside[0, 64, -1] / inside[0, 64, 0] == pytest.approx(left[1] / left[0], rel=0.02)
