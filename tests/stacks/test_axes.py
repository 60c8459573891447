"""Volumes: what a file tells of its axes and spacing."""

import numpy as np
import pytest

from dioptre.stacks.axes import volume_of_array


@pytest.mark.parametrize("step", [float("inf"), 1e300, -1.0, 0.0, float("nan")])
def test_a_step_that_cannot_be_is_not_told(step: float) -> None:
    volume = volume_of_array(np.zeros((3, 8, 8), np.uint8), "ZYX")
    assert volume.told_by((), step).step_um is None
    assert volume.told_by((), 0.5).step_um == 0.5
