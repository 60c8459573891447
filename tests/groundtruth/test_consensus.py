from dataclasses import replace

import numpy as np
import pytest

from dioptre.errors import InputError
from dioptre.groundtruth.bundle import Expected, adjust
from dioptre.groundtruth.consensus import RigEstimate, SharedRig, agree, astray
from dioptre.groundtruth.poses import Adjusted, hold_rig
from dioptre.groundtruth.projection import Bundle, Lenses, project
from dioptre.groundtruth.register import Motion
from tests.groundtruth.test_bundle import rig

EXPECTED = Expected(pixel=1.0)


def captures(count: int) -> tuple[list[Bundle], Lenses, Lenses]:
    """Several captures of one rig, badly seen, adjusted each by itself; the rig as meant, and as it is."""
    first, meant = rig(5, points=60, slices=2)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(count):
        rays = rng.uniform((-0.6, -0.45, 0.3), (0.6, 0.45, 8), (60, 3))
        seen = replace(first, points=rays)
        seen = replace(seen, places=project(seen) + rng.standard_normal(seen.places.shape))
        found.append(adjust(replace(seen, lenses=meant), meant, EXPECTED))
    return found, meant, first.lenses


def told(bundles: list[Bundle], meant: Lenses) -> list[RigEstimate]:
    return [RigEstimate.of(str(at), one, meant, EXPECTED) for at, one in enumerate(bundles)]


def test_one_capture_alone_says_what_it_found() -> None:
    (bundle,), meant, _ = captures(1)
    found = agree(told([bundle], meant), SharedRig.of(meant), EXPECTED, bundle.spacing_m)
    assert np.allclose(found.rotations, bundle.lenses.rotations, atol=2e-6)
    assert np.allclose(found.centres, bundle.lenses.centres, atol=1e-6)
    assert np.allclose(found.focals, bundle.lenses.focals, rtol=2e-5)


def test_captures_together_are_nearer_to_the_truth_than_most_of_them() -> None:
    bundles, meant, true = captures(6)
    found = agree(told(bundles, meant), SharedRig.of(meant), EXPECTED, bundles[0].spacing_m)

    def off(rotations: np.ndarray) -> float:
        return float(np.linalg.norm(rotations - true.rotations))

    assert off(found.rotations) < 0.7 * np.median([off(one.lenses.rotations) for one in bundles])


def test_what_is_told_survives_json_and_values_are_inverted() -> None:
    (bundle,), meant, _ = captures(1)
    one = told([bundle], meant)[0]
    again = RigEstimate.from_json(one.to_json())
    assert again.name == one.name
    assert np.array_equal(again.information, one.information)
    back = SharedRig.from_values(one.values, bundle.spacing_m)
    assert np.allclose(back.centres, bundle.lenses.centres)
    assert np.allclose(back.focals, bundle.lenses.focals)


def test_a_capture_of_another_rig_stands_out_and_two_cannot_be_told_apart() -> None:
    bundles, meant, _ = captures(4)
    every = told(bundles, meant)
    every[2] = replace(every[2], values=every[2].values + 0.02)
    assert astray(every).tolist() == [False, False, True, False]
    assert not astray(every[1:3]).any()
    with pytest.raises(InputError, match="one capture or more"):
        agree([], SharedRig.of(meant), EXPECTED, 0.06)


def test_a_capture_takes_over_the_rig_and_survives_a_file() -> None:
    bundles, meant, true = captures(1)
    motion = Motion(np.ones(2), np.zeros((2, 2)))
    one = Adjusted(bundles[0], meant, EXPECTED, np.arange(2), (motion,) * 5, 0.9, 1.0)
    held = hold_rig(Adjusted.from_arrays(one.arrays()), SharedRig.of(true))
    assert held.expected.shift_px == EXPECTED.shift_px
    older = {name: values for name, values in one.arrays().items() if name != "expected_px"}
    with pytest.raises(InputError, match="older dioptre"):
        Adjusted.from_arrays(older)
    assert np.allclose(held.bundle.lenses.rotations, true.rotations, atol=1e-12)
    assert np.array_equal(held.bundle.lenses.focals, true.focals)
    assert not np.array_equal(held.bundle.points, bundles[0].points)
    assert held.expected.pixel == EXPECTED.pixel
