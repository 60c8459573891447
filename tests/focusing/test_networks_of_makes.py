"""The shipped networks on planes seen through other makes of camera."""

from dataclasses import replace

import numpy as np
import pytest

from dioptre.autofocus.autofocus import Autofocus
from dioptre.cameras.blur_units import FocusSteps
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
    steps = FocusSteps.of_camera(model)
    return replace(model, grid=FocusGrid(np.asarray(steps.step_to_position(SWEEP + sum(steps.ends) / 2))))


@pytest.fixture(scope="module")
def stack(camera: CameraModel) -> np.ndarray:
    rng, steps = np.random.default_rng(5), FocusSteps.of_camera(camera)
    depth = float(steps.step_to_position(steps.ends[0] + TRUTH))
    return plane_stack(camera, depth, 0.25 * dead_leaves(200, 200, rng), rng, 128, shot=0.2, read=1.0)


def error_in_steps(camera: CameraModel, position: float | None) -> float:
    assert position is not None
    steps = FocusSteps.of_camera(camera)
    return float(steps.position_to_step(position)) - steps.ends[0] - TRUTH


@pytest.mark.parametrize("at", [6, 26])
def test_one_look_tells_the_way(camera: CameraModel, stack: np.ndarray, at: int) -> None:
    found = focus_from(stack[at], float(camera.grid.dioptres[at]), camera=camera)
    assert abs(error_in_steps(camera, found.lens_position)) < 4
    assert found.unit == "dioptres"


@pytest.mark.parametrize("key", ["dioptre-any-dp", "dioptre-any-green"])
def test_a_stack_with_slices_at_other_steps_is_focused(
    camera: CameraModel, stack: np.ndarray, key: str
) -> None:
    found = focus(stack, key, camera=camera)
    assert abs(error_in_steps(camera, found.lens_position)) < 2
    assert abs(1.5 * found.index - TRUTH) < 2.5


def test_a_lens_of_another_make_is_focused(camera: CameraModel, stack: np.ndarray) -> None:
    replay = ReplayCamera(FocalStack.full(stack[None], camera.grid))
    found = Autofocus(replay, optics=camera, fallback=None).run()
    assert abs(error_in_steps(camera, found.lens_position)) < 2.5
    assert found.looks[0] == pytest.approx(camera.grid.dioptres[len(SWEEP) // 2])
