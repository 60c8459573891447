import numpy as np
import pytest

from dioptre.errors import InputError
from dioptre.rig import ARM_M, CAMERAS, CLOSER_M, nominal_centres
from dioptre.simulate.rig import arm_for, draw_rig


def test_the_left_phone_is_meant_to_stand_closer() -> None:
    places = nominal_centres(ARM_M)
    assert tuple(places) == CAMERAS
    assert places["left"][2] == pytest.approx(CLOSER_M)
    assert np.allclose(places["left"][:2], -np.array(places["right"][:2]))


def test_a_rig_is_mounted_nearly_as_it_was_meant() -> None:
    rig = draw_rig(ARM_M, np.random.default_rng(1))
    meant = nominal_centres(ARM_M)
    for phone in rig.phones:
        assert np.linalg.norm(phone.centre - meant[phone.name]) < 0.012
        assert np.allclose(phone.rotation @ phone.rotation.T, np.eye(3), atol=1e-12)
    assert rig.phones[0].centre.tolist() == [0, 0, 0]
    assert len({phone.device.radius_gain for phone in rig.phones}) > 3
    assert rig.spacing_m == pytest.approx(ARM_M, rel=0.05)


def test_narrower_views_have_shorter_arms() -> None:
    assert arm_for((1512, 2016), 1588.0) == pytest.approx(ARM_M)
    assert arm_for((378, 504), 1588.0) == pytest.approx(ARM_M / 4)


def test_arms_of_no_length_are_refused() -> None:
    with pytest.raises(InputError, match="longer than 0"):
        nominal_centres(0.0)
