"""The shipped networks on planes seen through other makes of camera."""

from dataclasses import replace

import numpy as np
import pytest

from dioptre.autofocus.autofocus import Autofocus
from dioptre.cameras.blur_units import BlurSteps
from dioptre.cameras.camera_files import describe
from dioptre.cameras.camera_presets import MAKES
from dioptre.cameras.replay import ReplayCamera
from dioptre.focusing.focus import focus, focus_from
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import FocalStack

SWEEP = np.arange(0, 48.5, 1.5)  # steps
TRUTH = 29.0


@pytest.fixture(scope="module", params=["dslr-50mm", "machine-vision-16mm"])
def camera(request: pytest.FixtureRequest) -> CameraModel:
    """Returns a make with a sweep in the middle of its travel."""
    model = MAKES[request.param]()
    steps = BlurSteps(describe(model).grid())
    dioptres = np.asarray(steps.step_to_position(SWEEP + sum(steps.ends) / 2))
    return replace(model, grid=FocusGrid.of_dioptres(dioptres))


@pytest.fixture(scope="module")
def stack(camera: CameraModel) -> np.ndarray:
    rng, steps = np.random.default_rng(5), BlurSteps(describe(camera).grid())
    depth = float(steps.step_to_position(steps.ends[0] + TRUTH))
    return plane_stack(camera, depth, 0.25 * dead_leaves(200, 200, rng), rng, 128, shot=0.2, read=1.0)


def error_in_steps(camera: CameraModel, dioptres: float | None) -> float:
    assert dioptres is not None
    steps = BlurSteps(describe(camera).grid())
    return float(steps.position_to_step(dioptres)) - steps.ends[0] - TRUTH


@pytest.mark.parametrize("at", [6, 26])
def test_one_look_tells_the_way(camera: CameraModel, stack: np.ndarray, at: int) -> None:
    found = focus_from(stack[at], float(camera.grid.dioptres[at]), grid=camera)
    assert abs(error_in_steps(camera, found.dioptres)) < 4
    assert found.unit == "dioptres"


@pytest.mark.parametrize("key", ["dioptre-any-dp", "dioptre-any-green"])
def test_a_stack_with_slices_at_other_steps_is_focused(
    camera: CameraModel, stack: np.ndarray, key: str
) -> None:
    found = focus(stack, key, grid=camera)
    assert abs(error_in_steps(camera, found.dioptres)) < 2
    assert abs(1.5 * found.index - TRUTH) < 2.5


def test_a_lens_of_another_make_is_focused(camera: CameraModel, stack: np.ndarray) -> None:
    replay = ReplayCamera(FocalStack.full(stack[None], camera.grid))
    found = Autofocus(replay, grid=camera, fallback="none").run()
    assert abs(error_in_steps(camera, found.dioptres)) < 2.5
    assert (found.unit, found.looks[0]) == ("slice", len(SWEEP) // 2)
