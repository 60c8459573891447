from dataclasses import replace

import numpy as np
import pytest

from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.simulate.lens import Actuator, index_errors, sweep

CAMERA = CameraModel.pixel3()


def errors_of_stacks(actuator: Actuator, bias: float | None, count: int = 1500) -> np.ndarray:
    rng = np.random.default_rng(0)
    biases = [float(rng.standard_normal()) if bias is None else bias for _ in range(count)]
    return np.array([np.median(index_errors(CAMERA, sweep(CAMERA, actuator, b, rng))) for b in biases])


@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_an_exact_lens_goes_where_it_is_told_whatever_its_device(bias: float) -> None:
    focus = sweep(CAMERA, Actuator.exact(), bias, np.random.default_rng(0))
    np.testing.assert_allclose(focus, CAMERA.grid.dioptres, rtol=1e-12)


@pytest.mark.parametrize("bias", [0.0, None], ids=["one device", "many devices"])
def test_stacks_spread_by_one_and_a_half_indices(bias: float | None) -> None:
    spread = errors_of_stacks(Actuator(), bias)
    assert 1.3 < spread.std() < 1.9
    assert abs(spread.mean()) < 0.25


def test_a_device_keeps_a_bias_of_its_own() -> None:
    total, own = errors_of_stacks(Actuator(), None).std(), errors_of_stacks(Actuator(), 0.0).std()
    assert np.sqrt(total**2 - own**2) == pytest.approx(0.7, abs=0.2)
    assert (
        errors_of_stacks(Actuator(), 8.0 / Actuator().device_um).mean() > 1.5
    )  # 8 um out is about 1.9 indices nearer


def test_a_lens_too_far_out_is_focused_too_near() -> None:
    biased = replace(Actuator.exact(), device_um=4.0)
    focus = sweep(CAMERA, biased, 1.0, np.random.default_rng(0))
    assert (focus > CAMERA.grid.dioptres).all()
    errors = index_errors(CAMERA, focus)
    assert 4 * 0.2 < errors.min() < errors.max() < 4 * 0.28  # 0.22 to 0.25 indices a micrometre


def test_commands_are_whole_steps_of_the_driver() -> None:
    stepped = Actuator(0.0, 0.0, 0.0, 0.0, 0.0, code_um=0.895)
    assert np.abs(index_errors(CAMERA, sweep(CAMERA, stepped, 0.0, np.random.default_rng(0)))).max() < 0.13
    coarse = Actuator(0.0, 0.0, 0.0, 0.0, 0.0, code_um=40.0)
    focus = sweep(CAMERA, coarse, 0.0, np.random.default_rng(0))
    assert len(np.unique(focus.round(9))) < 8


def test_other_cameras_have_lenses_too() -> None:
    slr = CameraModel(50.0, 2.0, 6.0, (2000, 3000), FocusGrid.uniform(20.0, 0.5, 30))
    np.testing.assert_allclose(sweep(slr, Actuator.exact(), 0.0, np.random.default_rng(0)), slr.grid.dioptres)
