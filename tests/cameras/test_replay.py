"""A recorded stack as a camera."""

import numpy as np
import pytest

from dioptre.cameras.base import Camera
from dioptre.cameras.replay import ReplayCamera
from dioptre.errors import InputError
from dioptre.grid import FocusGrid
from dioptre.stack import FocalStack
from tests.cameras.contract import CameraContract

N = 7


def recorded(views: int = 2, where: bool = True, shuffled: bool = False) -> FocalStack:
    rng = np.random.default_rng(0)
    pixels = rng.random((1, N, views, 16, 20)).astype(np.float32)
    order = rng.permutation(N) if shuffled else np.arange(N)
    place = np.array([[0.25, -0.5]]) if where else None
    return FocalStack(pixels[:, order], order[None], FocusGrid.uniform(n=N), place)


class TestReplay(CameraContract):
    @pytest.fixture(
        params=[(1, True, False), (2, True, False), (2, False, True), (1, False, True)],
        ids=["green", "two views", "two views, shuffled, anywhere", "green, shuffled, anywhere"],
    )
    def camera(self, request: pytest.FixtureRequest) -> ReplayCamera:
        return ReplayCamera(recorded(*request.param))

    def position_of(self, camera: Camera) -> object:
        assert isinstance(camera, ReplayCamera)
        return list(camera.visited)


@pytest.mark.parametrize("shuffled", [False, True])
def test_what_was_recorded_is_captured_again(shuffled: bool) -> None:
    stack, camera = recorded(), ReplayCamera(recorded(shuffled=shuffled))
    for index in range(N):
        np.testing.assert_array_equal(camera.capture(index), stack.pixels[0, index])
    assert camera.visited == list(range(N))


def test_it_is_what_was_recorded() -> None:
    camera = ReplayCamera(recorded())
    assert camera.grid == FocusGrid.uniform(n=N)
    assert (camera.views, camera.shape, camera.where) == (2, (16, 20), (0.25, -0.5))
    assert ReplayCamera(recorded(where=False)).where is None


def test_every_slice_of_one_scene_is_needed() -> None:
    with pytest.raises(InputError, match="every slice of one scene once, not 3 slices of 7 positions"):
        ReplayCamera(recorded().at([0, 2, 4]))
    with pytest.raises(InputError, match="every slice of one scene once"):
        ReplayCamera(recorded().at([0, 1, 2, 3, 4, 5, 5]))
    twice = np.repeat(recorded().pixels, 2, axis=0)
    with pytest.raises(InputError, match="of 2 scenes"):
        ReplayCamera(FocalStack.full(twice, FocusGrid.uniform(n=N)))
