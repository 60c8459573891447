"""Simulated sweeps and what counts as right in them."""

import pytest

pytest.importorskip("pyarrow")

from dioptre.pipeline.settings import Simulation
from lab.simulated_sweeps import simulated_sweep

SIMULATION = Simulation(32, 5, split="validation", featureless=0.0)


def test_what_is_right_can_be_the_label_the_sharp_slice_or_any_depth() -> None:
    several = 0
    for index in range(6):
        label, sharp, any_depth = (
            simulated_sweep(SIMULATION, index, against).sweep.sharp for against in ("label", "sharp", "any")
        )
        assert len(label) == len(sharp) == 1
        assert abs(label[0] - sharp[0]) <= 8  # the lens's error
        assert any_depth[0] == sharp[0]
        several += len(set(any_depth)) > 2
    assert several >= 1
