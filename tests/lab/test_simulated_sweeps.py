"""Simulated sweeps and what counts as right in them."""

import pytest

pytest.importorskip("pyarrow")

from dioptre.miss import MISS_STEPS
from dioptre.pipeline.settings import Simulation
from lab.simulated_sweeps import simulated_sweep

SIMULATION = Simulation(32, 5, split="validation", featureless=0.0)


def test_what_is_right_is_any_depth_the_middle_one_or_the_label() -> None:
    several = 0
    for index in range(6):
        any_depth, sharp, label = (
            simulated_sweep(SIMULATION, index, against).sweep.sharp for against in ("any", "sharp", "label")
        )
        assert simulated_sweep(SIMULATION, index).sweep.sharp == any_depth
        assert len(label) == len(sharp) == 1
        assert abs(label[0] - sharp[0]) <= 8  # the lens's error
        assert min(any_depth) - 1 <= sharp[0] <= max(any_depth) + 1
        several += len(any_depth) > 1
    assert several >= 1


def test_an_answer_at_the_smaller_of_two_depths_is_no_miss() -> None:
    sweeps = (simulated_sweep(SIMULATION, index).sweep for index in range(16))
    two = next(one for one in sweeps if one.sharp and max(one.sharp) - min(one.sharp) > MISS_STEPS)
    for at in (two.sharp[0], two.sharp[-1]):
        error = two.error(round(at))
        assert error is not None
        assert abs(error) <= 0.5
