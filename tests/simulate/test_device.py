import numpy as np
import pytest

from dioptre.optics import CameraModel, FocusGrid
from dioptre.simulate.device import LEFT_SHARE, SHADING, Device

CAMERA = CameraModel.pixel3()


@pytest.mark.parametrize(("row", "col"), [(0, 0), (2, 4), (4, 8), (1, 6)])
def test_shading_is_the_measured_table_at_its_places(row: int, col: int) -> None:
    x = -1008 + 60 + col * (2016 - 120) / 8
    y = -756 + 60 + row * (1512 - 120) / 4
    brightness, share = Device.center().shading_at(CAMERA, (x, y))
    assert brightness == pytest.approx(SHADING[row, col], abs=2e-3)
    assert share == pytest.approx(LEFT_SHARE[row, col], abs=2e-3)


def test_shading_is_held_outside_its_table() -> None:
    assert Device.center().shading_at(CAMERA, (-1008.0, -756.0))[0] == pytest.approx(SHADING[0, 0], abs=2e-3)


def test_shading_scales_with_the_frame() -> None:
    small = CameraModel(4.44, 1.8, 2.8, (100, 160), FocusGrid.learnaf())
    assert Device.center().shading_at(small, (0.0, 0.0))[0] == pytest.approx(1.0)


def test_the_left_phone_is_always_the_same_and_closer() -> None:
    one, two = Device.left(), Device.left()
    assert (one.split_depth, one.lens_bias) == (two.split_depth, two.lens_bias)
    assert one.closer_m == 0.011
    assert one.split_width != Device.center().split_width


def test_drawn_phones_differ_and_stay_physical() -> None:
    phones = [Device.draw(np.random.default_rng(seed)) for seed in range(40)]
    assert len({phone.radius_gain for phone in phones}) == 40
    for phone in phones:
        assert phone.split_depth <= 0.5
        assert phone.shading.min() > 0
        assert phone.shading.max() <= 1
        assert 0.3 <= phone.left_share.min() <= phone.left_share.max() <= 0.7
    brighter_left = [phone.left_share.mean() > 0.5 for phone in phones]
    assert 8 < sum(brighter_left) < 32  # half of them are mirrored
