"""A lens that is focused by a few looks: the same search that is evaluated."""

import numpy as np
import pytest

from dioptre.autofocus.autofocus import Autofocus
from dioptre.autofocus.search import NEVER, askers_of, policy_of, search, see_stack
from dioptre.cameras.replay import ReplayCamera
from dioptre.confidence.reasons import Reason, State
from dioptre.errors import CameraError, InputError, MethodError
from dioptre.methods import METHODS, best_index
from dioptre.methods.base import WHOLE
from dioptre.optics import CameraModel
from dioptre.posterior import DepthPrior
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import FocalStack

CAMERA = CameraModel.pixel3()
TRUTH = 31
FEW_LOOKS = [key for key, row in METHODS.items() if row.looks != WHOLE]


@pytest.fixture(scope="module")
def stack() -> FocalStack:
    rng = np.random.default_rng(3)
    texture = 0.25 * dead_leaves(200, 200, rng)
    pixels = plane_stack(CAMERA, float(CAMERA.grid.dioptres[TRUTH]), texture, rng, 128, shot=0.2, read=1.0)
    return FocalStack.full(pixels[None], CAMERA.grid, where=np.array([[0.1, 0.2]]))


@pytest.mark.parametrize("key", FEW_LOOKS)
def test_a_lens_goes_where_evaluation_says(stack: FocalStack, key: str) -> None:
    method = METHODS[key]
    looks = method.looks if method.looks > 0 else 3
    camera = ReplayCamera(stack if method.views == 2 else stack.green())
    result = Autofocus(camera, key, looks=looks, start=12, fallback=None, sure=NEVER).run()
    ask = askers_of(method, looks, DepthPrior.even())
    trail = search(np.array([12]), see_stack(stack, 0), ask, policy_of(method, looks))
    assert result.looks == tuple(trail.positions[0])
    assert result.index == best_index(trail.posterior.scores())[0]
    np.testing.assert_allclose(result.scores, trail.posterior.scores()[0], rtol=1e-5, atol=1e-6)
    assert camera.visited[:looks] == list(result.looks)


def test_the_lens_is_left_where_it_is_in_focus(stack: FocalStack) -> None:
    camera = ReplayCamera(stack)
    result = Autofocus(camera, risk=0.2, fallback=None).run()
    assert result.state is State.FOCUSED
    assert abs(result.index - TRUTH) <= 1
    assert camera.visited[: len(result.looks)] == [24, *result.looks[1:]]
    assert camera.visited[-1] == result.index == result.left_at
    assert [one.index for one in result.trace] == camera.visited
    assert result.method == "dioptre-any-dp"
    assert result.dioptres == pytest.approx(CAMERA.grid.dioptres[TRUTH], abs=0.4)


def test_a_search_that_is_sure_stops_early(stack: FocalStack) -> None:
    camera = ReplayCamera(stack)
    result = Autofocus(camera, sure=0.3, fallback=None).run()
    assert len(result.looks) < 3
    assert abs(result.index - TRUTH) <= 1


def test_one_look_goes_to_the_method_for_one(stack: FocalStack) -> None:
    assert Autofocus(ReplayCamera(stack), looks=1, fallback=None).run().method == "dioptre-single-dp"
    assert (
        Autofocus(ReplayCamera(stack.green()), looks=1, fallback=None).run().method == "dioptre-single-green"
    )


def test_a_region_of_the_frame_decides(stack: FocalStack) -> None:
    wide = FocalStack.full(np.tile(stack.pixels, (1, 1, 1, 1, 2)), CAMERA.grid)
    result = Autofocus(ReplayCamera(wide)).run(roi=(128, 0, 128, 128))
    assert result.roi == (128, 0, 128, 128)
    assert abs(result.index - TRUTH) <= 1


@pytest.mark.parametrize(
    ("settings", "roi", "error", "sentence"),
    [
        ({"start": 49}, None, InputError, r"0\.\.48, not 49"),
        ({"method": "l2a-stack-dp"}, None, MethodError, "does not search"),
        ({"limits": (30, 20)}, None, InputError, "not 30 and 20"),
        ({"limits": (0, 49)}, None, InputError, r"0\.\.48, not 49"),
        ({"limits": (0, 10), "start": 20}, None, InputError, r"within its limits 0\.\.10, not at 20"),
        ({"settle": -1.0}, None, InputError, "settle is a number of seconds, 0 or more, not -1.0"),
        ({"timeout": 0.0}, None, InputError, "timeout is a number of seconds, or None, not 0.0"),
        ({"fallback": "hope"}, None, InputError, "fallback is one of 'sweep', 'always', None, not 'hope'"),
        ({"on_failure": "cry"}, None, InputError, "on_failure is one of 'return', 'stay'"),
        ({"risk": 2.0}, None, InputError, "a risk is a probability"),
        ({"method": "nonesuch"}, None, MethodError, "no method 'nonesuch'"),
        ({}, (0, 0, 400, 20), InputError, "does not lie inside"),
        (
            {"fallback": None},
            (0, 0, 64, 64),
            MethodError,
            r"needs patches of 128 pixels or more, not \(64, 64\)",
        ),
        ({}, [(0, 0, 64, 64), (64, 64, 64, 64)], InputError, "one region, not to 2"),
        ({"looks": 0}, None, InputError, "a look or more"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_moves(
    stack: FocalStack, settings: dict, roi: object, error: type, sentence: str
) -> None:
    camera = ReplayCamera(stack)
    with pytest.raises(error, match=sentence):
        Autofocus(camera, **settings).run(roi)
    assert camera.visited == []


def test_a_method_for_two_views_refuses_a_camera_with_one(stack: FocalStack) -> None:
    with pytest.raises(MethodError, match="needs the left and the right view"):
        Autofocus(ReplayCamera(stack.green()), "dioptre-single-dp").run()


def test_a_camera_that_fails_is_heard(stack: FocalStack) -> None:
    class Stuck(ReplayCamera):
        def capture(self, index: int) -> np.ndarray:
            raise CameraError(f"the lens is stuck at {index}")

    result = Autofocus(Stuck(stack)).run()
    assert (result.state, result.reasons, result.left_at) == (State.FAILED, (Reason.CAMERA_FAILED,), None)
    assert "the lens is stuck at 24" in result.notes[0]
